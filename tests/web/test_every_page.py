"""What holds of every page: it is accessible, fits its screen, prints, and is there as JSON."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from effort import thorough
from web.addresses import addresses, shown
from web.browsing import DESKTOP, PHONE, THREAD, Show, show, window

PATHS = addresses(THREAD, "H1", 1)
SHOWN = shown(PATHS)
AXE = Axe()
_GRAVE = ("serious", "critical")
_AGE = re.compile(r"just now|\d+ (?:s|min|h|d)\b")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Show]:
    """The demo's session, wherever its mail lives."""
    with show(tmp_path_factory.mktemp("home"), request.param) as served:
        yield served


def faults(page: Page) -> list[str]:
    """What an audit of the page says that keeps somebody from using it."""
    found: list[dict[str, Any]] = AXE.run(page).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found
        if each["impact"] in _GRAVE
    ]


def sticks_out(page: Page) -> str:
    """What is wider than the screen, if anything is."""
    found: str = page.evaluate(
        """() => {
            const most = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= most) return "";
            const all = [...document.querySelectorAll("body *")];
            const wide = all.filter(each => each.getBoundingClientRect().right > most + 1);
            return wide.slice(0, 3).map(each => each.outerHTML.slice(0, 200)).join("\\n") || "?";
        }"""
    )
    return found


@pytest.mark.parametrize("path", [thorough(path) if "?" in path else path for path in SHOWN])
@pytest.mark.parametrize(("size", "is_dark"), [thorough(DESKTOP, False), (PHONE, True)], ids=str)
def test_seen(
    browser: Browser, site: Show, path: str, size: tuple[int, int], is_dark: bool
) -> None:
    """Nothing keeps anybody from using it, and it fits."""
    with window(browser, site.base, size, is_dark=is_dark) as opened:
        page = opened.open(path)
        assert page.locator("h1").count() == 1
        assert sticks_out(page) == ""
        assert faults(page) == []


@pytest.mark.parametrize("path", SHOWN)
def test_as_json(site: Show, path: str) -> None:
    """A script gets the same as a document, by the address and by what it accepts."""
    asked = f"{path}{'&' if '?' in path else '?'}format=json"
    by_address = site.server.ask("GET", asked)
    by_header = site.server.ask("GET", path, headers={"Accept": "application/json"})
    assert by_address.status == by_header.status == 200
    assert isinstance(by_address.document, dict)
    assert without_ages(by_address.document) == without_ages(by_header.document)


def without_ages(document: object) -> str:
    """A document without how long ago things were, which may change in between."""
    return _AGE.sub("some time", json.dumps(document, sort_keys=True))


@pytest.mark.every_store
@pytest.mark.parametrize("path", PATHS)
def test_in_every_home(home: Show, path: str) -> None:
    """Every address answers, whatever home the mail has."""
    reply = home.server.ask("GET", path, headers={"Accept": "text/html"})
    assert reply.status == 200, reply.document
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_an_old_audit_would_notice(browser: Browser, site: Show) -> None:
    """What is looked for would be found."""
    with window(browser, site.base, PHONE) as opened:
        page = opened.open("/connect")
        page.evaluate(
            "document.querySelector('main').insertAdjacentHTML('beforeend',"
            " '<input><button></button><div id=wide>' + 'x'.repeat(999) + '</div>')"
        )
        assert sticks_out(page) != ""
        assert any(each.startswith(("label", "button-name")) for each in faults(page))
