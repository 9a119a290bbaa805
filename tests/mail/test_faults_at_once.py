"""Eight processes at once on one file: nothing lost, nothing twice, no error for anybody."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.config import OPERATOR, Project
from brenner.diagnostics.model import UnavailableError
from brenner.mail.open import open_mailbox
from brenner.mail.search import Query
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import StoredMessage
from mail.fault_mail import THREAD, make_message, make_store
from mail.invariants import assert_sound, assert_usable
from mail.processes import Child, ended, release, run, start
from mail.sending_work import create_again_and_again, send_and_read, send_in_turn
from stores import store_path

NAMES = ("BlueLake", "GreenDog", "RedCreek", "CalmRiver", "TallTree", "SwiftFox", "DarkMoon", "Owl")
COUNT = 20


def follow(project: Project, until: int) -> Iterator[StoredMessage]:
    """What comes in, while it comes in."""
    with open_mailbox(project, create=True) as mailbox:
        position = 0
        while position < until:
            assert mailbox.wait(position, 60) > position
            for stored in mailbox.arrivals(position):
                position = stored.arrival
                yield stored


@pytest.mark.thorough
def test_eight_processes_send_and_read_in_a_project_without_a_store(tmp_path: Path) -> None:
    children = [
        start(send_and_read, tmp_path, name, COUNT, "keeps open" if number % 2 else "")
        for number, name in enumerate(NAMES)
    ]
    release(children)
    total = len(NAMES) * COUNT
    followed = list(follow(Project(tmp_path), total))
    said = [[json.loads(line) for line in ended(child)] for child in children]

    for own in said:
        ids = [message_id for message_id, _ in own]
        assert ids == sorted(ids)
    everything = sorted((message_id, body) for own in said for message_id, body in own)
    assert [message_id for message_id, _ in everything] == list(range(1, total + 1))
    with SqliteMailbox.open(store_path(Project(tmp_path))) as mailbox:
        messages = mailbox.arrivals(0)
        assert [(stored.id, stored.message.body) for stored in messages] == everything
        assert followed == list(messages)
        assert [stored.arrival for stored in messages] == list(range(1, total + 1))
        times = [stored.at for stored in messages]
        assert times == sorted(times)
        assert len(mailbox.inbox(OPERATOR).messages) == total
        for name in NAMES:
            assert len(mailbox.search(Query(senders=(name,))).messages) == COUNT
        assert_sound(mailbox)
    assert nothing_half_made(tmp_path)


def nothing_half_made(folder: Path) -> bool:
    """Whether only the store and what SQLite keeps beside it are left."""
    kept = {".gitignore", "mail.sqlite3", "mail.sqlite3-wal", "mail.sqlite3-shm"}
    return {path.name for path in store_path(Project(folder)).parent.iterdir()} <= kept


def test_eight_processes_create_the_same_store(tmp_path: Path) -> None:
    """A race that is over in milliseconds is run again and again."""
    rounds = 6
    children = [start(create_again_and_again, tmp_path, rounds) for _ in NAMES]
    for number in range(rounds):
        (tmp_path / str(number)).mkdir()
        if number:
            assert sorted(map(reported_id, children)) == list(range(1, 9))
        release(children)
    for child in children:
        ended(child)
    for number in range(rounds):
        with SqliteMailbox.open(store_path(Project(tmp_path / str(number)))) as mailbox:
            assert mailbox.position() == len(NAMES)
            assert [agent.name for agent in mailbox.agents()] == [OPERATOR]
            assert_usable(mailbox)
        assert nothing_half_made(tmp_path / str(number))


def reported_id(child: Child) -> int:
    """The next line that a child says, where it is an id."""
    assert child.stdout
    return int(child.stdout.readline())


def test_of_conditional_sends_one_goes_through_and_of_sends_with_one_key_one_is_new(
    tmp_path: Path,
) -> None:
    store = make_store(tmp_path / "mail.sqlite3")
    children = [start(send_in_turn, store, name, 6) for name in NAMES]
    release(children)
    once = [json.loads(line) for child in children for line in ended(child)]
    assert sorted(is_new for _, is_new in once) == [False] * 7 + [True]
    assert len({message_id for message_id, _ in once}) == 1
    with SqliteMailbox.open(store) as mailbox:
        bodies = [stored.message.body for stored in mailbox.thread(THREAD).messages]
        for position, body in enumerate(bodies):
            assert body == "Only once" or body.endswith(f" on top of {position}")
        assert len(bodies) == len(NAMES) * 6 + 1
        assert_sound(mailbox)


def test_eight_commands_at_once_in_a_project_without_a_store(tmp_path: Path) -> None:
    send = [
        *(sys.executable, "-m", "brenner", "mail", "send", "--json", "--as", OPERATOR),
        *("--project", str(tmp_path), "--thread", "bb-5so"),
        *("--to", OPERATOR, "--subject", "INFO: At once", "--body"),
    ]
    children = [run([*send, f"Number {number} writes this."]) for number in range(8)]
    said = [json.loads("\n".join(ended(child))) for child in children]
    assert [each["sent"] for each in said] == [True] * 8
    assert sorted(each["message"]["id"] for each in said) == list(range(1, 9))
    inbox = [sys.executable, "-m", "brenner", "mail", "inbox", "--json", "--as", OPERATOR]
    listed = json.loads("\n".join(ended(run([*inbox, "--project", str(tmp_path)]))))
    bodies = sorted(message["body"] for message in listed["messages"])
    assert [body.strip() for body in bodies] == [f"Number {n} writes this." for n in range(8)]
    assert nothing_half_made(tmp_path)


def test_whoever_waits_too_long_is_told_and_readers_do_not_wait(tmp_path: Path) -> None:
    path = make_store(tmp_path / "mail.sqlite3", 1)
    with SqliteMailbox.open(path) as stuck, SqliteMailbox.open(path) as mailbox:
        mailbox.database.execute("PRAGMA busy_timeout = 50")
        with stuck.database.write_transaction():
            assert mailbox.position() == 1
            with pytest.raises(UnavailableError) as caught:
                mailbox.send(make_message("Now"))
            assert caught.value.diagnostic.id == "STORE_BUSY"
        assert mailbox.send(make_message("Now")).stored.id == 2
        assert_usable(mailbox)
