"""Receive mail that agents send, of the protocol and any other.

Mail of the protocol is checked as `brenner mail send` does. So is mail whose subject looks like the
protocol's: as plain mail it would be lost without notice. All other mail is stored unchecked; in a
session, its author is warned that it will not be compiled.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import deltas as deltas_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import serving as serving_codes
from brenner.diagnostics.codes.messages import (
    INVALID_BEAD_ID,
    INVALID_SUBJECT_PREFIX,
    PLACEHOLDER_LEFT,
)
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, RequestError, worst_first
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_BODY_BYTES, MOST_KEY_BYTES, MOST_MAIL_SUBJECT_BYTES
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.rules import text_problem
from brenner.mail.search import Query
from brenner.markdown.blocks import Block, parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import is_delta_fence, may_contain_strays
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.protocol.messages import (
    DEFAULT_ENVELOPE,
    Envelope,
    StoredMessage,
    Trust,
    header_errors,
)
from brenner.protocol.roster import Role, RosterEntry
from brenner.protocol.subjects import ROLE_SHORTHANDS, compose_subject, parse_subject
from brenner.protocol.thread_ids import (
    LONGEST_THREAD_ID,
    ThreadKind,
    classify_thread_id,
    is_valid_thread_id,
)
from brenner.protocol.validate import check_composed, intended_type, looks_like_protocol_subject
from brenner.services.next_round import earlier_kickoffs
from brenner.services.send import (
    SendOptions,
    ack_warnings,
    examine_composed,
    known_thread_meant,
    size_error,
    stored_key,
)
from brenner.services.send_checks import (
    secret_errors,
    size_warning,
    thread_exists,
    unknown_participants,
    unknown_thread,
)
from brenner.session.kickoff import shorthand_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.config import Project
    from brenner.mail.model import SendResult
    from brenner.protocol.messages import Message
    from brenner.services.workspace import Workspace

# The shorthand of an agent's model in the subjects of its contributions


UNKNOWN_MODEL = "agent"


def known_model_shorthand(mailbox: Mailbox, name: str, thread_id: str) -> str | None:
    """Return the shorthand in the table of models: by registration, else by the thread's roster."""
    program, model = _registered_model(mailbox, name)
    shorthand = shorthand_of(RosterEntry(name, "", program or None, model or None))
    return shorthand or shorthand_of(_roster_entry(mailbox, name, thread_id))


def model_shorthand(mailbox: Mailbox, name: str, thread_id: str) -> str:
    """Return the shorthand, or the first word of a model that is not in the table.

    The first word comes with a warning, so that no agent is taken for another model.
    """
    program, model = _registered_model(mailbox, name)
    found = known_model_shorthand(mailbox, name, thread_id)
    return found or _first_word(model) or _first_word(program) or UNKNOWN_MODEL


def _roster_entry(mailbox: Mailbox, name: str, thread_id: str) -> RosterEntry | None:
    roster, *_ = earlier_kickoffs(mailbox.thread_arrivals(thread_id, 0))
    return roster.entry(name) if roster else None


def _registered_model(mailbox: Mailbox, name: str) -> tuple[str, str]:
    try:
        known = mailbox.agent(name)
    except RequestError:
        return "", ""
    return known.program, known.model


def _first_word(name: str) -> str:
    letters = "".join(each if "a" <= each <= "z" else " " for each in name.lower())
    return next(iter(letters.split()), "")


# Subjects of contributions that lack the shorthand of the sender's model


# Possessive quantifiers: a hostile subject must not cause slow matching.
_ALMOST_DELTA = lazy_pattern(r"\W*+DELTA\s*+(?:\[([^\]:]*+)\]?)?+[\s:：*_-]*+(.*+)", re.IGNORECASE)
_SEPARATORS = lazy_pattern(r"[\s-]++")
_SHORTHAND_FIX = (
    "Put the shorthand of your model, not your role, into the brackets: "
    + ", ".join(f"`DELTA[{each}]:`" for each in ROLE_SHORTHANDS)
    + "."
)


