"""HTTP POST to an Agent Mail server: errors, timeouts, and one keep-alive connection.

One timeout covers a whole request: connecting, sending and reading the answer. Each error shows
whether the server may have received the request. It cannot, unless the last byte was sent.
"""

from __future__ import annotations

import io
import selectors
import socket
import ssl
import time
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
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Code, RequestError, UnavailableError
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from _typeshed import ReadableBuffer, WriteableBuffer


# Errors. None of them contains the token.
#
# UnavailableError        the request had no effect: it was not sent, or was rejected unread
# └── MaybeSentError      the server may have received it, so the change may have been made
# RequestError            the server rejects the request


_UNREACHABLE_ADVICE = (
    "Start the server (`mcp_mail`: `python -m mcp_agent_mail.cli serve-http`). Or correct the "
    "address: `--store agent-mail+http://HOST:PORT/mcp/`, or `AGENT_MAIL_BASE_URL` and "
    "`AGENT_MAIL_PATH`."
)
_CERTIFICATE_ADVICE = (
    "Use the host name in the certificate. To trust your own certificate, set `SSL_CERT_FILE=FILE`."
)
_LOGIN_ADVICE = "Set `AGENT_MAIL_BEARER_TOKEN` to the token that the server was started with."
_ROLE_ADVICE = (
    "Your role does not have this right. Start the server with a role that may write "
    "(`mcp_mail`: `HTTP_RBAC_DEFAULT_ROLE=writer`), or set `AGENT_MAIL_BEARER_TOKEN` to a token "
    "of such a role."
)
_MOST_REASON_CHARACTERS = 200
# Text around the reason: which tool failed, and links to documentation
_BOILERPLATE = lazy_pattern(
    r"^Error (?:calling tool|reading resource(?: from template)?) '.*?': "
    r"|For further information visit \S+"
)


class MaybeSentError(UnavailableError):
    """The request may have reached the server, so the change may have been made.

    If `server_has_finished`, the server itself reported the failure: nothing will happen later.
    """

    server_has_finished = False


@contextmanager
def without_side_effects() -> Iterator[None]:
    """Wrap a request that changes nothing, so that its failure never means an unknown outcome."""
    try:
        yield
    except MaybeSentError as error:
        raise UnavailableError(codes.add_nothing_done(error.diagnostic)) from None


class ServerErrors:
    def __init__(self, where: str, token: str | None) -> None:
        self.where = where
        self._token = token

    def unreachable(self, reason: str) -> UnavailableError:
        """Return the error for a server that does not accept the connection."""
        return self._unavailable(codes.SERVER_UNREACHABLE, reason, advice=_UNREACHABLE_ADVICE)

    def untrusted_certificate(self, reason: str) -> UnavailableError:
        return self._unavailable(codes.SERVER_UNREACHABLE, reason, advice=_CERTIFICATE_ADVICE)

    def denied(self, reason: str, *, is_role: bool = False) -> UnavailableError:
        """Return the error for a missing or wrong token, or for a role without the right."""
        advice = _ROLE_ADVICE if is_role else _LOGIN_ADVICE
        return self._unavailable(codes.SERVER_DENIED, reason, advice=advice)

    def timeout(self, seconds: float, *, reached: bool) -> UnavailableError:
        found = codes.SERVER_TIMEOUT.at(where=self.where, seconds=f"{seconds:g}")
        return MaybeSentError(found) if reached else UnavailableError(found)

    def lost(self, reason: str, *, reached: bool) -> UnavailableError:
        return self._unavailable(codes.SERVER_LOST, reason, reached=reached)

    def invalid_answer(self, reason: str, *, reached: bool = True) -> UnavailableError:
        return self._unavailable(codes.SERVER_NONSENSE, reason, reached=reached)

    def failed(self, reason: str, *, reached: bool = True, ended: bool = True) -> UnavailableError:
        """Return the error for a failure that the server reports.

        A proxy may report one too early: then `ended` is false.
        """
        error = self._unavailable(codes.SERVER_FAILED, reason, reached=reached)
        if isinstance(error, MaybeSentError):
            error.server_has_finished = ended
        return error

    def missing_feature(self, what: str) -> UnavailableError:
        """Return the error for a server without a required tool or method."""
        return UnavailableError(codes.SERVER_LACKS.at(where=self.where, what=what))

    def refused(self, reason: str) -> RequestError:
        return RequestError(codes.SERVER_REFUSED.at(where=self.where, reason=self._clean(reason)))

    def _unavailable(
        self, code: Code, reason: str, *, reached: bool = False, advice: str = ""
    ) -> UnavailableError:
        found = code.at(where=self.where, reason=self._clean(reason), advice=advice)
        return MaybeSentError(found) if reached else UnavailableError(codes.add_nothing_done(found))

    def _clean(self, reason: str) -> str:
        """Return the reason as part of a sentence: one short line, without the token."""
        text = " ".join(_BOILERPLATE.sub("", reason).split()).rstrip(".")
        if self._token:
            text = text.replace(self._token, "…")
        return (
            text if len(text) <= _MOST_REASON_CHARACTERS else f"{text[:_MOST_REASON_CHARACTERS]}…"
        )


