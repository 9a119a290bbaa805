"""Who waits is told by the server, in whatever process; threads share a mailbox; Ctrl-C works."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from brenner.diagnostics.model import UnavailableError
from brenner.mail.model import MessageRecord
from brenner.mail.postgres import connection as listening
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.store_url import PostgresAddress
from mail.backends import postgresql_address
from mail.postgresql_work import send_in_turn, wait_for_news, wait_until_interrupted
from mail.processes import Child, answered, release, start
from mail.sample_mail import ANN, BEA, introduce, make_message
from servers import postgresql
from servers.lifetime import until
from servers.postgresql import Postgres

LONG = 120  # seconds: longer than any of this takes, so that only news can end a wait
NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight")


@pytest.fixture
def address(tmp_path: Path) -> PostgresAddress:
    """A name that nothing has yet."""
    return postgresql_address(tmp_path)


@pytest.fixture
def mailbox(address: PostgresAddress) -> Iterator[PostgresMailbox]:
    """A mailbox with the server's own clock, where the usual agents are known."""
    with PostgresMailbox.create(address) as mailbox:
        introduce(mailbox)
        yield mailbox


def listeners() -> int:
    """How many connections listen, and do nothing else."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle'"
    return int(postgresql.running().sql(sql)[0][0])


def test_news_wakes_other_processes(address: PostgresAddress, mailbox: PostgresMailbox) -> None:
    """They do not look again and again: the server tells them."""
    before = listeners()
    children = [start(wait_for_news, *address, 0, LONG) for _ in range(3)]
    release(children)
    for _ in until(lambda: listeners() == before + 3, LONG):
        pass
    mailbox.send(make_message())
    assert [answered(child) for child in children] == [[1]] * 3


def test_only_news_wakes(mailbox: PostgresMailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks, names and mail of other schemas are none; what was rolled back neither."""
    monkeypatch.setattr(listening, "NOTIFY_SECONDS", LONG)
    stored = mailbox.send(make_message()).stored
    with mailbox._listeners.listening() as hear:  # noqa: SLF001
        mailbox.mark(BEA, [stored.id], is_read=True)
        mailbox.keep({"notes": "new"})
        with pytest.raises(ValueError, match="the archive breaks off"):
            mailbox.restore((), broken(mailbox))
        waiting = threading.Thread(target=hear, args=[LONG])
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        mailbox.send(make_message())
        waiting.join(LONG)
        assert not waiting.is_alive()


def broken(mailbox: PostgresMailbox) -> Iterator[MessageRecord]:
    """An archive with one new message and no end."""
    stored = mailbox.message(1)
    yield MessageRecord(stored._replace(id=7, origin_id=7))
    message = "the archive breaks off"
    raise ValueError(message)


@pytest.mark.thorough
def test_a_server_that_follows_another() -> None:
    """It can be read, and one can look for news there; it tells nobody, and takes nothing."""
    with Postgres() as server:
        address = PostgresAddress(server.url())
        with PostgresMailbox.create(address) as mailbox:
            introduce(mailbox)
            stored = mailbox.send(make_message()).stored
        server.stop()
        (server.data / "standby.signal").touch()
        server.start()
        assert PostgresMailbox.is_there(address)
        for way in (PostgresMailbox.open, PostgresMailbox.create):
            with way(address) as mailbox:
                assert mailbox.wait(0, LONG) == 1
                assert mailbox.wait(1, 0.3) == 1
                assert [record.stored for record in mailbox.records()] == [stored]
                with pytest.raises(UnavailableError) as caught:
                    mailbox.send(make_message())
                assert caught.value.diagnostic.id == "STORE_READ_ONLY"


