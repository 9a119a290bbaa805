"""Texts over which a parser would sit for minutes: the nesting and the size of a text are limited.

Nothing here looks at a clock: the cost of a text is estimated from the text alone. (Where a limit
were missing, a test of these would not end.)
"""

import html
from itertools import repeat

import pytest

from brenner.web.markdown import MAX_COST, MAX_TYPESET, markdown, plain_words, typeset_cost
from brenner.web.messages import ONE_OF_MANY
from brenner.web.views import thread
from web.mail_scene import ANN, THREAD, Scene
from web.test_markdown_html import Read

WHY = "Shown as plain text: it has too many marks, lines or table cells"
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


def shown_plain(text: str) -> bool:
    """Whether a text is plain; all of it must be there, and the reason."""
    page = markdown(text)
    is_plain = "Shown as plain text: " in page
    if is_plain:
        within = str.__str__(page).split("<pre><code>", 1)[1].removesuffix("</code></pre>")
        assert html.unescape(within) == text
    return is_plain


@pytest.mark.parametrize("piece", [*AGAIN.values(), *MANY.values()], ids=[*AGAIN, *MANY])
def test_the_work_is_bounded(piece: str) -> None:
    """A page of it is shown within the time of a test; of very many the work would be too much."""
    markdown(filled(piece, 10_000))
    text = filled(piece, MAX_TYPESET)
    if typeset_cost(text) > MAX_COST:
        assert WHY in markdown(text)
        assert shown_plain(text)


@pytest.mark.parametrize("piece", MANY.values(), ids=MANY)
def test_a_page_of_it_is_typeset(piece: str) -> None:
    assert not shown_plain(filled(piece, 1_000))


@pytest.mark.parametrize("piece", QUICK.values(), ids=QUICK)
def test_quick(piece: str) -> None:
    """Their length alone is no reason."""
    assert not shown_plain(filled(piece, MAX_TYPESET // 20))


@pytest.mark.parametrize(("head", "piece"), HEADS.values(), ids=HEADS)
def test_what_a_beginning_does(head: str, piece: str) -> None:
    """A line at the top makes all that follow dear."""
    markdown(head + filled(piece, 5_000))
    assert shown_plain(head + filled(piece, MAX_TYPESET))


def test_ordinary_marks() -> None:
    """What people write is typeset."""
    text = filled(
        "## Heading\n\nWe *think* that **H1** holds, see [it](https://a.example) and `code`.\n\n"
        "- first, with words\n  - nested\n\n1. one\n\n> quoted\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
        50_000,
    )
    assert not shown_plain(text)


def test_links_of_a_long_paragraph() -> None:
    """They are links, however long it is: only what is looked at again and again is dear."""
    assert len(Read(markdown("[a](https://b.example) " * 500)).links) == 500


def test_pictures_in_pictures() -> None:
    """The parser calls itself for each: a few are pictures, of many the outer ones are text."""
    few, many = (markdown("![" * n + "a" + "](b)" * n) for n in (10, 200))
    assert "image: " in few
    assert many.startswith("<p>![![")


@pytest.mark.parametrize("text", ["[" * 400, "![" * 200, "[*a," * 100, "[a](" * 100])
def test_excerpts(text: str) -> None:
    """The first words of a message are bounded too; marks without an end are words."""
    assert html.unescape(plain_words(text)) == text


def test_work_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is spent, the messages that follow are cut in the document."""
    monkeypatch.setattr(thread, "ONE_OF_MANY", ONE_OF_MANY._replace(work=80_000))
    scene = Scene()
    scene.kickoff(ANN)
    for _ in range(6):
        scene.send(ANN, "INFO: Many", filled("- a\n", 800))
    document, page = scene.look(thread.page, {"thread": THREAD})
    lengths = [len(each["body"]) for each in document["messages"][1:]]
    assert lengths == sorted(lengths, reverse=True)
    assert (lengths[0], lengths[-1]) == (800, 300)
    assert page.count('data-load="/messages/') == 6  # a long text is loaded on demand
