"""One browser for all tests of a file, and the demo's session served for who only reads."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from brenner.web import events
from web.browsing import LAB, Show, Window, launch, show, window

# What is true at last is true: a machine with much to do is slow, and nothing else.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session", autouse=True)
def _servers_end_soon() -> Iterator[None]:
    """Let servers notice in a moment that no viewer is left: hundreds are ended here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "_POLL_SECONDS", 0.05)
        yield


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start one browser per worker; each test opens a fresh context in it.

    The scope ends with this folder, because Playwright keeps an event loop running in the main
    thread, and tests in other folders start event loops there.
    """
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Show]:
    """The demo's session, to be read only."""
    with show(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture
def browser_page(browser: Browser, site: Show) -> Iterator[Window]:
    """A window at the demo's session."""
    with window(browser, site.base) as opened:
        yield opened


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Show]:
    """The demo's session in lab mode, in a folder of its own."""
    with show(tmp_path, settings=LAB) as served:
        yield served
