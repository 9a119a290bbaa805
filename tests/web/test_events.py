"""`/events`: everything that comes in is told, once, to everybody whom it concerns."""

import random
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from starlette.requests import Request

from brenner.config import Project
from brenner.mail.mailbox import Mailbox
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.web import events as live
from brenner.web.events import MAX_REPLAY, EventStreams, client_of
from mail.backends import (
    HOMES,
    MEMORY,
    POSTGRESQL,
    SECOND_VIEW,
    SQLITE,
    Backend,
    Place,
    postgresql_address,
    sqlite_file,
)
from mail.sample_mail import ANN, BOSS, ELSEWHERE, THREAD, introduce, make_message, post
from servers import postgresql
from servers.postgresql_files import DATABASE
from serving.running import Inside, inside
from web.events import Looking, Told


class Desk:
    """A served mailbox, and another view of it for whoever writes."""

    def __init__(self, server: Inside, writer: Mailbox) -> None:
        self.server = server
        self.writer = writer

    def send(self, number: int = 1, thread: str = THREAD) -> list[int]:
        """Some messages; their ids."""
        return [post(self.writer, make_message(thread=thread)).id for _ in range(number)]


@pytest.fixture(params=HOMES, ids=lambda home: home.name)
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """In memory, SQLite and PostgreSQL."""
    home: Backend = request.param
    with served(home, tmp_path) as found:
        yield found


class served:  # noqa: N801
    """Such a desk in one home, for a while."""

    def __init__(self, home: Backend, folder: Path) -> None:
        self.place = Place(home, folder)
        introduce(self.place.mailbox)
        self.inside = inside(self.place.mailbox, Project(folder, operator=BOSS))

    def __enter__(self) -> Desk:
        is_alone = SECOND_VIEW in self.place.home.cannot
        writer = self.place.mailbox if is_alone else self.place.again()
        return Desk(self.inside.__enter__(), writer)

    def __exit__(self, *_: object) -> None:
        self.inside.__exit__(None, None, None)
        self.place.__exit__()


@pytest.mark.every_store
def test_what_comes_in_is_told(workspace: Desk) -> None:
    """To who looks at that thread, and to who looks at all."""
    workspace.send()
    with Looking(workspace.server, THREAD) as one, Looking(workspace.server) as all_of_them:
        one.settle()
        all_of_them.settle()
        here, there, again = workspace.send(), workspace.send(thread=ELSEWHERE), workspace.send()
        told = list(islice(one.events(), 2))
        assert [each.data["message_id"] for each in told] == here + again
        assert told[0].kind == "mail"
        expected = {"thread_id": THREAD, "type": "INFO", "sender": ANN, "position": 2}
        assert expected.items() <= told[0].data.items()
        assert told[0].id.startswith("2-")
        assert all_of_them.mail(3) == here + there + again


def test_what_was_missed_is_told(workspace: Desk) -> None:
    """By the id of the last event, or by the place that a page names."""
    with Looking(workspace.server, THREAD) as first:
        begun = first.settle()
    missed = workspace.send(5)
    workspace.send(3, ELSEWHERE)
    with Looking(workspace.server, THREAD, after=begun) as page:
        assert page.mail(5) == missed
        # What is of other threads is behind her, too.
        assert any(each.id.startswith("8-") and not each.kind for each in page.all())
    with Looking(workspace.server, THREAD, after=begun, last_event_id=page.last) as again:
        assert workspace.send() == again.mail(1)


def test_nothing_is_lost_and_nothing_told_twice(workspace: Desk) -> None:
    """Connections are cut at random while two write; each viewer comes back where she was."""
    chance = random.Random(9)  # noqa: S311
    sent: list[int] = []
    with Looking(workspace.server, THREAD) as first:
        begun = first.settle()

    def write() -> None:
        for _ in range(60):
            sent.extend(workspace.send())
            workspace.send(thread=ELSEWHERE)

    writer = threading.Thread(target=write)
    writer.start()
    told = [
        _cut_again_and_again(workspace, begun, chance.choices(range(8), k=25)) for _ in range(2)
    ]
    writer.join()
    for last, found in told:
        with Looking(workspace.server, THREAD, last_event_id=last) as rest:
            assert found + rest.mail(len(sent) - len(found)) == sent


