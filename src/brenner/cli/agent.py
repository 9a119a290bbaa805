"""`brenner agent`: what an agent needs to take part, each command imported when it is called."""

import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click

from brenner.cli.options import Command, Commands, Settings, common_options, examples, group_options
from brenner.cli.output import note_done, write_json
from brenner.cli.serve import serve_url
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.workspace import FINE as SECRET_FINE
from brenner.cli.workspace import is_trial, real_workspace, trial_workspace
from brenner.config import Project, find_project
from brenner.diagnostics.codes.serving import SECRET_GIVEN
from brenner.diagnostics.codes.stores import HOME_CANNOT
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability
from brenner.mail.rules import name_refusal
from brenner.services.doctor.common import is_here
from brenner.services.identity import (
    CLIENTS,
    SECRET,
    SECRET_HEADER,
    TOKEN,
    Connection,
    Endpoint,
    Program,
    Snippet,
    claim,
    first_words,
    renew,
    snippet_for,
)
from brenner.services.init_project import is_set_up
from brenner.services.spawn_agents import store_of_panes
from brenner.services.workspace import Workspace

COMMANDS = {
    "config": Command("brenner.cli.agent", "config", "Print what a client's settings need."),
    "secret": Command("brenner.cli.agent", "secret", "Give a name a new secret."),
}


@click.group(cls=Commands, table=COMMANDS)
@group_options
def command() -> None:
    """Connect agents to this project."""


# `brenner agent config`: what the settings of an agent's program need.


