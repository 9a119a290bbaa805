"""`brenner mail` as a whole: empty projects, agents, failures, other people's text."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from brenner.protocol.messages import Message, render_message_file
from mail_shell import HOSTILE, QUESTION, THREAD, Shell, make_message, posted, store_of


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["inbox"], "No mail for Operator yet in `"),
        (["inbox", "--unread"], "The whole inbox: `brenner mail inbox`"),
        (["agents"], "`brenner mail register NAME`"),
        (["pending"], "No agent owes an acknowledgement"),
        (["search", "gradient", "is:unread"], "No messages match"),
    ],
)
def test_reading_creates_nothing(shell: Shell, command: list[str], says: str) -> None:
    """Reading in a new project shows the empty state and leaves the folder as it was."""
    assert says in shell.mail(*command).out
    assert shell.mail(*command, "--json").json
    assert list(shell.folder.iterdir()) == []


def test_writing_creates_the_store(shell: Shell) -> None:
    """The first command that writes makes the store, in a folder that git ignores."""
    shell.mail("register", "BlueLake")
    assert store_of(shell.folder).is_file()
    assert (shell.folder / ".brenner" / ".gitignore").read_text("utf-8") == "*\n"


def test_register(shell: Shell) -> None:
    """A name is kept as it is or refused; again is fine; another program needs --update."""
    first = shell.mail("register", "BlueLake", "--program", "claude-code")
    assert first.out.splitlines()[0] == "Registered BlueLake."
    assert "No changes were made" in shell.mail("register", "BlueLake").out
    taken = shell("mail", "register", "BlueLake", "--program", "codex-cli")
    assert (taken.code, taken.out) == (1, "")
    assert "NAME_TAKEN" in taken.err
    assert (
        "Updated BlueLake." in shell.mail("register", "BlueLake", "--program", "x", "--update").out
    )
    alike = shell("mail", "register", "B1ueLake", "--json")
    assert (alike.code, alike.codes) == (1, ["NAME_LOOKS_LIKE"])
    assert shell("mail", "register", "FillInName", "--json").codes == ["INVALID_NAME"]
    new = shell.mail("register", "RedCreek", "--model", "gpt", "--json").json
    assert (new["new"], new["agent"]["name"], new["agent"]["model"]) == (True, "RedCreek", "gpt")


def test_thread_id_advice_is_given_only_for_a_new_thread(office: Shell) -> None:
    """The ID of an existing thread cannot be changed: no check and no send advises on it."""
    body = "# Fate\n\n## Research Question\nWhat decides?\n\n## Context\nCells.\n"
    message = make_message("KICKOFF: One", body)._replace(thread_id="RS-20251230-fate")
    file = office.folder / "message.md"
    file.write_text(render_message_file(message), "utf-8")
    checks = [["check", str(file)], ["check", "--thread", "RS-20251230-fate"]]
    assert "THREAD_ID_ADVICE" in office(*checks[0], "--json").codes
    assert "THREAD_ID_ADVICE" in office("mail", "send", str(file), "--json").codes
    for arguments in (*checks, ["mail", "send", str(file)]):
        done = office(*arguments)
        assert (done.code, "THREAD_ID_ADVICE" in done.out + done.err) == (0, False)
    elsewhere = office("check", str(file), "--json", "--store", "sqlite:///other.sqlite3")
    assert "THREAD_ID_ADVICE" in elsewhere.codes
    assert not (office.folder / "other.sqlite3").exists()


def test_agents(office: Shell) -> None:
    """The list counts what is unread and owed; with a name, what is known of it."""
    office.send("QUESTION: Which?", QUESTION, to="BlueLake")
    listed = office.mail("agents").out.splitlines()
    assert listed[0].split() == ["Name", "Unread", "Owes", "Program", "Model", "Task", "Registered"]
    assert listed[2].split()[:4] == ["BlueLake", "1", "1", "claude-code"]
    one = office.mail("agents", "BlueLake").out
    assert "  Unread      1\n  Owes        1 ACK\n" in one
    document = office.mail("agents", "--json").json["agents"]
    assert [(each["name"], each["unread"], each["owes"]) for each in document] == [
        ("BlueLake", 1, 1),
        ("Operator", 0, 0),
        ("RedCreek", 0, 0),
    ]
    unknown = office("mail", "agents", "BlueLak")
    assert unknown.code == 1
    assert (
        "lists the registered names. Did you mean `BlueLake`? To register a new name" in unknown.err
    )


REQUESTS = [
    ["inbox"],
    ["thread", THREAD],
    ["show", "1"],
    ["send", "--thread", THREAD, "--to", "Operator", "--subject", "INFO: x", "--body", "x"],
    ["ack", "1"],
    ["mark", "1"],
    ["pending"],
    ["search", "x"],
    ["agents"],
    ["register", "BlueLake"],
    ["export", "mail.jsonl"],
    ["import", "archive.jsonl"],
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: str(request[0]))
def test_failures_are_documents(shell: Shell, request_: list[str]) -> None:
    """A bad project or store is exit code 2, a broken one 3; with --json one document, always."""
    Path("archive.jsonl").write_text('{"format":"brenner-mail","version":1}\n', "utf-8")
    cases = [
        (["--project", "nowhere"], "NO_SUCH_PROJECT", 2),
        (["--store", "mysql://h/d"], "UNKNOWN_STORE", 2),
        (["--store", "sqlite:///broken.sqlite3"], "STORE_CORRUPT", 3),
    ]
    Path("broken.sqlite3").write_text("not a database, but long enough to be one " * 30, "utf-8")
    for options, code, exit_code in cases:
        done = shell("mail", *options, *request_)
        assert (done.code, done.out) == (exit_code, "")
        assert code in done.err
        document = shell("--json", "mail", *request_, *options)
        assert (document.code, document.codes, document.err) == (exit_code, [code], "")


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: str(request[0]))
def test_success_is_one_document(office: Shell, request_: list[str]) -> None:
    """With --json the standard output is one document, and the other one is silent."""
    office.send("QUESTION: x?", QUESTION, "--as", "BlueLake")
    office.mail("export", "archive.jsonl")
    done = office("mail", "--json", *request_)
    assert (done.code, done.err) == (0, "")
    assert isinstance(done.json, dict)


def test_nothing_is_executed(shell: Shell) -> None:
    """Whoever's text it is, and wherever: only line feeds and printable characters come out."""
    odd = Message(f"odd {HOSTILE}", "BlueLake", ("Operator",), f"QUESTION: {HOSTILE}", HOSTILE)
    posted(shell.folder, odd, make_message(f"Re: {HOSTILE}", f"gradient {HOSTILE}\n" * 9))
    shell.mail("register", "BlueLake", "--update", "--task", f"task {HOSTILE}")
    for command in (
        *(["inbox"], ["thread", odd.thread_id], ["thread", odd.thread_id, "--full"], ["show", "1"]),
        *(["pending"], ["search", "gradient"], ["agents"], ["agents", "BlueLake"], ["ack", "1"]),
    ):
        done = shell.mail(*command)
        assert all(each == "\n" or each.isprintable() for each in done.out), command
    done = shell("check", "--thread", odd.thread_id)
    assert all(each == "\n" or each.isprintable() for each in done.out)
    done = shell("mail", "thread", f"x{HOSTILE}")
    assert all(each == "\n" or each.isprintable() for each in done.err)


