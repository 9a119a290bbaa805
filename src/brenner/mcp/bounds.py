"""How much the arguments of a call may be, and what no text in them may hold (ruling R5).

What a request is made of is counted twice: roughly, before anybody parses it, because an empty
list takes three bytes to send and a hundred to keep; and exactly, once it is parsed.
"""

import math
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_JSON_DEPTH, MOST_JSON_VALUES

_NUL = "\0"
_MOST_TOLD, _MOST_OF_A_NAME = 10, 40

Place = tuple[str, int, object]  # its path, its depth, what stands there

# Each value has at most a comma before it and a bracket of its own; with it may come a key.
_MOST_MARKS = 4 * MOST_JSON_VALUES
_MARKS = (b",", b"[", b"{", b'"')
_MARK = re.compile(rb'[\[\]{},]|"(?:[^"\\]++|(?:\\.)++)*+"?', re.DOTALL)
_STEPS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_ENVELOPE_LEVELS = 8  # what is around the arguments


def too_much_to_parse(request: bytes) -> Diagnostic | None:
    """Why a request is not even parsed. What passes may be too much, or no JSON, all the same.

    It takes no longer than its length: texts are passed over, and beyond the limit nobody looks.
    """
    is_small = sum(map(request.count, _MARKS)) <= MOST_JSON_DEPTH
    if is_small:
        return None
    marks = []
    for found in _MARK.finditer(request):
        marks.append(_STEPS.get(found[0][:1], 0))
        if len(marks) > _MOST_MARKS:
            return codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_VALUES} values")
    if max(accumulate(marks), default=0) > MOST_JSON_DEPTH + _ENVELOPE_LEVELS:
        return codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_DEPTH} levels")
    return None


def beyond_bounds(given: Mapping[str, object]) -> tuple[Diagnostic, ...]:
    """What is too deep, too many or unreadable in the arguments; nothing of it is read then."""
    found: list[Diagnostic] = []
    waiting: list[Place] = [("", 0, given)]
    seen = 0
    while waiting:
        path, depth, value = waiting.pop()
        seen += 1
        if depth > MOST_JSON_DEPTH:
            return (codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_DEPTH} levels"),)
        inside = list(_inside(path, depth, value))
        if seen + len(waiting) + len(inside) > MOST_JSON_VALUES:
            return (codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_VALUES} values"),)
        waiting.extend(reversed(inside))
        what = _unreadable(value)
        if what and len(found) < _MOST_TOLD:
            found.append(codes.UNREADABLE_ARGUMENT.at(argument=path, what=what))
    return tuple(found)


def _inside(path: str, depth: int, value: object) -> Iterator[Place]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            short = name[:_MOST_OF_A_NAME]
            place = f"{path}.{short}" if path else short
            yield place, depth + 1, each
            if _unreadable(name):
                yield place, depth + 1, name
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield f"{path}[{number}]", depth + 1, each


def _unreadable(value: object) -> str | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else "a number that is not finite"
    if not isinstance(value, str):
        return None
    if _NUL in value:
        return "a NUL character"
    return None if value.isascii() or _is_whole(value) else "half of a character (a lone surrogate)"


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
