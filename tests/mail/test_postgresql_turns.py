"""Every write leaves a mark, by which can be told whether it was done; old ones are forgotten."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.diagnostics.model import UnknownOutcomeError
from brenner.mail.postgres import mailbox as database
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.store_url import PostgresAddress
from mail.backends import postgresql_address
from mail.fault_mail import make_message
from mail.postgresql_scene import COMMIT, Scene, prepared
from mail.sample_mail import introduce
from servers import postgresql
from servers.lifetime import until
from servers.proxy import Proxy

LONG = 60  # seconds


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Something in front of the server that can lose an answer."""
    server = postgresql.running()
    with Proxy(server.port) as proxy:
        yield from prepared(server, proxy)


def marks(mailbox: PostgresMailbox) -> list[int]:
    """The turns that are remembered."""
    with mailbox.database.read_transaction():
        rows = mailbox.database.execute("SELECT number FROM turns ORDER BY number").fetchall()
    return [int(str(number)) for (number,) in rows]


def test_only_the_latest_are_remembered(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    before = marks(scene.mailbox)
    assert before == list(range(1, len(before) + 1))
    monkeypatch.setattr(database, "_KEPT_COMMIT_MARKS", 3)
    for number in range(5):
        scene.mailbox.send(make_message(str(number)))
    last = len(before) + 5
    assert marks(scene.mailbox) == [last - 2, last - 1, last]


def test_what_is_refused_or_only_tried_leaves_none(scene: Scene) -> None:
    before = marks(scene.mailbox)
    scene.mailbox.database.probe_write()
    with pytest.raises(ZeroDivisionError), scene.mailbox.database.write_transaction():
        _ = 1 / 0
    assert marks(scene.mailbox) == before


def test_a_mark_that_is_forgotten(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many have written since that nobody can tell any more: then that is what is said."""
    monkeypatch.setattr(database, "_KEPT_COMMIT_MARKS", 2)

    def others_send() -> None:
        with scene.directly() as other:
            for number in range(3):
                other.send(make_message(f"Other {number}"))

    scene.proxy.cut_before_answer(COMMIT, others_send)
    with pytest.raises(UnknownOutcomeError):
        scene.mailbox.send(make_message("Perhaps"))
    assert scene.proxy.struck.wait(LONG)
    assert scene.stored() == ["Perhaps", "Other 0", "Other 1", "Other 2"]


def test_closing_lets_go_of_everything(tmp_path: Path) -> None:
    """Also of connections that were in use at that moment."""
    mark = secrets.token_hex(6)
    server, schema = postgresql.running(), postgresql_address(tmp_path).schema
    address = PostgresAddress(server.url(application_name=mark), schema)
    mine = f"SELECT 1 FROM pg_stat_activity WHERE application_name = '{mark}'"  # noqa: S608
    with PostgresMailbox.create(address) as mailbox:
        introduce(mailbox)
        mailbox.send(make_message("There"))
        mailbox.wait(1, 0.01)
        records = mailbox.records()
        next(records)
        with mailbox.database.read_transaction():
            mailbox.close()
        assert list(records) == []
    for _ in until(lambda: not server.sql(mine), LONG):
        pass
