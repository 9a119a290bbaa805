"""What changed since this browser's last look: sittings, and what else the cookie may hold."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from brenner.services.workspace import Workspace
from brenner.web.compare import (
    VISIT_GAP,
    is_navigation,
    last_visit,
    visit_cookie,
)
from brenner.web.request import Redirect
from brenner.web.views import versions
from session.workspaces import THREAD
from web.browsing import THREAD as SHOWN
from web.browsing import Show, window
from web.versions_workspace import a_session, a_visit, shown

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
MINUTE, SOON = timedelta(minutes=1), timedelta(minutes=29)


class Browser:
    """The cookie of one browser, as it goes from page to page."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.cookies: dict[str, str] = {}
        self.now = START

    def goes(self, after: timedelta, position: int) -> tuple[int, datetime] | None:
        """Look at the session some time later; what it had seen before that."""
        self.now += after
        visit = a_visit(self.workspace)._replace(now=self.now, cookies=self.cookies)
        before = last_visit(visit)
        cookie = visit_cookie(THREAD, self.cookies, position, self.now)
        self.cookies = {cookie.name: cookie.value}
        return before


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return a_session(tmp_path_factory.mktemp("looks"))


def positions(workspace: Workspace) -> Mapping[int, int]:
    """How many messages the store had when each version came in."""
    session = a_visit(workspace).session
    arrivals = {stored.id: stored.arrival for stored in session.messages}
    return {each.number: arrivals[each.message_id] for each in session.history.versions}


def test_sittings(workspace: Workspace) -> None:
    """Reading on does not make what is new old; coming back later does."""
    at, browser = positions(workspace), Browser(workspace)
    assert browser.goes(MINUTE, at[1]) is None
    assert browser.goes(SOON, at[1]) == (1, START + MINUTE)
    assert browser.goes(SOON, at[2]) == (1, START + MINUTE)
    end = browser.now
    assert browser.goes(VISIT_GAP + MINUTE, at[3]) == (2, end)
    assert browser.goes(SOON, at[3]) == (2, end)
    assert browser.goes(SOON, at[3]) == (2, end)
    assert browser.goes(VISIT_GAP + MINUTE, at[3]) == (3, end + VISIT_GAP + MINUTE + 2 * SOON)


def test_a_look_before_the_first_version(workspace: Workspace) -> None:
    """It counts as one at nothing."""
    browser = Browser(workspace)
    browser.goes(MINUTE, positions(workspace)[1] - 1)
    assert browser.goes(VISIT_GAP + MINUTE, 99) == (0, START + MINUTE)


@pytest.mark.parametrize(
    "value",
    [
        *("", "1", "1.2.3", "1.2.3.4.5", "a.b.c.d", "1.2.3.-4", "1.9999999999.1.2", " 1.2.3.4"),
        *("1.99999999999.1.99999999999", "9" * 400, "1.2.3.4; Path=/", "\u0661.2.3.4", "1.2.3.4\n"),
    ],
)
def test_what_we_did_not_write_is_nothing(workspace: Workspace, value: str) -> None:
    """Nobody can bring a page down with a cookie, nor be told of a look in the future."""
    assert last_visit(a_visit(workspace, cookie=value)) is None
    assert visit_cookie(THREAD, {"look": value}, 1, START).value.startswith("1.")


def test_the_cookie_is_the_session_s(workspace: Workspace) -> None:
    """Another session has its own, and none grows."""
    cookie = visit_cookie(THREAD, {}, 7, START)
    assert cookie.path == f"/sessions/{THREAD}"
    seconds = int(START.timestamp())
    assert cookie.value == f"7.{seconds}.7.{seconds}"


def test_in_words(workspace: Workspace) -> None:
    """How many items changed, and the way there; or that nothing did."""
    at = positions(workspace)
    old = f"{at[1]}.{int(START.timestamp())}.{at[1]}.{int(START.timestamp())}"
    document, page = shown(versions.page, a_visit(workspace, cookie=old))
    assert (document["look"]["version"], document["look"]["changed"]) == (1, 2)
    assert "2 items have changed" in page
    assert f'href="{document["look"]["link"]}"' in page
    document, page = shown(versions.diff_page, a_visit(workspace, cookie=old, since="look"))
    assert (document["from"], document["to"]) == (1, 3)
    assert "Changes since your last visit" in page
    new = old.replace(f"{at[1]}.", f"{at[3]}.")
    assert (
        "Nothing new since your last visit"
        in shown(versions.page, a_visit(workspace, cookie=new))[1]
    )
    assert shown(versions.page, a_visit(workspace))[0]["look"] is None
    _, page = shown(versions.diff_page, a_visit(workspace, since="look"))
    assert "This is your first visit with this browser" in page


def test_a_version_is_marked_as_seen(workspace: Workspace) -> None:
    """Within a sitting; what came in after that version is still new."""
    at = positions(workspace)
    old = f"{at[1]}.{int(START.timestamp())}.{at[1]}.{int(START.timestamp())}"
    of_diff = shown(versions.diff_page, a_visit(workspace, cookie=old, since="look"))[1]
    for page in (shown(versions.page, a_visit(workspace, cookie=old))[1], of_diff):
        assert f'href="/sessions/{THREAD}/versions?seen=3">Mark as seen</a>' in page
    for number, changed in ((3, 0), (2, 1)):
        answer = versions.page(a_visit(workspace, cookie=old, seen=str(number)))
        assert isinstance(answer, Redirect)
        assert answer.to == f"/sessions/{THREAD}/versions"
        (cookie,) = answer.cookies
        document, page = shown(versions.page, a_visit(workspace, cookie=cookie.value))
        assert (document["look"]["version"], document["look"]["changed"]) == (number, changed)
        assert ("Mark as seen" in page) == bool(changed)
    assert versions.page(a_visit(workspace, seen="9")) == Redirect(f"/sessions/{THREAD}/versions")


def test_who_is_led_there_looks() -> None:
    """A page that asks for itself again has nobody before it, as far as one knows."""
    assert is_navigation({"sec-fetch-mode": "navigate"})
    assert is_navigation({})
    assert not is_navigation({"sec-fetch-mode": "cors"})


def test_in_a_browser(browser: object, site: Show) -> None:
    """The cookie is kept for the session, out of reach of scripts; asking again sets none."""
    with window(browser, site.base) as opened:  # type: ignore[arg-type]
        page = opened.open(f"/sessions/{SHOWN}/versions")
        (cookie,) = [each for each in opened.context.cookies() if each["name"] == "look"]
        assert (cookie["path"], cookie["httpOnly"], cookie["sameSite"]) == (
            f"/sessions/{SHOWN}",
            True,
            "Lax",
        )
        opened.context.clear_cookies()
        page.evaluate("() => fetch(location.href).then(each => each.text())")
        assert opened.context.cookies() == []
        page.reload()
        assert [each["name"] for each in opened.context.cookies()] == ["look"]
        page.reload()
        assert "since your last visit" in page.inner_text("#look")
