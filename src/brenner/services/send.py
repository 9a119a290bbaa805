"""Send a message: check it, and store it if it has no errors.

A message with errors is not stored; its author gets the diagnostics and the corrected message.
Warnings do not block.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from brenner.config import OPERATOR, Project
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes.messages import (
    DELTA_NOT_CONTRIBUTED,
    MISSING_RECOMMENDED_SECTION,
    PLACEHOLDER_LEFT,
    TEMPLATE_NOT_FILLED_IN,
)
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, RequestError, worst_first
from brenner.diagnostics.truncate import truncate_for_message
from brenner.markdown.edits import TextEdit, apply_edits
from brenner.named_tuple import NamedTuple
from brenner.protocol.acknowledgements import UNREADABLE_IDS, acknowledged_ids
from brenner.protocol.message_types import (
    ACK,
    COMPILED,
    DELTA,
    HANDOFF,
    KICKOFF,
    TYPES,
    UNFILLED_TOPIC,
)
from brenner.protocol.messages import (
    DEFAULT_ENVELOPE,
    Envelope,
    Message,
    MessageFile,
    StoredMessage,
    Trust,
    header_errors,
    parse_message_file,
)
from brenner.protocol.thread_ids import is_valid_thread_id, without_id_advice
from brenner.protocol.validate import (
    Report,
    adds_hypothesis,
    check_composed,
    check_message,
    check_size,
)
from brenner.services.send_checks import (
    certain_thread,
    name_notes,
    names_matched_by_case,
    secret_errors,
    size_warning,
    thread_exists,
    unknown_participants,
    unknown_thread,
    was_sent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.mail.mailbox import Mailbox
    from brenner.mail.model import SendResult
    from brenner.services.preview import MergePreview


_TYPES_IN_THREAD = frozenset({KICKOFF.name, COMPILED.name, HANDOFF.name})


class SendOptions(NamedTuple):
    """Options of a send. `actor` is the sender, if known.

    With a `project`, references to other sessions are checked too. With `anyway`, a DELTA is sent
    even if every block of it would be rejected.
    """

    actor: str | None = None
    check: bool = True
    reply_to: int | None = None
    key: str | None = None
    position: int | None = None
    operator: str = OPERATOR
    project: Project | None = None
    envelope: Envelope = DEFAULT_ENVELOPE
    anyway: bool = False


class Outcome(NamedTuple):
    """The report of the check, and the stored message, or None if there were errors."""

    report: Report
    sent: SendResult | None


def send_text(mailbox: Mailbox, text: str, options: SendOptions) -> Outcome:
    found = size_error(text, options.project)
    if found:
        return Outcome(Report(None, None, (found,)), None)
    draft = _read_draft(mailbox, text, options)
    report = check_message(draft.text, draft.actor)
    message = draft.file.message
    if options.check:
        report = _check_draft(mailbox, draft, report, options)
        return _send(mailbox, message, report, options)
    report = _without_id_advice(mailbox, report)
    errors = [*header_errors(message), *_secrets(mailbox, draft)]
    if errors:
        return Outcome(_add_violations(report, errors), None)
    return Outcome(report, _store(mailbox, message, options))


class _Draft(NamedTuple):
    """A message file that is about to be sent, with the registered names in its headers."""

    text: str
    file: MessageFile
    actor: str | None
    notes: list[Diagnostic]

    @property
    def lines_before(self) -> int:
        """Return the number of lines before the body."""
        return self.file.body_line - 1


def _read_draft(mailbox: Mailbox, text: str, options: SendOptions) -> _Draft:
    """Parse a message file. Names that differ only by case become the registered ones."""
    file = parse_message_file(text)
    names = (file.message.sender, *file.message.recipients)
    matched = names_matched_by_case(mailbox, [*names, options.actor or ""])
    if not matched:
        return _Draft(text, file, options.actor, [])
    headers = [file.headers[name] for name in ("From", "To") if name in file.headers]
    edits = [
        TextEdit(each.start, each.start + len(each.value), _registered(each.value, matched))
        for each in headers
    ]
    text = apply_edits(text, tuple(edits))
    notes = name_notes({name: matched[name] for name in names if name in matched})
    actor = options.actor and matched.get(options.actor, options.actor)
    return _Draft(text, parse_message_file(text), actor, notes)


def _registered(value: str, matched: dict[str, str]) -> str:
    """Return the value of From or To with the registered names; spaces stay."""
    parts = [(part, part.strip()) for part in value.split(",")]
    return ",".join(part.replace(name, matched.get(name, name)) for part, name in parts)


def size_error(text: str, project: Project | None) -> Diagnostic | None:
    """Return an error if a text is longer than a sent message may be.

    The limit applies whether or not the message is checked. Messages that the program composes may
    be longer.
    """
    return check_size(text, project.most_message_bytes) if project else None


def examine_text(mailbox: Mailbox, text: str, options: SendOptions) -> Report:
    """Return the report that `send_text` would give, without storing anything."""
    found = size_error(text, options.project)
    if found:
        return Report(None, None, (found,))
    draft = _read_draft(mailbox, text, options)
    return _check_draft(mailbox, draft, check_message(draft.text, draft.actor), options)


def _check_draft(mailbox: Mailbox, draft: _Draft, report: Report, options: SendOptions) -> Report:
    """Return the report of a message file, with the checks and corrections of the mailbox."""
    message, base = draft.file.message, report.corrected or draft.text
    report = _check_with_mailbox(mailbox, message, report, options, draft.lines_before)
    report = _add_violations(report, draft.notes)
    meant = None if report.valid or report.corrected else known_thread_meant(mailbox, message)
    if meant is None:
        return report
    corrected = _with_thread(base, meant)
    fixed = parse_message_file(corrected).message
    again = _check_with_mailbox(mailbox, fixed, check_message(corrected, draft.actor), options)
    if not again.valid:
        return report
    marked = (
        found._replace(fixable=True) if found.code in _THREAD_ERRORS else found
        for found in report.violations
    )
    return report._replace(corrected=corrected, violations=tuple(marked))


_THREAD_ERRORS = (
    mail_codes.UNKNOWN_THREAD,
    messages_codes.INVALID_BEAD_ID,
    messages_codes.INVALID_RS_THREAD_ID,
    messages_codes.INVALID_COORD_THREAD_ID,
)


def _with_thread(text: str, thread_id: str) -> str:
    """Return the message file with another thread ID."""
    header = parse_message_file(text).headers.get("Thread")
    if header is None:
        return text
    return apply_edits(text, (TextEdit(header.start, header.start + len(header.value), thread_id),))


def known_thread_meant(mailbox: Mailbox, message: Message) -> str | None:
    """Return the existing thread that a malformed or unknown thread ID certainly means, or None."""
    is_wrong = not is_valid_thread_id(message.thread_id) or unknown_thread(mailbox, message)
    return certain_thread(mailbox, message.thread_id) if is_wrong else None


def examine_composed(
    mailbox: Mailbox, message: Message, options: SendOptions
) -> tuple[Report, Message | None]:
    """Check a message that was never a file. Return the report and the certain correction.

    Nothing is stored. Line numbers count in the body.
    """
    report, corrected = check_composed(message)
    report = _check_with_mailbox(mailbox, message, report, options)
    return report, corrected if report.corrected is not None else None


def _send(mailbox: Mailbox, message: Message, report: Report, options: SendOptions) -> Outcome:
    """Store a checked message, if it may be sent."""
    if not report.valid:
        return Outcome(report, None)
    sent = _store(mailbox, message, options)
    return Outcome(report._replace(violations=ack_warnings(mailbox, sent, report.violations)), sent)


def _check_with_mailbox(
    mailbox: Mailbox, message: Message, report: Report, options: SendOptions, lines_before: int = 0
) -> Report:
    """Return the report with the checks that need the mailbox."""
    report = _without_id_advice(mailbox, report)
    # `unknown_participants` reports a missing recipient as an error, so the advice is dropped.
    kept = [found for found in report.violations if found.code is not messages_codes.NO_RECIPIENT]
    report = _require_filled_in(report._replace(violations=tuple(kept)))
    report = _check_in_thread(mailbox, message, report, options, lines_before)
    found = list(_mailbox_errors(mailbox, message, lines_before))
    cited = [each.moved(lines_before) for each in _evidence_faults(message, options)]
    if any(each.severity is ERROR for each in (*found, *cited)):
        report = report._replace(corrected=None)  # no correction of the text alone helps
    if found or cited:
        report = _add_violations(report, [*found, *cited])
    if large := size_warning(message.body):
        report = _add_violations(report, [large])
    if not report.valid:
        return report
    ahead = [
        *_preview(mailbox, message, report, options),
        *_unknown_citations(mailbox, message, options),
    ]
    return _add_violations(report, [each.moved(lines_before) for each in ahead])


def _evidence_faults(message: Message, options: SendOptions) -> Iterator[Diagnostic]:
    """Yield what a message cites wrongly of the project's evidence pack, if it has one (R31)."""
    if options.project and options.project.evidence_pack:
        from brenner.services.evidence import message_faults  # only with an evidence pack

        yield from message_faults(options.project, message)


