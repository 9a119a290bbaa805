"""The picture of references, for the project and for one item, and the same as a table."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from brenner.services.workspace import Workspace
from brenner.web.views import artifact, genealogy
from session.workspaces import add, new_workspace
from web.browsing import DESKTOP, PHONE, Show, show, window
from web.disputed import looked, visit_to
from web.lineage import FIRST, GONE, SECOND, THIRD, lineage, lineage_in, names_in, session, to
from web.test_every_page import faults, sticks_out


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = lineage_in(tmp_path / "lab")
    yield made
    made.mailbox.close()


def shown(workspace: Workspace, **asked: str) -> tuple[dict[str, Any], str]:
    return looked(genealogy.page, visit_to(workspace, "/genealogy", {}, asked))


def item(
    workspace: Workspace, thread_id: str, item_id: str, guest_of: frozenset[str] | None = None
) -> tuple[dict[str, Any], str]:
    path = f"/sessions/{thread_id}/items/{item_id}"
    visit = visit_to(workspace, path, {"thread": thread_id, "item": item_id})
    return looked(artifact.item_page, visit._replace(guest_of=guest_of))


def boxes(picture: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["session"], each["item"]): each for each in picture["boxes"]}


def test_the_whole_project(workspace: Workspace) -> None:
    """Each item is a link with its name; killed and unknown ones say so; each line its relation."""
    document, page = shown(workspace)
    picture = document["picture"]
    assert [each["thread_id"] for each in picture["sessions"]] == [GONE, FIRST, SECOND, THIRD]
    assert len(picture["lines"]) == document["total"] == len(document["references"]) == 8
    found = boxes(picture)
    assert found[FIRST, "H2"]["status_words"] == "killed"
    assert found[GONE, "H4"]["link"] is None
    assert found[SECOND, "H1"]["name"] == "The gradient reaches ten cells"
    for (thread_id, name), box in found.items():
        link = f'href="/sessions/{thread_id}/items/{name}"'
        assert (link in page) == (box["link"] is not None)
    assert page.count('class="line"') == 8
    assert ">supersedes</text>" in page
    assert re.search(r'<a class="node killed" href="[^"]+/items/H2">', page)
    assert "9 items of 4 sessions, 8 references" in page


def test_one_item(workspace: Workspace) -> None:
    """Its ancestors and descendants, in any number of steps, and not its cousins."""
    document, page = item(workspace, SECOND, "H1")
    found = boxes(document["genealogy"])
    assert set(found) == {(FIRST, "H1"), (SECOND, "H1"), (THIRD, "H1"), (THIRD, "H3")}
    assert [key for key, box in found.items() if box["is_start"]] == [(SECOND, "H1")]
    assert 'aria-current="true"' in page
    assert {each["relation"] for each in document["genealogy"]["references"]} == {
        *("refines", "extends", "refutes")
    }
    assert item(workspace, FIRST, "H3")[0]["genealogy"] is None


def test_a_guest_sees_nothing_of_other_sessions(workspace: Workspace) -> None:
    """Neither in the picture nor in its table; references of the item itself are its text."""
    document, page = item(workspace, SECOND, "H1", frozenset({SECOND}))
    assert document["genealogy"] is None
    assert "who-reads-the-gradient" not in page
    document, page = item(workspace, THIRD, "H1", frozenset({THIRD}))
    assert set(boxes(document["genealogy"])) == {(THIRD, "H1"), (THIRD, "H3")}
    assert "ten cells" not in page
    assert "/genealogy" not in page.partition("<main")[2]


def test_nothing_yet(tmp_path: Path) -> None:
    made = new_workspace(tmp_path / "lab")
    document, page = shown(made)
    assert (document["picture"], document["references"]) == (None, [])
    assert "No item refers to another one yet" in page
    made.mailbox.close()


def test_a_large_project_is_drawn_in_part(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The latest sessions; the table has all, page by page."""
    monkeypatch.setattr(genealogy, "_MAX_BOXES", 4)
    monkeypatch.setattr(genealogy, "_REFERENCES_PER_PAGE", 3)
    document, page = shown(workspace)
    assert len(document["picture"]["boxes"]) == 4
    assert document["left_out"] == 5
    assert {each["session"] for each in document["picture"]["boxes"]} == {SECOND, THIRD}
    assert "5 items of older ones are only in the table" in page
    seen = [each for number in "123" for each in shown(workspace, page=number)[0]["references"]]
    assert len(seen) == document["total"] == 8


def test_a_large_family_is_drawn_in_part(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(genealogy, "_MAX_BOXES_OF_ITEM", 2)
    document, page = item(workspace, SECOND, "H1")
    assert set(boxes(document["genealogy"])) == {(SECOND, "H1"), (FIRST, "H1")}
    assert "2 items further away are not drawn" in page


def test_names_are_text(workspace: Workspace) -> None:
    names_in(workspace)
    refers = [to(FIRST, "H1", "refines")]
    hostile = (add("</text><script>x</script>", references=refers), add("<b>", references=refers))
    session(workspace, "RS-20260202-hostile", "<svg onload=x>?", hostile)
    for page in (shown(workspace)[1], item(workspace, FIRST, "H1")[1]):
        assert "</text><script" not in page
        assert "&lt;/text&gt;&lt;script&gt;" in page


# In a browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Show]:
    with show(tmp_path_factory.mktemp("genealogy")) as site:
        lineage(site.server.workspace)
        yield site


@pytest.mark.parametrize("path", ["/genealogy", f"/sessions/{THIRD}/items/H1"])
@pytest.mark.parametrize(("size", "is_dark"), [(DESKTOP, False), (PHONE, True)], ids=str)
def test_seen(
    browser: Browser, served: Show, path: str, size: tuple[int, int], *, is_dark: bool
) -> None:
    """It scrolls in its own box, nothing is smaller than a finger, and the table says the same."""
    with window(browser, served.base, size, is_dark=is_dark) as opened:
        page = opened.open(path)
        assert sticks_out(page) == ""
        assert faults(page) == []
        for box in page.locator(".genealogy a.node").all():
            found = box.bounding_box()
            assert found
            assert min(found["height"], found["width"]) >= 24
        newest = page.locator(".genealogy .is-start, .genealogy .node").last
        expect(newest).to_be_visible()
        page.locator("details:has(table.references) summary").click()
        assert page.locator("table.references tbody tr").count() >= 4
        assert faults(page) == []


def test_the_item_of_the_page_is_in_view(browser: Browser, served: Show) -> None:
    with window(browser, served.base, PHONE) as opened:
        page = opened.open(f"/sessions/{THIRD}/items/H1")
        start = page.locator(".genealogy .is-start .box")
        start.scroll_into_view_if_needed()
        box = start.bounding_box()
        assert box
        assert 0 <= box["x"] < PHONE[0] / 2
        page.locator(".genealogy .is-start").focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/sessions/{THIRD}/items/H1")


def test_from_home_and_back(browser: Browser, served: Show) -> None:
    with window(browser, served.base) as opened:
        page = opened.open("/")
        page.get_by_role("link", name="Genealogy", exact=True).click()
        page.wait_for_url("**/genealogy")
        page.locator(".genealogy a.node.killed").first.click()
        page.wait_for_url(f"**/sessions/{FIRST}/items/H2")
