"""Rules about the front matter (M)."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from brenner.artifact.model import ITEM_SECTIONS, LAYOUT, LAYOUT_OF, Item
from brenner.diagnostics.codes import lint_structure as codes
from brenner.diagnostics.model import ERROR, Code, Diagnostic
from brenner.lint.context import Context, is_well_formed
from brenner.lint.helpers import misplaced
from brenner.markdown.front_matter import read_front_matter
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SECTIONS,
    Section,
)
from brenner.protocol.delta.validate import is_blank
from brenner.protocol.grammar import ISO_TIME, ITEM_ID
from brenner.protocol.thread_ids import check_thread_id
from brenner.text import did_you_mean

STATUSES = ("draft", "active", "closed")
_DAY = 10  # the characters of 2025-12-30
_DIGITS_OF_A_DAY = 8


# What the reader says of a text that has none at all
_NONE_AT_ALL = read_front_matter("").reason
_AT_LINE = re.compile(r" at line ([0-9]{1,9})")


def front_matter(on: Context) -> Iterator[Diagnostic]:
    """EM-001, files only. Where it fails, the other rules of this file have nothing to look at."""
    if on.outline is None or on.outline.front_matter is not None:
        return
    reason = on.outline.no_front_matter
    is_there = reason != _NONE_AT_ALL
    place = _AT_LINE.search(reason)
    line = int(place[1]) if place else 1
    # The reason may quote the file, which can say anything.
    is_above = any(line < heading for _, heading in on.outline.headings[:1])
    yield codes.EM_001.at(
        line if is_above else 1,
        state="cannot be read" if is_there else "is missing",
        reason=reason,
        mend="Mend what is wrong with it" if is_there else "Add it",
    )


def session_id(on: Context) -> Iterator[Diagnostic]:
    """EM-002."""
    if _is_there(on) and is_blank(_written(on, "session_id") or ""):
        yield on.of_metadata(codes.EM_002, "session_id")


def created_at(on: Context) -> Iterator[Diagnostic]:
    """EM-003."""
    written = _written(on, "created_at")
    reason = _why_no_time(written)
    if _is_there(on) and reason:
        yield on.of_metadata(codes.EM_003, "created_at", reason=reason)


def status(on: Context) -> Iterator[Diagnostic]:
    """EM-004."""
    written = _written(on, "status")
    if _is_there(on) and written not in STATUSES:
        yield on.of_metadata(codes.EM_004, "status", reason=_said(written))


def contributors(on: Context) -> Iterator[Diagnostic]:
    """WM-001."""
    if _is_there(on) and not on.artifact.metadata.contributors:
        yield on.of_metadata(codes.WM_001, "contributors")


def updated_at(on: Context) -> Iterator[Diagnostic]:
    """WM-002. Times that cannot be compared are not: one without a zone against one with it."""
    created, updated = _written(on, "created_at"), _written(on, "updated_at")
    if _is_there(on) and _is_before(updated, created):
        words = {"created_at": str(created), "updated_at": str(updated)}
        yield on.of_metadata(codes.WM_002, "updated_at", **words)


def thread_id(on: Context) -> Iterator[Diagnostic]:
    """IM-001. One that is missing is EM-002, and advice on IDs is for new ones."""
    written = _written(on, "session_id")
    if not _is_there(on) or is_blank(written or ""):
        return
    for wrong in check_thread_id(str(written)):
        if wrong.severity is ERROR:
            suggestion = did_you_mean(wrong.suggestion)
            words = {"reason": wrong.message, "suggestion": suggestion}
            found = on.of_metadata(codes.IM_001, "session_id", **words)
            yield found._replace(also=(*found.also, wrong.id))


def version(on: Context) -> Iterator[Diagnostic]:
    """IM-002. A file's `v3` is understood, so that only the text shows it."""
    written = _written(on, "version")
    if on.outline and on.outline.front_matter is not None:
        written = on.outline.front_matter.get("version")
    if _is_there(on) and type(written) is not int:
        # In quotes it is a text, which nobody would see without them.
        is_text = isinstance(written, str) and not is_blank(written)
        reason = f'it is the text `"{written}"`' if is_text else _said(written)
        yield on.of_metadata(codes.IM_002, "version", reason=reason)


def _is_there(on: Context) -> bool:
    return on.outline is None or on.outline.front_matter is not None


def _written(on: Context, name: str) -> object:
    """What the front matter says; where that is of another kind it is kept under `extra`."""
    metadata = on.artifact.metadata
    known: object = getattr(metadata, name)
    return metadata.extra.get(name) if known is None else known


def _said(written: object) -> str:
    if written is None or is_blank(written):
        return "it is missing"
    return f"it is `{written}`" if isinstance(written, str | int | float) else "it is not a text"


def _why_no_time(written: object) -> str | None:
    if written is None or is_blank(written) or not isinstance(written, str):
        return _said(written)
    if not ISO_TIME.fullmatch(written):
        return f"it is `{written}`"
    return None if _instant(written) else f"`{written}` is not in the calendar"


def _instant(written: object) -> datetime | None:
    if not isinstance(written, str) or not ISO_TIME.fullmatch(written):
        return None
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None


