"""`brenner agent`: settings that connect a client (`config`), and secrets (`secret`)."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    ONE_SECTION,
    Command,
    LazyGroup,
    Settings,
    common_options,
    examples,
    group_options,
)
from brenner.cli.output import note_changes_made, write_json
from brenner.cli.serve import serve_url
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.workspace import workspace_for_writing
from brenner.config import SETTINGS_FILE, Project, find_project
from brenner.diagnostics.codes.serving import SECRET_GIVEN
from brenner.diagnostics.codes.stores import HOME_CANNOT
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability
from brenner.mail.open import require_project
from brenner.mail.rules import name_problem
from brenner.named_tuple import NamedTuple
from brenner.program_settings import SECRET, TOKEN
from brenner.services.client_settings import (
    CLIENTS,
    ClientConnection,
    ClientSettings,
    agent_instructions,
    client_named,
    settings_for,
)
from brenner.services.identity import claim_name, is_local_host, renew_secret
from brenner.services.init_project import is_set_up
from brenner.services.spawn_agents import pane_environment
from brenner.text import closest, did_you_mean, escape_control, is_encodable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brenner.services.client_settings_files import FileChange
    from brenner.services.workspace import Workspace

COMMANDS = {
    "config": (ONE_SECTION, "brenner.cli.agent", "config", "Print or write settings for a client."),
    "secret": (ONE_SECTION, "brenner.cli.agent", "secret", "Create a secret for a name."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=examples(
        "brenner agent config --client claude-code --as BlueLake", "brenner agent secret Operator"
    ),
)
@group_options
def command() -> None:
    """Connect an agent's program to the project.

    `config` prints or writes the settings that Claude Code, Codex, Gemini or another MCP client
    needs. `secret` creates the secret that proves a name to the server.
    """


# `brenner agent config`


_NO_PROJECT = (
    "{} is not a project, so the agent would get a new, empty mailbox. Name the folder of your "
    "project with `--project DIR`, or run `brenner init` there."
)
_UNVERIFIED_NOTE = "its mail is unverified (rejected by a server with `--strict-identity`)"
_REFUSED_NOTE = "the server rejects its mail: identity is strict on a server beyond loopback"
# Variables that a store may need. Some clients do not pass them on to programs that they start.
_STORE_VARIABLES = (
    *("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE"),
    *("AGENT_MAIL_BEARER_TOKEN", "AGENT_MAIL_BASE_URL", "AGENT_MAIL_PATH"),
)


@click.command(
    "config",
    epilog=examples(
        "brenner agent config --client claude-code --as BlueLake",
        "brenner agent config --client codex --write",
        "brenner agent config --client gemini --stdio --write",
        "brenner agent config --client codex --remove",
    ),
    cls=Command,
)
@click.option(
    "--client", metavar="NAME", help=f"Client: {', '.join(CLIENTS)}, or a program of brenner.toml."
)
@click.option("--url", metavar="URL", help="Server address (or BRENNER_SERVE_URL).")
@click.option("--stdio", is_flag=True, help="Let the client start `brenner mcp` itself.")
@click.option(
    "--token", is_flag=True, help=f"The server requires {TOKEN} (always outside loopback)."
)
@click.option("--write", is_flag=True, help="Put the settings into the project's files.")
@click.option("--remove", is_flag=True, help="Take the settings out of the project's files.")
@click.option("--yes", is_flag=True, help="Change the files without asking.")
@common_options
def config(settings: Settings, *, client: str | None, **options: Any) -> int:
    """Print the settings that a client needs to connect its agent, or write them.

    Use it once per program. Standard output has only the settings. Where to put them, and what to
    tell the agent, goes to standard error. With --write or --remove, standard output has the
    difference, and the files are changed after a yes. The settings name environment variables; they
    contain no secrets.
    """
    given = ConfigOptions(**options)
    given.check()
    project = find_project(settings.project, os.environ, settings.store)
    known = _known_client(client, project)
    _check_name(settings.actor, project)
    url, is_stdio = given.url, given.stdio
    connection = _stdio_program(project) if is_stdio else _endpoint(url, wants_token=given.token)
    found = settings_for(known, connection, project.folder)
    if is_stdio and not is_set_up(project):
        found = found._replace(notes=(*found.notes, _NO_PROJECT.format(project.folder)))
    for file in found.files:
        _check_encodable(file.path + file.text)
    if given.is_change:
        require_project(project)
        return _change_files(settings, found, connection, given)
    if settings.as_json:
        write_json(_settings_json(found, connection, settings.actor))
    else:
        _write_settings(found, connection, settings.actor)
    return EXIT_OK


class ConfigOptions(NamedTuple):
    """The options of `brenner agent config`, apart from the client."""

    url: str | None
    stdio: bool
    token: bool
    write: bool
    remove: bool
    yes: bool

    @property
    def is_change(self) -> bool:
        return self.write or self.remove

    def check(self) -> None:
        """Raise a usage error for options that exclude each other."""
        message = ""
        if self.stdio and (self.url is not None or self.token):
            message = (
                "--stdio cannot be used with --url or --token: the client starts the program "
                "itself."
            )
        elif self.write and self.remove:
            message = "--write and --remove cannot be used together."
        elif self.yes and not self.is_change:
            message = "--yes needs --write or --remove."
        if message:
            raise click.UsageError(message)


def _known_client(name: str | None, project: Project) -> str:
    """Return the client of that name, or of the program that has that name in `brenner.toml`."""
    found = None if name is None else client_named(name, project)
    if found is None:
        reason = "Give --client" if name is None else f"Unknown client `{escape_control(name)}`"
        near = did_you_mean(closest(name or "", CLIENTS))
        own = ", ".join(escape_control(each) for each, _ in project.programs)
        programs = f" Programs in {SETTINGS_FILE}: {own}." if own else ""
        message = f"{reason}.{near} Known clients: {', '.join(CLIENTS)}.{programs}"
        raise click.UsageError(message)
    return found


def _check_name(name: str | None, project: Project) -> None:
    """Refuse a name under which no agent can register, such as the operator's."""
    found = name_problem(name, ()) if name else None
    if found:
        raise RequestError(found)
    if name and name.casefold() == project.operator.casefold():
        message = (
            f"{name} is the operator. An agent needs its own name, such as `--as BlueLake`. For "
            f"the operator's client leave out --as and set {SECRET}: `brenner agent secret "
            f"{project.operator}`."
        )
        raise click.UsageError(message)


