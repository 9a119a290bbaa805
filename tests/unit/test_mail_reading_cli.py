"""`brenner mail inbox`, `thread`, `show` and `search`, as a pipe gets them."""

import json
import subprocess
import sys

import pytest

from brenner.protocol.messages import render_message_file
from mail_shell import (
    ELSEWHERE,
    HOSTILE,
    MESSAGE_KEYS,
    QUESTION,
    THREAD,
    Shell,
    make_message,
    posted,
)


def test_inbox_is_the_table_of_the_conventions(office: Shell) -> None:
    """From, Subject, Thread and the rule; before them the id and its marks, told in words."""
    office.send("INFO: First", "x", "--as", "BlueLake")
    office.send("QUESTION: Second?", QUESTION, "--as", "RedCreek")
    office.mail("mark", "1")
    headline, _, titles, rule, second, first, *rest = office.mail("inbox").out.splitlines()
    assert headline == "Inbox of Operator: 2 messages, 1 unread, 1 to acknowledge."
    assert titles.split() == ["ID", "From", "Subject", "Thread", "When"]
    assert set(rule) == {"─"}
    assert second.startswith(f"•!   2  RedCreek  QUESTION: Second?  {THREAD}  20")
    assert first.startswith(f"     1  BlueLake  INFO: First        {THREAD}  20")
    assert titles.index("From") == second.index("RedCreek")
    assert [line[:2] for line in rest] == ["", "• ", "! "]


def test_inbox_filters(office: Shell) -> None:
    """Each narrows it; nothing is consumed by looking."""
    info = office.send("INFO: First", "x", "--as", "BlueLake")
    question = office.send("QUESTION: Second?", QUESTION, "--as", "RedCreek")
    other = office.send("INFO: Third", "x", "--as", "RedCreek", "--thread", ELSEWHERE)
    office.mail("mark", str(info))

    def listed(*options: str) -> list[int]:
        return [each["id"] for each in office.mail("inbox", "--json", *options).json["messages"]]

    assert listed() == [other, question, info]
    assert listed("--unread") == [other, question]
    assert listed("--owed") == [question]
    assert listed("--type", "info") == [other, info]
    assert listed("--type", "INFO", "--type", "question", "--unread") == [other, question]
    assert listed("--thread", ELSEWHERE) == [other]
    assert listed("--as", "BlueLake") == []
    assert listed() == [other, question, info]
    page = office.mail("inbox", "--json", "--limit", "2").json
    assert (page["has_more"], page["next_before"]) == (True, question)
    shown = office.mail("inbox", "--limit", "2").out
    assert shown.startswith("Inbox of Operator: 2 messages (there are older ones), 2 unread,")
    assert "For older messages add `--before 2`." in shown
    for options, words in (
        (["--unread"], "unread only: 2 messages, "),
        (["--owed"], "only what you must acknowledge: 1 message, "),
        (["--type", "info", "--type", "claim"], "only INFO or CLAIM: 2 messages, "),
        (["--thread", ELSEWHERE, "--unread"], f"unread only, only {ELSEWHERE}: 1 message, "),
        (["--before", str(question)], "older than message 2: 1 message."),
    ):
        assert office.mail("inbox", *options).out.startswith(f"Inbox of Operator, {words}")
    assert listed("--before", str(question)) == [info]
    assert listed("--limit", "2", "--before", str(question)) == [info]
    nothing = office.mail("inbox", "--before", str(info)).out
    assert nothing.startswith("No message in the inbox of Operator matches the options. ")
    nothing = office.mail("inbox", "--as", "BlueLake", "--type", "CLAIM").out
    assert "The whole inbox: `brenner mail inbox --as BlueLake`" in nothing
    assert office("mail", "inbox", "--as", "Nobody", "--json").codes == ["NO_SUCH_AGENT"]


def test_hints_name_who_acts(office: Shell) -> None:
    """What is said to do for another one does it for her, and not for the operator."""
    office.send("QUESTION: x?", QUESTION, to="BlueLake")
    shown = office.mail("inbox", "--as", "BlueLake").out
    assert "(mark as read: `brenner mail mark ID --as BlueLake`)" in shown
    assert "(acknowledge: `brenner mail ack ID --as BlueLake`)" in shown
    office.send("QUESTION: x?", QUESTION, "--as", "BlueLake")
    assert "(acknowledge: `brenner mail ack ID`)" in office.mail("inbox").out


