"""Brenner's own tools for agents: task, check and explain."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import accumulate, islice
from typing import TYPE_CHECKING, cast

from brenner.artifact.next_test import DECLARED, pairs_text
from brenner.diagnostics.catalogue import closest_code, find_code
from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.codes.messages import MESSAGE_TOO_LARGE, UNKNOWN_CODE
from brenner.diagnostics.model import INFO, Code, Diagnostic, RequestError, Summary, worst_first
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_SHOWN_BYTES
from brenner.mail.mailbox import Capability, Mailbox
from brenner.markdown.blocks import parse_blocks
from brenner.mcp import tools_artifact as artifact_tool
from brenner.mcp import tools_post as post_tool
from brenner.mcp.errors import (
    fix_for_tools,
    is_own,
    refusal_json,
    thread_violation_json,
    violation_json,
    violation_lines,
)
from brenner.mcp.identity import AGENT, agent_of
from brenner.mcp.tool import Argument, ArgumentKind, Call, Tool, ToolResult
from brenner.mcp.tools_artifact import author_of
from brenner.mcp.untrusted_text import ForeignText, framed_result, plain_or_foreign
from brenner.protocol.body import find_section, parse_sections
from brenner.protocol.delta.schema import Operation
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import Envelope, Message, Trust, iso
from brenner.protocol.validate import Report, check_composed, deltas_json
from brenner.services.agent_task import (
    AgentTask,
    TaskCritique,
    WaitingSession,
    load_task,
    sessions_waiting_for,
    unread_count,
)
from brenner.services.receive import (
    IncomingMessage,
    Receipt,
    examine,
    explain_role_in_subject,
    leading_type,
)
from brenner.session.model import (
    AWAITED_TURNS,
    Cancellation,
    OpenAck,
    OpenMessage,
    Phase,
    RefusedBlock,
    Turn,
)
from brenner.session.prompts import PROMPTS
from brenner.session.status_text import PHASE_LABELS
from brenner.text import did_you_mean, template_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.artifact.next_test import NextTests, Pair
    from brenner.services.workspace import Workspace
    from brenner.session.overview import Overview

# `brenner_check`: check a message before it is sent


_SEND = "The message can be sent: call `send_message` with these arguments."
_CORRECTED = (
    "The message would be rejected, but `corrected` would not. Read `corrected`, then send it with "
    "`send_message`."
)
_BY_AUTHOR = "The message would be rejected. Fix the errors below, then check it again."
_CONTRIBUTES = " To contribute its deltas to the artifact, send `corrected` instead."
_LEADS = " It leads a session, so pass your secret as `sender_token`."
# Codes about the placeholder of a missing name
_OF_A_STAND_IN = {"sender_name": codes.UNKNOWN_SENDER, "to": codes.UNKNOWN_RECIPIENT}


def run_check(call: Call) -> ToolResult:
    """Check a message. Errors in it are a successful result, not a failed call."""
    message, left_out = _draft(call)
    found = examine(call.workspace, _incoming_message(call, message))
    is_read = not any(each.code is MESSAGE_TOO_LARGE for each in found.violations)
    report = check_composed(message)[0] if is_read else Report(None, None, ())
    own = [explain_role_in_subject(message, each) for each in report.violations]
    passed_over = {_OF_A_STAND_IN[name] for name in left_out}  # faults of the placeholders
    said = [each for each in found.violations if each.code not in passed_over]
    if not found.may_be_sent and found.corrected:  # what the thread would refuse then
        said += _merge_preview(call, found.corrected)
    following = _next_step(found, message, left_out)
    value = {
        "valid": found.may_be_sent,
        "type": message.type,
        "summary": Summary.of(said)._asdict(),
        "violations": [violation_json(each, own) for each in said],
        **deltas_json(report.deltas),
        "corrected": _arguments(call, found.corrected) if found.corrected else None,
        "not_looked_at": [*left_out, "sender_token"],
        "next": following,
    }
    lines = (
        following,
        *violation_lines(said, own),
        *_corrected_lines(found.corrected),
    )
    return framed_result(value, lines)


def _draft(call: Call) -> tuple[Message, tuple[str, ...]]:
    """Return the message that would be sent, and the names of missing arguments.

    A placeholder replaces a missing sender or recipient, who need not be registered yet.
    """
    stand_in = _any_agent(call.workspace.mailbox, call.workspace.project.operator)
    try:
        sender = call.text("sender_name") or agent_of(call)
    except RequestError:
        sender = ""
    to = call.texts("to")
    message = Message(
        thread_id=call.text("thread_id"),
        sender=sender or stand_in,
        recipients=to or (stand_in,),
        subject=call.text("subject"),
        body=call.text("body_md"),
    )
    is_given = {"to": call.arguments.get("to") is not None, "sender_name": bool(sender)}
    if is_given["to"] and not to:
        message = message._replace(recipients=())
    return message, tuple(name for name, is_there in is_given.items() if not is_there)


def _incoming_message(call: Call, message: Message) -> IncomingMessage:
    """Return the message as from an authenticated sender: authentication is checked on sending.

    In a store without secrets no sender is authenticated.
    """
    is_believed = Capability.SECRETS not in call.workspace.mailbox.lacks
    return IncomingMessage(
        message, Envelope(trust=Trust.VERIFIED if is_believed else Trust.UNVERIFIED)
    )


def _any_agent(mailbox: Mailbox, operator: str) -> str:
    known = [each.name for each in mailbox.agents()]
    return operator if operator in known or not known else known[0]


def _merge_preview(call: Call, corrected: Message) -> list[Diagnostic]:
    """Return what the thread would refuse of the corrected message; infos come when it is sent."""
    report, _ = check_composed(corrected)
    found = examine(call.workspace, _incoming_message(call, corrected)).violations
    new = (each for each in found if each not in report.violations and each.severity is not INFO)
    return sorted(new, key=worst_first)


def _next_step(found: Receipt, message: Message, missing: Sequence[str]) -> str:
    if found.may_be_sent:
        said = _SEND + (_CONTRIBUTES if found.corrected else "")
        said += _LEADS if leading_type(message) else ""
    else:
        said = _CORRECTED if found.corrected else _BY_AUTHOR
    left_out = " and ".join(f"`{name}`" for name in missing)
    return f"{said} Not checked, because not given: {left_out}." if left_out else said


def _arguments(call: Call, corrected: Message) -> dict[str, object]:
    """Return the arguments to call again with, or to send with."""
    to = list(call.texts("to"))
    return {
        "thread_id": corrected.thread_id,
        "subject": corrected.subject,
        "body_md": corrected.body,
        **({"to": to} if to else {}),
    }


def _corrected_lines(corrected: Message | None) -> Iterator[str | ForeignText]:
    if corrected:
        yield f"Corrected subject: {corrected.subject}"
        yield f"Corrected body_md:\n{corrected.body}"


CHECK_TOOL_TOOL = Tool(
    "brenner_check",
    "Check a message without sending it. Returns errors and warnings with lines of body_md, and "
    "the corrected message if every error is fixable.",
    (
        Argument("thread_id"),
        Argument("subject", required=True),
        Argument("body_md", required=True),
        Argument("to", ArgumentKind.TEXTS),
        Argument("sender_name"),
    ),
    run_check,
    is_read_only=True,
)


# `brenner_explain`: what a code means, why it exists, how to fix it


def run_explain(call: Call) -> ToolResult:
    """Explain a code. All words are our own."""
    written = call.text("code")
    found = find_code(written)
    if found is None:
        near = closest_code(written)
        unknown = UNKNOWN_CODE.at(code=written, suggestion=did_you_mean(near))
        fix = f"Pass the `id` of a violation, for example `MB-004`.{did_you_mean(near)}"
        raise RequestError(unknown._replace(fix=fix))
    return ToolResult(code_json(found), _text(found))


def code_json(code: Code) -> dict[str, object]:
    """Return the catalogue entry. Parameters are shown as <name>."""
    return {
        "id": code.id,
        "severity": code.severity.value,
        "title": code.title,
        "message": template_text(code.message),
        "fix": _fix(code),
        "why": code.why,
        "spec": code.spec,
        "also": list(code.also),
        "example": {"wrong": code.example.wrong, "right": code.example.right},
    }


def _fix(code: Code) -> str:
    """Return the fix. Braces in resource addresses are not parameters and stay."""
    fix = fix_for_tools(code, code.fix)
    return template_text(fix) if fix == code.fix else fix.replace(code.fix, template_text(code.fix))


def _text(code: Code) -> str:
    parts = (
        f"{code.id} ({code.severity.value}): {code.title}.",
        f"Message: {template_text(code.message)}",
        f"Fix: {_fix(code)}",
        f"Why: {code.why}",
        f"Wrong:\n{code.example.wrong}",
        f"Right:\n{code.example.right}",
    )
    return "\n".join(parts)


EXPLAIN_TOOL_TOOL = Tool(
    "brenner_explain",
    "Explain the code of a violation: what it means, why, and how to fix it, with an example.",
    (Argument("code", required=True),),
    run_explain,
    is_read_only=True,
)


# The next steps in `brenner_task`, in our own words only


_KICKOFF = "Read the kickoff, message {0}: `resource://message/{0}`."
_SAID = " Its context, excerpt and constraints are also here, under `kickoff_says`."
_READ = "Read the artifact: `brenner_artifact`."
_POST = "Contribute with `brenner_post`."
_TURNS = {
    Turn.OWES_DELTA: _POST,
    Turn.OWES_ACK: _POST,
    Turn.TO_CORRECT: "Correct your rejected deltas, each as its fix says, with `brenner_post`.",
    Turn.CONTRIBUTED: "You have contributed in this round. The next version comes by mail.",
    Turn.PASSED: "You have passed in this round. The next version comes by mail.",
    Turn.NOT_ASKED: "You are not asked to contribute now. You can still use `brenner_post`.",
}
_TURN_WORDS = {
    Turn.OWES_DELTA: "contribution due",
    Turn.OWES_ACK: "ACK and contribution due",
    Turn.TO_CORRECT: "correction due",
    Turn.CONTRIBUTED: "contributed",
    Turn.PASSED: "passed",
    Turn.NOT_ASKED: "nothing due",
}


def next_steps(task: AgentTask) -> Iterator[str]:
    """Yield what to do, most urgent first."""
    status, me = task.status, task.me
    turn = me.turn if me else Turn.NOT_ASKED
    if status.phase is Phase.CANCELLED:
        yield "The operator cancelled the session: you have nothing to do."
        return
    if status.phase is Phase.COMPLETE:
        yield "The session is complete: no contribution is needed."
    for each in task.acks:
        number = each.last_message_id
        if each.type == KICKOFF.name:
            is_shown = (
                task.kickoff is not None and task.kickoff.id == number and turn in AWAITED_TURNS
            )
            yield _KICKOFF.format(number) + (_SAID if is_shown else "")
        yield f"Acknowledge message {number}: `acknowledge_message`."
    if task.refusals and turn is not Turn.TO_CORRECT:
        yield _TURNS[Turn.TO_CORRECT]
    yield from _answers_due(task)
    for letter in task.letters:
        yield f"Answer message {letter.message_id} ({letter.type}): `reply_message`."
    if status.phase is Phase.COMPLETE:
        return
    if status.version and turn in (Turn.OWES_ACK, Turn.OWES_DELTA):
        yield _READ
    yield _TURNS[turn]
    if any(own_items for _, _, own_items, _ in task.critiques):
        yield "Answer the critiques of your items with an EDIT or a KILL."


def _answers_due(task: AgentTask) -> Iterator[str]:
    """Yield what results and false assumptions ask of the agent (R28)."""
    for each in task.unanswered:
        yield f"{each.request}: `brenner_post` (message {each.message_id} asks)."


def next_steps_of_all(waiting: tuple[WaitingSession, ...]) -> list[str]:
    """Return what to do if several sessions wait, or none."""
    if not waiting:
        return ["No session waits for you. `fetch_inbox` shows your messages."]
    first = waiting[0][0].thread_id
    return [f'Begin with the first: `brenner_task(thread_id="{first}")`.']


# The kickoff in `brenner_task`, shortened, as foreign text


def _shortened(text: str) -> str:
    if len(text) <= _MOST:
        return text
    return f"{text[:_MOST]}…\n(cut: {len(text)} characters in all)"


_SECTIONS = ("Current State", "Context", "Excerpt", "Initial Hypotheses", "Constraints")
_MOST = 4_000  # characters


def kickoff_excerpt(mailbox: Mailbox, task: AgentTask) -> ForeignText | None:
    """Return the kickoff's sections that appear nowhere else, while the agent has something to
    do.
    """
    kickoff = task.kickoff
    if kickoff is None or task.me is None or task.me.turn not in AWAITED_TURNS:
        return None
    body = kickoff.message.body
    there, lines = parse_sections(parse_blocks(body)), body.split("\n")
    found = [find_section(there, name) for name in _SECTIONS]
    texts = ["\n".join(lines[each.line - 1 : each.contents[-1].end]) for each in found if each]
    said = _shortened("\n\n".join(texts))
    author = author_of(mailbox, kickoff.message.sender, kickoff.id)
    return ForeignText(said, (author,)) if said else None


# `brenner_task`: what the caller has to do, in one session or in all of them
#
# Only threads with a valid ID are sessions: other mail may have any text as its thread.


_OPERATION = lazy_pattern("|".join(("", *Operation)))
_TASK_TOOL_MOST = 20  # of each kind; `counts` has the total
_DECIMALS = 3  # of bits


def run_task(call: Call) -> ToolResult:
    """Return the task in the named thread, or in the only one that waits for the caller."""
    workspace, agent = call.workspace, agent_of(call)
    unread = unread_count(workspace.mailbox, agent)
    thread_id = call.text("thread_id").strip()
    waiting: tuple[WaitingSession, ...] = ()
    if not thread_id:
        waiting = sessions_waiting_for(workspace, agent)
        if len(waiting) != 1:
            return _all(agent, unread, waiting)
        thread_id = waiting[0][0].thread_id
    task = load_task(workspace, agent, thread_id)
    value = {"agent": agent, "unread_mail": unread, **_task_json(workspace, task)}
    value["hints"] = hints = _left_out_rows(value)
    return framed_result(value, (*_task_lines(value, task), *hints))


# The lists of a task, and where the agent finds the rows that a result has no room for
_ROWS = {
    "owed_acks": "`fetch_inbox` lists all messages to you.",
    "refused": "Correct these first, then call `brenner_task` again.",
    "unanswered": "Answer these first, then call `brenner_task` again.",
    "waiting_for_you": "Answer these first, then call `brenner_task` again.",
    "critiques": "`brenner_artifact` with `section`: adversarial_critique shows all.",
    "critique_messages": "`search_messages` with type:CRITIQUE shows all.",
}


def _left_out_rows(value: dict[str, object]) -> list[str]:
    """Remove the rows that do not fit into what programs of agents show. Return what is left out.

    Each list has at least its first row.
    """
    counts, hints = value["counts"], []
    rows: dict[str, list[object]] = {name: cast("list[object]", value[name]) for name in _ROWS}
    left = MOST_SHOWN_BYTES - _size({key: each for key, each in value.items() if key not in _ROWS})
    for name, listed in rows.items():
        sizes = accumulate(map(_size, listed))
        kept = max(sum(size <= left for size in sizes), 1)
        value[name] = shown = listed[:kept]
        left -= sum(map(_size, shown))
        total = counts[name] if isinstance(counts, dict) else len(listed)
        if len(shown) < total:
            words = name.replace("_", " ")
            hints.append(f"{len(shown)} of {total} {words} are shown. {_ROWS[name]}")
    return hints


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


# All sessions


def _all(agent: str, unread: int | None, waiting: tuple[WaitingSession, ...]) -> ToolResult:
    following = next_steps_of_all(waiting)
    value = {
        "agent": agent,
        "unread_mail": unread,
        "waiting": [_waiting_json(*each) for each in waiting[:_TASK_TOOL_MOST]],
        "waiting_count": len(waiting),
        "next": following,
    }
    lines: list[str | ForeignText] = [f"{agent}: {len(waiting)} sessions wait for you."]
    for overview, turn, acks in waiting[:_TASK_TOOL_MOST]:
        lines.append(f"- {overview.thread_id}: {_waiting_words(turn, acks)}")
        lines.append(ForeignText(_shortened(overview.question)))
    return framed_result(value, [*lines, *following])


def _waiting_words(turn: Turn | None, acks: tuple[int, ...]) -> str:
    if turn:
        return _TURN_WORDS[turn]
    return "ACKs due" if acks else "an answer due"


def _waiting_json(
    overview: Overview, turn: Turn | None, acks: tuple[int, ...]
) -> dict[str, object]:
    return {
        "thread_id": overview.thread_id,
        "turn": turn.value if turn else None,
        "owed_acks": list(acks),
        "round": overview.round,
        "phase": overview.phase.value if overview.phase else None,
        "version": overview.version,
        "question": ForeignText(_shortened(overview.question)),
    }


# One session


def _task_json(workspace: Workspace, task: AgentTask) -> dict[str, object]:
    status, me, mailbox = task.status, task.me, workspace.mailbox
    is_new = me is not None and me.turn in AWAITED_TURNS and not me.total
    return {
        "thread_id": status.thread_id,
        "question": _question(mailbox, task),
        "round": status.round,
        "phase": status.phase.value if status.phase else None,
        "version": status.version.number if status.version else None,
        "role": _role(task),
        "turn": me.turn.value if me else None,
        "cancelled": _cancelled_json(mailbox, status.cancelled),
        "kickoff": me.kickoff if me else None,
        "kickoff_says": kickoff_excerpt(mailbox, task),
        "your_items": [plain_or_foreign(each, ITEM_ID) for each in task.own[:_TASK_TOOL_MOST]],
        "owed_acks": [_ack_json(workspace, each) for each in task.acks[:_TASK_TOOL_MOST]],
        "refused": [_refusal_json(each) for each in task.refusals[:_TASK_TOOL_MOST]],
        "unanswered": [each.to_json() for each in task.unanswered[:_TASK_TOOL_MOST]],
        "waiting_for_you": [
            _message_json(mailbox, each) for each in task.letters[:_TASK_TOOL_MOST]
        ],
        "critiques": [_critique_json(mailbox, each) for each in task.critiques[:_TASK_TOOL_MOST]],
        "critique_messages": [
            _message_json(mailbox, each) for each in task.attacks[:_TASK_TOOL_MOST]
        ],
        "counts": {
            "owed_acks": len(task.acks),
            "refused": len(task.refusals),
            "unanswered": len(task.unanswered),
            "waiting_for_you": len(task.letters),
            "critiques": len(task.critiques),
            "critique_messages": len(task.attacks),
        },
        "next_test": _next_test_json(task.next_tests) if task.next_tests else None,
        "outputs": _outputs(task),
        "how_to_think": task.prompt.role if task.prompt and is_new else None,
        "next": list(next_steps(task)),
    }


def _outputs(task: AgentTask) -> str | None:
    """Return what the role is asked for; what a version lacks is in its kickoff."""
    if task.prompt is None:
        return None
    return task.prompt.later_outputs if task.status.version else task.prompt.outputs


def _question(mailbox: Mailbox, task: AgentTask) -> ForeignText:
    source = task.asked
    authors = (author_of(mailbox, source.agent, source.message_id),) if source else ()
    return ForeignText(_shortened(task.status.question), authors)


def _cancelled_json(mailbox: Mailbox, found: Cancellation | None) -> dict[str, object] | None:
    if found is None:
        return None
    authors = (author_of(mailbox, found.by, found.message_id),)
    reason = ForeignText(found.reason, authors)
    return {"message_id": found.message_id, "at": iso(found.at), "reason": reason}


def _role(task: AgentTask) -> str | ForeignText | None:
    """Return the agent's role. A roster may contain any word."""
    role = task.me.role if task.me else None
    return role if role is None or role in PROMPTS else ForeignText(role)


