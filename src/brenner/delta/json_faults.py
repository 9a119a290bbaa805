"""What a fault in a JSON text is."""

from typing import NamedTuple

from brenner.diagnostics.model import Code
from brenner.markdown.edits import Edit

# More than these in one text are not worth reading, and not worth the time to collect.
MOST_FAULTS = 50


class Fault(NamedTuple):
    """A deviation from JSON at an offset; `edits` mend it, or None where that would be a guess."""

    code: Code
    offset: int
    words: dict[str, str]
    edits: tuple[Edit, ...] | None
