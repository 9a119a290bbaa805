"""What changed between two artifacts, for people: item by item, word by word."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import TextIO

from brenner.artifact.diff import KILLED, Diff, FieldChange, ItemChange, Kind
from brenner.artifact.model import Killed, Metadata
from brenner.artifact.summary import summary
from brenner.artifact.words import Mark, Span, word_spans
from brenner.cli.artifact.values import (
    BOLD,
    DIM,
    INDENT,
    STRUCK,
    heading,
    kill_texts,
    label_of,
    lines,
    value_text,
)
from brenner.cli.folding import PLAIN, Piece, Style, fold
from brenner.cli.output import is_terminal, styled
from brenner.diagnostics.visible import visible_lines

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
        yield from lines([(field.field, _pieces(field, out)) for field in found.metadata], out)
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
    count = found.unchanged
    words = "1 item is" if count == 1 else f"{count} items are"
    yield "\n" + fold([], [Piece(f"{words} the same in both.", DIM)], "", out)


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
    yield from lines(list(_fields(change, out)), out)


def _fields(change: ItemChange, out: TextIO) -> Iterator[tuple[str, Iterable[Piece]]]:
    """Labels and values. What the heading tells already needs no marks."""
    is_removed, is_killed = Kind.REMOVED in change.kinds, Kind.KILLED in change.kinds
    is_whole = is_removed or Kind.ADDED in change.kinds
    for field in change.fields:
        label = label_of(change.section, field.path)
        if (is_whole and field.path in _TITLES) or (is_killed and _is_kill(field)):
            continue
        if is_whole:
            yield label, [Piece(value_text(field.old if is_removed else field.new))]
        else:
            yield label, _pieces(field, out)
    if is_killed:
        told = {field.path[-1]: str(field.new) for field in change.fields if _is_kill(field)}
        for label, text in kill_texts(Killed(**told)):
            yield label, [Piece(text)]


_TITLES = (("name",), ("condition",))


def _is_kill(field: FieldChange) -> bool:
    return field.path[0] == KILLED


def _pieces(change: FieldChange, out: TextIO) -> Iterator[Piece]:
    """Old and new in one: of texts the words, of lists the elements, else one after the other."""
    old, new = change.old, change.new
    if (change.added or change.removed) and isinstance(new, list | tuple):
        yield from _elements(change, new, out)
        return
    spans = _spans(value_text(old), value_text(new))
    for number, span in enumerate(spans):
        # Two that stand side by side and share nothing are easily read as one, also in colour.
        if number == 1 == len(spans) - 1 and spans[0].mark is Mark.REMOVED and is_terminal(out):
            yield Piece(" → ", DIM)
        yield from _marked(span.mark, span.text, out)


def _spans(old: str, new: str) -> tuple[Span, ...]:
    """Word by word, unless either is a single word: a time, a status, a number."""
    if all(len(text.split()) > 1 for text in (old, new)):
        return word_spans(old, new)
    both = (Span(Mark.REMOVED, old), Span(Mark.INSERTED, new))
    return tuple(span for span in both if span.text)


def _elements(
    change: FieldChange, new: list[object] | tuple[object, ...], out: TextIO
) -> Iterator[Piece]:
    """The new list, the added ones marked; before it the removed ones."""
    marked = [(Mark.REMOVED, element) for element in change.removed]
    added = iter((*change.added, _END))
    following = next(added)
    for element in new:
        is_added = element is following
        marked.append((Mark.INSERTED if is_added else Mark.SAME, element))
        following = next(added) if is_added else following
    for number, (mark, element) in enumerate(marked):
        if number:
            yield Piece(", ")
        yield from _marked(mark, value_text(element), out)


_END = object()


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
