"""The workspace: a project's mailbox and the acting name. Also diagnoses store files.

Each service is imported when it is used, so that reading an inbox does not load the checks.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, Self

from brenner.config import Project, find_project
from brenner.diagnostics.codes.mail import NO_SUCH_AGENT
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.open import AgentMailStore, PostgresStore, SqliteStore, Store, open_mailbox

if TYPE_CHECKING:
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

    def send(self, text: str, options: "SendOptions | None" = None) -> "Outcome":
        """Check the message in the text of a message file, and send it."""
        from brenner.services.send import SendOptions, send_text

        chosen = options or SendOptions()
        mine = chosen._replace(actor=chosen.actor or self.actor, operator=self.project.operator)
        return send_text(self.mailbox, text, mine._replace(project=self.project))

    def acknowledge(
        self, message_id: int, status: str = "Received", notes: str = ""
    ) -> "SendResult":
        """Acknowledge a message."""
        from brenner.services.acknowledge import acknowledge

        return acknowledge(self.mailbox, self.actor, message_id, status, notes)

    def pending(self) -> "tuple[DueAck, ...]":
        """Return every pending ACK in the project, of all agents."""
        from brenner.services.acknowledge import pending_acks

        return pending_acks(self.mailbox, datetime.now(UTC), self.project.ack_deadline)

    def start_session(self, options: "StartOptions") -> "Started":
        """Send the kickoffs of a session."""
        from brenner.services.start_session import start_session

        return start_session(self, options)

    def compile(self, thread_id: str, options: "CompileOptions | None" = None) -> "CompileResult":
        """Publish the next version of a thread, if there is one to publish."""
        from brenner.services.compile import CompileOptions, compile_thread

        return compile_thread(self, thread_id, options or CompileOptions())

    def version(self, thread_id: str, number: int | None = None) -> "LoadedVersion":
        """Return a version of a thread, or the latest, with who set each field."""
        from brenner.services.versions import Target, load_version

        return load_version(self, Target(thread_id, number), with_state=True)

    def verify(self, thread_id: str) -> "Verification":
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
    """Open a workspace in a project. Only a caller that will write creates a missing store."""
    mailbox = open_mailbox(project, create=create, needs_operator=needs_operator)
    return Workspace(mailbox, project, actor or project.operator)


def open_workspace(
    project: str | None = None, store: str | None = None, actor: str | None = None
) -> Workspace:
    """Open a workspace in a project, by default the current one; create a missing store."""
    return workspace_in(find_project(project, os.environ, store), actor, create=True)


# Why a store's file cannot be read or written: files, permissions, other processes

# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH110, PTH112, PTH113, PTH114, PTH115, PTH202


class StoreProblem(NamedTuple):
    """Why a store's file cannot be used, and how to fix it."""

    reason: str
    fix: str


def why_not_a_folder(store: Path) -> str | None:
    """Return why the path of the store's folder is not a folder.

    Return None if it is one, or if it is missing and a folder is above it.
    """
    folder = _nearest_entry(store.parent)
    if os.path.isdir(folder):
        return None
    is_link = os.path.islink(folder)
    what = f": it is a link to `{os.readlink(folder)}`, and there is none" if is_link else ""
    return f"`{folder}` is not a folder{what}"


def read_problem(path: Path) -> StoreProblem | None:
    """Return why a file of that name cannot be opened for reading; None if it can."""
    folder = _nearest_entry(path.parent)
    if not os.access(folder, os.X_OK):
        return StoreProblem(
            f"you may not look into the folder `{folder}`{_permissions(folder)}",
            f"`chmod u+rwx {quote(str(folder))}`, or ask its owner.",
        )
    if os.path.islink(path) and not os.path.exists(path):
        return StoreProblem(
            f"it is a link to `{os.readlink(path)}`, where nothing is",
            "Bring back what it leads to, or remove the link.",
        )
    if os.path.lexists(path) and not os.path.isfile(path):
        kind = "it is a folder" if os.path.isdir(path) else "it is not a file"
        return StoreProblem(kind, "Name the file of a store: `--store sqlite:///PATH`.")
    if os.path.lexists(path) and not os.access(path, os.R_OK):
        return StoreProblem(
            f"you may not read it{_permissions(path)}",
            f"`chmod u+rw {quote(str(path))}`, or ask its owner.",
        )
    return None


def create_problem(path: Path) -> StoreProblem | None:
    """Return why a missing file cannot be created in a readable folder; None if it can."""
    folder = _nearest_entry(path.parent)
    if os.access(folder, os.W_OK):
        return None
    return StoreProblem(
        f"it is not there, and you may not write to `{folder}`{_permissions(folder)}",
        f"`chmod u+w {quote(str(folder))}`, or choose another `--store sqlite:///PATH`.",
    )


def write_problem(path: Path) -> StoreProblem | None:
    """Return which of the store's files, or its folder, cannot be written; None if all can.

    SQLite has two files beside its own.
    """
    files = [path.parent, path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]
    locked = [each for each in files if os.path.exists(each) and not os.access(each, os.W_OK)]
    if not locked:
        return None
    return StoreProblem(
        "you may not write " + ", ".join(f"`{each}`{_permissions(each)}" for each in locked),
        f"`chmod u+w {' '.join(quote(str(each)) for each in locked)}`, or ask the owner.",
    )


def in_use_problem(path: Path) -> StoreProblem | None:
    """Return which other processes have the file open.

    Only Linux reports them, and only processes that this user may inspect.
    """
    names = {str(path), f"{path}-wal", f"{path}-shm"}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_open = any(os.readlink(file) in names for file in (process / "fd").iterdir())
            name = (process / "comm").read_text("utf-8", "replace").strip()
        except OSError:  # another user's process, or it has just ended
            continue
        if is_open and process.name != str(os.getpid()):
            found.append(f"process {process.name} (`{name}`)")
    if not found:
        return None
    have = "has" if len(found) == 1 else "have"
    return StoreProblem(
        f"{', '.join(sorted(found))} {have} it open",
        "Wait until it is done, or end it if it hangs; then repeat the command.",
    )


def empty_file_problem(path: Path) -> StoreProblem | None:
    """Return a problem if the file is empty, after a failed copy or a wrong command."""
    if not os.path.isfile(path) or os.path.getsize(path):
        return None
    name = quote(str(path))
    return StoreProblem(
        "nothing was ever stored in it, or all of it was lost",
        f"Move it away: `mv {name} {quote(f'{path}.empty')}`. Then bring a backup back, or start "
        "a new store with `brenner init`.",
    )


def nearest_existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(each for each in (path, *path.parents) if os.path.exists(each))


def _nearest_entry(path: Path) -> Path:
    """Return the same as `nearest_existing`, but count a broken link as existing."""
    return next(each for each in (path, *path.parents) if os.path.lexists(each))


def _permissions(path: Path) -> str:
    """Return ` (mode 0600, of root)`, or nothing if the permissions cannot be read."""
    try:
        seen = path.stat()
    except OSError:
        return ""
    try:
        owner = path.owner()
    except (KeyError, NotImplementedError):
        owner = f"user {seen.st_uid}"
    return f" (mode {seen.st_mode & 0o7777:04o}, of {owner})"


def store_identity(store: Store) -> tuple[str, ...]:
    """Return what identifies a store, however its address is written."""
    if isinstance(store, SqliteStore):
        return ("file", os.path.realpath(store.path))
    if isinstance(store, PostgresStore):
        return ("database", *store.address)
    if isinstance(store, AgentMailStore):
        url, project = store.address
        return ("server", (url or "").rstrip("/"), project or "")
    return (store.shown,)
