"""The corrected message, where every correction is certain.

Corrections are edits, so everything that is not mended stays as it was. Mending one fault can
bring another one to light, so the message is looked at again after each pass. What comes out is
given to the author only if it passes the check itself, and if nothing that looked like a
contribution has gone missing on the way.
"""

from collections.abc import Callable
from typing import NamedTuple

from brenner.check.report import Report
from brenner.diagnostics.codes import deltas as codes
from brenner.markdown.edits import Edit, apply_edits

_MOST_PASSES = 5
STRAYS = frozenset({codes.INLINE_DELTA.id, codes.SWALLOWED_DELTA.id, codes.QUOTED_DELTA.id})


class Inspection(NamedTuple):
    """One look at a message: what was found, the edits that mend it, and whether they mend all.

    `strays` counts what looks like a contribution and is none. The report may leave some of it out.
    """

    report: Report
    edits: tuple[Edit, ...] = ()
    is_mendable: bool = True
    strays: int = 0


def correct(text: str, first: Inspection, inspect: Callable[[str], Inspection]) -> str | None:
    """The corrected text, or None where there is nothing to correct, or no certain correction."""
    current, inspection = text, first
    for _ in range(_MOST_PASSES):
        if not inspection.is_mendable:
            return None
        following = apply_edits(current, inspection.edits)
        if following == current:
            break
        current, inspection = following, inspect(following)
    is_new = current != text and inspection.report.valid
    return current if is_new and _loses_nothing(first, inspection) else None


def _loses_nothing(before: Inspection, after: Inspection) -> bool:
    """No contribution became a stray, and all that were there are there still."""
    deltas_before, deltas_after = len(before.report.deltas), len(after.report.deltas)
    is_whole = deltas_after + after.strays >= deltas_before + before.strays
    return after.strays <= before.strays and is_whole
