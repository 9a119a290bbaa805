"""The threads that are followed: each kept in memory, so that a message costs what is new."""

from typing import NamedTuple

from brenner.mail.model import Stored
from brenner.protocol.thread_ids import is_valid
from brenner.session.model import SessionStatus
from brenner.session.rebuild import Filed
from brenner.session.routing import Route, Step, evidence_of, route
from brenner.session.status import Standing, standing
from brenner.session.versions import Chain, replay
from brenner.workflows.chains import check_usable, filed, grown_chain, load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.looking import only_looking

_MOST_IN_MEMORY = 100  # threads; the others are read again when something comes in there
_NO_SESSION = Route(
    None, Step.NOTHING, "the thread's ID is no session's: nothing in it is compiled"
)


class Known(NamedTuple):
    """A thread as far as it was read."""

    chain: Chain
    messages: tuple[Filed, ...]
    standing: Standing

    @property
    def status(self) -> SessionStatus:
        """Where it stands."""
        return self.standing.status


class Taken(NamedTuple):
    """A new message, what it means, and where its session stood before and stands after it.

    A thread whose ID no session can have stands nowhere.
    """

    stored: Stored
    route: Route
    before: SessionStatus | None
    after: SessionStatus | None


class Threads:
    """All that are followed; those in which something happens stay in memory."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._known: dict[str, Known] = {}

    def first(self, thread_id: str, upto: int) -> SessionStatus:
        """Where a thread stood when so many messages had come in; an unknown one is refused."""
        check_usable(thread_id)
        known = self._known[thread_id] = _read(self.desk, thread_id, upto)
        return known.status

    def take(self, stored: Stored) -> Taken:
        """The next message. Nothing has happened where the mailbox fails on the way."""
        thread_id = stored.message.thread_id
        if not is_valid(thread_id):
            return Taken(stored, _NO_SESSION, None, None)
        before = self._before(thread_id, stored)
        message = filed(stored)
        after = _with(before, message, self.desk.project.operator)
        self._remember(thread_id, after)
        ledger = after.standing.ledger
        evidence = evidence_of(message, before and before.chain, after.chain, ledger)
        found = route(message, before and before.status, after.status, evidence)
        return Taken(stored, found, before and before.status, after.status)

    def _before(self, thread_id: str, stored: Stored) -> Known | None:
        """The thread without the message; None where that is its first."""
        if thread_id in self._known:
            return self._known[thread_id]
        upto = stored.arrival - 1
        earlier = self.desk.mailbox.thread_arrivals(thread_id, 0)
        if all(each.arrival > upto for each in earlier):
            return None
        return _read(self.desk, thread_id, upto)

    def _remember(self, thread_id: str, known: Known) -> None:
        self._known.pop(thread_id, None)
        self._known[thread_id] = known  # the last one is the one that was used last
        if len(self._known) > _MOST_IN_MEMORY:
            del self._known[next(iter(self._known))]


def _read(desk: Desk, thread_id: str, upto: int) -> Known:
    """A thread as it was; what others have kept of it helps, and nothing is kept."""
    then, operator = only_looking(desk, upto), desk.project.operator
    found = load_chain(then.mailbox, thread_id, operator)
    messages = tuple(map(filed, then.mailbox.thread_arrivals(thread_id, 0)))
    # What somebody kept may be newer than the moment that is asked for.
    chain = found.chain if found.arrival <= upto else replay(thread_id, messages, operator)
    return Known(chain, messages, standing(chain, messages, operator))


def _with(before: Known | None, message: Filed, operator: str) -> Known:
    """The thread with one more message."""
    thread_id = message.posted.message.thread_id
    if before is None:
        chain = replay(thread_id, (message,), operator)
        return Known(chain, (message,), standing(chain, (message,), operator))
    messages = (*before.messages, message)
    chain = grown_chain(before.chain, messages, [message], operator)
    return Known(chain, messages, standing(chain, messages, operator, before.status))
