"""Programs that take the prompt, and print one JSON event per line.

The shape of an event is not certain: nothing here raises.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from brenner.integrations.agent_driver import AgentEvent, Received
from brenner.integrations.drivers.faults import error_line, fault_event, read_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

JsonObject = dict[str, object]


class JsonDialogue:
    """A dialogue in which each line of output is an event, which a program's reader explains."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt

    def begin(self) -> Received:
        return Received(reply=self._prompt, closes_input=True)

    def receive(self, line: str) -> Received:
        event = parse_object(line)
        return Received(tuple(self.read(event))) if event else Received()

    def read(self, event: JsonObject) -> Iterator[AgentEvent]:
        """Return what one event of the program means."""
        raise NotImplementedError

    def end(self, exit_code: int, errors: str) -> tuple[AgentEvent, ...]:
        """Return what standard error reports, in case no event did.

        A program that a signal ended has reported nothing about that.
        """
        words = error_line(errors) if exit_code > 0 else ""
        return (fault_event(read_fault(words, is_final=False)),) if words else ()


def parse_object(line: str) -> JsonObject | None:
    """Return the JSON object in a line, or None if there is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def value_at(value: object, *path: str) -> object:
    """Return the value at a path of keys, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: object, *path: str) -> str:
    """Return the text at a path of keys, or an empty one."""
    found = value_at(value, *path)
    return found if isinstance(found, str) else ""


def number_at(value: object, *path: str) -> float | None:
    """Return the number at a path of keys, or None."""
    found = value_at(value, *path)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def count_at(value: object, *path: str) -> int:
    """Return the number of tokens at a path of keys, or 0."""
    number = number_at(value, *path) or 0
    return int(number) if 0 <= number < float("inf") else 0


def objects_at(value: object, *path: str) -> list[JsonObject]:
    """Return the objects of the list at a path of keys."""
    found = value_at(value, *path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def object_text(value: object) -> str:
    """Return the arguments of a tool as JSON, the same text for equal arguments."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