def _check_in_thread(
    mailbox: Mailbox, message: Message, report: Report, options: SendOptions, lines_before: int
) -> Report:
    """Return the report with the rules that depend on the thread, if the message has any."""
    if message.type not in _TYPES_IN_THREAD:
        return report
    from brenner.services.thread_rules import check_in_thread  # loads decisions and versions

    return check_in_thread(mailbox, message, report, options, lines_before)


def _mailbox_errors(mailbox: Mailbox, message: Message, lines_before: int) -> Iterator[Diagnostic]:
    """Yield the errors of names, thread and secrets. The check reports a malformed thread ID."""
    yield from unknown_participants(mailbox, message, are_names_checked=True)
    is_named = is_valid_thread_id(message.thread_id) and UNFILLED_TOPIC not in message.thread_id
    unknown = unknown_thread(mailbox, message) if is_named else None
    yield from [unknown] if unknown else []
    for found in secret_errors(mailbox, message.subject, message.body):
        yield found.moved(lines_before)


def _secrets(mailbox: Mailbox, draft: _Draft) -> list[Diagnostic]:
    message = draft.file.message
    found = secret_errors(mailbox, message.subject, message.body)
    return [each.moved(draft.lines_before) for each in found]


def _without_id_advice(mailbox: Mailbox, report: Report) -> Report:
    """Return the report without advice on the thread's ID, if the thread exists already."""
    kept = without_id_advice(report.violations)
    if len(kept) == len(report.violations) or not report.thread_id:
        return report
    is_known = thread_exists(mailbox, report.thread_id)
    return report._replace(violations=kept) if is_known else report


