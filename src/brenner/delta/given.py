"""Deltas that come as structured arguments, read as they were meant.

Whoever fills in arguments makes other mistakes than whoever writes a block: a delta in a text, `op`
for `operation`, a heading for a section, the fields beside the payload instead of in it. What has
only one reading is taken so, and it is said. What may have another one is a doubt: it is shown as
it would be, and not sent. Everything else stays as it came, for the check.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from brenner.delta.given_texts import Found, apart, decoded
from brenner.delta.schema import SECTIONS, TOP_LEVEL, Operation
from brenner.delta.section_names import section_named
from brenner.grammar import ITEM_ID
from brenner.text import nearest

_OPERATIONS = frozenset(operation.value for operation in Operation)
_OF_PREFIX = {section.prefix: section for section in SECTIONS.values()}
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
    """The JSON texts of the deltas, one each, and what was taken otherwise than it was given.

    With `doubts` it is not certain that this is what was meant.
    """

    texts: tuple[str, ...]
    taken: tuple[Taken, ...]
    doubts: tuple[Taken, ...] = ()


class _Said(NamedTuple):
    """What there is to say of one delta."""

    taken: list[str]
    doubts: list[str]


def read_given(values: Iterable[object]) -> Given:
    """Read them all. None is lost: what cannot be read stays a text that the check refuses."""
    texts: list[str] = []
    taken: list[Taken] = []
    doubts: list[Taken] = []
    for found in _all(values):
        said = _Said(list(found.taken), list(found.doubts))
        value = found.value
        mended = _mended(value, said) if isinstance(value, dict) else value
        texts.append(mended if isinstance(mended, str) else _written(mended))
        taken += [Taken(len(texts), what) for what in said.taken]
        doubts += [Taken(len(texts), what) for what in said.doubts]
    return Given(tuple(texts), tuple(taken), tuple(doubts))


def _all(values: Iterable[object]) -> Iterator[Found]:
    for value in values:
        yield from apart(value)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _mended(delta: dict[str, object], said: _Said) -> dict[str, object]:
    """The delta with everything at its top level put right that has one reading."""
    value = _with_keys(delta, said.taken)
    _mend_operation(value, said.taken)
    _mend_section(value, said.taken)
    _mend_target(value, said.taken)
    _mend_payload(value, said)
    return value


def _with_keys(delta: dict[str, object], said: list[str]) -> dict[str, object]:
    """The delta under the keys that were meant; two that would become one stay as they are."""
    meant = {key: _key_meant(key, content, delta) for key, content in delta.items()}
    often = Counter(meant.values())
    value: dict[str, object] = {}
    for key, content in delta.items():
        name = meant[key] if often[meant[key]] == 1 else key
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
    return name if name in absent and _fits(key, name, content) else key


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
        named = section_named(written)
        if named:
            value["section"] = named.id
            said.append(f"the section `{written}` was taken as `{named.id}`")
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


def _mend_payload(value: dict[str, object], said: _Said) -> None:
    """A payload that is a text is read; where there is none, the fields beside it are it."""
    payload = value.get("payload")
    if isinstance(payload, str):
        read = decoded(payload)
        if read is not None and isinstance(read[0], dict):
            payload = value["payload"] = read[0]
            said.taken.extend(["the payload was given as a text", *read[1]])
    section = SECTIONS.get(str(value.get("section")))
    if section is None or not (payload is None or isinstance(payload, dict)):
        return
    is_kill = value.get("operation") == Operation.KILL
    known = {"reason"} if is_kill else {*section.fields, *section.replace_flags}
    beside = {key: value.pop(key) for key in [*value] if key in known}
    if not beside:
        return
    value["payload"] = {**beside, **(payload or {})}
    listed = ", ".join(f"`{key}`" for key in beside)
    if payload is None:
        said.taken.append(f"no payload was given; it was made of {listed}")
    elif beside.items() <= payload.items():
        said.taken.append(f"beside the payload, as in it: {listed}")
    else:  # `name` beside the payload of an EDIT may name the item, or rename it
        said.doubts.append(f"{listed} stood beside the payload, which would be read as shown")
