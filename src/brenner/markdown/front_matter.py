"""YAML front matter: written by ourselves, read whoever wrote it.

We write one `key: value` to a line, each value as JSON on that line, or a list of texts one to a
line. JSON reads the same in every YAML reader, and the standard decoder reads it back exactly.
What others wrote goes to a YAML library, which is used here and nowhere else; it is young, so it
gets no more than a few pages, and whatever it raises ends here.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, NoReturn

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]

MOST_YAML_BYTES = 64 * 1024
# The library takes time that grows with the square of these.
MOST_YAML_COLLECTIONS = 2_000
MOST_YAML_ALIASES = 100
MOST_DEPTH = 100

_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_BARE_KEY = r"[A-Za-z][A-Za-z0-9_-]*"
_QUOTED_KEY = r'"(?:[^"\\\n]|\\.)*+"'
# Bare words that some YAML reader takes for something else than a text.
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# Controls, separators and marks of direction: refused, folded or hidden by one reader or another.
_ODD = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)


class FrontMatter(NamedTuple):
    """What was read: the values, or None and the reason; where the keys stand.

    `height` is how many lines it takes, the fences included; 0 where there is none.
    """

    values: Mapping[str, JSON] | None
    reason: str = ""
    lines: Mapping[str, int] = MappingProxyType({})
    height: int = 0


class _UnreadableError(ValueError):
    """Why the front matter cannot be read, in words that follow "because"."""


# Writing


def render_front_matter(entries: Iterable[tuple[str, object]]) -> str:
    """The lines, the fences included, without an ending."""
    lines = ["---"]
    for key, value in entries:
        name = key if re.fullmatch(_BARE_KEY, key) and key.lower() not in _WORDS else _flow(key)
        if isinstance(value, list | tuple) and value and all(type(each) is str for each in value):
            lines += [f"{name}:", *(f"  - {_flow(each)}" for each in value)]
        else:
            lines.append(f"{name}: {_flow(value)}")
    return "\n".join([*lines, "---"])


def _flow(value: object) -> str:
    """JSON on one line; equal values give equal text."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=dict)
    return _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text)


# Reading


def read_front_matter(text: str, before: int = 0) -> FrontMatter:
    """The front matter that a text begins with. Its lines must end in LF.

    `before` is how many lines of the file stand before the text.
    """
    opening = _FENCE.match(text)
    if opening is None:
        return FrontMatter(None, "the text does not begin with a line `---`")
    closing = _FENCE.search(text, opening.end())
    if closing is None:
        return FrontMatter(None, "no second line `---` ends it")
    inner = text[opening.end() + 1 : closing.start()]
    count = inner.count("\n") + 2
    lines = _key_lines(inner, before + 2)
    try:
        values = _own_form(inner)
        if values is None:
            values = _yaml(inner, before + 1)
    except _UnreadableError as error:
        return FrontMatter(None, str(error), lines, count)
    return FrontMatter(values, "", lines, count)


_KEY_LINE = re.compile(
    rf"^(?:({_QUOTED_KEY})|'([^'\n]*)'|([^\s\"'#?\[{{-][^:\n]*+))[ \t]*:", re.MULTILINE
)


def _key_lines(inner: str, number: int) -> dict[str, int]:
    """The line of the file on which each key at the margin stands; `number` is the first."""
    found: dict[str, int] = {}
    position = 0
    for match in _KEY_LINE.finditer(inner):
        number += inner.count("\n", position, match.start())
        position = match.start()
        quoted, single, bare = match.groups()
        key = _decoded(quoted) if quoted else single or (bare or "").rstrip(" \t")
        if isinstance(key, str):
            found.setdefault(key, number)
    return found


# Our own form

_OWN_LINE = re.compile(rf"(?:({_BARE_KEY}|{_QUOTED_KEY}):(?: (.+))?|  - (.+))")
_NO_JSON = object()


def _own_form(inner: str) -> dict[str, JSON] | None:
    """The values of front matter as we write it; None if it is not of that form."""
    if re.search(r"\\u[dD][89a-fA-F]", inner):  # half a character: JSON takes it, we never write it
        return None
    values: dict[str, object] = {}
    lists: list[list[object]] = []
    for line in inner.split("\n")[:-1]:
        match = _OWN_LINE.fullmatch(line)
        if match is None:
            return None
        key, value, entry = match.groups()
        if entry is not None:
            if not lists or lists[-1] is not values[next(reversed(values))]:
                return None
            lists[-1].append(_decoded(entry))
            continue
        name = _decoded(key) if key[0] == '"' else key
        if not isinstance(name, str) or name in values or (name == key and name.lower() in _WORDS):
            return None
        if value is None:
            lists.append([])
        values[name] = lists[-1] if value is None else _decoded(value)
    found = [*values.values(), *(each for entries in lists for each in entries)]
    if [] in lists or any(each is _NO_JSON for each in found):
        return None
    return {name: _plain(value) for name, value in values.items()}


def _decoded(text: str) -> object:
    # How deep the decoder goes depends on the Python; what is too deep for us never gets there.
    if text.startswith("[" * (MOST_DEPTH + 1)):
        return _NO_JSON
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refused)
    except (ValueError, RecursionError):
        return _NO_JSON


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _refused(_constant: str) -> NoReturn:
    raise ValueError


# What others write


def _yaml(inner: str, before: int) -> dict[str, JSON]:
    if len(inner.encode(errors="replace")) > MOST_YAML_BYTES:
        raise _UnreadableError(f"it is larger than {MOST_YAML_BYTES:,} bytes")  # noqa: EM102
    if inner.count("[") + inner.count("{") > MOST_YAML_COLLECTIONS:
        raise _UnreadableError(f"it has more than {MOST_YAML_COLLECTIONS:,} brackets")  # noqa: EM102
    if len(re.findall(r"(?<![^\s\[{,:-])\*[^\s*]", inner)) > MOST_YAML_ALIASES:
        raise _UnreadableError(f"it has more than {MOST_YAML_ALIASES} aliases")  # noqa: EM102
    loaded = _loaded(inner, before)
    if loaded is None:
        return {}
    values = _plain(loaded)
    if not isinstance(values, dict):
        reason = "it is no list of `key: value`"
        raise _UnreadableError(reason)
    return values


def _loaded(inner: str, before: int) -> object:
    from ryaml import loads  # type: ignore[attr-defined]  # not exported by its stubs

    try:
        return loads(inner)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  (a panic in Rust is no Exception)
        why = " ".join(str(error).split()) or type(error).__name__
        why = re.sub(r"(?<= at line )[0-9]{1,9}", lambda line: str(int(line[0]) + before), why)
        reason = f"it is not YAML: {why}"
        raise _UnreadableError(reason) from None


def _plain(value: object, depth: int = 0) -> JSON:
    """A value as JSON has it; keys of other kinds become texts."""
    if depth > MOST_DEPTH:
        reason = f"it is nested deeper than {MOST_DEPTH}"
        raise _UnreadableError(reason)
    if isinstance(value, dict):
        found: dict[str, JSON] = {}
        for key, each in value.items():
            name = key if isinstance(key, str) else json.dumps(key, default=str)
            if name in found:
                reason = f"the key `{name}` is there twice"
                raise _UnreadableError(reason)
            found[name] = _plain(each, depth + 1)
        return found
    if isinstance(value, list):
        return [_plain(each, depth + 1) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
