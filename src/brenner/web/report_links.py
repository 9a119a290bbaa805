"""Links of pages made links inside of one file."""

import re
from urllib.parse import parse_qs, unquote, urlsplit

_HREF = re.compile(r'href="([^"]*)"')
_ID = re.compile(r'\bid="([^"]*)"')
ELSEWHERE = "#elsewhere"


def inward(html: str, thread_id: str) -> str:
    """Every address of ours leads to its place in the file; one that has none, to a remark.

    What others wrote cannot look like an attribute: it has no quotation marks that are not
    escaped.
    """
    ids = set(_ID.findall(html))

    def place(found: re.Match[str]) -> str:
        anchor = _anchor(found[1].replace("&amp;", "&"), thread_id)
        return f'href="{anchor if anchor[1:] in ids else ELSEWHERE}"'

    return _HREF.sub(place, html)


def _anchor(address: str, thread_id: str) -> str:
    """Where that page, or a part of it, stands in the file; empty where nobody knows."""
    parts = urlsplit(address)
    if not parts.path:
        return f"#{parts.fragment}"
    path = [unquote(part) for part in parts.path.split("/")[1:]]
    if path[:1] == ["messages"] and len(path) > 1:
        return f"#message-{path[1]}"
    if path[:2] != ["sessions", thread_id]:
        return ELSEWHERE
    asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    return _in_session(path[2:], asked, parts.fragment)


def _in_session(path: list[str], asked: dict[str, str], fragment: str) -> str:
    tab = path[0] if path else "artifact"
    if tab == "items" and len(path) > 1:
        return f"#{path[1]}"
    if tab == "diff" and "to" in asked:
        return f"#v{asked['to']}"
    if tab == "artifact" and "version" in asked:
        return f"#v{asked['version']}"
    return f"#{fragment or tab}"
