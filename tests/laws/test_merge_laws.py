"""The laws of the merge (design, 4), each tried on random threads of a small world."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.artifact.ledger import Outcome, counts
from brenner.artifact.merge import Merge, merge
from brenner.artifact.model import Artifact
from brenner.artifact.state import State, empty_state
from brenner.delta.model import Delta
from brenner.delta.read import read_deltas
from brenner.delta.render import render_delta
from brenner.delta.schema import HYPOTHESIS_SLATE, PREDICTIONS_TABLE
from brenner.markdown.fencing import fenced
from brenner.thread.posted import Posted
from histories import (
    EDIT,
    KILL,
    ROLES,
    THREAD_ID,
    Draft,
    Thread,
    drafts,
    moment,
    openings,
    single_edits,
    threads,
)
from laws.leaves import leaves
from strategies import any_text

pytestmark = pytest.mark.fuzz
LATER = 60  # minutes: after everything that a thread of `histories` holds


class Version(NamedTuple):
    """One version of a thread: what it was merged from, and what came out."""

    before: State
    messages: list[Posted]
    result: Merge


def play(thread: Thread) -> list[Version]:
    """Merge and publish, round by round."""
    state, versions = empty_state(THREAD_ID), []
    for messages, (number, at) in zip(thread.rounds, thread.compiled, strict=True):
        result = merge(state, messages)
        versions.append(Version(state, messages, result))
        state = result.publish(message_id=number, at=at)
    return versions


def published(thread: Thread) -> State:
    """The state that a thread leaves behind."""
    number, at = thread.compiled[-1]
    return play(thread)[-1].result.publish(message_id=number, at=at)


def everything(result: Merge) -> str:
    """All that a merge says, the order of everything included."""
    parts = (result.artifact, result.ledger, result.conflicts, result.warnings, result.blame)
    return repr(parts)


def contents(result: Merge) -> str:
    """What a reader of the artifact can see, and who set it; times of the artifact aside."""
    artifact = result.artifact
    return repr((artifact.research_thread, artifact.sections, result.conflicts, result.blame))


@given(threads(), st.data())
def test_any_permutation_of_the_same_messages_gives_the_same_result(
    thread: Thread, data: st.DataObject
) -> None:
    """The store's times and numbers decide, not the order in which messages are handed over."""
    for version in play(thread):
        shuffled = data.draw(st.permutations(version.messages))
        assert everything(merge(version.before, shuffled)) == everything(version.result)


@given(threads(2, 3), drafts)
def test_a_duplicate_changes_nothing(thread: Thread, draft: Draft) -> None:
    """A block that comes again at once is a duplicate if it was applied, and changes nothing."""
    state = published(thread)
    draft = draft._replace(blocks=draft.blocks[:1])
    first, again = (draft.posted(LATER + n, moment(LATER + n)) for n in (1, 2))
    once, twice = merge(state, [first]), merge(state, [first, again])
    assert contents(twice) == contents(once)
    (entry, copy) = twice.ledger
    was_refused = entry.state is Outcome.REFUSED
    assert copy.state is (Outcome.REFUSED if was_refused else Outcome.DUPLICATE)
    assert copy.item_id == entry.item_id


@given(threads(), st.data())
def test_merging_round_by_round_from_published_versions_equals_what_was_published(
    thread: Thread, data: st.DataObject
) -> None:
    """A version can be merged again from the one before it, whatever has come since; and all of
    them from the thread alone."""
    versions = play(thread)
    for version in versions:
        again = merge(version.before, data.draw(st.permutations(version.messages)))
        assert everything(again) == everything(version.result)
    assert list(map(repr, play(thread))) == list(map(repr, versions))


