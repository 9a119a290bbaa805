"""The mailbox of a project, wherever its mail lives.

Each kind of home is imported when it is used: who has an embedded store pays for no other.
"""

import os
from pathlib import Path
from shlex import quote
from typing import Protocol

from brenner.config import OPERATOR, OWN_FOLDER, SETTINGS_FILE, Project, store_address, store_file
from brenner.diagnostics.codes.stores import NAME_ELSEWHERE, OPERATOR_NEEDS_NAME
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import NOTHING_LACKS, Capability, Lacks, Mailbox
from brenner.mail.model import Profile
from brenner.store_url import AgentMailAddress, PostgresAddress, parse_store, shown

_IGNORE_EVERYTHING = "*\n"
_TASK = "operator"


class Store(Protocol):
    """Where the mail of a project is, or is going to be."""

    @property
    def shown(self) -> str:
        """How it is called before people: no secret is in it."""
        ...

    @property
    def lacks(self) -> Lacks:
        """What it cannot do, and why; known before it is there."""
        ...

    def is_there(self) -> bool:
        """Whether there is one; where nobody can tell, that is raised."""
        ...

    def open(self) -> Mailbox:
        """The mailbox in a store that is there."""
        ...

    def create(self) -> Mailbox:
        """The mailbox, made where there is none."""
        ...


