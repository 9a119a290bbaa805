"""Other people's text in a body that we compose: on one line, cut, and without any effect.

It can make no heading, item, cell, fence, link or placeholder. Code that it quotes between single
backticks stays code, as our own diagnostics write it; there nothing else has an effect either.
"""

import re

from brenner.markdown.escape import character_reference, escape, escape_cell, fenced, one_paragraph
from brenner.text import visible
from brenner.thread.types import PLACEHOLDER, UNFILLED_NAME, UNFILLED_TEXT, UNFILLED_TOPIC

MOST_QUOTED = 240
_ADVISED_DESCRIPTION = 80
_MOST_SPELLED = 10  # characters for one that is hidden
_LONGEST_MARKER = 254  # the readers of Markdown count one character more, and no further
_CODE = re.compile("(`[^`]*`)")
# A longer run of backticks pairs otherwise, an address that viewers make a link of reaches into the
# code after it, and a placeholder is found in code, too.
_NO_PLAIN_CODE = ("``", "://", "www.", UNFILLED_TEXT[:2], UNFILLED_NAME, UNFILLED_TOPIC)


def quoted(text: str, most: int = MOST_QUOTED) -> str:
    """The text as it can stand in a paragraph or list item, also at its beginning."""
    line = one_line(text, most)
    if any(word in line for word in _NO_PLAIN_CODE):
        return one_paragraph(_without_placeholders(escape(line)))
    parts = _CODE.split(line)
    shown = "".join(
        part if number % 2 else _escaped(part) for number, part in enumerate(parts)
    ).strip()
    return shown if shown.startswith("`") else one_paragraph(shown)


def quoted_paragraphs(text: str) -> list[str]:
    """The text whole, paragraph by paragraph, each with its own line breaks and all of its words.

    It is long, and its author's own: cut, it would say something else.
    """
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(quoted(line, _MOST_SPELLED * len(line)))
        else:
            paragraphs.append([])
    return ["\\\n".join(map(_further, lines)) for lines in paragraphs if lines]


def _further(line: str) -> str:
    """A line that follows others: a colon at its start may be a row of dashes under a table."""
    return f"\\{line}" if line.startswith(":") else line


def quoted_cell(text: str, most: int = MOST_QUOTED) -> str:
    """The text as it can stand in a cell of a table."""
    return _without_placeholders(escape_cell(one_line(text, most)))


def one_line(text: str, most: int = MOST_QUOTED) -> str:
    """The words on one line, cut to `most` characters, hidden characters spelled out."""
    shown = visible(" ".join(text[: 4 * most].split()), most)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def in_fence(text: str, info: str) -> str:
    """The text as a fenced block that nothing in it can close.

    Where it holds a run of backticks that no fence is longer than, the fence is of tildes. A run of
    tildes as long closes it only alone on its line, which in what we put there does not occur.
    """
    return fenced(text, info, "~" if "`" * _LONGEST_MARKER in text else "`")


def short(text: str) -> str:
    """A description that is as short as a subject's should be (R2); placeholders are left out."""
    return one_line(PLACEHOLDER.sub("…", one_line(text)), _ADVISED_DESCRIPTION)


def _escaped(part: str) -> str:
    """Text between two pieces of code; the blanks at its edges stay blanks."""
    inner = part.strip(" ")
    if not inner:
        return part
    before, _, after = part.partition(inner)
    return f"{before}{escape(inner)}{after}"


def _without_placeholders(escaped: str) -> str:
    for word in (UNFILLED_TEXT[:2], UNFILLED_NAME, UNFILLED_TOPIC):
        escaped = escaped.replace(word, f"{character_reference(word[0])}{word[1:]}")
    return escaped
