"""Text in several styles, folded to the width of the terminal. Nothing in it is obeyed."""

import re
import sys
from collections.abc import Iterable, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple, TextIO

from brenner.cli.output import styled, width_of
from brenner.text import visible

Style = Mapping[str, object]
PLAIN: Style = MappingProxyType({})
UNLIMITED = sys.maxsize  # the width of a pipe
_MOST_AT_START = 60
_WORDS_AND_BLANKS = re.compile(r" +|[^ ]+")


class Piece(NamedTuple):
    """A stretch of text in one style. A line feed in it begins a new line."""

    text: str
    style: Style = PLAIN
    is_solid: bool = False  # never folded: its blanks are what it is about


def fold(start: Iterable[Piece], pieces: Iterable[Piece], rest: str, stream: TextIO) -> str:
    """The pieces as lines for a stream: folded and in colour where it is a terminal."""
    laid_out = lines_of(start, pieces, rest, width_of(stream) or UNLIMITED)
    return "".join(f"{shown_line(line, stream)}\n" for line in laid_out)


def lines_of(
    start: Iterable[Piece], pieces: Iterable[Piece], rest: str, width: int
) -> list[list[Piece]]:
    """The pieces one after the other; `start` stands before the first line, `rest` before others.

    What stands at the start is never folded, and cut where it is very long.
    """
    lines = _Lines(width, rest)
    lines.begin(Piece(visible(piece.text, _MOST_AT_START), piece.style) for piece in start)
    for piece in pieces:
        for number, text in enumerate(piece.text.split("\n")):
            if number:
                lines.end()
            safe = visible(text, len(text) + 1)
            if piece.is_solid or width == UNLIMITED:
                lines.take(Piece(safe, piece.style), is_blank=False)
                continue
            for part in _WORDS_AND_BLANKS.findall(safe):
                lines.take(Piece(part, piece.style), is_blank=part.startswith(" "))
    lines.end()
    return lines.done


def columns(text: str) -> int:
    """How wide the terminal shows a text."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width  # most texts need neither

    return sum(
        0 if category(letter) in ("Mn", "Me") else 1 + (east_asian_width(letter) in "WF")
        for letter in text
    )


class _Lines:
    """Lines that fill up word by word; `gap` is what stands before the word that is open."""

    def __init__(self, width: int, rest: str) -> None:
        self.width, self.rest = width, rest
        self.done: list[list[Piece]] = []
        self.line: list[Piece] = []
        self.column = 0
        self.gap: list[Piece] = []
        self.word: list[Piece] = []
        self.is_begun = False

    def begin(self, start: Iterable[Piece]) -> None:
        self.line = list(start)
        self.column = sum(columns(piece.text) for piece in self.line)

    def take(self, piece: Piece, *, is_blank: bool) -> None:
        if not is_blank:
            self.word.append(piece)
            return
        self._place()
        self.gap.append(piece)

    def end(self) -> None:
        """End the line here."""
        self._place()
        self._break()

    def _break(self) -> None:
        self.done.append(self.line)
        self.begin([Piece(self.rest)])
        self.gap, self.is_begun = [], False

    def _place(self) -> None:
        """Put the open word on this line, or on the next where it does not fit."""
        size = sum(columns(piece.text) for piece in self.word)
        before = sum(columns(piece.text) for piece in self.gap)
        if not size:
            return
        if self.is_begun and self.column + before + size > self.width:
            self._break()
        for piece in (*self.gap, *self.word):
            self._add(piece)
        self.gap, self.word, self.is_begun = [], [], True

    def _add(self, piece: Piece) -> None:
        """A word that is wider than a line goes on in the next one."""
        text, start = piece.text, 0
        size = columns(text)
        if self.column + size <= self.width:
            self.line.append(piece)
            self.column += size
            return
        while start < len(text):
            is_empty = self.column == columns(self.rest)
            end = max(_end_of(text, start, self.width - self.column), start + is_empty)
            self.line.append(piece._replace(text=text[start:end]))
            self.column += columns(text[start:end])
            start = end
            if start < len(text):
                self._break()


def _end_of(text: str, start: int, room: int) -> int:
    """Up to where the text fits into so many columns."""
    if text.isascii():
        return min(len(text), start + max(0, room))
    for place in range(start, len(text)):
        room -= columns(text[place])
        if room < 0:
            return place
    return len(text)


def shown_line(line: list[Piece], stream: TextIO) -> str:
    """A line with its styles, neighbours of one style together, no blanks at its end."""
    parts = []
    for style, pieces in groupby(line, key=lambda piece: piece.style):
        text = "".join(piece.text for piece in pieces)
        parts.append(styled(text, stream, **style) if style else text)
    return "".join(parts).rstrip(" ")
