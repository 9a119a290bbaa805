"""What an error of git advises is done word for word here; then the same command works."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from brenner.diagnostics.model import Diagnostic, UnavailableError
from brenner.services.persist import PersistOptions
from session.repositories import (
    ARCHIVE,
    COMMIT,
    PATH,
    PUSH,
    Bench,
    bench,
    git,
    raised,
    settings,
    start_repository,
)

__all__ = ["bench", "settings"]
_QUOTED = re.compile(r"`([^`]+)`")
ARCHIVED = PersistOptions(commit=True, archive=True)


def refused(bench: Bench, options: PersistOptions) -> Diagnostic:
    """How a version is turned down, before anything is posted."""
    with pytest.raises(UnavailableError) as error:
        bench.check(1, options)
    return error.value.diagnostic


def commands(found: Diagnostic) -> list[str]:
    """The commands of git that are advised."""
    return [each for each in _QUOTED.findall(found.fix) if each.startswith("git ")]


def do(folder: Path, command: str) -> None:
    """What a person types."""
    subprocess.run(shlex.split(command), cwd=folder, check=True, capture_output=True)


# Ignored


def follow(bench: Bench, options: PersistOptions = COMMIT) -> None:
    """Add the lines that are advised to the file that is named."""
    found = refused(bench, options)
    assert found.id == "ARTIFACT_IGNORED"
    file, *lines = _QUOTED.findall(found.fix.partition("at the end of ")[2])
    with Path(file).open("a", encoding="utf-8") as opened:
        opened.writelines(f"{line}\n" for line in lines if not line.startswith("--"))


@pytest.mark.parametrize(
    "rule",
    [
        *("artifacts", "artifacts/", "/artifacts", "**/artifacts/", "artifacts/**", "*"),
        *("*.md", "artifacts/*", f"/{PATH}", "[a-b]rtifacts"),
    ],
)
def test_an_ignored_artifact(bench: Bench, rule: str) -> None:
    """Whatever the rule, a folder's or a file's: the file passes, and nothing else with it."""
    (bench.folder / ".gitignore").write_text(f"*.log\n{rule}\n", "utf-8")
    (bench.folder / "artifacts").mkdir()
    (bench.folder / "artifacts" / "other.md").write_text("x\n", "utf-8")
    follow(bench)
    bench.check(1)
    bench.persist(1)
    assert bench.git("ls-files", "--", "artifacts").split() == [PATH]
    others = bench.git("status", "--porcelain", "--untracked-files=all", "--", "artifacts")
    assert ("other.md" in others) == rule.startswith("/artifacts/RS-")


def test_an_ignored_artifact_before_there_is_a_folder(bench: Bench) -> None:
    (bench.folder / ".gitignore").write_text("artifacts/\n", "utf-8")
    follow(bench)
    bench.persist(1)
    assert bench.git("ls-files", "--", "artifacts").split() == [PATH]


def test_an_ignored_folder_with_a_committed_file(bench: Bench) -> None:
    """Of the folder git says then that it is not ignored; new files in it are."""
    (bench.folder / "artifacts").mkdir()
    (bench.folder / "artifacts" / "other.md").write_text("x\n", "utf-8")
    bench.git("add", "artifacts")
    bench.git("commit", "--quiet", "--message=Other")
    (bench.folder / ".gitignore").write_text("artifacts\n", "utf-8")
    follow(bench)
    bench.persist(1)
    assert PATH in bench.git("ls-files", "--", "artifacts").split()


@pytest.mark.parametrize("rule", ["artifacts", "artifacts/", "*"])
@pytest.mark.parametrize("has_folder", [True, False])
def test_an_ignored_artifact_and_its_archive(bench: Bench, rule: str, has_folder: bool) -> None:
    """One after the other."""
    (bench.folder / ".gitignore").write_text(f"{rule}\n", "utf-8")
    if has_folder:
        (bench.folder / "artifacts").mkdir()
    follow(bench, ARCHIVED)
    follow(bench, ARCHIVED)
    bench.persist(1, ARCHIVED)
    assert bench.git("ls-files", "--", "artifacts").split() == [ARCHIVE, PATH]


@pytest.mark.parametrize("rule", ["artifacts", "*.md", r"project \[1]/", "*"])
def test_ignored_by_a_rule_for_all_repositories(
    settings: Path, tmp_path: Path, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repository's own rules win over it. The project is a folder in it, of an odd name."""
    outer = tmp_path / "outer"
    outer.mkdir()
    start_repository(outer)
    bench = Bench.make(outer / "project [1]")
    (tmp_path / "everywhere").write_text(f"{rule}\n", "utf-8")
    git(outer, "config", "core.excludesFile", str(tmp_path / "everywhere"))
    monkeypatch.chdir(bench.folder)
    follow(bench)
    bench.persist(1)
    assert (tmp_path / "everywhere").read_text("utf-8") == f"{rule}\n"
    assert bench.git("ls-files").split() == [PATH]


