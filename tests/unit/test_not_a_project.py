"""In a folder without a project: which commands stop, which work, which create a project."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from brenner.cli.main import cli
from brenner.cli.options import LazyGroup
from mail_shell import THREAD
from program import brenner, brenner_process

# The commands that need mail, each with arguments that are right in a project
_NEED_MAIL = {
    "mail register": ["BlueLake"],
    "mail send": ["{files}/message.md"],
    "mail inbox": [],
    "mail show": ["1"],
    "mail thread": [],
    "mail search": ["word"],
    "mail agents": [],
    "mail ack": ["1"],
    "mail mark": ["1"],
    "mail pending": ["--resend"],
    "mail export": ["{files}/mail.jsonl"],
    "mail import": ["{files}/archive.jsonl"],
    "mail copy": ["--to", "copy.sqlite3"],
    "session list": [],
    "session status": [],
    "session watch": [],
    "session runs": [],
    "session show": [THREAD],
    "session link": [THREAD],
    "session round": [THREAD],
    "session complete": [THREAD],
    "session dismiss": [THREAD, "1.1"],
    "session cancel": [THREAD, "--reason", "Settled"],
    "session export": [THREAD, "--output", "{files}/session.html"],
    "session void": [f"{THREAD}@v1"],
    "session adopt": [THREAD],
    "compile": [THREAD],
    "artifact show": [THREAD],
    "artifact history": [THREAD],
    "artifact diff": [f"{THREAD}@v1", f"{THREAD}@v2"],
    "artifact blame": [THREAD],
    "artifact ledger": [THREAD],
    "artifact tests": [THREAD],
    "artifact lint": [THREAD],
    "result add": [THREAD, "T1", "--outcome", "seen"],
    "result run": [THREAD, "T1", "--", "true"],
    "result list": [THREAD],
    "artifact verify": [THREAD],
    "artifact export": [THREAD, "--output", "{files}/page.html"],
    "evidence add": ["--title", "Clocks", "--source", "doi:10.1000/182"],
    "evidence list": [],
    "evidence check": [],
    "refs graph": [THREAD],
    "refs check": [],
    "refs similar": ["a gradient"],
    "agent secret": ["BlueLake"],
    "serve": ["--port", "0"],
    "mcp": [],
}
_WORK_ANYWHERE = {
    "doctor": [],
    "completion": ["bash"],
    "new": ["QUESTION"],
    "check": ["{files}/message.md"],
    "explain": ["NOT_A_PROJECT"],
    "docs": [],
    "help": ["init"],
    "roster show": ["--to", "BlueLake", "--role", "test_designer"],
    "roster validate": ["{files}/roster.json"],
    "roster presets": [],
    "agent config": ["--client", "codex"],
}
_START = ["--question", "Which?", "--context", "None.", "--to", "BlueLake"]
_START += ["--role", "hypothesis_generator"]
_CREATE = {"init": [], "session start": _START, "orchestrate start": _START}
# They need a folder or a program of their own: see test_demo.py and tests/running/.
_RUN_ELSEWHERE = {"demo", "session run"}
_MESSAGE = """\
Thread: bd-1
From: Operator
To: Operator
Subject: QUESTION: which gradient?

## Question
Which?

