"""Start the next round of a session: a kickoff for each recipient that names version and critiques.

Round N is what version N is made of. Whoever has got the kickoff of a round gets no second one, so
that running the same command again finishes what was interrupted.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from brenner.artifact.merge.engine import question_differs
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.codes.messages import MISSING_RECOMMENDED_SECTION, THREAD_ID_ADVICE
from brenner.diagnostics.codes.publishing import SESSION_CLOSED
from brenner.diagnostics.model import ERROR, Diagnostic, Refused
from brenner.protocol.messages import Message
from brenner.protocol.roster_resolve import Resolved
from brenner.session.kickoff import KickoffPlan, compose_kickoffs
from brenner.session.kickoff_text import embedded
from brenner.session.model import LatestVersion
from brenner.session.round_kickoff import Round, attacks_in, passages_in
from brenner.text import counted
from brenner.workflows.desk import Desk
from brenner.workflows.kickoff_needs import about_roster, excerpt_for, newcomers_among
from brenner.workflows.kickoff_texts import (
    ROUND_TEXTS,
    Beginning,
    about_messages,
    compared,
    told_otherwise,
)
from brenner.workflows.kickoff_thread import is_same_question
from brenner.workflows.publishing import check_sound
from brenner.workflows.rosters import RosterWish
from brenner.workflows.round_roster import earlier_kickoffs, round_roster
from brenner.workflows.round_thread import RoundThread, overtaken
from brenner.workflows.send_kickoffs import Addressed, addressed
from brenner.workflows.session_status import Followed, load_status
from brenner.workflows.started import (
    Started,
    Status,
    changed_roles,
    check_as_seen,
    digest_of,
    once,
    send_all,
    tried,
)


class RoundOptions(NamedTuple):
    """What to say in the kickoffs of a round, and to whom. An empty text was not given.

    The excerpt is a text, or `sections` of the project's source text. `reopen` goes on with a
    session that is closed. `register` says that the recipients' names may be made known also where
    they belong to a whole server. `base` is the version that somebody looked at, and `seen` the
    digest of what would have been sent; where it is not that any more, nothing is sent.
    """

    wish: RosterWish = RosterWish()
    focus: str = ""
    question: str = ""
    title: str = ""
    excerpt: str = ""
    sections: str | None = None
    constraints: str = ""
    outputs: str = ""
    dry_run: bool = False
    reopen: bool = False
    register: bool = False
    base: int | None = None
    seen: str | None = None


def start_round(desk: Desk, thread_id: str, options: RoundOptions) -> Started:
    """Send the kickoffs of the next round to all who have not got theirs.

    All that can be wrong with them is found out before the first is sent; then none is.
    """
    followed = load_status(desk, thread_id)
    base = _base(followed, options)
    earlier = earlier_kickoffs(followed.messages)
    resolved = round_roster(desk, earlier, options.wish)
    excerpt, about_excerpt = excerpt_for(desk, options.excerpt, options.sections)
    newcomers, about_names = newcomers_among(desk, resolved, register=options.register)
    thread = RoundThread(desk, followed)
    found = [*about_roster(resolved), *earlier.found, *about_excerpt, *about_names]
    found += (*_about_question(followed, options), *_about_session(followed, thread))
    kickoffs: list[Addressed] = []
    if not any(each.severity is ERROR for each in found):
        plan = _plan(desk, resolved, options)
        state = _round(followed, base, options)
        plan = plan._replace(thread_id=thread_id, question=state.question, excerpt=excerpt)
        plan = plan._replace(base=base.number, round=state)
        messages = compose_kickoffs(plan)
        kickoffs = [each for m in messages for each in addressed(m, thread, resolved.roster)]
        found += (*_about(messages), *changed_roles(kickoffs, resolved.roster))
        found += _otherwise(thread, messages, kickoffs, options)
    started = Started(
        thread_id,
        Status.DRY_RUN if options.dry_run else Status.REFUSED,
        tuple(kickoffs),
        (),
        resolved.roster,
        once(found),
        round=base.number + 1,
        digest=digest_of(kickoffs, base.message_id),
    )
    if any(each.severity is ERROR for each in found):
        return started
    if options.dry_run:
        return tried(started, newcomers)
    check_as_seen(started, options.seen)
    return send_all(desk, thread, started, newcomers)


# What the round goes on from


def _base(followed: Followed, options: RoundOptions) -> LatestVersion:
    """The version that the round builds on; without one, or after the last one, it is refused."""
    chain, base = followed.chain, followed.status.version
    check_sound(chain)
    if base is None:
        raise Refused(codes.ROUND_WITHOUT_VERSION.at(thread_id=chain.thread_id))
    if options.base not in (None, base.number):
        raise Refused(overtaken(chain.thread_id, options.base or 0, base.number))
    if chain.is_closed and not options.reopen:
        words = {"thread_id": chain.thread_id, "version": str(base.number)}
        raise Refused(SESSION_CLOSED.at(None, **words))
    return base


def _round(followed: Followed, base: LatestVersion, options: RoundOptions) -> Round:
    state = followed.chain.state
    return Round(
        followed.status,
        base,
        state.artifact,
        state.conflicts,
        focus=options.focus,
        asked=embedded(options.question) if _asks_anew(followed, options) else "",
        passages=passages_in(followed.messages),
        attacks=attacks_in(followed.messages, followed.status),
    )


def _standing(followed: Followed) -> str:
    """The artifact's question."""
    return followed.chain.state.artifact.research_thread.text("statement").strip()


