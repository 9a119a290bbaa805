"""Files: write one atomically, and read a file or the standard input up to the size limit."""

from __future__ import annotations

import sys
from stat import S_ISREG
from typing import TYPE_CHECKING

import click

from brenner.cli.options import Settings, most_message_bytes
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic, UnavailableError
from brenner.limits import MOST_BODY_BYTES, MOST_SENT_KIB_AT_LEAST

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_overwrite(name: str, *, replace: bool) -> None:
    """Refuse a name that exists, unless `replace` is set. Only regular files can be replaced."""
    from pathlib import Path  # reads an empty name and a slash at the end as the writer does

    try:
        mode = Path(name).lstat().st_mode
    except (OSError, ValueError):
        return  # it does not exist; other errors appear when it is written
    if not replace:
        message = f"{name} exists. Use --force to replace it."
        raise click.UsageError(message)
    if not S_ISREG(mode):
        message = f"{name} is not a regular file and was not replaced. Name another file, or `-`."
        raise click.UsageError(message)


def write_atomically(name: str, portions: Iterable[bytes], *, replace: bool) -> int:
    """Write a file whole or not at all. Return the size in bytes."""
    from pathlib import Path  # imports much else

    from brenner.persist.files import replace_file

    check_overwrite(name, replace=replace)
    try:
        return replace_file(Path(name), portions, overwrite=replace)
    except FileExistsError:
        check_overwrite(name, replace=replace)
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the name is not a valid file name"
        found = codes.OUTPUT_CLOSED.at(reason=f"{name}: {reason.lower()}")
        raise UnavailableError(found) from None


# Reading input: a file or the standard input, up to the size limit


STANDARD_INPUT = "-"


def read_text(path: str) -> str | Diagnostic:
    """Return the text of a file, or a diagnostic that says why it cannot be read."""
    try:
        raw = _read_bytes(path)
    except (OSError, ValueError) as error:
        return unreadable_input(path, error)
    if len(raw) > MOST_BODY_BYTES:
        return codes.MESSAGE_TOO_LARGE.at(most=MOST_BODY_BYTES, setting="")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"the byte 0x{raw[error.start]:02x} at offset {error.start}"
        return codes.NOT_UTF8.at(raw.count(b"\n", 0, error.start) + 1, reason=reason)


def unreadable_input(path: str, error: OSError | ValueError) -> Diagnostic:
    """Return the diagnostic of a file that cannot be opened or read."""
    reason = "the name is not a valid file name"
    if isinstance(error, OSError):
        reason = (error.strerror or type(error).__name__).lower()
    return codes.UNREADABLE_INPUT.at(path=path, reason=reason)


def read_message(path: str, settings: Settings) -> str | Diagnostic:
    """Return the text of a message file that is to be sent or checked, or a diagnostic.

    The project sets the size limit. It is looked up only for a long text.
    """
    from brenner.protocol.validate import check_size, message_too_large  # only messages need it

    text = read_text(path)
    is_longer = isinstance(text, Diagnostic) and text.code is codes.MESSAGE_TOO_LARGE
    is_long = isinstance(text, str) and check_size(text, MOST_SENT_KIB_AT_LEAST * 1024)
    if not (is_long or is_longer):
        return text
    most = most_message_bytes(settings)
    if isinstance(text, str):
        return check_size(text, most) or text
    return message_too_large(most)


def _read_bytes(path: str) -> bytes:
    """Read at most one byte more than the limit, enough to detect that the input is too long."""
    if path != STANDARD_INPUT:
        with open(path, "rb") as file:  # noqa: PTH123  (pathlib costs 5 ms at every start)
            return file.read(MOST_BODY_BYTES + 1)
    if sys.stdin is None:
        message = "the standard input is closed"
        raise OSError(None, message)
    return sys.stdin.buffer.read(MOST_BODY_BYTES + 1)
