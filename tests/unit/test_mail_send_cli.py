"""`brenner mail send`: what goes out, what is refused, and how it is told."""

from pathlib import Path

import pytest

from brenner.protocol.messages import Message, render_message_file
from mail_shell import MESSAGE_KEYS, QUESTION, THREAD, Shell, make_message

WHOLE = ["--thread", THREAD, "--to", "BlueLake", "--subject", "INFO: x", "--body", "x"]


def test_send_file(office: Shell, tmp_path: Path) -> None:
    """One line what happened, one line what to do next."""
    file = tmp_path / "m.md"
    message = Message(THREAD, "Operator", ("BlueLake", "RedCreek"), "QUESTION: Which?", QUESTION)
    file.write_text(render_message_file(message), "utf-8")
    done = office.mail("send", str(file))
    assert done.err == ""
    assert done.out.splitlines() == [
        f"Sent message 1 to BlueLake and RedCreek in {THREAD}.",
        f"  To see who owes an ACK: `brenner mail pending --thread {THREAD}`",
    ]
    again = office.mail("send", "-", "--json", stdin=file.read_bytes()).json
    assert list(again) == [
        *("sent", "duplicate", "message", "valid", "summary", "violations", "corrected", "fixed")
    ]
    assert (again["sent"], again["duplicate"], again["valid"]) == (True, False, True)
    assert list(again["message"]) == MESSAGE_KEYS
    assert again["message"]["to"] == ["BlueLake", "RedCreek"]
    assert (again["message"]["ack_required"], again["message"]["type"]) == (True, "QUESTION")


def test_send_by_options(office: Shell, tmp_path: Path) -> None:
    """The sender is who acts; recipients come one by one or with commas."""
    options = ["--thread", THREAD, "--subject", "INFO: All is well", "--to", "Operator, RedCreek"]
    file = tmp_path / "body.md"
    file.write_bytes(b"From a file\r\nwithout an end")
    bodies = [("As it is", "As it is\n"), (f"@{file}", file.read_bytes().decode()), ("-", "Piped")]
    for said, body in bodies:
        sent = office.mail(
            "send", "--json", "--as", "BlueLake", *options, "--to", "BlueLake", "--body", said,
            stdin=b"Piped",
        )  # fmt: skip
        message = sent.json["message"]
        assert (message["from"], message["body"]) == ("BlueLake", body)
        assert message["to"] == ["Operator", "RedCreek", "BlueLake"]
        assert message["ack_required"] is False
    sent = office.mail("send", "--json", *options, "--body", "x", "--ack-required")
    assert sent.json["message"]["ack_required"] is True
    assert sent.json["message"]["from"] == "Operator"
    assert [each["id"] for each in sent.json["violations"]] == ["ACK_MISMATCH"]


def test_errors_are_not_sent(office: Shell, tmp_path: Path) -> None:
    """What is wrong is said as by `check`, and nothing is stored."""
    file = tmp_path / "m.md"
    wrong = make_message("question: Which?", QUESTION, sender="Operator")
    file.write_text(render_message_file(wrong), "utf-8")
    done = office("mail", "send", str(file))
    assert (done.code, done.out) == (1, "")
    first, *_, count, hint, send = done.err.splitlines()
    assert first.startswith(f"{file}:4  error INVALID_SUBJECT_PREFIX  ")
    assert count == "Not sent: 1 error."
    assert hint == f"  To print the corrected message: `brenner check --fix {file}`"
    assert send == f"  To send it: `brenner mail send --fix {file}`"
    document = office("mail", "send", str(file), "--json").json
    assert (document["sent"], document["valid"], document["message"]) == (False, False, None)
    assert document["corrected"] == file.read_text("utf-8").replace("question", "QUESTION")
    assert office.mail("inbox", "--json").json["messages"] == []


