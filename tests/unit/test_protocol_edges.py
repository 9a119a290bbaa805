"""Edges of the protocol that other tests pass by: limits, exact words, what is left alone."""

import json

import pytest

from brenner.artifact.serialize import decode_state
from brenner.diagnostics.codes.deltas import INVALID_SECTION
from brenner.limits import MOST_JSON_DEPTH
from brenner.lint.linter import lint, lint_text
from brenner.protocol.body import normalise_heading
from brenner.protocol.delta.arguments import extract_deltas
from brenner.protocol.delta.lenient_json import NotJSON, decode_strict
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.subjects import check_subject
from brenner.protocol.validate import check_message
from unit.test_lint import TEXT, VALID

KILL = {
    "operation": "KILL",
    "section": "hypothesis_slate",
    "target_id": "H1",
    "payload": {"reason": "refuted"},
    "rationale": "T1",
}
EDIT = {"operation": "EDIT", "section": "anomaly_register", "target_id": "X1", "rationale": "r"}
HEADERS = "From: BlueLake\nTo: Operator\nSubject: DELTA[opus]: x\n"
THREAD = "Thread: RS-20251230-cell-fate-dichotomy\n"


def fence(value: object, line: str = "```delta", end: str = "```") -> str:
    """A body with one block."""
    return f"# Delta Contribution\n\n{line}\n{json.dumps(value)}\n{end}\n"


def test_a_message_without_a_thread_has_none() -> None:
    """Not an empty one."""
    assert check_message(f"{HEADERS}\n{fence(KILL)}").thread_id is None
    assert check_message(f"{THREAD}{HEADERS}\n{fence(KILL)}").thread_id == THREAD[8:-1]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "a number"),
        (True, "true or false"),
        (["active"], "a list"),
        ({}, "an object"),
        (None, "null"),
    ],
)
def test_a_value_of_another_type_than_a_choice(value: object, words: str) -> None:
    """What it is, and what can be chosen."""
    (found,) = read_deltas(fence(EDIT | {"payload": {"status": value}}))[0].diagnostics
    choices = "one of `active`, `resolved`, `deferred`"
    assert found.message == f"`payload.status` is {words}. It must be {choices}."


def test_a_block_that_is_refused_for_one_more_reason() -> None:
    """It has no delta, and no correction is certain any more."""
    (block,) = read_deltas(fence(KILL))
    assert block.delta
    found = INVALID_SECTION.at(3, value="x", known="y", suggestion="")
    refused = block.refused(found)
    assert (refused.delta, refused.is_fixable) == (None, False)
    assert refused.diagnostics == (*block.diagnostics, found)


def test_json_that_is_deep_and_short() -> None:
    """Each limit holds alone."""
    deep = MOST_JSON_DEPTH
    assert decode_strict("[" * deep + "]" * deep)
    with pytest.raises(NotJSON):
        decode_strict("[" * (deep + 1) + "]" * (deep + 1))


def test_another_label_with_the_marker_in_it() -> None:
    """Of a fence of tildes: the first run is the marker, and all after it is the label."""
    report = check_message(f"{THREAD}{HEADERS}\n{fence(KILL, '~~~json ~~~ x', '~~~')}")
    assert report.corrected
    assert "\n~~~delta\n" in report.corrected


def test_only_a_list_of_objects_is_unwrapped() -> None:
    """With anything else in it, it is shown as it came."""
    assert [each.value for each in extract_deltas({"deltas": [KILL]})] == [KILL]
    others: list[dict[str, list[object]]]
    others = [{"deltas": [KILL, 5]}, {"deltas": []}, {"deltas": [1, 2]}]
    for value in others:
        assert [each.value for each in extract_deltas(value)] == [value]


def test_words_beside_a_delta() -> None:
    """Words alone are a doubt; words with a brace may be a delta and are kept as one."""
    (only,) = extract_deltas(f"I think so.\n\n{fence(KILL)}")
    assert only.value == KILL
    assert any("the text next to it" in doubt for doubt in only.doubts)
    first, second = extract_deltas(f"And {{this?\n\n{fence(KILL)}")
    assert (first.value, first.doubts) == (KILL, ())
    assert "And {this?" in str(second.value)


def test_a_long_heading_is_compared_by_its_beginning() -> None:
    assert normalise_heading("a" * 300) == "a" * 200


def test_the_shorthands_are_listed() -> None:
    """All of them, one after the other."""
    (found,) = check_subject("DELTA[designer]: x")
    listed = "`opus`, `gpt`, `gemini`, `claude`, `human`"
    assert found.message == f"Unknown model shorthand `designer`. Known shorthands: {listed}."


def test_a_state_that_is_damaged() -> None:
    with pytest.raises(ValueError, match=r"^The stored state is damaged or has another format\.$"):
        decode_state("x\n{}")


def test_an_artifact_without_a_session() -> None:
    """The field is named, and its line."""
    found = lint_text(TEXT.replace('"RS-20251230-cell-fate"', '""', 1)).violations
    (missing,) = [each for each in found if each.id == "EM-002"]
    assert (missing.field, missing.line) == ("session_id", 2)


def test_numbers_begin_with_one() -> None:
    """The first gap may come before the first item."""
    slate = "hypothesis_slate"
    first, *others = VALID.sections[slate]
    sections = dict(VALID.sections) | {slate: tuple(others)}
    found = lint(VALID._replace(sections=sections)).violations
    (gap,) = [each for each in found if each.id == "WS-001"]
    assert first.id == "H1"
    assert "`H1`" in gap.message
