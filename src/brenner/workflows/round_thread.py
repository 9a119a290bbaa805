"""A thread as the kickoffs of a later round find it: which version it has, and whom they reached.

A kickoff is of this round if no version has read it and it names the latest version as its base.
"""

from collections.abc import Iterator

from brenner.artifact.merge.resolve import Kickoff, read_posted, stated_base
from brenner.diagnostics.codes.sessions import ROUND_OVERTAKEN
from brenner.diagnostics.model import Diagnostic
from brenner.mail.model import Stored
from brenner.markdown.blocks import blocks
from brenner.protocol.message_types import COMPILED, KICKOFF
from brenner.protocol.messages import Message
from brenner.session.versions import chain_messages_is_decision as is_decision
from brenner.session.versions import type_of
from brenner.workflows.asking_thread import Asked, AskingThread
from brenner.workflows.chains import filed, load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.publishing import check_sound
from brenner.workflows.session_status import Followed


class RoundThread(AskingThread):
    """A thread, read as far as its status was worked out from it."""

    def __init__(self, desk: Desk, followed: Followed) -> None:
        messages = followed.messages
        arrival = max(each.arrival for each in messages)
        super().__init__(desk.mailbox, followed.chain.thread_id, len(messages), arrival)
        self._desk = desk
        self._chain = followed.chain
        self._now = followed.chain
        unread = [each for each in followed.chain.unread if type_of(each) == KICKOFF.name]
        found = (desk.mailbox.message(each.posted.id) for each in unread)
        self._asked = list(self._of_this_round(found))

    @property
    def first(self) -> Stored | None:
        """The kickoff with which the round began."""
        return self._asked[0].stored if self._asked else None

    def reached(self) -> dict[str, Asked]:
        """Who has got a kickoff of this round, and which: the first, if she got two."""
        return {
            name: each for each in reversed(self._asked) for name in each.stored.message.recipients
        }

    def conflict(self) -> Diagnostic | None:
        """That the latest version is not the one that the kickoffs name; None where it is."""
        before, latest = self._chain, self._now.latest
        if latest and before.latest and latest.content_hash == before.latest.content_hash:
            return None
        return overtaken(self.thread_id, before.number, latest.number if latest else None)

    def _hear(self, news: tuple[Stored, ...]) -> None:
        """A kickoff may be of this round; a version, or a decision on one, may end it."""
        self._asked += self._of_this_round(each for each in news if each.type == KICKOFF.name)
        if any(each.type == COMPILED.name or is_decision(filed(each)) for each in news):
            operator = self._desk.project.operator
            self._now = load_chain(self._mailbox, self.thread_id, operator).chain
            check_sound(self._now)

    def _of_this_round(self, kickoffs: Iterator[Stored]) -> Iterator[Asked]:
        """Whoever starts a round; an agent of the roster who asks others has not started it."""
        agents = {*self._chain.state.artifact.metadata.agents}
        agents -= {self._desk.actor, *self._chain.operators}
        for stored in kickoffs:
            brought = read_posted(stored.posted)
            if stored.message.sender in agents or not isinstance(brought, Kickoff):
                continue
            if named_base(stored.message) == self._chain.number:
                yield Asked(stored, brought.question, brought.roster)


def named_base(kickoff: Message) -> int | None:
    """The version that a kickoff names as its base."""
    return stated_base(blocks(kickoff.body), KICKOFF.version_field)


def overtaken(thread_id: str, base: int, latest: int | None) -> Diagnostic:
    """That kickoffs name a version that is not the latest any more."""
    now = f"v{latest} is the latest version" if latest else "it has no version any more"
    return ROUND_OVERTAKEN.at(round=base + 1, version=base, thread_id=thread_id, now=now)
