"""What is compared of two servers' answers: everything but ids, times and the words of errors.

An answer becomes a table of places and what stands there. In lists, things go by their names, and
one more row tells their order.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

ABSENT, THERE = "absent", "there"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")
_QUERY = re.compile(r"\{\?[^}]*\}$")
_NUMBERS = frozenset(
    ("id", "project_id", "sender_id", "message_id", "reply_to", "ack_message_id", "http_port")
)
_NAMED_BY = ("name", "uriTemplate", "uri", "subject", "path_pattern", "path", "agent", "slug")
_WORDS = ("violations", "corrected", "note", "registration_token")  # which say something new
_INSIDE = re.compile(r"[.(]")
_OK = 200
_OUTCOME, _CODE = "outcome", "structuredContent.error"

Form = dict[str, str]


class Difference(NamedTuple):
    """Where two answers differ: in which step, at which place, and what either has there."""

    step: str
    at: str
    theirs: str
    ours: str


def form_of(status: int, document: Any) -> Form:
    """The form of an answer over HTTP."""
    form = {} if status == _OK else {"status": str(status)}
    if not isinstance(document, Mapping) or "result" not in document:
        return form | {_OUTCOME: _error(document)}
    result = document["result"]
    if result.get("isError"):
        return form | {_OUTCOME: "refused", "content": _texts(result)} | _code(result)
    form[_OUTCOME] = "done"
    listed = next((key for key in _LISTED if key in result), None)
    if listed:
        return form | _LISTED[listed](result[listed])
    if "contents" in result:
        (content,) = result["contents"]
        return form | {"mimeType": content["mimeType"]} | _flat("", json.loads(content["text"]))
    if "structuredContent" in result:
        value = result["structuredContent"]
        return form | {"content": _content(result)} | _flat("", value)
    return form | _flat("", result)


def differences(step: str, theirs: Form, ours: Form) -> Iterator[Difference]:
    """All of them.

    Where one of the two has done nothing, that is the whole difference; and so it is that a list
    has one thing more.
    """
    outcomes = theirs[_OUTCOME], ours[_OUTCOME]
    if outcomes[0] != outcomes[1]:
        words = [
            each[_OUTCOME] + (f", {each[_CODE]}" if _CODE in each else "")
            for each in (theirs, ours)
        ]
        yield Difference(step, _OUTCOME, *words)
        return
    for at in sorted({*theirs, *ours}):
        pair = theirs.get(at, ABSENT), ours.get(at, ABSENT)
        if pair[0] != pair[1] and not (
            _is_inside(at, theirs, ours) or _is_inside(at, ours, theirs)
        ):
            yield Difference(step, at, *pair)


def _is_inside(at: str, one: Form, other: Form) -> bool:
    """Whether a place is in something that one of the two does not have at all."""
    parts = [at[: found.start()] for found in _INSIDE.finditer(at)]
    things = [*parts, *([at] if at.endswith("]") and not at.endswith("[]") else [])]
    return any(each in one and each not in other for each in things)


def _error(document: Any) -> str:
    """An error of the protocol, or of HTTP."""
    error = document.get("error") if isinstance(document, Mapping) else None
    if isinstance(error, Mapping):
        return f"error {error['code']}"
    return "a document" if isinstance(document, Mapping) else "a text"


def _code(result: Mapping[str, Any]) -> Form:
    """The code of a refusal, where there is one."""
    value = result.get("structuredContent")
    return {_CODE: value["error"]["id"]} if value else {}


def _texts(result: Mapping[str, Any]) -> str:
    return ", ".join("a text" if each["text"] else "nothing" for each in result["content"])


def _content(result: Mapping[str, Any]) -> str:
    """Whether the texts say the same as the structured content.

    The second text of ours says in words what is under `violations`, which the first leaves out.
    """
    value = result["structuredContent"]
    shown = result["content"][:1] if "violations" in value else result["content"]
    value = {key: each for key, each in value.items() if key not in ("violations", "frame")}
    texts = [json.loads(each["text"]) for each in shown]
    plain = value["result"] if list(value) == ["result"] else value
    if texts == [plain]:
        return "the same as one text"
    return "the same in texts" if texts == plain else "something else"


def _tools(listed: list[Any]) -> Form:
    """The tools, and the arguments of each; what they say of themselves is for models."""
    form: Form = {}
    for tool in listed:
        schema = tool["inputSchema"]
        needed = schema.get("required", ())
        form[tool["name"]] = THERE
        for name in schema.get("properties", {}):
            form[f"{tool['name']}({name})"] = "needed" if name in needed else THERE
    return form


def _addresses(listed: list[Any]) -> Form:
    """The addresses of resources, without what may stand behind them."""
    addresses = (each.get("uri") or each["uriTemplate"] for each in listed)
    return {_QUERY.sub("", each): THERE for each in addresses}


_LISTED = {"tools": _tools, "resources": _addresses, "resourceTemplates": _addresses}


def _flat(at: str, value: Any) -> Form:
    if isinstance(value, Mapping):
        return _object(at, value)
    if isinstance(value, list):
        return _list(at, value)
    return {at: _told(at, value)}


def _object(at: str, value: Mapping[str, Any]) -> Form:
    form: Form = {}
    for key, each in value.items():
        place = f"{at}.{key}".lstrip(".")
        form |= {place: "words"} if key in _WORDS and each else _flat(place, each)
    return form or {at: "{}"}


def _list(at: str, value: list[Any]) -> Form:
    """The order, and each of its things. Plain values are all that there is to tell of them."""
    if not all(isinstance(each, Mapping) for each in value):
        return {f"{at}[]": ", ".join(str(each) for each in value)}
    names = [_name(each) for each in value]
    form = {f"{at}[]": ", ".join(names)}
    for name, each in zip(names, value, strict=True):
        form |= {f"{at}[{name}]": THERE} | _flat(f"{at}[{name}]", each)
    return form


def _name(thing: Mapping[str, Any]) -> str:
    """What a thing of a list is known by; messages can have the same subject."""
    name = next((str(thing[key]) for key in _NAMED_BY if key in thing), "one")
    return f"{name} by {thing['from']}" if "from" in thing else name


def _told(at: str, value: object) -> str:
    key = at.rpartition(".")[2]
    if key in _NUMBERS and isinstance(value, int) and not isinstance(value, bool):
        return "a number"
    if isinstance(value, str) and _TIME.fullmatch(value):
        return "a time"
    if key == "thread_id" and isinstance(value, str) and value.isdigit():
        return "the id of its first message"
    return json.dumps(value, ensure_ascii=False)
