"""What has become of refused blocks since: corrected by their authors, or dismissed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, Reference
from brenner.artifact.state import Blame, Change, Entry, Outcome, State
from brenner.diagnostics.model import ERROR, worst_first
from brenner.lint.linter import lint
from brenner.markdown.blocks import blocks
from brenner.markdown.escape import fields, one_paragraph
from brenner.protocol.body import Section, find_section, listed_value, sections
from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE, Operation
from brenner.protocol.message_types import (
    BLOCKED,
    BLOCKER_TYPES,
    COMPILED,
    CRITIQUE,
    DELTA,
    HANDOFF,
    INFO,
    KICKOFF,
    QUESTION,
    SEVERITIES,
    URGENCIES,
)
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject, parse_subject
from brenner.protocol.thread_ids import classify_thread_id
from brenner.session.compiled_message import has_third_alternative
from brenner.session.decisions import DISMISSAL_FENCE, declaration, declared
from brenner.session.model import (
    LatestVersion,
    OpenAck,
    OpenCritique,
    OpenMessage,
    Participant,
    Phase,
    Refusal,
    SessionStatus,
    Turn,
)
from brenner.session.participants import (
    CurrentRound,
    Given,
    TypedMessage,
    asked_in,
    debtors,
    given_acks,
    letters,
    open_acks,
    participants,
)
from brenner.session.rebuild import ThreadMessage
from brenner.session.refused_blocks import BlockPlace, after_ledger, corrections
from brenner.session.validation_reply import told_of
from brenner.session.versions import VersionHistory

# Refused blocks that the operator dismisses, and the INFO messages that say so.


_MOST_NUMBERS = 10


class Dismissal(NamedTuple):
    """A block that is let be: by the content of its message, which no import changes."""

    content_hash: str
    block: int


def compose_dismissal(
    message: Message, content_hash: str, message_id: int, refused: Iterable[int], reason: str
) -> Message:
    """The dismissal of blocks of one message; `message` gives thread, sender and recipients."""
    numbers = list(refused)
    which = _named(numbers)
    why = one_paragraph(reason) or "The operator gave no reason."
    dismissals = (Dismissal(content_hash, each) for each in numbers)
    records = "\n".join(declaration(each._asdict(), DISMISSAL_FENCE) for each in dismissals)
    them, are = ("them", "they are") if len(numbers) > 1 else ("it", "it is")
    body = (
        f"# Refused, and Dismissed\n\n"
        f"The operator dismisses {which} of message {message_id}: {are} not in the artifact, and "
        f"nobody has to correct {them} any more. Whoever wants {them} there all the same sends "
        f"{them} corrected.\n\n## Reason\n{why}\n\n## Record\n{records}"
    )
    subject = compose_subject("INFO", f"{which} of message {message_id} dismissed".capitalize())
    return message._replace(subject=subject, body=body)


def _named(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"block {numbers[0]}"
    if len(numbers) > _MOST_NUMBERS:
        return f"{len(numbers)} refused blocks"
    *first, last = map(str, numbers)
    return f"blocks {', '.join(first)} and {last}"


def dismissed_by(message: Message) -> tuple[Dismissal, ...]:
    """What a message dismisses."""
    return tuple(
        Dismissal(content_hash, block)
        for content_hash, block, _ in declared(message.body, DISMISSAL_FENCE, "block")
    )


class Dismissals:
    """All that the operators of a thread have dismissed. Each is about what stands before it.

    A copy of the message that is sent again after it is the author's new attempt.
    """

    def __init__(self, thread: Iterable[TypedMessage], operators: Iterable[str]) -> None:
        self._letters = {each.id: each for each in thread}
        may = frozenset(operators)
        self._last = {
            dismissal: (each.at, each.id)
            for each in self._letters.values()
            if each.type == INFO.name and each.filed.counts_for(may)
            for dismissal in dismissed_by(each.message)
        }

    def of(self, refusal: Refusal) -> int | None:
        """The message that dismisses a refused block; None where none does."""
        letter = self._letters.get(refusal.message_id)
        if letter is None:
            return None
        last = self._last.get(Dismissal(letter.content, refusal.block))
        return last[1] if last and (letter.at, letter.id) < last else None


# Messages that wait for somebody: critiques, blockers, questions, handoffs.


_ITEM = "item"
# The section that says what a message is about, and the one that says how much it matters
_ABOUT = {
    CRITIQUE.name: "Target",
    BLOCKED.name: "Blocker",
    QUESTION.name: "Question",
    HANDOFF.name: "Item",
}
_RANK = {
    CRITIQUE.name: ("Severity", SEVERITIES),
    BLOCKED.name: ("Type", BLOCKER_TYPES),
    QUESTION.name: ("Urgency", URGENCIES),
}


def unowed(thread: Sequence[TypedMessage]) -> set[str]:
    """The contents of those for which nobody owes an ACK, from the start."""
    found = [each for each in thread if each.type in _ABOUT]
    return {each.content for each in found} - {each.content for each in found if debtors(each)}


def open_messages(
    thread: Sequence[TypedMessage], owed: Sequence[OpenAck], given: Sequence[Given]
) -> tuple[OpenMessage, ...]:
    """Those that nobody has taken care of yet, in their order; copies of a message count once.

    One is open while a recipient owes its ACK. Where nobody owes one, it is open until any ACK is
    about it.
    """
    free = unowed(thread)
    acknowledged = {content for each in given for content in each.contents}
    contents = {each.id: each.content for each in thread}
    waiting: dict[str, list[str]] = {}
    for ack in owed:
        waiting.setdefault(contents[ack.message_id], []).append(ack.debtor)
    copies: dict[str, list[TypedMessage]] = {}
    for each in thread:
        if each.type in _ABOUT:
            copies.setdefault(each.content, []).append(each)
    return tuple(
        _open_message(group[0], tuple(sorted(waiting.get(content, ()))))
        for content, group in copies.items()
        if content in waiting or (content in free and content not in acknowledged)
    )


def _open_message(letter: TypedMessage, waiting_for: tuple[str, ...]) -> OpenMessage:
    name = letter.type or ""
    found = sections(blocks(letter.message.body))
    subject = parse_subject(letter.message.subject)
    about = _about(find_section(found, _ABOUT[name]))
    return OpenMessage(
        message_id=letter.id,
        type=name,
        sender=letter.message.sender,
        subject=letter.message.subject,
        at=letter.at,
        waiting_for=waiting_for,
        about=about or (subject.description if subject else ""),
        rank=_rank(name, found),
    )


def _about(section: Section | None) -> str:
    """What it is about: of a target that is told field by field, the item (publish document)."""
    listed = fields(list(section.contents)) if section else []
    told = {each.name.casefold(): each.value for each in listed}
    return told.get(_ITEM) or _first_line(section)


def _first_line(section: Section | None) -> str:
    return section.first_line if section else ""


def _rank(name: str, found: list[Section]) -> str:
    if name not in _RANK:
        return ""
    title, values = _RANK[name]
    section = find_section(found, title)
    return (listed_value(section.chosen_line, values) if section else None) or ""


# Where a session stands, worked out from its thread and nothing else.


_SESSION = frozenset({KICKOFF.name, DELTA.name, COMPILED.name})
_RESOLVED = "resolved"


class ComputedStatus(NamedTuple):
    """Where a session stands, and what would become of every block that no version has read."""

    status: SessionStatus
    ledger: tuple[Entry, ...]


def status_of(
    history: VersionHistory, messages: Sequence[ThreadMessage], operator: str
) -> SessionStatus:
    """The status of the thread; `messages` are all of it, at least one, in any order."""
    return compute_status(history, messages, operator).status


def merge_unread(
    history: VersionHistory, operator: str, before: tuple[VersionHistory, Merge] | None = None
) -> Merge:
    """What the next version would be, from what no version has read.

    Where that was worked out before, and nothing of it is new, it is still so.
    """
    if before and before[0].state is history.state and before[0].unread == history.unread:
        return before[1]
    return merge(history.state, [filed.posted for filed in history.unread], operator=operator)


def compute_status(
    history: VersionHistory,
    messages: Sequence[ThreadMessage],
    operator: str,
    before: SessionStatus | None = None,
    merged: Merge | None = None,
) -> ComputedStatus:
    """The status with the ledger that it was worked out from.

    Where the status `before` the newest messages is known, and the version is still the same, that
    is not looked at again. `merged` is what is `to_come`, where it is known.
    """
    thread = letters(messages)
    merged = merged or merge_unread(history, operator)
    asked, owed = asked_in(history, thread), open_acks(thread)
    given = given_acks(thread, {each.content for each in asked.values()} | unowed(thread))
    current = CurrentRound(history, thread, asked, given, merged.ledger, merged.artifact)
    who = participants(current, operator)
    refused = uncorrected(history, thread, merged.ledger)
    applies = sum(entry.state is Outcome.APPLIED for entry in merged.ledger)
    latest = history.state.artifact
    status = SessionStatus(
        thread_id=history.thread_id,
        kind=classify_thread_id(history.thread_id),
        question=_question(latest) or _question(merged.artifact),
        round=history.number if _is_over(current) else history.number + 1,
        phase=_phase(current, who, applies),
        version=_version(history, before),
        participants=who,
        open_acks=owed,
        critiques=tuple(_critiques(history)),
        messages=open_messages(thread, owed, given),
        refusals=tuple(each for each, dismissed in refused if dismissed is None),
        unread=sum(each.type == DELTA.name for each in _unread(history, thread)),
        applies=applies,
        stopped=history.stopped,
        position=len(thread),
        first_at=thread[0].at,
        last_at=thread[-1].at,
        references=tuple(_references(latest)),
        operator=operator,
    )
    return ComputedStatus(status, merged.ledger)


def _unread(history: VersionHistory, thread: Sequence[TypedMessage]) -> Iterator[TypedMessage]:
    ids = {filed.posted.id for filed in history.unread}
    return (each for each in thread if each.id in ids)


def uncorrected(
    history: VersionHistory, thread: Sequence[TypedMessage], ledger: Sequence[Entry]
) -> Iterator[tuple[Refusal, int | None]]:
    """The refused blocks, of versions and to come, that their authors have not corrected.

    Each with the message in which the operator dismisses it; None where it is open.
    """
    dismissals = Dismissals(thread, history.operators)
    return ((each, dismissals.of(each)) for each in after_ledger(history.refused, ledger, None))


def _question(artifact: Artifact) -> str:
    return artifact.research_thread.text("statement")


def _is_over(current: CurrentRound) -> bool:
    """Whether the session has ended: it goes on where a kickoff after the end asks somebody."""
    return current.history.is_closed and not current.asked


def _phase(current: CurrentRound, who: Sequence[Participant], applies: int) -> Phase | None:
    """What the round waits for. What cannot be compiled is not ready, whatever has come in."""
    history, turns = current.history, {each.turn for each in who}
    if not any(each.type in _SESSION for each in current.thread):
        return None
    if _is_over(current):
        return Phase.COMPLETE
    if Turn.OWES_ACK in turns:
        return Phase.AWAITING_ACKS
    if turns & {Turn.OWES_DELTA, Turn.TO_CORRECT}:
        return Phase.AWAITING_DELTAS
    if applies and not history.stopped:
        return Phase.READY_TO_COMPILE
    return Phase.IN_CRITIQUE if history.versions else Phase.AWAITING_DELTAS


def _version(history: VersionHistory, before: SessionStatus | None) -> LatestVersion | None:
    latest, artifact = history.latest, history.state.artifact
    if latest is None:
        return None
    known = before.version if before else None
    if known and (known.number, known.message_id) == (latest.number, latest.message_id):
        return known
    found = lint(artifact).summary
    return LatestVersion(
        number=latest.number,
        message_id=latest.message_id,
        compiled_at=latest.compiled_at,
        compiled_by=latest.compiled_by,
        status=latest.status,
        errors=found.errors,
        warnings=found.warnings,
        has_third_alternative=has_third_alternative(artifact),
        counts=tuple((section.id, len(artifact.active(section))) for section in ITEM_SECTIONS),
    )


def _critiques(history: VersionHistory) -> Iterator[OpenCritique]:
    """The C items of the latest version that nobody has answered or withdrawn."""
    state = history.state
    for item in state.artifact.active(ADVERSARIAL_CRITIQUE):
        status = item.text("current_status")
        if not status.strip().casefold().startswith(_RESOLVED):
            yield OpenCritique(item.id, item.title, _author(item, state.blame), status)


def _author(item: Item, blame: Blame) -> str | None:
    """Who added it; None where another program's artifact was taken over."""
    changes = blame.get(item.id, {}).values()
    added = (change for last in changes for change in last.history())
    return next((each.source.agent for each in added if each.source.operation == "ADD"), None)


