"""A file that is written whole or not at all."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG

import click

from brenner.cli.options import Settings, most_message_bytes
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic, UnavailableError
from brenner.limits import MOST_BODY_BYTES, MOST_SENT_KIB_AT_LEAST


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
        raise UnavailableError(found) from None
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


# Reading what was handed in: a file or the standard input, never more than the limit.


STANDARD_INPUT = "-"


def read_text(path: str) -> str | Diagnostic:
    """The text of a file, or why it cannot be had."""
    try:
        raw = _read_bytes(path)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        return codes.UNREADABLE_INPUT.at(path=path, reason=reason)
    except ValueError:
        return codes.UNREADABLE_INPUT.at(path=path, reason="that is not a file's name")
    if len(raw) > MOST_BODY_BYTES:
        return codes.MESSAGE_TOO_LARGE.at(most=MOST_BODY_BYTES, setting="")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"the byte 0x{raw[error.start]:02x} at offset {error.start}"
        return codes.NOT_UTF8.at(raw.count(b"\n", 0, error.start) + 1, reason=reason)


def read_message(path: str, settings: Settings) -> str | Diagnostic:
    """Return the text of a message file that is to be sent or checked, or what is wrong with it.

    The project decides how long it may be. Only for a long text the project is looked up.
    """
    from brenner.protocol.validate import too_large, too_large_for  # other files are no messages

    text = read_text(path)
    is_longer = isinstance(text, Diagnostic) and text.code is codes.MESSAGE_TOO_LARGE
    is_long = isinstance(text, str) and too_large(text, MOST_SENT_KIB_AT_LEAST * 1024)
    if not (is_long or is_longer):
        return text
    most = most_message_bytes(settings)
    if isinstance(text, str):
        return too_large(text, most) or text
    return too_large_for(most)


def _read_bytes(path: str) -> bytes:
    """At most one byte more than the limit, so that its excess is seen and nothing else is paid."""
    if path != STANDARD_INPUT:
        with open(path, "rb") as file:  # noqa: PTH123  (pathlib costs 5 ms at every start)
            return file.read(MOST_BODY_BYTES + 1)
    if sys.stdin is None:
        message = "the standard input is closed"
        raise OSError(None, message)
    return sys.stdin.buffer.read(MOST_BODY_BYTES + 1)
