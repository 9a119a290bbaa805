"""Decide the outcome of each block of a message before anything is changed (R7, R8, R11).

Blocks are processed in order, but a block may name an item that a later block adds. So a pass over
the blocks assumes that every later ADD will be applied. If one is refused, the earlier blocks that
depend on it are refused, and the pass is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from brenner.artifact.merge.resolve import (
    IdMention,
    JsonPath,
    Meanings,
    ResolvedIds,
    Target,
    are_unchanged,
    ids_in_prose,
    rewrite_ids,
)
from brenner.artifact.model import MAX_ACTIVE_HYPOTHESES, NOT_APPLICABLE
from brenner.artifact.state import (
    APPLIED,
    DUPLICATE,
    REFUSED,
    AppliedBlock,
    AuthorHistoryBuilder,
    BlockKey,
    BlockOutcome,
    EditedField,
    RewrittenId,
    block_key,
    edited_fields,
)
from brenner.diagnostics.codes import deltas as deltas_codes
from brenner.diagnostics.codes import merging as merging_codes
from brenner.diagnostics.model import Code, Diagnostic
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import line_at, render_delta
from brenner.protocol.delta.problems import format_path
from brenner.protocol.delta.schema import (
    ADD,
    EDIT,
    HYPOTHESIS_SLATE,
    KILL,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SECTIONS,
    Delta,
    DeltaBlock,
    list_items,
)

if TYPE_CHECKING:
    from brenner.artifact.merge.draft import ArtifactDraft

# Diagnostics about a block


MAX_REPORTED = 20  # diagnostics of one kind per block; more would add nothing


def block_diagnostic(
    block: DeltaBlock, code: Code, path: JsonPath, **words: str | int
) -> Diagnostic:
    """Return a diagnostic at a path in a block."""
    found = code.at(line_at(block, path), **words)
    return found.in_block(block.number, block.written("target_id"), format_path(path))


def unknown_id(
    block: DeltaBlock, mention: IdMention, resolved: ResolvedIds, draft: ArtifactDraft
) -> Diagnostic:
    """Return the diagnostic for an ID that does not exist."""
    known = _existing_items(mention.written, resolved, draft)
    plain = _existing_items(mention.written, resolved, draft, are_named=False)
    if mention.field == "target_id":
        default = SECTIONS[block.written("section") or ""].example_id
        return block_diagnostic(
            block,
            deltas_codes.INVALID_TARGET,
            mention.path,
            target=mention.written,
            reason="does not exist",
            known=known,
            known_ids=plain,
            example=next(iter(_active_ids(mention.written, resolved, draft)), default),
            suggestion="",
        )
    words = {"where": mention.field, "id": mention.written, "suggestion": ""}
    words |= {"known": known, "known_ids": plain}
    return block_diagnostic(block, merging_codes.UNKNOWN_ITEM, mention.path, **words)


def _existing_items(
    written: str, resolved: ResolvedIds, draft: ArtifactDraft, *, are_named: bool = True
) -> str:
    """Describe the active items of that section that the author could have seen."""
    base = resolved.base
    is_base = base.number and resolved.view.counts == base.counts
    active = _active_ids(written, resolved, draft)
    titles = {each: draft.title(each) for each in active[:MAX_REPORTED]} if are_named else {}
    where = f"in v{base.number}" if is_base else "before this message"
    return list_items(written[:1], active, where, titles)


def _active_ids(written: str, resolved: ResolvedIds, draft: ArtifactDraft) -> list[str]:
    prefix = written[:1]
    # Before v1, a number can mean any item of the thread.
    counts = resolved.view.counts if resolved.base.number else draft.counts
    ids = (f"{prefix}{number}" for number in range(1, counts.get(prefix, 0) + 1))
    return [each for each in ids if each in draft.items and not draft.is_killed(each)]


def ambiguous_id(
    block: DeltaBlock, mention: IdMention, resolved: ResolvedIds, draft: ArtifactDraft
) -> Diagnostic:
    """Return the diagnostic for an ID that the two numbering views read differently.

    An ambiguous target is an error; any other ambiguous ID is a warning.
    """
    words: dict[str, str | int] = {
        "id": mention.written,
        "value": target_title(resolved.meanings[mention.written], resolved, draft),
        "other": target_title(resolved.ambiguous[mention.written], resolved, draft),
        "version": resolved.base.number,
    }
    if mention.field != "target_id":
        return block_diagnostic(block, merging_codes.AMBIGUOUS_ID, mention.path, **words)
    words["operation"] = block.written("operation") or ""
    return block_diagnostic(block, merging_codes.AMBIGUOUS_TARGET, mention.path, **words)


def target_title(target: Target | None, resolved: ResolvedIds, draft: ArtifactDraft) -> str:
    """Return the title of an item, or of one that a block of the message adds."""
    if isinstance(target, str):
        return draft.title(target)
    if target is None:
        return "nothing"
    delta = resolved.message.blocks[target - 1].delta
    called = (delta.payload.get("name") or delta.payload.get("condition")) if delta else None
    return str(called or f"block {target}")


def find_collisions(
    meanings: Meanings, found: Iterable[IdMention]
) -> Iterator[tuple[IdMention, str]]:
    """Yield each key of a map that refers to the same item as an earlier one, with that one."""
    seen: dict[tuple[str, Target | None], str] = {}
    for mention in found:
        if mention.path[-1] == mention.written:  # else it is not the key of a map
            place = (mention.field, meanings[mention.written])
            other = seen.setdefault(place, mention.written)
            if other != mention.written:
                yield mention, other


def colliding_keys(
    block: DeltaBlock, mention: IdMention, other: str, target: Target | None
) -> Diagnostic:
    """Return the diagnostic for two keys that refer to the same item."""
    item = target if isinstance(target, str) else f"the item of block {target}"
    words = {"key": other, "other": mention.written, "where": mention.field, "id": item}
    return block_diagnostic(block, merging_codes.COLLIDING_KEYS, mention.path, **words)


def section_full(block: DeltaBlock, section: str, most: int) -> Diagnostic:
    """Return the diagnostic for an ADD beyond the maximum number of active items."""
    return block_diagnostic(
        block, merging_codes.SECTION_LIMIT_EXCEEDED, ("section",), section=section, most=most
    )


# Decisions

_NO_MEANINGS: Meanings = MappingProxyType({})
# The reason for a refusal. Building the text is slow, so it is done only after the last pass.
LazyDiagnostic = Callable[[], Diagnostic]


class BlockDecision(NamedTuple):
    """A block with its outcome and its diagnostics; later also with its final IDs.

    `meanings` is what its IDs refer to; `key` is for finding duplicates. `item_id`, `payload` and
    `rewrites` are set in the end. `meant_id` is the item that the target of a refused block refers
    to, if known.
    """

    block: DeltaBlock
    outcome: BlockOutcome
    diagnostics: tuple[Diagnostic, ...] = ()
    meanings: Meanings = _NO_MEANINGS
    key: BlockKey | None = None
    reasons: tuple[LazyDiagnostic, ...] = ()
    item_id: str | None = None
    payload: Mapping[str, object] = MappingProxyType({})
    rewrites: tuple[RewrittenId, ...] = ()
    meant_id: str | None = None


def decide(
    resolved: ResolvedIds, draft: ArtifactDraft, author: AuthorHistoryBuilder, operator: str
) -> tuple[list[BlockDecision], Mapping[int, str]]:
    """Decide about all blocks of a message. Return also the ID that each ADD receives."""
    invalidated: dict[int, int] = {}
    while True:
        attempt = _DecisionPass(resolved, draft, author, operator, invalidated)
        decisions = [attempt.decide(block) for block in resolved.message.blocks]
        more = attempt.newly_invalidated()
        if not more:
            return [*map(_with_diagnostics, decisions)], attempt.numbers
        invalidated |= more


def _with_diagnostics(decision: BlockDecision) -> BlockDecision:
    if not decision.reasons:
        return decision
    diagnostics = [reason() for reason in decision.reasons[:MAX_REPORTED]]
    return decision._replace(diagnostics=(*decision.diagnostics, *diagnostics), reasons=())


class _DecisionPass:
    """One pass over the blocks. It records what they would do and changes nothing."""

    def __init__(
        self,
        resolved: ResolvedIds,
        draft: ArtifactDraft,
        author: AuthorHistoryBuilder,
        operator: str,
        invalidated: Mapping[int, int],
    ) -> None:
        self.numbers = {number: first.item_id for number, first in resolved.originals.items()}
        self._resolved = resolved
        self._draft = draft
        self._author = author
        self._is_operator = resolved.message.posted.message.sender == operator
        self._invalidated = invalidated
        self._refused = {b.number for b in resolved.message.blocks if b.delta is None}
        self._counts = dict(draft.counts)
        self._active = draft.active_hypotheses
        self._killed: set[Target] = set()
        self._edits: dict[Target, list[tuple[Delta, Meanings]]] = {}
        self._fields_edited: dict[str, dict[str, dict[str, EditedField]]] = {}
        self._dependencies: list[tuple[int, int]] = []

    def decide(self, block: DeltaBlock) -> BlockDecision:
        delta = block.delta
        if delta is None:
            # If there are too many blocks, the first one has the reason for all.
            reasons = block.diagnostics or self._resolved.message.blocks[0].diagnostics
            return BlockDecision(block, REFUSED, reasons)
        resolved = self._resolved
        meanings = resolved.block_meanings(block.number)
        is_plain = are_unchanged(meanings) and resolved.ambiguous.keys().isdisjoint(meanings)
        refused = () if is_plain else tuple(self._id_problems(block, meanings))
        key = None
        if not refused:
            key, first = self._find_duplicate(block, delta, meanings, is_plain)
            if first is not None:
                diagnostics = (*block.diagnostics, _duplicate_diagnostic(block, first))
                return BlockDecision(block, DUPLICATE, diagnostics, meanings, key)
            refused = self._state_problems(block, delta, meanings)
        if refused:
            self._refused.add(block.number)
            return BlockDecision(block, REFUSED, block.diagnostics, meanings, key, refused)
        self._record(block.number, delta, meanings)
        return BlockDecision(block, APPLIED, block.diagnostics, meanings, key)

    def newly_invalidated(self) -> dict[int, int]:
        """Return the blocks that depend on a later ADD which is refused after all.

        Include the blocks that depend on these, and so on. So a long chain takes one more pass, not
        one for each of its links.
        """
        counting_on: dict[int, list[int]] = {}
        for number, on in self._dependencies:
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

    def _id_problems(self, block: DeltaBlock, meanings: Meanings) -> Iterator[LazyDiagnostic]:
        """Yield the reasons why the IDs of a block cannot be resolved."""
        resolved, draft = self._resolved, self._draft
        found = resolved.mentions[block.number]
        lost = [each for each in found if meanings[each.written] is None]
        if lost:
            yield from (partial(unknown_id, block, each, resolved, draft) for each in lost)
            return
        target_id = found[0]
        if target_id.field == "target_id" and target_id.written in resolved.ambiguous:
            yield partial(ambiguous_id, block, target_id, resolved, draft)
            return
        for each in found:
            target = meanings[each.written]
            if target in self._refused or self._invalidated.get(block.number) == target:
                yield partial(self._dependency_diagnostic, block, each, cast("int", target))
                return
        for each, other in find_collisions(meanings, found):
            yield partial(colliding_keys, block, each, other, meanings[other])

    def _dependency_diagnostic(
        self, block: DeltaBlock, mention: IdMention, first: int
    ) -> Diagnostic:
        if first in self._refused:
            code, words = deltas_codes.DEPENDS_ON_REFUSED, {"name": mention.written}
            return block_diagnostic(block, code, mention.path, first=first, **words)
        # Only this block makes the section too full for the item that it names.
        section = block.written("section") or ""
        return section_full(block, section, MAX_ACTIVE_HYPOTHESES)

    def _find_duplicate(
        self, block: DeltaBlock, delta: Delta, meanings: Meanings, is_plain: bool
    ) -> tuple[BlockKey | None, AppliedBlock | None]:
        """Return the block's key, and the applied block that it repeats, if any (R8).

        In a plain block every ID refers to the item with that number.
        """
        resolved = self._resolved
        if delta.operation is ADD:
            return resolved.keys.get(block.number), resolved.originals.get(block.number)
        if not self._author.count:
            return None, None
        item_id, payload = delta.target_id or "", delta.payload
        if not is_plain:
            ids = {written: each for written, each in meanings.items() if isinstance(each, str)}
            if len(ids) < len(meanings):
                return None, None
            item_id = ids[item_id]
            payload = rewrite_ids(delta, ids, self._draft.thread_id)
        key = block_key(delta, item_id, payload, resolved.base.number)
        firsts = self._author.equal_blocks(key)
        if not firsts or delta.operation is KILL:
            return key, firsts[0] if firsts else None
        edited = edited_fields(delta, payload)
        is_changed = self._author.has_changed_since(firsts[0], edited) or any(
            above.disagrees(field)
            for field in edited
            for above in self._earlier_edits(item_id).get(field.name, {}).values()
        )
        return key, None if is_changed else firsts[0]

    def _earlier_edits(self, item_id: str) -> Mapping[str, Mapping[str, EditedField]]:
        """Return the edits of an item by earlier blocks, by field, without repetitions.

        Each block is read once, however many later blocks are compared with it.
        """
        by_field = self._fields_edited.setdefault(item_id, {})
        for delta, meanings in self._edits.pop(item_id, ()):
            ids = {written: str(target) for written, target in meanings.items()}
            for field in edited_fields(delta, rewrite_ids(delta, ids, self._draft.thread_id)):
                by_field.setdefault(field.name, {})[field.key] = field
        return by_field

    def _state_problems(
        self, block: DeltaBlock, delta: Delta, meanings: Meanings
    ) -> tuple[LazyDiagnostic, ...]:
        """Return the reasons why the artifact's state forbids the block."""
        operation, section, target_id = delta.operation, delta.section, delta.target_id or ""
        if section == RESEARCH_THREAD.id and not self._is_operator:
            return tuple(_operator_fields(block, delta))
        if operation is EDIT and self._is_killed(meanings[target_id]):
            return (partial(self._killed_diagnostic, block, ("target_id",), target_id),)
        if section == PREDICTIONS_TABLE.id and operation is not KILL:
            cells = cast("Mapping[str, str]", delta.payload.get("predictions", {}))
            return tuple(
                partial(self._killed_diagnostic, block, ("payload", "predictions", key), key)
                for key, outcome in cells.items()
                if outcome != NOT_APPLICABLE and self._is_killed(meanings[key])
            )
        is_hypothesis = section == HYPOTHESIS_SLATE.id and operation is ADD
        if is_hypothesis and self._active >= MAX_ACTIVE_HYPOTHESES:
            return (partial(section_full, block, section, MAX_ACTIVE_HYPOTHESES),)
        return ()

    def _is_killed(self, target: Target | None) -> bool:
        return target in self._killed or (isinstance(target, str) and self._draft.is_killed(target))

    def _killed_diagnostic(
        self, block: DeltaBlock, path: tuple[str, ...], written: str
    ) -> Diagnostic:
        target = self._resolved.meanings[written]
        item = self._draft.items.get(target) if isinstance(target, str) else None
        killed = item.killed if item else None
        words = {
            "id": target if isinstance(target, str) else written,
            "name": killed.agent if killed else self._resolved.message.posted.message.sender,
            "session": self._draft.thread_id,
        }
        is_target = path == ("target_id",)
        words["how"] = merging_codes.NOT_AGAIN if is_target else merging_codes.WITHOUT_IT
        words["counts"] = merging_codes.COUNTS_AS_CORRECTION if is_target else ""
        return block_diagnostic(block, merging_codes.TARGET_KILLED, path, **words)

    def _record(self, number: int, delta: Delta, meanings: Meanings) -> None:
        for each in meanings.values():
            if isinstance(each, int):
                self._dependencies.append((number, each))
        is_hypothesis = delta.section == HYPOTHESIS_SLATE.id
        if delta.operation is ADD:
            prefix = SECTIONS[delta.section].prefix
            self._counts[prefix] += 1
            self.numbers[number] = f"{prefix}{self._counts[prefix]}"
            self._active += is_hypothesis and number not in self._killed
            return
        target = cast("Target", meanings[delta.target_id or ""])
        if delta.operation is EDIT:
            self._edits.setdefault(target, []).append((delta, meanings))
        elif not self._is_killed(target):
            self._killed.add(target)
            # An item that a later block adds does not count as active yet.
            self._active -= is_hypothesis and (isinstance(target, str) or target < number)


