"""`brenner session status`: what it says, as text, as JSON and in one line; how it ends."""

import re
from pathlib import Path

import pytest

from mail_shell import Shell
from session.busy_session import ANN, BEA, ELSEWHERE, GIL, GUEST, QUESTION, ROLES, Stage, busy
from session.workspaces import THREAD, add

HYPHEN = "-bot-5so.1.4"
SECTIONS = ("Overdue ACKs", "Waits for", "Refused", "nowhere", "Bead")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    return Shell(tmp_path, monkeypatch)


def status(shell: Shell, *arguments: str) -> str:
    """What is shown; it must be fine."""
    done = shell("session", "status", *arguments)
    assert done.code == 0, done.err
    return done.out


def test_what_needs_the_operator_comes_first(shell: Shell) -> None:
    busy(shell.folder)
    title, *following = status(shell, THREAD).split("\n")
    assert title == f"{THREAD}  Round 2, awaiting ACKs"
    assert following[:2] == [
        f"  ! {BEA} is blocked: The freezer is empty",
        f"  ! {BEA} asks: Which strain?",
    ]
    told = shell("session", "status", THREAD, "--json").json["attention"]
    assert [line[4:] for line in following[: len(told)]] == [each["text"] for each in told]
    assert following[len(told)] == ""


def test_whose_turn_it_is(shell: Shell) -> None:
    busy(shell.folder)
    rows = [line for line in status(shell, THREAD).split("\n") if line.startswith((*ROLES, GUEST))]
    words = [" ".join(row.split()[:-2]) for row in rows[:4]]
    assert words == [
        f"{ANN} {ROLES[ANN]} 1 delta: 2 apply, 1 rejected",
        f"{BEA} {ROLES[BEA]} owes an ACK for 29 h; wrote 17, 18",
        f"{GIL} {ROLES[GIL]} owes an ACK for 29 h; wrote 16",
        f"{GUEST} not in the roster",
    ]


def test_text_and_json_agree(shell: Shell) -> None:
    """Whatever the document has stands in the text, under the same numbers and words."""
    busy(shell.folder)
    shown = status(shell, THREAD)
    told = shell("session", "status", THREAD, "--json").json
    assert told["question"] == QUESTION
    assert QUESTION in shown
    for each in told["participants"]:
        assert f"\n{each['name']} " in shown
    for kind in ("blocked", "questions", "handoffs"):
        [each] = told[kind]
        assert f"{each['message_id']}  {each['type']}" in shown
    [message] = told["critiques"]["messages"]
    assert f"{message['message_id']}  CRITIQUE" in shown
    assert [each["item"] for each in told["critiques"]["items"]] == ["C1", "C2"]
    assert "C1  critique  Too shallow (Open)" in re.sub(" {2,}", "  ", shown)
    for each in told["refusals"]:
        fault = each["violations"][0]
        assert f"{each['message_id']}.{each['block']}  {fault['id']}" in shown
        assert f"      {fault['message']}\n      → {fault['fix']}\n" in shown
    late = [each for each in told["pending"] if each["overdue"]]
    assert len(late) == 7
    for each in late:
        assert f"{each['message_id']} {each['type']}, due {each['due'][:19]}" in shown
    [nowhere] = told["unresolved"]
    assert f"1 broken reference\n  {nowhere['message']}\n" in shown
    assert ELSEWHERE in nowhere["message"]
    assert (told["bead"], told["version"]["version"]) == (None, 1)
    assert f"v1, {told['version']['compiled_at'][:10]}" in shown


def test_document_is_that_of_every_front_end(shell: Shell) -> None:
    """Only the bead, references that lead nowhere and unverified mail are added to it."""
    from brenner.services.session_status import load_status
    from brenner.session.overview import status_json

    stage = Stage(shell.folder)
    stage.kickoff()
    told = shell("session", "status", THREAD, "--json").json
    followed = load_status(stage.workspace, THREAD).status
    expected = status_json(followed, stage.at, stage.workspace.project.ack_deadline)
    added = {key: told.pop(key) for key in ("bead", "unresolved", "unverified")}
    assert added == {"bead": None, "unresolved": [], "unverified": []}
    overdue = [each.pop("overdue") for each in told["pending"]]
    assert overdue == [True] * 3
    for key in ("attention", "pending"):  # these know of the time
        told.pop(key)
        expected.pop(key)
    assert told == expected


def test_what_is_zero_is_not_there(shell: Shell) -> None:
    stage = Stage(shell.folder, hours=100)
    for name, number in zip(ROLES, stage.kickoff(), strict=True):
        stage.acknowledge(name, number)
    shown = status(shell, THREAD)
    assert not [word for word in SECTIONS if word in shown]
    waits = f"{ANN}, {BEA} and {GIL}"
    assert f"\n  Nothing needs you. Waiting for {waits}.\n" in shown
    assert "Version   none yet\n" in shown
    assert " 0 " not in shown.replace(" 0  ", "")