def test_copies(shell: Shell) -> None:
    """A message that was sent again is owed one ACK, and its copy is no answer."""
    posted(shell.folder, make_message("QUESTION: Old?", QUESTION, "RedCreek"), hours_ago=30)
    shell.mail("pending", "--resend")
    headline = shell.mail("inbox", "--as", "RedCreek").out.splitlines()[0]
    assert headline == "Inbox of RedCreek: 2 messages, 2 unread, 1 to acknowledge."
    assert "  Copy of  message 1\n" in shell.mail("show", "2").out
    assert "Reply to" not in shell.mail("show", "2").out
    heads = [line for line in shell.mail("thread", THREAD).out.splitlines() if " → " in line]
    assert heads[1].endswith("  copy of message 1")
    only = shell.mail("thread", THREAD, "--after", "1").out
    assert "  copy of message 1\n" in only
    raw = shell.mail("thread", THREAD, "--raw").out
    assert "  copy of message 1\n" in raw
    shell.mail("ack", "2", "--as", "RedCreek")
    shown = shell.mail("show", "3").out
    assert "  Reply to  message 2\n" in shown
    assert "  Settles   the ACK for messages 1 and 2\n" in shown


def test_imported_mail_is_marked(office: Shell) -> None:
    """In a thread and where one is read whole."""
    office.send("INFO: x", "x", to="BlueLake")
    office.mail("export", "mail.jsonl")
    elsewhere = office.folder / "elsewhere"
    elsewhere.mkdir()
    there = Shell(elsewhere, office.patch)
    there.mail("import", "mail.jsonl")
    assert "  imported  unverified\n" in there.mail("thread", THREAD).out
    assert "  Origin   imported from message 1 of another store" in there.mail("show", "1").out
    assert "imported" not in office.mail("thread", THREAD).out + office.mail("show", "1").out


def test_inbox_json(office: Shell) -> None:
    """A stored message with what is its reader's."""
    office.send("QUESTION: x?", QUESTION, "--as", "BlueLake")
    document = office.mail("inbox", "--json").json
    assert list(document) == ["agent", "messages", "has_more", "next_before"]
    (message,) = document["messages"]
    assert list(message) == [*MESSAGE_KEYS, "read", "owes_ack"]
    assert (message["read"], message["owes_ack"], message["local"]) == (False, True, True)


@pytest.mark.parametrize("is_there", [True, False], ids=["a store", "no store yet"])
def test_inbox_waits(shell: Shell, is_there: bool) -> None:
    """With --wait it ends as soon as mail is there, also in a project that had no store."""
    if is_there:
        posted(shell.folder)
    waiting = subprocess.Popen(
        [sys.executable, "-m", "brenner", "mail", "inbox", "--json", "--wait", "100"],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
    )
    shell.mail("register", "BlueLake")
    shell.send("INFO: Here", "x", "--as", "BlueLake")
    out, _ = waiting.communicate(timeout=90)
    assert [each["subject"] for each in json.loads(out)["messages"]] == ["INFO: Here"]


def test_wait_ends(office: Shell) -> None:
    """Nothing came: the empty state, exit code 0."""
    assert "No mail for Operator yet" in office.mail("inbox", "--wait", "0.01").out
    office.send("INFO: x", "x", to="BlueLake")
    assert office.mail("inbox", "--wait", "0.01", "--json").json["messages"] == []


def test_thread(office: Shell) -> None:
    """In its order, each with who, to whom, its link, what became of it, and its first lines."""
    body = QUESTION + "".join(f"\nLine {number}\n" for number in range(9))
    office.send("QUESTION: Which?", body, "--as", "BlueLake", to="Operator,RedCreek")
    office.mail("ack", "1", "--as", "RedCreek")
    lines = office.mail("thread", THREAD).out.splitlines()
    assert lines[0] == f"{THREAD}: 2 messages"
    assert lines[2].startswith("1   BlueLake → Operator, RedCreek  20")
    assert lines[3:5] == [
        "    QUESTION: Which?",
        "    ACK: acknowledged by RedCreek; owed by Operator",
    ]
    shown = lines[6 : lines.index("    … 17 more lines: `brenner mail show 1`")]
    whole = [f"    {line}".rstrip() for line in body.splitlines()]
    assert shown == whole[:6]
    assert len(whole) == 6 + 17
    answer = next(line for line in lines if line.startswith("2 "))
    assert answer.endswith("  ↳ 1")
    assert "RedCreek → BlueLake" in answer
    full = office.mail("thread", THREAD, "--full").out.splitlines()
    assert "\n".join(whole) in "\n".join(full)


@pytest.mark.parametrize("lines", range(1, 10))
def test_folding_counts_exactly(office: Shell, lines: int) -> None:
    """What is shown and what is said to be left is the whole body."""
    office.send("INFO: x", "".join(f"line {n}\n" for n in range(lines)), to="BlueLake")
    out = office.mail("thread", THREAD).out
    shown = out.count("    line ")
    left = int(out.split("… ")[1].split()[0]) if "… " in out else 0
    assert shown + left == lines
    assert left != 1  # one line more costs as much as saying so


