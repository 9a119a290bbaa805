"""Whatever somebody writes: nothing of it runs, nothing of it breaks a page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from brenner.mail.memory import MemoryMailbox
from effort import thorough
from serving.running import Inside, inside
from web.addresses import addresses, shown
from web.browsing import DESKTOP, PHONE, SETTINGS, window
from web.hostile_session import THREAD, hostile_desk
from web.test_every_page import sticks_out

PATHS = addresses(THREAD, "H1", 2)
_SCRIPTS = {"htmx.js", "live.js", "page.js", "palette.js", "theme.js", "keys.js"}
# What only somebody else could have brought in
_FOREIGN = (
    "iframe, object, embed, base, link:not([rel=stylesheet], [rel=icon]), img, video, audio, style,"
    " form[action*=':'], [style], a[href^='javascript' i], a[href^='data' i], [srcdoc], svg script,"
    " main main, main html"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """The session, served from a folder whose name means harm, too."""
    folder: Path = tmp_path_factory.mktemp("hostile") / "<img src=x onerror=alert(1)>{{7*7}}"
    folder.mkdir()
    mailbox = MemoryMailbox()
    workspace = hostile_desk(mailbox, folder)
    with inside(mailbox, workspace.project, SETTINGS) as served:
        yield served


def what_got_in(page: Page) -> list[str]:
    """Elements and attributes that no template of ours writes."""
    found: list[str] = page.evaluate(
        """foreign => {
            const all = [...document.querySelectorAll("*")];
            const acts = all.filter(each => [...each.attributes].some(
                one => one.name.startsWith("on") || one.name.startsWith("hx-on")));
            return [...document.querySelectorAll(foreign), ...acts].map(
                each => each.outerHTML.slice(0, 200));
        }""",
        _FOREIGN,
    )
    return found


@pytest.mark.parametrize("path", [thorough(path) if "?" in path else path for path in shown(PATHS)])
@pytest.mark.parametrize("size", [DESKTOP, thorough(PHONE)], ids=str)
def test_page(browser: Browser, server: Inside, path: str, size: tuple[int, int]) -> None:
    """It is whole, and it is ours."""
    with window(browser, server.base_url, size) as opened:
        page = opened.context.new_page()
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        page.goto(path)
        assert what_got_in(page) == []
        scripts = page.locator("script").evaluate_all("all => all.map(each => each.src)")
        assert {each.rpartition("/")[2] for each in scripts} == _SCRIPTS
        assert page.locator("body > footer.colophon").count() == 1
        assert page.locator("main#main").count() == 1
        assert sticks_out(page) == ""
        assert "49" not in page.title()


@pytest.mark.parametrize("path", PATHS)
def test_answer(server: Inside, path: str) -> None:
    """Every address answers, files too, with the policy that lets nothing in."""
    reply = server.ask("GET", path, headers={"Accept": "text/html"})
    assert reply.status == 200, reply.document
    assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_report_stands_alone(browser: Browser, server: Inside, tmp_path: Path) -> None:
    """The report, saved and opened from a disk, does nothing either."""
    text = server.ask("GET", f"/sessions/{THREAD}/export/html").document
    file = tmp_path / "report.html"
    file.write_text(text, "utf-8")
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page.goto(file.as_uri())
    assert page.locator("script").count() == 0
    assert asked == [file.as_uri()]
    assert said == []
    context.close()
