"""Other people's text, made safe to show in a sentence.

A diagnostic quotes what it complains about, and that may hold a terminal's escape sequence, a
right-to-left mark or a megabyte. All of it is shown; nothing of it is obeyed.
"""

MOST_CHARACTERS = 240


def visible(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text on one line, cut to `most` characters, with hidden characters spelled out."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    if cut.isprintable():
        return cut
    return "".join(_spelled(character) for character in cut)


def visible_lines(text: str) -> str:
    """A text of several lines, whole, with hidden characters spelled out."""
    return "\n".join(visible(line, len(line) + 1) for line in text.split("\n"))


def _spelled(character: str) -> str:
    """Control and format characters, odd spaces, halves of characters: what is not printable."""
    if character.isprintable():
        return character
    number = ord(character)
    return _SHORT.get(character) or (f"\\x{number:02x}" if number <= _BYTE else f"\\u{number:04x}")


_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BYTE = 0xFF
