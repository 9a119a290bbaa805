"""Declare a version void: the operator's word on one that does not rebuild, or was a mistake."""

from typing import NamedTuple

from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.codes.mail import VERSION_OVERTAKEN
from brenner.diagnostics.model import BrennerError, Diagnostic, Refused, Unavailable
from brenner.mail.model import Stored
from brenner.protocol.messages import Message
from brenner.session.rebuild import Candidate
from brenner.session.versions import Chain, compose_void
from brenner.workflows.attempts import MOST_TRIES
from brenner.workflows.chains import check_usable, load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.publishing import recipients_of, since


class Voided(NamedTuple):
    """The message that declares it; what counts as unread again; the version that is latest now.

    `notes` are about messages that somebody built on it meanwhile. `failed` is what went wrong
    after it was declared: it is void all the same, and the rest is not known.
    """

    version: int
    void_message_id: int
    message: Stored
    unread: int = 0
    latest: int = 0
    notes: tuple[Diagnostic, ...] = ()
    failed: BrennerError | None = None


def check_operator(desk: Desk, what: str) -> None:
    """Some decisions about other people's work are the operator's alone."""
    if not desk.is_operator:
        words = {"name": desk.actor, "what": what, "operator": desk.project.operator}
        raise Refused(codes.ONLY_THE_OPERATOR.at(None, **words))


def void_version(desk: Desk, thread_id: str, number: int, reason: str) -> Voided:
    """Declare the latest version void, or one that does not rebuild."""
    check_usable(thread_id)
    check_operator(desk, "void a version")
    for _ in range(MOST_TRIES):
        known = load_chain(desk.mailbox, thread_id, desk.project.operator)
        chain = known.chain
        message_id = _voidable(chain, number)
        to = recipients_of(desk, chain, chain.state.artifact)
        blank = Message(thread_id, desk.actor, to, "", "")
        message = compose_void(blank, number, message_id, _hashes(chain, number), reason)
        try:
            stored = desk.mailbox.send(message, position=since(known)).stored
        except Refused as refused:
            if refused.diagnostic.code is VERSION_OVERTAKEN:
                continue
            raise
        return _afterwards(desk, thread_id, Voided(number, message_id, stored))
    raise Refused(codes.COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))


def _afterwards(desk: Desk, thread_id: str, done: Voided) -> Voided:
    """What the thread comes to with the declaration in it."""
    try:
        chain = load_chain(desk.mailbox, thread_id, desk.project.operator).chain
    except Unavailable as error:
        return done._replace(failed=error)
    notes = (each for each in chain.others() if each.message_id in _hanging(chain, done))
    return done._replace(unread=len(chain.unread), latest=chain.number, notes=tuple(notes))


def _hanging(chain: Chain, done: Voided) -> set[int]:
    """What was posted in that very moment, and is built on what is void now."""
    bases = ((each.filed.posted.id, chain.void_base(each)) for each in chain.spare)
    return {number for number, base in bases if _id(base) == done.void_message_id}


def _id(candidate: Candidate | None) -> int | None:
    return candidate.filed.posted.id if candidate else None


def _voidable(chain: Chain, number: int) -> int:
    """Return the id of the message that is that version, or says so and does not rebuild."""
    if chain.broken and chain.broken.number == number:
        return chain.broken.candidate.filed.posted.id
    latest = chain.latest
    if latest and latest.number == number:
        return latest.message_id
    raise _refused(chain, number, _why(chain, number))


def _hashes(chain: Chain, number: int) -> list[str]:
    """Return the content hash of each message of that number, of copies each."""
    found = [each.content_hash for each in chain.versions if each.number == number]
    return found + [each.filed.content_hash for each in chain.spare if each.number == number]


def _refused(chain: Chain, number: int, reason: str) -> Refused:
    return Refused(codes.CANNOT_VOID.at(version=number, thread_id=chain.thread_id, reason=reason))


def _why(chain: Chain, number: int) -> str:
    if number < chain.number and any(each.number == number for each in chain.versions):
        return f"v{chain.number} is built on it"
    if any(each.number == number and chain.is_void(each) for each in chain.spare):
        return "it is void already"
    latest = f"the latest is v{chain.number}" if chain.versions else "there is none yet"
    return f"there is no such version; {latest}"
