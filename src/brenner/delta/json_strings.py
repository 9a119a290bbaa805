"""The inside of JSON strings: what may not stand there, and how quotes are changed.

What a string says is never altered, only how it is spelled: a raw line break becomes the escape
that means a line break.
"""

import re
from collections.abc import Iterator
from functools import cache

from brenner.delta.json_faults import Fault
from brenner.diagnostics.codes import deltas as codes
from brenner.markdown.edits import Edit

_WORTH_A_LOOK = re.compile(r"[\x00-\x1f\\\ud800-\udfff]")
NAMES = {
    "\n": "line break",
    "\r": "carriage return",
    "\t": "tab",
    "\b": "backspace",
    "\f": "form feed",
}
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


@cache
def _part() -> re.Pattern[str]:
    """A part of a string that is worth a look; compiled when first needed."""
    return re.compile(
        r"""
          (?P<control> [\x00-\x1f] )
        | (?P<fine> \\ (?: ["\\/bfnrt] | u (?! [dD][89a-fA-F] ) [0-9a-fA-F]{4} ) )
        | (?P<pair> \\u [dD][89abAB][0-9a-fA-F]{2} \\u [dD][c-fC-F][0-9a-fA-F]{2} )
        | (?P<lone> \\u [dD][89a-fA-F][0-9a-fA-F]{2} | [\ud800-\udfff] )
        | (?P<apostrophe> \\' )
        | (?P<escape> \\ . )
        """,
        re.VERBOSE | re.DOTALL,
    )


def check_string(token: str, start: int) -> Iterator[Fault]:
    """The faults inside a string token that begins at `start`."""
    if not _WORTH_A_LOOK.search(token):
        return
    for part in _part().finditer(token):
        offset = start + part.start()
        edit = Edit(offset, start + part.end(), "")
        if part.lastgroup == "control":
            escape = _escaped_control(part[0])
            words = {"character": NAMES.get(part[0], "control character"), "right": escape}
            mended = edit._replace(replacement=escape)
            yield Fault(codes.JSON_CONTROL_CHARACTER, offset, words, (mended,))
        elif part.lastgroup == "lone":
            yield Fault(codes.JSON_LONE_SURROGATE, offset, {"escape": part[0]}, None)
        elif part.lastgroup == "apostrophe":
            mended = edit._replace(replacement="'")
            yield Fault(codes.JSON_BAD_ESCAPE, offset, {"escape": part[0]}, (mended,))
        elif part.lastgroup == "escape":
            yield Fault(codes.JSON_BAD_ESCAPE, offset, {"escape": part[0]}, None)


def requoted(token: str) -> str:
    """A string in other quotes, put into double quotes; its text stays the same."""
    inside = token[1:-1].replace("\\'", "'")
    return '"' + re.sub(r'(\\.)|"', lambda match: match[1] or '\\"', inside, flags=re.DOTALL) + '"'


def _escaped_control(character: str) -> str:
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"
