"""`brenner mail ack`, `mark` and `pending`, and `brenner check --thread`."""

from mail_shell import QUESTION, THREAD, Shell, make_message, posted


def test_ack(office: Shell) -> None:
    """An ACK message to the sender; the same one is sent once."""
    office.send("QUESTION: x?", QUESTION, "--as", "BlueLake")
    done = office.mail("ack", "1", "--status", "will action", "--notes", "After T1.")
    assert done.out.splitlines()[0] == "Acknowledged message 1: sent message 2 to BlueLake."
    sent = office.mail("show", "2", "--json").json
    assert (sent["type"], sent["acknowledges"], sent["reply_to"]) == ("ACK", [1], 1)
    assert "## Status\nWill Action\n" in sent["body"]
    assert "## Notes\nAfter T1.\n" in sent["body"]
    again = office.mail("ack", "1", "--status", "Will Action", "--notes", "After T1.")
    assert (
        again.out.splitlines()[0]
        == "Message 1 is already acknowledged by message 2. Nothing was sent."
    )
    document = office.mail("ack", "1", "--json").json
    assert (document["agent"], document["acknowledged"][0]["id"]) == ("Operator", 1)
    assert office("mail", "ack", "1", "--status", "Maybe").code == 2


def test_ack_by_hand(office: Shell) -> None:
    """What it settles is counted; one that cannot be read is told where to look."""
    for _ in range(3):
        office.send("QUESTION: x?", QUESTION, "--as", "BlueLake")
    office.send("QUESTION: y?", QUESTION + "\nMore.\n", "--as", "BlueLake")
    office.send("QUESTION: z?", QUESTION + "\nMore.\n", "--as", "BlueLake")
    ack = ["--thread", THREAD, "--to", "BlueLake", "--subject", "ACK: Received", "--body"]
    unread = office.mail("send", *ack, "## Message ID\nthe last\n\n## Status\nReceived\n")
    assert "contains no message ID" in unread.err
    assert "`brenner mail inbox --owed` lists the ACKs that you owe" in unread.err
    body = "## Message ID\n{}\n\n## Status\nReceived\n"
    done = office.mail("send", *ack, body.format("1"))
    assert "  It acknowledges messages 1, 2 and 3.\n" in done.out
    done = office.mail("send", *ack, body.format("4"))
    assert "  It acknowledges message 4.\n" in done.out


def test_ack_all_or_none(office: Shell) -> None:
    """One that is not yours, or not there, keeps the others from being acknowledged."""
    office.send("QUESTION: x?", QUESTION, "--as", "BlueLake")
    office.send("QUESTION: y?", QUESTION, "--as", "RedCreek", to="BlueLake")
    for ids, code in ((["1", "2"], "NOT_A_RECIPIENT"), (["1", "9"], "UNKNOWN_MESSAGE")):
        refused = office("mail", "ack", "--json", *ids)
        assert (refused.code, refused.codes) == (1, [code])
        assert office("mail", "mark", "--json", *ids).codes == [code]
    assert office.mail("thread", THREAD, "--json").json["position"] == 2
    assert len(office.mail("inbox", "--owed", "--unread", "--json").json["messages"]) == 1


def test_mark(office: Shell) -> None:
    """Read and unread again; what is so already is no error."""
    office.send("INFO: x", "x", "--as", "BlueLake")
    assert office.mail("mark", "1").out.startswith("Marked 1 message as read.\n")
    assert office.mail("mark", "1").out.startswith("No changes were made")
    document = office.mail("mark", "1", "--unread", "--json").json
    assert document == {"agent": "Operator", "ids": [1], "read": False, "changed": 1}


def test_pending(shell: Shell) -> None:
    """The overdue first, and in words before the table."""
    posted(
        shell.folder, make_message("QUESTION: Old?", QUESTION, "Operator", "RedCreek"), hours_ago=30
    )
    posted(shell.folder, make_message("QUESTION: New?", QUESTION, "Operator"))
    out = shell.mail("pending").out.splitlines()
    assert (
        out[0]
        == "Waiting for 3 acknowledgements from 2 agents, the oldest for 30 h. 2 are overdue."
    )
    rows = [line.split() for line in out[4:-2]]
    assert out[-2:] == ["", "To remind them: `brenner mail pending --resend`"]
    assert [row[0] for row in rows] == ["Operator", "RedCreek", "Operator"]
    assert [row[1] == "overdue" for row in rows] == [True, True, False]
    document = shell.mail("pending", "--agent", "Operator", "--json").json
    assert [(each["message_id"], each["overdue"]) for each in document["pending"]] == [
        (1, True),
        (2, False),
    ]
    assert (document["resent"], document["escalated"]) == ([], [])
    overdue = shell.mail("pending", "--overdue", "--agent", "RedCreek").out.splitlines()
    assert overdue[0] == "Waiting for 1 acknowledgement from RedCreek, for 30 h. 1 is overdue."
    assert shell("mail", "pending", "--agent", "Nobody", "--json").codes == ["NO_SUCH_AGENT"]
    (shell.folder / "brenner.toml").write_text("ack_deadline_hours = 100\n", "utf-8")
    assert shell.mail("pending", "--overdue").out.startswith("No acknowledgement is overdue.\n")


