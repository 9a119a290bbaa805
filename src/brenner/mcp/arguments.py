"""Arguments of a call: their JSON schema, limits and parsing; and resource addresses.

Models write arguments by hand. Whatever has one reading is accepted: `"12"` for a number, one text
for a list, JSON inside a text, null for nothing. All faults are reported at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import unquote

from brenner.diagnostics.codes import serving as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_JSON_DEPTH, MOST_JSON_VALUES
from brenner.mcp.tool import Argument, ArgumentKind, Resource, Tool
from brenner.protocol.delta.lenient_json import NotJSON, decode_strict
from brenner.protocol.delta.schema import SECTIONS, Operation
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from brenner.diagnostics.model import Diagnostic

# Limits on arguments (ruling R5)
#
# Values are counted twice: roughly before parsing, because an empty list takes three bytes to send
# and a hundred in memory; and exactly after parsing.


_NUL = "\0"
_MOST_TOLD, _MOST_OF_A_NAME = 10, 40

Place = tuple[str, int, object]  # its path, its depth, its value

# Each value has at most a comma before it, its own bracket, and a key.
_MOST_MARKS = 4 * MOST_JSON_VALUES
_MARKS = (b",", b"[", b"{", b'"')
_MARK = lazy_pattern(rb'[\[\]{},]|"(?:[^"\\]++|(?:\\.)++)*+"?', re.DOTALL)
_STEPS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_ENVELOPE_LEVELS = 8  # what is around the arguments


def check_raw_size(request: bytes) -> Diagnostic | None:
    """Return why a request is not even parsed, or None.

    The scan is linear: it skips texts and stops at the limit. A request that passes may still be
    too large or malformed.
    """
    is_small = sum(map(request.count, _MARKS)) <= MOST_JSON_DEPTH
    if is_small:
        return None
    marks = []
    for found in _MARK.finditer(request):
        marks.append(_STEPS.get(found[0][:1], 0))
        if len(marks) > _MOST_MARKS:
            return codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_VALUES} values")
    if max(accumulate(marks), default=0) > MOST_JSON_DEPTH + _ENVELOPE_LEVELS:
        return codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_DEPTH} levels")
    return None


def check_bounds(given: Mapping[str, object]) -> tuple[Diagnostic, ...]:
    """Return what is too deep, too many or unreadable in the arguments. If anything is, none are
    read.
    """
    found: list[Diagnostic] = []
    waiting: list[Place] = [("", 0, given)]
    seen = 0
    while waiting:
        path, depth, value = waiting.pop()
        seen += 1
        if depth > MOST_JSON_DEPTH:
            return (codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_DEPTH} levels"),)
        inside = list(_walk(path, depth, value))
        if seen + len(waiting) + len(inside) > MOST_JSON_VALUES:
            return (codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_VALUES} values"),)
        waiting.extend(reversed(inside))
        what = _unreadable(value)
        if what and len(found) < _MOST_TOLD:
            found.append(codes.UNREADABLE_ARGUMENT.at(argument=path, what=what))
    return tuple(found)


def _walk(path: str, depth: int, value: object) -> Iterator[Place]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            short = name[:_MOST_OF_A_NAME]
            place = f"{path}.{short}" if path else short
            yield place, depth + 1, each
            if _unreadable(name):
                yield place, depth + 1, name
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield f"{path}[{number}]", depth + 1, each


def _unreadable(value: object) -> str | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else "a number that is not finite"
    if not isinstance(value, str):
        return None
    if _NUL in value:
        return "a NUL character"
    return None if value.isascii() or _is_whole(value) else "half of a character (a lone surrogate)"


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_NUMBER = lazy_pattern(r"-?[0-9]{1,18}", re.ASCII)
_LARGEST = 2**63 - 1  # what a store can keep
_VERSION = lazy_pattern(r"\s*+[vV](?=[0-9])", re.ASCII)
_MOST_SHOWN = 40
_ARGUMENTS_MOST_TOLD = 20  # faults of one call

# Nothing is required, and other keys are allowed: the server reads lenient forms, too, and some
# clients check the schema before they send.
_DELTA: dict[str, object] = {
    "operation": {"type": "string", "enum": list(map(str, Operation))},
    "section": {"type": "string", "enum": list(SECTIONS)},
    "target_id": {"type": ["string", "null"]},
    "local_id": {"type": "string"},
    "payload": {"type": "object"},
    "rationale": {"type": "string"},
}
_SCHEMAS: dict[ArgumentKind, dict[str, object]] = {
    ArgumentKind.TEXT: {"type": "string"},
    ArgumentKind.NUMBER: {"type": "integer"},
    ArgumentKind.VERSION: {"type": "integer"},
    ArgumentKind.FLAG: {"type": "boolean"},
    ArgumentKind.TEXTS: {"type": "array", "items": {"type": "string"}},
    ArgumentKind.NUMBERS: {"type": "array", "items": {"type": "integer"}},
    ArgumentKind.DELTAS: {"type": "array", "items": {"type": "object", "properties": _DELTA}},
    ArgumentKind.ANYTHING: {},
}
_EXPECTED = {
    ArgumentKind.TEXT: "a string",
    ArgumentKind.NUMBER: "a whole number",
    ArgumentKind.VERSION: "the number of a version",
    ArgumentKind.FLAG: "true or false",
    ArgumentKind.TEXTS: "a list of strings",
    ArgumentKind.NUMBERS: "a list of whole numbers",
    ArgumentKind.DELTAS: "a list of JSON objects",
    ArgumentKind.ANYTHING: "any value",
}


class WrongTypeError(Exception):
    """A value of the wrong kind. `given` describes it."""

    def __init__(self, given: str) -> None:
        super().__init__(given)
        self.given = given


def schema(arguments: Sequence[Argument]) -> dict[str, object]:
    """Return the JSON schema of these arguments. Every session pays for each word of it.

    It leaves `additionalProperties` out, because every tool also accepts `EVERYWHERE`.
    """
    required = [each.name for each in arguments if each.required]
    return {
        "type": "object",
        "properties": {each.name: _property(each) for each in arguments},
        **({"required": required} if required else {}),
    }


def _property(argument: Argument) -> dict[str, object]:
    said = {
        "enum": list(argument.choices) or None,
        "default": argument.default or None,  # what is false or empty goes without saying
        "description": argument.about or None,
    }
    known = {key: value for key, value in said.items() if value is not None}
    return _SCHEMAS[argument.kind] | known


# Arguments of every tool
#
# Agents pass their token in any call, under either name. Some programs add arguments of their own,
# which the schema does not list; they concern the program, so the server ignores them.


TOKENS = (Argument("sender_token"), Argument("registration_token"))  # two names for one thing
ADDED_BY_CLIENTS = (
    Argument("wait_for_previous", ArgumentKind.ANYTHING),  # Gemini CLI: run calls one by one
)
EVERYWHERE = (*TOKENS, *ADDED_BY_CLIENTS)


def read_tool_arguments(
    tool: Tool, given: Mapping[str, object]
) -> tuple[Mapping[str, object], tuple[Diagnostic, ...]]:
    """Parse the arguments of a call. Return them and all faults.

    A token has both names in the result, whichever the caller used.
    """
    read, faults = read_arguments(tool.name, tool.arguments, given, EVERYWHERE)
    first, second = (each.name for each in TOKENS)
    tokens = {value for name in (first, second) if (value := read.get(name))}
    if len(tokens) > 1:
        return read, (*faults, codes.TOKENS_DIFFER.at(first=first, second=second))
    ignored = {each.name for each in ADDED_BY_CLIENTS}
    kept = {name: value for name, value in read.items() if name not in ignored}
    return kept | {name: token for token in tokens for name in (first, second)}, faults


def read_arguments(
    where: str,
    arguments: Sequence[Argument],
    given: Mapping[str, object],
    unlisted: Sequence[Argument] = (),
) -> tuple[Mapping[str, object], tuple[Diagnostic, ...]]:
    """Parse the arguments of the tool or resource of that name. Return them and all faults.

    `unlisted` are accepted, too, but no error names them.
    """
    beyond = check_bounds(given)
    if beyond:
        return {}, beyond
    said = {name: value for name, value in given.items() if value is not None}
    names = [each.name for each in arguments]
    more = [each for each in unlisted if each.name not in names and each.name in said]
    unlisted_names = {each.name for each in more}
    unknown = _unknown(where, names, [each for each in said if each not in unlisted_names])
    meant = {each.suggestion for each in unknown}
    faults: list[Diagnostic] = []
    read: dict[str, object] = {}
    for each in (*arguments, *more):
        if each.name in said:
            read[each.name] = _value(each, said[each.name], faults)
        elif not each.required:
            read[each.name] = each.default
        elif each.name not in meant:  # one fault, one violation: it is there under another name
            words = {"argument": each.name, "expected": _EXPECTED[each.kind]}
            faults.append(codes.MISSING_ARGUMENT.at(None, where=where, **words))
    return read, (*_first(unknown), *_first(faults))


def _first(faults: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """Return the first faults. The last one says how many more there are."""
    more = len(faults) - _ARGUMENTS_MOST_TOLD
    if more <= 0:
        return faults
    *first, last = faults[:_ARGUMENTS_MOST_TOLD]
    return *first, last._replace(message=f"{last.message} And {more} more are wrong.")


def _unknown(where: str, names: Sequence[str], said: Sequence[str]) -> list[Diagnostic]:
    free = [name for name in names if name not in said]
    known = ", ".join(f"`{name}`" for name in names) or "none"
    return [
        codes.UNKNOWN_ARGUMENT.at(
            where=where,
            argument=_short(name),
            known=known,
            suggestion=did_you_mean(_meant_argument(_short(name), free)),
        )
        for name in said
        if name not in names
    ]


def _meant_argument(name: str, free: Sequence[str]) -> str | None:
    """Return the argument that was meant: by spelling, or as the only one with that start or
    end.
    """
    alike = [each for each in free if _is_part(name, each) or _is_part(each, name)]
    return closest(name, free) or (alike[0] if len(alike) == 1 else None)


def _is_part(short: str, long: str) -> bool:
    return long.startswith(f"{short}_") or long.endswith(f"_{short}")


def _value(argument: Argument, given: object, faults: list[Diagnostic]) -> object:
    try:
        value = _READERS[argument.kind](given)
    except WrongTypeError as wrong:
        expected = _EXPECTED[argument.kind]
        code = codes.WRONG_ARGUMENT_TYPE
        faults.append(code.at(argument=argument.name, expected=expected, given=wrong.given))
        return None
    if argument.choices:
        return _chosen(argument, value, faults)
    return value


def _chosen(argument: Argument, value: object, faults: list[Diagnostic]) -> object:
    """Return one or several of the listed words, in any case."""
    words = {word.casefold(): word for word in argument.choices}
    said = value if isinstance(value, list) else [value]
    for each in said:
        if str(each).casefold() not in words:
            near = did_you_mean(closest(_short(str(each)), argument.choices))
            choices = ", ".join(f"`{word}`" for word in argument.choices)
            fault = codes.NOT_A_CHOICE.at(
                argument=argument.name, given=_short(str(each)), choices=choices, suggestion=near
            )
            faults.append(fault)
    known = [words.get(str(each).casefold()) for each in said]
    return known if isinstance(value, list) else known[0]


def _text(given: object) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) <= _LARGEST:
        return str(given)  # a thread may be called 12
    raise WrongTypeError(_describe(given))


def _number(given: object) -> int:
    if isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        return int(given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) <= _LARGEST:
        return given
    raise WrongTypeError(_describe(given))


def _version(given: object) -> int:
    """Parse a version number, also with the `v` with which versions are written."""
    try:
        before = _VERSION.match(given) if isinstance(given, str) else None
        return _number(before.string[before.end() :] if before else given)
    except WrongTypeError:
        raise WrongTypeError(_describe(given)) from None


def _flag(given: object) -> bool:
    if isinstance(given, bool):
        return given
    if isinstance(given, str) and given.strip().lower() in {"true", "false"}:
        return given.strip().lower() == "true"
    raise WrongTypeError(_describe(given))


def _delta_list(given: object) -> list[object]:
    """Return the deltas as a list. `brenner.protocol.delta.arguments` parses them."""
    if isinstance(given, str) and not given.strip():
        return []
    return given if isinstance(given, list) else [given]


def _listed(given: object, read: Callable[[object], object]) -> list[object]:
    """Return a list, a list written as text, or a single value as a list."""
    if isinstance(given, str) and not given.strip():
        return []
    value = _decoded(given)
    if not isinstance(value, list):
        return [read(given)]
    found: list[object] = []
    for number, each in enumerate(value, 1):
        try:
            found.append(read(each))
        except WrongTypeError as wrong:
            given_there = f"a list in which number {number} is {wrong.given}"
            raise WrongTypeError(given_there) from None
    return found


def _decoded(given: object) -> object:
    """Return the list or object that a text contains as JSON, else the value itself."""
    if not isinstance(given, str) or not given.lstrip().startswith(("[", "{")):
        return given
    try:
        return decode_strict(given)
    except NotJSON:
        return given


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def _describe(given: object) -> str:
    if given is None or isinstance(given, bool):
        return {None: "null", True: "true", False: "false"}[given]
    if isinstance(given, str):
        return f"the text `{_short(given)}`"
    if isinstance(given, int | float):
        return "a number out of range" if abs(given) > _LARGEST else f"the number {given}"
    return "a JSON object" if isinstance(given, Mapping) else "a list"


_READERS: dict[ArgumentKind, Callable[[object], object]] = {
    ArgumentKind.TEXT: _text,
    ArgumentKind.NUMBER: _number,
    ArgumentKind.VERSION: _version,
    ArgumentKind.FLAG: _flag,
    ArgumentKind.TEXTS: lambda given: _listed(given, _text),
    ArgumentKind.NUMBERS: lambda given: _listed(given, _number),
    ArgumentKind.DELTAS: _delta_list,
    ArgumentKind.ANYTHING: lambda given: given,
}


# Resource addresses, such as `resource://inbox/BlueLake?limit=5`
#
# A template names the parameters of the path, `{agent}` for one segment and `{thread_id*}` for one
# or more, and of the query, `{?project,limit}`. Everything is percent-decoded once. A plus sign
# stays a plus sign, since times contain it.


_PLACE = lazy_pattern(r"\{(\w+)(\*?)\}")
_QUERY = lazy_pattern(r"\{\?([\w,]*)\}$")
_HIDDEN = lazy_pattern(r"(.*)\?(\w+=[^?]*)", re.DOTALL)
_SCHEME = "resource://"


def find_resource(
    resources: Iterable[Resource], uri: str
) -> tuple[Resource, Mapping[str, object], tuple[Diagnostic, ...]] | None:
    """Return the first resource that the address matches, its arguments and their faults."""
    for resource in resources:
        said = _match_uri(resource.template, uri)
        if said is not None:
            where = without_query(resource.template)
            (path, path_faults), (query, query_faults) = (
                read_arguments(where, [Argument(name, default="") for name in names], given)
                for names, given in zip(parse_template(resource.template)[1:], said, strict=True)
            )
            return resource, {**query, **path}, path_faults + query_faults
    return None


def unknown_resource(resources: Sequence[Resource], uri: str) -> Diagnostic:
    forms = {_head(each.template): without_query(each.template) for each in resources}
    meant = closest(_head(uri), forms)
    known = ", ".join(f"`{head}`" for head in forms) or "none"
    suggestion = did_you_mean(forms[meant] if meant else None)
    return codes.UNKNOWN_RESOURCE.at(uri=uri, known=known, suggestion=suggestion)


def without_query(template: str) -> str:
    """Return the template without its query, as it is shown."""
    return _QUERY.sub("", template)


@lru_cache(maxsize=256)
def parse_template(template: str) -> tuple[re.Pattern[str], tuple[str, ...], tuple[str, ...]]:
    """Return the pattern of the path, and the names of the parameters of path and query."""
    query = _QUERY.search(template)
    pieces = _PLACE.split(without_query(template))
    # The parts come in threes: the text before a parameter, its name, its asterisk.
    between = [re.escape(each) for each in pieces[::3]]
    places = ["(.+)" if asterisk else "([^/]+)" for asterisk in pieces[2::3]]
    pattern = "".join(a + b for a, b in zip(between, [*places, ""], strict=True))
    named = tuple(filter(None, query[1].split(","))) if query else ()
    return re.compile(pattern, re.DOTALL), tuple(pieces[1::3]), named


def _match_uri(template: str, uri: str) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return the parameters of path and query by name; None if the address does not match."""
    pattern, places, queried = parse_template(template)
    path, _, query = uri.partition("?")
    fits = pattern.fullmatch(path)
    if not fits:
        return None
    try:
        values = [unquote(each, errors="strict") for each in fits.groups()]
        hidden = _take_hidden(queried, values)
        return dict(zip(places, values, strict=True)), _pairs(hidden) | _pairs(query)
    except UnicodeDecodeError:
        return None


def _take_hidden(queried: Sequence[str], values: list[str]) -> str:
    """Remove the query from the last path value and return it.

    Clients put it there if a server's template declares no query. It counts as a query only if it
    has a key that the template names; else it is part of the value.
    """
    fits = _HIDDEN.fullmatch(values[-1]) if values else None
    if not fits or not fits[1] or _pairs(fits[2]).keys().isdisjoint(queried):
        return ""
    values[-1] = fits[1]
    return fits[2]


def _pairs(query: str) -> dict[str, str]:
    pairs = (each.partition("=") for each in query.split("&") if each)
    return {unquote(key): unquote(value, errors="strict") for key, _, value in pairs}


def _head(address: str) -> str:
    """Return the first segment, which names the kind of resource."""
    return re.split(r"[/?{]", address.removeprefix(_SCHEME), maxsplit=1)[0]
