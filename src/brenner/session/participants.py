"""The participants of a session: their ACKs, whose turn it is, and the rounds of a thread."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from brenner.artifact.state import BlockOutcome
from brenner.markdown.blocks import parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.acknowledgements import acknowledged_ids_in, debtors, debts_settled_by
from brenner.protocol.body import find_section, is_exactly, parse_sections
from brenner.protocol.message_types import ACK, ACK_STATUSES, COMPILED, DELTA, INFO, KICKOFF
from brenner.protocol.messages import thread_order_key
from brenner.protocol.roster import Roster, RosterEntry, role_of_agent
from brenner.protocol.roster_config import read_roster
from brenner.session.decisions import ends_session
from brenner.session.model import OpenAck, Participant, SettledAck, Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from brenner.artifact.merge.engine import Merge
    from brenner.artifact.model import Artifact
    from brenner.protocol.messages import StoredMessage
    from brenner.session.model import PublishedVersion
    from brenner.session.versions import VersionHistory

# Owed and given ACKs


_COMPLETED = ACK_STATUSES[-1]


# How an ACK settled without an ACK message, by the type of the message that settled it
_SETTLED_HOW = {DELTA.name: "contributed", COMPILED.name: "completed", INFO.name: "cancelled"}


class AckDebts(NamedTuple):
    """The ACKs of a thread: those that are owed, and those that settled without an ACK (R24).

    `open` has the oldest first; copies of a message are owed once. `settled` are in the order in
    which they were settled. `end` is the last message that ended the session.
    """

    open: tuple[OpenAck, ...]
    settled: tuple[SettledAck, ...]
    end: StoredMessage | None


def ack_debts(
    thread: Sequence[StoredMessage],
    operators: Collection[str] = (),
    closing: Collection[int] = (),
) -> AckDebts:
    """Return the ACKs of a thread; `closing` are the messages of versions that closed it."""
    end: StoredMessage | None = None
    owed: dict[tuple[int, str], StoredMessage] = {}
    settled: dict[tuple[str, str], SettledAck] = {}
    for stored in sorted(thread, key=lambda each: each.arrival):
        for number in stored.acknowledges:
            owed.pop((number, stored.message.sender), None)
        is_end = stored.id in closing or ends_session(stored, operators)
        end = stored if is_end else end
        debts = debts_settled_by(stored.message, ends_session=is_end)
        for message_id, name in tuple(owed) if debts and owed else ():
            copy = owed[message_id, name]
            if debts and debts.includes(copy.type, name):
                del owed[message_id, name]
                how = _SETTLED_HOW[stored.type or ""]
                found = SettledAck(name, message_id, copy.type, stored.id, how)
                settled.setdefault((name, copy.content_hash), found)
        owed.update(((stored.id, name), stored) for name in debtors(stored.message))
    return AckDebts(_open_acks(owed), tuple(settled.values()), end)


def _open_acks(owed: Mapping[tuple[int, str], StoredMessage]) -> tuple[OpenAck, ...]:
    copies: dict[tuple[str, str], list[StoredMessage]] = {}
    for (_, name), each in owed.items():
        copies.setdefault((name, each.content_hash), []).append(each)
    found = [
        _open_ack(name, sorted(group, key=thread_order_key)) for (name, _), group in copies.items()
    ]
    return tuple(sorted(found, key=lambda each: (each.since, each.message_id, each.debtor)))


def _open_ack(debtor: str, copies: Sequence[StoredMessage]) -> OpenAck:
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


def given_acks(
    thread: Sequence[StoredMessage], contents: Collection[str]
) -> dict[str, dict[str, bool]]:
    """Return which of these contents are acknowledged: by whom, and whether as `Completed`.

    An ACK may name a message for which none was owed, or that was acknowledged before. It can refer
    only to earlier arrivals, so ACKs that arrived before all of these contents are not parsed.
    """
    about = [each for each in thread if each.content_hash in contents]
    first = min((each.arrival for each in about), default=None)
    if first is None:
        return {}
    here = {each.id: each for each in about}
    elsewhere = {each.origin_id: each for each in about if not each.is_local}
    given: dict[str, dict[str, bool]] = {}
    for ack in thread:
        if ack.type != ACK.name or ack.arrival <= first:
            continue
        # The numbers in an ACK are those of the store in which it was written.
        named, is_completed = _parse_ack(ack, here, here if ack.is_local else elsewhere)
        for content in named:
            senders = given.setdefault(content, {})
            senders[ack.message.sender] = senders.get(ack.message.sender, False) or is_completed
    return given


def _parse_ack(
    ack: StoredMessage, here: Mapping[int, StoredMessage], written: Mapping[int, StoredMessage]
) -> tuple[set[str], bool]:
    """Return what an ACK settled or names, else the message that it replies to.

    The second value is whether its status is `Completed`.
    """
    sections = parse_sections(parse_blocks(ack.message.body))
    named = acknowledged_ids_in(sections)
    found = [*map(here.get, ack.acknowledges), *map(written.get, named)]
    if not named and ack.reply_to is not None:
        found.append(here.get(ack.reply_to))
    status = find_section(sections, "Status")
    is_completed = status is not None and is_exactly(status.chosen_line, _COMPLETED)
    earlier = {each.content_hash for each in found if each and each.arrival < ack.arrival}
    return earlier, is_completed


_EXPECTED_TYPES = (ACK.name, DELTA.name, KICKOFF.name)


def kickoff_requests(
    history: VersionHistory, thread: Sequence[StoredMessage]
) -> dict[str, StoredMessage]:
    """Return for each agent the latest kickoff that asks it and that no version has read.

    A copy of a kickoff that a version has read, sent again to the same agent, only reminds the
    agent of its ACK.
    """
    unread = {stored.id for stored in history.unread}
    kickoffs = [each for each in thread if each.type == KICKOFF.name]
    before = {
        (name, each.content_hash)
        for each in kickoffs
        if each.id not in unread
        for name in _addressees(each)
    }
    requests: dict[str, StoredMessage] = {}
    firsts: dict[tuple[str, str], StoredMessage] = {}
    for each in kickoffs:
        for name in _addressees(each) if each.id in unread else ():
            if (name, each.content_hash) not in before:
                requests[name] = firsts.setdefault((name, each.content_hash), each)
    return requests


def _addressees(stored: StoredMessage) -> Iterator[str]:
    message = stored.message
    return (name for name in dict.fromkeys(message.recipients) if name != message.sender)


def _roster(artifact: Artifact) -> Roster:
    """Return the session's roster; if it cannot be read completely, only the names."""
    metadata = artifact.metadata
    found = read_roster(dict(metadata.roster), "the session")
    if isinstance(found, Roster):
        return found
    return Roster(tuple(RosterEntry(name, "") for name in metadata.agents))


