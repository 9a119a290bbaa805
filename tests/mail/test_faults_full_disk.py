"""A disk without room, or that fails: said so, nothing half written, and it goes on afterwards."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brenner.mail.sqlite.mailbox import SqliteMailbox
from mail.crash_work import STORE, fails_at_every_step
from mail.fault_mail import make_store
from mail.full_disk_work import (
    create_with_little_room,
    no_file_may_grow,
    on_a_small_disk,
    store_may_not_grow,
)
from mail.invariants import assert_usable
from mail.processes import answered, answers, command, run
from parts import need

FULL, UNUSABLE = "STORE_FULL", "STORE_UNUSABLE"


@pytest.mark.parametrize(
    ("kind", "error", "stays", "code"),
    [
        ("write", "FullError", "", FULL),
        ("write", "FullError", "stays", FULL),
        ("write", "IOError", "", UNUSABLE),
        ("sync", "IOError", "", UNUSABLE),
        ("sync", "FullError", "stays", FULL),
    ],
)
def test_the_disk_fails_at_any_step_of_a_send(
    tmp_path: Path, kind: str, error: str, stays: str, code: str
) -> None:
    template = tmp_path / "template"
    (template / STORE).parent.mkdir(parents=True)
    make_store(template / STORE, 1)
    answers(fails_at_every_step, template, tmp_path / "remains", error, stays, kind)
    *failed, fine = sorted((tmp_path / "remains").iterdir())
    assert json.loads((fine / "said.json").read_text("utf-8"))[1] is None
    assert failed
    for folder in failed:
        before, said, read = json.loads((folder / "said.json").read_text("utf-8"))
        assert (before, said) == (1, code)
        assert read == ["Message 0 of the start"]
        with SqliteMailbox.open(folder / STORE) as mailbox:
            bodies = [stored.message.body for stored in mailbox.arrivals(0)]
            assert bodies == ["Message 0 of the start", "When all was well again"]
            assert_usable(mailbox)


def assert_said_and_mended(said: list[Any], store: Path, codes: set[str]) -> None:
    """It was said, nothing is half there, and there was a send when there was room again."""
    filled, last = said
    kind, code, sentence = filled["said"]
    assert kind == "UnavailableError"
    assert code in codes
    assert str(store) in sentence
    words = {FULL: "No space left", UNUSABLE: "disk I/O error"}
    assert words[code] in sentence
    assert filled["sent"], "there was no room from the beginning"
    assert filled["read"] == filled["sent"]
    assert filled["integrity"] == []
    assert last == filled["sent"][-1] + 1


@pytest.mark.parametrize(
    ("work", "most", "codes"),
    [
        # To the system this is not a full disk, and SQLite calls it an error of the disk.
        (no_file_may_grow, 400_000, {FULL, UNUSABLE}),
        (store_may_not_grow, 150, {FULL}),
    ],
)
def test_the_store_may_not_grow(
    tmp_path: Path, work: Callable[[str, str], None], most: int, codes: set[str]
) -> None:
    store = make_store(tmp_path / "mail.sqlite3")
    assert_said_and_mended(answers(work, store, most), store, codes)
    with SqliteMailbox.open(store) as mailbox:
        assert_usable(mailbox)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """On a disk of a megabyte, mounted where nobody else sees it."""
    private = private_mounts()
    need(private, "one may not mount a small disk here")
    assert private
    disk = tmp_path / "disk"
    disk.mkdir()
    source = make_store(tmp_path / "source.sqlite3")
    child = run([*private, *command(on_a_small_disk, disk, source)])
    filled, last, seen = answered(child)
    assert_said_and_mended([filled, last], disk / "mail.sqlite3", {FULL})
    assert seen == [*filled["sent"], last]
    with SqliteMailbox.open(source) as mailbox:
        assert [stored.id for stored in mailbox.arrivals(0)] == seen
        assert_usable(mailbox)


def test_a_store_that_is_created_on_a_full_disk(tmp_path: Path) -> None:
    """With too little room nothing is created; when there is room, the same command works."""
    private = private_mounts()
    need(private, "one may not mount a small disk here")
    assert private
    found = answered(run([*private, *command(create_with_little_room, tmp_path)]))
    created = {first for _, first, _, _ in found}
    # Where there is no room for the file of the locks, SQLite calls it an error of the disk.
    assert {FULL, 1} <= created <= {FULL, UNUSABLE, 1}
    for room, first, then, ignored in found:
        assert (room, then) == (room, 2 if first == 1 else 1)
        assert ignored == "*\n"


def private_mounts() -> list[str] | None:
    """How to start a command that may mount what only it sees."""
    if not shutil.which("unshare"):
        return None
    for private in (["unshare", "-m"], ["unshare", "-rm"]):
        attempt = [*private, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt"]
        if subprocess.run(attempt, capture_output=True, check=False).returncode == 0:
            return private
    return None
