"""Compilers at once that also persist: the loser reads again and finishes, and nothing fails (R17).

One test for each place at which another compiler gets in between, then real processes.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from brenner.cli.compile import report
from brenner.config import Project
from brenner.diagnostics.model import BrennerError
from brenner.mail.model import Profile
from brenner.persist import commit
from brenner.persist import git as repositories
from brenner.persist.artifact_file import canonical_text
from brenner.persist.git import GitResult
from brenner.services import compile as compile_workflow
from brenner.services.compile import CompileOptions, CompileResult, CompileStatus, compile_thread
from brenner.services.persist import PersistOptions
from brenner.services.versions import load_version, parse_target, verify
from brenner.services.workspace import Workspace, workspace_in
from effort import thorough
from mail.processes import answered, release, start
from session.compile_work import THREAD, compile_and_persist, contribution
from session.repositories import git, settings, start_repository

__all__ = ["settings"]
ANN, RIVAL = "BlueLake", "RedSky"
PATH = f"artifacts/{THREAD}.md"
COMMIT = PersistOptions(commit=True)
COMPILERS = 5


@pytest.fixture(params=["no commit", "a commit"])
def workspace(
    request: pytest.FixtureRequest, tmp_path: Path, settings: Path
) -> Iterator[Workspace]:
    """A session with a contribution that no version has read, in a repository."""
    folder = tmp_path / "project"
    folder.mkdir()
    if request.param == "a commit":
        start_repository(folder)
    else:
        git(folder, "init", "--quiet")
    with workspace_in(Project(folder), None, create=True) as here:
        for name in (ANN, RIVAL):
            here.mailbox.register(Profile(name))
        here.mailbox.send(contribution(ANN, 1))
        yield here


def compiled(workspace: Workspace, options: PersistOptions = COMMIT) -> CompileResult:
    return compile_thread(workspace, THREAD, CompileOptions(persist=options))


def rival(workspace: Workspace, options: PersistOptions | None = COMMIT) -> None:
    """Another compiler publishes; the operator's persists if it is asked to."""
    actor = workspace.actor if options else RIVAL
    compile_thread(workspace._replace(actor=actor), THREAD, CompileOptions(persist=options))


