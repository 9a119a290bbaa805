"""What a compile says of a block beside its fate: rewritten IDs, doubtful ones, both readings."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from brenner.artifact import refusals
from brenner.artifact.decide import Fate, Verdict, final_ids, is_ambiguous
from brenner.artifact.draft import Draft
from brenner.artifact.ledger import Outcome, Rewrite
from brenner.artifact.mentions import Mention, in_prose, with_ids
from brenner.artifact.reading import Reading
from brenner.delta.model import DeltaBlock
from brenner.delta.render import render_delta
from brenner.diagnostics.codes import merge as codes
from brenner.diagnostics.model import Diagnostic


class Settled(NamedTuple):
    """A block with its IDs as they are finally numbered, and what is to be said of it."""

    block: DeltaBlock
    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...]
    item_id: str | None = None
    payload: Mapping[str, object] = {}
    rewrites: tuple[Rewrite, ...] = ()


def settle(reading: Reading, verdict: Verdict, draft: Draft, thread_id: str) -> Iterator[Settled]:
    """Every block of a message, settled, in order."""
    moved = _moved(reading, verdict.numbers)
    for block, fate in zip(reading.contribution.blocks, verdict.fates, strict=True):
        if fate.outcome is Outcome.REFUSED or block.delta is None:
            said = tuple(_with_readings(each, block, reading, verdict) for each in fate.diagnostics)
            yield Settled(block, Outcome.REFUSED, said)
            continue
        ids = final_ids(fate.meant, verdict.numbers)
        rewrites = _rewrites(reading.mentions[block.number], ids)
        payload = with_ids(block.delta, ids, thread_id) if rewrites else block.delta.payload
        target = block.delta.target_id
        item_id = verdict.numbers[block.number] if target is None else ids[target]
        said = fate.diagnostics
        if fate.outcome is Outcome.APPLIED and (rewrites or moved or ids):
            said = (*said, *_doubts(block, fate, reading, draft))
            said = (*said, *_rewritten(block, rewrites, reading), *_in_prose(block, moved))
        yield Settled(block, fate.outcome, said, item_id, payload, rewrites)


def _rewrites(found: list[Mention], ids: Mapping[str, str]) -> tuple[Rewrite, ...]:
    """The IDs that are finally called otherwise than they were written, once per field."""
    changed = {
        (each.field, each.written): ids[each.written]
        for each in found
        if ids[each.written] != each.written
    }
    return tuple(Rewrite(field, old, new) for (field, old), new in changed.items())


def _moved(reading: Reading, numbers: Mapping[int, str]) -> dict[str, str]:
    """The author's own items whose numbers are not the ones that she counted on."""
    view = reading.views.chosen
    moved = {}
    for prefix, own in view.own.items():
        for number, target in enumerate(own, view.counts[prefix] + 1):
            final = numbers.get(target) if isinstance(target, int) else target
            if final is not None and final != f"{prefix}{number}":
                moved[f"{prefix}{number}"] = final
    return moved


def _doubts(block: DeltaBlock, fate: Fate, reading: Reading, draft: Draft) -> Iterator[Diagnostic]:
    """The IDs that the thread view would read otherwise."""
    found = reading.mentions[block.number]
    doubtful = {e.written: e for e in found if is_ambiguous(reading, e.written, fate.meant)}
    for mention in list(doubtful.values())[: refusals.MOST_TOLD]:
        yield refusals.ambiguous(block, mention, reading, draft)


def _rewritten(
    block: DeltaBlock, rewrites: tuple[Rewrite, ...], reading: Reading
) -> Iterator[Diagnostic]:
    """Each ID that was rewritten; a local name is exact, and is always replaced."""
    places = {(e.field, e.written): e.path for e in reversed(reading.mentions[block.number])}
    for field, old, new in rewrites[: refusals.MOST_TOLD]:
        if not old.startswith("@"):
            path = places[field, old]
            yield refusals.told(block, codes.ID_REWRITTEN, path, id=old, where=field, other=new)


def _in_prose(block: DeltaBlock, moved: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Each mention, in a text that is never altered, of an item that is now called otherwise."""
    if moved and block.delta is not None:
        for path, item_id in in_prose(block.delta):
            if item_id in moved:
                words = {"where": str(path[1]), "id": item_id, "other": moved[item_id]}
                yield refusals.told(block, codes.REWRITTEN_ID_IN_PROSE, path, **words)


def _with_readings(
    found: Diagnostic, block: DeltaBlock, reading: Reading, verdict: Verdict
) -> Diagnostic:
    """A target that can mean two items: the block for each of them, ready to send."""
    if found.code is not codes.AMBIGUOUS_TARGET or block.delta is None:
        return found
    written = [each.written for each in reading.mentions[block.number]]
    ready = []
    for meaning in (reading.meaning, reading.other_meaning):
        ids = final_ids({each: meaning(each) for each in written}, verdict.numbers)
        if len(ids) == len(set(written)):
            thread_id = reading.contribution.posted.message.thread_id
            payload = with_ids(block.delta, ids, thread_id)
            target_id = ids[block.delta.target_id or ""]
            ready.append(render_delta(block.delta._replace(target_id=target_id, payload=payload)))
    return found._replace(readings=tuple(ready))