def subject_with_shorthand(mailbox: Mailbox, message: Message) -> str | None:
    """Return the subject with the shorthand, if the sender's registration or the thread's roster
    gives it; else None.

    A role written in its place does not say which model the sender is.
    """
    match = _ALMOST_DELTA.fullmatch(message.subject)
    if parse_subject(message.subject) or intended_type(message.subject) is not DELTA or not match:
        return None
    written, description = (match[1] or "").strip().lower(), match[2].strip()
    known = known_model_shorthand(mailbox, message.sender, message.thread_id)
    is_said = written and not _is_role(written)
    if known is None or not description or (is_said and known not in written):
        return None
    return compose_subject(DELTA.name, description, known)


def explain_role_in_subject(message: Message, found: Diagnostic) -> Diagnostic:
    """Return the violation, with a better fix if the subject has a role in the brackets."""
    match = _ALMOST_DELTA.fullmatch(message.subject)
    if found.code is not INVALID_SUBJECT_PREFIX or not match or not _is_role(match[1] or ""):
        return found
    return found._replace(fix=_SHORTHAND_FIX)


def _is_role(written: str) -> bool:
    return _SEPARATORS.sub("_", written.strip().lower()) in tuple(Role)


# Who may lead a session by mail: agents contribute, the operator leads
#
# A KICKOFF starts a round and assigns the roles (R15); a COMPILED message closes it (R10). From an
# unverified sender, or one that does not lead the session, either could take the session over.


LEADING_TYPES = (KICKOFF.name, COMPILED.name)
_TRUSTED = (Trust.VERIFIED, Trust.LOCAL)
_PROVE_IDENTITY = "If you lead the session, give your secret as `sender_token`."
_NO_SECRETS = (
    "The store of this project keeps no secrets, so only the operator can lead, from the command "
    "line."
)


def leading_type(message: Message, *, is_checked: bool = False) -> str | None:
    """Return KICKOFF or COMPILED if the message is one, or was meant to be; else None.

    For a message that is stored unchecked, only the exact subject counts.
    """
    kind = message.type
    if kind is None and not is_checked:
        intended = intended_type(message.subject)
        kind = intended.name if intended else None
    return kind if kind in LEADING_TYPES else None


def leading_errors(
    mailbox: Mailbox, project: Project, message: Message, kind: str, trust: Trust | None
) -> Iterator[Diagnostic]:
    """Yield why the sender may not send a message of a leading type; nothing if it may."""
    name, operator = message.sender, project.operator
    if trust not in _TRUSTED:
        advice = _NO_SECRETS if Capability.SECRETS in mailbox.lacks else _PROVE_IDENTITY
        yield serving_codes.LEADING_NEEDS_SECRET.at(type=kind, name=name, advice=advice)
    elif name != operator and not _may_continue_leading(mailbox, message):
        thread = message.thread_id
        yield serving_codes.NOT_YOURS_TO_LEAD.at(
            type=kind, name=name, operator=operator, thread=thread
        )


def _may_continue_leading(mailbox: Mailbox, message: Message) -> bool:
    """Return whether the thread has no leader yet, or the sender led it and was verified."""
    leading = list(_leading_messages(mailbox, message.thread_id))
    return not leading or any(_is_trusted_sender(message.sender, each) for each in leading)


def _is_trusted_sender(name: str, stored: StoredMessage) -> bool:
    return stored.message.sender == name and stored.envelope.trust in _TRUSTED


def _leading_messages(mailbox: Mailbox, thread_id: str) -> Iterable[StoredMessage]:
    """Return the messages that lead a thread; none if it does not exist."""
    if not thread_id or text_problem("thread", thread_id, MOST_BODY_BYTES):
        return ()  # no store can keep it; another check rejects it
    if not mailbox.thread(thread_id, limit=1).position:
        return ()
    return (each for each in mailbox.thread_arrivals(thread_id, 0) if each.type in LEADING_TYPES)


_SESSION_TYPES = (KICKOFF.name, DELTA.name, COMPILED.name)
_STRAY_CODES = (deltas_codes.INLINE_DELTA, deltas_codes.SWALLOWED_DELTA)
# Possessive quantifiers: a hostile subject must not cause slow matching.
_REPLY = lazy_pattern(r"(?:\s*+(?:re|fwd?|aw)\s*+:)++\s*+", re.IGNORECASE)

