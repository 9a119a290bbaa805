"""The frame of a session's pages says what the status says, and stays small."""

import json
from pathlib import Path
from typing import Any

import pytest

from brenner.persist.git import persistence_of
from brenner.services.workspace import Workspace
from brenner.session.status_text import PHASE_LABELS
from brenner.web.cache import TTLCache
from brenner.web.layout import session_document
from brenner.web.sessions import Session
from brenner.web.views import artifact
from brenner.web.views import project as agents
from brenner.web.views import thread as message
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace, write
from web.disputed import block, compiled, disputed, looked, opened, visit_to


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return disputed(tmp_path / "lab")


def frame(workspace: Workspace) -> dict[str, Any]:
    return dict(session_document(visit_to(workspace, f"/sessions/{THREAD}", {"thread": THREAD})))


def page_of(workspace: Workspace) -> str:
    return looked(artifact.page, visit_to(workspace, f"/sessions/{THREAD}", {"thread": THREAD}))[1]


def test_the_card_is_that_of_the_publish_document(workspace: Workspace) -> None:
    card = frame(workspace)["card"]
    assert card["version"] == 2
    assert card["statistics"] == {
        "Research Thread": 1,
        "Hypotheses": 2,
        "Predictions": 1,
        "Tests": 0,
        "Assumptions": 0,
        "Anomalies": 0,
        "Critiques": 1,
    }
    assert (card["schema"], card["valid"], card["third_alternative"]) == ("PASS", False, "Present")
    assert card["conflicts"] == 1
    assert card["persistence"]["status"] == "Draft"
    assert card["since"] == []
    counts = {each["name"]: (each["items"], each["deltas"]) for each in card["contributors"]}
    assert counts == {"Operator": (1, 0), ANN: (5, 2), BEA: (3, 1)}


def test_the_operator_s_own_deltas_count(workspace: Workspace) -> None:
    contribute(workspace, "Operator", add("Hers"))
    compiled(workspace)
    found = {each["name"]: each for each in frame(workspace)["card"]["contributors"]}
    assert (found["Operator"]["items"], found["Operator"]["deltas"]) == (2, 1)
    visit = visit_to(workspace, f"/sessions/{THREAD}/agents", {"thread": THREAD})
    rows = {each["name"]: each["deltas"] for each in looked(agents.agents_page, visit)[0]["agents"]}
    assert rows == {ANN: 2, BEA: 1, "Operator": 1}


def test_the_card_says_what_has_arrived_since(workspace: Workspace) -> None:
    for name in ("a", "b", "c"):
        contribute(workspace, ANN, add(name))
    contribute(workspace, BEA, block("EDIT", "hypothesis_slate", "H9", claim="c"))
    assert frame(workspace)["card"]["since"] == [
        "4 deltas have arrived since",
        "3 blocks would apply",
    ]
    assert "4 deltas have arrived since</a>, 3 blocks would apply." in page_of(workspace)


def test_a_missing_third_alternative_is_said(workspace: Workspace) -> None:
    kill = block("KILL", "hypothesis_slate", "H3", reason="r")
    contribute(workspace, ANN, kill, base="v2")
    compiled(workspace)
    assert frame(workspace)["card"]["third_alternative"] == "MISSING"
    assert '<strong class="attention">MISSING</strong>' in page_of(workspace)


