"""`brenner session show`: one thread ID, and where it leads in every system."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from brenner.cli.terminal import display_width
from mail_shell import Shell
from parts import need
from session.busy_session import ANN, ROLES, Stage, busy
from session.repositories import git, settings
from session.workspaces import THREAD, add
from terminal import in_terminal

__all__ = ["settings"]
DOTTED, HYPHEN = "brenner_bot-5so.3.4.2", "-bot-5so.1.4"
IDS = (THREAD, DOTTED, HYPHEN)
KEYS = ["thread_id", "kind", "mail", "artifact", "archive", "terminal", "bead", "roster"]


@pytest.fixture
def shell(tmp_path: Path, settings: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project in a repository; its tmux is nobody else's, and there is no bd."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "tmux", "sh"):
        found = shutil.which(name)
        if found:
            (programs / name).symlink_to(found)
    for name in ("AGENT_NAME", "BRENNER_STORE", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("TMUX_TMPDIR", str(programs))
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init")
    return Shell(folder, monkeypatch)


def session(shell: Shell, thread_id: str = THREAD) -> None:
    """A session with one version."""
    stage = Stage(shell.folder, thread_id)
    stage.kickoff()
    stage.contribute(ANN, add("Gradient"))
    stage.compile()
    stage.close()


def show(shell: Shell, thread_id: str = THREAD) -> str:
    """What is shown, the blanks between the columns aside."""
    done = shell("session", "show", "--", thread_id)
    assert done.code == 0, done.err
    return re.sub(" {2,}", "  ", done.out)


def told(shell: Shell, thread_id: str = THREAD) -> dict[str, Any]:
    """The document."""
    done = shell("session", "show", "--json", "--", thread_id)
    assert done.code == 0, done.err
    return done.json  # type: ignore[no-any-return]


@pytest.mark.parametrize("thread_id", IDS)
def test_only_mail(shell: Shell, thread_id: str) -> None:
    """The contract's mapping, with what is there and what is not."""
    session(shell, thread_id)
    shown = show(shell, thread_id)
    path = f"artifacts/{thread_id}.md"
    assert shown.startswith(f"{thread_id}  ")
    assert f"  Mail thread  5 messages in {shell.folder}/.brenner/mail.sqlite3\n" in shown
    assert "  Latest  v1, message 5\n" in shown
    assert f"  Artifact file  {path}  not written\n  v1 is not saved to a file\n" in shown
    assert f'  Front matter  session_id: "{thread_id}"\n' in shown
    assert f"  ntm session  {thread_id}\n" in shown
    for name, role in ROLES.items():
        assert f"{name}  {role}\n" in shown
    document = told(shell, thread_id)
    assert list(document)[: len(KEYS)] == KEYS
    assert (document["mail"]["messages"], document["mail"]["version"]) == (5, 1)
    assert document["artifact"] == {
        "path": path,
        "exists": False,
        "version": None,
        "session_id": None,
        "front_matter": f'session_id: "{thread_id}"',
        "edited": False,
        "persistence": {"status": "Draft", "path": path, "commit": None},
    }
    assert document["roster"] == [{"agent": name, "role": role} for name, role in ROLES.items()]


def test_from_draft_to_persisted(shell: Shell) -> None:
    session(shell)
    for option, status in (
        (["--persist"], "saved, not committed"),
        (["--persist", "--commit"], "committed in "),
    ):
        assert shell("compile", THREAD, *option).code == 0
        assert f"artifacts/{THREAD}.md  v1\n  v1 is {status}" in show(shell)
        found = told(shell)["artifact"]
        assert (found["exists"], found["version"], found["session_id"]) == (True, 1, THREAD)
    commit = git(shell.folder, "rev-parse", "HEAD").strip()
    assert f"v1 is committed in {commit[:12]}\n" in show(shell)
    assert found["persistence"] == {
        "status": "Persisted",
        "path": f"artifacts/{THREAD}.md",
        "commit": commit,
    }
    assert "Archive" not in show(shell)
    shell("compile", THREAD, "--persist", "--commit", "--archive")
    assert f"  Archive  artifacts/{THREAD}.mail.jsonl\n" in show(shell)
    assert told(shell)["archive"] == f"artifacts/{THREAD}.mail.jsonl"


