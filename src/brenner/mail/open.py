"""Find, create and open the mail store of a project.

Each backend is imported on first use, so that a project with one backend does not load the others.
"""

from __future__ import annotations

import os
from shlex import quote
from typing import TYPE_CHECKING

from brenner.config import OPERATOR, OWN_FOLDER, SETTINGS_FILE, Project, store_address, store_file
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes.stores import (
    NAME_ELSEWHERE,
    NOT_A_PROJECT,
    OPERATOR_NEEDS_NAME,
    STORE_FOLDER_MISSING,
)
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import NOTHING_MISSING, Capability, Mailbox, MissingCapabilities
from brenner.mail.model import Profile
from brenner.store_url import AgentMailAddress, PostgresAddress, parse_store, redact_address
from brenner.text import escape_control

if TYPE_CHECKING:
    from pathlib import Path

    from brenner.diagnostics.model import Diagnostic

_IGNORE_EVERYTHING = "*\n"
# An agent or operator in the wrong folder gets these
_CODES_WITH_PLACE = (
    mail_codes.UNKNOWN_THREAD,
    mail_codes.UNKNOWN_MESSAGE,
    mail_codes.NO_SUCH_AGENT,
    mail_codes.UNKNOWN_SENDER,
    mail_codes.UNKNOWN_RECIPIENT,
)
_OPERATOR_TASK = "operator"
_MOST_SHOWN_PATH = 4096


class SqliteStore:
    """A SQLite file."""

    lacks = NOTHING_MISSING

    def __init__(self, path: Path, own_folder: Path) -> None:
        self.path = path
        self._own_folder = own_folder

    @property
    def shown(self) -> str:
        return str(self.path)

    def is_there(self) -> bool:
        """Return whether the file exists; a dangling symbolic link counts.

        Raise UnavailableError if the folder is not readable: then there may be mail.
        """
        from brenner.mail.sqlite.mailbox import check_no_log, translate_errors

        with translate_errors(self.path):
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
        """Create our own folder, with a `.gitignore`. Any other folder must exist.

        A folder that does not exist is usually a typo, or a disk that is not mounted.
        """
        from brenner.mail.sqlite.mailbox import fsync_folder, translate_errors

        with translate_errors(self.path):
            if self.path.parent != self._own_folder:
                self._check_folder()
                return
            self._own_folder.mkdir(exist_ok=True)
            fsync_folder(self._own_folder.parent)
            ignore = self._own_folder / ".gitignore"
            # A full disk may have left it empty.
            if not (ignore.exists() and ignore.stat().st_size):
                ignore.write_text(_IGNORE_EVERYTHING, "utf-8")

    def _check_folder(self) -> None:
        folder = str(self.path.parent)
        if os.path.lexists(folder):
            return
        found = STORE_FOLDER_MISSING.at(path=str(self.path), folder=folder)
        argument = quote(escape_control(folder, len(folder) + 1))
        raise RequestError(found._replace(fix=STORE_FOLDER_MISSING.fix.format(argument=argument)))


class PostgresStore:
    """A schema in a PostgreSQL database."""

    lacks = NOTHING_MISSING

    def __init__(self, address: PostgresAddress) -> None:
        self.address = address

    @property
    def shown(self) -> str:
        return f"{redact_address(self.address.url)} (schema {self.address.schema})"

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
    def lacks(self) -> MissingCapabilities:
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
        """Raise RequestError if the first agent of a new project cannot have that name."""
        from brenner.mail.agent_mail.mailbox import AgentMailMailbox

        AgentMailMailbox.check_new_name(self.address, self.token, name)


# The location of a project's mail, which may not exist yet; `lacks` is known before. `is_there`
# raises UnavailableError if that cannot be determined.
Store = SqliteStore | PostgresStore | AgentMailStore


def store_of(project: Project) -> Store:
    """Return the store of a project, without checking whether it exists."""
    address, own_folder = store_address(project), project.folder / OWN_FOLDER
    if isinstance(address, PostgresAddress):
        return PostgresStore(address)
    if isinstance(address, AgentMailAddress):
        return AgentMailStore(address, project.agent_mail.token, own_folder)
    return SqliteStore(store_file(project, address), own_folder)