# Sockets with one deadline per request


class Deadline:
    """The time when a request must be complete."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the remaining seconds; raise TimeoutError if there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def allows(self, seconds: float) -> bool:
        return time.monotonic() + seconds < self._end


class TimedSocket:
    """The part of a socket that an HTTP connection uses, with the request's deadline.

    The socket's own timeout would restart with every byte received.
    """

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self.socket = connected
        self.deadline = deadline

    def sendall(self, data: ReadableBuffer) -> None:
        """Send all data; if this raises, the last byte was not sent."""
        self.socket.settimeout(self.deadline.left())
        self.socket.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self))

    def close(self) -> None:
        self.socket.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, timed: TimedSocket) -> None:
        self._timed = timed
        self._incoming = timed.socket.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        self._timed.socket.settimeout(self._timed.deadline.left())
        return self._incoming.readinto(buffer)

    def close(self) -> None:
        self._incoming.close()
        super().close()


def open_socket(host: str, port: int, deadline: Deadline) -> socket.socket:
    """Connect to the first address of a host that accepts."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    problem: OSError | None = None
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        candidate = socket.socket(family, kind, protocol)
        try:
            candidate.settimeout(deadline.left() / (len(addresses) - number))
            candidate.connect(address)
            # A request is small: do not delay it to fill a packet.
            candidate.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            candidate.close()
            problem = error
        else:
            return candidate
    raise problem or socket.gaierror


def wrap_tls(plain: socket.socket, context: ssl.SSLContext, host: str) -> socket.socket:
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


MOST_BYTES = 256 * 1024 * 1024  # the first download has all mail of a project
_CHUNK_BYTES = 64 * 1024
_EVENT_STREAM = "text/event-stream"
_DATA_FIELD = b"data:"


