"""What happens while sessions are watched."""

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from brenner.diagnostics.model import BrennerError
from brenner.session.model import Phase, SessionStatus
from brenner.session.overview import Overview
from brenner.workflows.watch_threads import Taken

if TYPE_CHECKING:
    from brenner.workflows.compile import Compiled


class Watching(NamedTuple):
    """The beginning: where everything stands. `status` is that of the one thread, if it is one."""

    where: str
    sessions: tuple[Overview, ...]
    status: SessionStatus | None = None


class Came(NamedTuple):
    """A message came in."""

    taken: Taken


class PhaseChanged(NamedTuple):
    """A session has come from one phase to another; `before` is None where it has just begun."""

    before: Phase | None
    status: SessionStatus


class Made(NamedTuple):
    """A compile that `--auto-compile` asked for has ended."""

    done: "Compiled"


class NotMade(NamedTuple):
    """A compile that `--auto-compile` asked for could not be done."""

    thread_id: str
    error: BrennerError


class Lost(NamedTuple):
    """The mailbox cannot be used now."""

    error: BrennerError
    at: datetime


class Back(NamedTuple):
    """It can be used again, after so many seconds."""

    seconds: float


class Quiet(NamedTuple):
    """Nothing has happened for a while."""


Event = Watching | Came | PhaseChanged | Made | NotMade | Lost | Back | Quiet
