"""The mail of a thread as an archive beside its artifact, so that the repository can verify it.

It holds the thread up to the COMPILED message of the version and nothing that is personal, that
changes from day to day, or that only this store knows: nobody's reading marks or current task, not
who was registered when. So the same version gives the same bytes.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from brenner.diagnostics.model import Diagnostic
from brenner.mail.archive.jsonl import decode, encode
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Agent, Record, Stored
from brenner.persist.artifact_file import VersionText
from brenner.workflows.transfer import archive_lines

if TYPE_CHECKING:
    from datetime import datetime


def thread_archive(mailbox: Mailbox, version: VersionText) -> bytes:
    """The archive of a version that is posted, in the order in which its mail came in."""
    last = mailbox.message(version.message_id)
    arrived = mailbox.thread_arrivals(version.thread_id, 0)
    messages = [stored for stored in arrived if stored.arrival <= last.arrival]
    records = (Record(_for_all(stored)) for stored in messages)
    return "".join(encode(_agents(mailbox, messages), records)).encode()


def _for_all(stored: Stored) -> Stored:
    """Whoever reads an archive has not seen who wrote the mail, so it does not matter who has."""
    return stored._replace(is_local=False, envelope=stored.envelope._replace(trust=None))


def _agents(mailbox: Mailbox, messages: list[Stored]) -> list[Agent]:
    """Who wrote to the thread, or was written to, by name: known since they were first named."""
    since: dict[str, datetime] = {}
    for stored in messages:
        for name in (stored.message.sender, *stored.message.recipients):
            since[name] = min(stored.at, since.get(name, stored.at))
    return [
        agent._replace(task="", registered_at=since[agent.name])
        for agent in mailbox.agents()
        if agent.name in since
    ]


def archive_obstacle(mailbox: Mailbox, thread_id: str, file: Path, name: str) -> str | None:
    """Why an archive that is there should not be written over: it has what this mailbox has not."""
    try:
        with file.open("rb") as opened:
            items = list(decode(archive_lines(opened), name))
    except FileNotFoundError:
        return None
    except OSError as error:
        return (error.strerror or type(error).__name__).lower()
    faults = [item for item in items if isinstance(item, Diagnostic)]
    if faults:
        place = f" (line {faults[0].line})" if faults[0].line else ""
        return f"it is not an archive of mail that can be read{place}"
    held = {item.stored.content_hash for item in items if isinstance(item, Record)}
    known = {stored.content_hash for stored in mailbox.thread_arrivals(thread_id, 0)}
    missing = len(held - known)
    return f"{missing} of its messages are not in this mailbox" if missing else None
