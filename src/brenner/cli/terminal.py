"""Styled text for the terminal: spans, wrapping, colours, paging, messages and hints.

All text from outside is escaped, so that a terminal interprets nothing in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import chain, cycle, groupby
from types import MappingProxyType
from typing import TextIO
from zlib import crc32

import click

from brenner.cli.output import styled, terminal_width
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import TYPES, ColourRole
from brenner.protocol.subjects import parse_subject
from brenner.text import escape_control, escape_control_lines

Style = Mapping[str, object]
PLAIN: Style = MappingProxyType({})
UNLIMITED_WIDTH = sys.maxsize  # the width of a pipe
_MAX_START_CHARACTERS = 60
_WORDS_AND_SPACES = lazy_pattern(r" +|[^ ]+")


class Span(NamedTuple):
    """A stretch of text in one style. A line feed in it begins a new line."""

    text: str
    style: Style = PLAIN
    is_unbreakable: bool = False  # never wrapped: its spaces matter


def fold(start: Iterable[Span], spans: Iterable[Span], rest: str, stream: TextIO) -> str:
    """Return the spans as lines for a stream. A terminal gets them wrapped and in colour."""
    laid_out = wrap_spans(start, spans, rest, terminal_width(stream) or UNLIMITED_WIDTH)
    return "".join(f"{styled_line(line, stream)}\n" for line in laid_out)


def wrap_spans(
    start: Iterable[Span], spans: Iterable[Span], rest: str, width: int
) -> list[list[Span]]:
    """Wrap the spans to the width.

    `start` comes before the first line, `rest` before the others.

    The start is never wrapped. It is cut if it is very long.
    """
    wrapper = _LineWrapper(width, rest)
    wrapper.begin(
        Span(escape_control(span.text, _MAX_START_CHARACTERS), span.style) for span in start
    )
    for span in spans:
        for number, text in enumerate(span.text.split("\n")):
            if number:
                wrapper.end()
            escaped = escape_control(text, len(text) + 1)
            if span.is_unbreakable or width == UNLIMITED_WIDTH:
                wrapper.add(Span(escaped, span.style), is_space=False)
                continue
            for part in _WORDS_AND_SPACES.findall(escaped):
                wrapper.add(Span(part, span.style), is_space=part.startswith(" "))
    wrapper.end()
    return wrapper.lines


def display_width(text: str) -> int:
    """Return how many columns a terminal uses to show the text."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width  # most texts need neither

    return sum(
        0 if category(character) in ("Mn", "Me") else 1 + (east_asian_width(character) in "WF")
        for character in text
    )


class _LineWrapper:
    """Builds lines word by word. `gap` holds the spaces before the unfinished `word`."""

    def __init__(self, width: int, rest: str) -> None:
        self.width, self.rest = width, rest
        self.lines: list[list[Span]] = []
        self.line: list[Span] = []
        self.column = 0
        self.gap: list[Span] = []
        self.word: list[Span] = []
        self.is_begun = False

    def begin(self, start: Iterable[Span]) -> None:
        self.line = list(start)
        self.column = sum(display_width(span.text) for span in self.line)

    def add(self, span: Span, *, is_space: bool) -> None:
        if not is_space:
            self.word.append(span)
            return
        self._finish_word()
        self.gap.append(span)

    def end(self) -> None:
        self._finish_word()
        self._break()

    def _break(self) -> None:
        self.lines.append(self.line)
        self.begin([Span(self.rest)])
        self.gap, self.is_begun = [], False

    def _finish_word(self) -> None:
        """Put the unfinished word on this line, or on the next if it does not fit."""
        size = sum(display_width(span.text) for span in self.word)
        before = sum(display_width(span.text) for span in self.gap)
        if not size:
            return
        if self.is_begun and self.column + before + size > self.width:
            self._break()
        for span in (*self.gap, *self.word):
            self._append(span)
        self.gap, self.word, self.is_begun = [], [], True

    def _append(self, span: Span) -> None:
        """Append a span. Break one that is wider than a line."""
        text, start = span.text, 0
        size = display_width(text)
        if self.column + size <= self.width:
            self.line.append(span)
            self.column += size
            return
        while start < len(text):
            is_empty = self.column == display_width(self.rest)
            end = max(fitting_end(text, start, self.width - self.column), start + is_empty)
            self.line.append(span._replace(text=text[start:end]))
            self.column += display_width(text[start:end])
            start = end
            if start < len(text):
                self._break()


def fitting_end(text: str, start: int, room: int) -> int:
    """Return the index up to which the text fits into `room` columns."""
    if text.isascii():
        return min(len(text), start + max(0, room))
    for position in range(start, len(text)):
        room -= display_width(text[position])
        if room < 0:
            return position
    return len(text)


