"""Sessions as rows: what waits first, in words, then whose turn it is and what it is about.

In 80 columns a session has two lines. Where there is more room, whose turn it is has a column of
its own; in a pipe everything stands in one line, whole.
"""

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from brenner.cli.folding import PLAIN, Piece, Style
from brenner.cli.mail.table import Cell, Column, Row, table
from brenner.cli.marks import ATTENTION, QUIET, STRONG, STYLE_OF_TYPE, agent_piece
from brenner.cli.output import width_of
from brenner.protocol.messages import exact, span
from brenner.session.overview import Overview, Role, need_words, phase_words
from brenner.session.status_text import PHASE_WORDS

_WIDE = 120
_MOST_NAMES = 3
_STYLES: dict[Role, Style] = {
    "attention": ATTENTION,
    "notice": STYLE_OF_TYPE["QUESTION"],
    "positive": STYLE_OF_TYPE["COMPILED"],
    "plain": PLAIN,
    "quiet": QUIET,
}
# Only an engineering ID can be longer; then it is cut, so that the others stay in line.
_LONGEST_USUAL_ID = len("RS-20251230-") + 40
_ID, _ROUND = Column("Session", least=_LONGEST_USUAL_ID), Column("Round", is_right=True)
_NEEDS, _TURN = Column("Needs"), Column("Turn", least=16)
_PHASE, _IDLE = Column("Phase"), Column("Idle", is_right=True)
_NARROW = (_NEEDS, _ID, _IDLE)
_WIDER = (_NEEDS, _ID, _ROUND, _PHASE, _TURN, _IDLE)
_WHOLE = (_NEEDS, _ID, _ROUND, _PHASE, _TURN, Column("Last"), Column("Question"))
_DOT, _COMMA = Piece(" · ", QUIET), Piece(", ")


def lines(shown: Sequence[Overview], now: datetime, deadline: timedelta) -> Iterator[str]:
    """The table, for the width that there is."""
    sessions = [_Session(each, now, deadline) for each in shown]
    width = width_of(sys.stdout)
    if not width:
        return table(_WHOLE, [_whole(each) for each in sessions], sys.stdout)
    if width < _WIDE:
        return table(_NARROW, [_narrow(each) for each in sessions], sys.stdout)
    return table(_WIDER, [_wide(each) for each in sessions], sys.stdout)


def _narrow(each: "_Session") -> Row:
    head, *others = each.needs()
    standing = each.standing({need.text for need in (head, *others)})
    below = (_between(([need] for need in others), _COMMA), standing, each.question())
    return Row(([head], each.thread_id(), each.idle()), _under(below))


def _wide(each: "_Session") -> Row:
    head, *others = each.needs()
    [phase] = each.phase()
    cells = ([head], each.thread_id(), each.round(), [phase], each.turn(), each.idle())
    more = _between(([need] for need in others if need.text != phase.text), _COMMA)
    return Row(cells, _under((more, each.question())))


def _whole(each: "_Session") -> Row:
    needs = _between(([need] for need in each.needs()), _COMMA)
    turn = each.turn(most=len(each.overview.awaited))
    last = [Piece(exact(each.overview.last_at))]
    cells = (needs, each.thread_id(), each.round(), each.phase(), turn, last, each.question())
    return Row(cells)


def _under(parts: Iterable[Sequence[Piece]]) -> list[Cell]:
    """The second line of a row, if it says anything."""
    below = _between((part for part in parts if part), _DOT)
    return [[Piece("  "), *below]] if below else []


class _Session(NamedTuple):
    """A session at some time, in pieces."""

    overview: Overview
    now: datetime
    deadline: timedelta

    def needs(self) -> list[Piece]:
        """What is open, the most urgent first; where nothing is, its phase. Critiques come last."""
        words = need_words(self.overview, self.now, self.deadline)
        return [Piece(each.text, _STYLES[each.role]) for each in words]

    def standing(self, said: Collection[str]) -> list[Piece]:
        """The round and its phase, unless that is said already, and for whom it waits."""
        phase = PHASE_WORDS[self.overview.phase]
        has_round = self.overview.phase is not None
        parts = [
            [Piece(f"round {self.overview.round}")] if has_round else [],
            [Piece(phase)] if phase not in said else [],
            [Piece("waits for "), *self.turn()] if self.overview.awaited else [],
        ]
        return _between((part for part in parts if part), _COMMA)

    def turn(self, most: int = _MOST_NAMES) -> list[Piece]:
        """For whom the round waits, in the order of the participants."""
        awaited = self.overview.awaited
        names = [[agent_piece(each.name)] for each in awaited[:most]]
        more = len(awaited) - len(names)
        return _between(names, _COMMA) + ([Piece(f" and {more} more")] if more else [])

    def thread_id(self) -> Cell:
        """Its ID, which is never folded."""
        return [Piece(self.overview.thread_id, STRONG)]

    def round(self) -> Cell:
        """The round that it is in; a conversation has none."""
        return [Piece(str(self.overview.round))] if self.overview.phase else []

    def phase(self) -> Cell:
        """Its phase in words."""
        text, role = phase_words(self.overview)
        return [Piece(text, _STYLES[role])]

    def idle(self) -> Cell:
        """How long nothing has come in."""
        return [Piece(span(self.now - self.overview.last_at), QUIET)]

    def question(self) -> list[Piece]:
        """What it is about."""
        return [Piece(self.overview.question, QUIET)] if self.overview.question else []


def _between(parts: Iterable[Sequence[Piece]], gap: Piece) -> list[Piece]:
    """The parts, with something between each two of them."""
    found: list[Piece] = []
    for part in parts:
        found += [gap, *part] if found else part
    return found
