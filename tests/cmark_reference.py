"""What the reference implementation of Markdown shows of a text: its blocks, and what they say."""

from html.parser import HTMLParser
from typing import NamedTuple

from cmarkgfm import cmark

_LEAVES = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "th", "td", "pre", "hr"})
_OUTER = frozenset({"ul", "table", "thead", "tbody", "tr"})
# Not links: those of a viewer's own making are looked at apart.
PLAIN = ("table", "strikethrough")
GITHUB = ("table", "strikethrough", "autolink", "tagfilter")


class Seen(NamedTuple):
    """A leaf of the page: its element, its text, and the parts of it that are bold and struck.

    Blanks are not told apart. `html` counts what was raw HTML, `others` are further elements.
    """

    element: str
    text: str
    bold: str = ""
    struck: str = ""
    html: int = 0
    others: tuple[str, ...] = ()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Seen] = []
        self.inside: list[str] = []
        self.texts: dict[str, str] = {}
        self.html = 0
        self.others: list[str] = []

    def handle_startendtag(self, tag: str, _attributes: object) -> None:
        self.handle_data(" ")
        if tag != "br":
            self.others.append(tag)

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        if tag in _LEAVES:
            self.texts, self.html, self.others = dict.fromkeys(("", "strong", "del"), ""), 0, []
        elif tag not in ("strong", "del") and tag not in _OUTER:
            self.others.append(tag)
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.inside.remove(tag)
        if tag in _LEAVES:
            text, bold, struck = (" ".join(text.split()) for text in self.texts.values())
            self.found.append(Seen(tag, text, bold, struck, self.html, tuple(self.others)))

    def handle_data(self, data: str) -> None:
        for element in self.texts:
            if not element or element in self.inside:
                self.texts[element] += data

    def handle_comment(self, _comment: str) -> None:
        self.html += 1
        self.handle_data(" ")


def seen(markdown: str, extensions: tuple[str, ...] = PLAIN) -> list[Seen]:
    """The leaves that cmark finds, in their order. Raw HTML is left out and counted."""
    page = _Page()
    page.feed(cmark.markdown_to_html_with_extensions(markdown, 0, list(extensions)))
    page.close()
    return page.found
