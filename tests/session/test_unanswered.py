"""An agent that ignores a result is named until it answers; and the end of a session (R28, R29)."""

import os
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from brenner.diagnostics.model import RequestError
from brenner.lint.linter import lint
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.services.agent_task import load_task, sessions_waiting_for
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import dismiss_question
from brenner.services.session_status import load_status
from brenner.services.sessions import overviews
from brenner.services.versions import Target, load_version
from brenner.services.workspace import Workspace
from brenner.session.overview import Need, describe_needs, needs_of
from brenner.session.status_text import StatusReader, attention, next_step
from program import Run, call
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff, new_workspace
from terminal import run_in_terminal

Block = dict[str, object]
DAY = timedelta(days=1)
REQUEST = "T1 contradicts H1: kill it, change it, or say why you keep it"


def block(operation: str, section: str, target: str | None, **payload: object) -> Block:
    """Any delta."""
    return {
        "operation": operation,
        "section": section,
        "target_id": target,
        "payload": payload,
        "rationale": "why",
    }


def graft() -> Block:
    """An ADD of T1."""
    outcomes = {"H1": "old", "H2": "new"}
    names = {"name": "Graft", "procedure": "Graft", "discriminates": "H1 vs H2"}
    return block("ADD", "discriminative_tests", None, **names, expected_outcomes=outcomes)


def result(outcome: str, potency: str = "passed", **verdict: list[str]) -> Block:
    """A result of T1."""
    found = {"outcome": outcome, "potency": potency, **verdict}
    return block("EDIT", "discriminative_tests", "T1", results=[found])


def critique(attack: str) -> Block:
    """A critique with this text."""
    texts = {"name": "x", "attack": attack, "evidence": "x", "current_status": "Open"}
    return block("ADD", "adversarial_critique", None, **texts)


def assumption(load: str) -> Block:
    """An assumption with this load."""
    texts = {"name": "x", "statement": "x", "load": load, "test": "x", "status": "unchecked"}
    return block("ADD", "assumption_ledger", None, **texts)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """v2: H1, which Ann wrote, and T1 of Bea, whose result contradicts it."""
    with new_workspace(tmp_path) as here:
        here.mailbox.register(Profile("Operator"))
        kickoff(here)
        contribute(here, ANN, add("Place"), add("Time"))
        contribute(here, BEA, graft())
        compile_thread(here, THREAD, CompileOptions())
        contribute(here, BEA, result("new", contradicts=["H1"]))
        compile_thread(here, THREAD, CompileOptions())
        yield here


def named(workspace: Workspace) -> tuple[bool, ...]:
    """Everywhere it can be seen that Ann owes an answer: all or nothing."""
    loaded = load_status(workspace, THREAD)
    status, now = loaded.status, loaded.status.last_at
    (row,) = overviews(workspace).values()
    step = next_step(status, StatusReader(ANN, "Operator", now, DAY))
    waiting = sessions_waiting_for(workspace, ANN)
    return (
        any(each.kind == "unanswered" and ANN in each.text for each in attention(status, now, DAY)),
        Need.UNANSWERED in needs_of(row, now, DAY),
        ("1 unanswered item", "attention") in describe_needs(row, now, DAY),
        step.words.startswith(REQUEST),
        [each.request for each in load_task(workspace, ANN, THREAD).unanswered] == [REQUEST],
        [overview.thread_id for overview, turn, _ in waiting if turn is None] == [THREAD],
    )


def command(workspace: Workspace, *words: str) -> Run:
    """Run a command on the project, in this process."""
    return call("--project", str(workspace.project.folder), *words)


def keep(workspace: Workspace) -> None:
    dismiss_question(workspace, THREAD, "h1/t1", "The strain was wrong")


def sent(agent: str, made: Block) -> Callable[[Workspace], object]:
    """An agent that sends one block."""
    return lambda workspace: contribute(workspace, agent, made, base="v2")


