"""Names as a sentence has them; texts cut to fit; threads and agents as a command has them."""

from collections.abc import Iterable
from itertools import islice
from shlex import quote
from string import Formatter

# Other people's text, made safe to show in a sentence.
#
# A diagnostic quotes what it complains about, and that may hold a terminal's escape sequence, a
# right-to-left mark or a megabyte. All of it is shown; nothing of it is obeyed.


MOST_CHARACTERS = 240


def escape_control(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text on one line, cut to `most` characters, with hidden characters spelled out."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    if cut.isprintable():
        return cut
    return "".join(_spelled(character) for character in cut)


def escape_control_lines(text: str) -> str:
    """A text of several lines, whole, with hidden characters spelled out."""
    return "\n".join(escape_control(line, len(line) + 1) for line in text.split("\n"))


def _spelled(character: str) -> str:
    """Control and format characters, odd spaces, halves of characters: what is not printable."""
    if character.isprintable():
        return character
    number = ord(character)
    return _SHORT.get(character) or (f"\\x{number:02x}" if number <= _BYTE else f"\\u{number:04x}")


_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BYTE = 0xFF


_MOST_NAMES = 7


def joined(names: Iterable[str]) -> str:
    """Names as in a sentence: `BlueLake, GreenDog and RedCreek`."""
    shown = [escape_control(name) for name in names]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} others"]
    *most, last = shown or [""]
    return f"{', '.join(most)} and {last}" if most else last


def cut(text: str, most: int) -> str:
    """A text of at most so many characters; one that goes on says so."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def as_option(actor: str, operator: str) -> str:
    """What a command must say for somebody who is not the operator."""
    return "" if actor == operator else f" --as {quote(escape_control(actor))}"


def thread_argument(thread_id: str) -> str:
    """A thread ID as one types it; one that begins with a hyphen is no option."""
    return "-- " * thread_id.startswith("-") + quote(escape_control(thread_id, len(thread_id) + 1))


# A number with the word for what was counted.


def counted(number: int, one: str, many: str = "") -> str:
    """`1 hypothesis`, `3 hypotheses`; without `many` the plural has an `s`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def grouped(number: int, one: str) -> str:
    """`1 message`, `12,000 messages`: of what there may be very many."""
    return f"{number:,} {one if number == 1 else one + 's'}"


# The known word that a misspelt one probably, or certainly, stands for.


_LONGEST_WORTH_COMPARING = 40
_MOST_CANDIDATES = 200
_LONG_ENOUGH_FOR_A_SLIP = 5
_NEGATIONS = ("un", "in", "non", "dis", "ir", "im")


def closest(word: str, known: Iterable[str], most_edits: int | None = None) -> str | None:
    """The one known word within `most_edits` edits of `word` (a third of its length by default).

    Case, hyphens, blanks and underscores do not count as edits. Two equally near words are no
    answer, nor is one that says the opposite: a suggestion that is a guess misleads.
    """
    folded = _folded(word)
    if not folded or len(folded) > _LONGEST_WORTH_COMPARING:
        return None
    best = max(1, len(folded) // 3) if most_edits is None else most_edits
    found: str | None = None
    tied = False
    for candidate in islice(known, _MOST_CANDIDATES):
        other = _folded(candidate)
        if _is_negated(folded, other):
            continue
        edits = _edits(folded, other, best)
        if edits < best or (edits == best and found is None):
            found, tied = candidate, False
            best = edits
        elif edits == best:
            tied = True
    return None if found is None or tied else found


def closest_certain(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is for certain: but for case and hyphens, or for one slip.

    A slip is forgiven only in words that are long enough to leave no doubt.
    """
    names = list(known)
    return closest(word, names, 0) or closest(
        word, [name for name in names if len(name) >= _LONG_ENOUGH_FOR_A_SLIP], 1
    )


class Suggestion(str):
    """The end of a fix that names what was probably meant; `meant` is the word alone."""

    __slots__ = ("meant",)

    meant: str | None


def did_you_mean(word: str | None) -> Suggestion:
    """A suggestion for people and, as `meant`, for programs."""
    suggestion = Suggestion(f" Perhaps `{word}`." if word else "")
    suggestion.meant = word
    return suggestion


def _folded(word: str) -> str:
    """The word as it is compared; hidden characters do not count."""
    return "".join(c for c in word.casefold() if c not in " _-" and c.isprintable())


def _is_negated(one: str, other: str) -> bool:
    """Whether the two differ by a negation only: `unverified` is not a misspelt `verified`."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return longer.endswith(shorter) and longer.removesuffix(shorter) in _NEGATIONS


def _edits(one: str, other: str, most: int) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours; more than `most` is most + 1.

    Stopping as soon as that is sure makes unlike words cheap.
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


# The words of the catalogue before they are filled in, for who reads about a code.


_LEFT_OUT = ("suggestion", "hint")


def template_text(template: str) -> str:
    """A message's template with its open places shown as <name>."""
    parts = []
    for literal, name, _, _ in Formatter().parse(template):
        parts.append(literal)
        if name and name not in _LEFT_OUT:
            parts.append(f"<{name}>")
    return "".join(parts)
