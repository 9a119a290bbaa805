"""Two versions compared as texts: in two columns, or as `diff -u` prints them."""

from collections.abc import Iterator
from typing import NamedTuple

from brenner.artifact.text_diff import Columns, Pair, columns, lines_of, unified
from brenner.services.versions import Side
from brenner.web import links
from brenner.web.pages.diff_items import marks_json
from brenner.web.paging import in_session, part, part_json
from brenner.web.visit import Visit

_MOST_ROWS = 400
_MOST_LINES = 2_000


class _Row(NamedTuple):
    """A row; `skipped` counts the lines before it that are the same and are not shown."""

    pair: Pair
    skipped: int


def columns_document(visit: Visit, old: Side, new: Side) -> dict[str, object]:
    """The rows in which something changed, and those around them."""
    found = columns(old.text, new.text)
    rows = list(_rows(found))
    which = part(visit, len(rows), _MOST_ROWS)
    asked = {"from": old.number, "to": new.number, "form": "text"}
    where = part_json(which, in_session(visit.thread_id, "diff", asked))
    return {
        "rows": [_row(found, row) for row in which.of(rows)],
        "skipped": found.skipped if which.number == which.pages else 0,
        "part": where,
        "next": where["next"],
    }


def _rows(found: Columns) -> Iterator[_Row]:
    for stretch in found.stretches:
        for number, pair in enumerate(stretch.pairs):
            yield _Row(pair, 0 if number else stretch.skipped)


def _row(found: Columns, row: _Row) -> dict[str, object]:
    left, right = found.sides(row.pair)
    pair = row.pair
    return {
        "skipped": row.skipped,
        "same": pair.is_same,
        "old": None if pair.old is None else pair.old + 1,
        "new": None if pair.new is None else pair.new + 1,
        "left": marks_json(left),
        "right": marks_json(right),
    }


def plain_text(visit: Visit, old: Side, new: Side) -> str:
    """A unified diff, as the command line prints it."""
    names = [f"{visit.thread_id}@v{each.number}" for each in (old, new)]
    return unified(old.text, new.text, *names)


def plain_document(visit: Visit, old: Side, new: Side) -> dict[str, object]:
    """A unified diff, its first lines where it is long; all of it is one address further."""
    lines = lines_of(plain_text(visit, old, new))
    raw = links.diff(visit.thread_id, old.number, new.number, form="plain", raw=1)
    return {
        "text": "".join(lines[:_MOST_LINES]),
        "raw": raw,
        "lines": len(lines),
        "shown": min(len(lines), _MOST_LINES),
        "next": raw if len(lines) > _MOST_LINES else None,
    }
