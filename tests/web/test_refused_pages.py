"""What cannot be shown: a page for people, JSON for programs, and nothing of ours given away."""

import logging
from collections.abc import Iterator
from types import MappingProxyType

import pytest

from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.model import UnavailableError
from brenner.mail.memory import MemoryMailbox
from brenner.mcp.server import LocationHandler
from brenner.server.app import log_location
from brenner.web import app as routes
from brenner.web.rendering import environment
from brenner.web.request import PageResult, RequestContext
from serving.running import Inside, Reply, inside

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
SECRET = "the secret of BlueLake"  # noqa: S105  (made up)


def _fails(_visit: RequestContext) -> PageResult:
    raise RuntimeError(SECRET)


def _is_away(_visit: RequestContext) -> PageResult:
    raise UnavailableError(STORE_UNUSABLE.at(path="mail.sqlite3", reason="it is <b>gone</b>"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Inside]:
    """A server with two pages more, on which something goes wrong."""
    pages = {**routes.PAGES, "/fails": _fails, "/away": _is_away}
    monkeypatch.setattr(routes, "PAGES", MappingProxyType(pages))
    with inside(MemoryMailbox()) as served:
        yield served


def is_page(reply: Reply) -> bool:
    """Whether it is a whole page of ours, under the policy of all pages."""
    return (
        reply.headers["content-type"] == "text/html; charset=utf-8"
        and "default-src 'none'" in reply.headers["content-security-policy"]
        and reply.document.count("<h1>") == 1
        and 'href="/"' in reply.document
    )


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/nowhere", 404, "NO_SUCH_PAGE"),
        ("/assets/0123/brenner.css", 404, "NO_SUCH_PAGE"),
        ("/?phase=soon", 404, "NO_SUCH_PAGE"),
        ("/messages/one", 404, "NO_SUCH_PAGE"),
        ("/sessions/RS-20251230-nobody", 404, "UNKNOWN_THREAD"),
        ("/messages/77", 404, "UNKNOWN_MESSAGE"),
        ("/fails", 500, "PAGE_FAILED"),
        ("/away", 503, "STORE_UNUSABLE"),
    ],
)
def test_people_get_a_page(server: Inside, path: str, status: int, code: str) -> None:
    """With the code, what is wrong, and how to mend it."""
    reply = server.ask("GET", path, headers=BROWSER)
    assert (reply.status, is_page(reply)) == (status, True)
    assert f"<code>{code}</code>" in reply.document
    assert "Fix" in reply.document
    assert "Traceback" not in reply.document


def test_programs_get_json(server: Inside) -> None:
    """As before: where clients of web services look for it."""
    for path, status, code in (("/nowhere", 404, "NO_SUCH_PAGE"), ("/fails", 500, "PAGE_FAILED")):
        for headers in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
            reply = server.ask("GET", path, headers=headers)
            assert (reply.status, reply.code) == (status, code)


def test_pages_as_json(server: Inside) -> None:
    """A page that is refused has a document, too."""
    reply = server.ask("GET", "/sessions/RS-20251230-nobody?format=json", headers=BROWSER)
    assert reply.status == 404
    assert reply.document["error"]["id"] == "UNKNOWN_THREAD"
    assert reply.document["error"]["fix"]


def test_what_cannot_be_done_there(server: Inside) -> None:
    """What can be is told, in the header as well."""
    reply = server.ask("POST", "/help", {}, headers=BROWSER)
    assert (reply.status, is_page(reply)) == (405, True)
    assert reply.headers["allow"] == "GET, HEAD"
    assert "POST is not allowed at /help" in reply.document
    assert server.ask("POST", "/help", {}).code == "METHOD_NOT_ALLOWED"


def test_agents_get_json_whatever_they_accept(server: Inside) -> None:
    """Their addresses have no pages."""
    reply = server.ask("GET", "/mcp", headers=BROWSER)
    assert reply.status >= 400
    assert "html" not in reply.headers["content-type"]


def test_a_fault_of_ours(server: Inside, caplog: pytest.LogCaptureFixture) -> None:
    """The page says that it is ours; what was in the exception is told to nobody."""
    reply = server.ask("GET", "/fails", headers=BROWSER)
    assert "a fault of Brenner" in reply.document
    assert SECRET not in reply.document
    ours = [each for each in caplog.records if each.name.startswith("brenner.")]
    assert [each.levelname for each in ours] == ["ERROR"]
    # The next request is answered as if nothing had been
    assert server.ask("GET", "/help", headers=BROWSER).status == 200


def test_only_the_place_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    """The module and the line in our program that it came through last, and its kind."""
    root = logging.getLogger()
    handler = LocationHandler(logging.ERROR)
    root.addHandler(handler)
    try:
        _ = STORE_UNUSABLE.at(path=SECRET).message  # lacks a word: fails inside of our program
    except KeyError as error:
        log_location(error)
    finally:
        root.removeHandler(handler)
    told = capsys.readouterr().err
    assert told.startswith("brenner: brenner.diagnostics.model:")
    assert told.endswith(" error KeyError\n")
    assert SECRET not in told


def test_codes_have_labels() -> None:
    """A numbered code is shown with a few words beside it; any other code is a word itself."""
    words = '{% import "macros/words.html" as say with context %}{{ say.code(id) }}'
    show = environment().from_string(words).render
    assert show(id="MB-004") == (
        '<code class="code">MB-004</code> <span class="quiet">(no delta block)</span>'
    )
    assert show(id="INVALID_JSON") == '<code class="code">INVALID_JSON</code>'


def test_addresses_are_texts(server: Inside) -> None:
    """What somebody writes into an address is not obeyed on the page about it."""
    reply = server.ask("GET", "/%3Cscript%3Ealert(1)%3C/script%3E", headers=BROWSER)
    assert reply.status == 404
    assert "<script>alert" not in reply.document
    assert "&lt;script&gt;" in reply.document
    away = server.ask("GET", "/away", headers=BROWSER)
    assert "<b>gone" not in away.document
    assert "Try again" in away.document
