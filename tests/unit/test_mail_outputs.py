"""Outputs that fail: what was done is not done again, and nothing ends in a traceback."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from archive_samples import record
from brenner.mail.archive import jsonl
from brenner.mail.sqlite.mailbox import SqliteMailbox
from mail_shell import HOSTILE, THREAD, Shell, make_message, posted, store_of

FULL, CLOSED, ALL_CLOSED = ">/dev/full", ">&-", "<&- >&- 2>&-"
NO_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")


class Ended(NamedTuple):
    """How a run of the program ended."""

    code: int
    err: str


def brenner(redirection: str, folder: Path, *arguments: str) -> Ended:
    """Run the program with its outputs led elsewhere."""
    program = [sys.executable, "-m", "brenner", "--project", str(folder), *arguments]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stderr.decode()
    return Ended(done.returncode, done.stderr.decode())


def looked_at(folder: Path) -> tuple[object, ...]:
    """What a writing command may have changed."""
    with SqliteMailbox.open(store_of(folder)) as mailbox:
        unread = [each.is_read for each in mailbox.inbox("Operator").messages]
        files = [path.name for path in folder.iterdir()]
        return mailbox.position(), len(mailbox.agents()), unread, sorted(files)


WRITING = [
    ["mail", "send", "--thread", THREAD, "--to", "BlueLake", "--subject", "INFO: x", "--body", "x"],
    ["mail", "ack", "1"],
    ["mail", "register", "GreenDog"],
    ["mail", "mark", "1"],
    ["mail", "import", "archive.jsonl"],
    ["mail", "pending", "--resend"],
    ["mail", "export", "out.jsonl"],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an overdue ACK, and an archive to take in."""
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    posted(tmp_path, make_message("QUESTION: Which?"), hours_ago=30)
    lines = "".join(jsonl.encode([], [record(9)]))
    (tmp_path / "archive.jsonl").write_text(lines, "utf-8")
    return tmp_path


@NO_FULL
@pytest.mark.parametrize("command", WRITING, ids=lambda command: command[1])
def test_what_was_done_is_not_repeated(folder: Path, command: list[str]) -> None:
    """The report is lost, the work is not: nobody is told to run the command again."""
    before = looked_at(folder)
    for options in ([], ["--json"]):
        ended = brenner(FULL, folder, *command, *options, *["--force"] * (command[1] == "export"))
        assert ended.code == 3
        is_repeated = command[1] == "pending" and bool(options)  # nothing is overdue any more
        assert ("The command succeeded" in ended.err) is not is_repeated
        assert ("run the command again" in ended.err) is is_repeated
        assert looked_at(folder) != before


@pytest.mark.parametrize("redirection", [CLOSED, ALL_CLOSED])
@pytest.mark.parametrize("command", WRITING, ids=lambda command: command[1])
def test_closed_outputs(folder: Path, command: list[str], redirection: str) -> None:
    """The command works; that nobody hears of it is told where that is possible."""
    before = looked_at(folder)
    ended = brenner(redirection, folder, *command)
    assert ended.code == 0
    assert ended.err.count("\n") == (redirection == CLOSED)
    assert ("standard output is closed" in ended.err) is (redirection == CLOSED)
    assert looked_at(folder) != before


@NO_FULL
def test_nothing_was_done(folder: Path) -> None:
    """Who only read, or was refused, may run it again."""
    refused = [*WRITING[0][:-1], "x", "--to", "Nobody", "--json"]
    for command in (["mail", "inbox"], ["mail", "pending", "--json"], refused, ["mail", "--help"]):
        ended = brenner(FULL, folder, *command)
        assert ended.code == 3
        assert "run the command again" in ended.err
    assert brenner(f"{FULL} 2>/dev/full", folder, "mail", "inbox", "--nonsense").code == 3
    assert brenner(ALL_CLOSED, folder, "mail", "inbox", "--nonsense").code == 2
    assert brenner(ALL_CLOSED, folder, "mail", "show", "99", "--json").code == 1


def test_init_with_a_closed_output(tmp_path: Path) -> None:
    """The project is there."""
    assert brenner(CLOSED, tmp_path, "init").code == 0
    assert store_of(tmp_path).exists()


def test_json_obeys_nobody(shell: Shell) -> None:
    """What a terminal would obey is spelled out; what is read from the document is the same."""
    text = HOSTILE + "ü → \U0001f600 \U000e0041"
    posted(shell.folder, make_message(f"INFO: {text}", text))
    for command in (["show", "1"], ["thread", THREAD], ["inbox"], ["search", "type:INFO"]):
        done = shell.mail(*command, "--json")
        assert all(line.isprintable() for line in done.out.splitlines())
        assert "ü → \U0001f600" in done.out
        assert json.dumps(text) in json.dumps(done.json)