def _ack_json(workspace: Workspace, each: OpenAck) -> dict[str, object]:
    author = author_of(workspace.mailbox, each.sender, each.last_message_id)
    due = each.due(workspace.project.ack_deadline)
    return {
        "message_id": each.last_message_id,
        "type": each.type,
        "subject": ForeignText(each.subject, (author,)),
        "overdue": due < datetime.now(UTC),
    }


def _message_json(mailbox: Mailbox, each: OpenMessage) -> dict[str, object]:
    authors = (author_of(mailbox, each.sender, each.message_id),)
    return {
        "message_id": each.message_id,
        "type": each.type,
        "subject": ForeignText(each.subject, authors),
        "about": ForeignText(each.about, authors),
        "rank": each.rank or None,
    }


def _critique_json(mailbox: Mailbox, task_critique: TaskCritique) -> dict[str, object]:
    critique, attack, own_items, source = task_critique
    authors = (author_of(mailbox, source.agent, source.message_id),) if source else ()
    said = f"{critique.name}\n{_shortened(attack)}\nStatus: {critique.status}"
    return {
        "item": plain_or_foreign(critique.item, ITEM_ID),
        "critique": ForeignText(said, authors),
        "of_your_items": list(own_items),
    }


def _next_test_json(found: NextTests) -> dict[str, object]:
    """Return the best next test (R32), and the pairs of hypotheses that no test separates."""
    best = found.best
    return {
        "max_bits": round(found.max_bits, _DECIMALS),
        "best": best
        and {
            "id": plain_or_foreign(best.item.id, ITEM_ID),
            "name": ForeignText(_shortened(best.item.title)),
            "bits": round(best.bits or 0, _DECIMALS),
            "basis": best.basis,
        },
        "unseparated": _pairs_json(found.unseparated()),
        "worded_differently": _pairs_json(found.only_worded_differently()),
    }


