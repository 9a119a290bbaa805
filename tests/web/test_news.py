"""News is seen: how much is new, what changed, the title, notifications, and open forms."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from brenner.web import links
from brenner.web.request import Redirect
from brenner.web.views import news
from session.workspaces import THREAD as SESSION
from session.workspaces import edit
from web.browsing import LAB, PHONE, THREAD, Show, Window, show, window
from web.evening import Evening, asks, contributes, new_secret
from web.input_devices import Mouse
from web.test_every_page import faults, sticks_out
from web.test_last_visit import START
from web.test_live import AGENTS, is_live, note
from web.versions_workspace import a_session, a_visit, shown

_HIDE = """(isHidden) => {
  Object.defineProperty(document, "hidden", {configurable: true, get: () => isHidden});
  document.dispatchEvent(new Event("visibilitychange"));
}"""
# A browser without a window shows none, so that they are collected.
_NOTIFICATIONS = """() => {
  window.shown = [];
  window.asked = 0;
  window.Notification = class extends EventTarget {
    static permission = "default";
    static async requestPermission() {
      window.asked += 1;
      return (Notification.permission = "granted");
    }
    constructor(title, options) { super(); window.shown.push([title, options.body]); }
  };
}"""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Show]:
    """The demo's session with the lab, in a folder of its own: mail comes in."""
    with show(tmp_path, settings=LAB) as served:
        yield served


@pytest.fixture
def opened(browser: Browser, stage: Show) -> Iterator[Window]:
    with window(browser, stage.base) as found:
        yield found


def test_what_is_new_for_this_browser(tmp_path: Path) -> None:
    """Since the last visit, until it is marked as seen; the versions are not touched by that."""
    workspace = a_session(tmp_path)
    seconds = int(START.timestamp())
    assert shown(news.page, a_visit(workspace))[0]["count"] == 0
    look = f"3.{seconds}.3.{seconds}"
    document, page = shown(news.page, a_visit(workspace, cookie=look, after="5"))
    arrivals = [each.arrival for each in a_visit(workspace).session.messages]
    assert document["count"] == sum(each > 3 for each in arrivals)
    assert document["arrived_count"] == sum(each > 5 for each in arrivals)
    assert document["position"] == max(arrivals)
    assert f"{document['count']} messages have arrived" in page
    visit = a_visit(workspace, cookie=look, seen=str(document["position"]), go="1")
    answer = news.page(visit)
    assert isinstance(answer, Redirect)
    assert answer.to.endswith(f"#m{document['messages'][0]['message_id']}")
    (cookie,) = answer.cookies
    assert cookie.path == links.session(SESSION)
    cookies = {"look": look, cookie.name: cookie.value}
    seen = a_visit(workspace)._replace(cookies=cookies)
    assert shown(news.page, seen)[0]["count"] == 0
    assert shown(news.page, seen)[0]["look"]["changed"] == document["look"]["changed"]
    for strange in ("", "x", "9" * 40, "-1"):
        other = a_visit(workspace)._replace(cookies={"look": look, "news": strange})
        assert shown(news.page, other)[0]["count"] == document["count"]


def test_the_way_to_the_news(stage: Show, opened: Window) -> None:
    """On every tab; by key or click to the first new message; then it is seen."""
    page = opened.open(AGENTS)
    is_live(page)
    expect(page.locator("#since")).to_be_hidden()
    first = note(stage)
    asks(stage, THREAD, "BlueLake", "Which strain?")
    expect(page.locator("#since .jump")).to_have_text("2 new since you looked")
    assert [sticks_out(page), *faults(page)] == [""]
    for tab in ("", "artifact", "evidence", "ledger"):
        page.goto(links.session(THREAD, tab))
        expect(page.locator("#since .jump")).to_have_text("2 new since you looked")
    page.keyboard.press("n")
    page.wait_for_url(f"**#m{first}")
    is_live(page)
    expect(page.locator("#since")).to_be_hidden()
    note(stage)
    expect(page.locator("#since .jump")).to_have_text("1 new since you looked")
    page.get_by_role("button", name="Mark as seen").click()
    expect(page.locator("#since")).to_be_hidden()