@given(threads())
def test_every_block_is_applied_refused_or_duplicate_exactly_once(thread: Thread) -> None:
    """The ledger has one entry per block of the DELTA messages, in the order of the thread."""
    for version in play(thread):
        ordered = sorted(version.messages, key=lambda posted: (posted.at, posted.id))
        blocks = [
            (posted.id, block.number)
            for posted in ordered
            if posted.message.subject.startswith("DELTA")
            for block in read_deltas(posted.message.body, THREAD_ID)
        ]
        ledger = version.result.ledger
        assert [(entry.message_id, entry.block) for entry in ledger] == blocks
        assert sum(counts(ledger).values()) == len(blocks)
        for entry in ledger:
            has_item = entry.item_id is not None
            assert has_item == (entry.state is not Outcome.REFUSED)


@given(threads())
def test_a_refused_block_changes_nothing(thread: Thread) -> None:
    """Nothing in the artifact comes from a refused block or a duplicate, and messages in which no
    block was applied might as well not have been sent."""
    for version in play(thread):
        result = version.result
        idle = {
            (entry.message_id, entry.block)
            for entry in result.ledger
            if entry.state is not Outcome.APPLIED
        }
        for changes in result.blame.values():
            for change in changes.values():
                assert not {(c.source.message_id, c.source.block) for c in change.history()} & idle
        busy = {entry.message_id for entry in result.ledger if entry.state is not Outcome.REFUSED}
        needed = [
            posted
            for posted in version.messages
            if posted.id in busy or not posted.message.subject.startswith("DELTA")
        ]
        assert contents(merge(version.before, needed)) == contents(result)


@given(threads())
def test_no_item_is_ever_removed_no_id_reused_or_renumbered(thread: Thread) -> None:
    """Numbers go up by one, each is given once, and an item stays what it was added as."""
    names: dict[str, object] = {}
    given_ids: list[str] = []
    for version in play(thread):
        result = version.result
        new = [
            str(entry.assigned_id)
            for entry in result.ledger
            if entry.operation == "ADD" and entry.state is Outcome.APPLIED
        ]
        given_ids += new
        for section, items in result.artifact.sections.items():
            prefix = next(iter(items)).id[0] if items else ""
            assert [item.id for item in items] == [f"{prefix}{n}" for n in range(1, len(items) + 1)]
            assert {item.id for item in items} <= set(given_ids), section
        there = leaves(result.artifact)
        assert names.keys() <= there.keys()
        for name, changes in result.blame.items():
            first = [list(change.history())[-1].source for change in changes.values()]
            added = {s for s in first if s.operation == "ADD" and s.block}
            names.setdefault(name, added)
            assert names[name] <= added
    assert len(given_ids) == len(set(given_ids))


@given(threads(2, 3), st.sampled_from("HPTAXC"), st.permutations(tuple(ROLES)))
def test_killing_twice_is_killing_once(thread: Thread, prefix: str, agents: list[str]) -> None:
    """A second KILL, of whomever, is applied and changes nothing."""
    state = published(thread)
    target = f"{prefix}1"
    section = next(s for s in state.artifact.sections if _prefix(state.artifact, s) == prefix or s)
    section = _SECTION_OF[prefix]
    kill = render_delta(Delta(KILL, section, target, {"reason": "no"}, "why"))
    again = render_delta(Delta(KILL, section, target, {"reason": "never"}, "why"))
    first = Draft(agents[0], "", (kill,)).posted(LATER + 1, moment(LATER + 1))
    second = Draft(agents[1], "", (again,)).posted(LATER + 2, moment(LATER + 2))
    once, twice = merge(state, [first]), merge(state, [first, second])
    assert contents(twice) == contents(once)
    assert twice.ledger[1].state is twice.ledger[0].state


_SECTION_OF = {
    "H": "hypothesis_slate",
    "P": "predictions_table",
    "T": "discriminative_tests",
    "A": "assumption_ledger",
    "X": "anomaly_register",
    "C": "adversarial_critique",
}


def _prefix(artifact: Artifact, section: str) -> str:
    return artifact.sections[section][0].id[0] if artifact.sections[section] else ""
