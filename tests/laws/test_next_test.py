"""Laws of R32: the information that is expected of each test, and the smallest separating set."""

from itertools import combinations
from math import isclose, log2
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from brenner.artifact.evidence import evidence_matrix, normalise_outcome
from brenner.artifact.model import Artifact, Item, KillRecord, Metadata, Result, make_fields
from brenner.artifact.next_test import (
    NextTests,
    Priors,
    expected_information,
    greedy_cover,
    next_tests,
    smallest_cover,
)
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS, HYPOTHESIS_SLATE

_KILLED = KillRecord("BlueLake", "2025-12-30T10:00:00Z", "no")
_NAMES = [f"H{number}" for number in range(1, 7)]
_KEYS = {"grows": "It grows", "fades": "It fades", "stays": "No change"}
_outcomes = st.sampled_from([*_KEYS, "Grows.", "fades away", "N/A", "indeterminate", ""])
_verdicts = st.sampled_from([(), (), (), (Result("grows", "passed", contradicts=("H1",)),)])
_kills = st.sampled_from([None, None, None, _KILLED])
_weights = st.floats(min_value=1e-3, max_value=1e3)
_reliabilities = st.floats(min_value=0.01, max_value=1)
# What some hypotheses predict, with their weights
_predictions = st.lists(st.tuples(_weights, st.sampled_from(["", "a", "b", "c"])), min_size=1)
_masks = st.lists(st.integers(min_value=0, max_value=2**10 - 1), max_size=12)


@st.composite
def _tests(draw: st.DrawFn) -> tuple[Item, ...]:
    found = []
    for number in range(1, draw(st.integers(min_value=0, max_value=6)) + 1):
        fields = {
            "expected_outcomes": draw(st.dictionaries(st.sampled_from(_NAMES), _outcomes)),
            "outcomes": draw(st.sampled_from([{}, _KEYS])),
            "score": draw(st.dictionaries(st.sampled_from(["cost", "speed"]), st.integers(0, 3))),
            "results": draw(_verdicts),
        }
        found.append(Item(f"T{number}", make_fields(fields), draw(_kills)))
    return tuple(found)


@st.composite
def _artifacts(draw: st.DrawFn) -> Artifact:
    names = draw(st.lists(st.sampled_from(_NAMES), unique=True))
    slate = [Item(name, make_fields({"name": "x"}), draw(_kills)) for name in sorted(names)]
    return _artifact(tuple(slate), draw(_tests()))


def _artifact(slate: tuple[Item, ...], tests: tuple[Item, ...]) -> Artifact:
    empty = Artifact(Metadata())
    filled = {HYPOTHESIS_SLATE.id: slate, DISCRIMINATIVE_TESTS.id: tests}
    return empty._replace(sections={**empty.sections, **filled})


def _entropy(weights: list[float]) -> float:
    total = sum(weights)
    return -sum(each / total * log2(each / total) for each in weights if each)


def _by_the_ruling(weights: list[float], stated: list[str], reliability: float) -> float:
    """Compute H(w) − Σ P(outcome) · H(w | outcome), one outcome after the other."""
    outcomes = sorted({each for each in stated if each})
    if not outcomes:
        return 0.0
    total, left = sum(weights), 0.0
    for outcome in outcomes:
        alike = 1 / len(outcomes)
        joint = [
            weight
            * (reliability * (each == outcome) + (1 - reliability) * alike if each else alike)
            for weight, each in zip(weights, stated, strict=True)
        ]
        left += sum(joint) / total * _entropy(joint)
    return _entropy(weights) - left


def _information(rows: list[tuple[float, str]], reliability: float = 1.0) -> float:
    total = sum(weight for weight, _ in rows)
    return expected_information(
        [weight / total for weight, _ in rows], [each for _, each in rows], reliability
    )


@given(_predictions, _reliabilities)
def test_the_figure_is_the_formula(rows: list[tuple[float, str]], reliability: float) -> None:
    weights, stated = [weight for weight, _ in rows], [each for _, each in rows]
    for each in (1.0, reliability):
        found, expected = _information(rows, each), _by_the_ruling(weights, stated, each)
        assert isclose(found, expected, abs_tol=1e-9)


@given(_predictions, _reliabilities)
def test_it_is_between_nothing_and_one_hypothesis_of_all(
    rows: list[tuple[float, str]], reliability: float
) -> None:
    bits = _information(rows, reliability)
    assert 0 <= bits <= log2(len(rows))
    assert (bits == 0) == (len({each for _, each in rows if each}) <= 1)


@given(_predictions, _reliabilities, _reliabilities)
def test_a_less_reliable_readout_never_tells_more(
    rows: list[tuple[float, str]], one: float, two: float
) -> None:
    assert _information(rows, min(one, two)) <= _information(rows, max(one, two)) + 1e-12


@given(_artifacts(), _weights)
def test_equal_weights_are_no_weights(artifact: Artifact, weight: float) -> None:
    same = next_tests(evidence_matrix(artifact), Priors(dict.fromkeys(_NAMES, weight)))
    plain = next_tests(evidence_matrix(artifact))
    assert same._replace(priors=plain.priors) == plain


