"""The arguments of a call: their schema, and what was given in them.

Models write arguments by hand. Whatever has one reading is taken: `"12"` for a number, one text
for a list, JSON in a text, null for nothing. All that is wrong is told at once.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import unquote

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_JSON_DEPTH, MOST_JSON_VALUES
from brenner.mcp.tool import Argument, Kind, Resource
from brenner.protocol.delta.lenient_json import NotJSON, decode
from brenner.text import closest, did_you_mean

# How much the arguments of a call may be, and what no text in them may hold (ruling R5).
#
# What a request is made of is counted twice: roughly, before anybody parses it, because an empty
# list takes three bytes to send and a hundred to keep; and exactly, once it is parsed.


_NUL = "\0"
_MOST_TOLD, _MOST_OF_A_NAME = 10, 40

Place = tuple[str, int, object]  # its path, its depth, what stands there

# Each value has at most a comma before it and a bracket of its own; with it may come a key.
_MOST_MARKS = 4 * MOST_JSON_VALUES
_MARKS = (b",", b"[", b"{", b'"')
_MARK = re.compile(rb'[\[\]{},]|"(?:[^"\\]++|(?:\\.)++)*+"?', re.DOTALL)
_STEPS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_ENVELOPE_LEVELS = 8  # what is around the arguments


def too_much_to_parse(request: bytes) -> Diagnostic | None:
    """Why a request is not even parsed. What passes may be too much, or no JSON, all the same.

    It takes no longer than its length: texts are passed over, and beyond the limit nobody looks.
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


def beyond_bounds(given: Mapping[str, object]) -> tuple[Diagnostic, ...]:
    """What is too deep, too many or unreadable in the arguments; nothing of it is read then."""
    found: list[Diagnostic] = []
    waiting: list[Place] = [("", 0, given)]
    seen = 0
    while waiting:
        path, depth, value = waiting.pop()
        seen += 1
        if depth > MOST_JSON_DEPTH:
            return (codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_DEPTH} levels"),)
        inside = list(_inside(path, depth, value))
        if seen + len(waiting) + len(inside) > MOST_JSON_VALUES:
            return (codes.ARGUMENTS_TOO_LARGE.at(most=f"{MOST_JSON_VALUES} values"),)
        waiting.extend(reversed(inside))
        what = _unreadable(value)
        if what and len(found) < _MOST_TOLD:
            found.append(codes.UNREADABLE_ARGUMENT.at(argument=path, what=what))
    return tuple(found)


def _inside(path: str, depth: int, value: object) -> Iterator[Place]:
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


_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_LARGEST = 2**63 - 1  # what a store can keep
_VERSION = re.compile(r"\s*+[vV](?=[0-9])", re.ASCII)
_MOST_SHOWN = 40
_ARGUMENTS_MOST_TOLD = 20  # faults of one call

_SCHEMAS: dict[Kind, dict[str, object]] = {
    Kind.TEXT: {"type": "string"},
    Kind.NUMBER: {"type": "integer"},
    Kind.VERSION: {"type": "integer"},
    Kind.FLAG: {"type": "boolean"},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.NUMBERS: {"type": "array", "items": {"type": "integer"}},
    Kind.DELTAS: {"type": "array", "items": {"type": "object"}},
}
_EXPECTED = {
    Kind.TEXT: "a text",
    Kind.NUMBER: "a whole number",
    Kind.VERSION: "the number of a version",
    Kind.FLAG: "true or false",
    Kind.TEXTS: "a list of texts",
    Kind.NUMBERS: "a list of whole numbers",
    Kind.DELTAS: "a list of JSON objects",
}


class Wrong(Exception):
    """A value that is not of its kind; `given` says what it is."""

    def __init__(self, given: str) -> None:
        super().__init__(given)
        self.given = given


class Reading(NamedTuple):
    """The arguments as a tool gets them, with all that is wrong in them."""

    arguments: Mapping[str, object]
    faults: tuple[Diagnostic, ...] = ()


