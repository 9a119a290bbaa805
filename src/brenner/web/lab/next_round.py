"""Start the next round of a session in the lab: each kickoff seen before it is sent."""

from collections.abc import Mapping
from functools import partial

from brenner.diagnostics.model import Diagnostic
from brenner.services.next_round import RoundOptions, earlier_kickoffs, round_roster, start_round
from brenner.services.rosters import RosterWish
from brenner.services.sessions import load_status
from brenner.services.start_session import Started
from brenner.web.forms import number_in
from brenner.web.lab import kickoff_acting
from brenner.web.lab.action import Action, Guard
from brenner.web.lab.desk import lab_desk
from brenner.web.lab.kickoff_acting import Kickoffs
from brenner.web.lab.kickoff_form import Said, not_together, seen_by
from brenner.web.lab.requests import is_dry_run, takes
from brenner.web.lab.roster_form import MOST_ROWS, roster_form_of
from brenner.web.page import Document
from brenner.web.visit import Visit

_TEXTS = ("focus", "question", "title", "excerpt", "sections", "constraints", "outputs")
_TICKS = ("register", "reopen")
_BASE = "base"


def _new(visit: Visit) -> Said:
    """Those who were asked before, in the roles that they have."""
    desk = lab_desk(visit)
    earlier = earlier_kickoffs(load_status(desk, visit.thread_id).messages)
    resolved = round_roster(desk, earlier, RosterWish())
    return Said(dict.fromkeys((*_TEXTS, *_TICKS), ""), roster_form_of(resolved))


def _faults(said: Said) -> list[Diagnostic]:
    both = said.texts["excerpt"] and said.texts["sections"]
    return [not_together("excerpt", "sections")] if both else []


def _start(visit: Visit, said: Said, dry_run: bool) -> Started:
    texts = said.texts
    is_meant = not dry_run or is_dry_run(visit)  # a preview for a form is of the thread as it is
    options = RoundOptions(
        wish=said.roster.wish,
        focus=texts["focus"],
        question=texts["question"],
        title=texts["title"].strip(),
        excerpt=texts["excerpt"],
        sections=texts["sections"].strip() or None,
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        dry_run=dry_run,
        reopen=bool(texts["reopen"]),
        register=bool(texts["register"]),
        base=number_in(visit.form, _BASE) if is_meant else None,
        seen=None if dry_run else seen_by(visit, said),
    )
    return start_round(lab_desk(visit), visit.thread_id, options)


def _about(visit: Visit) -> Mapping[str, object]:
    project = visit.site.desk.project
    return {"thread_id": visit.thread_id, "source_text": project.source_text}


def _base_shown(seen: Document) -> object:
    started = seen.get("started")
    number = started.get("round") if isinstance(started, Mapping) else None
    return number - 1 if isinstance(number, int) else None


_KIND = Kickoffs(
    "lab/round.html",
    "Start the next round",
    _TEXTS,
    _TICKS,
    _new,
    _faults,
    _start,
    _about,
    is_known=True,
)

ACTION = Action(
    "round",
    partial(kickoff_acting.form, _KIND),
    partial(kickoff_acting.do, _KIND),
    partial(kickoff_acting.preview, _KIND),
    takes=takes(
        texts=(*_TEXTS, "mode", "roster_name"), flags=_TICKS, numbers=(_BASE,), rows=MOST_ROWS
    ),
    guard=Guard(_BASE, _base_shown),
)
