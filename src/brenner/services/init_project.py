"""Setting a project up: its mailbox, its operator and, where asked for, its settings."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from brenner.config import OWN_FOLDER, SETTINGS_FILE, STORE_FILE, Project, look_at_project
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import stores as stores_codes
from brenner.diagnostics.codes.serving import NEW_MAILBOX
from brenner.diagnostics.codes.stores import MAIL_LEFT_BEHIND
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnavailableError
from brenner.mail.open import SqliteStore, Store, open_mailbox, store_of, store_option
from brenner.mail.rules import name_refusal
from brenner.services.workspace import place, why_no_folder
from brenner.store_url import PostgresAddress, SqliteAddress, parse_store
from brenner.text import escape_control, grouped

# Mail that stayed in the store inside the project when the project got another home.


_INSIDE = f"{OWN_FOLDER}/{STORE_FILE}"


def left_behind(
    project: Project, messages: Callable[[], int], option: str = ""
) -> Diagnostic | None:
    """That the store inside the project holds more messages than its home does.

    `messages` says how many that has, and is asked only where there is such mail; `option` is
    what the command that brings it over must say of the home. What cannot be read is passed over:
    this is a hint, and no reason to fail.
    """
    try:
        home, inside = store_of(project), inside_store(project)
        count = 0 if place(home) == place(inside) else _count(inside)
        there = messages() if count else 0
    except BrennerError:
        return None
    if count <= there:
        return None
    command = f"brenner mail copy{_of(project)} --from {_address(project)}{option}"
    found = MAIL_LEFT_BEHIND.at(
        what=f"{grouped(count, 'message')} {'is' if count == 1 else 'are'}",
        path=_INSIDE,
        there=f"{there:,}",
        where=home.shown,
        command=command,
    )
    whole = escape_control(command, len(command) + 1)  # one copies it: it is not cut
    return found._replace(fix=MAIL_LEFT_BEHIND.fix.format(command=whole))


def inside_store(project: Project) -> Store:
    """The store inside the project's folder, which is its home unless another one was chosen."""
    return store_of(project._replace(store=None))


def _count(store: Store) -> int:
    if not store.is_there():
        return 0
    with store.open() as mailbox:
        return mailbox.position()


def _of(project: Project) -> str:
    is_named = project.folder_from == "--project"
    return f" --project {quote(str(project.folder))}" if is_named else ""


def _address(project: Project) -> str:
    """As it is typed here: a relative path is relative to the current folder."""
    try:
        is_here = Path.cwd() == project.folder
    except OSError:
        is_here = False
    return quote(f"sqlite:///{_INSIDE if is_here else project.folder / _INSIDE}")


# Where one may not look, os.path says no and pathlib raises.


OPTION, VARIABLE = "--store", "BRENNER_STORE"
_OF_NAMES = (mail_codes.NAME_LOOKS_LIKE, mail_codes.INVALID_NAME)


class Initialised(NamedTuple):
    """A project that is ready. `created` is what was not there before; `setting` is what would
    keep a store that no file remembers; `hint` is about mail in the store inside the project.
    """

    project: Project
    store: str
    created: tuple[str, ...]
    messages: int
    agents: int
    is_operator_new: bool
    setting: "StoreSetting | None" = None
    hint: Diagnostic | None = None


def init_project(project: Project, operator: str | None = None) -> Initialised:
    """Make what a project lacks; what is there stays as it is.

    A mailbox that is opened for writing knows the operator, so opening it is all. An operator of
    another name than the project's needs settings, and there must be none yet; a store that this
    command was told of is written into them, too, unless it holds a password.
    """
    store = store_of(project)
    check_folder(store)
    setting = _unkept(project)
    is_new = not store.is_there()
    if operator is None or operator == project.operator:
        return _hinted(_with_mailbox(project, store, is_new)._replace(setting=setting))
    found = name_refusal(operator, ())
    if found:
        raise RequestError(found)
    is_asked_for = project.store_from == OPTION
    kept = setting.line if setting and is_asked_for and not setting.lacks_password else None
    settings = _write_settings(project, operator, kept)
    try:
        done = _with_mailbox(project._replace(operator=operator), store, is_new)
    except BrennerError:
        settings.unlink(missing_ok=True)
        raise
    done = done._replace(created=(*done.created, str(settings)), setting=None if kept else setting)
    return _hinted(done)