def _preview(
    mailbox: Mailbox, message: Message, report: Report, options: SendOptions
) -> list[Diagnostic]:
    """Return what the next merge would reject in a DELTA: an error if that is every block.

    Of other messages, return the warnings about a version that does not exist, and about a delta
    block after the end of the session.
    """
    has_block = any(found.code is DELTA_NOT_CONTRIBUTED for found in report.violations)
    if not has_block and not _needs_history(message):
        return []
    from brenner.services.preview import check_other_type, preview_merge  # loads the merge

    if message.type != DELTA.name:
        return list(check_other_type(mailbox, message, options.operator, has_block=has_block))
    ahead = preview_merge(mailbox, message, options.operator, options.project)
    found = [*ahead.violations, *_resembling_killed(mailbox, message, report, options, ahead)]
    if ahead.is_all_refused and not options.anyway and not _is_repeated(mailbox, message, options):
        count = len(ahead.entries)
        blocks = "The only block" if count == 1 else f"All {count} blocks"
        found.append(mail_codes.EVERY_BLOCK_REFUSED.at(blocks=blocks))
    return found


def _resembling_killed(
    mailbox: Mailbox, message: Message, report: Report, options: SendOptions, ahead: MergePreview
) -> tuple[Diagnostic, ...]:
    """Return which hypotheses of a DELTA resemble a killed one of any session (R30)."""
    project = options.project
    if project is None or not adds_hypothesis(report.deltas):
        return ()
    from brenner.services.killed_hypotheses import message_warnings  # reads all sessions
    from brenner.services.workspace import Workspace

    return message_warnings(
        Workspace(mailbox, project, options.operator),
        message.body,
        message.thread_id,
        ahead.artifact,
        ahead.entries,
    )


