"""What a message means for its session (conventions document, For Orchestrator).

The prefix of the subject says where a message goes: a KICKOFF begins a round, a DELTA is merged
into the working artifact, a COMPILED message is rendered and distributed, a CRITIQUE is queued for
review. The other types settle something, wait for somebody, or are noted. All of it is said in
words, with figures from where the session stood before the message and after it.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.diff import changes, diff
from brenner.artifact.state import Entry, Outcome
from brenner.diagnostics.codes.merging import CIRCULAR_REFERENCE
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.message_types import COMPILED, DELTA
from brenner.protocol.subjects import Subject, parse_subject
from brenner.session.decisions import voided_by
from brenner.session.model import OpenMessage, Participant, Phase, Refusal, SessionStatus, Turn
from brenner.session.rebuild import ThreadMessage
from brenner.session.status import dismissed_by
from brenner.session.versions import VersionHistory, asides_of, type_of
from brenner.text import counted, escape_control

# Where a message goes, as a value, and the evidence that it is told from.


_MOST_LISTED = 6
_MOST_CHARACTERS = 40  # of a name or an ID, which may be any text
_NOTHING: Mapping[str, int] = MappingProxyType({})
_NO_CHANGES: Mapping[str, list[str]] = MappingProxyType({})


class Step(StrEnum):
    """What is done with a message; the words are the stable ones of the JSON."""

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

    `model` is the shorthand in `DELTA[…]`. `blocks` are the fates of its delta blocks, `items` what
    they end on, `codes` why some are refused, or why it is no version.
    """

    type: str | None
    step: Step
    words: str
    items: tuple[str, ...] = ()
    waiting_for: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    blocks: Mapping[str, int] = _NOTHING
    model: str | None = None

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
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


class Evidence(NamedTuple):
    """What the chains of versions show of one message, beyond the status of its session.

    `entries` is what became, or would become, of its blocks; `changes` the IDs that its version
    added, modified and killed; `no_version` why a COMPILED message is none.
    """

    entries: tuple[Entry, ...] = ()
    changes: Mapping[str, list[str]] = _NO_CHANGES
    no_version: Diagnostic | None = None


NOTHING_MORE = Evidence()


def listed(words: Iterable[str]) -> str:
    """`H1, H2 and 4 more`; whatever they hold is made safe to show."""
    shown = [escape_control(word, _MOST_CHARACTERS) for word in words]
    if len(shown) > _MOST_LISTED:
        shown = [*shown[: _MOST_LISTED - 1], f"{len(shown) - _MOST_LISTED + 1} more"]
    *most, last = shown or ["nobody"]
    return f"{', '.join(most)} and {last}" if most else last


# One message between the status before it and the status after it.


_MOST_ABOUT = 60


class Scene(NamedTuple):
    """What the words about a message are made of."""

    message: ThreadMessage
    before: SessionStatus | None
    after: SessionStatus
    evidence: Evidence

    @property
    def id(self) -> int:
        """Of the message."""
        return self.message.posted.id

    @property
    def sender(self) -> str:
        """Of the message."""
        return self.message.posted.message.sender

    @property
    def recipients(self) -> tuple[str, ...]:
        """Of the message."""
        return self.message.posted.message.recipients

    @property
    def reminded(self) -> tuple[str, ...]:
        """Whom a kickoff asks for nothing new: it is a copy of one of an earlier round."""
        names = (name for name in self.recipients if name != self.sender)
        return tuple(name for name in names if self._is_reminded(name))

    def _is_reminded(self, name: str) -> bool:
        """By the ACK that she owes; where she owes none, a copy is taken for one of this round."""
        her = _named(self.after, name)
        if her is None or her.kickoff is None:
            return True
        owed = (each for each in self.after.open_acks if each.last_message_id == self.id)
        first = next((each.message_id for each in owed if each.debtor == name), her.kickoff)
        is_new_debt = first == self.id and her.is_acknowledged
        return self.id != her.kickoff != first and not is_new_debt

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What becomes of its blocks."""
        return self.evidence.entries

    @property
    def version(self) -> int:
        """The number of the latest version; 0 before the first."""
        return self.after.version.number if self.after.version else 0

    @property
    def sender_before(self) -> Participant | None:
        """Who sent it, as she stood before, if that was in the same round."""
        if self.before is None or self.before.round != self.after.round:
            return None
        return _named(self.before, self.sender)

    @property
    def sender_after(self) -> Participant | None:
        """Who sent it, as she stands now."""
        return _named(self.after, self.sender)

    @property
    def opened(self) -> OpenMessage | None:
        """The message, where it waits for somebody."""
        return next((each for each in self.after.messages if each.message_id == self.id), None)

    @property
    def about(self) -> str:
        """What it is about, in its author's words, cut."""
        return escape_control(self.opened.about, _MOST_ABOUT) if self.opened else ""

    @property
    def rank(self) -> str:
        """How grave or urgent its author calls it."""
        return escape_control(self.opened.rank, _MOST_ABOUT) if self.opened else ""

    @property
    def waiting_words(self) -> str:
        """Whom it waits for."""
        if self.opened is None:
            return ""
        names = self.opened.waiting_for
        return f"; it waits for {listed(names)}" if names else "; it waits for anybody's ACK"

    @property
    def no_longer_refused(self) -> tuple[Refusal, ...]:
        """The refused blocks of earlier messages that are dealt with now."""
        left = {(each.message_id, each.block) for each in self.after.refusals}
        known = self.before.refusals if self.before else ()
        return tuple(each for each in known if (each.message_id, each.block) not in left)


