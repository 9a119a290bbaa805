"""A changed item field by field: one text each, in which is marked what went and what came."""

from collections.abc import Iterator

from brenner.artifact.diff import KILLED, FieldChange, ItemChange, Kind
from brenner.artifact.field_words import kill_texts, label_of, value_text
from brenner.artifact.model import Killed
from brenner.artifact.words import Mark, Span, word_spans

Marks = tuple[Span, ...]
_TITLES = (("name",), ("condition",))


def item_marks(change: ItemChange) -> Iterator[tuple[str, Marks]]:
    """Labels and values. What the heading of the item tells already needs no marks."""
    is_removed, is_killed = Kind.REMOVED in change.kinds, Kind.KILLED in change.kinds
    is_whole = is_removed or Kind.ADDED in change.kinds
    for field in change.fields:
        label = label_of(change.section, field.path)
        if (is_whole and field.path in _TITLES) or (is_killed and _is_kill(field)):
            continue
        if is_whole:
            yield label, _unmarked(value_text(field.old if is_removed else field.new))
        else:
            yield label, field_marks(field)
    if is_killed:
        told = {field.path[-1]: str(field.new) for field in change.fields if _is_kill(field)}
        for label, text in kill_texts(Killed(**told)):
            yield label, _unmarked(text)


def field_marks(change: FieldChange) -> Marks:
    """Of texts the words, of lists the elements, else one after the other."""
    if (change.added or change.removed) and isinstance(change.new, list | tuple):
        return tuple(_elements(change, change.new))
    return _text_marks(value_text(change.old), value_text(change.new))


def _is_kill(field: FieldChange) -> bool:
    return field.path[0] == KILLED


def _unmarked(text: str) -> Marks:
    return (Span(Mark.SAME, text),) if text else ()


def _text_marks(old: str, new: str) -> Marks:
    """Word by word, unless either is a single word: a time, a status, a number."""
    if all(len(text.split()) > 1 for text in (old, new)):
        return word_spans(old, new)
    both = (Span(Mark.REMOVED, old), Span(Mark.INSERTED, new))
    return tuple(span for span in both if span.text)


def _elements(change: FieldChange, new: list[object] | tuple[object, ...]) -> Iterator[Span]:
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
            yield Span(Mark.SAME, ", ")
        if text := value_text(element):
            yield Span(mark, text)


_END = object()
