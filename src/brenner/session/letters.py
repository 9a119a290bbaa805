"""The messages of a thread with what is asked of them most: the type, read once, and the order."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from brenner.protocol.messages import Message, in_thread_order
from brenner.session.chain_messages import type_of
from brenner.session.rebuild import Filed


class Letter(NamedTuple):
    """A message of the thread; `type` is None for mail that is not the protocol's."""

    filed: Filed
    type: str | None

    @property
    def id(self) -> int:
        """Its number in this store."""
        return self.filed.posted.id

    @property
    def at(self) -> datetime:
        """The store's time."""
        return self.filed.posted.at

    @property
    def message(self) -> Message:
        """What was written."""
        return self.filed.posted.message

    @property
    def content(self) -> str:
        """The hash of its content: copies of a message have the same."""
        return self.filed.content_hash


def letters(messages: Iterable[Filed]) -> tuple[Letter, ...]:
    """The messages in their order (R9), whatever order they come in."""
    in_order = sorted(messages, key=lambda filed: in_thread_order(filed.posted))
    return tuple(Letter(filed, type_of(filed)) for filed in in_order)
