"""Who takes part in a session, and whose turn it is in the current round."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.state import Entry, Outcome
from brenner.markdown.blocks import blocks
from brenner.protocol.body import find_section, named_in, says_just, sections
from brenner.protocol.message_types import ACK, ACK_STATUSES, DELTA, KICKOFF, wants_ack
from brenner.protocol.messages import Message, in_thread_order
from brenner.protocol.roster import Roster, RosterEntry, role_in
from brenner.protocol.roster_config import read_roster
from brenner.session.model import OpenAck, Participant, Turn
from brenner.session.rebuild import ThreadMessage
from brenner.session.versions import Published, VersionHistory, type_of

# The messages of a thread with what is asked of them most: the type, read once, and the order.


class TypedMessage(NamedTuple):
    """A message of the thread; `type` is None for mail that is not the protocol's."""

    filed: ThreadMessage
    type: str | None

    @property
    def id(self) -> int:
        """Its number in this store."""
        return self.filed.posted.id

    @property
    def at(self) -> datetime:
        """The store's time."""
        return self.filed.posted.at

    @property
    def message(self) -> Message:
        """What was written."""
        return self.filed.posted.message

    @property
    def content(self) -> str:
        """The hash of its content: copies of a message have the same."""
        return self.filed.content_hash


def letters(messages: Iterable[ThreadMessage]) -> tuple[TypedMessage, ...]:
    """The messages in their order (R9), whatever order they come in."""
    in_order = sorted(messages, key=lambda filed: in_thread_order(filed.posted))
    return tuple(TypedMessage(filed, type_of(filed)) for filed in in_order)


# The ACKs of a thread: those that are owed, and those that were given.


_COMPLETED = ACK_STATUSES[-1]


class Given(NamedTuple):
    """An ACK: who gave it, for which contents, and whether she says that she has done her part."""

    sender: str
    contents: frozenset[str]
    is_completed: bool


def open_acks(thread: Sequence[TypedMessage]) -> tuple[OpenAck, ...]:
    """What is owed, the oldest first: copies of a message are owed once, as a mailbox has it."""
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


def debtors(letter: TypedMessage) -> tuple[str, ...]:
    """Who owes an ACK for a message when it comes in."""
    message = letter.message
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


def given_acks(thread: Sequence[TypedMessage], contents: Collection[str]) -> tuple[Given, ...]:
    """The ACKs about any of these contents, in their order: what they settled, and what they name.

    An ACK may name what nobody owed one for, or what was acknowledged before. It can mean only
    what was there when it came in, so that no more of them are read than came in after it.
    """
    about = [each for each in thread if each.content in contents]
    first = min((each.filed.arrival for each in about), default=None)
    if first is None:
        return ()
    named = _Numbers(about)
    acks = (each for each in thread if each.type == ACK.name and each.filed.arrival > first)
    given = (_given(each, named) for each in acks)
    return tuple(each for each in given if each.contents)


class _Numbers:
    """Messages by their numbers: those in an ACK are of the store in which it was written."""

    def __init__(self, about: Iterable[TypedMessage]) -> None:
        self._here = {each.id: each for each in about}
        imported = (each for each in self._here.values() if not each.filed.is_local)
        self._elsewhere = {each.filed.origin_id: each for each in imported}

    def contents(self, ack: ThreadMessage, named: Sequence[int]) -> Iterator[str]:
        """What an ACK is about: what it settled and what it names, or else what it replies to."""
        written = self._here if ack.is_local else self._elsewhere
        found = [*map(self._here.get, ack.acknowledges), *map(written.get, named)]
        if not named and ack.reply_to is not None:
            found.append(self._here.get(ack.reply_to))
        return (each.content for each in found if each and each.filed.arrival < ack.arrival)


def _given(ack: TypedMessage, numbers: _Numbers) -> Given:
    found = sections(blocks(ack.message.body))
    contents = frozenset(numbers.contents(ack.filed, named_in(found)))
    status = find_section(found, "Status")
    is_completed = status is not None and says_just(status.chosen_line, _COMPLETED)
    return Given(ack.message.sender, contents, is_completed)


_NO_ASIDE = (ACK.name, DELTA.name, KICKOFF.name)


class Asked(NamedTuple):
    """The kickoff of this round that asks somebody: its first copy, and its content."""

    message_id: int
    content: str


class CurrentRound(NamedTuple):
    """A thread with what is known of its current round.

    `asked` is who is asked in it, `given` the ACKs of those kickoffs. `ledger` is what becomes of
    the blocks that no version has read, `artifact` what they would make.
    """

    history: VersionHistory
    thread: tuple[TypedMessage, ...]
    asked: Mapping[str, Asked]
    given: tuple[Given, ...]
    ledger: tuple[Entry, ...]
    artifact: Artifact


def asked_in(history: VersionHistory, thread: Sequence[TypedMessage]) -> dict[str, Asked]:
    """Who is asked by a kickoff that no version has read; of several the latest counts.

    A copy of a kickoff that was read, sent again to the same agent, reminds her of her ACK; it
    does not ask for anything new.
    """
    unread = {filed.posted.id for filed in history.unread}
    kickoffs = [each for each in thread if each.type == KICKOFF.name]
    before = {
        (name, each.content) for each in kickoffs if each.id not in unread for name in _to(each)
    }
    asked: dict[str, Asked] = {}
    firsts: dict[tuple[str, str], int] = {}
    for each in kickoffs:
        for name in _to(each) if each.id in unread else ():
            if (name, each.content) not in before:
                first = firsts.setdefault((name, each.content), each.id)
                asked[name] = Asked(first, each.content)
    return asked


