"""What git cannot do is found out before anything is posted, and said in words that help."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.services.persist import PersistOptions
from program import files
from session.repositories import (
    COMMIT,
    PATH,
    PUSH,
    THREAD,
    WRITE,
    Bench,
    bench,
    git,
    raised,
    settings,
    start_repository,
)

__all__ = ["bench", "settings"]


def refused(bench: Bench, options: PersistOptions = COMMIT) -> tuple[str, str]:
    """The code and the words with which a version is turned down; nothing was done."""
    before = files(bench.folder)
    with pytest.raises(UnavailableError) as error:
        bench.check(1, options)
    assert files(bench.folder) == before
    with pytest.raises(UnavailableError) as again:
        bench.persist(1, options)
    assert raised(again) == raised(error)
    assert not bench.file.exists()
    assert bench.infos() == []
    found = error.value.diagnostic
    return found.id, f"{found.message} {found.fix}"


def test_no_repository(tmp_path: Path, settings: Path) -> None:
    """R19: without one there is nothing to commit to; the file alone can be written."""
    bench = Bench.make(tmp_path / "plain")
    code, words = refused(bench)
    assert code == "NOT_A_REPOSITORY"
    assert str(bench.folder) in words
    bench.check(1, WRITE)
    assert bench.persist(1, WRITE).persistence.status == "Pending"


def test_no_git(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(bench)[0] == "GIT_MISSING"
    assert bench.persist(1, WRITE).persistence.status == "Pending"


def test_a_git_that_cannot_be_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "git"
    broken.write_text("#!/no/such/interpreter\n", "utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(bench)[0] == "GIT_MISSING"


def test_no_identity(bench: Bench, settings: Path) -> None:
    settings.write_text("[user]\n    useConfigOnly = true\n", "utf-8")
    code, words = refused(bench)
    assert code == "NO_GIT_IDENTITY"
    assert "no email was given" in words


def test_an_ignored_path(bench: Bench) -> None:
    """The rule is named with its file and line."""
    (bench.folder / ".gitignore").write_text("*.log\nartifacts/\n", "utf-8")
    code, words = refused(bench)
    assert code == "ARTIFACT_IGNORED"
    assert "`.gitignore`, line 2, contains the rule `artifacts/`" in words


def test_an_ignored_archive(bench: Bench) -> None:
    (bench.folder / ".gitignore").write_text("*.jsonl\n", "utf-8")
    bench.check(1)
    assert refused(bench, PersistOptions(commit=True, archive=True))[0] == "ARTIFACT_IGNORED"


def test_a_file_that_is_committed_is_not_ignored(bench: Bench) -> None:
    bench.persist(1)
    (bench.folder / ".gitignore").write_text("artifacts/\n", "utf-8")
    bench.check(2)
    assert bench.persist(2).words == "Committed"


def conflict(bench: Bench) -> None:
    """Two branches that do not agree; the first is checked out."""
    bench.git("checkout", "--quiet", "-b", "side")
    (bench.folder / "README.md").write_text("side\n", "utf-8")
    bench.git("commit", "--quiet", "--all", "--message=Side")
    bench.git("checkout", "--quiet", "main")
    (bench.folder / "README.md").write_text("main\n", "utf-8")
    bench.git("commit", "--quiet", "--all", "--message=Main")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("merge", "side"), "a merge"),
        (("rebase", "side"), "a rebase"),
        (("cherry-pick", "side"), "a cherry-pick"),
        (("revert", "--no-edit", "HEAD~1"), "a revert"),
        (("bisect", "start"), "a bisect"),
    ],
)
def test_in_the_middle_of_something(bench: Bench, arguments: tuple[str, ...], word: str) -> None:
    """A commit now would become part of it, or end it."""
    conflict(bench)
    with suppress(AssertionError):  # the conflict
        bench.git(*arguments)
    before = bench.git("status")
    code, words = refused(bench)
    assert code == "GIT_OPERATION_IN_PROGRESS"
    assert word in words
    assert bench.git("status") == before


def test_conflicts_of_a_stash_are_no_operation(bench: Bench) -> None:
    """They are only unmerged files, which stay so."""
    (bench.folder / "README.md").write_text("stashed\n", "utf-8")
    bench.git("stash", "--quiet")
    (bench.folder / "README.md").write_text("other\n", "utf-8")
    bench.git("commit", "--quiet", "--all", "--message=Other")
    with pytest.raises(AssertionError):
        bench.git("stash", "pop", "--quiet")
    before = bench.git("ls-files", "--unmerged")
    assert before
    bench.persist(1)
    assert bench.git("ls-files", "--unmerged") == before


def test_a_bare_repository(tmp_path: Path, settings: Path) -> None:
    folder = tmp_path / "bare.git"
    git(tmp_path, "init", "--quiet", "--bare", str(folder))
    assert refused(Bench.make(folder))[0] == "BARE_REPOSITORY"


def test_inside_git_s_own_folder(bench: Bench) -> None:
    inner = Bench.make(bench.folder / ".git" / "project")
    assert refused(inner)[0] == "BARE_REPOSITORY"


def test_a_repository_that_git_does_not_trust(bench: Bench, settings: Path) -> None:
    """Git's own words, which say what to do."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(bench.folder / ".git", 12345, 12345)
    os.chown(bench.folder, 12345, 12345)
    code, words = refused(bench)
    assert code == "GIT_FAILED"
    assert "dubious ownership" in words


