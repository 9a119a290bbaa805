"""Texts over which a parser would sit for minutes: they are shown, plain, and the work is bounded.

Nothing here looks at a clock: the work is counted. (Where a count were missing, a test of these
would not end.)
"""

import html
from itertools import repeat

import pytest

from brenner.web import markdown as markdown_html
from brenner.web.markdown import (
    MAX_TYPESET,
    MAX_WORK,
    markdown,
    plain_words,
    typeset_cost,
    work_budget,
)
from brenner.web.messages import ONE_OF_MANY
from brenner.web.views import thread
from web.mail_scene import ANN, THREAD, Scene
from web.test_markdown_html import Read

WHY = "Shown as plain text: it has so many marks, lines or cells"
# Pieces of which a text is made, that the parser goes over again and again
AGAIN = {
    "brackets": "[",
    "brackets, by paragraphs": "[" * 499 + "\n\n",
    "brackets, by lines": "[[[[\n",
    "brackets in headings": "# " + "[" * 400 + "\n",
    "brackets in lists": "- " + "[" * 400 + "\n",
    "brackets with emphasis": "[*a ",
    "brackets with code": "[`a ",
    "pictures": "![",
    "pictures, by paragraphs": "![" * 249 + "\n\n",
    "pictures and links": "![ [ ](",
    "pictures in pictures": "![" * 80 + "](b)" * 80 + "\n\n",
    "links in links": "[" * 90 + "](b)" * 90 + "\n\n",
    "lists in lists": "- " * 45 + "a\n",
    "lists in quotations": "> - " * 30 + "a\n",
    "rules that are none": "* * * * * * * * * a\n",
}
# Those that it goes over once, and that are many
MANY = {
    "a flat list": "- a\n",
    "a list that changes": "- a\n+ a\n",
    "a numbered list": "1. a\n",
    "short paragraphs": "a\n\n",
    "short lines": "a\n",
    "headings": "# a\n",
    "links": "[a](b) ",
    "links that do not end": "[a](b",
    "emphasis": "*a* ",
    "emphasis in words": "a**b",
    "open emphasis": "*a**",
    "cells": "a|b\n-|-\n\n",
    "quotations": "> a\n\n",
}
# Those of which it takes 200,000 characters
QUICK = {
    "words": "word and ",
    "prose": "The mother cells divide, and H1 says so; see T2 for more of it.\n" * 6 + "\n",
    "a list of sentences": "- a point with some words in it, as people write\n",
    "code": "    a = b\n",
    "code in a fence": "```\na = b\n```\n",
    "backticks": "`a ``b ",
    "many backticks": "`",
    "tildes": "~",
    "entities": "&amp;",
    "angles": "<a",
    "comments": "<!--",
    "blank lines": "\n",
    "blanks": " ",
    "hidden characters": "\u202e",
    "quotations of one line": ">\n",
}
HEADS = {
    "lines after quotations": ("> " * 90 + "a\n", "a\n"),
    "a wide table": ("a|" * 250 + "\n" + "-|" * 250 + "\n", "a\n"),
    "a table of two columns": ("a|b\n-|-\n", "|\n"),
}


def filled(piece: str, length: int) -> str:
    """A piece again and again, to a length."""
    return "".join(repeat(piece, length // len(piece) + 1))[:length]


@pytest.fixture
def tenth(monkeypatch: pytest.MonkeyPatch) -> int:
    """The length of a tenth of the longest text that is typeset, with a tenth of the work."""
    monkeypatch.setattr(markdown_html, "MAX_WORK", MAX_WORK // 10)
    monkeypatch.setattr(markdown_html, "_CACHE", markdown_html._TypesetCache(MAX_TYPESET))  # noqa: SLF001
    return MAX_TYPESET // 10


def shown_plain(text: str) -> bool:
    """Whether a text is plain; all of it must be there, and the reason."""
    page = markdown(text)
    is_plain = WHY in page
    if is_plain:
        within = str.__str__(page).split("<pre><code>", 1)[1].removesuffix("</code></pre>")
        assert html.unescape(within) == text
    assert typeset_cost(text) <= min(work_budget(text), MAX_WORK)
    return is_plain


@pytest.mark.parametrize("piece", AGAIN.values(), ids=AGAIN)
def test_again_and_again(piece: str) -> None:
    """Of some kilobytes one knows already that it would not end."""
    assert shown_plain(filled(piece, 10_000))


@pytest.mark.parametrize("piece", MANY.values(), ids=MANY)
def test_many(piece: str, tenth: int) -> None:
    """A page of them is typeset; of very many the work would be too much."""
    assert not shown_plain(filled(piece, 1_000))
    assert shown_plain(filled(piece, tenth))


@pytest.mark.parametrize("piece", QUICK.values(), ids=QUICK)
def test_quick(piece: str, tenth: int) -> None:
    """Their length alone is no reason."""
    assert not shown_plain(filled(piece, tenth))


@pytest.mark.parametrize(("head", "piece"), HEADS.values(), ids=HEADS)
def test_what_a_beginning_does(head: str, piece: str, tenth: int) -> None:
    """A line at the top makes all that follow dear."""
    assert shown_plain(head + filled(piece, tenth))


@pytest.mark.parametrize("piece", [*AGAIN.values(), *MANY.values()])
def test_work_grows_as_the_text(piece: str) -> None:
    """Twice the text is at most about twice the work: that is what the weight says."""
    half, whole = (typeset_cost(filled(piece, length)) for length in (2_000, 4_000))
    assert whole <= 2.5 * half + 2_000


def test_ordinary_marks() -> None:
    """What people write takes a part of what it may."""
    text = filled(
        "## Heading\n\nWe *think* that **H1** holds, see [it](https://a.example) and `code`.\n\n"
        "- first, with words\n  - nested\n\n1. one\n\n> quoted\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
        50_000,
    )
    assert not shown_plain(text)
    assert typeset_cost(text) < work_budget(text) / 2


def test_links_of_a_long_paragraph() -> None:
    """They are links, however long it is: only what is looked at again and again is dear."""
    assert len(Read(markdown("[a](https://b.example) " * 500)).links) == 500


def test_pictures_in_pictures() -> None:
    """The parser calls itself for each: a few are pictures, many are text."""
    few, many = ("![" * n + "a" + "](b)" * n for n in (10, 200))
    assert "picture: " in markdown(few)
    assert shown_plain(many)


@pytest.mark.parametrize("text", ["[" * 400, "![" * 200, "[*a," * 100, "[a](" * 100])
def test_excerpts(text: str) -> None:
    """The first words of a message are bounded too; its marks are words then."""
    assert html.unescape(plain_words(text)) == text


def test_work_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is spent, the messages that follow are cut, and say so."""
    monkeypatch.setattr(thread, "ONE_OF_MANY", ONE_OF_MANY._replace(work=40_000))
    scene = Scene()
    scene.kickoff(ANN)
    for _ in range(6):
        scene.send(ANN, "INFO: Many", filled("- a\n", 800))
    document, page = scene.look(thread.page, {"thread": THREAD})
    lengths = [len(each["body"]) for each in document["messages"][1:]]
    assert lengths == sorted(lengths, reverse=True)
    assert (lengths[0], lengths[-1]) == (800, 300)
    assert page.count("Cut here: the message has 800 characters.") == lengths.count(300)
