"""The marks of a kill, as we write them and as others do, and what they say of who, when and why.

Ours are `~~…~~` and `[KILLED]`. Others write `(KILLED)`, `[KILLED by RedCreek 2025-12-30: vague]`,
`— killed by RedCreek`, `<del>…</del>`, strike the ID or the name alone, or say `Killed by …` in a
line of its own. The word alone is no mark: `Killed cells re-enter the cycle` is a name. What would
be a mark in a text of ours is escaped by the patterns below, so that it is read back as text.
"""

import re
from typing import NamedTuple

from brenner.artifact.model import Killed
from brenner.markdown.escape import character_reference, escape_also, unescape
from brenner.protocol.grammar import ISO_TIME, ITEM_ID

KILLED = "[KILLED]"
KILLED_WORD = "KILLED"

# The word, where it is the end of what is said or goes on with who, when or why.
_WORD = r"""killed
    (?: (?= [*_`~]*+ (?: \.?[ \t]*+ (?:\Z|[\])]) | : | [ \t]++[–—-]
              | ,?[ \t]*+ (?: by[ \t]++(?-i:[A-Z@])
                          | (?:(?:on|at)[ \t]++|\()?[0-9]{4}-?[0-9]{2} ) ) )
      | (?<= (?-i:KILLED) ) (?= [ \t]++by\b ) )"""
_NESTED = r"((?: [^()\[\]] | \([^()]*\) | \[[^\[\]]*\] )*+)"
_IN_BRACKETS = re.compile(rf"(?axi) (?<!\\)\[[ \t]*+{_WORD}{_NESTED}\]\Z")
_IN_PARENTHESES = re.compile(rf"(?axi) (?<=[ \t])\([ \t]*+{_WORD}{_NESTED}\)\Z")
_AFTER_DASH = re.compile(rf"(?axi) (?<=[ \t])(?:[–—]|-{{1,3}})[ \t]*+{_WORD}(.*)\Z")
_ENDINGS = (_IN_BRACKETS, _IN_PARENTHESES, _AFTER_DASH)
# An ID of ours ends in a colon and holds no bare blank.
_LEADING = re.compile(
    r"(?ai)(?:\[killed\b([^\[\]]*)\][ \t]*+:?"
    r"|\(killed\b([^()]*)\)(?=[ \t]+[*~`]*[A-Z]+[0-9]))[ \t]*"
)
_TAG = re.compile(r"(?ai)(?<!\\)</?(?:del|s|strike)>")
_STRUCK = r"~~((?:\\.|[^\\~]|~(?!~))++)~~"
_STRUCK_FIRST = re.compile(rf"{_STRUCK}[ \t]*+(.*)\Z", re.DOTALL)
_STRUCK_NAME = re.compile(rf"([^\s~]++(?:[ \t]++[:.–—-])?)[ \t]*+{_STRUCK}\Z", re.DOTALL)
_ID_FIRST = re.compile(r"[*`]{0,3}(?:[HPTAXC][1-9][0-9]{0,8}|RT)\b")
_SUFFIX = re.compile(r"(?ai)(?<![ \t\\])[ \t]*+\((?:score|third)[^()]*\)\Z")


class Marks(NamedTuple):
    """What a heading, or the ID of a row, says without the marks of a kill.

    `mark` is the ending that was taken off, `words` what the marks say beyond the word. `is_odd`:
    something else than the striking of the whole, and perhaps `[KILLED]` after it.
    """

    rest: str
    is_killed: bool = False
    is_struck: bool = False
    is_odd: bool = False
    mark: str = ""
    words: str = ""


def read_marks(raw: str) -> Marks:
    """Take the marks off. The endings that headings have stay where they are."""
    rest = raw.strip(" \t")
    if "~~" not in rest and "<" not in rest and "killed" not in rest.lower():
        return Marks(rest)
    plain = _TAG.sub("~~", rest)
    rest, mark, words = _without_mark(plain)
    struck = _without_strike(rest)
    inner, second, more = _without_mark(struck.rest)
    is_killed = struck.is_killed or bool(mark or second)
    is_odd = is_killed and (struck.is_odd or plain != raw.strip(" \t") or bool(second))
    said = " ".join(filter(None, (words, more, struck.words)))
    return Marks(inner, is_killed, struck.is_struck, is_odd, mark or second, said)


