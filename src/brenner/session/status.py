"""Compute the status of a session from its thread alone.

Also: dismissals and resolutions of refused blocks, open messages, and what each agent contributed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, Reference
from brenner.artifact.state import Blame, BlockOutcome, Change, Entry, State
from brenner.diagnostics.model import ERROR, worst_first
from brenner.lint.linter import lint
from brenner.markdown.blocks import parse_blocks
from brenner.markdown.escape import one_paragraph, read_fields
from brenner.protocol.body import BodySection, find_section, match_listed_value, parse_sections
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
from brenner.session.decisions import DISMISSAL_FENCE, read_declarations, render_declaration
from brenner.session.model import (
    LatestVersion,
    OpenAck,
    OpenCritique,
    OpenMessage,
    Participant,
    Phase,
    RefusedBlock,
    SessionStatus,
    Turn,
)
from brenner.session.participants import (
    CurrentRound,
    GivenAck,
    TypedMessage,
    debtors,
    given_acks,
    kickoff_requests,
    open_acks,
    participants,
    typed_messages,
)
from brenner.session.rebuild import ThreadMessage
from brenner.session.refused_blocks import BlockPosition, corrections, update_refused_blocks
from brenner.session.validation_reply import replied_message_id
from brenner.session.versions import VersionHistory

# Dismissals of refused blocks, in INFO messages of the operator


_MOST_NUMBERS = 10


class Dismissal(NamedTuple):
    """A dismissed block, by the content hash of its message, which no import changes."""

    content_hash: str
    block: int


def compose_dismissal(
    message: Message, content_hash: str, message_id: int, refused: Iterable[int], reason: str
) -> Message:
    """Compose the dismissal of blocks of one message.

    `message` gives thread, sender and recipients.
    """
    numbers = list(refused)
    which = _block_numbers(numbers)
    why = one_paragraph(reason) or "The operator gave no reason."
    dismissals = (Dismissal(content_hash, each) for each in numbers)
    records = "\n".join(render_declaration(each._asdict(), DISMISSAL_FENCE) for each in dismissals)
    them, are = ("them", "they are") if len(numbers) > 1 else ("it", "it is")
    body = (
        f"# Refused, and Dismissed\n\n"
        f"The operator dismisses {which} of message {message_id}: {are} not in the artifact, and "
        f"nobody has to correct {them} any more. Whoever wants {them} there all the same sends "
        f"{them} corrected.\n\n## Reason\n{why}\n\n## Record\n{records}"
    )
    subject = compose_subject("INFO", f"{which} of message {message_id} dismissed".capitalize())
    return message._replace(subject=subject, body=body)


def _block_numbers(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"block {numbers[0]}"
    if len(numbers) > _MOST_NUMBERS:
        return f"{len(numbers)} refused blocks"
    *first, last = map(str, numbers)
    return f"blocks {', '.join(first)} and {last}"


def dismissals_in(message: Message) -> tuple[Dismissal, ...]:
    """Return the dismissals in a message."""
    return tuple(
        Dismissal(content_hash, block)
        for content_hash, block, _ in read_declarations(message.body, DISMISSAL_FENCE, "block")
    )


class Dismissals:
    """All dismissals by the operators of a thread. Each covers only earlier messages.

    A copy that is sent after the dismissal is a new attempt of the author.
    """

    def __init__(self, thread: Iterable[TypedMessage], operators: Iterable[str]) -> None:
        self._messages = {each.id: each for each in thread}
        may = frozenset(operators)
        self._last = {
            dismissal: (each.at, each.id)
            for each in self._messages.values()
            if each.type == INFO.name and each.filed.counts_for(may)
            for dismissal in dismissals_in(each.message)
        }

    def of(self, refused_block: RefusedBlock) -> int | None:
        """Return the message that dismisses a refused block; None if there is none."""
        typed_message = self._messages.get(refused_block.message_id)
        if typed_message is None:
            return None
        last = self._last.get(Dismissal(typed_message.content, refused_block.block))
        return last[1] if last and (typed_message.at, typed_message.id) < last else None


# Open messages: critiques, blockers, questions, handoffs


_ITEM = "item"
# The section with the topic of a message, and the one with its severity, type or urgency
_ABOUT_SECTIONS = {
    CRITIQUE.name: "Target",
    BLOCKED.name: "Blocker",
    QUESTION.name: "Question",
    HANDOFF.name: "Item",
}
_RANK_SECTIONS = {
    CRITIQUE.name: ("Severity", SEVERITIES),
    BLOCKED.name: ("Type", BLOCKER_TYPES),
    QUESTION.name: ("Urgency", URGENCIES),
}


def contents_without_debtors(thread: Sequence[TypedMessage]) -> set[str]:
    """Return the contents of messages for which no agent ever owed an ACK."""
    found = [each for each in thread if each.type in _ABOUT_SECTIONS]
    return {each.content for each in found} - {each.content for each in found if debtors(each)}


def open_messages(
    thread: Sequence[TypedMessage], owed: Sequence[OpenAck], acks: Sequence[GivenAck]
) -> tuple[OpenMessage, ...]:
    """Return the open messages in thread order; copies of a message count once.

    A message is open while a recipient owes its ACK. If no agent owes one, it is open until any ACK
    is about it.
    """
    free = contents_without_debtors(thread)
    acknowledged = {content for each in acks for content in each.contents}
    contents = {each.id: each.content for each in thread}
    waiting: dict[str, list[str]] = {}
    for ack in owed:
        waiting.setdefault(contents[ack.message_id], []).append(ack.debtor)
    copies: dict[str, list[TypedMessage]] = {}
    for each in thread:
        if each.type in _ABOUT_SECTIONS:
            copies.setdefault(each.content, []).append(each)
    return tuple(
        _open_message(group[0], tuple(sorted(waiting.get(content, ()))))
        for content, group in copies.items()
        if content in waiting or (content in free and content not in acknowledged)
    )


def _open_message(typed_message: TypedMessage, waiting_for: tuple[str, ...]) -> OpenMessage:
    name = typed_message.type or ""
    found = parse_sections(parse_blocks(typed_message.message.body))
    subject = parse_subject(typed_message.message.subject)
    about = _subject_matter(find_section(found, _ABOUT_SECTIONS[name]))
    return OpenMessage(
        message_id=typed_message.id,
        type=name,
        sender=typed_message.message.sender,
        subject=typed_message.message.subject,
        at=typed_message.at,
        waiting_for=waiting_for,
        about=about or (subject.description if subject else ""),
        rank=_rank(name, found),
    )


def _subject_matter(section: BodySection | None) -> str:
    """Return the topic: of a target that is given field by field, the item (publish document)."""
    listed = read_fields(list(section.contents)) if section else []
    values = {each.name.casefold(): each.value for each in listed}
    return values.get(_ITEM) or _first_line(section)


def _first_line(section: BodySection | None) -> str:
    return section.first_line if section else ""


def _rank(name: str, found: list[BodySection]) -> str:
    if name not in _RANK_SECTIONS:
        return ""
    title, values = _RANK_SECTIONS[name]
    section = find_section(found, title)
    return (match_listed_value(section.chosen_line, values) if section else None) or ""


# The status


_SESSION_TYPES = frozenset({KICKOFF.name, DELTA.name, COMPILED.name})
_RESOLVED = "resolved"


class ComputedStatus(NamedTuple):
    """The status of a session, and the outcome of every block that no version has read."""

    status: SessionStatus
    ledger: tuple[Entry, ...]


def status_of(
    history: VersionHistory, messages: Sequence[ThreadMessage], operator: str
) -> SessionStatus:
    """Return the status of a thread; `messages` are all of it, at least one, in any order."""
    return compute_status(history, messages, operator).status


def merge_unread(
    history: VersionHistory, operator: str, before: tuple[VersionHistory, Merge] | None = None
) -> Merge:
    """Merge all unread messages into the latest version.

    Return the merge of `before` if neither the version nor the unread messages have changed since.
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
    """Compute the status and the ledger that it is based on.

    If `before`, the status before the newest messages, has the same version, reuse its summary of
    that version. `merged` is the result of `merge_unread`, if known.
    """
    thread = typed_messages(messages)
    merged = merged or merge_unread(history, operator)
    requests, owed = kickoff_requests(history, thread), open_acks(thread)
    acks = given_acks(
        thread, {each.content for each in requests.values()} | contents_without_debtors(thread)
    )
    current = CurrentRound(history, thread, requests, acks, merged.ledger, merged.artifact)
    agents = participants(current, operator)
    refused = uncorrected_blocks(history, thread, merged.ledger)
    applies = sum(entry.state is BlockOutcome.APPLIED for entry in merged.ledger)
    latest = history.state.artifact
    status = SessionStatus(
        thread_id=history.thread_id,
        kind=classify_thread_id(history.thread_id),
        question=_question_of(latest) or _question_of(merged.artifact),
        round=history.number if _is_over(current) else history.number + 1,
        phase=_phase(current, agents, applies),
        version=_latest_version(history, before),
        participants=agents,
        open_acks=owed,
        critiques=tuple(_open_critiques(history)),
        messages=open_messages(thread, owed, acks),
        refusals=tuple(each for each, dismissed in refused if dismissed is None),
        unread=sum(each.type == DELTA.name for each in _unread_messages(history, thread)),
        applies=applies,
        compile_blocker=history.compile_blocker,
        position=len(thread),
        first_at=thread[0].at,
        last_at=thread[-1].at,
        references=tuple(_references(latest)),
        operator=operator,
    )
    return ComputedStatus(status, merged.ledger)


