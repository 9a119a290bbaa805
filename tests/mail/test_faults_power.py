"""The promise of a send: when it returns, the message survives a loss of power."""

from pathlib import Path

from brenner.mail.sqlite.mailbox import SqliteMailbox
from mail.durable_work import STORE, flushed_at_each_return, power_is_lost
from mail.fault_mail import make_store
from mail.invariants import assert_sound
from mail.processes import answers


def test_whatever_writes_has_flushed_the_log_when_it_returns(tmp_path: Path) -> None:
    path = make_store(tmp_path / "mail.sqlite3", 1)
    said: dict[str, list[list[str]]] = dict(answers(flushed_at_each_return, path))
    assert said.pop("read") == []
    assert set(said) == {"send", "send again", "send with a key", "mark", "mark as unread"}
    log = f"{path.name}-wal"
    for events in said.values():
        assert ["write", log] in events
        assert events[-1] == ["sync", log]


def test_what_was_sent_survives_a_loss_of_power(tmp_path: Path) -> None:
    """What was not flushed is lost, or some of it is, in any order."""
    (tmp_path / "project").mkdir()
    make_store(tmp_path / "project" / STORE)
    images = tmp_path / "images"
    *returned, copied = answers(power_is_lost, tmp_path / "project", images)
    assert copied > 3, "the log was never copied into the store"
    folders = sorted(images.iterdir())
    assert len(folders) == len(returned) > 50
    kept = []
    for folder, count in zip(folders, returned, strict=True):
        with SqliteMailbox.open(folder / STORE) as mailbox:
            numbers = [int(stored.message.body.split()[1]) for stored in mailbox.arrivals(0)]
            assert numbers == list(range(1, len(numbers) + 1))
            # Of the one that had not returned yet, all or nothing is there.
            assert count <= len(numbers) <= count + 1
            kept.append(len(numbers) - count)
            assert_sound(mailbox)
    assert set(kept) == {0, 1}, "no power was lost in the middle of a send"
