"""Random histories: after every published version the merge agrees with the reference model.

Agents send, send again, and answer each other late and with skewed clocks; the operator kicks off
and publishes. See `reference_merge` for the model, `histories` for the small world.
"""

from typing import Any

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from brenner.artifact.ledger import Entry
from brenner.artifact.merge import Merge, merge
from brenner.artifact.model import Artifact
from brenner.artifact.state import empty_state
from brenner.delta.schema import FieldKind
from brenner.diagnostics.model import Severity
from brenner.thread.posted import Posted
from histories import (
    ROLES,
    THREAD_ID,
    Draft,
    contexts,
    drafts,
    kickoff,
    moment,
    offsets,
    openings,
    questions,
    skews,
)
from laws.reference_merge import Paradox, replay
from laws.reference_model import Compiled, Line, Model

pytestmark = pytest.mark.fuzz

# Warnings about the artifact as a whole, and about messages
WARNINGS = {
    *("NO_THIRD_ALTERNATIVE", "NO_SCALE_CHECK", "BELOW_MINIMUM"),
    *("UNKNOWN_AGENT", "AP-009", "QUESTION_DIFFERS", "NO_KICKOFF"),
}
PROSE = "REWRITTEN_ID_IN_PROSE"
# Of a duplicate the ledger says which block it repeats; what its IDs mean is told there already.
NOT_OF_DUPLICATES = {"ID_REWRITTEN", "AMBIGUOUS_ID"}


def leaves(artifact: Artifact) -> dict[str, dict[tuple[str, ...], object]]:
    """An artifact in the form of the model: every field as leaves, and what was killed."""
    found: dict[str, dict[tuple[str, ...], object]] = {}
    for section, item in artifact.all_items():
        flat: dict[tuple[str, ...], object] = {}
        for name, value in item.fields.items():
            content: Any = value
            kind = section.fields[name].kind
            if kind is FieldKind.REFERENCES:
                for ref in content:
                    flat[name, f"{ref.relation} {ref.session} {ref.item}"] = tuple(ref)
            elif kind in (FieldKind.ANCHORS, FieldKind.ITEMS):
                flat |= {(name, each): each for each in content}
            elif kind in (FieldKind.OUTCOMES, FieldKind.SCORE):
                flat |= {(name, key): each for key, each in content.items()}
            else:
                flat[name,] = content
        if item.killed:
            flat["killed",] = tuple(item.killed)
        found[item.id] = flat
    return found


def expected_leaves(model: Model) -> dict[str, dict[tuple[str, ...], object]]:
    """The same of the model."""
    return {
        name: item.leaves | ({("killed",): item.killed} if item.killed else {})
        for name, item in model.items.items()
    }


def lists(artifact: dict[str, dict[tuple[str, ...], object]]) -> dict[str, list[object]]:
    """The elements of every list, in order."""
    listed = ("anchors", "conflicts_with", "references")
    return {
        f"{name}.{which}": [path for path in flat if path[0] == which]
        for name, flat in artifact.items()
        for which in listed
    }


def entry_of(entry: Entry, line: Line) -> dict[str, object]:
    """What the ledger must say of a block; warnings aside of a block that was refused."""
    errors = {found.id for found in entry.diagnostics if found.severity is Severity.ERROR}
    said: dict[str, object] = {
        "operation": entry.operation,
        "section": entry.section,
        "target_id": entry.target_id,
        "agent": entry.agent,
        "state": entry.state.value,
    }
    if line.state == "refused":
        # One fault, one violation: of several reasons the merge may tell any.
        return said | {"errors": bool(errors) and errors <= line.codes}
    codes = {found.id for found in entry.diagnostics}
    surely, perhaps = line.mentions
    mentioned = PROSE in codes
    return said | {
        "assigned_id": entry.assigned_id,
        "item_id": entry.item_id,
        "rewrites": sorted({tuple(each) for each in entry.rewrites if each.old[0] != "@"})
        if line.state == "applied"
        else [],
        "codes": sorted(codes - _untold(line)),
        "prose": (mentioned or not surely) and (perhaps or not mentioned),
    }


def _untold(line: Line) -> set[str]:
    return {PROSE} | (NOT_OF_DUPLICATES if line.state == "duplicate" else set())


def expected_entry(line: Line) -> dict[str, object]:
    """The same of the model."""
    said: dict[str, object] = {
        "operation": line.operation,
        "section": line.section,
        "target_id": line.target_id,
        "agent": line.agent,
        "state": line.state,
    }
    if line.state == "refused":
        return said | {"errors": True}
    return said | {
        "assigned_id": line.assigned,
        "item_id": line.item,
        "rewrites": sorted(set(line.rewrites)),
        "codes": sorted(line.codes - _untold(line)),
        "prose": True,
    }


def source_of(source: object) -> tuple[object, ...]:
    """Message, agent, block, version, operation."""
    return tuple(source) if isinstance(source, tuple) else (source,)


def conflicts_of(result: Merge) -> dict[object, object]:
    """The open conflicts: what stands, and what had to give way."""
    return {
        (each.item_id, each.path): (
            each.version,
            each.value,
            source_of(each.source),
            [(lost.value, source_of(lost.source)) for lost in each.displaced],
        )
        for each in result.conflicts
    }


