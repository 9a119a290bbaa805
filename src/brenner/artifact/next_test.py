"""Which test next (R32): what each test is expected to tell, in bits.

The active hypotheses have prior weights. A test's expected outcomes divide them into groups: by key
where the test declares outcomes, else by wording, as `basis` says. The expected information of a
test is the entropy of the weights minus the entropy that is expected to be left after its outcome.
A hypothesis without a statement may show any of the predicted outcomes alike. `reliability` is the
chance that the readout is right; otherwise it is any of the predicted outcomes alike.

This is a view beside the artifact. It changes neither the artifact nor the order of R14.
"""

from __future__ import annotations

from itertools import accumulate, combinations, islice
from math import fsum, log2
from operator import or_
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.artifact.evidence import EvidenceColumn, EvidenceMatrix, group_pairs
from brenner.artifact.model import Item, total_score
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    MOST_SCORE,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Pair = tuple[str, str]

DECLARED, WORDING = "declared", "wording"
# What the score's parts 0 to 3 mean (R32)
COST_IN_USD = (300_000, 30_000, 3_000, 300)
TIME_IN_WEEKS = (104, 13, 2.5, 0.5)

_MOST_EXACT_TESTS = 20  # beyond, the separating set is greedy
_MOST_PAIRED = 100  # hypotheses; beyond, there is no separating set
_EQUAL_DIGITS = 9  # bits that agree in so many decimal places are equal


class Priors(NamedTuple):
    """The operator's weights of hypotheses and the reliability of tests. What is missing is 1."""

    weights: Mapping[str, float] = MappingProxyType({})
    reliability: float = 1.0
    reliability_by_test: Mapping[str, float] = MappingProxyType({})

    def weight(self, hypothesis: str) -> float:
        return self.weights.get(hypothesis, 1.0)

    def reliability_of(self, test: str) -> float:
        return self.reliability_by_test.get(test, self.reliability)


NO_PRIORS = Priors()


class RankedTest(NamedTuple):
    """An active test with its expected information; None if it has a verdict already.

    `groups` are the active hypotheses by predicted outcome, as the first of them words it; `silent`
    are those without a statement. `words` has the letter of each active hypothesis in the evidence
    matrix, `keys` only those of declared keys. An empty text is no statement.
    """

    item: Item
    basis: str
    reliability: float
    bits: float | None
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    silent: tuple[str, ...]
    keys: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def has_verdict(self) -> bool:
        return self.bits is None

    @property
    def stated(self) -> tuple[str, ...]:
        """Return the outcome of each active hypothesis, as the test's basis compares them."""
        return self.keys if self.basis == DECLARED else self.words

    @property
    def score(self) -> int | None:
        return total_score(self.item) if self.item.score else None

    @property
    def cost_in_usd(self) -> float | None:
        return _scale(COST_IN_USD, self.item.score.get("cost"))

    @property
    def weeks(self) -> float | None:
        return _scale(TIME_IN_WEEKS, self.item.score.get("speed"))

    @property
    def bits_per_usd(self) -> float | None:
        return _ratio(self.bits, self.cost_in_usd)

    @property
    def bits_per_week(self) -> float | None:
        return _ratio(self.bits, self.weeks)


class SeparatingSet(NamedTuple):
    """The smallest set of tests that tells apart each pair which any test without a verdict does.

    Its basis is `declared` if that of all its tests is. If it is not exact, it may have more tests
    than necessary.
    """

    tests: tuple[str, ...] = ()
    basis: str | None = None
    is_exact: bool = True


