"""The workspace: a project's mailbox and the acting name. Also diagnoses store files.

Each service is imported when it is used, so that reading an inbox does not load the checks.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from brenner.config import Project, find_project
from brenner.diagnostics.codes.mail import NO_SUCH_AGENT
from brenner.diagnostics.model import RequestError
from brenner.mail.open import PostgresStore, SqliteStore, Store, open_mailbox
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from brenner.mail.mailbox import Mailbox
    from brenner.mail.model import SendResult
    from brenner.services.acknowledge import DueAck
    from brenner.services.compile import CompileOptions, CompileResult
    from brenner.services.send import Outcome, SendOptions
    from brenner.services.start_session import Started, StartOptions
    from brenner.services.versions import LoadedVersion, Verification


class Workspace(NamedTuple):
    """The mailbox of a project, opened for an actor: a named agent or the operator."""

    mailbox: Mailbox
    project: Project
    actor: str

    @property
    def is_operator(self) -> bool:
        """Return whether the actor is the operator."""
        return self.actor == self.project.operator

    @property
    def is_new_operator(self) -> bool:
        """Return whether the actor is an operator that the store does not know yet.

        A store registers the operator when it is first written to. Before that the operator has no
        mail.
        """
        if not self.is_operator:
            return False
        try:
            self.mailbox.agent(self.actor)
        except RequestError as refused:
            if refused.diagnostic.code != NO_SUCH_AGENT:  # another project may have the name
                raise
            return True
        return False

    def send(self, text: str, options: SendOptions | None = None) -> Outcome:
        """Check the message in the text of a message file, and send it."""
        from brenner.services.send import SendOptions, send_text

        chosen = options or SendOptions()
        mine = chosen._replace(actor=chosen.actor or self.actor, operator=self.project.operator)
        return send_text(self.mailbox, text, mine._replace(project=self.project))

    def acknowledge(self, message_id: int, status: str = "Received", notes: str = "") -> SendResult:
        """Acknowledge a message."""
        from brenner.services.acknowledge import acknowledge

        return acknowledge(self.mailbox, self.actor, message_id, status, notes)

    def pending(self) -> tuple[DueAck, ...]:
        """Return every pending ACK in the project, of all agents."""
        from brenner.services.acknowledge import pending_acks

        return pending_acks(self.mailbox, datetime.now(UTC), self.project.ack_deadline)

    def start_session(self, options: StartOptions) -> Started:
        """Send the kickoffs of a session."""
        from brenner.services.start_session import start_session

        return start_session(self, options)

    def compile(self, thread_id: str, options: CompileOptions | None = None) -> CompileResult:
        """Publish the next version of a thread, if there is one to publish."""
        from brenner.services.compile import CompileOptions, compile_thread

        return compile_thread(self, thread_id, options or CompileOptions())

    def version(self, thread_id: str, number: int | None = None) -> LoadedVersion:
        """Return a version of a thread, or the latest, with who set each field."""
        from brenner.services.versions import Target, load_version

        return load_version(self, Target(thread_id, number), with_state=True)

    def verify(self, thread_id: str) -> Verification:
        """Rebuild every version of a thread from its mail, and compare."""
        from brenner.services.versions import verify

        return verify(self, thread_id)

    def close(self) -> None:
        """Close the mailbox."""
        self.mailbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def workspace_in(
    project: Project, actor: str | None, *, create: bool, needs_operator: bool = True
) -> Workspace:
    """Open a workspace in a project. Only a caller that will write creates a missing store.

    An actor that is not the operator gets a mailbox without what is sealed for it (R33).
    """
    mailbox = open_mailbox(project, create=create, needs_operator=needs_operator)
    return Workspace(mailbox_for(mailbox, project, actor), project, actor or project.operator)


def mailbox_for(mailbox: Mailbox, project: Project, actor: str | None) -> Mailbox:
    """Return the mailbox as the actor may read it: the operator reads everything."""
    if actor in (None, "", project.operator):
        return mailbox
    from brenner.mail.memory import MemoryMailbox

    if isinstance(mailbox, MemoryMailbox):  # a project without mail
        return mailbox
    from brenner.mail.sealed import SealedMailbox  # the operator's commands need no view

    return SealedMailbox(mailbox, lambda: actor)


def open_workspace(
    project: str | None = None, store: str | None = None, actor: str | None = None
) -> Workspace:
    """Open a workspace in a project, by default the current one; create a missing store."""
    return workspace_in(find_project(project, os.environ, store), actor, create=True)


# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH112, PTH114, PTH115


def why_not_a_folder(store: Path) -> str | None:
    """Return why the path of the store's folder is not a folder.

    Return None if it is one, or if it is missing and a folder is above it.
    """
    folder = nearest_entry(store.parent)
    if os.path.isdir(folder):
        return None
    is_link = os.path.islink(folder)
    what = f": it is a link to `{os.readlink(folder)}`, which does not exist" if is_link else ""
    return f"`{folder}` is not a folder{what}"


def nearest_entry(path: Path) -> Path:
    """Return the path, or the nearest one above it that exists; a broken link counts."""
    return next(each for each in (path, *path.parents) if os.path.lexists(each))


def store_identity(store: Store) -> tuple[str, ...]:
    """Return what identifies a store, however its address is written."""
    if isinstance(store, SqliteStore):
        return ("file", os.path.realpath(store.path))
    if isinstance(store, PostgresStore):
        return ("database", *store.address)
    url, project = store.address
    return ("server", (url or "").rstrip("/"), project or "")