def test_file_behind_the_mail_and_changed_by_hand(shell: Shell) -> None:
    session(shell)
    shell("compile", THREAD, "--persist", "--commit")
    stage = Stage(shell.folder)
    stage.contribute(ANN, add("Clock"))
    stage.compile()
    assert f"artifacts/{THREAD}.md  v1\n  v2 is not saved to a file\n" in show(shell)
    file = shell.folder / "artifacts" / f"{THREAD}.md"
    file.write_text(file.read_text("utf-8") + "\nA note of mine.\n", "utf-8")
    assert f"artifacts/{THREAD}.md  v1, edited by hand\n" in show(shell)
    assert told(shell)["artifact"]["edited"] is True


@pytest.mark.parametrize("thread_id", IDS)
def test_only_a_file(shell: Shell, thread_id: str) -> None:
    """As who has the repository alone."""
    session(shell, thread_id)
    shell("compile", "--persist", "--commit", "--", thread_id)
    shutil.rmtree(shell.folder / ".brenner")
    shown = show(shell, thread_id)
    assert "  Mail thread  none in this store\n" in shown
    assert f"artifacts/{thread_id}.md  v1\n  v1 is committed in " in shown
    assert f"{ANN}  {ROLES[ANN]}\n" in shown
    document = told(shell, thread_id)
    assert document["mail"] is None
    assert document["roster"] == [{"agent": name, "role": role} for name, role in ROLES.items()]
    assert not (shell.folder / ".brenner").exists()  # looking writes nothing


def test_a_file_and_mail_without_a_version(shell: Shell) -> None:
    """As where somebody goes on with a session whose mail is elsewhere."""
    session(shell)
    shell("compile", THREAD, "--persist", "--commit")
    shutil.rmtree(shell.folder / ".brenner")
    Stage(shell.folder).kickoff()
    shown = show(shell)
    assert "  Latest  no version yet\n" in shown
    assert f"artifacts/{THREAD}.md  v1\n  v1 is committed in " in shown
    assert told(shell)["artifact"]["edited"] is False


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda file: file.write_bytes(b"\xff\xfe"), "it is not UTF-8"),
        (lambda file: file.write_text(file.read_text().replace(THREAD, "RS-20260101-x-y")), "x-y"),
        (lambda file: (file.unlink(), file.mkdir()), "it is not a regular file"),
        (lambda file: (file.unlink(), file.symlink_to("/etc/hosts")), "it is not a regular file"),
        (lambda file: file.write_text(""), "it is empty"),
    ],
    ids=["bytes", "another", "folder", "link", "empty"],
)
def test_a_file_that_is_not_this_session(shell: Shell, spoil: object, said: str) -> None:
    session(shell)
    shell("compile", THREAD, "--persist")
    assert callable(spoil)
    spoil(shell.folder / "artifacts" / f"{THREAD}.md")
    assert said in show(shell)
    document = told(shell)
    assert document["artifact"]["exists"] is True
    assert document["summary"] == {"errors": 0, "warnings": 1, "info": 0}


@pytest.mark.parametrize("option", [[], ["--json"]], ids=" ".join)
def test_unknown(shell: Shell, option: list[str]) -> None:
    """The nearest is named, whether mail or a file knows it."""
    session(shell)
    shell("compile", THREAD, "--persist")
    for is_mail in (True, False):
        done = shell("session", "show", *option, "--", f"{THREAD}s")
        assert done.code == 1
        said = done.out if option else done.err
        assert "UNKNOWN_THREAD" in said
        assert f"Did you mean `{THREAD}`?" in said
        if option:
            assert [done.json[key] for key in KEYS] == [None] * 7 + [[]]
        if is_mail:
            shutil.rmtree(shell.folder / ".brenner")


@pytest.mark.parametrize("thread_id", ["RS-2025-x", "../x", "x\n"])
def test_what_is_no_thread_id(shell: Shell, thread_id: str) -> None:
    done = shell("session", "show", "--", thread_id)
    assert (done.code, done.out) == (1, "")
    assert "INVALID_" in done.err


# The programs beside ours


def tmux(*arguments: str) -> None:
    """Ask the tmux of this test; it must be fine."""
    need(shutil.which("tmux"), "tmux is not there")
    subprocess.run(["tmux", "-f", os.devnull, *arguments], check=True, capture_output=True)


