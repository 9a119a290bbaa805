"""The evidence matrix: which hypotheses the predictions and tests of an artifact tell apart.

Each active or killed prediction and test is a column, each hypothesis a row. Equal cells of a
column have the same letter. A column *separates* two hypotheses whose outcomes are different
declared keys (R27). Hypotheses with other different letters are only *worded differently*.

Two texts are equal if they differ only in case, spaces and the marks around their words: a final
full stop, quotation marks, brackets, emphasis. Characters inside a word count: `0.5` and `5`, `>
10` and `< 10`, `A-B` and `AB` are different. Outcomes with the same meaning but other words are
different too, since only a reader can compare meanings.

A cell without a word or a number, `N/A` and `indeterminate` predict nothing. No observation
contradicts them, so they have no letter and separate nothing.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING
from unicodedata import normalize

from brenner.artifact.model import Artifact, Item, in_display_order
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    NO_STATEMENT,
    OUTCOME_FIELDS,
    Section,
)
from brenner.protocol.grammar import HYPOTHESIS_REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_AROUND = r"[\"'“”„‘’‚«»‹›`*_()\[\]]+"
# Marks around a word and stops after it are ignored; between two letters or digits they count.
_MARKS = lazy_pattern(rf"(?<![^\W_]){_AROUND}|{_AROUND}(?![^\W_])")
_STOPS = lazy_pattern(r"[.,;:!]+(?!\w)")


class Cell(NamedTuple):
    """The outcome of a column under one hypothesis. Without a letter it predicts nothing.

    `is_key` means that it is the key of a declared outcome (R27).
    """

    outcome: str = ""
    letter: str = ""
    is_key: bool = False


class EvidenceColumn(NamedTuple):
    """A prediction or a test, with its cells in the order of the hypotheses.

    `unknown_hypotheses` are the outcomes for hypotheses that are not in the slate.
    """

    section: Section
    item: Item
    cells: tuple[Cell, ...]
    unknown_hypotheses: tuple[tuple[str, str], ...] = ()

    @property
    def has_declared_outcomes(self) -> bool:
        return "outcomes" in self.item.fields


class EvidenceMatrix(NamedTuple):
    """The hypotheses by number, and the columns: predictions by number, then tests by score."""

    hypotheses: tuple[Item, ...]
    columns: tuple[EvidenceColumn, ...]


def evidence_matrix(artifact: Artifact) -> EvidenceMatrix:
    hypotheses = artifact.sections[HYPOTHESIS_SLATE.id]
    columns = (
        _column(section, item, field, hypotheses)
        for section, field in OUTCOME_FIELDS.items()
        for item in in_display_order(section, artifact.sections[section.id])
    )
    return EvidenceMatrix(hypotheses, tuple(columns))


def _column(
    section: Section, item: Item, field: str, hypotheses: tuple[Item, ...]
) -> EvidenceColumn:
    outcomes = item.mapped(field)
    declared = item.mapped("outcomes")
    letters: dict[tuple[bool, str], str] = {}
    cells = []
    for hypothesis in hypotheses:
        outcome = outcomes.get(hypothesis.id, "")
        is_key = outcome in declared
        content = (is_key, outcome if is_key else normalise_outcome(outcome))
        if content[1] and content not in letters:
            letters[content] = _letter(len(letters))
        cells.append(Cell(outcome, letters.get(content, ""), is_key))
    known = {hypothesis.id for hypothesis in hypotheses}
    unknown = tuple((name, text) for name, text in outcomes.items() if text and name not in known)
    return EvidenceColumn(section, item, tuple(cells), unknown)


def normalise_outcome(outcome: str) -> str:
    """Return an outcome as it is compared, or an empty text if it predicts nothing."""
    text = normalize("NFC", outcome.casefold()).translate(_DASHES)
    text = _STOPS.sub(" ", _MARKS.sub(" ", text))
    words = " ".join(text.split())
    if words in NO_STATEMENT or not any(map(str.isalnum, words)):
        return ""
    return words


def _letter(number: int) -> str:
    """Return the letters of the alphabet, then `aa`, `ab` and so on."""
    more, last = divmod(number, len(_ALPHABET))
    return (_letter(more - 1) if more else "") + _ALPHABET[last]


def groups_by_letter(
    column: EvidenceColumn, hypotheses: tuple[Item, ...]
) -> dict[str, tuple[str, ...]]:
    """Return the active hypotheses of a column, grouped by letter."""
    found: dict[str, tuple[str, ...]] = {}
    for hypothesis, cell in zip(hypotheses, column.cells, strict=True):
        if cell.letter and hypothesis.is_active:
            found[cell.letter] = (*found.get(cell.letter, ()), hypothesis.id)
    return found


def unseparated_pairs(found: EvidenceMatrix, section: Section) -> Iterator[tuple[str, str]]:
    """Yield the pairs of active hypotheses that no active item of this section separates.

    In each column the two are equal, or one of them predicts nothing.
    """
    apart = _differences(found, section, only_keys=False)
    for first, second in combinations(apart, 2):
        if not apart[first] >> second & 1:
            yield found.hypotheses[first].id, found.hypotheses[second].id


def pairs_worded_differently(found: EvidenceMatrix, section: Section) -> Iterator[tuple[str, str]]:
    """Yield the pairs of active hypotheses that this section only words differently (R27).

    Some active item has different outcomes for the two, but none has different declared keys.
    """
    apart = _differences(found, section, only_keys=False)
    separated = _differences(found, section, only_keys=True)
    for first, second in combinations(apart, 2):
        if (apart[first] & ~separated[first]) >> second & 1:
            yield found.hypotheses[first].id, found.hypotheses[second].id


def _differences(found: EvidenceMatrix, section: Section, *, only_keys: bool) -> dict[int, int]:
    """Return, per active hypothesis, a bit mask of those from which an active item tells it apart.

    With `only_keys`, only declared keys count.
    """
    active = [place for place, each in enumerate(found.hypotheses) if each.is_active]
    apart = dict.fromkeys(active, 0)
    for column in found.columns:
        if column.section is section and column.item.is_active:
            _note_differences(column, apart, only_keys=only_keys)
    return apart


def group_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    """Group pairs under the hypothesis that occurs most often. Each pair occurs once."""
    left = dict.fromkeys(pairs)
    found = []
    while left:
        places = Counter(each for pair in left for each in pair)
        first = places.most_common(1)[0][0]
        own = [pair for pair in left if first in pair]
        found.append((first, tuple(two if one == first else one for one, two in own)))
        for pair in own:
            del left[pair]
    return found


def _note_differences(column: EvidenceColumn, apart: dict[int, int], *, only_keys: bool) -> None:
    letters: dict[str, int] = {}
    cells = [
        (place, cell.letter)
        for place in apart
        if (cell := column.cells[place]).letter and (cell.is_key or not only_keys)
    ]
    for place, letter in cells:
        letters[letter] = letters.get(letter, 0) | 1 << place
    whole = sum(letters.values())
    for place, letter in cells:
        apart[place] |= whole ^ letters[letter]


def discriminated_hypotheses(column: EvidenceColumn) -> tuple[str, ...]:
    """Return the hypotheses that a test claims to discriminate, each once."""
    text = column.item.text("discriminates")
    return tuple(dict.fromkeys(HYPOTHESIS_REFERENCE.findall(text)))


def fails_to_discriminate(column: EvidenceColumn, hypotheses: tuple[Item, ...]) -> bool:
    """Return whether a test names hypotheses to discriminate but separates no two of them.

    Only active tests and active hypotheses count.
    """
    wanted = set(discriminated_hypotheses(column))
    letters = [
        cell.letter
        for hypothesis, cell in zip(hypotheses, column.cells, strict=True)
        if hypothesis.id in wanted and hypothesis.is_active
    ]
    is_promised = column.item.is_active and len(letters) > 1
    return is_promised and len(set(filter(None, letters))) <= 1