def _operator_fields(block: DeltaBlock, delta: Delta) -> Iterator[LazyDiagnostic]:
    """Yield the reasons against a block that sets a field which only the operator may set (R29)."""
    for name, field in SECTIONS[delta.section].fields.items():
        if field.operator_only and name in delta.payload:
            code, path = merging_codes.OPERATOR_ONLY_FIELD, ("payload", name)
            yield partial(block_diagnostic, block, code, path, name=name)


def _duplicate_diagnostic(block: DeltaBlock, first: AppliedBlock) -> Diagnostic:
    words = {"message_id": first.message_id, "number": first.block}
    return merging_codes.DUPLICATE_BLOCK.at(block.line, **words).in_block(
        block.number, first.item_id
    )


def final_ids(meanings: Meanings, numbers: Mapping[int, str]) -> dict[str, str]:
    """Return the final ID of each written ID. Leave out those whose ADD was refused."""
    return {
        written: target if isinstance(target, str) else numbers[target]
        for written, target in meanings.items()
        if target is not None and (isinstance(target, str) or target in numbers)
    }


# Final IDs, and warnings about rewritten and ambiguous IDs


def finalise_blocks(
    resolved: ResolvedIds,
    decisions: list[BlockDecision],
    numbers: Mapping[int, str],
    draft: ArtifactDraft,
) -> Iterator[BlockDecision]:
    """Yield every block of a message with its final IDs, in order."""
    resolve = None
    if _may_have_moved(resolved, decisions, draft):
        resolve = cache(resolved.view.resolve)
    for decision in decisions:
        block, outcome, diagnostics, meanings, key = decision[:5]
        delta = block.delta
        if outcome is REFUSED or delta is None:
            yield decision._replace(
                diagnostics=tuple(
                    _with_readings(each, block, resolved, numbers, draft) for each in diagnostics
                ),
                meant_id=final_ids(meanings, numbers).get((delta and delta.target_id) or ""),
            )
            continue
        payload, target = delta.payload, delta.target_id
        rewrites: tuple[RewrittenId, ...] = ()
        item_id = numbers[block.number] if target is None else target
        if not are_unchanged(meanings):
            ids = final_ids(meanings, numbers)
            rewrites = _rewrites(resolved.mentions[block.number], ids)
            payload = rewrite_ids(delta, ids, draft.thread_id)
            if target is not None:
                item_id = ids[target]
        if outcome is APPLIED:
            if rewrites or not resolved.ambiguous.keys().isdisjoint(meanings):
                diagnostics += tuple(_id_diagnostics(block, rewrites, resolved, draft))
            if resolve:
                diagnostics += tuple(_prose_diagnostics(block, resolve, numbers))
        yield BlockDecision(
            block, outcome, diagnostics, meanings, key, (), item_id, payload, rewrites
        )


