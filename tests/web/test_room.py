"""What has little room, or none: phones, paper, notes beside what one reads."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from brenner.web import links
from effort import thorough
from web.browsing import DESKTOP, PHONE, Show, Window, window
from web.crowded import CROWDED, PREDICTIONS, TESTS, crowded
from web.evening import Evening, new_secret
from web.input_devices import Mouse
from web.test_every_page import sticks_out
from web.test_print import on_paper

SESSION = links.session(CROWDED)
TABLET = (1024, 800)
LAB_FORMS = ("compile", "persist", "round", "complete", "critique", "reply", "acknowledge")
TABS = ("overview", "artifact", "thread", "versions", "ledger", "evidence", "agents")
FINGER = 24  # pixels, the least that a finger hits
_SIZES = """() => [...new Set([...document.querySelectorAll("body *")]
    .filter(each => each.checkVisibility() && [...each.childNodes].some(
        node => node.nodeType === 3 && node.textContent.trim()))
    .map(each => getComputedStyle(each).fontSize))]"""


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Show]:
    with crowded(tmp_path_factory.mktemp("full")) as served:
        yield served


def touched(browser: Browser, base: str, size: tuple[int, int] = PHONE) -> Window:
    """A phone, on which nothing hovers."""
    view = {"width": size[0], "height": size[1]}
    return Window(browser, base, {"viewport": view, "has_touch": True, "is_mobile": True})


def height(page: Page) -> int:
    found: int = page.evaluate("document.documentElement.scrollHeight")
    return found


def box(place: Locator) -> dict[str, float]:
    found: Any = place.bounding_box()
    assert found is not None
    return dict(found)


# Nothing sticks out


@pytest.mark.parametrize("width", [320, thorough(390), thorough(768)])
def test_nothing_sticks_out(browser: Browser, full: Show, width: int) -> None:
    """Whatever the session is called: its pages, the forms of the lab, the report."""
    with window(browser, full.base, (width, 800)) as opened:
        evening = Evening(full, opened.context.new_page(), Mouse(), is_audited=False)
        evening.log_in(new_secret(full))
        forms = [links.lab(name, CROWDED) for name in LAB_FORMS]
        for path in (*forms, *(links.session(CROWDED, tab) for tab in TABS), links.HOME):
            evening.page.goto(path)
            assert sticks_out(evening.page) == "", path
        report = opened.context.request.get(links.export(CROWDED, "html")).text()
        alone = opened.context.new_page()
        alone.set_content(report)
        needs = alone.locator(".report-head .attentions").inner_text()
        assert "leg disc?" in needs
        assert "?." not in needs
        assert sticks_out(alone) == ""


@pytest.mark.thorough
@pytest.mark.parametrize("tab", TABS)
def test_three_sizes_of_text(browser: Browser, full: Show, tab: str) -> None:
    with window(browser, full.base) as opened:
        page = opened.open(links.session(CROWDED, tab))
        assert set(page.evaluate(_SIZES)) <= {"13px", "16px", "24px"}


# What one reads begins early


@pytest.mark.parametrize("size", [TABLET, (768, 1000)], ids=str)
def test_what_one_reads_begins_in_the_upper_half(
    browser: Browser, full: Show, size: tuple[int, int]
) -> None:
    with window(browser, full.base, size) as opened:
        page = opened.open(f"{SESSION}/evidence")
        assert box(page.locator("main h1"))["y"] < size[1] * 0.4


def test_what_needs_the_operator_is_folded_where_there_is_no_room(
    browser: Browser, full: Show
) -> None:
    """Beside the question there is; on the page of the artifact it is always told."""
    with window(browser, full.base) as opened:
        page = opened.open(f"{SESSION}/ledger")
        last = page.locator(".attentions .more-needs li").last
        expect(page.locator(".more-needs summary")).to_be_hidden()
        assert last.bounding_box()
        assert last.evaluate("each => each.checkVisibility({contentVisibilityAuto: true})")
        question, needs = box(page.locator(".question")), box(page.locator(".attentions"))
        assert needs["x"] > question["x"] + question["width"] - 1
        page.set_viewport_size({"width": TABLET[0], "height": TABLET[1]})
        expect(last).to_be_hidden()
        page.locator(".more-needs summary").click()
        expect(last).to_be_visible()
        page.goto(SESSION)
        assert page.locator(".attentions li").filter(visible=True).count() > 2


# Notes


def test_a_note_moves_nothing(browser: Browser, full: Show) -> None:
    """Of a field, of one of several entries, of a cell of a table that scrolls."""
    with window(browser, full.base, TABLET) as opened:
        page = opened.open(f"{SESSION}/artifact")
        for mark in (
            page.locator("#note-H1-claim > summary"),
            page.locator(".predictions tr:last-child td:nth-child(3) .note > summary"),
            page.locator(".predictions tr:first-child td:nth-child(6) .note > summary"),
        ):
            mark.scroll_into_view_if_needed()
            tall = height(page)
            inside = mark.evaluate("each => each.closest('.wide')?.scrollHeight")
            mark.hover(force=True)
            about = mark.locator("xpath=..").locator(".about")
            expect(about).to_be_visible()
            assert height(page) == tall
            assert mark.evaluate("each => each.closest('.wide')?.scrollHeight") == inside
            place = box(about)
            assert place["x"] >= 0
            assert place["x"] + place["width"] <= TABLET[0]
            page.mouse.move(1, 1)


def test_with_keys_a_sentence_is_there(browser: Browser, full: Show) -> None:
    """What was replaced, before anything is opened; Enter opens the whole note."""
    with window(browser, full.base) as opened:
        page = opened.open(f"{SESSION}/artifact")
        tall = height(page)
        page.keyboard.press("Tab")
        mark = page.locator("#note-H1-claim > summary")
        mark.focus()
        said = mark.evaluate("each => getComputedStyle(each, '::after').content")
        assert "Replaced: It is read once" in said
        assert height(page) == tall
        page.keyboard.press("Enter")
        expect(page.locator("#note-H1-claim .about")).to_be_visible()
        assert mark.evaluate("each => getComputedStyle(each, '::after').content") == "none"


def test_on_a_phone_a_note_covers_nothing_and_one_closes_the_other(
    browser: Browser, full: Show
) -> None:
    with touched(browser, full.base) as opened:
        page = opened.open(f"{SESSION}/artifact")
        for name in ("H1-claim", "H1-mechanism", "H1-anchors"):
            page.locator(f"#note-{name} > summary").tap()
            expect(page.locator("details.note[open]")).to_have_count(1)
            about = box(page.locator(f"#note-{name} .about"))
            assert about["width"] > PHONE[0] * 0.8
            values = page.locator(f".field:has(> dd > #note-{name}) .values")
            assert about["y"] >= box(values)["y"] + box(values)["height"]
        assert sticks_out(page) == ""
        expect(page.locator("#provenance")).to_be_hidden()


# Fingers


def test_fingers_hit_what_they_point_at(browser: Browser, full: Show) -> None:
    with touched(browser, full.base) as opened:
        page = opened.open(f"{SESSION}/artifact")
        for place in (".attentions a", ".lint summary", ".note > summary", ".tabs a"):
            sizes = (
                page.locator(place)
                .filter(visible=True)
                .evaluate_all("all => all.map(each => each.getBoundingClientRect().height)")
            )
            assert sizes
            assert min(sizes) >= FINGER, place
        assert page.locator("kbd").filter(visible=True).count() == 0
        page.goto("/help")
        words, keys = page.locator("#words"), page.locator("#keys")
        assert box(words)["y"] < box(keys)["y"]


# Paper


def test_the_printed_matrix_loses_no_test(browser: Browser, full: Show) -> None:
    """More columns than fit on a page stand in tables under one another."""
    with window(browser, full.base) as opened:
        page = opened.open(f"{SESSION}/evidence")
        expect(page.locator(".matrix-on-paper")).to_be_hidden()
        on_paper(page)
        expect(page.locator(".matrix-frame")).to_be_hidden()
        heads = page.locator(".matrix-on-paper thead th:not(:first-child)")
        shown = [each.split()[0] for each in heads.all_inner_texts()]
        predictions = [f"P{number}" for number in range(1, PREDICTIONS + 1)]
        assert sorted(shown[:PREDICTIONS]) == predictions
        assert sorted(shown[PREDICTIONS:]) == [f"T{number}" for number in range(1, TESTS + 1)]
        edges = heads.evaluate_all("all => all.map(each => each.getBoundingClientRect().right)")
        assert max(edges) <= 673
        assert page.evaluate("document.documentElement.scrollWidth") <= 673


def test_the_time_of_an_agent_is_one_line_on_paper(browser: Browser, full: Show) -> None:
    with window(browser, full.base) as opened:
        page = opened.open(f"{SESSION}/agents")
        on_paper(page)
        times = page.locator(".agents td.when .on-paper")
        assert times.count() >= 3
        tall = times.evaluate_all("all => all.map(each => each.getClientRects().length)")
        assert set(tall) == {1}
        assert page.evaluate("document.documentElement.scrollWidth") <= 673


# Colours of the reader's own


def test_the_open_tab_is_told_where_colours_are_the_readers_own(
    browser: Browser, full: Show
) -> None:
    view = {"width": DESKTOP[0], "height": DESKTOP[1]}
    with Window(browser, full.base, {"viewport": view, "forced_colors": "active"}) as opened:
        page = opened.open(f"{SESSION}/artifact")
        colour = "each => getComputedStyle(each).borderBottomColor"
        paper = page.evaluate(
            "() => { const each = document.createElement('i'); each.style.color = 'Canvas';"
            " document.body.append(each); return getComputedStyle(each).color }"
        )
        assert page.locator(".tabs a[aria-current]").evaluate(colour) != paper
        assert page.locator(".tabs a:not([aria-current])").first.evaluate(colour) == paper
