"""What can go wrong with a server, in our words. Its token is in none of them.

Unavailable             the request certainly did nothing: it was not sent, or not let in
└── MaybeReached        the server may have got it: what was asked for may be done, or not
Refused                 the server says no to what was asked for
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Code, Refused, Unavailable

_REACH = (
    "Start the server (`mcp_mail`: `python -m mcp_agent_mail.cli serve-http`), or give the right "
    "address: `--store agent-mail+http://HOST:PORT/mcp/`, or `AGENT_MAIL_BASE_URL` and "
    "`AGENT_MAIL_PATH`."
)
_TRUST = (
    "Use the name that its certificate is for. A certificate of your own becomes known by "
    "`SSL_CERT_FILE=FILE`."
)
_LET_IN = "Set `AGENT_MAIL_BEARER_TOKEN` to the token that the server was started with."
_LET_WRITE = (
    "It knows you, but your role may not do that. Start the server with a role that may write "
    "(`mcp_mail`: `HTTP_RBAC_DEFAULT_ROLE=writer`), or set `AGENT_MAIL_BEARER_TOKEN` to a token "
    "of such a role."
)
_MOST_CHARACTERS = 200
# What servers say around the reason: where in their code it happened, and where to read on.
_AROUND = re.compile(
    r"^Error (?:calling tool|reading resource(?: from template)?) '.*?': "
    r"|For further information visit \S+"
)


class MaybeReached(Unavailable):
    """The request may have reached the server: what it asked for may have been done, or not.

    Where `has_ended`, the server says itself that it is done with it: nothing comes of it later.
    """

    has_ended = False


@contextmanager
def harmless() -> Iterator[None]:
    """Something that changes nothing, whether or not it reaches the server."""
    try:
        yield
    except MaybeReached as error:
        raise Unavailable(codes.nothing_done(error.diagnostic)) from None


class Failures:
    """The failures of one server."""

    def __init__(self, where: str, token: str | None) -> None:
        self.where = where
        self._token = token

    def unreachable(self, reason: str) -> Unavailable:
        """Nobody answers there."""
        return self._unavailable(codes.SERVER_UNREACHABLE, reason, advice=_REACH)

    def untrusted(self, reason: str) -> Unavailable:
        """Somebody answers, but cannot prove to be the one."""
        return self._unavailable(codes.SERVER_UNREACHABLE, reason, advice=_TRUST)

    def denied(self, reason: str, *, is_role: bool = False) -> Unavailable:
        """Who we are is not known, or not enough."""
        advice = _LET_WRITE if is_role else _LET_IN
        return self._unavailable(codes.SERVER_DENIED, reason, advice=advice)

    def timeout(self, seconds: float, *, reached: bool) -> Unavailable:
        """The time was up."""
        found = codes.SERVER_TIMEOUT.at(where=self.where, seconds=f"{seconds:g}")
        return MaybeReached(found) if reached else Unavailable(found)

    def lost(self, reason: str, *, reached: bool) -> Unavailable:
        """The connection broke."""
        return self._unavailable(codes.SERVER_LOST, reason, reached=reached)

    def nonsense(self, reason: str, *, reached: bool = True) -> Unavailable:
        """What it answers cannot be read."""
        return self._unavailable(codes.SERVER_NONSENSE, reason, reached=reached)

    def failed(self, reason: str, *, reached: bool = True, ended: bool = True) -> Unavailable:
        """It says itself that it is broken; what stands before it may say so too early."""
        error = self._unavailable(codes.SERVER_FAILED, reason, reached=reached)
        if isinstance(error, MaybeReached):
            error.has_ended = ended
        return error

    def lacks(self, what: str) -> Unavailable:
        """It does not have what is needed."""
        return Unavailable(codes.SERVER_LACKS.at(where=self.where, what=what))

    def refused(self, reason: str) -> Refused:
        """It has understood, and says no."""
        return Refused(codes.SERVER_REFUSED.at(where=self.where, reason=self._told(reason)))

    def _unavailable(
        self, code: Code, reason: str, *, reached: bool = False, advice: str = ""
    ) -> Unavailable:
        found = code.at(where=self.where, reason=self._told(reason), advice=advice)
        return MaybeReached(found) if reached else Unavailable(codes.nothing_done(found))

    def _told(self, reason: str) -> str:
        """As a part of a sentence: on one line, not too long, without the token."""
        text = " ".join(_AROUND.sub("", reason).split()).rstrip(".")
        if self._token:
            text = text.replace(self._token, "…")
        return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
