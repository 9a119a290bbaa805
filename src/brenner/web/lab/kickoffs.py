"""What the forms of kickoffs share: a preview for each recipient, faults beside their fields."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.codes.artifacts import FILE_AHEAD_OF_MAIL
from brenner.diagnostics.codes.web import FIELD_EMPTY, FIELDS_CONTRADICT
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError, worst_first
from brenner.mail.mailbox import Capability
from brenner.protocol.roster import (
    DEFAULT_3_AGENT,
    ROLES,
    Mode,
    Roster,
    RosterEntry,
    RosterPreset,
    Stated,
    stated_faults,
    validate_roster_coverage,
)
from brenner.protocol.roster_resolve import Resolved
from brenner.services.rosters import ListedPreset, RosterWish, list_presets, resolve_roster
from brenner.services.spawn_agents import commands_of, started_json, what_became
from brenner.services.start_session import Addressed, Started, State, Status
from brenner.services.workspace import Workspace
from brenner.text import counted, joined, thread_argument
from brenner.web import links
from brenner.web.lab.actions import ROW_FIELDS, Done, lab_desk
from brenner.web.request import Document, Page, RequestContext, is_ticked

# Whom to ask, as a form says it: the session's own source of the roster (R20).
#
# Each agent has a row. A row with a role is an entry of the session's own; without one the role
# comes
# from the sources below, the project's file or a preset. A preset is filled into the rows.


MOST_ROWS = 50
ADD, DROP, FILL_IN = "add", "drop", "preset"


class Row(NamedTuple):
    """What is typed of one agent."""

    name: str = ""
    role: str = ""
    program: str = ""
    model: str = ""
    notes: str = ""

    @property
    def entry(self) -> RosterEntry:
        """The entry that it is."""
        more = (each or None for each in self[2:])
        return RosterEntry(self.name, self.role, *more)


class RosterForm(NamedTuple):
    """The part of a form that says whom to ask, and in which roles."""

    rows: tuple[Row, ...] = ()
    mode: str = Mode.ROLE_SEPARATED.value
    name: str = ""
    preset: str = ""

    @property
    def used(self) -> tuple[Row, ...]:
        """The rows in which anything is typed: one without a name is told, not passed over."""
        return tuple(row for row in self.rows if any(row))

    @property
    def wish(self) -> RosterWish:
        """What it asks for; everybody who has a row gets a kickoff."""
        entries = tuple(row.entry for row in self.used if row.role)
        stated = Stated(entries, self.mode or None, self.name or None)
        return RosterWish(recipients=tuple((row.name, None) for row in self.used), session=stated)


def read_roster_form(form: Mapping[str, str]) -> RosterForm:
    """What was typed."""
    rows = []
    for number in range(1, MOST_ROWS + 1):
        if f"agent.{number}.name" not in form:
            break
        values = (form.get(f"agent.{number}.{field}", "").strip() for field in ROW_FIELDS)
        rows.append(Row(*values))
    words = (form.get(name, "").strip() for name in ("mode", "roster_name", "preset"))
    return RosterForm(tuple(rows), *words)


def roster_form_of(resolved: Resolved) -> RosterForm:
    """The rows of those who would be asked."""
    roster = resolved.roster
    entries = (roster.entry(name) or RosterEntry(name, "") for name in resolved.recipients)
    rows = tuple(Row(*(value or "" for value in entry)) for entry in entries)
    return RosterForm(rows[:MOST_ROWS], roster.mode, roster.name or "")


def new_roster_form(workspace: Workspace) -> RosterForm:
    """The project's own roster; without one the places of its preset, for names to be filled in."""
    resolved = resolve_roster(workspace.project, os.environ, RosterWish())
    if resolved.recipients and not resolved.errors:
        return roster_form_of(resolved)
    listed = list_presets(workspace.project)[0]
    default = next((each.preset for each in listed if each.is_default), DEFAULT_3_AGENT)
    return with_preset(RosterForm(preset=default.id), default)


