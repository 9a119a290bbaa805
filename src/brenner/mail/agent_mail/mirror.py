"""A project's mail in memory: what the server has, and what follows from it.

The server tells neither who has acknowledged what nor who owes it. The reference mailbox works
that out of the messages, as they come in; here they come from the server.
"""

from collections.abc import Mapping
from datetime import datetime

from brenner.mail.agent_mail.items import Item
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Agent, Received, Stored
from brenner.mail.restoring import strangers
from brenner.mail.rules import order


class Mirror(MemoryMailbox):
    """What is known of the mail so far. Whoever stands in it is known, though long gone."""

    newest: datetime | None = None
    highest = 0

    def __init__(self) -> None:
        super().__init__()
        self._by_thread: dict[str, list[Stored]] = {}

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._messages

    def know(self, agents: Mapping[str, Agent]) -> None:
        """The agents as they are now."""
        self._agents |= agents

    def take_in(self, item: Item) -> Stored:
        """The next message."""
        stored = self._stored(item.message, item.id, item.at)._replace(envelope=item.envelope)
        self._welcome(strangers(stored, self._agents))
        self._add(stored)
        self.newest = max(self.newest or item.at, item.at)
        self.highest = max(self.highest, item.id)
        return stored

    def _add(self, stored: Stored) -> None:
        super()._add(stored)
        self._by_thread.setdefault(stored.message.thread_id, []).append(stored)

    def _thread(self, thread_id: str) -> list[Stored]:
        return sorted(self._by_thread.get(thread_id, ()), key=order)

    def _received(self, stored: Stored, name: str) -> Received:
        """Who has read what, only the server knows."""
        return super()._received(stored, name)._replace(is_read=None)
