"""A message from the options of `mail send`, and how to name its places to who typed them."""

from collections.abc import Mapping
from typing import NamedTuple

import click

from brenner.cli.reading import STANDARD_INPUT, read_text
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.messages import Message, render_message_file
from brenner.services import send as drafts
from brenner.services.workspace import Desk

_OPTION_OF_PART = {
    drafts.THREAD: "--thread",
    drafts.FROM: "--as",
    drafts.TO: "--to",
    drafts.SUBJECT: "--subject",
    drafts.DRAFTS_ACK: "--ack-required",
    drafts.BODY: "--body",
    drafts.WHOLE: "message",
}
_NEEDED = {"thread_id": "--thread", "recipients": "--to", "subject": "--subject", "body": "--body"}


class Flags(NamedTuple):
    """What the options say of a message; None or nothing where they are silent."""

    thread_id: str | None
    recipients: tuple[str, ...]
    subject: str | None
    body: str | None
    ack_required: bool | None

    @property
    def are_given(self) -> bool:
        """Whether the message is made from options, not read from a file."""
        return self != _SILENT


_SILENT = Flags(None, (), None, None, None)


class Draft(NamedTuple):
    """The text of a message file. `name` is the file; a composed one has no name."""

    text: str
    name: str | None

    def placed(self, found: Diagnostic) -> tuple[str, Diagnostic]:
        """What the diagnostic is about as its reader knows it, and the line that counts there."""
        if self.name is not None:
            return "<stdin>" if self.name == STANDARD_INPUT else self.name, found
        part, moved = drafts.placed(self.text, found)
        return _OPTION_OF_PART[part], moved


def compose(flags: Flags, here: Desk, reply_to: int | None) -> Draft | Diagnostic:
    """The message that the options describe, or why its body cannot be read.

    An answer goes to the thread and to the sender of what it answers, unless they say otherwise.
    """
    if reply_to is not None:
        answered = here.mailbox.message(reply_to)
        to = flags.recipients or drafts.answered_to(answered, here.actor)
        thread_id = flags.thread_id or answered.message.thread_id
        flags = flags._replace(thread_id=thread_id, recipients=to)
    _check_complete(flags._asdict())
    body = _body(flags.body or "")
    if isinstance(body, Diagnostic):
        return body
    to = tuple(name.strip() for each in flags.recipients for name in each.split(","))
    message = Message(
        thread_id=flags.thread_id or "",
        sender=here.actor,
        recipients=tuple(name for name in to if name),
        subject=flags.subject or "",
        body=body,
        ack_required=flags.ack_required,
    )
    _check_headers(message)
    return Draft(render_message_file(message), None)


def _check_complete(said: Mapping[str, object]) -> None:
    missing = [option for name, option in _NEEDED.items() if said[name] in (None, ())]
    if missing:
        message = (
            f"A message that is made from options also needs {', '.join(missing)}. "
            "Or give a FILE: `brenner new TYPE` prints one to fill in."
        )
        raise click.UsageError(message)


def _check_headers(message: Message) -> None:
    """A line feed in a header would begin another header, or the body; blanks would get lost."""
    texts = (message.thread_id, message.sender, *message.recipients, message.subject)
    if any("\n" in text or "\r" in text for text in texts):
        error = "Thread, names and subject are one line each; longer text belongs in --body."
        raise click.UsageError(error)
    if message.thread_id != message.thread_id.strip():
        error = "A thread ID has no blanks at its ends: leave them out."
        raise click.UsageError(error)


def _body(said: str) -> str | Diagnostic:
    """The text itself, ended as a line; exactly what a file or the standard input has."""
    if said == STANDARD_INPUT:
        return read_text(STANDARD_INPUT)
    if said.startswith("@"):
        return read_text(said[1:])
    return said if said.endswith("\n") or not said else said + "\n"
