"""Style and scripts: served under their digests, all from here, and nothing in templates runs."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

import brenner.web
from brenner.web.rendering import assets, style_sheet
from web.browsing import Show

ROOT = Path(__file__).parents[2]
WEB = Path(brenner.web.__file__).parent
TEMPLATES = sorted((WEB / "templates").rglob("*.html"))
OURS = [
    *TEMPLATES,
    *sorted((WEB / "static").glob("*.js")),
    *sorted((WEB / "static").rglob("*.css")),
]
# What the policy would stop, what escaping would be lost by, what would be loaded from elsewhere
FORBIDDEN = {
    "style in a template": r"\sstyle=|<style(?!>\{\{ style)",
    "a script in a template": r"\son\w+=|hx-on|hx-vals|<script(?! src=\"\{\{ asset)",
    "unescaped": r"\|\s*safe\b|autoescape",
    "from elsewhere": r"""(?:src|href|action)=["'](?:https?:)?//|@import|url\(\s*["']?https?:""",
    "evaluated": r"\beval\(|new Function|innerHTML\s*=",
}
MOST_LINES = 400


@pytest.mark.parametrize("what", FORBIDDEN)
def test_never(what: str) -> None:
    """Nowhere in what we wrote."""
    pattern = re.compile(FORBIDDEN[what])
    found = {
        str(path.relative_to(WEB)): match[0]
        for path in OURS
        if (match := pattern.search(path.read_text("utf-8")))
    }
    assert found == {}


def test_it_would_be_found() -> None:
    """Each pattern finds what it is there for."""
    wrong = {
        "style in a template": '<p style="color: red">',
        "a script in a template": '<p onclick="x()">',
        "unescaped": "{{ text|safe }}",
        "from elsewhere": '<script src="https://example.org/x.js">',
        "evaluated": "element.innerHTML = text",
    }
    assert all(re.search(FORBIDDEN[what], text) for what, text in wrong.items())
    assert wrong.keys() == FORBIDDEN.keys()


def test_files_are_short() -> None:
    """A file has one subject."""
    long = {path.name: len(path.read_text("utf-8").splitlines()) for path in OURS}
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}


def test_style_has_every_file() -> None:
    """No sheet is forgotten."""
    assert all(path.read_text("utf-8") in style_sheet() for path in OURS if path.suffix == ".css")


def test_htmx_is_as_it_was() -> None:
    """The file is the one that the documentation names."""
    [file] = (WEB / "static" / "vendor").glob("htmx-*.min.js")
    digest = sha256(file.read_bytes()).hexdigest()
    assert digest in (ROOT / "docs" / "internals" / "dependencies.md").read_text("utf-8")


def test_served_for_good(site: Show) -> None:
    """Under its digest a file never changes; under another one there is none."""
    for path, asset in assets().items():
        reply = site.server.ask("GET", f"/assets/{path}")
        assert reply.status == 200
        assert "immutable" in reply.headers["cache-control"]
        assert reply.headers["content-type"].startswith(asset.media_type)
        wrong = site.server.ask("GET", f"/assets/{'0' * 16}/{path.partition('/')[2]}")
        assert wrong.status == 404
