"""A mailbox that is only looked at: nothing is kept there, whatever was worked out."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from brenner.mail.mailbox import Mailbox
from brenner.workflows.desk import Desk

if TYPE_CHECKING:
    from brenner.mail.model import Stored


class _Looking:
    """The mailbox, as it was when so many messages had come in, or as it is."""

    def __init__(self, mailbox: Mailbox, upto: int | None) -> None:
        self._mailbox = mailbox
        self._upto = upto

    def __getattr__(self, name: str) -> object:
        return getattr(self._mailbox, name)

    def thread_arrivals(self, thread_id: str, after: int) -> "tuple[Stored, ...]":
        found = self._mailbox.thread_arrivals(thread_id, after)
        return tuple(each for each in found if self._upto is None or each.arrival <= self._upto)

    def keep(self, contents: Mapping[str, str]) -> None:
        """Who only looks leaves nothing behind; the next time takes as long."""


def only_looking(desk: Desk, upto: int | None = None) -> Desk:
    """The desk of somebody who writes nothing, not even what follows from the mail."""
    return desk._replace(mailbox=cast("Mailbox", _Looking(desk.mailbox, upto)))