def _references(artifact: Artifact) -> Iterator[tuple[str, Reference]]:
    for _, item in artifact.all_items():
        for reference in item.references:
            yield item.id, reference


class How(StrEnum):
    """Why nobody waits for a refused block any more."""

    CORRECTED = "corrected"
    DISMISSED = "dismissed"


class ResolvedBlocks(NamedTuple):
    """How a refused block was settled, and in which message."""

    how: How
    message_id: int


def resolved_blocks(
    history: VersionHistory, messages: Sequence[ThreadMessage], ledgers: Sequence[Sequence[Entry]]
) -> dict[BlockPlace, ResolvedBlocks]:
    """The refused blocks that are not open any more, by message and block.

    `ledgers` are those of all versions in their order, and last what would become of the blocks
    that none has read.
    """
    expected = ledgers[-1] if ledgers else ()
    found = {
        place: ResolvedBlocks(How.CORRECTED, by[0]) for place, by in corrections(ledgers).items()
    }
    if not history.refused and all(entry.state is not Outcome.REFUSED for entry in expected):
        return found
    for refusal, dismissed in uncorrected(history, letters(messages), expected):
        if dismissed is not None:
            found[refusal.message_id, refusal.block] = ResolvedBlocks(How.DISMISSED, dismissed)
    return found


