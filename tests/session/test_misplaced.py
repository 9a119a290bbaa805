"""Delta blocks outside DELTA messages stay a need until they are sent, or dismissed (R4)."""

import json
from pathlib import Path

import pytest

from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.session_status import load_status
from brenner.services.workspace import Workspace
from brenner.session.misplaced_blocks import misplaced_blocks_in
from brenner.session.model import RefusedBlock
from brenner.session.versions import decode_history, encode_history, replay
from mail_shell import Shell
from session.busy_session import ANN, BEA, Stage
from session.workspaces import THREAD, add, edit

SUBJECTS = ("INFO: My thoughts", "CRITIQUE: H1", "Re: DELTA[opus]: News", "QUESTION: What of it?")


def fenced(*blocks: dict[str, object]) -> str:
    return "".join(f"```delta\n{json.dumps(each)}\n```\n\n" for each in blocks)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A session with v1, which contains H1."""
    stage = Stage(tmp_path)
    for name, number in zip((ANN, BEA), stage.kickoff(ANN, BEA), strict=True):
        stage.acknowledge(name, number)
    stage.contribute(ANN, add("Gradient"))
    return stage


def open_blocks(workspace: Workspace) -> list[tuple[int, int]]:
    found = load_status(workspace, THREAD).status.misplaced
    return [(each.message_id, each.block) for each in found]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_it_stays_open_until_it_is_sent(stage: Stage, subject: str) -> None:
    """Through versions, in what needs attention, and in every compile."""
    number = stage.send(BEA, "Operator", subject, fenced(add("Clock"), add("Timer"))).id
    for _ in range(2):
        stage.compile()
        assert open_blocks(stage.workspace) == [(number, 1), (number, 2)]
        stage.contribute(ANN, edit("H1", claim=f"A claim {stage.at}"))
    done = compile_thread(stage.workspace, THREAD, CompileOptions())
    assert [(each.message_id, each.block) for each in done.misplaced] == [(number, 1), (number, 2)]
    stage.contribute(ANN, add("Clock"))
    assert len(open_blocks(stage.workspace)) == 2, "another agent's block is another contribution"
    stage.contribute(BEA, add("clock "))
    assert open_blocks(stage.workspace) == [(number, 2)], "before the next version already"
    stage.compile()
    assert open_blocks(stage.workspace) == [(number, 2)]
    stage.contribute(BEA, add("Timer"))
    stage.compile()
    assert open_blocks(stage.workspace) == []
    stage.close()


def test_a_block_that_was_sent_before_is_no_answer(stage: Stage) -> None:
    """Only a later block of the same contribution is; a repeated one counts as well."""
    stage.contribute(BEA, add("Clock"))
    number = stage.send(BEA, "Operator", SUBJECTS[0], fenced(add("Clock"))).id
    stage.compile()
    assert open_blocks(stage.workspace) == [(number, 1)]
    stage.contribute(BEA, add("Clock"))
    assert open_blocks(stage.workspace) == []
    stage.close()


@pytest.mark.parametrize(
    "body",
    [
        "> " + fenced(add("Clock")).replace("\n", "\n> "),
        f"````markdown\n{fenced(add('Clock'))}````\n",
        "The `delta` block of message 3 is wrong.\n",
    ],
)
def test_examples_and_quotations_do_not_count(stage: Stage, body: str) -> None:
    stored = stage.send(BEA, "Operator", "INFO: An example", body)
    assert misplaced_blocks_in(stored) == ()
    assert open_blocks(stage.workspace) == []
    stage.close()


def test_only_messages_that_cannot_contribute_count(stage: Stage) -> None:
    """A kickoff shows the format, and a copy of a message is the same contribution."""
    stage.send("Operator", ANN, "KICKOFF: Round 2", f"# Format\n\n{fenced(add('Example'))}")
    assert open_blocks(stage.workspace) == []
    first = stage.send(BEA, "Operator", SUBJECTS[0], fenced(add("Clock")))
    stage.mailbox.send(first.message, reply_to=first.id)
    assert open_blocks(stage.workspace) == [(first.id, 1)]
    stage.close()


def test_an_unreadable_block_counts_with_its_faults(stage: Stage) -> None:
    number = stage.send(BEA, "Operator", SUBJECTS[0], "```delta\n{broken\n```\n").id
    [found] = load_status(stage.workspace, THREAD).status.misplaced
    assert isinstance(found, RefusedBlock)
    assert [each.id for each in found.diagnostics] == [
        *("DELTA_NOT_CONTRIBUTED", "JSON_UNQUOTED_KEY", "INVALID_JSON")
    ]
    assert (found.message_id, found.operation) == (number, None)
    stage.close()


def test_a_cached_history_has_the_same(stage: Stage) -> None:
    stage.send(BEA, "Operator", SUBJECTS[0], fenced(add("Clock"), add("Timer")))
    stage.contribute(BEA, add("Timer"))
    stage.compile()
    messages = stage.mailbox.thread(THREAD).messages
    history = replay(THREAD, messages, "Operator")
    assert [[block.block for block in each.blocks] for each in history.misplaced] == [[1]]
    known = {each.id: each for each in messages}
    assert decode_history(encode_history(history), THREAD, known.__getitem__) == history
    stage.close()


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage) -> Shell:
    """The session with v1, and block 1 of message 6 misplaced."""
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    stage.compile()
    stage.send(BEA, "Operator", SUBJECTS[0], fenced(add("Clock")))
    stage.close()
    return Shell(tmp_path, monkeypatch)


def test_what_the_commands_show(shell: Shell) -> None:
    status = shell("session", "status", THREAD, "--json").json
    [row] = status["misplaced"]
    where = f"{row['message_id']}.{row['block']}"
    assert (row["agent"], row["state"], row["name"]) == (BEA, "misplaced", "Clock")
    kinds = [each["kind"] for each in status["attention"]]
    assert kinds == ["misplaced", "third_alternative"]
    assert status["refusals"] == []
    shown = shell("session", "status", THREAD).out
    assert f"`brenner session dismiss {THREAD} {where}`" in shown
    assert "DELTA_NOT_CONTRIBUTED" in shown
    assert shell("session", "status", THREAD, "--line").out.endswith(" · 1 in no DELTA\n")
    listed = shell("session", "list", "--json").json
    assert listed["sessions"][0]["misplaced"] == 1
    assert "misplaced" in listed["sessions"][0]["needs"]
    ledger = shell("artifact", "ledger", THREAD, "--json").json
    assert [each["message_id"] for each in ledger["misplaced"]] == [row["message_id"]]
    assert (ledger["applied"], ledger["refused"], ledger["duplicate"]) == (1, 0, 0)
    assert f"{where}  {BEA}" in shell("artifact", "ledger", THREAD).out
    compiled = shell("compile", THREAD, "--json").json
    assert [each["message_id"] for each in compiled["ledger"]["misplaced"]] == [row["message_id"]]
    assert compiled["ledger"]["refused"] == 0
    assert [each["id"] for each in compiled["not_contributed"]] == ["DELTA_NOT_CONTRIBUTED"]


def test_its_author_gets_one_reply(shell: Shell) -> None:
    step = shell("session", "status", THREAD).out
    assert f"brenner compile --notify {THREAD}" in step
    done = shell("compile", THREAD, "--notify", "--json").json
    assert [each["to"] for each in done["notified"]] == [[BEA]]
    reply = shell("mail", "show", str(done["notified"][0]["message_id"])).out
    assert "DELTA_NOT_CONTRIBUTED" in reply
    assert "DELTA[model]:" in reply
    assert shell("compile", THREAD, "--notify", "--json").json["notified"] == []
    assert shell("session", "status", THREAD, "--json").json["misplaced"], "still open"


def test_the_operator_can_dismiss_it(shell: Shell) -> None:
    number = shell("session", "status", THREAD, "--json").json["misplaced"][0]["message_id"]
    assert shell("session", "dismiss", THREAD, f"{number}.2").code == 1
    done = shell("session", "dismiss", THREAD, f"{number}.1", "--json").json
    assert (done["new"], done["left"]) == (True, 0)
    assert shell("session", "dismiss", THREAD, f"{number}.1", "--json").json["new"] is False
    status = shell("session", "status", THREAD, "--json").json
    assert status["misplaced"] == []
    assert "misplaced" not in [each["kind"] for each in status["attention"]]
    assert shell("compile", THREAD, "--notify", "--json").json["notified"] == []
    assert shell("compile", THREAD, "--json").json["ledger"]["misplaced"] == []


def test_the_next_kickoff_asks_for_it(shell: Shell) -> None:
    assert shell("session", "round", THREAD).code == 0
    kickoffs = shell("mail", "inbox", "--as", BEA, "--json").json["messages"]
    assert "DELTA_NOT_CONTRIBUTED" in kickoffs[0]["body"]


def test_a_thread_without_a_kickoff_is_listed_apart(shell: Shell, tmp_path: Path) -> None:
    """It is never ready to compile (R23)."""
    ghost = "RS-20251230-cell-fat"
    stage = Stage(tmp_path, ghost)
    stage.contribute(ANN, add("Lost"))
    stage.close()
    found = shell("session", "list", "--json").json
    assert [each["thread_id"] for each in found["sessions"]] == [THREAD]
    [row] = found["other_threads"]
    assert (row["thread_id"], row["phase"], row["unread"]) == (ghost, None, 1)
    assert found["summary"]["sessions"] == 1
    shown = shell("session", "list").out
    assert "neither a kickoff nor a version" in shown
    assert "1 delta, no kickoff" in shown
    assert "ready to compile" not in shown
    status = shell("session", "status", ghost)
    assert "ready to compile" not in status.out
    assert "the thread ID may be mistyped" in status.out
    only = shell("session", "list", "--phase", "conversation", "--json").json
    assert ([], [ghost]) == (
        only["sessions"],
        [each["thread_id"] for each in only["other_threads"]],
    )
