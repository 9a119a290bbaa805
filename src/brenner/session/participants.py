"""The participants of a session: their ACKs, whose turn it is, and the rounds of a thread."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.state import BlockOutcome, Entry
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.acknowledgements import acknowledged_ids_in
from brenner.protocol.body import find_section, is_exactly, parse_sections
from brenner.protocol.message_types import ACK, ACK_STATUSES, DELTA, KICKOFF, wants_ack
from brenner.protocol.messages import Message, thread_order_key
from brenner.protocol.roster import Roster, RosterEntry, role_of_agent
from brenner.protocol.roster_config import read_roster
from brenner.session.model import OpenAck, Participant, Turn
from brenner.session.rebuild import ThreadMessage
from brenner.session.versions import PublishedVersion, VersionHistory, type_of

# Messages with their types, parsed once


class TypedMessage(NamedTuple):
    """A message of the thread with its type; None for mail that does not follow the protocol."""

    filed: ThreadMessage
    type: str | None

    @property
    def id(self) -> int:
        """The id in this store."""
        return self.filed.posted.id

    @property
    def at(self) -> datetime:
        """The time in this store."""
        return self.filed.posted.at

    @property
    def message(self) -> Message:
        return self.filed.posted.message

    @property
    def content(self) -> str:
        """The content hash; copies of a message have the same."""
        return self.filed.content_hash


def typed_messages(messages: Iterable[ThreadMessage]) -> tuple[TypedMessage, ...]:
    """Return the messages with their types, in thread order (R9)."""
    in_order = sorted(messages, key=lambda filed: thread_order_key(filed.posted))
    return tuple(TypedMessage(filed, type_of(filed)) for filed in in_order)


# Owed and given ACKs


_COMPLETED = ACK_STATUSES[-1]


class GivenAck(NamedTuple):
    """An ACK: its sender, the contents it acknowledges, and whether its status is `Completed`."""

    sender: str
    contents: frozenset[str]
    is_completed: bool


def open_acks(thread: Sequence[TypedMessage]) -> tuple[OpenAck, ...]:
    """Return the owed ACKs, the oldest first; copies of a message are owed once."""
    settled = {
        (number, each.message.sender) for each in thread for number in each.filed.acknowledges
    }
    copies: dict[tuple[str, str], list[TypedMessage]] = {}
    for each in thread:
        for name in debtors(each):
            if (each.id, name) not in settled:
                copies.setdefault((name, each.content), []).append(each)
    owed = [_open_ack(name, group) for (name, _), group in copies.items()]
    return tuple(sorted(owed, key=lambda each: (each.since, each.message_id, each.debtor)))


def debtors(typed_message: TypedMessage) -> tuple[str, ...]:
    """Return the agents that owe an ACK for a message when it arrives."""
    message = typed_message.message
    if not wants_ack(message):
        return ()
    return tuple(name for name in dict.fromkeys(message.recipients) if name != message.sender)


def _open_ack(debtor: str, copies: Sequence[TypedMessage]) -> OpenAck:
    first, last = copies[0], copies[-1]
    return OpenAck(
        debtor=debtor,
        message_id=first.id,
        last_message_id=last.id,
        times_sent=len(copies),
        type=first.type,
        sender=first.message.sender,
        subject=first.message.subject,
        since=first.at,
        last_sent=last.at,
    )


def given_acks(thread: Sequence[TypedMessage], contents: Collection[str]) -> tuple[GivenAck, ...]:
    """Return the ACKs for any of these contents, in thread order.

    An ACK may name a message for which none was owed, or that was acknowledged before. It can refer
    only to earlier arrivals, so ACKs that arrived before all of these contents are not parsed.
    """
    about = [each for each in thread if each.content in contents]
    first = min((each.filed.arrival for each in about), default=None)
    if first is None:
        return ()
    named = _MessagesByNumber(about)
    acks = (each for each in thread if each.type == ACK.name and each.filed.arrival > first)
    given = (_parse_ack(each, named) for each in acks)
    return tuple(each for each in given if each.contents)


class _MessagesByNumber:
    """Messages by number. The numbers in an ACK are those of the store in which it was written."""

    def __init__(self, about: Iterable[TypedMessage]) -> None:
        self._here = {each.id: each for each in about}
        imported = (each for each in self._here.values() if not each.filed.is_local)
        self._elsewhere = {each.filed.origin_id: each for each in imported}

    def contents(self, ack: ThreadMessage, named: Sequence[int]) -> Iterator[str]:
        """Yield the contents that an ACK settled or names, else the one that it replies to."""
        written = self._here if ack.is_local else self._elsewhere
        found = [*map(self._here.get, ack.acknowledges), *map(written.get, named)]
        if not named and ack.reply_to is not None:
            found.append(self._here.get(ack.reply_to))
        return (each.content for each in found if each and each.filed.arrival < ack.arrival)


def _parse_ack(ack: TypedMessage, numbers: _MessagesByNumber) -> GivenAck:
    found = parse_sections(parse_blocks(ack.message.body))
    contents = frozenset(numbers.contents(ack.filed, acknowledged_ids_in(found)))
    status = find_section(found, "Status")
    is_completed = status is not None and is_exactly(status.chosen_line, _COMPLETED)
    return GivenAck(ack.message.sender, contents, is_completed)


_EXPECTED_TYPES = (ACK.name, DELTA.name, KICKOFF.name)


class KickoffRequest(NamedTuple):
    """The kickoff of this round that asks an agent: the id of its first copy, and its content."""

    message_id: int
    content: str


class CurrentRound(NamedTuple):
    """A thread and its current round.

    `requests` are the kickoffs of this round by agent, `acks` the ACKs of those kickoffs. `ledger`
    has the outcomes of the unread blocks, `artifact` the result of merging them.
    """

    history: VersionHistory
    thread: tuple[TypedMessage, ...]
    requests: Mapping[str, KickoffRequest]
    acks: tuple[GivenAck, ...]
    ledger: tuple[Entry, ...]
    artifact: Artifact


def kickoff_requests(
    history: VersionHistory, thread: Sequence[TypedMessage]
) -> dict[str, KickoffRequest]:
    """Return for each agent the latest kickoff that asks it and that no version has read.

    A copy of a kickoff that a version has read, sent again to the same agent, only reminds the
    agent of its ACK.
    """
    unread = {filed.posted.id for filed in history.unread}
    kickoffs = [each for each in thread if each.type == KICKOFF.name]
    before = {
        (name, each.content)
        for each in kickoffs
        if each.id not in unread
        for name in _addressees(each)
    }
    requests: dict[str, KickoffRequest] = {}
    firsts: dict[tuple[str, str], int] = {}
    for each in kickoffs:
        for name in _addressees(each) if each.id in unread else ():
            if (name, each.content) not in before:
                first = firsts.setdefault((name, each.content), each.id)
                requests[name] = KickoffRequest(first, each.content)
    return requests


def _addressees(typed_message: TypedMessage) -> Iterator[str]:
    message = typed_message.message
    return (name for name in dict.fromkeys(message.recipients) if name != message.sender)


def participants(current: CurrentRound, operator: str) -> tuple[Participant, ...]:
    """Return the agents of the roster in its order, then others that were asked, then other
    senders.

    The operator is included only if asked by a kickoff or listed in the roster.
    """
    history, thread = current.history, current.thread
    requests = current.requests
    roster = _roster(current.artifact)
    senders = (each.message.sender for each in thread)
    others = (name for name in senders if name not in history.operators and name != operator)
    names = dict.fromkeys((*roster.names, *requests, *others))
    of_roster = set(roster.names)
    activity = _Activity(current)
    return tuple(
        activity.participant(name, requests.get(name))._replace(
            role=role_of_agent(roster, name) or None, is_in_roster=name in of_roster
        )
        for name in names
    )


def _roster(artifact: Artifact) -> Roster:
    """Return the session's roster; if it cannot be read completely, only the names."""
    metadata = artifact.metadata
    found = read_roster(dict(metadata.roster), "the session")
    if isinstance(found, Roster):
        return found
    return Roster(tuple(RosterEntry(name, "") for name in metadata.agents))


