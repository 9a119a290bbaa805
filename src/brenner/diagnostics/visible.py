"""Other people's text, made safe to show in a sentence.

A diagnostic quotes what it complains about, and that may hold a terminal's escape sequence, a
right-to-left mark or a megabyte. All of it is shown; nothing of it is obeyed.
"""

import unicodedata

MOST_CHARACTERS = 240

# Cc control, Cf format (bidirectional marks among them), Cs surrogate, Zl and Zp line separators.
# Spaces other than the ordinary one are spelled out as well: they look like it.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text on one line, cut to `most` characters, with hidden characters spelled out."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(_spelled(character) for character in cut)


def visible_lines(text: str) -> str:
    """A text of several lines, whole, with hidden characters spelled out."""
    return "\n".join(visible(line, len(line) + 1) for line in text.split("\n"))


def _spelled(character: str) -> str:
    category = unicodedata.category(character)
    if category not in _HIDDEN and not (category == "Zs" and character != " "):
        return character
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    number = ord(character)
    return f"\\x{number:02x}" if number <= 0xFF else f"\\u{number:04x}"  # noqa: PLR2004
