"""The thread's mail beside its artifact: exact, the same each time, and enough to verify (R19)."""

from pathlib import Path

import pytest

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.persist.artifact_file import canonical_text
from brenner.protocol.messages import Message
from brenner.services.archive import import_archive
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.persist import PersistOptions
from brenner.services.versions import verify
from brenner.services.workspace import workspace_in
from session.compile_work import THREAD as SESSION
from session.compile_work import contribution
from session.repositories import (
    ANN,
    ARCHIVE,
    BEA,
    BOSS,
    PATH,
    THREAD,
    Bench,
    bench,
    git,
    raised,
    settings,
    text_of,
)

__all__ = ["bench", "settings"]


def test_archive(bench: Bench) -> None:
    """The thread up to the COMPILED message, committed with the artifact; nothing personal."""
    bench.mailbox.mark(ANN, [2, 4], is_read=True)
    options = PersistOptions(commit=True, archive=True)
    bench.check(2, options)
    bench.persist(2, options)
    assert bench.git("show", "--format=", "--name-only").split() == [ARCHIVE, PATH]
    lines = bench.archive.read_text("utf-8").splitlines()
    assert len([line for line in lines if '"subject"' in line]) == 4
    assert "reading" not in lines[1]
    assert '"read":{"' not in "".join(lines)
    assert bench.git("status", "--porcelain") == ""


def test_archive_again_changes_nothing(bench: Bench) -> None:
    """Whatever comes in later, who reads what, and what an agent is up to."""
    options = PersistOptions(commit=True, archive=True)
    first = bench.persist(2, options)
    bytes_before = bench.archive.read_bytes()
    bench.mailbox.mark(ANN, [2], is_read=True)
    bench.post(3)
    bench.mailbox.register(Profile(ANN, "claude-code", "opus", "writing"), update=True)
    assert bench.persist(2, options) == first._replace(is_new_info=False, is_new=False)
    assert bench.archive.read_bytes() == bytes_before
    assert len(bench.log()) == 2


def test_archive_later(bench: Bench) -> None:
    """Asked for after the commit: only the archive is missing, and only that is committed."""
    bench.persist(2)
    done = bench.persist(2, PersistOptions(commit=True, archive=True))
    assert bench.git("show", "--format=", "--name-only").split() == [ARCHIVE]
    assert done.persistence.commit == bench.git("rev-parse", "HEAD~1").strip()
    assert done.commit == bench.git("rev-parse", "HEAD").strip()
    assert done.archive == ARCHIVE
    assert bench.log()[0] == f"artifact({THREAD}): v2 - mail archive"
    assert len(bench.infos()) == 1
    assert bench.persist(2, PersistOptions(commit=True, archive=True)) == done._replace(
        is_new_info=False, is_new=False
    )


def test_an_archive_that_is_there_is_kept_up_to_date(bench: Bench) -> None:
    """Without being asked again, in the same commit; where there is none, none is made."""
    assert bench.persist(1).archive is None
    assert not bench.archive.exists()
    bench.persist(1, PersistOptions(commit=True, archive=True))
    bench.check(2)
    done = bench.persist(2)
    assert done.archive == ARCHIVE
    assert done.commit == done.persistence.commit == bench.git("rev-parse", "HEAD").strip()
    assert bench.git("show", "--format=", "--name-only").split() == [ARCHIVE, PATH]
    assert len(bench.archive.read_text("utf-8").split('"subject"')) == 5
    bench.persist(3, PersistOptions())
    assert len(bench.archive.read_text("utf-8").split('"subject"')) == 7
    bench.archive.write_text("notes\n", "utf-8")
    with pytest.raises(RequestError) as error:
        bench.check(3, PersistOptions())
    assert raised(error) == "ARCHIVE_FILE_FOREIGN"


