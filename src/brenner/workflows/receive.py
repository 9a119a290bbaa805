"""Take in mail that agents send, the protocol's and any other.

Mail of the protocol is checked as `brenner mail send` does, and so is mail whose subject was meant
to be the protocol's: as plain mail it would be lost in silence. All other mail is stored as it is;
in a session its author hears that nothing in it will be compiled.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from brenner.check.meant import is_meant, meant_type
from brenner.check.message import check_composed
from brenner.delta.blocks import could_hold_strays, is_delta_fence
from brenner.diagnostics.codes import delta_blocks, mail, tools
from brenner.diagnostics.codes.message_body import PLACEHOLDER_LEFT
from brenner.diagnostics.codes.thread_subject import INVALID_BEAD_ID, THREAD_ID_ADVICE
from brenner.diagnostics.errors import Refused
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.diagnostics.nearest import nearest, perhaps
from brenner.limits import MOST_BODY_BYTES
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import PLAIN, Envelope, Sent, type_of
from brenner.mail.query import Query
from brenner.mail.rules import unknown_recipients, unknown_sender, unstorable
from brenner.markdown.blocks import Block, blocks
from brenner.roster.model import RosterEntry
from brenner.session.kickoff import shorthand_of
from brenner.thread.ids import ThreadKind, check_thread_id, classify_thread_id, is_valid
from brenner.thread.messages import Message
from brenner.thread.subjects import ROLE_SHORTHANDS, compose_subject, parse_subject
from brenner.thread.types import COMPILED, DELTA, KICKOFF
from brenner.workflows.desk import Desk
from brenner.workflows.send import SendOptions, send_composed

_SESSION = (KICKOFF.name, DELTA.name, COMPILED.name)
_STRAYS = (delta_blocks.INLINE_DELTA, delta_blocks.SWALLOWED_DELTA)
_REPLY = re.compile(r"(?:\s*(?:re|fwd?|aw)\s*:)+\s*", re.IGNORECASE)
_NEARLY_DELTA = re.compile(r"\W*DELTA\s*(?:\[([^\]:]*)\]?)?[\s:：*_-]*(.*)", re.IGNORECASE)

_ROLES = ", where `role` is one of " + ", ".join(ROLE_SHORTHANDS)


class Letter(NamedTuple):
    """A message that an agent sends, with what stands on its envelope.

    One that `is_checked` was looked at by a program of ours, and is stored as it is.
    """

    message: Message
    envelope: Envelope = PLAIN
    reply_to: int | None = None
    key: str | None = None
    is_checked: bool = False


class Receipt(NamedTuple):
    """What became of a letter: what was stored, or why nothing was. Lines count in the body.

    `corrected` is the message to send instead, where that is certain; of a message that is stored,
    the one that makes its contribution count.
    """

    sent: Sent | None
    violations: tuple[Diagnostic, ...] = ()
    corrected: Message | None = None


def receive(desk: Desk, letter: Letter) -> Receipt:
    """Store a letter, or refuse it with the reasons; then nothing of it is stored."""
    message = letter.message
    if letter.is_checked:
        return Receipt(_stored(desk, letter))
    unreadable = tuple(_unstorable(message))
    if unreadable:
        return Receipt(None, unreadable)
    in_session = is_session(desk.mailbox, message.thread_id)
    if is_meant(message.subject, in_session=in_session):
        return _checked(desk, letter)
    strangers = tuple(_strangers(desk.mailbox, message))
    if strangers:
        return Receipt(None, strangers)
    sent = _stored(desk, letter)
    return _aside(desk, sent, in_session=in_session)


def is_session(mailbox: Mailbox, thread_id: str) -> bool:
    """Whether a thread is a session's: by its ID, or by the mail in it."""
    if is_valid(thread_id) and classify_thread_id(thread_id) is ThreadKind.RESEARCH:
        return True
    if not thread_id or not mailbox.thread(thread_id, limit=1).position:
        return False
    wanted = Query(types=_SESSION, threads=(thread_id,))
    return bool(mailbox.search(wanted, limit=1).messages)


def _stored(desk: Desk, letter: Letter) -> Sent:
    return desk.mailbox.send(
        letter.message, reply_to=letter.reply_to, key=letter.key, envelope=letter.envelope
    )


def _unstorable(message: Message) -> Iterator[Diagnostic]:
    """What no home could keep as it is."""
    texts = {"thread": message.thread_id, "subject": message.subject, "body": message.body}
    found = (unstorable(what, text, MOST_BODY_BYTES) for what, text in texts.items())
    yield from filter(None, found)


def _strangers(mailbox: Mailbox, message: Message) -> Iterator[Diagnostic]:
    """Everybody who is named and not known; that nobody is named."""
    known = {agent.name for agent in mailbox.agents()}
    sender = unknown_sender(message.sender, known)
    yield from [sender] if sender else []
    yield from unknown_recipients(message, known)
    if not message.recipients:
        yield mail.SENT_TO_NOBODY.at()


# Mail of the protocol


