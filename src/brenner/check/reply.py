"""The Validation Error reply of the message document, as an INFO message to the sender."""

from brenner.check.report import Report
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.diagnostics.visible import visible
from brenner.grammar import AGENT_NAME
from brenner.markdown.fencing import fenced, one_paragraph
from brenner.thread.ids import is_valid
from brenner.thread.messages import Message, parse_message_file, render_message_file
from brenner.thread.subjects import compose_subject


def validation_error_body(original: str, report: Report) -> str:
    """The body: which message (by ID, or by subject before it has one), its errors, how to mend.

    A corrected message is shown inside a fence, so that nothing in it counts as a contribution.
    """
    errors = [found for found in report.violations if found.severity is ERROR]
    parts = [
        "# Validation Error\n",
        f"## Message\n{one_paragraph(visible(original))}\n",
        "## Errors",
    ]
    parts += [f"- {_place(found)}: {found.message}" for found in errors]
    parts.append("\n## Suggestion")
    if report.corrected is not None:
        parts.append("Send it again like this:\n\n" + fenced(report.corrected, "markdown"))
    else:
        parts += [f"- {_place(found)}: {found.fix}" for found in errors]
    return "\n".join(parts).rstrip("\n") + "\n"


def _place(found: Diagnostic) -> str:
    return f"line {found.line}: {found.id}" if found.line else found.id


def compose_reply(text: str, report: Report, sender: str) -> str | None:
    """The reply to a message file, or None where there is no thread or nobody to reply to."""
    message = parse_message_file(text).message
    if not is_valid(message.thread_id) or not AGENT_NAME.fullmatch(message.sender):
        return None
    subject = message.subject.strip() or "a message without a subject"
    return render_message_file(
        Message(
            thread_id=message.thread_id,
            sender=sender,
            recipients=(message.sender,),
            subject=compose_subject("INFO", f"Validation error in {subject}"),
            body=validation_error_body(subject, report),
        )
    )
