"""The corrected message, where every correction is certain.

Corrections are edits, so everything that is not mended stays as it was. Mending one fault can
bring another one to light, so the message is looked at again after each pass. What comes out is
given to the author only if it passes the check itself.
"""

from collections.abc import Callable
from typing import NamedTuple

from brenner.check.report import Report
from brenner.markdown.edits import Edit, apply_edits

_MOST_PASSES = 6


class Inspection(NamedTuple):
    """One look at a message: what was found, and the edits that would mend it.

    `stray_edits` turn what only looks like a contribution into one. They are the first guess, and
    are left alone where the message would not pass with them.
    """

    report: Report
    edits: tuple[Edit, ...] = ()
    stray_edits: tuple[Edit, ...] = ()


def correct(text: str, inspect: Callable[[str], Inspection]) -> Report:
    """The report on the text, with the corrected text where one can be made."""
    first = inspect(text)
    for with_strays in (True, False):
        corrected = _pass_after_pass(text, first, inspect, with_strays=with_strays)
        if corrected is not None:
            return first.report._replace(corrected=corrected)
    return first.report


def _pass_after_pass(
    text: str,
    inspection: Inspection,
    inspect: Callable[[str], Inspection],
    *,
    with_strays: bool,
) -> str | None:
    current = text
    for _ in range(_MOST_PASSES):
        edits = inspection.edits + (inspection.stray_edits if with_strays else ())
        following = apply_edits(current, edits)
        if following == current:
            break
        current, inspection = following, inspect(following)
    return current if current != text and inspection.report.valid else None
