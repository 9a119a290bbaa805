"""Start the next round of a session: a kickoff for each recipient that names version and critiques.

Round N is what version N is made of. Whoever has got the kickoff of a round gets no second one, so
that running the same command again finishes what was interrupted.
"""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from brenner.artifact.merge.engine import question_differs
from brenner.artifact.merge.resolve import Kickoff, read_posted, stated_base
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.codes.messages import MISSING_RECOMMENDED_SECTION, THREAD_ID_ADVICE
from brenner.diagnostics.codes.publishing import SESSION_CLOSED
from brenner.diagnostics.codes.sessions import (
    LEFT_OUT_OF_ROUND,
    ROSTER_PASSED_OVER,
    ROUND_OVERTAKEN,
)
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError
from brenner.mail.model import StoredMessage
from brenner.markdown.blocks import blocks
from brenner.protocol.message_types import COMPILED, KICKOFF
from brenner.protocol.messages import Message
from brenner.protocol.roster import Roster, validate_roster
from brenner.protocol.roster_resolve import Resolved, Source
from brenner.services.publish import check_sound
from brenner.services.rosters import RosterWish, resolve_roster
from brenner.services.sessions import Followed, load_status
from brenner.services.start_session import (
    ROUND_TEXTS,
    Addressed,
    Asked,
    AskingThread,
    Beginning,
    Started,
    Status,
    about_messages,
    about_roster,
    addressed,
    changed_roles,
    check_as_seen,
    compared,
    digest_of,
    excerpt_for,
    is_same_question,
    newcomers_among,
    once,
    send_all,
    told_otherwise,
    tried,
)
from brenner.services.version_store import filed, load_history
from brenner.services.workspace import Workspace
from brenner.session.kickoff import KickoffPlan, compose_kickoffs
from brenner.session.kickoff_text import embedded
from brenner.session.model import LatestVersion
from brenner.session.participants import letters
from brenner.session.rebuild import ThreadMessage
from brenner.session.round_kickoff import Round, attacks_in, passages_in
from brenner.session.versions import chain_messages_is_decision as is_decision
from brenner.session.versions import type_of
from brenner.text import counted

# Whom a later round asks: as the session's own roster has it, unless somebody says otherwise.


_SAID = frozenset({Source.FLAGS, Source.ENVIRONMENT})  # whoever is named there is meant


class Earlier(NamedTuple):
    """What the kickoffs of a thread have said so far: its roster, and everybody whom they asked.

    `found` is about rosters that cannot be used.
    """

    roster: Roster | None
    asked: tuple[str, ...]
    found: tuple[Diagnostic, ...] = ()


def earlier_kickoffs(messages: Iterable[ThreadMessage]) -> Earlier:
    """The roster of the latest kickoff that has one (R15), and all recipients, in their order.

    Anybody can send a kickoff. One with a faulty roster does not stop the session.
    """
    kickoffs = [each for each in letters(messages) if each.type == KICKOFF.name]
    asked = dict.fromkeys(
        name for each in kickoffs for name in each.message.recipients if name != each.message.sender
    )
    found: list[Diagnostic] = []
    for each in reversed(kickoffs):
        brought = read_posted(each.filed.posted)
        if not isinstance(brought, Kickoff) or brought.roster is None:
            continue
        faults = validate_roster(brought.roster).violations
        errors = [fault for fault in faults if fault.severity is ERROR]
        if not errors:
            return Earlier(brought.roster, tuple(asked), tuple(found))
        found.append(ROSTER_PASSED_OVER.at(id=each.id, reason=errors[0].message.rstrip(".")))
    return Earlier(None, tuple(asked), tuple(found))


def round_roster(workspace: Workspace, earlier: Earlier, wish: RosterWish) -> Resolved:
    """The roster of the round, and its recipients.

    Without `--to` those of the roster are asked whom a kickoff of the session has asked before,
    and whom flags or environment name. Without any roster, all whom a kickoff has asked.
    """
    wish = wish._replace(session=wish.session or earlier.roster)
    if wish.recipients:
        return resolve_roster(workspace.project, os.environ, wish)
    first = resolve_roster(workspace.project, os.environ, wish)
    asked = [name for name in earlier.asked if name != workspace.actor]
    named = [name for name in first.recipients if name in asked or _is_said(first, name)]
    recipients = named or list(first.recipients if earlier.roster else ()) or asked
    if first.errors or not recipients:
        return first
    to_all = wish._replace(recipients=tuple((name, None) for name in recipients))
    resolved = resolve_roster(workspace.project, os.environ, to_all)
    left_out = [name for name in first.recipients if name not in (*recipients, workspace.actor)]
    if not left_out:
        return resolved
    told = LEFT_OUT_OF_ROUND.at(names=", ".join(left_out))
    return resolved._replace(diagnostics=(*resolved.diagnostics, told))


def _is_said(resolved: Resolved, name: str) -> bool:
    origin = resolved.origins.get(name)
    return origin is not None and origin.source in _SAID


# A thread as the kickoffs of a later round find it: which version it has, and whom they reached.
#
# A kickoff is of this round if no version has read it and it names the latest version as its base.


