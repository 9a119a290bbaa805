"""Text for messages and commands: escaping, truncating, plurals, spelling suggestions."""

from __future__ import annotations

from itertools import islice
from shlex import quote
from string import Formatter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Quoting untrusted text in a sentence
#
# A diagnostic quotes input that may contain terminal escape sequences, right-to-left marks or a
# megabyte of text. Escaping shows such characters without letting them take effect.


MOST_SHOWN_CHARACTERS = 240


def escape_control(text: str, most: int = MOST_SHOWN_CHARACTERS) -> str:
    """Return the text on one line, cut to `most` characters, with hidden characters escaped.

    The text is cut first, so that escapes can make the result longer than `most`.
    """
    cut = text if len(text) <= most else text[: most - 1] + "…"
    if cut.isprintable():
        return cut
    return "".join(_escape_character(character) for character in cut)


def escape_control_lines(text: str) -> str:
    """Return a text of several lines, uncut, with hidden characters escaped."""
    return "\n".join(escape_control(line, len(line) + 1) for line in text.split("\n"))


def _escape_character(character: str) -> str:
    """Escape a character that is not printable: control, format, odd space or surrogate."""
    if character.isprintable():
        return character
    number = ord(character)
    return _SHORT_ESCAPES.get(character) or (
        f"\\x{number:02x}" if number <= _LAST_BYTE else f"\\u{number:04x}"
    )


_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LAST_BYTE = 0xFF


def is_encodable(text: str) -> bool:
    """Return whether the text can be encoded: JSON escapes can produce a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_MOST_NAMES = 7


def joined(names: Iterable[str]) -> str:
    """Join names for a sentence: `BlueLake, GreenDog and RedCreek`."""
    shown = [escape_control(name) for name in names]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} others"]
    *most, last = shown or [""]
    return f"{', '.join(most)} and {last}" if most else last


def cut(text: str, most: int) -> str:
    """Truncate the text to at most `most` characters, with an ellipsis at the end."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def as_option(actor: str, operator: str) -> str:
    """Return the `--as` option that a command needs unless the actor is the operator."""
    return "" if actor == operator else f" --as {quote(escape_control(actor))}"


def thread_argument(thread_id: str) -> str:
    """Return a thread ID quoted for a command line; a leading hyphen must not make it an option."""
    return "-- " * thread_id.startswith("-") + quote(escape_control(thread_id, len(thread_id) + 1))


# Counts with their nouns


def plural(number: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 hypothesis`, `3 hypotheses`. The default plural adds `s`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def grouped(number: int, one: str) -> str:
    """Return a count with thousands separators and its noun: `1 message`, `12,000 messages`."""
    return f"{number:,} {one if number == 1 else one + 's'}"


# Spelling suggestions


_LONGEST_COMPARED = 40
_MOST_CANDIDATES = 200
_SHORTEST_WITH_TYPO = 5
_NEGATIONS = ("un", "in", "non", "dis", "ir", "im")


def closest(word: str, known: Iterable[str], most_edits: int | None = None) -> str | None:
    """Return the known word that is closest to `word`, if it is within `most_edits`.

    The default is a third of the word's length. Case, hyphens, spaces and underscores do not count
    as edits. The result is None if no word is close enough or two words are equally close, and
    never the opposite of the word: a guess would mislead.
    """
    folded = _normalise(word)
    if not folded or len(folded) > _LONGEST_COMPARED:
        return None
    best = max(1, len(folded) // 3) if most_edits is None else most_edits
    found: str | None = None
    tied = False
    for candidate in islice(known, _MOST_CANDIDATES):
        other = _normalise(candidate)
        if _is_negated(folded, other):
            continue
        edits = _edit_distance(folded, other, best)
        if edits < best or (edits == best and found is None):
            found, tied = candidate, False
            best = edits
        elif edits == best:
            tied = True
    return None if found is None or tied else found


def closest_certain(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` certainly means.

    They may differ in case and hyphens, or by one typo. A typo is only accepted in words that are
    long enough to leave no doubt.
    """
    names = list(known)
    return closest(word, names, 0) or closest(
        word, [name for name in names if len(name) >= _SHORTEST_WITH_TYPO], 1
    )


class Suggestion(str):
    """The end of a fix that names the probable word; `meant` is the word alone."""

    __slots__ = ("meant",)

    meant: str | None


def did_you_mean(word: str | None) -> Suggestion:
    """Return a suggestion for people and, as `meant`, for programs."""
    suggestion = Suggestion(f" Did you mean `{word}`?" if word else "")
    suggestion.meant = word
    return suggestion


def _normalise(word: str) -> str:
    """Return the word for comparison: without case, separators and hidden characters."""
    return "".join(c for c in word.casefold() if c not in " _-" and c.isprintable())


def _is_negated(one: str, other: str) -> bool:
    """Return whether two words differ only by a negation: `unverified` and `verified`."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return longer.endswith(shorter) and longer.removesuffix(shorter) in _NEGATIONS


def _edit_distance(one: str, other: str, most: int) -> int:
    """Return the edit distance with transpositions, or any number above `most` if it is greater.

    It stops as soon as that is certain, so that unlike words are cheap.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    above: list[int] = []
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(before) > most:
            return most + 1
    return row[-1]


# Templates of the catalogue, for `explain` and the docs


def template_text(template: str) -> str:
    """Return a message's template with its parameters shown as <name>.

    A parameter directly after a sentence is another sentence, which not every message has.
    """
    text = ""
    for literal, name, _, _ in Formatter().parse(template):
        text += literal
        is_in_code = text.count("`") % 2
        if name and (is_in_code or not literal.endswith(".")):
            text += f"<{name}>"
    return text


# Commits


_COMMIT_CHARACTERS = 12


def short_commit(commit: str) -> str:
    """Return a commit's ID as all output and messages show it."""
    return commit[:_COMMIT_CHARACTERS]
