"""What becomes of each block of a message, decided before anything is changed (R7, R8, R11).

Blocks are looked at in their order, but an author may name an item before the block that adds it.
So a walk over the blocks takes it that every ADD further down will be applied; where one is not,
the blocks above that count on it are refused, and the walk begins again.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.artifact.blame import Path
from brenner.artifact.layout import MOST_ACTIVE_HYPOTHESES, NOT_APPLICABLE
from brenner.artifact.ledger import Outcome
from brenner.artifact.merging import refusals
from brenner.artifact.merging.authors import Applied, Author, block_key, edited_paths
from brenner.artifact.merging.draft import Draft
from brenner.artifact.merging.mentions import with_ids
from brenner.artifact.merging.numbering import Target
from brenner.artifact.merging.reading import Meanings, Reading, is_as_written
from brenner.delta.model import Delta, DeltaBlock
from brenner.delta.schema import HYPOTHESIS_SLATE, PREDICTIONS_TABLE, SECTIONS, Operation
from brenner.diagnostics.codes import merge as codes
from brenner.diagnostics.model import Diagnostic

_NOTHING_MEANT: Meanings = MappingProxyType({})


class Fate(NamedTuple):
    """What becomes of one block; `meant` is what its IDs mean, `first` what it repeats."""

    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...] = ()
    meant: Meanings = _NOTHING_MEANT
    first: Applied | None = None


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
            return Verdict(fates, walk.numbers)
        disappointed |= more


class _Walk:
    """One walk over the blocks. It remembers what they would do, and does nothing."""

    def __init__(
        self,
        reading: Reading,
        draft: Draft,
        author: Author,
        disappointed: Mapping[int, int],
    ) -> None:
        self.reading = reading
        self.draft = draft
        self.author = author
        self.disappointed = disappointed
        self.numbers = {number: first.item_id for number, first in reading.resent.items()}
        self.refused = {b.number for b in reading.contribution.blocks if b.delta is None}
        self._counts = dict(draft.counts)
        self._active = draft.active_hypotheses
        self._killed: set[Target] = set()
        self._edits: list[tuple[Target, Delta, Meanings]] = []
        self._edited: set[tuple[Target, Path]] = set()
        self._counts_on: list[tuple[int, int]] = []

    def decide(self, block: DeltaBlock) -> Fate:
        """The fate of the next block."""
        delta = block.delta
        if delta is None:
            # Where there are too many blocks the first one carries the reason for all.
            reasons = block.diagnostics or self.reading.contribution.blocks[0].diagnostics
            return Fate(Outcome.REFUSED, reasons)
        meant = self.reading.meant(block.number)
        is_plain = is_as_written(meant) and self.reading.doubtful.keys().isdisjoint(meant)
        refused = [] if is_plain else [*self._unclear(block, meant)]
        if not refused:
            first = self._first(block, delta, meant)
            if first is not None:
                found_before = codes.DUPLICATE_BLOCK.at(
                    block.line, message_id=first.message_id, number=first.block
                ).in_block(block.number, first.item_id)
                said = (*block.diagnostics, found_before)
                return Fate(Outcome.DUPLICATE, said, meant, first)
            refused = [*self._forbidden(block, delta, meant)]
        if refused:
            self.refused.add(block.number)
            return Fate(Outcome.REFUSED, (*block.diagnostics, *refused), meant)
        self._remember(block.number, delta, meant)
        return Fate(Outcome.APPLIED, block.diagnostics, meant)

    def newly_disappointed(self) -> dict[int, int]:
        """The blocks that counted on an ADD further down which is refused after all.

        And those that count on them, and so on, so that a long chain takes one walk more, not one
        for each of its links.
        """
        counting_on: dict[int, list[int]] = {}
        for number, on in self._counts_on:
            counting_on.setdefault(on, []).append(number)
        found: dict[int, int] = {}
        waiting = [on for on in counting_on if on in self.refused]
        while waiting:
            on = waiting.pop()
            for number in counting_on.get(on, ()):
                if number not in found:
                    found[number] = on
                    waiting.append(number)
        return found

    def _unclear(self, block: DeltaBlock, meant: Meanings) -> Iterator[Diagnostic]:
        """What keeps the IDs of a block from being understood."""
        reading = self.reading
        found = reading.mentions[block.number]
        lost = [each for each in found if meant[each.written] is None]
        if lost:
            yield from (
                refusals.unknown(block, each, self.draft) for each in lost[: refusals.MOST_TOLD]
            )
            return
        target_id = found[0]
        if target_id.field == "target_id" and target_id.written in reading.doubtful:
            yield refusals.ambiguous(block, target_id, reading, self.draft)
            return
        for each in found:
            target = meant[each.written]
            if target in self.refused or self.disappointed.get(block.number) == target:
                yield refusals.depends_on_refused(block, each, cast("int", target))
                return
        yield from refusals.colliding(block, meant, found)

    def _first(self, block: DeltaBlock, delta: Delta, meant: Meanings) -> Applied | None:
        """The applied block of an earlier message that this one repeats (R8)."""
        if delta.operation is Operation.ADD:
            return self.reading.resent.get(block.number)
        ids = {written: each for written, each in meant.items() if isinstance(each, str)}
        if len(ids) < len(meant) or not self.author.blocks:
            return None
        item_id, payload = ids[delta.target_id or ""], delta.payload
        if not is_as_written(ids):
            payload = with_ids(delta, ids, self.draft.thread_id)
        key = block_key(delta, item_id, payload, self.reading.base.number)
        self.reading.keys[block.number] = key
        first = self.author.blocks.get(key)
        if first is None or delta.operation is Operation.KILL:
            return first
        paths = edited_paths(delta, payload)
        is_changed = self.author.has_changed_since(first, paths) or any(
            (item_id, path) in self._edited_here() for path in paths
        )
        return None if is_changed else first

    def _edited_here(self) -> set[tuple[Target, Path]]:
        """The fields that the blocks so far have edited."""
        for target, delta, meant in self._edits:
            paths = edited_paths(delta, delta.payload)
            self._edited |= {(target, _meant_path(path, meant)) for path in paths}
        self._edits = []
        return self._edited

    def _forbidden(self, block: DeltaBlock, delta: Delta, meant: Meanings) -> Iterator[Diagnostic]:
        """What the state of the artifact forbids."""
        if delta.operation is Operation.EDIT:
            target = meant[delta.target_id or ""]
            if self._is_killed(target):
                yield self._told_killed(block, ("target_id",), target)
                return
        if delta.section == PREDICTIONS_TABLE.id and delta.operation is not Operation.KILL:
            cells = cast("Mapping[str, str]", delta.payload.get("predictions", {}))
            for key, outcome in cells.items():
                if outcome != NOT_APPLICABLE and self._is_killed(meant[key]):
                    yield self._told_killed(block, ("payload", "predictions", key), meant[key])
        is_hypothesis = delta.section == HYPOTHESIS_SLATE.id and delta.operation is Operation.ADD
        if is_hypothesis and self._active >= MOST_ACTIVE_HYPOTHESES:
            yield refusals.section_full(block, delta.section, MOST_ACTIVE_HYPOTHESES)

    def _is_killed(self, target: Target | None) -> bool:
        return target in self._killed or (isinstance(target, str) and self.draft.is_killed(target))

    def _told_killed(
        self, block: DeltaBlock, path: tuple[str, ...], target: Target | None
    ) -> Diagnostic:
        own = self.reading.contribution.posted.message.sender
        item_id = target if isinstance(target, str) else self.numbers.get(target or 0, "")
        killed = self.draft.items[item_id].killed if item_id in self.draft.items else None
        return refusals.killed(block, path, item_id, killed.agent if killed else own)

    def _remember(self, number: int, delta: Delta, meant: Meanings) -> None:
        """What the blocks further down must know of an applied one."""
        for each in meant.values():
            if isinstance(each, int):
                self._counts_on.append((number, each))
        prefix = SECTIONS[delta.section].prefix
        if delta.operation is Operation.ADD:
            self._counts[prefix] += 1
            self.numbers[number] = f"{prefix}{self._counts[prefix]}"
            self._active += delta.section == HYPOTHESIS_SLATE.id
            return
        target = cast("Target", meant[delta.target_id or ""])
        if delta.operation is Operation.EDIT:
            self._edits.append((target, delta, meant))
        elif not self._is_killed(target):
            self._killed.add(target)
            self._active -= delta.section == HYPOTHESIS_SLATE.id


def _meant_path(path: Path, meant: Meanings) -> Path:
    """The path with the key that its author means, as far as it has a number yet."""
    return (path[0], *(str(meant.get(key, key)) for key in path[1:]))


def final_ids(meant: Meanings, numbers: Mapping[int, str]) -> dict[str, str]:
    """What each ID is finally called; an ADD that was refused is called nothing."""
    return {
        written: target if isinstance(target, str) else numbers[target]
        for written, target in meant.items()
        if target is not None and (isinstance(target, str) or target in numbers)
    }
