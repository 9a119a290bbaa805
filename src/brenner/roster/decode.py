"""The text of a roster, in JSON or TOML, as plain values."""

import json
from typing import NoReturn

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic

_TOO_DEEP = "it is nested too deeply"


def decode_json(text: str, source: str) -> object:
    """The value, or a `Diagnostic` with the reason why it is none."""
    try:
        return json.loads(text, object_pairs_hook=_each_key_once, parse_constant=_refuse)
    except RecursionError:
        return _malformed(source, _TOO_DEEP)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        return _malformed(source, f"it is not JSON, {_begun_small(error.msg)} ({place})")
    except ValueError as error:
        return _malformed(source, str(error))


def decode_toml(text: str, source: str) -> dict[str, object] | Diagnostic:
    """The tables, or a `Diagnostic` with the reason why there are none."""
    import tomllib  # only who has such a file pays

    try:
        return tomllib.loads(text)
    except RecursionError:
        return _malformed(source, _TOO_DEEP)
    except ValueError as error:
        return _malformed(source, f"it is not TOML, {_begun_small(str(error))}")


def decode_either(text: str, source: str) -> object:
    """JSON or TOML, whichever it is. What begins as JSON does, and is not TOML, is wrong JSON."""
    value = decode_json(text, source)
    if not isinstance(value, Diagnostic):
        return value
    tables = decode_toml(text, source)
    if not isinstance(tables, Diagnostic):
        return tables
    return value if text.lstrip()[:1] in ("{", "[") else tables


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """To take the last of two values, as JSON readers do, would lose the first in silence."""
    value: dict[str, object] = {}
    for key, each in pairs:
        if key in value:
            message = f"the key `{key}` stands twice in one object"
            raise ValueError(message)
        value[key] = each
    return value


def _refuse(word: str) -> NoReturn:
    message = f"`{word}` is not JSON"
    raise ValueError(message)


def _begun_small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _malformed(source: str, reason: str) -> Diagnostic:
    return codes.MALFORMED_ROSTER.at(source=source, reason=reason)
