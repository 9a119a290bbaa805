"""The two forms of a field's value: frozen in an item, opened while it is being changed.

An opened list is an ordered set (a dict without values), so that uniting takes one step for each
element; an opened map is a plain dict. Text, flags and choices are the same in both.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.artifact.blame import Change, Path, Source
from brenner.artifact.model import Fields, Reference, Value
from brenner.protocol.delta.schema import RESEARCH_THREAD, SECTIONS, Field, FieldKind

LISTS = frozenset({FieldKind.ANCHORS, FieldKind.ITEMS, FieldKind.REFERENCES})
MAPS = frozenset({FieldKind.OUTCOMES, FieldKind.SCORE})
_FIELDS_OF = {section.prefix: section.fields for section in SECTIONS.values()}


class Opened(NamedTuple):
    """An item that is being changed."""

    fields: dict[str, object]
    changes: dict[Path, Change]


def schema_of(item_id: str) -> Mapping[str, Field]:
    """The fields that an item with this ID can have."""
    return _FIELDS_OF[item_id if item_id == RESEARCH_THREAD.prefix else item_id[0]]


def is_list(item_id: str, name: str) -> bool:
    """Whether the field is a list, whose elements are no fields of their own."""
    field = schema_of(item_id).get(name)
    return field is not None and field.kind in LISTS


def opened(kind: FieldKind, value: object) -> object:
    """A value that can be changed, from a frozen one or from a payload."""
    if kind in LISTS:
        return dict.fromkeys(map(_element, cast("list[object]", value)))
    return dict(cast("Mapping[str, object]", value)) if kind in MAPS else value


def _element(each: object) -> object:
    return Reference(**each) if isinstance(each, dict) else each


def closed(kind: FieldKind, value: object) -> Value:
    """The frozen form of an opened value."""
    if kind in LISTS:
        return tuple(cast("dict[str, None]", value))
    if kind in MAPS:
        return MappingProxyType(cast("dict[str, str]", value))
    return cast("str", value)


def all_closed(item_id: str, fields: dict[str, object]) -> Fields:
    """The fields of an item that was opened; what has become empty is not there any more."""
    schema = schema_of(item_id)
    return MappingProxyType(
        {name: closed(schema[name].kind, value) for name, value in fields.items() if value}
    )


def shown(element: object) -> str:
    """An element of a list as a part of a path."""
    if isinstance(element, Reference):
        return f"{element.relation} {element.session} {element.item}"
    return str(element)


def note(
    changes: dict[Path, Change], by: Source, name: str, kind: FieldKind, value: object
) -> None:
    """Who set a new field: each element of a list, each key of a map by itself."""
    if kind in LISTS:
        for element in cast("dict[object, None]", value):
            changes[name, shown(element)] = Change(by, element)
    elif kind in MAPS:
        for key, each in cast("dict[str, object]", value).items():
            changes[name, key] = Change(by, each)
    else:
        changes[(name,)] = Change(by, value)
