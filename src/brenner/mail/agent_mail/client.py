"""JSON-RPC over the line: numbered requests, in a session where the server wants one."""

import json
import re
import threading
import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import NamedTuple, NoReturn
from urllib.parse import quote, urlencode

from brenner import __version__
from brenner.diagnostics.codes.stores import SERVER_LACKS
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.mail.agent_mail.http import Answer, Deadline, Failures, Line, Request, harmless
from brenner.store_url import shown

# What a server says that it offers: its tools with their arguments, its templates of resources.


_PLACE = re.compile(r"\{(\w+)(\*?)\}")
_QUERY = re.compile(r"\{\?[^}]*\}$")
_SCHEME = "resource://"

Json = Mapping[str, object]


class Tools:
    """The tools by name. Where a tool's schema does not name its arguments, it may take any."""

    def __init__(self, listed: Iterable[object]) -> None:
        self._arguments = dict(
            _tool(each) for each in listed if isinstance(each, Mapping) and "name" in each
        )

    def has(self, tool: str, argument: str | None = None) -> bool:
        """Whether there is such a tool, and whether it takes that argument."""
        if tool not in self._arguments:
            return False
        taken = self._arguments[tool]
        return argument is None or taken is None or argument in taken


def _tool(listed: Json) -> tuple[str, frozenset[str] | None]:
    schema = listed.get("inputSchema")
    taken = schema.get("properties") if isinstance(schema, Mapping) else None
    return str(listed["name"]), frozenset(taken) if isinstance(taken, Mapping) else None


class Template(NamedTuple):
    """A form of resource addresses, and whether it declares a query."""

    pattern: re.Pattern[str]
    has_query: bool


def templates(listed: Iterable[object]) -> tuple[Template, ...]:
    """The templates of a list, in its order."""
    found = (each.get("uriTemplate") for each in listed if isinstance(each, Mapping))
    return tuple(_template(each) for each in found if isinstance(each, str))


def _template(text: str) -> Template:
    path = _QUERY.sub("", text.removeprefix(_SCHEME))
    literal = _PLACE.split(path)
    # The pieces come in threes: what stands between places, a place's name, its asterisk.
    pieces = [re.escape(each) for each in literal[::3]]
    places = [".+" if each else "[^/]+" for each in literal[2::3]]
    pattern = "".join(a + b for a, b in zip(pieces, [*places, ""], strict=True))
    return Template(re.compile(pattern, re.ASCII), bool(_QUERY.search(text)))


def hides_query(known: Iterable[Template], path: str) -> bool:
    """Whether the template of a path declares no query, so that one must be hidden in the path."""
    return any(each.pattern.fullmatch(path) and not each.has_query for each in known)


# What a server's answer means. Errors come in three ways, and leave here as one.
#
# An HTTP status with `{"detail"}`; a JSON-RPC `error`; a tool's result that says `isError`, with a
# text for the reason. Which of them are failures of the server's own, the text has to tell.


_NOT_UNDERSTOOD = (-32700, -32600)
_NO_METHOD, _INTERNAL = -32601, -32603
_OWN_FAILURE = re.compile(
    r"unexpected error|internal (server )?error|error processing request"
    r"|disk is full|no space left|quota exceeded|disk I/O error|too many open files|\[Errno \d+\]"
    r"|database( table| schema)? is locked|readonly database|read-only file system"
    r"|disk image is malformed|not a database|unable to open database|(Operational|Database)Error",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(r"unknown (tool|resource)\W+(.*?)\W*", re.IGNORECASE | re.DOTALL)
_WANTS_SESSION = re.compile(r"\bsession\b|\binitiali[sz]", re.IGNORECASE)
_WEB_PAGE = "text/html"
# What programs say that do not know what they are asked for, as one that only shows files
_ANOTHER_PROGRAM = (HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)


def is_response(event: bytes) -> bool:
    """Whether an event of a stream is an answer, not news or a question of the server's own."""
    value = _json(event)
    return isinstance(value, Mapping) and "id" in value and "method" not in value


def wants_session(answer: Answer) -> bool:
    """Whether a request was turned away because no session was begun, or ours is over."""
    if answer.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND):
        return False
    return "mcp-session-id" in answer.headers or bool(_WANTS_SESSION.search(_said(answer.body)))


