"""`session cancel`: the end of a session that needs no version (R25), and what it settles (R24)."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from brenner.services.decisions import cancel_session
from brenner.services.session_status import load_status
from brenner.session.decisions import compose_cancellation
from brenner.session.model import Phase
from brenner.session.versions import decode_history, encode_history, replay
from mail_shell import Shell
from session.busy_session import ANN, BEA, GIL, Stage, busy
from session.workspaces import THREAD, add

REASON = "The question was\nanswered `elsewhere`.\n```\n## Record"
ONE_LINE = "The question was answered `elsewhere`. ``` ## Record"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A session in its second round, in which everything is open that can be."""
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    busy(tmp_path)
    return Shell(tmp_path, monkeypatch)


def cancel(shell: Shell, *options: str) -> None:
    done = shell("session", "cancel", THREAD, "--reason", REASON, *options)
    assert done.code == 0, done.err


def phase(shell: Shell) -> object:
    return shell("session", "status", THREAD, "--json").json["phase"]


def test_a_cancelled_session_needs_nobody(shell: Shell) -> None:
    before = shell("session", "status", THREAD, "--json").json
    assert before["attention"], "much is open"
    assert shell("mail", "pending", "--json").json["pending"]
    done = shell("session", "cancel", THREAD, "--reason", REASON, "--json").json
    assert (done["phase"], done["new"], done["reason"]) == ("cancelled", True, ONE_LINE)
    assert set(done["message"]["to"]) >= {ANN, BEA, GIL}
    after = shell("session", "status", THREAD, "--json").json
    assert after["phase"] == "cancelled"
    assert after["cancelled"]["by"] == "Operator"
    assert after["cancelled"]["reason"] == ONE_LINE
    assert after["cancelled"]["message_id"] == done["message"]["id"]
    nothing = ("attention", "pending", "blocked", "questions", "handoffs")
    assert [after[name] for name in nothing] == [[]] * len(nothing)
    assert not any(each["awaited"] for each in after["participants"])
    by_end = [each for each in after["settled"] if each["how"] == "cancelled"]
    assert {(each["agent"], each["message_id"]) for each in by_end} == {
        (each["agent"], each["message_id"]) for each in before["pending"]
    }
    assert {each["by"] for each in by_end} == {done["message"]["id"]}
    assert shell("mail", "pending", "--json").json["pending"] == []
    assert shell("mail", "inbox", "--as", BEA, "--owed", "--json").json["messages"] == []
    shown = shell("session", "status", THREAD)
    assert "cancelled" in shown.out
    assert "Nothing needs you" in shown.out
    assert shell("session", "status", THREAD, "--line").out == "cell-fate r2 v1 cancelled\n"


def test_it_is_listed_last(shell: Shell, tmp_path: Path) -> None:
    other = Stage(tmp_path, "RS-20251231-bird-map-choice")
    other.kickoff()
    other.close()
    cancel(shell)
    found = shell("session", "list", "--json").json
    assert [each["thread_id"] for each in found["sessions"]][-1] == THREAD
    assert found["sessions"][-1]["needs"] == ["cancelled"]
    assert found["summary"]["cancelled"] == 1
    assert THREAD not in shell("session", "list").out
    assert "1 cancelled session not shown" in shell("session", "list").out
    assert THREAD in shell("session", "list", "--all").out
    assert THREAD in shell("session", "list", "--phase", "cancelled").out
    assert shell("session", "status").code == 0, "the other one is the only open session"


def test_it_counts_once_and_only_from_the_operator(shell: Shell) -> None:
    refused = shell("session", "cancel", THREAD, "--reason", "x", "--as", ANN)
    assert (refused.code, "ONLY_THE_OPERATOR" in refused.err) == (1, True)
    assert shell("session", "cancel", THREAD, "--reason", " ").code == 1
    assert shell("session", "cancel", THREAD).code == 2
    unknown = shell("session", "cancel", "RS-20251230-cell-fare", "--reason", "x")
    assert (unknown.code, "UNKNOWN_THREAD" in unknown.err) == (1, True)
    cancel(shell)
    again = shell("session", "cancel", THREAD, "--reason", "Another", "--json").json
    assert (again["new"], again["reason"]) == (False, ONE_LINE)
    infos = shell("mail", "thread", THREAD, "--json").json["messages"]
    assert sum("Session cancelled" in each["subject"] for each in infos) == 1


def test_a_reason_contains_no_secret(shell: Shell) -> None:
    """Nothing of a decision is posted then, whichever it is."""
    secret = shell("agent", "secret", ANN, "--json").json["secret"]
    before = len(shell("mail", "thread", THREAD, "--json").json["messages"])
    for arguments in (("cancel", THREAD), ("void", f"{THREAD}@v1")):
        done = shell("session", *arguments, "--reason", f"See {secret}", "--json")
        assert (done.code, done.codes) == (1, ["SECRET_IN_MESSAGE"])
        assert secret not in done.out
    assert len(shell("mail", "thread", THREAD, "--json").json["messages"]) == before


def test_the_end_is_no_ack_of_the_operator(shell: Shell) -> None:
    """What completing or cancelling settled can still be acknowledged, with a real ACK."""
    owed = [
        each["message_id"]
        for each in shell("session", "status", THREAD, "--json").json["pending"]
        if each["agent"] == "Operator"
    ]
    assert owed
    cancel(shell)
    done = shell("mail", "ack", str(owed[0]), "--json")
    assert done.code == 0
    last = shell("mail", "thread", THREAD, "--json").json["messages"][-1]
    assert (last["type"], last["from"]) == ("ACK", "Operator")