def _rewrites(found: list[IdMention], ids: Mapping[str, str]) -> tuple[RewrittenId, ...]:
    """Return the IDs whose final form differs from the written one, once per field."""
    changed = {
        (each.field, each.written): ids[each.written]
        for each in found
        if ids[each.written] != each.written
    }
    return tuple(RewrittenId(field, old, new) for (field, old), new in changed.items())


def _may_have_moved(
    resolved: ResolvedIds, decisions: list[BlockDecision], draft: ArtifactDraft
) -> bool:
    """Return whether the author's own items can have other numbers than the author expected."""
    counts = resolved.view.counts
    is_applied = all(each.outcome is APPLIED for each in decisions)
    return not is_applied or any(counts[p] != draft.counts[p] for p in counts)


def _id_diagnostics(
    block: DeltaBlock,
    rewrites: tuple[RewrittenId, ...],
    resolved: ResolvedIds,
    draft: ArtifactDraft,
) -> Iterator[Diagnostic]:
    places = {
        (each.field, each.written): each for each in reversed(resolved.mentions[block.number])
    }
    doubtful = {
        each.written: each for each in places.values() if each.written in resolved.ambiguous
    }
    for mention in list(doubtful.values())[:MAX_REPORTED]:
        yield ambiguous_id(block, mention, resolved, draft)
    for field, old, new in rewrites[:MAX_REPORTED]:
        if not old.startswith("@"):  # a local name is exact, and is always replaced
            path = places[field, old].path
            yield block_diagnostic(
                block, merging_codes.ID_REWRITTEN, path, id=old, where=field, other=new
            )