def _named(status: SessionStatus, name: str) -> Participant | None:
    return next((each for each in status.participants if each.name == name), None)


# What messages mean that begin no round and change no artifact: answers, requests, notes.


_VALIDATION_ERROR = "# Validation Error"  # the title of the message document's Error Responses
_WAITING = {"QUESTION": "asked", "BLOCKED": "blocked", "HANDOFF": "handed over"}


def ack(scene: Scene) -> Route:
    """What it settles, and who still owes an ACK."""
    settled = scene.message.acknowledges
    if not settled:
        words = f"settles nothing: {listed([scene.sender])} owes no ACK for what it names"
        return Route(None, Step.SETTLE, words + _passes(scene))
    open_before = scene.before.open_acks if scene.before else ()
    types = {each.message_id: each.type for each in open_before}
    types |= {each.last_message_id: each.type for each in open_before}
    named = [f"{types.get(number) or 'message'} {number}" for number in settled]
    waiting_for = _debtors(scene, settled)
    left = f"; {listed(waiting_for)} still owe{'s' * (len(waiting_for) == 1)} one for it"
    words = f"settles {listed(named)}" + (left if waiting_for else "") + _passes(scene)
    return Route(None, Step.SETTLE, words, waiting_for=waiting_for)


def _debtors(scene: Scene, settled: tuple[int, ...]) -> tuple[str, ...]:
    """Who still owes an ACK for the same message."""
    left = (each for each in scene.after.open_acks if each.message_id in settled)
    return tuple(dict.fromkeys(each.debtor for each in left))


def _passes(scene: Scene) -> str:
    new, old = scene.sender_after, scene.sender_before
    is_new = new and new.turn is Turn.PASSED and not (old and old.turn is Turn.PASSED)
    return f"; {listed([scene.sender])} passes this round" if is_new else ""


def waiting(scene: Scene) -> Route:
    """A QUESTION, BLOCKED or HANDOFF: whom it waits for."""
    found = scene.opened
    if found is None:
        return Route(None, Step.WAIT, "it waits for nobody")
    words = _WAITING[found.type]
    words += f", {scene.rank}" * bool(found.rank) + f": {scene.about}" * bool(found.about)
    return Route(None, Step.WAIT, words + scene.waiting_words, waiting_for=found.waiting_for)


def claim(_scene: Scene) -> Route:
    """Work that somebody takes on."""
    return Route(None, Step.NOTE, "noted: a claim changes nothing in the artifact")


def info(scene: Scene) -> Route:
    """Noted; what some of them say is more than that."""
    message = scene.message.posted.message
    voided = voided_by(message)
    if voided:
        return Route(None, Step.NOTE, _void(scene, voided[0].version))
    if scene.no_longer_refused or dismissed_by(message):
        return Route(None, Step.NOTE, _dismissal(scene))
    if message.body.startswith(_VALIDATION_ERROR):
        words = f"a validation error: {listed(scene.recipients)} can send what was refused again"
        return Route(None, Step.NOTE, words)
    return Route(None, Step.NOTE, "noted")


def _void(scene: Scene, number: int) -> str:
    before = scene.before.version if scene.before else None
    was_stopped = scene.before is not None and scene.before.stopped is not None
    is_heard = before != scene.after.version or was_stopped != (scene.after.stopped is not None)
    if not is_heard:
        return f"says that v{number} is void, which changes nothing: only the operator declares it"
    latest = f"v{scene.version} is the latest" if scene.version else "there is no version now"
    return f"v{number} is void: {latest}, and what only it had read is unread again"


def _dismissal(scene: Scene) -> str:
    gone = [f"block {each.block} of message {each.message_id}" for each in scene.no_longer_refused]
    if not gone:
        return "dismisses nothing: only the operator can, and only what is refused"
    return f"dismissed: {listed(gone)} need{'s' * (len(gone) == 1)} no correction any more"


__all__ = ["Evidence", "Route", "Step", "route"]

