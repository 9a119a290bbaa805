"""Homes that mail is copied between, each by its address, and the session that is copied."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from brenner.config import Project
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import MessageRecord
from brenner.mail.open import AgentMailStore, store_of
from brenner.services.copy_mail import CopyResult, copy_mail
from brenner.services.versions import Target, load_version, load_version_list
from brenner.services.workspace import Workspace
from servers import agent_mail, postgresql

SQLITE, POSTGRESQL, AGENT_MAIL = "sqlite", "postgresql", "agent mail"
KEEPING = (SQLITE, POSTGRESQL)  # homes that keep messages as they were
KINDS = (*KEEPING, AGENT_MAIL)


def _sqlite(folder: Path, name: str) -> str:
    return f"sqlite:///{folder}/{name}.sqlite3"


def _postgresql(folder: Path, name: str) -> str:
    return postgresql.running().url(schema=_mark(folder, name))


def _agent_mail(folder: Path, name: str) -> str:
    return f"agent-mail+{agent_mail.running().url}?project=/{_mark(folder, name)}"


def _mark(folder: Path, name: str) -> str:
    """A name that no other test has."""
    return f"copy_{sha256(f'{folder} {name}'.encode()).hexdigest()[:16]}"


_ADDRESSES: MappingProxyType[str, Callable[[Path, str], str]] = MappingProxyType(
    {SQLITE: _sqlite, POSTGRESQL: _postgresql, AGENT_MAIL: _agent_mail}
)


@contextmanager
def home(kind: str, folder: Path, name: str) -> Iterator[Project]:
    """A project whose mail is going to be in a home of that kind; nothing is there yet."""
    project = Project(folder, _ADDRESSES[kind](folder, name))
    try:
        yield project
    finally:
        if kind == AGENT_MAIL:
            _give_names_back(project)


def _give_names_back(project: Project) -> None:
    """They belong to the whole server: the next test wants them, too."""
    store = store_of(project)
    assert isinstance(store, AgentMailStore)
    if not store.is_there():
        return
    with store.open() as mailbox:
        names = [agent.name for agent in mailbox.agents()]
    for name in names:
        with suppress(RuntimeError):  # somebody has moved it
            agent_mail.running().tool("delete_agent", project_key=store.address.project, name=name)


@contextmanager
def mail_of(project: Project) -> Iterator[Mailbox]:
    """The mailbox in its home."""
    with store_of(project).open() as mailbox:
        yield mailbox


def records(project: Project) -> list[MessageRecord]:
    """Everything in a home."""
    with mail_of(project) as mailbox:
        return list(mailbox.records())


def contents(project: Project) -> list[str]:
    """What the messages of a home say, however often, by whom and in which thread."""
    return sorted(record.stored.content_hash for record in records(project))


def texts(project: Project, thread_id: str) -> dict[int, str]:
    """The artifact in each version of a thread."""
    with mail_of(project) as mailbox:
        workspace = Workspace(mailbox, project, project.operator)
        numbers = [version.number for version in load_version_list(workspace, thread_id)[1]]
        return {
            number: load_version(workspace, Target(thread_id, number)).text for number in numbers
        }


def copied(source: Project, target: Project) -> CopyResult:
    """Copy the mail; it must all be there."""
    done = copy_mail(source, target)
    assert [each for each in done.diagnostics if each.severity == "error"] == []
    assert done.ok
    return done
