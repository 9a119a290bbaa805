"""`brenner_check`: what would become of a message, before it is sent."""

from collections.abc import Iterator
from typing import NamedTuple

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.codes.messages import MESSAGE_TOO_LARGE
from brenner.diagnostics.model import Diagnostic, Refused, Summary, worst_first
from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.model import Envelope, Trust, type_of
from brenner.mcp.framing import Foreign, answered
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool
from brenner.mcp.violations import told_json, told_lines
from brenner.mcp.who import agent_of
from brenner.protocol.messages import Message
from brenner.protocol.validate import Report, check_composed, deltas_json
from brenner.services.receive import Examined, Letter, examine, leading_type

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


def run(call: Call) -> Answer:
    """A check that finds errors has done its work: that is no error of the call."""
    draft = _draft(call)
    message = draft.message
    found = examine(call.desk, _letter(call, message))
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
    stand_in = _somebody(call.desk.mailbox, call.desk.project.operator)
    try:
        sender = call.text("sender_name") or agent_of(call)
    except Refused:
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


def _letter(call: Call, message: Message) -> Letter:
    """The message as from somebody who is believed: whether she shows her secret is seen later.

    Where nobody has one, nobody will.
    """
    is_believed = Ability.SECRETS not in call.desk.mailbox.lacks
    return Letter(message, Envelope(trust=Trust.VERIFIED if is_believed else Trust.UNVERIFIED))


def _somebody(mailbox: Mailbox, operator: str) -> str:
    known = [each.name for each in mailbox.agents()]
    return operator if operator in known or not known else known[0]


def _looked_at(draft: _Draft, found: Examined) -> Iterator[Diagnostic]:
    """What was found, but for what is wrong with a stand-in."""
    passed_over = {_OF_A_STAND_IN[name] for name in draft.left_out}
    yield from (each for each in found.violations if each.code not in passed_over)


def _foreseen(call: Call, corrected: Message) -> list[Diagnostic]:
    report, _ = check_composed(corrected)
    found = examine(call.desk, _letter(call, corrected)).violations
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


TOOL = Tool(
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
    run,
    is_read_only=True,
)
