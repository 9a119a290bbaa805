"""Link reference definitions at the beginning of a paragraph.

They are no text: a paragraph of nothing else disappears, and an underline below it makes no
heading. Only their extent matters here; label, destination and title are not kept.
"""

import re

# A label: no brackets inside unless escaped, something else than blanks, and no endless ones (cmark
# counts bytes).
_LABEL = r"\[((?:[^\\\[\]]|\\[\s\S])*+)\]:"
MOST_LABEL = 1000

# Between the parts: blanks and at most one line ending.
_GAP = r"[ \t]*+(?:\n[ \t]*+)?"

# A destination in angle brackets, or a run without blanks. (To cmark a backslash escapes even a
# line ending.)
_DESTINATION = r"<(?:[^<>\\\n]|\\[\s\S])*+>|(?!<)[^ \t\n]++"
MOST_PARENTHESES = 32

# A title in one of three pairs of quotes, which may hold them behind a backslash. cmark takes the
# longest title there is, so that a quote behind a backslash may also be the closing one.
_TITLE = r"""(?x)
    " [^"]*+ (?: (?<=\\) " [^"]*+ )* "
  | ' [^']*+ (?: (?<=\\) ' [^']*+ )* '
  | \( [^()]*+ (?: (?<=\\) [()] [^()]*+ )* \) """

_LINE_END = r"[ \t]*+(?:\n|\Z)"


def without_definitions(text: str) -> str:
    """The text of a paragraph behind all the link reference definitions that it begins with."""
    position = 0
    while text.startswith("[", position):
        after = _definition(text, position)
        if after is None:
            break
        position = after
    return text[position:]


def _match(pattern: str, text: str, position: int) -> int | None:
    # Compiled by `re` when first needed: most texts hold no definition at all.
    found = re.compile(pattern).match(text, position)
    return found.end() if found else None


def _definition(text: str, position: int) -> int | None:
    label = re.compile(_LABEL).match(text, position)
    if label is None or not label[1].strip(" \t\n"):
        return None
    if len(label[1].encode(errors="surrogatepass")) > MOST_LABEL:
        return None
    destination = _match(_GAP, text, label.end())
    if destination is None:
        return None
    title = _match(_DESTINATION, text, destination)
    if title is None or not _balanced(text[destination:title]):
        return None
    return _titled(text, title) or _match(_LINE_END, text, title)


def _titled(text: str, position: int) -> int | None:
    start = _match(_GAP, text, position)
    if start is None or start == position:
        return None
    end = _match(_TITLE, text, start)
    return None if end is None else _match(_LINE_END, text, end)


def _balanced(destination: str) -> bool:
    """No parenthesis closes what none has opened, and not too many are open at once.

    cmark takes a destination whose parentheses stay open; the specification would not.
    """
    if destination.startswith("<"):
        return True
    depth = 0
    escaped = False
    for character in destination:
        if escaped or character == "\\":
            escaped = not escaped
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        if not 0 <= depth <= MOST_PARENTHESES:
            return False
    return True
