"""What happens while sessions are watched, one JSON object on a line. Keys are only ever added."""

import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from brenner.config import ACK_DEADLINE
from brenner.diagnostics.model import Diagnostic, Summary, Unavailable
from brenner.mail.model import stored_json
from brenner.protocol.messages import iso
from brenner.services.compile import compiled_json
from brenner.services.watch import (
    Back,
    Came,
    Event,
    Lost,
    Made,
    NotMade,
    PhaseChanged,
    Quiet,
    Watching,
    WatchOptions,
)
from brenner.session.model import SessionStatus
from brenner.session.overview import overview_json, status_json

Document = dict[str, object]


class JsonView:
    """Writes each event as one line, and lets it go at once."""

    def __init__(self, options: WatchOptions) -> None:
        self._options = options
        self.deadline = ACK_DEADLINE

    def show(self, event: Event) -> None:
        """One line; nothing where nothing has happened."""
        if isinstance(event, Quiet):
            return
        name, told = _FORMS[type(event)]
        write_line({"event": name, "at": iso(_now()), **told(self, event)})

    def end(self, reason: str) -> None:
        """The last line."""
        write_line({"event": "stopped", "at": iso(_now()), "reason": reason})

    def erase(self) -> None:
        """There is nothing that would have to go."""

    def watching(self, event: Watching) -> Document:
        """The beginning."""
        sessions = [overview_json(each, _now(), self.deadline) for each in event.sessions]
        return {
            "store": event.where,
            "thread_id": self._options.thread_id,
            "auto_compile": self._options.auto_compile,
            "session": self._status(event.status) if event.status else None,
            "sessions": sessions,
        }

    def came(self, event: Came) -> Document:
        """A message."""
        stored, found, _, after = event.taken
        return {
            "thread_id": stored.message.thread_id,
            "message": stored_json(stored),
            "route": found.to_json(),
            "phase": after.phase.value if after and after.phase else None,
            "round": after.round if after else None,
        }

    def phase(self, event: PhaseChanged) -> Document:
        """Another phase."""
        status = event.status
        return {
            "thread_id": status.thread_id,
            "before": event.before.value if event.before else None,
            "after": status.phase.value if status.phase else None,
            "session": self._status(status),
        }

    def made(self, event: Made) -> Document:
        """A compile, as `compile --json` tells of it."""
        return compiled_json(event.done)

    def not_made(self, event: NotMade) -> Document:
        """A compile that could not be done."""
        is_away = isinstance(event.error, Unavailable)  # it is tried again
        status = "unavailable" if is_away else "refused"
        return {"thread_id": event.thread_id, "status": status, **_failed(event.error.diagnostic)}

    def lost(self, event: Lost) -> Document:
        """The mailbox is gone."""
        return _failed(event.error.diagnostic)

    def back(self, event: Back) -> Document:
        """It is there again."""
        return {"seconds": round(event.seconds, 3)}

    def _status(self, status: SessionStatus) -> Mapping[str, object]:
        return status_json(status, _now(), self.deadline)


_FORMS: dict[type, tuple[str, Callable[[JsonView, Any], Document]]] = {
    Watching: ("watching", JsonView.watching),
    Came: ("message", JsonView.came),
    PhaseChanged: ("phase", JsonView.phase),
    Made: ("compiled", JsonView.made),
    NotMade: ("compiled", JsonView.not_made),
    Lost: ("lost", JsonView.lost),
    Back: ("back", JsonView.back),
}


def write_line(document: Mapping[str, object]) -> None:
    """One object on one line, out when this returns; it is ASCII, so that nothing breaks it."""
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _failed(found: Diagnostic) -> Document:
    summary = Summary.of([found])._asdict()
    return {"valid": False, "summary": summary, "violations": [found.to_json()]}


def _now() -> datetime:
    return datetime.now(UTC)