# What each agent has brought into a session, and what of it stands.
#
# What she sent is counted in the ledgers; what stands is read off who set what in the latest
# version.


class RoundCounts(NamedTuple):
    """What became of the blocks of one agent in one round; round N is what version N is made of."""

    round: int
    applied: int = 0
    refused: int = 0
    duplicate: int = 0

    @property
    def blocks(self) -> int:
        """All of them."""
        return self.applied + self.refused + self.duplicate


class Contribution(NamedTuple):
    """What an agent has sent.

    `rounds` are those in which she sent blocks, the last of them perhaps not compiled yet. The
    items are those that versions have: `edited` and `killed` may be anybody's. `codes` say why
    blocks were refused, by the worst fault of each.
    """

    agent: str
    rounds: tuple[RoundCounts, ...] = ()
    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    codes: tuple[tuple[str, int], ...] = ()

    def count(self, outcome: Outcome) -> int:
        """How many of her blocks ended so, in all rounds."""
        return sum(getattr(each, outcome.value) for each in self.rounds)

    @property
    def blocks(self) -> int:
        """How many she sent."""
        return sum(each.blocks for each in self.rounds)


class Survival(NamedTuple):
    """What stands of an agent's work in a version.

    `active` and `killed` are the items that she added. `fields_set` counts how often she gave a
    field a value, `fields_standing` the values of hers that active items have.
    """

    active: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    fields_set: int = 0
    fields_standing: int = 0


