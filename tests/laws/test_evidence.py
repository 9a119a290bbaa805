"""Laws of the evidence matrix: who agrees, and which pairs nothing tells apart."""

from collections.abc import Sequence
from itertools import combinations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from artifacts import texts
from brenner.artifact.evidence import (
    EvidenceMatrix,
    discriminated_hypotheses,
    evidence_matrix,
    fails_to_discriminate,
    group_pairs,
    groups_by_letter,
    normalise_outcome,
    unseparated_pairs,
)
from brenner.artifact.model import Artifact, Item, KillRecord, Metadata, make_fields
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    OUTCOME_FIELDS,
    PREDICTIONS_TABLE,
    Section,
)

_KILLED = KillRecord("BlueLake", "2025-12-30T10:00:00Z", "no")
_NAMES = [f"H{number}" for number in range(1, 7)]
# Few outcomes, so that many agree; some say nothing, some the same in other words
_WORDS = ["grows", "Grows.", " GROWS ", "fades", "0.5", "5", "N/A", "indeterminate", "—", ""]
_outcomes = st.one_of(st.sampled_from(_WORDS), st.sampled_from(_WORDS), texts)
_kills = st.sampled_from([None, None, None, _KILLED])


@st.composite
def artifacts(draw: st.DrawFn) -> Artifact:
    """Hypotheses with predictions and tests about them, and about others."""
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, unique=True))
    slate = tuple(Item(name, make_fields({"name": "x"}), draw(_kills)) for name in sorted(names))
    return _artifact(slate, draw(_columns(PREDICTIONS_TABLE)), draw(_columns(DISCRIMINATIVE_TESTS)))


@st.composite
def _columns(draw: st.DrawFn, section: Section) -> tuple[Item, ...]:
    cells = st.dictionaries(st.sampled_from([*_NAMES, "H9"]), _outcomes, max_size=6)
    said = draw(st.lists(cells, max_size=4))
    return tuple(
        Item(
            f"{section.prefix}{number}",
            make_fields({OUTCOME_FIELDS[section]: each, "discriminates": "H1 vs H2/H3"}),
            draw(_kills),
        )
        for number, each in enumerate(said, 1)
    )


def _artifact(
    slate: Sequence[Item], predictions: Sequence[Item], tests: Sequence[Item]
) -> Artifact:
    empty = Artifact(Metadata())
    filled = {
        HYPOTHESIS_SLATE.id: tuple(slate),
        PREDICTIONS_TABLE.id: tuple(predictions),
        DISCRIMINATIVE_TESTS.id: tuple(tests),
    }
    return empty._replace(sections={**empty.sections, **filled})


def _partitions(found: EvidenceMatrix) -> dict[str, set[frozenset[str]]]:
    """Of each column which hypotheses agree, whatever their letters."""
    parted = {}
    for column in found.columns:
        by_letter: dict[str, set[str]] = {}
        for hypothesis, cell in zip(found.hypotheses, column.cells, strict=True):
            if cell.letter:
                by_letter.setdefault(cell.letter, set()).add(hypothesis.id)
        parted[column.item.id] = set(map(frozenset, by_letter.values()))
    return parted


@given(artifacts())
def test_letters_are_what_the_outcomes_say(artifact: Artifact) -> None:
    found = evidence_matrix(artifact)
    for column in found.columns:
        said = [cell for cell in column.cells if cell.letter]
        assert all(
            bool(cell.letter) == bool(normalise_outcome(cell.outcome)) for cell in column.cells
        )
        for one, two in combinations(said, 2):
            assert (one.letter == two.letter) == (
                normalise_outcome(one.outcome) == normalise_outcome(two.outcome)
            )
        # They begin with `a`, and come in the order of the rows.
        assert (
            list(dict.fromkeys(cell.letter for cell in said))
            == list("abcdef")[: len({cell.letter for cell in said})]
        )


@given(artifacts())
def test_every_outcome_is_in_the_matrix_or_told_as_a_strangers(artifact: Artifact) -> None:
    found = evidence_matrix(artifact)
    for column in found.columns:
        outcomes = column.item.mapped(OUTCOME_FIELDS[column.section])
        rows = zip(found.hypotheses, column.cells, strict=True)
        shown = {hypothesis.id: cell.outcome for hypothesis, cell in rows if cell.outcome}
        assert {**shown, **dict(column.unknown_hypotheses)} == {
            k: v for k, v in outcomes.items() if v
        }


@given(artifacts())
def test_a_pair_is_unseparated_if_no_column_has_two_letters_for_it(artifact: Artifact) -> None:
    found = evidence_matrix(artifact)
    letters = {
        (column.item.id, hypothesis.id): cell.letter
        for column in found.columns
        for hypothesis, cell in zip(found.hypotheses, column.cells, strict=True)
    }
    active = [hypothesis.id for hypothesis in found.hypotheses if hypothesis.is_active]
    for section in OUTCOME_FIELDS:
        columns = [each.item.id for each in found.columns if each.section is section]
        living = [each.id for each in artifact.active(section)]
        expected = [
            (one, two)
            for one, two in combinations(active, 2)
            if not any(
                len({letters[name, one], letters[name, two]} - {""}) > 1
                for name in columns
                if name in living
            )
        ]
        assert list(unseparated_pairs(found, section)) == expected


@given(artifacts(), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_that_of_columns_matters(
    artifact: Artifact, random: Random
) -> None:
    parts = [
        random.sample(artifact.sections[section.id], len(artifact.sections[section.id]))
        for section in (HYPOTHESIS_SLATE, *OUTCOME_FIELDS)
    ]
    ours, theirs = evidence_matrix(artifact), evidence_matrix(_artifact(*parts))
    assert _partitions(ours) == _partitions(theirs)
    for section in OUTCOME_FIELDS:
        pairs = [set(map(frozenset, unseparated_pairs(each, section))) for each in (ours, theirs)]
        assert pairs[0] == pairs[1]


@given(artifacts())
def test_groups_are_the_active_hypotheses_of_each_letter(artifact: Artifact) -> None:
    found = evidence_matrix(artifact)
    for column in found.columns:
        told = groups_by_letter(column, found.hypotheses)
        names = [name for each in told.values() for name in each]
        rows = zip(found.hypotheses, column.cells, strict=True)
        assert sorted(names) == sorted(h.id for h, cell in rows if h.is_active and cell.letter)


@given(artifacts())
def test_a_promise_is_kept_where_two_of_those_named_are_told_apart(artifact: Artifact) -> None:
    found = evidence_matrix(artifact)
    for column in found.columns:
        wanted = set(discriminated_hypotheses(column))
        told = groups_by_letter(column, found.hypotheses)
        kept = [letter for letter, names in told.items() if wanted & set(names)]
        if fails_to_discriminate(column, found.hypotheses):
            assert len(kept) <= 1
            assert column.item.is_active
        elif column.item.is_active:
            living = {each.id for each in found.hypotheses if each.is_active}
            assert len(kept) > 1 or len(wanted & living) <= 1


@given(st.lists(st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES)), max_size=12))
def test_pairs_put_together_are_the_same_pairs(drawn: list[tuple[str, str]]) -> None:
    pairs = list(dict.fromkeys((one, two) for one, two in drawn if one < two))
    told = [(first, other) for first, others in group_pairs(pairs) for other in others]
    assert sorted(tuple(sorted(pair)) for pair in told) == sorted(pairs)
