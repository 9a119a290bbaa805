"""`brenner agent`: print settings that connect a client (`config`), create secrets (`secret`)."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from brenner.cli.options import (
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
from brenner.config import Project, find_project
from brenner.diagnostics.codes.serving import SECRET_GIVEN
from brenner.diagnostics.codes.stores import HOME_CANNOT
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability
from brenner.mail.rules import name_problem
from brenner.services.identity import (
    CLIENTS,
    SECRET,
    SECRET_HEADER,
    TOKEN,
    ClientConnection,
    ConfigSnippet,
    agent_instructions,
    claim_name,
    is_local_host,
    renew_secret,
    snippet_for,
)
from brenner.services.init_project import is_set_up
from brenner.services.spawn_agents import pane_environment

if TYPE_CHECKING:
    from brenner.services.workspace import Workspace

COMMANDS = {
    "config": (ONE_SECTION, "brenner.cli.agent", "config", "Print settings for a client."),
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

    `config` prints the settings that Claude Code, Codex or Gemini needs. `secret` creates the
    secret that proves a name to the server.
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
        "brenner agent config --client codex >> ~/.codex/config.toml",
        "brenner agent config --client gemini --stdio",
    ),
    cls=Command,
)
@click.option("--client", metavar="NAME", help=f"Client: {', '.join(CLIENTS)}.")
@click.option("--url", metavar="URL", help="Server address (or BRENNER_SERVE_URL).")
@click.option("--stdio", is_flag=True, help="Let the client start `brenner mcp` itself.")
@click.option(
    "--token", is_flag=True, help=f"The server requires {TOKEN} (always outside loopback)."
)
@common_options
def config(
    settings: Settings, *, client: str | None, url: str | None, stdio: bool, token: bool
) -> int:
    """Print the settings that a client needs to connect its agent.

    Use it once per agent. Standard output has only the settings. Where to put them, and what to
    tell the agent, goes to standard error. The settings name environment variables; they contain no
    secrets.
    """
    if client not in CLIENTS:
        reason = f"Unknown client `{client}`" if client is not None else "Give --client"
        message = f"{reason}. Known clients: {', '.join(CLIENTS)}."
        raise click.UsageError(message)
    if stdio and (url is not None or token):
        message = (
            "--stdio cannot be used with --url or --token: the client starts the program itself."
        )
        raise click.UsageError(message)
    project = find_project(settings.project, os.environ, settings.store)
    _check_name(settings.actor, project)
    connection = _stdio_program(project) if stdio else _endpoint(url, wants_token=token)
    snippet = snippet_for(client or "", connection, project.folder)
    if stdio and not is_set_up(project):
        snippet = snippet._replace(notes=(*snippet.notes, _NO_PROJECT.format(project.folder)))
    _check_encodable(snippet.text)
    if settings.as_json:
        write_json(_snippet_json(snippet, connection, settings.actor))
    else:
        _write_snippet(snippet, connection, settings.actor)
    return EXIT_OK


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
    """Refuse a snippet that is not UTF-8: a path may have any bytes, JSON and TOML may not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "Cannot write the settings: they contain a path that is not UTF-8."
        raise click.UsageError(message) from None


def _write_snippet(snippet: ConfigSnippet, connection: ClientConnection, actor: str | None) -> None:
    """Write only the snippet to the standard output. The explanations go to the standard error."""
    err = sys.stderr
    print_message(f"Add this to `{snippet.file}`:", err)
    err.flush()
    sys.stdout.write(snippet.text)
    sys.stdout.flush()
    print_message("Or run the client's own command:", err)
    print_hint(f"`{snippet.typed}`", err)
    for note in (*snippet.notes, *_variables(connection).values()):
        print_hint(note, err)
    print_message("Then give the agent this instruction:", err)
    print_hint(agent_instructions(actor), err)


def _variables(connection: ClientConnection) -> dict[str, str]:
    """Return the environment variables that the client needs, each with the reason."""
    via = f"the header {SECRET_HEADER}" if connection.url else "the environment"
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


def _snippet_json(
    snippet: ConfigSnippet, connection: ClientConnection, actor: str | None
) -> dict[str, object]:
    return {
        "client": snippet.client,
        "transport": "http" if connection.url else "stdio",
        "file": snippet.file,
        "format": snippet.form,
        "snippet": snippet.text,
        "command": snippet.typed,
        "notes": list(snippet.notes),
        "variables": _variables(connection),
        "tell": agent_instructions(actor),
    }


# `brenner agent secret`


@click.command(
    "secret",
    epilog=examples(
        "brenner agent secret Operator",
        "brenner agent secret BlueLake --new",
        f"{SECRET}=$(brenner agent secret BlueLake) codex",
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
