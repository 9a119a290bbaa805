"""What a compile says of a block beside its fate: rewritten IDs, doubtful ones, both readings."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.ledger import Outcome, Rewrite
from brenner.artifact.merging import refusals
from brenner.artifact.merging.authors import Key
from brenner.artifact.merging.decide import Verdict, final_ids
from brenner.artifact.merging.draft import Draft
from brenner.artifact.merging.mentions import Mention, in_prose, with_ids
from brenner.artifact.merging.reading import Reading, is_as_written
from brenner.diagnostics.codes import merging as codes
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import DeltaBlock


class Settled(NamedTuple):
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


def settle(reading: Reading, verdict: Verdict, draft: Draft) -> Iterator[Settled]:
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
            yield Settled(block, Outcome.REFUSED, said, meant_id=meant)
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
        yield Settled(block, fate.outcome, said, item_id, payload, rewrites, fate.key)


def _rewrites(found: list[Mention], ids: Mapping[str, str]) -> tuple[Rewrite, ...]:
    """The IDs that are finally called otherwise than they were written, once per field."""
    changed = {
        (each.field, each.written): ids[each.written]
        for each in found
        if ids[each.written] != each.written
    }
    return tuple(Rewrite(field, old, new) for (field, old), new in changed.items())


def _may_have_moved(reading: Reading, verdict: Verdict, draft: Draft) -> bool:
    """Whether the author's own items can have other numbers than she counted on."""
    counts = reading.views.chosen.counts
    applied = sum(fate.outcome is Outcome.APPLIED for fate in verdict.fates)
    return applied < len(verdict.fates) or any(counts[p] != draft.counts[p] for p in counts)


def _on_ids(
    block: DeltaBlock, rewrites: tuple[Rewrite, ...], reading: Reading, draft: Draft
) -> Iterator[Diagnostic]:
    """The IDs in doubt, and those that were rewritten."""
    places = {(each.field, each.written): each for each in reversed(reading.mentions[block.number])}
    doubtful = {each.written: each for each in places.values() if each.written in reading.doubtful}
    for mention in list(doubtful.values())[: refusals.MOST_TOLD]:
        yield refusals.ambiguous(block, mention, reading, draft)
    for field, old, new in rewrites[: refusals.MOST_TOLD]:
        if not old.startswith("@"):  # a local name is exact, and is always replaced
            path = places[field, old].path
            yield refusals.told(block, codes.ID_REWRITTEN, path, id=old, where=field, other=new)


def _on_prose(block: DeltaBlock, reading: Reading, verdict: Verdict) -> Iterator[Diagnostic]:
    """The mentions, in texts that are never altered, of items that are called otherwise now."""
    meaning = reading.views.chosen.meaning
    told = 0
    for path, item_id in in_prose(block.delta) if block.delta else ():
        target = meaning(item_id)
        final = verdict.numbers.get(target) if isinstance(target, int) else target
        if final is not None and final != item_id and told < refusals.MOST_TOLD:
            told += 1
            words = {"where": str(path[1]), "id": item_id, "other": final}
            yield refusals.told(block, codes.REWRITTEN_ID_IN_PROSE, path, **words)


def _with_readings(
    found: Diagnostic, block: DeltaBlock, reading: Reading, verdict: Verdict, draft: Draft
) -> Diagnostic:
    """A target that can mean two items: the block for each of them, ready to send."""
    if found.code is not codes.AMBIGUOUS_TARGET or block.delta is None:
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