def styled_line(line: list[Span], stream: TextIO) -> str:
    """Return a line with its styles, without trailing spaces.

    Adjacent spans of one style are joined.
    """
    parts = []
    for style, spans in groupby(line, key=lambda span: span.style):
        text = "".join(span.text for span in spans)
        parts.append(styled(text, stream, **style) if style else text)
    return "".join(parts).rstrip(" ")


# Styles of message types and colours of agents. A colour never stands alone: the word is beside it.


QUIET: Style = MappingProxyType({"dim": True})
STRONG: Style = MappingProxyType({"bold": True})
_ACCENT: Style = MappingProxyType({"fg": "cyan", "bold": True})
_POSITIVE: Style = MappingProxyType({"fg": "green", "bold": True})
ATTENTION: Style = MappingProxyType({"fg": "magenta", "bold": True})
_NOTICE: Style = MappingProxyType({"fg": "yellow"})

# Colour-blind readers may confuse green and yellow, so these also differ in weight.
_STYLES: dict[ColourRole, Style] = {
    "accent": _ACCENT,
    "strong": STRONG,
    "positive": _POSITIVE,
    "attention": ATTENTION,
    "notice": _NOTICE,
    "quiet": QUIET,
}
STYLE_OF_TYPE: dict[str, Style] = {row.name: _STYLES[row.colour] for row in TYPES.values()}
# The outcomes of a block as people see them; code and JSON say `refused`
OUTCOME_LABELS = {"applied": "applied", "refused": "rejected", "duplicate": "duplicate"}
# Colours out of 256 with a contrast of at least 4 on black and on white
_TINTS = (30, 31, 62, 97, 130, 132)


def subject_spans(subject: str) -> tuple[Span, ...]:
    """Return a subject as one line, with the word of its type in the style of the type.

    A type with the quiet style makes the whole subject quiet. Imported subjects may contain control
    characters, so they are escaped.
    """
    subject = escape_control(subject, len(subject) + 1)
    parsed = parse_subject(subject)
    if parsed is None:
        return (Span(subject),)
    style = STYLE_OF_TYPE[parsed.type]
    word, rest = parsed.prefix, subject[len(parsed.prefix) :]
    return (Span(word, style), Span(rest, QUIET if style is QUIET else PLAIN))


def agent_span(name: str) -> Span:
    """Return an agent's name in its colour, which is computed from the name."""
    tint = _TINTS[crc32(name.encode(errors="replace")) % len(_TINTS)]
    return Span(escape_control(name), MappingProxyType({"fg": tint}))


# Paging and exact output


def write_lines(lines: Iterable[str], *, pager: bool = True) -> None:
    """Write lines to the standard output, through the pager if they do not fit on the screen."""
    out = sys.stdout
    is_interactive = out.isatty() and sys.stdin is not None and sys.stdin.isatty()
    if not pager or not is_interactive:
        out.writelines(lines)
        return
    from shutil import get_terminal_size  # not needed in a pipe

    screen, rows = get_terminal_size().lines, 0
    remaining = iter(lines)
    first = []
    for line in remaining:
        first.append(line)
        rows += line.count("\n")
        if rows >= screen:
            click.echo_via_pager(chain(first, remaining))
            return
    out.writelines(first)


def write_exact(text: str, out: TextIO) -> None:
    """Write the text byte for byte to a pipe or a file. In a terminal escape control characters."""
    out.write(escape_control_lines(text) if out.isatty() else text)


pager_option = click.option(
    "--no-pager", "pager", flag_value=False, default=True, help="Do not use a pager."
)


# Messages and hints


def format_message(text: str, out: TextIO) -> str:
    """Return a message about what was done or found, wrapped for the stream."""
    return fold([], code_spans(text), "", out)


def format_hint(text: str, out: TextIO) -> str:
    """Return an indented hint, such as what to do next, wrapped for the stream."""
    return fold([Span("  ")], code_spans(text), "  ", out)


def code_spans(text: str, style: Style = PLAIN) -> list[Span]:
    """Return the text as spans.

    Commands between backticks are never wrapped, so that they can be copied.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick
        return [Span(text, style)]
    return [
        Span(f"`{part}`", style, is_unbreakable=True) if is_code else Span(part, style)
        for part, is_code in zip(parts, cycle((False, True)), strict=False)
        if part
    ]


def print_message(text: str, out: TextIO | None = None) -> None:
    """Write what was done or found, by default to the standard output."""
    out = out or sys.stdout
    out.write(format_message(text, out))


def print_hint(text: str, out: TextIO | None = None) -> None:
    """Write what to do next, by default to the standard output."""
    out = out or sys.stdout
    out.write(format_hint(text, out))
