"""The token that every request must bear: from a file, or from the environment."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.services.identity import TOKEN

_MOST = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Token(NamedTuple):
    """The token, if there is one, and what is odd about where it stands."""

    value: str | None = None
    warnings: tuple[Diagnostic, ...] = ()


def read_token(file: str | None, environ: Mapping[str, str]) -> Token:
    """The token of the file, else of the environment. One that cannot be used is refused."""
    if file is not None:
        return _from_file(Path(file).expanduser())
    if TOKEN not in environ:
        return Token()
    return Token(_checked(environ[TOKEN], TOKEN))


def _from_file(path: Path) -> Token:
    try:
        with path.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            raw = opened.read(_MOST + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise _unusable(str(path), reason) from None
    warnings: tuple[Diagnostic, ...] = ()
    if mode & _OTHERS and os.name == "posix":
        warnings = (codes.TOKEN_FILE_READABLE.at(path=str(path)),)
    return Token(_checked(raw.decode("latin-1"), str(path)), warnings)


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if not token:
        raise _unusable(where, "it is empty")
    if len(token) > _MOST:
        raise _unusable(where, f"it is longer than {_MOST} characters")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise _unusable(where, "it has blanks, or characters that are not visible ASCII")
    return token


def _unusable(where: str, reason: str) -> Refused:
    return Refused(codes.UNUSABLE_TOKEN.at(where=where, reason=reason))
