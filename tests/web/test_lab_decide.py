"""The page of the decisions, and the actions that it leads to."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from brenner.diagnostics.model import RequestError
from brenner.persist.git import persistence_of
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.session_status import load_status
from brenner.services.workspace import Workspace
from brenner.session.model import Phase
from brenner.web.decisions import open_decisions
from brenner.web.lab import routes as acting
from brenner.web.lab.actions import ActionResult
from brenner.web.lab.cancel import CANCEL_ACTION, REOPEN_ACTION
from brenner.web.lab.compile import COMPILE_ACTION, COMPLETE_ACTION, PERSIST_ACTION
from brenner.web.lab.decide import CHANGE_ACTION, DISMISS_ACTION, REMIND_ACTION
from brenner.web.lab.messages import REPLY_ACTION
from brenner.web.rendering import render_html
from brenner.web.request import KEY_FIELD, Form, Page
from brenner.web.views import decide
from session.workspaces import (
    ANN,
    BEA,
    THREAD,
    add,
    contribute,
    edit,
    kickoff,
    new_workspace,
    write,
)
from web.disputed import LOST, NEW, block, compiled, disputed
from web.lab_visits import Operator, violations

QUESTION = "# Question\n\n## Question\nWhich strain?\n\n## Urgency\nSoon\n"


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    """A session with a conflict, two rejected blocks, a lint error and a question."""
    with disputed(tmp_path / "lab") as here:
        contribute(here, ANN, edit("H99", claim="None"), edit("H98", claim="None"), base="v2")
        write(here, BEA, "QUESTION: Which", QUESTION)
        yield Operator(here, THREAD)


def page(operator: Operator, **query: str) -> tuple[Mapping[str, Any], str]:
    """The page, and as a browser gets it."""
    visit = operator.visit()._replace(path=f"/sessions/{THREAD}/decide", query=query)
    found = decide.page(visit)
    return found.document, render_html(found, visit)


def conflicts(workspace: Workspace) -> list[tuple[str, str]]:
    return [(each.item, each.field) for each in load_status(workspace, THREAD).status.conflicts]


def form(operator: Operator, action: Any, **query: str) -> Mapping[str, Any]:
    """The document of a form that a link of the page opens."""
    visit = operator.visit()._replace(query=query)
    found = acting.form_page(action, visit)
    assert "<" in render_html(found, visit)
    return found.document


def test_everything_is_in_one_list(operator: Operator) -> None:
    document, html = page(operator)
    assert [each["about"] for each in document["asked"]] == ["Which strain?"]
    assert [each["address"] for each in document["refused"]] == ["8.1", "8.2"]
    (conflict,) = document["conflicts"]
    values = [(each["agent"], each["text"]) for each in conflict["values"]]
    assert values == [(BEA, NEW), (ANN, LOST)]
    assert {each["item"] for each in document["lint"]} == {"H3"}
    tab = next(each for each in document["session"]["tabs"] if each["name"] == "decide")
    assert tab["count"] == document["count"] == 6
    for words in ("Keep this", "Take that", "Ask both", "Dismiss several", "Answer"):
        assert words in html


def test_who_is_not_logged_in_has_no_button_and_a_guest_no_page(operator: Operator) -> None:
    visit = operator.visit()._replace(login=None, path=f"/sessions/{THREAD}/decide")
    html = render_html(decide.page(visit), visit)
    main = html.partition("<main")[2].partition("</main>")[0]
    assert "/lab/sessions/" not in main
    assert "log in" in main
    with pytest.raises(RequestError):
        decide.page(visit._replace(guest_of=frozenset({THREAD})))


@pytest.mark.parametrize(("take", "claim"), [("0", NEW), ("1", LOST)])
def test_a_conflict_is_decided_by_a_change(operator: Operator, take: str, claim: str) -> None:
    """Either value ends it: the first one by confirming it."""
    assert conflicts(operator.workspace) == [("H1", "claim")]
    link = {"item": "H1", "field": "claim", "take": take}
    document = form(operator, CHANGE_ACTION, **link)
    assert document["fields"]["value"] == claim
    assert document["preview"]["valid"]
    operator.done(CHANGE_ACTION, {"item": "H1", "field": "claim", "value": claim})
    assert conflicts(operator.workspace) == []
    compile_thread(operator.workspace, THREAD, CompileOptions())
    history = load_status(operator.workspace, THREAD).history
    items = {item.id: item for _, item in history.state.artifact.all_items()}
    assert items["H1"].text("claim") == claim
    assert history.state.conflicts == ()


def test_both_authors_are_asked(operator: Operator) -> None:
    document = form(operator, REPLY_ACTION, item="H1", field="claim")
    assert document["chosen"] == [BEA, ANN]
    assert document["fields"]["subject"] == "QUESTION: H1 claim, which value?"
    assert NEW in document["fields"]["body"]
    assert LOST in document["fields"]["body"]
    fields = {**document["fields"], "to": BEA, "more": ANN}
    assert operator.done(REPLY_ACTION, fields).is_done


def test_lists_and_maps_are_changed_too(operator: Operator) -> None:
    form(operator, CHANGE_ACTION, item="H1", field="anchors")
    operator.done(CHANGE_ACTION, {"item": "H1", "field": "anchors", "value": "§1\n§2"})
    operator.done(CHANGE_ACTION, {"item": "P1", "field": "predictions.H1", "value": "it rises"})
    found = load_status(operator.workspace, THREAD).merged.state.artifact
    items = {item.id: item for _, item in found.all_items()}
    assert items["H1"].listed("anchors") == ("§1", "§2")
    assert items["P1"].mapped("predictions")["H1"] == "it rises"


def test_an_item_is_killed_with_a_reason(operator: Operator) -> None:
    kill = {"item": "H1", "operation": "KILL"}
    again = operator.again(CHANGE_ACTION, {**kill, "rationale": " "})
    assert [at for _, at in violations(again)] == ["rationale"]
    operator.done(CHANGE_ACTION, {**kill, "rationale": "T1 contradicts it."})
    found = load_status(operator.workspace, THREAD).merged.state.artifact
    item = next(item for _, item in found.all_items() if item.id == "H1")
    assert item.killed is not None
    assert item.killed.reason == "T1 contradicts it."
    with pytest.raises(RequestError):  # H2 was killed before
        acting.form_page(CHANGE_ACTION, operator.visit()._replace(query={"item": "H2"}))


def test_several_blocks_are_dismissed_with_one_reason(operator: Operator) -> None:
    again = operator.again(DISMISS_ACTION, {"block": "8.1"})
    assert violations(again) == [("FIELD_EMPTY", "reason")]
    both = Form([("block", "8.1"), ("block", "8.2"), ("reason", "They name no item.")])
    visit = operator.visit()._replace(form=both.with_field(KEY_FIELD, operator.login.once.key()))
    done = acting.submit(DISMISS_ACTION, visit)
    assert isinstance(done, ActionResult)
    assert done.says == "Dismissed block 8.1 and block 8.2."
    assert load_status(operator.workspace, THREAD).status.refusals == ()


def test_what_cannot_be_dismissed_says_how_far_it_came(operator: Operator) -> None:
    both = Form([("block", "8.1"), ("block", "1.1"), ("reason", "They name no item.")])
    visit = operator.visit()._replace(form=both.with_field(KEY_FIELD, operator.login.once.key()))
    done = acting.submit(DISMISS_ACTION, visit)
    assert isinstance(done, ActionResult)
    assert not done.is_done
    assert done.says.startswith("Dismissed 1 of 2.")


def test_a_result_without_an_answer_is_dismissed(operator: Operator) -> None:
    test = block(
        *("ADD", "discriminative_tests", None),
        name="Cut",
        procedure="Cut it",
        discriminates="H1 vs H3",
        expected_outcomes={"H1": "falls", "H3": "stays"},
    )
    contribute(operator.workspace, ANN, test, base="v2")
    compiled(operator.workspace)
    result = {"outcome": "it stays", "contradicts": ["H1"], "potency": "passed"}
    edited = block("EDIT", "discriminative_tests", "T1", results=[result])
    contribute(operator.workspace, ANN, edited, base="v3")
    (found,) = page(operator)[0]["unanswered"]
    assert (found["address"], found["field"], found["has_form"]) == ("H1/T1", "claim", True)
    operator.done(DISMISS_ACTION, {"item": "H1/T1", "reason": "The cut was too late."})
    assert load_status(operator.workspace, THREAD).status.unanswered == ()


def test_an_ended_session_asks_only_for_what_came_later(operator: Operator) -> None:
    operator.done(COMPLETE_ACTION, {"position": position(operator), "conclusion": "It is H3."})
    document, html = page(operator)
    assert (document["conflicts"], document["refused"], document["lint"]) == ([], [], [])
    assert "Keep this" not in html
    assert 'reopen=yes">Reopen with a new round</a>' in html


def test_completing_lists_what_stays_open(operator: Operator) -> None:
    found = form(operator, COMPLETE_ACTION)["open"]
    assert {"question", "refused", "conflict"} <= {each["kind"] for each in found}


def position(operator: Operator) -> str:
    return str(operator.workspace.mailbox.thread(THREAD).position)


def test_a_third_alternative_is_asked_for_between_rounds(tmp_path: Path) -> None:
    with new_workspace(tmp_path) as here:
        kickoff(here)
        contribute(here, ANN, add("Gradient"))
        assert not load_status(here, THREAD).status.lacks_third_alternative
        compiled(here)
        operator = Operator(here, THREAD)
        document, html = page(operator)
        assert document["session"]["phase"] == Phase.IN_CRITIQUE
        (found,) = document["third_alternative"]
        assert found["round"] == 2
        assert "Ask for one in round 2" in html
        contribute(here, BEA, add("Neither", third_alternative=True), base="v1")
        assert page(operator)[0]["third_alternative"] == []


def test_overdue_messages_are_sent_again(operator: Operator) -> None:
    workspace = operator.workspace
    asked = write(workspace, "Operator", "QUESTION: Which", QUESTION)
    key = operator.login.once.key()
    later = operator.visit()._replace(now=asked.at + timedelta(days=9))
    found = open_decisions(later.session, later).overdue
    assert found
    number = str(found[0].last_message_id)
    before = workspace.mailbox.position()
    nothing = acting.submit(REMIND_ACTION, later._replace(form=Form([(KEY_FIELD, key)])))
    assert isinstance(nothing, Page)
    assert workspace.mailbox.position() == before
    fields = Form([(KEY_FIELD, key), ("message", number)])
    done = acting.submit(REMIND_ACTION, later._replace(form=fields))
    assert isinstance(done, ActionResult)
    assert "again to" in done.says
    assert workspace.mailbox.position() == before + 1


def test_a_cancelled_session_is_reopened_by_its_kickoffs(tmp_path: Path) -> None:
    with new_workspace(tmp_path) as here:
        kickoff(here)
        operator = Operator(here, THREAD)
        assert form(operator, REOPEN_ACTION)["kickoffs"] == []
        operator.done(CANCEL_ACTION, {"reason": "Too late."})
        assert load_status(here, THREAD).status.phase is Phase.CANCELLED
        assert '/reopen">Reopen</a>' in page(operator)[1]
        assert len(form(operator, REOPEN_ACTION)["kickoffs"]) == 1
        operator.done(REOPEN_ACTION, {})
        assert load_status(here, THREAD).status.phase is Phase.AWAITING_ACKS


def test_saving_is_remembered(operator: Operator) -> None:
    """As the latest version was saved: here to its file, without git."""
    assert not form(operator, COMPILE_ACTION)["fields"]["persist"]
    first = form(operator, PERSIST_ACTION)["preview"]
    seen = {"version": str(first["version"]), "message": str(first["message_id"])}
    operator.done(PERSIST_ACTION, {**seen, "file": first["file"]})
    project = operator.workspace.project
    text = operator.visit().session.text
    assert persistence_of(project, THREAD, text).status == "Pending"
    fields = form(operator, COMPILE_ACTION)["fields"]
    assert (fields["persist"], fields["commit"]) == (True, False)