def open_mailbox(project: Project, *, create: bool, needs_operator: bool = True) -> Mailbox:
    """Open the project's mailbox.

    With `create`, a missing store is created and the operator is registered. Otherwise a missing
    store gives an empty mailbox in memory. The operator may stay unregistered if `needs_operator`
    is false and another project has that name.
    """
    store = store_of(project)
    if create:
        _check_operator(store, project, needs_operator)
    mailbox = _open_store(store, create=create)
    mailbox.operator = project.operator
    return _register_operator(mailbox, project, store, needs_operator) if create else mailbox


def _open_store(store: Store, *, create: bool) -> Mailbox:
    if create:
        return store.create()
    if store.is_there():
        return store.open()
    from brenner.mail.memory import MemoryMailbox  # only a project without mail needs it

    return MemoryMailbox(lacks=store.lacks)


def _check_operator(store: Store, project: Project, needs_operator: bool) -> None:
    """Raise RequestError if the operator cannot be registered, before anything is created there."""
    if not isinstance(store, AgentMailStore) or store.is_there():
        return
    if project.operator == OPERATOR:
        raise _operator_needs_name(store, project)
    if needs_operator:
        store.check_new_name(project.operator)


def _operator_needs_name(store: Store, project: Project) -> RequestError:
    name, option = project.operator, store_option(project)
    return RequestError(OPERATOR_NEEDS_NAME.at(where=store.shown, name=name, option=option))


def _register_operator(
    mailbox: Mailbox, project: Project, store: Store, needs_operator: bool
) -> Mailbox:
    """Register the operator, without taking the name from another project."""
    name, has_project_names = project.operator, Capability.PROJECT_NAMES not in mailbox.lacks
    try:
        if not mailbox.agents([name]):
            if name == OPERATOR and not has_project_names:
                raise _operator_needs_name(store, project)
            mailbox.register(Profile(name, task=_OPERATOR_TASK), update=has_project_names)
    except BaseException as error:
        is_elsewhere = isinstance(error, RequestError) and error.diagnostic.code == NAME_ELSEWHERE
        if needs_operator or not is_elsewhere:
            mailbox.close()
            raise
    return mailbox


def require_project(project: Project) -> Project:
    """Return the project; raise RequestError if none was found and nothing was named."""
    if not project.is_known:
        raise RequestError(NOT_A_PROJECT.at(folder=str(project.folder)))
    return project


def describe_place(project: Project) -> str:
    """Return where the mail is, such as `/srv/lab`, store `.brenner/mail.sqlite3`."""
    store = store_of(project)
    shown = store.shown
    if isinstance(store, SqliteStore) and store.path.is_relative_to(project.folder):
        shown = str(store.path.relative_to(project.folder))
    folder = escape_control(str(project.folder), _MOST_SHOWN_PATH)
    return f"`{folder}`, store `{escape_control(shown, _MOST_SHOWN_PATH)}`"


def with_place(found: Diagnostic, project: Project) -> Diagnostic:
    """Add the folder and the store to a diagnostic about what the store does not contain."""
    if found.code not in _CODES_WITH_PLACE:
        return found
    return found._replace(message=f"{found.message} Project: {describe_place(project)}.")


# Sources of the store's address that every command reads by itself
_IMPLICIT_SOURCES = ("BRENNER_STORE", f"`{SETTINGS_FILE}`")


def store_option(project: Project, option: str = "--store") -> str:
    """Return the option by which a suggested command uses the same store; empty if it is not
    needed.

    The password is left out, because suggested commands are shown and copied.
    """
    if project.store is None or project.store_from in _IMPLICIT_SOURCES:
        return ""
    address, written = parse_store(project.store), project.store
    if isinstance(address, PostgresAddress):
        written = address.without_password.written
    return f" {option} {quote(written)}"
