"""Read deltas from structured arguments, such as those of an MCP tool, and normalise them.

Agents that fill in arguments make other mistakes than agents that write blocks: a delta as a
string, `op` for `operation`, a heading for a section, fields next to the payload instead of in it.
An unambiguous mistake is corrected and reported as an interpretation. An ambiguous one is a doubt:
the result is shown but not sent. Everything else stays unchanged, for the check.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from brenner.limits import MOST_BODY_BYTES
from brenner.markdown.blocks import Block, BlockKind, parse_blocks
from brenner.markdown.edits import LineIndex, apply_edits
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.lenient_json import NotJSON, decode_strict, scan
from brenner.protocol.delta.parse import find_deltas, is_delta_fence
from brenner.protocol.delta.schema import SECTIONS, TOP_LEVEL_KEYS, Operation, section_by_name
from brenner.protocol.grammar import ITEM_ID
from brenner.text import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Extracting deltas from lists, wrapper objects and texts
#
# Nothing is dropped. Unreadable input stays a text, which the check refuses. Words next to deltas
# may change their meaning, so they are a doubt.


_WRAPPER_KEYS = ("deltas", "items", "contributions", "operations")
_DELTA_KEYS = frozenset({"operation", "op", "section"})
_JSON_STARTS = ("{", "[", '"')
_LIST_SEPARATORS = " \t\r\n\f\v,;[]"  # of a list without list syntax
_AS_TEXT = "it was a string, not an object"
_IN_A_FENCE = "it was a string with a fence around it, not an object"


class DeltaCandidate(NamedTuple):
    """A value that may be a delta, how it was interpreted (`taken`), and the doubts about that."""

    value: object
    taken: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def extract_deltas(value: object) -> Iterator[DeltaCandidate]:
    """Yield the deltas in one value, as objects where possible."""
    if isinstance(value, str):
        yield from _extract_from_text(value)
    elif isinstance(value, list) and value:
        yield from _extract_each(value, taken="it was in a list inside the list")
    else:
        yield from _extract_from_object(value)


def decode_with_repairs(text: str) -> tuple[object, tuple[str, ...]] | None:
    """Decode JSON, with repairs if all are certain.

    Return the value and the messages of the repairs.
    """
    try:
        return decode_strict(text), ()
    except NotJSON:
        faults = scan(text).faults
    if not faults or any(fault.edits is None for fault in faults):
        return None
    edits = [edit for fault in faults for edit in fault.edits or ()]
    try:
        value = decode_strict(apply_edits(text, edits))
    except NotJSON:
        return None
    return value, tuple(fault.code.at(None, **fault.words).message for fault in faults)


def _extract_each(
    values: Iterable[object], *, taken: str = "", doubt: str = ""
) -> Iterator[DeltaCandidate]:
    """Yield the deltas in several values, and add the same interpretation or doubt to each."""
    for value in values:
        for found in extract_deltas(value):
            yield found._replace(
                taken=(*filter(None, [taken]), *found.taken),
                doubts=(*filter(None, [doubt]), *found.doubts),
            )


def _extract_from_object(value: object) -> Iterator[DeltaCandidate]:
    """Yield the deltas of an object that contains only a list of them.

    Under an unknown key, such as `withdrawn`, they may mean something else.
    """
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(value, dict) or not isinstance(inner, list) or not _are_objects(inner):
        yield DeltaCandidate(value)
        return
    name = str(next(iter(value)))
    if name.casefold() in _WRAPPER_KEYS:
        yield from _extract_each(inner, taken=f"it was in a list under `{name}`")
    elif all(_DELTA_KEYS & {str(key).casefold() for key in each} for each in inner):
        yield from _extract_each(inner, doubt=f"it was under `{name}`, which would be left out")
    else:
        yield DeltaCandidate(value)


def _are_objects(values: list[object]) -> bool:
    return bool(values) and all(isinstance(each, dict) for each in values)


# Extracting deltas from texts


def _extract_from_text(text: str) -> Iterator[DeltaCandidate]:
    if len(text) > MOST_BODY_BYTES:  # the check reports that it is too long
        yield DeltaCandidate(text)
        return
    whole = decode_with_repairs(text) if text.lstrip().startswith(_JSON_STARTS) else None
    if whole is not None:
        yield from _extract_from_json(*whole, _AS_TEXT)
        return
    found, other_text = _extract_from_markdown(text)
    if not found:
        yield DeltaCandidate(text)
        return
    doubt = "the text next to it would be left out: give it as `summary`"
    unread = [DeltaCandidate(other_text)] if "{" in other_text else []
    is_doubtful = other_text.strip(_LIST_SEPARATORS) and not unread
    first = found[0]._replace(doubts=(*found[0].doubts, *([doubt] if is_doubtful else [])))
    yield from (first, *found[1:], *unread)


def _extract_from_json(
    value: object, repairs: tuple[str, ...], how: str
) -> Iterator[DeltaCandidate]:
    """Yield the deltas in a decoded text. That it is a list needs no interpretation."""
    for each in value if isinstance(value, list) and value else [value]:
        for found in extract_deltas(each):
            yield found._replace(taken=(how, *repairs, *found.taken))


def _extract_from_markdown(text: str) -> tuple[list[DeltaCandidate], str]:
    """Return the deltas in a text that is not JSON as a whole, and all other text in it."""
    found: list[DeltaCandidate] = []
    other_text: list[str] = []
    index = LineIndex(text)
    line = 1
    for block in parse_blocks(text):
        if block.kind is not BlockKind.FENCE or block.quoted or block.nested:
            continue
        _extract_from_prose(
            index.text[index.start(line) : index.start(block.line)], found, other_text
        )
        other_text.append(_info_after_first_word(index.line(block.line)))
        _extract_from_fence(block, found, other_text)
        line = block.end + 1
    _extract_from_prose(index.text[index.start(line) :], found, other_text)
    return found, "".join(other_text)


def _extract_from_fence(fence: Block, found: list[DeltaCandidate], other_text: list[str]) -> None:
    """Read a fence that contains JSON, or that is labelled as a delta."""
    read = decode_with_repairs(fence.text)
    if read is not None and isinstance(read[0], dict | list):
        found += _extract_from_json(*read, _IN_A_FENCE)
    elif is_delta_fence(fence) and fence.text.strip():
        found.append(DeltaCandidate(fence.text))
    else:
        _extract_from_prose(fence.text, found, other_text)


def _info_after_first_word(line: str) -> str:
    return line.lstrip(" `~").partition(" ")[2]


def _extract_from_prose(text: str, found: list[DeltaCandidate], other_text: list[str]) -> None:
    """Read JSON in prose. An unreadable delta extends up to the next one."""
    nodes = [node for node, _ in find_deltas(text)]
    ends = [*(each.start for each in nodes[1:]), len(text)]
    reached = 0
    for node, following in zip(nodes, ends, strict=False):
        other_text.append(text[reached : node.start])
        read = decode_with_repairs(text[node.start : node.end])
        reached = following if read is None else node.end
        if read is None:
            found.append(DeltaCandidate(text[node.start : reached].rstrip()))
        else:
            found += _extract_from_json(*read, _AS_TEXT)
    other_text.append(text[reached:])


_OPERATIONS = frozenset(operation.value for operation in Operation)
_SECTION_BY_PREFIX = {section.prefix: section for section in SECTIONS.values()}
_NULL_TARGETS = ("", "null", "none")
# Authors' other names of the keys; an alias counts only if its value can be nothing else.
_KEY_ALIASES = {
    "op": "operation",
    "action": "operation",
    "type": "operation",
    "target": "target_id",
    "item": "target_id",
    "item_id": "target_id",
    "id": "target_id",
    "data": "payload",
    "content": "payload",
    "fields": "payload",
    "reasoning": "rationale",
    "why": "rationale",
}


DeltaText = tuple[str, list[str], list[str]]  # its JSON, how it was interpreted, the doubts


def read_delta_arguments(values: Iterable[object]) -> list[DeltaText]:
    """Read all values. None is lost: an unreadable one stays a text that the check refuses.

    An interpretation is what is not exactly as given. With doubts it may be wrong.
    """
    texts = []
    for found in (each for value in values for each in extract_deltas(value)):
        value, taken, doubts = found.value, list(found.taken), list(found.doubts)
        if isinstance(value, dict):
            value = _normalise_delta(value, taken, doubts)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        texts.append((text, taken, doubts))
    return texts


def _normalise_delta(
    delta: dict[str, object], notes: list[str], doubts: list[str]
) -> dict[str, object]:
    value = _normalise_keys(delta, notes)
    _normalise_operation(value, notes)
    _normalise_section(value, notes)
    _normalise_target(value, notes)
    _normalise_payload(value, notes, doubts)
    return value


def _normalise_keys(delta: dict[str, object], notes: list[str]) -> dict[str, object]:
    """Return the delta with canonical keys; two keys that would become equal stay unchanged."""
    canonical = {key: _canonical_key(key, content, delta) for key, content in delta.items()}
    counts = Counter(canonical.values())
    value: dict[str, object] = {}
    for key, content in delta.items():
        name = canonical[key] if counts[canonical[key]] == 1 else key
        if name != key:
            notes.append(f"`{key}` was read as `{name}`")
        value[name] = content
    return value


def _canonical_key(key: str, content: object, delta: Mapping[str, object]) -> str:
    absent = [name for name in sorted(TOP_LEVEL_KEYS) if name not in delta]
    if key in TOP_LEVEL_KEYS:
        return key
    same = closest(key, absent, 0)
    if same:
        return same
    name = _KEY_ALIASES.get(key.casefold(), key)
    return name if name in absent and _value_fits_key(key, name, content) else key


def _value_fits_key(key: str, name: str, content: object) -> bool:
    """Return whether the value under an alias can only belong to the key `name`."""
    if name == "operation":
        is_ours = isinstance(content, str) and content.strip().upper() in _OPERATIONS
        return is_ours or (key.casefold() == "op" and isinstance(content, str))
    if name == "target_id":
        return isinstance(content, str) and ITEM_ID.fullmatch(content.strip().upper()) is not None
    return isinstance(content, str if name == "rationale" else dict)


def _normalise_operation(value: dict[str, object], notes: list[str]) -> None:
    written = value.get("operation")
    meant = written.strip().upper() if isinstance(written, str) else written
    if meant != written and meant in _OPERATIONS:
        value["operation"] = meant
        notes.append(f"the operation `{written}` was read as `{meant}`")


def _normalise_section(value: dict[str, object], notes: list[str]) -> None:
    """Replace a heading with its section ID.

    If an EDIT or KILL has no section, derive it from the target.
    """
    written = value.get("section")
    if isinstance(written, str) and written not in SECTIONS:
        named = section_by_name(written)
        if named:
            value["section"] = named.id
            notes.append(f"the section `{written}` was read as `{named.id}`")
        return
    target = value.get("target_id")
    match = ITEM_ID.fullmatch(target.strip().upper()) if isinstance(target, str) else None
    if written is None and match and value.get("operation") != Operation.ADD:
        meant = _SECTION_BY_PREFIX[match[1] or "RT"].id
        value["section"] = meant
        notes.append(f"no section was given, but `{target}` is in `{meant}`")


def _normalise_target(value: dict[str, object], notes: list[str]) -> None:
    target = value.get("target_id")
    is_add = value.get("operation") == Operation.ADD
    if is_add and isinstance(target, str) and target.strip().lower() in _NULL_TARGETS:
        value["target_id"] = None
        if target:
            notes.append(f"the target `{target}` of an ADD was ignored")


def _normalise_payload(value: dict[str, object], notes: list[str], doubts: list[str]) -> None:
    """Decode a payload given as text, and move fields next to the payload into it."""
    payload = value.get("payload")
    if isinstance(payload, str):
        read = decode_with_repairs(payload)
        if read is not None and isinstance(read[0], dict):
            payload = value["payload"] = read[0]
            notes.extend(["the payload was a string, not an object", *read[1]])
    section = SECTIONS.get(str(value.get("section")))
    if section is None or not (payload is None or isinstance(payload, dict)):
        return
    is_kill = value.get("operation") == Operation.KILL
    known = {"reason"} if is_kill else {*section.fields, *section.replace_flags}
    outside = {key: value.pop(key) for key in [*value] if key in known}
    if not outside:
        return
    value["payload"] = {**outside, **(payload or {})}
    listed = ", ".join(f"`{key}`" for key in outside)
    if payload is None:
        notes.append(f"no payload was given, so it was made of {listed}")
    elif outside.items() <= payload.items():
        notes.append(f"fields next to the payload were read as part of it: {listed}")
    else:  # `name` next to the payload of an EDIT may identify the item, or rename it
        doubts.append(f"{listed} was next to the payload, which would be read as shown")