def _needs_history(message: Message) -> bool:
    """Return whether the message contributes, or may refer to a version."""
    field = TYPES[message.type].version_field if message.type else ""
    return message.type == DELTA.name or bool(field and field.casefold() in message.body.casefold())


def _is_repeated(mailbox: Mailbox, message: Message, options: SendOptions) -> bool:
    """Return whether a send with a key only repeats one that succeeded: nothing may say else."""
    return options.key is not None and was_sent(mailbox, message)


def _unknown_citations(
    mailbox: Mailbox, message: Message, options: SendOptions
) -> list[Diagnostic]:
    """Return which cited sections (§n) of a DELTA are in no excerpt of the kickoffs.

    With a source text the linter checks them.
    """
    if message.type != "DELTA" or (options.project and options.project.source_text):
        return []

    from brenner.services.citations import unknown_citations  # loads the reader of kickoffs

    return list(unknown_citations(mailbox, message))


def _require_filled_in(report: Report) -> Report:
    """Return the report with one error for all template placeholders that are left."""
    left = [found for found in report.violations if found.code is PLACEHOLDER_LEFT]
    if not left:
        return report
    kept = [found for found in report.violations if found.code is not PLACEHOLDER_LEFT]
    places = ", ".join(f"line {found.line}" for found in left if found.line)
    error = TEMPLATE_NOT_FILLED_IN.at(left[0].line, placeholders=places or "in its headers")
    return _add_violations(report._replace(violations=tuple(kept), corrected=None), [error])


def ack_warnings(
    mailbox: Mailbox, sent: SendResult, violations: tuple[Diagnostic, ...]
) -> tuple[Diagnostic, ...]:
    """Return the violations with those that the mailbox finds in a stored ACK.

    A failure here must not be raised: the ACK is stored, and its sender would send it again.
    """
    ack = sent.stored
    if not sent.is_new or ack.type != ACK.name:
        return violations
    try:
        return tuple(sorted(_ack_advice(mailbox, ack, violations), key=worst_first))
    except BrennerError as error:
        what = "Brenner could not check which ACKs it settles"
        return (*violations, stored_with_warning(ack.id, what, error))


def stored_with_warning(message_id: int, what: str, error: BrennerError) -> Diagnostic:
    """Return the warning that a message is stored, but a later step failed."""
    return mail_codes.STORED_WITH_TROUBLE.at(
        id=message_id, what=what, reason=error.diagnostic.message
    )


def _ack_advice(
    mailbox: Mailbox, ack: StoredMessage, violations: tuple[Diagnostic, ...]
) -> Iterator[Diagnostic]:
    """Yield the violations with what is wrong in an ACK that names a wrong message, or none.

    An ACK that names none and settles nothing is reported once, not also as a missing section.
    """
    named = acknowledged_ids(ack.message.body, ack.reply_to)
    if named and named != UNREADABLE_IDS:
        yield from violations
        yield from _wrong_ack_targets(mailbox, ack.message, named)
        return
    if ack.acknowledges:
        yield from violations
        return
    thread_id = ack.message.thread_id
    debts = mailbox.debts(ack.message.sender, thread_id)
    ids = ", ".join(f"message {debt.first.id}" for debt in debts) or "none"
    yield from (each for each in violations if each.code is not MISSING_RECOMMENDED_SECTION)
    yield mail_codes.ACK_NAMES_NOTHING.at(thread=thread_id, debts=ids)


def _store(mailbox: Mailbox, message: Message, options: SendOptions) -> SendResult:
    return mailbox.send(
        message,
        reply_to=options.reply_to,
        key=options.key,
        position=options.position,
        envelope=options.envelope,
    )


def _add_violations(report: Report, found: list[Diagnostic]) -> Report:
    together = sorted((*report.violations, *found), key=worst_first)
    return report._replace(violations=truncate_for_message(together))


