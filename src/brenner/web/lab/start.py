"""Lab actions that send kickoffs: start a session, and start the next round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from http import HTTPStatus
from types import MappingProxyType

from brenner.diagnostics.model import ERROR, Diagnostic, Summary, worst_first
from brenner.protocol.roster import PartialRoster
from brenner.protocol.roster_config import read_partial_roster, unknown_roster_keys
from brenner.services.next_round import RoundOptions, earlier_kickoffs, round_roster, start_round
from brenner.services.rosters import RosterRequest
from brenner.services.session_status import load_status
from brenner.services.spawn_agents import started_json
from brenner.services.start_session import Started, StartOptions, StartStatus, start_session
from brenner.web.lab import kickoffs
from brenner.web.lab.actions import (
    DRY_RUN,
    FLAG_TYPE,
    NAMES_TYPE,
    TEXT_TYPE,
    Action,
    ActionResult,
    is_dry_run,
    lab_workspace,
    request_schema,
    type_faults,
    unknown_key,
)
from brenner.web.lab.kickoffs import (
    KickoffForm,
    KickoffKind,
    conflicting_fields,
    empty_field,
    partial_status,
    seen_digest,
    sent_result,
    with_project_roster,
)
from brenner.web.request import CSRF_FIELD, KEY_FIELD, Document, Page, RequestContext, form_number

# Starting a session by JSON


_ROUTE = "POST /lab/start"
_SOURCE = "the request"
_JSON_TEXTS = (
    *("question", "context", "title", "excerpt", "sections", "hypotheses", "constraints"),
    *("outputs", "thread_id", "bead", "preset", "evidence"),
)
_KEY_TYPES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys((*_JSON_TEXTS, KEY_FIELD, CSRF_FIELD), TEXT_TYPE),
        **dict.fromkeys(("register", "independent", DRY_RUN), FLAG_TYPE),
        "recipients": NAMES_TYPE,
    }
)
_KNOWN_KEYS = (*(key for key in _KEY_TYPES if key != CSRF_FIELD), "roster")
_EVIDENCE = "evidence"
_REQUIRED = MappingProxyType(
    {
        "question": "one sentence, specific enough to be answered",
        "context": "two to four sentences of background",
    }
)
_EXCLUSIVE_PAIRS = (("excerpt", "sections"), ("thread_id", "bead"))


def start_by_json(context: RequestContext, sent: Mapping[str, object]) -> ActionResult | Page:
    """Start a session from a JSON request. If it has faults, nothing is done.

    The answer is what `brenner session start --json` writes.
    """
    given = {key: value for key, value in sent.items() if value is not None}
    faults = tuple(_json_faults(given))
    if faults:
        return _refused_page(faults)
    read = read_partial_roster(given["roster"], _SOURCE) if "roster" in given else None
    if isinstance(read, tuple) and not isinstance(read, PartialRoster):
        return _refused_page(read)
    options = _json_options(context, given, read)
    started = start_session(lab_workspace(context), options)
    unread = unknown_roster_keys(given.get("roster"), _SOURCE)
    started = started._replace(diagnostics=(*started.diagnostics, *unread))
    if started.status in (StartStatus.SENT, StartStatus.NOTHING) and not options.dry_run:
        return sent_result(started)
    return _started_page(started)


def _json_options(
    context: RequestContext, given: Mapping[str, object], session: PartialRoster | None
) -> StartOptions:
    texts = {name: str(given.get(name, "")) for name in _JSON_TEXTS}
    names = given.get("recipients")
    recipients = tuple((name, None) for name in names) if isinstance(names, list) else ()
    wish = RosterRequest(recipients=recipients, preset=texts["preset"] or None, session=session)
    return _start_options(context, texts, wish)._replace(
        bead=texts["bead"] or None,
        dry_run=given.get(DRY_RUN) is True,
        register=given.get("register") is True,
        independent=given.get("independent") is True,
    )


def _start_options(
    context: RequestContext, texts: Mapping[str, str], wish: RosterRequest
) -> StartOptions:
    """Return the options that a form and a JSON request have in common."""
    return StartOptions(
        question=texts["question"],
        context=texts["context"],
        wish=wish,
        title=texts["title"],
        excerpt=texts["excerpt"],
        sections=texts["sections"] or None,
        hypotheses=texts["hypotheses"],
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        evidence=_anchors(texts[_EVIDENCE]),
        thread_id=texts["thread_id"] or None,
        today=context.now.date(),
    )


def _anchors(text: str) -> tuple[str, ...]:
    """Return the anchors of the evidence pack in a field, with spaces or commas between them."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def _json_faults(given: Mapping[str, object]) -> Iterator[Diagnostic]:
    """Yield the faults of the request. An unknown key is one: it must not be ignored."""
    for key, value in given.items():
        if key in _KEY_TYPES:
            yield from type_faults(key, _KEY_TYPES[key], value)
        elif key not in _KNOWN_KEYS:
            yield unknown_key(key, _ROUTE, _KNOWN_KEYS)
    for key, expected in _REQUIRED.items():
        if not str(given.get(key, "")).strip():
            yield empty_field(key, expected)
    for one, other in _EXCLUSIVE_PAIRS:
        if given.get(one) and given.get(other):
            yield conflicting_fields(one, other)


