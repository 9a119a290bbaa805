"""Lab forms that send kickoffs, shared by starting a session and starting a round: the roster, a
preview for each recipient, and faults beside their fields.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import evidence as evidence_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.codes.artifacts import FILE_AHEAD_OF_MAIL
from brenner.diagnostics.codes.web import FIELD_EMPTY, FIELDS_CONTRADICT
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError, worst_first
from brenner.mail.mailbox import Capability
from brenner.named_tuple import NamedTuple
from brenner.protocol.roster import (
    DEFAULT_3_AGENT,
    ROLES,
    Mode,
    PartialRoster,
    Roster,
    RosterEntry,
    RosterPreset,
    check_partial_roster,
    full_role,
    validate_roster_coverage,
)
from brenner.services.rosters import RosterRequest, list_presets, resolve_roster
from brenner.services.spawn_agents import kickoff_summary, program_commands, started_json
from brenner.services.start_session import KickoffDelivery, KickoffState, Started, StartStatus
from brenner.text import joined, plural, thread_argument
from brenner.web import links
from brenner.web.lab.actions import MAX_ROWS, ROW_FIELDS, ActionResult, lab_workspace
from brenner.web.request import Document, Page, RequestContext, is_checked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from brenner.protocol.roster_resolve import ResolvedRoster
    from brenner.services.workspace import Workspace

# The roster in the form: the session's own source of the roster (R20).
#
# Each agent has a row. A row with a role is an entry of the session's own roster. Without a role,
# it comes from the sources below: the project's file or a preset.


ADD, DROP, FILL_IN = "add", "drop", "preset"
_NO_AGENT = RosterEntry("", "")


class KickoffForm(NamedTuple):
    """The content of a kickoff form: texts and checkboxes by field, and the roster."""

    texts: Mapping[str, str]
    rows: tuple[RosterEntry, ...] = ()
    mode: str = Mode.ROLE_SEPARATED.value
    name: str = ""
    preset: str = ""

    @property
    def used(self) -> tuple[RosterEntry, ...]:
        """The rows with any text. One without a name is reported, not ignored."""
        return tuple(row for row in self.rows if any(row))

    @property
    def wish(self) -> RosterRequest:
        """The requested roster. Every agent with a row gets a kickoff."""
        entries = tuple(row for row in self.used if row.role)
        stated = PartialRoster(entries, self.mode or None, self.name or None)
        recipients = tuple(
            (name, None) for name in dict.fromkeys(row.agent_name for row in self.used)
        )
        return RosterRequest(recipients=recipients, session=stated)

    @property
    def digest(self) -> str:
        content = [sorted(self.texts.items()), self.used, self.mode, self.name]
        return sha256(json.dumps(content).encode()).hexdigest()

    def with_roster(self, resolved: ResolvedRoster) -> KickoffForm:
        roster = resolved.roster
        rows = tuple(roster.entry(name) or RosterEntry(name, "") for name in resolved.recipients)
        return self._replace(rows=rows[:MAX_ROWS], mode=roster.mode, name=roster.name or "")

    def with_preset(self, preset: RosterPreset) -> KickoffForm:
        """Fill the places of a preset into the rows, in order. Typed names stay."""
        names = [row.agent_name for row in self.rows]
        places = len(preset.entries)
        placeholders = (*preset.placeholder_names, *[""] * places)
        given = (*names, *placeholders[len(names) :]) if any(names) else placeholders
        rows = [
            preset_entry._replace(agent_name=name)
            for preset_entry, name in zip(preset.entries, given[:places], strict=True)
        ]
        left = [row for row in self.rows[places:] if any(row)]
        return self._replace(rows=(*rows, *left), name=preset.name)


def _read_rows(form: Mapping[str, str]) -> Iterator[RosterEntry]:
    for number in range(1, MAX_ROWS + 1):
        if f"agent.{number}.name" not in form:
            return
        name, role, *more = (form.get(f"agent.{number}.{key}", "").strip() for key in ROW_FIELDS)
        yield RosterEntry(name, full_role(role), *(value or None for value in more))


def with_project_roster(workspace: Workspace, typed: KickoffForm) -> KickoffForm:
    """Return the form with the project's roster, or with the places of its preset and the names
    that it suggests, if any.
    """
    resolved = resolve_roster(workspace.project, os.environ, RosterRequest())
    if resolved.recipients and not resolved.errors:
        return typed.with_roster(resolved)
    listed = list_presets(workspace.project)[0]
    default = next((preset for preset, _, is_default in listed if is_default), DEFAULT_3_AGENT)
    return typed._replace(preset=default.id).with_preset(default)


def press_button(
    workspace: Workspace, typed: KickoffForm, then: str
) -> tuple[KickoffForm, str] | None:
    """Apply one of the roster's own buttons. Return the form and the field to focus, or None."""
    what, _, number = then.partition(".")
    if what == ADD:
        rows = (*typed.rows, _NO_AGENT)[:MAX_ROWS]
        return typed._replace(rows=rows), f"agent.{len(rows)}.name"
    if what == DROP and number.isdecimal():
        at = int(number) - 1
        rows = (*typed.rows[:at], *typed.rows[at + 1 :])
        return typed._replace(rows=rows), f"agent.{min(int(number), len(rows))}.name"
    if what == FILL_IN:
        known = {each.id: each for each, *_ in list_presets(workspace.project)[0]}
        preset = known.get(typed.preset)
        return (typed.with_preset(preset), "agent.1.name") if preset else (typed, "preset")
    return None


