"""Compute the status of a session from its thread alone.

Also: dismissals and resolutions of refused blocks, open messages, and what each agent contributed.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import ITEM_SECTIONS, Item
from brenner.artifact.state import Blame, BlockOutcome, Change, Conflict, Entry, State
from brenner.diagnostics.model import ERROR, worst_first
from brenner.lint.linter import lint
from brenner.markdown.blocks import parse_blocks
from brenner.markdown.escape import one_paragraph, read_fields
from brenner.named_tuple import NamedTuple
from brenner.protocol.acknowledgements import debtors
from brenner.protocol.body import BodySection, find_section, match_listed_value, parse_sections
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    FALSIFIED,
    Operation,
)
from brenner.protocol.independent_round import IndependentRound, independent_round, is_delayed
from brenner.protocol.message_types import (
    BLOCKED,
    BLOCKER_TYPES,
    CRITIQUE,
    DELTA,
    HANDOFF,
    INFO,
    KICKOFF,
    QUESTION,
    SEVERITIES,
    URGENCIES,
)
from brenner.protocol.messages import thread_order_key
from brenner.protocol.subjects import compose_subject, parse_subject
from brenner.protocol.thread_ids import classify_thread_id
from brenner.session.decisions import DISMISSAL_FENCE, read_declarations, render_declaration
from brenner.session.misplaced_blocks import without_sent
from brenner.session.model import (
    ENDED_PHASES,
    OpenAck,
    OpenConflict,
    OpenCritique,
    OpenMessage,
    Participant,
    Phase,
    PublishedVersion,
    RefusedBlock,
    SessionStatus,
    Turn,
    has_third_alternative,
)
from brenner.session.participants import (
    CurrentRound,
    ack_debts,
    given_acks,
    kickoff_requests,
)
from brenner.session.refused_blocks import BlockPosition, corrections, update_refused_blocks
from brenner.session.validation_reply import replied_message_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from brenner.artifact.model import Artifact
    from brenner.protocol.messages import Message, StoredMessage
    from brenner.session.unanswered import UnansweredItem
    from brenner.session.versions import VersionHistory

# Dismissals of rejected blocks, in INFO messages of the operator


_MOST_NUMBERS = 10


def compose_dismissal(
    message: Message, content_hash: str, message_id: int, refused: Iterable[int], reason: str
) -> Message:
    """Compose the dismissal of blocks of one message.

    `message` gives thread, sender and recipients.
    """
    numbers = list(refused)
    which = _block_numbers(numbers)
    why = one_paragraph(reason) or "The operator gave no reason."
    blocks = ({"block": each, "content_hash": content_hash} for each in numbers)
    records = "\n".join(render_declaration(each, DISMISSAL_FENCE) for each in blocks)
    them = "them" if len(numbers) > 1 else "it"
    body = (
        f"# Rejected Blocks Dismissed\n\n"
        f"The operator dismisses {which} of message {message_id}. No correction is needed. To "
        f"contribute {them} after all, send {them} corrected.\n\n"
        f"## Reason\n{why}\n\n## Record\n{records}"
    )
    subject = compose_subject("INFO", f"{which} of message {message_id} dismissed".capitalize())
    return message._replace(subject=subject, body=body)


def _block_numbers(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"block {numbers[0]}"
    if len(numbers) > _MOST_NUMBERS:
        return f"{len(numbers)} rejected blocks"
    *first, last = map(str, numbers)
    return f"blocks {', '.join(first)} and {last}"


def dismissals_in(message: Message) -> tuple[tuple[str, int], ...]:
    """Return the blocks that a message dismisses: the content hash of their message, and number."""
    return tuple(
        (content_hash, block)
        for content_hash, block, _ in read_declarations(message.body, DISMISSAL_FENCE, "block")
    )


# Open messages: critiques, blockers, questions, handoffs


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


def contents_without_debtors(thread: Sequence[StoredMessage]) -> set[str]:
    """Return the contents of messages for which no agent ever owed an ACK."""
    found = [each for each in thread if each.type in _ABOUT_SECTIONS]
    return {each.content_hash for each in found} - {
        each.content_hash for each in found if debtors(each.message)
    }


def open_messages(
    thread: Sequence[StoredMessage],
    unsettled: Sequence[StoredMessage],
    owed: Sequence[OpenAck],
    acks: Collection[str],
) -> tuple[OpenMessage, ...]:
    """Return the open messages in thread order; copies of a message count once.

    A message is open while a recipient owes its ACK. If no agent owes one, it is open until any ACK
    is about it, or until the session ends: `acks` are the acknowledged contents, and `unsettled`
    the messages after the end.
    """
    free = contents_without_debtors(unsettled)
    contents = {each.id: each.content_hash for each in thread}
    waiting: dict[str, list[str]] = {}
    for ack in owed:
        waiting.setdefault(contents[ack.message_id], []).append(ack.debtor)
    copies: dict[str, list[StoredMessage]] = {}
    for each in thread:
        if each.type in _ABOUT_SECTIONS:
            copies.setdefault(each.content_hash, []).append(each)
    return tuple(
        _open_message(group[0], tuple(sorted(waiting.get(content, ()))))
        for content, group in copies.items()
        if content in waiting or (content in free and content not in acks)
    )


def _open_message(stored: StoredMessage, waiting_for: tuple[str, ...]) -> OpenMessage:
    name = stored.type or ""
    found = parse_sections(parse_blocks(stored.message.body))
    subject = parse_subject(stored.message.subject)
    about = _subject_matter(find_section(found, _ABOUT_SECTIONS[name]))
    return OpenMessage(
        message_id=stored.id,
        type=name,
        sender=stored.message.sender,
        subject=stored.message.subject,
        at=stored.at,
        waiting_for=waiting_for,
        about=about or (subject.description if subject else ""),
        rank=_rank(name, found),
    )


def _subject_matter(section: BodySection | None) -> str:
    """Return the topic: of a target that is given field by field, the item (publish document)."""
    listed = read_fields(list(section.contents)) if section else []
    values = {each.name.casefold(): each.value for each in listed}
    return values.get("item") or (section.first_line if section else "")


def _rank(name: str, found: list[BodySection]) -> str:
    if name not in _RANK_SECTIONS:
        return ""
    title, values = _RANK_SECTIONS[name]
    section = find_section(found, title)
    return (match_listed_value(section.chosen_line, values) if section else None) or ""


# The status


_RESOLVED = "resolved"


def merge_unread(
    history: VersionHistory, operator: str, before: tuple[VersionHistory, Merge] | None = None
) -> Merge:
    """Merge all unread messages into the latest version.

    Return the merge of `before` if neither the version nor the unread messages have changed since.
    """
    if before and before[0].state is history.state and before[0].unread == history.unread:
        return before[1]
    return merge(history.state, history.unread, operator=operator)


def compute_status(
    history: VersionHistory,
    messages: Sequence[StoredMessage],
    operator: str,
    before: SessionStatus | None = None,
    merged: Merge | None = None,
) -> SessionStatus:
    """Return the status of a thread; `messages` are all of it, at least one, in any order.

    If `before`, the status before the newest messages, has the same version, reuse its summary of
    that version. `merged` is the result of `merge_unread`, if known.
    """
    thread = tuple(sorted(messages, key=thread_order_key))
    merged = merged or merge_unread(history, operator)
    closing = {each.message_id for each in history.versions if each.status == "closed"}
    debts = ack_debts(thread, history.operators, closing)
    requests = {} if history.cancelling else kickoff_requests(history, thread)
    acks = given_acks(
        thread, {each.content_hash for each in requests.values()} | contents_without_debtors(thread)
    )
    current = CurrentRound(history, thread, requests, acks, merged)
    independent = independent_round(thread, {each.message_id for each in history.versions})
    agents = current.participants(operator)
    applies = sum(entry.state is BlockOutcome.APPLIED for entry in merged.ledger)
    latest, phase = history.state.artifact, _phase(current, agents, applies)
    end = thread_order_key(debts.end) if debts.end else None
    later = [each for each in thread if end is None or thread_order_key(each) > end]
    refused = uncorrected_blocks(history, thread, merged.ledger)
    unsent = unsent_blocks(history, thread, merged.ledger)
    misplaced = tuple(each for each, dismissed in unsent if dismissed is None)
    late = {each.id for each in later} if phase is Phase.COMPLETE else set()
    if phase in ENDED_PHASES:
        later = []  # after the end only an owed ACK keeps a message open
    return SessionStatus(
        thread_id=history.thread_id,
        kind=classify_thread_id(history.thread_id),
        question=latest.research_thread.text("statement")
        or merged.artifact.research_thread.text("statement"),
        round=_round(current, phase),
        phase=phase,
        version=_latest_version(history, before),
        participants=agents,
        open_acks=tuple(_from_unsealing(each, independent) for each in debts.open),
        critiques=tuple(_open_critiques(history)),
        messages=open_messages(thread, later, debts.open, acks),
        refusals=tuple(each for each, dismissed in refused if dismissed is None),
        unread=sum(each.type == DELTA.name for each in history.unread),
        applies=applies,
        compile_blocker=history.compile_blocker,
        position=len(thread),
        first_at=thread[0].at,
        last_at=thread[-1].at,
        references=tuple(
            (item.id, each) for _, item in latest.all_items() for each in item.references
        ),
        operator=operator,
        settled=debts.settled,
        cancelled=history.cancellation,
        misplaced=misplaced,
        reopen_command=history.reopen_command if history.cancelling else "",
        late_misplaced=tuple(each for each in misplaced if each.message_id in late),
        independent=independent,
        unanswered=find_unanswered(history, thread, merged.state),
        conflicts=tuple(
            OpenConflict(each.item_id, each.field)
            for each in undecided_conflicts(history, merged.state)
        ),
        lacks_third_alternative=bool(history.versions)
        and not has_third_alternative(merged.state.artifact),
    )


def undecided_conflicts(history: VersionHistory, state: State) -> tuple[Conflict, ...]:
    """Return the conflicts of the latest version that are still open in `state`.

    `state` contains all unread messages. A conflict that arises in them has no version yet, and
    only an edit of a later base can decide it.
    """
    published = history.state.conflicts
    if not published:
        return ()
    left = {(each.item_id, each.path) for each in state.conflicts}
    return tuple(each for each in published if (each.item_id, each.path) in left)


def may_ask(artifact: Artifact) -> bool:
    """Return whether an artifact has a result or a falsified assumption, which can ask (R28)."""
    tests = artifact.sections[DISCRIMINATIVE_TESTS.id]
    assumptions = artifact.sections[ASSUMPTION_LEDGER.id]
    is_false = any(each.fields.get("status") == FALSIFIED for each in assumptions)
    return is_false or any("results" in test.fields for test in tests)


def find_unanswered(
    history: VersionHistory, thread: Sequence[StoredMessage], state: State
) -> tuple[UnansweredItem, ...]:
    """Return the items that ask for an answer (R28); `state` contains all unread messages."""
    if not may_ask(state.artifact):
        return ()
    # Most sessions have neither results nor falsified assumptions, and do not need this module.
    from brenner.session.unanswered import unanswered_items

    return unanswered_items(history, sorted(thread, key=thread_order_key), state)


def _from_unsealing(each: OpenAck, independent: IndependentRound | None) -> OpenAck:
    """Return an owed ACK with the deadline that starts with v1, if its message was sealed."""
    if independent is None or not is_delayed(independent, each.type, each.last_sent):
        return each
    end = independent.ended_by
    return each._replace(is_sealed=end is None, unsealed_at=end.at if end else None)


def _round(current: CurrentRound, phase: Phase | None) -> int:
    """Return the current round; for an ended session the last one that began."""
    history = current.history
    is_between = phase is Phase.CANCELLED and history.versions and not history.unread
    return history.number if current.is_over or is_between else history.number + 1


def uncorrected_blocks(
    history: VersionHistory, thread: Sequence[StoredMessage], ledger: Sequence[Entry]
) -> Iterator[tuple[RefusedBlock, int | None]]:
    """Return the refused blocks, of versions and of unread messages, that are not corrected.

    Each comes with the message in which the operator dismisses it; None if it is open.
    """
    found = update_refused_blocks(history.refused, ledger, None)
    return _with_dismissals(found, history, thread)


def unsent_blocks(
    history: VersionHistory, thread: Sequence[StoredMessage], ledger: Sequence[Entry]
) -> Iterator[tuple[RefusedBlock, int | None]]:
    """Return the delta blocks outside DELTA messages that their senders have not sent properly.

    Each comes with the message in which the operator dismisses it; None if it is open.
    """
    left = without_sent(history.misplaced, ledger, history.unread)
    found = [block for each in left for block in each.blocks]
    return _with_dismissals(found, history, thread)


def _with_dismissals(
    found: Iterable[RefusedBlock], history: VersionHistory, thread: Sequence[StoredMessage]
) -> Iterator[tuple[RefusedBlock, int | None]]:
    messages = {each.id: each for each in thread}
    dismissals = {
        dismissed: each
        for each in thread
        if each.type == INFO.name and each.counts_for(history.operators)
        for dismissed in dismissals_in(each.message)
    }
    for refused in found:
        stored = messages.get(refused.message_id)
        last = dismissals.get((stored.content_hash, refused.block)) if stored else None
        # A copy that is sent after the dismissal is a new attempt of the author.
        is_dismissed = stored and last and thread_order_key(stored) < thread_order_key(last)
        yield refused, last.id if last and is_dismissed else None


def _phase(current: CurrentRound, agents: Sequence[Participant], applies: int) -> Phase | None:
    """Return what the round waits for. A round that cannot be compiled is never ready.

    A thread with neither a KICKOFF nor a version is no session (R23).
    """
    history, turns = current.history, {each.turn for each in agents}
    if history.cancelling or current.is_over:
        return Phase.CANCELLED if history.cancelling else Phase.COMPLETE
    is_session = history.versions or history.broken_version
    if not is_session and not any(each.type == KICKOFF.name for each in current.thread):
        return None
    if Turn.OWES_ACK in turns:
        return Phase.AWAITING_ACKS
    if turns & {Turn.OWES_DELTA, Turn.TO_CORRECT}:
        return Phase.AWAITING_DELTAS
    if applies and not history.compile_blocker:
        return Phase.READY_TO_COMPILE
    return Phase.IN_CRITIQUE if history.versions else Phase.AWAITING_DELTAS


def _latest_version(
    history: VersionHistory, before: SessionStatus | None
) -> PublishedVersion | None:
    latest, artifact = history.latest, history.state.artifact
    if latest is None:
        return None
    known = before.version if before else None
    if known and (known.number, known.message_id) == (latest.number, latest.message_id):
        return known
    found = lint(artifact).summary
    return latest._replace(
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


# How a refused block was resolved, and in which message
BlockResolution: TypeAlias = tuple[Literal["corrected", "dismissed"], int]


def resolved_blocks(
    history: VersionHistory, messages: Sequence[StoredMessage], ledgers: Sequence[Sequence[Entry]]
) -> dict[BlockPosition, BlockResolution]:
    """Return the refused blocks that are no longer open, by message and block.

    `ledgers` are those of all versions in order, and last the expected one of the unread blocks.
    """
    expected = ledgers[-1] if ledgers else ()
    found: dict[BlockPosition, BlockResolution] = {
        position: ("corrected", by) for position, (by, _) in corrections(ledgers).items()
    }
    if not history.refused and all(entry.state is not BlockOutcome.REFUSED for entry in expected):
        return found
    thread = sorted(messages, key=thread_order_key)
    for refused_block, dismissed in uncorrected_blocks(history, thread, expected):
        if dismissed is not None:
            found[refused_block.message_id, refused_block.block] = ("dismissed", dismissed)
    return found


# What each agent has contributed, and what has survived
#
# Contributions are counted in the ledgers. Surviving work comes from the latest version's blame.


class AgentContribution(NamedTuple):
    """What an agent has sent.

    `rounds` has the outcomes of the agent's blocks by round, in order. Round N makes version N; the
    last one may not be compiled yet. The items are those that versions contain; other agents may
    have added the `edited` and `killed` ones. `codes` count the main error of each refused block.
    """

    agent: str
    rounds: Mapping[int, Counter[BlockOutcome]] = MappingProxyType({})
    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    codes: tuple[tuple[str, int], ...] = ()

    def count(self, outcome: BlockOutcome) -> int:
        """Return the number of the agent's blocks with an outcome, in all rounds."""
        return sum(each[outcome] for each in self.rounds.values())

    @property
    def blocks(self) -> int:
        """The number of blocks that the agent sent."""
        return sum(each.total() for each in self.rounds.values())


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
    sent: dict[str, list[tuple[int, Entry]]] = {}
    for number, entries in (*ledgers.items(), (max(ledgers, default=0) + 1, expected)):
        for entry in entries:
            sent.setdefault(entry.agent, []).append((number, entry))
    return {agent: _contribution(agent, some, ledgers) for agent, some in sent.items()}