def test_a_conversation(shell: Shell) -> None:
    Stage(shell.folder).send(ANN, "Operator", "INFO: Hello", "x\n")
    shown = status(shell, THREAD)
    assert shown.startswith(f"{THREAD}  conversation\n")
    assert "Version" not in shown
    assert status(shell, THREAD, "--line") == "cell-fate conversation\n"
    assert shell("session", "status", THREAD, "--json").json["phase"] is None


def test_one_line(shell: Shell) -> None:
    busy(shell.folder)
    said = status(shell, THREAD, "--line")
    assert (
        said == "cell-fate r2 v1 awaiting ACKs: RedSky +1 · 1 blocked · 1 question · 7 overdue …\n"
    )
    assert len(said) <= 81


def test_one_line_names_those_who_are_awaited(shell: Shell) -> None:
    stage = Stage(shell.folder, HYPHEN, hours=100)
    stage.kickoff(ANN, BEA)
    stage.contribute(ANN, add("Gradient"))
    assert status(shell, "--line", "--", HYPHEN) == f"{HYPHEN} r1 awaiting ACKs: {BEA}\n"
    stage.contribute(BEA, add("Clock"))
    assert status(shell, "--line") == f"{HYPHEN} r1 ready to compile\n"


# Which session


def test_the_only_session_needs_no_name(shell: Shell) -> None:
    stage = Stage(shell.folder)
    done = shell("session", "status")
    assert done.code == 2
    assert "To start one: `brenner session start --question" in done.err
    stage.send(ANN, "Operator", "INFO: Only talk", "x\n")
    assert shell("session", "status").code == 2
    stage.kickoff(ANN)
    assert status(shell).startswith(f"{THREAD}  Round 1")


def test_which_of_several(shell: Shell) -> None:
    """A complete one does not count; where two go on, both are named."""
    stage = Stage(shell.folder)
    stage.kickoff(ANN)
    stage.contribute(ANN, add("Gradient"))
    stage.compile()
    stage.compile(close=True)
    assert status(shell).startswith(f"{THREAD}  Round 2, complete")  # the only one that there is
    Stage(shell.folder, HYPHEN).kickoff(ANN)
    assert status(shell).startswith(f"{HYPHEN}  Round 1")
    Stage(shell.folder, "RS-20260101-other-matter").kickoff(ANN)
    done = shell("session", "status")
    assert (done.code, done.out) == (2, "")
    assert "Name one of the 2 sessions: " in done.err
    assert HYPHEN in done.err
    assert "RS-20260101-other-matter" in done.err
    assert THREAD not in done.err


# How it ends


@pytest.mark.parametrize("option", [[], ["--json"], ["--line"], ["--full"]], ids=" ".join)
def test_unknown_thread(shell: Shell, option: list[str]) -> None:
    Stage(shell.folder).kickoff()
    done = shell("session", "status", f"{THREAD}s", *option)
    assert done.code == 1
    said = done.out if option == ["--json"] else done.err
    assert "UNKNOWN_THREAD" in said
    assert f"Did you mean `{THREAD}`?" in said
    if option == ["--json"]:
        told = done.json
        assert (told["thread_id"], told["bead"], told["unresolved"]) == (None, None, [])
    else:
        assert done.out == ""


@pytest.mark.parametrize("option", [[], ["--line"]], ids=" ".join)
def test_what_is_no_thread_id(shell: Shell, option: list[str]) -> None:
    done = shell("session", "status", "RS-2025-x", *option)
    assert done.code == 1
    assert "INVALID_RS_THREAD_ID" in done.err


@pytest.mark.parametrize("other", ["--json", "--full"])
def test_a_line_is_a_line(shell: Shell, other: str) -> None:
    done = shell("session", "status", THREAD, "--line", other)
    assert done.code == 2
    assert "--line cannot be used with --full or --json." in done.out + done.err


def test_store_that_cannot_be_read(shell: Shell) -> None:
    (shell.folder / ".brenner").mkdir()
    (shell.folder / ".brenner" / "mail.sqlite3").write_text("no database at all, whatever it says")
    for command in ("status", "show"):
        assert shell("session", command, THREAD).code == 3


def test_it_changes_nothing(shell: Shell) -> None:
    busy(shell.folder)
    before = shell("mail", "thread", THREAD, "--json").out
    for option in ([], ["--line"], ["--json"], ["--full"]):
        status(shell, THREAD, *option)
    assert shell("mail", "thread", THREAD, "--json").out == before
