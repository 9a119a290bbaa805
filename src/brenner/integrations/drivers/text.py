"""Drive any program that reads a task on standard input and writes its message on standard output.

It needs no tools, so it gets no secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.integrations.agent_driver import (
    AgentEvent,
    EventKind,
    Fault,
    FaultKind,
    Launch,
    Received,
)
from brenner.integrations.drivers.agent_folder import program_environment, work_folder
from brenner.integrations.drivers.faults import fault_event
from brenner.limits import MOST_BODY_BYTES
from brenner.program_settings import TEXT

if TYPE_CHECKING:
    from brenner.integrations.agent_driver import TurnRequest


class Text:
    """A program that writes one message."""

    name = TEXT
    reports_cost = False
    can_read_project = False

    def prepare(self, request: TurnRequest) -> Launch:
        return Launch(request.program.run, program_environment(request), work_folder(request))

    def dialogue(self, request: TurnRequest) -> TextDialogue:
        return TextDialogue(request.prompt)


class TextDialogue:
    """One task and one message, which is the whole output."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._lines: list[str] = []
        self._bytes = 0

    def begin(self) -> Received:
        return Received((AgentEvent(EventKind.STARTED),), reply=self._prompt, closes_input=True)

    def receive(self, line: str) -> Received:
        self._bytes += len(line.encode("utf-8", "surrogatepass")) + 1
        if self._bytes <= MOST_BODY_BYTES:
            self._lines.append(line)
            return Received()
        words = f"its output has more than {MOST_BODY_BYTES:,} bytes"
        fault = Fault(FaultKind.FAILED, words)
        return Received((fault_event(fault),))

    def end(self, exit_code: int, errors: str) -> tuple[AgentEvent, ...]:  # noqa: ARG002
        if exit_code or self._bytes > MOST_BODY_BYTES:
            return ()  # the message is not complete
        text = "\n".join(self._lines)
        return (AgentEvent(EventKind.TEXT, text), AgentEvent(EventKind.ENDED))