def _pairs_json(pairs: Iterator[Pair]) -> list[list[str | ForeignText]]:
    shown = islice(pairs, _TASK_TOOL_MOST)
    return [[plain_or_foreign(each, ITEM_ID) for each in pair] for pair in shown]


def _refusal_json(each: RefusedBlock) -> dict[str, object]:
    return {
        "message_id": each.message_id,
        "block": each.block,
        "operation": plain_or_foreign(each.operation or "", _OPERATION),
        "target_id": plain_or_foreign(each.target_id or "", ITEM_ID) if each.target_id else None,
        "name": ForeignText(each.name) if each.name else None,
        "violations": [thread_violation_json(found) for found in each.diagnostics],
    }


# As text


def _task_lines(value: dict[str, object], task: AgentTask) -> Iterator[str | ForeignText]:
    status = task.status
    phase = PHASE_LABELS[status.phase]
    version = f"v{status.version.number}" if status.version else "no version yet"
    yield f"{value['agent']} in {status.thread_id}: round {status.round}, {phase}, {version}."
    me = task.me.turn if task.me else Turn.NOT_ASKED
    role, turn = value["role"], f"Your turn: {_TURN_WORDS[me]}."
    if isinstance(role, ForeignText):
        yield f"{turn} Role:"
        yield role
    else:
        yield f"Role: {role or 'none'}. {turn}"
    question = value["question"]
    if isinstance(question, ForeignText) and question.text:
        yield "The question:"
        yield question
    said = value["kickoff_says"]
    if isinstance(said, ForeignText):
        whole = f"`resource://message/{value['kickoff']}`"
        yield f"From the kickoff (`kickoff_says`; the whole kickoff: {whole}):"
        yield said
    yield "What to do next:"
    yield from (f"{number}. {each}" for number, each in enumerate(next_steps(task), 1))
    yield from _listed("Your rejected deltas", value["refused"])
    yield from _listed("Messages that wait for your answer", value["waiting_for_you"])
    yield from _listed("Open critiques, those of your items first", value["critiques"])
    yield from _listed("Open CRITIQUE messages to others", value["critique_messages"])
    if task.next_tests:
        yield from _next_test_lines(task.next_tests)
    for name, title in (("outputs", "Expected from your role"), ("how_to_think", "How to think")):
        if value[name]:
            yield f"{title}:\n{value[name]}"
    if value["unread_mail"]:
        yield f"Unread messages: {value['unread_mail']} (`fetch_inbox`)."


