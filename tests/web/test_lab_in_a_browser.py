"""The big actions of the lab in a real browser: double clicks, reloads, two tabs, keys only."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from brenner.mail.mailbox import Mailbox
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.identity import renew_secret
from effort import thorough
from web.browsing import DESKTOP, PHONE, THREAD, Show, Window, window

QUESTION = "Do ribosomes remember the phage?"
NEW = "ribosomes-remember-phage"
DELTA = """# Delta Contribution

**Base Version**: v2

```delta
{"operation": "EDIT", "section": "hypothesis_slate", "target_id": "H1",
 "payload": {"claim": "New ribosomes alone"}, "rationale": "A bound"}
```
"""


@pytest.fixture
def tabs(browser: Browser, lab: Show) -> Iterator[Window]:
    """The operator's window at the lab, logged in."""
    with window(browser, lab.base, DESKTOP) as opened:
        log_in(opened, lab)
        yield opened


def log_in(opened: Window, lab: Show) -> None:
    page = opened.open("/lab/login")
    page.get_by_label("Secret").fill(renew_secret(lab.mailbox, lab.project.operator))
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/lab")
    page.close()


def mail_of(mailbox: Mailbox, part: str) -> list[StoredMessage]:
    threads = [each.thread_id for each in mailbox.threads() if part in each.thread_id]
    return [stored for thread in threads for stored in mailbox.thread(thread).messages]


def contribute(mailbox: Mailbox, sender: str = "RedSky") -> StoredMessage:
    to = ("Operator",)
    return mailbox.send(Message(THREAD, sender, to, "DELTA[opus]: A bound", DELTA)).stored


@pytest.mark.thorough
def test_a_session_is_started_by_keys_alone_and_once(tabs: Window, lab: Show) -> None:
    page = tabs.open("/lab/start")
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_label("Context").fill("Two strains differ.")
    for number, name in ((1, "BlueLake"), (2, "Red Sky"), (3, "NewHand")):
        page.locator(f"[id='agent.{number}.name']").fill(name)
    expect(page.locator("#will")).to_have_text("Nothing can be sent yet: 1 error.")
    expect(page.locator("#at-agent-2-name")).to_contain_text("is not a valid agent name")
    page.get_by_role("link", name="Red Sky is not a valid agent name.").press("Enter")
    assert page.evaluate("document.activeElement.id") == "agent.2.name"
    page.locator("[id='agent.2.name']").fill("RedSky")
    expect(page.locator("#will")).to_contain_text("to BlueLake, RedSky and NewHand, and registers")
    expect(page.locator("#preview article")).to_have_count(3)
    page.locator("[id='agent.1.name']").press("Enter")  # looks, and sends nothing
    page.wait_for_url("**/preview")
    assert page.get_by_label("Question").input_value() == QUESTION
    assert mail_of(lab.mailbox, NEW) == []
    page.get_by_role("button", name="Add agent").press("Enter")
    page.wait_for_url("**/lab/start")
    assert page.evaluate("document.activeElement.id") == "agent.4.name"
    page.get_by_role("button", name="Remove agent 4").press("Enter")
    page.wait_for_load_state()
    page.get_by_role("button", name="Send kickoffs").dblclick()
    page.wait_for_url("**/lab/done/*")
    expect(page.locator("h1")).to_have_text("Done")
    page.reload()
    page.go_back()
    page.get_by_role("button", name="Send kickoffs").click()
    page.wait_for_url("**/lab/done/*")
    sent = mail_of(lab.mailbox, NEW)
    assert sorted(each.message.recipients for each in sent) == [
        ("BlueLake",),
        ("NewHand",),
        ("RedSky",),
    ]


