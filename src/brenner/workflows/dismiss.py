"""Dismiss refused blocks: the operator's word that nobody has to correct them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from brenner.artifact.merge.engine import merge
from brenner.artifact.state import Entry, Outcome
from brenner.diagnostics.codes.mail import NOT_IN_THREAD
from brenner.diagnostics.codes.sessions import CANNOT_DISMISS
from brenner.diagnostics.model import BrennerError, Refused, Unavailable
from brenner.mail.model import Stored
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, content_hash
from brenner.session.participants import letters
from brenner.session.rebuild import Filed
from brenner.session.status import compose_dismissal, uncorrected
from brenner.workflows.desk import Desk
from brenner.workflows.ledgers import ledgers
from brenner.workflows.once import send_once
from brenner.workflows.publishing import recipients_of
from brenner.workflows.session_status import Followed, load_status
from brenner.workflows.void_version import check_operator

_NOT_REFUSED = {
    Outcome.APPLIED: "it was not refused, and is applied",
    Outcome.DUPLICATE: "it was not refused: it says again what was applied before",
}


class Which(NamedTuple):
    """One block of a message, or all that were refused in it."""

    message_id: int
    block: int | None = None

    def means(self, message_id: int, block: int) -> bool:
        """Whether that block is one of them."""
        return message_id == self.message_id and self.block in (None, block)

    def __str__(self) -> str:
        """In words."""
        return f"{'Message' if self.block is None else f'Block {self.block} of message'} " + str(
            self.message_id
        )


class Dismissed(NamedTuple):
    """The blocks, and the message that dismisses them; it is not new where an earlier one did.

    `left` is how many refused blocks of the thread are open now. `failed` is what went wrong after
    it was posted: they are dismissed all the same, and what is left is not known.
    """

    message_id: int
    blocks: tuple[int, ...]
    message: Stored
    is_new: bool
    left: int = 0
    failed: BrennerError | None = None


def dismiss(
    desk: Desk, thread_id: str, message_id: int, block: int | None = None, reason: str = ""
) -> Dismissed:
    """Post the dismissal of a refused block, or of all of a message, unless the thread has it."""
    which = Which(message_id, block)
    check_operator(desk, "dismiss a refused block")
    followed = load_status(desk, thread_id)
    before = _dismissals(desk, followed, which)
    blocks = [block for block, dismissed in before.items() if dismissed is None]
    if before and not blocks:
        return _told_before(desk, followed, which, before)
    refused = _filed(followed, thread_id, which)
    if not blocks:
        raise _nothing(desk, followed, which, refused)
    to = recipients_of(desk, followed.chain, followed.chain.state.artifact)
    blank = Message(thread_id, desk.actor, to, "", "")
    message = compose_dismissal(
        blank, refused.content_hash, which.message_id, tuple(blocks), reason
    )
    key = f"dismiss {which.message_id} {content_hash(message)[:32]}"
    said = _said(desk, thread_id, which, blocks)
    sent = send_once(desk.mailbox, message, said, key=key, reply_to=which.message_id)
    done = Dismissed(which.message_id, tuple(blocks), sent.stored, sent.is_new)
    return _afterwards(desk, thread_id, done)


def _dismissals(desk: Desk, followed: Followed, which: Which) -> dict[int, int | None]:
    """The refused blocks that are meant and not corrected, with what dismisses each already."""
    chain = followed.chain
    unread = [filed.posted for filed in chain.unread]
    ledger = merge(chain.state, unread, operator=desk.project.operator).ledger
    return {
        each.block: dismissed
        for each, dismissed in uncorrected(chain, letters(followed.messages), ledger)
        if which.means(each.message_id, each.block)
    }


def _said(
    desk: Desk, thread_id: str, which: Which, blocks: list[int]
) -> Callable[[], Stored | None]:
    """Looks for a message that somebody posted meanwhile, and that dismisses all of them."""

    def found() -> Stored | None:
        now = _dismissals(desk, load_status(desk, thread_id), which)
        by = [now.get(block) for block in blocks]
        numbers = [number for number in by if number is not None]
        return desk.mailbox.message(max(numbers)) if len(numbers) == len(blocks) else None

    return found


def _told_before(
    desk: Desk, followed: Followed, which: Which, before: dict[int, int | None]
) -> Dismissed:
    last = max(number or 0 for number in before.values())
    message = desk.mailbox.message(last)
    left = len(followed.status.refusals)
    return Dismissed(which.message_id, tuple(before), message, is_new=False, left=left)


def _afterwards(desk: Desk, thread_id: str, done: Dismissed) -> Dismissed:
    """What is left to do; that it is heard is looked at, not taken for granted."""
    try:
        left = load_status(desk, thread_id).status.refusals
    except Unavailable as error:
        return done._replace(failed=error)
    if any(each.message_id == done.message_id and each.block in done.blocks for each in left):
        reason = f"message {done.message.id} says so, but in the order of the thread it stands "
        reason += f"before message {done.message_id}"
        raise _refused(thread_id, Which(done.message_id), reason)
    return done._replace(left=len(left))


# Why there is nothing to dismiss


def _filed(followed: Followed, thread_id: str, which: Which) -> Filed:
    for filed in followed.messages:
        if filed.posted.id == which.message_id:
            return filed
    raise Refused(NOT_IN_THREAD.at(id=which.message_id, thread=thread_id))


def _nothing(desk: Desk, followed: Followed, which: Which, filed: Filed) -> Refused:
    thread_id = followed.chain.thread_id
    found = [each for each in _entries(desk, followed) if each.message_id == which.message_id]
    return _refused(thread_id, which, _why(which, found, filed))


def _entries(desk: Desk, followed: Followed) -> Iterator[Entry]:
    """What became of every block, or would become of it."""
    chain = followed.chain
    for version in ledgers(desk, chain.thread_id):
        yield from version.entries
    unread = [filed.posted for filed in chain.unread]
    yield from merge(chain.state, unread, operator=desk.project.operator).ledger


def _why(which: Which, found: list[Entry], filed: Filed) -> str:
    if not found:
        is_delta = filed.posted.message.subject.startswith(f"{DELTA.name}[")
        return "nothing of it was refused" if is_delta else "it is not a DELTA message"
    states = {entry.block: entry.state for entry in found}
    if which.block is not None and which.block not in states:
        return f"the message has only {len(states)} block{'s' * (len(states) != 1)}"
    meant = {state for block, state in states.items() if which.block in (None, block)}
    if Outcome.REFUSED in meant:
        author = found[0].agent
        return f"{author} has corrected what was refused"
    return "none of its blocks was refused" if which.block is None else _NOT_REFUSED[meant.pop()]


def _refused(thread_id: str, which: Which, reason: str) -> Refused:
    return Refused(CANNOT_DISMISS.at(None, what=str(which), thread_id=thread_id, reason=reason))
