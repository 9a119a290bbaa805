"""What comes after a turn, what an agent is asked, and how its answer is read."""

from pathlib import Path

import pytest

from brenner.integrations.agent_driver import Fault, FaultKind
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.delta.schema import DeltaBlock
from brenner.services.run_turns import (
    Attempts,
    Step,
    StepKind,
    TurnOutcome,
    TurnResult,
    next_step,
    send_answer,
)
from brenner.services.workspace import Workspace
from brenner.session.kickoff import compose_kickoffs
from brenner.session.run_prompts import (
    TextTask,
    TurnContext,
    reminder_prompt,
    text_correction,
    text_task,
    turn_prompt,
)
from kickoffs import PLAN
from session.workspaces import ANN, THREAD, add, fenced, kickoff, new_workspace

R, F, K = TurnOutcome, FaultKind, StepKind
CONTEXT = TurnContext(ANN, THREAD, 2, 1, 7, "hypothesis_generator")


def fault(kind: FaultKind, seconds: float | None = None) -> Fault:
    return Fault(kind, "words", seconds)


@pytest.mark.parametrize(
    ("outcome", "found", "tried", "expected"),
    [
        (R.CONTRIBUTED, None, Attempts(), Step(K.DONE)),
        (R.CONTRIBUTED, fault(F.CRASH), Attempts(), Step(K.DONE)),
        (R.PASSED, fault(F.CREDIT), Attempts(), Step(K.DONE)),
        (R.MAIL, None, Attempts(), Step(K.DONE)),
        (R.SILENT, None, Attempts(), Step(K.REMIND)),
        (R.SILENT, None, Attempts(reminders=1), Step(K.DONE)),
        (R.REJECTED, None, Attempts(), Step(K.REMIND)),
        (R.REJECTED, fault(F.TIMEOUT), Attempts(reminders=1), Step(K.DONE)),
        (R.FAULT, fault(F.STOPPED), Attempts(), Step(K.DONE)),
        (R.FAULT, fault(F.LOGIN), Attempts(), Step(K.PARK_RUN)),
        (R.FAULT, fault(F.NO_TOOLS), Attempts(), Step(K.PARK_RUN)),
        (R.FAULT, fault(F.CRASH), Attempts(), Step(K.RETRY)),
        (R.FAULT, fault(F.CRASH), Attempts(retries=1), Step(K.PARK_ROUND)),
        (R.FAULT, fault(F.OVERLOADED), Attempts(waited=30), Step(K.RETRY)),
        (R.FAULT, fault(F.RATE_LIMIT, 90), Attempts(), Step(K.RETRY, 90)),
        (R.FAULT, fault(F.RATE_LIMIT, 90), Attempts(waited=3590), Step(K.PARK_RUN)),
        (R.FAULT, fault(F.RATE_LIMIT, 700), Attempts(), Step(K.PARK_RUN)),
        (R.FAULT, fault(F.RATE_LIMIT, 0), Attempts(), Step(K.RETRY, 1)),
        (R.FAULT, fault(F.RATE_LIMIT), Attempts(), Step(K.RETRY, 30)),
        (R.FAULT, fault(F.RATE_LIMIT), Attempts(waited=30), Step(K.PARK_ROUND)),
    ],
)
def test_what_comes_next(
    outcome: TurnOutcome, found: Fault | None, tried: Attempts, expected: Step
) -> None:
    """The thread decides first, then the fault, within what was tried; the run has 600 s left."""
    assert next_step(tried, TurnResult(outcome), found, 600.0) == expected


def blocks_in(text: str) -> list[DeltaBlock]:
    return list(read_deltas(text))


def test_no_task_contains_a_contribution() -> None:
    """A program that repeats its task contributes nothing, whatever is quoted in it."""
    message = compose_kickoffs(PLAN)[0]
    hostile = f"````\n{fenced(add('A'))}````\n{fenced(add('B'))}"
    task = text_task(
        TextTask(CONTEXT, message.body, (ANN,), artifact=hostile, letters=((3, ANN, hostile),))
    )
    correction = text_correction(task, hostile, (), hostile)
    assert blocks_in(hostile)
    for text in (task, correction, turn_prompt(CONTEXT), reminder_prompt(CONTEXT, (), again=True)):
        assert blocks_in(text) == []


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """A session with a kickoff."""
    workspace = new_workspace(tmp_path / "p")
    kickoff(workspace)
    return workspace


def test_the_answer_of_a_program_is_sent_as_its_agent(here: Workspace) -> None:
    """A body gets headers; a message file gets those that are missing; other names are errors."""
    context = CONTEXT._replace(round=1, version=0, kickoff=1)
    body = f"# Delta Contribution\n\nCells count.\n\n{fenced(add('A'))}"
    assert send_answer(here, context, body).is_sent
    head = "Subject: QUESTION: Which gradient?\nTo: Operator\n\n"
    question = f"{head}## Question\nWhich?\n\n## Urgency\nSoon\n"
    assert send_answer(here, context, question).is_sent
    assert not send_answer(here, context, f"From: RedSky\n{question}").is_sent
    assert send_answer(here, context, "ACK: nothing to add").is_sent
    sent = here.mailbox.thread_arrivals(THREAD, 1)
    assert [(e.message.sender, e.type, e.message.recipients) for e in sent] == [
        (ANN, "DELTA", ("Operator", "RedSky")),
        (ANN, "QUESTION", ("Operator",)),
        (ANN, "ACK", ("Operator",)),
    ]
    assert sent[0].message.subject == "DELTA[agent]: Cells count."
