"""Two people at once: what one does the other sees, and what both do is done once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from brenner.web import links
from session.workspaces import edit
from web.browsing import DESKTOP, LAB, PHONE, THREAD, Show, Window, show, window
from web.evening import Evening, asks, contributes, new_secret
from web.input_devices import Finger, Mouse

CLAIM = "New ribosomes alone"
# Of one moment in both browsers, as far as there is such a thing
_PRESS = "() => { setTimeout(() => document.querySelector('#action .primary').click(), 50); }"
_HERE = "() => [window.isTheSame, document.activeElement.closest('details')?.id]"


@pytest.fixture(params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Show]:
    """The demo's session in lab mode, wherever its mail lives."""
    with show(tmp_path, request.param, LAB) as found:
        yield found


@pytest.fixture
def windows(browser: Browser, served: Show) -> Iterator[tuple[Window, Window]]:
    """One at a desk, one on a phone."""
    with (
        window(browser, served.base, DESKTOP) as one,
        window(browser, served.base, PHONE, is_dark=True) as other,
    ):
        yield one, other


def operators(served: Show, windows: tuple[Window, Window]) -> list[Evening]:
    """Both logged in, as one operator may be at two machines."""
    secret = new_secret(served)
    hands = (Mouse(), Finger())
    found = [
        Evening(served, opened.context.new_page(), hand, is_audited=False)
        for opened, hand in zip(windows, hands, strict=True)
    ]
    for each in found:
        each.log_in(secret)
    return found


def is_live(page: Page) -> None:
    expect(page.locator("#connection")).to_have_text("Live")


@pytest.mark.thorough
def test_one_reads_while_the_other_compiles(
    served: Show, windows: tuple[Window, Window], browser: Browser
) -> None:
    """Mail and the version appear; what is open stays open, and the focus where it is."""
    reader = windows[1].open(links.session(THREAD, "artifact"))
    is_live(reader)
    note = reader.locator("#note-H2-claim")
    note.locator("summary").tap()
    expect(note.locator(".about")).to_be_visible()
    note.locator("a").first.focus()
    reader.evaluate("() => { window.isTheSame = true; }")
    where = reader.evaluate(_HERE)
    assert where == [True, "note-H2-claim"]
    mail = int(reader.locator("[data-tab='3'] .count").inner_text())
    operator = Evening(served, windows[0].context.new_page(), Mouse(), is_audited=False)
    operator.log_in(new_secret(served))
    with window(browser, served.base) as third:
        thread = third.open(links.session(THREAD, "thread"))
        is_live(thread)
        delta = contributes(served, THREAD, "RedSky", edit("H1", claim=CLAIM), base="v2")
        article = thread.locator(f"#m{delta.id}")
        expect(article).to_contain_text("DELTA")
        count = reader.locator("[data-tab='3'] .count")
        expect(count).to_have_text(str(mail + 1))
        expect(reader.locator("#card .since")).to_contain_text("1 delta")
        operator.form(THREAD, "Compile")
        operator.does("Publish version")
        compiled = operator.sent(THREAD)
        expect(thread.locator(f"#m{compiled.id}")).to_contain_text("v3")
    expect(reader.locator("#card .version-line")).to_contain_text("v3")
    expect(reader.locator("#card .since")).to_have_count(0)
    expect(reader.locator("#main")).to_contain_text(CLAIM)
    expect(note.locator(".about")).to_be_visible()
    assert reader.evaluate(_HERE) == where


def both_press(pages: list[Page]) -> list[str]:
    """What each is told after both have pressed the button of their forms."""
    for page in pages:
        page.evaluate(_PRESS)
    told = []
    for page in pages:
        answer = page.locator(".lab-outcome, #fault")
        expect(answer).to_be_visible()
        told.append(answer.inner_text())
    return told


def test_both_publish_the_same_preview(served: Show, windows: tuple[Window, Window]) -> None:
    """One version; who comes second is told of it, and has nothing to publish."""
    people = operators(served, windows)
    before = len(people[0].of(THREAD, "COMPILED"))
    contributes(served, THREAD, "RedSky", edit("H1", claim=CLAIM), base="v2")
    for each in people:
        each.form(THREAD, "Compile")
        expect(each.page.locator("#will")).to_contain_text("Publishes v3")
    told = both_press([each.page for each in people])
    done = [words.startswith("Published v3") for words in told]
    assert sorted(done) == [False, True], told
    assert len(people[0].of(THREAD, "COMPILED")) == before + 1
    second = people[done.index(False)].page
    expect(second.locator("#fault")).to_contain_text("COMPILED from Operator")
    expect(second.locator("#will")).to_contain_text("Nothing to compile")
    for opened in windows:
        opened.forgive("status of 409")


@pytest.mark.thorough
def test_both_acknowledge_the_same_message(served: Show, windows: tuple[Window, Window]) -> None:
    """One ACK; both are told how it is."""
    people = operators(served, windows)
    question = asks(served, THREAD, "BlueLake", "Which strain?")
    for each in people:
        each.page.goto(links.lab("acknowledge", THREAD, message=question.id))
    told = both_press([each.page for each in people])
    assert sorted(told) == [
        f"Acknowledged 1 message: {question.id}.",
        "These messages were acknowledged before. Nothing was sent.",
    ]
    acks = [each for each in people[0].of(THREAD, "ACK") if question.id in each.acknowledges]
    assert len(acks) == 1
    assert people[0].owed(THREAD) == []
