"""The source text of a project, at the sections that anchors cite."""

from brenner.diagnostics.model import Diagnostic, Refused
from brenner.services.compile import source_of
from brenner.session.kickoff_text import Passage, passages_of
from brenner.web import links
from brenner.web.page import Answer, Document, Page
from brenner.web.paging import part, part_json
from brenner.web.visit import Visit

_MOST_ON_PAGE = 20


def page(visit: Visit) -> Answer:
    """Its sections by number, some at a time: those around the one that was asked for."""
    project = visit.site.desk.project
    text = source_of(project)
    if isinstance(text, Diagnostic):
        raise Refused(text)
    passages = list(passages_of(text or ""))
    wanted = visit.number("section")
    at = next((index for index, each in enumerate(passages) if each.number == wanted), None)
    around = (at or 0) // _MOST_ON_PAGE + 1
    which = part(visit, len(passages), _MOST_ON_PAGE, otherwise=around)
    document = {
        "path": project.source_text,
        "section": wanted if at is not None else None,
        "missing": wanted if at is None and passages else None,
        "sections": [_passage(each) for each in which.of(passages)],
        **part_json(which, lambda number: links.source(page=number)),
    }
    return Page("pages/source.html", "Source text", document, is_live=False)


def _passage(passage: Passage) -> Document:
    return {"number": passage.number, "title": passage.title, "text": passage.text}
