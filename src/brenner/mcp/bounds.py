"""How much the arguments of a call may be, and what no text in them may hold (ruling R5)."""

import math
from collections.abc import Iterator, Mapping

from brenner.diagnostics.codes import tool_arguments as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_JSON_DEPTH, MOST_JSON_VALUES

_NUL = "\0"
_MOST_TOLD, _MOST_OF_A_NAME = 10, 40

Place = tuple[str, int, object]  # its path, its depth, what stands there


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
