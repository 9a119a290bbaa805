"""On which line of a file a key of a roster stands, where that can be told without doubt."""

import re
from collections.abc import Iterator, Sequence

from brenner.diagnostics.model import Diagnostic

_KEY = re.compile(r"""(?<![A-Za-z0-9_-])([A-Za-z0-9_-]++)["']?\s*+[=:]""")
_MOST_PLACED = 20  # each is looked for in the whole text


def in_the_file(found: Sequence[Diagnostic], text: str) -> tuple[Diagnostic, ...]:
    """What was found, each with its line in the file that was read."""
    return tuple(each._replace(line=line or each.line) for each, line in _placed(found, text))


def in_words(found: Sequence[Diagnostic], text: str) -> tuple[Diagnostic, ...]:
    """What was found, with the line in its message: whoever shows it names another file."""
    return tuple(
        each._replace(message=f"{each.message.removesuffix('.')} (line {line}).") if line else each
        for each, line in _placed(found, text)
    )


def _placed(found: Sequence[Diagnostic], text: str) -> Iterator[tuple[Diagnostic, int | None]]:
    for number, each in enumerate(found):
        yield each, line_of(each.field, text) if number < _MOST_PLACED else None


def line_of(field: str | None, text: str) -> int | None:
    """The line of a key that is named as in `entries.2.agent`; None where several may be it."""
    if not field:
        return None
    *tables, key = field.split(".")
    lines = text.split("\n")
    start, end = _table(tables, lines)
    at = [number for number in range(start, end) if key in _KEY.findall(lines[number])]
    return at[0] + 1 if len(at) == 1 else None


def _table(tables: list[str], lines: list[str]) -> tuple[int, int]:
    """Where the table of TOML goes that is named as in `entries.2`; else the whole text."""
    numbers = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
    if len(tables) == len(("entries", "2")):
        name, place = tables
        heads = [at for at in numbers if _is_head(lines[at], name)]
        if place.isdecimal() and int(place) <= len(heads):
            start = heads[int(place) - 1]
            return start, min((at for at in numbers if at > start), default=len(lines))
    return 0, len(lines)


def _is_head(line: str, name: str) -> bool:
    """`[[roster.entries]]`, `[[tool.brenner.roster.presets]]`, `[[presets]]`."""
    head = line.partition("#")[0].strip()
    is_list = head.startswith("[[") and head.endswith("]]")
    return is_list and head.strip("[] \t").rpartition(".")[2].strip(" \t\"'") == name
