"""Why a block is refused at merge, and what else is worth saying of it, in words with lines."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from brenner.artifact.merging.draft import Draft
from brenner.artifact.merging.mentions import Mention, Path
from brenner.artifact.merging.numbering import Target
from brenner.artifact.merging.reading import Reading
from brenner.diagnostics.codes import deltas as deltas_codes
from brenner.diagnostics.codes import merging as merging_codes
from brenner.diagnostics.model import Code, Diagnostic
from brenner.protocol.delta.parse import line_at
from brenner.protocol.delta.schema import SECTIONS, DeltaBlock
from brenner.protocol.delta.validate import dotted
from brenner.protocol.grammar import ITEM_ID
from brenner.text import Suggestion, perhaps


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


def unknown(block: DeltaBlock, mention: Mention, reading: Reading, draft: Draft) -> Diagnostic:
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


def _nearest(written: str, reading: Reading, draft: Draft) -> Suggestion:
    """The last active item of that section which the message can have meant."""
    match = ITEM_ID.fullmatch(written)
    highest = reading.views.chosen.counts.get(match[1], 0) if match and match[1] else 0
    near = f"{match[1]}{min(int(match[2]), highest)}" if match and highest else ""
    return perhaps(near if near in draft.items and not draft.is_killed(near) else None)


def depends_on_refused(block: DeltaBlock, mention: Mention, first: int) -> Diagnostic:
    """The ID is that of an item whose ADD in the same message is refused."""
    code = deltas_codes.DEPENDS_ON_REFUSED
    return told(block, code, mention.path, name=mention.written, first=first)


def ambiguous(block: DeltaBlock, mention: Mention, reading: Reading, draft: Draft) -> Diagnostic:
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


def title(target: Target | None, reading: Reading, draft: Draft) -> str:
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


def killed(block: DeltaBlock, path: Path, item_id: str, by: str) -> Diagnostic:
    """The item takes no more changes."""
    return told(block, merging_codes.TARGET_KILLED, path, id=item_id, name=by)


def section_full(block: DeltaBlock, section: str, most: int) -> Diagnostic:
    """There is no room for another active item."""
    return told(
        block, merging_codes.SECTION_LIMIT_EXCEEDED, ("section",), section=section, most=most
    )
