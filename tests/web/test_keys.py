"""Everything by keyboard, and the help sheet over any page."""

import pytest
from playwright.sync_api import Browser, Page, expect

from brenner.protocol.message_types import TYPES
from web.browsing import THREAD, Show, Window

SESSION = f"/sessions/{THREAD}"
TABS = ("overview", "artifact", "thread", "versions", "ledger", "evidence", "agents", "decide")


def sheet(page: Page) -> None:
    """The help sheet, opened by its key."""
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()


def test_the_sheet_opens_and_closes(browser_page: Window) -> None:
    """Over the page, which stays; Esc and `?` close it, and the focus is where it was."""
    page = browser_page.open("/connect")
    link = page.get_by_role("link", name="Sessions")
    link.focus()
    for closing in ("Escape", "?"):
        sheet(page)
        dialog = page.get_by_role("dialog", name="Help")
        expect(dialog.get_by_role("heading", name="Keys")).to_be_visible()
        expect(dialog).to_contain_text("report a blocker")
        page.keyboard.press(closing)
        expect(dialog).to_have_count(0)
        expect(link).to_be_focused()
    page.get_by_role("link", name="Help: ?").click()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.endswith("/connect")


def test_other_keys_rest_while_it_is_open(browser_page: Window) -> None:
    """Nothing happens behind it."""
    page = browser_page.open(SESSION)
    sheet(page)
    page.keyboard.press("2")
    page.keyboard.press("/")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.url.endswith(SESSION)


def test_find_and_home(browser_page: Window) -> None:
    """`/` opens the palette and types nothing; letters in a field are letters; Esc closes it."""
    page = browser_page.open(SESSION)
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Find or go to")
    expect(field).to_be_focused()
    page.keyboard.type("gh?2/")
    expect(field).to_have_value("gh?2/")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url("**/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sessions")


def test_tabs(browser_page: Window) -> None:
    """1 to 8; another number is nothing. From another page: who is there already waits for none."""
    page = browser_page.open(f"{SESSION}/agents")
    for number, tab in enumerate(TABS, 1):
        page.keyboard.press(str(number))
        place = "**" + (SESSION if number == 1 else f"{SESSION}/{tab}")
        page.wait_for_url(place)
    page.keyboard.press("9")
    assert page.url.endswith("decide")


def test_steps(browser_page: Window) -> None:
    """J and k lead from one place to the next and back, and not beyond the ends."""
    page = browser_page.open("/search?q=ribosome")
    page.locator("body").click(position={"x": 2, "y": 2})
    places = page.locator("[data-step]")
    assert places.count() > 2
    page.keyboard.press("j")
    expect(places.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(places.nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("k")
    expect(places.nth(0)).to_be_focused()
    for _ in range(places.count() + 1):
        page.keyboard.press("j")
    expect(places.last).to_be_focused()
    expect(places.last).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.wait_for_url("**/messages/*")


def test_who_set_what(browser_page: Window) -> None:
    """With p it is shown everywhere, or hidden; Esc closes a note, and the focus stays at it."""
    page = browser_page.open(f"{SESSION}/artifact")
    mark = page.locator("details.note summary").first
    mark.focus()
    page.keyboard.press("Enter")
    note = page.locator("details.note[open]")
    expect(note).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(note).to_have_count(0)
    expect(mark).to_be_focused()
    page.keyboard.press("p")
    page.wait_for_url("**provenance=1")
    page.keyboard.press("p")
    expect(page.locator("main.provenance")).to_have_count(0)


def test_keys_can_be_switched_off(browser_page: Window) -> None:
    """For this browser, until they are switched on again; the sheet opens by its link."""
    page = browser_page.open("/connect")
    sheet(page)
    box = page.get_by_role("checkbox", name="Enable these keys")
    expect(box).to_be_checked()
    box.uncheck()
    page.keyboard.press("Escape")
    for path in ("/connect", SESSION):
        page.goto(path)
        for key in ("/", "2", "?"):
            page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert page.url.endswith(path)
    page.goto("/help")
    page.get_by_role("checkbox", name="Enable these keys").check()
    page.goto("/connect")
    sheet(page)


@pytest.mark.parametrize("held", ["Control", "Meta", "Alt"])
def test_the_browsers_own_keys_are_its_own(browser_page: Window, held: str) -> None:
    """With a key held down a letter means something else."""
    page = browser_page.open(SESSION)
    page.keyboard.press(f"{held}+2")
    page.keyboard.press("/")
    expect(page.get_by_role("dialog", name="Find or go to")).to_be_visible()
    assert page.url.endswith(SESSION)


def test_without_scripts(browser: Browser, site: Show) -> None:
    """The sheet is a page; the switch that would do nothing is not shown."""
    with Window(browser, site.base, {"java_script_enabled": False}) as opened:
        page = opened.open("/connect")
        page.get_by_role("link", name="Help: ?").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Help")
        expect(page.get_by_role("checkbox")).to_have_count(0)


def test_all_types_are_explained(site: Show) -> None:
    """With what each is for, and whether it wants an ACK."""
    told = site.server.ask("GET", "/help?format=json").document["types"]
    assert {each["type"]: (each["purpose"], each["ack_required"]) for each in told} == {
        each.name: (each.purpose, each.ack_required) for each in TYPES.values()
    }
