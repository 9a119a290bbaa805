"""The row of a session in a list, from where it stands."""

from brenner.artifact.model import Artifact
from brenner.protocol.message_types import BLOCKED, CRITIQUE, HANDOFF, QUESTION
from brenner.session.overview import Awaited, Overview, Owed
from brenner.session.status import SessionStatus

# A list shows one line of it, and holds those of all sessions at once.
_LONGEST_QUESTION = 300


def overview_of(status: SessionStatus, artifact: Artifact) -> Overview:
    """The row; `artifact` is the latest version's, and says nothing where there is none."""
    version = status.version
    items = [item for _, item in artifact.all_items()] if version else []
    return Overview(
        thread_id=status.thread_id,
        kind=status.kind,
        question=_one_line(status.question),
        round=status.round,
        phase=status.phase,
        version=version.number if version else None,
        errors=version.errors if version else None,
        awaited=tuple(Awaited(each.name, each.turn) for each in status.awaited),
        owed=tuple(Owed(each.debtor, each.message_id, each.last_sent) for each in status.open_acks),
        blocked=len(status.of_type(BLOCKED.name)),
        questions=len(status.of_type(QUESTION.name)),
        handoffs=len(status.of_type(HANDOFF.name)),
        critiques=len(status.critiques) + len(status.of_type(CRITIQUE.name)),
        refusals=len(status.refusals),
        unread=status.unread,
        applies=status.applies,
        is_stopped=status.stopped is not None,
        position=status.position,
        first_at=status.first_at,
        last_at=status.last_at,
        items=tuple(item.id for item in items),
        references=tuple((item.id, each) for item in items for each in item.references),
        killed=tuple((item.id, item.killed) for item in items if item.killed),
        to_correct=tuple(dict.fromkeys(each.agent for each in status.refusals)),
    )


def _one_line(text: str) -> str:
    """The beginning of a question, its words on one line."""
    line = " ".join(text[: 4 * _LONGEST_QUESTION].split())
    return line if len(line) <= _LONGEST_QUESTION else line[: _LONGEST_QUESTION - 1] + "…"
