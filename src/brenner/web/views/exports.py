"""Exports of a session: a self-contained HTML report, the artifact as Markdown, and everything
as JSON.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from jinja2 import ChoiceLoader, DictLoader, Environment
from markupsafe import Markup

from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import artifact_json
from brenner.artifact.state import ledger_json
from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import RequestError
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.model import stored_json
from brenner.protocol.messages import iso
from brenner.services.evidence import readable_pack
from brenner.services.version_store import require_thread_id
from brenner.services.versions import Target, load_version, version_list_json
from brenner.session.overview import status_json
from brenner.web import links
from brenner.web.compare import version_before, version_numbers, version_side
from brenner.web.layout import session_or_none
from brenner.web.rendering import environment, marks_of, style_sheet, time_in_full
from brenner.web.request import Document, Download, Page, RequestContext
from brenner.web.views import artifact, evidence, evidence_pack, overview, project, versions
from brenner.web.views.versions import items_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from brenner.web.sessions import Session

# JSON export, with the keys of the command line


FORMAT = 1
_MAX_BODIES = 64 * 2**20  # characters of all bodies; beyond that messages have only their address


def session_export(context: RequestContext) -> dict[str, object]:
    """Return status, artifact, versions, ledger and messages. Keys are only ever added."""
    session = context.session
    deadline = context.site.workspace.project.ack_deadline
    size = sum(len(each.message.body) for each in session.stored)
    has_bodies = size <= _MAX_BODIES
    return {
        "format": FORMAT,
        "thread_id": session.thread_id,
        "exported_at": iso(context.now),
        "status": status_json(session.status, context.now, deadline),
        "artifact": _artifact(session),
        "history": version_list_json(session.history, session.version_list),
        "ledger": [
            {"version": number, **ledger_json(each.entries)}
            for number, each in sorted(session.ledgers.items())
        ],
        "has_bodies": has_bodies,
        "messages": [
            stored_json(each)
            | {"raw": links.message(each.id, "raw")}
            | ({} if has_bodies else {"body": None})
            for each in session.stored
        ],
    }


def _artifact(session: Session) -> dict[str, object] | None:
    """Return the latest version with its conflicts and lint report, None before the first."""
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


# Links inside of one file


_HREF = lazy_pattern(r'href="([^"]*)"')
_ID = lazy_pattern(r'\bid="([^"]*)"')
NOT_INCLUDED = "#elsewhere"


def localise_links(html: str, thread_id: str) -> str:
    """Turn links to our pages into anchors in the file, or into the remark that the page is not
    included.

    Text from messages cannot look like an attribute, because its quotation marks are escaped.
    """
    ids = set(_ID.findall(html))

    def local_href(found: re.Match[str]) -> str:
        anchor = _anchor(found[1].replace("&amp;", "&"), thread_id)
        return f'href="{anchor if anchor[1:] in ids else NOT_INCLUDED}"'

    return _HREF.sub(local_href, html)


def _anchor(address: str, thread_id: str) -> str:
    """Return the anchor of a page in the file, NOT_INCLUDED for a page of another session."""
    parts = urlsplit(address)
    if not parts.path:
        return f"#{parts.fragment}"
    path = [unquote(part) for part in parts.path.split("/")[1:]]
    if path[:1] == ["messages"] and len(path) > 1:
        return f"#message-{path[1]}"
    if path[:2] != ["sessions", thread_id]:
        return NOT_INCLUDED
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    return _session_anchor(path[2:], query, parts.fragment)


def _session_anchor(path: list[str], query: dict[str, str], fragment: str) -> str:
    tab = path[0] if path else "overview"
    if tab == "items" and len(path) > 1:
        return f"#{path[1]}"
    if tab == "diff" and "to" in query:
        return f"#v{query['to']}"
    if tab == "artifact" and "version" in query:
        return f"#v{query['version']}"
    return f"#{fragment or tab}"


# Documents of the report: overview, versions, thread


_MAX_COMPARED = 30  # versions with all changes; older ones have only a sentence
_MAX_MESSAGES = 5_000


def versions_document(context: RequestContext) -> dict[str, object]:
    """Return the history, latest version first, with the changes of each version."""
    session = context.session
    document = version_list_json(session.history, session.version_list)
    listed = cast("list[dict[str, object]]", document["versions"])[::-1]
    documents = [
        each | {"changed": _changed(context, session, cast("int", each["version"]))}
        if index < _MAX_COMPARED
        else each | {"changed": None}
        for index, each in enumerate(listed)
    ]
    return document | {"versions": documents}


def _changed(context: RequestContext, session: Session, number: int) -> dict[str, object]:
    old = version_before(session, number)
    found = items_document(context, version_side(session, old), version_side(session, number))
    wanted = ("sentence", "items", "part", "same")
    return {"before": old, **{key: found[key] for key in wanted}}


def thread_document(context: RequestContext) -> dict[str, object]:
    """Return every message in one line, in the order of the thread."""
    session = context.session
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
            for each in islice(session.stored, _MAX_MESSAGES)
        ],
    }


# The HTML report


# Templates that replace the layout: only the main part, and a note if it is one page of several.
_MAIN_ONLY = MappingProxyType(
    {
        "session.html": '{% import "macros/words.html" as say with context %}'
        "{% set session = page.session %}{% block main %}{% endblock %}",
        "macros/pages.html": '{% macro beside(part, label, what="") %}{% if part.pages > 1 %}'
        '<p class="quiet">{{ part.first }}–{{ part.last }} of {{ part.total }} {{ what }} are in '
        "this file.</p>{% endif %}{% endmacro %}",
    }
)
_HEADING = lazy_pattern(r"<h([1-5])\b")
_FORM = lazy_pattern(r"<form\b.*?</form>", re.DOTALL)


def report(context: RequestContext) -> str:
    """Return the report as one HTML file that needs no script, server or network.

    Its chapters are the main parts of the session's pages, rendered with their own templates.
    """
    chapters = list(_chapters(context))
    front = {
        **overview.overview_document(context),
        "project": context.site.about.name,
        "exported_at": iso(context.now),
        "chapters": [{"id": anchor, "title": title} for anchor, title, *_ in chapters],
    }
    parts = [
        _render("report/overview.html", front, context),
        *(_chapter_html(*each, context) for each in chapters),
        _render("report/elsewhere.html", {"thread_id": context.thread_id}, context),
    ]
    file = {
        "thread_id": context.thread_id,
        "policy": _as_markup(escape(report_policy())),
        "style": _as_markup(f"<style>{style_sheet()}</style>"),
        "body": _as_markup(localise_links("\n".join(parts), context.thread_id)),
    }
    return _render("report/file.html", file, context) + "\n"


def _as_markup(html: str) -> Markup:
    """Mark our style, and what templates have escaped, as safe. Only this place does."""
    return Markup(html)  # noqa: S704


def report_policy() -> str:
    """Return the content security policy of the file: only its own style is allowed."""
    digest = b64encode(sha256(style_sheet().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


# Chapters: anchor, title, template and document


def _chapters(context: RequestContext) -> Iterator[tuple[str, str, str, Document]]:
    """Yield the chapters with content. Before the first version the artifact ones are missing."""
    if context.session.history.versions:
        document = artifact.whole_document(_with_query(context, provenance="1"))
        yield "artifact", "Artifact", artifact.TEMPLATE, document
        yield "evidence", "Evidence", *_page_parts(evidence.page, context)
    if readable_pack(context.site.workspace.project):
        template, document = _page_parts(evidence_pack.session_page, context)
        if document["records"]:
            in_file = {"is_file": True, "has_pack": False}
            yield "excerpts", "Cited sources", template, {**document, **in_file}
    yield "versions", "Versions", "report/versions.html", versions_document(context)
    refused = _page_parts(versions.ledger_page, context, outcome="refused")
    yield "ledger", "Rejected blocks", *refused
    yield "agents", "Agents", *_page_parts(project.agents_page, context)
    yield "thread", "Thread", "report/thread.html", thread_document(context)


def _with_query(context: RequestContext, **query: str) -> RequestContext:
    return context._replace(query=MappingProxyType(query))


def _page_parts(function: Any, context: RequestContext, **query: str) -> tuple[str, Document]:
    answer = cast("Page", function(_with_query(context, **query)))
    return answer.template, answer.document


# Rendering of chapters


@cache
def _environment() -> Environment:
    """Return the Jinja environment of the pages, without their layout."""
    pages = environment()
    loaders = [DictLoader(_MAIN_ONLY), *([pages.loader] if pages.loader else ())]
    made = pages.overlay(loader=ChoiceLoader(loaders))
    made.filters = {**pages.filters, "when": _fixed_time}
    return made


def _fixed_time(at: str | datetime | None) -> Markup:
    """Render an absolute time, which stays true in a file."""
    return Markup("<time>{}</time>").format(time_in_full(at))


def _render(template: str, document: Document, context: RequestContext) -> str:
    return (
        _environment()
        .get_template(template)
        .render(
            page=document,
            marks=marks_of(document),
            title="",
            is_live=False,
            is_lab=False,
            login=None,
            is_guest=context.guest_of is not None,
            site=context.site.about,
            path=context.path,
            asked=MappingProxyType({}),
            now=context.now,
        )
    )


def _chapter_html(
    anchor: str, title: str, template: str, document: Document, context: RequestContext
) -> str:
    """Render a chapter without forms, its headings one level lower than on the page."""
    text = _HEADING.sub(_lower_heading, _FORM.sub("", _render(template, document, context)))
    css = "chapter artifact provenance" if anchor == "artifact" else "chapter"
    return f'<section class="{css}" id="{anchor}" aria-label="{title}">\n{text}</section>'


def _lower_heading(heading: re.Match[str]) -> str:
    """Lower the level by `aria-level`. The element stays, because the style depends on it."""
    return f'<h{heading[1]} aria-level="{int(heading[1]) + 1}"'


def page(context: RequestContext) -> Download:
    """Return the requested export. Its file name is the thread ID, which is valid as one."""
    form = context.parameters["form"]
    if form not in _FORMS:
        raise RequestError(NO_SUCH_PAGE.at(path=context.path))
    require_thread_id(context.thread_id)
    return _FORMS[form](context)


def _html(context: RequestContext) -> Download:
    name = f"{context.thread_id}.html"
    return Download(report(context), "text/html; charset=utf-8", name, report_policy())


def _markdown(context: RequestContext) -> Download:
    """Return the text of the requested or the latest version, unchanged."""
    number, session = context.query_number("version"), session_or_none(context)
    if session and (number or session.history.number) in version_numbers(session):
        text = render_artifact(version_side(session, number or session.history.number))
    else:  # from the file if the mail has none, else an error
        text = load_version(context.site.workspace, Target(context.thread_id, number)).text
    name = f"{context.thread_id}.md" if number is None else f"{context.thread_id}-v{number}.md"
    return Download(text, "text/markdown; charset=utf-8", name)


def _json(context: RequestContext) -> Download:
    text = json.dumps(session_export(context), ensure_ascii=False, indent=1) + "\n"
    return Download(text, "application/json", f"{context.thread_id}.json")


_FORMS: Mapping[str, Callable[[RequestContext], Download]] = MappingProxyType(
    {"html": _html, "md": _markdown, "json": _json}
)
