"""Several processes that persist at once: every commit is made, each once, nothing is mixed."""

from pathlib import Path
from typing import Any

import pytest

from brenner.persist import commit
from brenner.persist import git as git_process
from brenner.persist.artifact_file import canonical_text
from brenner.persist.git import GitResult
from brenner.services.persist import PersistOptions
from effort import thorough
from mail.processes import answered, release, start
from session.persist_work import persist_at_once
from session.repositories import Bench, bench, git, settings, text_of, untouched

__all__ = ["bench", "settings"]
PROCESSES = 8


@pytest.mark.thorough
def test_different_threads(bench: Bench) -> None:
    """Eight of them in one repository, each with its own file; others' staged work stays."""
    threads = [f"work-{number}" for number in range(PROCESSES)]
    for thread_id in threads:
        Bench.make(bench.folder, thread_id, versions=1)
    (bench.folder / "staged.md").write_text("staged\n", "utf-8")
    bench.git("add", "staged.md")
    paths = [f"artifacts/{thread_id}.md" for thread_id in threads]
    before = untouched(bench.folder, paths)
    children = [start(persist_at_once, bench.folder, each, 1, "commit") for each in threads]
    release(children)
    commits = [commit for child in children for _, commit, _ in answered(child)]
    assert len(set(commits)) == PROCESSES
    assert len(bench.log()) == PROCESSES + 1
    assert sorted(bench.git("log", "--format=", "--name-only", "-8").split()) == sorted(paths)
    assert untouched(bench.folder, paths) == before
    assert bench.git("status", "--porcelain").split() == ["A", "staged.md"]


@pytest.mark.parametrize("options", ["commit archive", thorough("")])
def test_the_same_version(bench: Bench, options: str) -> None:
    """Eight of them with the same version: one commit, one message."""
    wish = (persist_at_once, bench.folder, bench.thread_id, 2, options)
    children = [start(*wish) for _ in range(PROCESSES)]
    release(children)
    said = [answer for child in children for answer in answered(child)]
    assert len({(words, commit) for words, commit, _ in said}) == 1
    assert sorted(is_new for _, _, is_new in said) == [False] * (PROCESSES - 1) + [True]
    assert len(bench.infos()) == 1
    assert len(bench.log()) == 1 + bool(options)
    assert bench.leftovers() == []


def test_different_stores_and_work_trees(bench: Bench, tmp_path: Path) -> None:
    """Several work trees of one repository, each with mail of its own."""
    others = []
    for number in range(3):
        bench.git("worktree", "add", "--quiet", str(tmp_path / f"tree{number}"))
        others.append(Bench.make(tmp_path / f"tree{number}"))
    children = [start(persist_at_once, each.folder, each.thread_id, 1, "commit") for each in others]
    release(children)
    assert [answer[0] for child in children for answer in answered(child)] == ["Committed"] * 3
    for other in others:
        assert len(other.log()) == 2
        assert git(other.folder, "status", "--porcelain") == ""


def test_older_and_newer_at_once(bench: Bench) -> None:
    """Whoever comes second: the newer version is what stays."""
    children = [
        start(persist_at_once, bench.folder, bench.thread_id, number, "commit")
        for number in (3, 1, 2)
    ]
    release(children)
    for child in children:
        child.communicate(timeout=60)  # an older one may have been refused
    assert canonical_text(bench.file.read_text("utf-8")) == text_of(3)
    assert canonical_text(bench.git("show", f"HEAD:artifacts/{bench.thread_id}.md")) == text_of(3)
    assert bench.git("status", "--porcelain") == ""


def test_beside_the_operator_s_own_commits(bench: Bench) -> None:
    """Somebody who commits by hand meanwhile: both get through, and keep what is theirs."""
    threads = [f"work-{number}" for number in range(4)]
    for thread_id in threads:
        Bench.make(bench.folder, thread_id, versions=1)
    children = [start(persist_at_once, bench.folder, each, 1, "commit") for each in threads]
    release(children)
    made = 0
    while any(child.poll() is None for child in children):
        made += committed_by_hand(bench, made)
    made += committed_by_hand(bench, made)  # what was added before, perhaps in vain
    assert [answer[0] for child in children for answer in answered(child)] == ["Committed"] * 4
    assert len(bench.log()) == 1 + 4 + made
    assert bench.git("status", "--porcelain") == ""


def test_an_index_that_another_git_has_written_anew(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit of a single file by hand puts back the index that it had read: ours is announced
    there once more.
    """
    run = git_process.run
    times: list[int] = []

    def after_another(top: Path, *arguments: str, **options: Any) -> GitResult:
        if "commit" in arguments and not times:
            times.append(1)
            bench.git("rm", "--quiet", "--cached", "--", f"artifacts/{bench.thread_id}.md")
        return run(top, *arguments, **options)

    monkeypatch.setattr(commit, "run", after_another)
    assert bench.persist(1, PersistOptions(commit=True)).words == "Committed"
    assert times
    assert bench.git("status", "--porcelain") == ""


def committed_by_hand(bench: Bench, number: int) -> bool:
    """Whether the operator got through; git gives up at once where another is at work."""
    (bench.folder / "by-hand.md").write_text(f"{number}\n", "utf-8")
    try:
        bench.git("add", "by-hand.md")
        bench.git("commit", "--quiet", "--message=By hand", "--", "by-hand.md")
    except AssertionError:
        return False
    return True
