"""The palette in a browser: by keys, by mouse, by finger, with hostile names, and for guests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from session.workspaces import add
from web.browsing import DESKTOP, PHONE, THREAD, Show, Window, show, window
from web.hostile import LINES, MARK
from web.lineage import FIRST, SECOND, THIRD, lineage, session
from web.test_every_page import faults, sticks_out

NAME = "Find or go to"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Show]:
    """The demo's session, and three that come from each other."""
    with show(tmp_path_factory.mktemp("palette")) as site:
        lineage(site.server.workspace)
        yield site


@pytest.fixture
def opened(browser: Browser, served: Show) -> Iterator[Window]:
    with window(browser, served.base) as found:
        yield found


def palette(page: Page) -> Locator:
    """It is open, and its entries are there."""
    dialog = page.get_by_role("dialog", name=NAME)
    expect(dialog.get_by_role("option").first).to_be_visible()
    return dialog


def chosen(dialog: Locator) -> Locator:
    """The option that Enter takes, as assistive programs learn it."""
    field = dialog.get_by_role("combobox")
    name = field.get_attribute("aria-activedescendant")
    found = dialog.locator(f"#{name}")
    expect(found).to_have_attribute("aria-selected", "true")
    expect(dialog.locator("[aria-selected=true]")).to_have_count(1)
    return found


