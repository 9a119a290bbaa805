"""Set up a project: its mailbox, its operator and, if requested, its settings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from brenner.config import (
    OWN_FOLDER,
    SETTINGS_FILE,
    STORE_FILE,
    Project,
    inspect_project,
    looks_absolute,
)
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import stores as stores_codes
from brenner.diagnostics.codes.serving import NEW_MAILBOX
from brenner.diagnostics.codes.stores import MAIL_LEFT_BEHIND
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnavailableError
from brenner.mail.open import SqliteStore, Store, open_mailbox, store_of, store_option
from brenner.mail.rules import name_problem
from brenner.named_tuple import NamedTuple
from brenner.services.workspace import store_identity, why_not_a_folder
from brenner.store_url import PostgresAddress, SqliteAddress, parse_store
from brenner.text import escape_control, grouped

if TYPE_CHECKING:
    from collections.abc import Callable

# Mail left in the store inside the project after the project was given another store


_PROJECT_STORE_PATH = f"{OWN_FOLDER}/{STORE_FILE}"


def mail_left_behind(
    project: Project, messages: Callable[[], int], option: str = ""
) -> Diagnostic | None:
    """Return a hint if the store inside the project has more messages than the configured one.

    `messages` returns the number in the configured store; it is called only if there is such mail.
    `option` is the store option of the suggested command. Errors are ignored: this is only a hint.
    """
    try:
        home, inside = store_of(project), project_store(project)
        count = 0 if store_identity(home) == store_identity(inside) else _count_messages(inside)
        there = messages() if count else 0
    except BrennerError:
        return None
    if count <= there:
        return None
    command = (
        f"brenner mail copy{_project_option(project)} --from {_project_store_url(project)}{option}"
    )
    found = MAIL_LEFT_BEHIND.at(
        what=grouped(count, "message"),
        path=_PROJECT_STORE_PATH,
        there=grouped(there, "message"),
        where=home.shown,
        command=command,
    )
    whole = escape_control(command, len(command) + 1)  # to copy and paste, so not truncated
    return found._replace(fix=MAIL_LEFT_BEHIND.fix.format(command=whole))


def project_store(project: Project) -> Store:
    """Return the store inside the project's folder, which is the default."""
    return store_of(project._replace(store=None))


def _count_messages(store: Store) -> int:
    if not store.is_there():
        return 0
    with store.open() as mailbox:
        return mailbox.position()


def _project_option(project: Project) -> str:
    is_named = project.folder_from == "--project"
    return f" --project {quote(str(project.folder))}" if is_named else ""


def _project_store_url(project: Project) -> str:
    """Return the store's URL for the command line, relative to the current folder if possible."""
    try:
        is_here = Path.cwd() == project.folder
    except OSError:
        is_here = False
    return quote(
        f"sqlite:///{_PROJECT_STORE_PATH if is_here else project.folder / _PROJECT_STORE_PATH}"
    )


STORE_OPTION, STORE_ENV = "--store", "BRENNER_STORE"
_NAME_CODES = (mail_codes.NAME_LOOKS_LIKE, mail_codes.INVALID_NAME)


class InitResult(NamedTuple):
    """A project that is set up.

    `created` lists what did not exist before. `setting` would save a store that no file names.
    `hint` is about mail in the store inside the project.
    """

    project: Project
    store: str
    created: tuple[str, ...]
    messages: int
    agents: int
    is_operator_new: bool
    setting: StoreSetting | None = None
    hint: Diagnostic | None = None


def init_project(project: Project, operator: str | None = None) -> InitResult:
    """Create what a project lacks; what exists stays unchanged.

    Opening the mailbox for writing also registers the operator. Another operator name needs a new
    settings file. A store given by option is saved there, too, unless it contains a password.
    """
    store = store_of(project)
    check_folder(store)
    setting = _unsaved_setting(project)
    is_new = not store.is_there()
    if operator is None or operator == project.operator:
        return _with_hint(_create_mailbox(project, store, is_new)._replace(setting=setting))
    found = name_problem(operator, ())
    if found:
        raise RequestError(found)
    is_asked_for = project.store_from == STORE_OPTION
    line, lacks_password = setting or (None, False)
    kept = line if is_asked_for and not lacks_password else None
    settings = _write_settings(project, operator, kept)
    try:
        done = _create_mailbox(project._replace(operator=operator), store, is_new)
    except BrennerError:
        settings.unlink(missing_ok=True)
        raise
    done = done._replace(created=(*done.created, str(settings)), setting=None if kept else setting)
    return _with_hint(done)