def changed(workspace: Workspace, said: RosterForm, then: str) -> tuple[RosterForm, str] | None:
    """The form after one of its own buttons, and the field to go on with; None for other ones."""
    what, _, number = then.partition(".")
    if what == ADD:
        rows = (*said.rows, Row())[:MOST_ROWS]
        return said._replace(rows=rows), f"agent.{len(rows)}.name"
    if what == DROP and number.isdecimal():
        at = int(number) - 1
        rows = (*said.rows[:at], *said.rows[at + 1 :])
        return said._replace(rows=rows), f"agent.{min(int(number), len(rows))}.name"
    if what == FILL_IN:
        known = {each.preset.id: each.preset for each in list_presets(workspace.project)[0]}
        preset = known.get(said.preset)
        return (with_preset(said, preset), "agent.1.name") if preset else (said, "preset")
    return None


def with_preset(said: RosterForm, preset: RosterPreset) -> RosterForm:
    """The preset's places, given to the rows in order; names that are typed stay."""
    names = [row.name for row in said.rows]
    places = len(preset.entries)
    placeholders = (*preset.placeholder_names, *[""] * places)
    given = (*names, *placeholders[len(names) :])[:places] if any(names) else placeholders[:places]
    rows = [
        Row(*(value or "" for value in place.given_to(name)))
        for place, name in zip(preset.entries, given, strict=True)
    ]
    left = [row for row in said.rows[places:] if any(row)]
    return said._replace(rows=(*rows, *left), name=preset.name)


# For the page


def roster_document(workspace: Workspace, said: RosterForm) -> dict[str, object]:
    """The rows and the menus."""
    return {
        "agents": [{"number": at, **row._asdict()} for at, row in enumerate(said.rows, 1)],
        "can_add": len(said.rows) < MOST_ROWS,
        "mode": said.mode,
        "modes": [Mode.ROLE_SEPARATED.value, Mode.UNIFIED.value],
        "roster_name": said.name,
        "preset": said.preset,
        "presets": [_preset(each) for each in list_presets(workspace.project)[0]],
        "roles": list(ROLES),
        "known_agents": known_names(workspace),
        "programs": sorted(commands_of(workspace.project)),
        "names_are_shared": Capability.OWN_NAMES in workspace.mailbox.lacks,
    }


def known_names(workspace: Workspace) -> list[str]:
    """Whom the mailbox knows; where it is away, the form does without."""
    try:
        names = [agent.name for agent in workspace.mailbox.agents()]
    except BrennerError:
        return []
    return [name for name in names if name != workspace.project.operator]


def _preset(listed: ListedPreset) -> dict[str, object]:
    preset = listed.preset
    return {
        "id": preset.id,
        "name": preset.name,
        "description": preset.description,
        "places": len(preset.entries),
        "default": listed.is_default,
    }


AGENTS, QUESTION, CONTEXT, EXCERPT, SECTIONS, THREAD, REGISTER, TITLE = (
    *("agents", "question", "context", "excerpt", "sections", "thread_id", "register", "title"),
)
_OR_REMOVE = ", or remove the row"
_SEEN, _SEEN_OF = "seen", "seen_of"
# The field that a fault is about; of all others the form says it at its head only
_FIELDS: Mapping[str, str] = MappingProxyType(
    {each.id: AGENTS for each in sessions_codes.ROSTER_CODES}
    | {
        each.id: field
        for field, found in {
            AGENTS: (
                messages_codes.INVALID_AGENT_NAME,
                mail_codes.SENT_TO_NOBODY,
                sessions_codes.ROLE_CHANGED,
            ),
            QUESTION: (
                sessions_codes.OTHER_QUESTION,
                sessions_codes.QUESTION_RESPELT,
                sessions_codes.ROUND_WITHOUT_QUESTION,
            ),
            CONTEXT: (messages_codes.MB_003,),
            EXCERPT: (sessions_codes.EXCERPT_TOO_LONG, messages_codes.MISSING_RECOMMENDED_SECTION),
            SECTIONS: (
                sessions_codes.INVALID_SECTIONS,
                sessions_codes.UNKNOWN_SECTION_NUMBER,
                sessions_codes.NO_SOURCE_TEXT,
            ),
            REGISTER: (sessions_codes.RECIPIENTS_NOT_REGISTERED,),
            THREAD: (
                *(messages_codes.INVALID_BEAD_ID, messages_codes.INVALID_RS_THREAD_ID),
                *(messages_codes.INVALID_COORD_THREAD_ID, messages_codes.THREAD_ID_TOO_LONG),
                *(messages_codes.THREAD_ID_ADVICE, FILE_AHEAD_OF_MAIL),
            ),
            TITLE: (messages_codes.SUBJECT_TOO_LONG, messages_codes.SUBJECT_DESCRIPTION_LONG),
        }.items()
        for each in found
    }
)


