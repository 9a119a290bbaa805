"""kill -9 at every step of persisting; then the same call finishes the job (R19).

What a step is stands in `persist_work.py`: all that changes something outside of the process. What
the killed one has started goes on: git has its own session.
"""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.persist.artifact_file import canonical_text
from brenner.persist.git import persistence_of
from effort import thorough
from mail.processes import answers, start
from session.persist_work import killed_as_soon_as, killed_at_every_step, options_of
from session.repositories import (
    ARCHIVE,
    PATH,
    THREAD,
    Bench,
    git,
    settings,
    start_repository,
    text_of,
    untouched,
)

__all__ = ["settings"]


def make_template(folder: Path, first: int) -> None:
    """A project with somebody's work in it; the first so many versions are persisted."""
    bench = Bench.make(folder / "project")
    start_repository(bench.folder)
    shutil.rmtree(bench.folder / ".git" / "hooks")
    (bench.folder / "dirty.md").write_text("one\n", "utf-8")
    bench.git("add", "dirty.md")
    bench.git("commit", "--quiet", "--message=Files")
    git(folder, "init", "--quiet", "--bare", "remote.git")
    bench.git("remote", "add", "origin", "../remote.git")
    bench.git("push", "--quiet", "--set-upstream", "origin", "main")
    for number in range(1, first + 1):
        bench.persist(number)
    (bench.folder / "staged.md").write_text("staged\n", "utf-8")
    bench.git("add", "staged.md")
    (bench.folder / "dirty.md").write_text("two\n", "utf-8")
    (bench.folder / "new.md").write_text("new\n", "utf-8")
    bench.mailbox.close()


def remains(folder: Path, options: str, first: int) -> Iterator[Path]:
    """What is left after a kill at each step, and after none."""
    make_template(folder / "template", first)
    answers(killed_at_every_step, folder / "template", folder / "remains", options)
    for place in sorted((folder / "remains").iterdir()):
        yield place / "project"
        shutil.rmtree(place)


@pytest.mark.parametrize(
    ("options", "first"), [("", 0), thorough("commit", 1), thorough("commit archive push", 0)]
)
def test_killed_at_every_step(tmp_path: Path, settings: Path, options: str, first: int) -> None:
    """Never half a file, never two commits or messages; others' work stays as it was."""
    seen, others = set(), set()
    for folder in remains(tmp_path, options, first):
        with Bench.open(folder).mailbox as mailbox:
            bench = Bench(folder, mailbox)
            text = canonical_text(bench.file.read_text("utf-8")) if bench.file.exists() else None
            assert text in (text_of(1) if first else None, text_of(2))
            seen.add((text == text_of(2), len(bench.log()), len(bench.infos())))
            done = bench.persist(2, options_of(options))
            assert done.info == bench.infos()[-1]
            assert_finished(bench, options, first)
            others.add(others_of(folder))
    assert len(others) == 1
    steps = [(False, 2, 0), (True, 2, 0), *([(True, 3, 0)] if options else [])]
    last = (True, 3 if options else 2, 1)
    assert seen == {(is_new, log + first, info + first) for is_new, log, info in [*steps, last]}


@pytest.mark.thorough
def test_again_while_git_is_still_at_work(tmp_path: Path, settings: Path) -> None:
    """Only this program was killed: its commit goes on, and is not made a second time."""
    make_template(tmp_path, 0)
    bench = Bench.open(tmp_path / "project")
    bench.hook("pre-commit", "touch started; sleep 1; touch ended")
    child = start(killed_as_soon_as, bench.folder, "commit")
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    assert not (bench.folder / "ended").exists()
    assert bench.persist(2).words == "Committed"
    assert (bench.folder / "ended").exists()
    assert bench.log()[1:] == ["Files", "Begin"]
    assert bench.git("status", "--porcelain", "--", PATH) == ""


def others_of(folder: Path) -> str:
    """All that is not ours; when a file was last touched differs from copy to copy."""
    tree = untouched(folder, [PATH, ARCHIVE])
    files = {name: data for name, (data, _) in tree.files.items()}
    return repr((tree.entries, tree.status, tree.staged_ids, tree.dirty, files))


def assert_finished(bench: Bench, options: str, first: int) -> None:
    """Everything that was asked for is there, once."""
    subject = f"artifact({THREAD}): v2 - Round 2: added H4."
    assert bench.log().count(subject) == ("commit" in options)
    assert len(bench.infos()) == 1 + first
    state = persistence_of(bench.workspace.project, THREAD, text_of(2))
    assert state.status == ("Persisted" if options else "Pending")
    assert bench.leftovers() == []
    assert bench.archive.exists() == ("archive" in options)
    if options:
        status = bench.git("status", "--porcelain").split()
        assert status == ["M", "dirty.md", "A", "staged.md", "??", "new.md"]
    if "push" in options:
        there = git(bench.folder.parent / "remote.git", "rev-parse", "main")
        assert there == bench.git("rev-parse", "HEAD")
