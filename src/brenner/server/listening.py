"""Where the server listens: the socket comes first, before anything that takes time.

Who connects while the rest is still being loaded waits, and is not sent away.
"""

import socket
from errno import EADDRINUSE
from typing import NamedTuple

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic, Unavailable
from brenner.server.connecting import way_to
from brenner.server.hosts import authority, is_loopback, plain
from brenner.services.identity import NOBODY, OURS, THEIRS, who_listens

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
            raise Unavailable(_taken(place)) from None
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


def _unusable(address: str, reason: str) -> Unavailable:
    return Unavailable(codes.ADDRESS_UNUSABLE.at(address=address, reason=reason))
