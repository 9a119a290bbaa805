"""What becomes of each block of a message, decided before anything is changed (R7, R8, R11).

Blocks are looked at in their order, but an author may name an item before the block that adds it.
So a walk over the blocks takes it that every ADD further down will be applied; where one is not,
the blocks above that count on it are refused, and the walk begins again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.artifact.merge.draft import Draft
from brenner.artifact.merge.resolve import (
    Meanings,
    Mention,
    Path,
    ResolvedIds,
    Target,
    in_prose,
    is_as_written,
    with_ids,
)
from brenner.artifact.model import MOST_ACTIVE_HYPOTHESES, NOT_APPLICABLE
from brenner.artifact.state import (
    Applied,
    Author,
    EditedField,
    Key,
    Outcome,
    Rewrite,
    block_key,
    edited_fields,
)
from brenner.diagnostics.codes import deltas as deltas_codes
from brenner.diagnostics.codes import merging as merging_codes
from brenner.diagnostics.model import Code, Diagnostic
from brenner.protocol.delta.parse import line_at, render_delta
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    SECTIONS,
    Delta,
    DeltaBlock,
    Operation,
)
from brenner.protocol.delta.validate import dotted
from brenner.protocol.grammar import ITEM_ID
from brenner.text import Suggestion, did_you_mean

# Why a block is refused at merge, and what else is worth saying of it, in words with lines.


class Collision(NamedTuple):
    """A key, the key before it that means the same, and what both mean."""

    mention: Mention
    other: str
    target: Target | None


MOST_TOLD = 20  # of one kind about one block; more would say nothing new


def told(block: DeltaBlock, code: Code, path: Path, **words: str | int) -> Diagnostic:
    """A diagnostic about a place in a block."""
    found = code.at(line_at(block, path), **words)
    return found.in_block(block.number, block.written("target_id"), dotted(path))


def unknown(block: DeltaBlock, mention: Mention, reading: ResolvedIds, draft: Draft) -> Diagnostic:
    """The ID names nothing."""
    hint = _nearest(mention.written, reading, draft)
    if mention.field == "target_id":
        return told(
            block,
            deltas_codes.INVALID_TARGET,
            mention.path,
            target=mention.written,
            reason="is not in the artifact that the message goes by",
            example=SECTIONS[block.written("section") or ""].example_id,
            suggestion=hint,
        )
    words = {"where": mention.field, "id": mention.written, "suggestion": hint}
    return told(block, merging_codes.UNKNOWN_ITEM, mention.path, **words)


def _nearest(written: str, reading: ResolvedIds, draft: Draft) -> Suggestion:
    """The last active item of that section which the message can have meant."""
    match = ITEM_ID.fullmatch(written)
    highest = reading.views.chosen.counts.get(match[1], 0) if match and match[1] else 0
    near = f"{match[1]}{min(int(match[2]), highest)}" if match and highest else ""
    return did_you_mean(near if near in draft.items and not draft.is_killed(near) else None)


def depends_on_refused(block: DeltaBlock, mention: Mention, first: int) -> Diagnostic:
    """The ID is that of an item whose ADD in the same message is refused."""
    code = deltas_codes.DEPENDS_ON_REFUSED
    return told(block, code, mention.path, name=mention.written, first=first)


def ambiguous(
    block: DeltaBlock, mention: Mention, reading: ResolvedIds, draft: Draft
) -> Diagnostic:
    """The two views read the ID differently; a target that is not sure is refused."""
    words: dict[str, str | int] = {
        "id": mention.written,
        "value": title(reading.meanings[mention.written], reading, draft),
        "other": title(reading.doubtful[mention.written], reading, draft),
        "version": reading.base.number,
    }
    if mention.field != "target_id":
        return told(block, merging_codes.AMBIGUOUS_ID, mention.path, **words)
    words["operation"] = block.written("operation") or ""
    return told(block, merging_codes.AMBIGUOUS_TARGET, mention.path, **words)


def title(target: Target | None, reading: ResolvedIds, draft: Draft) -> str:
    """What people call an item, or one that a block of the message adds."""
    if isinstance(target, str):
        return draft.title(target)
    if target is None:
        return "nothing"
    delta = reading.contribution.blocks[target - 1].delta
    called = (delta.payload.get("name") or delta.payload.get("condition")) if delta else None
    return str(called or f"block {target}")


def collisions(meant: Mapping[str, Target | None], found: Iterable[Mention]) -> list[Collision]:
    """The pairs of keys of one map that mean the same item."""
    seen: dict[tuple[str, Target | None], str] = {}
    pairs = []
    for mention in found:
        if mention.path[-1] != mention.written:
            continue  # not the key of a map
        target = meant[mention.written]
        other = seen.setdefault((mention.field, target), mention.written)
        if other != mention.written:
            pairs.append(Collision(mention, other, target))
    return pairs


def colliding(block: DeltaBlock, collision: Collision) -> Diagnostic:
    """Two keys mean the same item."""
    mention, other, target = collision
    item = target if isinstance(target, str) else f"the item of block {target}"
    words = {"key": other, "other": mention.written, "where": mention.field, "id": item}
    return told(block, merging_codes.COLLIDING_KEYS, mention.path, **words)


def already_killed(block: DeltaBlock, path: Path, item_id: str, by: str) -> Diagnostic:
    """The item takes no more changes."""
    return told(block, merging_codes.TARGET_KILLED, path, id=item_id, name=by)


def section_full(block: DeltaBlock, section: str, most: int) -> Diagnostic:
    """There is no room for another active item."""
    return told(
        block, merging_codes.SECTION_LIMIT_EXCEEDED, ("section",), section=section, most=most
    )


_NOTHING_MEANT: Meanings = MappingProxyType({})
# Why a block is refused. The words, which take long, are found only when the last walk is over.
Reason = Callable[[], Diagnostic]


class BlockDecision(NamedTuple):
    """What becomes of one block; `meant` is what its IDs mean, `key` what it is compared by."""

    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...] = ()
    meant: Meanings = _NOTHING_MEANT
    key: Key | None = None
    reasons: tuple[Reason, ...] = ()


class Decisions(NamedTuple):
    """The fate of every block, in order, and the ID that each ADD gets."""

    fates: list[BlockDecision]
    numbers: Mapping[int, str]


def decide(reading: ResolvedIds, draft: Draft, author: Author) -> Decisions:
    """Decide about a whole message."""
    disappointed: dict[int, int] = {}
    while True:
        walk = _Walk(reading, draft, author, disappointed)
        fates = [walk.decide(block) for block in reading.contribution.blocks]
        more = walk.newly_disappointed()
        if not more:
            return Decisions([_in_words(fate) for fate in fates], walk.numbers)
        disappointed |= more


def _in_words(fate: BlockDecision) -> BlockDecision:
    if not fate.reasons:
        return fate
    told = [reason() for reason in fate.reasons[:MOST_TOLD]]
    return fate._replace(diagnostics=(*fate.diagnostics, *told), reasons=())


class _Walk:
    """One walk over the blocks. It remembers what they would do, and does nothing."""

    def __init__(
        self, reading: ResolvedIds, draft: Draft, author: Author, disappointed: Mapping[int, int]
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

    def decide(self, block: DeltaBlock) -> BlockDecision:
        """The fate of the next block."""
        delta = block.delta
        if delta is None:
            # Where there are too many blocks the first one carries the reason for all.
            reasons = block.diagnostics or self._reading.contribution.blocks[0].diagnostics
            return BlockDecision(Outcome.REFUSED, reasons)
        reading = self._reading
        meant = reading.meant(block.number)
        is_plain = is_as_written(meant) and reading.doubtful.keys().isdisjoint(meant)
        refused = () if is_plain else tuple(self._unclear(block, meant))
        key = None
        if not refused:
            key, first = self._compared(block, delta, meant)
            if first is not None:
                said = (*block.diagnostics, _repeats(block, first))
                return BlockDecision(Outcome.DUPLICATE, said, meant, key)
            refused = tuple(self._forbidden(block, delta, meant))
        if refused:
            self._refused.add(block.number)
            return BlockDecision(Outcome.REFUSED, block.diagnostics, meant, key, refused)
        self._remember(block.number, delta, meant)
        return BlockDecision(Outcome.APPLIED, block.diagnostics, meant, key)

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
            yield from (partial(unknown, block, each, reading, draft) for each in lost)
            return
        target_id = found[0]
        if target_id.field == "target_id" and target_id.written in reading.doubtful:
            yield partial(ambiguous, block, target_id, reading, draft)
            return
        for each in found:
            target = meant[each.written]
            if target in self._refused or self._disappointed.get(block.number) == target:
                yield partial(self._told_dependent, block, each, cast("int", target))
                return
        for collision in collisions(meant, found):
            yield partial(colliding, block, collision)

    def _told_dependent(self, block: DeltaBlock, mention: Mention, first: int) -> Diagnostic:
        if first in self._refused:
            return depends_on_refused(block, mention, first)
        # With this block there was no room for the one that it names; without it there is.
        section = block.written("section") or ""
        return section_full(block, section, MOST_ACTIVE_HYPOTHESES)

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
            yield partial(section_full, block, delta.section, MOST_ACTIVE_HYPOTHESES)

    def _is_killed(self, target: Target | None) -> bool:
        return target in self._killed or (isinstance(target, str) and self._draft.is_killed(target))

    def _told_killed(self, block: DeltaBlock, path: tuple[str, ...], written: str) -> Diagnostic:
        target = self._reading.meanings[written]
        item = self._draft.items.get(target) if isinstance(target, str) else None
        killed = item.killed if item else None
        by = killed.agent if killed else self._reading.contribution.posted.message.sender
        return already_killed(block, path, target if isinstance(target, str) else written, by)

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
    return merging_codes.DUPLICATE_BLOCK.at(block.line, **words).in_block(
        block.number, first.item_id
    )


def final_ids(meant: Meanings, numbers: Mapping[int, str]) -> dict[str, str]:
    """What each ID is finally called; an ADD that was refused is called nothing."""
    return {
        written: target if isinstance(target, str) else numbers[target]
        for written, target in meant.items()
        if target is not None and (isinstance(target, str) or target in numbers)
    }


# What a compile says of a block beside its fate: rewritten IDs, doubtful ones, both readings.


class FinalBlock(NamedTuple):
    """A block with its IDs as they are finally numbered, and what is to be said of it.

    `meant_id` is what the target of a refused block means, where that can be told.
    """

    block: DeltaBlock
    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...]
    item_id: str | None = None
    payload: Mapping[str, object] = MappingProxyType({})
    rewrites: tuple[Rewrite, ...] = ()
    key: Key | None = None
    meant_id: str | None = None


def settle(reading: ResolvedIds, verdict: Decisions, draft: Draft) -> Iterator[FinalBlock]:
    """Every block of a message, settled, in order."""
    may_have_moved = _may_have_moved(reading, verdict, draft)
    for block, fate in zip(reading.contribution.blocks, verdict.fates, strict=True):
        delta = block.delta
        if fate.outcome is Outcome.REFUSED or delta is None:
            said = tuple(
                _with_readings(each, block, reading, verdict, draft) for each in fate.diagnostics
            )
            target = delta.target_id if delta else None
            meant = final_ids(fate.meant, verdict.numbers).get(target or "")
            yield FinalBlock(block, Outcome.REFUSED, said, meant_id=meant)
            continue
        said, payload, target = fate.diagnostics, delta.payload, delta.target_id
        rewrites: tuple[Rewrite, ...] = ()
        ids = final_ids(fate.meant, verdict.numbers)
        if not is_as_written(ids):
            rewrites = _rewrites(reading.mentions[block.number], ids)
            payload = with_ids(delta, ids, draft.thread_id)
        if fate.outcome is Outcome.APPLIED:
            if rewrites or not reading.doubtful.keys().isdisjoint(ids):
                said += tuple(_on_ids(block, rewrites, reading, draft))
            if may_have_moved:
                said += tuple(_on_prose(block, reading, verdict))
        item_id = verdict.numbers[block.number] if target is None else ids[target]
        yield FinalBlock(block, fate.outcome, said, item_id, payload, rewrites, fate.key)


def _rewrites(found: list[Mention], ids: Mapping[str, str]) -> tuple[Rewrite, ...]:
    """The IDs that are finally called otherwise than they were written, once per field."""
    changed = {
        (each.field, each.written): ids[each.written]
        for each in found
        if ids[each.written] != each.written
    }
    return tuple(Rewrite(field, old, new) for (field, old), new in changed.items())


def _may_have_moved(reading: ResolvedIds, verdict: Decisions, draft: Draft) -> bool:
    """Whether the author's own items can have other numbers than she counted on."""
    counts = reading.views.chosen.counts
    applied = sum(fate.outcome is Outcome.APPLIED for fate in verdict.fates)
    return applied < len(verdict.fates) or any(counts[p] != draft.counts[p] for p in counts)


