"""Start the next round of a session: kickoffs that name the version and its critiques.

Version N is compiled from round N. An agent that has the kickoff of a round gets no second one. So
repeating the command finishes an interrupted one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brenner.artifact.merge.engine import question_differs
from brenner.artifact.merge.resolve import KickoffMessage, parse_posted, stated_base
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.codes.messages import MISSING_RECOMMENDED_SECTION, THREAD_ID_ADVICE
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError
from brenner.markdown.blocks import parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import COMPILED, KICKOFF
from brenner.protocol.messages import thread_order_key
from brenner.protocol.roster import Roster, validate_roster
from brenner.protocol.roster_resolve import ResolvedRoster, RosterSource
from brenner.services.publish import cancelled_note, check_not_ended, check_sound
from brenner.services.rosters import RosterRequest, resolve_roster
from brenner.services.session_status import LoadedStatus, load_status
from brenner.services.start_session import (
    BaseKickoffThread,
    KickoffDelivery,
    Started,
    StartStatus,
    changed_roles,
    changed_texts,
    check_kickoffs,
    find_newcomers,
    is_repeated,
    is_same_question,
    kickoffs_digest,
    load_excerpt,
    roster_diagnostics,
    send_if_sound,
    split_by_delivery,
    without_duplicates,
)
from brenner.services.version_store import load_history
from brenner.session.decisions import changes_versions
from brenner.session.excerpts import embed_text
from brenner.session.kickoff import KickoffPlan, compose_kickoffs
from brenner.session.round_kickoff import RoundContext, attacks_in, passages_in
from brenner.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.protocol.messages import Message, StoredMessage
    from brenner.services.workspace import Workspace
    from brenner.session.model import PublishedVersion

# The recipients of a later round: from the session's roster, unless given explicitly


_EXPLICIT_SOURCES = frozenset({RosterSource.FLAGS, RosterSource.ENVIRONMENT})


def earlier_kickoffs(
    messages: Iterable[StoredMessage],
) -> tuple[Roster | None, tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the roster of the latest kickoff that has one (R15), and all recipients, in order.

    Any agent can send a kickoff, so one with an invalid roster does not stop the session. The
    diagnostics are about such rosters.
    """
    kickoffs = [each for each in messages if each.type == KICKOFF.name]
    kickoffs.sort(key=thread_order_key)
    asked = dict.fromkeys(
        name for each in kickoffs for name in each.message.recipients if name != each.message.sender
    )
    found: list[Diagnostic] = []
    for each in reversed(kickoffs):
        brought = parse_posted(each)
        if not isinstance(brought, KickoffMessage) or brought.roster is None:
            continue
        faults = validate_roster(brought.roster).violations
        errors = [fault for fault in faults if fault.severity is ERROR]
        if not errors:
            return brought.roster, tuple(asked), tuple(found)
        found.append(codes.ROSTER_PASSED_OVER.at(id=each.id, reason=errors[0].message.rstrip(".")))
    return None, tuple(asked), tuple(found)


def round_roster(
    workspace: Workspace, roster: Roster | None, before: Iterable[str], wish: RosterRequest
) -> ResolvedRoster:
    """Return the roster of the round, and its recipients; from the roster and recipients before.

    Without `--to`, the recipients are those of the roster that a kickoff has asked before, or that
    flags or environment name. Without a roster, all recipients of earlier kickoffs.
    """
    wish = wish._replace(session=wish.session or roster)
    first = resolve_roster(workspace.project, os.environ, wish)
    if wish.recipients:
        return first
    asked = [name for name in before if name != workspace.actor]
    named = [
        name for name in first.recipients if name in asked or _is_named_explicitly(first, name)
    ]
    recipients = named or list(first.recipients if roster else ()) or asked
    if first.errors or not recipients:
        return first
    to_all = wish._replace(recipients=tuple((name, None) for name in recipients))
    resolved = resolve_roster(workspace.project, os.environ, to_all)
    left_out = [name for name in first.recipients if name not in (*recipients, workspace.actor)]
    if not left_out:
        return resolved
    warning = codes.LEFT_OUT_OF_ROUND.at(names=", ".join(left_out))
    return resolved._replace(diagnostics=(*resolved.diagnostics, warning))


def _is_named_explicitly(resolved: ResolvedRoster, name: str) -> bool:
    origin = resolved.origins.get(name)
    return origin is not None and origin.source in _EXPLICIT_SOURCES


# The thread of a later round: its version, and the agents that have a kickoff
#
# A kickoff belongs to this round if it is unread and names the latest version as its base.


