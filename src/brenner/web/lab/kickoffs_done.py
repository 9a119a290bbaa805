"""What is said of kickoffs that were sent: all of them, or some."""

from http import HTTPStatus

from brenner.diagnostics.model import Unavailable
from brenner.services.spawn_agents import started_json, what_became
from brenner.services.start_session import Started, State
from brenner.text import counted, joined, thread_argument
from brenner.web import links
from brenner.web.lab.action import Done
from brenner.web.page import Document


def kickoffs_done(started: Started) -> Done:
    """All have got theirs."""
    thread_id = started.thread_id or ""
    document = {
        **started_json(started),
        "became": _became(started),
        "command": f"brenner session status {thread_argument(thread_id)}",
    }
    to = (
        (links.session(thread_id), "Open the session"),
        (links.session(thread_id, "thread"), "See the thread"),
        (links.CONNECT, "Connect the agents, so that they read their mail"),
    )
    return Done(True, _says(started), document, "lab/kickoffs_done.html", to)


def broken_off(started: Started) -> HTTPStatus:
    """How a script is told at a glance that not all have got theirs, and what to do about it."""
    return (
        HTTPStatus.SERVICE_UNAVAILABLE
        if isinstance(started.failed, Unavailable)
        else HTTPStatus.CONFLICT
    )


def partly_sent(started: Started) -> Document:
    """Who has got a kickoff and who has not, and that the same again sends what is missing."""
    return {**started_json(started), "became": _became(started)}


def _became(started: Started) -> list[dict[str, object]]:
    return [
        {
            "says": what_became(started, each),
            "status": each.state.value,
            "message_id": each.stored.id if each.stored else None,
        }
        for each in started.kickoffs
    ]


def _says(started: Started) -> str:
    sent = [each for each in started.kickoffs if each.state is State.SENT]
    if not sent:
        return f"Nothing was left to send in {started.thread_id}: everybody has this kickoff."
    names = joined(name for each in sent for name in each.message.recipients)
    what = f"Round {started.round} has begun. " if started.round else ""
    return f"{what}Sent {counted(len(sent), 'kickoff')} in {started.thread_id}: to {names}."
