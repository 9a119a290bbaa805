"""Folds that load, the theme, provenance in place, and buttons that copy: in a browser."""

from playwright.sync_api import Browser, expect

from brenner.protocol.messages import Message
from web.browsing import DESKTOP, PHONE, THREAD, Show, Window, window

SESSION = f"/sessions/{THREAD}"
_PAPER = "getComputedStyle(document.body).backgroundColor"
_LIGHT, _DARK = "rgb(253, 252, 250)", "rgb(23, 22, 20)"


def test_an_older_round_is_loaded(browser_page: Window) -> None:
    """When its line is opened; without scripts the line has a link."""
    page = browser_page.open(f"{SESSION}/thread")
    expect(page.locator("#m19")).to_be_visible()
    assert page.locator("#m1").count() == 0
    page.locator("#fold-1 > summary").click()
    expect(page.locator("#fold-1 #m1")).to_be_visible()
    expect(page.locator("#fold-1").get_by_role("link", name="Messages of round 1")).to_have_count(0)


def test_a_round_without_scripts(browser: Browser, site: Show) -> None:
    with Window(browser, site.base, {"java_script_enabled": False}) as plain:
        there = plain.open(f"{SESSION}/thread")
        there.locator("#fold-1 > summary").click()
        there.get_by_role("link", name="Messages of round 1").click()
        expect(there.locator("#m1")).to_be_visible()


def test_what_was_loaded_survives_news(browser: Browser, lab: Show) -> None:
    """A page that updates itself keeps an open round."""
    with window(browser, lab.base) as opened:
        page = opened.open(f"{SESSION}/thread")
        page.locator("#fold-1 > summary").click()
        expect(page.locator("#fold-1 #m1")).to_be_visible()
        lab.mailbox.send(Message(THREAD, "BlueLake", ("Operator",), "INFO: Something new", ""))
        expect(page.get_by_text("Something new")).to_be_visible()
        expect(page.locator("#fold-1 #m1")).to_be_visible()


def test_a_text_is_one_click_away(browser_page: Window) -> None:
    page = browser_page.open(f"{SESSION}/thread?round=1")
    page.locator("#m10-text > summary").click()
    expect(page.locator("#m10-block-1")).to_be_visible()


def test_an_old_link_to_a_folded_message(browser_page: Window) -> None:
    """The fragment alone is enough."""
    page = browser_page.open(f"{SESSION}/thread#m3")
    page.wait_for_url("**/thread?round=1#m3")
    expect(page.locator("#m3")).to_be_visible()


def test_theme(browser: Browser, site: Show) -> None:
    """As the system has it; a choice is remembered, and is there before anything is painted."""
    with window(browser, site.base, is_dark=True) as opened:
        page = opened.open("/connect")
        assert page.evaluate(_PAPER) == _DARK
        page.get_by_label("Theme").select_option("light")
        assert page.evaluate(_PAPER) == _LIGHT
        other = opened.open(SESSION)
        assert other.evaluate(_PAPER) == _LIGHT
        expect(other.get_by_label("Theme")).to_have_value("light")
        other.get_by_label("Theme").select_option("")
        assert other.evaluate(_PAPER) == _DARK
        expect(page.get_by_label("Theme")).to_have_value("")


def test_provenance_keeps_the_place(browser_page: Window) -> None:
    """The key changes the page, not where one reads."""
    page = browser_page.open(f"{SESSION}/artifact")
    page.evaluate("document.getElementById('T1').scrollIntoView()")
    top = "document.getElementById('T1').getBoundingClientRect().top"
    before = page.evaluate(top)
    page.keyboard.press("p")
    assert page.url.endswith("?provenance=1")
    assert abs(page.evaluate(top) - before) <= 1
    expect(page.locator("#main")).to_have_class("reading artifact provenance")
    expect(page.locator("#provenance")).to_have_text("Hide provenance")
    page.keyboard.press("p")
    assert page.url.endswith("/artifact")
    assert abs(page.evaluate(top) - before) <= 1


def test_a_command_is_copied(browser: Browser, site: Show) -> None:
    options = {"permissions": ["clipboard-read", "clipboard-write"]}
    with Window(browser, site.base, options) as opened:
        page = opened.open("/connect")
        command = page.locator(".clients pre").first.inner_text()
        page.get_by_role("button", name="Copy").first.click()
        expect(page.get_by_role("button", name="Copy").first).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == command.strip()


def test_one_banner_and_headings_in_order(browser: Browser, site: Show) -> None:
    """No level of headings is left out, and the first one is the page's."""
    with window(browser, site.base) as opened:
        for tab in ("artifact", "thread", "versions", "ledger", "evidence", "agents", "diff"):
            page = opened.open(f"{SESSION}/{tab}")
            assert page.get_by_role("banner").count() == 1
            levels = page.evaluate(
                "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')]"
                ".map(each => Number(each.tagName[1]))"
            )
            steps = zip([0, *levels], levels, strict=False)
            assert all(after <= before + 1 for before, after in steps), tab
            page.close()


def test_key_hints_are_for_keyboards(browser: Browser, site: Show) -> None:
    """A tablet may have one; a phone has none."""
    for size, is_shown in ((DESKTOP, True), ((1024, 768), True), (PHONE, False)):
        viewport = {"width": size[0], "height": size[1]}
        options = {"viewport": viewport, "has_touch": size != DESKTOP, "is_mobile": size != DESKTOP}
        with Window(browser, site.base, options) as opened:
            hint = opened.open("/connect").locator(".by-keys")
            expect(hint).to_be_visible(visible=is_shown)
