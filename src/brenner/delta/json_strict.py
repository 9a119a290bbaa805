"""JSON exactly as RFC 8259 has it, and nothing more (ruling R5), near the standard decoder's speed.

The standard decoder is laxer than the RFC in four ways: NaN and Infinity, numbers of any length,
duplicate keys, lone surrogates. Hooks refuse the first three; for the last one a cheap test tells
whether there *could* be one, and only then the text is scanned.
"""

import json

from brenner.limits import MOST_JSON_DEPTH, MOST_JSON_VALUES, MOST_NUMBER_DIGITS


class NotJSON(ValueError):
    """The text is not JSON in the sense of RFC 8259 and our limits."""


def decode(text: str) -> object:
    """The value, or `NotJSON`. What is wrong, and where, `scan` tells."""
    opened = text.count("{") + text.count("[")
    # There are at most so many levels, and at most one value more than brackets and commas.
    if opened > MOST_JSON_DEPTH or opened + text.count(",") >= MOST_JSON_VALUES:
        _scan_strictly(text)
    start = 0 if text.startswith("{") else len(text) - len(text.lstrip(_BLANKS))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise NotJSON from None
    if text[end:].strip(_BLANKS):
        raise NotJSON
    if "\\u" in text or not (text.isascii() or _is_encodable(text)):
        _scan_strictly(text)
    return value


def _scan_strictly(text: str) -> None:
    from brenner.delta.json_scan import scan

    if scan(text).faults:
        raise NotJSON


def _is_encodable(text: str) -> bool:
    """Whether no half of a character stands in the text itself."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJSON
    return members


def _integer(digits: str) -> int:
    if len(digits) > MOST_NUMBER_DIGITS:
        raise NotJSON
    return int(digits)


def _float(digits: str) -> float:
    if len(digits) > MOST_NUMBER_DIGITS:
        raise NotJSON
    return float(digits)


def _refuse(_constant: str) -> object:
    raise NotJSON


_BLANKS = " \t\r\n"
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_refuse
)
