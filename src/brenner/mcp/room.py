"""How much one answer holds. Nobody reads an answer of a hundred megabytes, and all wait for it.

Beyond that, messages are listed without their bodies, and each says so: what is left out must not
look like mail that says nothing.
"""

from brenner.diagnostics.codes.serving import ANSWER_TOO_LARGE
from brenner.diagnostics.model import Refused
from brenner.limits import MOST_ANSWERED_BYTES
from brenner.mcp.shapes import Shape

BODY, LEFT_OUT = "body_md", "body_left_out"
_NAMES = ("subject", "thread_id")
_OTHER_BYTES = 400  # of a message, about
_MOST_LISTED_BYTES = 2 * MOST_ANSWERED_BYTES
_HOW = "The answer would be too long: read resource://message/{id}, or ask for fewer messages."


class Room:
    """What an answer still has room for: bodies, and the rest of the messages."""

    def __init__(self, bodies: int = MOST_ANSWERED_BYTES, listed: int = _MOST_LISTED_BYTES) -> None:
        self._bodies = bodies
        self._listed = listed
        self.last: object = None  # the id of the last message whose body had room
        self.is_full = False

    def fitted(self, shape: Shape) -> Shape:
        """A message as it goes into the answer; refused where not even the list has room."""
        self._listed -= _OTHER_BYTES + sum(_size(shape.get(name)) for name in _NAMES)
        if self._listed < 0:
            raise Refused(ANSWER_TOO_LARGE.at())
        if BODY not in shape:
            return shape
        self._bodies -= _size(shape[BODY])
        self.is_full = self.is_full or self._bodies < 0  # who reads on finds no more of them
        if not self.is_full:
            self.last = shape["id"]
            return shape
        kept = {name: value for name, value in shape.items() if name != BODY}
        return kept | {LEFT_OUT: _HOW.format(id=shape["id"])}


def _size(text: object) -> int:
    return len(text.encode(errors="replace")) if isinstance(text, str) else 0
