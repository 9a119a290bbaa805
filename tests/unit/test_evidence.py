"""What agrees in the evidence matrix, and what does not: the rule by examples."""

import pytest

from brenner.artifact.evidence import evidence_matrix, normalise_outcome, unseparated_pairs
from brenner.artifact.model import Artifact, Item, Metadata, make_fields
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS, HYPOTHESIS_SLATE


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("The gene is silent.", "the  gene\nis silent"),
        ("“Silent”", "silent"),
        ("**silent**", "silent"),
        ("(silent)", "silent;"),
        ("5 − 3", "5 - 3"),
        ("Straße", "STRASSE"),
        ("é", "e\u0301"),
    ],
)
def test_the_same_but_for_case_blanks_and_marks(one: str, two: str) -> None:
    assert normalise_outcome(one) == normalise_outcome(two) != ""


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("0.5", "5"),
        (".5", "5"),
        ("1,5", "15"),
        ("> 10", "< 10"),
        ("+1", "-1"),
        ("10²", "102"),
        ("A-B", "AB"),
        ("yes", "yes?"),
        ("silent", "not silent"),
    ],
)
def test_what_says_something_else(one: str, two: str) -> None:
    assert normalise_outcome(one) != normalise_outcome(two)


@pytest.mark.parametrize("cell", ["", " ", "—", "?", "...", "N/A", "n/a.", "Indeterminate", "~"])
def test_what_predicts_nothing(cell: str) -> None:
    assert normalise_outcome(cell) == ""


def test_after_z_come_two_letters() -> None:
    slate = tuple(Item(f"H{number}") for number in range(1, 30))
    outcomes = {each.id: f"outcome {each.id}" for each in slate}
    test = Item("T1", make_fields({"expected_outcomes": outcomes}))
    empty = Artifact(Metadata())
    sections = {**empty.sections, HYPOTHESIS_SLATE.id: slate, DISCRIMINATIVE_TESTS.id: (test,)}
    found = evidence_matrix(empty._replace(sections=sections))
    letters = [cell.letter for cell in found.columns[0].cells]
    assert letters[:2] == ["a", "b"]
    assert letters[25:] == ["z", "aa", "ab", "ac"]
    assert list(unseparated_pairs(found, DISCRIMINATIVE_TESTS)) == []