def _cut_again_and_again(workspace: Desk, place: str, lengths: list[int]) -> tuple[str, list[int]]:
    """Be told a little, go away, come back; what was told, and how far."""
    found: list[int] = []
    for number in lengths:
        looking = Looking(workspace.server, THREAD, last_event_id=place)
        for each in islice(looking.all(), number):
            place = each.id or place
            found += [each.data["message_id"]] if each.kind == "mail" else []
            assert each.kind in ("", "mail")
        looking.cut()
    return place, found


def test_who_has_missed_much_begins_anew(tmp_path: Path) -> None:
    with served(MEMORY, tmp_path) as workspace:
        workspace.send(MAX_REPLAY + 2)
        with (
            Looking(workspace.server, after="1") as long_ago,
            Looking(workspace.server, after="2") as late,
        ):
            assert [each.kind for each in islice(long_ago.events(), 1)] == ["reset"]
            assert len(late.mail(MAX_REPLAY)) == MAX_REPLAY
            assert workspace.send() == long_ago.mail(1)  # and from there on it is news


def test_much_at_once(tmp_path: Path) -> None:
    """A store that grows by more than is kept: everybody begins anew, once."""
    with (
        served(MEMORY, tmp_path / "here") as workspace,
        served(MEMORY, tmp_path / "there") as other,
    ):
        other.send(MAX_REPLAY + 1)
        with Looking(workspace.server) as looking:
            looking.settle()
            workspace.writer.restore(other.writer.agents(), other.writer.records())
            assert next(looking.events()).kind == "reset"
            assert workspace.send() == looking.mail(1)


@pytest.mark.parametrize("seen", ["900", "900-abcdef", "3-000000000000"])
def test_a_place_that_this_store_never_had(workspace: Desk, seen: str) -> None:
    """Another store was there: too far, or with another message in that place."""
    workspace.send(3)
    with Looking(workspace.server) as first:
        assert first.settle().startswith("3-")
        with Looking(workspace.server, after=seen) as foreign:
            told = next(foreign.events())
        assert (told.kind, told.id) == ("reset", first.last)


def test_who_has_seen_nothing_looks_from_now_on(tmp_path: Path) -> None:
    with served(MEMORY, tmp_path) as workspace:
        workspace.send(3)
        with Looking(workspace.server, after="") as looking:
            assert looking.settle().startswith("3-")
            assert workspace.send() == looking.mail(1)


@pytest.mark.parametrize("seen", ["-1", "x", "1e3", "٣", "9" * 40, "3-xyz", "3-ab\x00"])
def test_who_has_seen_what_is_no_place_begins_anew(tmp_path: Path, seen: str) -> None:
    """Nobody knows what she has missed: she is not left with a gap."""
    with served(MEMORY, tmp_path) as workspace:
        workspace.send(3)
        with Looking(workspace.server, after=seen) as looking:
            assert next(looking.events()).kind == "reset"


def test_who_asks_for_the_head_only_takes_no_place(tmp_path: Path) -> None:
    with served(MEMORY, tmp_path) as workspace:
        got = workspace.server.ask("HEAD", "/events")
        assert (got.status, got.headers["content-type"]) == (200, "text/event-stream")


def test_a_page_may_be_ahead_of_the_watcher(tmp_path: Path) -> None:
    """What it shows already is not told."""
    with served(MEMORY, tmp_path) as workspace, Looking(workspace.server) as first:
        first.settle()
        workspace.send(2)
        with Looking(workspace.server, after="2") as page:
            assert workspace.send() == page.mail(1)


