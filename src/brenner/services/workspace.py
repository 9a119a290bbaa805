"""Somebody at work in a project: its mailbox, and what one does there.

Each workflow is imported when it is used: who reads her inbox does not pay for the check.
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
    from brenner.mail.model import Sent
    from brenner.services.acknowledge import Pending
    from brenner.services.compile import CompileOptions, CompileResult
    from brenner.services.send import Outcome, SendOptions
    from brenner.services.start_session import Started, StartOptions
    from brenner.services.versions import LoadedVersion, Verification


class Workspace(NamedTuple):
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
        except RequestError as refused:
            if refused.diagnostic.code != NO_SUCH_AGENT:  # another project may have the name now
                raise
            return True
        return False

    def send(self, text: str, options: "SendOptions | None" = None) -> "Outcome":
        """Check the message in the text of a message file, and send it."""
        from brenner.services.send import SendOptions, send_text

        said = options or SendOptions()
        mine = said._replace(actor=said.actor or self.actor, operator=self.project.operator)
        return send_text(self.mailbox, text, mine._replace(project=self.project))

    def acknowledge(self, message_id: int, status: str = "Received", notes: str = "") -> "Sent":
        """Acknowledge a message."""
        from brenner.services.acknowledge import acknowledge

        return acknowledge(self.mailbox, self.actor, message_id, status, notes)

    def pending(self) -> "tuple[Pending, ...]":
        """Every ACK that is owed in the project, by whomever."""
        from brenner.services.acknowledge import pending

        return pending(self.mailbox, datetime.now(UTC), self.project.ack_deadline)

    def start_session(self, options: "StartOptions") -> "Started":
        """Send the kickoffs of a session."""
        from brenner.services.start_session import start_session

        return start_session(self, options)

    def compile(self, thread_id: str, options: "CompileOptions | None" = None) -> "CompileResult":
        """Publish the next version of a thread, if there is one to publish."""
        from brenner.services.compile import CompileOptions, compile_thread

        return compile_thread(self, thread_id, options or CompileOptions())

    def version(self, thread_id: str, number: int | None = None) -> "LoadedVersion":
        """A version of a thread, or the latest, with who set what."""
        from brenner.services.versions import Target, load_version

        return load_version(self, Target(thread_id, number), with_state=True)

    def verify(self, thread_id: str) -> "Verification":
        """Rebuild every version of a thread from its mail, and compare."""
        from brenner.services.versions import verify

        return verify(self, thread_id)

    def close(self) -> None:
        """Let go of the mailbox."""
        self.mailbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def workspace_in(
    project: Project, actor: str | None, *, create: bool, needs_operator: bool = True
) -> Workspace:
    """The desk in a project. Only who is going to write creates a store where there is none."""
    mailbox = open_mailbox(project, create=create, needs_operator=needs_operator)
    return Workspace(mailbox, project, actor or project.operator)


def open_workspace(
    project: str | None = None, store: str | None = None, actor: str | None = None
) -> Workspace:
    """The desk in the project of that folder, or of the one we are in; its store is made."""
    return workspace_in(find_project(project, os.environ, store), actor, create=True)


# Why a store's file cannot be read or written: files, permissions, other processes.


# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH110, PTH112, PTH113, PTH114, PTH115, PTH202


class Obstacle(NamedTuple):
    """What is in the way, and how to get it out of the way."""

    reason: str
    fix: str


def why_no_folder(store: Path) -> str | None:
    """Why what stands where the store's folder should be is none."""
    folder = _nearest(store.parent)
    if os.path.isdir(folder):
        return None
    is_link = os.path.islink(folder)
    what = f": it is a link to `{os.readlink(folder)}`, and there is none" if is_link else ""
    return f"`{folder}` is not a folder{what}"


