"""A page that is looked at while mail comes in: it changes in place and tells of it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from brenner.protocol.messages import Message, relative_time
from brenner.web import links
from mail.sample_mail import post
from serving.running import inside
from web.browsing import DESKTOP, SETTINGS, THREAD, Show, Window, show, window

AGENTS = links.session(THREAD, "agents")
_HOUR, _DAY = 3600, 24 * 3600
AGES = (
    *(-2 * _DAY, -_HOUR, -20, 5, 70, 59 * 60, _HOUR + 5, 23 * _HOUR, _DAY + 5),
    *(2 * _DAY - 90, 2 * _DAY + 5, 13 * _DAY, 14 * _DAY - 90, 14 * _DAY + 5, 400 * _DAY),
)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Show]:
    """The demo's session, in a folder of its own: mail comes in."""
    with show(tmp_path) as served:
        yield served


@pytest.fixture
def opened(browser: Browser, stage: Show) -> Iterator[Window]:
    """A window at it."""
    with window(browser, stage.base) as found:
        yield found


def note(stage: Show, sender: str = "BlueLake") -> int:
    """Somebody writes to the session."""
    to = (stage.project.operator,)
    return post(stage.mailbox, Message(THREAD, sender, to, "INFO: News", "# Info\n\nNews.\n")).id


def is_live(page: Page) -> None:
    expect(page.locator("#connection")).to_have_text("Live")


def test_news_appears_in_place(stage: Show, opened: Window) -> None:
    """Focus, selection, scrolling and what is folded open stay; it is told in words."""
    page = opened.open(AGENTS)
    is_live(page)
    tab = page.locator("[data-tab='3']")
    before = int(tab.locator(".count").inner_text())
    page.evaluate(
        """() => {
          window.was = document.getElementById("main");
          const first = window.was.querySelector("h1");
          const range = document.createRange();
          range.selectNodeContents(first);
          getSelection().removeAllRanges();
          getSelection().addRange(range);
          for (const each of document.querySelectorAll("details")) each.open = true;
          document.querySelector("[data-tab='6']").focus();
          scrollTo(0, 200);
        }"""
    )
    kept = "() => [getSelection().toString(), scrollY, document.activeElement.dataset.tab]"
    then = page.evaluate(kept)
    note(stage)
    expect(tab.locator(".count")).to_have_text(str(before + 1))
    expect(page.locator("#news")).to_have_text(re.compile(r"INFO from BlueLake, \d\d:\d\d"))
    assert page.evaluate(kept) == then
    assert page.evaluate("() => window.was === document.getElementById('main')")
    assert page.evaluate("() => [...document.querySelectorAll('details')].every(each => each.open)")


@pytest.mark.thorough
def test_pages_that_are_not_of_that_thread(stage: Show, opened: Window) -> None:
    """The list of sessions hears of all; a page that is not live of nothing."""
    home = opened.open("/")
    is_live(home)
    connect = opened.open("/connect")
    expect(connect.locator("#connection")).to_have_text("")
    note(stage)
    home.bring_to_front()
    expect(home.locator("#news")).to_contain_text("INFO from BlueLake")


@pytest.mark.thorough
def test_nothing_beside_the_connection_moves(opened: Window) -> None:
    """The search stands at the same place, whether a page is live or not."""
    live, still = opened.open(AGENTS), opened.open("/connect")
    live.bring_to_front()
    is_live(live)
    places = [page.locator("[data-palette]").bounding_box() for page in (live, still)]
    assert places[0] == places[1]