def test_thread_parts(office: Shell) -> None:
    """`--limit` takes the newest, after a message the next ones."""
    ids = [office.send(f"INFO: {number}", "x", to="BlueLake") for number in range(5)]

    def read(*options: str) -> tuple[list[int], bool, bool]:
        page = office.mail("thread", THREAD, "--json", *options).json
        assert page["position"] == 5
        return [each["id"] for each in page["messages"]], page["has_earlier"], page["has_later"]

    assert read() == (ids, False, False)
    assert read("--limit", "2") == (ids[3:], True, False)
    assert read("--limit", "2", "--before", "4") == (ids[1:3], True, True)
    assert read("--limit", "2", "--after", "1") == (ids[1:3], True, True)
    out = office.mail("thread", THREAD, "--limit", "2", "--before", "4").out
    assert out.startswith(f"{THREAD}: 5 messages, 2 shown\n")
    command = "`brenner mail thread"
    earlier = f"Earlier messages: {command} --before 2 --limit 2 {THREAD}`"
    assert out.endswith(f"{earlier}\nLater messages: {command} --after 3 --limit 2 {THREAD}`\n")
    assert read("--before", "2", "--limit", "2")[0] == ids[:1]
    out = office.mail("thread", THREAD, "--after", "3", "--full").out
    assert out.endswith(f"\nEarlier messages: {command} --before 4 --full {THREAD}`\n")
    assert read("--before", "4", "--full")[0] == ids[:3]
    office.send("INFO: x", "x", "--thread", ELSEWHERE, to="BlueLake")
    assert office("mail", "thread", THREAD, "--before", "6", "--json").codes == ["NOT_IN_THREAD"]


def test_thread_json(office: Shell) -> None:
    """What became of a message at each recipient."""
    office.send("QUESTION: x?", QUESTION, "--as", "BlueLake", to="Operator,RedCreek")
    office.mail("ack", "1", "--as", "RedCreek")
    question, _ = office.mail("thread", THREAD, "--json").json["messages"]
    assert list(question) == [*MESSAGE_KEYS, "deliveries"]
    operator, red = question["deliveries"]
    assert operator == {
        "agent": "Operator", "read_at": None, "owes_ack": True, "acknowledged_by": None
    }  # fmt: skip
    assert (red["agent"], red["owes_ack"], red["acknowledged_by"]) == ("RedCreek", False, 2)
    assert red["read_at"]


def test_threads(office: Shell) -> None:
    """Without a thread: all of them, the one with the newest message first."""
    nothing = office.mail("thread", "--as", "BlueLake").out
    assert nothing.startswith("No threads yet in `")
    assert "`brenner new KICKOFF --as BlueLake --to NAME > message.md`, fill it in, " in nothing
    office.send("INFO: x", "x", to="BlueLake")
    office.send("INFO: y", "y", "--thread", ELSEWHERE, to="BlueLake")
    office.send("INFO: z", "z", to="BlueLake")
    titles, _, first, second = office.mail("thread").out.splitlines()
    assert titles.split() == ["Thread", "Messages", "First", "Last"]
    assert [line.split()[:2] for line in (first, second)] == [[THREAD, "2"], [ELSEWHERE, "1"]]
    listed = office.mail("thread", "--json").json["threads"]
    assert [(each["thread_id"], each["position"]) for each in listed] == [
        (THREAD, 2),
        (ELSEWHERE, 1),
    ]
    assert office("mail", "thread", "--full").code == 2


def test_unknown_thread(office: Shell) -> None:
    """A mistyped thread is not an empty one."""
    office.send("INFO: x", "x", to="BlueLake")
    for command in (["mail", "thread", f"{THREAD}s"], ["check", "--thread", f"{THREAD}s"]):
        done = office(*command)
        assert (done.code, done.out) == (1, "")
        assert f"Did you mean `{THREAD}`?" in done.err
        assert "`brenner mail thread` lists all threads" in done.err
        assert office(*command, "--json").codes == ["UNKNOWN_THREAD"]


def test_thread_id_that_begins_with_a_hyphen(office: Shell) -> None:
    """It is a valid ID, and every hint that names it can be typed."""
    sent = office.mail(
        "send", "--thread", ELSEWHERE, "--to", "BlueLake", "--subject", "INFO: x", "--body", "x"
    )
    assert f"`brenner mail thread -- {ELSEWHERE}`" in sent.out
    assert office.mail("thread", "--", ELSEWHERE).out.startswith(f"{ELSEWHERE}: 1 message\n")
    assert office.mail("pending", "--thread", ELSEWHERE).code == 0
    assert office("check", "--thread", ELSEWHERE).out.startswith(f"{ELSEWHERE}: valid")


