"""`brenner_post`: a contribution with its deltas as structured arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from brenner.artifact.merge.resolve import stated_base
from brenner.artifact.state import BlockOutcome, Entry
from brenner.diagnostics.codes.deltas import INLINE_DELTA, INVALID_TARGET
from brenner.diagnostics.codes.mail import EVERY_BLOCK_REFUSED, WOULD_BE_REFUSED
from brenner.diagnostics.codes.merging import DUPLICATE_BLOCK, TARGET_KILLED, UNKNOWN_ITEM
from brenner.diagnostics.codes.messages import UNKNOWN_ROLE_SHORTHAND
from brenner.diagnostics.codes.serving import NO_DELTAS
from brenner.diagnostics.model import (
    ERROR,
    WARNING,
    BrennerError,
    Diagnostic,
    RequestError,
    worst_first,
)
from brenner.diagnostics.truncate import truncate_for_message
from brenner.mail.model import SendResult
from brenner.markdown.blocks import parse_blocks
from brenner.mcp.errors import refusal_json, violation_json, violation_lines, with_delta_number
from brenner.mcp.identity import (
    AGENT,
    ANYWAY,
    TOKEN,
    agent_of,
    authenticate_writer,
    last_fetched,
)
from brenner.mcp.tool import Argument, ArgumentKind, Call, Tool, ToolResult
from brenner.mcp.untrusted_text import framed_result, plain_or_foreign
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.delta.schema import Operation
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.messages import Envelope, StoredMessage, Trust
from brenner.services.contribute import (
    ContributionRequest,
    ExpectedResult,
    PreparedContribution,
    expected_result,
    find_sent_before,
    prepare_contribution,
    result_if_sent,
)
from brenner.services.receive import UNKNOWN_MODEL, IncomingMessage, Receipt, receive
from brenner.services.send import stored_with_warning
from brenner.services.send_checks import name_notes, names_matched_by_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_PAYLOAD = '{"name":"…","claim":"…","mechanism":"…","anchors":["§1"]}'
EXAMPLE = (
    '{"operation":"ADD","section":"hypothesis_slate","local_id":"epi",'
    f'"payload":{_PAYLOAD},"rationale":"…"}}'
)
_NO_ITEM = (INVALID_TARGET, UNKNOWN_ITEM, TARGET_KILLED)
_NO_ITEMS = "There are no active items yet: ADD one."
_MOST_IDS = 60
_NOT_POSTED = "Nothing was posted."
_AFTER_CORRECTIONS = "Your deltas with these corrections:"
_NOT_KNOWN = "the expected result of its deltas and the ACKs that you owe are unknown"
_IN_SUMMARY = "`summary` contains what looks like a delta. It will not be compiled."
_AS_DELTA = "If it is a contribution, post it as one of `deltas`."
_YOUR_MODEL = "Call `register_agent` with your name, program and model."


def run(call: Call) -> ToolResult:
    """Post the contribution, or refuse all of it."""
    given = call.arguments.get("deltas")
    deltas = tuple(given) if isinstance(given, list) else ()
    if not deltas:
        raise RequestError(NO_DELTAS.at(example=EXAMPLE))
    agent = agent_of(call)
    given = [call.text(AGENT.name).strip(), *call.texts("to")]
    matched = names_matched_by_case(call.workspace.mailbox, given)
    trust = authenticate_writer(call, agent, call.text(TOKEN.name))
    thread_id = call.text("thread_id").strip()
    base = call.number("base")
    if base is None:
        base = last_fetched(call, agent, trust, thread_id)
    to = tuple(matched.get(name, name) for name in call.texts("to"))
    wanted = ContributionRequest(thread_id, agent, deltas, call.text("summary"), to, base)
    prepared = prepare_contribution(call.workspace, wanted)
    if not prepared.is_ready:
        return _refused_result(prepared, prepared.violations, deltas)
    receipt = _receive(call, prepared, trust)
    if receipt.sent is None:
        outcome = _outcome_if_posted(call, prepared, receipt)
        return _refused_result(prepared, receipt.violations, deltas, outcome)
    noted = receipt._replace(violations=(*receipt.violations, *name_notes(matched)))
    return _posted_result(call, prepared, noted, receipt.sent)


def _receive(call: Call, prepared: PreparedContribution, trust: Trust) -> Receipt:
    key = call.text("key") or None
    letter = IncomingMessage(
        prepared.message,
        Envelope(trust=trust),
        call.number("reply_to"),
        key,
        anyway=call.flag(ANYWAY.name) is True,
    )
    try:
        receipt = receive(call.workspace, letter)
    except RequestError as refusal:
        before = find_sent_before(call.workspace.mailbox, prepared, refusal) if key else None
        if before is None:
            raise
        return Receipt(SendResult(before, is_new=False))
    # The expected results list the duplicates.
    found = (each for each in receipt.violations if each.code is not DUPLICATE_BLOCK)
    return receipt._replace(violations=tuple(found))


# Results


def _for_arguments(found: Diagnostic, sender: str) -> Diagnostic:
    """Return a violation in terms of the call's arguments."""
    told = with_delta_number(found)
    if found.id == INLINE_DELTA.id:
        return told._replace(message=_IN_SUMMARY, fix=_AS_DELTA)
    if found.code is not UNKNOWN_ROLE_SHORTHAND:
        return told
    if f"`{UNKNOWN_MODEL}`" in told.message:  # the caller did not write that
        told = told._replace(message=f"`{sender}` has not registered with a model.")
    return told._replace(fix=_YOUR_MODEL)


