"""Laws of results and declared outcomes: what they change, and what they say (R26, R27)."""

from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from brenner.artifact.evidence import evidence_matrix, pairs_worded_differently, unseparated_pairs
from brenner.artifact.merge.engine import merge
from brenner.artifact.model import Artifact, Item, Metadata, make_fields
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import decode_state, encode_state
from brenner.artifact.state import adopted_state
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    Delta,
    Operation,
)
from brenner.protocol.messages import Message, StoredMessage
from histories import START
from sample_messages import THREAD_ID
from strategies import results

_KEYS = ("old", "new")
_expected = st.dictionaries(
    st.sampled_from(("H1", "H2", "H3")),
    st.sampled_from((*_KEYS, "old fate", "New", "N/A", "indeterminate")),
)
_declared = st.dictionaries(st.sampled_from(_KEYS), st.just("What one sees"))


def artifact_of(tests: list[Item]) -> Artifact:
    """Three hypotheses and some tests."""
    slate = tuple(Item(f"H{number}", make_fields({"name": f"H{number}"})) for number in (1, 2, 3))
    sections = {**Artifact(Metadata()).sections, HYPOTHESIS_SLATE.id: slate}
    sections[DISCRIMINATIVE_TESTS.id] = tuple(tests)
    return Artifact(Metadata(session_id=THREAD_ID, version=1), sections=sections)


def item_of(number: int, expected: dict[str, str], declared: dict[str, str]) -> Item:
    """A test of that number."""
    fields = {"name": "x", "expected_outcomes": expected, "outcomes": declared}
    return Item(f"T{number}", make_fields(fields))


def of_these_hypotheses(result: dict[str, Any]) -> dict[str, Any]:
    """The same result about hypotheses that there are."""
    there = {"contradicts": ["H1", "H3"], "supports": ["H2"]}
    return {
        name: there[name] if name in there and value else value for name, value in result.items()
    }


@given(_expected, _declared, st.lists(results().map(of_these_hypotheses), min_size=1, max_size=3))
def test_a_result_changes_only_its_test(
    expected: dict[str, str], declared: dict[str, str], given_results: list[dict[str, Any]]
) -> None:
    """Nothing else of the artifact changes, nor anything else of the test."""
    artifact = artifact_of([item_of(1, expected, declared), item_of(2, expected, declared)])
    state = adopted_state(THREAD_ID, artifact, START, 1)
    section = DISCRIMINATIVE_TESTS.id
    delta = Delta(Operation.EDIT, section, "T1", {"results": given_results}, "Seen")
    message = Message(THREAD_ID, "Ann", ("Operator",), "DELTA[opus]: x", render_delta(delta))
    merged = merge(state, [StoredMessage(2, START, message)])
    assert merged.record_format == 2
    changed = merged.artifact.sections[section][0]
    others = {name: value for name, value in changed.fields.items() if name != "results"}
    restored = changed._replace(fields=make_fields(others))
    after = {**merged.artifact.sections, section: (restored, merged.artifact.sections[section][1])}
    assert after == artifact.sections
    assert merged.artifact.research_thread == artifact.research_thread
    for result in changed.results:
        assert not set(result.contradicts) & set(result.supports)
        assert not (result.potency == "failed" and (result.contradicts or result.supports))
        if result.derived:
            assert {expected[name] for name in result.supports} <= {result.outcome}
            assert all(expected[name] in declared for name in result.contradicts)
    assert decode_state(encode_state(merged.state)) == merged.state
    assert parse_artifact(render_artifact(merged.artifact)).artifact == merged.artifact


@given(st.lists(st.tuples(_expected, _declared), max_size=3))
def test_only_declared_keys_separate(tests: list[tuple[dict[str, str], dict[str, str]]]) -> None:
    """A pair is separated, worded differently, or neither; never two of these (R27)."""
    artifact = artifact_of([item_of(number, *each) for number, each in enumerate(tests, 1)])
    found = evidence_matrix(artifact)
    worded = set(pairs_worded_differently(found, DISCRIMINATIVE_TESTS))
    same = set(unseparated_pairs(found, DISCRIMINATIVE_TESTS))
    separated = {
        pair
        for pair in combinations(("H1", "H2", "H3"), 2)
        for expected, declared in tests
        if len({expected.get(name) for name in pair} & declared.keys()) == len(pair)
    }
    assert not worded & same
    assert not worded & separated
    assert not same & separated
    assert worded | same | separated == set(combinations(("H1", "H2", "H3"), 2))
