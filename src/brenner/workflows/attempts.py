"""Try to publish until no other version gets in between, and tell of what was posted in vain (R17).

Only homes that cannot keep two compilers apart let both post. Whoever was interrupted before the
thread was told of her void message tells it with her next compile.
"""

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from brenner.diagnostics.codes.artifacts import COMPILE_OVERTAKEN, POSTED_IN_VAIN
from brenner.diagnostics.model import BrennerError, Diagnostic, Refused
from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.model import Stored
from brenner.protocol.messages import Message
from brenner.session.rebuild import Candidate
from brenner.session.versions import Chain, KeptChain, compose_withdrawal
from brenner.workflows.chains import load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.once import send_once
from brenner.workflows.publishing import OvertakenError, recipients_of

MOST_TRIES = 200
_Done = TypeVar("_Done")


class Published(NamedTuple, Generic[_Done]):
    """What came of it, and which messages were posted in vain before that."""

    done: _Done
    in_vain: tuple[Diagnostic, ...]


class _Told(NamedTuple):
    """A void message of ours, and whether the thread hears of it only now."""

    message_id: int
    found: Diagnostic
    is_new: bool


def until_published(
    desk: Desk, thread_id: str, attempt: Callable[[KeptChain], _Done], *, dry_run: bool = False
) -> Published[_Done]:
    """Read the thread and try, until no other version or decision gets in between."""
    says_so = Ability.EXACT_POSITIONS in desk.mailbox.lacks and not dry_run
    posted: set[int] = set()
    in_vain: dict[int, Diagnostic] = {}
    try:
        for _ in range(MOST_TRIES):
            known = load_chain(desk.mailbox, thread_id, desk.project.operator)
            told = _withdraw(desk, known.chain) if says_so else []
            in_vain |= {
                it.message_id: it.found for it in told if it.is_new or it.message_id in posted
            }
            if any(each.is_new for each in told):
                known = load_chain(desk.mailbox, thread_id, desk.project.operator)
            try:
                return Published(attempt(known), tuple(in_vain.values()))
            except OvertakenError as overtaken:
                posted |= {overtaken.posted.id} if overtaken.posted else set()
        raise Refused(COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))
    except BrennerError as error:
        error.diagnostic = _with_posted(error.diagnostic, posted)
        raise


def _with_posted(found: Diagnostic, posted: Iterable[int]) -> Diagnostic:
    """What went wrong, and what was posted before it: nobody must look for that in vain."""
    ids = [f"message {number}" for number in sorted(posted)]
    if not ids:
        return found
    words = f"{' and '.join(ids)} had been posted, and {'is' if len(ids) == 1 else 'are'} void"
    message = f"{found.message} Before that {words}: another compiler was quicker."
    return found._replace(message=message, also=(*found.also, POSTED_IN_VAIN.id))


# What the thread is told


def _withdraw(desk: Desk, chain: Chain) -> list[_Told]:
    """Say of each void message of ours that it is, unless the thread knows."""
    lost = chain.lost_by(desk.actor)
    to = recipients_of(desk, chain, chain.state.artifact) if lost else ()
    blank = Message(chain.thread_id, desk.actor, to, "", "")
    return [_say(desk.mailbox, chain, each, blank) for each in lost]


def _say(mailbox: Mailbox, chain: Chain, lost: Candidate, blank: Message) -> _Told:
    number, reason = lost.filed.posted.id, chain.why_void(lost)
    message = compose_withdrawal(blank, lost.number, number, reason)
    sent = send_once(mailbox, message, lambda: _said(mailbox, message), key=f"void {number}")
    words = {"id": str(number), "version": str(lost.number), "reason": reason}
    found = POSTED_IN_VAIN.at(None, **words, info=sent.stored.id)
    return _Told(number, found._replace(message_id=number), sent.is_new)


def _said(mailbox: Mailbox, message: Message) -> Stored | None:
    """The message that says it already; its subject names the one that is void."""
    for stored in mailbox.thread_arrivals(message.thread_id, 0):
        if (stored.message.sender, stored.message.subject) == (message.sender, message.subject):
            return stored
    return None