FINE = 0
_NO_PROJECT = (
    "{} is no project: nobody has set it up, and the agent would get a new, empty mailbox. Name "
    "the folder of your project with `--project DIR`, or set this one up with `brenner init`."
)
_OPEN = "its mail is unverified (refused, where the server was started with `--strict-identity`)"
_STRICT = "its mail is refused: identity is strict on a server that is not on loopback"
# What a home of the mail may need, and a client may keep from a program that it starts
_OF_HOMES = (
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
        _refuse_client(client)
    if stdio and (url is not None or token):
        message = "--stdio needs neither --url nor --token: the client starts the program itself."
        raise click.UsageError(message)
    project = find_project(settings.project, os.environ, settings.store)
    _check_name(settings.actor, project)
    connection = _program(project) if stdio else _endpoint(url, wants_token=token)
    snippet = snippet_for(client or "", connection, project.folder)
    if stdio and not is_set_up(project):
        snippet = snippet._replace(notes=(*snippet.notes, _NO_PROJECT.format(project.folder)))
    _check_text(snippet.text)
    if settings.as_json:
        write_json(_to_json(snippet, connection, settings.actor))
    else:
        _write(snippet, connection, settings.actor)
    return FINE


def _refuse_client(client: str | None) -> None:
    said = f"There is no client `{client}`" if client is not None else "Name the --client"
    message = f"{said}; those known are {', '.join(CLIENTS)}."
    raise click.UsageError(message)


def _check_name(name: str | None, project: Project) -> None:
    """Whether an agent can register under it; under the operator's no agent can."""
    found = name_refusal(name, ()) if name else None
    if found:
        raise RequestError(found)
    if name and name.casefold() == project.operator.casefold():
        message = (
            f"{name} is the operator; no agent registers as that. Give it a name of its own: `--as "
            f"BlueLake`. The operator's own client is told no name, but needs {SECRET}: `brenner "
            f"agent secret {project.operator}`."
        )
        raise click.UsageError(message)


def _endpoint(url: str | None, *, wants_token: bool) -> Endpoint:
    """Whoever has the token in the environment has a server that wants it."""
    whole = serve_url(url)
    return Endpoint(whole, wants_token or not _is_near(whole) or bool(os.environ.get(TOKEN)))


def _is_near(url: str) -> bool:
    """Whether the server is on loopback; elsewhere it wants a token, and is strict."""
    return is_here(urlsplit(url).hostname or "")


def _program(project: Project) -> Program:
    """The program that runs here, so that it is found from everywhere."""
    store = store_of_panes(project).get("BRENNER_STORE")
    said = ("--store", store) if store else ()
    command = (*_own_program(), "mcp", "--project", str(project.folder), *said)
    return Program(command, tuple(name for name in _OF_HOMES if os.environ.get(name)))


def _own_program() -> tuple[str, ...]:
    """The one beside the interpreter, else the package itself, wherever it is called."""
    beside = shutil.which("brenner", path=str(Path(sys.executable).parent))
    return (beside,) if beside else (sys.executable, "-P", "-m", "brenner")


def _check_text(text: str) -> None:
    """A path may be of any bytes; what is JSON or TOML may not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "A path in it is not UTF-8, and cannot be written into such a file."
        raise click.UsageError(message) from None


def _write(snippet: Snippet, connection: Connection, actor: str | None) -> None:
    """The snippet alone goes out; all around it is for people."""
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
    print_hint(first_words(actor), err)


def _variables(connection: Connection) -> dict[str, str]:
    """What to set in the environment of the client, by name, and why."""
    way = f"the header {SECRET_HEADER}" if isinstance(connection, Endpoint) else "the environment"
    is_near = not isinstance(connection, Endpoint) or _is_near(connection.url)
    known = {
        SECRET: f"{SECRET}, set where the client is started, is the agent's secret (its "
        f"registration_token, or `brenner agent secret NAME`), and goes along in {way}. Without it "
        f"the agent gives it to the tools itself, or {_OPEN if is_near else _STRICT}."
    }
    if isinstance(connection, Endpoint) and connection.wants_token:
        known[TOKEN] = f"{TOKEN} must be set there: the server lets nobody in without it."
    return known


def _to_json(snippet: Snippet, connection: Connection, actor: str | None) -> dict[str, object]:
    is_http = isinstance(connection, Endpoint)
    return {
        "client": snippet.client,
        "transport": "http" if is_http else "stdio",
        "file": snippet.file,
        "format": snippet.form,
        "snippet": snippet.text,
        "command": snippet.typed,
        "notes": list(snippet.notes),
        "variables": _variables(connection),
        "tell": first_words(actor),
    }


# `brenner agent secret`: give a name a secret, and show it once.


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
    with trial_workspace(settings) as here:
        _check(here, settings.actor, name)
        if not is_trial(here):
            given = _given(here, name, is_new=new)
    if is_trial(here):
        with real_workspace(here) as here:
            given = _given(here, name, is_new=new)
    note_done()
    if settings.as_json:
        write_json({"name": name, "secret": given})
        return SECRET_FINE
    sys.stdout.write(f"{given}\n")
    sys.stdout.flush()
    print_message(f"That is the secret of {name}. It is shown this once.", sys.stderr)
    print_hint(
        f"Keep it in {SECRET}, or in a file that only you may read (mode 600), never in one that "
        "git takes.",
        sys.stderr,
    )
    return SECRET_FINE


def _check(here: Workspace, actor: str | None, name: str) -> None:
    """Whether the name can have one, and the one who asks may give it.

    Who has the store has everything in it. But an agent that tries is not to end up with another
    name by a slip.
    """
    if actor is not None and actor not in (name, here.project.operator):
        message = f"{actor} acts here (--as, AGENT_NAME); only the operator gives others a secret."
        raise click.UsageError(message)
    here.mailbox.agent(name)
    reason = here.mailbox.lacks.get(Capability.SECRETS)
    if reason is not None:
        raise RequestError(HOME_CANNOT.at(ability=Capability.SECRETS, reason=reason))


def _given(here: Workspace, name: str, *, is_new: bool) -> str:
    found = renew(here.mailbox, name) if is_new else claim(here.mailbox, name)
    if found is None:
        raise RequestError(SECRET_GIVEN.at(name=name))
    return found
