"""Who set what in a version, row by row, and as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.merge.draft import LISTS, MAPS, shown
from brenner.artifact.model import Artifact, Item, order_of
from brenner.artifact.serialize import plain
from brenner.artifact.state import Blame, Change, Path
from brenner.mail.model import Trust
from brenner.protocol.delta.schema import SCORE_PARTS, Section

_KILLED: Path = ("killed",)
_NOTHING: Mapping[int, Trust | None] = MappingProxyType({})
_PARTS = {part: number for number, part in enumerate(SCORE_PARTS)}


class Row(NamedTuple):
    """One field, key of a map or element of a list, with its value and the change that set it.

    The value is None where it was taken away. The change is None where the mail does not say who:
    in a version that was adopted from another program. `trusts` are those of the messages of its
    thread, by id. `altered` are messages that do not match their hash: the agent may be another.
    """

    item_id: str
    section: str
    path: Path
    value: object
    change: Change | None
    trusts: Mapping[int, Trust | None] = _NOTHING
    altered: frozenset[int] = frozenset()

    def is_altered(self, change: Change | None) -> bool:
        """Whether the message of a change of it was altered in the store."""
        return change is not None and change.source.message_id in self.altered

    def trust_in(self, change: Change | None) -> Trust | None:
        """How it is known who sent the message of a change of it."""
        return self.trusts.get(change.source.message_id) if change else None

    @property
    def field(self) -> str:
        """The field as people write it: `claim`, `predictions.H2`."""
        return ".".join(self.path)

    @property
    def name(self) -> str:
        """The field with its item, as one asks for it: `H2.claim`."""
        return f"{self.item_id}.{self.field}"


def rows(artifact: Artifact, blame: Blame) -> Iterator[Row]:
    """Every field of every item, in the order of the artifact."""
    for section, item in artifact.all_items():
        yield from item_rows(section, item, blame.get(item.id, {}))


def item_rows(section: Section, item: Item, changes: Mapping[Path, Change]) -> Iterator[Row]:
    """The fields of one item; after those that are there what was taken away from each."""
    values = dict(_values(section, item))
    gone = {path: None for path in changes if path not in values and path != _KILLED}
    for path in _in_order(section, [*values, *gone]):
        yield Row(item.id, section.id, path, values.get(path), changes.get(path))
    if item.killed:
        yield Row(item.id, section.id, _KILLED, item.killed.reason, changes.get(_KILLED))


def _values(section: Section, item: Item) -> Iterator[tuple[Path, object]]:
    """Every value by its path, as blame has it."""
    for name, value in item.fields.items():
        field = section.fields.get(name)
        if field and field.kind in LISTS and isinstance(value, tuple):
            yield from (((name, shown(each)), each) for each in value)
        elif field and field.kind in MAPS and isinstance(value, Mapping):
            yield from (((name, key), each) for key, each in value.items())
        else:
            yield (name,), value


def _in_order(section: Section, paths: list[Path]) -> list[Path]:
    """Fields as the schema lists them, hypotheses by number, parts of a score as in the protocol;
    elements of a list as they stand.
    """
    places = {name: number for number, name in enumerate(section.fields)}

    def order(path: Path) -> tuple[object, ...]:
        field = section.fields.get(path[0])
        key = path[1] if field and field.kind in MAPS and len(path) > 1 else ""
        return (places.get(path[0], len(places)), _PARTS.get(key, 0), order_of(key))

    return sorted(paths, key=order)


def asked_for(found: Iterable[Row], field: str) -> list[Row]:
    """The rows of one field: all keys of a map, or the one that is named."""
    return [row for row in found if row.field == field or row.field.startswith(f"{field}.")]


def row_json(row: Row, *, with_history: bool) -> dict[str, object]:
    """The stable form; keys are only ever added."""
    document: dict[str, object] = {
        "item_id": row.item_id,
        "section": row.section,
        "field": row.field,
        "path": list(row.path),
        "value": plain(row.value),
        **_change_json(row.change),
        "trust": row.trust_in(row.change),
    }
    if with_history:
        chain = row.change.history() if row.change else ()
        document["history"] = [
            {
                "value": plain(change.value),
                **_change_json(change),
                "trust": row.trust_in(change),
            }
            for change in chain
        ]
    return document


def _change_json(change: Change | None) -> dict[str, object]:
    source = change.source if change else None
    return {
        "agent": source.agent if source else None,
        "message_id": source.message_id if source else None,
        "block": source.block if source else None,
        "operation": source.operation if source else None,
        "version": source.version if source else None,
        "replaced": plain(change.replaced) if change else None,
    }
