"""Whether agents can get at the mail over MCP: a round trip to the server, if one is there.

That nobody listens is no fault: who wants a server starts one. What listens and is not the server
of this project is told, because agents would send their mail there.
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
    Status,
    is_here,
    milliseconds,
)
from brenner.services.identity import OURS, TOKEN, who_listens
from brenner.text import escape_control

# Where one may not look, os.path says no and pathlib raises.


_SDK = "mcp"
_SECONDS = 1.0  # for somebody who may be there; whoever asks for one can wait for it
_ASKED_SECONDS = 10.0
_OWN_TOOL = "brenner_check"  # no other server has it
_THEIR_TOOL = "fetch_inbox"
_START = "`brenner serve` starts it"
_PORT = (
    "A server of ours takes another port with `brenner serve --port N`, and its agents need that "
    "address: `brenner agent config --client NAME --url http://127.0.0.1:N/mcp/`."
)
_TOKEN = f"Set {TOKEN} to the token that the server was started with."
_KEPT_BACK = (
    f"{TOKEN} was not sent there: whoever listens does not say that it is `brenner serve`. {_PORT}"
)
_IN_THE_CLEAR = "Put TLS in front of the server, or go through a tunnel, such as `ssh -L`."


class Endpoint(NamedTuple):
    """Where to look, with which token; `is_asked` where somebody wants to know of just this one."""

    url: str
    token: str | None = None
    is_asked: bool = False
    is_token_kept_back: bool = False

    @property
    def fault(self) -> Status:
        """How bad it is that agents do not get through there."""
        return PROBLEM if self.is_asked else WARNING


def serve_checks(project: Project, endpoint: Endpoint) -> Iterator[Check]:
    """The library that a server needs, then the server."""
    yield _library()
    yield _server(project, endpoint)


def _library() -> Check:
    """Whether it is there; importing it would take longer than all other checks."""
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


def _server(project: Project, endpoint: Endpoint) -> Check:
    seconds = _ASKED_SECONDS if endpoint.is_asked else _SECONDS
    endpoint = _to_whom_it_belongs(endpoint, seconds)
    try:
        with closing(Client(endpoint.url, endpoint.token, seconds=seconds)) as client:
            if not client.offers(_OWN_TOOL):
                return _stranger(client, endpoint)
            return _round_trip(project, endpoint, client)
    except BrennerError as error:
        return _failed(error.diagnostic, endpoint)


def _to_whom_it_belongs(endpoint: Endpoint, seconds: float) -> Endpoint:
    """The token goes to a server of ours, not to whoever has the port today."""
    if endpoint.token is None or who_listens(endpoint.url, seconds) == OURS:
        return endpoint
    return endpoint._replace(token=None, is_token_kept_back=True)


def _stranger(client: Client, endpoint: Endpoint) -> Check:
    """A server, but not one of ours. Asked for a project it would make one, so it is not."""
    who = "an Agent Mail server" if client.offers(_THEIR_TOOL) else "another MCP server"
    words = f"{client.where} is {who}, not `brenner serve`"
    if endpoint.is_asked:
        return Check("serve", PROBLEM, f"{words}.", _PORT)
    return Check("serve", OK, f"{words}; {_PORT[:1].lower()}{_PORT[1:-1]}")


def _round_trip(project: Project, endpoint: Endpoint, client: Client) -> Check:
    """It is one of ours: whose, and which one."""
    started = time.perf_counter()
    health = _mapping(client.call("health_check", {}))
    taken = milliseconds(time.perf_counter() - started)
    served = str(health.get("project", ""))
    if os.path.realpath(served) != os.path.realpath(project.folder):
        return Check(
            "serve",
            endpoint.fault,
            f"{client.where} serves `{escape_control(served)}`, not this project: agents that are told to "
            "go there do not find its mail.",
            "Stop that one, or run one for each project: `brenner serve --port N`, and "
            "`brenner agent config --client NAME --url URL` for its agents.",
        )
    client.call("ensure_project", {"human_key": str(project.folder)})
    words = f"{client.where} serves this project{_told(health)}; a round trip takes {taken}"
    return _way(words, endpoint)


def _told(health: Mapping[str, object]) -> str:
    """What else it says of itself."""
    known = {"version": "version {}", "identity": "identity {}"}
    said = [words.format(health[key]) for key, words in known.items() if health.get(key)]
    return f" ({escape_control(', '.join(said))})" if said else ""


def _way(words: str, endpoint: Endpoint) -> Check:
    parts = urlsplit(endpoint.url)
    if parts.scheme == "https" or is_here(parts.hostname or ""):
        return Check("serve", OK, words)
    detail = f"{words}. It is not encrypted: mail and secrets can be read on the way."
    return Check("serve", WARNING, detail, _IN_THE_CLEAR)


def _failed(found: Diagnostic, endpoint: Endpoint) -> Check:
    """What is wrong there, for who wants a server of ours; some of it is no fault."""
    is_asked = endpoint.is_asked
    if found.code == codes.SERVER_UNREACHABLE and not is_asked:
        return Check("serve", OK, f"nobody listens at {endpoint.url}; {_START} (optional)")
    if found.code == codes.SERVER_UNREACHABLE:
        fix = "Start it with `brenner serve`, or give the address that it has."
        return Check.of("serve", found)._replace(fix=fix)
    if found.code == codes.SERVER_DENIED:
        fix = _KEPT_BACK if endpoint.is_token_kept_back else _TOKEN
        return Check.of("serve", found)._replace(status=endpoint.fault, fix=fix)
    if found.code == codes.SERVER_NONSENSE and not is_asked:
        port = f"{_PORT[:1].lower()}{_PORT[1:-1]}"
        return Check("serve", OK, f"{endpoint.url} is another program's; {port}")
    return Check.of("serve", found)._replace(status=endpoint.fault, fix=_PORT)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
