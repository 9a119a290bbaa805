"""What needs the operator leads somewhere; what to do next is a form where there is one."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import RequestError
from brenner.server.app import site_of
from brenner.server.settings import ServeSettings
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.web.lab.login import Login
from brenner.web.rendering import render_html
from brenner.web.request import RequestContext
from brenner.web.responses import error_page
from brenner.web.views import artifact, evidence, project, versions
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace, write
from web.browsing import PHONE, Show, window
from web.browsing import THREAD as SHOWN
from web.disputed import block, compiled, disputed, looked, visit_to

HERE = f"/sessions/{THREAD}"
QUESTION = "# Question\n\n## Question\nWhich?\n\n## Context\nTwo.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return disputed(tmp_path / "lab")


@pytest.fixture
def begun(tmp_path: Path) -> Workspace:
    """Before the first version."""
    made = new_workspace(tmp_path / "lab")
    kickoff(made)
    return made


def visit(workspace: Workspace, path: str = HERE) -> RequestContext:
    return visit_to(workspace, path, {"thread": THREAD})


def in_the_lab(workspace: Workspace, path: str = HERE) -> RequestContext:
    """The operator, logged in."""
    site = site_of(workspace, ServeSettings(is_lab=True))
    return visit(workspace, path)._replace(site=site, login=Login("Operator", "digest"))


def needs(workspace: Workspace) -> dict[str, str]:
    """What each thing leads to."""
    document: Any = looked(artifact.page, visit(workspace))[0]["session"]
    return {each["kind"]: each["link"] for each in document["attention"]}


def test_what_needs_her_leads_there(workspace: Workspace) -> None:
    asked = write(workspace, ANN, "QUESTION: Which", QUESTION).id
    contribute(workspace, BEA, block("EDIT", "hypothesis_slate", "H9", claim="c"))
    found = needs(workspace)
    assert found["question"] == f"{HERE}/thread?round=3#m{asked}"
    assert found["refused"] == f"{HERE}/ledger?outcome=refused"
    assert found["critique"] == f"{HERE}/artifact?section=adversarial_critique"
    write(workspace, BEA, "QUESTION: And which", QUESTION)
    assert needs(workspace)["question"] == f"{HERE}/thread?type=QUESTION"


def test_what_is_ready_leads_to_the_form_or_to_the_blocks(begun: Workspace) -> None:
    for each in (ANN, BEA):
        contribute(begun, each, add(f"Of {each}"))
    assert needs(begun)["ready"] == f"{HERE}/ledger?version=unread"
    page = looked(artifact.page, in_the_lab(begun))[1]
    form = f'href="/lab/sessions/{THREAD}/compile"'
    assert f"<a {form}>v1 is ready to compile" in page
    assert f'<a class="button primary" {form}>Compile</a>' in page
    assert f"<code>brenner compile {THREAD}</code>" in page


def test_the_forms_of_the_next_round(begun: Workspace) -> None:
    for each in (ANN, BEA):
        contribute(begun, each, add(f"Of {each}"))
    compiled(begun)
    step: Any = looked(artifact.page, in_the_lab(begun))[0]["session"]
    assert [each["link"] for each in step["next_step"]["forms"]] == [
        f"/lab/sessions/{THREAD}/round",
        f"/lab/sessions/{THREAD}/complete",
    ]


def test_a_question_is_answered_in_a_form(workspace: Workspace) -> None:
    asked = write(workspace, ANN, "QUESTION: Which", QUESTION).id
    document, page = looked(artifact.page, in_the_lab(workspace))
    assert document["session"]["next_step"]["aim"] == f"answer the QUESTION from {ANN}"
    assert f'href="/lab/sessions/{THREAD}/reply?message={asked}">Reply</a>' in page


def test_no_command_where_there_is_nothing_to_do(begun: Workspace) -> None:
    """The page is live, and there is nothing to compile."""
    for page in (artifact.page, versions.page, evidence.page):
        text = looked(page, visit(begun))[1]
        assert "brenner session watch" not in text
        assert "brenner compile" not in text
        assert "appear here by themselves" in text


def test_guests_are_told_of_no_command(workspace: Workspace, begun: Workspace) -> None:
    contribute(workspace, BEA, block("EDIT", "hypothesis_slate", "H9", claim="c"))
    for each in (workspace, begun):
        for page in (
            artifact.page,
            versions.page,
            evidence.page,
            versions.ledger_page,
            project.agents_page,
        ):
            guest = visit(each)._replace(guest_of=frozenset({THREAD}))
            assert "brenner " not in looked(page, guest)[1].replace("brenner ledger", "")


def test_guests_are_offered_no_closed_page(workspace: Workspace) -> None:
    guest = visit(workspace, "/help")._replace(guest_of=frozenset({THREAD}))
    keys = [each["keys"] for each in looked(project.help_page, guest)[0]["keys"]]
    assert ("/",) not in keys
    assert ("g", "h") not in keys
    assert ("?",) in keys
    refused = error_page(RequestError(codes.NO_SUCH_PAGE.at(path="/x")))
    text = render_html(refused, guest)
    assert "All sessions" not in text
    assert "Search messages" not in text
    assert "data-help" in text
    assert "data-help" not in render_html(refused, guest._replace(guest_of=frozenset()))


def test_how_to_dismiss_a_refused_block(workspace: Workspace) -> None:
    """All that is wrong with it is in its fold; the row says how much there is."""
    wrong = {**add("Three"), "section": "hypothesis", "target_id": "H1", "operation": "PUT"}
    number = contribute(workspace, BEA, wrong).id
    document, page = looked(versions.ledger_page, visit(workspace))
    entry = document["groups"][0]["entries"][0]
    assert f"<code>brenner session dismiss {THREAD} {number}.1</code>" in page
    count = len(entry["violations"])
    assert count > 1
    assert f'<span class="quiet">and {count - 1} more</span>' in page
    fold = page.partition(f'id="why-{number}-1"')[2].partition("</details>")[0]
    assert fold.count('class="diagnostic') == count


def test_a_phone_has_the_card_in_a_line_but_at_the_artifact(workspace: Workspace) -> None:
    assert '<aside id="card" class="card"' in looked(artifact.page, visit(workspace))[1]
    page = looked(versions.ledger_page, visit(workspace, f"{HERE}/ledger"))[1]
    assert '<aside id="card" class="card in-a-line"' in page
    assert '<p class="glance">' in page


@pytest.mark.thorough
def test_on_a_phone_the_page_comes_before_long(browser: Browser, site: Show) -> None:
    """One line of the card, and the open tab in sight."""
    with window(browser, site.base, PHONE) as opened:
        page = opened.open(f"/sessions/{SHOWN}/agents")
        assert page.locator(".glance").is_visible()
        assert page.locator("#card section").filter(visible=True).count() == 0
        tab = page.locator(".tabs [aria-current]").bounding_box()
        assert tab is not None
        assert tab["x"] + tab["width"] <= PHONE[0]
        page.goto(f"{site.base}/sessions/{SHOWN}")
        assert page.locator("#card .statistics").is_visible()


def test_actions_that_cannot_be_done_say_why(begun: Workspace) -> None:
    """Before the first version; and an acknowledgement only if one is owed."""
    _, page = looked(artifact.page, in_the_lab(begun))
    actions = page.partition('aria-label="Lab"')[2].partition("</nav>")[0]
    assert "Persist Artifact: no version yet" in actions
    assert "Start next round: no version yet" in actions
    assert "Cancel session</a>" in actions
    assert "Acknowledge" not in actions
    write(begun, ANN, "QUESTION: Which", QUESTION)
    assert "Acknowledge</a>" in looked(artifact.page, in_the_lab(begun))[1]


def test_an_ended_session_offers_to_reopen(workspace: Workspace) -> None:
    assert "Compile: nothing new to compile" in looked(artifact.page, in_the_lab(workspace))[1]
    compile_thread(workspace, THREAD, CompileOptions(close=True))
    _, page = looked(artifact.page, in_the_lab(workspace))
    actions = page.partition('aria-label="Lab"')[2].partition("</nav>")[0]
    assert f'href="/lab/sessions/{THREAD}/round?reopen=yes">Reopen with a new round</a>' in actions
    assert not re.search("Complete|Cancel|Compile|critique", actions)