@pytest.mark.thorough
def test_two_tabs_publish_one_version_and_what_came_is_shown(tabs: Window, lab: Show) -> None:
    before = len([each for each in mail_of(lab.mailbox, THREAD) if each.type == "COMPILED"])
    contribute(lab.mailbox)
    first, second = (tabs.open(f"/lab/sessions/{THREAD}/compile") for _ in range(2))
    expect(first.locator("#will")).to_contain_text("Publishes v3")
    late = contribute(lab.mailbox, "GreenDog")
    button = "Publish version"
    first.get_by_role("button", name=button).click()
    expect(first.locator("#came")).to_contain_text(f"message {late.id}")
    first.get_by_role("button", name=button).dblclick()
    first.wait_for_url("**/lab/done/*")
    second.get_by_role("button", name=button).click()
    expect(second.locator("#fault")).to_contain_text("COMPILED from Operator")
    expect(second.locator("#will")).to_contain_text("Nothing to compile")
    after = [each for each in mail_of(lab.mailbox, THREAD) if each.type == "COMPILED"]
    assert len(after) == before + 1
    tabs.forgive("409")


def test_boxes_change_the_preview_and_what_is_sent_is_the_preview(tabs: Window, lab: Show) -> None:
    contribute(lab.mailbox)
    page = tabs.open(f"/lab/sessions/{THREAD}/compile")
    contribute(lab.mailbox, "GreenDog")
    expect(page.get_by_label("Save to")).to_be_checked()  # as the latest version was saved
    page.get_by_label("Notify").check()
    position = page.locator("input[name=position]")
    expect(position).to_have_value(str(len(mail_of(lab.mailbox, THREAD))))
    page.get_by_role("button", name="Publish version").click()
    page.wait_for_url("**/lab/done/*")
    assert (lab.project.folder / "artifacts" / f"{THREAD}.md").exists()


@pytest.mark.thorough
def test_a_preview_that_comes_after_the_button_changes_nothing(tabs: Window, lab: Show) -> None:
    """She has ticked a box and pressed at once; the server is slow to answer."""
    contribute(lab.mailbox)
    page = tabs.open(f"/lab/sessions/{THREAD}/compile")
    shown = page.locator("input[name=position]").input_value()

    def slowly(route: Route) -> None:
        page.wait_for_timeout(2_000)
        route.continue_()

    page.route("**/health/liveness", slowly)
    page.get_by_label("Strict").check()
    page.get_by_role("button", name="Publish version").click()
    late = contribute(lab.mailbox, "GreenDog")
    expect(page.locator("#fault")).to_contain_text("PREVIEW_OVERTAKEN")
    expect(page.locator("#came")).to_contain_text(f"message {late.id}")
    assert int(page.locator("input[name=position]").input_value()) > int(shown)
    tabs.forgive("status of 409")


@pytest.mark.parametrize("size", [thorough(DESKTOP), PHONE], ids=["desktop", "phone"])
def test_no_form_scrolls_sideways(
    browser: Browser, lab: Show, size: tuple[int, int], tmp_path: Path
) -> None:
    contribute(lab.mailbox)
    with window(browser, lab.base, size) as opened:
        log_in(opened, lab)
        for name in ("compile", "persist", "round", "complete"):
            page = opened.open(f"/lab/sessions/{THREAD}/{name}")
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], name
            within = "getComputedStyle(document.getElementById('preview')).overflowY"
            assert page.evaluate(within) == "visible"  # it grows with the page
        page = opened.open("/lab/start")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_without_scripts_everything_works(browser: Browser, lab: Show) -> None:
    options = {"java_script_enabled": False}
    with Window(browser, lab.base, options) as opened:
        log_in(opened, lab)
        page = opened.open(f"/lab/sessions/{THREAD}/round")
        page.get_by_text("The same 3 agents as before").click()
        page.get_by_role("button", name="Remove agent 1").click()
        assert page.locator(".agent-row").count() == 2
        page.get_by_label("Focus").fill("The bound")
        page.get_by_role("button", name="Preview", exact=True).click()
        assert "The bound" in page.locator("#preview").inner_text()
        page.get_by_role("button", name="Send kickoffs").click()
        assert "Round 3 has begun. Sent 2 kickoffs" in page.locator("main").inner_text()