def _shown_violations(
    prepared: PreparedContribution, found: Iterable[Diagnostic]
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Return the violations as they are shown, and those that quote only the caller.

    A delta in the summary is one warning, whatever else is wrong in it.
    """
    sender, known = prepared.message.sender, prepared.violations
    own = [_for_arguments(each, sender) for each in known]
    strays = [each for each in known if each.id == INLINE_DELTA.id]
    lines = {each.line for each in strays}
    in_strays = [each for each in known if each.block is None and each.line in lines]
    left_out = [each for each in in_strays if each not in strays[:1] and each.severity is not ERROR]
    return [
        _for_arguments(each, sender) if each in known else each
        for each in found
        if each not in left_out
    ], own


def _outcome_if_posted(
    call: Call, prepared: PreparedContribution, receipt: Receipt
) -> ExpectedResult | None:
    """Return what would happen to the blocks, if that is why nothing was posted."""
    if all(found.code is not EVERY_BLOCK_REFUSED for found in receipt.violations):
        return None
    workspace = call.workspace
    return result_if_sent(workspace.mailbox, prepared.message, workspace.project.operator)


def _refused_result(
    prepared: PreparedContribution,
    found: Iterable[Diagnostic],
    given: Sequence[object],
    outcome: ExpectedResult | None = None,
) -> ToolResult:
    """Return that nothing was sent: every violation, and the deltas with all certain
    corrections; with an outcome also the existing items, and what the deltas may mean.
    """
    shown, own = _shown_violations(prepared, found)
    wrong = list(prepared.wrong)
    value: dict[str, object] = {
        **refusal_json(shown, own),
        "corrections": list(prepared.corrections),
        "deltas": list(prepared.deltas),
        "still_wrong": wrong,
        **({"expected": [_entry_json(each) for each in outcome[0]]} if outcome else {}),
    }
    numbers, one = ", ".join(map(str, wrong)), len(prepared.deltas) == 1
    title = _AFTER_CORRECTIONS if wrong else "Corrected block:" if one else "Corrected blocks:"
    following = (
        f"Still wrong: delta {numbers}. Fix the errors above, then post all deltas again."
        if wrong
        else f"Post {'it' if one else 'them'} as `deltas` if this is what you mean."
    )
    corrected = [title, json.dumps(value["deltas"], ensure_ascii=False), following]
    is_corrected = list(prepared.deltas) != list(given)
    items = [*(_known_items(*outcome) if outcome else ())]
    value["hints"] = [_NOT_POSTED, *items, *([following] if is_corrected else [])]
    lines = (
        _NOT_POSTED,
        *violation_lines(sorted(shown, key=worst_first), own),
        *items,
        *(_reading_lines(outcome[0]) if outcome else ()),
        *_corrected_lines(prepared),
        *(corrected if is_corrected else ()),
    )
    return framed_result(value, lines, is_error=True)


def _posted_result(
    call: Call, prepared: PreparedContribution, receipt: Receipt, sent: SendResult
) -> ToolResult:
    stored = sent.stored
    outcome, owed, failed = _expected_outcome(call, stored)
    entries = outcome[0] if outcome else None
    reported = (*prepared.violations, *receipt.violations)
    merge_warnings = _warnings(entries or (), reported)
    found = (*truncate_for_message((*receipt.violations, *merge_warnings)), *failed)
    said, own = _shown_violations(prepared, found)
    own += failed  # the words of the store, not of others
    message, trust = stored.message, stored.envelope.trust
    value = {
        "message_id": stored.id,
        "is_new": sent.is_new,
        "thread_id": message.thread_id,
        "subject": message.subject,
        "from": message.sender,
        "to": [plain_or_foreign(name, AGENT_NAME) for name in message.recipients],
        "base": stated_base(parse_blocks(message.body)),
        "trust": trust.value if trust else None,
        "expected": None if entries is None else [_entry_json(each) for each in entries],
        "corrections": list(prepared.corrections),
        "violations": [violation_json(each, own) for each in said],
        "owed_acks": owed,
    }
    first, hints = _first_line(value, outcome), [*_hints(value, outcome)]
    items = [*(_known_items(*outcome) if outcome else ())]
    value["hints"] = [*([first] if _is_notable(value, outcome) else []), *items, *hints]
    lines = (
        first,
        *violation_lines([each for each in said if each.code is WOULD_BE_REFUSED], own),
        *items,
        *_posted_lines(entries),
        *_corrected_lines(prepared),
        *violation_lines([each for each in said if each.code is not WOULD_BE_REFUSED], own),
        *hints,
    )
    return framed_result(value, lines)


def _expected_outcome(
    call: Call, stored: StoredMessage
) -> tuple[ExpectedResult | None, list[int], list[Diagnostic]]:
    """Return what happens to the blocks at the next compile, the ACKs owed, and any errors.

    The message is already posted, so an error here must not look like a failed post.
    """
    mailbox, message = call.workspace.mailbox, stored.message
    try:
        outcome = expected_result(mailbox, stored, call.workspace.project.operator)
        debts = mailbox.debts(message.sender, message.thread_id)
    except BrennerError as error:
        return None, [], [stored_with_warning(stored.id, _NOT_KNOWN, error)]
    return outcome, [each.last.id for each in debts], []


def _warnings(entries: Sequence[Entry], reported: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the warnings of blocks that would be applied, except those that the check has reported.

    Rejected blocks are reported elsewhere.
    """
    known = {_cause(found) for found in reported}
    for entry in entries:
        if entry.state is not BlockOutcome.REFUSED:
            for found in entry.diagnostics:
                if found.severity is WARNING and _cause(found) not in known:
                    yield found


def _cause(found: Diagnostic) -> tuple[object, ...]:
    """Return what makes two diagnostics the same, wherever they were found."""
    return found.code.id, found.block, found.field, found.parameters


def _entry_json(entry: Entry) -> dict[str, object]:
    return {
        "delta": entry.block,
        "operation": entry.operation,
        "section": entry.section,
        "state": entry.state.value,
        "item": entry.assigned_id or entry.item_id,
        "rewritten": [each._asdict() for each in entry.rewrites],
        **({"readings": readings} if (readings := _readings(entry)) else {}),
    }


def _readings(entry: Entry) -> list[object]:
    """Return the caller's delta in each possible interpretation: one of them is to be sent."""
    texts = [text for found in entry.diagnostics for text in found.readings]
    return [block.value for text in texts for block in read_deltas(text)]


def _refused_count(outcome: ExpectedResult | None) -> int:
    return sum(each.state is BlockOutcome.REFUSED for each in outcome[0]) if outcome else 0


def _is_notable(value: dict[str, object], outcome: ExpectedResult | None) -> bool:
    """Return whether the first line has more than that the message is posted."""
    return _refused_count(outcome) > 0 or not value["is_new"]


def _first_line(value: dict[str, object], outcome: ExpectedResult | None) -> str:
    """Return that the message is posted, and at once if some of its blocks would be rejected."""
    again = "" if value["is_new"] else " It was posted before: nothing was sent again."
    base = f" on v{value['base']}" if value["base"] is not None else ""
    posted = f"Posted message {value['message_id']} to {value['thread_id']}{base}"
    refused = _refused_count(outcome)
    if not refused:
        return f"{posted}.{again}"
    many = f"{refused} of {len(outcome[0]) if outcome else 0} deltas"
    return f"{posted}, but {many} would be rejected. Correct these and post them again.{again}"


def _hints(value: dict[str, object], outcome: ExpectedResult | None) -> Iterator[str]:
    """Yield what the agent should know or do, in our own words."""
    if value["trust"] == Trust.UNVERIFIED:
        who = "you did not pass" if value["is_new"] else "it was posted without"
        yield f"It is marked as unverified: {who} your secret (`sender_token`)."
    if outcome is None:
        yield "The result of its deltas is not known before the next compile."
    owed = value["owed_acks"]
    if isinstance(owed, list) and owed:
        yield _owed_acks_line(owed)


def _known_items(entries: Sequence[Entry], active: Sequence[str]) -> Iterator[str]:
    """Yield the existing items if a delta names one that does not exist."""
    wrong = [each for each in entries if each.state is BlockOutcome.REFUSED]
    if any(found.code in _NO_ITEM for each in wrong for found in each.diagnostics):
        ids = [name for name in active if name != "RT"]
        more = f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
        yield f"Active items: {', '.join(ids[:_MOST_IDS])}{more}." if ids else _NO_ITEMS


def _posted_lines(entries: tuple[Entry, ...] | None) -> Iterator[str]:
    if entries is None:
        return
    yield "Expected result of the next compile:"
    for each in entries:
        yield f"- delta {each.block}: {_state_words(each)}"
        yield from _reading_lines([each])


def _reading_lines(entries: Iterable[Entry]) -> Iterator[str]:
    for each in entries:
        for reading in _readings(each):
            yield f"  Possible meaning: {json.dumps(reading, ensure_ascii=False)}"


def _state_words(entry: Entry) -> str:
    """Return `applied as H5` for an ADD, `applied to H2` for an EDIT, `duplicate of H5`."""
    item = entry.assigned_id or entry.item_id
    if entry.state is BlockOutcome.REFUSED:
        return "rejected"
    if not item:
        return entry.state.value
    link = "as" if entry.operation == Operation.ADD else "to"
    return f"{entry.state.value} {'of' if entry.state is BlockOutcome.DUPLICATE else link} {item}"


def _corrected_lines(prepared: PreparedContribution) -> Iterator[str]:
    if prepared.corrections:
        yield "Corrected automatically:"
    for each in prepared.corrections:
        yield "- delta {delta}: {what} ({code})".format(**each)


def _owed_acks_line(owed: Sequence[int]) -> str:
    numbers = ", ".join(map(str, owed))
    return f"You still owe an ACK for message {numbers}: call `acknowledge_message`."


TOOL = Tool(
    "brenner_post",
    "Contribute to a thread's artifact. Each delta is one ADD, EDIT or KILL. EDIT and KILL need "
    'target_id; the payload of a KILL is {"reason"}. A new item has no number yet: give it a '
    "local_id and refer to it as @local_id. What a test showed: EDIT it with "
    '{"results":[{"outcome","potency":"passed"}]}. '
    "All deltas are posted, or none. You see what they become.",
    (
        Argument("thread_id", required=True),
        Argument("deltas", ArgumentKind.DELTAS, f"payload e.g. {_PAYLOAD}", required=True),
        Argument("summary", about="what you add and why, for the other agents"),
        AGENT,
        Argument("to", ArgumentKind.TEXTS),
        Argument("base", ArgumentKind.VERSION, "version that you read; default: last one fetched"),
        Argument("reply_to", ArgumentKind.NUMBER),
        Argument("key", about="repeating a call with the same key posts nothing twice"),
        ANYWAY,
        TOKEN,
    ),
    run,
)
