"""The source text of a project, at the sections that anchors cite."""

from brenner.diagnostics.errors import Refused
from brenner.diagnostics.model import Diagnostic
from brenner.session.excerpt import Passage, passages_of
from brenner.web import links
from brenner.web.page import Answer, Document, Page
from brenner.web.visit import Visit
from brenner.workflows.source_text import source_of

_MOST_ON_PAGE = 20


def page(visit: Visit) -> Answer:
    """Its sections by number, some at a time: those around the one that was asked for."""
    project = visit.site.desk.project
    text = source_of(project)
    if isinstance(text, Diagnostic):
        raise Refused(text)
    passages = list(passages_of(text or ""))
    wanted = visit.number("section")
    pages = max(1, -(-len(passages) // _MOST_ON_PAGE))
    at = next((index for index, each in enumerate(passages) if each.number == wanted), None)
    number = visit.number("page") or (at or 0) // _MOST_ON_PAGE + 1
    number = min(max(number, 1), pages)
    shown = passages[(number - 1) * _MOST_ON_PAGE : number * _MOST_ON_PAGE]
    document = {
        "path": project.source_text,
        "section": wanted if at is not None else None,
        "missing": wanted if at is None and passages else None,
        "sections": [_passage(each) for each in shown],
        "total": len(passages),
        "page": number,
        "pages": pages,
        "previous": links.source(page=number - 1) if number > 1 else None,
        "next": links.source(page=number + 1) if number < pages else None,
    }
    return Page("pages/source.html", "Source text", document, is_live=False)


def _passage(passage: Passage) -> Document:
    return {"number": passage.number, "title": passage.title, "text": passage.text}
