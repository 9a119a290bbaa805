"""The laws of the merge (design, 4), each tried on random threads of a small world."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import ITEM_SECTIONS
from brenner.artifact.state import BlockOutcome, Entry, Source, State, count_outcomes, empty_state
from brenner.markdown.escape import render_fence
from brenner.protocol.delta.parse import read_deltas, render_delta
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, PREDICTIONS_TABLE, Delta, Section
from brenner.protocol.messages import StoredMessage
from histories import Thread, drafts, edit_pairs, moment, openings, threads
from laws.agreement import leaves
from sample_messages import KILL, ROLES, THREAD_ID, Draft
from strategies import any_text

pytestmark = pytest.mark.fuzz
FEWER = settings(max_examples=settings().max_examples // 2)  # a thread is a large example
LATER = 60  # minutes: after everything that a thread of `histories` holds


class Version(NamedTuple):
    """One version of a thread: what it was merged from, and what came out."""

    before: State
    messages: list[StoredMessage]
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


@FEWER
@given(threads(), st.data())
def test_any_permutation_of_the_same_messages_gives_the_same_result(
    thread: Thread, data: st.DataObject
) -> None:
    """The store's times and numbers decide, not the order in which messages are handed over."""
    for version in play(thread):
        shuffled = data.draw(st.permutations(version.messages))
        assert everything(merge(version.before, shuffled)) == everything(version.result)


@FEWER
@given(threads(2, 3), drafts)
def test_a_duplicate_changes_nothing(thread: Thread, draft: Draft) -> None:
    """A block that comes again at once is a duplicate if it was applied, and changes nothing."""
    state = published(thread)
    draft = draft._replace(blocks=draft.blocks[:1])
    first, again = (draft.posted(LATER + n, moment(LATER + n)) for n in (1, 2))
    once, twice = merge(state, [first]), merge(state, [first, again])
    assert contents(twice) == contents(once)
    (entry, copy) = twice.ledger
    was_refused = entry.state is BlockOutcome.REFUSED
    assert copy.state is (BlockOutcome.REFUSED if was_refused else BlockOutcome.DUPLICATE)
    assert copy.item_id == entry.item_id


@FEWER
@given(threads(), st.data())
def test_merging_round_by_round_from_published_versions_equals_what_was_published(
    thread: Thread, data: st.DataObject
) -> None:
    """A version can be merged again from the one before it, whatever has come since; and all of
    them from the thread alone.
    """
    versions = play(thread)
    for version in versions:
        again = merge(version.before, data.draw(st.permutations(version.messages)))
        assert everything(again) == everything(version.result)
    rebuilt = [everything(version.result) for version in play(thread)]
    assert rebuilt == [everything(version.result) for version in versions]


@FEWER
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
        assert sum(count_outcomes(ledger).values()) == len(blocks)
        for entry in ledger:
            has_item = entry.item_id is not None
            assert has_item == (entry.state is not BlockOutcome.REFUSED)


@FEWER
@given(threads())
def test_a_refused_block_changes_nothing(thread: Thread) -> None:
    """Nothing in the artifact comes from a refused block or a duplicate, and messages in which no
    block was applied might as well not have been sent.
    """
    for version in play(thread):
        result = version.result
        idle = {
            (entry.message_id, entry.block)
            for entry in result.ledger
            if entry.state is not BlockOutcome.APPLIED
        }
        for changes in result.blame.values():
            for change in changes.values():
                assert not {(c.source.message_id, c.source.block) for c in change.history()} & idle
        busy = {
            entry.message_id for entry in result.ledger if entry.state is not BlockOutcome.REFUSED
        }
        needed = [
            posted
            for posted in version.messages
            if posted.id in busy or not posted.message.subject.startswith("DELTA")
        ]
        assert contents(merge(version.before, needed)) == contents(result)


def origins(result: Merge) -> dict[str, Source]:
    """Which block added each item: the one that first gave it its name."""
    return {
        name: list(changes[path].history())[-1].source
        for name, changes in result.blame.items()
        for path in (("name",), ("condition",))
        if path in changes
    }


@FEWER
@given(threads())
def test_no_item_is_ever_removed_no_id_reused_or_renumbered(thread: Thread) -> None:
    """Numbers go up by one, each is given once, and an item stays what it was added as."""
    known: dict[str, Source] = {}
    for version in play(thread):
        result = version.result
        found = origins(result)
        assert known.items() <= found.items()
        new = {
            str(entry.assigned_id): (entry.message_id, entry.block)
            for entry in result.ledger
            if entry.operation == "ADD" and entry.state is BlockOutcome.APPLIED
        }
        assert {name: (s.message_id, s.block) for name, s in found.items() - known.items()} == new
        for section in ITEM_SECTIONS:
            ids = [item.id for item in result.artifact.sections[section.id]]
            assert ids == [f"{section.prefix}{number}" for number in range(1, len(ids) + 1)]
        known = found