_SHORTHANDS_HINT = ", with the shorthand of your model in the brackets: " + ", ".join(
    ROLE_SHORTHANDS
)
_NO_MESSAGE = messages_codes.EMPTY_MESSAGE.at()._replace(
    message="The message is empty: it has no subject and no body."
)


class IncomingMessage(NamedTuple):
    """A message that an agent sends, with its envelope.

    One that `is_checked` was checked by another Brenner program, and is stored as it is. With
    `anyway`, a DELTA is stored even if every block of it would be rejected.
    """

    message: Message
    envelope: Envelope = DEFAULT_ENVELOPE
    reply_to: int | None = None
    key: str | None = None
    is_checked: bool = False
    anyway: bool = False


class Receipt(NamedTuple):
    """The stored message, or why nothing was stored, with all other diagnostics.

    Before a message is stored, `may_be_sent` is the result of its check. Line numbers count in the
    body. `corrected` is the message to send instead, if the correction is certain. For a message
    that may be sent, it is the version whose contribution would be compiled.
    """

    sent: SendResult | None = None
    violations: tuple[Diagnostic, ...] = ()
    corrected: Message | None = None
    may_be_sent: bool = False


def receive(workspace: Workspace, incoming: IncomingMessage) -> Receipt:
    """Store a message, or reject it with the reasons and store nothing.

    The right to lead a session, forged headers and secrets are checked for every message, even one
    that was checked before.
    """
    errors = tuple(_check_always(workspace, incoming)) if incoming.is_checked else ()
    if errors:
        return Receipt(None, errors)
    found = _examine_or_accept(workspace, incoming)
    if not (found.may_be_sent or incoming.is_checked):
        return found
    sent = _store(workspace, incoming)
    violations = ack_warnings(workspace.mailbox, sent, found.violations)
    if not found.may_be_sent:
        violations = (_unchecked_warning(found), *violations)
    return found._replace(sent=sent, violations=violations)


def examine(workspace: Workspace, incoming: IncomingMessage) -> Receipt:
    """Check a message as `receive` does, but store nothing."""
    message = incoming.message
    unreadable = tuple(_storage_errors(workspace, incoming))
    if unreadable:
        return Receipt(violations=unreadable)
    errors = tuple(_check_always(workspace, incoming))
    if errors:
        return Receipt(violations=errors)
    in_session = is_session(workspace.mailbox, message.thread_id)
    if looks_like_protocol_subject(message.subject, in_session=in_session):
        return _check_protocol_mail(workspace, incoming)
    if not (message.subject.strip() or message.body.strip()):
        return Receipt(violations=(_NO_MESSAGE,))
    return _check_other_mail(workspace, message, in_session=in_session)


def _check_always(workspace: Workspace, incoming: IncomingMessage) -> Iterator[Diagnostic]:
    """Yield the errors that no check of the sender's program can replace."""
    message = incoming.message
    found = header_errors(message)
    yield from found
    if not found:
        yield from _check_may_lead(workspace, incoming)
        yield from secret_errors(workspace.mailbox, message.subject, message.body)


def _check_may_lead(workspace: Workspace, incoming: IncomingMessage) -> Iterator[Diagnostic]:
    """Yield why the sender may not lead the session, if the message would do that."""
    message = incoming.message
    kind = leading_type(message, is_checked=incoming.is_checked)
    if kind:
        trust = incoming.envelope.trust
        yield from leading_errors(workspace.mailbox, workspace.project, message, kind, trust)


def _examine_or_accept(workspace: Workspace, incoming: IncomingMessage) -> Receipt:
    """Return the same as `examine`, but accept an already checked message if the check fails."""
    try:
        return examine(workspace, incoming)
    except BrennerError:
        if not incoming.is_checked:
            raise
        return Receipt(may_be_sent=True)


