"""Where deltas stand in what was given for them: in lists, in wrappings, in texts.

Nothing that is given is dropped. What cannot be read stays a text, which the check refuses; words
that stand beside deltas may change what they mean, so that they are a doubt.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from brenner.delta.blocks import is_delta_fence
from brenner.delta.extra import deltas_in
from brenner.delta.json_scan import scan
from brenner.delta.json_strict import NotJSON, decode
from brenner.limits import MOST_BODY_BYTES
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.edits import LineIndex, apply_edits

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
