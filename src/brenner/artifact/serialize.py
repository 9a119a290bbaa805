"""The stored text form of a state, and the JSON forms of artifacts and differences.

Storing the state makes the cost of a merge proportional to the new messages, not to the thread.
Each line of the text is one JSON document. The first line has the format and a checksum of the
rest. The second has the parts that every merge needs: the artifact, the versions, the open
conflicts. Then follow the blame of each item and the history of each author, one per line. They
stay text until first access (`LazyMapping`). They are not JSON strings inside of JSON, because
escaping them again would cost as much as it saves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any, TypeVar
from zlib import crc32

from brenner.artifact.diff import Diff, FieldChange, ItemChange, changed_ids, rank_tests, summary
from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Reference,
    Result,
    Value,
    total_score,
)
from brenner.artifact.state import (
    AppliedBlock,
    AuthorHistory,
    BlockPage,
    Change,
    Conflict,
    Counts,
    DisplacedValue,
    LazyMapping,
    Path,
    Source,
    State,
    StatedValues,
    Version,
    decode_checked,
)
from brenner.artifact.text_diff import word_spans
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    LIST_KINDS,
    MAP_KINDS,
    RESEARCH_THREAD,
    FieldKind,
    Section,
)

# Blame and author histories as text
#
# A merge needs the latest change of each field, and an author's blocks on the bases in use. So each
# text is divided by tabs, which JSON never contains unescaped. The first part is decoded on first
# access. The others stay text even then: the earlier changes, the pages of blocks, the values that
# the author gave each item.

K = TypeVar("K")
V = TypeVar("V")
_TAB = "\t"

# ASCII escapes keep each character at one byte, and tabs occur only as separators.
to_json_text = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=dict).encode


def encoded_texts(values: Mapping[K, V], encode: Callable[[V], str]) -> Iterator[str]:
    """Yield the text of each value. A value that is still text is not encoded again."""
    texts = values.texts if isinstance(values, LazyMapping) else dict.fromkeys(values)
    for key, text in texts.items():
        yield encode(values[key]) if text is None else text


def decode_element(encoded: Any) -> Any:
    """Decode a field's value or a list element. A reference or a result is encoded as a list."""
    if type(encoded) is not list:
        return encoded
    if len(encoded) == len(Reference._fields):
        return Reference(*encoded)
    parts: list[Any] = [tuple(part) if type(part) is list else part for part in encoded]
    return Result(*parts)


# Blame: per path the latest change, and the index of the part with the earlier ones


class _LatestChange(Change):
    """A change whose earlier changes are still text. `encoded` is its own encoded form."""

    encoded: list[Any]
    encoded_history: str

    @cached_property
    def before(self) -> Change | None:
        """Return the change that had set the replaced value, decoded on first access."""
        return (
            decode_checked(_decode_history, self.encoded_history) if self.encoded_history else None
        )


def encode_blame(changes: Mapping[Path, Change]) -> str:
    heads: list[list[object]] = []
    histories: list[str] = []
    for path, latest in changes.items():
        encoded, encoded_history = _encode_history(latest)
        histories += [encoded_history] if encoded_history else []
        head = [path, encoded, len(histories) if encoded_history else 0]
        heads.append(head if latest.replaced is None else [*head, latest.replaced])
    return _TAB.join([to_json_text(heads), *histories])


def _encode_history(latest: Change) -> tuple[list[Any], str]:
    """Return the encoded change, and the text of the earlier ones, oldest first."""
    newer = []
    change: Change | None = latest
    while change is not None and not isinstance(change, _LatestChange):
        newer.append(change)
        change = change.before
    encoded, encoded_history = ([change.encoded], change.encoded_history) if change else ([], "")
    for following in reversed(newer):
        encoded.append(_encode_change(following, change))
        change = following
    *others, last = encoded
    if others:
        more = to_json_text(others)
        encoded_history = f"{encoded_history[:-1]},{more[1:]}" if encoded_history else more
    return last, encoded_history


def _encode_change(change: Change, before: Change | None) -> list[Any]:
    """Encode source and value. Add the replaced value only if the previous change has another."""
    expected = before.value if before else None
    replaced = () if change.replaced == expected else (change.replaced,)
    return [*change.source, change.value, *replaced]


