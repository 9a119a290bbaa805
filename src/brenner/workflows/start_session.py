"""Start a session: a kickoff for each recipient, checked before the first of them is sent.

Whoever has got the kickoff of this question gets no second one, so that running the same command
again finishes what was interrupted.
"""

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import NamedTuple

from brenner.diagnostics.codes.kickoff import (
    KICKOFF_INCOMPLETE,
    NO_SOURCE_TEXT,
    RECIPIENTS_NOT_REGISTERED,
    ROLE_CHANGED,
)
from brenner.diagnostics.codes.mail import SENT_TO_NOBODY
from brenner.diagnostics.codes.thread_subject import INVALID_BEAD_ID
from brenner.diagnostics.errors import BrennerError, Refused
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.grammar import AGENT_NAME
from brenner.mail.abilities import Ability
from brenner.mail.model import Profile
from brenner.mail.registering import registration
from brenner.roster.model import Roster
from brenner.roster.sources import Resolved
from brenner.session.excerpt import excerpt_of, within_limit
from brenner.session.kickoff import KickoffPlan, compose_kickoffs
from brenner.session.user_text import embedded
from brenner.thread.ids import ThreadKind, check_thread_id, classify_thread_id, is_valid
from brenner.workflows.chains import load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.kickoff_texts import about_messages, told_otherwise
from brenner.workflows.kickoff_thread import KickoffThread, thread_of_today
from brenner.workflows.rosters import RosterWish, resolve_roster
from brenner.workflows.send_kickoffs import (
    Addressed,
    State,
    addressed,
    role_told,
    send_missing,
)
from brenner.workflows.source_text import source_of

_WHOM = "Name whom to ask: `--to NAME --role ROLE` for each, a roster, or a preset."


class StartOptions(NamedTuple):
    """What to ask, and whom. An empty text is one that was not given.

    The excerpt is a text, or `sections` of the project's source text, such as `42,45-47`. Without
    `thread_id` and `bead` the thread gets an ID from the question and from `today`. `register` says
    that the recipients' names may be made known also where they belong to a whole server.
    """

    question: str
    context: str
    wish: RosterWish = RosterWish()
    title: str = ""
    excerpt: str = ""
    sections: str | None = None
    hypotheses: str = ""
    constraints: str = ""
    outputs: str = ""
    thread_id: str | None = None
    bead: str | None = None
    dry_run: bool = False
    register: bool = False
    today: date | None = None


class Status(StrEnum):
    """How starting a session ended."""

    SENT = "sent"
    NOTHING = "nothing_to_send"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"
    DRY_RUN = "dry_run"


class Started(NamedTuple):
    """What was done. `registered` are the names that were made known, or would be.

    `failed` is what went wrong after the first kickoff had gone out.
    """

    thread_id: str | None
    status: Status
    kickoffs: tuple[Addressed, ...]
    registered: tuple[str, ...]
    roster: Roster
    diagnostics: tuple[Diagnostic, ...]
    failed: BrennerError | None = None


def start_session(desk: Desk, options: StartOptions) -> Started:
    """Send the kickoffs of a session to all who have not got theirs.

    All that can be wrong with them is found out before the first is sent; then none is.
    """
    resolved = resolve_roster(desk.project, os.environ, options.wish)
    roster = resolved.roster
    thread, about_thread = _thread(desk, options)
    excerpt, about_excerpt = _excerpt(desk, options)
    newcomers, about_names = _newcomers(desk, resolved, register=options.register)
    found = [*_about_roster(resolved), *about_thread, *about_excerpt, *about_names]
    kickoffs: list[Addressed] = []
    if thread and not (resolved.errors or about_excerpt or about_names):
        plan = _plan(desk, options, resolved)
        base = 0 if thread.is_new else _latest(desk, thread.thread_id)
        plan = plan._replace(thread_id=thread.thread_id, excerpt=excerpt, base=base)
        plan = plan._replace(question=thread.other_words or options.question)
        messages = compose_kickoffs(plan)
        kickoffs = [each for message in messages for each in addressed(message, thread, roster)]
        found += (*about_messages(messages), *_changed_roles(kickoffs, roster))
        has_outputs = bool(options.outputs.strip())
        for message in messages[:1]:
            found += told_otherwise(thread, message, kickoffs, has_outputs=has_outputs)
    started = Started(
        thread.thread_id if thread else None,
        Status.DRY_RUN if options.dry_run else Status.REFUSED,
        tuple(kickoffs),
        (),
        roster,
        _once(found),
    )
    if thread is None or any(each.severity is ERROR for each in found):
        return started
    return (
        _tried(started, newcomers) if options.dry_run else _send(desk, thread, started, newcomers)
    )


# What is asked for, and what is wrong with it


def _about_roster(resolved: Resolved) -> list[Diagnostic]:
    found = list(resolved.diagnostics)
    if not resolved.recipients and not resolved.errors:
        found.append(SENT_TO_NOBODY.at()._replace(fix=_WHOM))
    return found


def _thread(desk: Desk, options: StartOptions) -> tuple[KickoffThread | None, list[Diagnostic]]:
    """The thread of the session: the one that is asked for, that has the question, or a new one."""
    thread_id = options.bead if options.thread_id is None else options.thread_id
    asked = embedded(options.question)
    if thread_id is None:
        today = options.today or datetime.now(UTC).date()
        thread = thread_of_today(desk.mailbox, options.question, asked, today)
        return thread, _as_list(thread.respelt())
    found = check_thread_id(thread_id)
    if not is_valid(thread_id):
        return None, found
    if options.bead is not None and classify_thread_id(thread_id) is not ThreadKind.ENGINEERING:
        reason = "it names no bead but a session or a topic, which `--thread-id` takes"
        return None, [INVALID_BEAD_ID.at(thread_id=thread_id, reason=reason, suggestion="")]
    thread = KickoffThread(desk.mailbox, thread_id, asked)
    return thread, [*found, *_as_list(thread.conflict()), *_as_list(thread.respelt())]