def _on_ids(
    block: DeltaBlock, rewrites: tuple[Rewrite, ...], reading: ResolvedIds, draft: Draft
) -> Iterator[Diagnostic]:
    """The IDs in doubt, and those that were rewritten."""
    places = {(each.field, each.written): each for each in reversed(reading.mentions[block.number])}
    doubtful = {each.written: each for each in places.values() if each.written in reading.doubtful}
    for mention in list(doubtful.values())[:MOST_TOLD]:
        yield ambiguous(block, mention, reading, draft)
    for field, old, new in rewrites[:MOST_TOLD]:
        if not old.startswith("@"):  # a local name is exact, and is always replaced
            path = places[field, old].path
            yield told(block, merging_codes.ID_REWRITTEN, path, id=old, where=field, other=new)


def _on_prose(block: DeltaBlock, reading: ResolvedIds, verdict: Decisions) -> Iterator[Diagnostic]:
    """The mentions, in texts that are never altered, of items that are called otherwise now."""
    meaning = reading.views.chosen.meaning
    reported = 0
    for path, item_id in in_prose(block.delta) if block.delta else ():
        target = meaning(item_id)
        final = verdict.numbers.get(target) if isinstance(target, int) else target
        if final is not None and final != item_id and reported < MOST_TOLD:
            reported += 1
            words = {"where": str(path[1]), "id": item_id, "other": final}
            yield told(block, merging_codes.REWRITTEN_ID_IN_PROSE, path, **words)


def _with_readings(
    found: Diagnostic, block: DeltaBlock, reading: ResolvedIds, verdict: Decisions, draft: Draft
) -> Diagnostic:
    """A target that can mean two items: the block for each of them, ready to send."""
    if found.code is not merging_codes.AMBIGUOUS_TARGET or block.delta is None:
        return found
    meant = reading.meant(block.number)
    ready = []
    other = {written: reading.doubtful.get(written, each) for written, each in meant.items()}
    for reading_of in (meant, other):
        ids = final_ids(reading_of, verdict.numbers)
        if len(ids) == len(meant):
            payload = with_ids(block.delta, ids, draft.thread_id)
            target_id = ids[block.delta.target_id or ""]
            ready.append(render_delta(block.delta._replace(target_id=target_id, payload=payload)))
    return found._replace(readings=tuple(ready))
