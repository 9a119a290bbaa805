"""What is typed into a form of the lab stays while the server is away, and is sent afterwards."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from brenner.services.identity import renew_secret
from serving.running import inside
from web.browsing import LAB, THREAD, Show, Window, show, window

LETTER = "# Info\n\nAn hour's work.\n"
REPLY = f"/lab/sessions/{THREAD}/reply"
SUBJECT = "INFO: Worth keeping"


def log_in(opened: Window, lab: Show) -> None:
    page = opened.open("/lab/login")
    page.get_by_label("Secret").fill(renew_secret(lab.mailbox, lab.project.operator))
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/lab")
    page.close()


def write(page: Page) -> None:
    page.get_by_label("BlueLake").check()
    page.get_by_label("Subject").fill(SUBJECT)
    page.get_by_label("Text").fill(LETTER)


@pytest.mark.thorough
def test_a_letter_outlives_a_server_that_is_away(browser: Browser, tmp_path: Path) -> None:
    """It is held back, with the words beside the button; then it is shown whole, or sent."""
    with show(tmp_path, settings=LAB) as lab, window(browser, lab.base) as opened:
        log_in(opened, lab)
        page = opened.open(REPLY)
        connection = page.locator("#connection")
        expect(connection).to_have_text("Connected")
        write(page)
        expect(page.locator("#preview")).to_contain_text("An hour's work.")
        lab.server.running.stop()
        expect(connection).to_have_text(
            re.compile(r"Not connected since \d\d:\d\d: what you typed stays here")
        )
        send = page.get_by_role("button", name="Send")
        send.focus()
        send.press("Enter")
        expect(page.locator(".held")).to_contain_text("Not sent: the server does not respond.")
        assert page.evaluate("document.activeElement.textContent") == "Send it"
        page.get_by_label("Text").fill(f"{LETTER}More.\n")
        expect(page.locator("#preview")).to_contain_text(
            "There is no preview now: the server does not answer."
        )
        assert page.get_by_label("Subject").input_value() == SUBJECT
        settings = LAB._replace(port=lab.server.port)
        with inside(lab.mailbox, lab.project, settings):
            expect(connection).to_have_text(re.compile("Connected"), timeout=15_000)
            expect(page.locator(".held")).to_have_text("Reconnected. You can send the form now.")
            # The login has ended with the server: that is said where the preview was.
            expect(page.locator("#preview")).to_contain_text("NOT_LOGGED_IN")
            send.click()  # and everything that was typed is there to be kept
            expect(page.locator("h1")).to_have_text("Your text")
            assert "More." in page.locator("main").inner_html()
        page.close()
        opened.forgive("ERR_", "htmx:error", "console error: Failed to load resource")


@pytest.mark.thorough
def test_a_form_is_watched_and_never_changed(browser: Browser, lab: Show) -> None:
    with window(browser, lab.base) as opened:
        log_in(opened, lab)
        page = opened.open(REPLY)
        expect(page.locator("#connection")).to_have_text("Connected")
        write(page)
        page.evaluate("window.was = document.getElementById('body')")
        sent = lab.mailbox.message(1).message._replace(thread_id=THREAD)
        lab.mailbox.send(sent)
        page.get_by_role("button", name="Send").dblclick()
        page.wait_for_url("**/lab/done/*")
        subjects = [each.message.subject for each in lab.mailbox.thread(THREAD).messages]
        assert subjects.count(SUBJECT) == 1
