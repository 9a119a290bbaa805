"""Start a session in the lab: whom to ask what, each kickoff seen before it is sent."""

from collections.abc import Iterator, Mapping
from functools import partial
from http import HTTPStatus
from types import MappingProxyType

from brenner.diagnostics.model import ERROR, Diagnostic, Summary, worst_first
from brenner.protocol.roster import Stated
from brenner.protocol.roster_config import read_stated, unread_keys
from brenner.services.next_round import RoundOptions, earlier_kickoffs, round_roster, start_round
from brenner.services.rosters import RosterWish
from brenner.services.sessions import load_status
from brenner.services.spawn_agents import started_json
from brenner.services.start_session import Started, StartOptions, Status, start_session
from brenner.web.lab import kickoffs as kickoff_acting
from brenner.web.lab.actions import (
    DRY_RUN,
    FLAG,
    NAMES,
    TEXT,
    Action,
    Done,
    Guard,
    is_dry_run,
    lab_desk,
    takes,
    unknown,
    wrong_kind,
)
from brenner.web.lab.kickoffs import (
    MOST_ROWS,
    Kickoffs,
    Said,
    blank,
    broken_off,
    kickoffs_done,
    new_roster_form,
    not_together,
    roster_form_of,
    seen_by,
)
from brenner.web.request import ONCE, TOKEN, Document, Page, RequestContext, number_in

# A session that a script starts: the same as the form, as one JSON object.
#
# The answer is what `brenner session start --json` writes.


_WHERE = "POST /lab/start"
_SOURCE = "the request"
_TEXTS = (
    *("question", "context", "title", "excerpt", "sections", "hypotheses", "constraints"),
    *("outputs", "thread_id", "bead", "preset"),
)
_KINDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys((*_TEXTS, ONCE, TOKEN), TEXT),
        **dict.fromkeys(("register", DRY_RUN), FLAG),
        "recipients": NAMES,
    }
)
_KNOWN = (*(key for key in _KINDS if key != TOKEN), "roster")
_NEEDED = MappingProxyType(
    {
        "question": "one sentence that could turn out false",
        "context": "two to four sentences of background",
    }
)
_PAIRS = (("excerpt", "sections"), ("thread_id", "bead"))


def by_request(visit: RequestContext, sent: Mapping[str, object]) -> Done | Page:
    """Start it, unless something is wrong; then nothing is done."""
    given = {key: value for key, value in sent.items() if value is not None}
    faults = tuple(_faults(given))
    if faults:
        return _refused(faults)
    read = read_stated(given["roster"], _SOURCE) if "roster" in given else None
    if isinstance(read, tuple) and not isinstance(read, Stated):
        return _refused(read)
    options = _options(visit, given, read)
    started = start_session(lab_desk(visit), options)
    odd = unread_keys(given.get("roster"), _SOURCE)
    started = started._replace(diagnostics=(*started.diagnostics, *odd))
    if started.status in (Status.SENT, Status.NOTHING) and not options.dry_run:
        return kickoffs_done(started)
    return _shown(started)


def _options(
    visit: RequestContext, given: Mapping[str, object], session: Stated | None
) -> StartOptions:
    texts = {name: str(given.get(name, "")) for name in _TEXTS}
    names = given.get("recipients")
    recipients = tuple((name, None) for name in names) if isinstance(names, list) else ()
    return StartOptions(
        question=texts["question"],
        context=texts["context"],
        wish=RosterWish(recipients=recipients, preset=texts["preset"] or None, session=session),
        title=texts["title"],
        excerpt=texts["excerpt"],
        sections=texts["sections"] or None,
        hypotheses=texts["hypotheses"],
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        thread_id=texts["thread_id"] or None,
        bead=texts["bead"] or None,
        dry_run=given.get(DRY_RUN) is True,
        register=given.get("register") is True,
        today=visit.now.date(),
    )


def _faults(given: Mapping[str, object]) -> Iterator[Diagnostic]:
    """What is wrong with the object itself; a key that nobody reads would be lost in silence."""
    for key, value in given.items():
        if key in _KINDS:
            yield from wrong_kind(key, _KINDS[key], value)
        elif key not in _KNOWN:
            yield unknown(key, _WHERE, _KNOWN)
    for key, expected in _NEEDED.items():
        if not str(given.get(key, "")).strip():
            yield blank(key, expected)
    for one, other in _PAIRS:
        if given.get(one) and given.get(other):
            yield not_together(one, other)