class NextTests(NamedTuple):
    """The tests, the best first, and the priors of the active hypotheses as probabilities.

    `max_bits` is what a test would tell that separates all hypotheses. Without `separating_set`
    there are too many hypotheses to compute it.
    """

    hypotheses: tuple[str, ...]
    probabilities: tuple[float, ...]
    priors: Priors
    max_bits: float
    tests: tuple[RankedTest, ...]
    separating_set: SeparatingSet | None

    @property
    def best(self) -> RankedTest | None:
        """Return the test that is expected to tell most, or None if no test tells anything."""
        first = self.tests[0] if self.tests else None
        return first if first and first.bits else None

    def separated(self, test: RankedTest) -> Iterator[Pair]:
        """Yield the pairs with different keys in the test."""
        return _pairs(self.hypotheses, _differences(test.keys))

    def worded_differently(self, test: RankedTest) -> Iterator[Pair]:
        """Yield the pairs that only the wording of their outcomes distinguishes in the test."""
        by_key, by_word = _differences(test.keys), _differences(test.words)
        rows = [word & ~key for key, word in zip(by_key, by_word, strict=True)]
        return _pairs(self.hypotheses, rows)

    def unseparated(self) -> Iterator[Pair]:
        """Yield the pairs that no test separates by key."""
        everything = (1 << len(self.hypotheses)) - 1
        return _pairs(self.hypotheses, [everything & ~row for row in self._by_key()])

    def only_worded_differently(self) -> Iterator[Pair]:
        """Yield the pairs that no test separates by key, but at least one by wording."""
        rows = [word & ~key for key, word in zip(self._by_key(), self._by_word(), strict=True)]
        return _pairs(self.hypotheses, rows)

    def not_distinguished(self) -> Iterator[Pair]:
        """Yield the pairs that no test distinguishes, neither by key nor by wording."""
        everything = (1 << len(self.hypotheses)) - 1
        return _pairs(self.hypotheses, [everything & ~row for row in self._by_word()])

    def count_separated(self) -> int:
        """Return the number of pairs that at least one test separates by key."""
        return sum(row.bit_count() for row in self._by_key()) // 2

    def count_only_worded_differently(self) -> int:
        """Return the number of the pairs of `only_worded_differently`."""
        rows = zip(self._by_key(), self._by_word(), strict=True)
        return sum((word & ~key).bit_count() for key, word in rows) // 2

    def _by_key(self) -> list[int]:
        return self._union(_differences(test.keys) for test in self.tests)

    def _by_word(self) -> list[int]:
        return self._union(_differences(test.words) for test in self.tests)

    def _union(self, found: Iterable[list[int]]) -> list[int]:
        rows = [0] * len(self.hypotheses)
        for each in found:
            rows = list(map(or_, rows, each))
        return rows


def next_tests(matrix: EvidenceMatrix, priors: Priors = NO_PRIORS) -> NextTests:
    """Return the active tests of a matrix, those that are expected to tell most first.

    Tests with a verdict come last. Equally good tests keep the order of R14.
    """
    active = [place for place, each in enumerate(matrix.hypotheses) if each.is_active]
    names = tuple(matrix.hypotheses[place].id for place in active)
    probabilities = _normalised([priors.weight(name) for name in names])
    tests = []
    for column in matrix.columns:
        if column.section is DISCRIMINATIVE_TESTS and column.item.is_active:
            cells = tuple(column.cells[place] for place in active)
            tests.append(_ranked(column._replace(cells=cells), names, probabilities, priors))
    tests.sort(key=_best_first)
    return NextTests(
        names,
        probabilities,
        priors,
        max_bits=_entropy(probabilities),
        tests=tuple(tests),
        separating_set=_separating_set(tests) if len(names) <= _MOST_PAIRED else None,
    )


def _best_first(test: RankedTest) -> tuple[bool, float]:
    return test.bits is None, -round(test.bits or 0, _EQUAL_DIGITS)


def _ranked(
    column: EvidenceColumn, names: tuple[str, ...], probabilities: Sequence[float], priors: Priors
) -> RankedTest:
    """Return a test from its column, which has the cells of the active hypotheses."""
    test, basis = column.item, DECLARED if column.has_declared_outcomes else WORDING
    words = tuple(cell.letter for cell in column.cells)
    keys = tuple(cell.letter if cell.is_key else "" for cell in column.cells)
    stated, reliability = keys if basis == DECLARED else words, priors.reliability_of(test.id)
    has_verdict = any(result.has_verdict for result in test.results)
    groups: dict[str, list[str]] = {}
    shown: dict[str, str] = {}
    for name, cell, letter in zip(names, column.cells, stated, strict=True):
        groups.setdefault(letter, []).append(name)
        shown.setdefault(letter, cell.outcome)
    silent = tuple(groups.pop("", ()))
    return RankedTest(
        test,
        basis,
        reliability,
        None if has_verdict else expected_information(probabilities, stated, reliability),
        groups=tuple((shown[letter], tuple(members)) for letter, members in groups.items()),
        silent=silent,
        keys=keys,
        words=words,
    )


# Information. `fsum` makes the figures independent of the order of the hypotheses.


def expected_information(
    probabilities: Sequence[float], stated: Sequence[str], reliability: float = 1.0
) -> float:
    """Return how many bits the outcome is expected to tell about which hypothesis is right.

    `stated` is the outcome that each hypothesis predicts; an empty text is no statement. The result
    is H(outcome) − H(outcome | hypothesis), which equals H(w) − Σ P(outcome) · H(w | outcome).
    """
    by_outcome: dict[str, list[float]] = {}
    for probability, outcome in zip(probabilities, stated, strict=True):
        by_outcome.setdefault(outcome, []).append(probability)
    silent = fsum(by_outcome.pop("", ()))
    count = len(by_outcome)
    if count <= 1:
        return 0.0
    predicting = fsum(each for some in by_outcome.values() for each in some)
    any_alike = ((1 - reliability) * predicting + silent) / count
    outcomes = [reliability * fsum(some) + any_alike for some in by_outcome.values()]
    wrong = (1 - reliability) / count
    readout = [reliability + wrong, *[wrong] * (count - 1)]  # of a hypothesis with a statement
    left = predicting * _entropy(readout) + silent * log2(count)
    return min(max(_entropy(outcomes) - left, 0.0), _entropy(probabilities))