def test_raw_is_exact(shell: Shell) -> None:
    """Into a pipe goes every byte of the message file, and nothing else."""
    body = f"# x\r\n\tTab {HOSTILE}\n\n\n  no end"
    posted(shell.folder, make_message("Re: hello", body), make_message("INFO: \ttwo", body + "\n"))
    for number, subject, end in ((1, "Re: hello", ""), (2, "INFO: \ttwo", "\n")):
        raw = shell.mail("show", str(number), "--raw").raw
        assert raw == render_message_file(make_message(subject, body + end)).encode()
    whole = shell.mail("thread", THREAD, "--raw").raw.decode()
    heads = [line for line in whole.split("\n") if " → " in line]
    assert [head[:23] for head in heads] == ["1   BlueLake → Operator", "2   BlueLake → Operator"]
    first, second = (
        render_message_file(make_message(subject, body)) + "\n"
        for subject in ("Re: hello", "INFO: \ttwo")
    )
    assert whole == f"{heads[0]}\n{first}{heads[1]}\n{second}"
    assert shell("mail", "show", "1", "--raw", "--json").code == 2
    assert shell("mail", "thread", THREAD, "--raw", "--full").code == 2


def test_show(office: Shell) -> None:
    """One message whole; it stays unread."""
    office.send("QUESTION: x?", QUESTION * 9, "--as", "BlueLake")
    shown = office.mail("show", "1").out
    assert shown.startswith(f"Message 1 in {THREAD}\n  From     BlueLake\n  To       Operator\n")
    assert "  ACK      owed by Operator\n" in shown
    assert shown.count("    Which gradient?\n") == 9
    document = office.mail("show", "1", "--json").json
    assert list(document) == [*MESSAGE_KEYS, "deliveries"]
    assert len(office.mail("inbox", "--unread", "--json").json["messages"]) == 1
    assert office("mail", "show", "2", "--json").codes == ["UNKNOWN_MESSAGE"]
    assert office("mail", "show", "x").code == 2


def test_search(office: Shell) -> None:
    """Hits as in the inbox, each with the place, on which the words are marked without colour."""
    long = "word " * 30
    office.send(
        "INFO: One", f"# x\n{long}the Gradient, and chromatin state {long}\n", to="BlueLake"
    )
    office.send("INFO: Two gradient", "nothing more\n", to="BlueLake")
    out = office.mail("search", "gradient").out.splitlines()
    assert out[0].split() == ["ID", "From", "Subject", "Thread", "When"]
    assert out[2].split()[0] == "2"
    assert out[3].split()[0] == "1"
    assert "the «Gradient», and chromatin state word" in out[4]
    assert out[4].startswith("      … word")
    assert len(out) == 5
    assert "«chromatin state»" in office.mail("search", '"chromatin state"').out
    assert "«chromatin» «state»" in office.mail("search", "state", "chromatin").out
    page = office.mail("search", "gradient", "--limit", "1", "--json").json
    assert (page["query"], page["has_more"], page["next_before"]) == ("gradient", True, 2)
    assert list(page["messages"][0]) == MESSAGE_KEYS
    found = office.mail("search", "gradient", "--before", "2", "--json").json["messages"]
    assert [each["id"] for each in found] == [1]


def test_search_finds_nothing(office: Shell) -> None:
    """What to leave out is what was asked for: words, or filters."""
    assert "A message must match all words." in office.mail("search", "x", "type:INFO").out
    assert (
        "A message must match all filters." in office.mail("search", "type:INFO", "is:unread").out
    )


def test_search_asks_about_your_own_inbox(office: Shell) -> None:
    """`is:unread` and `needs:ack` are about who asks."""
    office.send("QUESTION: x?", QUESTION, "--as", "RedCreek", to="BlueLake")
    for name, count in (("BlueLake", 1), ("RedCreek", 0)):
        for words in ("is:unread", "needs:ack"):
            found = office.mail("search", words, "--as", name, "--json").json["messages"]
            assert len(found) == count


def test_search_faults(office: Shell) -> None:
    """All that is wrong with a query at once; exit code 1."""
    done = office("mail", "search", "typ:DELTA", "after:yesterdayish")
    assert (done.code, done.out) == (1, "")
    assert "query  error UNKNOWN_FILTER" in done.err
    document = office("mail", "search", "--json", "typ:DELTA", "after:yesterdayish")
    assert document.codes == ["UNKNOWN_FILTER", "INVALID_FILTER_VALUE"]
    assert document.json["summary"]["errors"] == 2
