"""Take in mail that agents send, the protocol's and any other.

Mail of the protocol is checked as `brenner mail send` does, and so is mail whose subject was meant
to be the protocol's: as plain mail it would be lost in silence. All other mail is stored as it is;
in a session its author hears that nothing in it will be compiled.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from brenner.config import Project
from brenner.diagnostics.codes import deltas as deltas_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import serving as serving_codes
from brenner.diagnostics.codes.messages import (
    INVALID_BEAD_ID,
    INVALID_SUBJECT_PREFIX,
    PLACEHOLDER_LEFT,
    THREAD_ID_ADVICE,
)
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, RequestError, worst_first
from brenner.limits import MOST_BODY_BYTES, MOST_KEY_BYTES, MOST_MAIL_SUBJECT_BYTES
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import PLAIN, Envelope, Sent, StoredMessage, Trust, type_of
from brenner.mail.rules import unstorable
from brenner.mail.search import Query
from brenner.markdown.blocks import Block, blocks
from brenner.protocol.delta.parse import could_hold_strays, is_delta_fence
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.protocol.messages import Message
from brenner.protocol.roster import Role, RosterEntry
from brenner.protocol.subjects import ROLE_SHORTHANDS, compose_subject, parse_subject
from brenner.protocol.thread_ids import (
    LONGEST_ID,
    ThreadKind,
    check_thread_id,
    classify_thread_id,
    is_valid,
)
from brenner.protocol.validate import check_composed, is_meant, meant_type
from brenner.services.next_round import Earlier, earlier_kickoffs
from brenner.services.send import (
    SendOptions,
    ack_warnings,
    examine_composed,
    stored_key,
    unknown_participants,
    unsendable,
)
from brenner.services.version_store import filed
from brenner.services.workspace import Workspace
from brenner.session.kickoff import shorthand_of
from brenner.text import closest, did_you_mean

# The shorthand of an agent's model in the subjects of her contributions.


UNKNOWN_MODEL = "agent"


def certain_shorthand(mailbox: Mailbox, name: str, thread_id: str) -> str | None:
    """The one that the table of models has: as she registered, else as the thread's roster says."""
    program, model = _registered(mailbox, name)
    told = shorthand_of(RosterEntry(name, "", program or None, model or None))
    return told or shorthand_of(_listed(mailbox, name, thread_id))


def shorthand(mailbox: Mailbox, name: str, thread_id: str) -> str:
    """The same; of a model that is not in the table the model's own first word.

    With that goes a warning; nobody is made out to be another one.
    """
    program, model = _registered(mailbox, name)
    found = certain_shorthand(mailbox, name, thread_id)
    return found or _first_word(model) or _first_word(program) or UNKNOWN_MODEL


def kickoffs_of(mailbox: Mailbox, thread_id: str) -> Earlier:
    """What the kickoffs of a thread have said."""
    return earlier_kickoffs(map(filed, mailbox.thread_arrivals(thread_id, 0)))


def _listed(mailbox: Mailbox, name: str, thread_id: str) -> RosterEntry | None:
    roster = kickoffs_of(mailbox, thread_id).roster
    return roster.entry(name) if roster else None


def _registered(mailbox: Mailbox, name: str) -> tuple[str, str]:
    try:
        known = mailbox.agent(name)
    except RequestError:
        return "", ""
    return known.program, known.model


def _first_word(name: str) -> str:
    letters = "".join(each if "a" <= each <= "z" else " " for each in name.lower())
    return next(iter(letters.split()), "")


# Subjects that were meant for a contribution, and lack the shorthand of their sender's model.


# Possessive: whoever writes a subject must not decide how long it takes to read.
_NEARLY = re.compile(r"\W*+DELTA\s*+(?:\[([^\]:]*+)\]?)?+[\s:：*_-]*+(.*+)", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s-]++")
_YOUR_MODELS = (
    "Write in the brackets the shorthand of your model, not your role: "
    + ", ".join(f"`DELTA[{each}]:`" for each in ROLE_SHORTHANDS)
    + "."
)


def with_shorthand(mailbox: Mailbox, message: Message) -> str | None:
    """The subject with the shorthand, where the registration of its sender tells it.

    Who has written a role in its place has said nothing of her model.
    """
    match = _NEARLY.fullmatch(message.subject)
    if parse_subject(message.subject) or meant_type(message.subject) is not DELTA or not match:
        return None
    written, description = (match[1] or "").strip().lower(), match[2].strip()
    known = certain_shorthand(mailbox, message.sender, message.thread_id)
    is_said = written and not _is_role(written)
    if known is None or not description or (is_said and known not in written):
        return None
    return compose_subject(DELTA.name, description, known)


