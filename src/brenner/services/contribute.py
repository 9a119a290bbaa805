"""Compose a contribution from structured arguments, instead of JSON in Markdown.

Certain corrections are made and reported. If one delta cannot be sent, nothing is sent (R5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.merge.engine import merge
from brenner.artifact.merge.resolve import stated_base
from brenner.artifact.state import Entry
from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.artifacts import UNKNOWN_VERSION
from brenner.diagnostics.codes.mail import KEY_REUSED
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import quote_in_fence, quote_paragraphs, short_description
from brenner.protocol.delta.arguments import DeltaText, read_delta_arguments
from brenner.protocol.delta.lenient_json import NotJSON, decode_strict
from brenner.protocol.delta.parse import (
    attach_repairs,
    is_delta_fence,
    may_contain_strays,
    read_deltas,
)
from brenner.protocol.message_types import DELTA, PLACEHOLDER
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.protocol.thread_ids import without_id_advice
from brenner.protocol.validate import Report, check_composed
from brenner.services.next_round import earlier_kickoffs
from brenner.services.preview import UNSENT
from brenner.services.receive import model_shorthand
from brenner.services.send import size_error
from brenner.services.send_checks import without_base
from brenner.services.version_store import load_history, load_if_small, require_thread_id
from brenner.session.excerpts import embed_text
from brenner.text import escape_control_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.delta.schema import DeltaBlock
    from brenner.protocol.messages import StoredMessage
    from brenner.services.workspace import Workspace
    from brenner.session.versions import VersionHistory

_BASE_LINE = f"**{DELTA.version_field}**: v"
_MOST_NAMED = 3
_MOST_UNREAD = 200
_MARKS = " \t#>*-+"  # Markdown marks of a heading, a quotation, an item of a list
_SENTENCE = lazy_pattern(r".{20,79}?[.!?](?=\s)")


class ContributionRequest(NamedTuple):
    """A contribution to post. Recipients and base version may be left out.

    Without a `shorthand` for the subject, it is that of the agent's model.
    """

    thread_id: str
    agent: str
    deltas: tuple[object, ...]
    summary: str = ""
    to: tuple[str, ...] = ()
    base: int | None = None
    shorthand: str = ""


# A correction made in a delta before it was sent, as JSON: `delta`, `code` of the fault, `what`
Correction = dict[str, object]


class PreparedContribution(NamedTuple):
    """A message that is ready to be sent, or the errors in it.

    `deltas` are its parsed deltas, with all certain corrections. `wrong` are the numbers of those
    that still cannot be sent.
    """

    message: Message
    violations: tuple[Diagnostic, ...]
    corrections: tuple[Correction, ...]
    deltas: tuple[object, ...]
    wrong: tuple[int, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Return whether it can be sent."""
        return not any(found.severity is ERROR for found in self.violations)


def prepare_contribution(
    workspace: Workspace, request: ContributionRequest
) -> PreparedContribution:
    """Compose the message, and make certain corrections. Raise if the thread has no mail."""
    require_thread_id(request.thread_id)
    history = load_history(workspace.mailbox, request.thread_id, workspace.project.operator)
    _check_base(history, request)
    given = read_delta_arguments(request.deltas)
    texts = [text for text, _, _ in given]
    shorthand = request.shorthand or model_shorthand(
        workspace.mailbox, request.agent, request.thread_id
    )
    message = Message(
        thread_id=request.thread_id,
        sender=request.agent,
        recipients=request.to or _recipients(workspace, request, history),
        subject=_subject(request, texts, shorthand),
        body=_body(request, texts),
    )
    too_long = size_error(message.body, workspace.project)
    return (
        PreparedContribution(message, (too_long,), (), request.deltas)
        if too_long
        else _check_and_correct(message, given)
    )


ExpectedResult = tuple[tuple[Entry, ...], list[str]]


