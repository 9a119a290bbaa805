"""`brenner_check`: what is wrong with a message, before it is sent."""

from collections.abc import Iterator

from brenner.check.message import check_composed
from brenner.check.report import Report
from brenner.diagnostics.codes.input import NO_RECIPIENT
from brenner.diagnostics.errors import Refused
from brenner.diagnostics.model import Diagnostic, Summary
from brenner.mail.model import type_of
from brenner.mail.rules import unknown_recipients
from brenner.mcp.framing import Foreign, answered
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool
from brenner.mcp.violations import own_json, own_lines, thread_json, thread_lines
from brenner.mcp.who import agent_of
from brenner.thread.messages import Message
from brenner.thread.types import DELTA
from brenner.workflows.preview import foreseen

_SEND = "It can be sent: `send_message` with these arguments."
_CORRECTED = "Not valid; `corrected` is: read it, then send it with `send_message`."
_BY_AUTHOR = "Not valid, and at least one error needs you: mend what the violations name."


def run(call: Call) -> Answer:
    """A check that finds errors has done its work: that is no error of the call."""
    message = _message(call)
    report, corrected = check_composed(message)
    report = _without_recipients(call, report, message)
    if not report.valid and report.corrected is None:
        corrected = None
    sendable = message if report.valid else corrected
    said = tuple(_foreseen(call, sendable)) if sendable else ()
    following = _SEND if report.valid else _CORRECTED if corrected else _BY_AUTHOR
    value = {
        "valid": report.valid,
        "type": report.type,
        "summary": Summary.of((*report.violations, *said))._asdict(),
        "violations": [
            *map(own_json, report.violations),
            *map(thread_json, said),
        ],
        "deltas": [delta._asdict() for delta in report.deltas],
        "corrected": _arguments(call, corrected) if corrected else None,
        "next": following,
    }
    return answered(value, _lines(report, said, corrected, following))


def _message(call: Call) -> Message:
    """The message that would be sent; who sends it matters little to a check."""
    try:
        sender = call.text("sender_name") or agent_of(call)
    except Refused:
        sender = call.desk.project.operator
    return Message(
        thread_id=call.text("thread_id"),
        sender=sender,
        recipients=call.texts("to"),
        subject=call.text("subject"),
        body=call.text("body_md"),
    )


def _without_recipients(call: Call, report: Report, message: Message) -> Report:
    """The report with those whom nobody knows; that nobody is named yet is no fault here."""
    known = {agent.name for agent in call.desk.mailbox.agents()}
    kept = [found for found in report.violations if found.code is not NO_RECIPIENT]
    strangers = list(unknown_recipients(message, known))
    corrected = None if strangers else report.corrected
    return report._replace(violations=(*kept, *strangers), corrected=corrected)


def _foreseen(call: Call, message: Message) -> Iterator[Diagnostic]:
    """What the thread would refuse as it stands; of a message to be corrected, if it were."""
    if type_of(message) == DELTA.name:
        desk = call.desk
        yield from foreseen(desk.mailbox, message, desk.project.operator, desk.project)


def _arguments(call: Call, corrected: Message) -> dict[str, object]:
    """The arguments to call again with, or to send with."""
    to = list(call.texts("to"))
    return {
        "thread_id": corrected.thread_id,
        "subject": corrected.subject,
        "body_md": corrected.body,
        **({"to": to} if to else {}),
    }


def _lines(
    report: Report, said: tuple[Diagnostic, ...], corrected: Message | None, following: str
) -> Iterator[str | Foreign]:
    yield following
    yield from own_lines(report.violations)
    yield from thread_lines(said)
    if corrected:
        yield f"Corrected subject: {corrected.subject}"
        yield f"Corrected body_md:\n{corrected.body}"


TOOL = Tool(
    "brenner_check",
    "Check a message without sending it: violations with lines of body_md, and the corrected "
    "message where that is certain.",
    (
        Argument("thread_id", required=True),
        Argument("subject", required=True),
        Argument("body_md", required=True),
        Argument("to", Kind.TEXTS),
        Argument("sender_name"),
    ),
    run,
    is_read_only=True,
)
