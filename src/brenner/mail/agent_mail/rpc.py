"""JSON-RPC over the line: numbered requests, in a session where the server wants one."""

import json
import time
from collections.abc import Mapping
from http import HTTPStatus

from brenner import __version__
from brenner.mail.agent_mail.answers import Reader, is_response, wants_session
from brenner.mail.agent_mail.failures import Failures, harmless
from brenner.mail.agent_mail.http import Answer, Line, Request
from brenner.mail.agent_mail.offers import Json
from brenner.mail.agent_mail.sockets import Deadline

_PROTOCOL = "2025-06-18"
_SESSION = "Mcp-Session-Id"
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "User-Agent": "brenner",
    # A mailbox never looks at content. What we send was checked where that is wanted, and what is
    # taken over from another home must come in as it is: a server of our own need not look either.
    "Brenner-Checked": "true",
}
_CLIENT = {"name": "brenner", "version": __version__}
_PAUSE = 1.0  # after "too many requests", where the server does not say how long
_MOST_PAUSES = 5
_MOST_PAGES = 100  # of one list


class Rpc:
    """The methods of one server."""

    def __init__(self, url: str, token: str | None, failures: Failures) -> None:
        self.reader = Reader(failures, has_token=token is not None)
        self._failures = failures
        self._line = Line(url, failures, is_response)
        self._headers = _HEADERS | ({"Authorization": f"Bearer {token}"} if token else {})
        self._number = 0

    def ask(
        self, method: str, params: Json, deadline: Deadline, *, may_repeat: bool = True
    ) -> Json:
        """The result of a method.

        A server that wants a session turns away what comes without one, or with one that it has
        forgotten since. Then one is begun, and the request is made again: nothing was done.
        """
        answer = self._answer(method, params, deadline, may_repeat=may_repeat)
        if wants_session(answer):
            self._begin_session(deadline)
            answer = self._answer(method, params, deadline, may_repeat=may_repeat)
        return self.reader.result(answer, self._number, method)

    def listed(self, method: str, name: str, deadline: Deadline) -> list[object]:
        """All pages of a list."""
        found: list[object] = []
        params: Json = {}
        for _ in range(_MOST_PAGES):
            page = self.ask(method, params, deadline)
            part = page.get(name)
            if not isinstance(part, list):
                reason = f"the answer to `{method}` has no `{name}`"
                raise self._failures.nonsense(reason)
            found += part
            if not page.get("nextCursor"):
                return found
            params = {"cursor": page["nextCursor"]}
        reason = f"the list of `{method}` does not end"
        raise self._failures.nonsense(reason)

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def _begin_session(self, deadline: Deadline) -> None:
        self._headers.pop(_SESSION, None)
        params = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": _CLIENT}
        with harmless():
            answer = self._answer("initialize", params, deadline, may_repeat=True)
            agreed = self.reader.result(answer, self._number, "initialize").get("protocolVersion")
            if not (isinstance(agreed, str) and agreed.isascii() and agreed.isprintable()):
                reason = "it does not say which version of the protocol it speaks"
                raise self._failures.nonsense(reason)
            self._headers["MCP-Protocol-Version"] = agreed
            session = answer.headers.get(_SESSION.lower())
            self._headers |= {_SESSION: session} if session else {}
            news = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            self.reader.check_status(self._patient(news, deadline, may_repeat=True))

    def _answer(self, method: str, params: Json, deadline: Deadline, *, may_repeat: bool) -> Answer:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return self._patient(message, deadline, may_repeat=may_repeat)

    def _patient(
        self, message: Mapping[str, object], deadline: Deadline, *, may_repeat: bool
    ) -> Answer:
        """The answer of a server that may want us to come back later, if there is time for that.

        What was turned away so did nothing: whatever it was, it can be asked again.
        """
        request = Request(json.dumps(message).encode(), self._headers, may_repeat)
        answer = self._line.post(request, deadline)
        for _ in range(_MOST_PAUSES):
            pause = _pause(answer)
            if answer.status != HTTPStatus.TOO_MANY_REQUESTS or not deadline.allows(pause):
                break
            time.sleep(pause)
            answer = self._line.post(request, deadline)
        return answer


def _pause(answer: Answer) -> float:
    said = answer.headers.get("retry-after", "").strip()
    return float(said) if said.isdecimal() and said.isascii() else _PAUSE
