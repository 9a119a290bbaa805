"""The sixteen bodies that cost most to check, correct, merge or show, for any length in bytes.

Tests count what they produce; `benchmarks/hostile.py` measures them against their length.
"""

from collections.abc import Callable
from typing import NamedTuple

DELTA, INFO, COMPILED = "DELTA[gpt]: x", "INFO: x", "COMPILED: v1 x"
_TICKS = "```"
_BLOCK = 240_000  # characters of a delta block just below its limit


class HostileBody(NamedTuple):
    """A body of about so many bytes, under the subject with which it costs most."""

    make: Callable[[int], str]
    subject: str = DELTA


def fence(text: str) -> str:
    """A delta block around a text."""
    return f"{_TICKS}delta\n{text}\n{_TICKS}\n"


def _repeated(part: str, size: int) -> str:
    return part * (size // len(part.encode()))


def _in_blocks(part: str, size: int, before: str = "", after: str = "") -> str:
    """The part again and again, in delta blocks that are as long as they may be."""
    each = min(_BLOCK, size)
    block = fence(before + _repeated(part, each) + after)
    return block * max(1, size // len(block))


def _fault_by_fault(size: int) -> str:
    return _repeated(fence("{" + "a:1," * 60 + "}"), size)


def _unknown_items(size: int) -> str:
    cells = ", ".join(f'"H{number}": "x"' for number in range(1, 41))
    edit = '{"operation": "EDIT", "section": "predictions_table", "target_id": "P1", '
    return _repeated(fence(edit + f'"payload": {{"predictions": {{{cells}}}}}}}'), size)


def _wrapped(size: int) -> str:
    """Delta fences inside longer fences."""
    return _repeated(f"````\n{fence('{}')}````\n", size)


OBJECT = '{"operation":"ADD","section":"x"} '
HOSTILE_BODIES: dict[str, HostileBody] = {
    "objects on one line": HostileBody(lambda size: _repeated(OBJECT, size)),
    "empty delta fences": HostileBody(lambda size: _repeated(fence(""), size)),
    "commands of LaTeX": HostileBody(
        lambda size: _in_blocks("\\tau ", size, '{"rationale":"', '"}')
    ),
    "half objects": HostileBody(lambda size: _repeated('{"operation":"ADD","section":', size)),
    "headings": HostileBody(lambda size: _repeated("## a\n", size), COMPILED),
    "underlined headings": HostileBody(lambda size: _repeated("a\n=\n", size), COMPILED),
    "nested fences": HostileBody(_wrapped),
    "fences as indented code": HostileBody(
        lambda size: _repeated("    ```delta\n    {}\n    ```\n", size)
    ),
    "quoted fences": HostileBody(lambda size: _repeated("> ```delta\n> {}\n> ```\n\n", size)),
    "deep quotations": HostileBody(lambda size: _repeated(">" * 90 + "a\n", size)),
    "numbered lists": HostileBody(lambda size: _repeated("1. a\n", size)),
    "several objects in a block": HostileBody(
        lambda size: _in_blocks('{"operation":"ADD","section":1}', size)
    ),
    "versions that contradict": HostileBody(
        lambda size: _repeated("**Base Version**: v1\n\n**Base Version**: v2\n\n", size)
    ),
    "deltas in other mail": HostileBody(lambda size: _repeated(fence("{}"), size), INFO),
    "blocks with many faults": HostileBody(_fault_by_fault),
    "edits of unknown items": HostileBody(_unknown_items),
}
