"""Setting a project up: its mailbox, its operator and, where asked for, its settings."""
# Where one may not look, os.path says no and pathlib raises.

from pathlib import Path
from typing import NamedTuple

from brenner.diagnostics.codes import mail as names
from brenner.diagnostics.codes import store as codes
from brenner.diagnostics.errors import BrennerError, Refused, Unavailable
from brenner.diagnostics.model import Diagnostic
from brenner.mail.names import name_refusal
from brenner.mail.open import SqliteStore, Store, open_mailbox, store_of
from brenner.project import SETTINGS_FILE, Project
from brenner.workflows.access import why_no_folder

_OF_NAMES = (names.NAME_LOOKS_LIKE, names.INVALID_NAME)


class Initialised(NamedTuple):
    """A project that is ready. `created` is what was not there before."""

    project: Project
    store: str
    created: tuple[str, ...]
    messages: int
    agents: int


def init_project(project: Project, operator: str | None = None) -> Initialised:
    """Make what a project lacks; what is there stays as it is.

    A mailbox that is opened for writing knows the operator, so opening it is all. An operator of
    another name than the project's needs settings, and there must be none yet.
    """
    store = store_of(project)
    check_folder(store)
    created = () if store.is_there() else (store.shown,)
    if operator is None or operator == project.operator:
        return _with_mailbox(project, store, created)
    found = name_refusal(operator, ())
    if found:
        raise Refused(found)
    settings = _write_settings(project, operator)
    try:
        named = project._replace(operator=operator)
        return _with_mailbox(named, store, (*created, str(settings)))
    except BrennerError:
        settings.unlink(missing_ok=True)
        raise


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


def check_folder(store: Store) -> None:
    """A folder that leads nowhere is not a project without mail: a disk may not be mounted."""
    reason = why_no_folder(store.path) if isinstance(store, SqliteStore) else None
    if reason:
        raise Unavailable(codes.STORE_UNUSABLE.at(path=store.shown, reason=reason))


def _with_mailbox(project: Project, store: Store, created: tuple[str, ...]) -> Initialised:
    try:
        mailbox = open_mailbox(project, create=True)
    except Refused as refused:
        raise Refused(about_operator(refused.diagnostic)) from None
    with mailbox:
        messages, agents = mailbox.position(), len(mailbox.agents())
        return Initialised(project, store.shown, created, messages, agents)


def _write_settings(project: Project, operator: str) -> Path:
    """A new file, never over one that is there."""
    path = project.folder / SETTINGS_FILE
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f'operator = "{operator}"\n')
    except OSError as error:
        reason = f"`{SETTINGS_FILE}` cannot be written there ({(error.strerror or '').lower()})"
        found = codes.NO_SUCH_PROJECT.at(path=str(project.folder), reason=reason)
        raise Unavailable(found) from error
    return path