def first(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Do something, once, just before a step of the next compile."""
    step = getattr(compile_workflow, name)

    def stepping(*arguments: Any, **options: Any) -> object:
        monkeypatch.setattr(compile_workflow, name, step)
        act()
        return step(*arguments, **options)

    monkeypatch.setattr(compile_workflow, name, stepping)


def check(workspace: Workspace, *, versions: int, said: int | None = None) -> None:
    """All versions are sound, the file and the latest commit are the latest one, each is said once.

    `said` is how many of them were persisted, where that is not all.
    """
    folder = workspace.project.folder
    verification = verify(workspace, THREAD)
    assert (verification.ok, verification.notes) == (True, ())
    assert [each.number for each in verification.versions] == list(range(1, versions + 1))
    target = parse_target(THREAD)
    assert target
    text = load_version(workspace, target).text
    assert canonical_text((folder / PATH).read_text("utf-8")) == text
    assert canonical_text(git(folder, "show", f"HEAD:{PATH}")) == text
    assert git(folder, "status", "--porcelain", "--untracked-files=no") == ""
    messages = workspace.mailbox.thread(THREAD).messages
    infos = [each.message.subject for each in messages if each.type == "INFO"]
    persisted = versions if said is None else said
    assert len(infos) == len(set(infos)) == persisted
    log = git(folder, "log", "--format=%s", "--", "artifacts").splitlines()
    numbers = [line.removeprefix(f"artifact({THREAD}): v").partition(" ")[0] for line in log]
    assert len(numbers) == len(set(numbers)) == persisted
    assert numbers == sorted(numbers, reverse=True)


# One place after the other


@pytest.mark.parametrize("count", [1, 2])
def test_overtaken_before_the_check(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """The file is another compiler's version: not an edit, and not newer than what is to come."""

    def act() -> None:
        rival(workspace)
        for number in range(2, count + 1):
            workspace.mailbox.send(contribution(ANN, number))
            rival(workspace)

    first(monkeypatch, "check_persistable", act)
    done = compiled(workspace)
    assert (done.status, done.version, done.failed) == (CompileStatus.NOTHING, count, None)
    assert done.persisted
    assert (done.persisted.version, done.persisted.words) == (count, "Committed")
    assert report(done, as_json=True) == 0
    check(workspace, versions=count)


def test_overtaken_after_publishing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version is in the file already: it stays, and the report says what the file holds."""

    def act() -> None:
        workspace.mailbox.send(contribution(ANN, 2))
        rival(workspace)

    first(monkeypatch, "persist", act)
    done = compiled(workspace)
    assert (done.status, done.version, done.failed) == (CompileStatus.PUBLISHED, 1, None)
    assert done.persisted
    assert (done.persisted.version, done.persistence.status) == (2, "Draft")
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        assert report(done, as_json=False) == 0
    assert f"Published v1 of {THREAD}" in out.getvalue()
    assert f"Nothing to commit: v2 was already in {PATH}" in out.getvalue()
    check(workspace, versions=2, said=1)


def test_what_another_compiler_left_undone_is_finished(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has written the file of the later version, and made no commit."""

    def act() -> None:
        workspace.mailbox.send(contribution(ANN, 2))
        rival(workspace, PersistOptions())

    first(monkeypatch, "persist", act)
    done = compiled(workspace)
    assert (done.version, done.failed, done.persisted and done.persisted.version) == (1, None, 2)
    assert canonical_text(git(workspace.project.folder, "show", f"HEAD:{PATH}")) == canonical_text(
        (workspace.project.folder / PATH).read_text("utf-8")
    )


@pytest.mark.parametrize("step", ["check_persistable", "persist"])
def test_a_person_s_edits_are_not_written_over(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """However many versions come in meanwhile."""
    compiled(workspace)
    workspace.mailbox.send(contribution(ANN, 2))
    file = workspace.project.folder / PATH
    edited = file.read_text("utf-8").replace("assumes 1", "assumes nothing")

    def act() -> None:
        file.write_text(edited, "utf-8")
        rival(workspace, None)
        workspace.mailbox.send(contribution(ANN, 3))

    first(monkeypatch, step, act)
    if step == "check_persistable":
        with pytest.raises(BrennerError) as raised:
            compiled(workspace)
        error = raised.value
    else:
        found = compiled(workspace).failed
        assert found
        error = found
    assert error.diagnostic.id == "ARTIFACT_FILE_EDITED"
    assert file.read_text("utf-8") == edited


@pytest.mark.parametrize("question", ["ls-tree", "rev-list"])
def test_the_first_commit_is_made_while_git_is_asked(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """The answer is that there is none, and a moment later there is one."""
    ask: Callable[..., GitResult] = vars(repositories)["query"]
    folder = workspace.project.folder
    times: list[int] = []

    def then_committed(top: Path, *arguments: str, **options: Any) -> GitResult:
        done = ask(top, *arguments, **options)
        if question in arguments and not times:
            times.append(1)
            git(folder, "commit", "--quiet", "--allow-empty", "--message=By hand")
        return done

    monkeypatch.setattr(repositories, "query", then_committed)
    done = compiled(workspace)
    assert (done.status, done.failed, times) == (CompileStatus.PUBLISHED, None, [1])
    check(workspace, versions=1)


def test_another_commit_is_made_while_we_commit(workspace: Workspace) -> None:
    """Git cannot move the branch, which is not where it was: our commit is made again on top."""
    folder = workspace.project.folder
    script = (
        'cd "$(git rev-parse --show-toplevel)" && [ -e .git/was-here ] && exit 0\n'
        "touch .git/was-here\n"
        "if git rev-parse --quiet --verify HEAD; then parent='-p HEAD' tree='HEAD^{tree}'\n"
        "else parent= tree=$(git hash-object -t tree -w /dev/null)\nfi\n"
        'git update-ref HEAD "$(git commit-tree -m Other $parent "$tree")"\n'
    )
    hook = folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}", "utf-8")
    hook.chmod(0o755)
    done = compiled(workspace)
    assert (done.failed, done.persistence.status) == (None, "Persisted")
    assert (folder / ".git" / "was-here").exists()
    check(workspace, versions=1)


def test_a_git_that_fails_is_still_reported(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a lost race is tried again."""
    run: Callable[..., GitResult] = vars(commit)["run"]

    def failing(top: Path, *arguments: str, **options: Any) -> GitResult:
        if "commit" in arguments:
            return GitResult(128, b"", "fatal: unable to write new index file")
        return run(top, *arguments, **options)

    monkeypatch.setattr(commit, "run", failing)
    found = compiled(workspace).failed
    assert found
    assert found.diagnostic.id == "GIT_FAILED"


# Real processes


@pytest.mark.parametrize("is_certain", [True, thorough(False)])
@pytest.mark.parametrize("options", [thorough("commit"), "commit archive"])
def test_compilers_at_once(workspace: Workspace, options: str, is_certain: bool) -> None:
    """All of them end well, round after round; one version, one commit and one INFO each."""
    folder = workspace.project.folder
    names = [f"Compiler{number}" for number in range(COMPILERS)]
    for version in (1, 2):
        gate = folder / "gate"
        gate.mkdir(exist_ok=True)
        for each in (*gate.iterdir(), folder / "done"):
            each.unlink(missing_ok=True)
        together = COMPILERS if is_certain else 0
        children = [start(compile_and_persist, folder, name, options, together) for name in names]
        release(children)
        said = [answer for child in children for answer in answered(child)]
        told = ["nothing_to_compile"] * (COMPILERS - 1) + ["published"]
        assert sorted(status for status, *_ in said) == told
        assert {tuple(each[1:]) for each in said} == {(version, version, None)}
        check(workspace, versions=version)
        workspace.mailbox.send(contribution(ANN, version + 1))
    if "archive" in options:
        archive = folder / "artifacts" / f"{THREAD}.mail.jsonl"
        assert [each.number for each in verify(workspace, THREAD, archive).versions] == [1, 2]
