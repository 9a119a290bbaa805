"""What becomes of each block of a message, decided before anything is changed (R7, R8, R11).

Blocks are looked at in their order, but an author may name an item before the block that adds it.
So a walk over the blocks takes it that every ADD further down will be applied; where one is not,
the blocks above that count on it are refused, and the walk begins again.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.artifact.layout import MOST_ACTIVE_HYPOTHESES, NOT_APPLICABLE
from brenner.artifact.ledger import Outcome
from brenner.artifact.merging import refusals
from brenner.artifact.merging.authors import (
    Applied,
    Author,
    EditedField,
    Key,
    block_key,
    edited_fields,
)
from brenner.artifact.merging.draft import Draft
from brenner.artifact.merging.mentions import Mention, with_ids
from brenner.artifact.merging.numbering import Target
from brenner.artifact.merging.reading import Meanings, Reading, is_as_written
from brenner.diagnostics.codes import merging as codes
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    SECTIONS,
    Delta,
    DeltaBlock,
    Operation,
)

_NOTHING_MEANT: Meanings = MappingProxyType({})
# Why a block is refused. The words, which take long, are found only when the last walk is over.
Reason = Callable[[], Diagnostic]


class Fate(NamedTuple):
    """What becomes of one block; `meant` is what its IDs mean, `key` what it is compared by."""

    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...] = ()
    meant: Meanings = _NOTHING_MEANT
    key: Key | None = None
    reasons: tuple[Reason, ...] = ()


class Verdict(NamedTuple):
    """The fate of every block, in order, and the ID that each ADD gets."""

    fates: list[Fate]
    numbers: Mapping[int, str]


def decide(reading: Reading, draft: Draft, author: Author) -> Verdict:
    """Decide about a whole message."""
    disappointed: dict[int, int] = {}
    while True:
        walk = _Walk(reading, draft, author, disappointed)
        fates = [walk.decide(block) for block in reading.contribution.blocks]
        more = walk.newly_disappointed()
        if not more:
            return Verdict([_in_words(fate) for fate in fates], walk.numbers)
        disappointed |= more


def _in_words(fate: Fate) -> Fate:
    if not fate.reasons:
        return fate
    told = [reason() for reason in fate.reasons[: refusals.MOST_TOLD]]
    return fate._replace(diagnostics=(*fate.diagnostics, *told), reasons=())


class _Walk:
    """One walk over the blocks. It remembers what they would do, and does nothing."""

    def __init__(
        self, reading: Reading, draft: Draft, author: Author, disappointed: Mapping[int, int]
    ) -> None:
        firsts = reading.resent.firsts
        self.numbers = {number: first.item_id for number, first in firsts.items()}
        self._reading = reading
        self._draft = draft
        self._author = author
        self._disappointed = disappointed
        self._refused = {b.number for b in reading.contribution.blocks if b.delta is None}
        self._counts = dict(draft.counts)
        self._active = draft.active_hypotheses
        self._killed: set[Target] = set()
        self._edits: dict[Target, list[tuple[Delta, Meanings]]] = {}
        self._said_above: dict[str, dict[str, dict[str, EditedField]]] = {}
        self._counts_on: list[tuple[int, int]] = []

    def decide(self, block: DeltaBlock) -> Fate:
        """The fate of the next block."""
        delta = block.delta
        if delta is None:
            # Where there are too many blocks the first one carries the reason for all.
            reasons = block.diagnostics or self._reading.contribution.blocks[0].diagnostics
            return Fate(Outcome.REFUSED, reasons)
        reading = self._reading
        meant = reading.meant(block.number)
        is_plain = is_as_written(meant) and reading.doubtful.keys().isdisjoint(meant)
        refused = () if is_plain else tuple(self._unclear(block, meant))
        key = None
        if not refused:
            key, first = self._compared(block, delta, meant)
            if first is not None:
                said = (*block.diagnostics, _repeats(block, first))
                return Fate(Outcome.DUPLICATE, said, meant, key)
            refused = tuple(self._forbidden(block, delta, meant))
        if refused:
            self._refused.add(block.number)
            return Fate(Outcome.REFUSED, block.diagnostics, meant, key, refused)
        self._remember(block.number, delta, meant)
        return Fate(Outcome.APPLIED, block.diagnostics, meant, key)

    def newly_disappointed(self) -> dict[int, int]:
        """The blocks that counted on an ADD further down which is refused after all.

        And those that count on them, and so on, so that a long chain takes one walk more, not one
        for each of its links.
        """
        counting_on: dict[int, list[int]] = {}
        for number, on in self._counts_on:
            counting_on.setdefault(on, []).append(number)
        found: dict[int, int] = {}
        waiting = [on for on in counting_on if on in self._refused]
        while waiting:
            on = waiting.pop()
            for number in counting_on.get(on, ()):
                if number not in found:
                    found[number] = on
                    waiting.append(number)
        return found

    def _unclear(self, block: DeltaBlock, meant: Meanings) -> Iterator[Reason]:
        """What keeps the IDs of a block from being understood."""
        reading, draft = self._reading, self._draft
        found = reading.mentions[block.number]
        lost = [each for each in found if meant[each.written] is None]
        if lost:
            yield from (partial(refusals.unknown, block, each, reading, draft) for each in lost)
            return
        target_id = found[0]
        if target_id.field == "target_id" and target_id.written in reading.doubtful:
            yield partial(refusals.ambiguous, block, target_id, reading, draft)
            return
        for each in found:
            target = meant[each.written]
            if target in self._refused or self._disappointed.get(block.number) == target:
                yield partial(self._told_dependent, block, each, cast("int", target))
                return
        for collision in refusals.collisions(meant, found):
            yield partial(refusals.colliding, block, collision)

    def _told_dependent(self, block: DeltaBlock, mention: Mention, first: int) -> Diagnostic:
        if first in self._refused:
            return refusals.depends_on_refused(block, mention, first)
        # With this block there was no room for the one that it names; without it there is.
        section = block.written("section") or ""
        return refusals.section_full(block, section, MOST_ACTIVE_HYPOTHESES)

    def _compared(
        self, block: DeltaBlock, delta: Delta, meant: Meanings
    ) -> tuple[Key | None, Applied | None]:
        """What the block is compared by, and the applied one that it repeats (R8)."""
        resent = self._reading.resent
        if delta.operation is Operation.ADD:
            return resent.keys.get(block.number), resent.firsts.get(block.number)
        ids = {written: each for written, each in meant.items() if isinstance(each, str)}
        if len(ids) < len(meant) or not self._author.count:
            return None, None
        item_id, payload = ids[delta.target_id or ""], delta.payload
        if not is_as_written(ids):
            payload = with_ids(delta, ids, self._draft.thread_id)
        key = block_key(delta, item_id, payload, self._reading.base.number)
        firsts = self._author.firsts(key)
        if not firsts or delta.operation is Operation.KILL:
            return key, firsts[0] if firsts else None
        edited = edited_fields(delta, payload)
        is_changed = self._author.has_changed_since(firsts[0], edited) or any(
            above.disagrees(field)
            for field in edited
            for above in self._edited_above(item_id).get(field.name, {}).values()
        )
        return key, None if is_changed else firsts[0]

    def _edited_above(self, item_id: str) -> Mapping[str, Mapping[str, EditedField]]:
        """What the blocks above say of an item, by field. What they say again is there once.

        Each block is read once, however many blocks below are compared with it.
        """
        said = self._said_above.setdefault(item_id, {})
        for delta, meant in self._edits.pop(item_id, ()):
            ids = {written: str(target) for written, target in meant.items()}
            for field in edited_fields(delta, with_ids(delta, ids, self._draft.thread_id)):
                said.setdefault(field.name, {})[field.key] = field
        return said

    def _forbidden(self, block: DeltaBlock, delta: Delta, meant: Meanings) -> Iterator[Reason]:
        """What the state of the artifact forbids."""
        if delta.operation is Operation.EDIT and self._is_killed(meant[delta.target_id or ""]):
            yield partial(self._told_killed, block, ("target_id",), delta.target_id or "")
            return
        if delta.section == PREDICTIONS_TABLE.id and delta.operation is not Operation.KILL:
            cells = cast("Mapping[str, str]", delta.payload.get("predictions", {}))
            for key, outcome in cells.items():
                if outcome != NOT_APPLICABLE and self._is_killed(meant[key]):
                    yield partial(self._told_killed, block, ("payload", "predictions", key), key)
        is_hypothesis = delta.section == HYPOTHESIS_SLATE.id and delta.operation is Operation.ADD
        if is_hypothesis and self._active >= MOST_ACTIVE_HYPOTHESES:
            yield partial(refusals.section_full, block, delta.section, MOST_ACTIVE_HYPOTHESES)

    def _is_killed(self, target: Target | None) -> bool:
        return target in self._killed or (isinstance(target, str) and self._draft.is_killed(target))

    def _told_killed(self, block: DeltaBlock, path: tuple[str, ...], written: str) -> Diagnostic:
        target = self._reading.meanings[written]
        item = self._draft.items.get(target) if isinstance(target, str) else None
        killed = item.killed if item else None
        by = killed.agent if killed else self._reading.contribution.posted.message.sender
        return refusals.killed(block, path, target if isinstance(target, str) else written, by)

    def _remember(self, number: int, delta: Delta, meant: Meanings) -> None:
        """What the blocks further down must know of an applied one."""
        for each in meant.values():
            if isinstance(each, int):
                self._counts_on.append((number, each))
        is_hypothesis = delta.section == HYPOTHESIS_SLATE.id
        if delta.operation is Operation.ADD:
            prefix = SECTIONS[delta.section].prefix
            self._counts[prefix] += 1
            self.numbers[number] = f"{prefix}{self._counts[prefix]}"
            self._active += is_hypothesis and number not in self._killed
            return
        target = cast("Target", meant[delta.target_id or ""])
        if delta.operation is Operation.EDIT:
            self._edits.setdefault(target, []).append((delta, meant))
        elif not self._is_killed(target):
            self._killed.add(target)
            # An item that a block further down adds takes no room before it is there.
            self._active -= is_hypothesis and (isinstance(target, str) or target < number)


def _repeats(block: DeltaBlock, first: Applied) -> Diagnostic:
    words = {"message_id": first.message_id, "number": first.block}
    return codes.DUPLICATE_BLOCK.at(block.line, **words).in_block(block.number, first.item_id)


def final_ids(meant: Meanings, numbers: Mapping[int, str]) -> dict[str, str]:
    """What each ID is finally called; an ADD that was refused is called nothing."""
    return {
        written: target if isinstance(target, str) else numbers[target]
        for written, target in meant.items()
        if target is not None and (isinstance(target, str) or target in numbers)
    }
