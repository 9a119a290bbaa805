"""Which hypotheses the predictions and tests of an artifact tell apart.

Each active or killed prediction and test is a column, each hypothesis a row. Cells of a column that
agree have one letter. A column separates two hypotheses that have different letters in it.

Two outcomes agree where they say the same but for their case, their blanks and the marks around
their words: a full stop at the end, quotation marks, brackets, emphasis. Signs inside a word count:
`0.5` and `5`, `> 10` and `< 10`, `A-B` and `AB` do not agree. What is meant the same and worded
otherwise does not agree either: nobody but a reader can tell.

A cell without a word or a number, `N/A`, and `indeterminate` predict nothing. Whatever is observed,
they are not contradicted; so they have no letter, and separate nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple
from unicodedata import normalize

from brenner.artifact.model import NOT_APPLICABLE, Artifact, Item, shown
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    Section,
)
from brenner.protocol.grammar import NAME_IN_DISCRIMINATES

# The field of each section that holds an outcome for each hypothesis
OUTCOMES: Mapping[Section, str] = {
    PREDICTIONS_TABLE: "predictions",
    DISCRIMINATIVE_TESTS: "expected_outcomes",
}
_WITHOUT_PREDICTION = frozenset({NOT_APPLICABLE.casefold(), "indeterminate"})
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_AROUND = r"[\"'“”„‘’‚«»‹›`*_()\[\]]+"
# Around a word, and behind one; between two letters or digits all of them count
_MARKS = re.compile(rf"(?<![^\W_]){_AROUND}|{_AROUND}(?![^\W_])")
_STOPS = re.compile(r"[.,;:!]+(?!\w)")


class Cell(NamedTuple):
    """What a column says under one hypothesis; without a letter it predicts nothing."""

    outcome: str = ""
    letter: str = ""


class Column(NamedTuple):
    """A prediction or a test: its cells in the order of the hypotheses.

    `strangers` are outcomes for hypotheses that the slate does not have.
    """

    section: Section
    item: Item
    cells: tuple[Cell, ...]
    strangers: tuple[tuple[str, str], ...] = ()


class Matrix(NamedTuple):
    """Hypotheses by number; predictions by number, then tests by score."""

    hypotheses: tuple[Item, ...]
    columns: tuple[Column, ...]


def matrix(artifact: Artifact) -> Matrix:
    """The hypotheses, and what each prediction and test says under them."""
    hypotheses = artifact.sections[HYPOTHESIS_SLATE.id]
    columns = (
        _column(section, item, field, hypotheses)
        for section, field in OUTCOMES.items()
        for item in shown(section, artifact.sections[section.id])
    )
    return Matrix(hypotheses, tuple(columns))


def _column(section: Section, item: Item, field: str, hypotheses: tuple[Item, ...]) -> Column:
    outcomes = item.mapped(field)
    letters: dict[str, str] = {}
    cells = []
    for hypothesis in hypotheses:
        outcome = outcomes.get(hypothesis.id, "")
        said = meaning(outcome)
        if said and said not in letters:
            letters[said] = _letter(len(letters))
        cells.append(Cell(outcome, letters.get(said, "")))
    known = {hypothesis.id for hypothesis in hypotheses}
    strangers = tuple((name, said) for name, said in outcomes.items() if said and name not in known)
    return Column(section, item, tuple(cells), strangers)


def meaning(outcome: str) -> str:
    """What an outcome is compared by; empty where it predicts nothing."""
    text = normalize("NFC", outcome.casefold()).translate(_DASHES)
    text = _STOPS.sub(" ", _MARKS.sub(" ", text))
    said = " ".join(text.split())
    if said in _WITHOUT_PREDICTION or not any(map(str.isalnum, said)):
        return ""
    return said


def _letter(number: int) -> str:
    """The letters of the alphabet, then `aa`, `ab` and so on."""
    more, last = divmod(number, len(_ALPHABET))
    return (_letter(more - 1) if more else "") + _ALPHABET[last]


def groups(column: Column, hypotheses: tuple[Item, ...]) -> dict[str, tuple[str, ...]]:
    """Which hypotheses have which letter in a column; killed ones are out of the question."""
    found: dict[str, tuple[str, ...]] = {}
    for hypothesis, cell in zip(hypotheses, column.cells, strict=True):
        if cell.letter and hypothesis.is_active:
            found[cell.letter] = (*found.get(cell.letter, ()), hypothesis.id)
    return found


def unseparated(found: Matrix, section: Section) -> Iterator[tuple[str, str]]:
    """The pairs of active hypotheses that no active prediction, or no active test, tells apart.

    In each column they agree, or one of them predicts nothing.
    """
    active = [place for place, each in enumerate(found.hypotheses) if each.is_active]
    apart = dict.fromkeys(active, 0)  # of each hypothesis, a bit for every one it differs from
    for column in found.columns:
        if column.section is section and column.item.is_active:
            _note_differences(column, apart)
    for first, second in combinations(active, 2):
        if not apart[first] >> second & 1:
            yield found.hypotheses[first].id, found.hypotheses[second].id


def by_hypothesis(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    """Every pair once, put together by the hypotheses that are in most of them."""
    left = dict.fromkeys(pairs)
    found = []
    while left:
        places = Counter(each for pair in left for each in pair)
        first = places.most_common(1)[0][0]
        hers = [pair for pair in left if first in pair]
        found.append((first, tuple(two if one == first else one for one, two in hers)))
        for pair in hers:
            del left[pair]
    return found


def _note_differences(column: Column, apart: dict[int, int]) -> None:
    letters: dict[str, int] = {}
    said = [(place, column.cells[place].letter) for place in apart if column.cells[place].letter]
    for place, letter in said:
        letters[letter] = letters.get(letter, 0) | 1 << place
    whole = sum(letters.values())
    for place, letter in said:
        apart[place] |= whole ^ letters[letter]


def named(column: Column) -> tuple[str, ...]:
    """The hypotheses that a test says it discriminates, each once."""
    text = column.item.text("discriminates")
    return tuple(dict.fromkeys(NAME_IN_DISCRIMINATES.findall(text)))


def is_unkept(column: Column, hypotheses: tuple[Item, ...]) -> bool:
    """Whether a test names hypotheses to discriminate, and tells no two of them apart.

    It is said of active tests and active hypotheses only.
    """
    wanted = set(named(column))
    letters = [
        cell.letter
        for hypothesis, cell in zip(hypotheses, column.cells, strict=True)
        if hypothesis.id in wanted and hypothesis.is_active
    ]
    is_promised = column.item.is_active and len(letters) > 1
    return is_promised and len(set(filter(None, letters))) <= 1