def _next_test_lines(found: NextTests) -> Iterator[str | ForeignText]:
    """Yield the best next test and the pairs that no test separates, each in its own line."""
    best = found.best
    if best:
        basis = "declared outcomes" if best.basis == DECLARED else "wording"
        bits = f"{best.bits:.3f} of at most {found.max_bits:.3f} bits"
        yield f"Best next test: {bits}, by {basis}. Its ID and name:"
        yield ForeignText(_shortened(f"{best.item.id} {best.item.title}"))
    for words, pairs in (
        ("No test separates", found.not_distinguished()),
        ("Except by wording, no test separates", found.only_worded_differently()),
    ):
        shown = list(islice(pairs, _TASK_TOOL_MOST))
        if all(ITEM_ID.fullmatch(each) for pair in shown for each in pair):
            yield from (f"{words} {pairs_text(shown)}.",) * bool(shown)
        else:
            yield f"{words}:"
            yield ForeignText(_shortened(pairs_text(shown)))


def _listed(title: str, rows: object) -> Iterator[str | ForeignText]:
    if isinstance(rows, list) and rows:
        yield f"{title}:"
        for row in rows:
            yield from _row(row)


def _row(row: dict[str, object]) -> Iterator[str | ForeignText]:
    """Yield one row: our own words in one line, text of other agents after it."""
    plain = {
        key: value
        for key, value in row.items()
        if value and not isinstance(value, ForeignText) and key != "violations"
    }
    said = (f"{key.replace('_', ' ')} {_value_text(value)}" for key, value in plain.items())
    yield "- " + ", ".join(said)
    yield from (value for value in row.values() if isinstance(value, ForeignText) and value.text)
    violations = row.get("violations")
    for found in violations if isinstance(violations, list) else ():
        yield f"  {found['severity']} {found['id']}: {found['message']} Fix: {found['fix']}"
        whole = (found.get("message_in_full"), found.get("fix_in_full"))
        yield from (text for text in whole if text)


def _value_text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


TASK_TOOL_TOOL = Tool(
    "brenner_task",
    "Show what you have to do: your role, the round, owed ACKs, rejected deltas, open critiques, "
    "and what to call next. Without thread_id: all sessions that wait for you.",
    (Argument("thread_id"), AGENT),
    run_task,
    is_read_only=True,
)


def _framed_tool(tool: Tool) -> Tool:
    """Return the tool with its refusals framed where they may quote other agents."""

    def guarded(call: Call) -> ToolResult:
        try:
            return tool.run(call)
        except RequestError as refused:
            found = refused.diagnostic
            if is_own(found) and not refused.details:
                raise
            lines = (*violation_lines([found]), *map(ForeignText, refused.details))
            return framed_result(refusal_json([found]), lines, is_error=True)

    return tool._replace(run=guarded)


TOOLS: tuple[Tool, ...] = (
    *map(_framed_tool, (TASK_TOOL_TOOL, artifact_tool.TOOL, post_tool.TOOL, CHECK_TOOL_TOOL)),
    EXPLAIN_TOOL_TOOL,
)