def test_ignored_by_a_rule_beside_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.folder / "artifacts").mkdir()
    (bench.folder / "artifacts" / ".gitignore").write_text("*\n", "utf-8")
    monkeypatch.chdir(bench.folder)
    assert "end of `artifacts/.gitignore`" in refused(bench, COMMIT).fix
    follow(bench)
    bench.persist(1)
    assert bench.git("ls-files", "--", "artifacts").split() == [PATH]


def test_an_archive_that_is_ignored_stays_out(bench: Bench) -> None:
    """Nobody asks to commit it; it is kept up to date all the same."""
    bench.persist(1, PersistOptions(archive=True))
    before = bench.archive.read_bytes()
    (bench.folder / ".gitignore").write_text("*.jsonl\n", "utf-8")
    bench.check(2)
    done = bench.persist(2)
    assert bench.git("ls-files", "--", "artifacts").split() == [PATH]
    assert done.commit == done.persistence.commit
    assert bench.archive.read_bytes() != before
    with pytest.raises(UnavailableError) as error:
        bench.check(2, ARCHIVED)
    assert raised(error) == "ARTIFACT_IGNORED"


# Where to push


def remote_of(bench: Bench) -> Path:
    """A repository to which one can push."""
    remote = bench.folder.parent / "remote.git"
    git(bench.folder.parent, "init", "--quiet", "--bare", str(remote))
    return remote


def follow_push(bench: Bench, remote: Path, *wanted: str) -> None:
    """Type what is advised, with the names that only a person knows; then the push works."""
    found = refused(bench, PUSH)
    assert found.id == "NO_PUSH_DESTINATION"
    typed = [
        each.replace("URL", str(remote)).replace("NAME", "cell-fate") for each in commands(found)
    ]
    assert [each.split()[1] for each in typed] == list(wanted)
    for command in typed:
        do(bench.folder, command)
    bench.check(1, PUSH)
    assert bench.persist(1, PUSH).words == "Committed and pushed"
    branch = bench.git("branch", "--show-current").strip()
    assert git(remote, "rev-parse", branch) == bench.git("rev-parse", "HEAD")


def test_no_remote(bench: Bench) -> None:
    follow_push(bench, remote_of(bench), "remote", "push")


def test_no_upstream(bench: Bench) -> None:
    remote = remote_of(bench)
    bench.git("remote", "add", "elsewhere", str(remote))
    follow_push(bench, remote, "push")


def test_a_detached_head(bench: Bench) -> None:
    remote = remote_of(bench)
    bench.git("remote", "add", "origin", str(remote))
    bench.git("checkout", "--quiet", "--detach")
    follow_push(bench, remote, "switch", "push")


def test_a_detached_head_without_a_remote(bench: Bench) -> None:
    """One step at a time: the next refusal tells the next one."""
    bench.git("checkout", "--quiet", "--detach")
    (command,) = commands(refused(bench, PUSH))
    do(bench.folder, command.replace("NAME", "cell-fate"))
    follow_push(bench, remote_of(bench), "remote", "push")


