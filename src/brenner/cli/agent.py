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
    "config": ("brenner.cli.agent", "config", "Print what a client's settings need."),
    "secret": ("brenner.cli.agent", "secret", "Give a name a new secret."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
@group_options
def command() -> None:
    """Connect agents to this project."""


# `brenner agent config`


_NO_PROJECT = (
    "{} is no project: nobody has set it up, and the agent would get a new, empty mailbox. Name "
    "the folder of your project with `--project DIR`, or set this one up with `brenner init`."
)
_UNVERIFIED_NOTE = (
    "its mail is unverified (refused, where the server was started with `--strict-identity`)"
)
_REFUSED_NOTE = "its mail is refused: identity is strict on a server that is not on loopback"
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
)
@click.option("--client", metavar="NAME", help=f"One of {', '.join(CLIENTS)}.")
@click.option("--url", metavar="URL", help="Where the server is (or BRENNER_SERVE_URL).")
@click.option("--stdio", is_flag=True, help="The client starts `brenner mcp` itself.")
@click.option("--token", is_flag=True, help=f"The server wants {TOKEN} (always but on loopback).")
@common_options
def config(
    settings: Settings, *, client: str | None, url: str | None, stdio: bool, token: bool
) -> int:
    """Print what the settings of a client need, so that its agent can take part.

    The snippet goes to the standard output, and nothing else does: where it belongs, the command of
    the client that does the same, and what to tell the agent are said beside it. Secrets are not
    printed; the snippet names variables of the environment.
    """
    if client not in CLIENTS:
        reason = f"There is no client `{client}`" if client is not None else "Name the --client"
        message = f"{reason}; those known are {', '.join(CLIENTS)}."
        raise click.UsageError(message)
    if stdio and (url is not None or token):
        message = "--stdio needs neither --url nor --token: the client starts the program itself."
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
            f"{name} is the operator; no agent registers as that. Give it a name of its own: `--as "
            f"BlueLake`. The operator's own client is told no name, but needs {SECRET}: `brenner "
            f"agent secret {project.operator}`."
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
        message = "A path in it is not UTF-8, and cannot be written into such a file."
        raise click.UsageError(message) from None


def _write_snippet(snippet: ConfigSnippet, connection: ClientConnection, actor: str | None) -> None:
    """Write only the snippet to the standard output. The explanations go to the standard error."""
    err = sys.stderr
    print_message(f"This belongs into `{snippet.file}`, beside what is there:", err)
    err.flush()
    sys.stdout.write(snippet.text)
    sys.stdout.flush()
    print_message("The client's own command for it:", err)
    print_hint(f"`{snippet.typed}`", err)
    for note in (*snippet.notes, *_variables(connection).values()):
        print_hint(note, err)
    print_message("Tell the agent:", err)
    print_hint(agent_instructions(actor), err)


def _variables(connection: ClientConnection) -> dict[str, str]:
    """Return the environment variables that the client needs, each with the reason."""
    via = f"the header {SECRET_HEADER}" if connection.url else "the environment"
    is_near = not connection.url or _is_loopback(connection.url)
    otherwise = _UNVERIFIED_NOTE if is_near else _REFUSED_NOTE
    variables = {
        SECRET: f"{SECRET}, set where the client is started, is the agent's secret (its "
        f"registration_token, or `brenner agent secret NAME`), and goes along in {via}. Without it "
        f"the agent gives it to the tools itself, or {otherwise}."
    }
    if connection.wants_token:
        variables[TOKEN] = f"{TOKEN} must be set there: the server lets nobody in without it."
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
)
@click.argument("name")
@click.option("--new", is_flag=True, help="Replace the one that it has, which is then worthless.")
@common_options
def secret(settings: Settings, *, name: str, new: bool) -> int:
    """Give a NAME a secret, with which a server knows who sends.

    An agent gets its own when it registers; this is for the operator, whose name no agent can use
    without, and for agents that were given a name and are to be given its secret. It is printed
    once, alone on the standard output, and kept nowhere: the store has a digest.
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
    print_message(f"That is the secret of {name}. It is shown this once.", sys.stderr)
    print_hint(
        f"Keep it in {SECRET}, or in a file that only you may read (mode 600), never in one that "
        "git takes.",
        sys.stderr,
    )
    return EXIT_OK


def _check_may_get_secret(here: Workspace, actor: str | None, name: str) -> None:
    """Check that the name can have a secret, and that the actor may create it.

    Access to the store is access to all of it. The check only keeps an agent from taking another
    name by mistake.
    """
    if actor is not None and actor not in (name, here.project.operator):
        message = f"{actor} acts here (--as, AGENT_NAME); only the operator gives others a secret."
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