def test_what_changed_is_tinted_for_a_moment(browser: Browser, stage: Show) -> None:
    """What stays the same is not; without movement, if the reader wants none."""
    with window(browser, stage.base, PHONE) as opened:
        page = opened.context.new_page()
        page.emulate_media(reduced_motion="reduce")
        page.goto(links.session(THREAD, "thread"))
        is_live(page)
        page.evaluate(
            """() => document.addEventListener("brenner:refreshed", () => {
              window.fresh = [...document.querySelectorAll(".fresh")].map((each) => [
                each.id, getComputedStyle(each).animationName,
              ]);
            })"""
        )
        number = note(stage)
        expect(page.locator(f"#m{number}")).to_be_visible()
        tinted = dict(page.evaluate("() => window.fresh"))
        assert tinted[f"m{number}"] == "none"
        assert f"m{number - 1}" not in tinted
        expect(page.locator(".fresh")).to_have_count(0)


def test_a_hidden_page_counts_in_its_title_and_notifies(stage: Show, opened: Window) -> None:
    """Permission is asked for with the button only; an INFO is no reason to notify."""
    page = opened.context.new_page()
    page.add_init_script(f"({_NOTIFICATIONS})()")
    page.goto(AGENTS)
    is_live(page)
    title = page.title()
    assert page.evaluate("() => window.asked") == 0
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_role("button", name="Notifications on")).to_have_attribute(
        "aria-pressed", "true"
    )
    with page.expect_response("**/news?format=json*"):
        page.evaluate(_HIDE, True)
    note(stage)
    asks(stage, THREAD, "BlueLake", "Which strain?")
    expect(page).to_have_title(re.compile(r"^\(2\) "), timeout=40_000)
    assert page.evaluate("() => window.shown") == [["QUESTION from BlueLake", THREAD]]
    page.evaluate(_HIDE, False)
    expect(page).to_have_title(title)
    page.get_by_role("button", name="Notifications on").click()
    expect(page.get_by_role("button", name="Notify me")).to_be_visible()


def operator_page(stage: Show, opened: Window, action: str) -> Page:
    evening = Evening(stage, opened.context.new_page(), Mouse(), is_audited=False)
    evening.log_in(new_secret(stage))
    evening.page.goto(links.lab(action, THREAD))
    expect(evening.page.locator("#connection")).to_have_text("Connected")
    return evening.page


def test_an_open_form_follows_the_mail(stage: Show, opened: Window) -> None:
    """Its preview includes the delta; what was typed, the caret and the focus stay."""
    page = operator_page(stage, opened, "complete")
    typed = page.get_by_label("Conclusion")
    typed.press_sequentially("Half a sent")
    page.evaluate("() => document.activeElement.setSelectionRange(2, 5)")
    contributes(stage, THREAD, "GreenDog", edit("H3", claim="Another"), base="v2")
    words = re.compile(r"DELTA from GreenDog arrived at \d\d:\d\d. The preview is up to date")
    expect(page.locator("#arrived")).to_have_text(words)
    expect(page.locator("#preview")).to_contain_text("1 new message since you opened this form")
    assert typed.input_value() == "Half a sent"
    where = "() => [document.activeElement.id, document.activeElement.selectionStart]"
    assert page.evaluate(where) == ["conclusion", 2]
    assert [sticks_out(page), *faults(page)] == [""]


def test_the_button_of_the_form_keeps_the_focus(stage: Show, opened: Window) -> None:
    """The preview replaces it."""
    page = operator_page(stage, opened, "compile")
    page.locator("#send").focus()
    contributes(stage, THREAD, "GreenDog", edit("H3", claim="Another"), base="v2")
    expect(page.locator("#arrived")).to_contain_text("DELTA from GreenDog")
    expect(page.locator("#send")).to_be_focused()
