"""Post a version: to whom, checked, rebuilt from its own record first, and only if it is next.

Most homes refuse a version if another one, or a decision, has come in since the thread was read.
Other mail that has come in stays unread. A home that cannot promise that is read again after
posting: a message that is not the version is void, and its compiler goes on as one who was not
quick enough (R17).
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.artifacts import POSTED_NOT_CONFIRMED
from brenner.diagnostics.codes.mail import VERSION_OVERTAKEN
from brenner.diagnostics.model import ERROR, BrennerError, Refused, Unavailable, Uncertain
from brenner.mail.mailbox import Ability
from brenner.mail.model import Since, Stored
from brenner.mail.rules import overtaking
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import DELTA, KICKOFF
from brenner.protocol.messages import Message, Posted, content_hash, iso
from brenner.protocol.validate import check_stored
from brenner.session.rebuild import Candidate, Filed, Rebuilt, UnsoundError, checked_record, rebuild
from brenner.session.versions import (
    Chain,
    KeptChain,
    advance,
    candidate_of,
    check_base,
    compiled_messages,
    mismatch,
    settled,
    type_of,
)
from brenner.workflows.chains import filed, keep_chain, load_chain
from brenner.workflows.desk import Desk

# The time of a message that has none yet; nothing of the version that it is depends on it.
NOT_YET = datetime.max.replace(tzinfo=UTC)
_CONTRIBUTIONS = (KICKOFF.name, DELTA.name)


class OvertakenError(Exception):
    """Another version or a decision came in first. What was `posted` is void then."""

    def __init__(self, posted: Stored | None = None) -> None:
        super().__init__()
        self.posted = posted


class Publishing(NamedTuple):
    """The message that is the version, and how many contributions came in before it, unread."""

    stored: Stored
    late: int


def since(known: KeptChain, *, contributions: bool = False) -> Since:
    """Return the condition on which a decision that is built on this chain is sent."""
    return Since(known.arrival, known.chain.operators, contributions)


def is_overtaken(desk: Desk, known: KeptChain) -> bool:
    """Return whether another version or a decision has come in since the thread was read."""
    arrived = desk.mailbox.thread_arrivals(known.chain.thread_id, known.arrival)
    return overtaking(since(known), arrived) is not None


def compile_time(chain: Chain, number: int) -> str:
    """Return the time at which a version is compiled: now, and no other message's of its number.

    A version that is voided and compiled again within a second would have the same content, and
    the void would cover it.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    others = [each.record for each in chain.spare if each.number == number]
    taken = {record.compiled_at for record in others if record}
    while iso(now) in taken:
        now += timedelta(seconds=1)
    return iso(now)


def check_sound(chain: Chain) -> None:
    """Refuse to build on an altered message, or on a version that does not rebuild (R10)."""
    if chain.stopped:
        raise Refused(chain.stopped)


def recipients_of(desk: Desk, chain: Chain, artifact: Artifact) -> tuple[str, ...]:
    """Those of the roster and the thread's writers whom the mailbox knows.

    The sender gets it only if nobody else is left: a message must reach somebody. Imported mail may
    bear a name that is none; whoever that was, nobody can write there, and nobody is kept waiting.
    """
    known = {agent.name for agent in desk.mailbox.agents() if AGENT_NAME.fullmatch(agent.name)}
    named = dict.fromkeys((*artifact.metadata.agents, *chain.writers))
    everybody = [name for name in named if name in known]
    return tuple(name for name in everybody if name != desk.actor) or (desk.actor,)


def verified(chain: Chain, message: Message) -> Rebuilt:
    """The version that the message is, rebuilt from nothing but the message and the thread.

    So no version is ever posted that could not be rebuilt afterwards, and none that breaks a rule
    of the publish document.
    """
    for found in check_stored(message).violations:
        if found.severity is ERROR:
            raise Refused(found)
    candidate = _candidate(Filed(Posted(0, NOT_YET, message), content_hash(message), 0, 0))
    try:
        check_base(chain, checked_record(candidate))
        return rebuild(chain.state, candidate, chain.unread, compiled_messages(chain))
    except UnsoundError as error:
        difference = str(error)
    raise Refused(mismatch(chain.thread_id, candidate.number, difference))


def post(
    desk: Desk, known: KeptChain, message: Message, rebuilt: Rebuilt, *, contributions: bool = False
) -> Publishing:
    """Publish, unless another version or a decision has come in since the thread was read.

    With `contributions` a KICKOFF or DELTA message is a reason to start again, too.
    """
    chain, condition = known.chain, since(known, contributions=contributions)
    try:
        stored = desk.mailbox.send(message, position=condition).stored
    except Refused as refused:
        if refused.diagnostic.code is VERSION_OVERTAKEN:
            raise OvertakenError from None
        raise
    if Ability.EXACT_POSITIONS in desk.mailbox.lacks:
        _check_counts(desk, chain, stored)
    late: list[Filed] = []
    with suppress(BrennerError):  # it is published; the next time only takes longer
        arrived = desk.mailbox.thread_arrivals(chain.thread_id, known.arrival)
        late = [filed(each) for each in arrived if each.arrival < stored.arrival]
        if Ability.EXACT_POSITIONS not in desk.mailbox.lacks:
            _keep(desk, chain, late, _candidate(filed(stored)), rebuilt)
    return Publishing(stored, sum(type_of(each) in _CONTRIBUTIONS for each in late))


def _keep(
    desk: Desk, chain: Chain, late: list[Filed], candidate: Candidate, rebuilt: Rebuilt
) -> None:
    """Keep the chain with the version, and with the mail that came in before it."""
    before = advance(chain, late) if late else chain
    if before is None:
        return
    filed = candidate.filed
    writers = dict.fromkeys((*before.writers, filed.posted.message.sender))
    after = before._replace(position=before.position + 1, writers=tuple(writers))
    after = settled(after.with_version(candidate, rebuilt))
    keep_chain(desk.mailbox, KeptChain(after, filed.arrival), desk.project.operator)


def _check_counts(desk: Desk, chain: Chain, stored: Stored) -> None:
    """Go on only if the message is the version that it says; it may be one of two."""
    thread_id, number = chain.thread_id, chain.number + 1
    try:
        known = load_chain(desk.mailbox, thread_id, desk.project.operator)
    except Unavailable as error:
        found = error.diagnostic
        words = {"id": str(stored.id), "version": str(number), "reason": found.code.title}
        raise Uncertain(POSTED_NOT_CONFIRMED.at(None, **words)._replace(also=(found.id,))) from None
    keep_chain(desk.mailbox, known, desk.project.operator)
    if any(each.message_id == stored.id for each in known.chain.versions):
        return
    check_sound(known.chain)
    why = next((each for each in known.chain.others() if each.message_id == stored.id), None)
    if why and why.code is codes.VOID_VERSION:
        raise OvertakenError(stored)
    # It came back altered, or not at all: to post it again would be no better.
    raise Refused(why or mismatch(thread_id, number, f"message {stored.id} is not in the thread"))


def _candidate(compiled: Filed) -> Candidate:
    found = candidate_of(compiled)
    if isinstance(found, Candidate):
        return found
    raise Refused(found)
