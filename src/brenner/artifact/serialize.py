"""A state as text and back, so that the next round costs what is new, not the whole thread.

The text is a line for each part, and each part is JSON; so lines never break inside one. The first
line says which format it is and holds a checksum of the rest. The second is what every round looks
at: the artifact, the versions, the open conflicts. Then come the blame of each item and the memory
of each author, a line each, which stay text until somebody asks for them (`memory_json`). They are
no JSON texts inside of JSON: to escape them anew would cost, every time, what was to be saved.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any, TypeVar
from zlib import crc32

from brenner.artifact.diff import Diff, FieldChange, ItemChange, changes, ranks, summary
from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Item,
    Killed,
    Metadata,
    Reference,
    Value,
    total,
)
from brenner.artifact.state import (
    Applied,
    Change,
    Conflict,
    Counts,
    Displaced,
    Kept,
    Memory,
    Page,
    Path,
    Said,
    SaidOfItem,
    Source,
    State,
    Version,
    read_text,
)
from brenner.artifact.text_diff import word_spans
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS, RESEARCH_THREAD, FieldKind, Section

# The memory of a state as text: who set what, and what each author has said.
#
# Of an item a round needs the latest change of each field, and of an author what she did on the
# bases that are in use. So the text of each is parted by tabs, which JSON never holds unescaped,
# into
# what is read first and what stays text even then: the changes before the latest; the pages of her
# blocks, what she says of each item.


K = TypeVar("K")
V = TypeVar("V")
_TAB = "\t"

# Escapes are ASCII: so a character takes one byte, whatever anybody wrote, and tabs only part.
as_text = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=dict).encode


def texts_of(values: Mapping[K, V], encode: Callable[[V], str]) -> Iterator[str]:
    """The text of each value; of one that was kept as text, that text."""
    texts = values.texts if isinstance(values, Kept) else dict.fromkeys(values)
    for key, text in texts.items():
        yield encode(values[key]) if text is None else text


def element(written: Any) -> Any:
    """A value of a field, or an element of a list: only references are written as lists."""
    return Reference(*written) if type(written) is list else written


# Blame: of each path its latest change, and where its earlier ones stand


class _Latest(Change):
    """A change whose earlier ones are still text; `written` is itself as it was written."""

    written: list[Any]
    earlier: str

    @cached_property
    def before(self) -> Change | None:
        """The change that had set what it replaced, read when it is asked for."""
        return read_text(_read_history, self.earlier) if self.earlier else None


def encode_blame(changes: Mapping[Path, Change]) -> str:
    """The text of an item's blame."""
    heads: list[list[object]] = []
    histories: list[str] = []
    for path, latest in changes.items():
        written, earlier = _history(latest)
        histories += [earlier] if earlier else []
        head = [path, written, len(histories) if earlier else 0]
        heads.append(head if latest.replaced is None else [*head, latest.replaced])
    return _TAB.join([as_text(heads), *histories])


def _history(latest: Change) -> tuple[list[Any], str]:
    """A change as it is written, and the text of the earlier ones, oldest first."""
    newer = []
    change: Change | None = latest
    while change is not None and not isinstance(change, _Latest):
        newer.append(change)
        change = change.before
    written, earlier = ([change.written], change.earlier) if change else ([], "")
    for following in reversed(newer):
        written.append(_written(following, change))
        change = following
    *others, last = written
    if others:
        more = as_text(others)
        earlier = f"{earlier[:-1]},{more[1:]}" if earlier else more
    return last, earlier


def _written(change: Change, before: Change | None) -> list[Any]:
    """Source and value; what it replaced only where that is not the value of the one before."""
    expected = before.value if before else None
    replaced = () if change.replaced == expected else (change.replaced,)
    return [*change.source, change.value, *replaced]


def read_blame(text: str) -> dict[Path, Change]:
    """An item's blame, of which only the latest changes are read."""
    parts = text.split(_TAB)
    changes: dict[Path, Change] = {}
    for path, written, place, *replaced in json.loads(parts[0]):
        before = element(replaced[0]) if replaced else None
        latest = _Latest(Source(*written[:5]), element(written[5]), before)
        latest.written = written
        latest.earlier = parts[place] if place else ""
        changes[tuple(path)] = latest
    return changes


def _read_history(text: str) -> Change | None:
    change: Change | None = None
    for written in json.loads(text):
        expected = change.value if change else None
        replaced = element(written[6]) if written[6:] else expected
        change = Change(Source(*written[:5]), element(written[5]), replaced, change)
    return change


# Authors: the rest of the memory, then the pages of blocks, then what is said of each item


def encode_author(memory: Memory) -> str:
    """The text of an author's memory."""
    adds = [[*where, items] for where, items in memory.adds.items()]
    head = as_text([memory.applied, adds, list(memory.blocks), list(memory.said)])
    return _TAB.join(
        [head, *texts_of(memory.blocks, _encode_page), *texts_of(memory.said, _encode_said)]
    )


