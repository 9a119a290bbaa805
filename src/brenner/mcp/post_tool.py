"""`brenner_post`: a contribution with its deltas as structured arguments."""

import json
from collections.abc import Iterator, Sequence

from brenner.artifact.ledger import Entry, Outcome
from brenner.delta.read import read_deltas
from brenner.diagnostics.codes.contributing import NO_DELTAS
from brenner.diagnostics.codes.thread_subject import UNKNOWN_ROLE_SHORTHAND
from brenner.diagnostics.errors import Refused
from brenner.diagnostics.model import WARNING, Diagnostic
from brenner.mail.model import Envelope, Sent, Trust
from brenner.mcp.framing import answered
from brenner.mcp.identity import acting
from brenner.mcp.told import refused
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool
from brenner.mcp.violations import in_delta, own_json, own_lines, thread_json, thread_lines
from brenner.mcp.who import AGENT, TOKEN, agent_of, fetched_as
from brenner.workflows.contribute import Contribution, Prepared, expected, prepare, sent_before
from brenner.workflows.receive import Letter, Receipt, receive

EXAMPLE = (
    '{"operation":"ADD","section":"hypothesis_slate","local_id":"epi","payload":{"name":"…",'
    '"claim":"…","mechanism":"…","anchors":["§1"]},"rationale":"…"}'
)
_YOUR_MODEL = (
    "Register again with your model and program, which tell the shorthand: `register_agent`."
)


def run(call: Call) -> Answer:
    """Post it whole, or refuse it whole."""
    given = call.arguments.get("deltas")
    deltas = tuple(given) if isinstance(given, list) else ()
    if not deltas:
        raise Refused(NO_DELTAS.at(example=EXAMPLE))
    agent = agent_of(call)
    trust = acting(call, agent, call.text(TOKEN.name))
    thread_id = call.text("thread_id").strip()
    base = call.number("base")
    if base is None:
        base = call.caller.fetched.last(fetched_as(agent, trust), thread_id)
    wanted = Contribution(thread_id, agent, deltas, call.text("summary"), call.texts("to"), base)
    prepared = prepare(call.desk, wanted)
    if not prepared.is_ready:
        return _refused(prepared)
    receipt = _receive(call, prepared, trust)
    if receipt.sent is None:
        return _refused(prepared._replace(violations=receipt.violations))
    return _posted(call, prepared, receipt, receipt.sent, base)


def _receive(call: Call, prepared: Prepared, trust: Trust) -> Receipt:
    key = call.text("key") or None
    letter = Letter(prepared.message, Envelope(trust=trust), call.number("reply_to"), key)
    try:
        return receive(call.desk, letter)
    except Refused as refusal:
        before = sent_before(call.desk.mailbox, prepared, refusal) if key else None
        if before is None:
            raise
        return Receipt(Sent(before, is_new=False))


# What is answered


def _told(found: Diagnostic) -> Diagnostic:
    """A violation as who gives arguments can act on it."""
    told = in_delta(found)
    return told._replace(fix=_YOUR_MODEL) if found.code is UNKNOWN_ROLE_SHORTHAND else told


def _refused(prepared: Prepared) -> Answer:
    """Nothing was sent: every violation, and the deltas with all corrections that are certain."""
    answer = refused(map(_told, prepared.violations))
    wrong = list(prepared.wrong)
    told = {
        "corrections": [each._asdict() for each in prepared.corrections],
        "deltas": list(prepared.deltas),
        "still_wrong": wrong,
    }
    value = answer.value if isinstance(answer.value, dict) else {}
    numbers = ", ".join(map(str, wrong))
    rest = f"number {numbers} still has to be mended" if wrong else "see the violations"
    lines = [
        "Nothing was posted.",
        answer.text or "",
        *_corrected_lines(prepared),
        f"The deltas with every correction that is certain ({rest}):",
        json.dumps(told["deltas"], ensure_ascii=False),
    ]
    return Answer({**value, **told}, "\n".join(lines), is_error=True)


