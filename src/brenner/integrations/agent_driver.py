"""Drivers: run an agent's program for one turn without a terminal, and read what it reports.

A driver knows one program: its command line, the settings that restrict it to our tools, and its
events. `agent_process.py` runs the process, whatever the driver. No driver decides whether a turn
succeeded: the thread does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from brenner.program_settings import ProgramSettings


class Endpoint(NamedTuple):
    """Our MCP endpoint, and the secrets for it. They are passed only by environment."""

    url: str
    token: str
    secret: str

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"


class Usage(NamedTuple):
    """What one turn used. `cost_usd` is None if the program reports no cost.

    The input tokens include the cached ones.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class TurnRequest(NamedTuple):
    """One turn of one agent.

    `turn` identifies it, as `<run id>/<agent>/<number>`: every process of the turn carries it in
    its environment. `prompt` is everything that the agent is asked. `folder` belongs to this agent
    alone and is outside the project. `conversation` continues earlier turns, which used
    `used_before` together. With `readable` the agent may also read files in that folder, if its
    program can be limited to that. `budget_usd` limits the cost, if its program can do that.
    """

    turn: str
    agent: str
    prompt: str
    folder: Path
    endpoint: Endpoint
    program: ProgramSettings
    conversation: str | None = None
    used_before: Usage = Usage()
    readable: Path | None = None
    budget_usd: float | None = None


class Launch(NamedTuple):
    """How to start the program. `environment` is added to ours, `None` removes a variable."""

    command: tuple[str, ...]
    environment: Mapping[str, str | None]
    folder: Path


class FaultKind(StrEnum):
    """Why a turn went wrong, as far as the events show it."""

    NOT_INSTALLED = "not_installed"
    LOGIN = "login"  # 401, 403, not logged in
    CREDIT = "credit"  # no money or no plan
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"  # 5xx, network
    NO_TOOLS = "no_tools"  # the program does not see our server
    TIMEOUT = "timeout"
    LOOP = "loop"  # too many tool calls, or the same call again and again
    CRASH = "crash"
    STOPPED = "stopped"  # by us, on request
    FAILED = "failed"  # anything else that the program reports as an error


# Faults that another try at once cannot cure.
PARKING_FAULTS = frozenset(
    {FaultKind.NOT_INSTALLED, FaultKind.LOGIN, FaultKind.CREDIT, FaultKind.NO_TOOLS}
)


class Fault(NamedTuple):
    """A fault in words. `retry_after` is in seconds, if the program or service names a time.

    A driver may set `retry_at` instead, in seconds since the epoch; a report has `retry_after`.
    With `is_final` the turn cannot recover, so the process is stopped at once. Otherwise the
    program tries again by itself, and the fault counts only if the turn does not end well. With
    `has_lost_conversation` the program does not have the conversation to continue.
    """

    kind: FaultKind
    reason: str
    retry_after: float | None = None
    retry_at: float | None = None
    is_final: bool = True
    has_lost_conversation: bool = False


class EventKind(StrEnum):
    LINE = "line"  # `text` is a line of standard output, as the program printed it
    STARTED = "started"  # the program runs; `text` is its conversation, if it has one
    CONNECTED = "connected"  # the program says that it sees our server
    TOOL = "tool"  # a call has ended; `text` is the tool's name without prefix
    TEXT = "text"  # the agent wrote something
    USAGE = "usage"  # replaces the usage of this turn reported before
    FAULT = "fault"
    ENDED = "ended"  # the program says that its turn is over; `is_error` if not as it should be


class AgentEvent(NamedTuple):
    """One event of a turn, the same for all programs.

    `arguments` are those of a tool as JSON, or empty if the program does not report them.
    """

    kind: EventKind
    text: str = ""
    arguments: str = ""
    is_error: bool = False
    usage: Usage | None = None
    fault: Fault | None = None


class Received(NamedTuple):
    """What a line of the program's output means, and what to answer on its standard input."""

    events: tuple[AgentEvent, ...] = ()
    reply: str = ""
    closes_input: bool = False


class Dialogue(Protocol):
    """The conversation with one process. It is pure: text in, events and text out."""

    def begin(self) -> Received:
        """Return what to write first. Most programs take the prompt and then the end of input."""

    def receive(self, line: str) -> Received:
        """Read one line of standard output. A line that is not understood gives no events."""

    def end(self, exit_code: int, errors: str) -> tuple[AgentEvent, ...]:
        """Return what the exit code and the end of standard error add, such as a fault."""


class Driver(Protocol):
    """How to drive one kind of program."""

    name: str
    reports_cost: bool
    can_read_project: bool  # whether it can be limited to reading one folder

    def prepare(self, request: TurnRequest) -> Launch | Fault:
        """Write the program's settings into the agent's folder, and return how to start it.

        Return a fault if the program cannot be restricted there.
        """

    def dialogue(self, request: TurnRequest) -> Dialogue:
        """Return the dialogue for this turn."""


class TurnReport(NamedTuple):
    """How a turn ended, as far as the program reports it. The thread shows what it achieved.

    `fault` is the one that ended it, or None. `text` is what the agent wrote last; for the driver
    `text` it is the whole standard output. `errors` is the end of standard error.
    """

    fault: Fault | None
    usage: Usage = Usage()
    tool_calls: int = 0
    tool_errors: int = 0
    text: str = ""
    conversation: str | None = None
    exit_code: int | None = None
    seconds: float = 0.0
    errors: str = ""