def test_a_broken_repository(bench: Bench) -> None:
    (bench.folder / ".git" / "config").write_text("[core\n", "utf-8")
    code, words = refused(bench)
    assert code == "GIT_FAILED"
    assert "bad config" in words


# Where to push


def test_push_without_a_remote(bench: Bench) -> None:
    code, words = refused(bench, PUSH)
    assert code == "NO_PUSH_DESTINATION"
    assert "the repository has no remote" in words


def with_remote(bench: Bench) -> Path:
    """A remote to which nothing was pushed."""
    remote = bench.folder.parent / "remote.git"
    git(bench.folder.parent, "init", "--quiet", "--bare", str(remote))
    bench.git("remote", "add", "origin", str(remote))
    return remote


def test_push_without_an_upstream(bench: Bench) -> None:
    """As git itself has it: a new branch there is the operator's decision."""
    with_remote(bench)
    code, words = refused(bench, PUSH)
    assert code == "NO_PUSH_DESTINATION"
    assert "the branch `main` has no upstream" in words


def test_push_from_a_detached_head(bench: Bench) -> None:
    with_remote(bench)
    bench.git("checkout", "--quiet", "--detach")
    code, words = refused(bench, PUSH)
    assert code == "NO_PUSH_DESTINATION"
    assert "detached HEAD" in words


def test_push_where_the_settings_forbid_it(bench: Bench) -> None:
    with_remote(bench)
    bench.git("push", "--quiet", "--set-upstream", "origin", "main")
    bench.git("config", "push.default", "nothing")
    assert refused(bench, PUSH)[0] == "NO_PUSH_DESTINATION"


def test_push_to_an_upstream_of_another_name(bench: Bench) -> None:
    """Git's default refuses it; `push.default = upstream` means it."""
    remote = with_remote(bench)
    bench.git("push", "--quiet", "--set-upstream", "origin", "main:work")
    assert refused(bench, PUSH)[0] == "NO_PUSH_DESTINATION"
    bench.git("config", "push.default", "upstream")
    assert bench.persist(1, PUSH).words == "Committed and pushed"
    assert git(remote, "rev-parse", "work") == bench.git("rev-parse", "main")


@pytest.mark.parametrize(
    "said",
    [
        ("push.default", "current"),
        ("push.autoSetupRemote", "true"),
        ("remote.pushDefault", "fork"),
        ("branch.main.pushRemote", "fork"),
    ],
)
def test_push_where_the_settings_say(bench: Bench, said: tuple[str, str]) -> None:
    """As `git push` would: to the branch of the same name, at the remote that is named."""
    remote = with_remote(bench)
    bench.git("remote", "add", "fork", str(remote))
    bench.git("config", *said)
    bench.check(1, PUSH)
    assert bench.persist(1, PUSH).words == "Committed and pushed"
    assert git(remote, "rev-parse", "main") == bench.git("rev-parse", "main")


def test_push_to_a_branch_of_the_same_repository(bench: Bench) -> None:
    with_remote(bench)
    bench.git("checkout", "--quiet", "-b", "work", "--track", "main")
    assert refused(bench, PUSH)[0] == "NO_PUSH_DESTINATION"


# What is worth a note


def test_a_detached_head_gets_a_warning(bench: Bench) -> None:
    bench.git("checkout", "--quiet", "--detach")
    bench.check(1)
    done = bench.persist(1)
    assert [note.id for note in done.notes] == ["DETACHED_HEAD"]
    assert done.persistence.commit == bench.git("rev-parse", "HEAD").strip()