def test_fix_sends_the_corrected_message(office: Shell, tmp_path: Path) -> None:
    """One line for each correction; what is stored is the corrected message."""
    file = tmp_path / "m.md"
    wrong = make_message("question: Which?", QUESTION, sender="Operator")
    file.write_text(render_message_file(wrong), "utf-8")
    done = office.mail("send", "--fix", str(file))
    fixed, *more = done.err.splitlines()
    assert fixed.startswith(f"{file}:4  fixed INVALID_SUBJECT_PREFIX  ")
    assert more == []
    assert done.out.startswith("Sent message 1 to ")
    stored = office.mail("show", "1", "--json").json
    assert (stored["subject"], stored["body"]) == ("QUESTION: Which?", QUESTION)
    document = office.mail("send", "--fix", str(file), "--key", "k", "--json").json
    assert [(each["id"], each["line"]) for each in document["fixed"]] == [
        ("INVALID_SUBJECT_PREFIX", 4)
    ]
    assert (document["sent"], document["valid"], document["violations"]) == (True, True, [])
    again = office.mail("send", "--fix", str(file), "--key", "k", "--json").json
    assert (again["sent"], again["duplicate"]) == (False, True)


def test_fix_sends_all_corrected_or_nothing(office: Shell, tmp_path: Path) -> None:
    """One error without a certain correction is enough to send nothing."""
    file = tmp_path / "m.md"
    wrong = make_message("question: Which?", "## Urgency\nSoon\n", sender="Operator")
    file.write_text(render_message_file(wrong), "utf-8")
    done = office("mail", "send", "--fix", str(file))
    assert (done.code, done.out) == (1, "")
    said = "Cannot fix automatically: line 6 (MISSING_SECTION) needs a decision."
    then = f"The other error is fixable: `brenner check --fix --partial {file}`."
    assert done.err.splitlines()[-1] == f"  {said} {then}"
    assert office("mail", "send", "--fix", str(file), "--json").json["fixed"] == []
    assert office.mail("inbox", "--json").json["messages"] == []


def test_options_are_named_where_they_are_wrong(office: Shell) -> None:
    """Who typed options has no file with lines."""
    done = office(
        "mail", "send", "--thread", "RS-x", "--to", "BlueLak", "--subject", "QUESTION: Which?",
        "--body", "First line\n\n## Question\n",
    )  # fmt: skip
    assert done.code == 1
    places = {
        line.split("  ")[1].split()[1]: line.split("  ")[0] for line in done.err.splitlines()[:-2]
    }
    assert places["INVALID_RS_THREAD_ID"] == "--thread"
    assert places["UNKNOWN_RECIPIENT"] == "--to"
    assert places["MISSING_SECTION"].startswith("--body:")
    assert "Did you mean `BlueLake`?" in done.err


def test_body_lines_count_in_the_body(office: Shell) -> None:
    """Line 3 of the text that was given is line 3, in words and in JSON."""
    body = 'One\n\n```delta\n{"operation": "KILL",}\n```\n'
    parts = ["--thread", THREAD, "--to", "BlueLake", "--subject", "DELTA[opus]: x", "--body", body]
    assert "--body:4  error" in office("mail", "send", *parts).err
    for ack in ([], ["--ack-required"]):
        document = office("mail", "send", "--json", *parts, *ack).json
        lines = {each["id"]: each["line"] for each in document["violations"]}
        assert lines["JSON_TRAILING_COMMA"] == 4


def test_warnings_go_through(office: Shell) -> None:
    """They are told beside what was sent."""
    done = office.mail(
        "send", "--thread", THREAD, "--to", "BlueLake", "--subject", "QUESTION: Which?",
        "--body", "## Question\nWhich?",
    )  # fmt: skip
    assert "warning MISSING_RECOMMENDED_SECTION" in done.err
    assert done.out.startswith("Sent message 1 ")


def test_unfilled_template_names_nobody_to_register(office: Shell, tmp_path: Path) -> None:
    """It is to be filled in: one error, and nobody is told to register what stands there."""
    for kind in ("DELTA", "KICKOFF"):
        file = tmp_path / "message.md"
        text = office("new", kind).out.replace("\nTo: ", "\nTo: FillInName, ")
        file.write_text(text.replace("From: Operator", "From: FillInName"), "utf-8")
        done = office("mail", "send", str(file), "--json")
        assert (done.code, done.json["summary"]["errors"]) == (1, 1)
        assert "TEMPLATE_NOT_FILLED_IN" in done.codes
        assert "brenner mail register" not in done.out


def test_no_check(office: Shell) -> None:
    """`--no-check` stores mail as other programs' mail arrives, and says what is wrong with it."""
    done = office.mail(
        "send", "--no-check", "--thread", THREAD, "--to", "BlueLake", "--subject", "hello",
        "--body", "x",
    )  # fmt: skip
    assert "INVALID_SUBJECT_PREFIX" in done.err
    assert done.out.startswith("Sent message 1 ")
    assert office.mail("show", "1", "--json").json["type"] is None


