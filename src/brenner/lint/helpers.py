"""Fixes that are deltas, ready to send. None is made up: each says what the item itself shows."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from brenner.artifact.model import Item, order_of
from brenner.diagnostics.model import Code, Diagnostic
from brenner.limits import MOST_BLOCK_BYTES
from brenner.lint.context import Context
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta, Operation, Section
from brenner.protocol.delta.validate import ascends, is_blank, validate
from brenner.protocol.grammar import ANCHOR, CITED_SECTIONS, MOJIBAKE_SECTION_SIGN
from brenner.text import closest_certain

# Anchors one by one: whether they are well formed, what was meant, which sections they cite.


LABEL = "[inference]"
INFERENCES = frozenset({"inference", LABEL})

_BEYOND = 10**9  # no section has a number of ten digits
_LONGEST_MENDED = 1_000  # what is longer is no slip of the pen
_DASHES = re.compile("[‐‑‒–—−]")
_BLANK_AFTER_SIGN = re.compile(r"§{1,2}[ \xa0\u202f]*(?=[0-9])")
_BARE_NUMBERS = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?")
_SPELLED_SIGN = re.compile(
    r"(?:[Ss]ec(?:t(?:ion|\.)?|s?\.|tions)? ?|[S$] ?)([0-9]{1,9}(?:[-–][0-9]{1,9})?)"
)
_LONG_RANGE = re.compile(r"(§[0-9]+-)§")
_SHORT_RANGE = re.compile(r"§[0-9]+-[0-9]")
_LABELS = ("inference", LABEL, "[axiomatic]")


def cited(text: str) -> Iterator[tuple[str, int, int]]:
    """What a text cites, as written, and the first and last section of it."""
    if "§" not in text:
        return
    for match in CITED_SECTIONS.finditer(text):
        first = _number(match[1])
        last = _number(match[2]) if match[2] else first
        yield match[0], first, max(first, last)


def _number(digits: str) -> int:
    """A number that nobody needs to compute where it is longer than any section's."""
    return int(digits) if len(digits) < len(str(_BEYOND)) else _BEYOND


def what_is_wrong(anchor: str) -> str | None:
    """Why an anchor is not well formed; None for one that is."""
    if ANCHOR.fullmatch(anchor):
        return None if ascends(anchor) else "its range does not ascend"
    if is_blank(anchor):
        return "it is blank"
    if MOJIBAKE_SECTION_SIGN.search(anchor):
        return "its section sign was garbled by a wrong encoding"
    return "it is of no known form"


def mended(anchor: str) -> str | None:
    """The well-formed anchor that a malformed one certainly stands for, ranges in one form."""
    if len(anchor) > _LONGEST_MENDED:
        return None
    tidy = MOJIBAKE_SECTION_SIGN.sub("§", anchor).strip()
    tidy = _BLANK_AFTER_SIGN.sub("§", tidy)
    if not tidy.startswith("["):
        tidy = _DASHES.sub("-", tidy)
    if _BARE_NUMBERS.fullmatch(tidy):
        tidy = f"§{tidy}"
    if tidy.lower() in _LABELS:
        tidy = tidy.lower()
    tidy = in_short_form(tidy)
    return tidy if what_is_wrong(tidy) is None else None


def suggested(anchor: str) -> str | None:
    """What a malformed anchor stands for, or probably does: `sec. 3`, or `S3` for want of a §.

    A page is no section, and any other letter may be the prefix of an item.
    """
    spelled = _SPELLED_SIGN.fullmatch(anchor.strip()) if len(anchor) <= _LONGEST_MENDED else None
    return mended(f"§{spelled[1]}") if spelled else mended(anchor)


def in_short_form(anchor: str) -> str:
    """`§42-§45` as `§42-45`."""
    return _LONG_RANGE.sub(r"\1", anchor) if has_long_range(anchor) else anchor


def has_long_range(anchor: str) -> bool:
    """Whether it says `§42-§45`; what an external source is called does not count."""
    return not anchor.startswith("[") and _LONG_RANGE.search(anchor) is not None


def has_short_range(anchor: str) -> bool:
    """Whether it says `§42-45`."""
    return not anchor.startswith("[") and _SHORT_RANGE.search(anchor) is not None


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


# Which parts of a sequence stand in the wrong place: as few as possible.


class Misplaced(NamedTuple):
    """One that has to move, and the nearest one on whose wrong side it stands."""

    at: int
    other: int
    is_late: bool  # it stands after `other` and belongs before it


def misplaced(ranks: Sequence[int]) -> list[Misplaced]:
    """What has to move so that the ranks ascend; equal ones may stand in any order.

    Those that stay are the longest ascending run that can be picked from the sequence, so that one
    part which was moved far is one fault, not as many as it was moved across.
    """
    stay = _longest_ascending(ranks)
    kept = set(stay)
    found = []
    for index, rank in enumerate(ranks):
        if index in kept:
            continue
        # Of those that stay, the first that ranks higher: if it stands before, this one is late.
        # Otherwise one that ranks lower stands after it, or it could stay itself.
        above = bisect_right(stay, rank, key=ranks.__getitem__)
        if above < len(stay) and stay[above] < index:
            found.append(Misplaced(index, stay[above], is_late=True))
        else:
            below = bisect_left(stay, rank, key=ranks.__getitem__) - 1
            found.append(Misplaced(index, stay[below], is_late=False))
    return found


def _longest_ascending(ranks: Sequence[int]) -> list[int]:
    """The indices of a longest run that never descends (patience sorting)."""
    tops: list[int] = []  # the lowest last rank of a run of each length
    ends: list[int] = []  # and its index
    before: list[int | None] = []
    for index, rank in enumerate(ranks):
        length = bisect_right(tops, rank)
        before.append(ends[length - 1] if length else None)
        if length == len(tops):
            tops.append(rank)
            ends.append(index)
        else:
            tops[length], ends[length] = rank, index
    run = []
    at: int | None = ends[-1] if ends else None
    while at is not None:
        run.append(at)
        at = before[at]
    return run[::-1]


# A `status` that is one of the listed words, in the two sections that have one.


def not_a_choice(on: Context, code: Code, section: Section) -> Iterator[Diagnostic]:
    """The active items whose status is missing or another word."""
    choices = section.fields["status"].choices
    for item in on.active[section.id]:
        status = item.text("status")
        if status in choices:
            continue
        reason = f"it is `{status}`" if status else "it is missing"
        found = on.of_item(code, item, "status", reason=reason)
        meant = closest_certain(status, choices) if status else None
        yield from with_edit([found], on, section, item, {"status": meant} if meant else None)
