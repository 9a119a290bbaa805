"""A thread into which kickoffs go, each only to those who have not got theirs.

Every send is conditional on the thread as it was read, so that of two who ask the same at once
nobody gets a kickoff twice. A home that cannot promise that does its best.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import NamedTuple

from brenner.diagnostics.codes.mail import THREAD_MOVED
from brenner.diagnostics.model import Diagnostic, Refused, Unavailable
from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.model import Stored
from brenner.protocol.messages import Message
from brenner.protocol.roster import Roster

_MOST_TRIES = 200


class Asked(NamedTuple):
    """A KICKOFF with a question, as it was written, and the roster that it tells."""

    stored: Stored
    question: str
    roster: Roster | None


class AskingThread(ABC):
    """A thread, read up to some message: so many there are, and that was the last to come in."""

    def __init__(
        self, mailbox: Mailbox, thread_id: str, position: int = 0, arrival: int = 0
    ) -> None:
        self.thread_id = thread_id
        self._mailbox = mailbox
        self._position = position
        self._arrival = arrival

    @abstractmethod
    def reached(self) -> dict[str, Asked]:
        """Who has been asked already, and in which kickoff."""

    @abstractmethod
    def conflict(self) -> Diagnostic | None:
        """Why nothing can be sent into it; None where it can."""

    @abstractmethod
    def _hear(self, news: tuple[Stored, ...]) -> None:
        """Take note of what the messages say."""

    def read(self) -> None:
        """Take in what has come since it was last read."""
        self._take(self._mailbox.thread_arrivals(self.thread_id, self._arrival))

    def _take(self, news: tuple[Stored, ...]) -> None:
        self._position += len(news)
        self._arrival = max((each.arrival for each in news), default=self._arrival)
        self._hear(news)

    def _take_own(self, stored: Stored) -> None:
        """Take in what was just sent; where others may have got in between, them too."""
        if Ability.EXACT_POSITIONS in self._mailbox.lacks:
            with suppress(Unavailable):  # it was sent all the same
                self.read()
        if stored.arrival > self._arrival:
            self._take((stored,))

    def send(self, message: Message) -> Stored | None:
        """Send a kickoff to those of its recipients who have not got one; None if all have."""
        for _ in range(_MOST_TRIES):
            conflict = self.conflict()
            if conflict:
                raise Refused(conflict)
            reached = self.reached()
            missing = tuple(name for name in message.recipients if name not in reached)
            if not missing:
                return None
            to_them = message._replace(recipients=missing)
            try:
                stored = self._mailbox.send(to_them, position=self._position).stored
            except Refused as refused:
                if refused.diagnostic.code is not THREAD_MOVED:
                    raise
                moved = refused
                self.read()
            else:
                self._take_own(stored)
                return stored
        raise moved