_COPY = "a copy of the kickoff of an earlier round: nothing new is asked"
_NOT_OURS = Route(None, Step.NOTHING, "not the protocol's: nothing in it is compiled")


def route(
    message: ThreadMessage,
    before: SessionStatus | None,
    after: SessionStatus,
    evidence: Evidence = NOTHING_MORE,
) -> Route:
    """Where a message goes; `before` is None where it begins its thread.

    The `evidence` is what the chains of versions show beyond the two statuses: which items the
    blocks of a DELTA end on, what a version changed, why a COMPILED message is none.
    """
    subject = parse_subject(message.posted.message.subject)
    found = _typed(subject, Scene(message, before, after, evidence)) if subject else _NOT_OURS
    return _with_asides(found, message)


def _typed(subject: Subject, scene: Scene) -> Route:
    return ROUTES[subject.type](scene)._replace(type=subject.type, model=subject.role)


def _with_asides(found: Route, message: ThreadMessage) -> Route:
    """Nothing that looks like a contribution is passed over (R4)."""
    aside = sum(1 for _ in asides_of(message))
    if not aside:
        return found
    holds = f"{counted(aside, 'delta block')} in it {'is' if aside == 1 else 'are'} no contribution"
    words = f"{found.words}; {holds}: only a DELTA message has any"
    return found._replace(words=words)


# The four that the document names


def _kickoff(scene: Scene) -> Route:
    """Session initialization: whom this message asks, and who is asked in all."""
    before, after, number = scene.before, scene.after, scene.id
    asked = [each.name for each in after.participants if each.kickoff is not None]
    new = [each.name for each in after.participants if each.kickoff == number]
    known = {each.name for each in before.participants if each.kickoff} if before else set()
    if after.phase is Phase.COMPLETE:
        words = f"the session is complete, with v{scene.version}: only `--reopen` goes on with it"
        return Route(None, Step.INITIALIZE, f"{_COPY}; {words}" if scene.reminded else words)
    again = [name for name in scene.recipients if name in known and name not in scene.reminded]
    if scene.reminded and not (new or again):
        return Route(None, Step.INITIALIZE, _COPY)
    first = [name for name in new if name not in known]
    parts = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} asked{how}"
        for names, how in ((first, ""), (again, " again"))
        if names
    ]
    total = f"; {counted(len(asked), 'agent')} in all" if known and first else ""
    begins = f"round {after.round}" + (" begins" if new and not known else "")
    words = f"{begins}: {' and '.join(parts) or 'nobody new is asked'}{total}"
    if before and before.phase is Phase.COMPLETE:
        words += f"; the session was closed with v{scene.version}, and goes on"
    waiting_for = tuple(each.name for each in after.awaited if each.kickoff == number)
    return Route(None, Step.INITIALIZE, words, waiting_for=waiting_for)


def _delta(scene: Scene) -> Route:
    """Merge: what becomes of its blocks, and of refused ones that it corrects."""
    found = _fates(scene)
    applied, refused = found[Outcome.APPLIED], found[Outcome.REFUSED]
    codes = _codes(scene)
    items = tuple(dict.fromkeys(each.item_id for each in scene.entries if each.item_id))
    parts = []
    if applied:
        on = f" ({listed(items)})" if items else ""
        parts.append(f"{counted(applied, 'block')} {'applies' if applied == 1 else 'apply'}{on}")
    if refused:
        why = f" ({listed(codes)})" if codes else ""
        parts.append(f"{refused} {'is' if refused == 1 else 'are'} refused{why}")
    if found[Outcome.DUPLICATE]:
        parts.append(f"{counted(found[Outcome.DUPLICATE], 'duplicate')}")
    words = "merged into the working artifact: " if applied else "nothing of it is merged: "
    words += ", ".join(parts) or "it holds no delta block"
    words += _left_out(scene)
    corrected = scene.no_longer_refused
    if corrected:
        words += f"; it corrects {_blocks(corrected)}"
    words += _held_up(scene)
    return Route(None, Step.MERGE, words, items, codes=codes, blocks=found)


def _fates(scene: Scene) -> Mapping[str, int]:
    """How many of its blocks end how: by the ledger, else by what the sender's figures gained."""
    if scene.entries:
        states = [each.state for each in scene.entries]
        return {outcome.value: states.count(outcome) for outcome in Outcome}
    new, old = scene.sender_after, scene.sender_before
    gained = {
        Outcome.APPLIED: (new.applied - (old.applied if old else 0)) if new else 0,
        Outcome.REFUSED: (new.refused - (old.refused if old else 0)) if new else 0,
        Outcome.DUPLICATE: (new.duplicate - (old.duplicate if old else 0)) if new else 0,
    }
    return {outcome.value: max(0, number) for outcome, number in gained.items()}


