"""Projects whose mail lives in each of the homes, for tests that play whole sessions there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from brenner.cli import workspace as sitting
from brenner.cli.session import start as starting
from brenner.mail import open as opening
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from mail.backends import (
    AGENT_MAIL,
    MEMORY,
    POSTGRESQL,
    SQLITE,
    Backend,
    agent_mail_address,
    postgresql_address,
)

# The operator's own name: on an Agent Mail server she needs one, and everywhere she may have it
OPERATOR = "GreenCastle"


def sqlite_store(_: Path) -> str:
    """The address of the embedded store of a project."""
    return "sqlite:///mail.sqlite3"


def postgresql_store(folder: Path) -> str:
    """The address of a schema of its own."""
    return postgresql_address(folder).written


def agent_mail_store(folder: Path) -> str:
    """The address of a project of its own on the server."""
    address = agent_mail_address(folder)
    return f"agent-mail+{address.url}?project={quote(address.project or '', safe='')}"


class ProjectBackend(NamedTuple):
    """A home, and how its address is written in the settings of the project of a folder."""

    home: Backend
    store: Callable[[Path], str] = sqlite_store


HOUSINGS = (
    ProjectBackend(MEMORY),
    ProjectBackend(SQLITE),
    ProjectBackend(POSTGRESQL, postgresql_store),
    ProjectBackend(AGENT_MAIL, agent_mail_store),
)
SERVERS = HOUSINGS[2:]


class _Kept:
    """A store that is there as long as the test: every command gets the same mailbox."""

    shown = "memory"

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self.lacks = mailbox.lacks

    def is_there(self) -> bool:
        return True

    def create(self) -> Mailbox:
        return self._mailbox

    def open(self) -> Mailbox:
        return self._mailbox


def keep(mailbox: Mailbox, patch: pytest.MonkeyPatch) -> None:
    """Let every command that follows find its mail there, whatever its project says."""
    store = _Kept(mailbox)
    for module in (opening, sitting, starting):
        patch.setattr(module, "store_of", lambda _: store)


@contextmanager
def housed(housing: ProjectBackend, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the project of that folder have its mail there; what it leaves with a server goes."""
    folder.mkdir(exist_ok=True)
    settings = folder / "brenner.toml"
    before = settings.read_text("utf-8") if settings.exists() else ""
    lines = [f'store = "{housing.store(folder)}"', f'operator = "{OPERATOR}"', before]
    settings.write_text("\n".join(lines), "utf-8")
    if housing.home is MEMORY:
        keep(MemoryMailbox(), patch)
    try:
        yield
    finally:
        if housing.home.clear:
            housing.home.clear(folder)
