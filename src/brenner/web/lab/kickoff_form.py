"""What the forms of kickoffs share: a preview for each recipient, faults beside their fields."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.codes.artifacts import FILE_AHEAD_OF_MAIL
from brenner.diagnostics.codes.web import FIELD_EMPTY, FIELDS_CONTRADICT
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.protocol.roster import Roster, Stated, stated_faults, validate_roster_coverage
from brenner.services.spawn_agents import started_json, what_became
from brenner.services.start_session import Addressed, Started, State
from brenner.text import counted, joined
from brenner.web.lab.roster_form import RosterForm
from brenner.web.visit import Visit

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


def seen_by(visit: Visit, said: Said) -> str | None:
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