class _Activity:
    """What each agent has written.

    The operator may resend a message of an agent, so copies do not count as activity. Every DELTA
    counts, since the ledger decides about the blocks in a copy.
    """

    def __init__(self, current: CurrentRound) -> None:
        latest = current.history.latest
        self._round_began = (latest.at, latest.message_id) if latest else None
        self._unread = {filed.posted.id for filed in current.history.unread}
        self._messages: dict[str, list[TypedMessage]] = {}
        self._acks: dict[str, list[GivenAck]] = {}
        self._blocks: dict[str, list[BlockOutcome]] = {}
        self._copies: set[int] = set()
        seen: set[str] = set()
        for typed_message in current.thread:
            self._messages.setdefault(typed_message.message.sender, []).append(typed_message)
            if typed_message.content in seen:
                self._copies.add(typed_message.id)
            seen.add(typed_message.content)
        for ack in current.acks:
            self._acks.setdefault(ack.sender, []).append(ack)
        for entry in current.ledger:
            self._blocks.setdefault(entry.agent, []).append(entry.state)

    def participant(self, name: str, request: KickoffRequest | None) -> Participant:
        """Return what an agent has done and whose turn it is; the caller adds role and roster."""
        messages, blocks = self._messages.get(name, []), self._blocks.get(name, [])
        firsts = [each for each in messages if each.id not in self._copies]
        deltas = [each for each in messages if each.type == DELTA.name]
        acks = [
            ack for ack in self._acks.get(name, ()) if request and request.content in ack.contents
        ]
        found = Participant(
            name=name,
            role=None,
            is_in_roster=False,
            turn=Turn.NOT_ASKED,
            kickoff=request.message_id if request else None,
            is_acknowledged=bool(acks),
            deltas=sum(each.id in self._unread for each in deltas),
            applied=blocks.count(BlockOutcome.APPLIED),
            refused=blocks.count(BlockOutcome.REFUSED),
            duplicate=blocks.count(BlockOutcome.DUPLICATE),
            total=len(deltas),
            other_messages=tuple(each.id for each in firsts if self._is_other_message(each)),
            last_at=firsts[-1].at if firsts else None,
        )
        has_passed = any(ack.is_completed for ack in acks)
        return found._replace(turn=_turn(found, has_passed=has_passed))

    def _is_other_message(self, typed_message: TypedMessage) -> bool:
        began = self._round_began
        return typed_message.type not in _EXPECTED_TYPES and (
            began is None or (typed_message.at, typed_message.id) > began
        )