def test_artifacts_as_a_submodule(bench: Bench) -> None:
    """The commit goes to the repository that holds the file; the outer one is left alone."""
    source = bench.folder.parent / "source"
    source.mkdir()
    start_repository(source)
    bench.git("submodule", "--quiet", "add", str(source), "artifacts")
    bench.git("commit", "--quiet", "--message=Artifacts")
    pointer = bench.git("ls-tree", "HEAD", "artifacts")
    bench.check(1)
    done = bench.persist(1)
    inner = bench.folder / "artifacts"
    assert [note.id for note in done.notes] == ["COMMITTED_IN_INNER_REPOSITORY"]
    assert git(inner, "show", "--format=%s", "--name-only").split("\n\n") == [
        f"artifact({THREAD}): v1 - Round 1: added H4.",
        f"{THREAD}.md\n",
    ]
    assert done.persistence.commit == git(inner, "rev-parse", "HEAD").strip()
    assert bench.git("ls-tree", "HEAD", "artifacts") == pointer
    assert bench.git("status", "--porcelain").split() == ["M", "artifacts"]
    assert bench.persist(1).persistence == done.persistence


def test_a_project_in_a_submodule(bench: Bench, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    start_repository(outer)
    git(outer, "submodule", "--quiet", "add", str(bench.folder), "inner")
    git(outer, "commit", "--quiet", "--message=Inner")
    inner = Bench.make(outer / "inner")
    done = inner.persist(1)
    assert [note.id for note in done.notes] == ["COMMITTED_IN_INNER_REPOSITORY"]
    assert str(outer) in done.notes[0].message
    assert git(outer, "status", "--porcelain").split() == ["M", "inner"]


def test_artifacts_as_a_repository_of_its_own(bench: Bench) -> None:
    (bench.folder / "artifacts").mkdir()
    git(bench.folder / "artifacts", "init", "--quiet")
    done = bench.persist(1)
    assert [note.id for note in done.notes] == ["COMMITTED_IN_INNER_REPOSITORY"]
    assert bench.log() == ["Begin"]


def test_a_linked_work_tree(bench: Bench, tmp_path: Path) -> None:
    """Another work tree of the same repository has its own branch and index."""
    bench.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    other = Bench.make(tmp_path / "tree")
    bench.persist(1)
    other.persist(2)
    assert other.log() == [f"artifact({THREAD}): v2 - Round 2: added H4.", "Begin"]
    assert bench.log() == [f"artifact({THREAD}): v1 - Round 1: added H4.", "Begin"]


# Bad paths


def bad(bench: Bench, options: PersistOptions = WRITE) -> str:
    """Why a path is turned down."""
    with pytest.raises(RequestError) as error:
        bench.check(1, options)
    with pytest.raises(RequestError) as again:
        bench.persist(1, options)
    assert raised(again) == raised(error) == "BAD_ARTIFACT_PATH"
    assert bench.infos() == []
    return error.value.diagnostic.message


def test_a_link_that_leads_out_of_the_project(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (bench.folder / "artifacts").symlink_to(tmp_path / "elsewhere")
    assert "leads out of the project" in bad(bench)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_that_leads_nowhere(bench: Bench) -> None:
    (bench.folder / "artifacts").symlink_to("nothing")
    assert "which does not exist" in bad(bench)


def test_a_file_that_is_a_link(bench: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("keep\n", "utf-8")
    (bench.folder / "artifacts").mkdir()
    bench.file.symlink_to(secret)
    assert "a symbolic link" in bad(bench)
    assert secret.read_text("utf-8") == "keep\n"


def test_a_folder_in_the_way(bench: Bench) -> None:
    bench.file.mkdir(parents=True)
    assert "a folder has that name" in bad(bench)


def test_a_file_in_place_of_the_folder(bench: Bench) -> None:
    (bench.folder / "artifacts").write_text("x", "utf-8")
    assert "`artifacts` is not a folder" in bad(bench)


def test_a_pipe_in_the_way(bench: Bench) -> None:
    (bench.folder / "artifacts").mkdir()
    os.mkfifo(bench.file)
    assert "it is not a file" in bad(bench)


def test_an_archive_whose_name_is_too_long(tmp_path: Path, settings: Path) -> None:
    bench = Bench.make(tmp_path / "project", "x" * 250, versions=1)
    assert "longer than 255 bytes" in bad(bench, PersistOptions(archive=True))
    assert bench.persist(1, WRITE).words == "Written"


def test_the_environment_of_a_surrounding_hook(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a hook of another repository runs this program, the file's own repository counts."""
    other = tmp_path / "other"
    other.mkdir()
    start_repository(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "no-index"))
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    monkeypatch.setenv("GIT_TRACE2_PARENT_SID", "20260101T000000.0Z-H1-P1")
    bench.check(1)
    bench.persist(1)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_LITERAL_PATHSPECS"):
        monkeypatch.delenv(name)
    assert len(bench.log()) == 2
    assert git(other, "log", "--format=%s").splitlines() == ["Begin"]
    assert not (tmp_path / "no-index").exists()
    assert bench.git("ls-files", "--", PATH).strip() == PATH
