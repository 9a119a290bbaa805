"""The info string of a fenced code block, as CommonMark reads it."""

import re

# Entities and numeric references. cmark takes one or two digits more than the specification.
_ENTITY = r"&(?:#[xX]([0-9A-Fa-f]{1,8})|#([0-9]{1,8})|([A-Za-z][A-Za-z0-9]{1,31}));"

# A backslash before ASCII punctuation.
_ESCAPE = r"\\([!-/:-@\[-`{-~])"

_SPACE = " \t\n\r"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE_POINT = 0x10FFFF


def info_string(raw: str) -> str:
    """Resolve what stands behind an opening fence.

    Entities come first and escapes second, as in cmark: an escaped `&amp;` gives `&`. The text of
    the specification would have both in one pass.
    """
    if "&" in raw:
        raw = re.sub(_ENTITY, _character, raw)
    raw = raw.strip(_SPACE)
    return re.sub(_ESCAPE, r"\1", raw) if "\\" in raw else raw


def _character(entity: re.Match[str]) -> str:
    hexadecimal, decimal, name = entity.groups()
    if name is not None:
        # A table of two thousand names, wanted by one text in a thousand.
        from html.entities import html5

        return html5.get(f"{name};", entity[0])
    point = int(hexadecimal, 16) if hexadecimal else int(decimal)
    if point == 0 or point in _SURROGATES or point > _LAST_CODE_POINT:
        return _REPLACEMENT
    return chr(point)
