"""A session as one file of HTML that needs nothing else: no script, no server, no network.

Its chapters are the pages of the session, by their own documents and templates; here each is its
main part alone, whole where the page shows a part, and what it links to is in the file.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from jinja2 import ChoiceLoader, DictLoader, Environment
from markupsafe import Markup

from brenner import __version__
from brenner.artifact.html import text_html
from brenner.web import assets
from brenner.web.filters import exactly
from brenner.web.page import Document, Page
from brenner.web.pages import agents, artifact, evidence, ledger
from brenner.web.rendering import environment
from brenner.web.report_links import inward
from brenner.web.report_parts import overview_document, thread_document, versions_document
from brenner.web.visit import Visit

# In the report a page of a session is its main part; where that is one of several, it says so.
_BARE = MappingProxyType(
    {
        "session.html": '{% import "macros/words.html" as say with context %}'
        "{% set session = page.session %}{% block main %}{% endblock %}",
        "macros/pages.html": '{% macro beside(part, label, what="") %}{% if part.pages > 1 %}'
        '<p class="quiet">{{ part.first }}–{{ part.last }} of {{ part.total }} {{ what }} are in '
        "this file.</p>{% endif %}{% endmacro %}",
    }
)
_HEADING = re.compile(r"<h([1-5])\b")
_FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)


class Chapter(NamedTuple):
    """A part of the report: its anchor, what it is called, and the page that it is."""

    id: str
    title: str
    template: str
    document: Document
    css: str = ""


def report(visit: Visit) -> str:
    """The whole file."""
    chapters = list(_chapters(visit))
    overview = overview_document(visit, [(each.id, each.title) for each in chapters])
    first = Chapter("top", "", "report/overview.html", overview)
    parts = [_chapter(each, visit) for each in (first, *chapters)]
    last = _render("report/elsewhere.html", {"thread_id": visit.thread_id}, visit)
    body = inward("\n".join([*parts, last]), visit.thread_id)
    return "\n".join([*_head(visit), "<main>", body, "</main>", "</body>", "</html>", ""])


def policy() -> str:
    """What the file may do: have its own style, and nothing else."""
    digest = b64encode(sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _style() -> str:
    return assets.style()


def _head(visit: Visit) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(policy())}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f'<meta name="generator" content="Brenner {escape(__version__)}">'
    yield f"<title>{text_html(visit.thread_id)}</title>"
    yield f"<style>{_style()}</style>"
    yield "</head>"
    yield '<body class="report">'


# The chapters


def _chapters(visit: Visit) -> Iterator[Chapter]:
    """Those that there is something in; before the first version there is the thread alone."""
    if visit.session.chain.versions:
        document = artifact.whole_document(_asking(visit, provenance="1"))
        css = "artifact provenance"
        yield Chapter("artifact", "Artifact", artifact.TEMPLATE, document, css)
        yield Chapter("evidence", "Evidence", *_page(evidence.page, visit))
    yield Chapter("versions", "Versions", "report/versions.html", versions_document(visit))
    yield Chapter("ledger", "Refused blocks", *_page(ledger.page, visit, outcome="refused"))
    yield Chapter("agents", "Agents", *_page(agents.page, visit))
    yield Chapter("thread", "Thread", "report/thread.html", thread_document(visit))


def _asking(visit: Visit, **asked: str) -> Visit:
    """One that asks for this, whatever else it asked."""
    return visit._replace(asked=MappingProxyType(asked))


def _page(function: Any, visit: Visit, **asked: str) -> tuple[str, Document]:
    answer = cast("Page", function(_asking(visit, **asked)))
    return answer.template, answer.document


# From a chapter to its text


@cache
def _environment() -> Environment:
    """The templates of the pages, without the frame around them."""
    pages = environment()
    loaders = [DictLoader(_BARE), *([pages.loader] if pages.loader else ())]
    made = pages.overlay(loader=ChoiceLoader(loaders))
    made.filters = {**pages.filters, "when": _at}
    return made


def _at(at: str | datetime | None) -> Markup:
    """A time as it stays true."""
    return Markup("<time>{}</time>").format(exactly(at))


def _render(template: str, document: Document, visit: Visit) -> str:
    return (
        _environment()
        .get_template(template)
        .render(
            page=document,
            title="",
            is_live=False,
            is_lab=False,
            login=None,
            is_guest=visit.guest_of is not None,
            site=visit.site.about,
            path=visit.path,
            asked=MappingProxyType({}),
            now=visit.now,
        )
    )


def _chapter(chapter: Chapter, visit: Visit) -> str:
    """Its headings count as one level lower than on its page, and nothing is there to be sent."""
    text = _render(chapter.template, chapter.document, visit)
    if chapter.id == "top":
        return text
    text = _HEADING.sub(_lower, _FORM.sub("", text))
    css = f"chapter {chapter.css}".strip()
    return (
        f'<section class="{css}" id="{chapter.id}" aria-label="{chapter.title}">\n{text}</section>'
    )


def _lower(heading: re.Match[str]) -> str:
    """It keeps its look, which is tied to its name."""
    return f'<h{heading[1]} aria-level="{int(heading[1]) + 1}"'
