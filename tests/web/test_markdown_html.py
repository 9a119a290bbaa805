"""Other people's Markdown: what comes out is whole, closed, and of our allow-list."""

from html.parser import HTMLParser
from unicodedata import category
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.markdown.blocks import parse_blocks
from brenner.protocol.delta.parse import is_delta_fence
from brenner.web.markdown import (
    ATTRIBUTES,
    LINK_REL,
    MAX_SHOWN,
    MAX_TYPESET,
    SCHEMES,
    TAGS,
    VALUES,
    html_parts,
    markdown,
)
from web.hostile import HOSTILE, MARK, NOTED, WITH_NUL

THREAD = "RS-20260101-a-thread"
_EMPTY = {"br", "hr"}
_JOINERS = "\u200c\u200d"
_TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
_MARKUP = st.text(st.sampled_from("<>[]()!`*_~|#-:>&;\"'= \n\tx/ÿ\u202e\\1."), max_size=60)
_PIECE = st.one_of(_TEXT, _MARKUP, st.sampled_from([*HOSTILE, *WITH_NUL]))


class Read(HTMLParser):
    """What a reader of HTML finds, and what is wrong with it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.words = ""
        self.links: list[str] = []
        self.feed(str.__str__(html))  # text that is marked as clean unescapes itself otherwise
        self.close()
        self.wrong += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Every tag and every attribute must be one that we write."""
        if tag not in TAGS:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            self._check(tag, name, value or "")
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """What is closed is what was opened last."""
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        """The words that are read."""
        self.words += data

    def handle_comment(self, data: str) -> None:
        """None of ours."""
        self.wrong.append(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        """None of ours."""
        self.wrong.append(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        """None of ours."""
        self.wrong.append(f"an instruction: {data}")

    def _check(self, tag: str, name: str, value: str) -> None:
        is_known = name in ATTRIBUTES.get(tag, ()) or value in VALUES.get(tag, {}).get(name, ())
        if (tag, name, value) == ("a", "rel", LINK_REL):
            return
        if name == "href":
            self.links.append(value)
            is_ours = value.startswith(f"/sessions/{THREAD}/items/")
            is_known &= is_ours or urlsplit(value).scheme in SCHEMES
        if not is_known:
            self.wrong.append(f"<{tag} {name}={value!r}>")


def unseen(html: str) -> set[str]:
    """Characters that a reader cannot see, or that turn what she sees."""
    odd = {each for each in html if not each.isprintable() and category(each) != "Zs"}
    return odd - {"\n", "\t", *_JOINERS}


@given(st.lists(_PIECE, max_size=4).map("".join))
def test_law(text: str) -> None:
    """Whatever a text holds, its HTML holds nothing but what we allow."""
    html = markdown(text, THREAD, ["H1", "T2"])
    assert Read(html).wrong == []
    assert unseen(html) == set()


@pytest.mark.parametrize(
    "around", ["{}", "**{}**", "> {}", "| a |\n|---|\n| {} |", "`{}`", "[{}](x)"]
)
def test_hostile_texts(around: str) -> None:
    """Each of them, alone and inside of other markup."""
    for text in (*HOSTILE, *WITH_NUL):
        html = markdown(around.replace("{}", text), THREAD, ["H1"])
        assert Read(html).wrong == [], text
        assert unseen(html) == set(), text


def test_what_would_run_is_read_as_text() -> None:
    """It is not taken out: whoever reads the page sees what somebody tried."""
    for each in NOTED:
        if MARK in each.text:
            assert MARK in Read(markdown(each.text)).words, each.note


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[x](https://a.example/b)", ["https://a.example/b"]),
        ("<https://a.example>", ["https://a.example"]),
        ("[x](HTTP://a.example)", ["HTTP://a.example"]),
        ("<me@a.example>", ["mailto:me@a.example"]),
        ("[x](/lab/complete) [y](other.md) [z](#m1) [u](//a.example)", []),
        ("![p](https://a.example/p.png)", []),
        ("[x][1]\n\n[1]: https://a.example", []),
        ("https://a.example", []),
    ],
)
def test_links(text: str, links: list[str]) -> None:
    """Only those that lead elsewhere, and only where the author made one."""
    assert Read(markdown(text)).links == links


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[ours](https://a.example)", "ours (https://a.example)"),
        ("[ours](https://a.example 'Title')", 'ours (https://a.example "Title")'),
        ("<https://a.example>", "https://a.example"),
        ("[x](../other.md)", "x (../other.md)"),
        ("![a *b*](https://a.example/p)", "[image: a b, https://a.example/p]"),
        ("![](p 'T')", '[image: no description, p "T"]'),
        ("[x][1]\n\n[1]: /secret 'title'", "[x][1]\n[1]: /secret 'title'"),
        ("<!-- a comment --> a <b>c</b>", "<!-- a comment --> a <b>c</b>"),
        ("e\u0301" + "\u0301" * 7, "e" + "\u0301" * 6 + "\\u0301\\u0301"),
        ("a\u202eb &#x202e; `\u202e`", "a\\u202eb \\u202e \\u202e"),
    ],
)
def test_nothing_is_hidden(text: str, words: str) -> None:
    """Addresses, titles, comments, definitions, marks of direction: all of it can be read."""
    assert Read(markdown(text)).words.strip() == words