def _codes(scene: Scene) -> tuple[str, ...]:
    """Why blocks are refused, each code once."""
    refused = [each.diagnostics for each in scene.entries if each.state is Outcome.REFUSED]
    refused = refused or [
        each.diagnostics for each in scene.after.refusals if each.message_id == scene.id
    ]
    errors = (found.id for each in refused for found in each if found.severity == "error")
    return tuple(dict.fromkeys(errors))


def _left_out(scene: Scene) -> str:
    """References that would close a circle: their blocks are applied without them (R21)."""
    applied = (each for each in scene.entries if each.state is Outcome.APPLIED)
    left = sum(found.code is CIRCULAR_REFERENCE for each in applied for found in each.diagnostics)
    if not left:
        return ""
    are = "is" if left == 1 else "are"
    return f"; {counted(left, 'reference')} {are} left out ({CIRCULAR_REFERENCE.id})"


def _blocks(refusals: Iterable[Refusal]) -> str:
    return listed([f"block {each.block} of message {each.message_id}" for each in refusals])


def _held_up(scene: Scene) -> str:
    """What keeps it from being compiled."""
    if scene.after.stopped:
        return f"; nothing can be compiled ({scene.after.stopped.id})"
    if scene.after.is_closed:
        is_over = scene.after.phase is Phase.COMPLETE
        ended = "is complete, with" if is_over else "was closed with"
        return f"; the session {ended} v{scene.version}: only `--reopen` compiles it"
    return ""


def _compiled(scene: Scene) -> Route:
    """Render and distribute: what the version changed, what lint says, who got it."""
    version = scene.after.version
    if version is None or version.message_id != scene.id:
        why = scene.evidence.no_version
        words = f"it is no version: {why.message}" if why else "it is no version"
        codes = (why.id,) if why else ()
        return Route(None, Step.DISTRIBUTE, words, codes=codes)
    changes = scene.evidence.changes
    marks = [
        f"{mark}{len(ids)} ({listed(ids)})"
        for mark, kind in (("+", "added"), ("~", "modified"), ("†", "killed"))
        if (ids := changes.get(kind))
    ]
    changed = f": {' '.join(marks)}" if marks else ""
    lint = "lint has no errors"
    if version.errors:
        lint = f"lint {counted(version.errors, 'error')}"
    end = ", and closes the session" if scene.after.is_closed else ""
    words = f"v{version.number} is out{end}{changed}; {lint}; sent to {listed(scene.recipients)}"
    items = tuple(dict.fromkeys(each for ids in changes.values() for each in ids))
    return Route(None, Step.DISTRIBUTE, words, items)


def _critique(scene: Scene) -> Route:
    """Queue for review: which place it takes, how grave it is, what it is about."""
    found = scene.opened
    if found is None:
        return Route(None, Step.REVIEW, "nobody has to review it")
    place = len(scene.after.critiques) + len(scene.after.of_type("CRITIQUE"))
    words = f"queued for review: open critique {place}"
    words += f", {scene.rank}" * bool(found.rank) + f", on {scene.about}" * bool(found.about)
    words += scene.waiting_words
    return Route(None, Step.REVIEW, words, waiting_for=found.waiting_for)


ROUTES: Mapping[str, Callable[[Scene], Route]] = MappingProxyType(
    {
        "KICKOFF": _kickoff,
        "DELTA": _delta,
        "COMPILED": _compiled,
        "CRITIQUE": _critique,
        "ACK": ack,
        "CLAIM": claim,
        "HANDOFF": waiting,
        "BLOCKED": waiting,
        "QUESTION": waiting,
        "INFO": info,
    }
)


# What the chains of versions before and after a message show of it.


def evidence_of(
    message: ThreadMessage,
    before: VersionHistory | None,
    after: VersionHistory,
    ledger: Iterable[Entry],
) -> Evidence:
    """What is needed beside the statuses; `before` is None where the message begins the thread.

    The `ledger` says what would become of the unread blocks if the next version were made now.
    """
    name = type_of(message)
    if name == DELTA.name:
        number = message.posted.id
        return Evidence(entries=tuple(each for each in ledger if each.message_id == number))
    if name != COMPILED.name:
        return NOTHING_MORE
    latest = after.latest
    if latest is None or latest.message_id != message.posted.id:
        return Evidence(no_version=_why_not(message, after))
    old = before.state.artifact if before else None
    if old is None or before is None or before.number >= latest.number:
        return NOTHING_MORE
    return Evidence(changes=changes(diff(old, after.state.artifact)))


def _why_not(message: ThreadMessage, history: VersionHistory) -> Diagnostic | None:
    number = message.posted.id
    if history.broken and history.broken.candidate.filed.posted.id == number:
        return history.unsound
    return next((each for each in history.others() if each.message_id == number), None)