def _entropy(probabilities: Sequence[float]) -> float:
    bits = fsum(-each * log2(each) for each in probabilities if each > 0)
    return min(max(bits, 0.0), log2(max(len(probabilities), 1)))


def _normalised(weights: Sequence[float]) -> tuple[float, ...]:
    highest = max(weights, default=1.0)
    scaled = [weight / highest for weight in weights]  # so that the sum cannot overflow
    total = fsum(scaled)
    return tuple(weight / total for weight in scaled)


def _scale(steps: Sequence[float], part: int | None) -> float | None:
    return steps[part] if part is not None and 0 <= part <= MOST_SCORE else None


def _ratio(bits: float | None, divisor: float | None) -> float | None:
    return None if bits is None or divisor is None else bits / divisor


# Pairs. Row number i of a relation is a bit mask of the hypotheses that differ from number i.


def _differences(stated: Sequence[str]) -> list[int]:
    """Return the relation of hypotheses with different statements."""
    masks: dict[str, int] = {}
    for place, outcome in enumerate(stated):
        if outcome:
            masks[outcome] = masks.get(outcome, 0) | 1 << place
    everything = sum(masks.values())
    return [everything ^ masks[outcome] if outcome else 0 for outcome in stated]


def _pairs(names: Sequence[str], rows: Sequence[int]) -> Iterator[Pair]:
    for first, second in combinations(range(len(names)), 2):
        if rows[first] >> second & 1:
            yield names[first], names[second]


_MOST_WRITTEN = 40  # pairs in a sentence


def pairs_text(pairs: Iterable[Pair]) -> str:
    """Return pairs as words: `H5 from H1, H2 or H3, nor H1 from H4`. Empty if there are none."""
    shown = list(islice(pairs, _MOST_WRITTEN + 1))
    phrases = []
    for first, others in group_pairs(shown[:_MOST_WRITTEN]):
        *most, last = others
        listed = f"{', '.join(most)} or {last}" if most else last
        phrases.append(f"{first} from {listed}")
    more = ", and other pairs" if len(shown) > _MOST_WRITTEN else ""
    return ", nor ".join(phrases) + more


# The separating set


def _separating_set(tests: Sequence[RankedTest]) -> SeparatingSet:
    """Return the set for tests that are sorted, the best first."""
    useful = [
        (test, mask)
        for test in tests
        if not test.has_verdict and (mask := _pair_mask(_differences(test.stated)))
    ]
    is_exact = len(useful) <= _MOST_EXACT_TESTS
    cover = smallest_cover if is_exact else greedy_cover
    chosen = [useful[place][0] for place in cover([mask for _, mask in useful])]
    bases = {test.basis for test in chosen}
    basis = (WORDING if WORDING in bases else DECLARED) if bases else None
    return SeparatingSet(tuple(test.item.id for test in chosen), basis, is_exact)


def _pair_mask(rows: Sequence[int]) -> int:
    """Return a relation as one number: the rows side by side."""
    return sum(row << place * len(rows) for place, row in enumerate(rows))


def smallest_cover(masks: Sequence[int]) -> tuple[int, ...]:
    """Return the places of the fewest masks whose union is that of all, the first such choice."""
    # What the masks from each place on cover together
    rest = [*accumulate(reversed(masks), or_, initial=0)][::-1]

    def choose(start: int, wanted: int, size: int) -> tuple[int, ...] | None:
        if not wanted:
            return ()
        for place in range(start, len(masks) if size else start):
            if wanted & ~rest[place]:
                return None
            covered = wanted & masks[place]
            if covered and (found := choose(place + 1, wanted ^ covered, size - 1)) is not None:
                return (place, *found)
        return None

    covers = (choose(0, rest[0], size) for size in range(len(masks) + 1))
    return next(found for found in covers if found is not None)


def greedy_cover(masks: Sequence[int]) -> tuple[int, ...]:
    """Return the places of masks with the union of all. Each covers the most of what is left."""
    chosen: list[int] = []
    wanted = 0
    for mask in masks:
        wanted |= mask
    while wanted:
        best = max(range(len(masks)), key=lambda place: (masks[place] & wanted).bit_count())
        chosen.append(best)
        wanted &= ~masks[best]
    return tuple(sorted(chosen))