def test_what_was_sent_again_is_not_overdue(shell: Shell) -> None:
    """The deadline counts from the last copy, so the newer message stands first."""
    old = make_message("QUESTION: Old?", QUESTION)
    posted(shell.folder, old, hours_ago=50)
    posted(shell.folder, make_message("QUESTION: Newer?", QUESTION), hours_ago=30)
    posted(shell.folder, old)
    pending = shell.mail("pending", "--json").json["pending"]
    assert [(each["message_id"], each["last_message_id"], each["overdue"]) for each in pending] == [
        (2, 2, True),
        (1, 3, False),
    ]
    assert pending[1]["times_sent"] == 2


def test_resend(shell: Shell) -> None:
    """Everybody resends her own; the operator all. What was resent is due anew."""
    old = make_message("QUESTION: Old?", QUESTION, "Operator", "RedCreek")
    posted(
        shell.folder,
        old,
        make_message("QUESTION: Mine?", QUESTION, sender="RedCreek"),
        hours_ago=30,
    )
    done = shell.mail("pending", "--resend", "--as", "RedCreek")
    assert "Sent message 2 again to Operator, as message 3.\n" in done.out
    assert (
        "2 are owed for messages from other agents. Only their senders and the operator can resend "
        "them.\n"
    ) in done.out
    document = shell.mail("pending", "--resend", "--json").json
    assert [(each["id"], each["to"], each["reply_to"]) for each in document["resent"]] == [
        (4, ["Operator", "RedCreek"], 1)
    ]
    again = shell.mail("pending", "--resend").out
    assert "Nothing was sent: nothing is overdue.\n" in again
    assert "1 (2×)" in again


def test_escalate(shell: Shell) -> None:
    """The operator gets one message per thread; the same is told once."""
    posted(shell.folder, make_message("QUESTION: Old?", QUESTION, "RedCreek"), hours_ago=30)
    done = shell.mail("pending", "--escalate", "--as", "BlueLake")
    assert f"Reported what is overdue in {THREAD} to Operator, as message 2.\n" in done.out
    told = shell.mail("inbox", "--json").json["messages"][0]
    assert (told["type"], told["from"]) == ("BLOCKED", "BlueLake")
    again = shell.mail("pending", "--escalate", "--as", "BlueLake").out
    assert "Nothing was sent: Operator has a report of what is overdue.\n" in again
    nothing = shell.mail("pending", "--escalate", "--as", "RedCreek").out
    assert "Nothing was sent: no other agent is overdue.\n" in nothing
    assert shell("check", "--thread", THREAD).code == 0


def test_check_thread(shell: Shell) -> None:
    """Every message as it was received, lines counted in its body; the worst first."""
    delta = '# x\n\n```delta\n{"operation": "KILL",}\n```\n'
    posted(
        shell.folder,
        make_message("INFO: fine"),
        make_message("QUESTION: x?", "## Question\nWhich?\n"),
        make_message("DELTA[opus]: bad", delta),
    )
    done = shell("check", "--thread", THREAD)
    lines = done.out.splitlines()
    assert done.code == 1
    assert lines[0].startswith("message 3, body line 4  error JSON_TRAILING_COMMA")
    assert lines[-3].startswith("message 2, body line 1  warning MISSING_RECOMMENDED_SECTION")
    assert lines[-2].startswith(f"{THREAD}: not valid: ")
    assert lines[-2].endswith("(3 messages)")
    document = shell("check", "--thread", THREAD, "--json").json
    assert (document["thread_id"], document["valid"]) == (THREAD, False)
    assert document["summary"]["warnings"] == 1
    assert [(each["message_id"], each["valid"]) for each in document["results"]] == [
        (1, True),
        (2, True),
        (3, False),
    ]
    assert document["results"][2]["deltas"][0]["line"] == 3
    for more in (["m.md"], ["--fix"], ["--reply"]):
        assert shell("check", "--thread", THREAD, *more).code == 2


def test_ack_without_an_id_names_what_is_owed(office: Shell) -> None:
    """The command in the message works as it stands."""
    first = office.send("QUESTION: Which?", QUESTION, to="BlueLake")
    second = office.send("QUESTION: Why?", QUESTION, to="BlueLake")
    command = f"mail ack {first} {second} --as BlueLake"
    for given in ([], ["NUMBER"], ["ID", str(first)]):
        done = office("mail", "ack", *given, "--as", "BlueLake")
        assert (done.code, done.out) == (2, "")
        assert f"BlueLake owes an ACK for {first}, {second}" in done.err
        assert "`brenner mail inbox --as BlueLake --owed` lists them" in done.err
        assert f"`brenner {command}`" in done.err
        assert office.mail("inbox", "--as", "Operator", "--json").json["messages"] == []
    office(*command.split())
    done = office("mail", "ack", "--as", "BlueLake")
    assert (done.code, "BlueLake owes no ACK." in done.err) == (2, True)


def test_ack_under_a_name_in_another_case(office: Shell) -> None:
    number = office.send("QUESTION: Which?", QUESTION, to="BlueLake")
    done = office("mail", "ack", str(number), "--as", "Bluelake")
    assert done.code == 1
    assert "Did you mean `BlueLake`?" in done.err
