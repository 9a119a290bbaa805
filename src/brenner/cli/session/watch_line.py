"""The last line of a terminal, which says how far things are; it is redrawn in place.

It is never wider than the terminal, and nothing but the line itself is touched: no mode is changed,
and the cursor stays visible.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from brenner.cli.folding import Piece, columns, shown_line
from brenner.cli.mail.table import cut
from brenner.text import visible

_USUAL = 80  # columns
_MOST = 500  # characters; what is cut away need not be looked at


class Line:
    """The line, on the standard error, where that is a terminal that can erase."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = ""
        self._columns = 0

    def draw(self, pieces: Sequence[Piece]) -> None:
        """Show this, if it is something else than what is shown."""
        if not self._is_shown:
            return
        safe = [piece._replace(text=visible(piece.text, _MOST)) for piece in pieces]
        fitting = cut(safe, max(1, _width() - 1))
        text = shown_line(fitting, sys.stderr)
        if text == self._drawn:
            return
        sys.stderr.write(self._erasing() + text)
        sys.stderr.flush()
        self._drawn, self._columns = text, sum(columns(piece.text) for piece in fitting)

    def erase(self) -> None:
        """Leave the place empty, for what is written next."""
        if self._drawn:
            sys.stderr.write(self._erasing())
            sys.stderr.flush()
        self._drawn, self._columns = "", 0

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is written inside stands where the line was, and the line is gone."""
        self.erase()
        yield
        sys.stdout.flush()
        sys.stderr.flush()

    def _erasing(self) -> str:
        """Back to where the line began; a terminal that became narrower has folded it."""
        rows = max(0, self._columns - 1) // _width()
        return "\r" + (f"\x1b[{rows}A" if rows else "") + "\x1b[J"


def _width() -> int:
    """Of the terminal itself, whatever the environment says: a folded line could not be erased."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL
    except (OSError, ValueError):
        return _USUAL
