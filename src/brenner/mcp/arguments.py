"""The arguments of a call: their schema, and what was given in them.

Models write arguments by hand. Whatever has one reading is taken: `"12"` for a number, one text
for a list, JSON in a text, null for nothing. All that is wrong is told at once.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic
from brenner.mcp.bounds import beyond_bounds
from brenner.mcp.tool import Argument, Kind
from brenner.protocol.delta.lenient_json import NotJSON, decode
from brenner.text import nearest, perhaps

_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_LARGEST = 2**63 - 1  # what a store can keep
_VERSION = re.compile(r"\s*+[vV](?=[0-9])", re.ASCII)
_MOST_SHOWN = 40
_MOST_TOLD = 20  # faults of one call

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
    more = len(faults) - _MOST_TOLD
    if more <= 0:
        return faults
    *first, last = faults[:_MOST_TOLD]
    return *first, last._replace(message=f"{last.message} And {more} more are wrong.")


def _unknown(where: str, names: Sequence[str], said: Mapping[str, object]) -> list[Diagnostic]:
    free = [name for name in names if name not in said]
    known = ", ".join(f"`{name}`" for name in names) or "none"
    return [
        codes.UNKNOWN_ARGUMENT.at(
            where=where,
            argument=_short(name),
            known=known,
            suggestion=perhaps(_nearest(_short(name), free)),
        )
        for name in said
        if name not in names
    ]


def _nearest(name: str, free: Sequence[str]) -> str | None:
    """The argument that was meant: by its letters, or as the only one that begins or ends so."""
    alike = [each for each in free if _is_part(name, each) or _is_part(each, name)]
    return nearest(name, free) or (alike[0] if len(alike) == 1 else None)


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
            near = perhaps(nearest(_short(str(each)), argument.choices))
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