class SqliteStore:
    """A file."""

    lacks = NOTHING_LACKS

    def __init__(self, path: Path, own_folder: Path) -> None:
        self.path = path
        self._own_folder = own_folder

    @property
    def shown(self) -> str:
        return str(self.path)

    def is_there(self) -> bool:
        """Whether something has that name; a link that leads nowhere counts.

        Where one may not look, that is said: nobody knows then whether there is mail.
        """
        from brenner.mail.sqlite.mailbox import check_no_log, translated

        with translated(self.path):
            try:
                os.lstat(self.path)
            except (FileNotFoundError, NotADirectoryError):
                check_no_log(self.path)
                return False
            return True

    def open(self) -> Mailbox:
        from brenner.mail.sqlite.mailbox import SqliteMailbox

        return SqliteMailbox.open(self.path)

    def create(self) -> Mailbox:
        from brenner.mail.sqlite.mailbox import SqliteMailbox

        if not self.is_there():
            self._make_folder()
        return SqliteMailbox.create(self.path)

    def _make_folder(self) -> None:
        """The folder of the store; our own one tells git to leave it alone."""
        from brenner.mail.sqlite.mailbox import flush_folder, translated

        with translated(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flush_folder(self.path.parent.parent)
            ignore = self._own_folder / ".gitignore"
            if self.path.parent == self._own_folder and not ignore.exists():
                ignore.write_text(_IGNORE_EVERYTHING, "utf-8")


class PostgresStore:
    """A schema in a database."""

    lacks = NOTHING_LACKS

    def __init__(self, address: PostgresAddress) -> None:
        self.address = address

    @property
    def shown(self) -> str:
        return f"{shown(self.address.url)} (schema {self.address.schema})"

    def is_there(self) -> bool:
        from brenner.mail.postgres.mailbox import PostgresMailbox

        return PostgresMailbox.is_there(self.address)

    def open(self) -> Mailbox:
        from brenner.mail.postgres.mailbox import PostgresMailbox

        return PostgresMailbox.open(self.address)

    def create(self) -> Mailbox:
        from brenner.mail.postgres.mailbox import PostgresMailbox

        return PostgresMailbox.create(self.address)


class AgentMailStore:
    """A project on an Agent Mail server."""

    def __init__(self, address: AgentMailAddress, token: str | None, own_folder: Path) -> None:
        self.address = address
        self.token = token
        self._own_folder = own_folder

    @property
    def shown(self) -> str:
        return f"{self.address.url} (project {self.address.project})"

    @property
    def lacks(self) -> Lacks:
        from brenner.mail.agent_mail.mailbox import AgentMailMailbox

        return AgentMailMailbox.lacks

    def is_there(self) -> bool:
        from brenner.mail.agent_mail.mailbox import AgentMailMailbox

        return AgentMailMailbox.is_there(self.address, self.token)

    def open(self) -> Mailbox:
        from brenner.mail.agent_mail.mailbox import AgentMailMailbox

        return AgentMailMailbox.open(self.address, self.token, own=self._own_folder)

    def create(self) -> Mailbox:
        from brenner.mail.agent_mail.mailbox import AgentMailMailbox

        return AgentMailMailbox.create(self.address, self.token, own=self._own_folder)

    def check_new_name(self, name: str) -> None:
        """Whether a project that is not there yet could have that name."""
        from brenner.mail.agent_mail.mailbox import AgentMailMailbox

        AgentMailMailbox.check_new_name(self.address, self.token, name)


def store_of(project: Project) -> Store:
    """Where the mail of a project is; nothing is looked at yet."""
    address, own_folder = store_address(project), project.folder / OWN_FOLDER
    if isinstance(address, PostgresAddress):
        return PostgresStore(address)
    if isinstance(address, AgentMailAddress):
        return AgentMailStore(address, project.agent_mail.token, own_folder)
    return SqliteStore(store_file(project, address), own_folder)


def open_mailbox(project: Project, *, create: bool, needs_operator: bool = True) -> Mailbox:
    """The project's mailbox.

    Only who is going to write makes a store; who reads where there is none finds no mail. A
    mailbox for writing knows the operator, unless she is not needed and another project has her
    name.
    """
    store = store_of(project)
    if create:
        _check_operator(store, project, needs_operator)
    mailbox = _opened(store, create=create)
    mailbox.operator = project.operator
    return _with_operator(mailbox, project, store, needs_operator) if create else mailbox


def _opened(store: Store, *, create: bool) -> Mailbox:
    if create:
        return store.create()
    if store.is_there():
        return store.open()
    from brenner.mail.memory import MemoryMailbox  # only a project without mail needs it

    return MemoryMailbox(lacks=store.lacks)


def _check_operator(store: Store, project: Project, needs_operator: bool) -> None:
    """Who cannot be known there is told before anything is made on the server."""
    if not isinstance(store, AgentMailStore) or store.is_there():
        return
    if project.operator == OPERATOR:
        raise _needs_name(store, project)
    if needs_operator:
        store.check_new_name(project.operator)


def _needs_name(store: Store, project: Project) -> RequestError:

    name, option = project.operator, store_option(project)
    return RequestError(OPERATOR_NEEDS_NAME.at(where=store.shown, name=name, option=option))


def _with_operator(
    mailbox: Mailbox, project: Project, store: Store, needs_operator: bool
) -> Mailbox:
    """A name is taken from another project only by who says so."""
    name, own_names = project.operator, Capability.OWN_NAMES not in mailbox.lacks
    try:
        if all(agent.name != name for agent in mailbox.agents()):
            if name == OPERATOR and not own_names:
                raise _needs_name(store, project)
            mailbox.register(Profile(name, task=_TASK), update=own_names)
    except BaseException as error:
        if needs_operator or not _is_elsewhere(error):
            mailbox.close()
            raise
    return mailbox


def _is_elsewhere(error: BaseException) -> bool:
    return isinstance(error, RequestError) and error.diagnostic.code == NAME_ELSEWHERE


# How an advised command names the store that the command before it was told of.


# What says the same to every command
_KNOWN_WITHOUT = ("BRENNER_STORE", f"`{SETTINGS_FILE}`")


def store_option(project: Project, option: str = "--store") -> str:
    """What a command must say to use the same store; nothing where it is known without that.

    A password is left out: what is advised is shown, and copied.
    """
    if project.store is None or project.store_from in _KNOWN_WITHOUT:
        return ""
    address, written = parse_store(project.store), project.store
    if isinstance(address, PostgresAddress):
        written = address.without_password.written
    return f" {option} {quote(written)}"