@pytest.mark.parametrize("thread_id", IDS)
def test_tmux(shell: Shell, thread_id: str) -> None:
    """The name that tmux stores, whether it runs, and a command that finds exactly that one."""
    session(shell, thread_id)
    stored = thread_id.replace(".", "_")
    assert f"  tmux session  {stored}  not running\n" in show(shell, thread_id)
    try:
        tmux("new-session", "-d", "-s", f"{stored}-and-more", "/bin/sleep", "100")
        assert told(shell, thread_id)["terminal"]["running"] is False
        tmux("new-session", "-d", "-s", stored, "/bin/sleep", "100")
        shown = show(shell, thread_id)
        assert f"  tmux session  {stored}  running, 1 window\n" in shown
        attach = re.search("`(tmux attach .*)`", shown)
        assert attach
        assert told(shell, thread_id)["terminal"] == {
            "ntm_session": thread_id,
            "tmux_session": stored,
            "program": "tmux",
            "running": True,
            "windows": 1,
            "panes": 1,
            "agents": [],
            "attach": attach[1],
            "problem": None,
        }
        # Attaching takes a terminal; what it would attach to any command of tmux finds.
        tmux(*shlex.split(attach[1].replace("attach", "has-session"))[1:])
    finally:
        tmux("kill-server")


def test_without_tmux_and_with_ntm(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absent, a program is simply absent; the names are the contract's all the same."""
    session(shell, HYPHEN)
    programs = shell.folder / "few"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    shown = show(shell, HYPHEN)
    assert f"  ntm session  {HYPHEN}\n  tmux session  -bot-5so_1_4\n  Bead" in shown
    assert told(shell, HYPHEN)["terminal"]["program"] is None
    ntm = programs / "ntm"
    ntm.write_text("#!/bin/sh\n", "utf-8")
    ntm.chmod(0o755)
    found = told(shell, HYPHEN)["terminal"]
    assert (found["program"], found["running"]) == ("ntm", None)
    assert found["attach"] == f"ntm attach -- {HYPHEN}"
    assert f"  ntm session  {HYPHEN}  unknown whether it runs" in show(shell, HYPHEN)


@pytest.mark.parametrize("thread_id", [DOTTED, HYPHEN])
def test_bead(shell: Shell, monkeypatch: pytest.MonkeyPatch, thread_id: str) -> None:
    """The command is the contract's; where there is a bd, what it says stands under it."""
    session(shell, thread_id)
    command = f"bd show {'-- ' * (thread_id == HYPHEN)}{thread_id}"
    assert f"  Bead  `{command}`\n  Roster" in show(shell, thread_id)
    bead = told(shell, thread_id)["bead"]
    assert (bead["id"], bead["command"], bead["title"]) == (thread_id, command, None)
    programs = shell.folder / "more"
    programs.mkdir()
    answer = {"id": thread_id, "title": "Prove it", "status": "open", "assignee": "BlueLake"}
    bd = programs / "bd"
    bd.write_text(f"#!/bin/sh\necho {shlex.quote(json.dumps(answer))}\n", "utf-8")
    bd.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    assert f"  Bead  `{command}`\n  open  Prove it  BlueLake\n" in show(shell, thread_id)
    assert told(shell, thread_id)["bead"] == {
        "command": command,
        **answer,
        "priority": None,
        "problem": None,
    }


def test_research_has_no_bead(shell: Shell) -> None:
    session(shell)
    assert "Bead" not in show(shell)
    assert told(shell)["bead"] is None


@pytest.mark.parametrize("thread_id", IDS)
def test_printed_commands_work(shell: Shell, thread_id: str) -> None:
    session(shell, thread_id)
    printed = re.findall("`(brenner [^`]*)`", show(shell, thread_id))
    assert printed
    for command in printed:
        assert shell(*shlex.split(command)[1:]).code == 0, command


@pytest.mark.parametrize("width", [80, 140])
def test_lines_fit(tmp_path: Path, width: int) -> None:
    """Nothing is wider than the terminal, and no ID is broken."""
    busy(tmp_path, DOTTED)
    shown = in_terminal(width, "--project", str(tmp_path), "session", "show", DOTTED)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    store = str(tmp_path / ".brenner" / "mail.sqlite3")
    assert max(display_width(line) for line in lines if line.strip() not in store) <= width
    assert f"artifacts/{DOTTED}.md" in "\n".join(lines)
    plain = in_terminal(width, "--project", str(tmp_path), "session", "show", DOTTED, NO_COLOR="1")
    assert plain.splitlines() == lines
