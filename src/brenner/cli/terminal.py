"""Text in several styles, folded to the width of the terminal. Nothing in it is obeyed."""

import re
import sys
from collections.abc import Iterable, Mapping
from itertools import chain, cycle, groupby
from types import MappingProxyType
from typing import NamedTuple, TextIO
from zlib import crc32

import click

from brenner.cli.output import styled, width_of
from brenner.protocol.message_types import TYPES, ColourRole
from brenner.protocol.subjects import parse_subject
from brenner.text import as_option, escape_control, escape_control_lines, joined, thread_argument

Style = Mapping[str, object]
PLAIN: Style = MappingProxyType({})
UNLIMITED = sys.maxsize  # the width of a pipe
_MOST_AT_START = 60
_WORDS_AND_BLANKS = re.compile(r" +|[^ ]+")


class Span(NamedTuple):
    """A stretch of text in one style. A line feed in it begins a new line."""

    text: str
    style: Style = PLAIN
    is_solid: bool = False  # never folded: its blanks are what it is about


def fold(start: Iterable[Span], pieces: Iterable[Span], rest: str, stream: TextIO) -> str:
    """The pieces as lines for a stream: folded and in colour where it is a terminal."""
    laid_out = lines_of(start, pieces, rest, width_of(stream) or UNLIMITED)
    return "".join(f"{shown_line(line, stream)}\n" for line in laid_out)


def lines_of(
    start: Iterable[Span], pieces: Iterable[Span], rest: str, width: int
) -> list[list[Span]]:
    """The pieces one after the other; `start` stands before the first line, `rest` before others.

    What stands at the start is never folded, and cut where it is very long.
    """
    lines = _Lines(width, rest)
    lines.begin(Span(escape_control(piece.text, _MOST_AT_START), piece.style) for piece in start)
    for piece in pieces:
        for number, text in enumerate(piece.text.split("\n")):
            if number:
                lines.end()
            safe = escape_control(text, len(text) + 1)
            if piece.is_solid or width == UNLIMITED:
                lines.take(Span(safe, piece.style), is_blank=False)
                continue
            for part in _WORDS_AND_BLANKS.findall(safe):
                lines.take(Span(part, piece.style), is_blank=part.startswith(" "))
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
        self.done: list[list[Span]] = []
        self.line: list[Span] = []
        self.column = 0
        self.gap: list[Span] = []
        self.word: list[Span] = []
        self.is_begun = False

    def begin(self, start: Iterable[Span]) -> None:
        self.line = list(start)
        self.column = sum(columns(piece.text) for piece in self.line)

    def take(self, piece: Span, *, is_blank: bool) -> None:
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
        self.begin([Span(self.rest)])
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

    def _add(self, piece: Span) -> None:
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


def shown_line(line: list[Span], stream: TextIO) -> str:
    """A line with its styles, neighbours of one style together, no blanks at its end."""
    parts = []
    for style, pieces in groupby(line, key=lambda piece: piece.style):
        text = "".join(piece.text for piece in pieces)
        parts.append(styled(text, stream, **style) if style else text)
    return "".join(parts).rstrip(" ")


# Colour roles in the terminal: of message types and of agents, each always beside its word.


QUIET: Style = MappingProxyType({"dim": True})
STRONG: Style = MappingProxyType({"bold": True})
_ACCENT: Style = MappingProxyType({"fg": "cyan", "bold": True})
_POSITIVE: Style = MappingProxyType({"fg": "green", "bold": True})
ATTENTION: Style = MappingProxyType({"fg": "magenta", "bold": True})
_NOTICE: Style = MappingProxyType({"fg": "yellow"})

# Green and yellow look alike to some: they differ in weight as well.
_STYLES: dict[ColourRole, Style] = {
    "accent": _ACCENT,
    "strong": STRONG,
    "positive": _POSITIVE,
    "attention": ATTENTION,
    "notice": _NOTICE,
    "quiet": QUIET,
}
STYLE_OF_TYPE: dict[str, Style] = {row.name: _STYLES[row.colour] for row in TYPES.values()}
# Of the 256 colours some that have a contrast of at least 4 on black and on white
_TINTS = (30, 31, 62, 97, 130, 132)


def subject_pieces(subject: str) -> tuple[Span, ...]:
    """A subject with its type's word in the role's style; a quiet one is quiet all through.

    It is one line, whatever somebody has imported.
    """
    subject = escape_control(subject, len(subject) + 1)
    parsed = parse_subject(subject)
    if parsed is None:
        return (Span(subject),)
    style = STYLE_OF_TYPE[parsed.type]
    word, rest = parsed.prefix, subject[len(parsed.prefix) :]
    return (Span(word, style), Span(rest, QUIET if style is QUIET else PLAIN))


def agent_piece(name: str) -> Span:
    """An agent's name in the tint that is always hers."""
    tint = _TINTS[crc32(name.encode(errors="replace")) % len(_TINTS)]
    return Span(escape_control(name), MappingProxyType({"fg": tint}))


# What is longer than the screen goes through the reader's pager; what is exact, out unchanged.


def write_lines(lines: Iterable[str], *, pager: bool = True) -> None:
    """Write lines for people: by the pager where there are more than the screen has."""
    out = sys.stdout
    if not pager or not _is_watched(out):
        out.writelines(lines)
        return
    from shutil import get_terminal_size  # not needed in a pipe

    screen, rows = get_terminal_size().lines, 0
    following = iter(lines)
    first = []
    for line in following:
        first.append(line)
        rows += line.count("\n")
        if rows >= screen:
            click.echo_via_pager(chain(first, following))
            return
    out.writelines(first)


def write_exact(text: str, out: TextIO) -> None:
    """Every byte as it is into a pipe or a file; in a terminal nothing of it is obeyed."""
    out.write(escape_control_lines(text) if out.isatty() else text)


def _is_watched(out: TextIO) -> bool:
    """Whether somebody is there to turn the pages."""
    return out.isatty() and sys.stdin is not None and sys.stdin.isatty()


pager_option = click.option(
    "--no-pager", "pager", flag_value=False, default=True, help="Never page; write it all at once."
)


# What a command says in words: what it did, then what to do next, folded to the terminal.


__all__ = [
    "advice",
    "as_option",
    "joined",
    "pieces",
    "print_hint",
    "print_message",
    "sentence",
    "thread_argument",
]


def sentence(text: str, out: TextIO) -> str:
    """What was done or found."""
    return fold([], pieces(text), "", out)


def advice(text: str, out: TextIO) -> str:
    """What to do next, or what else there is to know."""
    return fold([Span("  ")], pieces(text), "  ", out)


def pieces(text: str, style: Style = PLAIN) -> list[Span]:
    """The text, in which a command between backticks is never folded: one copies it whole."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick that stands for itself
        return [Span(text, style)]
    return [
        Span(f"`{part}`", style, is_solid=True) if is_code else Span(part, style)
        for part, is_code in zip(parts, cycle((False, True)), strict=False)
        if part
    ]


def print_message(text: str, out: TextIO | None = None) -> None:
    """Write what was done or found, to the standard output unless said otherwise."""
    out = out or sys.stdout
    out.write(sentence(text, out))


def print_hint(text: str, out: TextIO | None = None) -> None:
    """Write what to do next."""
    out = out or sys.stdout
    out.write(advice(text, out))
