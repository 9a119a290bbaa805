"""A database server that goes, comes back, stands still, is full, or whose answers get lost.

Whatever happens: what is said to be sent is stored once, what is said not to be is not stored, and
where nobody can know, that is said.
"""

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from brenner.diagnostics.model import UnavailableError, UnknownOutcomeError
from brenner.mail.model import Profile
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.store_url import PostgresAddress
from mail.fault_mail import BEA, THREAD, make_message
from mail.postgresql_scene import COMMIT, Scene, assert_said, impatient, prepared
from servers.lifetime import until
from servers.postgresql import Postgres
from servers.proxy import Proxy

_LIMIT = 60  # seconds


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that may be stopped."""
    with Postgres(auth="scram") as server:
        yield server


@pytest.fixture
def scene(server: Postgres) -> Iterator[Scene]:
    """All is well so far."""
    with Proxy(server.port) as proxy:
        yield from prepared(server, proxy)
    server.resume()
    if not server.is_running:
        server.start()


def said(work: Callable[[], object], code: str) -> UnavailableError:
    """What a call ends with."""
    with pytest.raises(UnavailableError) as caught:
        work()
    assert_said(caught.value, code)
    return caught.value


def assert_goes_on(scene: Scene, *before: str) -> None:
    """The same mailbox works, and these were stored, once each."""
    scene.mailbox.send(make_message("Afterwards"))
    assert scene.stored() == [*before, "Afterwards"]


# Gone, and there again


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_gone_before(scene: Scene, end: str) -> None:
    """Neither a new mailbox nor one that is open can do anything, until the server is back."""
    getattr(scene.server, end)()
    address = PostgresAddress(scene.store.partition("?")[0], scene.schema)
    for way in (PostgresMailbox.is_there, PostgresMailbox.open, PostgresMailbox.create):
        said(partial(way, address), "SERVER_UNREACHABLE")
    for call in (
        lambda: scene.mailbox.send(make_message("Never")),
        lambda: scene.mailbox.inbox(BEA),
        lambda: list(scene.mailbox.records()),
        lambda: scene.mailbox.wait(0, 5),
    ):
        assert not isinstance(said(call, "SERVER_UNREACHABLE"), UnknownOutcomeError)
    scene.server.start()
    assert scene.mailbox.inbox(BEA).messages == ()
    assert_goes_on(scene)


def test_restarted_between_two_calls(scene: Scene) -> None:
    """Connections that are kept are dead then, and nobody is told of it: new ones are made."""
    scene.mailbox.send(make_message("Before"))
    assert scene.mailbox.wait(1, 0.01) == 1  # so that there is one that listens, too
    scene.server.restart()
    assert [each.message.body for each in scene.mailbox.thread(THREAD).messages] == ["Before"]
    scene.server.restart()
    scene.mailbox.send(make_message("Between"))
    scene.server.restart()
    assert scene.mailbox.wait(2, 0.01) == 2
    assert_goes_on(scene, "Before", "Between")


def test_an_administrator_ends_all_connections(scene: Scene) -> None:
    scene.mailbox.send(make_message("Before"))
    scene.server.sql(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'brenner'"
    )
    assert_goes_on(scene, "Before")


def test_gone_while_somebody_waits_for_mail(scene: Scene) -> None:
    """It is noticed at once, and said; not taken for silence."""
    caught: list[UnavailableError] = []

    def wait() -> None:
        try:
            scene.mailbox.wait(0, _LIMIT)
        except UnavailableError as error:
            caught.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    listens = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle'"
    for _ in until(lambda: bool(scene.server.sql(listens)), _LIMIT):
        pass
    scene.server.kill()
    waiting.join(_LIMIT)
    assert_said(caught[0], "SERVER_LOST")


# In the middle of a send


@pytest.mark.parametrize("marker", [b"INSERT INTO messages", COMMIT])
@pytest.mark.parametrize("then", ["the network breaks", "the server is killed"])
def test_gone_before_it_was_stored(scene: Scene, marker: bytes, then: str) -> None:
    """Nothing is stored, and that is what is said."""
    again = None if then == "the network breaks" else lambda: killed_and_started(scene)
    scene.proxy.cut_before_request(marker, again)
    error = said(lambda: scene.mailbox.send(make_message("Lost")), "SERVER_LOST")
    assert not isinstance(error, UnknownOutcomeError)
    assert scene.proxy.struck.wait(_LIMIT)
    assert_goes_on(scene)


def killed_and_started(scene: Scene) -> None:
    scene.server.kill()
    scene.server.start()


def test_gone_when_the_transaction_begins(scene: Scene) -> None:
    """Nothing was done yet, so that it is done on a new connection."""
    scene.mailbox.inbox(BEA)
    scene.proxy.cut_before_answer(b"FOR UPDATE")
    scene.mailbox.send(make_message("Sent"))
    assert scene.proxy.struck.wait(_LIMIT)
    assert_goes_on(scene, "Sent")


@pytest.mark.parametrize("reset", [False, True])
def test_the_answer_to_the_commit_gets_lost(scene: Scene, reset: bool) -> None:
    """It is stored, once, and that is what is said."""
    scene.proxy.reset = reset
    scene.proxy.cut_before_answer(COMMIT)
    sent = scene.mailbox.send(make_message("Stored"))
    assert scene.proxy.struck.wait(_LIMIT)
    assert sent.is_new
    assert scene.mailbox.message(sent.stored.id) == sent.stored
    assert_goes_on(scene, "Stored")


def test_the_server_dies_after_the_commit_and_comes_back(scene: Scene) -> None:
    """Until it is back, its answer is waited for."""
    scene.proxy.cut_before_answer(COMMIT, lambda: killed_and_started(scene))
    scene.mailbox.send(make_message("Stored"))
    assert scene.proxy.struck.wait(_LIMIT)
    assert_goes_on(scene, "Stored")


def test_others_write_before_one_can_ask(scene: Scene) -> None:
    """What became of one's own write can still be told when others have written since."""

    def others_send() -> None:
        with scene.directly() as other:
            for number in range(5):
                other.send(make_message(f"Other {number}"))

    scene.proxy.cut_before_answer(COMMIT, others_send)
    sent = scene.mailbox.send(make_message("Stored"))
    assert sent.stored.arrival == 1
    others = [f"Other {number}" for number in range(5)]
    assert scene.stored() == ["Stored", *others]

    scene.proxy.cut_before_request(COMMIT, lambda: None)
    said(lambda: scene.mailbox.send(make_message("Lost")), "SERVER_LOST")
    assert_goes_on(scene, "Stored", *others)


