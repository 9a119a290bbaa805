"""`artifact verify` compares the persisted file and its commits with the versions they name."""

from pathlib import Path

import pytest

from brenner.persist.artifact_file import canonical_text
from brenner.protocol.compiled import read_compiled
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import void_version
from brenner.services.persist import PersistOptions
from brenner.session.model import read_record
from brenner.session.rebuild import text_hash
from mail_shell import Shell
from session.repositories import git, settings
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff, new_workspace

__all__ = ["settings"]

PATH = f"artifacts/{THREAD}.md"
FORGED = ("Gradient decides", "Gradient guesses")


@pytest.fixture
def shell(tmp_path: Path, settings: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A repository with two versions, both committed."""
    del settings
    monkeypatch.delenv("AGENT_NAME", raising=False)
    monkeypatch.delenv("BRENNER_STORE", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet")
    workspace = new_workspace(folder)
    options = CompileOptions(persist=PersistOptions(commit=True))
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, options)
    contribute(workspace, BEA, edit("H1", mechanism="It binds"))
    compile_thread(workspace, THREAD, options)
    workspace.mailbox.close()
    return Shell(folder, monkeypatch)


def change(shell: Shell, old: str, new: str) -> None:
    """Change the file as an editor would."""
    file = shell.folder / PATH
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def commit(shell: Shell) -> str:
    git(shell.folder, "commit", "--quiet", "--all", "--message=By hand")
    return git(shell.folder, "rev-parse", "HEAD").strip()


def files(shell: Shell) -> list[tuple[str | None, int | None, bool]]:
    found = shell("artifact", "verify", THREAD, "--json").json["files"]
    assert {each["path"] for each in found} == {PATH}
    return [(each["commit"], each["version"], each["ok"]) for each in found]


def test_the_file_and_both_commits_are_their_versions(shell: Shell) -> None:
    """The id of the message in the file is not compared (R18)."""
    latest, first = git(shell.folder, "log", "--format=%H", "--", PATH).split()
    assert "agent_mail_message_id" in (shell.folder / PATH).read_text("utf-8")
    assert files(shell) == [(None, 2, True), (latest, 2, True), (first, 1, True)]
    done = shell("artifact", "verify", THREAD, "--files")
    assert (done.code, done.err) == (0, "")


def test_a_file_that_was_changed(shell: Shell) -> None:
    """A warning that names the line; with `--files` a failure."""
    change(shell, *FORGED)
    done = shell("artifact", "verify", THREAD, "--json")
    assert (done.code, done.json["ok"], done.codes) == (0, True, ["FILE_DIFFERS"])
    lines = canonical_text((shell.folder / PATH).read_text("utf-8")).split("\n")
    number = next(n for n, line in enumerate(lines, 1) if FORGED[1] in line)
    difference = f"line {number} is `**Claim**: {FORGED[1]}`, but `**Claim**: {FORGED[0]}` in v2"
    assert done.json["files"][0] == {
        "path": PATH,
        "commit": None,
        "version": 2,
        "ok": False,
        "difference": difference,
    }
    strict = shell("artifact", "verify", THREAD, "--files", "--json")
    assert (strict.code, strict.json["ok"]) == (1, False)
    assert strict.json["versions"] == done.json["versions"]
    shown = shell("artifact", "verify", THREAD, "--files")
    assert shown.code == 1
    assert f"`{PATH}` differs from the version that it states: {difference}." in shown.err


def test_a_commit_that_was_changed(shell: Shell) -> None:
    """Also where the file is right again."""
    change(shell, *FORGED)
    forged = commit(shell)
    change(shell, *reversed(FORGED))
    commit(shell)
    assert (forged, 2, False) in files(shell)
    assert files(shell)[0] == (None, 2, True)
    done = shell("artifact", "verify", THREAD, "--files")
    assert done.code == 1
    assert f"`{PATH}` in commit {forged[:12]} differs" in done.err


def test_an_older_version_is_fine(shell: Shell) -> None:
    git(shell.folder, "checkout", "--quiet", "HEAD~1", "--", PATH)
    assert files(shell)[0] == (None, 1, True)
    assert shell("artifact", "verify", THREAD, "--files").code == 0


def test_a_version_that_the_mail_does_not_have(shell: Shell) -> None:
    """The file is ahead of the mail; a commit of it is named as well."""
    change(shell, "version: 2", "version: 7")
    commit(shell)
    done = shell("artifact", "verify", THREAD, "--json")
    assert (done.code, sorted(done.codes)) == (0, ["FILE_AHEAD_OF_MAIL", "FILE_DIFFERS"])
    assert "it claims to be v7, which is not in the mail" in done.json["files"][1]["difference"]
    assert shell("artifact", "verify", THREAD, "--files").code == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"A shopping list\n", "it has no front matter with a version"),
        (b"\xff\xfe", "it is not UTF-8"),
    ],
)
def test_a_file_that_is_something_else(shell: Shell, content: bytes, reason: str) -> None:
    (shell.folder / PATH).write_bytes(content)
    commit(shell)
    done = shell("artifact", "verify", THREAD, "--files", "--json")
    assert done.code == 1
    assert [each["difference"] for each in done.json["files"][:2]] == [reason, reason]


def test_a_file_of_another_session(shell: Shell) -> None:
    change(shell, f'session_id: "{THREAD}"', 'session_id: "RS-20251230-other"')
    change(shell, *FORGED)
    (found, *_) = shell("artifact", "verify", THREAD, "--json").json["files"]
    assert found["difference"] == "it belongs to the session `RS-20251230-other`"


def test_line_ends_do_not_matter(shell: Shell) -> None:
    """A file that git has checked out with the line ends of Windows is the same version."""
    file = shell.folder / PATH
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert files(shell)[0] == (None, 2, True)


def test_a_version_that_was_voided_after_it_was_committed(shell: Shell) -> None:
    """The commit is the message that was v2, and nobody has changed it."""
    workspace = new_workspace(shell.folder)
    void_version(workspace, THREAD, 2, "Too early")
    compile_thread(workspace, THREAD, CompileOptions(persist=PersistOptions(commit=True)))
    workspace.mailbox.close()
    assert {ok for *_, ok in files(shell)} == {True}
    assert shell("artifact", "verify", THREAD, "--files").code == 0


def test_a_rival_message_does_not_vouch_for_a_file(shell: Shell) -> None:
    """Any agent can post a COMPILED message with the hash of a file that somebody has changed."""
    change(shell, *FORGED)
    forged = canonical_text((shell.folder / PATH).read_text("utf-8"))
    workspace = new_workspace(shell.folder)
    (compiled,) = (
        each.message
        for each in workspace.mailbox.thread(THREAD).messages
        if each.message.subject.startswith("COMPILED: v2")
    )
    body = compiled.body.replace(*FORGED)
    record = read_compiled(compiled).record or ""
    sha256 = read_record(record).artifact_sha256
    body = body.replace(sha256, text_hash(forged))
    workspace.mailbox.send(compiled._replace(sender=BEA, recipients=("Operator",), body=body))
    workspace.mailbox.close()
    done = shell("artifact", "verify", THREAD, "--files", "--json")
    assert (done.code, done.json["files"][0]["ok"]) == (1, False)


def test_nothing_to_compare(shell: Shell, tmp_path: Path) -> None:
    """Without a repository only the file; without a file nothing, and nothing is said."""
    folder = tmp_path / "bare"
    folder.mkdir()
    (shell.folder / ".brenner").rename(folder / ".brenner")
    here = Shell(folder, shell.patch)
    done = here("artifact", "verify", THREAD, "--files", "--json")
    assert (done.code, done.json["files"], done.codes) == (0, [], [])
    (folder / "artifacts").mkdir()
    (shell.folder / PATH).rename(folder / PATH)
    done = here("artifact", "verify", THREAD, "--files", "--json")
    assert (done.code, [each["commit"] for each in done.json["files"]]) == (0, [None])


def test_git_that_fails(shell: Shell) -> None:
    """A comparison that was not made must not look like success."""
    (shell.folder / ".git" / "HEAD").write_text("garbage\n", "utf-8")
    done = shell("artifact", "verify", THREAD, "--json")
    assert done.code == 0
    assert done.codes != []
    assert shell("artifact", "verify", THREAD, "--files").code == 3


def test_from_the_archive_alone(shell: Shell, tmp_path: Path) -> None:
    """A clone of the repository can compare its own files and commits."""
    archive = shell("compile", THREAD, "--persist", "--commit", "--archive")
    assert archive.code == 0, archive.err
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(shell.folder), str(clone))
    here = Shell(clone, shell.patch)
    assert here("artifact", "verify", THREAD, "--files").code == 0
    change(here, *FORGED)
    assert here("artifact", "verify", THREAD, "--files").code == 1