def _turn(found: Participant, *, has_passed: bool) -> Turn:
    """Return the turn of an agent; nothing is expected of an agent that was not asked."""
    if found.applied or found.duplicate:
        return Turn.CONTRIBUTED
    if found.kickoff is None:
        return Turn.NOT_ASKED
    if has_passed:
        return Turn.PASSED
    if found.refused:
        return Turn.TO_CORRECT
    return Turn.OWES_DELTA if found.is_acknowledged or found.deltas else Turn.OWES_ACK


# Rounds


class ThreadRound(NamedTuple):
    """One round; `version` ends it, and is None until it is published."""

    number: int
    messages: tuple[ThreadMessage, ...]
    version: PublishedVersion | None = None


def rounds_of(
    history: VersionHistory, messages: Iterable[ThreadMessage], *, is_over: bool = False
) -> tuple[ThreadRound, ...]:
    """Split a thread into rounds: round N has the messages before version N, and that version.

    Messages after the last version form the next round, unless the session `is_over`. Then they
    belong to the last round.
    """
    ends = [(version.at, version.message_id) for version in history.versions]
    found: list[list[ThreadMessage]] = [[] for _ in range(len(ends) + 1)]
    for filed in sorted(messages, key=lambda each: thread_order_key(each.posted)):
        found[bisect_left(ends, thread_order_key(filed.posted))].append(filed)
    if is_over and ends:
        after = found.pop()
        found[-1] += after
    versions = (*history.versions, None)[: len(found)]
    # The first version of a thread that another program began may not be v1.
    first = history.versions[0].number if history.versions else 1
    rounds = [
        ThreadRound(version.number if version else first + index, tuple(some), version)
        for index, (some, version) in enumerate(zip(found, versions, strict=True))
    ]
    return tuple(each for each in rounds if each.messages)
