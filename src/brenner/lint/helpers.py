"""Helpers of the lint rules: anchors, fixes as ready-to-send deltas, order and status checks.

A fix never invents content. It only uses what the item itself contains.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from brenner.artifact.model import LAYOUT_BY_SECTION, Item, item_sort_key
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_BLOCK_BYTES
from brenner.protocol.delta.field_checks import is_ascending, is_blank
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import RESEARCH_THREAD, Delta, Operation, Section
from brenner.protocol.delta.validate import validate_delta
from brenner.protocol.grammar import ANCHOR, CITED_SECTIONS, MOJIBAKE_SECTION_SIGN
from brenner.text import closest_certain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from brenner.diagnostics.model import Code, Diagnostic
    from brenner.lint.context import LintContext

# Anchors

INFERENCE_LABEL = "[inference]"
INFERENCE_ANCHORS = frozenset({"inference", INFERENCE_LABEL})

_ABOVE_ALL_SECTIONS = 10**9  # no section has a number of ten digits
_MAX_FIXABLE_LENGTH = 1_000  # a longer text is not a typing error
_DASHES = lazy_pattern("[‐‑‒–—−]")
_SPACE_AFTER_SIGN = lazy_pattern(r"§{1,2}[ \xa0\u202f]*(?=[0-9])")
_BARE_NUMBERS = lazy_pattern(r"[0-9]{1,9}(?:-[0-9]{1,9})?")
_SPELLED_SIGN = lazy_pattern(
    r"(?:[Ss]ec(?:t(?:ion|\.)?|s?\.|tions)? ?|[S$] ?)([0-9]{1,9}(?:[-–][0-9]{1,9})?)"
)
_LONG_RANGE = lazy_pattern(r"(§[0-9]+-)§")
_SHORT_RANGE = lazy_pattern(r"§[0-9]+-[0-9]")
_INFERENCE_LABELS = ("inference", INFERENCE_LABEL, "[axiomatic]")


def cited_sections(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each citation in a text as written, with its first and last section."""
    if "§" not in text:
        return
    for match in CITED_SECTIONS.finditer(text):
        first = _section_number(match[1])
        last = _section_number(match[2]) if match[2] else first
        yield match[0], first, max(first, last)


def _section_number(digits: str) -> int:
    """Parse a section number. Do not parse numbers that are longer than any section's."""
    return int(digits) if len(digits) < len(str(_ABOVE_ALL_SECTIONS)) else _ABOVE_ALL_SECTIONS


def anchor_problem(anchor: str) -> str | None:
    """Return why an anchor is malformed, or None if it is well formed."""
    if ANCHOR.fullmatch(anchor):
        return None if is_ascending(anchor) else "its range does not ascend"
    if is_blank(anchor):
        return "it is empty"
    if MOJIBAKE_SECTION_SIGN.search(anchor):
        return "its section sign was decoded wrongly"
    return "its form is unknown"


def fix_anchor(anchor: str) -> str | None:
    """Return the only possible well-formed anchor for a malformed one, or None.

    Ranges get their short form.
    """
    if len(anchor) > _MAX_FIXABLE_LENGTH:
        return None
    tidy = MOJIBAKE_SECTION_SIGN.sub("§", anchor).strip()
    tidy = _SPACE_AFTER_SIGN.sub("§", tidy)
    if not tidy.startswith("["):
        tidy = _DASHES.sub("-", tidy)
    if _BARE_NUMBERS.fullmatch(tidy):
        tidy = f"§{tidy}"
    if tidy.lower() in _INFERENCE_LABELS:
        tidy = tidy.lower()
    tidy = shorten_range(tidy)
    return tidy if anchor_problem(tidy) is None else None


def suggest_anchor(anchor: str) -> str | None:
    """Return what a malformed anchor probably means: `sec. 3`, or `S3` instead of §.

    A page is not a section, and any other letter may be the prefix of an item.
    """
    spelled = (
        _SPELLED_SIGN.fullmatch(anchor.strip()) if len(anchor) <= _MAX_FIXABLE_LENGTH else None
    )
    return fix_anchor(f"§{spelled[1]}") if spelled else fix_anchor(anchor)


def shorten_range(anchor: str) -> str:
    """Write `§42-§45` as `§42-45`."""
    return _LONG_RANGE.sub(r"\1", anchor) if has_long_range(anchor) else anchor


def has_long_range(anchor: str) -> bool:
    """Return whether an anchor has the form `§42-§45`. Names of external sources do not count."""
    return not anchor.startswith("[") and _LONG_RANGE.search(anchor) is not None


def has_short_range(anchor: str) -> bool:
    """Return whether an anchor has the form `§42-45`."""
    return not anchor.startswith("[") and _SHORT_RANGE.search(anchor) is not None


# Fixes as deltas


# A delta that fixes many violations of one item is attached only to the first few. Attached to all
# of them, it would make the size of the report quadratic.
MAX_SHARING_FIX = 6


