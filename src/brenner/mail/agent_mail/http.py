"""One HTTP connection to a server, kept from request to request.

A request has one time limit for all of it: to connect, to send, to read the whole answer. What
breaks is told together with whether the server can have got the request: it cannot, as long as
the last byte of it was not handed over.
"""

import io
import re
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import (
    HTTP_PORT,
    HTTPS_PORT,
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
    RemoteDisconnected,
)
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlsplit

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Code, RequestError, UnavailableError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


# What can go wrong with a server, in our words. Its token is in none of them.
#
# Unavailable             the request certainly did nothing: it was not sent, or not let in
# └── MaybeReached        the server may have got it: what was asked for may be done, or not
# Refused                 the server says no to what was asked for


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


class MaybeReached(UnavailableError):
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
        raise UnavailableError(codes.nothing_done(error.diagnostic)) from None


class Failures:
    """The failures of one server."""

    def __init__(self, where: str, token: str | None) -> None:
        self.where = where
        self._token = token

    def unreachable(self, reason: str) -> UnavailableError:
        """Nobody answers there."""
        return self._unavailable(codes.SERVER_UNREACHABLE, reason, advice=_REACH)

    def untrusted(self, reason: str) -> UnavailableError:
        """Somebody answers, but cannot prove to be the one."""
        return self._unavailable(codes.SERVER_UNREACHABLE, reason, advice=_TRUST)

    def denied(self, reason: str, *, is_role: bool = False) -> UnavailableError:
        """Who we are is not known, or not enough."""
        advice = _LET_WRITE if is_role else _LET_IN
        return self._unavailable(codes.SERVER_DENIED, reason, advice=advice)

    def timeout(self, seconds: float, *, reached: bool) -> UnavailableError:
        """The time was up."""
        found = codes.SERVER_TIMEOUT.at(where=self.where, seconds=f"{seconds:g}")
        return MaybeReached(found) if reached else UnavailableError(found)

    def lost(self, reason: str, *, reached: bool) -> UnavailableError:
        """The connection broke."""
        return self._unavailable(codes.SERVER_LOST, reason, reached=reached)

    def nonsense(self, reason: str, *, reached: bool = True) -> UnavailableError:
        """What it answers cannot be read."""
        return self._unavailable(codes.SERVER_NONSENSE, reason, reached=reached)

    def failed(self, reason: str, *, reached: bool = True, ended: bool = True) -> UnavailableError:
        """It says itself that it is broken; what stands before it may say so too early."""
        error = self._unavailable(codes.SERVER_FAILED, reason, reached=reached)
        if isinstance(error, MaybeReached):
            error.has_ended = ended
        return error

    def lacks(self, what: str) -> UnavailableError:
        """It does not have what is needed."""
        return UnavailableError(codes.SERVER_LACKS.at(where=self.where, what=what))

    def refused(self, reason: str) -> RequestError:
        """It has understood, and says no."""
        return RequestError(codes.SERVER_REFUSED.at(where=self.where, reason=self._told(reason)))

    def _unavailable(
        self, code: Code, reason: str, *, reached: bool = False, advice: str = ""
    ) -> UnavailableError:
        found = code.at(where=self.where, reason=self._told(reason), advice=advice)
        return MaybeReached(found) if reached else UnavailableError(codes.nothing_done(found))

    def _told(self, reason: str) -> str:
        """As a part of a sentence: on one line, not too long, without the token."""
        text = " ".join(_AROUND.sub("", reason).split()).rstrip(".")
        if self._token:
            text = text.replace(self._token, "…")
        return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


# Sockets that keep to a time limit, whatever the other side does.


class Deadline:
    """When something has to be over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds until then; raised where there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def allows(self, seconds: float) -> bool:
        """Whether something of that length would be over before."""
        return time.monotonic() + seconds < self._end


class TimedSocket:
    """As much of a socket as an HTTP connection uses; `deadline` is the one of the request.

    A time limit of the socket's own would begin anew with every byte that comes in.
    """

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self.socket = connected
        self.deadline = deadline

    def sendall(self, data: "ReadableBuffer") -> None:
        """Hand over all of it, or raise: then the last byte was not handed over."""
        self.socket.settimeout(self.deadline.left())
        self.socket.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What comes in."""
        return io.BufferedReader(_TimedReader(self))

    def close(self) -> None:
        """Close it, once nobody reads from it any more."""
        self.socket.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, timed: TimedSocket) -> None:
        self._timed = timed
        self._incoming = timed.socket.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        self._timed.socket.settimeout(self._timed.deadline.left())
        return self._incoming.readinto(buffer)

    def close(self) -> None:
        self._incoming.close()
        super().close()


def connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    """A connection to the first address of a host that takes it."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    problem: OSError | None = None
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        candidate = socket.socket(family, kind, protocol)
        try:
            candidate.settimeout(deadline.left() / (len(addresses) - number))
            candidate.connect(address)
            # A request is small: it must not wait for more to come.
            candidate.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            candidate.close()
            problem = error
        else:
            return candidate
    raise problem or socket.gaierror


def encrypted(plain: socket.socket, context: ssl.SSLContext, host: str) -> socket.socket:
    """The same connection, under TLS."""
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


MOST_BYTES = 256 * 1024 * 1024  # of one answer; the first look reads all mail of a project
_PIECE = 64 * 1024
_EVENTS = "text/event-stream"
_DATA = b"data:"


class Request(NamedTuple):
    """What to send. Whether it may be done twice, only who asks knows."""

    body: bytes
    headers: Mapping[str, str]
    may_repeat: bool


class Answer(NamedTuple):
    """What came back; names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Line:
    """The connection.

    `is_response` tells, where a server answers with a stream of events, which one is the answer.
    Proxies that the environment names are not asked: mail servers are close by.
    """

    def __init__(self, url: str, failures: Failures, is_response: Callable[[bytes], bool]) -> None:
        self._place = urlsplit(url)
        self._failures = failures
        self._is_response = is_response
        self._kept: _Connection | None = None

    def post(self, request: Request, deadline: Deadline) -> Answer:
        """The answer to a request.

        A server may close a kept connection at any time. Then the request goes out once more, over
        a new one, if it cannot have done anything yet, or may be done twice.
        """
        while True:
            kept = self._alive()
            try:
                return self._exchange(kept or self._connect(deadline), request, deadline)
            except _Gone as gone:
                if kept is None or (gone.was_sent and not request.may_repeat):
                    raise self._failures.lost(gone.reason, reached=gone.was_sent) from None

    def close(self) -> None:
        """Hang up."""
        if self._kept is not None:
            self._kept.http.close()
            self._kept.timed.close()
        self._kept = None

    def _alive(self) -> "_Connection | None":
        """The kept connection, unless the server has closed it meanwhile.

        Nothing was asked on it: if there is something to read, it is the end.
        """
        if self._kept is not None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._kept.timed.socket, selectors.EVENT_READ)
                is_over = bool(selector.select(0))
            if is_over:
                self.close()
        return self._kept

    def _connect(self, deadline: Deadline) -> "_Connection":
        host = self._place.hostname or ""
        try:
            self._kept = self._connected(host, deadline)
        except TimeoutError:
            raise self._failures.timeout(deadline.seconds, reached=False) from None
        except ssl.SSLCertVerificationError as error:
            reason = f"its certificate: {error.verify_message}"
            raise self._failures.untrusted(reason) from None
        except ssl.SSLError:
            reason = "it does not speak TLS, which `https` stands for"
            raise self._failures.nonsense(reason, reached=False) from None
        except (socket.gaierror, ValueError):
            reason = f"there is no host `{host}`"
            raise self._failures.unreachable(reason) from None
        except OSError as error:
            raise self._failures.unreachable(_in_words(error)) from None
        return self._kept

    def _connected(self, host: str, deadline: Deadline) -> "_Connection":
        if self._place.scheme == "https":
            context = ssl.create_default_context()
            port = self._place.port or HTTPS_PORT
            http: HTTPConnection = HTTPSConnection(host, port, context=context)
            found = encrypted(connected(host, port, deadline), context, host)
        else:
            port = self._place.port or HTTP_PORT
            http = HTTPConnection(host, port)
            found = connected(host, port, deadline)
        http.auto_open = 0
        http.sock = timed = TimedSocket(found, deadline)
        return _Connection(http, timed)

    def _exchange(self, kept: "_Connection", request: Request, deadline: Deadline) -> Answer:
        """Send and receive; unless all of it went well, the connection is not used again."""
        kept.timed.deadline = deadline
        was_sent = is_well = False
        try:
            was_sent = self._send(kept.http, request)
            with closing(kept.http.getresponse()) as response:
                answer = Answer(response.status, _headers(response), self._body(response))
                is_well = response.isclosed() and not response.will_close
        except TimeoutError:
            raise self._failures.timeout(deadline.seconds, reached=was_sent) from None
        except OSError as error:
            raise _Gone(_in_words(error), was_sent=was_sent) from None
        except IncompleteRead:
            raise self._broken_off() from None
        except HTTPException:
            reason = "that is not HTTP"
            raise self._failures.nonsense(reason, reached=was_sent) from None
        finally:
            if not is_well:
                self.close()
        return answer

    def _send(self, http: HTTPConnection, request: Request) -> bool:
        """Whether all of it went out.

        A server that finds a request too large may say so and hang up before it has all of it:
        that answer is worth reading.
        """
        target = quote(self._place.path or "/", safe="/%:@!$&'()*+,;=~")
        try:
            http.request("POST", target, request.body, dict(request.headers))
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def _body(self, response: HTTPResponse) -> bytes:
        """All of the answer; of a stream of events, the one that is the answer."""
        if response.headers.get_content_type() == _EVENTS:
            return self._event(response)
        body = bytearray()
        self._check_size(response.length or 0)
        while piece := response.read(_PIECE):
            body += piece
            self._check_size(len(body))
        if response.length:  # of what was announced, not everything came
            raise self._broken_off()
        return bytes(body)

    def _event(self, response: HTTPResponse) -> bytes:
        """The data of an event are its lines that begin so; an empty line ends it."""
        size, data = 0, list[bytes]()
        while line := response.readline(MOST_BYTES):
            self._check_size(size := size + len(line))
            text = line.rstrip(b"\r\n")
            if text.startswith(_DATA):
                data.append(text.removeprefix(_DATA).removeprefix(b" "))
            elif not text:
                event = b"\n".join(data)
                if self._is_response(event):
                    return event
                data.clear()
        raise self._broken_off()

    def _check_size(self, size: int) -> None:
        if size > MOST_BYTES:
            reason = f"it is larger than {MOST_BYTES} bytes"
            raise self._failures.nonsense(reason)

    def _broken_off(self) -> Exception:
        return self._failures.lost("the answer broke off", reached=True)


class _Connection(NamedTuple):
    http: HTTPConnection
    timed: TimedSocket


class _Gone(Exception):
    """The connection broke before there was a whole answer."""

    def __init__(self, reason: str, *, was_sent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.was_sent = was_sent


def _headers(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _in_words(error: OSError) -> str:
    """What the system says, as part of a sentence."""
    if isinstance(error, RemoteDisconnected):
        return "it hung up without an answer"
    words = error.strerror or str(error) or "the connection broke"
    return words[:1].lower() + words[1:]
