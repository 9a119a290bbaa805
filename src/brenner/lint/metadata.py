"""Rules about the front matter (M)."""

import re
from collections.abc import Iterator
from datetime import datetime

from brenner.diagnostics.codes import lint_structure as codes
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.lint.context import Context
from brenner.markdown.front_matter import read_front_matter
from brenner.protocol.delta.validate import is_blank
from brenner.protocol.grammar import ISO_TIME
from brenner.protocol.thread_ids import check_thread_id
from brenner.text import perhaps

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
            suggestion = perhaps(wrong.suggestion)
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
