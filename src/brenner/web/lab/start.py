"""Start a session in the lab: whom to ask what, each kickoff seen before it is sent."""

from collections.abc import Mapping
from functools import partial

from brenner.diagnostics.model import Diagnostic
from brenner.services.start_session import Started, StartOptions, start_session
from brenner.web.lab import kickoff_acting
from brenner.web.lab.action import Action, Done
from brenner.web.lab.desk import lab_desk
from brenner.web.lab.kickoff_acting import Kickoffs
from brenner.web.lab.kickoff_form import Said, blank, not_together, seen_by
from brenner.web.lab.requests import DRY_RUN
from brenner.web.lab.roster_form import new_roster_form
from brenner.web.lab.start_request import by_request
from brenner.web.page import Page
from brenner.web.visit import Visit

_TEXTS = (
    *("question", "context", "title", "excerpt", "sections"),
    *("hypotheses", "constraints", "outputs", "thread_id"),
)
_REGISTER = "register"


def _new(visit: Visit) -> Said:
    texts = dict.fromkeys((*_TEXTS, _REGISTER), "")
    return Said(texts, new_roster_form(lab_desk(visit)))


def _faults(said: Said) -> list[Diagnostic]:
    texts = said.texts
    found = []
    if not texts["question"]:
        found.append(blank("question", "one sentence that could turn out false"))
    if not texts["context"]:
        found.append(blank("context", "two to four sentences of background"))
    if texts["excerpt"] and texts["sections"]:
        found.append(not_together("excerpt", "sections"))
    return found


def _start(visit: Visit, said: Said, dry_run: bool) -> Started:
    texts = said.texts
    options = StartOptions(
        question=texts["question"],
        context=texts["context"],
        wish=said.roster.wish,
        title=texts["title"].strip(),
        excerpt=texts["excerpt"],
        sections=texts["sections"].strip() or None,
        hypotheses=texts["hypotheses"],
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        thread_id=texts["thread_id"].strip() or None,
        dry_run=dry_run,
        register=bool(texts[_REGISTER]),
        today=visit.now.date(),
        seen=None if dry_run else seen_by(visit, said),
    )
    return start_session(lab_desk(visit), options)


def _about(visit: Visit) -> Mapping[str, object]:
    return {"source_text": visit.site.desk.project.source_text}


_KIND = Kickoffs(
    "lab/start.html", "Start a session", _TEXTS, (_REGISTER,), _new, _faults, _start, _about
)


def _do(visit: Visit) -> Done | Page:
    if isinstance(visit.sent, Mapping):
        return by_request(visit, visit.sent)
    return kickoff_acting.do(_KIND, visit)


def _preview(visit: Visit) -> Page:
    if isinstance(visit.sent, Mapping):
        answer = by_request(visit, {**visit.sent, DRY_RUN: True})
        return Page("lab/kickoffs_part.html", _KIND.title, answer.document, is_live=False)
    return kickoff_acting.preview(_KIND, visit)


ACTION = Action(
    "start",
    partial(kickoff_acting.form, _KIND),
    _do,
    _preview,
    is_of_session=False,
)