class CurrentRound:
    """A thread and its current round, with what each agent has written.

    `requests` are the kickoffs of this round by agent, each its first copy. `merged` is the result
    of merging the unread messages. The operator may resend a message of an agent, so copies do not
    count as activity. Every DELTA counts, since the ledger decides about the blocks in a copy.
    """

    def __init__(
        self,
        history: VersionHistory,
        thread: Sequence[StoredMessage],
        requests: Mapping[str, StoredMessage],
        acks: Mapping[str, Mapping[str, bool]],
        merged: Merge,
    ) -> None:
        self.history, self.thread, self.requests = history, thread, requests
        self._roster, self._acks = _roster(merged.artifact), acks
        self._unread = {stored.id for stored in history.unread}
        self._messages: dict[str, list[StoredMessage]] = {}
        self._blocks: dict[str, list[BlockOutcome]] = {}
        self._copies: set[int] = set()
        seen: set[str] = set()
        for stored in thread:
            self._messages.setdefault(stored.message.sender, []).append(stored)
            if stored.content_hash in seen:
                self._copies.add(stored.id)
            seen.add(stored.content_hash)
        for entry in merged.ledger:
            self._blocks.setdefault(entry.agent, []).append(entry.state)

    @property
    def is_over(self) -> bool:
        """Whether the session has ended: it is closed, and no later kickoff asks an agent."""
        return self.history.is_closed and not self.requests

    def participants(self, operator: str) -> tuple[Participant, ...]:
        """Return the agents of the roster in its order, then others that were asked, then other
        senders.

        The operator is included only if asked by a kickoff or listed in the roster.
        """
        operators = {*self.history.operators, operator}
        others = (name for name in self._messages if name not in operators)
        names = dict.fromkeys((*self._roster.names, *self.requests, *others))
        return tuple(map(self._participant, names))

    def _participant(self, name: str) -> Participant:
        """Return what an agent has done and whose turn it is."""
        messages, blocks = self._messages.get(name, []), self._blocks.get(name, [])
        request = self.requests.get(name)
        acks = self._acks.get(request.content_hash, {}) if request else {}
        firsts = [each for each in messages if each.id not in self._copies]
        deltas = [each for each in messages if each.type == DELTA.name]
        found = Participant(
            name=name,
            role=role_of_agent(self._roster, name) or None,
            is_in_roster=self._roster.entry(name) is not None,
            turn=Turn.NOT_ASKED,
            kickoff=request.id if request else None,
            is_acknowledged=name in acks,
            deltas=sum(each.id in self._unread for each in deltas),
            applied=blocks.count(BlockOutcome.APPLIED),
            refused=blocks.count(BlockOutcome.REFUSED),
            duplicate=blocks.count(BlockOutcome.DUPLICATE),
            total=len(deltas),
            other_messages=tuple(each.id for each in firsts if self._is_other_message(each)),
            last_at=firsts[-1].at if firsts else None,
        )
        return found._replace(turn=_turn(found, has_passed=acks.get(name, False)))

    def _is_other_message(self, stored: StoredMessage) -> bool:
        latest = self.history.latest
        return stored.type not in _EXPECTED_TYPES and (
            latest is None or (stored.at, stored.id) > (latest.at, latest.message_id)
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
    messages: tuple[StoredMessage, ...]
    version: PublishedVersion | None = None


def rounds_of(
    history: VersionHistory, messages: Iterable[StoredMessage], *, is_over: bool = False
) -> tuple[ThreadRound, ...]:
    """Split a thread into rounds: round N has the messages before version N, and that version.

    Messages after the last version form the next round, unless the session `is_over`. Then they
    belong to the last round.
    """
    ends = [(version.at, version.message_id) for version in history.versions]
    found: list[list[StoredMessage]] = [[] for _ in range(len(ends) + 1)]
    for stored in sorted(messages, key=thread_order_key):
        found[bisect_left(ends, thread_order_key(stored))].append(stored)
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
