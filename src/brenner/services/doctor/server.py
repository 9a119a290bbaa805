"""Check whether agents can reach the mail over MCP: a round trip to `brenner serve`, if it runs.

A server is optional, so it is no fault if none runs. Another server at its address is reported,
because agents would send their mail there.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import urlsplit

from brenner.config import Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.mail.agent_mail.client import Client
from brenner.services.doctor.common import (
    OK,
    PROBLEM,
    WARNING,
    Check,
    CheckStatus,
    is_local_host,
    milliseconds,
)
from brenner.services.identity import BRENNER_SERVER, TOKEN, identify_server
from brenner.text import escape_control

_SDK = "mcp"
_PROBE_SECONDS = 1.0  # for an optional server; a requested one may take longer
_REQUESTED_SECONDS = 10.0
_OWN_TOOL = "brenner_check"  # only Brenner has it
_THEIR_TOOL = "fetch_inbox"
_START = "`brenner serve` starts it"
_OTHER_PORT = (
    "A server of ours takes another port with `brenner serve --port N`, and its agents need that "
    "address: `brenner agent config --client NAME --url http://127.0.0.1:N/mcp/`."
)
_SET_TOKEN = f"Set {TOKEN} to the token that the server was started with."
_TOKEN_WITHHELD = (
    f"{TOKEN} was not sent there: whoever listens does not say that it is `brenner serve`. "
    f"{_OTHER_PORT}"
)
_USE_TLS = "Put TLS in front of the server, or go through a tunnel, such as `ssh -L`."


class ServerAddress(NamedTuple):
    """The URL of a server to check, and its token. The operator may have requested this one."""

    url: str
    token: str | None = None
    is_requested: bool = False
    is_token_withheld: bool = False

    @property
    def fault(self) -> CheckStatus:
        """Return the status if agents cannot reach this server."""
        return PROBLEM if self.is_requested else WARNING


def serve_checks(project: Project, address: ServerAddress) -> Iterator[Check]:
    """Yield the check of the library that a server needs, then that of the server."""
    yield _library_check()
    yield _server_check(project, address)


def _library_check() -> Check:
    """Check that the library is installed, without importing it, which would be slow."""
    try:
        found = version(_SDK) if find_spec(_SDK) else None
    except PackageNotFoundError:
        found = None
    if found is None:
        return Check(
            "mcp",
            WARNING,
            "The package `mcp` is not installed: `brenner serve` and `brenner mcp` need it.",
            "Install Brenner again, with all that it depends on: `pip install --upgrade brenner`.",
        )
    return Check("mcp", OK, f"{found}, for `brenner serve` and `brenner mcp`")


def _server_check(project: Project, address: ServerAddress) -> Check:
    seconds = _REQUESTED_SECONDS if address.is_requested else _PROBE_SECONDS
    address = _withhold_token(address, seconds)
    try:
        with closing(Client(address.url, address.token, seconds=seconds)) as client:
            if not client.offers(_OWN_TOOL):
                return _other_server_check(client, address)
            return _round_trip_check(project, address, client)
    except BrennerError as error:
        return _failure_check(error.diagnostic, address)


def _withhold_token(address: ServerAddress, seconds: float) -> ServerAddress:
    """Return the address without the token, unless a Brenner server listens there."""
    if address.token is None or identify_server(address.url, seconds) == BRENNER_SERVER:
        return address
    return address._replace(token=None, is_token_withheld=True)


def _other_server_check(client: Client, address: ServerAddress) -> Check:
    """Report another server. It is not asked for the project, because it would create one."""
    who = "an Agent Mail server" if client.offers(_THEIR_TOOL) else "another MCP server"
    words = f"{client.where} is {who}, not `brenner serve`"
    if address.is_requested:
        return Check("serve", PROBLEM, f"{words}.", _OTHER_PORT)
    return Check("serve", OK, f"{words}; {_OTHER_PORT[:1].lower()}{_OTHER_PORT[1:-1]}")


def _round_trip_check(project: Project, address: ServerAddress, client: Client) -> Check:
    """Check which project a Brenner server serves, and measure a round trip."""
    started = time.perf_counter()
    health = _mapping(client.call("health_check", {}))
    taken = milliseconds(time.perf_counter() - started)
    served = str(health.get("project", ""))
    if os.path.realpath(served) != os.path.realpath(project.folder):
        return Check(
            "serve",
            address.fault,
            f"{client.where} serves `{escape_control(served)}`, not this project: agents that are "
            "told to go there do not find its mail.",
            "Stop that one, or run one for each project: `brenner serve --port N`, and "
            "`brenner agent config --client NAME --url URL` for its agents.",
        )
    client.call("ensure_project", {"human_key": str(project.folder)})
    words = (
        f"{client.where} serves this project{_server_details(health)}; a round trip takes {taken}"
    )
    return _encryption_check(words, address)


def _server_details(health: Mapping[str, object]) -> str:
    """Return the server's version and identity, in words."""
    known = {"version": "version {}", "identity": "identity {}"}
    details = [words.format(health[key]) for key, words in known.items() if health.get(key)]
    return f" ({escape_control(', '.join(details))})" if details else ""


def _encryption_check(words: str, address: ServerAddress) -> Check:
    parts = urlsplit(address.url)
    if parts.scheme == "https" or is_local_host(parts.hostname or ""):
        return Check("serve", OK, words)
    detail = f"{words}. It is not encrypted: mail and secrets can be read on the way."
    return Check("serve", WARNING, detail, _USE_TLS)


def _failure_check(found: Diagnostic, address: ServerAddress) -> Check:
    """Convert a connection failure to a check; without a requested server, some are no fault."""
    is_asked = address.is_requested
    if found.code == codes.SERVER_UNREACHABLE and not is_asked:
        return Check("serve", OK, f"nobody listens at {address.url}; {_START} (optional)")
    if found.code == codes.SERVER_UNREACHABLE:
        fix = "Start it with `brenner serve`, or give the address that it has."
        return Check.of("serve", found)._replace(fix=fix)
    if found.code == codes.SERVER_DENIED:
        fix = _TOKEN_WITHHELD if address.is_token_withheld else _SET_TOKEN
        return Check.of("serve", found)._replace(status=address.fault, fix=fix)
    if found.code == codes.SERVER_NONSENSE and not is_asked:
        port = f"{_OTHER_PORT[:1].lower()}{_OTHER_PORT[1:-1]}"
        return Check("serve", OK, f"{address.url} is another program's; {port}")
    return Check.of("serve", found)._replace(status=address.fault, fix=_OTHER_PORT)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