def schema(arguments: Sequence[Argument]) -> dict[str, object]:
    """The JSON schema of these arguments. Every word of it is paid for in every session."""
    required = [each.name for each in arguments if each.required]
    return {
        "type": "object",
        "properties": {each.name: _property(each) for each in arguments},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _property(argument: Argument) -> dict[str, object]:
    said = {
        "enum": list(argument.choices) or None,
        "default": argument.default or None,  # what is false or empty goes without saying
        "description": argument.about or None,
    }
    known = {key: value for key, value in said.items() if value is not None}
    return _SCHEMAS[argument.kind] | known


def read_arguments(
    where: str, arguments: Sequence[Argument], given: Mapping[str, object]
) -> Reading:
    """What was given to the tool or resource of that name."""
    beyond = beyond_bounds(given)
    if beyond:
        return Reading({}, beyond)
    said = {name: value for name, value in given.items() if value is not None}
    unknown = _unknown(where, [each.name for each in arguments], said)
    meant = {each.suggestion for each in unknown}
    faults: list[Diagnostic] = []
    read: dict[str, object] = {}
    for each in arguments:
        if each.name in said:
            read[each.name] = _value(each, said[each.name], faults)
        elif not each.required:
            read[each.name] = each.default
        elif each.name not in meant:  # one fault, one violation: it is there under another name
            faults.append(_missing(where, each))
    return Reading(read, (*_first(unknown), *_first(faults)))


def _first(faults: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """The first ones; the last of them says how many more there are."""
    more = len(faults) - _ARGUMENTS_MOST_TOLD
    if more <= 0:
        return faults
    *first, last = faults[:_ARGUMENTS_MOST_TOLD]
    return *first, last._replace(message=f"{last.message} And {more} more are wrong.")


def _unknown(where: str, names: Sequence[str], said: Mapping[str, object]) -> list[Diagnostic]:
    free = [name for name in names if name not in said]
    known = ", ".join(f"`{name}`" for name in names) or "none"
    return [
        codes.UNKNOWN_ARGUMENT.at(
            where=where,
            argument=_short(name),
            known=known,
            suggestion=did_you_mean(_nearest(_short(name), free)),
        )
        for name in said
        if name not in names
    ]


def _nearest(name: str, free: Sequence[str]) -> str | None:
    """The argument that was meant: by its letters, or as the only one that begins or ends so."""
    alike = [each for each in free if _is_part(name, each) or _is_part(each, name)]
    return closest(name, free) or (alike[0] if len(alike) == 1 else None)


def _is_part(short: str, long: str) -> bool:
    return long.startswith(f"{short}_") or long.endswith(f"_{short}")


def _missing(where: str, argument: Argument) -> Diagnostic:
    expected = _EXPECTED[argument.kind]
    return codes.MISSING_ARGUMENT.at(where=where, argument=argument.name, expected=expected)


def _value(argument: Argument, given: object, faults: list[Diagnostic]) -> object:
    try:
        value = _READERS[argument.kind](given)
    except Wrong as wrong:
        expected = _EXPECTED[argument.kind]
        code = codes.WRONG_ARGUMENT_TYPE
        faults.append(code.at(argument=argument.name, expected=expected, given=wrong.given))
        return None
    if argument.choices:
        return _chosen(argument, value, faults)
    return value


def _chosen(argument: Argument, value: object, faults: list[Diagnostic]) -> object:
    """One of the listed words, or several of them; case does not matter."""
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
    raise Wrong(_described(given))


def _number(given: object) -> int:
    if isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        return int(given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) <= _LARGEST:
        return given
    raise Wrong(_described(given))


def _version(given: object) -> int:
    """A version is called v2 wherever it is spoken of."""
    try:
        before = _VERSION.match(given) if isinstance(given, str) else None
        return _number(before.string[before.end() :] if before else given)
    except Wrong:
        raise Wrong(_described(given)) from None


def _flag(given: object) -> bool:
    if isinstance(given, bool):
        return given
    if isinstance(given, str) and given.strip().lower() in {"true", "false"}:
        return given.strip().lower() == "true"
    raise Wrong(_described(given))


def _as_given(given: object) -> list[object]:
    """Whatever stands for deltas, in a list: `brenner.delta.given` reads them, and tells how."""
    if isinstance(given, str) and not given.strip():
        return []
    return given if isinstance(given, list) else [given]


def _listed(given: object, read: Callable[[object], object]) -> list[object]:
    """A list as it is, a list that was written as a text, or one value for a list of it."""
    if isinstance(given, str) and not given.strip():
        return []
    value = _decoded(given)
    if not isinstance(value, list):
        return [read(given)]
    found: list[object] = []
    for number, each in enumerate(value, 1):
        try:
            found.append(read(each))
        except Wrong as wrong:
            given_there = f"a list in which number {number} is {wrong.given}"
            raise Wrong(given_there) from None
    return found


def _decoded(given: object) -> object:
    """The list or object that stands in a text as JSON, or what was given."""
    if not isinstance(given, str) or not given.lstrip().startswith(("[", "{")):
        return given
    try:
        return decode(given)
    except NotJSON:
        return given


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def _described(given: object) -> str:
    if given is None or isinstance(given, bool):
        return {None: "null", True: "true", False: "false"}[given]
    if isinstance(given, str):
        return f"the text `{_short(given)}`"
    if isinstance(given, int | float):
        return "a number out of range" if abs(given) > _LARGEST else f"the number {given}"
    return "a JSON object" if isinstance(given, Mapping) else "a list"


_READERS: dict[Kind, Callable[[object], object]] = {
    Kind.TEXT: _text,
    Kind.NUMBER: _number,
    Kind.VERSION: _version,
    Kind.FLAG: _flag,
    Kind.TEXTS: lambda given: _listed(given, _text),
    Kind.NUMBERS: lambda given: _listed(given, _number),
    Kind.DELTAS: _as_given,
}


# Which resource an address means, and what it says: `resource://inbox/BlueLake?limit=5`.
#
# A template names what stands in the path, `{agent}` for one segment and `{thread_id*}` for one or
# more, and what may stand in the query, `{?project,limit}`. Everything is percent-decoded once; a
# plus sign is a plus sign, as times have them.


_PLACE = re.compile(r"\{(\w+)(\*?)\}")
_QUERY = re.compile(r"\{\?([\w,]*)\}$")
_HIDDEN = re.compile(r"(.*)\?(\w+=[^?]*)", re.DOTALL)
_SCHEME = "resource://"


class Form(NamedTuple):
    """A template, taken apart."""

    pattern: re.Pattern[str]
    places: tuple[str, ...]
    query: tuple[str, ...]


class Found(NamedTuple):
    """The resource of an address, what the address says, and what is wrong with that."""

    resource: Resource
    arguments: Mapping[str, object]
    faults: tuple[Diagnostic, ...] = ()


def find(resources: Iterable[Resource], uri: str) -> Found | None:
    """The first resource that the address fits."""
    for resource in resources:
        form = form_of(resource.template)
        said = _said(form, uri)
        if said is not None:
            where = plain(resource.template)
            path, query = (
                read_arguments(where, [Argument(name, default="") for name in names], given)
                for names, given in zip((form.places, form.query), said, strict=True)
            )
            arguments = {**query.arguments, **path.arguments}
            return Found(resource, arguments, path.faults + query.faults)
    return None


def unknown(resources: Sequence[Resource], uri: str) -> Diagnostic:
    """That there is no such resource, and which one was probably meant."""
    forms = {_head(each.template): plain(each.template) for each in resources}
    meant = closest(_head(uri), forms)
    known = ", ".join(f"`{head}`" for head in forms) or "none"
    suggestion = did_you_mean(forms[meant] if meant else None)
    return codes.UNKNOWN_RESOURCE.at(uri=uri, known=known, suggestion=suggestion)


def plain(template: str) -> str:
    """The template without its query, as it is shown."""
    return _QUERY.sub("", template)


@lru_cache(maxsize=256)
def form_of(template: str) -> Form:
    """The template, taken apart."""
    query = _QUERY.search(template)
    pieces = _PLACE.split(plain(template))
    # The pieces come in threes: what stands between places, a place's name, its asterisk.
    between = [re.escape(each) for each in pieces[::3]]
    places = ["(.+)" if asterisk else "([^/]+)" for asterisk in pieces[2::3]]
    pattern = "".join(a + b for a, b in zip(between, [*places, ""], strict=True))
    named = tuple(filter(None, query[1].split(","))) if query else ()
    return Form(re.compile(pattern, re.DOTALL), tuple(pieces[1::3]), named)


def _said(form: Form, uri: str) -> tuple[dict[str, str], dict[str, str]] | None:
    """What the path and the query say by name; None where the address does not fit."""
    path, _, query = uri.partition("?")
    fits = form.pattern.fullmatch(path)
    if not fits:
        return None
    try:
        values = [unquote(each, errors="strict") for each in fits.groups()]
        hidden = _take_hidden(form, values)
        return dict(zip(form.places, values, strict=True)), _pairs(hidden) | _pairs(query)
    except UnicodeDecodeError:
        return None


def _take_hidden(form: Form, values: list[str]) -> str:
    """The query that stands in the last value, which loses it.

    Clients put it there for servers whose templates declare no query. It is one only if it has a
    key that the template names: else it belongs to the value.
    """
    fits = _HIDDEN.fullmatch(values[-1]) if values else None
    if not fits or not fits[1] or _pairs(fits[2]).keys().isdisjoint(form.query):
        return ""
    values[-1] = fits[1]
    return fits[2]


def _pairs(query: str) -> dict[str, str]:
    pairs = (each.partition("=") for each in query.split("&") if each)
    return {unquote(key): unquote(value, errors="strict") for key, _, value in pairs}


def _head(address: str) -> str:
    """The first segment, which tells what kind of resource it is."""
    return re.split(r"[/?{]", address.removeprefix(_SCHEME), maxsplit=1)[0]