@FEWER
@given(threads(2, 3), st.sampled_from(ITEM_SECTIONS), st.permutations(tuple(ROLES)))
def test_killing_twice_is_killing_once(thread: Thread, section: Section, agents: list[str]) -> None:
    """A second KILL, of whomever, ends as the first one did and changes nothing."""
    state = published(thread)
    first, second = (
        Draft(agent, "", (render_delta(delta),)).posted(LATER + n, moment(LATER + n))
        for n, agent in enumerate(agents[:2])
        for delta in [Delta(KILL, section.id, section.example_id, {"reason": agent}, "why")]
    )
    once, twice = merge(state, [first]), merge(state, [first, second])
    assert contents(twice) == contents(once)
    assert twice.ledger[1].state is twice.ledger[0].state


@FEWER
@given(threads(2, 3), edit_pairs(), st.permutations(tuple(ROLES)))
def test_edits_of_different_fields_commute(
    thread: Thread, pair: tuple[str, str], agents: list[str]
) -> None:
    """Two edits of one item, of different fields or keys, by two authors: in either order."""
    state = published(thread)
    results = []
    for places in ((1, 2), (2, 1)):
        messages = [
            Draft(agent, "", (block,)).posted(LATER + n, moment(LATER + place))
            for n, (agent, block, place) in enumerate(zip(agents, pair, places, strict=False))
        ]
        results.append(merge(state, messages))
    one, other = results
    assert leaves(one.artifact) == leaves(other.artifact)
    assert one.conflicts == other.conflicts
    states = [{entry.agent: entry.state for entry in result.ledger} for result in results]
    assert states[0] == states[1]


@FEWER
@given(threads(), st.lists(openings, max_size=3))
def test_limits_hold(thread: Thread, more: list[Draft]) -> None:
    """Never more than six active hypotheses; and every active row says N/A of a killed one."""
    late = [draft.posted(LATER + n, moment(LATER + n)) for n, draft in enumerate(more)]
    rounds = [*thread.rounds[:-1], thread.rounds[-1] + late]
    for version in play(thread._replace(rounds=rounds)):
        artifact = version.result.artifact
        assert len(artifact.active(HYPOTHESIS_SLATE)) <= 6
        killed = [item.id for item in artifact.sections[HYPOTHESIS_SLATE.id] if item.killed]
        for row in artifact.active(PREDICTIONS_TABLE):
            assert [row.mapped("predictions").get(each) for each in killed] == ["N/A"] * len(killed)


@FEWER
@given(threads())
def test_inputs_are_never_mutated(thread: Thread) -> None:
    """A state and its messages are the same after a merge as before it, and so is its result."""
    state = empty_state(THREAD_ID)
    for messages, (number, at) in zip(thread.rounds, thread.compiled, strict=True):
        before = repr((state, messages))
        result = merge(state, messages)
        assert repr((state, messages)) == before
        merged = everything(result)
        state = result.publish(message_id=number, at=at)
        merge(state, messages)
        assert everything(result) == merged


@FEWER
@given(threads(2, 3), st.lists(drafts, min_size=1, max_size=3), any_text)
def test_adding_prose_around_the_blocks_changes_nothing(
    thread: Thread, added: list[Draft], text: str
) -> None:
    """Prose may say anything; what would open a fence or a list its author has to fence in."""
    state = published(thread)
    prose = f"As H1 says, and H4:\n\n{render_fence(text, 'text')}\n> {{}}\n"
    plain, wordy = (
        merge(state, [d.posted(LATER + n, moment(LATER + n), p) for n, d in enumerate(added)])
        for p in ("", prose)
    )
    assert contents(wordy) == contents(plain)
    assert [_without_lines(entry) for entry in wordy.ledger] == [
        _without_lines(entry) for entry in plain.ledger
    ]


def _without_lines(entry: Entry) -> Entry:
    told = tuple(found._replace(line=None) for found in entry.diagnostics)
    return entry._replace(line=0, diagnostics=told)


@FEWER
@given(threads())
def test_blame_covers_every_field_and_names_who_set_it(thread: Thread) -> None:
    """Every field, key and element has a change with its value, made by a block that was applied to
    that item (or, for the cells of a killed hypothesis, by its KILL), or by a kickoff.
    """
    applied: dict[tuple[int, int], Entry] = {}
    senders: dict[int, str] = {}
    for version in play(thread):
        result = version.result
        senders |= {posted.id: posted.message.sender for posted in version.messages}
        applied |= {
            (entry.message_id, entry.block): entry
            for entry in result.ledger
            if entry.state is BlockOutcome.APPLIED
        }
        for name, flat in leaves(result.artifact).items():
            for path, value in flat.items():
                change = result.blame[name][path]
                source = change.source
                assert change.value == value or path == ("killed",)
                assert source.agent == senders[source.message_id]
                if source.operation == "KICKOFF":
                    assert (name, source.block) == ("RT", 0)
                    continue
                entry = applied[source.message_id, source.block]
                assert source.operation == entry.operation
                is_cell = source.operation == "KILL" and path == ("predictions", entry.item_id)
                assert entry.item_id == name or is_cell