class RoundThread(BaseKickoffThread):
    """The thread of a session for a later round, read as far as its status."""

    def __init__(self, workspace: Workspace, loaded: LoadedStatus) -> None:
        messages = loaded.messages
        arrival = max(each.arrival for each in messages)
        super().__init__(workspace.mailbox, loaded.history.thread_id, len(messages), arrival)
        self._workspace = workspace
        self._base_history = loaded.history
        self._current_history = loaded.history
        unread = [each for each in loaded.history.unread if each.type == KICKOFF.name]
        found = (workspace.mailbox.message(each.id) for each in unread)
        self._kickoffs = list(self._of_this_round(found))

    @property
    def first(self) -> StoredMessage | None:
        return self._kickoffs[0].posted if self._kickoffs else None

    def reached(self) -> dict[str, KickoffMessage]:
        """Return the kickoff of this round of each agent that has one: the first, if it got two."""
        return {
            name: each
            for each in reversed(self._kickoffs)
            for name in each.posted.message.recipients
        }

    def conflict(self) -> Diagnostic | None:
        """Return an error if the latest version is not the one that the kickoffs name."""
        before, latest = self._base_history, self._current_history.latest
        if latest and before.latest and latest.content_hash == before.latest.content_hash:
            return None
        return overtaken_diagnostic(
            self.thread_id, before.number, latest.number if latest else None
        )

    def _process(self, news: tuple[StoredMessage, ...]) -> None:
        """Add kickoffs of this round. Reload the history after a version or a decision."""
        self._kickoffs += self._of_this_round(each for each in news if each.type == KICKOFF.name)
        if any(each.type == COMPILED.name or changes_versions(each.message) for each in news):
            operator = self._workspace.project.operator
            self._current_history = load_history(self._mailbox, self.thread_id, operator)
            check_sound(self._current_history)

    def _of_this_round(self, kickoffs: Iterator[StoredMessage]) -> Iterator[KickoffMessage]:
        """Yield the kickoffs of this round, except those that an agent sent to others."""
        agents = {*self._base_history.state.artifact.metadata.agents}
        agents -= {self._workspace.actor, *self._base_history.operators}
        for stored in kickoffs:
            brought = parse_posted(stored)
            if stored.message.sender in agents or not isinstance(brought, KickoffMessage):
                continue
            if named_base(stored.message) == self._base_history.number:
                yield brought


def named_base(kickoff: Message) -> int | None:
    return stated_base(parse_blocks(kickoff.body), KICKOFF.version_field)


def overtaken_diagnostic(thread_id: str, base: int, latest: int | None) -> Diagnostic:
    """Return the error that kickoffs name a version that is not the latest any more."""
    now = f"v{latest} is the latest version" if latest else "the session has no version"
    return codes.ROUND_OVERTAKEN.at(round=base + 1, version=base, thread_id=thread_id, now=now)


class RoundOptions(NamedTuple):
    """The texts of a round's kickoffs, and the recipients. An empty text means not given.

    The excerpt is a text, or `sections` of the project's source text, then the excerpts of the
    evidence pack with the anchors in `evidence`. `reopen` continues a closed session. `register`
    allows registering recipients on a server that shares names between projects. `base` is the
    previewed version, and `seen` the digest of the previewed kickoffs. If either has changed,
    nothing is sent.
    """

    wish: RosterRequest = RosterRequest()
    focus: str = ""
    question: str = ""
    title: str = ""
    excerpt: str = ""
    sections: str | None = None
    evidence: tuple[str, ...] = ()
    constraints: str = ""
    outputs: str = ""
    dry_run: bool = False
    reopen: bool = False
    register: bool = False
    base: int | None = None
    seen: str | None = None