def _refused(found: tuple[Diagnostic, ...]) -> Page:
    """As the command line says it where nothing could be begun."""
    document = {
        "thread_id": None,
        "status": Status.REFUSED.value,
        "kickoffs": [],
        "registered": [],
        "roster": None,
        "neighbours": None,
        "violations": [each.to_json() for each in sorted(found, key=worst_first)],
        "summary": Summary.of(found)._asdict(),
        "valid": False,
    }
    return Page(
        "lab/start.html",
        "Start a session",
        document,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        is_live=False,
    )


def _shown(started: Started) -> Page:
    """What would be sent, was refused, or broke off."""
    is_wrong = any(each.severity is ERROR for each in started.diagnostics)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    if started.status is Status.INCOMPLETE:
        status = broken_off(started)
    return Page("lab/start.html", "Start a session", started_json(started), status, is_live=False)


_START_TEXTS = (
    *("question", "context", "title", "excerpt", "sections"),
    *("hypotheses", "constraints", "outputs", "thread_id"),
)
_REGISTER = "register"


def _new(visit: RequestContext) -> Said:
    texts = dict.fromkeys((*_START_TEXTS, _REGISTER), "")
    return Said(texts, new_roster_form(lab_desk(visit)))


def _start_faults(said: Said) -> list[Diagnostic]:
    texts = said.texts
    found = []
    if not texts["question"]:
        found.append(blank("question", "one sentence that could turn out false"))
    if not texts["context"]:
        found.append(blank("context", "two to four sentences of background"))
    if texts["excerpt"] and texts["sections"]:
        found.append(not_together("excerpt", "sections"))
    return found


def _start(visit: RequestContext, said: Said, dry_run: bool) -> Started:
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


def _about(visit: RequestContext) -> Mapping[str, object]:
    return {"source_text": visit.site.workspace.project.source_text}


_KIND = Kickoffs(
    "lab/start.html",
    "Start a session",
    _START_TEXTS,
    (_REGISTER,),
    _new,
    _start_faults,
    _start,
    _about,
)


def _do(visit: RequestContext) -> Done | Page:
    if isinstance(visit.sent, Mapping):
        return by_request(visit, visit.sent)
    return kickoff_acting.do(_KIND, visit)


def _preview(visit: RequestContext) -> Page:
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


# Start the next round of a session in the lab: each kickoff seen before it is sent.


_NEXT_ROUND_TEXTS = ("focus", "question", "title", "excerpt", "sections", "constraints", "outputs")
_TICKS = ("register", "reopen")
_BASE = "base"


def _next_round_new(visit: RequestContext) -> Said:
    """Those who were asked before, in the roles that they have."""
    workspace = lab_desk(visit)
    earlier = earlier_kickoffs(load_status(workspace, visit.thread_id).messages)
    resolved = round_roster(workspace, earlier, RosterWish())
    return Said(dict.fromkeys((*_NEXT_ROUND_TEXTS, *_TICKS), ""), roster_form_of(resolved))


def _next_round_faults(said: Said) -> list[Diagnostic]:
    both = said.texts["excerpt"] and said.texts["sections"]
    return [not_together("excerpt", "sections")] if both else []


def _next_round_start(visit: RequestContext, said: Said, dry_run: bool) -> Started:
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


def _next_round_about(visit: RequestContext) -> Mapping[str, object]:
    project = visit.site.workspace.project
    return {"thread_id": visit.thread_id, "source_text": project.source_text}


def _base_shown(seen: Document) -> object:
    started = seen.get("started")
    number = started.get("round") if isinstance(started, Mapping) else None
    return number - 1 if isinstance(number, int) else None


_NEXT_ROUND_KIND = Kickoffs(
    "lab/round.html",
    "Start the next round",
    _NEXT_ROUND_TEXTS,
    _TICKS,
    _next_round_new,
    _next_round_faults,
    _next_round_start,
    _next_round_about,
    is_known=True,
)

NEXT_ROUND_ACTION = Action(
    "round",
    partial(kickoff_acting.form, _NEXT_ROUND_KIND),
    partial(kickoff_acting.do, _NEXT_ROUND_KIND),
    partial(kickoff_acting.preview, _NEXT_ROUND_KIND),
    takes=takes(
        texts=(*_NEXT_ROUND_TEXTS, "mode", "roster_name"),
        flags=_TICKS,
        numbers=(_BASE,),
        rows=MOST_ROWS,
    ),
    guard=Guard(_BASE, _base_shown),
)