def _unchecked_warning(found: Receipt) -> Diagnostic:
    errors = sum(each.severity is ERROR for each in found.violations)
    return serving_codes.STORED_UNCHECKED.at(count=f"{errors} errors" if errors > 1 else "an error")


def is_session(mailbox: Mailbox, thread_id: str) -> bool:
    if is_valid_thread_id(thread_id) and classify_thread_id(thread_id) is ThreadKind.RESEARCH:
        return True
    return has_session_mail(mailbox, thread_id)


def has_session_mail(mailbox: Mailbox, thread_id: str) -> bool:
    """Return whether the thread has a message type that only sessions have."""
    if not thread_id or not thread_exists(mailbox, thread_id):
        return False
    wanted = Query(types=_SESSION_TYPES, threads=(thread_id,))
    return bool(mailbox.search(wanted, limit=1).messages)


def _store(workspace: Workspace, incoming: IncomingMessage) -> SendResult:
    key = stored_key(incoming.key, incoming.envelope.trust)
    try:
        return workspace.mailbox.send(
            incoming.message, reply_to=incoming.reply_to, key=key, envelope=incoming.envelope
        )
    except RequestError as refused:
        first = refused.diagnostic.message_id
        if (
            refused.diagnostic.code is not mail_codes.KEY_REUSED
            or not incoming.key
            or first is None
        ):
            raise
        # Show the key as the sender gave it, not the stored form.
        found = mail_codes.KEY_REUSED.at(key=incoming.key, id=first)
        raise RequestError(found._replace(message_id=first)) from None


def _storage_errors(workspace: Workspace, incoming: IncomingMessage) -> Iterator[Diagnostic]:
    """Yield an error for each part that no store could keep unchanged.

    The subject has its own limit, because regular expressions read it. A subject of the protocol
    has a lower one, which the check applies. An already checked message may be as long as a stored
    version.
    """
    message = incoming.message
    too_long = None if incoming.is_checked else size_error(message.body, workspace.project)
    if too_long:
        yield too_long
        return
    bounds = {
        "thread": (message.thread_id, MOST_BODY_BYTES),
        "subject": (message.subject, MOST_MAIL_SUBJECT_BYTES),
        "body": (message.body, MOST_BODY_BYTES),
        "key": (incoming.key or "", MOST_KEY_BYTES),
    }
    found = (text_problem(what, text, most) for what, (text, most) in bounds.items())
    yield from filter(None, found)


def _new_thread_errors(mailbox: Mailbox, thread_id: str) -> Iterator[Diagnostic]:
    """Yield why mail cannot start a thread of that name. A reply did not choose the name."""
    reasons = {
        f"it has {len(thread_id)} characters": len(thread_id) > LONGEST_THREAD_ID,
        "it contains an invisible character": not thread_id.isprintable(),
        "it has spaces around it": thread_id != thread_id.strip(),
    }
    wrong = [reason for reason, holds in reasons.items() if holds]
    if wrong and not mailbox.thread(thread_id, limit=1).position:
        yield serving_codes.UNUSABLE_THREAD_ID.at(
            thread=thread_id, reason=wrong[0], most=LONGEST_THREAD_ID
        )


# Mail of the protocol


def _check_protocol_mail(workspace: Workspace, incoming: IncomingMessage) -> Receipt:
    """Check mail as `brenner mail send` does, and add corrections that need the mailbox."""
    mailbox, project, message = workspace.mailbox, workspace.project, incoming.message
    options = SendOptions(
        key=incoming.key, operator=project.operator, project=project, anyway=incoming.anyway
    )
    report, corrected = examine_composed(mailbox, message, options)
    found = [
        explain_role_in_subject(message, _explain_missing_thread(message, each))
        for each in report.violations
    ]
    if not report.valid:
        correction = corrected or _corrected_headers(mailbox, message)
        return Receipt(violations=tuple(found), corrected=correction)
    all_violations = tuple(sorted(found, key=worst_first))
    return Receipt(may_be_sent=True, violations=all_violations, corrected=corrected)


