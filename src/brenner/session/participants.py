"""Who takes part in a session, and whose turn it is in the current round."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.state import Entry, Outcome
from brenner.protocol.message_types import ACK, DELTA, KICKOFF
from brenner.protocol.roster import Roster, RosterEntry, role_in
from brenner.protocol.roster_config import read_roster
from brenner.session.chain import Chain
from brenner.session.letters import Letter
from brenner.session.open_acks import Given
from brenner.session.status import Participant, Turn

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

    chain: Chain
    thread: tuple[Letter, ...]
    asked: Mapping[str, Asked]
    given: tuple[Given, ...]
    ledger: tuple[Entry, ...]
    artifact: Artifact


def asked_in(chain: Chain, thread: Sequence[Letter]) -> dict[str, Asked]:
    """Who is asked by a kickoff that no version has read; of several the latest counts.

    A copy of a kickoff that was read, sent again to the same agent, reminds her of her ACK; it
    does not ask for anything new.
    """
    unread = {filed.posted.id for filed in chain.unread}
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


def _to(letter: Letter) -> Iterator[str]:
    message = letter.message
    return (name for name in dict.fromkeys(message.recipients) if name != message.sender)


def participants(current: CurrentRound, operator: str) -> tuple[Participant, ...]:
    """Those of the roster, in its order; others who were asked; others who write.

    The operator is one of them only if she was asked, or is in the roster.
    """
    chain, thread = current.chain, current.thread
    asked = current.asked
    roster = _roster(current.artifact)
    senders = (each.message.sender for each in thread)
    others = (name for name in senders if name not in chain.operators and name != operator)
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
        latest = current.chain.latest
        self._round_began = (latest.at, latest.message_id) if latest else None
        self._unread = {filed.posted.id for filed in current.chain.unread}
        self._letters: dict[str, list[Letter]] = {}
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

    def _is_aside(self, letter: Letter) -> bool:
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
