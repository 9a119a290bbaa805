"""What is one line stays one line, whatever somebody has imported or typed."""

from pathlib import Path

import pytest

from archive_samples import record
from brenner.mail.archive import jsonl
from brenner.mail.model import Agent, MessageRecord
from brenner.protocol.messages import content_hash
from mail_shell import HOSTILE, QUESTION, THREAD, Shell

FORGED = "FORGED  by me"
ODD_THREAD = f"x\n{FORGED}\n\r{HOSTILE}"


def imported(shell: Shell, *records: MessageRecord, agents: tuple[Agent, ...] = ()) -> None:
    """Take in what no command here would send."""
    file = shell.folder / "archive.jsonl"
    file.write_text("".join(jsonl.encode(agents, records)), "utf-8")
    shell.mail("import", str(file))


def odd() -> MessageRecord:
    """A message whose subject and thread ID have several lines."""
    stored = record(1, f"QUESTION: x\n{FORGED}\n1   Operator → BlueLake", "hello\n").stored
    message = stored.message._replace(thread_id=ODD_THREAD)
    return MessageRecord(stored._replace(message=message, content_hash=content_hash(message)))


@pytest.mark.parametrize(
    "command",
    [
        ["show", "1"],
        ["thread"],
        ["thread", ODD_THREAD],
        ["thread", ODD_THREAD, "--full"],
        ["inbox"],
        ["inbox", "--thread", ODD_THREAD],
        ["pending"],
        ["pending", "--thread", ODD_THREAD],
        ["pending", "--escalate"],
        ["search", "hello"],
        ["ack", "1"],
    ],
    ids=lambda command: " ".join(command)[:16].replace("\n", " "),
)
def test_no_line_is_forged(shell: Shell, command: list[str]) -> None:
    """A line feed in a subject or a thread ID is shown, and begins no line."""
    imported(shell, odd())
    shown = shell.mail(*command).out
    assert not [line for line in shown.split("\n") if line.strip().startswith("FORGED")]
    assert shown.replace("\n", "").isprintable()


def test_imported_mail_is_not_resent_and_that_is_said(shell: Shell) -> None:
    """It is overdue since long; nobody here has seen who wrote it."""
    imported(shell, record(1, "QUESTION: x", "hello\n"))
    done = shell.mail("pending", "--resend")
    assert "owed for imported mail, which cannot be resent" in done.out
    assert "Sent" not in done.out
    assert shell.mail("pending", "--resend", "--json").json["resent"] == []


def test_what_an_agent_says_of_itself(shell: Shell) -> None:
    """The same for its profile."""
    imported(shell, agents=(Agent("BlueLake", f"p\n{FORGED}", "m", "t", record().stored.at),))
    for command in (["agents"], ["agents", "BlueLake"]):
        shown = shell.mail(*command).out
        assert f"p\\n{FORGED}" in shown


def test_unread_is_counted(shell: Shell) -> None:
    """However much there is, exactly."""
    imported(shell, *(record(number, body=f"{number}\n") for number in range(1, 1001)))
    assert shell.mail("agents", "Operator", "--json").json["unread"] == 1000
    assert " 1000 " in shell.mail("agents").out
    shell.mail("mark", "1", "500")
    assert shell.mail("agents", "Operator", "--json").json["unread"] == 998


@pytest.mark.parametrize("number", ["１", "1_0", "+1", " 1", "-1", "٣", "1.0", "", "1" * 5000])
def test_ids_are_plain_digits(office: Shell, number: str) -> None:
    """Other ways to write a number are wrong usage, wherever an id stands."""
    office.send("QUESTION: x?", QUESTION)
    for command in (
        ["show", "--", number],
        ["mark", "--", number],
        ["ack", "--", number],
        ["inbox", "--before", number],
        ["inbox", "--limit", number],
        ["search", "x", "--before", number],
        ["thread", THREAD, "--after", number],
        ["send", "--subject", "INFO: x", "--body", "x", "--reply-to", number],
    ):
        done = (
            office("mail", *command, "--json")
            if "--" not in command
            else office("--json", "mail", *command)
        )
        assert (done.code, done.codes) == (2, ["WRONG_USAGE"])
    assert office("mail", "inbox", "--limit", "0").code == 2