def _endpoint(url: str | None, *, wants_token: bool) -> ClientConnection:
    """Return the server's address. A token in the environment means that the server requires it."""
    address = serve_url(url)
    return ClientConnection(
        address, wants_token or not _is_loopback(address) or bool(os.environ.get(TOKEN))
    )


def _is_loopback(url: str) -> bool:
    """Return whether the server is on loopback.

    Elsewhere it requires a token and strict identity.
    """
    return is_local_host(urlsplit(url).hostname or "")


def _stdio_program(project: Project) -> ClientConnection:
    """Return the command that starts `brenner mcp`, with absolute paths."""
    store = pane_environment(project).get("BRENNER_STORE")
    store_option = ("--store", store) if store else ()
    command = (*_brenner_command(), "mcp", "--project", str(project.folder), *store_option)
    variables = tuple(name for name in _STORE_VARIABLES if os.environ.get(name))
    return ClientConnection(command=command, variables=variables)


def _brenner_command() -> tuple[str, ...]:
    """Return the `brenner` script beside the interpreter, or else `python -m brenner`."""
    beside = shutil.which("brenner", path=str(Path(sys.executable).parent))
    return (beside,) if beside else (sys.executable, "-P", "-m", "brenner")


def _check_encodable(text: str) -> None:
    """Refuse settings that are not UTF-8: a path may have any bytes, JSON and TOML may not."""
    if not is_encodable(text):
        message = "Cannot write the settings: they contain a path that is not UTF-8."
        raise click.UsageError(message)


def _write_settings(found: ClientSettings, connection: ClientConnection, actor: str | None) -> None:
    """Write only the settings to the standard output, and the explanations to the standard error.

    The name of each file is on the standard error, right before its settings.
    """
    err = sys.stderr
    for file in found.files:
        where = f"`{file.path}`" if file.path else "the MCP settings of the program"
        print_message(f"Add this to {where}:", err)
        err.flush()
        sys.stdout.write(file.text)
        sys.stdout.flush()
    if found.is_writable:
        print_message("To let Brenner do that, add `--write` to the command.", err)
    _write_notes(found, connection, actor)


def _write_notes(found: ClientSettings, connection: ClientConnection, actor: str | None) -> None:
    """Write to the standard error what else the operator has to do."""
    err = sys.stderr
    for note in (*found.notes, *_variables(connection).values()):
        print_hint(note, err)
    print_message("Then give the agent this instruction:", err)
    print_hint(agent_instructions(actor), err)


def _variables(connection: ClientConnection) -> dict[str, str]:
    """Return the environment variables that the client needs, each with the reason."""
    via = "a header" if connection.url else "the environment"
    is_near = not connection.url or _is_loopback(connection.url)
    otherwise = _UNVERIFIED_NOTE if is_near else _REFUSED_NOTE
    variables = {
        SECRET: f"Set {SECRET} where the client starts: the agent's secret (its "
        f"registration_token, or `brenner agent secret NAME`), sent in {via}. Without it the agent "
        f"must pass its secret to the tools, or {otherwise}."
    }
    if connection.wants_token:
        variables[TOKEN] = f"Set {TOKEN} there, too: the server rejects requests without it."
    return variables


