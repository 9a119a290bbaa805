"""The phase of a round and an agent's turn in it, in words: the same on every front end."""

from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from brenner.protocol.messages import span
from brenner.session.status import OpenAck, Participant, Phase, SessionStatus, Turn
from brenner.text import counted

PHASE_WORDS: dict[Phase | None, str] = {
    Phase.AWAITING_ACKS: "awaiting ACKs",
    Phase.AWAITING_DELTAS: "awaiting deltas",
    Phase.READY_TO_COMPILE: "ready to compile",
    Phase.IN_CRITIQUE: "in critique",
    Phase.COMPLETE: "complete",
    None: "conversation",
}
_MOST_ASIDES = 2
# What needs somebody, what was done, what was done with faults, what is of no account now
Weight: TypeAlias = Literal["attention", "strong", "plain", "quiet"]


class TurnWords(NamedTuple):
    """What she has to do or has done, how much that weighs, and what she wrote instead."""

    text: str
    weight: Weight
    aside: str = ""


_TURNS = MappingProxyType(
    {
        Turn.OWES_DELTA: TurnWords("owes a delta", "attention"),
        Turn.PASSED: TurnWords("passed", "quiet"),
    }
)


def turn_words(each: Participant, status: SessionStatus, now: datetime) -> TurnWords:
    """An agent's turn in the current round."""
    words = _turn(each, status, now)
    if not each.asides or each.turn is Turn.NOT_ASKED:
        return words
    ids = ", ".join(map(str, each.asides))
    wrote = ids if len(each.asides) <= _MOST_ASIDES else f"{len(each.asides)} other messages"
    return words._replace(aside=f"; wrote {wrote}")


def _turn(each: Participant, status: SessionStatus, now: datetime) -> TurnWords:
    if each.turn is Turn.OWES_ACK:
        owed = _owed(each, status.open_acks)
        since = f", {span(now - owed.last_sent)}" if owed else ""
        return TurnWords(f"owes an ACK{since}", "attention")
    if each.turn is Turn.NOT_ASKED:
        return TurnWords(_not_asked(each), "quiet")
    if each.turn is Turn.TO_CORRECT:
        return TurnWords(f"{_deltas(each)}, to correct", "attention")
    if each.turn is Turn.CONTRIBUTED:
        return TurnWords(_deltas(each), "plain" if each.refused else "strong")
    return _TURNS[each.turn]


def _owed(each: Participant, open_acks: tuple[OpenAck, ...]) -> OpenAck | None:
    """The ACK of the kickoff that asked her, of whichever copy."""
    return next(
        (
            ack
            for ack in open_acks
            if ack.debtor == each.name and each.kickoff in (ack.message_id, ack.last_message_id)
        ),
        next((ack for ack in open_acks if ack.debtor == each.name), None),
    )


def _not_asked(each: Participant) -> str:
    if each.deltas:
        return _deltas(each)
    return "not asked" if each.is_in_roster else "not in the roster"


def _deltas(each: Participant) -> str:
    """`2 deltas: 5 applied, 1 refused`; what is zero is left out."""
    counts = {"applied": each.applied, "refused": each.refused, "duplicate": each.duplicate}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{counted(each.deltas, 'delta')}: {told or 'no block in it'}"


def since_words(status: SessionStatus) -> tuple[str, str] | None:
    """What has come in that no version has read, and what would become of it."""
    if not status.unread:
        return None
    count = counted(status.unread, "delta has", "deltas have")
    applies = counted(status.applies, "block would apply", "blocks would apply")
    since = " since" if status.version else ""
    return f"{count} arrived{since}", applies if status.applies else "no block of it would apply"
