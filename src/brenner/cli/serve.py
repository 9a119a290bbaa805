"""`brenner serve`: the HTTP server for agents and browsers, and its address for other commands."""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import contextmanager
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from brenner.cli.options import Command, Settings, common_options, examples, identity_options
from brenner.cli.output import note_changes_made, write_diagnostics
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.workspace import project_of, workspace_of
from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.mailbox import Capability
from brenner.mail.open import require_project, store_of
from brenner.mail.sealed import SealedThreads
from brenner.program_settings import TOKEN
from brenner.server.hosts import authority, is_loopback
from brenner.server.settings import (
    ENDPOINTS,
    HOST,
    PORT,
    ServeSettings,
    address_for_agents,
    find_address,
    listen,
    read_token,
)
from brenner.server.signals import exit_on_signal
from brenner.services.client_settings import CLIENTS
from brenner.services.identity import new_secret, operator_digest
from brenner.services.init_project import new_mailbox_notes
from brenner.text import escape_control
from brenner.web.links import LAB

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket

    from brenner.config import Project
    from brenner.services.workspace import Workspace


_UNVERIFIED = "Agents without a secret can connect. Their mail is marked unverified."
_PROTECTION = "A name that has written with its secret is protected: it always needs the secret."
_STRICT_IDENTITY = "Identity is strict: an agent needs its secret to send mail."
_HIGHEST_PORT = 65_535


@click.command(
    "serve",
    epilog=examples(
        "brenner serve",
        "brenner serve --port 0 --json",
        "brenner serve --lab",
        "brenner serve --host 0.0.0.0 --token-file ~/.brenner-token \\",
        "    --allow-host lab.example",
    ),
    cls=Command,
)
@click.option("--host", default=HOST, show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, _HIGHEST_PORT),
    default=PORT,
    show_default=True,
    help="Port; 0 picks a free one.",
)
@click.option(
    "--token-file", metavar="FILE", help=f"File with the token for all requests (or {TOKEN})."
)
@identity_options
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Additional host name of this server; repeatable.",
)
@click.option("--lab", "is_lab", is_flag=True, help="Let the operator log in and act on the page.")
@common_options
def command(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    host: str,
    port: int,
    token_file: str | None,
    strict_identity: bool,
    open_identity: bool,
    hosts: tuple[str, ...],
    is_lab: bool,
) -> int:
    """Serve the web page and the agents of the project over HTTP.

    Open the printed address in a browser. With --lab you can log in there and act. Agents connect
    to /mcp (or /api): `brenner agent config --client codex` prints their settings. Outside loopback
    a token is required, and senders need their secret. Ctrl-C stops the server after it has
    finished open requests.
    """
    if not host.strip():
        message = "--host needs an address. Leave it out to serve this machine only."
        raise click.UsageError(message)
    token, warnings = read_token(token_file, os.environ)
    address, port = find_address(host, port)
    shown, is_near = authority(address, port), is_loopback(address)
    if token is None and not is_near:
        raise RequestError(codes.TOKEN_NEEDED.at(host=shown))
    if open_identity and not is_near:
        message = f"--open-identity works on loopback only, and {shown} is another address."
        raise click.UsageError(message)
    is_strict = strict_identity or not is_near
    project = require_project(project_of(settings))
    if is_strict:
        _check_store_has_secrets(project, "--strict-identity" if strict_identity else shown)
    listening, port = listen(address, port)
    served = ServeSettings(
        address, port, token, is_strict, hosts, is_lab=is_lab, is_open=open_identity
    )
    if is_lab and Capability.SECRETS in store_of(project).lacks:
        served = served._replace(lab_secret=new_secret())
    with listening, exit_on_signal():
        notes = (*warnings, *new_mailbox_notes(project))
        return _serve(settings, project, served, listening, notes)


def _serve(
    settings: Settings,
    project: Project,
    served: ServeSettings,
    listening: socket,
    warnings: tuple[Diagnostic, ...],
) -> int:
    with workspace_of(settings._replace(actor=None), project=project, create=True) as here:
        if served.token is None:
            _check_nothing_sealed(here)
        with _gc_disabled():
            from brenner.server.app import serve  # takes about a second

        if not settings.as_json:
            write_diagnostics(warnings, "brenner", sys.stderr)
        note_changes_made()
        has_secret = served.is_lab and operator_digest(here.mailbox, project.operator) is not None
        announce = (
            partial(_write_json_line, project, served, warnings, has_secret=has_secret)
            if settings.as_json
            else partial(_write_text, project, served, has_secret=has_secret)
        )
        return serve(here, served, listening, announce)


