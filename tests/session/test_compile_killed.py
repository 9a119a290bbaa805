"""`kill -9` at every step of compile, notify, persist and commit; the same command finishes it."""

from pathlib import Path

import pytest

from brenner.artifact.parse import parse_artifact
from brenner.config import Project
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import StoredMessage
from brenner.services.versions import verify
from brenner.services.workspace import workspace_in
from mail.processes import ended, start
from program import git
from session.crash_work import compile_all, killed_at
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff, new_workspace

WORKERS = 4
FILES = [f"artifacts/{THREAD}.mail.jsonl", f"artifacts/{THREAD}.md", "notes.txt", "staged.txt"]


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A project in a repository, with other work in it, staged and not; mail that is unread."""
    folder = tmp_path / "template"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    git("config", "user.name", "Operator", cwd=folder)
    git("config", "user.email", "operator@example.org", cwd=folder)
    (folder / "notes.txt").write_text("first\n", "utf-8")
    git("add", "notes.txt", cwd=folder)
    git("commit", "-q", "-m", "Notes", cwd=folder)
    (folder / "notes.txt").write_text("changed\n", "utf-8")
    (folder / "staged.txt").write_text("staged\n", "utf-8")
    git("add", "staged.txt", cwd=folder)
    with new_workspace(folder) as workspace:
        kickoff(workspace)
        contribute(workspace, ANN, add("Gradient"), add("Lineage"))
        contribute(workspace, BEA, edit("H9", claim="Of nothing"), edit("H1", claim="Steep"))
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("worker", range(WORKERS))
def test_killed_at_every_step(tmp_path: Path, template: Path, worker: int) -> None:
    remains = tmp_path / "remains"
    remains.mkdir()
    ended(start(killed_at, template, remains, worker + 1, WORKERS))
    folders = sorted(remains.iterdir())
    assert len(folders) > 2
    for folder in folders:
        half_way = thread(folder)
        compile_all(folder)
        assert_finished(folder, half_way)
        position = len(thread(folder))
        again = compile_all(folder)
        assert (again.status.value, again.persistence.status) == ("nothing_to_compile", "Persisted")
        assert len(thread(folder)) == position


def thread(folder: Path) -> list[StoredMessage]:
    with workspace_in(Project(folder), None, create=False) as workspace:
        assert verify(workspace, THREAD).ok
        return list(workspace.mailbox.thread(THREAD).messages)


def assert_finished(folder: Path, half_way: list[StoredMessage]) -> None:
    """One message for one version, one file, commit, INFO and reply; nothing else moved."""
    messages = thread(folder)
    assert messages[: len(half_way)] == half_way  # what was posted stays
    subjects = [each.message.subject for each in messages]
    (compiled,) = [each for each in messages if each.type == "COMPILED"]
    inline = read_compiled(compiled.message).inline
    assert inline
    assert subjects.count("INFO: Artifact v1 persisted to repository") == 1
    assert len([each for each in subjects if "Validation error" in each]) == 1
    written = (folder / "artifacts" / f"{THREAD}.md").read_text("utf-8")
    metadata = parse_artifact(written).artifact.metadata
    assert (metadata.version, metadata.agent_mail_message_id) == (1, compiled.id)
    assert written.replace(f"agent_mail_message_id: {compiled.id}\n", "") == inline
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert [name for name in names if not name.startswith((".git/", ".brenner/"))] == FILES
    log = git("log", "--format=%s", cwd=folder).splitlines()
    assert log == [f"artifact({THREAD}): v1 - {log[0].partition(' - ')[2]}", "Notes"]
    changed = git("show", "--name-only", "--format=", "HEAD", cwd=folder).split()
    assert changed == FILES[:2]
    status = git("status", "--porcelain", cwd=folder)
    assert status == " M notes.txt\nA  staged.txt\n"