class HttpAnswer(NamedTuple):
    """An answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class KeepAliveConnection:
    """A keep-alive HTTP connection to one URL.

    If the server answers with an event stream, `is_response` selects the event that is the answer.
    Proxies of the environment are not used: mail servers are near.
    """

    def __init__(
        self, url: str, errors: ServerErrors, is_response: Callable[[bytes], bool]
    ) -> None:
        self._url = urlsplit(url)
        self._errors = errors
        self._is_response = is_response
        self._idle: tuple[HTTPConnection, TimedSocket] | None = None

    def post(
        self, body: bytes, headers: dict[str, str], deadline: Deadline, *, may_repeat: bool
    ) -> HttpAnswer:
        """Send a request and return the answer.

        A server may close an idle connection at any time. Then the request is sent again on a new
        one, if it was not sent, or if sending it twice does no harm (`may_repeat`).
        """
        while True:
            reused = self._reusable()
            opened = reused or self._connect(deadline)
            answer = self._exchange(*opened, body, headers, deadline)
            if isinstance(answer, HttpAnswer):
                return answer
            if reused is None or (isinstance(answer, MaybeSentError) and not may_repeat):
                raise answer

    def close(self) -> None:
        for each in self._idle or ():
            each.close()
        self._idle = None

    def _reusable(self) -> tuple[HTTPConnection, TimedSocket] | None:
        """Return the idle connection, or None if the server has closed it.

        No request is pending, so readable data means the end of the connection.
        """
        if self._idle is not None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._idle[1].socket, selectors.EVENT_READ)
                is_over = bool(selector.select(0))
            if is_over:
                self.close()
        return self._idle

    def _connect(self, deadline: Deadline) -> tuple[HTTPConnection, TimedSocket]:
        host = self._url.hostname or ""
        try:
            self._idle = self._open_connection(host, deadline)
        except TimeoutError:
            raise self._errors.timeout(deadline.seconds, reached=False) from None
        except ssl.SSLCertVerificationError as error:
            reason = f"its certificate: {error.verify_message}"
            raise self._errors.untrusted_certificate(reason) from None
        except ssl.SSLError:
            reason = "it does not use TLS, which `https` needs"
            raise self._errors.invalid_answer(reason, reached=False) from None
        except (socket.gaierror, ValueError):
            reason = f"unknown host `{host}`"
            raise self._errors.unreachable(reason) from None
        except OSError as error:
            raise self._errors.unreachable(_describe_os_error(error)) from None
        return self._idle

    def _open_connection(self, host: str, deadline: Deadline) -> tuple[HTTPConnection, TimedSocket]:
        if self._url.scheme == "https":
            context = ssl.create_default_context()
            port = self._url.port or HTTPS_PORT
            http: HTTPConnection = HTTPSConnection(host, port, context=context)
            found = wrap_tls(open_socket(host, port, deadline), context, host)
        else:
            port = self._url.port or HTTP_PORT
            http = HTTPConnection(host, port)
            found = open_socket(host, port, deadline)
        http.auto_open = 0
        http.sock = timed = TimedSocket(found, deadline)
        return http, timed

    def _exchange(
        self,
        http: HTTPConnection,
        timed: TimedSocket,
        body: bytes,
        headers: dict[str, str],
        deadline: Deadline,
    ) -> HttpAnswer | UnavailableError:
        """Send and receive. Unless all goes well, close the connection.

        Return an error if the connection broke before the answer was complete.
        """
        timed.deadline = deadline
        was_sent = is_well = False
        try:
            was_sent = self._send(http, body, headers)
            with closing(http.getresponse()) as response:
                answer = HttpAnswer(response.status, _headers(response), self._read_body(response))
                is_well = response.isclosed() and not response.will_close
        except TimeoutError:
            raise self._errors.timeout(deadline.seconds, reached=was_sent) from None
        except OSError as error:
            return self._errors.lost(_describe_os_error(error), reached=was_sent)
        except IncompleteRead:
            raise self._incomplete_answer() from None
        except HTTPException:
            reason = "it is not HTTP"
            raise self._errors.invalid_answer(reason, reached=was_sent) from None
        finally:
            if not is_well:
                self.close()
        return answer

    def _send(self, http: HTTPConnection, body: bytes, headers: dict[str, str]) -> bool:
        """Send the request, and return whether all of it was sent.

        A server may reject a large request and close before it has read it all: its answer is still
        worth reading.
        """
        target = quote(self._url.path or "/", safe="/%:@!$&'()*+,;=~")
        try:
            http.request("POST", target, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def _read_body(self, response: HTTPResponse) -> bytes:
        """Return the whole body, or the event of a stream that is the answer."""
        if response.headers.get_content_type() == _EVENT_STREAM:
            return self._read_event(response)
        body = bytearray()
        self._check_size(response.length or 0)
        while piece := response.read(_CHUNK_BYTES):
            body += piece
            self._check_size(len(body))
        if response.length:  # shorter than Content-Length
            raise self._incomplete_answer()
        return bytes(body)

    def _read_event(self, response: HTTPResponse) -> bytes:
        """Return the first event that is the answer: its `data:` lines up to an empty line."""
        size, data = 0, list[bytes]()
        while line := response.readline(MOST_BYTES):
            self._check_size(size := size + len(line))
            text = line.rstrip(b"\r\n")
            if text.startswith(_DATA_FIELD):
                data.append(text.removeprefix(_DATA_FIELD).removeprefix(b" "))
            elif not text:
                event = b"\n".join(data)
                if self._is_response(event):
                    return event
                data.clear()
        raise self._incomplete_answer()

    def _check_size(self, size: int) -> None:
        if size > MOST_BYTES:
            reason = f"it is larger than {MOST_BYTES} bytes"
            raise self._errors.invalid_answer(reason)

    def _incomplete_answer(self) -> Exception:
        return self._errors.lost("the answer is incomplete", reached=True)


def _headers(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _describe_os_error(error: OSError) -> str:
    """Return the system's error message as part of a sentence."""
    if isinstance(error, RemoteDisconnected):
        return "it closed the connection without an answer"
    words = error.strerror or str(error) or "the connection was lost"
    return words[:1].lower() + words[1:]
