"""JSON exactly as RFC 8259 has it, and nothing more (ruling R5), at the standard decoder's speed.

The standard decoder is laxer than the RFC in four ways: NaN and Infinity, numbers of any length,
duplicate keys, lone surrogates. Hooks refuse the first two. Looking for the other two in every
object would cost ten times the decoding, so cheap tests tell whether there *could* be one; only
then the text is scanned.
"""

import json
import re

from brenner.delta.json_scan import scan
from brenner.limits import MOST_JSON_DEPTH, MOST_NUMBER_DIGITS


class NotJSON(ValueError):  # noqa: N818  (it is a finding about a text, not an error of ours)
    """The text is not JSON in the sense of RFC 8259 and our limits."""


def decode(text: str) -> object:
    """The value, or `NotJSON`. What is wrong, and where, `scan` tells."""
    if text.count("{") + text.count("[") > MOST_JSON_DEPTH:
        _scan_strictly(text)
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise NotJSON from None
    if _could_repeat_a_key(text, value) or _LONE_SURROGATE_POSSIBLE.search(text):
        _scan_strictly(text)
    return value


def _scan_strictly(text: str) -> None:
    if scan(text).faults:
        raise NotJSON


def _refuse(_constant: str) -> object:
    raise NotJSON


def _integer(digits: str) -> int:
    if len(digits) > MOST_NUMBER_DIGITS:
        raise NotJSON
    return int(digits)


def _float(digits: str) -> float:
    if len(digits) > MOST_NUMBER_DIGITS:
        raise NotJSON
    return float(digits)


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer, parse_float=_float)
_LONE_SURROGATE_POSSIBLE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_KEY_END = re.compile(r'"[ \t\r\n]*:')


def _could_repeat_a_key(text: str, value: object) -> bool:
    """Whether the text may have more members than the value.

    Each member has a colon after the quotation mark that ends its key. Text may hold such pairs
    too, so the counts only ever err on the side of looking closer.
    """
    members = _count_members(value)
    return text.count(":") != members and len(_KEY_END.findall(text)) != members


def _count_members(value: object) -> int:
    if type(value) is dict:
        count = len(value)
        for inner in value.values():
            if type(inner) is dict or type(inner) is list:
                count += _count_members(inner)
        return count
    if type(value) is list:
        return sum(_count_members(inner) for inner in value)
    return 0
