"""A real browser at our server, and the demo's session to look at.

Whatever a test does in it: an error on the console, or a request to anywhere but the server, fails
the test.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Error, Page, Playwright, Request

from brenner.config import Project, find_project
from brenner.mail.mailbox import Mailbox
from brenner.mail.open import open_mailbox
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.server.settings import ServeSettings
from brenner.services.demo import THREAD
from mail.backends import postgresql_address
from parts import need
from serving.running import Inside, inside

__all__ = ["DESKTOP", "PHONE", "THREAD"]

CHROMIUM = Path("/usr/bin/chromium")
DESKTOP, PHONE = (1440, 900), (390, 844)
SETTINGS = ServeSettings(port=0, requests_a_second=1_000_000)
LAB = SETTINGS._replace(is_lab=True)
# Without these it looks for updates and the like, which is nothing that our pages ask for.
_QUIET = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic"),
)
_OURS = ("BRENNER_", "AGENT_", "GIT_")
_LOCAL = {"data", "blob", "about"}
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def launch(playwright: Playwright) -> Browser:
    """Debian's browser, without a window."""
    need(CHROMIUM.exists(), f"a browser is needed at {CHROMIUM}: apt-get install chromium")
    return playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(_QUIET))


class Window:
    """One person's browser: pages that share cookies. What went wrong in it is told at its end."""

    def __init__(self, browser: Browser, base: str, options: Mapping[str, Any] = _NOTHING) -> None:
        self.base = base
        self.wrong: list[str] = []
        self.context: BrowserContext = browser.new_context(base_url=base, **options)
        self.context.on("console", lambda said: self._said(said.type, said.text))
        self.context.on("weberror", lambda error: self.wrong.append(f"error: {error.error}"))
        self.context.on("request", self._asked)

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.wrong.append(f"console {kind}: {text}")

    def _asked(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in _LOCAL and f"{url.scheme}://{url.netloc}" != self.base:
            self.wrong.append(f"asked for {request.url}")

    def open(self, path: str) -> Page:
        """A new tab at an address."""
        page = self.context.new_page()
        page.goto(path)
        return page

    def forgive(self, *parts: str) -> None:
        """What a test brings about on purpose, such as the status of a refusal."""
        self.wrong = [each for each in self.wrong if not any(part in each for part in parts)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        wrong = [*self.wrong]
        for page in self.context.pages:
            _leave(page)
        self.context.close()
        if kind is None:
            assert wrong == []


def _leave(page: Page) -> None:
    """Go to an empty page. Chromium hangs if a page is closed while it goes to another one."""
    for _ in range(5):
        with suppress(Error):  # interrupted by what the page was going to
            page.goto("about:blank")
            return


def window(
    browser: Browser, base: str, size: tuple[int, int] = DESKTOP, *, is_dark: bool = False
) -> Window:
    """A browser window of a size, in the light or in the dark."""
    options = {
        "viewport": {"width": size[0], "height": size[1]},
        "color_scheme": "dark" if is_dark else "light",
        "has_touch": size == PHONE,
    }
    return Window(browser, base, options)


@cache
def demo_folder() -> Path:
    """The folder of the demo after it ran; it is only read. A copy is for who acts in it."""
    folder = Path(mkdtemp(prefix="brenner-demo-"))
    clean = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
    command = [sys.executable, "-m", "brenner", "demo", str(folder / "demo")]
    done = subprocess.run(command, capture_output=True, text=True, env=clean, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "demo"


class Show(NamedTuple):
    """The demo's session, served; in a project of its own."""

    server: Inside
    project: Project

    @property
    def base(self) -> str:
        """Where it is served."""
        return self.server.base_url

    @property
    def mailbox(self) -> Mailbox:
        """Its mail."""
        return self.server.workspace.mailbox


@contextmanager
def show(folder: Path, home: str = "sqlite", settings: ServeSettings = SETTINGS) -> Iterator[Show]:
    """Serve a copy of the demo, made in that folder, from SQLite or PostgreSQL."""
    shutil.copytree(demo_folder(), folder, dirs_exist_ok=True)
    project = find_project(str(folder), {})
    mailbox = open_mailbox(project, create=False)
    if home == "postgresql":
        database = PostgresMailbox.create(postgresql_address(folder))
        with mailbox:
            database.restore(mailbox.agents(), mailbox.records())
        mailbox = database
    try:
        with inside(mailbox, project, settings) as server:
            yield Show(server, project)
    finally:
        mailbox.close()
