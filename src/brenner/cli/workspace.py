"""The workspace of a command (project, mailbox, actor), and how failures are reported."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, cast

from brenner.cli.options import EXIT_INVALID, EXIT_UNAVAILABLE, EXIT_USAGE
from brenner.cli.output import failure_json, write_diagnostics, write_json
from brenner.cli.terminal import print_message
from brenner.config import Project, find_project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.serving import TOKEN_NEEDED, UNUSABLE_TOKEN
from brenner.diagnostics.codes.sessions import MALFORMED_ROSTER
from brenner.diagnostics.model import BrennerError, RequestError, UnavailableError
from brenner.mail.model import Profile
from brenner.mail.open import SqliteStore, describe_place, require_project, store_of, with_place
from brenner.services.init_project import check_folder, explain_operator_name
from brenner.services.workspace import Workspace, workspace_in
from brenner.text import escape_control_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brenner.cli.options import Settings
    from brenner.diagnostics.model import Diagnostic
    from brenner.mail.mailbox import Mailbox

# Reporting failures


# Errors in the call or the setup of the program, not in the request to the mail
_USAGE_CODES = {
    codes.NO_SUCH_PROJECT.id,
    codes.NOT_A_PROJECT.id,
    codes.INVALID_SETTINGS.id,
    codes.STORE_FOLDER_MISSING.id,
    codes.UNKNOWN_STORE.id,
    MALFORMED_ROSTER.id,
    TOKEN_NEEDED.id,
    UNUSABLE_TOKEN.id,
}
_REPAIRED_HEADING = "Message to send:"
_SETTINGS_CODES = {codes.INVALID_SETTINGS.id, codes.UNKNOWN_SETTING.id}


def write_failure(error: BrennerError, settings: Settings) -> int:
    """Report an error of a command, as text or JSON, and return the exit code."""
    error.diagnostic = found = diagnostic_of(error, settings)
    if settings.as_json:
        write_json(failure_json(found))
    else:
        write_error(error)
    return exit_code(error)


def diagnostic_of(error: BrennerError, settings: Settings) -> Diagnostic:
    """Return the diagnostic of a command's error, with the project if that may be the wrong one."""
    try:
        project = find_project(settings.project, os.environ, settings.store)
        return with_place(error.diagnostic, project)
    except BrennerError:  # the error is about the project
        return error.diagnostic


def write_error(error: BrennerError) -> None:
    """Write the diagnostic and its details: a diff, the output of git, a message to send."""
    found = error.diagnostic
    write_diagnostics([found], location_label(found.id), sys.stderr)
    for text in filter(None, error.details):
        sys.stderr.write(indented(text))
    if found.repaired:
        sys.stderr.write(f"\n{_REPAIRED_HEADING}\n\n{_escape_lines(found.repaired)}")


def indented(text: str) -> str:
    """Return a text indented and escaped, to be shown below a diagnostic."""
    return _escape_lines(text, " " * 6)


def _escape_lines(text: str, margin: str = "") -> str:
    """Escape control characters, except line feeds and tabs."""
    escaped = (escape_control_lines(part) for part in text.rstrip("\n").split("\t"))
    return "".join(f"{margin}{line}\n" for line in "\t".join(escaped).split("\n"))


def exit_code(error: BrennerError) -> int:
    """Return 1 for a refusal, 2 for wrong usage, 3 for an unavailable resource."""
    if isinstance(error, UnavailableError):
        return EXIT_UNAVAILABLE
    return EXIT_USAGE if error.diagnostic.id in _USAGE_CODES else EXIT_INVALID


def location_label(code_id: str) -> str:
    """Return what a diagnostic is about: the settings file or the program."""
    return "brenner.toml" if code_id in _SETTINGS_CODES else "brenner"


def workspace_of(
    settings: Settings, *, project: Project | None = None, create: bool = False
) -> Workspace:
    """Open the workspace of a command, and print warnings about the project's settings.

    Raise RequestError outside a project, unless `project` is given.
    """
    found = project or require_project(project_of(settings))
    here = _open_workspace(found, settings.actor, create=create)
    if project is None and not settings.as_json and not _has_store(here):
        print_message(f"No mail yet in {describe_place(found)}.", sys.stderr)
    return here


def _has_store(here: Workspace) -> bool:
    store = store_of(here.project)
    if isinstance(store, SqliteStore):
        return store.is_there()
    from brenner.mail.memory import MemoryMailbox  # a file is known without it

    return not isinstance(here.mailbox, MemoryMailbox)


def workspace_for_writing(
    settings: Settings, *, project: Project | None = None, needs_operator: bool = True
) -> Workspace:
    """Open the workspace of a command that writes. The first accepted write creates the store.

    Raise RequestError outside a project, unless `project` is given.
    """
    project = project or require_project(project_of(settings))
    open_store = partial(
        _open_workspace, project, settings.actor, create=True, needs_operator=needs_operator
    )
    store = store_of(project)
    if store.is_there():
        return open_store()
    check_folder(store)
    from brenner.mail.memory import MemoryMailbox, NewMailbox  # only for a project without mail

    memory = MemoryMailbox(lacks=store.lacks)
    with _errors_about_operator():
        memory.register(Profile(project.operator, task="operator"))
    mailbox = cast("Mailbox", NewMailbox(memory, partial(_create_store, open_store, settings)))
    return Workspace(mailbox, project, settings.actor or project.operator)


def _create_store(open_store: Callable[[], Workspace], settings: Settings) -> Mailbox:
    """Create the store, and say so: in a folder that was named by mistake it is the wrong one."""
    here = open_store()
    if not settings.as_json:
        what = "mailbox" if here.project.is_known else "project"
        print_message(f"Created a {what} in {describe_place(here.project)}.", sys.stderr)
    return here.mailbox


def workspace_without_mail(settings: Settings) -> Workspace:
    """Return a workspace that reads files only: no store, no server (companion 4)."""
    from brenner.mail.memory import MemoryMailbox

    project = project_of(settings)
    return Workspace(MemoryMailbox(), project, settings.actor or project.operator)


def project_of(settings: Settings) -> Project:
    """Return the project, and print warnings about its settings. It may be none yet."""
    project = find_project(settings.project, os.environ, settings.store)
    if not settings.as_json:
        for found in project.diagnostics:
            write_diagnostics([found], location_label(found.id), sys.stderr)
    return project


def _open_workspace(
    project: Project, actor: str | None, *, create: bool, needs_operator: bool = True
) -> Workspace:
    check_folder(store_of(project))
    with _errors_about_operator():
        return workspace_in(project, actor, create=create, needs_operator=needs_operator)


@contextmanager
def _errors_about_operator() -> Iterator[None]:
    """Rewrite errors about a name: while a workspace is opened, the name is the operator's."""
    try:
        yield
    except RequestError as refused:
        raise RequestError(explain_operator_name(refused.diagnostic)) from None
