"""What reading an edited file has to say that matters here: what is not read would be lost.

Much of it is about forms: a label in lower case, a text in two paragraphs. That is read all the
same, a delta can bring it in, and nothing of it is lost with the next version.
"""

import re
from collections import Counter
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import artifacts as codes

if TYPE_CHECKING:
    from brenner.artifact.format import ParsedArtifact
    from brenner.diagnostics.model import Diagnostic

_ONLY_FORMS = {codes.FIELD_FORM.id, codes.FRONT_MATTER_FORM.id, codes.MISPLACED_ITEM.id}
_NOT_READ = "not read"
_WORD = re.compile(r"\w+")
_AS_READ = " was read as "


def unread(before: "ParsedArtifact", after: "ParsedArtifact") -> tuple[str, ...]:
    """What stands in the file now and is in no field, so that no artifact would have it."""
    known = Counter(found.message for found in before.diagnostics)
    lossy = (found.message for found in after.diagnostics if not _loses_nothing(found))
    return tuple(Counter(lossy) - known)


def _loses_nothing(found: "Diagnostic") -> bool:
    if found.id == codes.HEADING_FORM.id:
        written, _, meant = found.message.partition(_AS_READ)
        return _words(written) <= {*_words(meant), "the", "heading"}
    if found.id == codes.KILLED_FORM.id:
        return _NOT_READ not in found.message
    return found.id in _ONLY_FORMS


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
