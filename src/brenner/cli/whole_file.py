"""A file that is written whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG

import click

from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Unavailable


def check_free(name: str, *, replace: bool) -> None:
    """Refuse a name that is taken; only a file can be replaced, not a folder or a device."""
    try:
        mode = Path(name).lstat().st_mode
    except (OSError, ValueError):
        return  # nothing is there; what else is wrong shows when it is written
    if not replace:
        message = f"{name} is there already; --force replaces it."
        raise click.UsageError(message)
    if not S_ISREG(mode):
        message = f"{name} is not a plain file and is not replaced. Name another one, or - ."
        raise click.UsageError(message)


def write_whole(name: str, portions: Iterable[bytes], *, replace: bool) -> int:
    """Write a file and make it safe before it gets its name; how many bytes."""
    check_free(name, replace=replace)
    path = Path(name)
    temporary = path.parent / f".brenner-{token_hex(8)}.part"
    try:
        size = _write(temporary, portions)
        _put(temporary, path, replace=replace)
    except FileExistsError:
        check_free(name, replace=replace)
        raise
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or "that is not a file's name"
        found = codes.OUTPUT_CLOSED.at(reason=f"{name}: {told.lower()}")
        raise Unavailable(found) from None
    finally:
        _remove(temporary)
    return size


def _write(path: Path, portions: Iterable[bytes]) -> int:
    size = 0
    with path.open("xb") as file:
        for portion in portions:
            size += file.write(portion)
        file.flush()
        os.fsync(file.fileno())
    return size


def _put(temporary: Path, path: Path, *, replace: bool) -> None:
    """Give it its name; unlike a rename, a link never takes the name from another file."""
    if replace:
        temporary.replace(path)
        return
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        check_free(str(path), replace=False)
        temporary.replace(path)


def _remove(path: Path) -> None:
    """Of what was not finished nothing stays."""
    try:
        path.unlink(missing_ok=True)
    except (OSError, ValueError):
        return
