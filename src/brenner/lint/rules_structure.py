"""Lint rules about the front matter (M), the sections and item IDs (S), and the research thread
(R).
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from brenner.artifact.model import ITEM_SECTIONS, LAYOUT, LAYOUT_BY_SECTION, Item
from brenner.diagnostics.codes import lint_structure as codes
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.lazy_pattern import lazy_pattern
from brenner.lint.helpers import find_misplaced
from brenner.markdown.front_matter import read_front_matter
from brenner.protocol.delta.field_checks import is_blank
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    PREDICTIONS_TABLE,
    SECTIONS,
    Section,
)
from brenner.protocol.grammar import ISO_TIME, ITEM_ID
from brenner.protocol.thread_ids import check_thread_id
from brenner.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.lint.context import LintContext

# Rules about the front matter (M)

STATUSES = ("draft", "active", "closed")
_DATE_LENGTH = 10  # the characters of 2025-12-30
_COMPACT_DATE_LENGTH = 8


# The reader's reason for a text without front matter
_NO_FRONT_MATTER = read_front_matter("").reason
_AT_LINE = lazy_pattern(r" at line ([0-9]{1,9})")


def front_matter_readable(context: LintContext) -> Iterator[Diagnostic]:
    """EM-001, files only. If it fails, the other rules about the front matter check nothing."""
    if context.outline is None or context.outline.front_matter is not None:
        return
    reason = context.outline.no_front_matter
    is_there = reason != _NO_FRONT_MATTER
    place = _AT_LINE.search(reason)
    line = int(place[1]) if place else 1
    # The reason may quote the file, so its line number is trusted only above the first heading.
    is_above = any(line < heading for _, heading in context.outline.headings[:1])
    yield codes.EM_001.at(
        line if is_above else 1,
        state="cannot be read" if is_there else "is missing",
        reason=reason,
    )


def session_id_present(context: LintContext) -> Iterator[Diagnostic]:
    """EM-002."""
    if _has_front_matter(context) and is_blank(_front_matter_value(context, "session_id") or ""):
        yield context.metadata_diagnostic(codes.EM_002, "session_id")


def created_at_valid(context: LintContext) -> Iterator[Diagnostic]:
    """EM-003."""
    written = _front_matter_value(context, "created_at")
    reason = _time_problem(written)
    if _has_front_matter(context) and reason:
        yield context.metadata_diagnostic(codes.EM_003, "created_at", reason=reason)


def status_valid(context: LintContext) -> Iterator[Diagnostic]:
    """EM-004."""
    written = _front_matter_value(context, "status")
    if _has_front_matter(context) and written not in STATUSES:
        yield context.metadata_diagnostic(codes.EM_004, "status", reason=_value_problem(written))


def contributors_present(context: LintContext) -> Iterator[Diagnostic]:
    """WM-001."""
    if _has_front_matter(context) and not context.artifact.metadata.contributors:
        yield context.metadata_diagnostic(codes.WM_001, "contributors")


def updated_not_before_created(context: LintContext) -> Iterator[Diagnostic]:
    """WM-002. A time without a zone and one with a zone are not compared."""
    created, updated = (
        _front_matter_value(context, "created_at"),
        _front_matter_value(context, "updated_at"),
    )
    if _has_front_matter(context) and _is_before(updated, created):
        words = {"created_at": str(created), "updated_at": str(updated)}
        yield context.metadata_diagnostic(codes.WM_002, "updated_at", **words)


def thread_id_valid(context: LintContext) -> Iterator[Diagnostic]:
    """IM-001. A missing ID is EM-002. Warnings are ignored, because they are advice for new IDs."""
    written = _front_matter_value(context, "session_id")
    if not _has_front_matter(context) or is_blank(written or ""):
        return
    for wrong in check_thread_id(str(written)):
        if wrong.severity is ERROR:
            suggestion = did_you_mean(wrong.suggestion)
            words = {"reason": wrong.message, "suggestion": suggestion}
            found = context.metadata_diagnostic(codes.IM_001, "session_id", **words)
            yield found._replace(also=(*found.also, wrong.id))


def version_is_integer(context: LintContext) -> Iterator[Diagnostic]:
    """IM-002. `v3` in a file is parsed as a number, so only the text shows it."""
    written = _front_matter_value(context, "version")
    if context.outline and context.outline.front_matter is not None:
        written = context.outline.front_matter.get("version")
    if _has_front_matter(context) and type(written) is not int:
        # Show the quotes, since without them the text looks like a number.
        is_text = isinstance(written, str) and not is_blank(written)
        reason = f'it is the text `"{written}"`' if is_text else _value_problem(written)
        yield context.metadata_diagnostic(codes.IM_002, "version", reason=reason)


def _has_front_matter(context: LintContext) -> bool:
    return context.outline is None or context.outline.front_matter is not None


def _front_matter_value(context: LintContext, name: str) -> object:
    """Return a value of the front matter. A value of the wrong type is under `extra`."""
    metadata = context.artifact.metadata
    known: object = getattr(metadata, name)
    return metadata.extra.get(name) if known is None else known


def _value_problem(written: object) -> str:
    if written is None or is_blank(written):
        return "it is missing"
    return f"it is `{written}`" if isinstance(written, str | int | float) else "it is not a text"


def _time_problem(written: object) -> str | None:
    if written is None or is_blank(written) or not isinstance(written, str):
        return _value_problem(written)
    if not ISO_TIME.fullmatch(written):
        return f"it is `{written}`"
    return None if _parse_time(written) else f"`{written}` is not a calendar date"


def _parse_time(written: object) -> datetime | None:
    if not isinstance(written, str) or not ISO_TIME.fullmatch(written):
        return None
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None


def _is_before(one: object, other: object) -> bool:
    first, second = _parse_time(one), _parse_time(other)
    if first is None or second is None:
        return False
    if _is_date(one) or _is_date(other):
        return first.date() < second.date()
    if (first.tzinfo is None) is not (second.tzinfo is None):
        return False
    return first < second


def _is_date(written: object) -> bool:
    return len(str(written)) in (_DATE_LENGTH, _COMPACT_DATE_LENGTH)


# Rules about the sections and the item IDs (S)

_SECTION_ORDER = {section_id: number for number, section_id in enumerate(SECTIONS)}
_SECOND = 2


def sections_present(context: LintContext) -> Iterator[Diagnostic]:
    """ES-001, files only. A missing section 6 is EX-001."""
    for layout in LAYOUT:
        if layout.section is not ANOMALY_REGISTER and not context.has_section(layout.section):
            heading = f"## {layout.heading}"
            yield context.missing_section_diagnostic(codes.ES_001, layout.section, heading=heading)


def sections_in_order(context: LintContext) -> Iterator[Diagnostic]:
    """ES-002, files only: report as few sections as have to move. Repetitions of a section are
    ignored.
    """
    places = dict(reversed(context.outline.headings)) if context.outline else {}
    found = sorted(
        (section for section in places if section in _SECTION_ORDER), key=places.__getitem__
    )
    for at, near, is_late in find_misplaced([_SECTION_ORDER[section] for section in found]):
        section, other = found[at], found[near]
        yield codes.ES_002.at(
            places[section],
            heading=f"## {LAYOUT_BY_SECTION[section].heading}",
            where="after" if is_late else "before",
            other=f"## {LAYOUT_BY_SECTION[other].heading}",
            place="before" if is_late else "after",
        )


def item_ids_well_formed(context: LintContext) -> Iterator[Diagnostic]:
    """ES-003, killed items included. A malformed ID of a prediction is WP-002."""
    for section in ITEM_SECTIONS:
        if section is not PREDICTIONS_TABLE:
            for item in items_with_malformed_id(context, section):
                words = {"section": section.id, "reason": id_problem(section, item.id)}
                yield context.item_diagnostic(codes.ES_003, item, **words)


def item_ids_unique(context: LintContext) -> Iterator[Diagnostic]:
    """ES-004, killed items included. One violation per ID, at its second occurrence."""
    for section in ITEM_SECTIONS:
        met: Counter[str] = Counter()
        for item in context.artifact.sections[section.id]:
            met[item.id] += 1
            if met[item.id] == _SECOND and section.is_valid_id(item.id):
                yield context.item_diagnostic(codes.ES_004, item)


def item_numbers_contiguous(context: LintContext) -> Iterator[Diagnostic]:
    """WS-001, killed items included: one violation per gap, at the item after it.

    Skip a section with a malformed or repeated ID, because a gap has the same cause there.
    """
    for section in ITEM_SECTIONS:
        items = context.artifact.sections[section.id]
        if any(item.id in context.repeated or not section.is_valid_id(item.id) for item in items):
            continue
        expected = 1
        for number, item in sorted((int(item.id[len(section.prefix) :]), item) for item in items):
            if number > expected:
                missing = _id_range(section, expected, number - 1)
                words = {"section": section.id, "missing": missing}
                yield context.item_diagnostic(codes.WS_001, item, **words)
            expected = number + 1


def items_with_malformed_id(context: LintContext, section: Section) -> Iterator[Item]:
    """Yield the items of a section whose ID is not its prefix and a number."""
    for item in context.artifact.sections[section.id]:
        if not section.is_valid_id(item.id):
            yield item


def id_problem(section: Section, item_id: str) -> str:
    """Return why an ID is not valid in this section."""
    if not item_id:
        return f"it is missing (`{section.prefix}` and a number)"
    if ITEM_ID.fullmatch(item_id):
        return f"the prefix of this section is `{section.prefix}`"
    tidy = item_id.strip().upper().removeprefix(section.prefix).strip(" -_.:#").lstrip("0")
    meant = f"{section.prefix}{tidy}"
    hint = f", such as `{meant}`" if section.is_valid_id(meant) else ""
    return f"it is not `{section.prefix}` and a number{hint}"


def _id_range(section: Section, first: int, last: int) -> str:
    one, other = f"`{section.prefix}{first}`", f"`{section.prefix}{last}`"
    return one if first == last else f"{one} to {other}"