def decode_blame(text: str) -> dict[Path, Change]:
    """Decode the latest changes of an item's blame. Earlier changes stay text."""
    parts = text.split(_TAB)
    changes: dict[Path, Change] = {}
    for path, encoded, place, *replaced in json.loads(parts[0]):
        before = decode_element(replaced[0]) if replaced else None
        latest = _LatestChange(Source(*encoded[:5]), decode_element(encoded[5]), before)
        latest.encoded = encoded
        latest.encoded_history = parts[place] if place else ""
        changes[tuple(path)] = latest
    return changes


def _decode_history(text: str) -> Change | None:
    change: Change | None = None
    for encoded in json.loads(text):
        expected = change.value if change else None
        replaced = decode_element(encoded[6]) if encoded[6:] else expected
        change = Change(Source(*encoded[:5]), decode_element(encoded[5]), replaced, change)
    return change


# Author histories: the head, then the pages of blocks, then the values given to each item


def encode_author(history: AuthorHistory) -> str:
    adds = [[*where, items] for where, items in history.adds.items()]
    head = to_json_text([history.applied, adds, list(history.blocks), list(history.said)])
    return _TAB.join(
        [
            head,
            *encoded_texts(history.blocks, _encode_page),
            *encoded_texts(history.said, _encode_stated),
        ]
    )


def decode_author(text: str) -> AuthorHistory:
    """Decode an author's history. Its pages and values stay text."""
    head, *parts = text.split(_TAB)
    applied, adds, pages, items = json.loads(head)
    stated = parts[len(pages) :]
    return AuthorHistory(
        applied,
        LazyMapping(dict(zip(pages, parts, strict=False)), _decode_page),
        {(base, prefix): added for base, prefix, added in adds},
        LazyMapping(dict(zip(items, stated, strict=True)), _decode_stated),
    )


def _encode_page(page: BlockPage) -> str:
    return to_json_text({digest: list(chain(*equal)) for digest, equal in page.items()})


def _decode_page(text: str) -> BlockPage:
    width = len(AppliedBlock._fields)
    return {
        digest: tuple([AppliedBlock(*equal[at : at + width]) for at in range(0, len(equal), width)])
        for digest, equal in json.loads(text).items()
    }


def _encode_stated(stated: StatedValues) -> str:
    return to_json_text(
        {
            field: {key: [value, *since] for key, (value, since) in keys.items()}
            for field, keys in stated.items()
        }
    )


def _decode_stated(text: str) -> StatedValues:
    return {
        field: {
            key: (tuple(value) if type(value) is list else value, AppliedBlock(*since))
            for key, (value, *since) in keys.items()
        }
        for field, keys in json.loads(text).items()
    }


# The state as text

FORMAT = 2
_FROZEN_METADATA = ("roster", "research_program", "extra")


def encode_state(state: State) -> str:
    """Return the text of a state. Reuse the parts that are still text."""
    blame, authors = state.blame, state.authors
    head = {
        "artifact": _encode_artifact(state.artifact),
        "blame": list(blame),
        "authors": list(authors),
        "conflicts": [_encode_conflict(each) for each in state.conflicts],
        "versions": _encode_versions(state.versions),
        "counts": dict(state.counts),
        "added": [
            list(state.added),
            [_encode_time(at) for at, _ in state.added.values()],
            [number for _, number in state.added.values()],
        ],
        "has_question": state.has_question,
        "updated": _encode_time(state.updated),
        **({"is_independent": True} if state.is_independent else {}),
        **({"readings": [*map(list, state.readings.items())]} if state.readings else {}),
    }
    lines = [
        to_json_text(head),
        *encoded_texts(blame, encode_blame),
        *encoded_texts(authors, encode_author),
    ]
    return "\n".join([_header_line(lines), *lines])


def decode_state(text: str) -> State:
    """Decode the text of a state. Raise ValueError if it is damaged or has another format."""
    stamp, *lines = text.split("\n")
    if stamp != _header_line(lines):
        message = "The stored state is damaged or has another format."
        raise ValueError(message)
    return decode_checked(_decode_lines, lines)


