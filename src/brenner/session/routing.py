"""What a message means for its session (conventions document, For Orchestrator).

The prefix of the subject decides. A KICKOFF begins a round, a DELTA is merged into the working
artifact, a COMPILED message is rendered and distributed, a CRITIQUE is queued for review. The other
types settle something, wait for an agent, or are noted. The result is a text with figures from the
status before the message and after it.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.artifact.diff import changed_ids, diff
from brenner.artifact.state import BlockOutcome, Entry
from brenner.diagnostics.codes.merging import CIRCULAR_REFERENCE
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import VALIDATION_ERROR_TITLE
from brenner.protocol.message_types import COMPILED, DELTA
from brenner.protocol.subjects import parse_subject
from brenner.session.decisions import cancellation_reason, voids_in
from brenner.session.model import OpenMessage, Participant, Phase, RefusedBlock, SessionStatus, Turn
from brenner.session.status import dismissals_in
from brenner.session.versions import VersionHistory, ignored_blocks_in
from brenner.text import escape_control, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.messages import StoredMessage

_MOST_LISTED = 6
_MOST_CHARACTERS = 40  # per name or ID, which may be any text
_NO_BLOCKS: Mapping[str, int] = MappingProxyType({})
_NO_CHANGES: Mapping[str, list[str]] = MappingProxyType({})


class RouteStep(StrEnum):
    """What is done with a message; the values are stable in the JSON."""

    INITIALIZE = "session_initialization"
    MERGE = "merge"
    DISTRIBUTE = "render_and_distribute"
    REVIEW = "queue_for_review"
    SETTLE = "settle"
    WAIT = "wait"
    NOTE = "note"
    NOTHING = "nothing"


class Route(NamedTuple):
    """What a message means for its session.

    `model` is the shorthand in `DELTA[…]`. `blocks` counts its delta blocks by outcome, `items` are
    the items that they change. `codes` say why blocks are rejected, or why it is not a version.
    """

    type: str | None
    step: RouteStep
    words: str
    items: tuple[str, ...] = ()
    waiting_for: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    blocks: Mapping[str, int] = _NO_BLOCKS
    model: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the stable JSON; keys are only ever added."""
        return {
            "type": self.type,
            "model": self.model,
            "step": self.step.value,
            "words": self.words,
            "items": list(self.items),
            "waiting_for": list(self.waiting_for),
            "codes": list(self.codes),
            "blocks": dict(self.blocks),
        }


def limited_list(words: Iterable[str]) -> str:
    """Return `H1, H2 and 4 more`, with control characters escaped."""
    shown = [escape_control(word, _MOST_CHARACTERS) for word in words]
    if len(shown) > _MOST_LISTED:
        shown = [*shown[: _MOST_LISTED - 1], f"{len(shown) - _MOST_LISTED + 1} more"]
    *most, last = shown or ["no agent"]
    return f"{', '.join(most)} and {last}" if most else last


# The context of a message


_MOST_ABOUT = 60


