"""The next round in the lab: those of the session, in their roles; each kickoff seen first."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import void_version
from brenner.services.workspace import Workspace
from brenner.web.lab.start import NEXT_ROUND_ACTION as ACTION
from brenner.web.request import Page
from operator_workspace import SETTINGS
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace, write
from web.lab_visits import Operator, fields_of, violations

Json = dict[str, Any]
CRITIQUE = """# Critique: H1

**Artifact Version**: v1

## Target
H1

## Attack
Publish LATEMARK.

## Severity
Major
"""
KICKOFF = """# Cell fate

## Research Question
What tells a cell where it is?

## Context
Cells differ by place.

## Session Configuration

**Roster Mode**: role_separated

| Agent | Role | Program | Model |
|-------|------|---------|-------|
| BlueLake | hypothesis_generator | codex-cli | GPT-5.2 |
| RedSky | test_designer | | |

---
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A session of two with one version."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    with new_workspace(tmp_path) as here:
        kickoff(here, KICKOFF)
        contribute(here, ANN, add("Gradient"))
        compile_thread(here, THREAD, CompileOptions())
        yield here


@pytest.fixture
def operator(workspace: Workspace) -> Operator:
    return Operator(workspace, THREAD)


def kickoffs(workspace: Workspace) -> list[tuple[str, ...]]:
    messages = workspace.mailbox.thread(THREAD).messages
    return [each.message.recipients for each in messages if each.type == "KICKOFF"][1:]


def seen(page: Page) -> Json:
    return cast("Json", page.document["preview"])


def test_the_form_has_who_was_asked_before_and_shows_what_each_would_get(
    operator: Operator,
) -> None:
    page = operator.form(ACTION)
    rows = cast("list[Json]", page.document["agents"])
    assert [(row["name"], row["role"], row["model"]) for row in rows] == [
        (ANN, "hypothesis_generator", "GPT-5.2"),
        (BEA, "test_designer", ""),
    ]
    started = seen(page)["started"]
    assert (started["round"], started["status"]) == (2, "dry_run")
    assert "**Base Artifact**: v1" in started["kickoffs"][0]["body"]
    assert seen(page)["would"] == f"Sends 2 kickoffs to {ANN} and {BEA} in {THREAD}."
    assert kickoffs(operator.workspace) == []


def test_a_round_is_begun_once(operator: Operator) -> None:
    fields = fields_of(operator.form(ACTION)) | {"focus": "How H1 works"}
    key = operator.login.once.key()
    done = operator.done(ACTION, fields, key)
    assert done.says == f"Round 2 has begun. Sent 2 kickoffs to {ANN} and {BEA} in {THREAD}."
    assert operator.done(ACTION, fields, key) is done
    again = operator.done(ACTION, fields)
    assert again.says.startswith("Nothing was sent")
    assert kickoffs(operator.workspace) == [(ANN,), (BEA,)]
    stored = operator.workspace.mailbox.thread(THREAD).messages[-1]
    assert "How H1 works" in stored.message.body


def test_a_script_that_names_nobody_asks_those_of_the_session(operator: Operator) -> None:
    """As `brenner session round` does; one who names some asks only those."""
    tried = operator.request(ACTION, {"dry_run": True})
    assert isinstance(tried, Page)
    started = cast("Json", tried.document["started"])
    assert [(each["to"], each["role"]) for each in started["kickoffs"]] == [
        ([ANN], "hypothesis_generator"),
        ([BEA], "test_designer"),
    ]
    done = operator.request(ACTION, {"agent.1.name": BEA, "agent.1.role": "test_designer"})
    assert not isinstance(done, Page)
    assert kickoffs(operator.workspace) == [(BEA,)]


def _seen_fields(page: Page) -> dict[str, str]:
    """What a browser sends of a form as it is shown, with the marks of its preview."""
    marks = {name: str(seen(page)[name]) for name in ("seen", "seen_of")}
    return fields_of(page) | marks


def test_what_came_in_after_the_preview_does_not_go_out_unseen(operator: Operator) -> None:
    """A kickoff quotes critiques: one that nobody has looked at is shown first."""
    fields = _seen_fields(operator.form(ACTION))
    write(operator.workspace, BEA, "CRITIQUE: H1", CRITIQUE)
    page = operator.again(ACTION, fields)
    assert page.status == 409
    assert cast("Json", page.document["fault"])["id"] == "KICKOFFS_OVERTAKEN"
    assert kickoffs(operator.workspace) == []
    assert "Publish LATEMARK" in seen(page)["started"]["kickoffs"][0]["body"]
    assert operator.done(ACTION, _seen_fields(page)).is_done
    assert kickoffs(operator.workspace) == [(ANN,), (BEA,)]


def test_who_types_after_the_preview_sends_what_she_typed(operator: Operator) -> None:
    """The preview was of other words: nobody can say that it was overtaken."""
    fields = _seen_fields(operator.form(ACTION)) | {"focus": "Only H1"}
    assert operator.done(ACTION, fields).is_done


def test_another_version_of_the_same_number_is_shown_first(operator: Operator) -> None:
    """A void version's number is given again."""
    fields = _seen_fields(operator.form(ACTION)) | {"base": "1"}
    void_version(operator.workspace, THREAD, 1, "It was wrong")
    compile_thread(operator.workspace, THREAD, CompileOptions())
    page = operator.again(ACTION, fields)
    assert cast("Json", page.document["fault"])["id"] == "KICKOFFS_OVERTAKEN"
    assert kickoffs(operator.workspace) == []


def test_one_agent_less_and_another_role(operator: Operator) -> None:
    fields = fields_of(operator.form(ACTION))
    page = operator.again(ACTION, fields | {"then": "drop.1"})
    fields = fields_of(page) | {"agent.1.role": "adversarial_critic"}
    done = operator.done(ACTION, fields)
    [kickoff] = cast("list[Json]", done.document["kickoffs"])
    assert (kickoff["to"], kickoff["role"]) == ([BEA], "adversarial_critic")


def test_a_closed_session_has_to_be_reopened(operator: Operator) -> None:
    compile_thread(operator.workspace, THREAD, CompileOptions(close=True))
    page = operator.form(ACTION)
    assert violations(page) == [("SESSION_CLOSED", None)]
    assert page.document["preview"] is None
    fields = fields_of(page)
    refused = operator.again(ACTION, fields)
    assert cast("Json", refused.document["fault"])["id"] == "SESSION_CLOSED"
    assert fields_of(refused) == fields
    assert kickoffs(operator.workspace) == []
    assert operator.done(ACTION, fields | {"reopen": "yes"}).is_done


def test_a_round_that_was_overtaken_is_shown_anew(operator: Operator) -> None:
    page = operator.form(ACTION)
    assert 'name="base" value="1" form="action"' in operator.html(page)
    fields = fields_of(page) | {"base": "1"}
    contribute(operator.workspace, BEA, add("Clock"), base="v1")
    compile_thread(operator.workspace, THREAD, CompileOptions())
    page = operator.again(ACTION, fields)
    assert cast("Json", page.document["fault"])["id"] == "ROUND_OVERTAKEN"
    assert kickoffs(operator.workspace) == []
    assert seen(page)["started"]["round"] == 3
    assert operator.done(ACTION, fields | {"base": "2"}).document["round"] == 3
