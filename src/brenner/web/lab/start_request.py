"""A session that a script starts: the same as the form, as one JSON object.

The answer is what `brenner session start --json` writes.
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from types import MappingProxyType

from brenner.diagnostics.model import ERROR, Diagnostic, Summary, worst_first
from brenner.protocol.roster import Stated
from brenner.protocol.roster_config import read_stated, unread_keys
from brenner.services.rosters import RosterWish
from brenner.services.spawn_agents import started_json
from brenner.services.start_session import Started, StartOptions, Status, start_session
from brenner.web.forms import ONCE, TOKEN
from brenner.web.lab.action import Done
from brenner.web.lab.desk import lab_desk
from brenner.web.lab.kickoff_form import blank, not_together
from brenner.web.lab.kickoffs_done import broken_off, kickoffs_done
from brenner.web.lab.requests import DRY_RUN, FLAG, NAMES, TEXT, unknown, wrong_kind
from brenner.web.page import Page
from brenner.web.visit import Visit

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


def by_request(visit: Visit, sent: Mapping[str, object]) -> Done | Page:
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


def _options(visit: Visit, given: Mapping[str, object], session: Stated | None) -> StartOptions:
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