def test_viewers_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who goes makes room."""
    monkeypatch.setattr(EventStreams, "most_viewers", 2)
    with served(MEMORY, tmp_path) as workspace, Looking(workspace.server) as first:
        first.settle()
        second = Looking(workspace.server)
        second.settle()
        refused = workspace.server.ask("GET", "/events")
        assert (refused.status, refused.code) == (503, "SERVER_BUSY")
        assert refused.headers["retry-after"] == "30"
        second.cut()
        while True:
            with Looking(workspace.server) as third:
                if third.answer.status == 200:
                    third.settle()
                    return


def test_one_machine_leaves_places_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own may have more of them than another, but not all."""
    assert EventStreams.most_of_one < EventStreams.most_of_this < EventStreams.most_viewers
    monkeypatch.setattr(EventStreams, "most_of_this", 2)
    with (
        served(MEMORY, tmp_path) as workspace,
        Looking(workspace.server) as one,
        Looking(workspace.server) as two,
    ):
        one.settle()
        two.settle()
        with Looking(workspace.server) as third:
            assert third.answer.status == 503
        monkeypatch.setattr(live, "client_of", lambda _: "203.0.113.9")
        with Looking(workspace.server) as other:
            other.settle()
            monkeypatch.setattr(EventStreams, "most_of_one", 1)
            with Looking(workspace.server) as another:
                assert another.answer.status == 503


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *(("127.0.0.1", "this machine"), ("::1", "this machine"), ("127.9.9.9", "this machine")),
        *(("::ffff:127.0.0.1", "this machine"), ("203.0.113.9", "203.0.113.9")),
        *(("::ffff:203.0.113.9", "203.0.113.9"), ("", ""), ("somewhere", "somewhere")),
    ],
)
def test_which_machine(host: str, expected: str) -> None:
    assert client_of(from_host(host)) == expected


def test_a_network_is_one_machine() -> None:
    """Who has one address of version 6 has very many."""
    near = {client_of(from_host(f"2001:db8:1:2::{number:x}")) for number in range(9)}
    assert len(near) == 1
    assert client_of(from_host("2001:db8:1:3::1")) not in near


def from_host(host: str) -> Request:
    """A request from there."""
    return Request({"type": "http", "client": (host, 1), "headers": []})


def test_streams_end_with_the_server(tmp_path: Path) -> None:
    """As answers that are whole: a browser comes back at once to whoever is there then."""
    with served(SQLITE, tmp_path) as workspace:
        looking = Looking(workspace.server)
        looking.settle()
    assert list(looking.events()) == []
    looking.close()


def test_the_store_is_away_and_back(tmp_path: Path) -> None:
    """It is said when, and why; what came in meanwhile is told afterwards."""
    with served(SQLITE, tmp_path) as workspace, Looking(workspace.server) as looking:
        looking.settle()
        aside = tmp_path / "aside"
        aside.mkdir()
        files = list(tmp_path.glob("mail.sqlite3*"))
        for each in files:
            each.rename(aside / each.name)
        away = next(looking.events())
        assert (away.kind, away.data["code"]) == ("away", "STORE_UNUSABLE")
        assert {"since", "message", "fix"} <= away.data.keys()
        with Looking(workspace.server) as late:
            assert next(late.events()) == away
        with SqliteMailbox.open(sqlite_file(aside)) as elsewhere:
            sent = post(elsewhere, make_message()).id
        for each in aside.iterdir():
            each.rename(tmp_path / each.name)
        told: list[Told] = list(islice(looking.events(), 2))
        assert {each.kind for each in told} == {"mail", "back"}
        assert [each.data["message_id"] for each in told if each.kind == "mail"] == [sent]
        assert workspace.send() == looking.mail(1)


def test_another_store_in_its_place(tmp_path: Path) -> None:
    """A schema is dropped and made anew while somebody looks: her page begins anew."""
    with served(POSTGRESQL, tmp_path) as workspace, Looking(workspace.server) as looking:
        looking.settle()
        workspace.send(2)
        looking.mail(2)
        address = postgresql_address(tmp_path)
        postgresql.running().sql(f"DROP SCHEMA {address.schema} CASCADE", database=DATABASE)
        with PostgresMailbox.create(address) as other:
            introduce(other)
            for _ in range(3):
                post(other, make_message("Of another store."))
            assert next(each.kind for each in looking.events() if each.kind != "away") == "reset"