@pytest.mark.parametrize("key", ["/", "Control+k", "Meta+k"])
def test_keys_open_it_and_esc_closes_it(opened: Window, key: str) -> None:
    """The focus is in the field meanwhile, and then where it was."""
    page = opened.open(f"/sessions/{SECOND}/artifact")
    link = page.locator(".tabs a").nth(1)
    link.focus()
    page.keyboard.press(key)
    dialog = palette(page)
    expect(dialog.get_by_role("combobox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(link).to_be_focused()
    page.keyboard.press(key)
    palette(page)
    page.keyboard.press("Control+k")
    expect(dialog).to_have_count(0)


def test_ctrl_k_works_in_a_field(opened: Window) -> None:
    """A slash is a letter there."""
    page = opened.open("/search")
    page.locator("#query").focus()
    page.keyboard.type("/")
    expect(page.locator("#query")).to_have_value("/")
    page.keyboard.press("Control+k")
    palette(page)


def test_the_focus_stays_inside(opened: Window) -> None:
    page = opened.open("/connect")
    page.keyboard.press("/")
    dialog = palette(page)
    for _ in range(6):
        page.keyboard.press("Tab")
        inside = (
            "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
        assert page.evaluate(inside)
    expect(dialog).to_be_visible()


def test_typing_arrows_and_enter(opened: Window) -> None:
    """An item by words of its name, in any case, without accents; the arrows go round."""
    page = opened.open("/")
    page.keyboard.press("/")
    dialog = palette(page)
    page.keyboard.type("RELÁYED cell")
    expect(chosen(dialog)).to_contain_text("It is relayed from cell to cell")
    page.keyboard.press("ArrowDown")
    expect(chosen(dialog)).to_contain_text("Search for")
    page.keyboard.press("ArrowDown")
    expect(chosen(dialog)).to_contain_text("It is relayed")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/sessions/{SECOND}/items/H2")


def test_the_item_of_this_session_comes_first(opened: Window) -> None:
    page = opened.open(f"/sessions/{FIRST}/thread")
    page.keyboard.press("/")
    dialog = palette(page)
    page.keyboard.type("h2")
    expect(chosen(dialog)).to_contain_text("Lineage alone")
    expect(chosen(dialog)).to_contain_text("killed")
    expect(chosen(dialog).locator("s")).to_have_text("Lineage alone")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/sessions/{FIRST}/items/H2")


def test_what_is_not_offered_is_searched(opened: Window) -> None:
    page = opened.open("/")
    page.keyboard.press("/")
    dialog = palette(page)
    page.keyboard.type("morphogen & more")
    expect(dialog.get_by_role("option")).to_have_count(1)
    expect(dialog.get_by_role("status")).to_contain_text("Nothing matches")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=morphogen**")
    expect(page.locator("#query")).to_have_value("morphogen & more")


def test_tabs_agents_and_actions_of_the_page(opened: Window) -> None:
    page = opened.open(f"/sessions/{SECOND}/artifact")
    page.keyboard.press("/")
    dialog = palette(page)
    for word, shown in (("evid", "Evidence"), ("bluel", "BlueLake"), ("who wrote", "Show or hide")):
        dialog.get_by_role("combobox").fill(word)
        expect(chosen(dialog)).to_contain_text(shown)
    page.keyboard.press("Enter")
    page.wait_for_url("**provenance=1")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=str)
@pytest.mark.parametrize("is_dark", [False, True])
def test_by_mouse_and_by_finger(
    browser: Browser, served: Show, size: tuple[int, int], *, is_dark: bool
) -> None:
    """The button opens it; an option, the backdrop and Close do what they say. It is accessible."""
    with window(browser, served.base, size, is_dark=is_dark) as found:
        page = found.open(f"/sessions/{THREAD}/thread")
        button = page.get_by_role("button", name=NAME)
        act = button.tap if size == PHONE else button.click
        act()
        dialog = palette(page)
        assert faults(page) == []
        assert sticks_out(page) == ""
        for option in dialog.get_by_role("option").all():
            box = option.bounding_box()
            assert box
            assert box["height"] >= (44 if size == PHONE else 24)
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).to_have_count(0)
        act()
        option = palette(page).get_by_role("option", name="Genealogy")
        option.tap() if size == PHONE else option.click()
        page.wait_for_url("**/genealogy")
        expect(page.get_by_role("heading", level=1)).to_have_text("Genealogy")


def test_beside_it_closes_it(opened: Window) -> None:
    page = opened.open("/connect")
    page.get_by_role("button", name=NAME).click()
    dialog = palette(page)
    page.mouse.click(10, 400)
    expect(dialog).to_have_count(0)


def test_the_search_field_is_there_without_scripts(browser: Browser, served: Show) -> None:
    with Window(browser, served.base, {"java_script_enabled": False}) as found:
        page = found.open("/connect")
        expect(page.get_by_role("button", name=NAME)).to_have_count(0)
        field = page.get_by_role("searchbox", name="Search items and messages")
        field.fill("relayed")
        field.press("Enter")
        page.wait_for_url("**/search?q=relayed")
        expect(page.get_by_role("heading", name="Items")).to_be_visible()
        page.goto(f"/sessions/{THIRD}/palette")
        page.get_by_role("link", name="Nobody reads it").click()
        page.wait_for_url(f"**/sessions/{THIRD}/items/H3")


def test_a_failure_is_told(opened: Window, served: Show) -> None:
    page = opened.open("/connect")
    page.route("**/palette", lambda route: route.fulfill(status=503, body="away"))
    page.keyboard.press("/")
    status = page.get_by_role("dialog", name=NAME).get_by_role("status")
    expect(status).to_contain_text("Cannot load")
    opened.forgive("503")


def test_hostile_names(browser: Browser, tmp_path: Path) -> None:
    """Names are text in the palette, in the search and in the picture."""
    with show(tmp_path) as served:
        some = [each for each in LINES if len(each) < 200][:30]
        first, second = "RS-20260201-hostile", "RS-20260202-hostile-too"
        workspace = served.server.workspace
        session(workspace, first, some[0], tuple(add(each) for each in some))
        back = [
            add(each, references=[{"session": first, "item": "H1", "relation": "refines"}])
            for each in some
        ]
        session(workspace, second, some[1], tuple(back))
        with window(browser, served.base) as found:
            for path in ("/genealogy", f"/sessions/{first}/items/H1", "/search?q=script"):
                page = found.open(path)
                page.keyboard.press("/")
                dialog = palette(page)
                dialog.get_by_role("combobox").fill("h")
                expect(dialog.get_by_role("option").first).to_be_visible()
                assert page.evaluate(f"window.{MARK}") is None
                assert page.locator("dialog img, dialog script, svg script, svg img").count() == 0
                assert sticks_out(page) == ""
