"""Messages as rows: the table of the conventions document, with what a reader wants before it."""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TextIO

import click

from brenner.cli.folding import Piece
from brenner.cli.mail.standing import importance_pieces, is_unverified
from brenner.cli.mail.table import Cell, Column, Row
from brenner.cli.marks import ATTENTION, QUIET, STRONG, agent_piece, subject_pieces
from brenner.cli.options import MESSAGE_ID, Number
from brenner.cli.sentences import sentence
from brenner.mail.model import Stored
from brenner.protocol.messages import ago, exact

UNREAD, OWED, UNVERIFIED = "•", "!", "?"
_LEGEND = {
    UNREAD: "unread (`brenner mail mark ID{actor}` marks it as read)",
    OWED: "you owe an ACK (`brenner mail ack ID{actor}` sends it)",
    UNVERIFIED: "unverified: anybody may have sent it",
}
WIDE = 100

ID = Column("ID", is_right=True)
FROM = Column("From", least=10)
SUBJECT = Column("Subject", least=24)
THREAD = Column("Thread", least=24)
WHEN = Column("When", shown_from=WIDE)
COLUMNS = (Column(""), ID, FROM, SUBJECT, THREAD, WHEN)

limit_option = click.option(
    "--limit", type=Number(1), default=50, metavar="N", help="How many at most (50)."
)
before_option = click.option(
    "--before", type=MESSAGE_ID, metavar="ID", help="Only what is older than this message."
)


def row(stored: Stored, marks: str = "", below: Iterable[Cell] = ()) -> Row:
    """One message. How urgent it is stands before the subject; `standing_marks` says more."""
    message = stored.message
    importance = [piece for each in importance_pieces(stored) for piece in (each, Piece(" "))]
    cells = (
        mark_cell(marks),
        [Piece(str(stored.id))],
        [agent_piece(message.sender)],
        [*importance, *subject_pieces(message.subject)],
        [Piece(message.thread_id)],
        [Piece(when(stored.at, sys.stdout), QUIET)],
    )
    return Row(cells, tuple(below))


def standing_marks(stored: Stored) -> str:
    """What a row marks of a message, whoever looks at it."""
    return UNVERIFIED * is_unverified(stored)


def mark_cell(marks: str) -> Cell:
    """The marks, each in its style; the legend has the words."""
    return [Piece(mark, STRONG if mark == UNREAD else ATTENTION) for mark in marks]


def when(at: datetime, out: TextIO) -> str:
    """Relative where people look; exact in what is kept."""
    return ago(at, datetime.now(UTC)) if out.isatty() else exact(at)


def legend(marks: Iterable[str], actor: str) -> list[str]:
    """The marks that are used, in words; `actor` is the option that says who acts."""
    used = {mark for each in marks for mark in each}
    return [
        sentence(f"{mark} {words.format(actor=actor)}", sys.stdout)
        for mark, words in _LEGEND.items()
        if mark in used
    ]
