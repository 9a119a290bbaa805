"""Brenner's own tools, in the order in which an agent needs them."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from brenner.artifact.model import Item
from brenner.artifact.state import Blame, Source
from brenner.diagnostics.catalogue import find_code, nearest_code
from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.codes.messages import MESSAGE_TOO_LARGE, UNKNOWN_CODE
from brenner.diagnostics.model import Code, Diagnostic, RequestError, Summary, worst_first
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Envelope, Trust, type_of
from brenner.markdown.blocks import blocks
from brenner.mcp import tools_post as post_tool
from brenner.mcp.agent_mail_format import AGENT, TOKEN, Reader, agent_of, note_fetched, reader_of
from brenner.mcp.errors import (
    in_words_of_tools,
    is_own,
    refusal,
    thread_json,
    told_json,
    told_lines,
)
from brenner.mcp.framing import Author, Foreign, answered, word
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool
from brenner.protocol.body import find_section, sections
from brenner.protocol.delta.schema import Operation
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import Message, iso
from brenner.protocol.validate import Report, check_composed, deltas_json
from brenner.services import agent_task as parts
from brenner.services.agent_task import Critique, Task, Waiting, task_in, unread_of, waiting_for
from brenner.services.receive import (
    Examined,
    IncomingMessage,
    examine,
    has_session_mail,
    leading_type,
)
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.services.workspace import Workspace
from brenner.session.kickoff import PROMPTS
from brenner.session.model import AWAITED, OpenAck, OpenMessage, Phase, Refusal, Turn
from brenner.text import did_you_mean, template_text

# `brenner_artifact`: the latest version, whole or in part, and what changed since another one.


MARKDOWN, JSON = "markdown", "json"
_LARGE = 40_000  # characters; beyond that it is said how to ask for less


def run(call: Call) -> Answer:
    """Show it, and note which version the caller has seen: her next contribution builds on it."""
    thread_id, reader = call.text("thread_id").strip(), reader_of(call)
    try:
        loaded = load_version(call.workspace, Target(thread_id), with_state=True)
    except RequestError as refused:
        if refused.diagnostic.code is not NO_VERSION_YET:
            raise
        return _none_yet(call.workspace.mailbox, thread_id)
    part = parts.part_of(loaded.artifact, thread_id, call.text("section"), call.text("item"))
    since = call.number("since")
    shown = _whole(call, loaded, part) if since is None else _since(call, loaded, part, since)
    number = loaded.number or 0
    if reader:
        note_fetched(call, reader, thread_id, number)
    is_base = reader is not None and (reader.is_proven or call.caller.connection is not None)
    base = {"base_of_your_next_post": number if is_base else None}
    value = {**_head(loaded, part), **base, **shown}
    return answered(value, (*_lines(value), _base(number, reader, call.caller.connection)))


def _base(number: int, reader: Reader | None, connection: str | None) -> str:
    """What the next contribution states as its base, if `base` is left out."""
    explicit = f"or give `base: {number}` there"
    if reader is None:
        return f"To build on it with `brenner_post`, name yourself here as `agent`, {explicit}."
    if reader.is_proven or connection is not None:
        where = "" if reader.is_proven else " over this connection"
        return f"The next `brenner_post` of {reader.agent}{where} states v{number} as its base."
    return (
        f"You have not shown the secret of {reader.agent}: only what is posted without it states "
        f"v{number} as its base. To post with it, pass `sender_token` here, too, {explicit}."
    )


def _none_yet(mailbox: Mailbox, thread_id: str) -> Answer:
    is_session = has_session_mail(mailbox, thread_id)
    said = (
        f"{thread_id} has no version yet: the operator compiles one once deltas are in. Read the "
        "kickoff in your inbox, and contribute with `brenner_post`."
        if is_session
        else f"{thread_id} is no session: nobody has sent a kickoff or a delta there. "
        "`brenner_task` without thread_id lists the sessions that wait for you."
    )
    return answered({"thread_id": thread_id, "version": None, "next": said}, [said])


def _head(loaded: LoadedVersion, part: parts.Part) -> dict[str, object]:
    message = loaded.message
    return {
        "thread_id": loaded.thread_id,
        "version": loaded.number,
        "message_id": message.id if message else None,
        "published": iso(message.at) if message else None,
        "section": part.section.id if part.section else None,
        "item": word(part.item_id, ITEM_ID) if part.item_id else None,
        "notes": [{"id": each.id, "message": Foreign(each.message)} for each in loaded.notes],
    }


def _whole(call: Call, loaded: LoadedVersion, part: parts.Part) -> dict[str, object]:
    is_json = call.text("format") == JSON
    text = parts.as_json(loaded, part) if is_json else parts.as_markdown(loaded, part)
    blame = loaded.state.blame if loaded.state else {}
    sources = _sources(parts.items_in(loaded.artifact, part), blame)
    authors = authors_of(call.workspace.mailbox, sources)
    return {"characters": len(text), "artifact": Foreign(text, authors)}


def _since(call: Call, loaded: LoadedVersion, part: parts.Part, number: int) -> dict[str, object]:
    old = parts.earlier(call.workspace, loaded.thread_id, number)
    found = parts.changes_since(old, loaded, part)
    changed = parts.who_changed(found, loaded.state.blame if loaded.state else {})
    is_json = call.text("format") == JSON
    text = (
        parts.changes_json(found, old, loaded.artifact)
        if is_json
        else parts.changes_markdown(changed)
    )
    sources = [each.source for item in changed for _, each in item.by if each]
    authors = authors_of(call.workspace.mailbox, sources)
    return {
        "since": number,
        "changed_items": len(found.items),
        "characters": len(text),
        "changes": Foreign(text, authors) if found.items else None,
    }


def _sources(items: Iterable[Item], blame: Blame) -> Iterator[Source]:
    for item in items:
        for change in blame.get(item.id, {}).values():
            yield change.source


def authors_of(mailbox: Mailbox, sources: Iterable[Source]) -> tuple[Author, ...]:
    """Who wrote what is shown, and how far that is believed of each of the messages."""
    messages = dict.fromkeys((each.agent, each.message_id) for each in sources)
    found: dict[Author, None] = {}
    for agent, message_id in messages:
        found[author_of(mailbox, agent, message_id)] = None
    return tuple(found)


def author_of(mailbox: Mailbox, agent: str, message_id: int) -> Author:
    """The author of a message, as far as the store has it."""
    try:
        return Author(agent, mailbox.message(message_id).envelope.trust)
    except RequestError:
        return Author(agent)


def _lines(value: dict[str, object]) -> Iterator[str | Foreign]:
    since = value.get("since")
    changed = (
        f", {value['changed_items']} items changed since v{since}" if since is not None else ""
    )
    size = value["characters"]
    yield f"{value['thread_id']} v{value['version']}{changed} ({size} characters)"
    if isinstance(size, int) and size > _LARGE:
        yield "That is much: `section` or `item` narrows it, `since` shows what is new."
    shown = value.get("artifact") or value.get("changes")
    if isinstance(shown, Foreign):
        yield shown
    notes = value["notes"]
    for note in notes if isinstance(notes, list) else ():
        yield f"{note['id']}:"
        yield note["message"]


TOOL = Tool(
    "brenner_artifact",
    "The latest version of a thread's artifact, whole or only a section or item; with `since`, "
    "what changed after that version and who changed it.",
    (
        Argument("thread_id", required=True),
        Argument("section"),
        Argument("item", about="e.g. H2"),
        Argument("since", Kind.VERSION),
        Argument("format", default=MARKDOWN, choices=(MARKDOWN, JSON)),
        AGENT,
        TOKEN,
    ),
    run,
    is_read_only=True,
)


# `brenner_check`: what would become of a message, before it is sent.


_SEND = "It can be sent: `send_message` with these arguments."
_CORRECTED = (
    "It would be refused; `corrected` would not: read it, then send it with `send_message`."
)
_BY_AUTHOR = "It would be refused, and an error needs you: mend what the violations name."
_CONTRIBUTES = " `corrected` is the same as a contribution."
_LEADS = " It leads a session: show your secret as `sender_token`, or it is refused."
# What is said of somebody who stands in for who was not named
_OF_A_STAND_IN = {"sender_name": codes.UNKNOWN_SENDER, "to": codes.UNKNOWN_RECIPIENT}


class _Draft(NamedTuple):
    """A message to look at; somebody stands in for who was left out."""

    message: Message
    left_out: tuple[str, ...]


def check_tool_run(call: Call) -> Answer:
    """A check that finds errors has done its work: that is no error of the call."""
    draft = _draft(call)
    message = draft.message
    found = examine(call.workspace, _letter(call, message))
    is_read = not any(each.code is MESSAGE_TOO_LARGE for each in found.violations)
    report = check_composed(message)[0] if is_read else Report(None, None, ())
    said = [*_looked_at(draft, found)]
    if not found.may_be_sent and found.corrected:  # what the thread would refuse then
        said += _foreseen(call, found.corrected)
    following = _following(found, draft)
    value = {
        "valid": found.may_be_sent,
        "type": type_of(message),
        "summary": Summary.of(said)._asdict(),
        "violations": [told_json(each, report.violations) for each in said],
        **deltas_json(report.deltas),
        "corrected": _arguments(call, found.corrected) if found.corrected else None,
        "not_looked_at": [*draft.left_out, "sender_token"],
        "next": following,
    }
    lines = (following, *told_lines(said, report.violations), *_corrected_lines(found.corrected))
    return answered(value, lines)


def _draft(call: Call) -> _Draft:
    """The message that would be sent. Who was not named need not be known yet."""
    stand_in = _somebody(call.workspace.mailbox, call.workspace.project.operator)
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
    return _Draft(message, tuple(name for name, is_there in is_given.items() if not is_there))


def _letter(call: Call, message: Message) -> IncomingMessage:
    """The message as from somebody who is believed: whether she shows her secret is seen later.

    Where nobody has one, nobody will.
    """
    is_believed = Capability.SECRETS not in call.workspace.mailbox.lacks
    return IncomingMessage(
        message, Envelope(trust=Trust.VERIFIED if is_believed else Trust.UNVERIFIED)
    )


def _somebody(mailbox: Mailbox, operator: str) -> str:
    known = [each.name for each in mailbox.agents()]
    return operator if operator in known or not known else known[0]


def _looked_at(draft: _Draft, found: Examined) -> Iterator[Diagnostic]:
    """What was found, but for what is wrong with a stand-in."""
    passed_over = {_OF_A_STAND_IN[name] for name in draft.left_out}
    yield from (each for each in found.violations if each.code not in passed_over)


def _foreseen(call: Call, corrected: Message) -> list[Diagnostic]:
    report, _ = check_composed(corrected)
    found = examine(call.workspace, _letter(call, corrected)).violations
    return sorted((each for each in found if each not in report.violations), key=worst_first)


def _following(found: Examined, draft: _Draft) -> str:
    if found.may_be_sent:
        said = _SEND + (_CONTRIBUTES if found.corrected else "")
        said += _LEADS if leading_type(draft.message) else ""
    else:
        said = _CORRECTED if found.corrected else _BY_AUTHOR
    left_out = " and ".join(f"`{name}`" for name in draft.left_out)
    return f"{said} Not looked at, because not given: {left_out}." if left_out else said


def _arguments(call: Call, corrected: Message) -> dict[str, object]:
    """The arguments to call again with, or to send with."""
    to = list(call.texts("to"))
    return {
        "thread_id": corrected.thread_id,
        "subject": corrected.subject,
        "body_md": corrected.body,
        **({"to": to} if to else {}),
    }


def _corrected_lines(corrected: Message | None) -> Iterator[str | Foreign]:
    if corrected:
        yield f"Corrected subject: {corrected.subject}"
        yield f"Corrected body_md:\n{corrected.body}"


CHECK_TOOL_TOOL = Tool(
    "brenner_check",
    "Check a message without sending it: violations with lines of body_md, and the corrected "
    "message where that is certain.",
    (
        Argument("thread_id"),
        Argument("subject", required=True),
        Argument("body_md", required=True),
        Argument("to", Kind.TEXTS),
        Argument("sender_name"),
    ),
    check_tool_run,
    is_read_only=True,
)


# `brenner_explain`: what a code means, why it exists, how to mend it.


def explain_tool_run(call: Call) -> Answer:
    """Explain it; all words are ours."""
    written = call.text("code")
    found = find_code(written)
    if found is None:
        near = nearest_code(written)
        unknown = UNKNOWN_CODE.at(code=written, suggestion=did_you_mean(near))
        fix = f"Give a code as a violation has it under `id`.{did_you_mean(near)}"
        raise RequestError(unknown._replace(fix=fix))
    return Answer(explained(found), _text(found))


def explained(code: Code) -> dict[str, object]:
    """The entry of the catalogue; open places are shown as <name>."""
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
    """How to mend it. Addresses of resources have places of their own, which stay."""
    fix = in_words_of_tools(code, code.fix)
    return template_text(fix) if fix == code.fix else fix.replace(code.fix, template_text(code.fix))


def _text(code: Code) -> str:
    parts = (
        f"{code.id} ({code.severity.value}): {code.title}.",
        f"Says: {template_text(code.message)}",
        f"Fix: {_fix(code)}",
        f"Why: {code.why}",
        f"Wrong:\n{code.example.wrong}",
        f"Right:\n{code.example.right}",
    )
    return "\n".join(parts)


EXPLAIN_TOOL_TOOL = Tool(
    "brenner_explain",
    "What a code of a violation means, why, and how to fix it, with an example.",
    (Argument("code", required=True),),
    explain_tool_run,
    is_read_only=True,
)


# What to call next: the words of `brenner_task` that an agent acts on. All of them are ours.


_KICKOFF = "Read the kickoff, message {0}: `resource://message/{0}`."
_SAID = " Its context, excerpt and constraints stand here, too, under `kickoff_says`."
_READ = "Read the artifact: `brenner_artifact`."
_POST = "Contribute with `brenner_post`."
_TURNS = {
    Turn.OWES_DELTA: _POST,
    Turn.OWES_ACK: _POST,
    Turn.TO_CORRECT: "Correct what was refused, and post it again with `brenner_post`.",
    Turn.CONTRIBUTED: "You have contributed in this round. The next version comes by mail.",
    Turn.PASSED: "You have passed in this round. The next version comes by mail.",
    Turn.NOT_ASKED: "Nobody has asked you in this round; what you post counts all the same.",
}


def advice(task: Task) -> Iterator[str]:
    """Step by step, the most urgent first."""
    status, me = task.status, task.me
    turn = me.turn if me else Turn.NOT_ASKED
    if status.phase is Phase.COMPLETE:
        yield "The session is complete: nothing is asked of you any more."
    for each in task.acks:
        number = each.last_message_id
        if each.type == KICKOFF.name:
            is_shown = task.kickoff is not None and task.kickoff.id == number and turn in AWAITED
            yield _KICKOFF.format(number) + (_SAID if is_shown else "")
        yield f"Acknowledge message {number}: `acknowledge_message`."
    if task.refusals and turn is not Turn.TO_CORRECT:
        yield _TURNS[Turn.TO_CORRECT]
    for letter in task.letters:
        yield f"Answer message {letter.message_id} ({letter.type}): `reply_message`."
    if status.phase is Phase.COMPLETE:
        return
    if status.version and turn in (Turn.OWES_ACK, Turn.OWES_DELTA):
        yield _READ
    yield _TURNS[turn]
    if any(each.of for each in task.critiques):
        yield "Answer the critiques of your items: an EDIT that meets them, or a KILL."


def advice_for_all(waiting: tuple[Waiting, ...]) -> list[str]:
    """What to do where several sessions wait, or none."""
    if not waiting:
        return ["No session waits for you. `fetch_inbox` shows your mail."]
    first = waiting[0].overview.thread_id
    return [f'Begin with the first: `brenner_task(thread_id="{first}")`.']


# What a kickoff says besides the question, for `brenner_task`: in short, and as text of others.


_SECTIONS = ("Current State", "Context", "Excerpt", "Initial Hypotheses", "Constraints")
_MOST = 4_000  # characters


def kickoff_says(mailbox: Mailbox, task: Task) -> Foreign | None:
    """Its sections that stand nowhere else, as long as something is asked of her."""
    kickoff = task.kickoff
    if kickoff is None or task.me is None or task.me.turn not in AWAITED:
        return None
    body = kickoff.message.body
    there, lines = sections(blocks(body)), body.split("\n")
    found = [find_section(there, name) for name in _SECTIONS]
    texts = ["\n".join(lines[each.line - 1 : each.contents[-1].end]) for each in found if each]
    said = "\n\n".join(texts)
    if len(said) > _MOST:
        said = f"{said[:_MOST]}…\n(cut: {len(said)} characters in all)"
    author = author_of(mailbox, kickoff.message.sender, kickoff.id)
    return Foreign(said, (author,)) if said else None


# `brenner_task`: what the caller has to do, in one session or in all of them.
#
# Only threads with a valid ID are sessions: other mail may stand under any text.


_OPERATION = re.compile("|".join(("", *Operation)))
_TASK_TOOL_MOST = 20  # of each kind; how many there are is always said


def task_tool_run(call: Call) -> Answer:
    """The task in the thread that was named, or in the only one that waits for the caller."""
    workspace, agent = call.workspace, agent_of(call)
    unread = unread_of(workspace.mailbox, agent)
    thread_id = call.text("thread_id").strip()
    waiting: tuple[Waiting, ...] = ()
    if not thread_id:
        waiting = waiting_for(workspace, agent)
        if len(waiting) != 1:
            return _all(agent, unread, waiting)
        thread_id = waiting[0].overview.thread_id
    task = task_in(workspace, agent, thread_id)
    value = {"agent": agent, "unread_mail": unread, **_task_json(workspace, task)}
    return answered(value, _task_tool_lines(value, task))


# All sessions


def _all(agent: str, unread: int | None, waiting: tuple[Waiting, ...]) -> Answer:
    following = advice_for_all(waiting)
    value = {
        "agent": agent,
        "unread_mail": unread,
        "waiting": [_waiting_json(each) for each in waiting[:_TASK_TOOL_MOST]],
        "waiting_count": len(waiting),
        "next": following,
    }
    lines: list[str | Foreign] = [f"{agent}: {len(waiting)} sessions wait for you."]
    for each in waiting[:_TASK_TOOL_MOST]:
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


def _task_json(workspace: Workspace, task: Task) -> dict[str, object]:
    status, me, mailbox = task.status, task.me, workspace.mailbox
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
        "your_items": [word(each, ITEM_ID) for each in task.own[:_TASK_TOOL_MOST]],
        "owed_acks": [_ack_json(workspace, each) for each in task.acks[:_TASK_TOOL_MOST]],
        "refused": [_refusal_json(each) for each in task.refusals[:_TASK_TOOL_MOST]],
        "waiting_for_you": [_letter_json(mailbox, each) for each in task.letters[:_TASK_TOOL_MOST]],
        "critiques": [_critique_json(mailbox, each) for each in task.critiques[:_TASK_TOOL_MOST]],
        "critique_messages": [
            _letter_json(mailbox, each) for each in task.attacks[:_TASK_TOOL_MOST]
        ],
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


def _ack_json(workspace: Workspace, each: OpenAck) -> dict[str, object]:
    author = author_of(workspace.mailbox, each.sender, each.last_message_id)
    due = each.due(workspace.project.ack_deadline)
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


def _task_tool_lines(value: dict[str, object], task: Task) -> Iterator[str | Foreign]:
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


TASK_TOOL_TOOL = Tool(
    "brenner_task",
    "What you have to do: your role, the round, what you owe, refused deltas, open critiques, and "
    "what to call next. Without thread_id: every session that waits for you.",
    (Argument("thread_id"), AGENT),
    task_tool_run,
    is_read_only=True,
)


def _guarded(tool: Tool) -> Tool:
    """The tool with its refusals framed where they may quote what others wrote."""
    return tool._replace(run=_framing(tool.run))


def _framing(run: Callable[[Call], Answer]) -> Callable[[Call], Answer]:
    def guarded(call: Call) -> Answer:
        try:
            return run(call)
        except RequestError as refused:
            found = refused.diagnostic
            if is_own(found) and not refused.details:
                raise
            lines = (*told_lines([found]), *map(Foreign, refused.details))
            return answered(refusal([found]), lines, is_error=True)

    return guarded


TOOLS: tuple[Tool, ...] = (
    _guarded(TASK_TOOL_TOOL),
    _guarded(TOOL),
    _guarded(post_tool.TOOL),
    _guarded(CHECK_TOOL_TOOL),
    EXPLAIN_TOOL_TOOL,
)
