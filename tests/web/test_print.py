"""Any page on paper: only what one reads, nothing folded away, times that stay true."""

import re

import pytest
from playwright.sync_api import Browser, Page

from effort import thorough
from web.addresses import addresses, shown
from web.browsing import THREAD, Show, window

SESSION = f"/sessions/{THREAD}"
PAGES = [path for path in shown(addresses(THREAD, "H1", 1)) if path.startswith(SESSION)]
# What one clicks on, types into, or steers with
_CONTROLS = (
    ".masthead, .rail, .tabs, .filters, .forms, form, button, input, select, textarea, .skip"
)
_PAGES = re.compile(rb"/Type\s*/Page\b")
_MOST_PAGES = 30
_WITH_FINDING = (  # no item of the demo has one
    "each => each.insertAdjacentHTML('beforeend',"
    " '<details class=findings><summary>1 lint finding</summary></details>')"
)
_HEIGHT = "each => each.getBoundingClientRect().height"


def on_paper(page: Page) -> None:
    """As wide as A4 between its margins."""
    page.set_viewport_size({"width": 673, "height": 980})
    page.emulate_media(media="print", color_scheme="light")


@pytest.mark.parametrize("path", [*PAGES[:2], *map(thorough, PAGES[2:])])
def test_a_clean_paper(browser: Browser, site: Show, path: str) -> None:
    """No controls, nothing cut off at the side, and where it is from."""
    with window(browser, site.base) as opened:
        page = opened.open(path)
        on_paper(page)
        seen = page.locator(_CONTROLS).filter(visible=True)
        assert seen.all_inner_texts() == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 673
        assert SESSION in page.inner_text(".printed")
        ago = page.locator("time[data-ago]").filter(visible=True)
        sizes = ago.evaluate_all("all => all.map(each => getComputedStyle(each).fontSize)")
        assert set(sizes) <= {"0px"}
        assert 1 <= len(_PAGES.findall(page.pdf(format="A4"))) < _MOST_PAGES


def test_the_instant_is_on_paper(browser: Browser, site: Show) -> None:
    """How long ago it was is not true for long."""
    with window(browser, site.base) as opened:
        page = opened.open(f"{SESSION}/versions")
        on_paper(page)
        time = page.locator(".history time").first
        after = time.evaluate("each => getComputedStyle(each, '::after').content")
        assert re.fullmatch(r'"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"', after)


def test_what_is_folded_is_open(browser: Browser, site: Show) -> None:
    """A refused block with its fix; what did not change stays a count."""
    with window(browser, site.base) as opened:
        page = opened.open(f"{SESSION}/ledger")
        folded = page.locator("details.why-refused pre").first
        assert folded.evaluate(_HEIGHT) == 0
        on_paper(page)
        assert folded.evaluate(_HEIGHT) > 0
        page.goto(f"{SESSION}/diff")
        assert page.locator("#unchanged summary").is_visible()
        assert page.locator("#unchanged li").first.evaluate(_HEIGHT) == 0


@pytest.mark.thorough
def test_marks_without_colour(browser: Browser, site: Show) -> None:
    """What came is underlined and what went struck through, on white."""
    with window(browser, site.base) as opened:
        page = opened.open(f"{SESSION}/diff?from=1&to=2")
        on_paper(page)
        for tag, line in (("ins", "underline"), ("del", "line-through")):
            style = page.locator(tag).first.evaluate(
                "each => [getComputedStyle(each).textDecorationLine,"
                " getComputedStyle(each).backgroundColor]"
            )
            assert style == [line, "rgba(0, 0, 0, 0)"]


def test_a_finding_is_printed_once(browser: Browser, site: Show) -> None:
    """In the list above the artifact; on the page of an item, there."""
    with window(browser, site.base) as opened:
        page = opened.open(f"{SESSION}/artifact")
        page.locator(".artifact-section").first.evaluate(_WITH_FINDING)
        assert page.locator(".findings").filter(visible=True).count() == 1
        on_paper(page)
        assert page.locator(".findings").filter(visible=True).count() == 0
        assert page.locator(".lint-found").is_visible()