def _checked(desk: Desk, letter: Letter) -> Receipt:
    """The mail as `brenner mail send` takes it, with the correction that only we can make."""
    mailbox, project, message = desk.mailbox, desk.project, letter.message
    is_new = not mailbox.thread(message.thread_id, limit=1).position
    begins = list(_begins(mailbox, message)) if is_new else []
    options = SendOptions(
        reply_to=letter.reply_to,
        key=letter.key,
        operator=project.operator,
        project=project,
        envelope=letter.envelope,
    )
    outcome, corrected = send_composed(mailbox, message, options)
    # Who writes to a thread that is there has not chosen its name.
    told = (each for each in outcome.report.violations if is_new or each.code != THREAD_ID_ADVICE)
    found = tuple(_about_thread(message, each) for each in told)
    if outcome.sent is None:
        certain = corrected or _with_shorthand(mailbox, message) or _in_thread(mailbox, message)
        return Receipt(None, found, certain)
    said = tuple(sorted((*found, *begins), key=worst_first)) if outcome.sent.is_new else found
    return Receipt(outcome.sent, said, corrected)


def _about_thread(message: Message, found: Diagnostic) -> Diagnostic:
    """A thread that was left out is not one that was misspelt."""
    if message.thread_id or found.code is not INVALID_BEAD_ID:
        return found
    return tools.NO_THREAD_NAMED.at(subject=message.subject)


def _begins(mailbox: Mailbox, message: Message) -> Iterator[Diagnostic]:
    """That a contribution goes where nobody has written before: most often it is a slip."""
    if type_of(message) != DELTA.name:
        return
    known = nearest(message.thread_id, [each.thread_id for each in mailbox.threads()])
    yield tools.NO_SESSION_YET.at(thread=message.thread_id, suggestion=perhaps(known))


def _with_shorthand(mailbox: Mailbox, message: Message) -> Message | None:
    """The message with the shorthand that its subject lacks, where the sender's model tells it."""
    match = _NEARLY_DELTA.fullmatch(message.subject)
    if parse_subject(message.subject) or meant_type(message.subject) is not DELTA or not match:
        return None
    written, description = (match[1] or "").strip().lower(), match[2].strip()
    shorthand = _shorthand(mailbox, message.sender)
    if shorthand is None or not description or (written and shorthand not in written):
        return None
    return _sendable(mailbox, message, compose_subject(DELTA.name, description, shorthand))


def _in_thread(mailbox: Mailbox, message: Message) -> Message | None:
    """The message in the thread that its malformed ID can only mean, because it is there."""
    meant = [each.suggestion for each in check_thread_id(message.thread_id) if each.suggestion]
    if not meant or not mailbox.thread(meant[0], limit=1).position:
        return None
    return _sendable(mailbox, message._replace(thread_id=meant[0]), message.subject)


def _sendable(mailbox: Mailbox, message: Message, subject: str) -> Message | None:
    """The message under another subject, corrected where it has to be; None if it would not do."""
    under_it = message._replace(subject=subject)
    report, corrected = check_composed(under_it)
    is_left = any(found.code is PLACEHOLDER_LEFT for found in report.violations)
    wanted = corrected or (under_it if report.valid else None)
    return None if is_left or any(_strangers(mailbox, message)) else wanted


def _shorthand(mailbox: Mailbox, name: str) -> str | None:
    """The shorthand for the subjects of an agent, as its model or its program tells."""
    try:
        agent = mailbox.agent(name)
    except Refused:
        return None
    return shorthand_of(RosterEntry(name, "", agent.program or None, agent.model or None))


# Other mail


def _aside(desk: Desk, sent: Sent, *, in_session: bool) -> Receipt:
    """What is to be said of mail that is stored and contributes nothing."""
    message = sent.stored.message
    body = blocks(message.body)
    held = sum(map(is_delta_fence, body)) or (_strays(message, body) if in_session else 0)
    if not (held or in_session):
        return Receipt(sent)
    shorthand = _shorthand(desk.mailbox, message.sender)
    subject = compose_subject(DELTA.name, _description(message), shorthand or "role")
    corrected = None
    if held and in_session and shorthand:
        # A reply wants an ACK if what it answers did; a contribution wants none.
        corrected = _sendable(desk.mailbox, message._replace(ack_required=None), subject)
    advice = tools.NOT_COMPILED.at(
        held=_held(held),
        unless="" if held else "If it is only to be read, nothing is to be done. ",
        where=f"in the thread `{message.thread_id}`" if in_session else "in the session's thread",
        subject=subject,
        role="" if shorthand else _ROLES,
    )
    return Receipt(sent, (advice,), corrected)


def _strays(message: Message, body: list[Block]) -> int:
    """How much of the body looks like a delta outside of a delta block."""
    if not could_hold_strays(message.body, body):
        return 0
    from brenner.delta.stray import find_strays

    return sum(stray.diagnostic.code in _STRAYS for stray in find_strays(message.body, body))


def _description(message: Message) -> str:
    """What the subject is about, without what stands before it."""
    bare = _REPLY.sub("", message.subject, count=1).strip()
    parsed = parse_subject(bare)
    return (parsed.description if parsed else bare) or "what it contributes"


def _held(count: int) -> str:
    if not count:
        return ""
    return f", not its {count} delta blocks" if count > 1 else ", not its delta block"