def _to(letter: TypedMessage) -> Iterator[str]:
    message = letter.message
    return (name for name in dict.fromkeys(message.recipients) if name != message.sender)


def participants(current: CurrentRound, operator: str) -> tuple[Participant, ...]:
    """Those of the roster, in its order; others who were asked; others who write.

    The operator is one of them only if she was asked, or is in the roster.
    """
    history, thread = current.history, current.thread
    asked = current.asked
    roster = _roster(current.artifact)
    senders = (each.message.sender for each in thread)
    others = (name for name in senders if name not in history.operators and name != operator)
    names = dict.fromkeys((*roster.names, *asked, *others))
    of_roster = set(roster.names)
    known = _Known(current)
    return tuple(
        known.participant(name, asked.get(name))._replace(
            role=role_in(roster, name) or None, is_in_roster=name in of_roster
        )
        for name in names
    )


def _roster(artifact: Artifact) -> Roster:
    """The session's roster; of one that cannot be read whole, the names."""
    metadata = artifact.metadata
    found = read_roster(dict(metadata.roster), "the session")
    if isinstance(found, Roster):
        return found
    return Roster(tuple(RosterEntry(name, "") for name in metadata.agents))


class _Known:
    """What everybody has written, by who wrote it.

    The operator may send somebody's message again: she is not heard of for it. What becomes of the
    blocks in a copy is for the ledger to say, so that every DELTA counts.
    """

    def __init__(self, current: CurrentRound) -> None:
        latest = current.history.latest
        self._round_began = (latest.at, latest.message_id) if latest else None
        self._unread = {filed.posted.id for filed in current.history.unread}
        self._letters: dict[str, list[TypedMessage]] = {}
        self._acks: dict[str, list[Given]] = {}
        self._blocks: dict[str, list[Outcome]] = {}
        self._copies: set[int] = set()
        seen: set[str] = set()
        for letter in current.thread:
            self._letters.setdefault(letter.message.sender, []).append(letter)
            if letter.content in seen:
                self._copies.add(letter.id)
            seen.add(letter.content)
        for ack in current.given:
            self._acks.setdefault(ack.sender, []).append(ack)
        for entry in current.ledger:
            self._blocks.setdefault(entry.agent, []).append(entry.state)

    def participant(self, name: str, asked: Asked | None) -> Participant:
        """What she has done, and whether it is her turn; her role is to be added."""
        hers, blocks = self._letters.get(name, []), self._blocks.get(name, [])
        firsts = [each for each in hers if each.id not in self._copies]
        deltas = [each for each in hers if each.type == DELTA.name]
        about = [ack for ack in self._acks.get(name, ()) if asked and asked.content in ack.contents]
        found = Participant(
            name=name,
            role=None,
            is_in_roster=False,
            turn=Turn.NOT_ASKED,
            kickoff=asked.message_id if asked else None,
            is_acknowledged=bool(about),
            deltas=sum(each.id in self._unread for each in deltas),
            applied=blocks.count(Outcome.APPLIED),
            refused=blocks.count(Outcome.REFUSED),
            duplicate=blocks.count(Outcome.DUPLICATE),
            total=len(deltas),
            asides=tuple(each.id for each in firsts if self._is_aside(each)),
            last_at=firsts[-1].at if firsts else None,
        )
        has_passed = any(ack.is_completed for ack in about)
        return found._replace(turn=_turn(found, has_passed=has_passed))

    def _is_aside(self, letter: TypedMessage) -> bool:
        began = self._round_began
        return letter.type not in _NO_ASIDE and (began is None or (letter.at, letter.id) > began)


def _turn(found: Participant, *, has_passed: bool) -> Turn:
    """What she has to do; of one who was not asked nothing is expected."""
    if found.applied or found.duplicate:
        return Turn.CONTRIBUTED
    if found.kickoff is None:
        return Turn.NOT_ASKED
    if has_passed:
        return Turn.PASSED
    if found.refused:
        return Turn.TO_CORRECT
    return Turn.OWES_DELTA if found.is_acknowledged or found.deltas else Turn.OWES_ACK


# The messages of a thread by rounds: round N is what goes before version N, and that itself.
#
# After the end there is no further round: what is still said belongs to the last one.


class Round(NamedTuple):
    """One round; its `version` is there once it is published, and ends it."""

    number: int
    messages: tuple[ThreadMessage, ...]
    version: Published | None = None


def rounds_of(
    history: VersionHistory, messages: Iterable[ThreadMessage], *, is_over: bool = False
) -> tuple[Round, ...]:
    """All rounds, the first one first; what came after the last version is the round to come,
    unless the session `is_over`.
    """
    ends = [(version.at, version.message_id) for version in history.versions]
    found: list[list[ThreadMessage]] = [[] for _ in range(len(ends) + 1)]
    for filed in sorted(messages, key=lambda each: in_thread_order(each.posted)):
        found[bisect_left(ends, in_thread_order(filed.posted))].append(filed)
    if is_over and ends:
        after = found.pop()
        found[-1] += after
    versions = (*history.versions, None)[: len(found)]
    # A thread that another program began may have a first version that is not v1
    first = history.versions[0].number if history.versions else 1
    rounds = [
        Round(version.number if version else first + index, tuple(some), version)
        for index, (some, version) in enumerate(zip(found, versions, strict=True))
    ]
    return tuple(each for each in rounds if each.messages)
