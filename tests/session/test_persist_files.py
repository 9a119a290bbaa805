"""Files that are written whole or not at all, locks, permissions, a disk without room."""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brenner.config import Project
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.persist import files
from brenner.persist.artifact_file import (
    artifact_paths,
    canonical_text,
    same_version,
    with_message_id,
)
from brenner.persist.files import thread_lock, write_atomically
from mail.processes import answers, kill, start
from mail.test_faults_permissions import can_become_somebody_else
from parts import need
from session.persist_work import NOBODY, hold, write_as_nobody, write_without_room
from session.repositories import THREAD, WRITE, Bench, raised, settings, text_of

__all__ = ["settings"]


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_whole(tmp_path: Path) -> None:
    """Folders are made, the mode is the usual one, and stays what it was."""
    path = tmp_path / "a" / "b" / "file.md"
    write_atomically(path, b"one")
    usual = tmp_path / "usual"
    usual.touch()
    assert path.stat().st_mode == usual.stat().st_mode
    path.chmod(0o640)
    write_atomically(path, b"two")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"two", 0o640)
    assert names(path.parent) == ["file.md"]


def test_what_was_left_unfinished_is_cleared(tmp_path: Path) -> None:
    """Only parts of this file: another one may be being written."""
    path, other = tmp_path / "file.md", tmp_path / "other.md"
    mine = tmp_path / f"{files._temporary_prefix(path)}0123.part"  # noqa: SLF001
    theirs = tmp_path / f"{files._temporary_prefix(other)}0123.part"  # noqa: SLF001
    for part in (mine, theirs):
        part.write_bytes(b"half")
    write_atomically(path, b"whole")
    assert names(tmp_path) == sorted(["file.md", theirs.name])


def test_a_folder_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "file.md").mkdir()
    with pytest.raises(UnavailableError) as error:
        write_atomically(tmp_path / "file.md", b"x")
    assert raised(error) == "ARTIFACT_NOT_WRITTEN"
    assert names(tmp_path) == ["file.md"]


def test_readers_never_see_half(tmp_path: Path) -> None:
    path = tmp_path / "file.md"
    write_atomically(path, b"a" * 100_000)
    seen = set()
    is_done = threading.Event()

    def read() -> None:
        while not is_done.is_set():
            data = path.read_bytes()
            seen.add((len(data), data[:1], len(set(data))))

    reader = threading.Thread(target=read)
    reader.start()
    for letter in b"bcdefgh":
        write_atomically(path, bytes([letter]) * 100_000)
    is_done.set()
    reader.join()
    assert {(size, kinds) for size, _, kinds in seen} == {(100_000, 1)}


# Locks


