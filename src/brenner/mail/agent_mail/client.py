"""MCP client of an Agent Mail server: JSON-RPC, sessions, retries, tools and resources."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import NoReturn
from urllib.parse import quote, urlencode

from brenner import __version__
from brenner.diagnostics.codes.stores import SERVER_LACKS
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.agent_mail.http import (
    Deadline,
    HttpAnswer,
    KeepAliveConnection,
    ServerErrors,
    without_side_effects,
)
from brenner.store_url import redact_address

# The server's tools and resource templates


_PLACEHOLDER = lazy_pattern(r"\{(\w+)(\*?)\}")
_QUERY_PART = lazy_pattern(r"\{\?[^}]*\}$")
_SCHEME = "resource://"

Json = Mapping[str, object]


def _parse_tool(listed: Json) -> tuple[str, frozenset[str] | None]:
    """Return the name of a tool and its arguments; None if its schema lists none: it takes any."""
    schema = listed.get("inputSchema")
    taken = schema.get("properties") if isinstance(schema, Mapping) else None
    return str(listed["name"]), frozenset(taken) if isinstance(taken, Mapping) else None


ResourceTemplate = tuple[re.Pattern[str], bool]  # of paths, and whether it declares a query


def parse_templates(listed: Iterable[object]) -> tuple[ResourceTemplate, ...]:
    found = (each.get("uriTemplate") for each in listed if isinstance(each, Mapping))
    return tuple(_parse_template(each) for each in found if isinstance(each, str))


def _parse_template(text: str) -> ResourceTemplate:
    path = _QUERY_PART.sub("", text.removeprefix(_SCHEME))
    literal = _PLACEHOLDER.split(path)
    # The parts come in threes: literal text, a placeholder's name, its asterisk.
    pieces = [re.escape(each) for each in literal[::3]]
    placeholders = [".+" if each else "[^/]+" for each in literal[2::3]]
    pattern = "".join(a + b for a, b in zip(pieces, [*placeholders, ""], strict=True))
    return re.compile(pattern, re.ASCII), bool(_QUERY_PART.search(text))


def hides_query(known: Iterable[ResourceTemplate], path: str) -> bool:
    """Return whether the template of a path declares no query: then it must be in the path."""
    return any(pattern.fullmatch(path) and not has_query for pattern, has_query in known)


# Reading answers. An error is an HTTP status with `{"detail"}`, a JSON-RPC `error`, or a tool
# result with `isError` and a text. Only the text shows whether the server itself failed.


_PARSE_ERRORS = (-32700, -32600)
_METHOD_NOT_FOUND, _INTERNAL_ERROR = -32601, -32603
_SERVER_FAILURE = lazy_pattern(
    r"unexpected error|internal (server )?error|error processing request"
    r"|disk is full|no space left|quota exceeded|disk I/O error|too many open files|\[Errno \d+\]"
    r"|database( table| schema)? is locked|readonly database|read-only file system"
    r"|disk image is malformed|not a database|unable to open database|(Operational|Database)Error",
    re.IGNORECASE,
)
_UNKNOWN_NAME = lazy_pattern(r"unknown (tool|resource)\W+(.*?)\W*", re.IGNORECASE | re.DOTALL)
_SESSION_REQUIRED = lazy_pattern(r"\bsession\b|\binitiali[sz]", re.IGNORECASE)
_WEB_PAGE = "text/html"
# Answers of other programs, such as a static file server
_OTHER_PROGRAM_STATUSES = (HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)


def is_response(event: bytes) -> bool:
    """Return whether an event is a response, not a notification or a request of the server."""
    value = _parse_json(event)
    return isinstance(value, Mapping) and "id" in value and "method" not in value


def requires_session(answer: HttpAnswer) -> bool:
    """Return whether a request was rejected because there is no session, or it has expired."""
    if answer.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND):
        return False
    return "mcp-session-id" in answer.headers or bool(
        _SESSION_REQUIRED.search(_error_text(answer.body))
    )


def _parse_json(text: bytes | str) -> object:
    """Return the JSON value, or None if it is invalid or `null`."""
    try:
        value: object = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None
    return value


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _error_text(body: bytes) -> str:
    return _find_reason(_parse_json(body))


def _find_reason(value: object) -> str:
    """Return the reason from any of the fields where servers put it."""
    if not isinstance(value, Mapping):
        return ""
    for name in ("detail", "message", "error_description", "error"):
        reason = value.get(name)
        if isinstance(reason, str):
            return reason
        if isinstance(reason, Mapping):
            return _find_reason(reason)
    return ""


def _describe_status(status: int, reason: str) -> str:
    known = {each.value: each.phrase for each in HTTPStatus}
    words = f"{status} {known.get(status, '')}".strip()
    return f"it answers {words}" + (f", {reason}" if reason and reason != known.get(status) else "")


def _not_json_reason(content_type: str) -> str:
    is_page = content_type.startswith(_WEB_PAGE)
    return "it is a web page" if is_page else "it is not JSON"


_PROTOCOL = "2025-06-18"
_SESSION = "Mcp-Session-Id"
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "User-Agent": "brenner",
    # A mailbox never validates content. Messages were validated before if that was wanted, and
    # imported ones must be stored unchanged, so our own server must not validate them either.
    "Brenner-Checked": "true",
}
_CLIENT = {"name": "brenner", "version": __version__}
_RETRY_SECONDS = 1.0  # without a Retry-After header
_MOST_RETRIES = 5
_MOST_PAGES = 100  # of one list


class RpcClient:
    """JSON-RPC requests to one server; its answers are parsed, and errors in them raised."""

    def __init__(self, url: str, token: str | None, errors: ServerErrors) -> None:
        self._has_token = token is not None
        self._errors = errors
        self._connection = KeepAliveConnection(url, errors, is_response)
        self._headers = _HEADERS | ({"Authorization": f"Bearer {token}"} if token else {})
        self._number = 0

    def request(
        self, method: str, params: Json, deadline: Deadline, *, may_repeat: bool = True
    ) -> Json:
        """Call a method and return its result.

        A server that requires a session rejects a request without a valid one. Then a session is
        started and the request repeated: the first one had no effect.
        """
        answer = self._answer(method, params, deadline, may_repeat=may_repeat)
        if requires_session(answer):
            self._begin_session(deadline)
            answer = self._answer(method, params, deadline, may_repeat=may_repeat)
        return self._result(answer, self._number, method)

    def list_all(self, method: str, name: str, deadline: Deadline) -> list[object]:
        found: list[object] = []
        params: Json = {}
        for _ in range(_MOST_PAGES):
            page = self.request(method, params, deadline)
            part = page.get(name)
            if not isinstance(part, list):
                reason = f"the answer to `{method}` has no `{name}`"
                raise self._errors.invalid_answer(reason)
            found += part
            if not page.get("nextCursor"):
                return found
            params = {"cursor": page["nextCursor"]}
        reason = f"the list of `{method}` is endless"
        raise self._errors.invalid_answer(reason)

    def close(self) -> None:
        self._connection.close()

    def _begin_session(self, deadline: Deadline) -> None:
        self._headers.pop(_SESSION, None)
        params = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": _CLIENT}
        with without_side_effects():
            answer = self._answer("initialize", params, deadline, may_repeat=True)
            agreed = self._result(answer, self._number, "initialize").get("protocolVersion")
            if not (isinstance(agreed, str) and agreed.isascii() and agreed.isprintable()):
                reason = "it does not give its protocol version"
                raise self._errors.invalid_answer(reason)
            self._headers["MCP-Protocol-Version"] = agreed
            session = answer.headers.get(_SESSION.lower())
            self._headers |= {_SESSION: session} if session else {}
            notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            self._check_status(self._post_with_retry(notification, deadline, may_repeat=True))

    def _answer(
        self, method: str, params: Json, deadline: Deadline, *, may_repeat: bool
    ) -> HttpAnswer:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return self._post_with_retry(message, deadline, may_repeat=may_repeat)

    def _post_with_retry(
        self, message: Mapping[str, object], deadline: Deadline, *, may_repeat: bool
    ) -> HttpAnswer:
        """Post a message; retry after "too many requests" while the deadline allows it.

        Such a rejected request had no effect, so any request can be repeated.
        """
        body = json.dumps(message).encode()
        answer = self._connection.post(body, self._headers, deadline, may_repeat=may_repeat)
        for _ in range(_MOST_RETRIES):
            pause = _retry_after(answer)
            if answer.status != HTTPStatus.TOO_MANY_REQUESTS or not deadline.allows(pause):
                break
            time.sleep(pause)
            answer = self._connection.post(body, self._headers, deadline, may_repeat=may_repeat)
        return answer

    def _result(self, answer: HttpAnswer, number: int, method: str) -> Json:
        self._check_status(answer)
        response = _parse_json(answer.body)
        if response is None:
            raise self._errors.invalid_answer(
                _not_json_reason(answer.headers.get("content-type", ""))
            )
        if not isinstance(response, Mapping) or response.get("jsonrpc") != "2.0":
            reason = "it is JSON, but not JSON-RPC"
            raise self._errors.invalid_answer(reason)
        error, result = response.get("error"), response.get("result")
        if isinstance(error, Mapping):  # it has no id if the request could not be parsed
            self._raise_error(error, method)
        if response.get("id") != number:
            reason = "it answers another request"
            raise self._errors.invalid_answer(reason)
        if not isinstance(result, Mapping):
            reason = "it has neither a result nor an error"
            raise self._errors.invalid_answer(reason)
        return result

    def _check_status(self, answer: HttpAnswer) -> None:
        """Raise an error unless the HTTP status means success."""
        status, reason_text = answer.status, _error_text(answer.body)
        if status in _OTHER_PROGRAM_STATUSES and not reason_text:
            raise self._errors.invalid_answer(_describe_status(status, reason_text), reached=False)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise self._errors.failed(_describe_status(status, reason_text), ended=False)
        if status >= HTTPStatus.BAD_REQUEST:
            self._raise_rejected(status, reason_text)
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            location = answer.headers.get("location", "another address")
            reason = f"it redirects to `{location}`, which may be the right address"
            raise self._errors.invalid_answer(reason, reached=False)
        if status < HTTPStatus.OK:
            raise self._errors.invalid_answer(_describe_status(status, reason_text))

    def tool_value(self, result: Json) -> object:
        """Return the result of a tool: `structuredContent`, else the JSON in its texts."""
        texts = self._texts(result.get("content") or [])
        if result.get("isError"):
            self._raise_reason("\n".join(texts))
        value = result.get("structuredContent")
        if value is None:
            values = [self._value(text) for text in texts]
            return values[0] if len(values) == 1 else values
        if isinstance(value, Mapping) and value.keys() in ({"result"}, {"result", "hints"}):
            return value["result"]  # structured content is an object, so a list is wrapped
        return value

    def resource_value(self, result: Json) -> object:
        texts = self._texts(result.get("contents"))
        if len(texts) != 1:
            reason = "a resource must be one text"
            raise self._errors.invalid_answer(reason)
        return self._value(texts[0])

    def _raise_rejected(self, status: int, reason_text: str) -> NoReturn:
        """Raise the error of a 4xx status: the request had no effect."""
        if status == HTTPStatus.UNAUTHORIZED:
            why = "it rejects the token" if self._has_token else "it requires a token"
            raise self._errors.denied(why)
        if status == HTTPStatus.FORBIDDEN:
            raise self._errors.denied(_describe_status(status, reason_text), is_role=True)
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise self._errors.refused(_describe_status(status, reason_text))
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise self._errors.failed(_describe_status(status, reason_text), reached=False)
        raise self._errors.invalid_answer(_describe_status(status, reason_text), reached=False)

    def _raise_error(self, error: Json, method: str) -> NoReturn:
        code, message = error.get("code"), str(error.get("message"))
        if code == _METHOD_NOT_FOUND:
            what = f"`{method}`"
            raise self._errors.missing_feature(what)
        if code in _PARSE_ERRORS:
            reason = f"it does not understand the request: {message}"
            raise self._errors.invalid_answer(reason, reached=False)
        if code == _INTERNAL_ERROR:
            raise self._errors.failed(message)
        self._raise_reason(message)

    def _raise_reason(self, message: str) -> NoReturn:
        unknown = _UNKNOWN_NAME.fullmatch(message)
        if unknown:
            what = f"the {unknown[1].lower()} `{unknown[2]}`"
            raise self._errors.missing_feature(what)
        if _SERVER_FAILURE.search(message):
            raise self._errors.failed(message)
        raise self._errors.refused(
            _find_reason(_parse_json(message)) or message or "it gives no reason"
        )

    def _texts(self, content: object) -> list[str]:
        if isinstance(content, list):
            texts = [each.get("text") for each in content if isinstance(each, Mapping)]
            return [text for text in texts if isinstance(text, str)]
        reason = "the content of an answer is not a list"
        raise self._errors.invalid_answer(reason)

    def _value(self, text: str) -> object:
        value = _parse_json(text)
        if value is None:
            reason = "a text that should be JSON is not"
            raise self._errors.invalid_answer(reason)
        return value


def _retry_after(answer: HttpAnswer) -> float:
    seconds = answer.headers.get("retry-after", "").strip()
    return float(seconds) if seconds.isdecimal() and seconds.isascii() else _RETRY_SECONDS


# The client


_LIST_TEMPLATES = "resources/templates/list"
# Idempotent tools
_REPEATABLE = frozenset(
    (
        *("health_check", "ensure_project", "whois", "fetch_inbox"),
        *("search_messages", "summarize_thread"),
        *("mark_message_read", "acknowledge_message"),
    )
)


def path_segment(text: str) -> str:
    return quote(text, safe="")


class Client:
    """One Agent Mail server. Each call has a timeout of `seconds`; threads take turns."""

    def __init__(self, url: str, token: str | None = None, *, seconds: float = 30.0) -> None:
        self.where = redact_address(url)
        self._seconds = seconds
        self._errors = ServerErrors(self.where, token)
        if token and not (token.isascii() and token.isprintable()):
            reason = "the token contains characters that are not allowed in a header"
            raise self._errors.denied(reason)
        self._rpc = RpcClient(url, token, self._errors)
        self._tools: dict[str, frozenset[str] | None] | None = None
        self._templates: tuple[ResourceTemplate, ...] | None = None
        self._lock = threading.RLock()

    def call(self, tool: str, arguments: Mapping[str, object]) -> object:
        """Call a tool and return its result; a list is returned unwrapped.

        Servers reject unknown arguments. So only arguments in the tool's schema are sent, without
        those that are None.
        """
        with self._lock:
            deadline = Deadline(self._seconds)
            if not self._has(tool, None, deadline):
                what = f"the tool `{tool}`"
                raise self._errors.missing_feature(what)
            supported = {
                name: value
                for name, value in arguments.items()
                if value is not None and self._has(tool, name, deadline)
            }
            params = {"name": tool, "arguments": supported}
            may_repeat = tool in _REPEATABLE
            result = self._rpc.request("tools/call", params, deadline, may_repeat=may_repeat)
            return self._rpc.tool_value(result)

    def read(self, path: str, query: Mapping[str, str]) -> object:
        """Read the resource at a path whose segments were encoded by `path_segment`."""
        with self._lock, without_side_effects():
            deadline = Deadline(self._seconds)
            plain = f"?{urlencode(query, quote_via=quote)}" if query else ""
            if not plain or not hides_query(self._get_templates(deadline), path):
                return self._resource(path + plain, deadline)
            # The server drops a query that the template does not declare, but parses one from the
            # last path segment. There it arrives if it is percent-encoded.
            try:
                return self._resource(path + path_segment(plain), deadline)
            except RequestError as refused:
                return self._read_with_plain_query(path + plain, query, refused, deadline)

    def offers(self, tool: str, argument: str | None = None) -> bool:
        """Return whether the server has the tool and, if given, whether it takes the argument."""
        with self._lock:
            return self._has(tool, argument, Deadline(self._seconds))

    def close(self) -> None:
        with self._lock:
            self._rpc.close()

    def _resource(self, address: str, deadline: Deadline) -> object:
        result = self._rpc.request("resources/read", {"uri": f"resource://{address}"}, deadline)
        return self._rpc.resource_value(result)

    def _read_with_plain_query(
        self, address: str, query: Mapping[str, str], refused: RequestError, deadline: Deadline
    ) -> object:
        """Read a resource with a normal query, for servers that require that.

        A server that drops the query may answer for another project: that answer is rejected.
        """
        try:
            value = self._resource(address, deadline)
        except RequestError:
            raise refused from None
        wanted = query.get("project")
        if isinstance(value, Mapping) and value.get("project", wanted) != wanted:
            raise refused
        return value

    def _has(self, tool: str, argument: str | None, deadline: Deadline) -> bool:
        if self._tools is None:
            with without_side_effects():
                listed = self._rpc.list_all("tools/list", "tools", deadline)
            found = (each for each in listed if isinstance(each, Mapping) and "name" in each)
            self._tools = dict(map(_parse_tool, found))
        taken = self._tools.get(tool)
        return tool in self._tools and (argument is None or taken is None or argument in taken)

    def _get_templates(self, deadline: Deadline) -> tuple[ResourceTemplate, ...]:
        """Return the resource templates; without such a list a server may still have resources."""
        if self._templates is None:
            try:
                listed = self._rpc.list_all(_LIST_TEMPLATES, "resourceTemplates", deadline)
            except UnavailableError as error:
                if error.diagnostic.code != SERVER_LACKS:
                    raise
                listed = []
            self._templates = parse_templates(listed)
        return self._templates