## Urgency
Soon
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "message.md").write_text(_MESSAGE)
    (folder / "archive.jsonl").write_text('{"format":"brenner-mail","version":1}\n{"end":0}\n')
    roster = '{"entries": [{"agentName": "BlueLake", "role": "test_designer"}]}'
    (folder / "roster.json").write_text(roster)
    return folder


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def _leaves(group: LazyGroup, before: str = "") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, LazyGroup):
            yield from _leaves(found, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def _arguments(command: str, options: list[str], files: Path) -> list[str]:
    return [*command.split(), *(each.format(files=files) for each in options)]


def test_the_tables_have_every_command() -> None:
    """A new command has to be put into one of them."""
    assert isinstance(cli, LazyGroup)
    known = [*_NEED_MAIL, *_WORK_ANYWHERE, *_CREATE, *_RUN_ELSEWHERE]
    assert sorted(_leaves(cli)) == sorted(known)


@pytest.mark.parametrize("command", _NEED_MAIL)
def test_mail_needs_a_project(empty: Path, files: Path, command: str) -> None:
    """It stops, names the folder and what to do, and creates nothing, as text and as JSON."""
    before = sorted(files.iterdir())
    arguments = _arguments(command, _NEED_MAIL[command], files)
    done = brenner(*arguments, cwd=empty)
    assert done.code == 2
    assert "NOT_A_PROJECT" in done.err
    assert f"`{empty}`" in done.err
    assert "`brenner init`" in done.err
    assert done.out == ""
    assert list(empty.iterdir()) == []
    assert sorted(files.iterdir()) == before
    if command not in ("serve", "mcp", "session watch"):
        shown = brenner("--json", *arguments, cwd=empty)
        assert shown.code == 2
        assert shown.codes == ["NOT_A_PROJECT"]
        assert list(empty.iterdir()) == []


@pytest.mark.parametrize("command", _WORK_ANYWHERE)
def test_other_commands_work_anywhere(empty: Path, files: Path, command: str) -> None:
    done = brenner(*_arguments(command, _WORK_ANYWHERE[command], files), cwd=empty)
    assert done.code == 0, done.err
    assert "error NOT_A_PROJECT" not in done.err
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("command", _CREATE)
def test_a_project_is_created_and_reported(empty: Path, files: Path, command: str) -> None:
    done = brenner(*_arguments(command, _CREATE[command], files), cwd=empty)
    assert done.code == 0, done.err
    assert "Created" in done.out + done.err
    assert str(empty) in done.out + done.err
    assert (empty / ".brenner" / "mail.sqlite3").exists()
    again = brenner(*_arguments(command, _CREATE[command], files), cwd=empty)
    assert "Created" not in again.out + again.err


def test_start_as_json_reports_the_new_project(empty: Path) -> None:
    dry = brenner("session", "start", *_START, "--dry-run", "--json", cwd=empty)
    assert (dry.json["created_project"], list(empty.iterdir())) == (None, [])
    refused = brenner("session", "start", *_START[:-2], "--json", "--role", "x", cwd=empty)
    assert (refused.json["created_project"], list(empty.iterdir())) == (None, [])
    first = brenner("session", "start", *_START, "--json", cwd=empty)
    assert first.json["created_project"] == str(empty)
    second = brenner("session", "start", *_START, "--json", cwd=empty)
    assert second.json["created_project"] is None


@pytest.mark.parametrize("command", ["serve", "mcp", "session watch"])
def test_a_server_stops_as_a_process(empty: Path, command: str) -> None:
    done = brenner_process(*command.split(), cwd=empty)
    assert done.code == 2
    assert "NOT_A_PROJECT" in done.err
    assert list(empty.iterdir()) == []


def test_a_file_is_checked_and_linted_anywhere(empty: Path, files: Path) -> None:
    linted = brenner("artifact", "lint", str(files / "message.md"), cwd=empty)
    assert "NOT_A_PROJECT" not in linted.err
    thread = brenner("check", "--thread", THREAD, cwd=empty)
    assert (thread.code, "NOT_A_PROJECT" in thread.err) == (2, True)
    assert list(empty.iterdir()) == []


def test_settings_without_mail_are_a_project(empty: Path) -> None:
    """Reading says that there is no mail yet, and where; writing creates the store, and says so."""
    (empty / "brenner.toml").write_text('operator = "Ada"\n')
    place = f"`{empty}`, store `.brenner/mail.sqlite3`"
    for command in ("mail inbox", "mail search word", "session list", "refs check"):
        done = brenner(*command.split(), cwd=empty)
        assert (done.code, f"No mail yet in {place}." in done.err) == (0, True)
    assert [each.name for each in empty.iterdir()] == ["brenner.toml"]
    done = brenner("mail", "register", "BlueLake", cwd=empty)
    assert (done.code, done.err) == (0, f"Created a mailbox in {place}.\n")
    assert brenner("mail", "register", "RedCreek", cwd=empty).err == ""


def test_a_project_above_is_found(empty: Path) -> None:
    """An agent's folder may be below the project's."""
    assert brenner("init", cwd=empty).code == 0
    below = empty / "notes" / "today"
    below.mkdir(parents=True)
    assert brenner("mail", "register", "BlueLake", cwd=below).code == 0
    assert brenner("session", "start", *_START, cwd=below).code == 0
    assert not (below / ".brenner").exists()
    unknown = brenner("mail", "agents", "Nobody", cwd=below)
    assert f"Project: `{empty}`, store `.brenner/mail.sqlite3`." in unknown.err


@pytest.mark.parametrize("named", ["--project", "--store", "BRENNER_STORE"])
def test_what_is_named_counts(empty: Path, tmp_path: Path, named: str) -> None:
    """Reading creates nothing; writing creates the store there, and says so."""
    other = tmp_path / "other"
    other.mkdir()
    value = str(other) if named == "--project" else str(other / "mail.sqlite3")
    options = [named, value] if named.startswith("--") else []
    environment = {} if options else {named: value}
    read = brenner("mail", "inbox", *options, cwd=empty, **environment)
    assert (read.code, "No mail yet in" in read.err) == (0, True)
    assert list(other.iterdir()) == []
    written = brenner("mail", "register", "BlueLake", *options, cwd=empty, **environment)
    assert (written.code, "Created a mailbox in" in written.err) == (0, True)
    assert len(list(other.iterdir())) == 1
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["mail", "thread", THREAD], "UNKNOWN_THREAD"),
        (["session", "status", THREAD], "UNKNOWN_THREAD"),
        (["artifact", "show", THREAD], "UNKNOWN_THREAD"),
        (["check", "--thread", THREAD], "UNKNOWN_THREAD"),
        (["mail", "agents", "Nobody"], "NO_SUCH_AGENT"),
        (["mail", "inbox", "--as", "Nobody"], "NO_SUCH_AGENT"),
        (["mail", "show", "9"], "UNKNOWN_MESSAGE"),
    ],
)
def test_unknown_names_name_the_place(empty: Path, arguments: list[str], code: str) -> None:
    """In the message, so that JSON has it, too."""
    assert brenner("init", cwd=empty).code == 0
    place = f"Project: `{empty}`, store `.brenner/mail.sqlite3`."
    done = brenner(*arguments, cwd=empty)
    assert code in done.err
    assert place in done.err
    (found,) = brenner(*arguments, "--json", cwd=empty).json["violations"]
    assert found["id"] == code
    assert found["message"].endswith(place)


def test_an_unknown_recipient_names_the_place(empty: Path) -> None:
    assert brenner("init", cwd=empty).code == 0
    flags = ["--thread", "bd-1", "--to", "Nobody", "--subject", "INFO: news", "--body", "news"]
    done = brenner("mail", "send", *flags, cwd=empty)
    assert "UNKNOWN_RECIPIENT" in done.err
    assert f"Project: `{empty}`, store `.brenner/mail.sqlite3`." in done.err


@pytest.mark.parametrize(
    "command", ["mail inbox", "mail thread", "mail agents --as Operator", "session list"]
)
def test_nothing_yet_names_the_place(empty: Path, command: str) -> None:
    (empty / "brenner.toml").write_text("")
    done = brenner(*command.split(), cwd=empty)
    assert f"yet in `{empty}`, store `.brenner/mail.sqlite3`" in done.out


def test_doctor_warns(empty: Path) -> None:
    done = brenner("doctor", "--json", cwd=empty)
    (found,) = [each for each in done.json["checks"] if each["name"] == "project"]
    assert (found["status"], found["id"]) == ("warning", "NOT_A_PROJECT")
