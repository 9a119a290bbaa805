"""What became of kickoffs: as JSON, and each in a sentence; for a terminal, and for a page."""

from brenner.diagnostics.model import Summary, worst_first
from brenner.protocol.roster_config import roster_json
from brenner.text import joined, visible
from brenner.workflows.attended import Attended, attended_json
from brenner.workflows.send_kickoffs import Addressed, State
from brenner.workflows.started import Started


def started_json(done: Started, attended: Attended | None = None) -> dict[str, object]:
    """The stable form; keys are only ever added."""
    found = (*done.diagnostics, *(attended.diagnostics if attended else ()))
    summary = Summary.of(found)
    return {
        "thread_id": done.thread_id,
        "status": done.status.value,
        **({"round": done.round} if done.round else {}),
        "kickoffs": [_kickoff(each) for each in done.kickoffs],
        "registered": list(done.registered),
        "roster": roster_json(done.roster),
        "neighbours": attended_json(attended),
        "violations": [each.to_json() for each in sorted(found, key=worst_first)],
        "summary": summary._asdict(),
        "valid": summary.errors == 0,
    }


def _kickoff(each: Addressed) -> dict[str, object]:
    message = each.message
    return {
        "to": list(message.recipients),
        "role": each.role,
        "subject": message.subject,
        "message_id": each.stored.id if each.stored else None,
        "status": each.state.value,
        "body": message.body,
    }


def what_became(done: Started, each: Addressed) -> str:
    """What became of one kickoff, in a sentence."""
    to = joined(each.message.recipients) + (f" ({visible(each.role)})" if each.role else "")
    if each.state is State.UNKNOWN:
        return f"Nobody knows whether it was sent: the kickoff to {to}."
    if each.stored is None:
        return f"Not sent: the kickoff to {to}."
    if each.state is State.SENT_BEFORE:
        return f"Sent before: message {each.stored.id} to {to}."
    return f"Sent message {each.stored.id} to {to} in {visible(done.thread_id or '')}."