def test_thread_id_is_not_mended(office: Shell) -> None:
    """Blanks around it are not taken away in silence."""
    for thread_id in (f" {THREAD}", f"{THREAD} ", f"{THREAD}\t"):
        parts = ["--thread", thread_id, "--to", "BlueLake", "--subject", "INFO: x", "--body", "x"]
        done = office("mail", "send", *parts)
        assert done.code == 2
        assert "spaces before or after the thread ID" in done.err
    assert office.mail("thread", "--json").json["threads"] == []


SEND = ["send", "--thread", THREAD, "--subject", "INFO: x", "--body", "x"]


@pytest.mark.parametrize(
    "command",
    [
        [*SEND, "--to", "Nobody"],
        [*SEND, "--to", "Nobody", "--no-check"],
        [*SEND, "--to", "Operator", "--subject", "x"],
        [*SEND, "--to", "Operator", "--reply-to", "1"],
        [*SEND, "--to", "Operator", "--if-position", "1"],
        [*SEND, "--to", "Operator", "--as", "BlueLake"],
        [*SEND, "--reply-to", "1"],
        SEND,
        ["register", "not a name"],
        ["register", "0perator"],
        ["register", "operator"],
        ["ack", "1"],
        ["mark", "1"],
    ],
    ids=" ".join,
)
def test_refusals_leave_nothing_behind(shell: Shell, command: list[str]) -> None:
    """No store is made for a message or a name that is not kept."""
    done = shell("mail", *command, "--json")
    assert done.code in (1, 2)
    assert ("sent" in done.json) is (command[0] == "send")
    assert list(shell.folder.iterdir()) == []


def test_nothing_to_resend_leaves_nothing_behind(shell: Shell) -> None:
    """Where there is no mail, nothing is overdue."""
    assert "nothing is overdue" in shell.mail("pending", "--resend").out
    assert "Nothing was sent: no other agent is overdue." in shell.mail("pending", "--escalate").out
    assert list(shell.folder.iterdir()) == []


def test_first_message_and_first_name_are_kept(shell: Shell, tmp_path: Path) -> None:
    """What is not refused makes the store, once, also from the standard input."""
    body = [*SEND[:-1], "-", "--to", "Operator", "--json"]
    sent = shell.mail(*body, stdin=b"From a pipe\n").json
    assert (sent["sent"], sent["message"]["id"]) == (True, 1)
    assert shell.mail("show", "1", "--json").json["body"] == "From a pipe\n"
    other = Shell(tmp_path / "other", shell.patch)
    other.folder.mkdir()
    assert other.mail("register", "BlueLake", "--json").json["new"] is True
    assert [each["name"] for each in other.mail("agents", "--json").json["agents"]] == [
        "BlueLake",
        "Operator",
    ]


@pytest.mark.parametrize(
    "options", [["--reply-to", "99"], ["--reply-to", "x"], ["--to", "BlueLake"], ["--nonsense"]]
)
def test_send_always_says_whether_it_sent(office: Shell, options: list[str]) -> None:
    """Its document has its own keys for every failure."""
    done = office("mail", "send", "--json", "--subject", "INFO: x", "--body", "x", *options)
    assert done.code in (1, 2)
    kept = ("sent", "duplicate", "message", "corrected", "valid")
    assert [done.json[key] for key in kept] == [False, False, None, None, False]


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_folder_that_is_none(shell: Shell, kind: str) -> None:
    """A disk that is not mounted is no project without mail; nothing is removed or made."""
    own = shell.folder / ".brenner"
    if kind == "link":
        own.symlink_to(shell.folder / "not mounted" / "mail")
    else:
        own.write_text("x", "utf-8")
    sent = [*SEND, "--to", "Operator"]
    for command in (["inbox"], ["agents"], ["thread"], ["register", "BlueLake"], sent):
        done = shell("mail", *command, "--json")
        assert (done.code, done.codes) == (3, ["STORE_UNUSABLE"])
        words = "is a link to" if kind == "link" else "is not a folder"
        assert words in done.json["violations"][0]["message"]
    assert shell("init", "--json").codes == ["STORE_UNUSABLE"]
    told = shell("doctor")
    assert told.code == 3
    assert words in told.out
    assert list(shell.folder.iterdir()) == [own]