def _hinted(done: Initialised) -> Initialised:
    """With what is to be known of mail that is somewhere else."""
    option = store_option(done.project, "--to") if done.setting else ""
    return done._replace(hint=left_behind(done.project, lambda: done.messages, option))


def is_set_up(project: Project) -> bool:
    """Whether the folder looks like a project, or its store was named; nobody is asked."""
    own = (project.folder / OWN_FOLDER, project.folder / SETTINGS_FILE)
    return project.store is not None or any(map(os.path.lexists, own))


def new_mailbox(project: Project) -> tuple[Diagnostic, ...]:
    """What to tell of the mailbox that is made for a project; nothing where there is one."""
    store = store_of(project)
    if store.is_there():
        return ()
    return (
        NEW_MAILBOX.at(
            folder=escape_control(str(project.folder)), store=escape_control(store.shown)
        ),
    )


def about_operator(found: Diagnostic) -> Diagnostic:
    """Why a mailbox could not be opened for writing, which makes the operator known to it.

    A name that it refuses then is the operator's, and is mended where that is said.
    """
    if found.code not in _OF_NAMES:
        return found
    fix = (
        f"It is the operator's name. Write another one into `{SETTINGS_FILE}`, as in "
        '`operator = "Ada"`; if the registered one is the operator, write that.'
    )
    return found._replace(fix=fix)


class StoreSetting(NamedTuple):
    """The line in the settings that keeps a store; a password is never in it."""

    line: str
    lacks_password: bool


def store_setting(project: Project) -> StoreSetting | None:
    """How its store is written into the settings, which others read too; None for the default."""
    if project.store is None:
        return None
    address = parse_store(project.store)
    written = project.store
    if isinstance(address, SqliteAddress):
        written = f"sqlite:///{_seen_from(project.folder, address.path)}"
    if isinstance(address, PostgresAddress):
        written = address.without_password.written
    has_password = isinstance(address, PostgresAddress) and address.has_password
    return StoreSetting(_setting("store", written), lacks_password=has_password)


def _unkept(project: Project) -> StoreSetting | None:
    """How to keep a store that was said to a command, or by a variable; None where it is kept."""
    setting = store_setting(project) if project.store_from in (OPTION, VARIABLE) else None
    written = look_at_project(str(project.folder), {})
    kept = store_setting(written) if parse_store(written.store or "") else None
    return None if setting and kept and kept.line == setting.line else setting


def _seen_from(folder: Path, path: str) -> str:
    """A path in a setting is relative to the project's folder, which may move."""
    inside = Path(path).is_relative_to(folder)
    return str(Path(path).relative_to(folder)) if inside else path


def _setting(name: str, text: str) -> str:
    """One line of TOML; its texts are those of JSON, but for one character."""
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{name} = {quoted}"


def check_folder(store: Store) -> None:
    """A folder that leads nowhere is not a project without mail: a disk may not be mounted."""
    reason = why_no_folder(store.path) if isinstance(store, SqliteStore) else None
    if reason:
        raise UnavailableError(stores_codes.STORE_UNUSABLE.at(path=store.shown, reason=reason))


def _with_mailbox(project: Project, store: Store, is_new: bool) -> Initialised:
    known = frozenset() if is_new else _names(store)
    try:
        mailbox = open_mailbox(project, create=True)
    except RequestError as refused:
        raise RequestError(about_operator(refused.diagnostic)) from None
    with mailbox:
        messages, agents = mailbox.position(), mailbox.agents()
        created = (store.shown,) if is_new else ()
        is_operator_new = project.operator not in known
        return Initialised(project, store.shown, created, messages, len(agents), is_operator_new)


def _names(store: Store) -> frozenset[str]:
    """Who is known there."""
    with store.open() as mailbox:
        return frozenset(agent.name for agent in mailbox.agents())


def _write_settings(project: Project, operator: str, store: str | None) -> Path:
    """A new file, never over one that is there."""
    path = project.folder / SETTINGS_FILE
    lines = [_setting("operator", operator), *([store] if store else [])]
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        reason = f"`{SETTINGS_FILE}` cannot be written there ({(error.strerror or '').lower()})"
        found = stores_codes.NO_SUCH_PROJECT.at(path=str(project.folder), reason=reason)
        raise UnavailableError(found) from error
    return path
