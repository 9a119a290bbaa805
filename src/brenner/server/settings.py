"""How the server is run: where it listens, whom it lets in, how much it takes."""

from typing import NamedTuple

from brenner.limits import MOST_REQUEST_BYTES

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