def expected_result(
    mailbox: Mailbox, stored: StoredMessage, operator: str
) -> ExpectedResult | None:
    """Return the ledger entries of a message, and the active items, after a compile now.

    Return None if that is unknown: a version includes the message already, or too much is unread.
    """
    history = load_if_small(mailbox, stored.message.thread_id, operator, _MOST_UNREAD)
    if history is None or history.broken_version:
        return None
    if all(each.id != stored.id for each in history.unread):
        return None
    return _result_of(history, history.unread, stored, operator)


def result_if_sent(mailbox: Mailbox, message: Message, operator: str) -> ExpectedResult | None:
    """Return the same for a message that is not sent."""
    history = load_if_small(mailbox, message.thread_id, operator, _MOST_UNREAD)
    if history is None or history.broken_version:
        return None
    unsent = UNSENT._replace(message=message)
    return _result_of(history, (*history.unread, unsent), unsent, operator)


def _result_of(
    history: VersionHistory,
    messages: Sequence[StoredMessage],
    stored: StoredMessage,
    operator: str,
) -> ExpectedResult:
    merged = merge(history.state, messages, operator=operator)
    items = (item for each in merged.artifact.sections.values() for item in each)
    active = [item.id for item in items if item.killed is None]
    return tuple(each for each in merged.ledger if each.message_id == stored.id), active


def find_sent_before(
    mailbox: Mailbox, prepared: PreparedContribution, refusal: RequestError
) -> StoredMessage | None:
    """Return the message that has the idempotency key, if it has the same deltas and summary.

    Other parts may differ: the base version, the recipients.
    """
    found = refusal.diagnostic
    if found.code is not KEY_REUSED or found.message_id is None:
        return None
    first = mailbox.message(found.message_id)
    is_here = first.message.thread_id == prepared.message.thread_id
    is_same = without_base(first.message.body) == without_base(prepared.message.body)
    return first if is_here and is_same else None


# Composing the message


def _recipients(
    workspace: Workspace, request: ContributionRequest, history: VersionHistory
) -> tuple[str, ...]:
    """Return the operator and the agents of the kickoffs; without any, the thread's senders."""
    mailbox = workspace.mailbox
    roster, asked, _ = earlier_kickoffs(mailbox.thread_arrivals(request.thread_id, 0))
    listed = roster.names if roster else ()
    known = {each.name for each in mailbox.agents()}
    names = dict.fromkeys((workspace.project.operator, *listed, *asked))
    others = tuple(name for name in names if name != request.agent and name in known)
    if others:
        return others
    from brenner.services.publish import recipients_of  # rarely needed

    return recipients_of(workspace, history, history.state.artifact)


def _check_base(history: VersionHistory, request: ContributionRequest) -> None:
    numbers = {0, *(version.number for version in history.versions)}
    if request.base is not None and request.base not in numbers:
        known = f"the latest is v{history.number}" if history.number else "no version exists yet"
        words = {"thread_id": request.thread_id, "version": str(request.base), "known": known}
        raise RequestError(UNKNOWN_VERSION.at(None, **words))


def _subject(request: ContributionRequest, texts: Sequence[str], role: str) -> str:
    description = short_description(_first_sentence(request.summary)) or _summarise_deltas(texts)
    return compose_subject(DELTA.name, description, role)


def _first_sentence(summary: str) -> str:
    """Return the first line; of a long line the first sentence."""
    line = next((each for each in summary.splitlines() if each.strip(_MARKS)), "").strip(_MARKS)
    sentence = _SENTENCE.match(line)
    return sentence[0] if sentence and short_description(line) != line else line


