"""Start a session: a kickoff for each recipient, checked before the first of them is sent.

Whoever has got the kickoff of this question gets no second one, so that running the same command
again finishes what was interrupted.
"""

import os
from datetime import UTC, date, datetime
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.diagnostics.codes.artifacts import FILE_AHEAD_OF_MAIL
from brenner.diagnostics.codes.messages import INVALID_BEAD_ID
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.protocol.roster_resolve import Resolved
from brenner.protocol.thread_ids import (
    ThreadKind,
    check_thread_id,
    classify_thread_id,
    cross_reference,
    is_valid,
)
from brenner.session.kickoff import KickoffPlan, compose_kickoffs
from brenner.session.kickoff_text import embedded
from brenner.workflows.chains import load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.kickoff_needs import about_roster, excerpt_for, newcomers_among
from brenner.workflows.kickoff_texts import about_messages, beginning_of, told_otherwise
from brenner.workflows.kickoff_thread import KickoffThread, thread_of_today
from brenner.workflows.rosters import RosterWish, resolve_roster
from brenner.workflows.send_kickoffs import Addressed, addressed
from brenner.workflows.session_files import read_session_file
from brenner.workflows.started import (
    Started,
    Status,
    changed_roles,
    check_as_seen,
    digest_of,
    left_out,
    once,
    send_all,
    tried,
)

__all__ = ["StartOptions", "Started", "Status", "start_session"]


class StartOptions(NamedTuple):
    """What to ask, and whom. An empty text is one that was not given.

    The excerpt is a text, or `sections` of the project's source text, such as `42,45-47`. Without
    `thread_id` and `bead` the thread gets an ID from the question and from `today`. `register` says
    that the recipients' names may be made known also where they belong to a whole server. `seen` is
    the digest of what somebody looked at; where something else would be sent by now, nothing is.
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
    seen: str | None = None


def start_session(desk: Desk, options: StartOptions) -> Started:
    """Send the kickoffs of a session to all who have not got theirs.

    All that can be wrong with them is found out before the first is sent; then none is.
    """
    resolved = resolve_roster(desk.project, os.environ, options.wish)
    roster = resolved.roster
    thread, about_thread = _thread(desk, options)
    excerpt, about_excerpt = excerpt_for(desk, options.excerpt, options.sections)
    newcomers, about_names = newcomers_among(desk, resolved, register=options.register)
    about_file = _about_file(desk, thread) if thread and thread.is_new else []
    found = [*about_roster(resolved), *about_thread, *about_file, *about_excerpt, *about_names]
    kickoffs: list[Addressed] = []
    if thread and not (resolved.errors or about_excerpt or about_names):
        plan = _plan(desk, options, resolved)
        base = 0 if thread.is_new else _latest(desk, thread.thread_id)
        plan = plan._replace(thread_id=thread.thread_id, excerpt=excerpt, base=base)
        plan = plan._replace(question=thread.other_words or options.question)
        messages = compose_kickoffs(plan)
        kickoffs = [each for message in messages for each in addressed(message, thread, roster)]
        found += (*about_messages(messages), *changed_roles(kickoffs, roster))
        found += left_out(thread, kickoffs, roster)
        beginning = beginning_of(thread, has_outputs=bool(options.outputs.strip()))
        for message in messages[:1]:
            found += told_otherwise(beginning, message, kickoffs)
    started = Started(
        thread.thread_id if thread else None,
        Status.DRY_RUN if options.dry_run else Status.REFUSED,
        tuple(kickoffs),
        (),
        roster,
        once(found),
        digest=digest_of(kickoffs),
    )
    if thread is None or any(each.severity is ERROR for each in found):
        return started
    if options.dry_run:
        return tried(started, newcomers)
    check_as_seen(started, options.seen)
    return send_all(desk, thread, started, newcomers)


# What is asked for, and what is wrong with it


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


def _about_file(desk: Desk, thread: KickoffThread) -> list[Diagnostic]:
    """That a session of this ID has a file, and its mail is not here: it would begin anew."""
    artifact = read_session_file(desk.project, thread.thread_id)
    held = artifact.metadata.version if isinstance(artifact, Artifact) else 0
    if not held:
        return []
    path = cross_reference(thread.thread_id).artifact_path
    ends = "has no version of it"
    return [FILE_AHEAD_OF_MAIL.at(path=path, value=str(held), ends=ends)]


def _as_list(found: Diagnostic | None) -> list[Diagnostic]:
    return [found] if found else []


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
