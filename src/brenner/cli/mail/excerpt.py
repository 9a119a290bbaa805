"""An excerpt as a terminal has it: the found words underlined, or between signs in a pipe."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import TextIO

from brenner.cli.folding import Piece, Style
from brenner.cli.marks import QUIET
from brenner.cli.output import is_terminal
from brenner.mail import search as excerpts

_INDENT = "      "
# Underlined, so that it is no matter of colour; between signs where there are no styles
_FOUND: Style = MappingProxyType({"bold": True, "underline": True})
_OPEN, _CLOSE = "«", "»"


def excerpt(body: str, phrases: Sequence[tuple[str, ...]], out: TextIO) -> list[Piece]:
    """The line, or nothing where none of the words stands in the body (or far down in it)."""
    parts = excerpts.excerpt(body, phrases)
    if not parts:
        return []
    first, *others = (_piece(part, out) for part in parts)
    return [first._replace(text=_INDENT + first.text), *others]


def _piece(part: excerpts.Part, out: TextIO) -> Piece:
    if not part.is_found:
        return Piece(part.text, QUIET)
    return Piece(part.text, _FOUND) if is_terminal(out) else Piece(f"{_OPEN}{part.text}{_CLOSE}")