def read_author(text: str) -> Memory:
    """An author's memory, of which little is read."""
    head, *parts = text.split(_TAB)
    applied, adds, pages, items = json.loads(head)
    said = parts[len(pages) :]
    return Memory(
        applied,
        Kept(dict(zip(pages, parts, strict=False)), _read_page),
        {(base, prefix): added for base, prefix, added in adds},
        Kept(dict(zip(items, said, strict=True)), _read_said),
    )


def _encode_page(page: Page) -> str:
    return as_text({digest: list(chain(*equal)) for digest, equal in page.items()})


def _read_page(text: str) -> Page:
    width = len(Applied._fields)
    return {
        digest: tuple([Applied(*equal[at : at + width]) for at in range(0, len(equal), width)])
        for digest, equal in json.loads(text).items()
    }


def _encode_said(said: SaidOfItem) -> str:
    return as_text(
        {
            field: {key: [value, *since] for key, (value, since) in keys.items()}
            for field, keys in said.items()
        }
    )


def _read_said(text: str) -> SaidOfItem:
    return {
        field: {
            key: Said(tuple(value) if type(value) is list else value, Applied(*since))
            for key, (value, *since) in keys.items()
        }
        for field, keys in json.loads(text).items()
    }


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


# Artifacts and their differences as JSON; keys are only ever added.


_LISTS = (FieldKind.ANCHORS, FieldKind.ITEMS, FieldKind.REFERENCES)
_MAPS = (FieldKind.OUTCOMES, FieldKind.SCORE)


def artifact_json(artifact: Artifact) -> dict[str, object]:
    """`metadata`, `research_thread`, and the items of the other sections by section ID.

    A field that is not there is null, false, [] or {}, by its kind. Tests stand in the order of
    their numbers, each with its `score_total` (null without a score) and its `rank`.
    """
    document: dict[str, object] = {
        "metadata": plain(artifact.metadata._asdict()),
        RESEARCH_THREAD.id: _json_form_item(RESEARCH_THREAD, artifact.research_thread),
    }
    for section in ITEM_SECTIONS:
        items = artifact.sections[section.id]
        is_ranked = section is DISCRIMINATIVE_TESTS
        document[section.id] = (
            _tests(items) if is_ranked else [_json_form_item(section, item) for item in items]
        )
    return document


def _tests(tests: tuple[Item, ...]) -> list[dict[str, object]]:
    return [
        _json_form_item(DISCRIMINATIVE_TESTS, test)
        | {"score_total": total(test) if test.score else None, "rank": rank}
        for test, rank in zip(tests, ranks(tests), strict=True)
    ]


def _json_form_item(section: Section, item: Item) -> dict[str, object]:
    values = {
        name: plain(item.fields[name]) if name in item.fields else _nothing(field.kind)
        for name, field in section.fields.items()
    }
    return {"id": item.id, **values, "killed": plain(item.killed)}


def _nothing(kind: FieldKind) -> object:
    if kind in _LISTS:
        return []
    if kind in _MAPS:
        return {}
    return False if kind is FieldKind.FLAG else None


def plain(value: object) -> object:
    """A value of the model as JSON has it."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def diff_json(diff: Diff, old: Metadata, new: Metadata) -> dict[str, object]:
    """The difference: which versions, in one sentence, as lists of IDs, item by item.

    `summary` is left to the count of violations, as everywhere.
    """
    return {
        "old": _version(old),
        "new": _version(new),
        "sentence": summary(diff),
        "changes": changes(diff),
        "unchanged": diff.unchanged,
        "items": [item_change_json(change) for change in diff.items],
        "metadata": [_field_change(change) for change in diff.metadata],
    }


def _version(metadata: Metadata) -> dict[str, object]:
    return {
        "session_id": metadata.session_id,
        "version": metadata.version,
        "compiled_at": metadata.compiled_at,
    }


def item_change_json(change: ItemChange) -> dict[str, object]:
    """An item that changed, field by field."""
    rank = {"old": change.rank[0], "new": change.rank[1]} if change.rank else None
    return {
        "id": change.id,
        "section": change.section,
        "title": change.title,
        "kinds": [kind.value for kind in change.kinds],
        "occurrence": change.occurrence,
        "rank": rank,
        "fields": [_field_change(field) for field in change.fields],
    }


def _field_change(change: FieldChange) -> dict[str, object]:
    """Of a list also what came and went; of a text that replaced another one, the words."""
    document: dict[str, object] = {
        "field": change.field,
        "path": list(change.path),
        "old": plain(change.old),
        "new": plain(change.new),
    }
    if isinstance(change.old, list | tuple) or isinstance(change.new, list | tuple):
        document |= {"added": plain(change.added), "removed": plain(change.removed)}
    elif isinstance(change.old, str) and isinstance(change.new, str):
        document["words"] = [
            {"mark": span.mark.value, "text": span.text}
            for span in word_spans(change.old, change.new)
        ]
    return document