def _as_list(found: Diagnostic | None) -> list[Diagnostic]:
    return [found] if found else []


def _excerpt(desk: Desk, options: StartOptions) -> tuple[str, list[Diagnostic]]:
    """The excerpt; a source text that cannot be read stops everything."""
    if options.sections is None:
        excerpt = within_limit(options.excerpt)
    else:
        source = source_of(desk.project)
        if isinstance(source, Diagnostic):
            raise Refused(source)
        path = desk.project.source_text or ""
        excerpt = (
            NO_SOURCE_TEXT.at() if source is None else excerpt_of(source, path, options.sections)
        )
    return ("", [excerpt]) if isinstance(excerpt, Diagnostic) else (excerpt, [])


def _newcomers(
    desk: Desk, resolved: Resolved, *, register: bool
) -> tuple[list[Profile], list[Diagnostic]]:
    """Who is not known yet, and which of the names cannot be made known.

    A store that is written to knows the operator. A recipient whose name is none was told by the
    roster. Where a name may be another project's, only the sender's is taken without being asked.
    """
    known = {desk.project.operator, *(agent.name for agent in desk.mailbox.agents())}
    names = dict.fromkeys([desk.actor, *filter(AGENT_NAME.fullmatch, resolved.recipients)])
    missing = [name for name in names if name not in known]
    if Ability.OWN_NAMES in desk.mailbox.lacks and not register:
        strangers = [name for name in missing if name != desk.actor]
        if strangers:
            return [], [RECIPIENTS_NOT_REGISTERED.at(names=", ".join(strangers))]
    newcomers, found = [], []
    for name in missing:
        entry = resolved.roster.entry(name)
        program, model = (entry.program, entry.model) if entry else (None, None)
        try:
            newcomers.append(registration(Profile(name, program or "", model or ""), None, known))
        except Refused as refused:
            found.append(refused.diagnostic)
        known.add(name)
    return newcomers, found


def _plan(desk: Desk, options: StartOptions, resolved: Resolved) -> KickoffPlan:
    return KickoffPlan(
        thread_id="",
        sender=desk.actor,
        roster=resolved.roster,
        recipients=resolved.recipients,
        question=options.question,
        context=options.context,
        title=options.title,
        hypotheses=options.hypotheses,
        constraints=options.constraints,
        outputs=options.outputs,
    )


def _latest(desk: Desk, thread_id: str) -> int:
    """The version that a contribution to an older thread builds on."""
    return load_chain(desk.mailbox, thread_id, desk.project.operator).chain.number


def _once(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each once: of the thread's ID the check of a kickoff says what was said before."""
    return tuple({(each.id, each.message): each for each in reversed([*found])}.values())[::-1]


# What becomes of it


def _changed_roles(kickoffs: Iterable[Addressed], roster: Roster) -> Iterator[Diagnostic]:
    """Whoever was told another role before gets no second kickoff, so the operator must know."""
    for each in kickoffs:
        for name in each.message.recipients:
            role = role_told(roster, name)
            if each.stored and each.role != role:
                before, now = each.role or "one of all", role or "one of all"
                yield ROLE_CHANGED.at(name=name, id=each.stored.id, before=before, role=now)


def _tried(started: Started, newcomers: Iterable[Profile]) -> Started:
    """What a dry run says: what would be sent, and who would be registered."""
    kickoffs = (
        each if each.stored else each._replace(state=State.DRY_RUN) for each in started.kickoffs
    )
    registered = tuple(profile.name for profile in newcomers)
    return started._replace(kickoffs=tuple(kickoffs), registered=registered)


def _send(
    desk: Desk, thread: KickoffThread, started: Started, newcomers: Iterable[Profile]
) -> Started:
    """Register whom nobody knows yet, then send what is missing."""
    registered = [desk.mailbox.register(profile) for profile in newcomers]
    kickoffs, failed = send_missing(thread, started.kickoffs, started.roster)
    is_sent = any(each.state is State.SENT for each in kickoffs)
    started = started._replace(
        status=Status.SENT if is_sent else Status.NOTHING,
        kickoffs=kickoffs,
        registered=tuple(each.agent.name for each in registered if each.before is None),
    )
    return _incomplete(started, failed) if failed else started


def _incomplete(started: Started, failed: BrennerError) -> Started:
    """What to say where it broke off; where nobody was reached, that is all there is to say."""
    missed = [each for each in started.kickoffs if each.state in (State.NOT_SENT, State.UNKNOWN)]
    reached = [each for each in started.kickoffs if each not in missed]
    if not reached:
        raise failed
    found = failed.diagnostic
    told = KICKOFF_INCOMPLETE.at(
        reached=_names(reached), missed=_names(missed), reason=found.message, hint=found.fix
    )
    return started._replace(
        status=Status.INCOMPLETE,
        diagnostics=(*started.diagnostics, told._replace(also=(found.id,))),
        failed=failed,
    )


def _names(kickoffs: Iterable[Addressed]) -> str:
    return ", ".join(
        f"{name} (or perhaps it has)" if each.state is State.UNKNOWN else name
        for each in kickoffs
        for name in each.message.recipients
    )