def _contribution(
    agent: str, sent: Sequence[tuple[int, Entry]], versions: Collection[int]
) -> AgentContribution:
    rounds: dict[int, Counter[BlockOutcome]] = {}
    items: dict[str, dict[str, None]] = {each.value: {} for each in Operation}
    for number, entry in sent:
        rounds.setdefault(number, Counter())[entry.state] += 1
        is_applied = entry.state is BlockOutcome.APPLIED and number in versions
        if is_applied and entry.item_id and entry.operation:
            items[entry.operation][entry.item_id] = None
    refused = (entry for _, entry in sent if entry.state is BlockOutcome.REFUSED)
    return AgentContribution(
        agent,
        dict(sorted(rounds.items())),
        added=tuple(items[Operation.ADD]),
        edited=tuple(items[Operation.EDIT]),
        killed=tuple(items[Operation.KILL]),
        codes=tuple(Counter(map(main_error_code, refused)).most_common()),
    )


def main_error_code(entry: Entry) -> str:
    """Return the code of the worst error of a refused block; empty if it has none itself."""
    errors = [found for found in entry.diagnostics if found.severity is ERROR]
    return min(errors, key=worst_first).id if errors else ""


def surviving_work(state: State) -> dict[str, SurvivingWork]:
    """Return what a version still contains of each agent's work.

    The `N/A` of a KILL counts for no agent.
    """
    fields: Counter[str] = Counter()
    surviving: Counter[str] = Counter()
    active: dict[str, list[str]] = {}
    killed: dict[str, list[str]] = {}
    for _, item in state.artifact.all_items():
        author = None
        for path, last in state.blame.get(item.id, {}).items():
            if path[0] == "killed":
                continue
            surviving.update([last.source.agent] if item.is_active and _is_set(last) else ())
            for change in last.history():
                fields.update([change.source.agent] if _is_set(change) else ())
                if author is None and change.source.operation == Operation.ADD:
                    author = change.source.agent
        if author is not None:
            (active if item.is_active else killed).setdefault(author, []).append(item.id)
    return {
        name: SurvivingWork(
            tuple(active.get(name, ())), tuple(killed.get(name, ())), fields[name], surviving[name]
        )
        for name in dict.fromkeys((*active, *killed, *fields))
    }


def _is_set(change: Change) -> bool:
    return change.source.operation != Operation.KILL and change.value is not None


# Validation Error replies


def messages_with_error_reply(messages: Iterable[StoredMessage]) -> frozenset[int]:
    """Return the messages to which a Validation Error reply was sent.

    The reply links to the message. If a store keeps no links, the subject contains the number.
    """
    replies = ((each, replied_message_id(each.message.subject)) for each in messages)
    return frozenset(each.reply_to or number for each, number in replies if number)