# Beside these fields a form says what is wrong
_PLACES = (
    *(QUESTION, CONTEXT, AGENTS, EXCERPT, SECTIONS, THREAD, REGISTER, TITLE),
    *("hypotheses", "constraints", "outputs", "focus"),
)


class Said(NamedTuple):
    """What a form of kickoffs says: texts and ticks by their fields, and whom to ask."""

    texts: Mapping[str, str]
    roster: RosterForm


def content_of(said: Said) -> str:
    """What tells one form from another: the same words, the same agents."""
    roster = said.roster
    told = [sorted(said.texts.items()), roster.used, roster.mode, roster.name]
    return sha256(json.dumps(told).encode()).hexdigest()


def seen_by(visit: RequestContext, said: Said) -> str | None:
    """What the preview stood for; None where the form says something else by now: then she has
    seen nothing that could be sent.
    """
    is_same = visit.form.get(_SEEN_OF) == content_of(said)
    return visit.form.get(_SEEN) if is_same else None


class Tried(NamedTuple):
    """What would come of it, or why that cannot be said."""

    started: Started | None
    faults: tuple[Diagnostic, ...] = ()

    @property
    def found(self) -> tuple[Diagnostic, ...]:
        """Everything that there is to say, the worst first."""
        found = (*self.faults, *(self.started.diagnostics if self.started else ()))
        return tuple(sorted(found, key=worst_first))


