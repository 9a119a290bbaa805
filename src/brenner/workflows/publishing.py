"""Post a version: to whom, checked, rebuilt from its own record first, and only if it is next."""

from datetime import UTC, datetime

from brenner.artifact.model import Artifact
from brenner.check.message import check_stored
from brenner.diagnostics.codes import publish as codes
from brenner.diagnostics.codes.mail import THREAD_MOVED
from brenner.diagnostics.errors import Refused
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.mail.model import Stored
from brenner.session.chain import Chain, check_base, compiled_messages, settled
from brenner.session.chain_json import KeptChain
from brenner.session.chain_messages import candidate_of
from brenner.session.rebuild import (
    Candidate,
    Filed,
    Rebuilt,
    UnsoundError,
    checked_record,
    rebuild,
)
from brenner.thread.content_hash import content_hash
from brenner.thread.messages import Message
from brenner.thread.posted import Posted
from brenner.workflows.chains import filed, keep_chain
from brenner.workflows.desk import Desk

# The time of a message that has none yet; nothing of the version that it is depends on it.
NOT_YET = datetime.max.replace(tzinfo=UTC)


MOST_TRIES = 200


class OvertakenError(Exception):
    """Something came in before the version could be published; nothing was posted."""


def check_sound(chain: Chain) -> None:
    """A version that does not rebuild stops everything that would build on it (R10)."""
    if chain.broken:
        raise Refused(mismatch(chain.thread_id, chain.broken.number, chain.broken.difference))


def mismatch(thread_id: str, number: int, difference: str) -> Diagnostic:
    """That a version does not follow from its record."""
    return codes.RECORD_MISMATCH.at(version=number, difference=difference, thread_id=thread_id)


def recipients_of(desk: Desk, chain: Chain, artifact: Artifact) -> tuple[str, ...]:
    """Those of the roster and the thread's writers whom the mailbox knows.

    The sender gets it only if nobody else is left: a message must reach somebody.
    """
    known = {agent.name for agent in desk.mailbox.agents()}
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


def post(desk: Desk, chain: Chain, message: Message, rebuilt: Rebuilt) -> Stored:
    """Publish, unless the thread has moved since it was read; what is known of it is kept."""
    try:
        stored = desk.mailbox.send(message, position=chain.position).stored
    except Refused as refused:
        if refused.diagnostic.code is THREAD_MOVED:
            raise OvertakenError from None
        raise
    writers = dict.fromkeys((*chain.writers, message.sender))
    after = chain._replace(position=chain.position + 1, writers=tuple(writers))
    after = settled(after.with_version(_candidate(filed(stored)), rebuilt))
    keep_chain(desk.mailbox, KeptChain(after, stored.arrival), desk.project.operator)
    return stored


def _candidate(compiled: Filed) -> Candidate:
    found = candidate_of(compiled)
    if isinstance(found, Candidate):
        return found
    raise Refused(found)