def contributions(
    ledgers: Mapping[int, Iterable[Entry]], expected: Iterable[Entry] = ()
) -> dict[str, Contribution]:
    """What every author of blocks has sent.

    `ledgers` are those of the versions; `expected` is what would become of the blocks that none
    has read: they count, but their items are not there yet.
    """
    counting: defaultdict[str, _Counting] = defaultdict(_Counting)
    for number, entries in ledgers.items():
        for entry in entries:
            counting[entry.agent].take(entry, number, is_read=True)
    following = max(ledgers, default=0) + 1
    for entry in expected:
        counting[entry.agent].take(entry, following, is_read=False)
    return {agent: counted.contribution(agent) for agent, counted in counting.items()}


class _Counting:
    """The blocks of one agent while they are counted."""

    def __init__(self) -> None:
        self._rounds: dict[int, Counter[Outcome]] = {}
        self._codes: Counter[str] = Counter()
        self._items: dict[str, dict[str, None]] = {each.value: {} for each in Operation}

    def take(self, entry: Entry, number: int, *, is_read: bool) -> None:
        self._rounds.setdefault(number, Counter())[entry.state] += 1
        if entry.state is Outcome.REFUSED:
            self._codes.update([reason(entry)])
        elif entry.state is Outcome.APPLIED and is_read and entry.item_id and entry.operation:
            self._items[entry.operation][entry.item_id] = None

    def contribution(self, agent: str) -> Contribution:
        rounds = (
            RoundCounts(number, *(found[outcome] for outcome in Outcome))
            for number, found in sorted(self._rounds.items())
        )
        return Contribution(
            agent,
            tuple(rounds),
            added=tuple(self._items[Operation.ADD]),
            edited=tuple(self._items[Operation.EDIT]),
            killed=tuple(self._items[Operation.KILL]),
            codes=tuple(self._codes.most_common()),
        )