def expected_conflicts(model: Model) -> dict[object, object]:
    """The same of the model."""
    return {
        where: (
            each.version,
            each.value,
            source_of(each.source),
            [(value, source_of(source)) for value, source in each.displaced],
        )
        for where, each in model.conflicts.items()
    }


def blame_of(result: Merge) -> dict[object, tuple[object, ...]]:
    """Who set each leaf that is there."""
    there = leaves(result.artifact)
    return {
        (name, path): source_of(change.source)
        for name, changes in result.blame.items()
        for path, change in changes.items()
        if path in there[name]
    }


def expected_blame(model: Model) -> dict[object, tuple[object, ...]]:
    """The same of the model."""
    there = expected_leaves(model)
    return {
        (name, path): source_of(changes[-1].source)
        for (name, path), changes in model.history.items()
        if path in there[name]
    }


def assert_same(result: Merge, model: Model) -> None:
    """The merge says of this version what the reference says."""
    ledger = {(entry.message_id, entry.block): entry for entry in result.ledger}
    assert list(ledger) == [(line.message_id, line.block) for line in model.ledger]
    for line in model.ledger:
        here = (line.message_id, line.block)
        assert (here, entry_of(ledger[here], line)) == (here, expected_entry(line)), line.codes
    found, expected = leaves(result.artifact), expected_leaves(model)
    assert found == expected
    assert lists(found) == lists(expected)
    assert conflicts_of(result) == expected_conflicts(model)
    assert blame_of(result) == expected_blame(model)
    assert {each.id for each in result.warnings} & WARNINGS == model.warnings


class Histories(RuleBasedStateMachine):
    """A thread as it grows. `rounds` is what each version read; the last is not published yet."""

    def __init__(self) -> None:
        super().__init__()
        self.state = empty_state(THREAD_ID)
        self.rounds: list[list[Posted]] = [[]]
        self.held: list[Posted] = []
        self.compiled: list[Compiled] = []
        self.sent: list[Draft] = []
        self.clock = 0
        self.is_over = False

    def _store(self, draft: Draft, skew: int, offset: int, held: bool) -> None:
        """What the store does: a number and a time. A message that is held comes to light later."""
        self.clock += 1
        self.sent.append(draft)
        posted = draft.posted(self.clock, moment(self.clock + skew, offset))
        (self.held if held else self.rounds[-1]).append(posted)

    @initialize(draft=openings, with_items=st.booleans())
    def open(self, draft: Draft, with_items: bool) -> None:
        """Most threads begin with items to work on."""
        if with_items:
            self._store(draft, 0, 0, held=False)

    @rule(draft=drafts, skew=skews, offset=offsets, held=st.integers(0, 5))
    def send(self, draft: Draft, skew: int, offset: int, held: int) -> None:
        """An agent sends a message; one in six is not seen at once."""
        self._store(draft, skew, offset, held == 0)

    @rule(data=st.data(), skew=skews)
    def send_again(self, data: st.DataObject, skew: int) -> None:
        """A message comes again, whole or with one block changed, from her or from another."""
        if not self.sent:
            return
        draft = data.draw(st.sampled_from(self.sent))
        change = data.draw(st.integers(0, 3))
        if change == 0:
            other = data.draw(drafts).blocks[0]
            index = data.draw(st.integers(0, len(draft.blocks) - 1))
            draft = draft._replace(
                blocks=(*draft.blocks[:index], other, *draft.blocks[index + 1 :])
            )
        if change == 1:
            draft = draft._replace(sender=data.draw(st.sampled_from(tuple(ROLES))))
        self._store(draft, skew, 0, held=False)

    @rule(question=questions, context=contexts, skew=skews)
    def kick_off(self, question: str, context: str, skew: int) -> None:
        """The operator sends a kickoff."""
        self.clock += 1
        self.rounds[-1].append(kickoff(self.clock, moment(self.clock + skew), question, context))

    @rule()
    def come_to_light(self) -> None:
        """Messages that nobody had seen turn up, with their old numbers and times."""
        self.rounds[-1] += self.held
        self.held = []

    @rule(skew=skews, data=st.data(), roster=st.sampled_from((None, {"BlueLake", "RedSky"})))
    def publish(self, skew: int, data: st.DataObject, roster: set[str] | None) -> None:
        """A version is compiled, from messages in any order, and published."""
        if self.is_over or not self.rounds[-1]:
            return
        order = data.draw(st.permutations(self.rounds[-1]))
        self._compile(order, roster)
        self.clock += 1
        at = moment(self.clock + skew)
        self.state = self.result.publish(message_id=self.clock, at=at)
        self.compiled.append(Compiled(self.clock, at))
        self.rounds.append([])

    def _compile(self, order: list[Posted], roster: set[str] | None) -> None:
        try:
            model = replay(THREAD_ID, self.rounds, self.compiled, roster)
        except Paradox:  # no outcome is right; the laws still hold, see test_merge_laws
            event("paradox")
            self.is_over = True
            return
        self.result = merge(self.state, order, roster=roster)
        assert self.result.artifact.metadata.version == len(self.rounds)
        assert_same(self.result, model)
        for line in model.ledger:
            event(line.state)

    def teardown(self) -> None:
        """What was sent last is compiled, too."""
        if self.rounds[-1] and not self.is_over:
            self._compile(self.rounds[-1], None)


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=max(1, settings.default.max_examples // 4), stateful_step_count=14
)