def _asks_anew(followed: Followed, options: RoundOptions) -> bool:
    """Whether another question is given than the artifact has; it may have none."""
    asked = embedded(options.question)
    return bool(asked) and not is_same_question(asked, _standing(followed))


def _about_question(followed: Followed, options: RoundOptions) -> Iterator[Diagnostic]:
    """That there is none, or that the artifact keeps another one (R15)."""
    standing, asked = _standing(followed), embedded(options.question)
    if not standing and not asked:
        chain = followed.chain
        yield codes.ROUND_WITHOUT_QUESTION.at(version=chain.number, thread_id=chain.thread_id)
    if standing and _asks_anew(followed, options):
        yield question_differs(asked, standing)


def _about_session(followed: Followed, thread: RoundThread) -> Iterator[Diagnostic]:
    """What the operator should know before she asks anybody."""
    chain, status = followed.chain, followed.status
    argument = "-- " * chain.thread_id.startswith("-") + chain.thread_id
    if chain.is_closed:
        yield codes.ROUND_OF_CLOSED_SESSION.at(
            thread_id=chain.thread_id, version=chain.number, argument=argument
        )
    elif status.applies and thread.first is None:
        there_is = "There is" if status.unread == 1 else "There are"
        yield codes.ROUND_BEFORE_COMPILE.at(
            unread=f"{there_is} {counted(status.unread, 'DELTA message')}",
            applies=status.applies,
            version=chain.number,
            argument=argument,
        )


# What it says


def _plan(desk: Desk, resolved: Resolved, options: RoundOptions) -> KickoffPlan:
    return KickoffPlan(
        thread_id="",
        sender=desk.actor,
        roster=resolved.roster,
        recipients=resolved.recipients,
        question="",
        context="",
        title=options.title,
        constraints=options.constraints,
        outputs=options.outputs,
    )


def _about(messages: Iterable[Message]) -> Iterator[Diagnostic]:
    """What the check says of the kickoffs, save what was told when the session began: that its ID
    could be a better one, and that passages would help.
    """
    for found in about_messages(messages):
        if found.code not in (MISSING_RECOMMENDED_SECTION, THREAD_ID_ADVICE):
            yield found


def _otherwise(
    thread: RoundThread,
    messages: Iterable[Message],
    kickoffs: Iterable[Addressed],
    options: RoundOptions,
) -> Iterator[Diagnostic]:
    """A warning where some have got a kickoff of this round with other texts."""
    if thread.first is None:
        return
    names = compared(ROUND_TEXTS, has_outputs=bool(options.outputs.strip()))
    for message in list(messages)[:1]:
        yield from told_otherwise(Beginning("round", thread.first, names), message, kickoffs)
