"""Everybody can use the pages of the lab, and those at the door of a server with a token."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from brenner.web import links
from brenner.web import request as guests
from session.workspaces import add, edit
from web.browsing import DESKTOP, LAB, PHONE, THREAD, Show, Window, show, window
from web.evening import Evening, asks, contributes, new_secret
from web.input_devices import Finger, Mouse

TOKEN = "s3cret-of-the-endpoint"  # noqa: S105  (made up)
SETTINGS = LAB._replace(token=TOKEN)
_NOT_FOR_GUESTS = "a[href^='/lab'], a[href='/'], form[method=post], form[role=search]"
LOOKS = [("sqlite", DESKTOP, True), ("postgresql", PHONE, False)]


@pytest.mark.thorough
@pytest.mark.parametrize(("home", "size", "is_dark"), LOOKS, ids=["dark desktop", "light phone"])
def test_pages(
    browser: Browser, tmp_path: Path, home: str, size: tuple[int, int], is_dark: bool
) -> None:
    """As the evening does not see them: the desk in the dark, the phone in the light."""
    hand = Finger() if size == PHONE else Mouse()
    with show(tmp_path, home, SETTINGS) as served:
        with window(browser, served.base, size, is_dark=is_dark) as opened:
            evening = Evening(served, opened.context.new_page(), hand)
            enters(evening)
            evening.log_in(new_secret(served))
            for path in forms(served):
                evening.page.goto(path)
                expect(evening.page.locator("#action")).to_have_count(1)
                evening.looks()
            is_logged_out_meanwhile(evening, opened)
            opened.forgive("status of 401")
        with window(browser, served.base, size, is_dark=is_dark) as opened:
            comes_by_a_link(Evening(served, opened.context.new_page(), hand))


def enters(evening: Evening) -> None:
    """With the token, after a wrong one."""
    page = evening.page
    page.goto(links.session(THREAD))
    expect(page.locator("h1")).to_have_text("Log in")
    evening.looks()
    token = page.get_by_label("Access token")
    evening.hand.write(token, "wrong")
    evening.press(evening.button("Log in"))
    expect(page.locator("#fault")).to_be_visible()
    evening.looks()
    evening.hand.write(token, TOKEN)
    evening.press(evening.button("Log in"))
    page.wait_for_url(f"**{links.session(THREAD)}")


def forms(served: Show) -> list[str]:
    """Every form, with as much in it as there can be: refused blocks, a conflict, what is owed."""
    refused = {**add("Nothing"), "operation": "EDIT", "target_id": "H99"}
    contributes(served, THREAD, "RedSky", edit("H1", claim="New ones"), refused, base="v2")
    contributes(served, THREAD, "GreenDog", edit("H1", claim="Old ones"), base="v2")
    question = asks(served, THREAD, "BlueLake", "Which strain?")
    named = ("compile", "complete", "persist", "round", "critique", "reply", "acknowledge")
    return [
        links.lab("start"),
        *(links.lab(name, THREAD) for name in named),
        links.lab("critique", THREAD, item="H1"),
        links.session(THREAD, "decide"),
        *(links.lab(name, THREAD) for name in ("dismiss", "remind", "reopen", "cancel")),
        links.lab("change", THREAD, item="H1", field="claim"),
        links.lab("change", THREAD, item="H2", operation="KILL"),
        *(links.lab(name, THREAD, message=question.id) for name in ("reply", "acknowledge")),
    ]


def is_logged_out_meanwhile(evening: Evening, opened: Window) -> None:
    """In another tab: nothing is sent, and nothing that was typed is lost."""
    page, before = evening.page, evening.served.mailbox.position()
    page.goto(links.lab("reply", THREAD))
    evening.hand.write(evening.field("Subject"), "INFO: To all")
    evening.hand.write(evening.field("Text"), "A text to keep.")
    other = evening._replace(page=opened.open(links.LAB))
    other.looks()
    other.press(other.page.get_by_role("button", name="Log out"))
    evening.press(evening.button("Send it"))
    expect(page.locator("h1")).to_have_text("Your text")
    expect(page.get_by_label("body")).to_have_value("A text to keep.")
    evening.looks()
    assert evening.served.mailbox.position() == before


def comes_by_a_link(evening: Evening) -> None:
    """A guest reads one session, on all its pages, and is offered nothing else."""
    page = evening.page
    page.goto(
        f"{links.GUEST}/{guests.guest_link(TOKEN, THREAD, datetime.now(UTC) + timedelta(days=7))}"
    )
    page.wait_for_url(f"**{links.session(THREAD)}")
    for number in range(1, len(links.TABS) + 1):
        evening.press(page.locator(f"[data-tab='{number}']"))
        expect(page.locator("h1")).to_have_count(1)
        evening.looks()
        assert page.locator(_NOT_FOR_GUESTS).count() == 0