@pytest.mark.parametrize(("cut", "stored"), [("answer", ["Perhaps"]), ("request", [])])
def test_gone_for_good_at_the_commit(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, cut: str, stored: list[str]
) -> None:
    """Nobody can know; and repeated with the same key it is there once, whatever was true."""
    impatient(monkeypatch, SETTLE_SECONDS=0.5)
    proxy = scene.proxy
    trap = proxy.cut_before_answer if cut == "answer" else proxy.cut_before_request
    trap(COMMIT, proxy.refuse)
    error = said(lambda: scene.mailbox.send(make_message("Perhaps"), key="k"), "OUTCOME_UNKNOWN")
    assert isinstance(error, UnknownOutcomeError)
    assert "the message may or may not be stored" in error.diagnostic.message
    assert scene.stored() == stored
    proxy.pass_on()
    assert scene.mailbox.send(make_message("Perhaps"), key="k").is_new is not bool(stored)
    assert_goes_on(scene, "Perhaps")


@pytest.mark.parametrize("call", ["register", "mark", "keep"])
def test_other_changes_are_settled_likewise(scene: Scene, call: str) -> None:
    mailbox = scene.mailbox
    first = mailbox.send(make_message("First")).stored
    work: dict[str, Callable[[], object]] = {
        "register": lambda: mailbox.register(Profile("NewOak")),
        "mark": lambda: mailbox.mark(BEA, [first.id], is_read=True),
        "keep": lambda: mailbox.keep({"notes": "Kept"}),
    }
    scene.proxy.cut_before_answer(COMMIT)
    work[call]()
    assert_goes_on(scene, "First")