@given(_artifacts(), st.permutations(_NAMES), st.randoms(use_true_random=False))
def test_neither_names_nor_the_order_of_tests_matter(
    artifact: Artifact, names: list[str], random: Random
) -> None:
    new = dict(zip(_NAMES, names, strict=True))
    slate = artifact.sections[HYPOTHESIS_SLATE.id]
    tests = [
        test._replace(
            fields={
                **test.fields,
                "expected_outcomes": {
                    new[name]: each for name, each in test.mapped("expected_outcomes").items()
                },
            }
        )
        for test in artifact.sections[DISCRIMINATIVE_TESTS.id]
    ]
    random.shuffle(tests)
    renamed = _artifact(tuple(each._replace(id=new[each.id]) for each in slate), tuple(tests))
    ours, theirs = next_tests(evidence_matrix(artifact)), next_tests(evidence_matrix(renamed))
    assert [(each.item.id, each.bits) for each in ours.tests] == [
        (each.item.id, each.bits) for each in theirs.tests
    ]
    assert ours.separating_set == theirs.separating_set
    pairs = [{frozenset((new[one], new[two])) for one, two in ours.unseparated()}]
    assert pairs == [set(map(frozenset, theirs.unseparated()))]


def _stated(test: Item, hypothesis: str) -> tuple[str, str]:
    """Return the key of a hypothesis, and what it says by key or by wording."""
    outcome = test.mapped("expected_outcomes").get(hypothesis, "")
    is_key = outcome in test.mapped("outcomes")
    return (outcome, f"key {outcome}") if is_key else ("", normalise_outcome(outcome))


def _differ(one: str, two: str) -> bool:
    return bool(one and two and one != two)


@given(_artifacts())
def test_pairs_are_separated_by_keys_only(artifact: Artifact) -> None:
    found = next_tests(evidence_matrix(artifact))
    active = [each.id for each in artifact.active(HYPOTHESIS_SLATE)]
    by_key, by_word = set(), set()
    for test in found.tests:
        pairs = list(combinations(active, 2))
        keys = {
            (one, two)
            for one, two in pairs
            if _differ(_stated(test.item, one)[0], _stated(test.item, two)[0])
        }
        words = {
            (one, two)
            for one, two in pairs
            if _differ(_stated(test.item, one)[1], _stated(test.item, two)[1])
        }
        assert set(found.separated(test)) == keys
        assert set(found.worded_differently(test)) == words - keys
        by_key |= keys
        by_word |= words
    assert set(found.unseparated()) == set(combinations(active, 2)) - by_key
    assert set(found.only_worded_differently()) == by_word - by_key
    assert set(found.not_distinguished()) == set(combinations(active, 2)) - by_word - by_key


def _pairs_told_apart(found: NextTests, names: tuple[str, ...]) -> set[frozenset[str]]:
    groups = [test.groups for test in found.tests if test.item.id in names]
    return {
        frozenset((one, two))
        for each in groups
        for (_, first), (_, second) in combinations(each, 2)
        for one in first
        for two in second
    }


@given(_artifacts())
def test_no_smaller_set_tells_the_same_pairs_apart(artifact: Artifact) -> None:
    found = next_tests(evidence_matrix(artifact))
    open_tests = tuple(test.item.id for test in found.tests if not test.has_verdict)
    wanted = _pairs_told_apart(found, open_tests)
    assert found.separating_set is not None
    chosen = found.separating_set.tests
    assert set(chosen) <= set(open_tests)
    assert _pairs_told_apart(found, chosen) == wanted
    for fewer in combinations(open_tests, max(0, len(chosen) - 1)):
        assert not wanted or _pairs_told_apart(found, fewer) != wanted


@given(_masks)
def test_the_smallest_cover_is_that_of_brute_force(masks: list[int]) -> None:
    def union(places: tuple[int, ...]) -> int:
        covered = 0
        for place in places:
            covered |= masks[place]
        return covered

    wanted = union(tuple(range(len(masks))))
    first = next(
        places
        for size in range(len(masks) + 1)
        for places in combinations(range(len(masks)), size)
        if union(places) == wanted
    )
    assert smallest_cover(masks) == first
    greedy = greedy_cover(masks)
    assert union(greedy) == wanted
    assert len(set(greedy)) == len(greedy) >= len(first)


@given(_artifacts())
def test_the_best_comes_first_and_what_is_done_last(artifact: Artifact) -> None:
    found = next_tests(evidence_matrix(artifact))
    assert {test.item.id for test in found.tests} == {
        each.id for each in artifact.active(DISCRIMINATIVE_TESTS)
    }
    ranks = [(test.has_verdict, -round(test.bits or 0, 9)) for test in found.tests]
    assert ranks == sorted(ranks)
    assert all(test.has_verdict == bool(test.item.results) for test in found.tests)
    for test in found.tests:
        members = [name for _, names in test.groups for name in names]
        assert sorted([*members, *test.silent]) == sorted(found.hypotheses)


@given(_artifacts(), _reliabilities)
def test_reliability_and_weights_reach_their_tests(artifact: Artifact, reliability: float) -> None:
    found = next_tests(evidence_matrix(artifact), Priors({"H1": 3.0}, reliability, {"T1": 1.0}))
    assume(found.tests)
    for test in found.tests:
        used = 1.0 if test.item.id == "T1" else reliability
        assert test.reliability == used
        if test.bits is not None:
            weights = [3.0 if name == "H1" else 1.0 for name in found.hypotheses]
            expected = _by_the_ruling(weights, list(test.stated), used) if weights else 0.0
            assert isclose(test.bits, expected, abs_tol=1e-9)