def _is_before(one: object, other: object) -> bool:
    first, second = _instant(one), _instant(other)
    if first is None or second is None:
        return False
    if _is_a_day(one) or _is_a_day(other):
        return first.date() < second.date()
    if (first.tzinfo is None) is not (second.tzinfo is None):
        return False
    return first < second


def _is_a_day(written: object) -> bool:
    return len(str(written)) in (_DAY, _DIGITS_OF_A_DAY)


# Rules about the sections and the item IDs (S).


_RANK = {section_id: number for number, section_id in enumerate(SECTIONS)}
_SECOND = 2


def sections(on: Context) -> Iterator[Diagnostic]:
    """ES-001, files only. A missing section 6 is EX-001."""
    for layout in LAYOUT:
        if layout.section is not ANOMALY_REGISTER and not on.has(layout.section):
            heading = f"## {layout.heading}"
            yield on.in_place_of(codes.ES_001, layout.section, heading=heading)


def order(on: Context) -> Iterator[Diagnostic]:
    """ES-002, files only: as few sections as have to move. Of a repeated one the first counts."""
    places = dict(reversed(on.outline.headings)) if on.outline else {}
    found = sorted((section for section in places if section in _RANK), key=places.__getitem__)
    for wrong in misplaced([_RANK[section] for section in found]):
        section, other = found[wrong.at], found[wrong.other]
        yield codes.ES_002.at(
            places[section],
            heading=f"## {LAYOUT_OF[section].heading}",
            where="after" if wrong.is_late else "before",
            other=f"## {LAYOUT_OF[other].heading}",
            place="before" if wrong.is_late else "after",
        )


def well_formed_ids(on: Context) -> Iterator[Diagnostic]:
    """ES-003, killed items included. A malformed ID of a prediction is WP-002."""
    for section in ITEM_SECTIONS:
        if section is not PREDICTIONS_TABLE:
            for item in malformed(on, section):
                words = {"section": section.id, "reason": why_malformed(section, item.id)}
                yield on.of_item(codes.ES_003, item, **words)


def unique_ids(on: Context) -> Iterator[Diagnostic]:
    """ES-004, killed items included; one violation however often it stands there, told at the
    second one.
    """
    for section in ITEM_SECTIONS:
        met: Counter[str] = Counter()
        for item in on.artifact.sections[section.id]:
            met[item.id] += 1
            if met[item.id] == _SECOND and is_well_formed(section, item.id):
                yield on.of_item(codes.ES_004, item)


def numbering(on: Context) -> Iterator[Diagnostic]:
    """WS-001, killed items included: one violation per gap, told at the item after it.

    Where an ID of the section is malformed or stands twice a gap comes from the same slip.
    """
    for section in ITEM_SECTIONS:
        items = on.artifact.sections[section.id]
        if any(item.id in on.repeated or not is_well_formed(section, item.id) for item in items):
            continue
        expected = 1
        for number, item in sorted((int(item.id[len(section.prefix) :]), item) for item in items):
            if number > expected:
                missing = _from_to(section, expected, number - 1)
                words = {"section": section.id, "missing": missing}
                yield on.of_item(codes.WS_001, item, **words)
            expected = number + 1


def malformed(on: Context, section: Section) -> Iterator[Item]:
    """The items of a section whose ID is not its prefix and a number."""
    for item in on.artifact.sections[section.id]:
        if not is_well_formed(section, item.id):
            yield item


def why_malformed(section: Section, item_id: str) -> str:
    """What keeps an ID from being one of this section."""
    if not item_id:
        return f"there is none, and it would be `{section.prefix}` and a number"
    if ITEM_ID.fullmatch(item_id):
        return f"the prefix of this section is `{section.prefix}`"
    tidy = item_id.strip().upper().removeprefix(section.prefix).strip(" -_.:#").lstrip("0")
    meant = f"{section.prefix}{tidy}"
    hint = f", such as `{meant}`" if is_well_formed(section, meant) else ""
    return f"it is not `{section.prefix}` and a number{hint}"


def _from_to(section: Section, first: int, last: int) -> str:
    one, other = f"`{section.prefix}{first}`", f"`{section.prefix}{last}`"
    return one if first == last else f"{one} to {other}"


# Rules about the research thread (R).


def question(on: Context) -> Iterator[Diagnostic]:
    """ER-001."""
    return _has(on, "statement", codes.ER_001)


def context(on: Context) -> Iterator[Diagnostic]:
    """ER-002."""
    return _has(on, "context", codes.ER_002)


def anchors(on: Context) -> Iterator[Diagnostic]:
    """WR-001. Malformed ones are WH-002, as for hypotheses."""
    return _has(on, "anchors", codes.WR_001)


def why_it_matters(on: Context) -> Iterator[Diagnostic]:
    """IR-001."""
    return _has(on, "why_it_matters", codes.IR_001)


def _has(on: Context, field: str, code: Code) -> Iterator[Diagnostic]:
    item = on.artifact.research_thread
    if field not in item.fields and on.has(RESEARCH_THREAD):
        yield on.of_item(code, item, field)