def reason(entry: Entry) -> str:
    """The code of the worst fault of a refused block; empty where it has none of its own."""
    errors = [found for found in entry.diagnostics if found.severity is ERROR]
    return min(errors, key=worst_first).id if errors else ""


def survivals(state: State) -> dict[str, Survival]:
    """What stands of everybody's work in a version."""
    fields = _Fields()
    active: dict[str, list[str]] = {}
    killed: dict[str, list[str]] = {}
    for _, item in state.artifact.all_items():
        authors: list[str] = []
        for path, change in state.blame.get(item.id, {}).items():
            if path[0] != "killed":
                authors += fields.take(change, is_active=item.is_active)
        for author in authors[:1]:
            (active if item.is_active else killed).setdefault(author, []).append(item.id)
    return {
        name: Survival(
            tuple(active.get(name, ())),
            tuple(killed.get(name, ())),
            fields.set[name],
            fields.standing[name],
        )
        for name in dict.fromkeys((*active, *killed, *fields.set))
    }


class _Fields:
    """How many fields everybody has set. What a KILL turns into `N/A` nobody has said."""

    def __init__(self) -> None:
        self.set: Counter[str] = Counter()
        self.standing: Counter[str] = Counter()

    def take(self, last: Change, *, is_active: bool) -> Iterator[str]:
        """Count a field with its history; what comes back is who added its item."""
        if is_active and last.value is not None and last.source.operation != Operation.KILL:
            self.standing[last.source.agent] += 1
        for change in last.history():
            source = change.source
            if source.operation != Operation.KILL and change.value is not None:
                self.set[source.agent] += 1
            if source.operation == Operation.ADD:
                yield source.agent


# Which authors of refused blocks have been told of them by mail.


def told_of_refusals(messages: Iterable[ThreadMessage]) -> frozenset[int]:
    """The messages to which somebody has sent the Validation Error reply.

    It is a reply to the message; where a home keeps no links, its subject has the number.
    """
    told = ((each, told_of(each.posted.message.subject)) for each in messages)
    return frozenset(each.reply_to or number for each, number in told if number)
