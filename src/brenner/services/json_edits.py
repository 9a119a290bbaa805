"""Edits of JSON text: add and remove a member or an item. Every other byte stays as it is.

`remove` undoes `add`, byte for byte. To make that possible, the layout shows who created a
container. One that `add` creates has its closing bracket on a line of its own, and `remove` takes
it away when it is empty. Into an empty one that exists already, `add` writes right before the
closing bracket, and `remove` leaves it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_STRING = r'"(?:[^"\\]|\\.)*"'
_TOKEN = lazy_pattern(rf"{_STRING}|[{{}}\[\]:,]|[^\s{{}}\[\]:,\"]+")
_STRING_OR_COMMENT = lazy_pattern(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_BLANKS = " \t\r\n"
_INDENT = "  "


class EditError(ValueError):
    """A text cannot be edited safely. `reason` says why, `line` where, if it is known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


class _Child(NamedTuple):
    """A member of an object, or an item of an array without a key: offsets in the text."""

    key: str | None
    start: int
    value: int
    end: int


class _Container(NamedTuple):
    """An object or an array: the offsets of its brackets, and what is in it."""

    start: int
    close: int
    children: tuple[_Child, ...]


class _Edit(NamedTuple):
    """A replacement of one span of a text."""

    start: int
    end: int
    text: str = ""


# Decoding


def decode_json(text: str, *, has_comments: bool = False) -> object:
    """Return the value of a JSON text; raise EditError with the line if it is not valid.

    Numbers are kept as they are written, so that two values are equal only if their texts are.
    """
    return _decode(_without_comments(text) if has_comments else text)


def _decode(text: str) -> object:
    try:
        return json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_reject_constant
        )
    except json.JSONDecodeError as error:
        reason = f"it is not valid JSON ({error.msg[:1].lower()}{error.msg[1:]})"
        raise EditError(reason, error.lineno) from None
    except RecursionError:
        reason = "it is nested too deeply"
        raise EditError(reason) from None


class _Number(str):
    """A number as it is written; never equal to a text of the same characters."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and str(self) == str(other)

    __hash__ = str.__hash__


def _reject_constant(name: str) -> object:
    reason = f"it is not valid JSON ({name} is not a number)"
    raise EditError(reason)


def _without_comments(text: str) -> str:
    """Return the text with spaces in place of its comments, so that offsets stay the same."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[1] else re.sub(r"[^\r\n]", " ", found[0])

    return _STRING_OR_COMMENT.sub(blank, text)


def _children(text: str, start: int) -> _Container:
    """Return the container whose opening bracket is at `start`. The text is valid JSON."""
    is_object, depth = text[start] == "{", 0
    children: list[_Child] = []
    key: str | None = None
    begin = value = start
    for token in _TOKEN.finditer(text, start + 1):
        sign = token[0]
        if not depth:
            if sign in ("}", "]"):
                return _Container(start, token.start(), tuple(children))
            if sign in (",", ":"):
                continue
            if is_object and key is None:
                key, begin = json.loads(sign), token.start()
                continue
            value = token.start()
        depth += (sign in ("{", "[")) - (sign in ("}", "]"))
        if not depth:
            children.append(_Child(key, begin if is_object else value, value, token.end()))
            key = None
    raise AssertionError(start)  # unreachable: the text is valid


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


# Finding a place


class _Place(NamedTuple):
    """The containers on a path that exist, outermost first, and what the path takes in each.

    The last one may lack it.
    """

    containers: tuple[_Container, ...]
    taken: tuple[int | None, ...]


def _find(text: str, path: Sequence[str], item: str | None) -> _Place:
    """Find a member by its path, or an item of the array there."""
    steps = [("{", key) for key in path]
    if item is not None:
        steps.append(("[", item))
    containers: list[_Container] = []
    taken: list[int | None] = []
    start = _first_value(text)
    for number, (bracket, wanted) in enumerate(steps):
        if text[start] != bracket:
            name = f"`{'.'.join(path[:number])}`" if number else "it"
            reason = f"{name} is not {'an object' if bracket == '{' else 'a list'}"
            raise EditError(reason, _line(text, start))
        container = _children(text, start)
        children = container.children
        found = [index for index, each in enumerate(children) if _is(text, each, bracket, wanted)]
        if len(found) > 1 and bracket == "{":
            reason = f"`{'.'.join(path[: number + 1])}` occurs twice"
            raise EditError(reason, _line(text, children[found[1]].start))
        containers.append(container)
        taken.append(found[0] if found else None)
        if not found:
            break
        start = children[found[0]].value
    return _Place(tuple(containers), tuple(taken))


def _first_value(text: str) -> int:
    return len(text) - len(text.lstrip(_BLANKS))


