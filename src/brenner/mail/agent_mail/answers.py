"""What a server's answer means. Errors come in three ways, and leave here as one.

An HTTP status with `{"detail"}`; a JSON-RPC `error`; a tool's result that says `isError`, with a
text for the reason. Which of them are failures of the server's own, the text has to tell.
"""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import NoReturn

from brenner.mail.agent_mail.failures import Failures
from brenner.mail.agent_mail.http import Answer
from brenner.mail.agent_mail.offers import Json

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