def test_persistence_is_read_from_the_file_not_remembered_for_long(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = visit_to(workspace, "/", {"thread": THREAD}).session
    assert status(session) == "Draft"
    file = workspace.project.folder / session.persistence.path
    file.parent.mkdir(exist_ok=True)
    file.write_text(session.text)
    assert persistence_of(workspace.project, THREAD, session.text).status == "Pending"
    assert status(session) == "Draft"
    monkeypatch.setattr(TTLCache, "seconds", 0)
    assert status(session) == "Pending"


def status(session: Session) -> str:
    return session.persistence.status


def test_the_text_is_that_of_the_latest_version(workspace: Workspace) -> None:
    session = visit_to(workspace, "/", {"thread": THREAD}).session
    assert session.latest is not None
    assert session.text == session.latest.text


def test_the_rail_has_the_rounds_in_the_order_of_the_mail(workspace: Workspace) -> None:
    rounds = frame(workspace)["rail"]["rounds"]
    assert [(each["round"], each["version"]) for each in rounds] == [(1, 1), (2, 2)]
    steps = [(each["type"], each["count"], each["agents"]) for each in rounds[1]["steps"]]
    assert steps == [
        ("CRITIQUE", 1, [BEA]),
        ("DELTA", 2, [ANN, BEA]),
        ("COMPILED", 1, ["Operator"]),
    ]
    write(workspace, ANN, "Hello", "No type.")
    last = frame(workspace)["rail"]["rounds"][-1]
    assert (last["round"], last["current"], last["steps"][0]["type"]) == (3, True, None)


def test_a_long_round_is_counted_by_type_and_many_rounds_are_cut(workspace: Workspace) -> None:
    for _ in range(12):
        write(workspace, ANN, "INFO: News", "# Info\n\nNews.\n")
        contribute(workspace, ANN)
    counted = frame(workspace)["rail"]["rounds"][-1]["steps"]
    assert {each["type"]: each["count"] for each in counted} == {"INFO": 12, "DELTA": 12}
    for number in range(8):
        edit = block("EDIT", "hypothesis_slate", "H1", mechanism=f"m{number}")
        contribute(workspace, ANN, edit)
        compiled(workspace)
    rail = frame(workspace)["rail"]
    assert len(rail["rounds"]) == 8
    assert rail["earlier"]["count"] == 2
    assert "2 earlier rounds" in page_of(workspace)


def test_turns_and_the_next_step_are_those_of_the_terminal(tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "lab")
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    document = frame(workspace)
    assert document["stands"] == f"round 1, {PHASE_LABELS[visit_status(workspace)]}"
    assert [(each["name"], each["text"]) for each in document["turns"]] == [
        (BEA, "owes an ACK for 1 min"),
        (ANN, "1 delta: 1 applies"),
    ]
    assert document["waits"] == f"Waiting for {BEA}"
    assert document["card"] is None
    compiled(workspace)
    assert frame(workspace)["stands"] == "between rounds 1 and 2"


def visit_status(workspace: Workspace) -> Any:
    return visit_to(workspace, "/", {"thread": THREAD}).session.status.phase


def test_tabs_have_counts_and_say_where_one_is(workspace: Workspace) -> None:
    tabs = {each["name"]: each["count"] for each in frame(workspace)["tabs"]}
    assert tabs == {
        "overview": None,
        "artifact": sum(frame(workspace)["card"]["statistics"].values()),
        "thread": 7,
        "versions": 2,
        "ledger": None,
        "evidence": None,
        "agents": 2,
        "decide": 3,
    }
    here = f'<a href="/sessions/{THREAD}/artifact" data-tab="2" aria-current="page">'
    visit = visit_to(workspace, f"/sessions/{THREAD}/artifact", {"thread": THREAD})
    assert here in looked(artifact.page, visit)[1]


def test_a_message_stands_in_the_thread(workspace: Workspace) -> None:
    page = looked(message.message_page, visit_to(workspace, "/messages/1", {"message": "1"}))[1]
    assert 'data-tab="3" aria-current="true">Thread' in page


def test_what_needs_the_operator_stands_first(workspace: Workspace) -> None:
    question = "# Question\n\n## Question\nWhich <b>embryo</b>?\n\n## Context\nTwo.\n"
    write(workspace, ANN, "QUESTION: Which", question)
    page = page_of(workspace)
    assert ">BlueLake asks: Which &lt;b&gt;embryo&lt;/b&gt;?</a></li>" in page
    assert page.index('id="head"') < page.index('id="rail"') < page.index('id="card"')
    assert page.index('id="card"') < page.index('id="main"')


def test_long_lists_are_cut_and_say_so(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "lab")
    wrong = [block("EDIT", "hypothesis_slate", f"H{n}", claim="c") for n in range(10, 90)]
    contribute(workspace, ANN, *wrong)
    document = frame(workspace)
    assert len(document["refusals"]) == 50
    assert document["cut"] == {"refusals": 80}
    json.dumps(document)
