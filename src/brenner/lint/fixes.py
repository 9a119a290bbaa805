"""Fixes that are deltas, ready to send. None is made up: each says what the item itself shows."""

from collections.abc import Iterator, Mapping, Sequence

from brenner.artifact.model import Item, order_of
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BLOCK_BYTES
from brenner.lint.anchors import mended
from brenner.lint.context import Context
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta, Operation, Section
from brenner.protocol.delta.validate import validate

# A delta that mends many violations of one item at once stands at the first few of them only:
# repeated at each, a long list of faults would make a report that grows with its square.
MOST_SHARING = 6


def with_edit(
    found: Sequence[Diagnostic],
    on: Context,
    section: Section,
    item: Item,
    payload: Mapping[str, object] | None,
) -> Iterator[Diagnostic]:
    """The violations of an item, of one code, with the delta that mends them all, where there is
    one that would be applied.
    """
    block = None
    if found and payload is not None and on.can_edit(section, item):
        rationale = f"{found[0].code.title} ({found[0].id})."
        block = _sound(Delta(Operation.EDIT, section.id, item.id, payload, rationale))
    for number, each in enumerate(found):
        yield each._replace(repaired=block) if number < MOST_SHARING else each


def with_flag(
    found: Diagnostic, on: Context, section: Section, candidates: Sequence[Item], flag: str
) -> Diagnostic:
    """A section that lacks a flag, with the delta that sets it where one item alone may have it."""
    if len(candidates) != 1:
        return found
    return next(with_edit([found], on, section, candidates[0], {flag: True}))


def _sound(delta: Delta) -> str | None:
    """The block of a delta, unless it would be refused or complained of."""
    block = render_delta(delta)
    try:
        size = len(block.encode())
    except UnicodeEncodeError:
        return None  # half a character: no message can carry it
    if size > MOST_BLOCK_BYTES:
        return None
    value = {
        "operation": delta.operation.value,
        "section": delta.section,
        "target_id": delta.target_id,
        "payload": dict(delta.payload),
        "rationale": delta.rationale,
    }
    _, problems = validate(value)
    return None if problems else block


def replaced(field: str, content: object) -> dict[str, object] | None:
    """A payload that puts a whole list or map, if there is one, in the place of another."""
    return None if content is None else {field: content, f"{field}_replace": True}


def mended_anchors(item: Item) -> dict[str, object] | None:
    """All anchors of an item, well formed and ranges in one form, where each has one reading."""
    anchors = [mended(anchor) for anchor in item.listed("anchors")]
    return None if None in anchors else replaced("anchors", list(dict.fromkeys(anchors)))


def known_only(outcomes: Mapping[str, str], known: frozenset[str]) -> dict[str, str] | None:
    """The outcomes of the hypotheses that exist, by number.

    An ID with one reading, such as `h1`, is kept under it; where that one is there as well nothing
    is certain.
    """
    kept = [(key if key in known else key.strip().upper(), text) for key, text in outcomes.items()]
    kept = [(key, text) for key, text in kept if key in known]
    by_number = dict(sorted(kept, key=lambda pair: order_of(pair[0])))
    return by_number if len(by_number) == len(kept) else None