class RoutingContext(NamedTuple):
    """A message, the status before it and after it, and what the version histories show about it.

    `before` is None if the message begins its thread. `entries` are the actual or expected outcomes
    of its blocks. `changes` are the IDs that its version added, modified and killed. `no_version`
    is why a COMPILED message is not a version.
    """

    message: StoredMessage
    before: SessionStatus | None
    after: SessionStatus
    entries: tuple[Entry, ...] = ()
    changes: Mapping[str, list[str]] = _NO_CHANGES
    no_version: Diagnostic | None = None

    def with_evidence(
        self, before: VersionHistory | None, after: VersionHistory, ledger: Iterable[Entry]
    ) -> RoutingContext:
        """Add what the version histories before and after the message show.

        `ledger` has the expected outcomes of the unread blocks.
        """
        if self.message.type == DELTA.name:
            return self._replace(entries=tuple(e for e in ledger if e.message_id == self.id))
        if self.message.type != COMPILED.name:
            return self
        latest = after.latest
        if latest is None or latest.message_id != self.id:
            return self._replace(no_version=_why_no_version(self.id, after))
        if before is None or before.number >= latest.number:
            return self
        return self._replace(changes=changed_ids(diff(before.state.artifact, after.state.artifact)))

    @property
    def id(self) -> int:
        return self.message.id

    @property
    def sender(self) -> str:
        return self.message.message.sender

    @property
    def recipients(self) -> tuple[str, ...]:
        return self.message.message.recipients

    @property
    def reminded_agents(self) -> tuple[str, ...]:
        """The agents for which this kickoff is only a copy of one from an earlier round."""
        names = (name for name in self.recipients if name != self.sender)
        return tuple(name for name in names if self._is_reminded(name))

    def _is_reminded(self, name: str) -> bool:
        """Decide by the ACK that the agent owes; if it owes none, a copy counts for this round."""
        participant = _find_participant(self.after, name)
        if participant is None or participant.kickoff is None:
            return True
        owed = (each for each in self.after.open_acks if each.last_message_id == self.id)
        first = next((each.message_id for each in owed if each.debtor == name), participant.kickoff)
        is_new_debt = first == self.id and participant.is_acknowledged
        return self.id != participant.kickoff != first and not is_new_debt

    @property
    def version(self) -> int:
        """The number of the latest version; 0 before the first."""
        return self.after.version.number if self.after.version else 0

    @property
    def sender_before(self) -> Participant | None:
        """The sender as a participant before the message, if in the same round."""
        if self.before is None or self.before.round != self.after.round:
            return None
        return _find_participant(self.before, self.sender)

    @property
    def sender_after(self) -> Participant | None:
        """The sender as a participant after the message."""
        return _find_participant(self.after, self.sender)

    @property
    def opened(self) -> OpenMessage | None:
        """The message as an open message; None if it waits for no agent."""
        return next((each for each in self.after.messages if each.message_id == self.id), None)

    @property
    def about(self) -> str:
        """The topic in its author's words, truncated."""
        return escape_control(self.opened.about, _MOST_ABOUT) if self.opened else ""

    @property
    def rank(self) -> str:
        """The severity or urgency that its author states."""
        return escape_control(self.opened.rank, _MOST_ABOUT) if self.opened else ""

    @property
    def waiting_words(self) -> str:
        if self.opened is None:
            return ""
        names = self.opened.waiting_for
        return f"; waiting for {limited_list(names) if names else 'an ACK from any agent'}"

    @property
    def no_longer_refused(self) -> tuple[RefusedBlock, ...]:
        """The rejected and misplaced blocks of earlier messages that are resolved now."""
        after, before = self.after, self.before
        left = {(each.message_id, each.block) for each in (*after.refusals, *after.misplaced)}
        known = (*before.refusals, *before.misplaced) if before else ()
        return tuple(each for each in known if (each.message_id, each.block) not in left)


def _why_no_version(message_id: int, history: VersionHistory) -> Diagnostic | None:
    if history.broken_version and history.broken_version.stored.id == message_id:
        return history.broken_version_error
    return next((each for each in history.others() if each.message_id == message_id), None)


def _find_participant(status: SessionStatus, name: str) -> Participant | None:
    return next((each for each in status.participants if each.name == name), None)


# Types that begin no round and change no artifact: answers, requests, notes


_WAITING_WORDS = {"QUESTION": "asked", "BLOCKED": "blocked", "HANDOFF": "handed over"}


