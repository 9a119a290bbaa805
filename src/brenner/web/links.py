"""The addresses of our pages: no page writes one itself."""

import re
from urllib.parse import quote, urlencode

HOME, SEARCH, CONNECT, HELP, EVENTS = "/", "/search", "/connect", "/help", "/events"
LAB, ENTER, GUEST, ASSETS = "/lab", "/enter", "/guest", "/assets"
SOURCE = "/source"
# The pages of a session, in the order of their tabs; the first is the session's own address.
TABS = ("artifact", "thread", "versions", "ledger", "evidence", "agents")
# Our own paths and nothing that a browser could take for another host's
_OWN_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,2000}")


def own_path(text: str) -> str:
    """Where to go on; home where it is none of our addresses."""
    return text if text.isascii() and _OWN_PATH.fullmatch(text) else HOME


def home(phase: str | None = None, page: int = 1) -> str:
    """All sessions, or those in a phase."""
    return _asking(HOME, {"phase": phase, "page": page if page > 1 else None})


def session(thread_id: str, tab: str = "", **asked: object) -> str:
    """A page of a session; what is None is not asked for."""
    path = f"/sessions/{_part(thread_id)}"
    return _asking(f"{path}/{tab}" if tab else path, asked)


def item(thread_id: str, item_id: str, **asked: object) -> str:
    """The permanent address of an item."""
    return _asking(f"/sessions/{_part(thread_id)}/items/{_part(item_id)}", asked)


def message(message_id: int, form: str = "") -> str:
    """A message; as `raw` the text of its file."""
    return f"/messages/{message_id}/{form}" if form else f"/messages/{message_id}"


def source(section: int | None = None, page: int | None = None) -> str:
    """The source text, at a section of it."""
    place = f"#s{section}" if section is not None else ""
    return _asking(SOURCE, {"section": section, "page": page}) + place


def diff(thread_id: str, old: int, new: int, **asked: object) -> str:
    """What changed from one version to another."""
    return session(thread_id, "diff", **{"from": old, "to": new}, **asked)


def search(text: str, before: int | None = None) -> str:
    """What was found; from before a message on."""
    return _asking(SEARCH, {"q": text, "before": before})


def export(thread_id: str, form: str) -> str:
    """A session as a file: `html`, `md` or `json`."""
    return session(thread_id, f"export/{form}")


def lab(action: str, thread_id: str = "", **asked: object) -> str:
    """The form of an action, on a session or on none."""
    path = f"{LAB}/sessions/{_part(thread_id)}/{action}" if thread_id else f"{LAB}/{action}"
    return _asking(path, asked)


def _part(text: str) -> str:
    """One part of a path, whatever is in it; a browser would resolve dots alone."""
    return "".join("%2E" for _ in text) if text in (".", "..") else quote(text, safe="")


def _asking(path: str, asked: dict[str, object]) -> str:
    given = {name: value for name, value in asked.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path