def _with_hint(done: InitResult) -> InitResult:
    option = store_option(done.project, "--to") if done.setting else ""
    return done._replace(hint=mail_left_behind(done.project, lambda: done.messages, option))


def is_set_up(project: Project) -> bool:
    """Return whether the folder looks like a project, or its store was given. Open no store."""
    own = (project.folder / OWN_FOLDER, project.folder / SETTINGS_FILE)
    return project.store is not None or any(map(os.path.lexists, own))


def new_mailbox_notes(project: Project) -> tuple[Diagnostic, ...]:
    """Return a note if a mailbox will be created for the project."""
    store = store_of(project)
    if store.is_there():
        return ()
    return (
        NEW_MAILBOX.at(
            folder=escape_control(str(project.folder)), store=escape_control(store.shown)
        ),
    )


def explain_operator_name(found: Diagnostic) -> Diagnostic:
    """Return the diagnostic, with a better fix if the store rejected the operator's name."""
    if found.code not in _NAME_CODES:
        return found
    fix = (
        f"This is the operator's name. Write another one in `{SETTINGS_FILE}`, as in "
        '`operator = "Ada"`. If the registered name is the operator, write that one.'
    )
    return found._replace(fix=fix)


# The line in the settings that saves a store, and whether the password is left out of it
StoreSetting = tuple[str, bool]


def store_setting(project: Project) -> StoreSetting | None:
    """Return the line for the shared settings that names the store; None for the default."""
    if project.store is None:
        return None
    address = parse_store(project.store)
    written = project.store
    if isinstance(address, SqliteAddress):
        path = _relative_to_project(project.folder, address.path)
        written = f"sqlite:///{'./' * looks_absolute(path)}{path}"
    if isinstance(address, PostgresAddress):
        written = address.without_password.written
    has_password = isinstance(address, PostgresAddress) and address.has_password
    return _toml_setting("store", written), has_password


def _unsaved_setting(project: Project) -> StoreSetting | None:
    """Return the setting for a store given by option or variable; None if the settings have it."""
    setting = store_setting(project) if project.store_from in (STORE_OPTION, STORE_ENV) else None
    written = inspect_project(str(project.folder), {})
    kept = store_setting(written) if parse_store(written.store or "") else None
    return None if setting and kept and kept[0] == setting[0] else setting


def _relative_to_project(folder: Path, path: str) -> str:
    """Return a path relative to the project's folder, which may move."""
    inside = Path(path).is_relative_to(folder)
    return str(Path(path).relative_to(folder)) if inside else path


def _toml_setting(name: str, text: str) -> str:
    """Return one line of TOML; its strings are those of JSON, except for one character."""
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{name} = {quoted}"


def check_folder(store: Store) -> None:
    """Raise if the path of the store's folder is not a folder, such as a broken link.

    A disk may not be mounted.
    """
    reason = why_not_a_folder(store.path) if isinstance(store, SqliteStore) else None
    if reason:
        raise UnavailableError(stores_codes.STORE_UNUSABLE.at(path=store.shown, reason=reason))


def _create_mailbox(project: Project, store: Store, is_new: bool) -> InitResult:
    known = frozenset() if is_new else _registered_names(store)
    try:
        mailbox = open_mailbox(project, create=True)
    except RequestError as refused:
        raise RequestError(explain_operator_name(refused.diagnostic)) from None
    with mailbox:
        messages, agents = mailbox.position(), mailbox.agents()
        created = (store.shown,) if is_new else ()
        is_operator_new = project.operator not in known
        return InitResult(project, store.shown, created, messages, len(agents), is_operator_new)


def _registered_names(store: Store) -> frozenset[str]:
    with store.open() as mailbox:
        return frozenset(agent.name for agent in mailbox.agents())


def _write_settings(project: Project, operator: str, store: str | None) -> Path:
    """Write a new settings file; never overwrite one."""
    path = project.folder / SETTINGS_FILE
    lines = [_toml_setting("operator", operator), *([store] if store else [])]
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        reason = f"cannot write `{SETTINGS_FILE}` there ({(error.strerror or '').lower()})"
        found = stores_codes.NO_SUCH_PROJECT.at(path=str(project.folder), reason=reason)
        raise UnavailableError(found) from error
    return path