def route_ack(context: RoutingContext) -> Route:
    """Route an ACK: what it settles, and which agents still owe an ACK."""
    settled = context.message.acknowledges
    if not settled:
        words = f"settles nothing: {limited_list([context.sender])} owes no ACK for that message"
        return Route(None, RouteStep.SETTLE, words + _pass_text(context))
    open_before = context.before.open_acks if context.before else ()
    types = {each.message_id: each.type for each in open_before}
    types |= {each.last_message_id: each.type for each in open_before}
    named = [f"{types.get(number) or 'message'} {number}" for number in settled]
    waiting_for = _remaining_debtors(context, settled)
    left = f"; {limited_list(waiting_for)} still owe{'s' * (len(waiting_for) == 1)} an ACK"
    words = f"settles {limited_list(named)}" + (left if waiting_for else "") + _pass_text(context)
    return Route(None, RouteStep.SETTLE, words, waiting_for=waiting_for)


def _remaining_debtors(context: RoutingContext, settled: tuple[int, ...]) -> tuple[str, ...]:
    """Return the agents that still owe an ACK for the same message."""
    left = (each for each in context.after.open_acks if each.message_id in settled)
    return tuple(dict.fromkeys(each.debtor for each in left))


def _pass_text(context: RoutingContext) -> str:
    new, old = context.sender_after, context.sender_before
    is_new = new and new.turn is Turn.PASSED and not (old and old.turn is Turn.PASSED)
    return f"; {limited_list([context.sender])} passes this round" if is_new else ""


def route_waiting(context: RoutingContext) -> Route:
    """Route a QUESTION, BLOCKED or HANDOFF: which agents it waits for."""
    found = context.opened
    if found is None:
        return Route(None, RouteStep.WAIT, "not waiting for any agent")
    words = _WAITING_WORDS[found.type]
    words += f", {context.rank}" * bool(found.rank) + f": {context.about}" * bool(found.about)
    return Route(None, RouteStep.WAIT, words + context.waiting_words, waiting_for=found.waiting_for)


def route_claim(_scene: RoutingContext) -> Route:
    return Route(None, RouteStep.NOTE, "noted: a CLAIM does not change the artifact")


def route_info(context: RoutingContext) -> Route:
    """Route an INFO: a decision of the operator, a validation error, or only a note."""
    message = context.message.message
    if cancellation_reason(message) is not None:
        return Route(None, RouteStep.NOTE, _cancellation_text(context))
    voided = voids_in(message)
    if voided:
        return Route(None, RouteStep.NOTE, _void_text(context, voided[0].version))
    if context.no_longer_refused or dismissals_in(message):
        return Route(None, RouteStep.NOTE, _dismissal_text(context))
    if message.body.startswith(VALIDATION_ERROR_TITLE):
        names = limited_list(context.recipients)
        words = f"validation error: {names} can correct the rejected blocks"
        return Route(None, RouteStep.NOTE, words)
    return Route(None, RouteStep.NOTE, "noted")


def _cancellation_text(context: RoutingContext) -> str:
    found = context.after.cancelled
    if found is None or found.message_id != context.id:
        return "no effect: only the operator can cancel an open session"
    reason = escape_control(found.reason, _MOST_ABOUT)
    return f"the session is cancelled: {reason}; no ACK and no contribution is needed any more"


def _void_text(context: RoutingContext, number: int) -> str:
    before = context.before.version if context.before else None
    was_blocked = context.before is not None and context.before.compile_blocker is not None
    is_heard = before != context.after.version or was_blocked != (
        context.after.compile_blocker is not None
    )
    if not is_heard:
        return f"no effect: only the operator can void v{number}"
    latest = f"the latest is v{context.version}" if context.version else "no version is left"
    return f"v{number} is void: {latest}; messages that only v{number} included are unread"


def _dismissal_text(context: RoutingContext) -> str:
    gone = context.no_longer_refused
    if not gone:
        return "no effect: only the operator can dismiss, and only rejected blocks"
    return f"dismissed {_blocks_text(gone)}"


_COPY = "copy of a kickoff of an earlier round: nothing new to do"
_NOT_PROTOCOL = Route(None, RouteStep.NOTHING, "no message type: nothing in it is compiled")


def route(context: RoutingContext) -> Route:
    """Return what a message means."""
    subject = parse_subject(context.message.message.subject)
    found = _NOT_PROTOCOL
    if subject:
        found = ROUTES[subject.type](context)._replace(type=subject.type, model=subject.role)
    return _with_ignored_blocks(found, context.message)