def _unread_messages(
    history: VersionHistory, thread: Sequence[TypedMessage]
) -> Iterator[TypedMessage]:
    ids = {filed.posted.id for filed in history.unread}
    return (each for each in thread if each.id in ids)


def uncorrected_blocks(
    history: VersionHistory, thread: Sequence[TypedMessage], ledger: Sequence[Entry]
) -> Iterator[tuple[RefusedBlock, int | None]]:
    """Return the refused blocks, of versions and of unread messages, that are not corrected.

    Each comes with the message in which the operator dismisses it; None if it is open.
    """
    dismissals = Dismissals(thread, history.operators)
    return (
        (each, dismissals.of(each)) for each in update_refused_blocks(history.refused, ledger, None)
    )


def _question_of(artifact: Artifact) -> str:
    return artifact.research_thread.text("statement")


def _is_over(current: CurrentRound) -> bool:
    """Return whether the session has ended: it is closed, and no later kickoff asks an agent."""
    return current.history.is_closed and not current.requests


def _phase(current: CurrentRound, agents: Sequence[Participant], applies: int) -> Phase | None:
    """Return what the round waits for. A round that cannot be compiled is never ready."""
    history, turns = current.history, {each.turn for each in agents}
    if not any(each.type in _SESSION_TYPES for each in current.thread):
        return None
    if _is_over(current):
        return Phase.COMPLETE
    if Turn.OWES_ACK in turns:
        return Phase.AWAITING_ACKS
    if turns & {Turn.OWES_DELTA, Turn.TO_CORRECT}:
        return Phase.AWAITING_DELTAS
    if applies and not history.compile_blocker:
        return Phase.READY_TO_COMPILE
    return Phase.IN_CRITIQUE if history.versions else Phase.AWAITING_DELTAS


