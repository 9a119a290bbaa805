"""One HTTP connection to a server, kept from request to request.

A request has one time limit for all of it: to connect, to send, to read the whole answer. What
breaks is told together with whether the server can have got the request: it cannot, as long as
the last byte of it was not handed over.
"""

import selectors
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import closing
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
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from brenner.mail.agent_mail.failures import Failures
from brenner.mail.agent_mail.sockets import Deadline, TimedSocket, connected, encrypted

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
