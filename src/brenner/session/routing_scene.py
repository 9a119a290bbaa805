"""One message between the status before it and the status after it."""

from typing import NamedTuple

from brenner.artifact.state import Entry
from brenner.session.rebuild import Filed
from brenner.session.route import Evidence, listed
from brenner.session.status import OpenMessage, Participant, Refusal, SessionStatus
from brenner.text import visible

_MOST_ABOUT = 60


class Scene(NamedTuple):
    """What the words about a message are made of."""

    message: Filed
    before: SessionStatus | None
    after: SessionStatus
    evidence: Evidence

    @property
    def id(self) -> int:
        """Of the message."""
        return self.message.posted.id

    @property
    def sender(self) -> str:
        """Of the message."""
        return self.message.posted.message.sender

    @property
    def recipients(self) -> tuple[str, ...]:
        """Of the message."""
        return self.message.posted.message.recipients

    @property
    def reminded(self) -> tuple[str, ...]:
        """Whom a kickoff asks for nothing new: it is a copy of one of an earlier round."""
        names = (name for name in self.recipients if name != self.sender)
        return tuple(name for name in names if self._is_reminded(name))

    def _is_reminded(self, name: str) -> bool:
        """By the ACK that she owes; where she owes none, a copy is taken for one of this round."""
        her = _named(self.after, name)
        if her is None or her.kickoff is None:
            return True
        owed = (each for each in self.after.open_acks if each.last_message_id == self.id)
        first = next((each.message_id for each in owed if each.debtor == name), her.kickoff)
        is_new_debt = first == self.id and her.is_acknowledged
        return self.id != her.kickoff != first and not is_new_debt

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What becomes of its blocks."""
        return self.evidence.entries

    @property
    def version(self) -> int:
        """The number of the latest version; 0 before the first."""
        return self.after.version.number if self.after.version else 0

    @property
    def sender_before(self) -> Participant | None:
        """Who sent it, as she stood before, if that was in the same round."""
        if self.before is None or self.before.round != self.after.round:
            return None
        return _named(self.before, self.sender)

    @property
    def sender_after(self) -> Participant | None:
        """Who sent it, as she stands now."""
        return _named(self.after, self.sender)

    @property
    def opened(self) -> OpenMessage | None:
        """The message, where it waits for somebody."""
        return next((each for each in self.after.messages if each.message_id == self.id), None)

    @property
    def about(self) -> str:
        """What it is about, in its author's words, cut."""
        return visible(self.opened.about, _MOST_ABOUT) if self.opened else ""

    @property
    def rank(self) -> str:
        """How grave or urgent its author calls it."""
        return visible(self.opened.rank, _MOST_ABOUT) if self.opened else ""

    @property
    def waiting_words(self) -> str:
        """Whom it waits for."""
        if self.opened is None:
            return ""
        names = self.opened.waiting_for
        return f"; it waits for {listed(names)}" if names else "; it waits for anybody's ACK"

    @property
    def no_longer_refused(self) -> tuple[Refusal, ...]:
        """The refused blocks of earlier messages that are dealt with now."""
        left = {(each.message_id, each.block) for each in self.after.refusals}
        known = self.before.refusals if self.before else ()
        return tuple(each for each in known if (each.message_id, each.block) not in left)


def _named(status: SessionStatus, name: str) -> Participant | None:
    return next((each for each in status.participants if each.name == name), None)