def _explain_missing_thread(message: Message, found: Diagnostic) -> Diagnostic:
    """Return a clearer error if the thread is missing, not misspelt."""
    if message.thread_id or found.code is not INVALID_BEAD_ID:
        return found
    return serving_codes.NO_THREAD_NAMED.at(subject=message.subject)


def _corrected_headers(mailbox: Mailbox, message: Message) -> Message | None:
    """Return the message in the existing thread that its ID must mean, and with the missing
    shorthand if the sender's model gives it; None if neither is wrong or certain.
    """
    meant = known_thread_meant(mailbox, message)
    in_thread = message._replace(thread_id=meant or message.thread_id)
    subject = subject_with_shorthand(mailbox, in_thread) or message.subject
    if (in_thread, subject) == (message, message.subject):
        return None
    return _corrected_message(mailbox, in_thread, subject)


def _corrected_message(mailbox: Mailbox, message: Message, subject: str) -> Message | None:
    """Return the message with another subject and all corrections; None if it is still invalid."""
    under_it = message._replace(subject=subject)
    report, corrected = check_composed(under_it)
    is_left = any(found.code is PLACEHOLDER_LEFT for found in report.violations)
    wanted = corrected or (under_it if report.valid else None)
    is_unknown = any(unknown_participants(mailbox, message)) or unknown_thread(mailbox, under_it)
    return None if is_left or is_unknown else wanted


# Other mail


def _check_other_mail(workspace: Workspace, message: Message, *, in_session: bool) -> Receipt:
    """Return the errors of mail that contributes nothing, or the advice for it."""
    wrong = tuple(_other_mail_errors(workspace.mailbox, message))
    if wrong:
        return Receipt(violations=wrong)
    large = size_warning(message.body)
    advised = _advise_other_mail(workspace, message, in_session=in_session)
    return advised._replace(violations=(*advised.violations, *([large] if large else [])))


def _other_mail_errors(mailbox: Mailbox, message: Message) -> Iterator[Diagnostic]:
    unusable = tuple(_new_thread_errors(mailbox, message.thread_id))
    unknown = None if unusable else unknown_thread(mailbox, message)
    yield from unusable
    yield from [unknown] if unknown else []
    yield from unknown_participants(mailbox, message)


def _advise_other_mail(workspace: Workspace, message: Message, *, in_session: bool) -> Receipt:
    body = parse_blocks(message.body)
    blocks_count = sum(map(is_delta_fence, body)) or (
        _count_strays(message, body) if in_session else 0
    )
    if not (blocks_count or in_session):
        return Receipt(may_be_sent=True)
    model = model_shorthand(workspace.mailbox, message.sender, message.thread_id)
    is_known = model in ROLE_SHORTHANDS
    subject = compose_subject(DELTA.name, _description(message), model)
    corrected = None
    if blocks_count and in_session and is_known:
        # A reply inherits the ACK request of its message; a contribution needs none.
        corrected = _corrected_message(
            workspace.mailbox, message._replace(ack_required=None), subject
        )
    advice = serving_codes.NOT_COMPILED.at(
        held=_blocks_words(blocks_count),
        unless="" if blocks_count else "If it is only for reading, no action is needed. ",
        where=f"in the thread `{message.thread_id}`" if in_session else "in the session's thread",
        subject=subject,
        role="" if is_known else _SHORTHANDS_HINT,
    )
    return Receipt(may_be_sent=True, violations=(advice,), corrected=corrected)


def _count_strays(message: Message, body: list[Block]) -> int:
    """Return how many parts of the body look like a delta outside of a delta block."""
    if not may_contain_strays(message.body, body):
        return 0
    from brenner.protocol.delta.stray import find_strays

    return sum(each.diagnostic.code in _STRAY_CODES for each in find_strays(message.body, body))


def _description(message: Message) -> str:
    """Return what the subject is about, without its prefixes."""
    before = _REPLY.match(message.subject)
    bare = message.subject[before.end() if before else 0 :].strip()
    parsed = parse_subject(bare)
    return (parsed.description if parsed else bare) or "your contribution"


def _blocks_words(count: int) -> str:
    if not count:
        return ""
    return f", not even its {count} delta blocks" if count > 1 else ", not even its delta block"
