"""The phase of a round and an agent's turn in it, in words."""

from datetime import datetime

from brenner.cli.folding import PLAIN, Piece
from brenner.cli.mail.table import Cell
from brenner.cli.marks import ATTENTION, QUIET, STRONG
from brenner.session.status import OpenAck, Participant, Phase, SessionStatus, Turn
from brenner.thread.counting import counted
from brenner.thread.times import span

PHASE_WORDS: dict[Phase | None, str] = {
    Phase.AWAITING_ACKS: "awaiting ACKs",
    Phase.AWAITING_DELTAS: "awaiting deltas",
    Phase.READY_TO_COMPILE: "ready to compile",
    Phase.IN_CRITIQUE: "in critique",
    Phase.COMPLETE: "complete",
    None: "conversation",
}
_MOST_ASIDES = 2
_TURNS = {
    Turn.OWES_DELTA: Piece("owes a delta", ATTENTION),
    Turn.PASSED: Piece("passed", QUIET),
}


def turn_pieces(each: Participant, status: SessionStatus, now: datetime) -> Cell:
    """What she has to do or has done; what she wrote instead stands after it."""
    pieces = [_turn(each, status, now)]
    if each.asides and each.turn is not Turn.NOT_ASKED:
        ids = ", ".join(map(str, each.asides))
        wrote = ids if len(each.asides) <= _MOST_ASIDES else f"{len(each.asides)} other messages"
        pieces.append(Piece(f"; wrote {wrote}", QUIET))
    return pieces


def _turn(each: Participant, status: SessionStatus, now: datetime) -> Piece:
    if each.turn is Turn.OWES_ACK:
        owed = _owed(each, status.open_acks)
        since = f", {span(now - owed.last_sent)}" if owed else ""
        return Piece(f"owes an ACK{since}", ATTENTION)
    if each.turn is Turn.NOT_ASKED:
        return Piece(_not_asked(each), QUIET)
    if each.turn is Turn.TO_CORRECT:
        return Piece(f"{_deltas(each)}, to correct", ATTENTION)
    if each.turn is Turn.CONTRIBUTED:
        return Piece(_deltas(each), PLAIN if each.refused else STRONG)
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
