"""Reading what was handed in: a file or the standard input, never more than the limit."""

import sys

from brenner.diagnostics.codes import input as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BODY_BYTES

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
        return codes.MESSAGE_TOO_LARGE.at(most=MOST_BODY_BYTES)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"the byte 0x{raw[error.start]:02x} at offset {error.start}"
        return codes.NOT_UTF8.at(raw.count(b"\n", 0, error.start) + 1, reason=reason)


def _read_bytes(path: str) -> bytes:
    """At most one byte more than the limit, so that its excess is seen and nothing else is paid."""
    if path != STANDARD_INPUT:
        with open(path, "rb") as file:  # noqa: PTH123  (pathlib costs 5 ms at every start)
            return file.read(MOST_BODY_BYTES + 1)
    if sys.stdin is None:
        message = "the standard input is closed"
        raise OSError(None, message)
    return sys.stdin.buffer.read(MOST_BODY_BYTES + 1)
