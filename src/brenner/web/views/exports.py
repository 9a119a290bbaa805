"""A session as a file to take along: a report in HTML, its artifact in Markdown, all as JSON."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qs, unquote, urlsplit

from jinja2 import ChoiceLoader, DictLoader, Environment
from markupsafe import Markup

from brenner import __version__
from brenner.artifact.html import text_html
from brenner.artifact.serialize import artifact_json
from brenner.artifact.state import ledger_json
from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import RequestError
from brenner.mail.model import StoredMessage, stored_json
from brenner.protocol.messages import iso
from brenner.services.version_store import check_usable
from brenner.services.versions import Target, history_json, load_version
from brenner.session.overview import status_json
from brenner.web import links
from brenner.web import rendering as assets
from brenner.web.compare import before, numbers_of, side
from brenner.web.layout import session_document, session_of
from brenner.web.rendering import environment, exactly
from brenner.web.request import Answer, Document, Download, Page, RequestContext
from brenner.web.sessions import Session
from brenner.web.views import artifact
from brenner.web.views import project as agents
from brenner.web.views import versions as ledger
from brenner.web.views.versions import items_document

# A whole session as one JSON document, of the forms that the command line prints.


FORMAT = 1
_MOST_BODIES = 64 * 2**20  # characters of all bodies together; beyond, each has its address alone


def session_export(visit: RequestContext) -> dict[str, object]:
    """Status, artifact, versions, ledger and messages. Keys are only ever added."""
    session = visit.session
    deadline = visit.site.workspace.project.ack_deadline
    size = sum(len(each.message.body) for each in session.stored)
    has_bodies = size <= _MOST_BODIES
    return {
        "format": FORMAT,
        "thread_id": session.thread_id,
        "exported_at": iso(visit.now),
        "status": status_json(session.status, visit.now, deadline),
        "artifact": _artifact(session),
        "history": history_json(session.version_list),
        "ledger": [
            {"version": number, **ledger_json(each.entries)}
            for number, each in sorted(session.ledgers.items())
        ],
        "has_bodies": has_bodies,
        "messages": [_message(each, has_bodies=has_bodies) for each in session.stored],
    }


def _artifact(session: Session) -> dict[str, object] | None:
    """The latest version with its conflicts and what the linter says; None before the first."""
    latest, report = session.latest, session.lint
    if latest is None or report is None:
        return None
    conflicts = latest.state.conflicts if latest.state else ()
    return {
        "version": latest.number,
        "message_id": latest.message.id if latest.message else None,
        **artifact_json(latest.artifact),
        "conflicts": [conflict.to_json() for conflict in conflicts],
        "lint": report.to_json(),
    }


def _message(stored: StoredMessage, *, has_bodies: bool) -> dict[str, object]:
    document = stored_json(stored) | {"raw": links.message(stored.id, "raw")}
    return document if has_bodies else document | {"body": None}


# Links of pages made links inside of one file.


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


# What a report has of its own: the first page, the versions with what changed, the thread.


_MOST_COMPARED = 30  # versions of which every change is shown; of older ones the sentence
_MOST_MESSAGES = 5_000


def overview_document(
    visit: RequestContext, chapters: Sequence[tuple[str, str]]
) -> dict[str, object]:
    """Which session, where it stands, and what follows."""
    return {
        "session": session_document(visit),
        "thread_id": visit.thread_id,
        "project": visit.site.about.name,
        "exported_at": iso(visit.now),
        "chapters": [{"id": anchor, "title": title} for anchor, title in chapters],
    }


def versions_document(visit: RequestContext) -> dict[str, object]:
    """The history, the latest first, with what each version changed."""
    session = visit.session
    document = history_json(session.version_list)
    listed = cast("list[dict[str, object]]", document["versions"])[::-1]
    told = [
        each | {"changed": _changed(visit, session, cast("int", each["version"]))}
        if place < _MOST_COMPARED
        else each | {"changed": None}
        for place, each in enumerate(listed)
    ]
    return document | {"versions": told}


def _changed(visit: RequestContext, session: Session, number: int) -> dict[str, object]:
    """What a version changed, as its page says it."""
    old = before(session, number)
    found = items_document(visit, side(session, old), side(session, number))
    wanted = ("sentence", "items", "part", "same")
    return {"before": old, **{key: found[key] for key in wanted}}


def thread_document(visit: RequestContext) -> dict[str, object]:
    """Every message in one line, in the order of the thread."""
    session = visit.session
    return {
        "thread_id": session.thread_id,
        "total": len(session.stored),
        "messages": [
            {
                "id": each.id,
                "at": iso(each.at),
                "type": each.type,
                "from": each.message.sender,
                "to": list(each.message.recipients),
                "subject": each.message.subject,
                "trust": each.envelope.trust,
            }
            for each in islice(session.stored, _MOST_MESSAGES)
        ],
    }


# A session as one file of HTML that needs nothing else: no script, no server, no network.
#
# Its chapters are the pages of the session, by their own documents and templates; here each is its
# main part alone, whole where the page shows a part, and what it links to is in the file.


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


def report(visit: RequestContext) -> str:
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


def _head(visit: RequestContext) -> Iterator[str]:
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


def _chapters(visit: RequestContext) -> Iterator[Chapter]:
    """Those that there is something in; before the first version there is the thread alone."""
    if visit.session.history.versions:
        document = artifact.whole_document(_asking(visit, provenance="1"))
        css = "artifact provenance"
        yield Chapter("artifact", "Artifact", artifact.TEMPLATE, document, css)
        yield Chapter("evidence", "Evidence", *_page(artifact.evidence_page, visit))
    yield Chapter("versions", "Versions", "report/versions.html", versions_document(visit))
    yield Chapter("ledger", "Refused blocks", *_page(ledger.ledger_page, visit, outcome="refused"))
    yield Chapter("agents", "Agents", *_page(agents.agents_page, visit))
    yield Chapter("thread", "Thread", "report/thread.html", thread_document(visit))


def _asking(visit: RequestContext, **asked: str) -> RequestContext:
    """One that asks for this, whatever else it asked."""
    return visit._replace(asked=MappingProxyType(asked))


def _page(function: Any, visit: RequestContext, **asked: str) -> tuple[str, Document]:
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


def _render(template: str, document: Document, visit: RequestContext) -> str:
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


def _chapter(chapter: Chapter, visit: RequestContext) -> str:
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


def page(visit: RequestContext) -> Answer:
    """The file that was asked for; its name is the thread's, which is a file's name already."""
    form = visit.named["form"]
    if form not in _FORMS:
        raise RequestError(NO_SUCH_PAGE.at(path=visit.path))
    check_usable(visit.thread_id)
    return _FORMS[form](visit)


def _html(visit: RequestContext) -> Download:
    name = f"{visit.thread_id}.html"
    return Download(report(visit), "text/html; charset=utf-8", name, policy())


def _markdown(visit: RequestContext) -> Download:
    """The artifact's text as it is: of the version asked for, or of the latest."""
    number, session = visit.number("version"), session_of(visit)
    if session and (number or session.history.number) in numbers_of(session):
        text = side(session, number or session.history.number).text
    else:  # the file's, where the mail has none; else that there is no such version
        text = load_version(visit.site.workspace, Target(visit.thread_id, number)).text
    name = f"{visit.thread_id}.md" if number is None else f"{visit.thread_id}-v{number}.md"
    return Download(text, "text/markdown; charset=utf-8", name)


def _json(visit: RequestContext) -> Download:
    text = json.dumps(session_export(visit), ensure_ascii=False, indent=1) + "\n"
    return Download(text, "application/json", f"{visit.thread_id}.json")


_FORMS: Mapping[str, Callable[[RequestContext], Download]] = MappingProxyType(
    {"html": _html, "md": _markdown, "json": _json}
)
