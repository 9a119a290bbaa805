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
from brenner.mail.open import AgentMailStore, PostgresStore, store_of
from brenner.services.init_project import check_folder, explain_operator_name
from brenner.services.workspace import Workspace, workspace_in
from brenner.text import escape_control, escape_control_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.cli.options import Settings
    from brenner.mail.mailbox import Mailbox

# Reporting failures


# Errors in the call or the setup of the program, not in the request to the mail
_USAGE_CODES = {
    codes.NO_SUCH_PROJECT.id,
    codes.INVALID_SETTINGS.id,
    codes.UNKNOWN_STORE.id,
    MALFORMED_ROSTER.id,
    TOKEN_NEEDED.id,
    UNUSABLE_TOKEN.id,
}
_REPAIRED_HEADING = "Message to send:"
_SETTINGS_CODES = {codes.INVALID_SETTINGS.id, codes.UNKNOWN_SETTING.id}


def write_failure(error: BrennerError, *, as_json: bool) -> int:
    """Report an error, as text or JSON, and return the exit code."""
    found = error.diagnostic
    if as_json:
        write_json(failure_json(found))
    else:
        write_error(error)
    return exit_code(error)


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


def workspace_of(settings: Settings, *, create: bool = False) -> Workspace:
    """Open the workspace of a command, and print warnings about the project's settings."""
    here = _open_workspace(_find_project(settings), settings.actor, create=create)
    store = store_of(here.project)
    if isinstance(store, PostgresStore | AgentMailStore) and not settings.as_json:
        from brenner.mail.memory import MemoryMailbox

        if isinstance(here.mailbox, MemoryMailbox):
            # A missing file is easy to notice, a typo in an address is not.
            print_message(f"No mail in {escape_control(store.shown)} yet.", sys.stderr)
    return here


def workspace_for_writing(
    settings: Settings, *, project: Project | None = None, needs_operator: bool = True
) -> Workspace:
    """Open the workspace of a command that writes. The first accepted write creates the store."""
    project = project or _find_project(settings)
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
    mailbox = cast("Mailbox", NewMailbox(memory, lambda: open_store().mailbox))
    return Workspace(mailbox, project, settings.actor or project.operator)


def workspace_without_mail(settings: Settings) -> Workspace:
    """Return a workspace that reads files only: no store, no server (companion 4)."""
    from brenner.mail.memory import MemoryMailbox

    project = _find_project(settings)
    return Workspace(MemoryMailbox(), project, settings.actor or project.operator)


def _find_project(settings: Settings) -> Project:
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