def about_role(message: Message, found: Diagnostic) -> Diagnostic:
    """The same violation; where a role stands in the brackets, with what has to stand there."""
    match = _NEARLY.fullmatch(message.subject)
    if found.code is not INVALID_SUBJECT_PREFIX or not match or not _is_role(match[1] or ""):
        return found
    return found._replace(fix=_YOUR_MODELS)


def _is_role(written: str) -> bool:
    return _BETWEEN.sub("_", written.strip().lower()) in tuple(Role)


# Who may lead a session by mail that comes in: agents contribute, the operator leads.
#
# A KICKOFF begins a round and gives everybody a role (R15), a COMPILED message closes it (R10).
# From
# somebody who is not believed, or whose session it is not, either would be a way to take it over.


LEADING = (KICKOFF.name, COMPILED.name)
_BELIEVED = (Trust.VERIFIED, Trust.LOCAL)
_SHOW = "Show your secret as `sender_token` if the session is yours to lead."
_NO_SECRETS = (
    "Nobody can show a secret here, because the store of this project keeps none: only the "
    "operator leads, from the command line."
)


def leading_type(message: Message, *, is_checked: bool = False) -> str | None:
    """KICKOFF or COMPILED, if the message is one, or was meant to be; else None.

    What is stored unchecked is what its subject says, and nothing else.
    """
    kind = type_of(message)
    if kind is None and not is_checked:
        meant = meant_type(message.subject)
        kind = meant.name if meant else None
    return kind if kind in LEADING else None


def may_not_lead(
    mailbox: Mailbox, project: Project, message: Message, kind: str, trust: Trust | None
) -> Iterator[Diagnostic]:
    """Why somebody may not send this message of a kind that leads; nothing if she may."""
    name, operator = message.sender, project.operator
    if trust not in _BELIEVED:
        advice = _NO_SECRETS if Capability.SECRETS in mailbox.lacks else _SHOW
        yield serving_codes.LEADING_NEEDS_SECRET.at(type=kind, name=name, advice=advice)
    elif name != operator and not _is_hers(mailbox, message):
        thread = message.thread_id
        yield serving_codes.NOT_YOURS_TO_LEAD.at(
            type=kind, name=name, operator=operator, thread=thread
        )


def _is_hers(mailbox: Mailbox, message: Message) -> bool:
    """Whether nobody has led the thread yet, or she has, and it is known that it was she."""
    led = list(_led(mailbox, message.thread_id))
    return not led or any(_is_by(message.sender, each) for each in led)


def _is_by(name: str, stored: StoredMessage) -> bool:
    return stored.message.sender == name and stored.envelope.trust in _BELIEVED


def _led(mailbox: Mailbox, thread_id: str) -> Iterable[StoredMessage]:
    """The messages that lead a thread; of one that is not there, none."""
    if not thread_id or unstorable("thread", thread_id, MOST_BODY_BYTES):
        return ()  # no home has it; it is refused for that
    if not mailbox.thread(thread_id, limit=1).position:
        return ()
    return (each for each in mailbox.thread_arrivals(thread_id, 0) if each.type in LEADING)


_SESSION = (KICKOFF.name, DELTA.name, COMPILED.name)
_STRAYS = (deltas_codes.INLINE_DELTA, deltas_codes.SWALLOWED_DELTA)
# Possessive: whoever writes a subject must not decide how long it takes to read.
_REPLY = re.compile(r"(?:\s*+(?:re|fwd?|aw)\s*+:)++\s*+", re.IGNORECASE)

_ROLES = ", better with the shorthand of your model in it: " + ", ".join(ROLE_SHORTHANDS)
_NOTHING_SAID = messages_codes.EMPTY_MESSAGE.at()._replace(
    message="There is no message: its subject and its body are empty."
)


class IncomingMessage(NamedTuple):
    """A message that an agent sends, with what stands on its envelope.

    One that `is_checked` was looked at by a program of ours, and is stored as it is.
    """

    message: Message
    envelope: Envelope = PLAIN
    reply_to: int | None = None
    key: str | None = None
    is_checked: bool = False


class Examined(NamedTuple):
    """What there is to say of a letter before it is stored. Lines count in the body.

    `corrected` is the message to send instead, where that is certain; of one that may be sent, the
    one that makes its contribution count.
    """

    may_be_sent: bool
    violations: tuple[Diagnostic, ...] = ()
    corrected: Message | None = None


class Receipt(NamedTuple):
    """What became of a letter: what was stored, or why nothing was, with what else was said."""

    sent: Sent | None
    violations: tuple[Diagnostic, ...] = ()
    corrected: Message | None = None