def _settings_json(
    found: ClientSettings, connection: ClientConnection, actor: str | None
) -> dict[str, object]:
    files = [{"file": file.path, "format": file.form, "snippet": file.text} for file in found.files]
    return {
        "client": found.client,
        "transport": "http" if connection.url else "stdio",
        **files[0],
        "command": found.typed,
        "notes": list(found.notes),
        "variables": _variables(connection),
        "tell": agent_instructions(actor),
        "files": files,
    }


# `--write` and `--remove`


_NO_FILES = (
    "The files of this client are not known. Leave out {}, and edit its MCP settings by hand: "
    "`brenner agent config --client {}` prints the entry."
)
_NO_ANSWER = "Nothing was written: {} asks before it changes a file. Add `--yes` to answer yes."


def _change_files(
    settings: Settings, found: ClientSettings, connection: ClientConnection, given: ConfigOptions
) -> int:
    """Show how the files would change, ask, and write them."""
    from brenner.services.client_settings_files import (  # the settings alone need no files
        ChangeStatus,
        plan_changes,
        write_changes,
    )

    option = "--write" if given.write else "--remove"
    if not found.is_writable:
        raise click.UsageError(_NO_FILES.format(option, found.client))
    changes = plan_changes(found, is_removal=given.remove)
    is_needed = any(each.status is not ChangeStatus.UNCHANGED for each in changes)
    if is_needed and not given.yes and (settings.as_json or not _can_ask()):
        raise click.UsageError(_NO_ANSWER.format(option))
    if not settings.as_json:
        _write_diffs(changes)
        if is_needed and not given.yes and not click.confirm("Change the files?", err=True):
            print_message("Nothing was written.", sys.stderr)
            return EXIT_INVALID
    write_changes(changes)
    if is_needed:
        note_changes_made()
    if settings.as_json:
        rows = [{"file": each.path, "status": each.status, "diff": each.diff} for each in changes]
        write_json({**_settings_json(found, connection, settings.actor), "changes": rows})
        return EXIT_OK
    for each in changes:
        print_message(f"{_DONE[each.status]} `{each.path}`.", sys.stderr)
    if given.write:
        _write_notes(found, connection, settings.actor)
    return EXIT_OK


_DONE = {
    "created": "Created",
    "changed": "Changed",
    "removed": "Removed",
    "unchanged": "Nothing to change in",
}


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _write_diffs(changes: Sequence[FileChange]) -> None:
    """Write the difference of each file to the standard output, in colour on a terminal."""
    from brenner.cli.artifact.diff import text_lines  # imports all that compares artifacts

    out = sys.stdout
    for each in changes:
        if out.isatty():
            out.writelines(text_lines(each.diff, out))
        else:
            out.write(each.diff)
    out.flush()


# `brenner agent secret`


@click.command(
    "secret",
    epilog=examples(
        "brenner agent secret Operator",
        "brenner agent secret BlueLake --new",
        f"{SECRET}=$(brenner agent secret BlueLake) codex --no-daemon",
    ),
    cls=Command,
)
@click.argument("name")
@click.option("--new", is_flag=True, help="Replace the current secret, which becomes invalid.")
@common_options
def secret(settings: Settings, *, name: str, new: bool) -> int:
    """Create the secret that proves a NAME to the server.

    Agents get a secret when they register. Use this command for the operator, whose name always
    needs one, or to give an agent a new one. The secret is printed once, alone on standard output.
    The store keeps only a digest.
    """
    with workspace_for_writing(settings) as here:
        _check_may_get_secret(here, settings.actor, name)
        created = _create_secret(here, name, is_new=new)
    note_changes_made()
    if settings.as_json:
        write_json({"name": name, "secret": created})
        return EXIT_OK
    sys.stdout.write(f"{created}\n")
    sys.stdout.flush()
    print_message(f"This is the secret of {name}. It is shown only once.", sys.stderr)
    print_hint(
        f"Keep it in {SECRET} or in a file that only you can read (mode 600). Do not commit it.",
        sys.stderr,
    )
    return EXIT_OK


def _check_may_get_secret(here: Workspace, actor: str | None, name: str) -> None:
    """Check that the name can have a secret, and that the actor may create it.

    Access to the store is access to all of it. The check only keeps an agent from taking another
    name by mistake.
    """
    if actor is not None and actor not in (name, here.project.operator):
        message = (
            f"You act as {actor} (--as, AGENT_NAME). Only the operator can create a secret for "
            "another name."
        )
        raise click.UsageError(message)
    here.mailbox.agent(name)
    reason = here.mailbox.lacks.get(Capability.SECRETS)
    if reason is not None:
        raise RequestError(HOME_CANNOT.at(ability=Capability.SECRETS, reason=reason))


def _create_secret(here: Workspace, name: str, *, is_new: bool) -> str:
    found = renew_secret(here.mailbox, name) if is_new else claim_name(here.mailbox, name)
    if found is None:
        raise RequestError(SECRET_GIVEN.at(name=name))
    return found
