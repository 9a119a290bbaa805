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

from brenner.limits import MOST_BODY_BYTES
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.edits import LineIndex, apply_edits
from brenner.protocol.delta.lenient_json import NotJSON, decode, scan
from brenner.protocol.delta.parse import deltas_in, is_delta_fence
from brenner.protocol.delta.schema import SECTIONS, TOP_LEVEL, Operation, section_named
from brenner.protocol.grammar import ITEM_ID
from brenner.text import closest

# Where deltas stand in what was given for them: in lists, in wrappings, in texts.
#
# Nothing that is given is dropped. What cannot be read stays a text, which the check refuses; words
# that stand beside deltas may change what they mean, so that they are a doubt.


_WRAPPINGS = ("deltas", "items", "contributions", "operations")
_OF_A_DELTA = frozenset({"operation", "op", "section"})
_JSON_BEGINS = ("{", "[", '"')
_BETWEEN = " \t\r\n\f\v,;[]"  # of a list that was not written as one
_AS_TEXT = "it was given as a text"
_IN_A_FENCE = "it was given as a text with a fence around it"


class Found(NamedTuple):
    """A value that may be a delta; how it was taken, and what is doubtful in that."""

    value: object
    taken: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def apart(value: object) -> Iterator[Found]:
    """The deltas in one value, each an object where it can be made out."""
    if isinstance(value, str):
        yield from _in_text(value)
    elif isinstance(value, list) and value:
        yield from _each(value, taken="it stood in a list inside of the list")
    else:
        yield from _unwrapped(value)


def decoded(text: str) -> tuple[object, tuple[str, ...]] | None:
    """The value of a text that is JSON, or would be after repairs that are certain, and these."""
    try:
        return decode(text), ()
    except NotJSON:
        faults = scan(text).faults
    if not faults or any(fault.edits is None for fault in faults):
        return None
    edits = [edit for fault in faults for edit in fault.edits or ()]
    try:
        value = decode(apply_edits(text, edits))
    except NotJSON:
        return None
    return value, tuple(fault.code.at(None, **fault.words).message for fault in faults)


def _each(values: Iterable[object], *, taken: str = "", doubt: str = "") -> Iterator[Found]:
    """The deltas in several values, of which all the same is to be said."""
    for value in values:
        for found in apart(value):
            yield found._replace(
                taken=(*filter(None, [taken]), *found.taken),
                doubts=(*filter(None, [doubt]), *found.doubts),
            )


def _unwrapped(value: object) -> Iterator[Found]:
    """The deltas of an object that holds a list of them and nothing else.

    Under a name that we do not know, as `withdrawn`, they may be meant for anything.
    """
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(value, dict) or not isinstance(inner, list) or not _are_objects(inner):
        yield Found(value)
        return
    name = str(next(iter(value)))
    if name.casefold() in _WRAPPINGS:
        yield from _each(inner, taken=f"it stood in a list under `{name}`")
    elif all(_OF_A_DELTA & {str(key).casefold() for key in each} for each in inner):
        yield from _each(inner, doubt=f"it stood under `{name}`, which would be left out")
    else:
        yield Found(value)


def _are_objects(values: list[object]) -> bool:
    return bool(values) and all(isinstance(each, dict) for each in values)


# Texts


def _in_text(text: str) -> Iterator[Found]:
    if len(text) > MOST_BODY_BYTES:  # the check says that it is too long
        yield Found(text)
        return
    whole = decoded(text) if text.lstrip().startswith(_JSON_BEGINS) else None
    if whole is not None:
        yield from _of_json(*whole, _AS_TEXT)
        return
    found, beside = _in_markdown(text)
    if not found:
        yield Found(text)
        return
    doubt = "words stood beside it, which would be left out: give them as `summary`"
    unread = [Found(beside)] if "{" in beside else []
    is_doubtful = beside.strip(_BETWEEN) and not unread
    first = found[0]._replace(doubts=(*found[0].doubts, *([doubt] if is_doubtful else [])))
    yield from (first, *found[1:], *unread)


def _of_json(value: object, repairs: tuple[str, ...], how: str) -> Iterator[Found]:
    """The deltas in the value of a text; that it was a list goes without saying."""
    for each in value if isinstance(value, list) and value else [value]:
        for found in apart(each):
            yield found._replace(taken=(how, *repairs, *found.taken))


def _in_markdown(text: str) -> tuple[list[Found], str]:
    """The deltas in a text that is not JSON as a whole, and all else that stands in it."""
    found: list[Found] = []
    beside: list[str] = []
    index = LineIndex(text)
    line = 1
    for block in blocks(text):
        if block.kind is not Kind.FENCE or block.quoted or block.nested:
            continue
        _in_prose(index.text[index.start(line) : index.start(block.line)], found, beside)
        beside.append(_behind_the_word(index.line(block.line)))
        _in_fence(block, found, beside)
        line = block.end + 1
    _in_prose(index.text[index.start(line) :], found, beside)
    return found, "".join(beside)


def _in_fence(fence: Block, found: list[Found], beside: list[str]) -> None:
    """A fence whose content is JSON, or that says itself that it holds a delta."""
    read = decoded(fence.text)
    if read is not None and isinstance(read[0], dict | list):
        found += _of_json(*read, _IN_A_FENCE)
    elif is_delta_fence(fence) and fence.text.strip():
        found.append(Found(fence.text))
    else:
        _in_prose(fence.text, found, beside)


def _behind_the_word(line: str) -> str:
    """What stands on the line of a fence behind its first word."""
    return line.lstrip(" `~").partition(" ")[2]


def _in_prose(text: str, found: list[Found], beside: list[str]) -> None:
    """JSON among other words. What cannot be read goes on up to the next delta."""
    nodes = [node for node, _ in deltas_in(text)]
    ends = [*(each.start for each in nodes[1:]), len(text)]
    reached = 0
    for node, following in zip(nodes, ends, strict=False):
        beside.append(text[reached : node.start])
        read = decoded(text[node.start : node.end])
        reached = following if read is None else node.end
        if read is None:
            found.append(Found(text[node.start : reached].rstrip()))
        else:
            found += _of_json(*read, _AS_TEXT)
    beside.append(text[reached:])


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
    same = closest(key, absent, 0)
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