def receive(workspace: Workspace, letter: IncomingMessage) -> Receipt:
    """Store a letter, or refuse it with the reasons; then nothing of it is stored.

    Who leads a session is not a matter of content: that holds for checked letters, too.
    """
    barred = tuple(_barred(workspace, letter)) if letter.is_checked else ()
    if barred:
        return Receipt(None, barred)
    found = _looked_at(workspace, letter)
    if not (found.may_be_sent or letter.is_checked):
        return Receipt(None, found.violations, found.corrected)
    sent = _stored(workspace, letter)
    said = ack_warnings(workspace.mailbox, sent, found.violations)
    if not found.may_be_sent:
        said = (_unchecked(found), *said)
    return Receipt(sent, said, found.corrected)


def examine(workspace: Workspace, letter: IncomingMessage) -> Examined:
    """Everything that `receive` does, but nothing is stored: the answer to whether it may be."""
    message = letter.message
    unreadable = tuple(_unstorable(workspace, letter))
    if unreadable:
        return Examined(may_be_sent=False, violations=unreadable)
    barred = tuple(_barred(workspace, letter))
    if barred:
        return Examined(may_be_sent=False, violations=barred)
    in_session = is_session(workspace.mailbox, message.thread_id)
    if is_meant(message.subject, in_session=in_session):
        return _checked(workspace, letter)
    if not (message.subject.strip() or message.body.strip()):
        return Examined(may_be_sent=False, violations=(_NOTHING_SAID,))
    wrong = (
        *_unusable(workspace.mailbox, message.thread_id),
        *unknown_participants(workspace.mailbox, message),
    )
    if wrong:
        return Examined(may_be_sent=False, violations=wrong)
    return _aside(workspace, message, in_session=in_session)


def _barred(workspace: Workspace, letter: IncomingMessage) -> Iterator[Diagnostic]:
    """Why its sender may not lead the session, if that is what the letter would do."""
    message = letter.message
    kind = leading_type(message, is_checked=letter.is_checked)
    if kind:
        trust = letter.envelope.trust
        yield from may_not_lead(workspace.mailbox, workspace.project, message, kind, trust)


def _looked_at(workspace: Workspace, letter: IncomingMessage) -> Examined:
    """The same, where it must not keep away what a program of ours sends."""
    try:
        return examine(workspace, letter)
    except BrennerError:
        if not letter.is_checked:
            raise
        return Examined(may_be_sent=True)


def _unchecked(found: Examined) -> Diagnostic:
    errors = sum(each.severity is ERROR for each in found.violations)
    return serving_codes.STORED_UNCHECKED.at(count=f"{errors} errors" if errors > 1 else "an error")


def is_session(mailbox: Mailbox, thread_id: str) -> bool:
    """Whether a thread is a session's: by its ID, or by the mail in it."""
    if is_valid(thread_id) and classify_thread_id(thread_id) is ThreadKind.RESEARCH:
        return True
    return has_session_mail(mailbox, thread_id)


def has_session_mail(mailbox: Mailbox, thread_id: str) -> bool:
    """Whether anybody has sent what only sessions have."""
    if not thread_id or not mailbox.thread(thread_id, limit=1).position:
        return False
    wanted = Query(types=_SESSION, threads=(thread_id,))
    return bool(mailbox.search(wanted, limit=1).messages)


def _stored(workspace: Workspace, letter: IncomingMessage) -> Sent:
    key = stored_key(letter.key, letter.envelope.trust)
    try:
        return workspace.mailbox.send(
            letter.message, reply_to=letter.reply_to, key=key, envelope=letter.envelope
        )
    except RequestError as refused:
        first = refused.diagnostic.message_id
        if refused.diagnostic.code is not mail_codes.KEY_REUSED or not letter.key or first is None:
            raise
        # Its sender knows the key as she has given it.
        found = mail_codes.KEY_REUSED.at(key=letter.key, id=first)
        raise RequestError(found._replace(message_id=first)) from None


def _unstorable(workspace: Workspace, letter: IncomingMessage) -> Iterator[Diagnostic]:
    """What no home could keep as it is. A subject is read by patterns: it has a limit of its own.

    A subject of the protocol has a lower one, which the check knows. What a program of ours sends
    may be as long as what is stored: it may be a version.
    """
    message = letter.message
    long = None if letter.is_checked else unsendable(message.body, workspace.project)
    if long:
        yield long
        return
    bounds = {
        "thread": (message.thread_id, MOST_BODY_BYTES),
        "subject": (message.subject, MOST_MAIL_SUBJECT_BYTES),
        "body": (message.body, MOST_BODY_BYTES),
        "key": (letter.key or "", MOST_KEY_BYTES),
    }
    found = (unstorable(what, text, most) for what, (text, most) in bounds.items())
    yield from filter(None, found)