class Reader:
    """Reads the answers of one server; what is an error in them, it raises."""

    def __init__(self, failures: Failures, *, has_token: bool) -> None:
        self._failures = failures
        self._has_token = has_token

    def result(self, answer: Answer, number: int, method: str) -> Json:
        """The result of the request of that number."""
        self.check_status(answer)
        response = _json(answer.body)
        if response is None:
            raise self._failures.nonsense(_not_json(answer.headers.get("content-type", "")))
        if not isinstance(response, Mapping) or response.get("jsonrpc") != "2.0":
            reason = "that is JSON, but not JSON-RPC"
            raise self._failures.nonsense(reason)
        error, result = response.get("error"), response.get("result")
        if isinstance(error, Mapping):  # its number is missing where the request was not understood
            self._raise_error(error, method)
        if response.get("id") != number:
            reason = "the answer is to another request"
            raise self._failures.nonsense(reason)
        if not isinstance(result, Mapping):
            reason = "the answer has neither a result nor an error"
            raise self._failures.nonsense(reason)
        return result

    def check_status(self, answer: Answer) -> None:
        """Whether the server took the request."""
        status, said = answer.status, _said(answer.body)
        if status in _ANOTHER_PROGRAM and not said:
            raise self._failures.nonsense(_in_words(status, said), reached=False)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise self._failures.failed(_in_words(status, said), ended=False)
        if status >= HTTPStatus.BAD_REQUEST:
            self._raise_turned_away(status, said)
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            place = answer.headers.get("location", "somewhere else")
            reason = f"it sends us on to `{place}`, which may be the address to give"
            raise self._failures.nonsense(reason, reached=False)
        if status < HTTPStatus.OK:
            raise self._failures.nonsense(_in_words(status, said))

    def tool_value(self, result: Json) -> object:
        """What a tool gives back: its `structuredContent`, else the JSON in its texts."""
        texts = self._texts(result.get("content") or [])
        if result.get("isError"):
            self._raise_reason("\n".join(texts))
        value = result.get("structuredContent")
        if value is None:
            values = [self._value(text) for text in texts]
            return values[0] if len(values) == 1 else values
        if isinstance(value, Mapping) and list(value) == ["result"]:
            return value["result"]  # structured content is an object: a list comes wrapped
        return value

    def resource_value(self, result: Json) -> object:
        """What a resource holds."""
        texts = self._texts(result.get("contents"))
        if len(texts) != 1:
            reason = "a resource has to be one text"
            raise self._failures.nonsense(reason)
        return self._value(texts[0])

    def _raise_turned_away(self, status: int, said: str) -> NoReturn:
        """By this nothing was done."""
        if status == HTTPStatus.UNAUTHORIZED:
            why = "it does not take the token" if self._has_token else "it wants a token"
            raise self._failures.denied(why)
        if status == HTTPStatus.FORBIDDEN:
            raise self._failures.denied(_in_words(status, said), is_role=True)
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise self._failures.refused(_in_words(status, said))
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise self._failures.failed(_in_words(status, said), reached=False)
        raise self._failures.nonsense(_in_words(status, said), reached=False)

    def _raise_error(self, error: Json, method: str) -> NoReturn:
        code, said = error.get("code"), str(error.get("message"))
        if code == _NO_METHOD:
            what = f"`{method}`"
            raise self._failures.lacks(what)
        if code in _NOT_UNDERSTOOD:
            reason = f"it does not understand us: {said}"
            raise self._failures.nonsense(reason, reached=False)
        if code == _INTERNAL:
            raise self._failures.failed(said)
        self._raise_reason(said)

    def _raise_reason(self, said: str) -> NoReturn:
        unknown = _UNKNOWN.fullmatch(said)
        if unknown:
            what = f"the {unknown[1].lower()} `{unknown[2]}`"
            raise self._failures.lacks(what)
        if _OWN_FAILURE.search(said):
            raise self._failures.failed(said)
        raise self._failures.refused(_message(_json(said)) or said or "it does not say why")

    def _texts(self, content: object) -> list[str]:
        if isinstance(content, list):
            texts = [each.get("text") for each in content if isinstance(each, Mapping)]
            return [text for text in texts if isinstance(text, str)]
        reason = "the content of an answer is not a list"
        raise self._failures.nonsense(reason)

    def _value(self, text: str) -> object:
        value = _json(text)
        if value is None:
            reason = "a text that should be JSON is not"
            raise self._failures.nonsense(reason)
        return value


def _json(text: bytes | str) -> object:
    """The value; None where it is not JSON, or nothing but `null`, which says as little."""
    try:
        value: object = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _said(body: bytes) -> str:
    """The reason in an answer that is not the one hoped for, if it is written for programs."""
    return _message(_json(body))


def _message(value: object) -> str:
    """The reason, wherever servers put it."""
    if not isinstance(value, Mapping):
        return ""
    for name in ("detail", "message", "error_description", "error"):
        said = value.get(name)
        if isinstance(said, str):
            return said
        if isinstance(said, Mapping):
            return _message(said)
    return ""