def test_items_are_links() -> None:
    """Those that the session has; in a link and in code they are words."""
    html = markdown("H1 and H4, not `H1` and not [H1](https://a.example)", THREAD, ["H1"])
    assert Read(html).links == [f"/sessions/{THREAD}/items/H1", "https://a.example"]
    assert Read(markdown("H1", None, ["H1"])).links == []


def test_typeset() -> None:
    """Headings go below ours; tables and code are what they are."""
    html = markdown(
        "# a\n## b\n### c\n\n~~d~~\n\n| x | y |\n|---|--:|\n| 1 | 2 |\n\n```json\n{}\n```\n"
    )
    for part in (
        *("<h4>a</h4>", "<h5>b</h5>", "<h6>c</h6>", "<s>d</s>", '<td class="right">2</td>'),
        *('<th scope="col">x</th>', '<pre data-info="json"><code>{}\n</code></pre>'),
    ):
        assert part in html


DEEP = ("> " * 150 + "deep", "> " * 20 + "deep", "- " * 99 + "deep", "> - " * 60 + "deep")


@pytest.mark.parametrize("text", DEEP)
def test_too_deep(text: str) -> None:
    """The parser would leave the rest out in silence."""
    html = markdown(text)
    assert "Shown as plain text" in html
    assert "deep</code>" in html


@pytest.mark.parametrize("text", ["> " * 18 + "deep", "- " * 9 + "deep", "*a **b " * 600 + "deep"])
def test_not_too_deep(text: str) -> None:
    """What is shown as it was meant, or as a paragraph of text, is whole."""
    assert "deep" in Read(markdown(text)).words


def test_too_long() -> None:
    """Plain text, with the reason; and cut where a browser would suffer."""
    html = markdown("# a\r\n" * (MAX_TYPESET // 4))
    assert "Shown as plain text: it has 250,000 characters." in html
    assert "# a\n# a\n" in html
    assert "Shortened. The raw text has 7 more characters." in markdown("x" * (MAX_SHOWN + 7))


# Places of delta blocks

BLOCK = "```delta\n{}\n```\n"
BODIES = [
    BLOCK,
    f"a\n\n{BLOCK}\nb\n{BLOCK}c",
    f"- item\n  {BLOCK.replace(chr(10), chr(10) + '  ')}\n- next\n\n{BLOCK}",
    f"> {BLOCK.replace(chr(10), chr(10) + '> ')}\n\n{BLOCK}",
    f"\ufeff{BLOCK}{BLOCK}",
    "~~~~ delta x\n{}\n",
    f"<div>\n{BLOCK}\n\n{BLOCK}",
    f"{'> ' * 150}\n\n{BLOCK}",
    f"````\n{BLOCK}````\n{BLOCK}",
]


def read_blocks(body: str) -> list[dict[str, object]]:
    """Where our own scanner finds delta blocks."""
    fences = filter(is_delta_fence, parse_blocks(body))
    return [{"line": each.line, "block": number} for number, each in enumerate(fences, 1)]


@pytest.mark.parametrize("body", BODIES)
def test_every_block_has_its_place(body: str) -> None:
    """Each of them once, in order; what stands between them is HTML that closes."""
    found = html_parts(body, THREAD, (), read_blocks(body))
    assert [block for _, block in found if block] == list(range(1, len(read_blocks(body)) + 1))
    assert Read("".join(html for html, _ in found)).wrong == []


@given(st.lists(_PIECE | st.just(f"\n{BLOCK}"), max_size=5).map("".join))
def test_places_law(body: str) -> None:
    """No block is left out or shown twice, whatever stands around it."""
    numbers = [each["block"] for each in read_blocks(body)]
    found = html_parts(body, THREAD, ["H1"], read_blocks(body))
    assert sorted(block for _, block in found if block is not None) == numbers
    assert Read("".join(html for html, _ in found)).wrong == []


def test_places_are_not_forged() -> None:
    """Only our own scanner says where a block stands."""
    forged = '<hr data-block="1">\n\n```delta\n{}\n```'
    assert [block for _, block in html_parts(forged)] == [None]


def test_blocks_out_of_sight() -> None:
    """Those of a text that is cut or plain stand after it."""
    assert html_parts("a", THREAD, (), [{"line": 9, "block": 1}])[1:] == (
        (html_parts("")[0][0], 1),
    )


def test_the_list_is_worth_something() -> None:
    """Without the renderer most of them would do something: the list has what it says."""
    raw = [text for text in HOSTILE if Read(text).wrong or unseen(text)]
    assert len(raw) > 40
