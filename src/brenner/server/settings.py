"""How the server is run: where it listens, whom it lets in, how much it takes."""

import os
import socket
import stat
from collections.abc import Mapping, Sequence
from errno import EADDRINUSE
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic, RequestError, UnavailableError
from brenner.limits import MOST_REQUEST_BYTES
from brenner.server.http import authority, is_any, is_loopback, plain, without_port
from brenner.services.identity import NOBODY, OURS, THEIRS, TOKEN, who_listens

HOST, PORT = "127.0.0.1", 8765
ENDPOINTS = ("/mcp", "/mcp/", "/api", "/api/")
MOST_CONNECTIONS = 1_000
REQUESTS_A_SECOND = 500
GRACE_SECONDS = 10


class ServeSettings(NamedTuple):
    """What the command line and the environment say.

    `token` is what every request must bear; anywhere but on loopback there must be one, and
    identity is strict. `hosts` are names under which the server is reached, beside its address.
    With `is_lab` the operator can act on the web page; `lab_secret` is what opens it in a home
    that keeps no secrets.
    """

    host: str = HOST
    port: int = PORT
    token: str | None = None
    is_strict: bool = False
    hosts: tuple[str, ...] = ()
    most_request_bytes: int = MOST_REQUEST_BYTES
    most_connections: int = MOST_CONNECTIONS
    requests_a_second: int = REQUESTS_A_SECOND
    grace_seconds: int = GRACE_SECONDS
    is_lab: bool = False
    lab_secret: str | None = None


# The way to this server, for who wants to connect an agent: the whole command, as it works here.
#
# Only at the usual address, without a token, does the command find its way by itself.


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


# Where the server listens: the socket comes first, before anything that takes time.
#
# Who connects while the rest is still being loaded waits, and is not sent away.


_BACKLOG = 1024
_ASKING_SECONDS = 0.5
_WHO = {
    OURS: "A Brenner server answers there.",
    THEIRS: "Something that looks like an Agent Mail server answers there.",
    NOBODY: "It may be a Brenner or an Agent Mail server: both use port 8765 by default.",
}


class Place(NamedTuple):
    """An address of this machine, as it was found."""

    family: socket.AddressFamily
    address: tuple[str, int]

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine gets there."""
        return is_loopback(self.address[0])

    @property
    def shown(self) -> str:
        """As it stands in an address of the web."""
        return authority(*self.address)


def find(host: str, port: int) -> Place:
    """The address that a name or number stands for; of several an IPv4 one."""
    flags = socket.AI_PASSIVE
    try:
        found = socket.getaddrinfo(plain(host), port, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError):
        reason = "there is no host of that name"
        raise _unusable(host, reason) from None
    family, _, _, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    return Place(family, (str(address[0]), int(address[1])))


def listen(place: Place) -> tuple[socket.socket, Place]:
    """A socket that listens there, and where that is: port 0 becomes a free one."""
    # asyncio sends without delay only where the protocol is named; else each answer waits 40 ms.
    opened = socket.socket(place.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(place.address)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        if error.errno == EADDRINUSE:
            raise UnavailableError(_taken(place)) from None
        reason = (error.strerror or "unknown").lower()
        raise _unusable(place.shown, reason) from None
    opened.setblocking(False)
    host, port = opened.getsockname()[:2]
    return opened, Place(place.family, (host, port))


def _taken(place: Place) -> Diagnostic:
    """Who has the port; and what agents need, if it is to be another one."""
    who = _WHO[who_listens(f"http://{place.shown}/mcp", _ASKING_SECONDS)]
    command = way_to(place.address[0], "NUMBER").command()
    return codes.PORT_TAKEN.at(address=place.shown, who=who, command=command)


def _unusable(address: str, reason: str) -> UnavailableError:
    return UnavailableError(codes.ADDRESS_UNUSABLE.at(address=address, reason=reason))


# The token that every request must bear: from a file, or from the environment.


_MOST = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Token(NamedTuple):
    """The token, if there is one, and what is odd about where it stands."""

    value: str | None = None
    warnings: tuple[Diagnostic, ...] = ()


def read_token(file: str | None, environ: Mapping[str, str]) -> Token:
    """The token of the file, else of the environment. One that cannot be used is refused."""
    if file is not None:
        return _from_file(Path(file).expanduser())
    if TOKEN not in environ:
        return Token()
    return Token(_checked(environ[TOKEN], TOKEN))


def _from_file(path: Path) -> Token:
    try:
        with path.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            raw = opened.read(_MOST + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise _tokens_unusable(str(path), reason) from None
    warnings: tuple[Diagnostic, ...] = ()
    if mode & _OTHERS and os.name == "posix":
        warnings = (codes.TOKEN_FILE_READABLE.at(path=str(path)),)
    return Token(_checked(raw.decode("latin-1"), str(path)), warnings)


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if not token:
        raise _tokens_unusable(where, "it is empty")
    if len(token) > _MOST:
        raise _tokens_unusable(where, f"it is longer than {_MOST} characters")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise _tokens_unusable(where, "it has blanks, or characters that are not visible ASCII")
    return token


def _tokens_unusable(where: str, reason: str) -> RequestError:
    return RequestError(codes.UNUSABLE_TOKEN.at(where=where, reason=reason))