# The document of the roster


def roster_document(workspace: Workspace, typed: KickoffForm) -> dict[str, object]:
    return {
        "agents": [
            {"number": at, **dict(zip(ROW_FIELDS, (each or "" for each in row), strict=True))}
            for at, row in enumerate(typed.rows, 1)
        ],
        "can_add": len(typed.rows) < MAX_ROWS,
        "mode": typed.mode,
        "modes": [Mode.ROLE_SEPARATED.value, Mode.UNIFIED.value],
        "roster_name": typed.name,
        "preset": typed.preset,
        "presets": [
            {
                "id": preset.id,
                "name": preset.name,
                "description": preset.description,
                "places": len(preset.entries),
                "default": is_default,
            }
            for preset, _, is_default in list_presets(workspace.project)[0]
        ],
        "roles": list(ROLES),
        "known_agents": known_names(workspace),
        "programs": sorted(program_commands(workspace.project)),
        "names_are_shared": Capability.PROJECT_NAMES in workspace.mailbox.lacks,
    }


def known_names(workspace: Workspace) -> list[str]:
    """Return the names that the mailbox knows, except the operator's; none if it is away."""
    try:
        names = [agent.name for agent in workspace.mailbox.agents()]
    except BrennerError:
        return []
    return [name for name in names if name != workspace.project.operator]


