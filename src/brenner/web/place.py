"""How far a store had come: how many messages, and which one was the last.

The number alone would do, as long as nobody puts another store in the place of ours. The mark says
whether it is still the one that somebody has seen.
"""

import re
from typing import NamedTuple

from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Stored

_DIGITS = 12
_TEXT = re.compile(r"([0-9]{1,15})(?:-([0-9a-f]{1,64}))?", re.ASCII)


class Place(NamedTuple):
    """So many messages had come in; `mark` is the beginning of the last one's hash."""

    position: int
    mark: str = ""

    def __str__(self) -> str:
        """As a page and an event carry it."""
        return f"{self.position}-{self.mark}" if self.mark else str(self.position)

    def is_of(self, other: "Place") -> bool:
        """Whether both can be of one store, where they are equally far."""
        return not self.mark or not other.mark or self.mark == other.mark

    def has(self, other: "Place") -> bool:
        """Whether all mail up to the other place is there at this one."""
        if self.position == other.position:
            return self.is_of(other)
        return self.position > other.position


def read_place(text: str) -> Place | None:
    """What somebody says to have seen; None where it is no place."""
    match = _TEXT.fullmatch(text)
    return Place(int(match[1]), match[2] or "") if match else None


def place_after(stored: Stored) -> Place:
    """The place with that message as the last."""
    return Place(stored.arrival, stored.content_hash[:_DIGITS])


def place_of(mailbox: Mailbox, position: int | None = None) -> Place:
    """Where a mailbox is, or was when so many messages had come in."""
    position = mailbox.position() if position is None else position
    found = mailbox.arrivals(position - 1, 1) if position else ()
    return place_after(found[0]) if found else Place(position)
