"""Where a session stands, worked out from its thread and nothing else."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, Reference
from brenner.artifact.state import Blame, Entry, Outcome
from brenner.lint.linter import lint
from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.protocol.thread_ids import classify_thread_id
from brenner.session.chain import Chain
from brenner.session.compiled_sections import has_third_alternative
from brenner.session.dismissal import Dismissals
from brenner.session.letters import Letter, letters
from brenner.session.open_acks import given_acks, open_acks
from brenner.session.open_messages import open_messages, unowed
from brenner.session.participants import CurrentRound, asked_in, participants
from brenner.session.rebuild import Filed
from brenner.session.refused import after_ledger
from brenner.session.status import (
    LatestVersion,
    OpenCritique,
    Participant,
    Phase,
    Refusal,
    SessionStatus,
    Turn,
)

_SESSION = frozenset({KICKOFF.name, DELTA.name, COMPILED.name})
_RESOLVED = "resolved"


class Standing(NamedTuple):
    """Where a session stands, and what would become of every block that no version has read."""

    status: SessionStatus
    ledger: tuple[Entry, ...]


def status_of(chain: Chain, messages: Sequence[Filed], operator: str) -> SessionStatus:
    """The status of the thread; `messages` are all of it, at least one, in any order."""
    return standing(chain, messages, operator).status


def to_come(chain: Chain, operator: str, before: tuple[Chain, Merge] | None = None) -> Merge:
    """What the next version would be, from what no version has read.

    Where that was worked out before, and nothing of it is new, it is still so.
    """
    if before and before[0].state is chain.state and before[0].unread == chain.unread:
        return before[1]
    return merge(chain.state, [filed.posted for filed in chain.unread], operator=operator)


def standing(
    chain: Chain,
    messages: Sequence[Filed],
    operator: str,
    before: SessionStatus | None = None,
    merged: Merge | None = None,
) -> Standing:
    """The status with the ledger that it was worked out from.

    Where the status `before` the newest messages is known, and the version is still the same, that
    is not looked at again. `merged` is what is `to_come`, where it is known.
    """
    thread = letters(messages)
    merged = merged or to_come(chain, operator)
    asked, owed = asked_in(chain, thread), open_acks(thread)
    given = given_acks(thread, {each.content for each in asked.values()} | unowed(thread))
    current = CurrentRound(chain, thread, asked, given, merged.ledger, merged.artifact)
    who = participants(current, operator)
    refused = uncorrected(chain, thread, merged.ledger)
    applies = sum(entry.state is Outcome.APPLIED for entry in merged.ledger)
    latest = chain.state.artifact
    status = SessionStatus(
        thread_id=chain.thread_id,
        kind=classify_thread_id(chain.thread_id),
        question=_question(latest) or _question(merged.artifact),
        round=chain.number if _is_over(current) else chain.number + 1,
        phase=_phase(current, who, applies),
        version=_version(chain, before),
        participants=who,
        open_acks=owed,
        critiques=tuple(_critiques(chain)),
        messages=open_messages(thread, owed, given),
        refusals=tuple(each for each, dismissed in refused if dismissed is None),
        unread=sum(each.type == DELTA.name for each in _unread(chain, thread)),
        applies=applies,
        stopped=chain.stopped,
        position=len(thread),
        first_at=thread[0].at,
        last_at=thread[-1].at,
        references=tuple(_references(latest)),
        operator=operator,
    )
    return Standing(status, merged.ledger)


def _unread(chain: Chain, thread: Sequence[Letter]) -> Iterator[Letter]:
    ids = {filed.posted.id for filed in chain.unread}
    return (each for each in thread if each.id in ids)


def uncorrected(
    chain: Chain, thread: Sequence[Letter], ledger: Sequence[Entry]
) -> Iterator[tuple[Refusal, int | None]]:
    """The refused blocks, of versions and to come, that their authors have not corrected.

    Each with the message in which the operator dismisses it; None where it is open.
    """
    dismissals = Dismissals(thread, chain.operators)
    return ((each, dismissals.of(each)) for each in after_ledger(chain.refused, ledger, None))


def _question(artifact: Artifact) -> str:
    return artifact.research_thread.text("statement")


def _is_over(current: CurrentRound) -> bool:
    """Whether the session has ended: it goes on where a kickoff after the end asks somebody."""
    return current.chain.is_closed and not current.asked


def _phase(current: CurrentRound, who: Sequence[Participant], applies: int) -> Phase | None:
    """What the round waits for. What cannot be compiled is not ready, whatever has come in."""
    chain, turns = current.chain, {each.turn for each in who}
    if not any(each.type in _SESSION for each in current.thread):
        return None
    if _is_over(current):
        return Phase.COMPLETE
    if Turn.OWES_ACK in turns:
        return Phase.AWAITING_ACKS
    if turns & {Turn.OWES_DELTA, Turn.TO_CORRECT}:
        return Phase.AWAITING_DELTAS
    if applies and not chain.stopped:
        return Phase.READY_TO_COMPILE
    return Phase.IN_CRITIQUE if chain.versions else Phase.AWAITING_DELTAS


def _version(chain: Chain, before: SessionStatus | None) -> LatestVersion | None:
    latest, artifact = chain.latest, chain.state.artifact
    if latest is None:
        return None
    known = before.version if before else None
    if known and (known.number, known.message_id) == (latest.number, latest.message_id):
        return known
    found = lint(artifact).summary
    return LatestVersion(
        number=latest.number,
        message_id=latest.message_id,
        compiled_at=latest.compiled_at,
        compiled_by=latest.compiled_by,
        status=latest.status,
        errors=found.errors,
        warnings=found.warnings,
        has_third_alternative=has_third_alternative(artifact),
        counts=tuple((section.id, len(artifact.active(section))) for section in ITEM_SECTIONS),
    )


def _critiques(chain: Chain) -> Iterator[OpenCritique]:
    """The C items of the latest version that nobody has answered or withdrawn."""
    state = chain.state
    for item in state.artifact.active(ADVERSARIAL_CRITIQUE):
        status = item.text("current_status")
        if not status.strip().casefold().startswith(_RESOLVED):
            yield OpenCritique(item.id, item.title, _author(item, state.blame), status)


def _author(item: Item, blame: Blame) -> str | None:
    """Who added it; None where another program's artifact was taken over."""
    changes = blame.get(item.id, {}).values()
    added = (change for last in changes for change in last.history())
    return next((each.source.agent for each in added if each.source.operation == "ADD"), None)


def _references(artifact: Artifact) -> Iterator[tuple[str, Reference]]:
    for _, item in artifact.all_items():
        for reference in item.references:
            yield item.id, reference
