"""URLs of the web pages. All pages and templates build their links here."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from brenner.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

HOME, SEARCH, CONNECT, HELP, EVENTS = "/", "/search", "/connect", "/help", "/events"
PALETTE, GENEALOGY = "/palette", "/genealogy"
LAB, ENTER, GUEST, ASSETS = "/lab", "/enter", "/guest", "/assets"
SOURCE, EVIDENCE = "/source", "/evidence"
# The pages of a session, in the order of their tabs; the first is the session's own address.
TABS = ("overview", "artifact", "thread", "versions", "ledger", "evidence", "agents")
# Paths of this site, and none that a browser could take for another host
_OWN_PATH = lazy_pattern(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,2000}")


def own_path(text: str) -> str:
    """Return a path of this site, else the home page. Prevents open redirects."""
    return text if text.isascii() and _OWN_PATH.fullmatch(text) else HOME


def home(phase: str | None = None, page: int = 1) -> str:
    """Return the list of all sessions, or of those in a phase."""
    return with_query(HOME, {"phase": phase, "page": page if page > 1 else None})


def session(thread_id: str, tab: str = "", **query: object) -> str:
    """Return a page of a session. Query parameters that are None are left out."""
    path = f"/sessions/{_path_segment(thread_id)}"
    return with_query(f"{path}/{tab}" if tab else path, query)


def item(thread_id: str, item_id: str, **query: object) -> str:
    return with_query(f"/sessions/{_path_segment(thread_id)}/items/{_path_segment(item_id)}", query)


def message(message_id: int, form: str = "") -> str:
    """Return the page of a message, or with `raw` its file."""
    return f"/messages/{message_id}/{form}" if form else f"/messages/{message_id}"


def source(section: int | None = None, page: int | None = None) -> str:
    """Return the source text, at a section of it."""
    fragment = f"#s{section}" if section is not None else ""
    return with_query(SOURCE, {"section": section, "page": page}) + fragment


def excerpt(thread_id: str, anchor: str) -> str:
    """Return a record or an excerpt of the evidence pack among those that a session cites."""
    return f"{session(thread_id, 'excerpts')}#{excerpt_id(anchor)}"


def excerpt_id(anchor: str) -> str:
    """Return the id of an anchor (`EV-001#E1`) on its page."""
    return anchor.replace("#", "-")


def evidence(page: int | None = None) -> str:
    """Return the evidence pack."""
    return with_query(EVIDENCE, {"page": page})


def diff(thread_id: str, old: int, new: int, **query: object) -> str:
    return session(thread_id, "diff", **{"from": old, "to": new}, **query)


def search(text: str | None, before: int | None = None, thread_id: str | None = None) -> str:
    """Return the search results, from before a message on; of a session if one is given."""
    query: dict[str, object] = {"q": text, "before": before}
    return session(thread_id, "search", **query) if thread_id else with_query(SEARCH, query)


def genealogy(page: int = 1) -> str:
    """Return the genealogy of all sessions, at a page of its table."""
    return with_query(GENEALOGY, {"page": page if page > 1 else None})


def palette(thread_id: str | None = None) -> str:
    """Return the palette: all that one can go to, from the pages of a session if one is given."""
    return session(thread_id, "palette") if thread_id else PALETTE


def export(thread_id: str, form: str) -> str:
    """Return a session as a file: `html`, `md` or `json`."""
    return session(thread_id, f"export/{form}")


def run_log(thread_id: str, run: str, name: str) -> str:
    """Return the log of a turn."""
    return session(thread_id, f"runs/{_path_segment(run)}/{_path_segment(name)}")


def lab(action: str, thread_id: str = "", **query: object) -> str:
    """Return the form of a lab action, on a session or on none."""
    path = f"{LAB}/sessions/{_path_segment(thread_id)}/{action}" if thread_id else f"{LAB}/{action}"
    return with_query(path, query)


def _path_segment(text: str) -> str:
    """Quote one path segment. Dots alone are quoted too, because a browser would resolve them."""
    return "".join("%2E" for _ in text) if text in (".", "..") else quote(text, safe="")


def with_query(path: str, query: Mapping[str, object]) -> str:
    """Return an address with a query. Parameters that are None are left out."""
    present = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(present)}" if present else path


class DraftLinks:
    """The same addresses for the templates of a page that shows the working draft.

    Pages of the session lead to its draft, unless a version is named.
    """

    def __getattr__(self, name: str) -> object:
        return globals()[name]

    def session(self, thread_id: str, tab: str = "", **query: object) -> str:
        return session(thread_id, tab, **self._kept(tab, query))

    def item(self, thread_id: str, item_id: str, **query: object) -> str:
        return item(thread_id, item_id, **self._kept("artifact", query))

    def _kept(self, tab: str, query: dict[str, object]) -> dict[str, object]:
        is_kept = tab in _DRAFT_TABS and query.get("version") is None
        return {**query, "draft": 1} if is_kept else query


_DRAFT_TABS = ("", "overview", "artifact", "evidence")
