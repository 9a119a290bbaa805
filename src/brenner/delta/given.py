"""Deltas that come as structured arguments, read as they were meant.

Whoever fills in arguments makes other mistakes than whoever writes a block: a delta in a text, `op`
for `operation`, a heading for a section, the fields beside the payload instead of in it. What has
only one reading is taken so, and it is said. Everything else stays as it came, for the check.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from brenner.delta.blocks import is_delta_fence
from brenner.delta.extra import deltas_in
from brenner.delta.json_scan import scan
from brenner.delta.json_strict import NotJSON, decode
from brenner.delta.schema import (
    SECTION_ALIASES,
    SECTIONS,
    TOP_LEVEL,
    Operation,
)
from brenner.diagnostics.nearest import nearest
from brenner.grammar import ITEM_ID
from brenner.markdown.blocks import blocks
from brenner.markdown.edits import apply_edits

_OPERATIONS = frozenset(operation.value for operation in Operation)
_OF_PREFIX = {section.prefix: section for section in SECTIONS.values()}
_HEADING = re.compile(r"[#\s]*(?:[0-9]+\.?\s+)?(.*?)[\s:]*")
_NO_TARGET = ("", "null", "none")
# What writers call the keys instead; each is taken so only where its value can be nothing else.
_ALIASES = {
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


class Taken(NamedTuple):
    """That something was taken otherwise than it was given; `number` counts the deltas."""

    number: int
    what: str


class Given(NamedTuple):
    """The JSON texts of the deltas, one each, and what was taken otherwise than it was given."""

    texts: tuple[str, ...]
    taken: tuple[Taken, ...]


def read_given(values: Iterable[object]) -> Given:
    """Read them all. None is lost: what cannot be read stays a text that the check refuses."""
    texts: list[str] = []
    taken: list[Taken] = []
    for value in values:
        for each, said in _apart(value):
            mended, more = _mended(each) if isinstance(each, dict) else (each, [])
            texts.append(mended if isinstance(mended, str) else _written(mended))
            taken += [Taken(len(texts), what) for what in (*said, *more)]
    return Given(tuple(texts), tuple(taken))


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


# From a value to deltas


def _apart(value: object) -> Iterator[tuple[object, list[str]]]:
    """The deltas in one value, each an object where it can be made out, and how it was found."""
    if isinstance(value, str):
        yield from _in_text(value)
        return
    inner = _listed(value)
    if inner is None:
        yield value, []
    for each in inner or ():
        yield each, ["it stood in a list inside of the list"]


def _listed(value: object) -> list[object] | None:
    """The deltas of a list, or of an object that holds a list of them and nothing else."""
    if isinstance(value, dict) and len(value) == 1:
        (only,) = value.values()
        is_deltas = isinstance(only, list) and only and all(isinstance(each, dict) for each in only)
        return only if is_deltas else None
    return value if isinstance(value, list) and value else None


def _in_text(text: str) -> Iterator[tuple[object, list[str]]]:
    fences = [block.text for block in blocks(text) if is_delta_fence(block)]
    stripped = text.strip()
    if fences:
        for each in fences:
            yield _decoded(each, "it was given as a text with a fence around it")
    elif stripped[:1] in ("{", "["):
        read, said = _decoded(text, "it was given as a text")
        inner = _listed(read)
        for value in [read] if inner is None else inner:
            yield value, said
    else:
        found = [text[node.start : node.end] for node, _ in deltas_in(text)]
        for each in found:
            yield _decoded(each, "it was given in a text, the rest of which was left out")
        if not found:
            yield text, []


def _decoded(text: str, how: str) -> tuple[object, list[str]]:
    """The value of a text that is JSON, or would be after repairs that are certain."""
    try:
        return decode(text), [how]
    except NotJSON:
        faults = scan(text).faults
    if not faults or any(fault.edits is None for fault in faults):
        return text, []
    edits = [edit for fault in faults for edit in fault.edits or ()]
    try:
        value = decode(apply_edits(text, edits))
    except NotJSON:
        return text, []
    return value, [how, *(fault.code.at(None, **fault.words).message for fault in faults)]


# From an object to a delta


def _mended(delta: dict[str, object]) -> tuple[dict[str, object], list[str]]:
    """The delta with everything at its top level put right that has one reading."""
    said: list[str] = []
    value = _with_keys(delta, said)
    _mend_operation(value, said)
    _mend_section(value, said)
    _mend_target(value, said)
    _mend_payload(value, said)
    return value, said


def _with_keys(delta: dict[str, object], said: list[str]) -> dict[str, object]:
    value: dict[str, object] = {}
    for key, content in delta.items():
        name = _key_meant(key, content, delta)
        if name != key:
            said.append(f"`{key}` was taken as `{name}`")
        value[name] = content
    return value


def _key_meant(key: str, content: object, delta: Mapping[str, object]) -> str:
    absent = [name for name in sorted(TOP_LEVEL) if name not in delta]
    if key in TOP_LEVEL:
        return key
    same = nearest(key, absent, 0)
    if same:
        return same
    name = _ALIASES.get(key.casefold(), key)
    rivals = [other for other in delta if other != key and _ALIASES.get(other.casefold()) == name]
    return name if name in absent and _fits(key, name, content) and not rivals else key


def _fits(key: str, name: str, content: object) -> bool:
    """Whether the value under a key of another name can be nothing else."""
    if name == "operation":
        is_ours = isinstance(content, str) and content.strip().upper() in _OPERATIONS
        return is_ours or (key.casefold() == "op" and isinstance(content, str))
    if name == "target_id":
        return isinstance(content, str) and ITEM_ID.fullmatch(content.strip().upper()) is not None
    return isinstance(content, str if name == "rationale" else dict)


def _mend_operation(value: dict[str, object], said: list[str]) -> None:
    written = value.get("operation")
    meant = written.strip().upper() if isinstance(written, str) else written
    if meant != written and meant in _OPERATIONS:
        value["operation"] = meant
        said.append(f"the operation `{written}` was taken as `{meant}`")


def _mend_section(value: dict[str, object], said: list[str]) -> None:
    """A heading is its section; of an item that is changed or killed, its ID tells the section."""
    written = value.get("section")
    if isinstance(written, str) and written not in SECTIONS:
        match = _HEADING.fullmatch(written)
        folded = (match[1] if match else written).lower().replace(" ", "_").replace("-", "_")
        meant = folded if folded in SECTIONS else SECTION_ALIASES.get(folded)
        if meant:
            value["section"] = meant
            said.append(f"the section `{written}` was taken as `{meant}`")
        return
    target = value.get("target_id")
    match = ITEM_ID.fullmatch(target.strip().upper()) if isinstance(target, str) else None
    if written is None and match and value.get("operation") != Operation.ADD:
        meant = _OF_PREFIX[match[1] or "RT"].id
        value["section"] = meant
        said.append(f"no section was given; `{target}` is one of `{meant}`")


def _mend_target(value: dict[str, object], said: list[str]) -> None:
    target = value.get("target_id")
    is_add = value.get("operation") == Operation.ADD
    if is_add and isinstance(target, str) and target.strip().lower() in _NO_TARGET:
        value["target_id"] = None
        if target:
            said.append(f"the target `{target}` of an ADD was taken as none")


def _mend_payload(value: dict[str, object], said: list[str]) -> None:
    """A payload that is a text is read; fields that stand beside it are put into it."""
    payload = value.get("payload")
    if isinstance(payload, str):
        decoded, _ = _decoded(payload, "")
        if isinstance(decoded, dict):
            payload = value["payload"] = decoded
            said.append("the payload was given as a text")
    section = SECTIONS.get(str(value.get("section")))
    if section is None or not (payload is None or isinstance(payload, dict)):
        return
    is_kill = value.get("operation") == Operation.KILL
    known = {"reason"} if is_kill else {*section.fields, *section.replace_flags}
    inside = payload or {}
    beside = [key for key in value if key in known and key not in inside]
    if beside:
        value["payload"] = {**inside, **{key: value.pop(key) for key in beside}}
        listed = ", ".join(f"`{key}`" for key in beside)
        said.append(f"beside the payload, and now in it: {listed}")