def _header_line(lines: Iterable[str]) -> str:
    checksum = 0
    for line in lines:  # line by line, since joining the lines takes longer than the checksum
        checksum = crc32(b"\n", crc32(line.encode(), checksum))
    return to_json_text({"brenner_state": FORMAT, "crc32": checksum})


def _decode_lines(lines: list[str]) -> State:
    head = json.loads(lines[0])
    blame_of, names = head["blame"], head["authors"]
    memories = lines[len(blame_of) + 1 :]
    ids, times, numbers = head["added"]
    return State(
        _decode_artifact(head["artifact"]),
        LazyMapping(dict(zip(blame_of, lines[1:], strict=False)), decode_blame),
        tuple(_decode_conflict(each) for each in head["conflicts"]),
        _decode_versions(*head["versions"]),
        MappingProxyType(head["counts"]),
        LazyMapping(dict(zip(names, memories, strict=True)), decode_author),
        MappingProxyType(
            dict(
                zip(ids, zip(map(datetime.fromisoformat, times), numbers, strict=True), strict=True)
            )
        ),
        head["has_question"],
        datetime.fromisoformat(head["updated"]) if head["updated"] else None,
        head.get("is_independent", False),
        {tuple(place): reading for place, reading in head.get("readings", ())},
    )


def _encode_time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


# The artifact


def _encode_artifact(artifact: Artifact) -> list[object]:
    sections = [
        [_encode_item(item) for item in artifact.sections[section.id]] for section in ITEM_SECTIONS
    ]
    return [artifact.metadata._asdict(), _encode_item(artifact.research_thread), *sections]


def _encode_item(item: Item) -> list[object]:
    return [item.id, item.fields, item.killed] if item.killed else [item.id, item.fields]


def _decode_artifact(parts: list[Any]) -> Artifact:
    metadata, thread, *sections = parts
    metadata["contributors"] = tuple(metadata["contributors"])
    metadata |= {name: MappingProxyType(metadata[name]) for name in _FROZEN_METADATA}
    items = {
        section.id: tuple([_decode_item(*each) for each in found])
        for section, found in zip(ITEM_SECTIONS, sections, strict=True)
    }
    return Artifact(Metadata(**metadata), _decode_item(*thread), MappingProxyType(items))


def _decode_item(item_id: str, values: dict[str, Any], killed: list[str] | None = None) -> Item:
    for name, value in values.items():
        if type(value) is list or type(value) is dict:
            values[name] = _freeze(value)
    return Item(item_id, MappingProxyType(values), KillRecord(*killed) if killed else None)


def _freeze(value: list[Any] | dict[str, Any]) -> Value:
    if isinstance(value, dict):
        return MappingProxyType(value)
    return tuple(map(decode_element, value))


# Conflicts and versions


def _encode_conflict(conflict: Conflict) -> list[object]:
    displaced = [[lost.value, lost.source] for lost in conflict.displaced]
    return [*conflict[:5], displaced]


def _decode_conflict(parts: list[Any]) -> Conflict:
    item_id, path, version, value, source, displaced = parts
    lost = [DisplacedValue(_decode_conflict_value(each), Source(*by)) for each, by in displaced]
    return Conflict(
        item_id, tuple(path), version, _decode_conflict_value(value), Source(*source), tuple(lost)
    )


def _decode_conflict_value(value: Any) -> object:
    """Decode a value in a conflict. A list is a complete list field."""
    return tuple(map(decode_element, value)) if type(value) is list else value


def _encode_versions(versions: tuple[Version, ...]) -> list[object]:
    """Encode versions as columns. Equal counts of consecutive versions are run-length encoded."""
    runs: list[list[Any]] = []
    last: Counts | None = None
    for version in versions:
        if version.counts is not last and version.counts != last:
            runs.append([dict(version.counts), 0])
        last = version.counts
        runs[-1][1] += 1
    return [
        [version.number for version in versions],
        [_encode_time(version.at) for version in versions],
        [version.message_id for version in versions],
        runs,
    ]


