"""A COMPILED message that was lost stops the next compile, before its number is used again."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brenner.mail.mailbox import Mailbox
from brenner.mail.model import SendResult
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from mail_shell import Shell
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace

NAMES = ("Gradient", "Lineage", "Clock")


class Late:
    """A mailbox in which something happens in the moment before a version is sent, once."""

    def __init__(self, mailbox: Mailbox, happens: Callable[[], object]) -> None:
        self._mailbox = mailbox
        self._happens: list[Callable[[], object]] = [happens]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mailbox, name)

    def send(self, message: Message, **conditions: Any) -> SendResult:
        if message.subject.startswith("COMPILED") and self._happens:
            self._happens.pop()()
        return self._mailbox.send(message, **conditions)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The mail of a session with three versions."""
    with new_workspace(tmp_path / "source") as workspace:
        kickoff(workspace)
        for name in NAMES:
            contribute(workspace, ANN, add(name))
            compile_thread(workspace, THREAD, CompileOptions())
    path = tmp_path / "whole.jsonl"
    Shell(tmp_path / "source", monkeypatch).mail("export", str(path))
    return path


def without(archive: Path, *lost: int) -> str:
    """The same mail without some versions."""
    prefixes = tuple(f"COMPILED: v{number} " for number in lost)
    lines = [json.loads(line) for line in archive.read_text("utf-8").splitlines()]
    left = [each for each in lines if not each.get("subject", "").startswith(prefixes)]
    left[-1]["end"] -= len(lost)
    path = archive.with_name("cut.jsonl")
    path.write_text("".join(f"{json.dumps(line)}\n" for line in left), "utf-8")
    return str(path)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """An empty project."""
    here = Shell(tmp_path / "here", monkeypatch)
    here.folder.mkdir()
    assert here("init").code == 0
    return here


def messages(shell: Shell) -> int:
    return len(shell("mail", "thread", THREAD, "--json").json["messages"])


@pytest.mark.parametrize(("lost", "left"), [((2,), [1]), ((1,), []), ((1, 2), [])])
def test_nothing_is_compiled_until_it_is_settled(
    shell: Shell, archive: Path, lost: tuple[int, ...], left: list[int]
) -> None:
    """Verify fails, compile is refused, and nothing is posted; the whole archive settles it."""
    shell.mail("import", without(archive, *lost))
    verified = shell("artifact", "verify", THREAD, "--json")
    assert (verified.code, verified.json["ok"]) == (1, False)
    assert [each["version"] for each in verified.json["versions"] if each["ok"]] == left
    before = messages(shell)
    done = shell("compile", THREAD, "--json")
    assert (done.code, done.codes) == (1, ["VERSION_MISSING"])
    assert f"session void {THREAD}@v{max(lost) + 1}" in done.json["violations"][0]["fix"]
    assert messages(shell) == before
    assert shell("session", "status", THREAD, "--json").json["stopped"]["id"] == "VERSION_MISSING"
    shell.mail("import", str(archive), "--accept-decisions")
    assert shell("artifact", "verify", THREAD).code == 0
    assert shell("compile", THREAD, "--json").json["status"] == "nothing_to_compile"


def test_the_operator_discards_what_was_built_on_it(shell: Shell, archive: Path) -> None:
    """The number is free again, and the deltas of both versions are in the next one."""
    shell.mail("import", without(archive, 2))
    assert shell("session", "void", f"{THREAD}@v3", "--reason", "v2 is lost").code == 0
    done = shell("compile", THREAD, "--json").json
    assert (done["version"], done["changes"]["added"]) == (2, ["H2", "H3"])
    assert shell("artifact", "verify", THREAD).code == 0


def test_the_operator_keeps_what_was_built_on_it(shell: Shell, archive: Path) -> None:
    shell.mail("import", without(archive, 2))
    assert shell("session", "adopt", THREAD).code == 0
    shown = shell("artifact", "show", THREAD, "--json").json
    assert [each["name"] for each in shown["hypothesis_slate"]] == list(NAMES)
    assert shown["metadata"]["version"] == 4
    assert shell("artifact", "verify", THREAD).code == 0


def test_a_contribution_that_the_kept_version_has_not_read_stays_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came in while v3 was compiled, before its message and unread by it."""
    with new_workspace(tmp_path / "source") as workspace:
        kickoff(workspace)
        for name in NAMES:
            contribute(workspace, ANN, add(name))
            if name == NAMES[-1]:
                late = Late(workspace.mailbox, lambda: contribute(workspace, BEA, add("Late")))
                compile_thread(workspace._replace(mailbox=late), THREAD, CompileOptions())
            else:
                compile_thread(workspace, THREAD, CompileOptions())
    path = tmp_path / "whole.jsonl"
    Shell(tmp_path / "source", monkeypatch).mail("export", str(path))
    here = Shell(tmp_path / "here", monkeypatch)
    here.folder.mkdir()
    here.mail("import", without(path, 2))
    assert here("session", "adopt", THREAD).code == 0
    assert here("compile", THREAD, "--json").json["changes"]["added"] == ["H4"]
    shown = here("artifact", "show", THREAD, "--json").json
    assert [each["name"] for each in shown["hypothesis_slate"]] == [*NAMES, "Late"]


def test_a_latest_version_that_is_lost_is_named_by_its_file(
    shell: Shell, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing in the mail is built on it, so only the file shows that it was there."""
    source = Shell(tmp_path / "source", monkeypatch)
    assert source("compile", THREAD, "--persist").code == 0
    shutil.copytree(tmp_path / "source" / "artifacts", shell.folder / "artifacts")
    shell.mail("import", without(archive, 3))
    done = shell("compile", THREAD, "--dry-run", "--json")
    assert "FILE_AHEAD_OF_MAIL" in done.codes
    assert source("session", "void", f"{THREAD}@v3").code == 0
    assert "FILE_AHEAD_OF_MAIL" not in source("compile", THREAD, "--dry-run", "--json").codes


def test_an_older_version_that_is_no_longer_needed_does_not_stop(
    shell: Shell, archive: Path
) -> None:
    """A loser of a race, or a void version, is no gap."""
    shell.mail("import", str(archive))
    assert shell("session", "void", f"{THREAD}@v3").code == 0
    assert shell("session", "void", f"{THREAD}@v2").code == 0
    assert shell("compile", THREAD, "--json").json["version"] == 2