def _unusable(mailbox: Mailbox, thread_id: str) -> Iterator[Diagnostic]:
    """Why mail cannot begin a thread of that name; who answers has not chosen it."""
    reasons = {
        f"it has {len(thread_id)} characters": len(thread_id) > LONGEST_ID,
        "it has a line break or another character that nobody sees": not thread_id.isprintable(),
        "it has blanks around it": thread_id != thread_id.strip(),
    }
    wrong = [reason for reason, holds in reasons.items() if holds]
    if wrong and not mailbox.thread(thread_id, limit=1).position:
        yield serving_codes.UNUSABLE_THREAD_ID.at(
            thread=thread_id, reason=wrong[0], most=LONGEST_ID
        )


# Mail of the protocol


def _checked(workspace: Workspace, letter: IncomingMessage) -> Examined:
    """The mail as `brenner mail send` takes it, with the correction that only we can make."""
    mailbox, project, message = workspace.mailbox, workspace.project, letter.message
    is_new = not mailbox.thread(message.thread_id, limit=1).position
    begins = _begins(mailbox, message) if is_new else ()
    options = SendOptions(operator=project.operator, project=project)
    report, corrected = examine_composed(mailbox, message, options)
    # Who writes to a thread that is there has not chosen its name.
    told = (each for each in report.violations if is_new or each.code != THREAD_ID_ADVICE)
    found = [about_role(message, _about_thread(message, each)) for each in told]
    if not report.valid:
        certain = corrected or _with_shorthand(mailbox, message) or _in_thread(mailbox, message)
        return Examined(may_be_sent=False, violations=tuple(found), corrected=certain)
    said = tuple(sorted((*found, *begins), key=worst_first))
    return Examined(may_be_sent=True, violations=said, corrected=corrected)


def _about_thread(message: Message, found: Diagnostic) -> Diagnostic:
    """A thread that was left out is not one that was misspelt."""
    if message.thread_id or found.code is not INVALID_BEAD_ID:
        return found
    return serving_codes.NO_THREAD_NAMED.at(subject=message.subject)


def _begins(mailbox: Mailbox, message: Message) -> Iterator[Diagnostic]:
    """That a contribution goes where nobody has written before: most often it is a slip."""
    if type_of(message) != DELTA.name:
        return
    known = closest(message.thread_id, [each.thread_id for each in mailbox.threads()])
    yield serving_codes.NO_SESSION_YET.at(thread=message.thread_id, suggestion=did_you_mean(known))


def _with_shorthand(mailbox: Mailbox, message: Message) -> Message | None:
    """The message with the shorthand that its subject lacks, where the sender's model tells it."""
    subject = with_shorthand(mailbox, message)
    return _sendable(mailbox, message, subject) if subject else None


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
    return None if is_left or any(unknown_participants(mailbox, message)) else wanted


# Other mail


def _aside(workspace: Workspace, message: Message, *, in_session: bool) -> Examined:
    """What is to be said of mail that contributes nothing."""
    body = blocks(message.body)
    held = sum(map(is_delta_fence, body)) or (_strays(message, body) if in_session else 0)
    if not (held or in_session):
        return Examined(may_be_sent=True)
    model = shorthand(workspace.mailbox, message.sender, message.thread_id)
    is_known = model in ROLE_SHORTHANDS
    subject = compose_subject(DELTA.name, _description(message), model)
    corrected = None
    if held and in_session and is_known:
        # A reply wants an ACK if what it answers did; a contribution wants none.
        corrected = _sendable(workspace.mailbox, message._replace(ack_required=None), subject)
    advice = serving_codes.NOT_COMPILED.at(
        held=_held(held),
        unless="" if held else "If it is only to be read, nothing is to be done. ",
        where=f"in the thread `{message.thread_id}`" if in_session else "in the session's thread",
        subject=subject,
        role="" if is_known else _ROLES,
    )
    return Examined(may_be_sent=True, violations=(advice,), corrected=corrected)


def _strays(message: Message, body: list[Block]) -> int:
    """How much of the body looks like a delta outside of a delta block."""
    if not could_hold_strays(message.body, body):
        return 0
    from brenner.protocol.delta.stray import find_strays

    return sum(stray.diagnostic.code in _STRAYS for stray in find_strays(message.body, body))


def _description(message: Message) -> str:
    """What the subject is about, without what stands before it."""
    before = _REPLY.match(message.subject)
    bare = message.subject[before.end() if before else 0 :].strip()
    parsed = parse_subject(bare)
    return (parsed.description if parsed else bare) or "what it contributes"


def _held(count: int) -> str:
    if not count:
        return ""
    return f", not its {count} delta blocks" if count > 1 else ", not its delta block"
