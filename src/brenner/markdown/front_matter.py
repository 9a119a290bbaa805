"""YAML front matter: written in our own form, parsed in any form.

We write one `key: value` per line, each value as JSON on that line, or a list of strings one per
line. JSON means the same in every YAML parser, and the standard decoder restores it exactly. Only
front matter of other programs goes to a YAML library, which is used nowhere else. That library is
young, so its input is limited to a few pages, and all its exceptions are caught here.
"""

from __future__ import annotations

import json
import math
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]

MOST_YAML_BYTES = 64 * 1024
# The library needs time that grows with the square of these.
MOST_YAML_COLLECTIONS = 2_000
MOST_YAML_ALIASES = 100
MOST_DEPTH = 100

_FENCE = lazy_pattern(r"^---[ \t]*$", re.MULTILINE)
_BARE_KEY = r"[A-Za-z][A-Za-z0-9_-]*"
_QUOTED_KEY = r'"(?:[^"\\\n]|\\.)*+"'
# Bare words that some YAML parsers do not read as strings
_YAML_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# Controls, separators and direction marks, which some parsers reject, fold or hide
_UNSAFE_CHARACTERS = lazy_pattern(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)


class FrontMatter(NamedTuple):
    """The result of parsing: the values, or None and the reason, and the line of each key.

    `height` is the number of lines, including the fences; 0 if there is no front matter.
    """

    values: Mapping[str, JSON] | None
    reason: str = ""
    lines: Mapping[str, int] = MappingProxyType({})
    height: int = 0


# Writing


def render_front_matter(entries: Iterable[tuple[str, object]]) -> str:
    """Return the lines, including the fences, without a final line ending."""
    lines = ["---"]
    for key, value in entries:
        name = (
            key
            if re.fullmatch(_BARE_KEY, key) and key.lower() not in _YAML_WORDS
            else _to_json(key)
        )
        if isinstance(value, list | tuple) and value and all(type(each) is str for each in value):
            lines += [f"{name}:", *(f"  - {_to_json(each)}" for each in value)]
        else:
            lines.append(f"{name}: {_to_json(value)}")
    return "\n".join([*lines, "---"])


def _to_json(value: object) -> str:
    """Return JSON on one line; equal values give equal text."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=dict)
    return _UNSAFE_CHARACTERS.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text)


# Reading


def read_front_matter(text: str, before: int = 0) -> FrontMatter:
    """Parse the front matter at the start of a text whose lines end in LF.

    `before` is the number of lines in the file before the text.
    """
    opening = _FENCE.match(text)
    if opening is None:
        return FrontMatter(None, "the text does not begin with a line `---`")
    closing = _FENCE.search(text, opening.end())
    if closing is None:
        return FrontMatter(None, "its closing line `---` is missing")
    inner = text[opening.end() + 1 : closing.start()]
    count = inner.count("\n") + 2
    lines = _key_lines(inner, before + 2)
    try:
        values = _read_own_form(inner)
        if values is None:
            values = _read_yaml(inner, before + 1)
    except ValueError as error:
        return FrontMatter(None, str(error), lines, count)
    return FrontMatter(values, "", lines, count)


_KEY_LINE = lazy_pattern(
    rf"^(?:({_QUOTED_KEY})|'([^'\n]*)'|([^\s\"'#?\[{{-][^:\n]*+))[ \t]*:", re.MULTILINE
)


def _key_lines(inner: str, number: int) -> dict[str, int]:
    """Return the line of each key that is not indented; `number` is the first line."""
    found: dict[str, int] = {}
    position = 0
    for match in _KEY_LINE.finditer(inner):
        number += inner.count("\n", position, match.start())
        position = match.start()
        quoted, single, bare = match.groups()
        key = _decode_json(quoted) if quoted else single or (bare or "").rstrip(" \t")
        if isinstance(key, str):
            found.setdefault(key, number)
    return found


# Our own form

_OWN_LINE = lazy_pattern(rf"(?:({_BARE_KEY}|{_QUOTED_KEY}):(?: (.+))?|  - (.+))")
_NOT_JSON = object()


def _read_own_form(inner: str) -> dict[str, JSON] | None:
    """Return the values of front matter in our own form; None if it has another form."""
    if re.search(
        r"\\u[dD][89a-fA-F]", inner
    ):  # a lone surrogate: JSON accepts it, we never write it
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
            lists[-1].append(_decode_json(entry))
            continue
        name = _decode_json(key) if key[0] == '"' else key
        if (
            not isinstance(name, str)
            or name in values
            or (name == key and name.lower() in _YAML_WORDS)
        ):
            return None
        if value is None:
            lists.append([])
        values[name] = lists[-1] if value is None else _decode_json(value)
    found = [*values.values(), *(each for entries in lists for each in entries)]
    if [] in lists or any(each is _NOT_JSON for each in found):
        return None
    return {name: _to_json_value(value) for name, value in values.items()}


def _decode_json(text: str) -> object:
    # The decoder's depth limit depends on the Python version, so apply our own limit first.
    if text.startswith("[" * (MOST_DEPTH + 1)):
        return _NOT_JSON
    try:
        return json.loads(
            text, object_pairs_hook=_reject_duplicate_keys, parse_constant=_reject_constant
        )
    except (ValueError, RecursionError):
        return _NOT_JSON


def _reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _reject_constant(_constant: str) -> NoReturn:
    raise ValueError


# YAML of other programs


def _read_yaml(inner: str, before: int) -> dict[str, JSON]:
    if len(inner.encode(errors="replace")) > MOST_YAML_BYTES:
        raise ValueError(f"it is larger than {MOST_YAML_BYTES:,} bytes")  # noqa: EM102
    if inner.count("[") + inner.count("{") > MOST_YAML_COLLECTIONS:
        raise ValueError(f"it has more than {MOST_YAML_COLLECTIONS:,} brackets")  # noqa: EM102
    if len(re.findall(r"(?<![^\s\[{,:-])\*[^\s*]", inner)) > MOST_YAML_ALIASES:
        raise ValueError(f"it has more than {MOST_YAML_ALIASES} aliases")  # noqa: EM102
    loaded = _load_yaml(inner, before)
    if loaded is None:
        return {}
    values = _to_json_value(loaded)
    if not isinstance(values, dict):
        reason = "it is not a list of `key: value`"
        raise ValueError(reason)
    return values


def _load_yaml(inner: str, before: int) -> object:
    from ryaml import loads  # type: ignore[attr-defined]  # not exported by its stubs

    try:
        return loads(inner)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  (a panic in Rust is no Exception)
        why = " ".join(str(error).split()) or type(error).__name__
        why = re.sub(r"(?<= at line )[0-9]{1,9}", lambda line: str(int(line[0]) + before), why)
        reason = f"it is not YAML: {why}"
        raise ValueError(reason) from None


def _to_json_value(value: object, depth: int = 0) -> JSON:
    """Convert a value to JSON types; keys of other types become strings."""
    if depth > MOST_DEPTH:
        reason = f"it is nested deeper than {MOST_DEPTH} levels"
        raise ValueError(reason)
    if isinstance(value, dict):
        found: dict[str, JSON] = {}
        for key, each in value.items():
            name = key if isinstance(key, str) else json.dumps(key, default=str)
            if name in found:
                reason = f"the key `{name}` occurs twice"
                raise ValueError(reason)
            found[name] = _to_json_value(each, depth + 1)
        return found
    if isinstance(value, list):
        return [_to_json_value(each, depth + 1) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