def test_key(office: Shell) -> None:
    """A repeated send with the same key is one message; another text under it is refused."""
    parts = ["--thread", THREAD, "--to", "BlueLake", "--subject", "INFO: x", "--key", "k"]
    office.mail("send", *parts, "--body", "one")
    again = office.mail("send", *parts, "--body", "one")
    assert again.out.startswith("Already sent with this key, as message 1. Nothing was sent.\n")
    document = office.mail("send", *parts, "--body", "one", "--json").json
    assert (document["sent"], document["duplicate"], document["message"]["id"]) == (False, True, 1)
    refused = office("mail", "send", *parts, "--body", "two", "--json")
    assert (refused.code, refused.codes, refused.json["sent"]) == (1, ["KEY_REUSED"], False)


def test_conditional_send(office: Shell) -> None:
    """`--if-position` is the `position` of the thread as it was read."""
    office.send("INFO: x", "x", to="BlueLake")
    position = office.mail("thread", THREAD, "--json").json["position"]
    office.send("INFO: y", "y", "--if-position", str(position), to="BlueLake")
    parts = ["--thread", THREAD, "--to", "BlueLake", "--subject", "INFO: z", "--body", "z"]
    moved = office("mail", "send", *parts, "--if-position", str(position))
    assert moved.code == 1
    assert "THREAD_MOVED" in moved.err
    assert f"`brenner mail thread --after ID {THREAD}`" in moved.err
    document = office("mail", "send", *parts, "--if-position", str(position), "--json")
    assert (document.codes, document.json["sent"]) == (["THREAD_MOVED"], False)
    assert office.mail("thread", THREAD, "--json").json["position"] == 2


def test_reply_knows_where_it_goes(office: Shell) -> None:
    """The thread and the recipient are those of what is answered, unless they are given."""
    first = office.send("INFO: x", "x", "--as", "RedCreek", to="BlueLake")
    parts = ["--as", "BlueLake", "--subject", "INFO: y", "--body", "y", "--reply-to", str(first)]
    sent = office.mail("send", "--json", *parts).json["message"]
    assert (sent["thread_id"], sent["to"], sent["reply_to"]) == (THREAD, ["RedCreek"], first)
    sent = office.mail("send", "--json", *parts, "--to", "Operator").json["message"]
    assert sent["to"] == ["Operator"]
    parts[-1] = str(sent["id"])  # one's own: on to those to whom it went
    sent = office.mail("send", "--json", *parts, "--to", "RedCreek,BlueLake").json["message"]
    parts[-1] = str(sent["id"])
    assert office.mail("send", "--json", *parts).json["message"]["to"] == ["RedCreek"]
    sent = office.mail("send", "--json", *parts, "--to", "BlueLake").json["message"]
    parts[-1] = str(sent["id"])
    assert office.mail("send", "--json", *parts).json["message"]["to"] == ["BlueLake"]
    elsewhere = office("mail", "send", "--json", *parts, "--thread", "COORD-daily-sync")
    assert elsewhere.codes == ["REPLY_ELSEWHERE"]
    assert office("mail", "send", "--json", *parts[:-1], "99").codes == ["UNKNOWN_MESSAGE"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--to", "BlueLake"],
        ["m.md", "--to", "BlueLake"],
        ["--thread", THREAD, "--to", "BlueLake", "--subject", "INFO: x\nTo: Eve", "--body", "x"],
        ["--thread", THREAD, "--to", "BlueLake\r\n\nEve", "--subject", "INFO: x", "--body", "x"],
        ["--thread", THREAD, "--to", "BlueLake", "--subject", "INFO: x", "--body", "@nowhere"],
        ["nowhere.md"],
        [*WHOLE, "--key", ""],
        [*WHOLE, "--key", " "],
        [*WHOLE, "--if-position", "-1"],
        [*WHOLE, "--as", ""],
    ],
)
def test_what_cannot_be_a_message(office: Shell, arguments: list[str]) -> None:
    """Wrong usage and unreadable input are exit code 2; no option can forge a header."""
    done = office("mail", "send", *arguments)
    assert (done.code, done.out) == (2, "")
    document = office("mail", "send", "--json", *arguments)
    assert (document.code, document.json["valid"]) == (2, False)
    assert office.mail("search", "type:INFO", "--json").json["messages"] == []
