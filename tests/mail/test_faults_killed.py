"""A process that is killed at any moment: what was acknowledged is there, the rest whole or not."""

import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from brenner.config import OPERATOR, Project
from brenner.mail.model import Agent
from brenner.mail.open import open_mailbox
from brenner.mail.sqlite.mailbox import SqliteDatabase, SqliteMailbox, migrations
from mail.crash_work import RESTORED, STEPS, STORE, archive, killed_at_every_step
from mail.fault_mail import BEA, make_store
from mail.invariants import assert_sound, assert_usable
from mail.processes import Child, answers, kill, release, start
from mail.sending_work import send_many

ROUNDS = 6
SENDERS = ("one", "another")


def test_killed_in_the_middle_of_a_thousand_sends(tmp_path: Path) -> None:
    """Two at once, again and again on the same file; in every other round with a reader beside."""
    path = make_store(tmp_path / "mail.sqlite3")
    acknowledged: dict[int, str] = {}
    for number in range(ROUNDS):
        with SqliteMailbox.open(path) as reader:
            if number % 2:
                reader.close()
            children = [start(send_many, path, f"{name} {number}", 1_000) for name in SENDERS]
            release(children)
            first = listen(children[0])
            time.sleep(random.uniform(0, 0.05))  # noqa: S311
            lines = [line for child in children for line in kill(child)]
        said = [first, *map(json.loads, lines)]
        assert len(said) < 2 * 1_000, "nobody was killed in the middle"
        acknowledged |= dict(said)
        with SqliteMailbox.open(path) as mailbox:
            there = {stored.id: stored.message.body for stored in mailbox.arrivals(0)}
            assert {
                message_id: there.get(message_id) for message_id in acknowledged
            } == acknowledged
            # Each of the killed may have stored one more than it had the time to say.
            unsaid = len(there) - len(acknowledged)
            assert 0 <= unsaid <= 3 * number + 2
            assert_usable(mailbox)


def listen(child: Child) -> tuple[int, str]:
    """The next message that a child says it has sent."""
    assert child.stdout
    message_id, body = json.loads(child.stdout.readline())
    return int(message_id), str(body)


def remains(folder: Path, template: Path, work: str) -> Iterator[Path]:
    """What is left of the project after a kill at each step of some work, and after none."""
    answers(killed_at_every_step, template, folder, work)
    found = sorted(folder.iterdir())
    assert len(found) > 5
    yield from found


@pytest.mark.thorough
def test_killed_while_the_store_is_made(tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.mkdir()
    for folder in remains(tmp_path / "remains", template, "create"):
        with open_mailbox(Project(folder), create=True) as mailbox:
            assert isinstance(mailbox, SqliteMailbox)
            assert [agent.name for agent in mailbox.agents()] == [OPERATOR]
            assert_usable(mailbox)
        assert (folder / ".brenner" / ".gitignore").read_text("utf-8") == "*\n"


def test_killed_while_it_is_migrated(tmp_path: Path) -> None:
    template = tmp_path / "template"
    (template / STORE).parent.mkdir(parents=True)
    make_store(template / STORE, 3)
    versions = set()
    for folder in remains(tmp_path / "remains", template, "migrate"):
        versions.add(version_of(folder / STORE))
        database = SqliteDatabase.open(folder / STORE, STEPS)
        assert database.version == len(STEPS)
        notes = database.execute("SELECT * FROM notes").fetchall()
        assert notes == [(number, "INFO: News", "nobody") for number in (1, 2, 3)]
        assert_usable(SqliteMailbox(database))
        database.close()
    assert versions == {len(migrations()), len(STEPS)}


def version_of(path: Path) -> int:
    """The format that a file is in, as SQLite sees it."""
    import apsw

    connection = apsw.Connection(str(path))
    version = connection.pragma("user_version")
    connection.close()
    assert isinstance(version, int)
    return version


@pytest.mark.thorough
def test_killed_while_an_archive_is_taken_in(tmp_path: Path) -> None:
    template = tmp_path / "template"
    (template / STORE).parent.mkdir(parents=True)
    make_store(template / STORE)
    before = set()
    for folder in remains(tmp_path / "remains", template, "restore"):
        with SqliteMailbox.open(folder / STORE) as mailbox:
            there = mailbox.position()
            before.add(there)
            assert_sound(mailbox)
            again = mailbox.restore([Agent("RedCreek", "", "", "", datetime.now(UTC))], archive())
            assert (again.added, again.skipped) == (RESTORED - there, there)
            assert [record.read_at for record in mailbox.records()] == [
                record.read_at for record in archive()
            ]
            assert_usable(mailbox)
    assert before == {0, RESTORED}


def test_killed_while_a_message_is_sent_and_another_marked(tmp_path: Path) -> None:
    template = tmp_path / "template"
    (template / STORE).parent.mkdir(parents=True)
    make_store(template / STORE, 1)
    seen = set()
    for folder in remains(tmp_path / "remains", template, "send"):
        with SqliteMailbox.open(folder / STORE) as mailbox:
            is_read = mailbox.deliveries(1)[0].read_at is not None
            seen.add((mailbox.position(), is_read))
            assert_sound(mailbox)
            assert len(mailbox.inbox(BEA).messages) == mailbox.position()
            assert_usable(mailbox)
    assert seen == {(1, False), (2, False), (2, True)}
