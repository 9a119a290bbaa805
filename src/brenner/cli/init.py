"""`brenner init`: set up a project, its mailbox and its operator."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shlex import quote

import click

from brenner.cli.options import EXIT_OK, Command, Settings, common_options, examples
from brenner.cli.output import note_changes_made, write_diagnostics, write_json
from brenner.cli.terminal import print_message
from brenner.cli.workspace import location_label
from brenner.config import SETTINGS_FILE, Project, find_project
from brenner.diagnostics.model import RequestError, Summary
from brenner.mail.open import SqliteStore, store_of
from brenner.mail.rules import name_problem
from brenner.services.init_project import STORE_ENV, InitResult, init_project
from brenner.text import grouped


@click.command(
    cls=Command,
    epilog=examples(
        "brenner init",
        "brenner init --operator Ada",
        "brenner init --store postgresql://db.example.org/lab",
    ),
)
@click.option("--operator", metavar="NAME", help="Name of the operator (default: Operator).")
@common_options
def command(settings: Settings, operator: str | None) -> int:
    """Create a project in this folder, or in --project DIR.

    Use it once per project. It creates the mail store and registers the operator. The store is
    `.brenner/mail.sqlite3`, which git ignores, or the one of --store. `brenner.toml` is written
    only with --operator and is never overwritten. Existing files and mail stay as they are, so you
    can repeat `init`.
    """
    project = find_project(settings.project, os.environ, settings.store)
    _check_operator(project, operator)
    done = init_project(project, operator)
    note_changes_made()
    if settings.as_json:
        write_json(_to_json(done))
        return EXIT_OK
    for found in project.diagnostics:
        write_diagnostics([found], location_label(found.id), sys.stderr)
    for line in filter(None, (_result_text(done), _variable_note(done), _next_step(done))):
        print_message(line)
    if done.hint:
        write_diagnostics([done.hint], "brenner", sys.stderr)
    return EXIT_OK


def _check_operator(project: Project, operator: str | None) -> None:
    """Refuse to change the operator in a settings file that exists: its author has to edit it.

    An invalid name is refused first, so that the message never suggests writing it there.
    """
    is_there = os.path.lexists(project.folder / SETTINGS_FILE)
    if is_there and operator is not None and operator != project.operator:
        found = name_problem(operator, ())
        if found:
            raise RequestError(found)
        message = (
            f"{project.folder / SETTINGS_FILE} exists and was not changed. "
            f'Write `operator = "{operator}"` into it, then run `brenner init`.'
        )
        raise click.UsageError(message)


def _result_text(done: InitResult) -> str:
    folder = done.project.folder
    if not done.created:
        beginning = "The store exists" if done.is_operator_new else "The project is already set up"
        return f"{beginning}: {_mail_counts(done)} in {done.store}; {_operator_text(done)}."
    is_file = isinstance(store_of(done.project), SqliteStore)
    files = [name for name in done.created if name != done.store or is_file]
    parts = []
    if len(files) < len(done.created):
        parts.append(f"the store {done.store}")
    if files:
        names = " and ".join(name.removeprefix(f"{folder}/") for name in files)
        parts.append(f"{names} in {folder}")
    if done.store not in done.created:
        parts.append(f"found {_mail_counts(done)} in {done.store}")
    return f"Created {' and '.join(parts)}; {_operator_text(done)}."


def _mail_counts(done: InitResult) -> str:
    """Return how many messages and agents were there before.

    An operator registered now does not count.
    """
    agents = done.agents - done.is_operator_new
    return f"{grouped(done.messages, 'message')} and {grouped(agents, 'agent')}"


def _operator_text(done: InitResult) -> str:
    name = done.project.operator
    if done.is_operator_new and done.store not in done.created:
        return f"registered the operator (`{name}`)"
    return f"the operator is `{name}`"


def _next_step(done: InitResult) -> str:
    project = done.project
    if done.setting and project.store_from != STORE_ENV:
        return _store_hint(*done.setting)
    if not done.created and project.folder_from != "--project" and _is_other_folder(project):
        return "Next: work there, or create a new project here: `brenner init --project .`"
    where = f" --project {quote(str(project.folder))}" if _is_other_folder(project) else ""
    if done.messages:
        return f"Next: `brenner mail inbox{where}`"
    return (
        f"Next: `brenner session start{where} --question TEXT --context TEXT --to NAME --role "
        "ROLE`. Repeat `--to` and `--role` for each agent. `--dry-run` sends nothing."
    )


def _variable_note(done: InitResult) -> str:
    """Warn that only the environment variable points to this store, if that is so."""
    if done.setting is None or done.project.store_from != STORE_ENV:
        return ""
    line, lacks_password = done.setting
    text = f"Only {STORE_ENV} selects this store. To use it always, write `{line}` into"
    secret = " and set the password in PGPASSWORD or PGPASSFILE" * lacks_password
    return f"{text} {SETTINGS_FILE}{secret}."


def _store_hint(line: str, lacks_password: bool) -> str:
    words = f"Next: write `{line}` into {SETTINGS_FILE}"
    if lacks_password:
        return f"{words}. Put the password into PGPASSWORD or PGPASSFILE, not there."
    return f"{words} or set {STORE_ENV}, so that every command uses this store."


def _is_other_folder(project: Project) -> bool:
    """Return whether the project is not in the current folder. The current folder may not exist."""
    try:
        return Path.cwd() != project.folder
    except OSError:
        return True


def _to_json(done: InitResult) -> dict[str, object]:
    project = done.project
    found = (*project.diagnostics, *([done.hint] if done.hint else ()))
    return {
        "project": str(project.folder),
        "store": done.store,
        "operator": project.operator,
        "created": list(done.created),
        "messages": done.messages,
        "agents": done.agents,
        "violations": [each.to_json() for each in found],
        "summary": Summary.of(found)._asdict(),
    }