ANSWERS: dict[str, Callable[[Workspace], object]] = {
    "kill": sent(ANN, block("KILL", "hypothesis_slate", "H1", reason="T1 showed it")),
    "claim": sent(ANN, edit("H1", claim="It is less so")),
    "mechanism": sent(BEA, edit("H1", mechanism="Otherwise")),
    "result": sent(BEA, result("old", supports=["H1"])),
    "passed": sent(BEA, result("something")),
    "critique": sent(BEA, critique("T1 was too late, so H1 is kept")),
    "assumption": sent(ANN, assumption("If the graft of T1 took, H1 falls")),
    "dismissal": keep,
}
NO_ANSWERS: dict[str, Callable[[Workspace], object]] = {
    "name": sent(ANN, edit("H1", name="Places")),
    "the same claim": sent(ANN, edit("H1", claim="Place decides")),
    "another item": sent(ANN, edit("H2", claim="Otherwise")),
    "rejected": sent(ANN, edit("H1", claim=" ")),
    "procedure": sent(BEA, block("EDIT", "discriminative_tests", "T1", procedure="Again")),
    "not checked": sent(BEA, result("nothing", "not_checked")),
    "one name": sent(ANN, critique("H1 is right")),
    "mail": lambda workspace: workspace.mailbox.send(
        Message(THREAD, ANN, ("Operator",), "INFO: H1", "I keep H1 despite T1\n")
    ),
}


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_agent_is_named_until_it_answers(
    workspace: Workspace, answer: str, *, is_compiled: bool
) -> None:
    assert all(named(workspace))
    ANSWERS[answer](workspace)
    if is_compiled:
        compile_thread(workspace, THREAD, CompileOptions())
    assert not any(named(workspace))


@pytest.mark.parametrize("attempt", NO_ANSWERS)
def test_nothing_else_is_an_answer(workspace: Workspace, attempt: str) -> None:
    NO_ANSWERS[attempt](workspace)
    assert load_status(workspace, THREAD).status.unanswered[0].request == REQUEST


def test_a_file_is_silent(workspace: Workspace) -> None:
    """It has no history; and what is of an earlier version has been seen then."""
    version = load_version(workspace, Target(THREAD))
    file = workspace.project.folder / "kept.md"
    file.write_text(version.text, "utf-8")
    for target, is_warned in ((THREAD, True), (f"{THREAD}@v1", False), (str(file), False)):
        done = command(workspace, "artifact", "lint", target)
        assert (done.code, "UNANSWERED_ITEM" in done.out) == (1, is_warned), target
    assert not any(each.id == "UNANSWERED_ITEM" for each in lint(version.artifact).violations)


def test_dismissing_needs_a_reason(workspace: Workspace) -> None:
    with pytest.raises(RequestError) as refused:
        dismiss_question(workspace, THREAD, "h1/t1", " ")
    found = refused.value.diagnostic
    assert found.id == "CANNOT_DISMISS"
    assert f"`brenner session dismiss {THREAD} H1/T1 --reason TEXT`" in (found.fix or "")


def test_dismissing_twice(workspace: Workspace) -> None:
    """It is said once, to everybody, and the thread shows the reason."""
    words = ("session", "dismiss", THREAD, "H1/T1", "--json", "--reason")
    done = command(workspace, *words, "The strain was wrong").json
    assert (done["item"], done["because"], done["new"], done["left"]) == ("H1", "T1", True, 0)
    assert "The strain was wrong" in done["message"]["body"]
    assert command(workspace, *words, "Again").json["new"] is False
    refused = command(workspace, "session", "dismiss", THREAD, "T1", "--reason", "x")
    assert refused.code == 1
    assert "nothing asks for an answer" in refused.err


def test_completing_in_a_terminal_asks(workspace: Workspace) -> None:
    """The operator writes nothing in vain, and is asked once."""
    folder = workspace.project.folder

    def complete(*options: str) -> str:
        words = ["--project", str(folder), "session", "complete", THREAD, *options]
        command = [sys.executable, "-m", "brenner", *words]
        environment = {name: os.environ[name] for name in ("PATH", "HOME")} | {"TERM": "xterm"}
        return run_in_terminal(
            command, environment, 120, typed="Place\n", has_keyboard=True, has_errors=True
        )

    assert "What has the session found?" not in complete()
    shown = complete("--anyway")
    assert "What has the session found?" in shown
    assert "NO_CONCLUSION" not in shown
    status = load_status(workspace, THREAD)
    assert status.history.state.artifact.research_thread.text("conclusion") == "Place"
    assert [each.type for each in status.messages[-2:]] == ["DELTA", "COMPILED"]
    assert "What has the session found?" not in complete()


def test_completing_says_what_it_leaves(workspace: Workspace) -> None:
    words = ("session", "complete", THREAD, "--anyway", "--json")
    done = command(workspace, *words).json
    assert [each["item"] for each in done["unanswered"]] == ["H1"]
    assert [each["id"] for each in done["violations"] if "CONCL" in each["id"]] == ["NO_CONCLUSION"]
    again = command(workspace, *words, "--reopen", "--conclusion", "Place").json
    assert again["version"] == 4