class RoundThread(AskingThread):
    """A thread, read as far as its status was worked out from it."""

    def __init__(self, workspace: Workspace, followed: Followed) -> None:
        messages = followed.messages
        arrival = max(each.arrival for each in messages)
        super().__init__(workspace.mailbox, followed.history.thread_id, len(messages), arrival)
        self._desk = workspace
        self._chain = followed.history
        self._now = followed.history
        unread = [each for each in followed.history.unread if type_of(each) == KICKOFF.name]
        found = (workspace.mailbox.message(each.posted.id) for each in unread)
        self._asked = list(self._of_this_round(found))

    @property
    def first(self) -> StoredMessage | None:
        """The kickoff with which the round began."""
        return self._asked[0].stored if self._asked else None

    def reached(self) -> dict[str, Asked]:
        """Who has got a kickoff of this round, and which: the first, if she got two."""
        return {
            name: each for each in reversed(self._asked) for name in each.stored.message.recipients
        }

    def conflict(self) -> Diagnostic | None:
        """That the latest version is not the one that the kickoffs name; None where it is."""
        before, latest = self._chain, self._now.latest
        if latest and before.latest and latest.content_hash == before.latest.content_hash:
            return None
        return overtaken(self.thread_id, before.number, latest.number if latest else None)

    def _hear(self, news: tuple[StoredMessage, ...]) -> None:
        """A kickoff may be of this round; a version, or a decision on one, may end it."""
        self._asked += self._of_this_round(each for each in news if each.type == KICKOFF.name)
        if any(each.type == COMPILED.name or is_decision(filed(each)) for each in news):
            operator = self._desk.project.operator
            self._now = load_history(self._mailbox, self.thread_id, operator).history
            check_sound(self._now)

    def _of_this_round(self, kickoffs: Iterator[StoredMessage]) -> Iterator[Asked]:
        """Whoever starts a round; an agent of the roster who asks others has not started it."""
        agents = {*self._chain.state.artifact.metadata.agents}
        agents -= {self._desk.actor, *self._chain.operators}
        for stored in kickoffs:
            brought = read_posted(stored.posted)
            if stored.message.sender in agents or not isinstance(brought, Kickoff):
                continue
            if named_base(stored.message) == self._chain.number:
                yield Asked(stored, brought.question, brought.roster)


def named_base(kickoff: Message) -> int | None:
    """The version that a kickoff names as its base."""
    return stated_base(blocks(kickoff.body), KICKOFF.version_field)


def overtaken(thread_id: str, base: int, latest: int | None) -> Diagnostic:
    """That kickoffs name a version that is not the latest any more."""
    now = f"v{latest} is the latest version" if latest else "it has no version any more"
    return ROUND_OVERTAKEN.at(round=base + 1, version=base, thread_id=thread_id, now=now)


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


def start_round(workspace: Workspace, thread_id: str, options: RoundOptions) -> Started:
    """Send the kickoffs of the next round to all who have not got theirs.

    All that can be wrong with them is found out before the first is sent; then none is.
    """
    followed = load_status(workspace, thread_id)
    base = _base(followed, options)
    earlier = earlier_kickoffs(followed.messages)
    resolved = round_roster(workspace, earlier, options.wish)
    excerpt, about_excerpt = excerpt_for(workspace, options.excerpt, options.sections)
    newcomers, about_names = newcomers_among(workspace, resolved, register=options.register)
    thread = RoundThread(workspace, followed)
    found = [*about_roster(resolved), *earlier.found, *about_excerpt, *about_names]
    found += (*_about_question(followed, options), *_about_session(followed, thread))
    kickoffs: list[Addressed] = []
    if not any(each.severity is ERROR for each in found):
        plan = _plan(workspace, resolved, options)
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
    return send_all(workspace, thread, started, newcomers)


# What the round goes on from


def _base(followed: Followed, options: RoundOptions) -> LatestVersion:
    """The version that the round builds on; without one, or after the last one, it is refused."""
    history, base = followed.history, followed.status.version
    check_sound(history)
    if base is None:
        raise RequestError(codes.ROUND_WITHOUT_VERSION.at(thread_id=history.thread_id))
    if options.base not in (None, base.number):
        raise RequestError(overtaken(history.thread_id, options.base or 0, base.number))
    if history.is_closed and not options.reopen:
        words = {"thread_id": history.thread_id, "version": str(base.number)}
        raise RequestError(SESSION_CLOSED.at(None, **words))
    return base


def _round(followed: Followed, base: LatestVersion, options: RoundOptions) -> Round:
    state = followed.history.state
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
    return followed.history.state.artifact.research_thread.text("statement").strip()


def _asks_anew(followed: Followed, options: RoundOptions) -> bool:
    """Whether another question is given than the artifact has; it may have none."""
    asked = embedded(options.question)
    return bool(asked) and not is_same_question(asked, _standing(followed))


def _about_question(followed: Followed, options: RoundOptions) -> Iterator[Diagnostic]:
    """That there is none, or that the artifact keeps another one (R15)."""
    standing, asked = _standing(followed), embedded(options.question)
    if not standing and not asked:
        history = followed.history
        yield codes.ROUND_WITHOUT_QUESTION.at(version=history.number, thread_id=history.thread_id)
    if standing and _asks_anew(followed, options):
        yield question_differs(asked, standing)


def _about_session(followed: Followed, thread: RoundThread) -> Iterator[Diagnostic]:
    """What the operator should know before she asks anybody."""
    history, status = followed.history, followed.status
    argument = "-- " * history.thread_id.startswith("-") + history.thread_id
    if history.is_closed:
        yield codes.ROUND_OF_CLOSED_SESSION.at(
            thread_id=history.thread_id, version=history.number, argument=argument
        )
    elif status.applies and thread.first is None:
        there_is = "There is" if status.unread == 1 else "There are"
        yield codes.ROUND_BEFORE_COMPILE.at(
            unread=f"{there_is} {counted(status.unread, 'DELTA message')}",
            applies=status.applies,
            version=history.number,
            argument=argument,
        )


# What it says


def _plan(workspace: Workspace, resolved: Resolved, options: RoundOptions) -> KickoffPlan:
    return KickoffPlan(
        thread_id="",
        sender=workspace.actor,
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