def _in_words(status: int, said: str) -> str:
    known = {each.value: each.phrase for each in HTTPStatus}
    words = f"{status} {known.get(status, '')}".strip()
    return f"it answers {words}" + (f", {said}" if said and said != known.get(status) else "")


def _not_json(content_type: str) -> str:
    is_page = content_type.startswith(_WEB_PAGE)
    return "a web page answers there" if is_page else "that is not JSON"


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


# The client of an Agent Mail server: its tools and its resources.


_LIST_TEMPLATES = "resources/templates/list"
# Tools that do no more when they are called twice than when they are called once.
_REPEATABLE = frozenset(
    (
        *("health_check", "ensure_project", "whois", "fetch_inbox"),
        *("search_messages", "summarize_thread"),
        *("mark_message_read", "acknowledge_message"),
    )
)


def segment(text: str) -> str:
    """A text as one segment of the path of a resource."""
    return quote(text, safe="")


class Client:
    """One server. Each method has `seconds` for all that it does; threads take turns."""

    def __init__(self, url: str, token: str | None = None, *, seconds: float = 30.0) -> None:
        self.where = shown(url)
        self._seconds = seconds
        self._failures = Failures(self.where, token)
        if token and not (token.isascii() and token.isprintable()):
            reason = "the token has characters that no request can carry"
            raise self._failures.denied(reason)
        self._rpc = Rpc(url, token, self._failures)
        self._tools: Tools | None = None
        self._templates: tuple[Template, ...] | None = None
        self._lock = threading.RLock()

    def call(self, tool: str, arguments: Mapping[str, object]) -> object:
        """What a tool gives back; a list is the list itself.

        Servers refuse arguments that they do not know: only those in the tool's schema are sent,
        and of these none that is None.
        """
        with self._lock:
            deadline = Deadline(self._seconds)
            tools = self._known_tools(deadline)
            if not tools.has(tool):
                what = f"the tool `{tool}`"
                raise self._failures.lacks(what)
            given = {
                name: value
                for name, value in arguments.items()
                if value is not None and tools.has(tool, name)
            }
            params = {"name": tool, "arguments": given}
            may_repeat = tool in _REPEATABLE
            result = self._rpc.ask("tools/call", params, deadline, may_repeat=may_repeat)
            return self._rpc.reader.tool_value(result)

    def read(self, path: str, query: Mapping[str, str]) -> object:
        """What the resource of that path holds; its segments are made by `segment`."""
        with self._lock, harmless():
            deadline = Deadline(self._seconds)
            plain = f"?{urlencode(query, quote_via=quote)}" if query else ""
            if not plain or not hides_query(self._known_templates(deadline), path):
                return self._resource(path + plain, deadline)
            # A server drops the query of a resource whose template declares none, but takes it off
            # the value of the last segment itself: there it arrives if it is encoded once more.
            try:
                return self._resource(path + segment(plain), deadline)
            except RequestError as refused:
                return self._plainly(path + plain, query, refused, deadline)

    def offers(self, tool: str, argument: str | None = None) -> bool:
        """Whether the server has that tool, and whether it takes that argument."""
        with self._lock:
            return self._known_tools(Deadline(self._seconds)).has(tool, argument)

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self._rpc.close()

    def _resource(self, address: str, deadline: Deadline) -> object:
        result = self._rpc.ask("resources/read", {"uri": f"resource://{address}"}, deadline)
        return self._rpc.reader.resource_value(result)

    def _plainly(
        self, address: str, query: Mapping[str, str], refused: RequestError, deadline: Deadline
    ) -> object:
        """The same resource with its query where it belongs, for servers that want it there.

        One that drops it may answer for a project that it guesses: that is no answer.
        """
        try:
            value = self._resource(address, deadline)
        except RequestError:
            raise refused from None
        wanted = query.get("project")
        if isinstance(value, Mapping) and value.get("project", wanted) != wanted:
            raise refused
        return value

    def _known_tools(self, deadline: Deadline) -> Tools:
        if self._tools is None:
            with harmless():
                self._tools = Tools(self._rpc.listed("tools/list", "tools", deadline))
        return self._tools

    def _known_templates(self, deadline: Deadline) -> tuple[Template, ...]:
        """A server that lists none may have resources all the same."""
        if self._templates is None:
            try:
                listed = self._rpc.listed(_LIST_TEMPLATES, "resourceTemplates", deadline)
            except UnavailableError as error:
                if error.diagnostic.code != SERVER_LACKS:
                    raise
                listed = []
            self._templates = templates(listed)
        return self._templates