@contextmanager
def _gc_disabled() -> Iterator[None]:
    """Disable garbage collection during imports, and exempt imported objects from it afterwards.

    Collecting them would take a sixth of the start time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


_MOST_NAMED = 3


def _check_nothing_sealed(here: Workspace) -> None:
    """Refuse to serve without a token while a session is in an independent first round (R33)."""
    sealed = sorted(SealedThreads(here.mailbox).current())
    if sealed:
        names = " and ".join(f"`{escape_control(each)}`" for each in sealed[:_MOST_NAMED])
        raise RequestError(codes.SEALED_NEEDS_TOKEN.at(threads=names, thread=sealed[0]))


def _check_store_has_secrets(project: Project, because: str) -> None:
    """Refuse strict identity if the store keeps no secrets: no agent could send."""
    store = store_of(project)
    reason = store.lacks.get(Capability.SECRETS)
    if reason is not None:
        found = codes.STRICT_NEEDS_SECRETS.at(because=because, store=store.shown, reason=reason)
        raise RequestError(found)


# The report once the server answers requests


def _write_json_line(
    project: Project,
    served: ServeSettings,
    warnings: tuple[Diagnostic, ...],
    *,
    has_secret: bool,
) -> None:
    """Write the stable JSON form on one line. Keys are only ever added.

    A secret of this run is printed only here.
    """
    address = f"http://{authority(served.host, served.port)}"
    own = {"secret": served.lab_secret} if served.lab_secret else {}
    lab = {
        "address": f"{address}{LAB}",
        "operator": project.operator,
        "open": has_secret or bool(own),
        **own,
    }
    document = {
        "address": address,
        "endpoint": f"{address}/mcp",
        "port": served.port,
        "project": str(project.folder),
        "store": store_of(project).shown,
        "identity": "strict" if served.is_strict else "open",
        "protects_names": not served.is_open,
        "token": served.token is not None,
        "lab": lab if served.is_lab else None,
        "pid": os.getpid(),
        "violations": [found.to_json() for found in warnings],
    }
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _write_text(project: Project, served: ServeSettings, *, has_secret: bool) -> None:
    folder, store = escape_control(str(project.folder)), escape_control(store_of(project).shown)
    address = f"http://{authority(served.host, served.port)}"
    print_message(f"Serving {folder}. Press Ctrl-C to stop.")
    print_hint(f"Browsers: {address}")
    print_hint(f"Agents: {address}/mcp")
    print_hint(f"Mail: {store}")
    protection = "" if served.is_open else f" {_PROTECTION}"
    identity = _STRICT_IDENTITY if served.is_strict else f"{_UNVERIFIED}{protection}"
    token = "" if served.token is None else " Every request needs the token."
    print_hint(f"{identity}{token}")
    connection = address_for_agents(served)
    print_hint(f"To connect an agent: `{connection.command()}` ({', '.join(CLIENTS)})")
    if connection.remark:
        print_hint(connection.remark)
    operator = escape_control(project.operator)
    lab = f"Lab: {address}{LAB}"
    if served.is_lab and served.lab_secret:
        print_hint(f"{lab}. This store keeps no secrets. Secret for this run, shown only once:")
        print_hint(served.lab_secret)
    elif served.is_lab and has_secret:
        print_hint(f"{lab}. Log in with the secret of {operator}.")
    elif served.is_lab:
        command = f"brenner agent secret {quote(operator)}"
        print_hint(f"{lab}. {operator} has no secret yet. Create it: `{command}`")
    sys.stdout.flush()


# The address of the server: `--url`, the environment variable, or the default


URL_VARIABLE = "BRENNER_SERVE_URL"
DEFAULT_URL = f"http://{HOST}:{PORT}{ENDPOINTS[1]}"
_SCHEMES = ("http", "https")
_MAY_CONTAIN_PASSWORD = lazy_pattern(r"[@?#]")


def serve_url(given_url: str | None) -> str:
    """Return the address of the server: `--url`, the environment variable, or the default.

    If it names only a host, the default path is added.
    """
    named, url = (
        ("--url", given_url)
        if given_url is not None
        else (URL_VARIABLE, os.environ.get(URL_VARIABLE, ""))
    )
    if given_url is None and not url:
        return DEFAULT_URL
    reason = _url_problem(url)
    if reason:
        message = f"{named} is not a server address: {reason}. Example: `{DEFAULT_URL}`."
        raise click.UsageError(message)
    parts = urlsplit(url)
    return url if parts.path.strip("/") else parts._replace(path=ENDPOINTS[1]).geturl()


def pages_url(given_url: str | None) -> str:
    """Return the address of the server's web pages."""
    parts = urlsplit(serve_url(given_url))
    return f"{parts.scheme}://{parts.netloc}"


def _url_problem(url: str) -> str | None:
    """Return why a text is not a valid address.

    The text is shown only if it cannot contain a password.
    """
    if not (url.isascii() and url.isprintable()) or " " in url:
        return "it contains a space or a character that is not ASCII"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (raises if it is not a port)
    except ValueError:
        return "its host or port is not valid"
    if "@" in (parts.netloc or url):
        return f"it contains a name or token, which belongs in {TOKEN}"
    if parts.scheme not in _SCHEMES or not parts.hostname:
        shown = "it" if _MAY_CONTAIN_PASSWORD.search(url) else f"`{escape_control(url)}`"
        return f"{shown} does not start with `http://` or `https://` and a host"
    if parts.query or parts.fragment:
        return "it has a query or a fragment after its path"
    return None