def _prose_diagnostics(
    block: DeltaBlock, meaning: Callable[[str], Target | None], numbers: Mapping[int, str]
) -> Iterator[Diagnostic]:
    """Yield warnings for rewritten IDs that occur in prose, which is never changed."""
    reported = 0
    for path, item_id in ids_in_prose(block.delta) if block.delta else ():
        target = meaning(item_id)
        final = numbers.get(target) if isinstance(target, int) else target
        if final is not None and final != item_id and reported < MAX_REPORTED:
            reported += 1
            words = {"where": str(path[1]), "id": item_id, "other": final}
            yield block_diagnostic(block, merging_codes.REWRITTEN_ID_IN_PROSE, path, **words)


def _with_readings(
    found: Diagnostic,
    block: DeltaBlock,
    resolved: ResolvedIds,
    numbers: Mapping[int, str],
    draft: ArtifactDraft,
) -> Diagnostic:
    """Add a ready-to-send block for each of the two items that an ambiguous target can mean."""
    if found.code is not merging_codes.AMBIGUOUS_TARGET or block.delta is None:
        return found
    meanings = resolved.block_meanings(block.number)
    ready = []
    other = {written: resolved.ambiguous.get(written, each) for written, each in meanings.items()}
    for reading in (meanings, other):
        ids = final_ids(reading, numbers)
        if len(ids) == len(meanings):
            payload = rewrite_ids(block.delta, ids, draft.thread_id)
            target_id = ids[block.delta.target_id or ""]
            ready.append(render_delta(block.delta._replace(target_id=target_id, payload=payload)))
    return found._replace(readings=tuple(ready))
