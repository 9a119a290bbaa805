"""A visit by keys alone: nobody points at anything, and the focus can be seen wherever it is."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from brenner.web import links
from web.browsing import THREAD, Show, Window, window
from web.evening import Evening, asks, new_secret
from web.input_devices import Keys, walk, without_a_mouse


@pytest.fixture
def opened(browser: Browser, lab: Show) -> Iterator[Window]:
    """A window without a mouse."""
    with window(browser, lab.base) as found:
        without_a_mouse(found)
        yield found


@pytest.mark.thorough
def test_reading(lab: Show, opened: Window) -> None:
    """From the list to a session, through its pages, to who set a field, to the help and back."""
    page = opened.open(links.HOME)
    keys = page.keyboard
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    keys.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    keys.press("j")
    expect(page.get_by_role("link", name=THREAD)).to_be_focused()
    keys.press("Enter")
    page.wait_for_url(f"**{links.session(THREAD)}")
    for number, tab in enumerate(links.TABS, 1):
        keys.press(str(number))
        page.wait_for_url(f"**{links.session(THREAD, tab if number > 1 else '')}")
        expect(page.locator(f"[data-tab='{number}']")).to_have_attribute("aria-current", "page")
        steps(page)
    keys.press("2")
    page.wait_for_url(f"**{links.session(THREAD, 'artifact')}")
    reads_a_note(page)
    keys.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def steps(page: Page) -> None:
    """To what there is to read on a page: the second of it, and back to the first."""
    places = page.locator("[data-step]:visible")
    assert places.count() > 1, page.url
    for key, number in (("j", 0), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(places.nth(number)).to_be_focused()
        expect(places.nth(number)).to_be_in_viewport()


def reads_a_note(page: Page) -> None:
    """Who set a field, and in which message; the note is a place that the tabulator comes to."""
    note = page.locator("details.note").first
    walk(note.locator("summary"))
    page.keyboard.press("Enter")
    expect(note.locator(".about")).to_be_visible()
    page.keyboard.press("Tab")
    assert note.evaluate("each => each.contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(note.locator(".about")).to_be_hidden()
    expect(note.locator("summary")).to_be_focused()


@pytest.mark.thorough
def test_replying(lab: Show, opened: Window) -> None:
    """Somebody asks; the operator logs in, replies, and the reply is sent, once, with its ACK."""
    question = asks(lab, THREAD, "BlueLake", "Which strain?")
    evening = Evening(lab, opened.open(links.message(question.id)), Keys(), is_audited=False)
    page = evening.page
    evening.press(evening.link("Lab", ".masthead"))
    evening.shows(new_secret(lab))
    evening.press(evening.link("Reply", ".owed"))
    expect(page.locator("h1")).to_have_text(f"Reply to message {question.id}")
    evening.hand.write(evening.field("Text"), "It is T4D: 1, 2, j?")
    expect(page.locator("#preview")).to_contain_text("It is T4D: 1, 2, j?")
    before = lab.mailbox.position()
    evening.does("Send it")
    reply, ack = evening.of(THREAD)[-2:]
    assert lab.mailbox.position() == before + 2
    assert (reply.reply_to, reply.message.body) == (question.id, "It is T4D: 1, 2, j?\n")
    assert ack.acknowledges == (question.id,)
    evening.press(page.get_by_role("button", name="Log out"))
    expect(page.get_by_role("button", name="Log out")).to_have_count(0)
