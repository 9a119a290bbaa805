"""A session as a file to take along: a report in HTML, its artifact in Markdown, all as JSON."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import Refused
from brenner.services.version_store import check_usable
from brenner.services.versions import Target, load_version
from brenner.web.comparing import numbers_of, side
from brenner.web.export_json import session_export
from brenner.web.frame import session_of
from brenner.web.page import Answer, Download
from brenner.web.report import policy, report
from brenner.web.visit import Visit


def page(visit: Visit) -> Answer:
    """The file that was asked for; its name is the thread's, which is a file's name already."""
    form = visit.named["form"]
    if form not in _FORMS:
        raise Refused(NO_SUCH_PAGE.at(path=visit.path))
    check_usable(visit.thread_id)
    return _FORMS[form](visit)


def _html(visit: Visit) -> Download:
    name = f"{visit.thread_id}.html"
    return Download(report(visit), "text/html; charset=utf-8", name, policy())


def _markdown(visit: Visit) -> Download:
    """The artifact's text as it is: of the version asked for, or of the latest."""
    number, session = visit.number("version"), session_of(visit)
    if session and (number or session.chain.number) in numbers_of(session):
        text = side(session, number or session.chain.number).text
    else:  # the file's, where the mail has none; else that there is no such version
        text = load_version(visit.site.desk, Target(visit.thread_id, number)).text
    name = f"{visit.thread_id}.md" if number is None else f"{visit.thread_id}-v{number}.md"
    return Download(text, "text/markdown; charset=utf-8", name)


def _json(visit: Visit) -> Download:
    text = json.dumps(session_export(visit), ensure_ascii=False, indent=1) + "\n"
    return Download(text, "application/json", f"{visit.thread_id}.json")


_FORMS: Mapping[str, Callable[[Visit], Download]] = MappingProxyType(
    {"html": _html, "md": _markdown, "json": _json}
)