def _latest_version(history: VersionHistory, before: SessionStatus | None) -> LatestVersion | None:
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


def _open_critiques(history: VersionHistory) -> Iterator[OpenCritique]:
    """Yield the active C items of the latest version that are not marked as resolved."""
    state = history.state
    for item in state.artifact.active(ADVERSARIAL_CRITIQUE):
        status = item.text("current_status")
        if not status.strip().casefold().startswith(_RESOLVED):
            yield OpenCritique(item.id, item.title, _author(item, state.blame), status)


def _author(item: Item, blame: Blame) -> str | None:
    """Return the agent that added an item; None in an adopted artifact."""
    changes = blame.get(item.id, {}).values()
    added = (change for last in changes for change in last.history())
    return next((each.source.agent for each in added if each.source.operation == "ADD"), None)


def _references(artifact: Artifact) -> Iterator[tuple[str, Reference]]:
    for _, item in artifact.all_items():
        for reference in item.references:
            yield item.id, reference


class ResolutionKind(StrEnum):
    """Why a refused block is no longer open."""

    CORRECTED = "corrected"
    DISMISSED = "dismissed"


class BlockResolution(NamedTuple):
    """How a refused block was resolved, and in which message."""

    how: ResolutionKind
    message_id: int


def resolved_blocks(
    history: VersionHistory, messages: Sequence[ThreadMessage], ledgers: Sequence[Sequence[Entry]]
) -> dict[BlockPosition, BlockResolution]:
    """Return the refused blocks that are no longer open, by message and block.

    `ledgers` are those of all versions in order, and last the expected one of the unread blocks.
    """
    expected = ledgers[-1] if ledgers else ()
    found = {
        position: BlockResolution(ResolutionKind.CORRECTED, by[0])
        for position, by in corrections(ledgers).items()
    }
    if not history.refused and all(entry.state is not BlockOutcome.REFUSED for entry in expected):
        return found
    for refused_block, dismissed in uncorrected_blocks(history, typed_messages(messages), expected):
        if dismissed is not None:
            found[refused_block.message_id, refused_block.block] = BlockResolution(
                ResolutionKind.DISMISSED, dismissed
            )
    return found


# What each agent has contributed, and what has survived
#
# Contributions are counted in the ledgers. Surviving work comes from the latest version's blame.


class RoundCounts(NamedTuple):
    """Outcomes of the blocks of one agent in one round; round N makes version N."""

    round: int
    applied: int = 0
    refused: int = 0
    duplicate: int = 0

    @property
    def blocks(self) -> int:
        """The number of blocks, whatever their outcome."""
        return self.applied + self.refused + self.duplicate