def obstacle_to_reading(path: Path) -> Obstacle | None:
    """Why a file that has that name, in a folder, cannot be opened."""
    folder = _nearest(path.parent)
    if not os.access(folder, os.X_OK):
        return Obstacle(
            f"you may not look into the folder `{folder}`{_rights(folder)}",
            f"`chmod u+rwx {quote(str(folder))}`, or ask its owner.",
        )
    if os.path.islink(path) and not os.path.exists(path):
        return Obstacle(
            f"it is a link to `{os.readlink(path)}`, where nothing is",
            "Bring back what it leads to, or remove the link.",
        )
    if os.path.lexists(path) and not os.path.isfile(path):
        kind = "it is a folder" if os.path.isdir(path) else "it is not a file"
        return Obstacle(kind, "Name the file of a store: `--store sqlite:///PATH`.")
    if os.path.lexists(path) and not os.access(path, os.R_OK):
        return Obstacle(
            f"you may not read it{_rights(path)}",
            f"`chmod u+rw {quote(str(path))}`, or ask its owner.",
        )
    return None


def obstacle_to_making(path: Path) -> Obstacle | None:
    """Why a file that is not there, in a folder that one may look into, cannot be made."""
    folder = _nearest(path.parent)
    if os.access(folder, os.W_OK):
        return None
    return Obstacle(
        f"it is not there, and you may not write to `{folder}`{_rights(folder)}",
        f"`chmod u+w {quote(str(folder))}`, or choose another `--store sqlite:///PATH`.",
    )


def obstacle_to_writing(path: Path) -> Obstacle | None:
    """Which of the files, or their folder, cannot be written. SQLite keeps two beside its own."""
    files = [path.parent, path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]
    locked = [each for each in files if os.path.exists(each) and not os.access(each, os.W_OK)]
    if not locked:
        return None
    return Obstacle(
        "you may not write " + ", ".join(f"`{each}`{_rights(each)}" for each in locked),
        f"`chmod u+w {' '.join(quote(str(each)) for each in locked)}`, or ask the owner.",
    )


def obstacle_by_others(path: Path) -> Obstacle | None:
    """Which other processes have the file open: those that this user may see, on Linux."""
    names = {str(path), f"{path}-wal", f"{path}-shm"}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_open = any(os.readlink(file) in names for file in (process / "fd").iterdir())
            name = (process / "comm").read_text("utf-8", "replace").strip()
        except OSError:  # it is somebody else's, or has just ended
            continue
        if is_open and process.name != str(os.getpid()):
            found.append(f"process {process.name} (`{name}`)")
    if not found:
        return None
    have = "has" if len(found) == 1 else "have"
    return Obstacle(
        f"{', '.join(sorted(found))} {have} it open",
        "Wait until it is done, or end it if it hangs; then repeat the command.",
    )


def obstacle_by_emptiness(path: Path) -> Obstacle | None:
    """Whether there is a file and nothing in it: a copy that failed, or a wrong command."""
    if not os.path.isfile(path) or os.path.getsize(path):
        return None
    name = quote(str(path))
    return Obstacle(
        "nothing was ever stored in it, or all of it was lost",
        f"Move it away: `mv {name} {quote(f'{path}.empty')}`. Then bring a backup back, or start "
        "a new store with `brenner init`.",
    )


def existing(path: Path) -> Path:
    """The path, or the nearest folder above it that is there."""
    return next(each for each in (path, *path.parents) if os.path.exists(each))


def _nearest(path: Path) -> Path:
    """The same, where a link that leads nowhere is there too."""
    return next(each for each in (path, *path.parents) if os.path.lexists(each))


def _rights(path: Path) -> str:
    """` (mode 0600, of root)`; nothing where not even that can be seen."""
    try:
        seen = path.stat()
    except OSError:
        return ""
    try:
        owner = path.owner()
    except (KeyError, NotImplementedError):
        owner = f"user {seen.st_uid}"
    return f" (mode {seen.st_mode & 0o7777:04o}, of {owner})"


def place(store: Store) -> tuple[str, ...]:
    """Where it is; two stores of one place are the same."""
    if isinstance(store, SqliteStore):
        return ("file", os.path.realpath(store.path))
    if isinstance(store, PostgresStore):
        return ("database", *store.address)
    if isinstance(store, AgentMailStore):
        url, project = store.address
        return ("server", (url or "").rstrip("/"), project or "")
    return (store.shown,)