def start_round(workspace: Workspace, thread_id: str, options: RoundOptions) -> Started:
    """Send the kickoffs of the next round to all recipients that have none.

    All checks run before the first kickoff is sent; with an error, none is sent.
    """
    loaded = load_status(workspace, thread_id)
    base = _require_base(loaded, options)
    roster, asked, about_rosters = earlier_kickoffs(loaded.messages)
    resolved = round_roster(workspace, roster, asked, options.wish)
    excerpt, about_excerpt = load_excerpt(
        workspace, options.excerpt, options.sections, options.evidence
    )
    newcomers, about_names = find_newcomers(workspace, resolved, register=options.register)
    thread = RoundThread(workspace, loaded)
    found = [*roster_diagnostics(resolved), *about_rosters, *about_excerpt, *about_names]
    found += (*_question_diagnostics(loaded, options), *_session_diagnostics(loaded, thread))
    kickoffs: list[KickoffDelivery] = []
    if not any(each.severity is ERROR for each in found):
        plan = _plan(workspace, resolved, options)
        state = _round_content(loaded, base, options)
        plan = plan._replace(thread_id=thread_id, question=state.question, excerpt=excerpt)
        plan = plan._replace(base=base.number, round=state)
        messages = compose_kickoffs(plan)
        kickoffs = [
            each for m in messages for each in split_by_delivery(m, thread, resolved.roster)
        ]
        found += (*_check_round_kickoffs(messages), *changed_roles(kickoffs, resolved.roster))
        has_outputs = bool(options.outputs.strip())
        found += changed_texts("round", thread.first, kickoffs, messages, has_outputs=has_outputs)
    started = Started(
        thread_id,
        StartStatus.DRY_RUN if options.dry_run else StartStatus.REFUSED,
        tuple(kickoffs),
        (),
        resolved.roster,
        without_duplicates(found),
        round=base.number + 1,
        digest=kickoffs_digest(kickoffs, base.message_id),
    )
    done = send_if_sound(workspace, thread, started, newcomers, options.seen)
    cancelled = cancelled_note(loaded.history) if is_repeated(done) else []
    return done._replace(diagnostics=(*done.diagnostics, *cancelled))


# The base version and the question of the round


def _require_base(loaded: LoadedStatus, options: RoundOptions) -> PublishedVersion:
    """Return the version that the round builds on. Raise if there is none, or if the session has
    ended.
    """
    history, base = loaded.history, loaded.status.version
    check_sound(history)
    if base is None:
        raise RequestError(codes.ROUND_WITHOUT_VERSION.at(thread_id=history.thread_id))
    if options.base not in (None, base.number):
        raise RequestError(overtaken_diagnostic(history.thread_id, options.base or 0, base.number))
    if not options.reopen:
        check_not_ended(history)
    return base


def _round_content(
    loaded: LoadedStatus, base: PublishedVersion, options: RoundOptions
) -> RoundContext:
    state = loaded.history.state
    return RoundContext(
        loaded.status,
        base,
        state.artifact,
        state.conflicts,
        focus=options.focus,
        new_question=embed_text(options.question) if _changes_question(loaded, options) else "",
        passages=passages_in(loaded.messages),
        attacks=attacks_in(loaded.messages, loaded.status),
    )


def _current_question(loaded: LoadedStatus) -> str:
    return loaded.history.state.artifact.research_thread.text("statement").strip()


def _changes_question(loaded: LoadedStatus, options: RoundOptions) -> bool:
    """Return whether the given question differs from the artifact's, which may be empty."""
    asked = embed_text(options.question)
    return bool(asked) and not is_same_question(asked, _current_question(loaded))


def _question_diagnostics(loaded: LoadedStatus, options: RoundOptions) -> Iterator[Diagnostic]:
    """Yield an error if there is no question, or a note if the artifact keeps another one (R15)."""
    current, asked = _current_question(loaded), embed_text(options.question)
    if not current and not asked:
        history = loaded.history
        yield codes.ROUND_WITHOUT_QUESTION.at(version=history.number, thread_id=history.thread_id)
    if current and _changes_question(loaded, options):
        yield question_differs(asked, current)


def _session_diagnostics(loaded: LoadedStatus, thread: RoundThread) -> Iterator[Diagnostic]:
    """Yield warnings about the session for the operator."""
    history, status = loaded.history, loaded.status
    argument = "-- " * history.thread_id.startswith("-") + history.thread_id
    if history.is_closed:
        yield codes.ROUND_OF_CLOSED_SESSION.at(
            thread_id=history.thread_id, version=history.number, argument=argument
        )
    elif status.applies and thread.first is None:
        there_is = "There is" if status.unread == 1 else "There are"
        yield codes.ROUND_BEFORE_COMPILE.at(
            unread=f"{there_is} {plural(status.unread, 'DELTA message')}",
            applies=status.applies,
            version=history.number,
            argument=argument,
        )


# The texts of the kickoffs


def _plan(workspace: Workspace, resolved: ResolvedRoster, options: RoundOptions) -> KickoffPlan:
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


def _check_round_kickoffs(messages: Iterable[Message]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the kickoffs, except advice given when the session started.

    That is: a better thread ID, and passages to cite.
    """
    for found in check_kickoffs(messages):
        if found.code not in (MISSING_RECOMMENDED_SECTION, THREAD_ID_ADVICE):
            yield found