def _summarise_deltas(texts: Sequence[str]) -> str:
    """Describe the deltas, if there is no summary: `ADD hypothesis_slate, EDIT H2`."""
    names = list(dict.fromkeys(map(_describe_delta, texts)))
    more = len(names) - _MOST_NAMED
    return short_description(
        ", ".join([*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
    )


def _describe_delta(text: str) -> str:
    try:
        value = decode_strict(text)
    except NotJSON:
        return "a delta"
    found = value if isinstance(value, dict) else {}
    about = found.get("target_id") or found.get("section") or "?"
    return f"{found.get('operation') or 'delta'} {about}"


def _body(request: ContributionRequest, texts: Sequence[str]) -> str:
    """Return the body in the form of the kickoffs: base, summary, one block for each delta."""
    base = [f"{_BASE_LINE}{request.base}"] if request.base is not None else []
    summary = _summary_paragraphs(request.summary)
    fences = [quote_in_fence(text, "delta").rstrip("\n") for text in texts]
    return "\n\n".join([f"# {DELTA.title}", *base, *summary, "## Deltas", *fences]) + "\n"


def _summary_paragraphs(summary: str) -> list[str]:
    """Return the summary as Markdown if it has only lists and emphasis; else as plain text."""
    text = embed_text(summary)
    if not text:
        return []
    body = f"# {DELTA.title}\n\n{text}\n\n## Deltas\n"
    found = parse_blocks(body)
    headings = [each.text for each in found if each.kind is BlockKind.HEADING]
    is_prose = headings == [DELTA.title, "Deltas"] and stated_base(found) is None
    is_clean = not (any(map(is_delta_fence, found)) or may_contain_strays(body, found))
    is_plain = escape_control_lines(text) == text and not PLACEHOLDER.search(text)
    return [text] if is_prose and is_clean and is_plain else quote_paragraphs(summary)


# Checking and correcting the message


def _check_and_correct(message: Message, given: list[DeltaText]) -> PreparedContribution:
    """Return the message as it can be sent: unchanged, or with certain corrections.

    If neither is possible, each delta still gets its own certain corrections.
    """
    interpreted = tuple(
        {"delta": number, "code": codes.TAKEN_AS.id, "what": _sentence(what)}
        for number, (_, taken, _) in enumerate(given, 1)
        for what in taken
    )
    uncertain = [
        codes.NOT_SURELY_MEANT.at(what=what).in_block(number)
        for number, (_, _, doubts) in enumerate(given, 1)
        for what in doubts
    ]
    report, corrected = _check_in_session(message)
    found = (*uncertain, *report.violations)
    if report.valid:
        return PreparedContribution(message, found, interpreted, _delta_values(message))
    blocks = attach_repairs(read_deltas(message.body, message.thread_id))
    if corrected is None:
        wrong = tuple(
            block.number
            for block in blocks
            if block.delta is None and not any(found.repaired for found in block.diagnostics)
        )
        return PreparedContribution(
            message, found, interpreted, tuple(map(_repaired_value, blocks)), wrong
        )
    if uncertain or any(block.structure for block in blocks):  # the end of a delta is uncertain
        return PreparedContribution(message, found, interpreted, _delta_values(corrected))
    again, _ = _check_in_session(corrected)
    corrections = tuple(
        {"delta": found.block or 0, "code": found.id, "what": found.message}
        for found in report.violations
        if found.severity is ERROR or found.left_out
    )
    return PreparedContribution(
        corrected, again.violations, (*interpreted, *corrections), _delta_values(corrected)
    )


def _check_in_session(message: Message) -> tuple[Report, Message | None]:
    """Check a message to an existing thread, without advice on the thread's name."""
    report, corrected = check_composed(message)
    return report._replace(violations=without_id_advice(report.violations)), corrected


def _delta_values(message: Message) -> tuple[object, ...]:
    return tuple(block.value for block in read_deltas(message.body, message.thread_id))


def _repaired_value(block: DeltaBlock) -> object:
    """Return the delta with its certain corrections; its text, if it is not complete JSON."""
    repaired = next((found.repaired for found in block.diagnostics if found.repaired), None)
    if repaired is not None and not block.structure:
        return next(each.value for each in read_deltas(repaired))
    text = block.fence.text.strip()
    try:
        return decode_strict(text)
    except NotJSON:
        return text


def _sentence(words: str) -> str:
    sentence = f"{words[:1].upper()}{words[1:]}"
    return sentence if sentence.endswith(".") else f"{sentence}."