def _without_mark(text: str) -> tuple[str, str, str]:
    """The text without `[KILLED]` and its like, that mark, and what else it says."""
    if "killed" not in text.lower():
        return text, "", ""
    leading = _LEADING.match(text)
    if leading and leading.end() < len(text):
        return text[leading.end() :], leading[0].strip(), leading[1] or leading[2] or ""
    body, ending = _parted(text)
    for pattern in _ENDINGS:
        if found := pattern.search(body):
            return body[: found.start()].rstrip(" \t") + ending, found[0], found[1]
    return text, "", ""


def _parted(text: str) -> tuple[str, str]:
    """A heading, and `(Score: …)` or `(Third Alternative)` at its end."""
    suffix = _SUFFIX.search(text)
    return (text[: suffix.start()], suffix[0]) if suffix else (text, "")


def _without_strike(text: str) -> Marks:
    """The text without `~~`: around all of it, or around the ID or the name alone."""
    if "~~" not in text:
        return Marks(text)
    body, ending = _parted(text)
    first, named = _STRUCK_FIRST.match(body), _STRUCK_NAME.fullmatch(body)
    if named:
        rest, words = f"{named[1]} {named[2]}", ""
    elif first and not first[2]:
        return Marks(first[1] + ending, is_killed=True, is_struck=True, is_odd=bool(ending))
    elif first and ITEM_ID.fullmatch(first[1].strip("*` ")):
        after = first[2].lstrip(" \t:")
        name = _STRUCK_FIRST.match(after)
        rest, words = f"{first[1]}: {name[1] if name and not name[2] else after}", ""
    elif first and _ID_FIRST.match(first[1]):
        rest, words = first.groups()
    else:
        return Marks(text)
    return Marks(rest + ending, is_killed=True, is_struck=True, is_odd=True, words=words)


# Who, when and why

_LEAD = re.compile(r"(?ai)(?:(?:yes|true|killed)\b)?[\s,;:.()*_–—-]*")
_BY = re.compile(
    r"(?ai)by:?\s+(.{1,80}?)(?=\s*(?:[,;:(–—\n]|\s-\s|\Z)|\.\s*\Z|\s+(?:on|at|because|[0-9]{4}-))"
)
_WHEN = re.compile(rf"(?ai)(?:(?:on|at)\s+|\()?({ISO_TIME.pattern})(?![0-9])\)?")
_BETWEEN = re.compile(r"(?ai)[\s,;:.)–—-]*(?:(?:because|since)\b[\s,:]*)?")


def read_kill_words(raw: str) -> Killed:
    """Who, when and why, as far as can be told: ` by RedCreek (2025-12-30): too vague`."""
    text = unescape(raw).strip().strip("*_~").strip()
    agent = at = ""
    position = _end(_LEAD, text, 0)
    while True:
        if not agent and (by := _BY.match(text, position)):
            agent = by[1].strip("*_`~ ")
            found = by
        elif not at and (when := _WHEN.match(text, position)):
            at = when[1]
            found = when
        else:
            return Killed(agent, at, text[position:].strip())
        position = _end(_BETWEEN, text, found.end())


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


# Lines that say so

_LINE = re.compile(rf"(?axi) [*_~\[(]{{0,6}}{_WORD}(.*)", re.DOTALL)
_STATUS = re.compile(rf"(?axi) [*_`~]{{0,6}}{_WORD}(.*)", re.DOTALL)


def killed_line(line: str) -> str | None:
    """What a line such as `*Killed by RedCreek: too vague*` says; None if it is none."""
    match = _LINE.match(line)
    return match[1].rstrip("*_~)] \t") if match else None


def killed_status(raw: str) -> str | None:
    """What a status such as `KILLED` says beyond the word; None if it is another one."""
    match = _STATUS.match(raw)
    return match[1].strip("*_`~ \t") if match else None


# Writing

_IN_NAME = re.compile(rf"(?axis) \\. | [\[(](?=[ \t]*+{_WORD})")
_DASH_IN_NAME = re.compile(rf"(?axi) ((?<![^ \t])(?:[–—]|-{{1,3}})[ \t]*+)(k)(?={_WORD[1:]})")


def escape_marks(escaped: str) -> str:
    """The escaped text of a name in which nothing is a mark."""
    if "killed" not in escaped.lower():
        return escaped
    escaped = escape_also(escaped, _IN_NAME)
    return _DASH_IN_NAME.sub(lambda mark: f"{mark[1]}{character_reference(mark[2])}", escaped)


def escape_status(escaped: str) -> str:
    """The escaped text of a status that does not say that the item is killed."""
    if killed_status(escaped) is None:
        return escaped
    return f"{character_reference(escaped[0])}{escaped[1:]}"