def test_a_lock_is_waited_for_and_its_holder_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with the process that holds it, whatever ends that."""
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.2)
    holder = start(hold, tmp_path, THREAD)
    assert holder.stdout
    assert holder.stdout.readline() == "ready\n"
    with pytest.raises(UnavailableError) as error, thread_lock(Project(tmp_path), THREAD):
        pass
    assert raised(error) == "ARTIFACT_BUSY"
    assert f"by process {holder.pid} on " in error.value.diagnostic.message
    with thread_lock(Project(tmp_path), "other-1"):
        pass
    kill(holder)
    with thread_lock(Project(tmp_path), THREAD):
        pass


def test_locks_are_kept_from_git(tmp_path: Path) -> None:
    with thread_lock(Project(tmp_path), THREAD):
        assert (tmp_path / ".brenner" / ".gitignore").read_bytes() == b"*\n"
        assert names(tmp_path / ".brenner" / "locks") == [f"{THREAD}.lock"]


def test_of_two_threads_of_one_program_one_waits(tmp_path: Path) -> None:
    inside: list[str] = []

    def work() -> None:
        with thread_lock(Project(tmp_path), THREAD):
            inside.append("in")
            assert inside.count("in") - inside.count("out") == 1
            inside.append("out")

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert inside == ["in", "out"] * 8


# Room and permissions


def test_a_disk_without_room(tmp_path: Path, settings: Path) -> None:
    """The old file is whole, nothing is left over; with room it goes on."""
    bench = Bench.make(tmp_path / "project")
    bench.persist(1, WRITE)
    before = bench.file.read_bytes()
    said, left, again = answers(write_without_room, bench.folder, 1_000)
    assert said[:2] == ["UnavailableError", "ARTIFACT_NOT_WRITTEN"]
    assert "file too large" in said[2]
    assert left == []
    assert again == "fine"
    assert bench.file.read_bytes() != before
    assert canonical_text(bench.file.read_text("utf-8")) == text_of(2)


@pytest.fixture
def shared(settings: Path) -> Iterator[Bench]:
    """A project in which everybody may do everything."""
    need(can_become_somebody_else(), "permissions do not bind this user, who cannot become another")
    folder = Path(tempfile.mkdtemp(prefix="brenner-"))
    folder.chmod(0o755)
    bench = Bench.make(folder / "project")
    for path in (bench.folder, *bench.folder.rglob("*")):
        path.chmod(0o777)
    try:
        yield bench
    finally:
        shutil.rmtree(folder)


def tried(bench: Bench) -> tuple[Any, Any, Any]:
    """What comes of looking, and of persisting, and what state is seen."""
    for path in (bench.folder / ".brenner").rglob("*"):
        path.chmod(0o777)
    [(looked, persisted), state] = answers(write_as_nobody, bench.folder, "")
    return looked, persisted, state


def test_with_permission(shared: Bench) -> None:
    assert tried(shared) == ("fine", "fine", "Pending")
    assert shared.file.stat().st_uid in (os.geteuid() or NOBODY, NOBODY)


@pytest.mark.parametrize("what", ["project", "artifacts", "file"])
def test_without_permission(shared: Bench, what: str) -> None:
    """Known beforehand, and said with the place."""
    shared.file.parent.mkdir()
    if what == "project":
        shared.file.parent.rmdir()
        shared.folder.chmod(0o555)
    elif what == "artifacts":
        shared.file.parent.chmod(0o555)
    else:
        shared.file.write_text(text_of(1), "utf-8")
        shared.file.parent.chmod(0o777)
        shared.file.chmod(0o444)
    looked, persisted, _ = tried(shared)
    assert looked[:2] == persisted[:2] == ["UnavailableError", "BAD_ARTIFACT_PATH"]
    assert "you may not" in looked[2]


def test_a_folder_that_may_not_be_looked_into(shared: Bench) -> None:
    shared.file.parent.mkdir()
    shared.file.parent.chmod(0o000)
    looked, persisted, state = tried(shared)
    assert looked[:2] == persisted[:2] == ["UnavailableError", "BAD_ARTIFACT_PATH"]
    assert state == "Draft"
    shared.file.parent.chmod(0o777)


# The text


def test_the_id_of_the_message() -> None:
    """R18: it is in the file, not in the message, and comparisons ignore it."""
    text = text_of(2)
    stored = with_message_id(text, 17)
    assert stored.count("\n") == text.count("\n") + 1
    assert "\nagent_mail_message_id: 17\n---\n" in stored
    assert canonical_text(stored) == text
    assert with_message_id(stored, 18) == with_message_id(text, 18)
    assert same_version(stored, text)
    assert same_version(stored.replace("\n", "\r\n"), text)
    assert not same_version(stored, text_of(1))
    assert not same_version(stored.replace("kinesin-1", "dynein"), text)


def test_only_the_front_matter_is_meant() -> None:
    """A line of that kind in the prose is prose."""
    text = text_of(1) + "\nagent_mail_message_id: 3\n"
    assert not same_version(text, text_of(1))
    assert canonical_text("no front matter\nagent_mail_message_id: 3\n").endswith(": 3\n")
    assert with_message_id("no front matter", 3) == "no front matter"


def test_an_invalid_thread_id_has_no_path(tmp_path: Path) -> None:
    """R1: it is never mapped into a file name."""
    with pytest.raises(RequestError) as error:
        artifact_paths(Project(tmp_path), "../up")
    assert raised(error) == "BAD_ARTIFACT_PATH"
