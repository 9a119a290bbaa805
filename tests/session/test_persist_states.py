"""Draft, Pending, Persisted: read from the file and git, whatever has become of them (R19)."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.persist.artifact_file import with_message_id
from brenner.persist.git import (
    Persistence,
    persistence_of,
    persistences_by_digest,
    version_digest,
)
from session.repositories import (
    PATH,
    THREAD,
    WRITE,
    Bench,
    bench,
    git,
    settings,
    text_of,
)

__all__ = ["bench", "settings"]
TEXTS = {number: text_of(number) for number in (1, 2, 3)}
DRAFT, PENDING = Persistence("Draft", PATH), Persistence("Pending", PATH)


def persistences(
    project: Project, thread_id: str, texts: Mapping[int, str]
) -> dict[int, Persistence]:
    """Return the persist status of versions by number."""
    digests = {number: version_digest(text) for number, text in texts.items()}
    return persistences_by_digest(project, thread_id, digests)


def states(bench: Bench) -> list[str]:
    """The states of the three versions; one at a time they are the same."""
    project = bench.workspace.project
    found = persistences(project, THREAD, TEXTS)
    assert list(found) == [1, 2, 3]
    for number, text in TEXTS.items():
        assert persistence_of(project, THREAD, text) == found[number]
    return [found[number].status for number in TEXTS]


def commits(bench: Bench) -> list[str | None]:
    """The commits of the three versions."""
    return [each.commit for each in persistences(bench.workspace.project, THREAD, TEXTS).values()]


def head(bench: Bench) -> str:
    """The latest commit."""
    return bench.git("rev-parse", "HEAD").strip()


def test_from_draft_to_persisted(bench: Bench) -> None:
    assert states(bench) == ["Draft", "Draft", "Draft"]
    bench.persist(1, WRITE)
    assert states(bench) == ["Pending", "Draft", "Draft"]
    bench.persist(1)
    first = head(bench)
    assert states(bench) == ["Persisted", "Draft", "Draft"]
    bench.persist(2, WRITE)
    assert states(bench) == ["Persisted", "Pending", "Draft"]
    bench.persist(3)
    assert states(bench) == ["Persisted", "Draft", "Persisted"]
    assert commits(bench) == [first, None, head(bench)]


def test_without_a_repository(tmp_path: Path, settings: Path) -> None:
    bench = Bench.make(tmp_path / "plain")
    assert states(bench) == ["Draft", "Draft", "Draft"]
    bench.persist(2, WRITE)
    assert states(bench) == ["Draft", "Pending", "Draft"]


def test_git_is_asked_only_where_there_is_a_repository(
    tmp_path: Path, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process is started for nothing."""
    started: list[object] = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: object, **options: object) -> None:
            started.append(arguments)
            super().__init__(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", Counted)
    bench = Bench.make(tmp_path / "plain")
    assert states(bench) == ["Draft", "Draft", "Draft"]
    assert started == []
    assert persistences(bench.workspace.project, THREAD, {}) == {}
    subprocess.run(["git", "init", "--quiet", "."], cwd=bench.folder, check=True)
    started.clear()
    assert persistences(bench.workspace.project, THREAD, {}) == {}
    assert started == []
    assert persistence_of(bench.workspace.project, THREAD, TEXTS[1]) == DRAFT
    assert started


def test_without_git(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Never an error."""
    bench.persist(1)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert states(bench) == ["Pending", "Draft", "Draft"]


def test_with_a_broken_repository(bench: Bench) -> None:
    bench.persist(1)
    (bench.folder / ".git" / "config").write_text("[core\n", "utf-8")
    assert states(bench) == ["Pending", "Draft", "Draft"]


def test_with_a_repository_that_is_none(tmp_path: Path, settings: Path) -> None:
    bench = Bench.make(tmp_path / "project")
    (bench.folder / ".git").write_text("gitdir: /no/such/place\n", "utf-8")
    bench.persist(1, WRITE)
    assert states(bench) == ["Pending", "Draft", "Draft"]


def test_with_a_missing_object(bench: Bench) -> None:
    bench.persist(1)
    blob = bench.git("rev-parse", f"HEAD:{PATH}").strip()
    (bench.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert states(bench) == ["Pending", "Draft", "Draft"]


def test_before_the_first_commit(tmp_path: Path, settings: Path) -> None:
    bench = Bench.make(tmp_path / "project")
    bench.git("init", "--quiet")
    bench.persist(1, WRITE)
    bench.git("add", "--all")
    assert states(bench) == ["Pending", "Draft", "Draft"]


def test_committed_by_hand_counts(bench: Bench) -> None:
    """As in the publish document: `git add`, `git commit`. The id of the message may be missing."""
    bench.file.parent.mkdir()
    bench.file.write_text(text_of(2), "utf-8")
    bench.git("add", PATH)
    assert states(bench) == ["Draft", "Pending", "Draft"]
    bench.git("commit", "--quiet", "--message=By hand")
    assert states(bench) == ["Draft", "Persisted", "Draft"]


def test_an_edited_file_is_none_of_the_versions(bench: Bench) -> None:
    bench.persist(1)
    bench.file.write_text(text_of(1) + "more\n", "utf-8")
    assert states(bench) == ["Persisted", "Draft", "Draft"]
    bench.file.write_bytes(b"\xff")
    assert states(bench) == ["Persisted", "Draft", "Draft"]


def test_a_file_that_was_removed(bench: Bench) -> None:
    """The history has it; what is checked out need not."""
    bench.persist(1)
    first = head(bench)
    bench.git("rm", "--quiet", PATH)
    bench.git("commit", "--quiet", "--message=Away")
    assert not bench.file.parent.exists()
    assert states(bench) == ["Persisted", "Draft", "Draft"]
    assert commits(bench)[0] == first


def test_only_what_led_to_the_checkout_counts(bench: Bench) -> None:
    """A commit on another branch is not in this one's history until it is merged."""
    bench.git("checkout", "--quiet", "-b", "side")
    bench.persist(1)
    first = head(bench)
    bench.git("checkout", "--quiet", "main")
    assert states(bench) == ["Draft", "Draft", "Draft"]
    bench.persist(2)
    assert states(bench) == ["Draft", "Persisted", "Draft"]
    second = head(bench)
    bench.git("merge", "--quiet", "--strategy=ours", "--message=Merge", "side")
    assert states(bench) == ["Persisted", "Persisted", "Draft"]
    assert commits(bench) == [first, second, None]


def test_a_merge_that_brings_it_in(bench: Bench) -> None:
    """A file that was written in the middle of a merge, and committed with it."""
    bench.git("checkout", "--quiet", "-b", "side")
    (bench.folder / "side.md").write_text("x", "utf-8")
    bench.git("add", "side.md")
    bench.git("commit", "--quiet", "--message=Side")
    bench.git("checkout", "--quiet", "main")
    bench.git("merge", "--quiet", "--no-ff", "--no-commit", "side")
    bench.persist(1, WRITE)
    bench.git("add", PATH)
    bench.git("commit", "--quiet", "--message=Merge")
    assert states(bench) == ["Persisted", "Draft", "Draft"]
    assert commits(bench)[0] == head(bench)


def test_a_version_that_came_twice(bench: Bench) -> None:
    """The newest commit that brought it in."""
    bench.persist(1)
    bench.persist(2)
    bench.git("revert", "--no-edit", "HEAD")
    assert states(bench) == ["Persisted", "Persisted", "Draft"]
    assert commits(bench)[0] == head(bench)


@pytest.mark.thorough
def test_many_versions(bench: Bench) -> None:
    """More than are read at once; each is found in its own commit."""
    texts = {}
    for number in range(1, 121):
        texts[number] = text_of(1).replace("version: 1\n", f"version: {number}\n")
        bench.file.parent.mkdir(exist_ok=True)
        bench.file.write_text(with_message_id(texts[number], number), "utf-8")
        bench.git("add", PATH)
        bench.git("commit", "--quiet", f"--message={number}")
    found = persistences(bench.workspace.project, THREAD, texts)
    log = bench.git("log", "--reverse", "--format=%H", "--", PATH).split()
    assert [found[number].commit for number in texts] == log


def test_a_project_in_a_folder_with_a_line_end(tmp_path: Path, settings: Path) -> None:
    """Git cannot be asked about such a path, one to a line: then nothing is known."""
    top = tmp_path / "odd"
    bench = Bench.make(top / "a\nb")
    git(top, "init", "--quiet")
    bench.persist(1, WRITE)
    assert states(bench) == ["Pending", "Draft", "Draft"]
