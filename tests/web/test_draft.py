"""The working draft: what a compile would publish now, tinted and told in words."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from brenner.services.workspace import Workspace
from brenner.web import links
from brenner.web.request import PageFunction, Redirect
from brenner.web.views import artifact, evidence, overview
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff, new_workspace
from web.browsing import DESKTOP, PHONE, Show, show, window
from web.browsing import THREAD as SHOWN
from web.disputed import NEW, block, compiled, disputed, looked, outcomes, visit_to
from web.evening import contributes
from web.test_every_page import faults, sticks_out

LATER = "It is read for days"
_TABS = ("", "artifact", "evidence")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """After v2: an edit, a new hypothesis with its prediction, a rejected block."""
    workspace = disputed(tmp_path / "lab")
    wrong = block("EDIT", "hypothesis_slate", "H99", claim="Nothing")
    contribute(workspace, ANN, edit("H1", claim=LATER), wrong, base="v2")
    contribute(workspace, BEA, add("Clock"), outcomes(H1="it rises"), base="v2")
    return workspace


def shown(
    workspace: Workspace, function: PageFunction = artifact.page, item: str = "", **asked: str
) -> tuple[dict[str, Any], str]:
    given = {"thread": THREAD, "item": item}
    return looked(function, visit_to(workspace, f"/sessions/{THREAD}/artifact", given, asked))


def items(document: dict[str, Any]) -> dict[str, Any]:
    return {item["id"]: item for section in document["sections"] for item in section["items"]}


def claim(item: dict[str, Any]) -> dict[str, Any]:
    [field] = [each for each in item["fields"] if each["name"] == "claim"]
    return dict(field["entries"][0])


def test_the_published_version_leads_to_the_draft(workspace: Workspace) -> None:
    document, page = shown(workspace)
    assert (document["version"], document["draft"]) == (2, False)
    assert claim(items(document)["H1"])["value"] == NEW
    assert document["working_draft"]["link"].endswith("?draft=1")
    assert "3 blocks not published yet, 1 rejected" in page
    assert shown(workspace, version="1")[0]["working_draft"] is None


def test_the_draft_has_what_is_not_published_with_its_sources(workspace: Workspace) -> None:
    document, page = shown(workspace, draft="1")
    found = items(document)
    assert (document["version"], document["draft"], document["is_latest"]) == (None, True, True)
    changed = claim(found["H1"])
    assert (changed["value"], changed["agent"], changed["published"]) == (LATER, ANN, False)
    assert (found["H1"]["published"], found["H4"]["published"]) == (True, False)
    assert found["H3"]["published"]
    assert page.count("<strong>not published yet</strong> added:") == 2  # H4 and its prediction
    assert f'in <a class="id" href="/messages/{changed["message_id"]}">' in page
    assert "v3</span>, draft" not in page


def test_rejected_blocks_are_named_and_not_in_it(workspace: Workspace) -> None:
    document, page = shown(workspace, draft="1")
    [rejected] = document["working_draft"]["rejected"]
    assert (rejected["agent"], rejected["block"], rejected["code"]) == (ANN, 2, "INVALID_TARGET")
    assert "1 rejected block is not in it" in page
    assert "H99" not in items(document)


def test_links_keep_the_draft(workspace: Workspace) -> None:
    document, page = shown(workspace, draft="1")
    tabs = {each["name"]: each["link"] for each in document["session"]["tabs"]}
    assert all(each.endswith("?draft=1") for each in tabs.values())
    assert items(document)["H1"]["link"].endswith("/items/H1?draft=1")
    assert 'aria-current="page">Artifact' in page
    assert document["working_draft"]["link"] == f"/sessions/{THREAD}/artifact"


def test_a_removed_value_and_a_kill(workspace: Workspace) -> None:
    killed = block("KILL", "hypothesis_slate", "H1", reason="Nothing follows")
    gone = block("EDIT", "hypothesis_slate", "H3", anchors=["§2"], replace=True)
    contribute(workspace, BEA, gone, killed, base="v2")
    document, page = shown(workspace, draft="1")
    [removed] = items(document)["H3"]["removed"]
    assert (removed["agent"], removed["key"]) == (BEA, "§1")
    assert "removed Anchors §1 in" in page
    assert items(document)["H1"]["killed"]["entry"]["published"] is False


def test_the_page_of_an_item_that_is_only_in_the_draft(workspace: Workspace) -> None:
    there = {"thread": THREAD, "item": "H4"}
    away = artifact.item_page(visit_to(workspace, "/", there, {}))
    assert away == Redirect(f"/sessions/{THREAD}/items/H4?draft=1")
    document, page = shown(workspace, artifact.item_page, "H4", draft="1")
    assert document["item"]["published"] is False
    assert "not published yet" in page
    assert "Send a critique" not in page


def test_the_overview_and_the_evidence(workspace: Workspace) -> None:
    document, page = shown(workspace, overview.page, draft="1")
    assert document["draft"] is True
    lanes = {each["id"]: each["link"] for each in document["lanes"]["hypotheses"]}
    assert lanes["H4"] == f"/sessions/{THREAD}/items/H4?draft=1"
    assert "3 of 4 hypotheses alive" in document["state"]
    assert "Working draft, not published yet." in page
    document, page = shown(workspace, evidence.page, draft="1")
    marked = {each["id"]: bool(each["unpublished"]) for each in document["hypotheses"]}
    assert marked == {"H1": True, "H3": False, "H4": True, "H2": False}
    [column] = [each for each in document["columns"] if each["id"] == "P2"]
    assert [each["published"] for each in column["cells"]] == [False, True, True, False]
    assert "not published yet" in page
    plain = shown(workspace, evidence.page)[0]
    assert not any(each["unpublished"] for each in plain["hypotheses"])


def test_after_the_compile_nothing_waits(workspace: Workspace) -> None:
    compiled(workspace)
    document, page = shown(workspace, draft="1")
    assert (document["version"], document["draft"], document["working_draft"]) == (3, False, None)
    assert "No block waits for the next version" in page
    assert "not-published" not in page


def test_without_a_delta_there_is_no_draft(tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "lab")
    kickoff(workspace)
    document, _ = shown(workspace, draft="1")
    assert (document["draft"], document["working_draft"], document["sections"]) == (False, None, [])


def marked_show(served: Show) -> None:
    """Unpublished contributions of two agents, one of them with a rejected block."""
    wrong = {**add("Nothing"), "operation": "EDIT", "target_id": "H99"}
    contributes(served, SHOWN, "RedSky", edit("H1", claim=LATER), wrong, base="v2")
    contributes(served, SHOWN, "BlueLake", add("Memory", third_alternative=True), base="v2")


@pytest.mark.parametrize(("size", "is_dark"), [(DESKTOP, False), (PHONE, True)], ids=str)
def test_everybody_can_use_it(
    browser: Browser, tmp_path: Path, size: tuple[int, int], is_dark: bool
) -> None:
    """It fits, has enough contrast, and the switch has a key."""
    with show(tmp_path) as served, window(browser, served.base, size, is_dark=is_dark) as opened:
        marked_show(served)
        for path in (*(links.session(SHOWN, tab, draft=1) for tab in _TABS), _item("H1")):
            page = opened.open(path)
            expect(page.locator("#draft.on")).to_be_visible()
            assert [sticks_out(page), *faults(page)] == [""], path
            page.close()
        switched(opened.open(links.session(SHOWN, "artifact")))


def _item(item_id: str) -> str:
    return links.item(SHOWN, item_id, draft=1)


def switched(page: Page) -> None:
    """By key there and back; the tint is on paper in words."""
    page.keyboard.press("d")
    page.wait_for_url("**draft=1")
    page.emulate_media(media="print")
    expect(page.locator("#H1 .not-published").first).to_be_visible()
    page.emulate_media(media="screen")
    page.keyboard.press("d")
    page.wait_for_url("**/artifact")
