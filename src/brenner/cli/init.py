"""`brenner init`: set a project up."""

import os
import sys
from pathlib import Path
from shlex import quote

import click

from brenner.cli.options import Settings, common_options
from brenner.cli.output import note_done, write_diagnostics, write_json
from brenner.cli.terminal import Span, fold
from brenner.cli.workspace import place_of
from brenner.config import SETTINGS_FILE, Project, find_project
from brenner.diagnostics.model import RequestError, Summary
from brenner.mail.open import SqliteStore, store_of
from brenner.mail.rules import name_refusal
from brenner.services.init_project import VARIABLE, Initialised, StoreSetting, init_project
from brenner.text import grouped

FINE = 0


@click.command()
@click.option("--operator", metavar="NAME", help="What the operator is called (Operator).")
@common_options
def command(settings: Settings, operator: str | None) -> int:
    """Set a project up, here or in --project DIR: its mailbox, with the operator in it.

    The mailbox is `.brenner/mail.sqlite3`, in a folder that git ignores, or where --store says.
    `brenner.toml` is written only for an --operator, with the store if one is given, and never over
    one that is there. What is there already stays as it is, so that `init` can be repeated.
    """
    project = find_project(settings.project, os.environ, settings.store)
    _check_operator(project, operator)
    done = init_project(project, operator)
    note_done()
    if settings.as_json:
        write_json(_to_json(done))
        return FINE
    for found in project.diagnostics:
        write_diagnostics([found], place_of(found.id), sys.stderr)
    out = sys.stdout
    for line in filter(None, (_did(done), _remembered(done), _next(done))):
        out.write(fold([], [Span(line)], "", out))
    if done.hint:
        write_diagnostics([done.hint], "brenner", sys.stderr)
    return FINE


def _check_operator(project: Project, operator: str | None) -> None:
    """Settings that are there are the author's; nobody else writes into them.

    What is no name is refused first: nobody is told to write it there.
    """
    is_there = os.path.lexists(project.folder / SETTINGS_FILE)
    if is_there and operator is not None and operator != project.operator:
        found = name_refusal(operator, ())
        if found:
            raise RequestError(found)
        message = (
            f"{project.folder / SETTINGS_FILE} is there already and is not overwritten. "
            f'Write `operator = "{operator}"` into it, then run `brenner init`.'
        )
        raise click.UsageError(message)


def _did(done: Initialised) -> str:
    """What was done, in one sentence."""
    folder = done.project.folder
    if not done.created:
        start = "Already there" if done.is_operator_new else "Everything is there already"
        return f"{start}: {_mail(done)} in {done.store}; {_operator(done)}."
    files = [name for name in done.created if name != done.store or _is_file(done)]
    parts = []
    if len(files) < len(done.created):
        parts.append(f"the mailbox in {done.store}")
    if files:
        parts.append(f"{' and '.join(_seen_from(folder, name) for name in files)} in {folder}")
    if done.store not in done.created:
        parts.append(f"found {_mail(done)} in {done.store}")
    return f"Created {', and '.join(parts)}; {_operator(done)}."


def _mail(done: Initialised) -> str:
    """How much was there; an operator who was added now was not."""
    agents = done.agents - done.is_operator_new
    return f"{grouped(done.messages, 'message')} and {grouped(agents, 'agent')}"


def _operator(done: Initialised) -> str:
    name = done.project.operator
    if done.is_operator_new and done.store not in done.created:
        return f"the operator is {name}, who was made known there"
    return f"the operator is {name}"


def _is_file(done: Initialised) -> bool:
    """Whether the mail is in a file; else it is on a server."""
    return isinstance(store_of(done.project), SqliteStore)


def _next(done: Initialised) -> str:
    """What to do next, in one sentence."""
    project = done.project
    if done.setting and project.store_from != VARIABLE:
        return _keep(done.setting)
    if not done.created and project.folder_from != "--project" and _is_elsewhere(project):
        return "Next: go on there, or make a project of its own here: `brenner init --project .`."
    where = f" --project {quote(str(project.folder))}" if _is_elsewhere(project) else ""
    if done.messages:
        return f"Next: `brenner mail inbox{where}` lists what was sent to you."
    return (
        f"Next: `brenner session start{where} --question TEXT --context TEXT --to NAME --role "
        "ROLE`, with `--to` and `--role` for each agent; `--dry-run` shows it first."
    )


def _remembered(done: Initialised) -> str:
    """Who works with a variable may not know that nothing else leads to this store."""
    if done.setting is None or done.project.store_from != VARIABLE:
        return ""
    words = f"Only {VARIABLE} remembers this store; `{done.setting.line}` in {SETTINGS_FILE} would"
    secret = ", with the password in PGPASSWORD or PGPASSFILE" * done.setting.lacks_password
    return f"{words} keep it for every command{secret}."


def _keep(setting: StoreSetting) -> str:
    """How to keep a store that only this command was told of."""
    words = f"Next: write `{setting.line}` into {SETTINGS_FILE}"
    if setting.lacks_password:
        return f"{words}; the password belongs into PGPASSWORD or PGPASSFILE, not there."
    return f"{words}, or set {VARIABLE}, so that every command uses this store."


def _is_elsewhere(project: Project) -> bool:
    """Whether its folder is not the current one; with --project there need not even be one."""
    try:
        return Path.cwd() != project.folder
    except OSError:
        return True


def _seen_from(folder: Path, name: str) -> str:
    return name.removeprefix(f"{folder}/")


def _to_json(done: Initialised) -> dict[str, object]:
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