def test_settings_are_told(shell: Shell) -> None:
    """An unknown setting is a warning on the other stream, at its place."""
    (shell.folder / "brenner.toml").write_text('operatr = "Ann"\n', "utf-8")
    assert "UNKNOWN_SETTING" in shell.mail("agents").err
    assert shell.mail("agents", "--json").err == ""
    (shell.folder / "brenner.toml").write_text('operator = "Ann"\n', "utf-8")
    assert "No mail for Ann yet" in shell.mail("inbox").out


def test_empty_inbox_says_how_mail_comes(office: Shell) -> None:
    """The commands work as they stand, once the message is filled in."""
    (office.folder / "brenner.toml").write_text('operator = "Ann"\n', "utf-8")
    hint = office.mail("inbox", "--as", "BlueLake").out.splitlines()[1].strip()
    new, fill, send = hint.split(", ")
    assert (fill, send) == ("fill it in", "then `brenner mail send message.md`")
    command, file = new.strip("`").split(" > ")
    message = office(*command.split()[1:]).out
    for unfilled in re.findall(r"\[\[.*?\]\]|fill-in-the-topic", message):
        message = message.replace(unfilled, "text")
    (office.folder / file).write_text(message, "utf-8")
    office.mail("send", str(office.folder / file))
    office.mail("inbox", "--as", "BlueLake", "--json")
    assert office.mail("show", "1", "--json").json["from"] == "Ann"
    assert "--as SENDER --to Ann" in office.mail("inbox").out


def test_who_acts(office: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--as`, else AGENT_NAME, else the operator."""
    monkeypatch.setenv("AGENT_NAME", "BlueLake")
    assert office.mail("inbox", "--json").json["agent"] == "BlueLake"
    assert office.mail("inbox", "--json", "--as", "RedCreek").json["agent"] == "RedCreek"
    office.send("INFO: x", "x")
    assert office.mail("show", "1", "--json").json["from"] == "BlueLake"
    for empty in ("", " "):
        assert office("mail", "inbox", "--as", empty).code == 2
        assert office("--as", empty, "mail", "inbox", "--json").codes == ["WRONG_USAGE"]
    monkeypatch.setenv("AGENT_NAME", "")
    assert office.mail("inbox", "--json").json["agent"] == "Operator"


def test_closed_output() -> None:
    """A reader that goes away is told by the exit code, not by a traceback."""
    full = os.open("/dev/full", os.O_WRONLY)
    done = subprocess.run(
        [sys.executable, "-m", "brenner", "mail", "agents", "--project", "."],
        stdout=full,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(full)
    assert done.returncode == 3
    assert b"OUTPUT_CLOSED" in done.stderr