def _is(text: str, child: _Child, bracket: str, wanted: str) -> bool:
    """Return whether a child is the wanted member of an object, or the wanted text in a list."""
    if bracket == "{":
        return child.key == wanted
    return text[child.value] == '"' and json.loads(text[child.value : child.end]) == wanted


# Adding


def add(
    text: str, path: Sequence[str], value: object, *, is_item: bool, has_comments: bool = False
) -> str:
    """Return the text with a value at the path, or with an item at the end of the list there.

    Missing containers are created. A value that is there already is replaced.
    """
    blank = _without_comments(text) if has_comments else text
    _decode(blank)
    item = str(value) if is_item else None
    place = _find(blank, path, item)
    container, index = place.containers[-1], place.taken[-1]
    depth = len(place.containers) - 1
    if index is None:
        rest = path[depth + 1 :]
        new: object = [value] if is_item and depth < len(path) else value
        for key in reversed(rest):
            new = {key: new}
        name = path[depth] if depth < len(path) else None
        return _apply(text, _insertion(text, blank, container, name, new))
    child = container.children[index]
    if is_item or _decode(blank[child.value : child.end]) == value:
        return text
    written = _written(text, None, value, _indent_at(text, child.start))
    return _apply(text, [_Edit(child.value, child.end, written)])


def _insertion(
    text: str, blank: str, container: _Container, name: str | None, value: object
) -> list[_Edit]:
    """Return the edits that put a value at the end of a container."""
    if not container.children:
        written = _written(text, name, value, _indent_at(text, container.start))
        return [_Edit(container.close, container.close, written)]
    last = container.children[-1]
    before = container.children[-2].end if len(container.children) > 1 else container.start + 1
    starts_line = "\n" in blank[before : last.start]
    own = _indent_at(text, last.start)
    indent = own if starts_line else own + _INDENT
    is_inline = name is None and not starts_line
    gap = " " if is_inline else _newline(text) + indent
    written = _written(text, name, value, indent)
    after = text[last.end : container.close]
    end = last.end + len(after.rstrip(_BLANKS))  # after comments, which belong to the last child
    return [_Edit(last.end, last.end, ","), _Edit(end, end, gap + written)]


def _written(text: str, name: str | None, value: object, indent: str) -> str:
    """Return a member or an item as text, with the line ends of the text around it."""
    unit = _unit(text)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    key = "" if name is None else f"{json.dumps(name, ensure_ascii=False)}: "
    return key + (_newline(text) + indent).join(lines)


def _unit(text: str) -> str:
    """Return the indentation of one level: that of the first member, else two spaces."""
    found = re.match(r"\s*\{[^\S\n]*\n([ \t]+)\S", text)
    return found[1] if found else _INDENT


def _indent_at(text: str, offset: int) -> str:
    """Return the blanks at the start of the line of an offset."""
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _newline(text: str) -> str:
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _apply(text: str, edits: Sequence[_Edit]) -> str:
    """Apply edits that are in order and do not overlap."""
    for each in reversed(edits):
        text = text[: each.start] + each.text + text[each.end :]
    return text


# Removing


def remove(
    text: str, path: Sequence[str], item: str | None = None, *, has_comments: bool = False
) -> str | None:
    """Return the text without the member at the path, or without an item of the list there.

    Containers that `add` created are removed when they are empty; return None if nothing is left.
    """
    blank = _without_comments(text) if has_comments else text
    _decode(blank)
    place = _find(blank, path, item)
    if place.taken[-1] is None:
        return text
    for container, index in zip(reversed(place.containers), reversed(place.taken), strict=True):
        child = container.children[index or 0]
        if len(container.children) > 1:
            return _apply(text, _removal(text, blank, container, index or 0))
        around = text[container.start + 1 : child.start] + text[child.end : container.close]
        if child.end == container.close or around.strip(_BLANKS):
            return _apply(text, [_Edit(child.start, child.end)])
    root = place.containers[0]
    if (text[: root.start] + text[root.close + 1 :]).strip(_BLANKS):  # comments around it
        return _apply(text, [_Edit(root.start + 1, root.close)])
    return None


def _removal(text: str, blank: str, container: _Container, index: int) -> list[_Edit]:
    """Return the edits that remove one of several children, with its comma."""
    child = container.children[index]
    if index < len(container.children) - 1:
        comma = blank.index(",", child.end) + 1
        after = text[comma:]
        return [_Edit(child.start, comma + len(after) - len(after.lstrip(_BLANKS)))]
    comma = blank.index(",", container.children[index - 1].end)
    start = len(text[: child.start].rstrip(_BLANKS))
    return [_Edit(comma, comma + 1), _Edit(start, child.end)]