@pytest.mark.thorough
def test_a_lost_connection(browser: Browser, tmp_path: Path) -> None:
    """It is said since when, and that it is back; what came in meanwhile is there then."""
    with show(tmp_path) as stage:
        port, mailbox = stage.server.port, stage.mailbox
        with window(browser, stage.base) as opened:
            page = opened.open(AGENTS)
            is_live(page)
            before = int(page.locator("[data-tab='3'] .count").inner_text())
            stage.server.running.stop()
            lost = re.compile(r"Not connected since \d\d:\d\d: trying again")
            expect(page.locator("#connection")).to_have_text(lost)
            expect(page.locator("#connection")).to_have_class(re.compile("lost"))
            note(stage)
            with inside(mailbox, stage.project, SETTINGS._replace(port=port)):
                expect(page.locator("#connection")).to_have_text("Reconnected", timeout=15_000)
                count = page.locator("[data-tab='3'] .count")
                expect(count).to_have_text(str(before + 1), timeout=15_000)
                is_live(page)
            page.close()
            opened.forgive("ERR_", "console error: Failed to load resource")


@pytest.mark.thorough
def test_a_hidden_page_catches_up(stage: Show, opened: Window) -> None:
    """It has no connection while nobody sees it, and all the news when somebody does."""
    page = opened.open(AGENTS)
    is_live(page)
    before = int(page.locator("[data-tab='3'] .count").inner_text())
    hide = """(isHidden) => {
      Object.defineProperty(document, "hidden", {configurable: true, get: () => isHidden});
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    for _ in range(3):
        note(stage)
    page.evaluate(hide, False)
    expect(page.locator("[data-tab='3'] .count")).to_have_text(str(before + 3))
    expect(page.locator("#news")).to_contain_text("3 messages. The last: INFO from BlueLake")


def test_names_are_text(stage: Show, opened: Window) -> None:
    """Whatever an agent is called, the page only says it."""
    page = opened.open(AGENTS)
    is_live(page)
    page.evaluate("() => document.getElementById('news').textContent = ''")
    note(stage)
    expect(page.locator("#news")).to_contain_text("INFO from BlueLake")
    assert page.locator("#news").evaluate("each => each.children.length") == 0


def test_times_stay_true(stage: Show, opened: Window) -> None:
    """With the words of the server, whatever time has gone by."""
    page = opened.context.new_page()
    page.clock.install()
    page.goto(AGENTS)
    page.evaluate(
        """() => {
          const time = document.createElement("time");
          time.dateTime = new Date().toISOString();
          time.dataset.ago = "";
          time.id = "probe";
          document.body.append(time);
        }"""
    )
    said = []
    for minutes in (1, 4, 60, 60 * 24 * 3, 60 * 24 * 20):
        page.clock.fast_forward(minutes * 60_000)
        said.append(page.locator("#probe").inner_text())
    assert said[:4] == ["1 min ago", "5 min ago", "1 h ago", "3 d ago"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", said[4])


@pytest.mark.thorough
def test_times_have_the_words_of_the_server(opened: Window) -> None:
    """On both sides of each of its bounds; the seconds in between are for slow machines."""
    page = opened.open(AGENTS)
    now = datetime.now(UTC)
    told = page.evaluate(
        """instants => instants.map(each => {
          const time = document.createElement("time");
          time.dateTime = each;
          time.dataset.ago = "";
          time.className = "probe";
          document.body.append(time);
        })""",
        [(now - timedelta(seconds=each)).isoformat() for each in AGES],
    )
    assert len(told) == len(AGES)
    expect(page.locator(".probe").last).not_to_be_empty(timeout=60_000)
    said = page.locator(".probe").all_inner_texts()
    since = datetime.now(UTC) - now
    early = [relative_time(now - timedelta(seconds=each), now) for each in AGES]
    late = [relative_time(now - timedelta(seconds=each), now + since) for each in AGES]
    told_now = zip(said, early, late, strict=True)
    assert [shown for shown, *words in told_now if shown not in words] == []


@pytest.mark.thorough
def test_two_windows(browser: Browser, stage: Show) -> None:
    with window(browser, stage.base) as one, window(browser, stage.base, DESKTOP) as two:
        pages = [one.open(AGENTS), two.open(links.session(THREAD))]
        for page in pages:
            is_live(page)
        note(stage)
        for page in pages:
            expect(page.locator("#news")).to_contain_text("INFO from BlueLake")