def _refused_page(found: tuple[Diagnostic, ...]) -> Page:
    """Return the answer that the command line gives when it refuses to start."""
    document = {
        "thread_id": None,
        "status": StartStatus.REFUSED.value,
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


def _started_page(started: Started) -> Page:
    """Return what would be sent, was refused, or was sent in part."""
    is_wrong = any(each.severity is ERROR for each in started.diagnostics)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    if started.status is StartStatus.INCOMPLETE:
        status = partial_status(started)
    return Page("lab/start.html", "Start a session", started_json(started), status, is_live=False)


_START_TEXTS = (
    *("question", "context", "title", "excerpt", "sections"),
    *("hypotheses", "constraints", "outputs", "thread_id", _EVIDENCE),
)
_REGISTER, _INDEPENDENT = "register", "independent"


def _new_start_form(context: RequestContext) -> KickoffForm:
    empty = KickoffForm(dict.fromkeys((*_START_TEXTS, _REGISTER, _INDEPENDENT), ""))
    return with_project_roster(lab_workspace(context), empty)


def _start(context: RequestContext, typed: KickoffForm, dry_run: bool) -> Started:
    names = {name: typed.texts[name].strip() for name in ("title", "sections", "thread_id")}
    options = _start_options(context, {**typed.texts, **names}, typed.wish)._replace(
        dry_run=dry_run,
        register=bool(typed.texts[_REGISTER]),
        independent=bool(typed.texts[_INDEPENDENT]),
        seen=None if dry_run else seen_digest(context, typed),
    )
    return start_session(lab_workspace(context), options)


_START_KIND = KickoffKind(
    "lab/start.html",
    "Start a session",
    _START_TEXTS,
    (_REGISTER, _INDEPENDENT),
    _new_start_form,
    _start,
    _REQUIRED,
)


def _do_start(context: RequestContext) -> ActionResult | Page:
    if isinstance(context.sent, Mapping):
        return start_by_json(context, context.sent)
    return kickoffs.do(_START_KIND, context)


def _preview_start(context: RequestContext) -> Page:
    if isinstance(context.sent, Mapping):
        answer = start_by_json(context, {**context.sent, DRY_RUN: True})
        return Page("lab/kickoffs_part.html", _START_KIND.title, answer.document, is_live=False)
    return kickoffs.preview(_START_KIND, context)


START_ACTION = Action(
    "start", partial(kickoffs.form, _START_KIND), _do_start, _preview_start, is_of_session=False
)


# Starting the next round


_ROUND_TEXTS = (
    *("focus", "question", "title", "excerpt", "sections", "constraints", "outputs", _EVIDENCE),
)
_ROUND_FLAGS = ("register", "reopen")
_BASE = "base"
_FOCUS, _REOPEN = "focus", "reopen"
_LONGEST_FOCUS = 300  # characters in a link to the form


def _new_round_form(context: RequestContext) -> KickoffForm:
    """Return the agents of earlier rounds, in their roles, and the focus that the link names."""
    workspace = lab_workspace(context)
    roster, asked, _ = earlier_kickoffs(load_status(workspace, context.thread_id).messages)
    resolved = round_roster(workspace, roster, asked, RosterRequest())
    texts = dict.fromkeys((*_ROUND_TEXTS, *_ROUND_FLAGS), "")
    texts[_REOPEN] = "yes" if _is_reopened(context) else ""
    texts[_FOCUS] = context.query.get(_FOCUS, "")[:_LONGEST_FOCUS]
    return KickoffForm(texts).with_roster(resolved)


def _is_reopened(context: RequestContext) -> bool:
    """Return whether the link to the form reopens a session that has ended."""
    return context.query.get(_REOPEN) == "yes" and context.session.status.is_over


def _start_round(context: RequestContext, typed: KickoffForm, dry_run: bool) -> Started:
    texts = typed.texts
    is_meant = not dry_run or is_dry_run(context)  # a preview in a form is of the current thread
    options = RoundOptions(
        wish=typed.wish,
        focus=texts["focus"],
        question=texts["question"],
        title=texts["title"].strip(),
        excerpt=texts["excerpt"],
        sections=texts["sections"].strip() or None,
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        evidence=_anchors(texts[_EVIDENCE]),
        dry_run=dry_run,
        reopen=bool(texts["reopen"]),
        register=bool(texts["register"]),
        base=form_number(context.form, _BASE) if is_meant else None,
        seen=None if dry_run else seen_digest(context, typed),
    )
    return start_round(lab_workspace(context), context.thread_id, options)


def _base_version(seen: Document) -> object:
    started = seen.get("started")
    number = started.get("round") if isinstance(started, Mapping) else None
    return number - 1 if isinstance(number, int) else None


_ROUND_KIND = KickoffKind(
    "lab/round.html",
    "Start the next round",
    _ROUND_TEXTS,
    _ROUND_FLAGS,
    _new_round_form,
    _start_round,
    MappingProxyType({}),
    has_defaults=True,
)

NEXT_ROUND_ACTION = Action(
    "round",
    partial(kickoffs.form, _ROUND_KIND),
    partial(kickoffs.do, _ROUND_KIND),
    partial(kickoffs.preview, _ROUND_KIND),
    schema=request_schema(
        texts=(*_ROUND_TEXTS, "mode", "roster_name"),
        flags=_ROUND_FLAGS,
        numbers=(_BASE,),
        rows=True,
    ),
    guard=(_BASE, _base_version),
)
