"""`brenner_task`: what the caller has to do, in one session or in all of them.

Only threads with a valid ID are sessions: other mail may stand under any text.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from brenner.mail.mailbox import Mailbox
from brenner.mcp.artifact_tool import author_of
from brenner.mcp.framing import Foreign, answered, word
from brenner.mcp.task_advice import advice, advice_for_all
from brenner.mcp.task_kickoff import kickoff_says
from brenner.mcp.tool import Answer, Argument, Call, Tool
from brenner.mcp.violations import thread_json
from brenner.mcp.who import AGENT, agent_of
from brenner.protocol.delta.schema import Operation
from brenner.protocol.grammar import ITEM_ID
from brenner.services.agent_task import Critique, Task, Waiting, task_in, unread_of, waiting_for
from brenner.services.workspace import Desk
from brenner.session.kickoff import PROMPTS
from brenner.session.model import AWAITED, OpenAck, OpenMessage, Refusal

_OPERATION = re.compile("|".join(("", *Operation)))
_MOST = 20  # of each kind; how many there are is always said


def run(call: Call) -> Answer:
    """The task in the thread that was named, or in the only one that waits for the caller."""
    desk, agent = call.desk, agent_of(call)
    unread = unread_of(desk.mailbox, agent)
    thread_id = call.text("thread_id").strip()
    waiting: tuple[Waiting, ...] = ()
    if not thread_id:
        waiting = waiting_for(desk, agent)
        if len(waiting) != 1:
            return _all(agent, unread, waiting)
        thread_id = waiting[0].overview.thread_id
    task = task_in(desk, agent, thread_id)
    value = {"agent": agent, "unread_mail": unread, **_task_json(desk, task)}
    return answered(value, _lines(value, task))


# All sessions


def _all(agent: str, unread: int | None, waiting: tuple[Waiting, ...]) -> Answer:
    following = advice_for_all(waiting)
    value = {
        "agent": agent,
        "unread_mail": unread,
        "waiting": [_waiting_json(each) for each in waiting[:_MOST]],
        "waiting_count": len(waiting),
        "next": following,
    }
    lines: list[str | Foreign] = [f"{agent}: {len(waiting)} sessions wait for you."]
    for each in waiting[:_MOST]:
        turn = each.turn.value if each.turn else "owes ACKs"
        lines.append(f"- {each.overview.thread_id}: {turn}")
        lines.append(Foreign(each.overview.question))
    return answered(value, [*lines, *following])


def _waiting_json(each: Waiting) -> dict[str, object]:
    overview = each.overview
    return {
        "thread_id": overview.thread_id,
        "turn": each.turn.value if each.turn else None,
        "owed_acks": list(each.acks),
        "round": overview.round,
        "phase": overview.phase.value if overview.phase else None,
        "version": overview.version,
        "question": Foreign(overview.question),
    }


# One session


def _task_json(desk: Desk, task: Task) -> dict[str, object]:
    status, me, mailbox = task.status, task.me, desk.mailbox
    is_new = me is not None and me.turn in AWAITED and not me.total
    return {
        "thread_id": status.thread_id,
        "question": _question(mailbox, task),
        "round": status.round,
        "phase": status.phase.value if status.phase else None,
        "version": status.version.number if status.version else None,
        "role": _role(task),
        "turn": me.turn.value if me else None,
        "kickoff": me.kickoff if me else None,
        "kickoff_says": kickoff_says(mailbox, task),
        "your_items": [word(each, ITEM_ID) for each in task.own[:_MOST]],
        "owed_acks": [_ack_json(desk, each) for each in task.acks[:_MOST]],
        "refused": [_refusal_json(each) for each in task.refusals[:_MOST]],
        "waiting_for_you": [_letter_json(mailbox, each) for each in task.letters[:_MOST]],
        "critiques": [_critique_json(mailbox, each) for each in task.critiques[:_MOST]],
        "critique_messages": [_letter_json(mailbox, each) for each in task.attacks[:_MOST]],
        "counts": {
            "owed_acks": len(task.acks),
            "refused": len(task.refusals),
            "waiting_for_you": len(task.letters),
            "critiques": len(task.critiques),
            "critique_messages": len(task.attacks),
        },
        "outputs": task.prompt.outputs if task.prompt else None,
        "how_to_think": task.prompt.role if task.prompt and is_new else None,
        "next": list(advice(task)),
    }


def _question(mailbox: Mailbox, task: Task) -> Foreign:
    source = task.asked
    authors = (author_of(mailbox, source.agent, source.message_id),) if source else ()
    return Foreign(task.status.question, authors)


def _role(task: Task) -> str | Foreign | None:
    """Her role; a roster may hold any word."""
    role = task.me.role if task.me else None
    return role if role is None or role in PROMPTS else Foreign(role)


def _ack_json(desk: Desk, each: OpenAck) -> dict[str, object]:
    author = author_of(desk.mailbox, each.sender, each.last_message_id)
    due = each.due(desk.project.ack_deadline)
    return {
        "message_id": each.last_message_id,
        "type": each.type,
        "subject": Foreign(each.subject, (author,)),
        "overdue": due < datetime.now(UTC),
    }


def _letter_json(mailbox: Mailbox, each: OpenMessage) -> dict[str, object]:
    authors = (author_of(mailbox, each.sender, each.message_id),)
    return {
        "message_id": each.message_id,
        "type": each.type,
        "subject": Foreign(each.subject, authors),
        "about": Foreign(each.about, authors),
        "rank": each.rank or None,
    }


def _critique_json(mailbox: Mailbox, each: Critique) -> dict[str, object]:
    source = each.source
    authors = (author_of(mailbox, source.agent, source.message_id),) if source else ()
    said = f"{each.item.name}\n{each.attack}\nStatus: {each.item.status}"
    return {
        "item": word(each.item.item, ITEM_ID),
        "critique": Foreign(said, authors),
        "of_your_items": list(each.of),
    }


def _refusal_json(each: Refusal) -> dict[str, object]:
    return {
        "message_id": each.message_id,
        "block": each.block,
        "operation": word(each.operation or "", _OPERATION),
        "target_id": word(each.target_id or "", ITEM_ID) if each.target_id else None,
        "name": Foreign(each.name) if each.name else None,
        "violations": [thread_json(found) for found in each.diagnostics],
    }


# In words


def _lines(value: dict[str, object], task: Task) -> Iterator[str | Foreign]:
    status = task.status
    phase = status.phase.value if status.phase else "a conversation"
    version = f"v{status.version.number}" if status.version else "no version yet"
    yield f"{value['agent']} in {status.thread_id}: round {status.round}, {phase}, {version}."
    role, turn = value["role"], f"Turn: {value['turn'] or 'not asked'}."
    if isinstance(role, Foreign):
        yield f"{turn} Role:"
        yield role
    else:
        yield f"Role: {role or 'none'}. {turn}"
    question = value["question"]
    if isinstance(question, Foreign) and question.text:
        yield "The question:"
        yield question
    said = value["kickoff_says"]
    if isinstance(said, Foreign):
        yield f"What the kickoff says (`resource://message/{value['kickoff']}`):"
        yield said
    yield "What to do next:"
    yield from (f"{number}. {each}" for number, each in enumerate(advice(task), 1))
    yield from _listed("Refused deltas of yours", value["refused"])
    yield from _listed("Waiting for you", value["waiting_for_you"])
    yield from _listed("Open critiques, those of your items first", value["critiques"])
    yield from _listed("Open CRITIQUE messages to others", value["critique_messages"])
    for name, title in (("outputs", "Asked of your role"), ("how_to_think", "How to think")):
        if value[name]:
            yield f"{title}:\n{value[name]}"
    if value["unread_mail"]:
        yield f"Unread mail: {value['unread_mail']} (`fetch_inbox`)."


def _listed(title: str, rows: object) -> Iterator[str | Foreign]:
    if isinstance(rows, list) and rows:
        yield f"{title}:"
        for row in rows:
            yield from _row(row)


def _row(row: dict[str, object]) -> Iterator[str | Foreign]:
    """One row: what is ours in one line, what others wrote behind it."""
    plain = {
        key: value
        for key, value in row.items()
        if value and not isinstance(value, Foreign) and key != "violations"
    }
    said = (f"{key} {_said(value)}" for key, value in plain.items())
    yield "- " + ", ".join(said)
    yield from (value for value in row.values() if isinstance(value, Foreign) and value.text)
    violations = row.get("violations")
    for found in violations if isinstance(violations, list) else ():
        yield f"  {found['severity']} {found['id']}: {found['message']} Fix: {found['fix']}"
        whole = (found.get("message_in_full"), found.get("fix_in_full"))
        yield from (text for text in whole if text)


def _said(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


TOOL = Tool(
    "brenner_task",
    "What you have to do: your role, the round, what you owe, refused deltas, open critiques, and "
    "what to call next. Without thread_id: every session that waits for you.",
    (Argument("thread_id"), AGENT),
    run,
    is_read_only=True,
)