def test_an_upstream_in_the_same_repository(bench: Bench) -> None:
    remote = remote_of(bench)
    bench.git("remote", "add", "origin", str(remote))
    bench.git("checkout", "--quiet", "-b", "work", "--track", "main")
    follow_push(bench, remote, "push")


@pytest.mark.parametrize(("chosen", "branch"), [(0, "other"), (1, "main")])
def test_an_upstream_of_another_name(bench: Bench, chosen: int, branch: str) -> None:
    """Two ways, of which one chooses."""
    remote = remote_of(bench)
    bench.git("remote", "add", "origin", str(remote))
    bench.git("push", "--quiet", "--set-upstream", "origin", "main:other")
    found = refused(bench, PUSH)
    assert "another name, `refs/heads/other`" in found.message
    do(bench.folder, commands(found)[chosen])
    assert bench.persist(1, PUSH).words == "Committed and pushed"
    assert git(remote, "rev-parse", branch) == bench.git("rev-parse", "HEAD")


def test_settings_that_forbid_a_push(bench: Bench, settings: Path) -> None:
    remote = remote_of(bench)
    bench.git("remote", "add", "origin", str(remote))
    bench.git("push", "--quiet", "--set-upstream", "origin", "main")
    settings.write_text(settings.read_text("utf-8") + "[push]\n    default = nothing\n", "utf-8")
    follow_push(bench, remote, "config")


def test_a_first_commit_comes_before_a_first_push(tmp_path: Path, settings: Path) -> None:
    """A branch without a commit cannot be pushed."""
    bench = Bench.make(tmp_path / "project")
    bench.git("init", "--quiet")
    remote = remote_of(bench)
    bench.git("remote", "add", "origin", str(remote))
    found = refused(bench, PUSH)
    assert "run this command without `--push`" in found.fix
    bench.persist(1, COMMIT)
    do(bench.folder, commands(found)[0])
    assert bench.persist(1, PUSH).words == "Committed and pushed"


def test_a_rejected_push(bench: Bench, tmp_path: Path) -> None:
    """What is new there is taken over also where files are staged and changed here."""
    remote = remote_of(bench)
    bench.git("remote", "add", "origin", str(remote))
    bench.git("push", "--quiet", "--set-upstream", "origin", "main")
    git(tmp_path, "clone", "--quiet", "--branch=main", str(remote), "other")
    git(tmp_path / "other", "commit", "--quiet", "--allow-empty", "--message=Other")
    git(tmp_path / "other", "push", "--quiet")
    for name in ("README.md", "staged.md"):
        (bench.folder / name).write_text("mine\n", "utf-8")
    bench.git("add", "staged.md")
    with pytest.raises(UnavailableError) as error:
        bench.persist(1, PUSH)
    found = error.value.diagnostic
    assert found.id == "PUSH_REJECTED"
    assert "\t" not in "".join(error.value.details)
    (command,) = commands(found)
    do(bench.folder, command)
    assert bench.persist(1, PUSH).words == "Committed and pushed"
    assert (bench.folder / "README.md").read_text("utf-8") == "mine\n"
    assert bench.git("status", "--porcelain", "--", "staged.md").split() == ["A", "staged.md"]


# Said once


def test_the_words_of_a_hook_are_said_once(bench: Bench) -> None:
    """In the message, as long as they are short; else the message has how they begin."""
    bench.hook("pre-commit", "printf 'No\\tticket!\\n'; exit 1")
    with pytest.raises(UnavailableError) as error:
        bench.persist(1)
    assert error.value.diagnostic.message.endswith("rejected the commit: No ticket!")
    assert error.value.details == ()
    bench.hook("pre-commit", "echo 'No ticket!'; seq 1 200; exit 1")
    with pytest.raises(UnavailableError) as error:
        bench.persist(1)
    assert error.value.diagnostic.message.endswith("rejected the commit: No ticket! …")
    assert error.value.details[0].splitlines()[::200] == ["No ticket!", "200"]
