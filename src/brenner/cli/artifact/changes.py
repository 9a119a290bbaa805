"""What changed between two artifacts, for people: item by item, word by word."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import TextIO

from brenner.artifact.diff import (
    Diff,
    ItemChange,
    Kind,
    Marks,
    field_marks,
    item_marks,
    same_words,
    summary,
)
from brenner.artifact.model import Metadata
from brenner.artifact.text_diff import Mark
from brenner.cli.artifact.values import BOLD, DIM, INDENT, STRUCK, heading, lines
from brenner.cli.folding import PLAIN, Piece, Style, fold
from brenner.cli.output import is_terminal, styled
from brenner.text import visible_lines

_REMOVED: Style = MappingProxyType({"fg": "red", "strikethrough": True})
_INSERTED: Style = MappingProxyType({"fg": "green", "underline": True})
# The style where there is colour, and the signs around it where there is none
_MARKS = {
    Mark.SAME: (PLAIN, "", ""),
    Mark.REMOVED: (_REMOVED, "[-", "-]"),
    Mark.INSERTED: (_INSERTED, "{+", "+}"),
}
_ODD: Style = MappingProxyType({"fg": "yellow"})
_KINDS: dict[Kind, Style] = {
    Kind.ADDED: MappingProxyType({"fg": "green", "bold": True}),
    Kind.REMOVED: MappingProxyType({"fg": "red", "bold": True}),
    Kind.KILLED: MappingProxyType({"fg": "magenta", "bold": True}),
    Kind.REVIVED: MappingProxyType({"fg": "cyan", "bold": True}),
    Kind.MODIFIED: MappingProxyType({"fg": "cyan"}),
    Kind.RE_RANKED: MappingProxyType({"fg": "cyan"}),
}


def change_lines(
    found: Diff, title: str, both: tuple[Metadata, Metadata], out: TextIO
) -> Iterator[str]:
    """Which two, in one sentence, then every item that changed, then the metadata."""
    yield fold([], [Piece(title, BOLD)], INDENT, out)
    odd = _odd_pair(*both)
    if odd:
        yield fold([], [Piece(odd, _ODD)], "", out)
    yield fold([], [Piece(summary(found))], "", out)
    for change in found.items:
        yield "\n" + "".join(_item(change, out))
    if found.metadata:
        yield "\n" + fold([Piece(INDENT)], [Piece("Metadata", BOLD)], INDENT, out)
        told = [(field.field, _pieces(field_marks(field), out)) for field in found.metadata]
        yield from lines(told, out)
    yield from _unchanged(found, out)


_LINE_STYLES: dict[str, Style] = {"+": {"fg": "green"}, "-": {"fg": "red"}, "@": {"fg": "cyan"}}


def text_lines(text: str, out: TextIO) -> Iterator[str]:
    """A unified diff, safe to look at in a terminal."""
    for each in visible_lines(text).split("\n")[:-1]:
        yield styled(each, out, **_LINE_STYLES.get(each[:1], PLAIN)) + "\n"


def _odd_pair(old: Metadata, new: Metadata) -> str:
    """What one should know before reading the difference of two files that were mixed up."""
    if old.session_id and new.session_id and old.session_id != new.session_id:
        return f"These are two sessions: {old.session_id} and {new.session_id}."
    if old.version is not None and new.version is not None and new.version < old.version:
        return f"NEW is the older version: v{new.version} after v{old.version}."
    return ""


def _unchanged(found: Diff, out: TextIO) -> Iterator[str]:
    yield "\n" + fold([], [Piece(same_words(found.unchanged), DIM)], "", out)


def _item(change: ItemChange, out: TextIO) -> Iterator[str]:
    """Its heading with what happened, then its fields: all of them where it came or went."""
    is_gone = Kind.REMOVED in change.kinds or Kind.KILLED in change.kinds
    pieces = [Piece(change.title, STRUCK if is_gone else BOLD), Piece("  ")]
    pieces = pieces if change.title != change.id else []
    for number, kind in enumerate(change.kinds):
        pieces += [Piece(", " * bool(number)), Piece(kind.value, _KINDS[kind])]
    if change.rank:
        pieces.append(Piece(f": {change.rank[0]} → {change.rank[1]}", _KINDS[Kind.RE_RANKED]))
    yield heading(change.id, pieces, out)
    yield from lines([(label, _pieces(marks, out)) for label, marks in item_marks(change)], out)


def _pieces(spans: Marks, out: TextIO) -> Iterator[Piece]:
    """Old and new in one, with marks."""
    for number, span in enumerate(spans):
        # Two that stand side by side and share nothing are easily read as one, also in colour.
        if number == 1 == len(spans) - 1 and spans[0].mark is Mark.REMOVED and is_terminal(out):
            yield Piece(" → ", DIM)
        yield from _marked(span.mark, span.text, out)


def _marked(mark: Mark, text: str, out: TextIO) -> Iterator[Piece]:
    """The text in its style, or between signs; a line feed that came or went is spelled out."""
    if not text:
        return
    style, before, after = _MARKS[mark]
    if mark is Mark.SAME:
        yield Piece(text)
        return
    spelled = text.replace("\n", "\\n\n")
    is_solid = not text.strip(" ")
    if is_terminal(out):
        yield Piece(spelled, style, is_solid)
    else:
        yield from (Piece(before), Piece(spelled, is_solid=is_solid), Piece(after))
