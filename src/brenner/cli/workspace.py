"""Where a mail command sits down: the project, its mailbox, and who is at work."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from brenner.cli.options import Settings
from brenner.cli.output import failure, write_diagnostics, write_json
from brenner.cli.terminal import print_message
from brenner.config import Project, find_project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.serving import TOKEN_NEEDED, UNUSABLE_TOKEN
from brenner.diagnostics.codes.sessions import MALFORMED_ROSTER
from brenner.diagnostics.model import BrennerError, RequestError, UnavailableError
from brenner.mail.model import Profile
from brenner.mail.open import AgentMailStore, PostgresStore, store_of
from brenner.services.init_project import about_operator, check_folder
from brenner.services.workspace import Workspace, workspace_in
from brenner.text import escape_control

# How a command ends that could not do its work: the words, and the exit code.


REFUSED, USAGE, UNAVAILABLE = 1, 2, 3
# What is wrong with how the program was called or set up, not with what was asked of the mail
_USAGE = {
    codes.NO_SUCH_PROJECT.id,
    codes.INVALID_SETTINGS.id,
    codes.UNKNOWN_STORE.id,
    MALFORMED_ROSTER.id,
    TOKEN_NEEDED.id,
    UNUSABLE_TOKEN.id,
}
_GIVEN = "The message that does it, from here to the end:"
_IN_SETTINGS = {codes.INVALID_SETTINGS.id, codes.UNKNOWN_SETTING.id}


def write_failure(error: BrennerError, *, as_json: bool) -> int:
    """Say what could not be done; the exit code."""
    found = error.diagnostic
    if as_json:
        write_json(failure(found, click.get_current_context(silent=True)))
    else:
        write_error(error)
    return exit_code(error)


def write_error(error: BrennerError) -> None:
    """What went wrong, and what belongs to it: a difference, what git said, what to send."""
    found = error.diagnostic
    write_diagnostics([found], place_of(found.id), sys.stderr)
    for text in filter(None, error.details):
        sys.stderr.write(indented(text))
    if found.repaired:
        sys.stderr.write(f"\n{_GIVEN}\n\n{_shown(found.repaired)}")


def indented(text: str) -> str:
    """A text as it may be shown beside a diagnostic."""
    return _shown(text, " " * 6)


def _shown(text: str, margin: str = "") -> str:
    """Lines stay lines and tabs stay tabs; what else is hidden is spelled out."""
    lines = text.rstrip("\n").split("\n")
    return "".join(f"{margin}{_line(line)}\n" for line in lines)


def _line(line: str) -> str:
    return "\t".join(escape_control(part, len(part) + 1) for part in line.split("\t"))


def exit_code(error: BrennerError) -> int:
    """1 for a refusal, 2 for wrong usage, 3 for a world that is broken."""
    if isinstance(error, UnavailableError):
        return UNAVAILABLE
    return USAGE if error.diagnostic.id in _USAGE else REFUSED


def place_of(code_id: str) -> str:
    """What a diagnostic with a line is about: the settings, or else the program."""
    return "brenner.toml" if code_id in _IN_SETTINGS else "brenner"


FINE, CONTENT, UNREADABLE = 0, 1, 2


def workspace_of(settings: Settings, *, create: bool = False) -> Workspace:
    """The desk for one command; what is odd in the project's settings is told."""
    here = _sit_down(_project(settings), settings.actor, create=create)
    store = store_of(here.project)
    if isinstance(store, PostgresStore | AgentMailStore) and is_trial(here):
        # A file that is missing is seen in its folder; a slip in an address is seen nowhere.
        _note(f"There is no mail in {escape_control(store.shown)} yet.", settings)
    return here


def trial_workspace(settings: Settings, *, needs_operator: bool = True) -> Workspace:
    """The desk for a command that writes unless it is refused.

    Where there is no store yet, it is one in memory, so that a refusal leaves nothing behind; what
    was done there `is_trial`, and is done again at the `real_desk`.
    """
    project = _project(settings)
    has_store = store_of(project).is_there()
    here = _sit_down(project, settings.actor, create=has_store, needs_operator=needs_operator)
    if not has_store:
        with _about_operator():
            here.mailbox.register(Profile(project.operator, task="operator"), update=True)
    return here


def desk_without_mail(settings: Settings) -> Workspace:
    """The desk of who reads files only: it needs no store, and asks no server (companion 4)."""
    from brenner.mail.memory import MemoryMailbox

    project = _project(settings)
    return Workspace(MemoryMailbox(), project, settings.actor or project.operator)


def is_trial(here: Workspace) -> bool:
    """Whether nothing that is done there stays."""
    from brenner.mail.memory import MemoryMailbox  # only who writes asks

    return isinstance(here.mailbox, MemoryMailbox)


def real_workspace(here: Workspace, *, needs_operator: bool = True) -> Workspace:
    """The same desk where what is done stays."""
    return _sit_down(here.project, here.actor, create=True, needs_operator=needs_operator)


def _note(words: str, settings: Settings) -> None:
    if not settings.as_json:
        print_message(words, sys.stderr)


def _project(settings: Settings) -> Project:
    project = find_project(settings.project, os.environ, settings.store)
    if not settings.as_json:
        for found in project.diagnostics:
            write_diagnostics([found], place_of(found.id), sys.stderr)
    return project


def _sit_down(
    project: Project, actor: str | None, *, create: bool, needs_operator: bool = True
) -> Workspace:
    check_folder(store_of(project))
    with _about_operator():
        return workspace_in(project, actor, create=create, needs_operator=needs_operator)


@contextmanager
def _about_operator() -> Iterator[None]:
    """A name that is refused while a desk is made ready is the operator's."""
    try:
        yield
    except RequestError as refused:
        raise RequestError(about_operator(refused.diagnostic)) from None