def test_the_declaration_of_an_agent_has_no_effect(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.kickoff()
    blank = stage.mailbox.message(1).message._replace(sender=ANN, recipients=("Operator",))
    stage.mailbox.operator = "Operator"
    stage.mailbox.send(compose_cancellation(blank, "I do not like it."))
    status = load_status(stage.workspace, THREAD).status
    assert (status.phase, len(status.open_acks)) == (Phase.AWAITING_ACKS, 3)
    stage.close()


def test_only_reopen_or_a_kickoff_continues_it(shell: Shell, tmp_path: Path) -> None:
    cancel(shell)
    for command in (["compile", THREAD], ["session", "round", THREAD]):
        refused = shell(*command)
        assert (refused.code, "SESSION_CANCELLED" in refused.err) == (1, True)
        assert "--reopen" in refused.err
    assert shell("session", "complete", THREAD).code == 1
    stage = Stage(tmp_path)
    stage.at = datetime.now(UTC)
    stage.contribute(ANN, add("Late"))
    stage.close()
    task = shell("session", "status", THREAD, "--json").json
    assert (task["phase"], task["attention"]) == ("cancelled", [])
    assert shell("compile", THREAD, "--reopen").code == 0
    assert phase(shell) == "in_critique"
    cancel(shell)
    assert phase(shell) == "cancelled"
    stage = Stage(tmp_path)
    stage.at = datetime.now(UTC)
    stage.kickoff(ANN, title="Again")
    stage.close()
    reopened = shell("session", "status", THREAD, "--json").json
    assert (reopened["phase"], reopened["cancelled"]) == ("awaiting_acks", None)
    assert [each["agent"] for each in reopened["pending"]] == [ANN], "the old ACKs stay settled"


def test_a_sender_learns_that_it_is_cancelled(shell: Shell, tmp_path: Path) -> None:
    cancel(shell)
    text = f"Thread: {THREAD}\nFrom: {ANN}\nTo: Operator\nSubject: DELTA[opus]: Late\n\n# Delta\n\n"
    text += f"## Summary\nx\n\n## Deltas\n\n```delta\n{json.dumps(add('Late'))}\n```\n"
    (tmp_path / "late.md").write_text(text, "utf-8")
    sent = shell("mail", "send", str(tmp_path / "late.md"))
    assert "AFTER_CANCELLING" in sent.err + sent.out


def test_a_complete_session_is_not_cancelled(shell: Shell) -> None:
    assert shell("session", "complete", THREAD).code == 0
    refused = shell("session", "cancel", THREAD, "--reason", "x")
    assert (refused.code, "CANNOT_CANCEL" in refused.err) == (1, True)


def test_a_complete_session_needs_nobody(shell: Shell) -> None:
    assert shell("session", "complete", THREAD).code == 0
    status = shell("session", "status", THREAD, "--json").json
    assert (status["phase"], status["attention"], status["pending"]) == ("complete", [], [])
    assert not any(each["awaited"] for each in status["participants"])
    assert {each["how"] for each in status["settled"]} == {"completed"}
    shown = shell("session", "status", THREAD).out
    assert "Nothing needs you" in shown
    assert "brenner compile" not in shown
    assert "owes" not in shown
    assert "needs" not in shell("session", "list", "--line").out
    assert shell("mail", "pending", "--json").json["pending"] == []


def test_copies_and_imports_keep_it(shell: Shell, tmp_path: Path) -> None:
    """It survives an archive, and an archive cancels nothing here unless the operator accepts."""
    whole = tmp_path / "before.jsonl"
    assert shell("mail", "export", "-o", str(whole)).code in {0, 2}
    before = shell("mail", "export", "-").out
    cancel(shell)
    archive = tmp_path / "archive.jsonl"
    archive.write_text(shell("mail", "export", "-").out, "utf-8")
    status = shell("session", "status", THREAD, "--json").json

    there = tmp_path / "there"
    there.mkdir()
    assert shell("init", "--project", str(there)).code == 0
    assert shell("mail", "import", str(archive), "--project", str(there)).code == 0
    copied = shell("session", "status", THREAD, "--json", "--project", str(there)).json
    assert (copied["phase"], copied["cancelled"]) == ("cancelled", status["cancelled"])
    assert copied["settled"] == status["settled"]
    pending = shell("mail", "pending", "--json", "--project", str(there)).json
    assert pending["pending"] == []

    third = tmp_path / "third"
    third.mkdir()
    (tmp_path / "first.jsonl").write_text(before, "utf-8")
    assert shell("init", "--project", str(third)).code == 0
    assert shell("mail", "import", str(tmp_path / "first.jsonl"), "--project", str(third)).code == 0
    refused = shell("mail", "import", str(archive), "--project", str(third))
    assert refused.code == 1
    assert "cancels the session" in refused.err + refused.out
    accepted = shell("mail", "import", str(archive), "--accept-decisions", "--project", str(third))
    assert accepted.code == 0, accepted.err
    found = shell("session", "status", THREAD, "--json", "--project", str(third)).json
    assert found["phase"] == "cancelled"


def test_the_cache_keeps_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.kickoff()
    stage.workspace.mailbox.operator = "Operator"
    cancel_session(stage.workspace, THREAD, REASON)
    messages = stage.mailbox.thread(THREAD).messages
    history = replay(THREAD, messages, "Operator")
    assert history.cancellation is not None
    assert history.cancellation.reason == ONE_LINE
    known = {each.id: each for each in messages}
    decoded = decode_history(encode_history(history), THREAD, known.__getitem__)
    assert decoded == history
    stage.close()
