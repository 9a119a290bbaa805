"""Somebody at work in a project: its mailbox, and what one does there.

Each workflow is imported when it is used: who reads her inbox does not pay for the check.
"""

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Self

from brenner.config import Project, find_project
from brenner.diagnostics.codes.mail import NO_SUCH_AGENT
from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.open import open_mailbox

if TYPE_CHECKING:
    from brenner.mail.model import Sent
    from brenner.workflows.compile import Compiled, CompileOptions
    from brenner.workflows.pending import Pending
    from brenner.workflows.send import Outcome, SendOptions
    from brenner.workflows.start_session import Started, StartOptions
    from brenner.workflows.versions import LoadedVersion, Verification


class Desk(NamedTuple):
    """The one who was named, else the operator, at the mailbox of a project."""

    mailbox: Mailbox
    project: Project
    actor: str

    @property
    def is_operator(self) -> bool:
        """Whether it is the operator who acts."""
        return self.actor == self.project.operator

    @property
    def is_new_operator(self) -> bool:
        """Whether it is the operator, whom a store knows once it has been written to: no mail."""
        if not self.is_operator:
            return False
        try:
            self.mailbox.agent(self.actor)
        except Refused as refused:
            if refused.diagnostic.code != NO_SUCH_AGENT:  # another project may have the name now
                raise
            return True
        return False

    def send(self, text: str, options: "SendOptions | None" = None) -> "Outcome":
        """Check the message in the text of a message file, and send it."""
        from brenner.workflows.send import SendOptions, send_text

        said = options or SendOptions()
        mine = said._replace(actor=said.actor or self.actor, operator=self.project.operator)
        return send_text(self.mailbox, text, mine._replace(project=self.project))

    def acknowledge(self, message_id: int, status: str = "Received", notes: str = "") -> "Sent":
        """Acknowledge a message."""
        from brenner.workflows.acknowledge import acknowledge

        return acknowledge(self.mailbox, self.actor, message_id, status, notes)

    def pending(self) -> "tuple[Pending, ...]":
        """Every ACK that is owed in the project, by whomever."""
        from brenner.workflows.pending import pending

        return pending(self.mailbox, datetime.now(UTC), self.project.ack_deadline)

    def start_session(self, options: "StartOptions") -> "Started":
        """Send the kickoffs of a session."""
        from brenner.workflows.start_session import start_session

        return start_session(self, options)

    def compile(self, thread_id: str, options: "CompileOptions | None" = None) -> "Compiled":
        """Publish the next version of a thread, if there is one to publish."""
        from brenner.workflows.compile import CompileOptions, compile_thread

        return compile_thread(self, thread_id, options or CompileOptions())

    def version(self, thread_id: str, number: int | None = None) -> "LoadedVersion":
        """A version of a thread, or the latest, with who set what."""
        from brenner.workflows.versions import Target, load_version

        return load_version(self, Target(thread_id, number), with_state=True)

    def verify(self, thread_id: str) -> "Verification":
        """Rebuild every version of a thread from its mail, and compare."""
        from brenner.workflows.versions import verify

        return verify(self, thread_id)

    def close(self) -> None:
        """Let go of the mailbox."""
        self.mailbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def desk_in(
    project: Project, actor: str | None, *, create: bool, needs_operator: bool = True
) -> Desk:
    """The desk in a project. Only who is going to write creates a store where there is none."""
    mailbox = open_mailbox(project, create=create, needs_operator=needs_operator)
    return Desk(mailbox, project, actor or project.operator)


def open_desk(
    project: str | None = None, store: str | None = None, actor: str | None = None
) -> Desk:
    """The desk in the project of that folder, or of the one we are in; its store is made."""
    return desk_in(find_project(project, os.environ, store), actor, create=True)
