"""How the forms of kickoffs are shown, tried and sent: those of a session and those of a round.

Whatever a form comes back for, it has everything that was typed. Sending again what was sent in
part sends only what is missing, so the form of a kickoff that broke off can be sent as it is.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.services.start_session import Started, Status
from brenner.web.forms import is_ticked
from brenner.web.lab.action import Done
from brenner.web.lab.desk import lab_desk
from brenner.web.lab.kickoff_form import (
    Said,
    Tried,
    asks_nobody,
    nameless,
    placed,
    preview_document,
    texts_of,
)
from brenner.web.lab.kickoffs_done import broken_off, kickoffs_done, partly_sent
from brenner.web.lab.roster_form import changed, read_roster_form, roster_document
from brenner.web.page import Page
from brenner.web.visit import Visit


class Kickoffs(NamedTuple):
    """One kind of kickoffs. `start` sends them, or tries to, in a dry run; `faults` are what only
    a form can have; `new` is what it says at first, and `about` what its page says beside. It
    `is_known` where the form as it is at first can be sent, and so has a preview.
    """

    template: str
    title: str
    texts: tuple[str, ...]
    ticks: tuple[str, ...]
    new: Callable[[Visit], Said]
    faults: Callable[[Said], list[Diagnostic]]
    start: Callable[[Visit, Said, bool], Started]
    about: Callable[[Visit], Mapping[str, object]]
    is_known: bool = False


def form(kind: Kickoffs, visit: Visit) -> Page:
    """The form; one that was sent comes back as it was typed."""
    if not visit.form:
        return _page(kind, visit, kind.new(visit))
    return _page(kind, visit, _read(kind, visit))


def preview(kind: Kickoffs, visit: Visit) -> Page:
    """What would be sent as the form stands."""
    said = _read(kind, visit)
    tried = _tried(kind, visit, said)
    document = preview_document(tried, said)
    return Page("lab/kickoffs_part.html", kind.title, document, is_live=False)


def do(kind: Kickoffs, visit: Visit) -> Done | Page:
    """Send them; or do what another button of the form says, which sends nothing."""
    said, then = _read(kind, visit), visit.form.get("then", "")
    after = changed(lab_desk(visit), said.roster, then)
    if after:
        return _page(kind, visit, said._replace(roster=after[0]), focus=after[1])
    faults = _faults(kind, said)
    if faults:
        return _refused(kind, visit, said)
    started = kind.start(visit, said, False)
    if started.status is Status.REFUSED:
        return _refused(kind, visit, said)
    if started.status is Status.INCOMPLETE:
        return _partly(kind, visit, said, started)
    return kickoffs_done(started)


def _partly(kind: Kickoffs, visit: Visit, said: Said, started: Started) -> Page:
    """The form again, and who has got a kickoff. A script looks for what is wrong, and finds it."""
    kept = {**said.texts, "thread_id": started.thread_id or ""}  # the same again, not another
    page = _page(kind, visit, said._replace(texts=kept))
    document = {**page.document, "partly": partly_sent(started)}
    if visit.sent is not None:
        document["violations"] = placed(started.diagnostics, said.roster)
    return page._replace(document=document, status=broken_off(started))


def _read(kind: Kickoffs, visit: Visit) -> Said:
    ticks = {name: "yes" for name in kind.ticks if is_ticked(visit.form, name)}
    texts = {**texts_of(visit.form, kind.texts), **dict.fromkeys(kind.ticks, ""), **ticks}
    roster = read_roster_form(visit.form)
    if kind.is_known and visit.sent is not None and not roster.rows:
        # A script that names nobody means those whom the form would name, as the command does.
        known = kind.new(visit).roster
        roster = known._replace(mode=roster.mode or known.mode, name=roster.name or known.name)
    return Said(texts, roster)


def _faults(kind: Kickoffs, said: Said) -> tuple[Diagnostic, ...]:
    return (*kind.faults(said), *asks_nobody(said.roster), *nameless(said.roster))


def _tried(kind: Kickoffs, visit: Visit, said: Said) -> Tried:
    """What would come of it; with what only a form can have wrong, that is told first."""
    faults = _faults(kind, said)
    return Tried(None if faults else kind.start(visit, said, True), faults)


def _page(kind: Kickoffs, visit: Visit, said: Said, focus: str = "") -> Page:
    document: dict[str, object] = {
        "fields": dict(said.texts),
        **roster_document(lab_desk(visit), said.roster),
        **kind.about(visit),
        "focus": focus,
        "violations": [],
        "partly": None,
        "preview": None,
    }
    if visit.form or kind.is_known:
        document |= _previewed(kind, visit, said)
    document["says_first"] = bool(document["violations"]) and document["preview"] is None
    return Page(kind.template, kind.title, document, is_live=False)


def _refused(kind: Kickoffs, visit: Visit, said: Said) -> Page:
    """The form with what is wrong at its head: nothing was sent."""
    page = _page(kind, visit, said)
    return page._replace(
        document={**page.document, "says_first": True}, status=HTTPStatus.UNPROCESSABLE_ENTITY
    )


def _previewed(kind: Kickoffs, visit: Visit, said: Said) -> dict[str, object]:
    """The preview and what is wrong; where the store is away the form does without."""
    try:
        tried = _tried(kind, visit, said)
    except BrennerError as error:
        found = placed([error.diagnostic], said.roster)
        return {"violations": found}
    seen = preview_document(tried, said)
    return {"preview": seen, "violations": seen["violations"]}