def test_a_clone_verifies_what_the_file_holds(tmp_path: Path, settings: Path) -> None:
    """Also the versions that came after the one whose archive was asked for."""
    project, clone = tmp_path / "project", tmp_path / "clone"
    project.mkdir()
    git(project, "init", "--quiet")
    with workspace_in(Project(project), None, create=True) as workspace:
        workspace.mailbox.register(Profile(ANN))
        for number in (1, 2, 3):
            workspace.mailbox.send(contribution(ANN, number))
            wish = PersistOptions(commit=True, archive=number == 1)
            compile_thread(workspace, SESSION, CompileOptions(persist=wish))
    git(tmp_path, "clone", "--quiet", str(project), str(clone))
    archive = clone / "artifacts" / f"{SESSION}.mail.jsonl"
    with workspace_in(Project(clone), None, create=True) as workspace:
        found = verify(workspace, SESSION, archive)
    assert found.ok
    assert [each.number for each in found.versions] == [1, 2, 3]


def test_archive_is_one(bench: Bench, tmp_path: Path) -> None:
    """It can be imported: the same messages, and nobody who has nothing to do with the thread."""
    bench.mailbox.register(Profile("GreenDog"))
    bench.mailbox.send(Message("other-1", BOSS, ("GreenDog",), "INFO: Else", "x\n"))
    bench.persist(3, PersistOptions(archive=True))
    with SqliteMailbox.create(tmp_path / "other.sqlite3") as other:
        import_archive(other, bench.archive.read_bytes().splitlines(keepends=True), "x")
        hashes = [each.content_hash for each in other.thread(THREAD).messages]
        mine = [each.content_hash for each in bench.mailbox.thread(THREAD).messages]
        assert hashes == mine[:6]
        assert {agent.name for agent in other.agents()} == {ANN, BEA, BOSS}
        assert [thread.thread_id for thread in other.threads()] == [THREAD]


def test_an_archive_with_more_in_it_stays(bench: Bench) -> None:
    """An archive may be the only copy of somebody's mail."""
    options = PersistOptions(commit=True, archive=True)
    bench.persist(1, options)
    lines = bench.archive.read_bytes().splitlines(keepends=True)
    changed = b"".join(lines).replace(b"Round 1", b"Round 7")
    bench.archive.write_bytes(changed)
    with pytest.raises(RequestError) as error:
        bench.check(2, options)
    assert raised(error) == "ARCHIVE_FILE_FOREIGN"
    bench.archive.write_text("notes\n", "utf-8")
    with pytest.raises(RequestError) as error:
        bench.persist(2, options)
    assert raised(error) == "ARCHIVE_FILE_FOREIGN"
    assert canonical_text(bench.file.read_text("utf-8")) == text_of(1)
    bench.persist(2, options._replace(force=True))
    assert bench.archive.read_bytes().startswith(lines[0])


def test_the_repository_alone_can_verify(tmp_path: Path, settings: Path) -> None:
    """R19: a clone, its archive taken in, and every version is rebuilt from it."""
    project, clone = tmp_path / "project", tmp_path / "clone"
    project.mkdir()
    git(project, "init", "--quiet")
    options = CompileOptions(persist=PersistOptions(commit=True, archive=True))
    with workspace_in(Project(project), None, create=True) as workspace:
        workspace.mailbox.register(Profile(ANN))
        for number in (1, 2):
            workspace.mailbox.send(contribution(ANN, number))
            compile_thread(workspace, SESSION, options)
    git(tmp_path, "clone", "--quiet", str(project), str(clone))
    lines = (clone / "artifacts" / f"{SESSION}.mail.jsonl").read_bytes().splitlines(keepends=True)
    with workspace_in(Project(clone), None, create=True) as workspace:
        import_archive(workspace.mailbox, lines, "archive")
        found = verify(workspace, SESSION)
        assert found.ok
        assert [each.number for each in found.versions] == [1, 2]
        again = compile_thread(workspace, SESSION, options)
        assert again.persistence.status == "Persisted"
    assert git(clone, "log", "--format=%h").split() == git(project, "log", "--format=%h").split()