def _wrong_ack_targets(
    mailbox: Mailbox, ack: Message, named: tuple[int, ...]
) -> Iterator[Diagnostic]:
    """Yield an error for each message that an ACK names and cannot settle."""
    for message_id in named:
        target = _message_in_thread(mailbox, ack.thread_id, message_id)
        if target is None:
            yield mail_codes.ACK_OF_UNKNOWN.at(id=message_id, thread=ack.thread_id)
        elif ack.sender not in target.message.recipients:
            yield mail_codes.ACK_BY_OTHER.at(id=message_id, name=ack.sender)


def _message_in_thread(mailbox: Mailbox, thread_id: str, message_id: int) -> StoredMessage | None:
    try:
        stored = mailbox.message(message_id)
    except RequestError:
        return None
    return stored if stored.message.thread_id == thread_id else None


# Composed messages: the recipients of a reply, and which field of a draft is at fault


THREAD_FIELD, FROM_FIELD, TO_FIELD, SUBJECT_FIELD, ACK_FIELD, BODY_FIELD, WHOLE_MESSAGE = (
    *("thread", "from", "to", "subject", "ack"),
    *("body", "message"),
)
_FIELD_OF_LINE = (THREAD_FIELD, FROM_FIELD, TO_FIELD, SUBJECT_FIELD, ACK_FIELD)
# Faults that the mailbox finds have no line
_FIELD_OF_CODE = {
    mail_codes.UNKNOWN_RECIPIENT.id: TO_FIELD,
    mail_codes.SENT_TO_NOBODY.id: TO_FIELD,
    mail_codes.UNKNOWN_SENDER.id: FROM_FIELD,
    mail_codes.UNKNOWN_THREAD.id: THREAD_FIELD,
    mail_codes.EVERY_BLOCK_REFUSED.id: BODY_FIELD,
    mail_codes.LARGE_MESSAGE.id: BODY_FIELD,
}


def locate_in_draft(text: str, found: Diagnostic) -> tuple[str, Diagnostic]:
    """Return the field of a composed message file that has a fault, and the fault in that field.

    Its line, and any line that its message names, count in the body.
    """
    lines_before = text.partition("\n\n")[0].count("\n") + 2
    if found.line is None:
        return _FIELD_OF_CODE.get(found.id, WHOLE_MESSAGE), found
    if found.line > lines_before:
        return BODY_FIELD, _in_body(found, lines_before)
    part = _FIELD_OF_LINE[min(found.line, len(_FIELD_OF_LINE)) - 1]
    return part, found._replace(line=None)


def _in_body(found: Diagnostic, lines_before: int) -> Diagnostic:
    moved = found.moved(-lines_before)
    if found.code is not TEMPLATE_NOT_FILLED_IN:
        return moved
    places = dict(found.parameters)["placeholders"]
    shown = re.sub(r"[0-9]+", lambda number: str(int(number[0]) - lines_before), str(places))
    return moved._replace(parameters=(("placeholders", shown),))


def reply_recipients(answered: StoredMessage, actor: str) -> tuple[str, ...]:
    """Return the recipients of a reply: the sender of the message.

    A reply to an own message goes to the other recipients of that message.
    """
    message = answered.message
    others = tuple(name for name in message.recipients if name != actor)
    return others if message.sender == actor and others else (message.sender,)


# Idempotency keys, by the trust of their senders
#
# A key belongs to a name. A sender that uses a name without its secret must not occupy keys of the
# verified one: its message would be rejected, or taken for one that is stored already.


_UNVERIFIED_PREFIX, _OWN_PREFIX = "unverified:", "own:"


def stored_key(key: str | None, trust: Trust | None) -> str | None:
    """Return the idempotency key under which a message is stored.

    Keys of unverified mail get a prefix and are hashed, so that they never equal a key of a
    verified sender.
    """
    if key is None:
        return None
    if trust is Trust.UNVERIFIED:
        return _UNVERIFIED_PREFIX + sha256(key.encode(errors="surrogatepass")).hexdigest()
    return (
        _OWN_PREFIX + sha256(key.encode()).hexdigest()
        if key.startswith((_UNVERIFIED_PREFIX, _OWN_PREFIX))
        else key
    )