def _with_ignored_blocks(found: Route, message: StoredMessage) -> Route:
    """Mention delta blocks outside a DELTA: no apparent contribution is dropped silently (R4)."""
    count = sum(1 for _ in ignored_blocks_in(message))
    if not count:
        return found
    ignored = f"{plural(count, 'delta block')} ignored: only a DELTA message contributes"
    return found._replace(words=f"{found.words}; {ignored}")


# The four types that the document names


def _route_kickoff(context: RoutingContext) -> Route:
    """Route a KICKOFF: the agents that it asks, and how many are asked in all."""
    before, after, number = context.before, context.after, context.id
    asked = [each.name for each in after.participants if each.kickoff is not None]
    new = [each.name for each in after.participants if each.kickoff == number]
    known = {each.name for each in before.participants if each.kickoff} if before else set()
    if after.phase is Phase.COMPLETE:
        words = f"the session is complete with v{context.version}; to continue it use `--reopen`"
        return Route(
            None, RouteStep.INITIALIZE, f"{_COPY}; {words}" if context.reminded_agents else words
        )
    again = [
        name for name in context.recipients if name in known and name not in context.reminded_agents
    ]
    if context.reminded_agents and not (new or again):
        return Route(None, RouteStep.INITIALIZE, _COPY)
    first = [name for name in new if name not in known]
    parts = [
        f"{limited_list(names)} {'is' if len(names) == 1 else 'are'} asked{how}"
        for names, how in ((first, ""), (again, " again"))
        if names
    ]
    total = f"; {plural(len(asked), 'agent')} in all" if known and first else ""
    begins = f"round {after.round}" + (" begins" if new and not known else "")
    words = f"{begins}: {' and '.join(parts) or 'no new agent is asked'}{total}"
    if before and before.phase is Phase.COMPLETE:
        words += f"; the session was closed with v{context.version} and is reopened"
    if before and before.cancelled and not after.cancelled:
        words += "; the session was cancelled and is reopened"
    waiting_for = tuple(each.name for each in after.awaited if each.kickoff == number)
    return Route(None, RouteStep.INITIALIZE, words, waiting_for=waiting_for)


def _route_delta(context: RoutingContext) -> Route:
    """Route a DELTA: the outcomes of its blocks, and the rejected blocks that it corrects."""
    found = _block_outcomes(context)
    applied, refused = found[BlockOutcome.APPLIED], found[BlockOutcome.REFUSED]
    codes = _refusal_codes(context)
    items = tuple(dict.fromkeys(each.item_id for each in context.entries if each.item_id))
    parts = []
    if applied:
        on = f" ({limited_list(items)})" if items else ""
        parts.append(f"{plural(applied, 'block')} {'applies' if applied == 1 else 'apply'}{on}")
    if refused:
        why = f" ({limited_list(codes)})" if codes else ""
        parts.append(f"{refused} rejected{why}")
    if found[BlockOutcome.DUPLICATE]:
        parts.append(f"{plural(found[BlockOutcome.DUPLICATE], 'duplicate')}")
    words = "merged into the working artifact: " if applied else "nothing merged: "
    words += ", ".join(parts) or "no delta blocks"
    words += _left_out_text(context)
    corrected = context.no_longer_refused
    if corrected:
        words += f"; corrects {_blocks_text(corrected)}"
    words += _compile_obstacle(context)
    return Route(None, RouteStep.MERGE, words, items, codes=codes, blocks=found)


def _block_outcomes(context: RoutingContext) -> Mapping[str, int]:
    """Count the blocks by outcome: from the ledger, else from the change of the sender's counts."""
    if context.entries:
        states = [each.state for each in context.entries]
        return {outcome.value: states.count(outcome) for outcome in BlockOutcome}
    new, old = context.sender_after, context.sender_before
    return {
        outcome.value: max(0, getattr(new, outcome, 0) - getattr(old, outcome, 0))
        for outcome in BlockOutcome
    }


