"""Where item IDs live in a delta, and how they are rewritten there (R11).

They live in `target_id`, in the keys of outcomes, in `discriminates`, in `conflicts_with` and in
references to this thread. Everywhere else an ID is prose, which is never altered.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from brenner.protocol.delta.schema import SECTIONS, Delta, Field, FieldKind
from brenner.protocol.grammar import (
    ITEM_ID,
    ITEM_ID_IN_PROSE,
    LOCAL_REFERENCE,
    NAME_IN_DISCRIMINATES,
)

Path = tuple[str | int, ...]


class Mention(NamedTuple):
    """An ID or `@name` in a delta: the field, and the exact place for finding its line."""

    field: str
    written: str
    path: Path


def mentions(delta: Delta, thread_id: str) -> list[Mention]:
    """Every ID that a delta names, in order."""
    found = []
    if delta.target_id is not None:
        found.append(Mention("target_id", delta.target_id, ("target_id",)))
    fields = SECTIONS[delta.section].fields
    for name, value in delta.payload.items():
        field = fields.get(name)
        if field is not None and (field.kind in _PLACES or field.names_items):
            found += _in_field(field, value, thread_id)
    return found


_PLACES = frozenset({FieldKind.OUTCOMES, FieldKind.ITEMS, FieldKind.REFERENCES})


def _in_field(field: Field, value: object, thread_id: str) -> Iterator[Mention]:
    path: Path = ("payload", field.name)
    if field.kind is FieldKind.OUTCOMES:
        for key in cast("dict[str, str]", value):
            yield Mention(field.name, key, (*path, key))
    elif field.kind is FieldKind.ITEMS:
        for index, item in enumerate(cast("list[str]", value)):
            yield Mention(field.name, item, (*path, index))
    elif field.kind is FieldKind.REFERENCES:
        for index, reference in enumerate(cast("list[dict[str, str]]", value)):
            if is_in_thread(reference, thread_id):
                yield Mention(field.name, reference["item"], (*path, index, "item"))
    else:
        for name in NAME_IN_DISCRIMINATES.findall(cast("str", value)):
            yield Mention(field.name, name, path)


def is_in_thread(reference: Mapping[str, str], thread_id: str) -> bool:
    """Whether a reference is to an item of this thread; what is no ID was warned about before."""
    item = reference["item"]
    is_name = ITEM_ID.fullmatch(item) or LOCAL_REFERENCE.fullmatch(item)
    return is_name is not None and reference["session"] == thread_id


def with_ids(delta: Delta, final: Mapping[str, str], thread_id: str) -> dict[str, object]:
    """The payload with every ID that it names as it is finally numbered."""
    fields = SECTIONS[delta.section].fields
    return {
        name: _rewritten(fields[name], value, final, thread_id) if name in fields else value
        for name, value in delta.payload.items()
    }


def _rewritten(field: Field, value: object, final: Mapping[str, str], thread_id: str) -> object:
    if field.kind is FieldKind.OUTCOMES:
        outcomes = cast("dict[str, str]", value)
        return {final[key]: outcome for key, outcome in outcomes.items()}
    if field.kind is FieldKind.ITEMS:
        return [final[item] for item in cast("list[str]", value)]
    if field.kind is FieldKind.REFERENCES:
        return [
            {**reference, "item": final[reference["item"]]}
            if is_in_thread(reference, thread_id)
            else reference
            for reference in cast("list[dict[str, str]]", value)
        ]
    if field.names_items:
        return NAME_IN_DISCRIMINATES.sub(lambda name: final[name[0]], cast("str", value))
    return value


def in_prose(delta: Delta) -> Iterator[tuple[Path, str]]:
    """Every ID that stands in a text of the delta which is never altered, once per text."""
    fields = SECTIONS[delta.section].fields
    for name, value in delta.payload.items():
        path: Path = ("payload", name)
        is_altered = name in fields and fields[name].names_items
        if isinstance(value, str):
            for item_id in dict.fromkeys(ITEM_ID_IN_PROSE.findall(value)):
                if not (is_altered and item_id.startswith("H")):
                    yield path, item_id
        elif isinstance(value, dict):
            for key, text in value.items():
                for item_id in dict.fromkeys(ITEM_ID_IN_PROSE.findall(str(text))):
                    yield (*path, key), item_id
