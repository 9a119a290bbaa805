"""The workspace of a project, as programs open it (`brenner.open`) and as commands that write."""

from pathlib import Path

import pytest

import brenner
from brenner.cli.options import Settings
from brenner.cli.workspace import workspace_for_writing

QUESTION = """\
Thread: COORD-rubrics
From: BlueLake
To: Operator
Subject: QUESTION: Which rubric?

# Question

## Question
Which rubric applies to T3?

## Urgency
Soon
"""


def test_a_question_and_its_answer(tmp_path: Path) -> None:
    """Register, send, owe, acknowledge; the mail is there when the project is opened again."""
    with brenner.open(str(tmp_path)) as workspace:
        assert workspace.is_operator
        workspace.mailbox.register(brenner.Profile("BlueLake"))
    with brenner.open(str(tmp_path), actor="BlueLake") as workspace:
        outcome = workspace.send(QUESTION)
        assert outcome.sent
        assert outcome.report.valid
    with brenner.open(str(tmp_path)) as workspace:
        (owed,) = workspace.pending()
        assert (owed.pending.debtor, owed.pending.first.id, owed.is_overdue) == (
            "Operator",
            1,
            False,
        )
        assert workspace.acknowledge(1, "Completed", "The one of T1.").stored.acknowledges == (1,)
        assert workspace.pending() == ()
        found = workspace.mailbox.search(query("rubric"))
        assert [stored.id for stored in found.messages] == [2, 1]


def query(text: str) -> brenner.Query:
    """A query that is sound."""
    parsed = brenner.parse_query(text)
    assert isinstance(parsed, brenner.Query)
    return parsed


def test_another_sender_is_refused(tmp_path: Path) -> None:
    """Who sits at the desk cannot send in another's name, and nothing is stored."""
    with brenner.open(str(tmp_path)) as workspace:
        workspace.mailbox.register(brenner.Profile("BlueLake"))
        outcome = workspace.send(QUESTION)
        assert outcome.sent is None
        assert [found.id for found in outcome.report.violations] == ["SENDER_MISMATCH"]
        assert workspace.mailbox.position() == 0


def test_the_first_accepted_write_creates_the_store(tmp_path: Path) -> None:
    """A refused one creates nothing; later reads see what was written."""
    with workspace_for_writing(Settings(project=str(tmp_path))) as workspace:
        mailbox = workspace.mailbox
        with pytest.raises(brenner.RequestError):
            mailbox.register(brenner.Profile("operator"))
        assert list(tmp_path.iterdir()) == []
        mailbox.register(brenner.Profile("BlueLake"))
        assert [path.name for path in tmp_path.iterdir()] == [".brenner"]
        assert [agent.name for agent in mailbox.agents()] == ["BlueLake", "Operator"]


def test_a_store_that_another_process_creates_first(tmp_path: Path) -> None:
    """The write goes to that store, and its mail is read from then on."""
    with workspace_for_writing(Settings(project=str(tmp_path), actor="BlueLake")) as workspace:
        with brenner.open(str(tmp_path), actor="BlueLake") as other:
            other.mailbox.register(brenner.Profile("BlueLake"))
            assert other.send(QUESTION).sent
        workspace.mailbox.register(brenner.Profile("BlueLake"))
        sent = workspace.send(QUESTION).sent
        assert sent is not None
        assert sent.stored.id == 2
        assert workspace.mailbox.position() == 2