def _refusal_codes(context: RoutingContext) -> tuple[str, ...]:
    """Return why blocks are rejected, each code once."""
    refused = [each.diagnostics for each in context.entries if each.state is BlockOutcome.REFUSED]
    refused = refused or [
        each.diagnostics for each in context.after.refusals if each.message_id == context.id
    ]
    errors = (found.id for each in refused for found in each if found.severity == "error")
    return tuple(dict.fromkeys(errors))


def _left_out_text(context: RoutingContext) -> str:
    """Mention references that would close a cycle: their blocks are applied without them (R21)."""
    applied = (each for each in context.entries if each.state is BlockOutcome.APPLIED)
    left = sum(found.code is CIRCULAR_REFERENCE for each in applied for found in each.diagnostics)
    if not left:
        return ""
    return f"; {plural(left, 'reference')} left out ({CIRCULAR_REFERENCE.id})"


def _blocks_text(refusals: Iterable[RefusedBlock]) -> str:
    return limited_list([f"block {each.block} of message {each.message_id}" for each in refusals])


def _compile_obstacle(context: RoutingContext) -> str:
    """Return what prevents the blocks from being compiled."""
    if context.after.compile_blocker:
        return f"; cannot compile ({context.after.compile_blocker.id})"
    if context.after.cancelled:
        return "; the session is cancelled; to compile it use `--reopen`"
    if context.after.is_closed:
        is_over = context.after.phase is Phase.COMPLETE
        ended = "is complete with" if is_over else "was closed with"
        return f"; the session {ended} v{context.version}; to compile it use `--reopen`"
    return ""


def _route_compiled(context: RoutingContext) -> Route:
    """Route a COMPILED message: the changes of the version, the lint result, the recipients."""
    version = context.after.version
    if version is None or version.message_id != context.id:
        why = context.no_version
        words = f"not a version: {why.message}" if why else "not a version"
        codes = (why.id,) if why else ()
        return Route(None, RouteStep.DISTRIBUTE, words, codes=codes)
    changes = context.changes
    marks = [
        f"{mark}{len(ids)} ({limited_list(ids)})"
        for mark, kind in (("+", "added"), ("~", "modified"), ("†", "killed"))
        if (ids := changes.get(kind))
    ]
    changed = f": {' '.join(marks)}" if marks else ""
    lint = plural(version.errors, "lint error") if version.errors else "no lint errors"
    end = " and closed the session" if context.after.is_closed else ""
    recipients = limited_list(context.recipients)
    words = f"published v{version.number}{end}{changed}; {lint}; sent to {recipients}"
    items = tuple(dict.fromkeys(each for ids in changes.values() for each in ids))
    return Route(None, RouteStep.DISTRIBUTE, words, items)


def _route_critique(context: RoutingContext) -> Route:
    """Route a CRITIQUE: its place in the queue, its severity, its topic."""
    found = context.opened
    if found is None:
        return Route(None, RouteStep.REVIEW, "no agent has to review it")
    place = len(context.after.critiques) + len(context.after.of_type("CRITIQUE"))
    words = f"queued for review: open critique {place}"
    words += f", {context.rank}" * bool(found.rank) + f", on {context.about}" * bool(found.about)
    words += context.waiting_words
    return Route(None, RouteStep.REVIEW, words, waiting_for=found.waiting_for)


ROUTES: Mapping[str, Callable[[RoutingContext], Route]] = MappingProxyType(
    {
        "KICKOFF": _route_kickoff,
        "DELTA": _route_delta,
        "COMPILED": _route_compiled,
        "CRITIQUE": _route_critique,
        "ACK": route_ack,
        "CLAIM": route_claim,
        "HANDOFF": route_waiting,
        "BLOCKED": route_waiting,
        "QUESTION": route_waiting,
        "INFO": route_info,
    }
)