def _posted(
    call: Call, prepared: Prepared, receipt: Receipt, sent: Sent, base: int | None
) -> Answer:
    desk, stored = call.desk, sent.stored
    entries = expected(desk.mailbox, stored, desk.project.operator)
    own = [each for each in receipt.violations if each in prepared.violations]
    said = [each for each in receipt.violations if each not in own]
    said += _warnings(entries or ())
    message = stored.message
    owed = [each.last.id for each in desk.mailbox.debts(message.sender, message.thread_id)]
    trust = stored.envelope.trust
    value = {
        "message_id": stored.id,
        "is_new": sent.is_new,
        "thread_id": message.thread_id,
        "subject": message.subject,
        "from": message.sender,
        "to": list(message.recipients),
        "base": base,
        "trust": trust.value if trust else None,
        "expected": None if entries is None else [_entry_json(each) for each in entries],
        "corrections": [each._asdict() for each in prepared.corrections],
        "violations": [*(own_json(_told(each)) for each in own), *map(thread_json, said)],
        "owed_acks": owed,
    }
    lines = (
        *_posted_lines(value, entries),
        *_corrected_lines(prepared),
        *own_lines(map(_told, own)),
        *thread_lines(said),
        *([_owed(owed)] if owed else ()),
    )
    return answered(value, lines)


def _warnings(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    """What a block that would be applied has to be told of: a refused one is told of already."""
    for entry in entries:
        if entry.state is not Outcome.REFUSED:
            yield from (found for found in entry.diagnostics if found.severity is WARNING)


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
    """The caller's own delta in each of the ways in which it can be read: one is to be sent."""
    texts = [text for found in entry.diagnostics for text in found.readings]
    return [block.value for text in texts for block in read_deltas(text)]


def _posted_lines(value: dict[str, object], entries: tuple[Entry, ...] | None) -> Iterator[str]:
    again = "" if value["is_new"] else " It was posted before; nothing was sent twice."
    base = f" on v{value['base']}" if value["base"] is not None else ""
    yield f"Posted message {value['message_id']} to {value['thread_id']}{base}.{again}"
    if value["trust"] == Trust.UNVERIFIED:
        yield "It is marked as unverified: you have not shown the secret of your name."
    if entries is None:
        yield "What becomes of its deltas is known once the thread is compiled, or was already."
        return
    yield "As the thread stands, a compile would make of it:"
    for each in entries:
        item = each.assigned_id or each.item_id
        yield f"- delta {each.block}: {each.state.value}{f' as {item}' if item else ''}"
        for reading in _readings(each):
            yield f"  It can be read as {json.dumps(reading, ensure_ascii=False)}"


def _corrected_lines(prepared: Prepared) -> Iterator[str]:
    if prepared.corrections:
        yield "Taken otherwise than given:"
    for each in prepared.corrections:
        yield f"- delta {each.delta}: {each.what} ({each.code})"


def _owed(owed: Sequence[int]) -> str:
    numbers = ", ".join(map(str, owed))
    return f"You still owe an ACK for message {numbers}: `acknowledge_message`."


TOOL = Tool(
    "brenner_post",
    "Contribute to a thread's artifact. Each delta is one ADD, EDIT or KILL; EDIT and KILL need "
    'target_id, KILL a payload {"reason"}. What you add has no number yet: name it by local_id, '
    "then refer to it as @name. All are posted or none; the answer says what they become.",
    (
        Argument("thread_id", required=True),
        Argument("deltas", Kind.DELTAS, f"e.g. {EXAMPLE}", required=True),
        Argument("summary", about="what you add and why, for the others"),
        AGENT,
        Argument("to", Kind.TEXTS),
        Argument("base", Kind.NUMBER, "version you go by; default: the one fetched last"),
        Argument("reply_to", Kind.NUMBER),
        Argument("key", about="the same key again posts nothing twice"),
        TOKEN,
    ),
    run,
)