class AgentContribution(NamedTuple):
    """What an agent has sent.

    `rounds` are those in which the agent sent blocks; the last one may not be compiled yet. The
    items are those that versions contain; other agents may have added the `edited` and `killed`
    ones. `codes` count the main error of each refused block.
    """

    agent: str
    rounds: tuple[RoundCounts, ...] = ()
    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    codes: tuple[tuple[str, int], ...] = ()

    def count(self, outcome: BlockOutcome) -> int:
        """Return the number of the agent's blocks with an outcome, in all rounds."""
        return sum(getattr(each, outcome.value) for each in self.rounds)

    @property
    def blocks(self) -> int:
        """The number of blocks that the agent sent."""
        return sum(each.blocks for each in self.rounds)


class SurvivingWork(NamedTuple):
    """What a version still contains of an agent's work.

    `active` and `killed` are the items that the agent added. `fields_set` counts how often it set a
    field, `fields_surviving` how many of its values active items still have.
    """

    active: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    fields_set: int = 0
    fields_surviving: int = 0


def contributions(
    ledgers: Mapping[int, Iterable[Entry]], expected: Iterable[Entry] = ()
) -> dict[str, AgentContribution]:
    """Return what every author of blocks has sent.

    `ledgers` are those of the versions. `expected` is the ledger of the unread blocks: they are
    counted, but their items do not exist yet.
    """
    counting: defaultdict[str, _BlockCounter] = defaultdict(_BlockCounter)
    for number, entries in ledgers.items():
        for entry in entries:
            counting[entry.agent].add(entry, number, is_read=True)
    following = max(ledgers, default=0) + 1
    for entry in expected:
        counting[entry.agent].add(entry, following, is_read=False)
    return {agent: counted.contribution(agent) for agent, counted in counting.items()}


class _BlockCounter:
    """Counter for the blocks of one agent."""

    def __init__(self) -> None:
        self._rounds: dict[int, Counter[BlockOutcome]] = {}
        self._codes: Counter[str] = Counter()
        self._items: dict[str, dict[str, None]] = {each.value: {} for each in Operation}

    def add(self, entry: Entry, number: int, *, is_read: bool) -> None:
        self._rounds.setdefault(number, Counter())[entry.state] += 1
        if entry.state is BlockOutcome.REFUSED:
            self._codes.update([main_error_code(entry)])
        elif entry.state is BlockOutcome.APPLIED and is_read and entry.item_id and entry.operation:
            self._items[entry.operation][entry.item_id] = None

    def contribution(self, agent: str) -> AgentContribution:
        rounds = (
            RoundCounts(number, *(found[outcome] for outcome in BlockOutcome))
            for number, found in sorted(self._rounds.items())
        )
        return AgentContribution(
            agent,
            tuple(rounds),
            added=tuple(self._items[Operation.ADD]),
            edited=tuple(self._items[Operation.EDIT]),
            killed=tuple(self._items[Operation.KILL]),
            codes=tuple(self._codes.most_common()),
        )


def main_error_code(entry: Entry) -> str:
    """Return the code of the worst error of a refused block; empty if it has none itself."""
    errors = [found for found in entry.diagnostics if found.severity is ERROR]
    return min(errors, key=worst_first).id if errors else ""


def surviving_work(state: State) -> dict[str, SurvivingWork]:
    """Return what a version still contains of each agent's work."""
    fields = _FieldCounter()
    active: dict[str, list[str]] = {}
    killed: dict[str, list[str]] = {}
    for _, item in state.artifact.all_items():
        authors: list[str] = []
        for path, change in state.blame.get(item.id, {}).items():
            if path[0] != "killed":
                authors += fields.add(change, is_active=item.is_active)
        for author in authors[:1]:
            (active if item.is_active else killed).setdefault(author, []).append(item.id)
    return {
        name: SurvivingWork(
            tuple(active.get(name, ())),
            tuple(killed.get(name, ())),
            fields.set[name],
            fields.surviving[name],
        )
        for name in dict.fromkeys((*active, *killed, *fields.set))
    }


class _FieldCounter:
    """Counter for the fields that each agent has set. The `N/A` of a KILL counts for no agent."""

    def __init__(self) -> None:
        self.set: Counter[str] = Counter()
        self.surviving: Counter[str] = Counter()

    def add(self, last: Change, *, is_active: bool) -> Iterator[str]:
        """Count a field with its history; yield the agents that added its item."""
        if is_active and last.value is not None and last.source.operation != Operation.KILL:
            self.surviving[last.source.agent] += 1
        for change in last.history():
            source = change.source
            if source.operation != Operation.KILL and change.value is not None:
                self.set[source.agent] += 1
            if source.operation == Operation.ADD:
                yield source.agent


# Validation Error replies


def messages_with_error_reply(messages: Iterable[ThreadMessage]) -> frozenset[int]:
    """Return the messages to which a Validation Error reply was sent.

    The reply links to the message. If a store keeps no links, the subject contains the number.
    """
    replies = ((each, replied_message_id(each.posted.message.subject)) for each in messages)
    return frozenset(each.reply_to or number for each, number in replies if number)
