"""The way to this server, for who wants to connect an agent: the whole command, as it works here.

Only at the usual address, without a token, does the command find its way by itself.
"""

from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

from brenner.server.hosts import authority, is_any, without_port
from brenner.server.settings import ENDPOINTS, HOST, PORT, ServeSettings

CLIENTS = ("claude-code", "codex", "gemini")
_ADDRESS = "ADDRESS"  # of several nobody knows which one an agent gets to
_FILL_IN = (
    f"For {_ADDRESS} write an address of this machine, or a name of it that the server was started "
    "with: `--allow-host NAME`."
)


class Way(NamedTuple):
    """Where an agent's program gets to the server; `remark` is what to fill in, if anything."""

    base: str
    wants_token: bool = False
    remark: str = ""

    @property
    def url(self) -> str:
        """The address of the endpoint."""
        return self.base + ENDPOINTS[1]

    def command(self, client: str = "NAME") -> str:
        """What prints the entry for the configuration of a client."""
        words = ["brenner agent config --client", client]
        if self.base != _base(HOST, PORT):
            words += ["--url", quote(self.url)]
        if self.wants_token:
            words.append("--token")
        return " ".join(words)


def way_of(settings: ServeSettings) -> Way:
    """How agents get to a server that is run like that."""
    wants_token = settings.token is not None
    return way_to(settings.host, settings.port, settings.hosts, wants_token=wants_token)


def way_to(
    host: str, port: int | str, hosts: Sequence[str] = (), *, wants_token: bool = False
) -> Way:
    """The way to a server that listens there, and has those further names."""
    if not is_any(host):
        return Way(_base(host, port), wants_token)
    named = next(filter(None, map(without_port, hosts)), "")
    return Way(_base(named or _ADDRESS, port), wants_token, "" if named else _FILL_IN)


def _base(host: str, port: int | str) -> str:
    return f"http://{authority(host, port)}"
