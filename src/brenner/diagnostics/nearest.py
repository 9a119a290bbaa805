"""The known word that a misspelt one probably stands for."""

from collections.abc import Iterable

_LONGEST_WORTH_COMPARING = 64


def nearest(word: str, known: Iterable[str], most_edits: int | None = None) -> str | None:
    """The one known word within `most_edits` edits of `word` (a third of its length by default).

    Case, hyphens, blanks and underscores do not count as edits. Two equally near words are no
    answer: a suggestion that is a guess misleads.
    """
    if not word or len(word) > _LONGEST_WORTH_COMPARING:
        return None
    folded = _folded(word)
    limit = max(1, len(folded) // 3) if most_edits is None else most_edits
    ranked = sorted((_edits(folded, _folded(candidate)), candidate) for candidate in known)
    if not ranked or ranked[0][0] > limit:
        return None
    if len(ranked) > 1 and ranked[1][0] == ranked[0][0]:
        return None
    return ranked[0][1]


def _folded(word: str) -> str:
    return "".join(character for character in word.casefold() if character not in " _-")


def _edits(one: str, other: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours between two words."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row, above = row, [i], before
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]