AGENTS, QUESTION, CONTEXT, EXCERPT, SECTIONS, THREAD, REGISTER, TITLE, EVIDENCE = (
    *("agents", "question", "context", "excerpt", "sections", "thread_id", "register", "title"),
    "evidence",
)
_DIGEST, _DIGEST_OF = "seen", "seen_of"
# The field of each code. Other faults are shown only at the head of the form.
_FIELD_OF_CODE: Mapping[str, str] = MappingProxyType(
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
            EVIDENCE: (evidence_codes.UNKNOWN_EVIDENCE, evidence_codes.NO_EVIDENCE_PACK),
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


# The fields beside which the form shows faults
_FAULT_FIELDS = (
    *(QUESTION, CONTEXT, AGENTS, EXCERPT, SECTIONS, THREAD, REGISTER, TITLE),
    *("hypotheses", "constraints", "outputs", "focus", "evidence"),
)


def seen_digest(context: RequestContext, typed: KickoffForm) -> str | None:
    """Return the digest of the previewed kickoffs, None if the form has changed since."""
    is_same = context.form.get(_DIGEST_OF) == typed.digest
    return context.form.get(_DIGEST) if is_same else None


def read_texts(form: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Read text fields. A blank text counts as empty."""
    given = {name: form.get(name, "") for name in names}
    return {name: text if text.strip() else "" for name, text in given.items()}


def empty_field(field: str, expected: str, called: str = "", otherwise: str = "") -> Diagnostic:
    """Return the diagnostic for a required field, which error messages name as `called`."""
    words = {"field": called or field, "expected": expected, "otherwise": otherwise}
    return FIELD_EMPTY.at(None, **words)._replace(field=field)


def conflicting_fields(one: str, other: str) -> Diagnostic:
    return FIELDS_CONTRADICT.at(one=one, other=other)._replace(field=other)


# The preview


def preview_document(
    started: Started | None, found: Sequence[Diagnostic], typed: KickoffForm
) -> dict[str, object]:
    """Return what would be sent to which agent, and the faults.

    The form sends the two digests along: of the previewed kickoffs, and of the form they are for.
    """
    numbers = range(1, len(typed.rows) + 1)
    row_fields = [f"agent.{number}.{field}" for number in numbers for field in ("name", "role")]
    return {
        _DIGEST: started.digest if started else None,
        _DIGEST_OF: typed.digest,
        "would": would_words(started, found),
        "started": started_json(started) if started else None,
        "sent_before": _already_sent(started),
        "violations": faults_with_fields(found, typed),
        "places": [*_FAULT_FIELDS, *row_fields],
    }


def would_words(started: Started | None, found: Iterable[Diagnostic]) -> str:
    """Return what the button will do, in one sentence."""
    errors = sum(each.severity.value == "error" for each in found)
    if errors or started is None:
        return f"Cannot send yet: {plural(errors, 'error')}."
    to_send = [each for each in started.kickoffs if each.state is not KickoffState.SENT_BEFORE]
    if not to_send:
        return "All agents have this kickoff already. Nothing to send."
    names = joined(name for each in to_send for name in each.message.recipients)
    registers = f", and registers {joined(started.registered)}" if started.registered else ""
    kickoffs = plural(len(to_send), "kickoff")
    return f"Sends {kickoffs} to {names} in {started.thread_id}{registers}."


def _already_sent(started: Started | None) -> list[str]:
    kickoffs: Sequence[KickoffDelivery] = started.kickoffs if started else ()
    return [kickoff_summary(started, each) for each in kickoffs if started and each.stored]


def faults_with_fields(found: Iterable[Diagnostic], typed: KickoffForm) -> list[dict[str, object]]:
    """Return each fault with its field, which may be in one row."""
    rows = _row_faults(typed)
    return [
        {
            **each.to_json(),
            "fix": _form_fix(each),
            "at": rows.get((each.id, each.message)) or _fault_field(each),
        }
        for each in found
    ]


def _form_fix(found: Diagnostic) -> str:
    """Return the fix in the words of the form, which has fields and no options."""
    if found.code is messages_codes.MISSING_RECOMMENDED_SECTION:
        return "Enter them in “Passages”, or continue without."
    return found.fix


def _fault_field(found: Diagnostic) -> str | None:
    own = (FIELD_EMPTY.id, FIELDS_CONTRADICT.id)
    return found.field if found.id in own else _FIELD_OF_CODE.get(found.id)


def _row_faults(typed: KickoffForm) -> dict[tuple[str, str], str]:
    """Return the field of each possible fault of a row, by code and message."""
    known: dict[tuple[str, str], str] = {}
    before: list[str] = []
    for number, row in enumerate(typed.rows, 1):
        if not any(row):
            continue
        faults = [
            *check_partial_roster(PartialRoster((row,) if row.role else ())),
            *validate_roster_coverage(Roster(()), [row.agent_name]).violations,
            messages_codes.INVALID_AGENT_NAME.at(name=row.agent_name),
        ]
        if row.agent_name in before:
            faults.append(sessions_codes.DUPLICATE_AGENT.at(name=row.agent_name))
        for each in faults:
            field = "role" if each.code in _ROLE_CODES else "name"
            known.setdefault((each.id, each.message), f"agent.{number}.{field}")
        before.append(row.agent_name)
    return known


_ROLE_CODES = (sessions_codes.INVALID_ROLE, sessions_codes.MISSING_ROSTER_ENTRY)


# Results: all kickoffs sent, or some


def sent_result(started: Started) -> ActionResult:
    """Return the result when all kickoffs were sent."""
    thread_id = started.thread_id or ""
    document = {
        **started_json(started),
        "became": _kickoff_results(started),
        "command": f"brenner session status {thread_argument(thread_id)}",
    }
    to = (
        (links.session(thread_id), "Open the session"),
        (links.session(thread_id, "thread"), "Open the thread"),
        (links.CONNECT, "Connect the agents, so that they can read their messages"),
    )
    return ActionResult(True, _result_words(started), document, "lab/kickoffs_done.html", to)


def partial_status(started: Started) -> HTTPStatus:
    """Return the HTTP status when only some kickoffs were sent."""
    return (
        HTTPStatus.SERVICE_UNAVAILABLE
        if isinstance(started.failed, UnavailableError)
        else HTTPStatus.CONFLICT
    )


def partial_document(started: Started) -> Document:
    """Return which agents have got a kickoff. Sending the form again sends the rest."""
    return {**started_json(started), "became": _kickoff_results(started)}


def _kickoff_results(started: Started) -> list[dict[str, object]]:
    return [
        {
            "says": kickoff_summary(started, each),
            "status": each.state.value,
            "message_id": each.stored.id if each.stored else None,
        }
        for each in started.kickoffs
    ]


def _result_words(started: Started) -> str:
    sent = [each for each in started.kickoffs if each.state is KickoffState.SENT]
    if not sent:
        return f"Nothing was sent in {started.thread_id}: all agents have this kickoff already."
    names = joined(name for each in sent for name in each.message.recipients)
    what = f"Round {started.round} has begun. " if started.round else ""
    return f"{what}Sent {plural(len(sent), 'kickoff')} to {names} in {started.thread_id}."


# Form, preview and sending, for sessions and rounds.
#
# A form that is shown again has everything that was typed. Sending it again after a partial send
# sends only what is missing.


class KickoffKind(NamedTuple):
    """One kind of kickoff form: for a session or for a round.

    `start` sends the kickoffs, or tries to in a dry run. `new` is the initial content, `required`
    says what is expected in the fields that must be filled in. With `has_defaults` the initial form
    can be sent as it is, and so has a preview.
    """

    template: str
    title: str
    texts: tuple[str, ...]
    ticks: tuple[str, ...]
    new: Callable[[RequestContext], KickoffForm]
    start: Callable[[RequestContext, KickoffForm, bool], Started]
    required: Mapping[str, str]
    has_defaults: bool = False


def form(kind: KickoffKind, context: RequestContext) -> Page:
    """Return the form. One that was sent keeps what was typed."""
    if not context.form:
        return _form_page(kind, context, kind.new(context))
    return _form_page(kind, context, _read_form(kind, context))


def preview(kind: KickoffKind, context: RequestContext) -> Page:
    """Return what would be sent."""
    typed = _read_form(kind, context)
    document = preview_document(*_try(kind, context, typed), typed)
    return Page("lab/kickoffs_part.html", kind.title, document, is_live=False)


def do(kind: KickoffKind, context: RequestContext) -> ActionResult | Page:
    """Send the kickoffs, or apply another button of the form, which sends nothing."""
    typed, then = _read_form(kind, context), context.form.get("then", "")
    after = press_button(lab_workspace(context), typed, then)
    if after:
        return _form_page(kind, context, after[0], focus=after[1])
    started = None if any(_faults(kind, typed)) else kind.start(context, typed, False)
    if started is None or started.status is StartStatus.REFUSED:
        return _refused_page(kind, context, typed)
    if started.status is StartStatus.INCOMPLETE:
        return _partial_page(kind, context, typed, started)
    return sent_result(started)


def _partial_page(
    kind: KickoffKind, context: RequestContext, typed: KickoffForm, started: Started
) -> Page:
    """Return the form with the agents that have got a kickoff. Scripts also get the violations."""
    # With the thread ID, so that sending the form again continues this session
    texts_to_send = {**typed.texts, "thread_id": started.thread_id or ""}
    page = _form_page(kind, context, typed._replace(texts=texts_to_send))
    document = {**page.document, "partly": partial_document(started)}
    if context.sent is not None:
        document["violations"] = faults_with_fields(started.diagnostics, typed)
    return page._replace(document=document, status=partial_status(started))


def _read_form(kind: KickoffKind, context: RequestContext) -> KickoffForm:
    form = context.form
    ticks = {name: "yes" if is_checked(form, name) else "" for name in kind.ticks}
    words = (form.get(name, "").strip() for name in ("mode", "roster_name", "preset"))
    typed = KickoffForm({**read_texts(form, kind.texts), **ticks}, tuple(_read_rows(form)), *words)
    if kind.has_defaults and context.sent is not None and not typed.rows:
        # A script without agents means the default ones, as the command does.
        known = kind.new(context)
        mode, name = typed.mode or known.mode, typed.name or known.name
        return typed._replace(rows=known.rows, mode=mode, name=name)
    return typed


def _faults(kind: KickoffKind, typed: KickoffForm) -> Iterator[Diagnostic]:
    """Yield what only a form can have wrong. A form without agents does not mean all agents of the
    project, and a row without a name is not ignored.
    """
    for field, expected in kind.required.items():
        if not typed.texts[field]:
            yield empty_field(field, expected)
    if typed.texts["excerpt"] and typed.texts["sections"]:
        yield conflicting_fields("excerpt", "sections")
    if not typed.used:
        yield mail_codes.SENT_TO_NOBODY.at()._replace(fix="Add at least one agent.")
    for number, row in enumerate(typed.rows, 1):
        if any(row) and not row.agent_name:
            name = f"name of agent {number}"
            yield empty_field(
                f"agent.{number}.name",
                "the name that it registers with",
                name,
                ", or remove the row",
            )


def _try(
    kind: KickoffKind, context: RequestContext, typed: KickoffForm
) -> tuple[Started | None, list[Diagnostic]]:
    """Return the result of a dry run, and all diagnostics, worst first. Faults that only a form can
    have prevent the dry run.
    """
    faults = tuple(_faults(kind, typed))
    started = None if faults else kind.start(context, typed, True)
    return started, sorted(started.diagnostics if started else faults, key=worst_first)


def _form_page(
    kind: KickoffKind, context: RequestContext, typed: KickoffForm, focus: str = ""
) -> Page:
    document: dict[str, object] = {
        "fields": dict(typed.texts),
        **roster_document(lab_workspace(context), typed),
        **({"thread_id": context.thread_id} if "thread" in context.parameters else {}),
        "source_text": context.site.workspace.project.source_text,
        "evidence_pack": context.site.workspace.project.evidence_pack,
        "focus": focus,
        "violations": [],
        "partly": None,
        "preview": None,
    }
    if context.form or kind.has_defaults:
        document |= _preview_fields(kind, context, typed)
    document["says_first"] = bool(document["violations"]) and document["preview"] is None
    return Page(kind.template, kind.title, document, is_live=False)


def _refused_page(kind: KickoffKind, context: RequestContext, typed: KickoffForm) -> Page:
    """Return the form with the faults at its head. Nothing was sent."""
    page = _form_page(kind, context, typed)
    return page._replace(
        document={**page.document, "says_first": True}, status=HTTPStatus.UNPROCESSABLE_ENTITY
    )


def _preview_fields(
    kind: KickoffKind, context: RequestContext, typed: KickoffForm
) -> dict[str, object]:
    """Return the preview and the faults. If the store is away, there is no preview."""
    try:
        seen = preview_document(*_try(kind, context, typed), typed)
    except BrennerError as error:
        return {"violations": faults_with_fields([error.diagnostic], typed)}
    return {"preview": seen, "violations": seen["violations"]}