def with_edit_fix(
    found: Sequence[Diagnostic],
    context: LintContext,
    section: Section,
    item: Item,
    payload: Mapping[str, object] | None,
) -> Iterator[Diagnostic]:
    """Attach to an item's violations of one code the delta that fixes them all, if it would be
    applied.
    """
    block = None
    if found and payload is not None and context.can_edit(section, item):
        rationale = f"{found[0].code.title} ({found[0].id})."
        block = _render_if_valid(Delta(Operation.EDIT, section.id, item.id, payload, rationale))
    for number, each in enumerate(found):
        yield each._replace(repaired=block) if number < MAX_SHARING_FIX else each


def with_flag_fix(
    found: Diagnostic, context: LintContext, section: Section, candidates: Sequence[Item], flag: str
) -> Diagnostic:
    """Attach the delta that sets the flag, if exactly one item can have it."""
    if len(candidates) != 1:
        return found
    return next(with_edit_fix([found], context, section, candidates[0], {flag: True}))


def _render_if_valid(delta: Delta) -> str | None:
    """Return the block of a delta, or None if checking it would find a problem."""
    block = render_delta(delta)
    try:
        size = len(block.encode())
    except UnicodeEncodeError:
        return None  # an unpaired surrogate, which no message can contain
    if size > MOST_BLOCK_BYTES:
        return None
    value = {
        "operation": delta.operation.value,
        "section": delta.section,
        "target_id": delta.target_id,
        "payload": dict(delta.payload),
        "rationale": delta.rationale,
    }
    _, problems = validate_delta(value)
    return None if problems else block


def replacement_payload(field: str, content: object) -> dict[str, object] | None:
    """Return a payload that replaces a whole list or map, or None if the content is None."""
    return None if content is None else {field: content, f"{field}_replace": True}


def fixed_anchors(item: Item) -> dict[str, object] | None:
    """Return a payload with all anchors of an item well formed, or None if one cannot be fixed."""
    anchors = [fix_anchor(anchor) for anchor in item.listed("anchors")]
    return None if None in anchors else replacement_payload("anchors", list(dict.fromkeys(anchors)))


def known_outcomes(outcomes: Mapping[str, str], known: frozenset[str]) -> dict[str, str] | None:
    """Return the outcomes of existing hypotheses, by number.

    An ID with only one reading, such as `h1`, is corrected. Return None if that key exists as well.
    """
    kept = [(key if key in known else key.strip().upper(), text) for key, text in outcomes.items()]
    kept = [(key, text) for key, text in kept if key in known]
    by_number = dict(sorted(kept, key=lambda pair: item_sort_key(pair[0])))
    return by_number if len(by_number) == len(kept) else None


# Order


def find_misplaced(ranks: Sequence[int]) -> list[tuple[int, int, bool]]:
    """Return the elements that have to move so that the ranks ascend; equal ranks may be in any
    order.

    Each has its index, that of the nearest element on whose wrong side it is, and whether it is
    late: after that element, and belongs before it. The longest ascending run stays in place. So
    one element that was moved far is one violation, not one for each element that it passed.
    """
    stay = _longest_ascending(ranks)
    kept = set(stay)
    found = []
    for index, rank in enumerate(ranks):
        if index in kept:
            continue
        # Among those that stay, find the first with a higher rank. If it comes before, this one is
        # late. Otherwise one with a lower rank comes after, or this one could stay itself.
        above = bisect_right(stay, rank, key=ranks.__getitem__)
        if above < len(stay) and stay[above] < index:
            found.append((index, stay[above], True))
        else:
            below = bisect_left(stay, rank, key=ranks.__getitem__) - 1
            found.append((index, stay[below], False))
    return found


def _longest_ascending(ranks: Sequence[int]) -> list[int]:
    """Return the indices of a longest run that never descends (patience sorting)."""
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


# Rules that several sections have


def enough_items(code: Code, section: Section, context: LintContext) -> Iterator[Diagnostic]:
    """Yield a diagnostic if an existing section has too few active items."""
    count, least = len(context.active[section.id]), LAYOUT_BY_SECTION[section.id].least
    if count < least and context.has_section(section):
        yield context.section_diagnostic(code, section, count=count, least=least)


def field_present(
    code: Code, section: Section, field: str, context: LintContext
) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each active item of a section that lacks a field."""
    for item in context.active[section.id]:
        if field not in item.fields:
            yield context.item_diagnostic(code, item, field)


def thread_field_present(code: Code, field: str, context: LintContext) -> Iterator[Diagnostic]:
    """Yield a diagnostic if the research thread exists and lacks a field."""
    item = context.artifact.research_thread
    if field not in item.fields and context.has_section(RESEARCH_THREAD):
        yield context.item_diagnostic(code, item, field)


def status_valid(code: Code, section: Section, context: LintContext) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each active item whose status is missing or not one of the choices."""
    choices = section.fields["status"].choices
    for item in context.active[section.id]:
        status = item.text("status")
        if status in choices:
            continue
        reason = f"it is `{status}`" if status else "it is missing"
        found = context.item_diagnostic(code, item, "status", reason=reason)
        meant = closest_certain(status, choices) if status else None
        yield from with_edit_fix(
            [found], context, section, item, {"status": meant} if meant else None
        )