def texts_of(form: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The texts of a form; blank ones were not given."""
    given = {name: form.get(name, "") for name in names}
    return {name: text if text.strip() else "" for name, text in given.items()}


def blank(field: str, expected: str, called: str = "", otherwise: str = "") -> Diagnostic:
    """That a field has to be filled in. It is `called` otherwise than in the form."""
    words = {"field": called or field, "expected": expected, "otherwise": otherwise}
    return FIELD_EMPTY.at(None, **words)._replace(field=field)


def not_together(one: str, other: str) -> Diagnostic:
    """That of two fields only one can be filled in."""
    return FIELDS_CONTRADICT.at(one=one, other=other)._replace(field=other)


def nameless(said: RosterForm) -> list[Diagnostic]:
    """Rows with a role and no name: a place that nobody has taken is not passed over."""
    return [
        blank(f"agent.{number}.name", "who it is", f"name of agent {number}", _OR_REMOVE)
        for number, row in enumerate(said.rows, 1)
        if any(row) and not row.name
    ]


def asks_nobody(said: RosterForm) -> list[Diagnostic]:
    """That nobody is named: who empties the rows does not mean everybody of the project."""
    if said.used:
        return []
    fix = "Name at least one agent, each in a row of its own."
    return [mail_codes.SENT_TO_NOBODY.at()._replace(fix=fix)]


# The document


def preview_document(tried: Tried, said: Said) -> dict[str, object]:
    """What would be sent to whom, and what is wrong with it. It bears what it stands for, and of
    which words it is: the form sends both along.
    """
    started, roster = tried.started, said.roster
    return {
        _SEEN: started.digest if started else None,
        _SEEN_OF: content_of(said),
        "would": would(tried),
        "started": started_json(started) if started else None,
        "sent_before": _before(started),
        "violations": placed(tried.found, roster),
        "places": [*_PLACES, *_row_places(roster)],
    }


def _row_places(said: RosterForm) -> list[str]:
    """The fields of the rows that can have faults."""
    numbers = range(1, len(said.rows) + 1)
    return [f"agent.{number}.{field}" for number in numbers for field in ("name", "role")]


def would(tried: Tried) -> str:
    """What the button will do, in one sentence."""
    errors = sum(each.severity.value == "error" for each in tried.found)
    started = tried.started
    if errors or started is None:
        return f"Nothing can be sent yet: {counted(errors, 'error')}."
    to_send = [each for each in started.kickoffs if each.state is not State.SENT_BEFORE]
    if not to_send:
        return "Everybody has this kickoff already: nothing is left to send."
    names = joined(name for each in to_send for name in each.message.recipients)
    registers = f", and registers {joined(started.registered)}" if started.registered else ""
    kickoffs = counted(len(to_send), "kickoff")
    return f"Sends {kickoffs} in {started.thread_id}: to {names}{registers}."


def _before(started: Started | None) -> list[str]:
    kickoffs: Sequence[Addressed] = started.kickoffs if started else ()
    return [what_became(started, each) for each in kickoffs if started and each.stored]


def placed(found: Iterable[Diagnostic], said: RosterForm) -> list[dict[str, object]]:
    """Each fault with the field that it is about, which may be in one row."""
    rows = _row_faults(said)
    return [
        {
            **each.to_json(),
            "fix": _in_form(each),
            "at": rows.get((each.id, each.message)) or _field(each),
        }
        for each in found
    ]


def _in_form(found: Diagnostic) -> str:
    """What to do about it in a form, which has fields and no options."""
    if found.code is messages_codes.MISSING_RECOMMENDED_SECTION:
        return "Write them into “Passages”, or go on without."
    return found.fix.removesuffix(" It comes from the session.")


def _field(found: Diagnostic) -> str | None:
    own = (FIELD_EMPTY.id, FIELDS_CONTRADICT.id)
    return found.field if found.id in own else _FIELDS.get(found.id)


def _row_faults(said: RosterForm) -> dict[tuple[str, str], str]:
    """In which field of which row a fault is, by the words in which the rules tell it."""
    known: dict[tuple[str, str], str] = {}
    before: list[str] = []
    for number, row in enumerate(said.rows, 1):
        if not any(row):
            continue
        faults = [
            *stated_faults(Stated((row.entry,) if row.role else ())),
            *validate_roster_coverage(_NOBODY, [row.name]).violations,
            messages_codes.INVALID_AGENT_NAME.at(name=row.name),
        ]
        if row.name in before:
            faults.append(sessions_codes.DUPLICATE_AGENT.at(name=row.name))
        for each in faults:
            field = "role" if each.code in _ABOUT_ROLE else "name"
            known.setdefault((each.id, each.message), f"agent.{number}.{field}")
        before.append(row.name)
    return known


_NOBODY = Roster(())
_ABOUT_ROLE = (sessions_codes.INVALID_ROLE, sessions_codes.MISSING_ROSTER_ENTRY)


# What is said of kickoffs that were sent: all of them, or some.


def kickoffs_done(started: Started) -> Done:
    """All have got theirs."""
    thread_id = started.thread_id or ""
    document = {
        **started_json(started),
        "became": _became(started),
        "command": f"brenner session status {thread_argument(thread_id)}",
    }
    to = (
        (links.session(thread_id), "Open the session"),
        (links.session(thread_id, "thread"), "See the thread"),
        (links.CONNECT, "Connect the agents, so that they read their mail"),
    )
    return Done(True, _says(started), document, "lab/kickoffs_done.html", to)


def broken_off(started: Started) -> HTTPStatus:
    """How a script is told at a glance that not all have got theirs, and what to do about it."""
    return (
        HTTPStatus.SERVICE_UNAVAILABLE
        if isinstance(started.failed, UnavailableError)
        else HTTPStatus.CONFLICT
    )


def partly_sent(started: Started) -> Document:
    """Who has got a kickoff and who has not, and that the same again sends what is missing."""
    return {**started_json(started), "became": _became(started)}


def _became(started: Started) -> list[dict[str, object]]:
    return [
        {
            "says": what_became(started, each),
            "status": each.state.value,
            "message_id": each.stored.id if each.stored else None,
        }
        for each in started.kickoffs
    ]


def _says(started: Started) -> str:
    sent = [each for each in started.kickoffs if each.state is State.SENT]
    if not sent:
        return f"Nothing was left to send in {started.thread_id}: everybody has this kickoff."
    names = joined(name for each in sent for name in each.message.recipients)
    what = f"Round {started.round} has begun. " if started.round else ""
    return f"{what}Sent {counted(len(sent), 'kickoff')} in {started.thread_id}: to {names}."


# How the forms of kickoffs are shown, tried and sent: those of a session and those of a round.
#
# Whatever a form comes back for, it has everything that was typed. Sending again what was sent in
# part sends only what is missing, so the form of a kickoff that broke off can be sent as it is.


class Kickoffs(NamedTuple):
    """One kind of kickoffs. `start` sends them, or tries to, in a dry run; `faults` are what only
    a form can have; `new` is what it says at first, and `about` what its page says beside. It
    `is_known` where the form as it is at first can be sent, and so has a preview.
    """

    template: str
    title: str
    texts: tuple[str, ...]
    ticks: tuple[str, ...]
    new: Callable[[RequestContext], Said]
    faults: Callable[[Said], list[Diagnostic]]
    start: Callable[[RequestContext, Said, bool], Started]
    about: Callable[[RequestContext], Mapping[str, object]]
    is_known: bool = False


def form(kind: Kickoffs, visit: RequestContext) -> Page:
    """The form; one that was sent comes back as it was typed."""
    if not visit.form:
        return _page(kind, visit, kind.new(visit))
    return _page(kind, visit, _read(kind, visit))


def preview(kind: Kickoffs, visit: RequestContext) -> Page:
    """What would be sent as the form stands."""
    said = _read(kind, visit)
    tried = _tried(kind, visit, said)
    document = preview_document(tried, said)
    return Page("lab/kickoffs_part.html", kind.title, document, is_live=False)


def do(kind: Kickoffs, visit: RequestContext) -> Done | Page:
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


def _partly(kind: Kickoffs, visit: RequestContext, said: Said, started: Started) -> Page:
    """The form again, and who has got a kickoff. A script looks for what is wrong, and finds it."""
    kept = {**said.texts, "thread_id": started.thread_id or ""}  # the same again, not another
    page = _page(kind, visit, said._replace(texts=kept))
    document = {**page.document, "partly": partly_sent(started)}
    if visit.sent is not None:
        document["violations"] = placed(started.diagnostics, said.roster)
    return page._replace(document=document, status=broken_off(started))


def _read(kind: Kickoffs, visit: RequestContext) -> Said:
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


def _tried(kind: Kickoffs, visit: RequestContext, said: Said) -> Tried:
    """What would come of it; with what only a form can have wrong, that is told first."""
    faults = _faults(kind, said)
    return Tried(None if faults else kind.start(visit, said, True), faults)


def _page(kind: Kickoffs, visit: RequestContext, said: Said, focus: str = "") -> Page:
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


def _refused(kind: Kickoffs, visit: RequestContext, said: Said) -> Page:
    """The form with what is wrong at its head: nothing was sent."""
    page = _page(kind, visit, said)
    return page._replace(
        document={**page.document, "says_first": True}, status=HTTPStatus.UNPROCESSABLE_ENTITY
    )


def _previewed(kind: Kickoffs, visit: RequestContext, said: Said) -> dict[str, object]:
    """The preview and what is wrong; where the store is away the form does without."""
    try:
        tried = _tried(kind, visit, said)
    except BrennerError as error:
        found = placed([error.diagnostic], said.roster)
        return {"violations": found}
    seen = preview_document(tried, said)
    return {"preview": seen, "violations": seen["violations"]}
