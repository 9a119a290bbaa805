"""An agent's turn in a round, as a terminal has it."""

from datetime import datetime
from types import MappingProxyType

from brenner.cli.folding import PLAIN, Piece
from brenner.cli.mail.table import Cell
from brenner.cli.marks import ATTENTION, QUIET, STRONG
from brenner.session.model import Participant, SessionStatus
from brenner.session.status_text import turn_words

_STYLES = MappingProxyType(
    {"attention": ATTENTION, "strong": STRONG, "plain": PLAIN, "quiet": QUIET}
)


def turn_pieces(each: Participant, status: SessionStatus, now: datetime) -> Cell:
    """What she has to do or has done; what she wrote instead stands after it."""
    words = turn_words(each, status, now)
    pieces = [Piece(words.text, _STYLES[words.weight])]
    return [*pieces, Piece(words.aside, QUIET)] if words.aside else pieces