def test_threads_share_a_mailbox(mailbox: PostgresMailbox) -> None:
    """More of them than connections, all sending and reading: nothing lost, nothing twice."""

    def work(number: int) -> list[int]:
        sent = []
        for _ in range(5):
            stored = mailbox.send(make_message(f"from thread {number}")).stored
            assert mailbox.message(stored.id) == stored
            assert stored in mailbox.thread(stored.message.thread_id).messages
            sent.append(stored.id)
        return sent

    with ThreadPoolExecutor(20) as threads:
        sent = [number for own in threads.map(work, range(20)) for number in own]
    assert sorted(sent) == list(range(1, 101))
    assert [stored.arrival for stored in mailbox.arrivals(0)] == list(range(1, 101))
    assert mailbox.integrity() == ()


@pytest.mark.thorough
def test_of_conditional_sends_one_goes_through(
    address: PostgresAddress, mailbox: PostgresMailbox
) -> None:
    """Eight processes: positions are exact, and of sends with one key one is new."""
    children = [start(send_in_turn, *address, name, 4) for name in NAMES]
    release(children)
    once = [line for child in children for line in answered(child)]
    assert sorted(is_new for _, is_new in once) == [False] * 7 + [True]
    assert len({message_id for message_id, _ in once}) == 1
    messages = mailbox.arrivals(0)
    assert [stored.arrival for stored in messages] == list(range(1, 8 * 4 + 2))
    for position, stored in enumerate(messages):
        body = stored.message.body
        assert body == "Only once" or body.endswith(f" on top of {position}")


def test_times_are_the_servers(mailbox: PostgresMailbox) -> None:
    """In UTC, whatever zone it is set to; they never go back."""
    sent = [mailbox.send(make_message()).stored.at for _ in range(5)]
    assert sent == sorted(sent)
    assert abs(sent[0] - datetime.now(UTC)) < timedelta(minutes=10)
    at = mailbox.database.server.connect()
    told = at.execute("SELECT clock_timestamp()").fetchall()[0][0]
    at.close()
    assert isinstance(told, datetime)
    assert sent[-1] <= told
    mailbox.mark(BEA, [1], is_read=True)
    read_at = mailbox.deliveries(1)[0].read_at
    assert read_at
    assert read_at >= sent[-1]
    assert mailbox.agent(ANN).registered_at <= sent[0]


def test_names_of_any_length(mailbox: PostgresMailbox) -> None:
    """Mail from elsewhere may have any thread ID; what is kept is named after it."""
    names = ["t" * 10_000, "t" * 9_999 + "u", "é" * 5_000, "T" * 10_000]
    for number, name in enumerate(names, 1):
        assert mailbox.send(make_message(thread=name)).stored.id == number
        mailbox.keep({name: str(number)})
        mailbox.keep({name: f"again {number}"})
    for number, name in enumerate(names, 1):
        assert [stored.id for stored in mailbox.thread(name).messages] == [number]
        assert mailbox.kept(name) == f"again {number}"
    assert {thread.thread_id for thread in mailbox.threads()} == set(names)
    assert mailbox.kept("\0") is None
    assert mailbox.thread("a\0b").messages == ()


def interrupt(child: Child, sql: str) -> None:
    """Press Ctrl-C when the server says that the child waits."""
    release([child])
    for _ in until(lambda: bool(postgresql.running().sql(sql)), LONG):
        pass
    child.send_signal(signal.SIGINT)
    assert child.stdout
    assert child.stdout.readline() == '"interrupted"\n'


def test_waiting_can_be_interrupted(address: PostgresAddress, mailbox: PostgresMailbox) -> None:
    """Whether for mail or for one's turn; nothing is left behind."""
    child = start(wait_until_interrupted, *address)
    active = "SELECT 1 FROM pg_stat_activity WHERE datname = 'brenner' AND"
    interrupt(child, f"{active} query LIKE 'LISTEN%{address.schema}%' AND state = 'idle'")
    with psycopg.connect(address.url) as other:
        other.execute(f"SELECT 1 FROM {address.schema}.store FOR UPDATE".encode())  # noqa: S608
        interrupt(child, f"{active} wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'")
        assert answered(child) == []
    mailbox.send(make_message("Afterwards"))
    assert [stored.message.body for stored in mailbox.arrivals(0)] == ["Afterwards"]
