"""A state as text and back, so that the next round costs what is new, not the whole thread.

The text is a line for each part, and each part is JSON; so lines never break inside one. The first
line says which format it is and holds a checksum of the rest. The second is what every round looks
at: the artifact, the versions, the open conflicts. Then come the blame of each item and the memory
of each author, a line each, which stay text until somebody asks for them (`memory_json`). They are
no JSON texts inside of JSON: to escape them anew would cost, every time, what was to be saved.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any
from zlib import crc32

from brenner.artifact.blame import Source
from brenner.artifact.conflicts import Conflict, Displaced
from brenner.artifact.kept import Kept, read_text
from brenner.artifact.memory_json import (
    as_text,
    element,
    encode_author,
    encode_blame,
    read_author,
    read_blame,
    texts_of,
)
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, Killed, Metadata, Reference, Value
from brenner.artifact.state import Counts, State, Version

FORMAT = 1
_FROZEN_METADATA = ("roster", "research_program", "extra")


def encode_state(state: State) -> str:
    """The text of a state; what of it is still text is used as it is."""
    blame, authors = state.blame, state.authors
    head = {
        "artifact": _artifact(state.artifact),
        "blame": list(blame),
        "authors": list(authors),
        "conflicts": [_conflict(each) for each in state.conflicts],
        "versions": _versions(state.versions),
        "counts": dict(state.counts),
        "added": [
            list(state.added),
            [_time(at) for at, _ in state.added.values()],
            [number for _, number in state.added.values()],
        ],
        "has_question": state.has_question,
        "updated": _time(state.updated),
    }
    lines = [as_text(head), *texts_of(blame, encode_blame), *texts_of(authors, encode_author)]
    return "\n".join([_stamp(lines), *lines])


def decode_state(text: str) -> State:
    """The state of a text; ValueError where it is damaged or no text of this format."""
    stamp, *lines = text.split("\n")
    if stamp != _stamp(lines):
        message = "This is no state of this format, or it was damaged."
        raise ValueError(message)
    return read_text(_state, lines)


def _stamp(lines: Iterable[str]) -> str:
    checksum = 0
    for line in lines:  # one by one: another copy of the whole takes longer than the sum
        checksum = crc32(b"\n", crc32(line.encode(), checksum))
    return as_text({"brenner_state": FORMAT, "crc32": checksum})


def _state(lines: list[str]) -> State:
    head = json.loads(lines[0])
    blame_of, names = head["blame"], head["authors"]
    memories = lines[len(blame_of) + 1 :]
    ids, times, numbers = head["added"]
    return State(
        _read_artifact(head["artifact"]),
        Kept(dict(zip(blame_of, lines[1:], strict=False)), read_blame),
        tuple(_read_conflict(each) for each in head["conflicts"]),
        _read_versions(*head["versions"]),
        MappingProxyType(head["counts"]),
        Kept(dict(zip(names, memories, strict=True)), read_author),
        MappingProxyType(dict(zip(ids, zip(_times(times), numbers, strict=True), strict=True))),
        head["has_question"],
        datetime.fromisoformat(head["updated"]) if head["updated"] else None,
    )


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _times(written: Iterable[str]) -> Iterable[datetime]:
    return map(datetime.fromisoformat, written)


# The artifact


def _artifact(artifact: Artifact) -> list[object]:
    sections = [
        [_item(item) for item in artifact.sections[section.id]] for section in ITEM_SECTIONS
    ]
    return [artifact.metadata._asdict(), _item(artifact.research_thread), *sections]


def _item(item: Item) -> list[object]:
    return [item.id, item.fields, item.killed] if item.killed else [item.id, item.fields]


def _read_artifact(parts: list[Any]) -> Artifact:
    said, thread, *sections = parts
    said["contributors"] = tuple(said["contributors"])
    said |= {name: MappingProxyType(said[name]) for name in _FROZEN_METADATA}
    items = {
        section.id: tuple([_read_item(*each) for each in found])
        for section, found in zip(ITEM_SECTIONS, sections, strict=True)
    }
    return Artifact(Metadata(**said), _read_item(*thread), MappingProxyType(items))


def _read_item(item_id: str, values: dict[str, Any], killed: list[str] | None = None) -> Item:
    for name, value in values.items():
        if type(value) is list or type(value) is dict:
            values[name] = _frozen(value)
    return Item(item_id, MappingProxyType(values), Killed(*killed) if killed else None)


def _frozen(value: list[Any] | dict[str, Any]) -> Value:
    if isinstance(value, dict):
        return MappingProxyType(value)
    return tuple([Reference(*each) if type(each) is list else each for each in value])


# Conflicts and versions


def _conflict(conflict: Conflict) -> list[object]:
    displaced = [[lost.value, lost.source] for lost in conflict.displaced]
    return [*conflict[:5], displaced]


def _read_conflict(parts: list[Any]) -> Conflict:
    item_id, path, version, value, source, displaced = parts
    lost = [Displaced(_standing(each), Source(*by)) for each, by in displaced]
    return Conflict(item_id, tuple(path), version, _standing(value), Source(*source), tuple(lost))


def _standing(value: Any) -> object:
    """A value in a conflict: where it is a list, then a whole one."""
    return tuple(map(element, value)) if type(value) is list else value


def _versions(versions: tuple[Version, ...]) -> list[object]:
    """In columns; the counts, which seldom change, each with how many versions have them."""
    runs: list[list[Any]] = []
    last: Counts | None = None
    for version in versions:
        if version.counts is not last and version.counts != last:
            runs.append([dict(version.counts), 0])
        last = version.counts
        runs[-1][1] += 1
    return [
        [version.number for version in versions],
        [_time(version.at) for version in versions],
        [version.message_id for version in versions],
        runs,
    ]


def _read_versions(
    numbers: list[int], times: list[str | None], ids: list[int], runs: list[tuple[Any, int]]
) -> tuple[Version, ...]:
    counts: Iterable[Counts] = chain.from_iterable(
        repeat(MappingProxyType(each), length) for each, length in runs
    )
    at = [datetime.fromisoformat(time) if time else None for time in times]
    return tuple([Version(*row) for row in zip(numbers, at, ids, counts, strict=True)])
