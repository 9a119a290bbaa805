"""Any sequence of operations, on any store, behaves as on the one in memory.

Both get the same random operations; every answer and the code of every refusal is compared. The
store under test is looked at through two views, either of which may write, and be closed and
opened again at any time. Beside it stands a third mailbox, with which mail is exchanged. After
every step all that can be seen is compared, and who owes what is worked out a second time, from
the messages alone.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import (
    InboxFilter,
    MessageRecord,
    Profile,
    ReservationRequest,
    UnchangedSince,
)
from brenner.protocol.messages import Envelope, Message, StoredMessage
from mail import small_world as world
from mail.backends import POSTGRESQL, SQLITE, Backend, Clock
from mail.reference_acks import debts_of, open_copies
from mail.sample_mail import ANN, BEA, CAT, ELSEWHERE, THREAD, ack, introduce, owed
from mail.small_world import Question

pytestmark = pytest.mark.fuzz
Request = Callable[[Mailbox], object]


def answer(request: Request, mailbox: Mailbox) -> object:
    """What a mailbox says: an answer, or the refusal's code and words."""
    try:
        given = request(mailbox)
    except RequestError as refused:
        return ("refused", refused.diagnostic.id, refused.diagnostic.message)
    return tuple(given) if isinstance(given, Iterator) else given