def _decode_versions(
    numbers: list[int], times: list[str | None], ids: list[int], runs: list[tuple[Any, int]]
) -> tuple[Version, ...]:
    counts: Iterable[Counts] = chain.from_iterable(
        repeat(MappingProxyType(each), length) for each, length in runs
    )
    at = [datetime.fromisoformat(time) if time else None for time in times]
    return tuple([Version(*row) for row in zip(numbers, at, ids, counts, strict=True)])


# Artifacts and their differences as JSON; keys are only ever added


def artifact_json(artifact: Artifact) -> dict[str, object]:
    """Return `metadata`, `research_thread`, and the items of the other sections by section ID.

    An absent field is null, false, [] or {}, depending on its kind. Tests are in the order of their
    numbers, each with its `score_total` (null without a score) and its `rank`.
    """
    document: dict[str, object] = {
        "metadata": plain_json(artifact.metadata._asdict()),
        RESEARCH_THREAD.id: _item_json(RESEARCH_THREAD, artifact.research_thread),
    }
    for section in ITEM_SECTIONS:
        items = artifact.sections[section.id]
        is_ranked = section is DISCRIMINATIVE_TESTS
        document[section.id] = (
            _tests_json(items) if is_ranked else [_item_json(section, item) for item in items]
        )
    return document


def _tests_json(tests: tuple[Item, ...]) -> list[dict[str, object]]:
    return [
        _item_json(DISCRIMINATIVE_TESTS, test)
        | {"score_total": total_score(test) if test.score else None, "rank": rank}
        for test, rank in zip(tests, rank_tests(tests), strict=True)
    ]


def _item_json(section: Section, item: Item) -> dict[str, object]:
    values = {
        name: plain_json(item.fields[name]) if name in item.fields else _empty_value(field.kind)
        for name, field in section.fields.items()
    }
    return {"id": item.id, **values, "killed": plain_json(item.killed)}


def _empty_value(kind: FieldKind) -> object:
    if kind in LIST_KINDS:
        return []
    if kind in MAP_KINDS:
        return {}
    return False if kind is FieldKind.FLAG else None


def plain_json(value: object) -> object:
    if hasattr(value, "_asdict"):
        return plain_json(value._asdict())
    if isinstance(value, Mapping):
        return {key: plain_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(each) for each in value]
    return value


def diff_json(diff: Diff, old: Metadata, new: Metadata) -> dict[str, object]:
    """Return the difference: the versions, a sentence, lists of IDs, and the changes item by
    item.

    The key `summary` is reserved for the count of violations, as in all JSON output.
    """
    return {
        "old": _version_json(old),
        "new": _version_json(new),
        "sentence": summary(diff),
        "changes": changed_ids(diff),
        "unchanged": diff.unchanged,
        "items": [item_change_json(change) for change in diff.items],
        "metadata": [_field_change_json(change) for change in diff.metadata],
    }


def _version_json(metadata: Metadata) -> dict[str, object]:
    return {
        "session_id": metadata.session_id,
        "version": metadata.version,
        "compiled_at": metadata.compiled_at,
    }


def item_change_json(change: ItemChange) -> dict[str, object]:
    rank = {"old": change.rank[0], "new": change.rank[1]} if change.rank else None
    return {
        "id": change.id,
        "section": change.section,
        "title": change.title,
        "kinds": [kind.value for kind in change.kinds],
        "occurrence": change.occurrence,
        "rank": rank,
        "fields": [_field_change_json(field) for field in change.fields],
    }


def _field_change_json(change: FieldChange) -> dict[str, object]:
    """Return a field change, with the changed elements of a list, or the word diff of a text."""
    document: dict[str, object] = {
        "field": change.field,
        "path": list(change.path),
        "old": plain_json(change.old),
        "new": plain_json(change.new),
    }
    if isinstance(change.old, list | tuple) or isinstance(change.new, list | tuple):
        document |= {"added": plain_json(change.added), "removed": plain_json(change.removed)}
    elif isinstance(change.old, str) and isinstance(change.new, str):
        document["words"] = [
            {"mark": span.mark.value, "text": span.text}
            for span in word_spans(change.old, change.new)
        ]
    return document
