"""The INFO message about a version that was persisted: once per thread, version and words."""

from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Sent, Stored
from brenner.markdown.blocks import blocks
from brenner.markdown.escape import fields
from brenner.persist.artifact_file import VersionText
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.workflows.once import send_once

WRITTEN, COMMITTED, PUSHED = WORDS = ("Written", "Committed", "Committed and pushed")
_SHORT = 12  # characters of a commit's id


def info_message(version: VersionText, path: str, words: str, commit: str | None) -> Message:
    """The message of the publish document; sender and recipients are for whoever sends it."""
    lines = [f"- **Path**: {path}"]
    lines += [f"- **Git Commit**: {commit[:_SHORT]}"] if commit else []
    lines += [f"- **Status**: {words}"]
    body = "# Artifact Persisted\n\n" + "\n".join(lines) + "\n"
    subject = compose_subject("INFO", f"Artifact v{version.number} persisted to repository")
    return Message(version.thread_id, "", (), subject, body)


def send_info(mailbox: Mailbox, message: Message, version: VersionText, words: str) -> Sent:
    """Send it, unless the thread has it, or says more about this version already."""
    key = f"persisted {version.message_id} {words}"
    return send_once(
        mailbox, message, lambda: _said_before(mailbox, message, version, words), key=key
    )


def _said_before(
    mailbox: Mailbox, message: Message, version: VersionText, words: str
) -> Stored | None:
    """The first message that says this much of the version, or more."""
    after = mailbox.message(version.message_id).arrival
    enough = WORDS[WORDS.index(words) :]
    for stored in mailbox.thread_arrivals(version.thread_id, after):
        if stored.message.subject == message.subject:
            said = {each.name: each.value for each in fields(blocks(stored.message.body))}
            if said.get("Status") in enough:
                return stored
    return None