class StoreMachine(RuleBasedStateMachine):
    """One kind of home beside the one in memory."""

    home: Backend

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.clock = Clock()
        self.model: Mailbox = MemoryMailbox(clock=self.clock)
        self.views = [self.home.create(Path(self.folder.name), self.clock), self.open()]
        self.names_in_other_projects: Mailbox = MemoryMailbox(clock=self.clock)
        self.is_changed = True
        self.seen: dict[int, StoredMessage] = {}
        self.last: tuple[Message, int | None, str | None, Envelope] | None = None

    def open(self) -> Mailbox:
        assert self.home.again
        return self.home.again(Path(self.folder.name), self.clock)

    def teardown(self) -> None:
        for view in self.views:
            view.close()
        self.folder.cleanup()

    def ask(self, request: Request) -> None:
        """A question, to all."""
        expected = answer(request, self.model)
        for view in self.views:
            assert answer(request, view) == expected

    def do(self, request: Request) -> None:
        """A change, once."""
        expected = answer(request, self.model)
        assert answer(request, self.views[0]) == expected

    def post(self, message: Message) -> None:
        """Send it, and nothing more; without a thread it begins one."""
        self.do(lambda mailbox: mailbox.send(message))

    @initialize(here=world.some_mail, there=world.some_mail)
    def begin(self, here: list[Message], there: list[Message]) -> None:
        """Three know each other from the start, here and elsewhere, and have written already."""
        for mailbox in (self.model, self.views[0]):
            introduce(mailbox, (ANN, BEA, CAT))
        for message in here:
            self.post(message)
        self.another_store(there)

    # The world around

    @rule(move=world.moves)
    def time_passes(self, move: timedelta) -> None:
        """Or is set back."""
        self.clock.move(move)

    @rule()
    def another_writes(self) -> None:
        """From now on the other view."""
        self.views.reverse()

    @rule()
    def opened_again(self) -> None:
        """The writer ends, and comes back."""
        self.views[0].close()
        self.views[0] = self.open()

    @rule()
    def all_end(self) -> None:
        """Nobody has the home open for a moment."""
        for view in self.views:
            view.close()
        self.views = [self.open(), self.open()]

    # Changes

    @rule(profile=world.profiles, update=st.booleans())
    def register(self, profile: Profile, update: bool) -> None:
        """Old names and new ones, some of which nobody can have."""
        self.do(lambda mailbox: mailbox.register(profile, update=update))

    @rule(
        message=st.one_of(world.sound_messages, world.sound_messages, world.messages),
        reply_to=st.one_of(st.none(), st.none(), world.ids),
        key=world.keys,
        around=world.around,
        position=st.one_of(st.none(), st.none(), st.none(), st.integers(-1, 6)),
    )
    def send(
        self,
        message: Message,
        reply_to: int | None,
        key: str | None,
        around: world.Around,
        position: int | None,
    ) -> None:
        """Mail of every kind, much of which is refused."""
        envelope = world.envelope_of(message, around)
        self.last = (message, reply_to, key, envelope)
        self.do(
            lambda one: one.send(
                message, reply_to=reply_to, key=key, position=position, envelope=envelope
            )
        )

    @rule(
        message=world.sound_messages,
        key=st.sampled_from(["k", "K"]),
        around=st.just(world.USUAL) | world.around,
        is_threadless=st.booleans(),
    )
    def send_with_key(
        self, message: Message, key: str, around: world.Around, is_threadless: bool
    ) -> None:
        """New, known, or refused: her own key decides."""
        message = message._replace(thread_id="") if is_threadless else message
        envelope = world.envelope_of(message, around)
        self.last = (message, None, key, envelope)
        self.do(lambda mailbox: mailbox.send(message, key=key, envelope=envelope))

    @rule(message=world.sound_messages, late=st.sampled_from([0, 0, 1, -1]))
    def send_at_position(self, message: Message, late: int) -> None:
        """As it was read, or as somebody else found it."""
        position = self.model.thread(message.thread_id).position + late
        self.do(lambda mailbox: mailbox.send(message, position=position))

    @rule(
        message=world.sound_messages,
        back=st.integers(0, 5),
        operators=st.frozensets(st.sampled_from([ANN, BEA]), max_size=1),
        contributions=st.booleans(),
    )
    def send_since(
        self, message: Message, back: int, operators: frozenset[str], contributions: bool
    ) -> None:
        """Unless a version or a decision is among the last few messages."""
        since = UnchangedSince(self.model.position() - back, operators, contributions)
        self.do(lambda mailbox: mailbox.send(message, position=since))

    @rule(message=world.acks())
    def acknowledge(self, message: Message) -> None:
        """Also what is not hers, or not there."""
        self.post(message)

    @rule(data=st.data(), with_id=st.booleans())
    def acknowledge_owed(self, data: st.DataObject, with_id: bool) -> None:
        """What somebody owes, by its id or without one."""
        debts = self.model.debts()
        if debts:
            debt = data.draw(st.sampled_from(debts))
            text = str(data.draw(st.sampled_from([debt.first.id, debt.last.id])) if with_id else "")
            thread_id = debt.first.message.thread_id
            self.post(ack(text, sender=debt.debtor, to=(ANN, BEA), thread=thread_id))

    @rule(data=st.data(), to=world.some_people, stated=world.stated)
    def resend(self, data: st.DataObject, to: tuple[str, ...], stated: bool | None) -> None:
        """A copy: the same sender, subject and body."""
        if self.seen:
            stored = self.seen[data.draw(st.sampled_from(sorted(self.seen)))]
            copy = stored.message._replace(recipients=to, ack_required=stated)
            self.do(lambda mailbox: mailbox.send(copy, reply_to=stored.id))

    @rule(data=st.data())
    def resend_owed(self, data: st.DataObject) -> None:
        """Once more to who has not acknowledged it."""
        debts = self.model.debts()
        if debts:
            debt = data.draw(st.sampled_from(debts))
            self.post(debt.last.message._replace(recipients=(debt.debtor,)))

    @rule(position=st.sampled_from([None, 0]))
    def send_again(self, position: int | None) -> None:
        """An answer was lost: the same request once more."""
        if self.last:
            message, reply_to, key, envelope = self.last
            self.do(
                lambda one: one.send(
                    message, reply_to=reply_to, key=key, position=position, envelope=envelope
                )
            )

    @rule(name=world.names, ids=st.lists(world.ids, max_size=4), is_read=st.booleans())
    def mark(self, name: str, ids: list[int], is_read: bool) -> None:
        """Mostly what is not hers: all or none."""
        self.do(lambda mailbox: mailbox.mark(name, iter(ids), is_read=is_read))

    @rule(name=world.people, is_read=st.booleans(), data=st.data())
    def mark_own(self, name: str, is_read: bool, data: st.DataObject) -> None:
        """What she got."""
        hers = [received.stored.id for received in self.model.inbox(name).messages]
        some = data.draw(st.lists(st.sampled_from(hers), max_size=4)) if hers else []
        self.do(lambda mailbox: mailbox.mark(name, some, is_read=is_read))

    @rule(name=world.names, digest=st.sampled_from(["0" * 64, "1" * 64]), replace=st.booleans())
    def claim(self, name: str, digest: str, replace: bool) -> None:
        """A name gets a secret once, unless it is said to be replaced."""
        self.do(lambda mailbox: mailbox.claim(name, digest, replace=replace))

    @rule(name=world.names, request=world.wishes)
    def reserve(self, name: str, request: ReservationRequest) -> None:
        """Who has what of it is told alike."""
        self.do(lambda mailbox: mailbox.reserve(name, request))

    @rule(
        name=world.names,
        patterns=st.none() | st.lists(world.patterns, max_size=2),
        ids=st.none() | st.lists(world.ids, max_size=3),
    )
    def release(self, name: str, patterns: list[str] | None, ids: list[int] | None) -> None:
        """Some of her own, or all."""
        self.do(lambda mailbox: mailbox.release(name, patterns=patterns, ids=ids))

    # Moving

    @rule(message=st.one_of(world.sound_messages, world.acks()), around=world.around)
    def mail_elsewhere(self, message: Message, around: world.Around) -> None:
        """The other store goes on by itself, and gives the same ids to other messages."""
        self.names_in_other_projects.send(message, envelope=world.envelope_of(message, around))

    @rule(messages=world.some_mail)
    def another_store(self, messages: list[Message]) -> None:
        """From now on mail comes from a third one, which knows only its own; some is sent twice."""
        self.names_in_other_projects = MemoryMailbox(clock=self.clock)
        introduce(self.names_in_other_projects, (ANN, BEA, CAT))
        for message in [*messages, messages[0]]:
            self.names_in_other_projects.send(message)

    @rule()
    def settle_elsewhere(self) -> None:
        """There, too, somebody acknowledges what she owes."""
        for debt in self.names_in_other_projects.debts()[:1]:
            thread_id, number = debt.first.message.thread_id, debt.first.id
            self.names_in_other_projects.send(
                ack(str(number), sender=debt.debtor, thread=thread_id)
            )

    @rule()
    def export(self) -> None:
        """Mail goes out, and may come back later, together with what was written there."""
        self.names_in_other_projects.restore(self.model.agents(), list(self.model.records()))

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """All that the other store has, or a part of it, in its order."""
        agents, records = (
            self.names_in_other_projects.agents(),
            list(self.names_in_other_projects.records()),
        )
        left_out = data.draw(st.sets(st.integers(0, 9), max_size=2))
        some = [one for place, one in enumerate(records) if place not in left_out]
        self.do(lambda mailbox: mailbox.restore(iter(agents), iter(some)))

    @rule(after=st.integers(0, 5))
    def broken_archive(self, after: int) -> None:
        """Nothing is left behind of one that cannot be read to its end."""
        agents, records = (
            self.names_in_other_projects.agents(),
            list(self.names_in_other_projects.records()),
        )

        def broken() -> Iterator[MessageRecord]:
            yield from records[:after]
            raise EOFError

        for mailbox in (self.model, self.views[0]):
            with pytest.raises(EOFError):
                mailbox.restore(agents, broken())

    @rule(questions=st.lists(world.questions, min_size=1, max_size=5))
    def look(self, questions: list[Question]) -> None:
        """Any part of it, in any page, also what is not there."""
        for question in questions:
            self.ask(question.put_to)
        self.is_changed = False

    @rule(limit=st.integers(1, 3), wanted=world.filters)
    def look_everywhere(self, limit: int, wanted: InboxFilter) -> None:
        """A page from every message on, of every thread and every inbox."""
        for place in (None, *self.seen):
            page = {"limit": limit, "before": place}
            for name in (ANN, BEA, CAT):
                self.ask(Question("inbox", (name,), page).put_to)
                self.ask(Question("inbox", (name, wanted), page).put_to)
            for thread_id in (THREAD, ELSEWHERE):
                self.ask(Question("thread", (thread_id,), page).put_to)
                self.ask(Question("thread", (thread_id,), {"limit": limit, "after": place}).put_to)
        for number in self.seen:
            self.ask(Question("deliveries", (number,), {}).put_to)
        self.is_changed = False

    # What holds at any time

    @invariant()
    def all_is_well(self) -> None:
        """Questions change nothing, so that it need not be looked at again after them."""
        if self.is_changed:
            self.all_see_the_same()
            self.messages_stay()
            self.debts_follow_from_the_thread()
        self.is_changed = True

    def all_see_the_same(self) -> None:
        """Agents and what is theirs, messages, marks, debts, threads."""
        self.ask(lambda mailbox: mailbox.agents())
        self.ask(lambda mailbox: mailbox.records())
        self.ask(lambda mailbox: mailbox.debts())
        self.ask(lambda mailbox: mailbox.threads())
        self.ask(lambda mailbox: mailbox.position())
        self.ask(lambda mailbox: mailbox.reservations())
        self.ask(lambda mailbox: [mailbox.digest(agent.name) for agent in mailbox.agents()])
        self.ask(lambda mailbox: [mailbox.unread(agent.name) for agent in mailbox.agents()])

    def messages_stay(self) -> None:
        """What was stored once reads the same for ever, and arrivals count without a gap."""
        now = self.views[-1].arrivals(0)
        assert [stored.arrival for stored in now] == list(range(1, len(now) + 1))
        by_id = {stored.id: stored for stored in now}
        assert len(by_id) == len(now)
        assert self.seen.items() <= by_id.items()
        self.seen = by_id

    def debts_follow_from_the_thread(self) -> None:
        """Who owes what is a function of the messages, however they are grouped and paged."""
        view = self.views[-1]
        debts = view.debts()
        oldest_first = [(debt.first.at, debt.first.id) for debt in debts]
        assert oldest_first == sorted(oldest_first)
        threads = [view.thread(summary.thread_id).messages for summary in view.threads()]
        assert sorted(owed(debts)) == sorted(one for thread in threads for one in debts_of(thread))
        copies = {(debtor, one.id) for thread in threads for debtor, one in open_copies(thread)}
        for name in (ANN, BEA, CAT):
            inbox = view.inbox(name).messages
            hers = {(name, received.stored.id) for received in inbox if received.owes_ack}
            assert hers == {copy for copy in copies if copy[0] == name}


class SqliteMachine(StoreMachine):
    """The embedded store."""

    home = SQLITE


class PostgresMachine(StoreMachine):
    """The one for several machines; every step of it goes to a server and back, many times."""

    home = POSTGRESQL


TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = settings(max_examples=settings().max_examples // 5, stateful_step_count=40)
TestPostgres = PostgresMachine.TestCase
TestPostgres.settings = settings(max_examples=settings().max_examples // 40, stateful_step_count=25)
