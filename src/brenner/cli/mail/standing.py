"""What stands on a message, in words: how its sender is known, and how urgent it is said to be.

What is as usual is not said: mail that was written here, of normal importance.
"""

from collections.abc import Sequence

from brenner.cli.folding import Piece
from brenner.cli.marks import ATTENTION, QUIET
from brenner.mail.model import Importance, Stored, Trust

_MOST_IDS = 8
_PRESSING = (Importance.HIGH, Importance.URGENT)


def trust_pieces(stored: Stored) -> list[Piece]:
    """`unverified`, which stands out, or `verified`."""
    trust = stored.envelope.trust
    if trust is Trust.UNVERIFIED:
        return [Piece(trust, ATTENTION)]
    return [Piece(trust, QUIET)] if trust is Trust.VERIFIED else []


def importance_pieces(stored: Stored) -> list[Piece]:
    """`urgent`, `high` or `low`."""
    importance = stored.envelope.importance
    if importance is Importance.NORMAL:
        return []
    return [Piece(importance, ATTENTION if importance in _PRESSING else QUIET)]


def is_unverified(stored: Stored) -> bool:
    """Whether anybody may have sent it."""
    return stored.envelope.trust is Trust.UNVERIFIED


def some_ids(ids: Sequence[int]) -> str:
    """`messages 12, 14 and 15`, the first ones of many."""
    shown = [str(each) for each in ids[:_MOST_IDS]]
    left = len(ids) - len(shown)
    if left:
        return f"messages {', '.join(shown)} and {left} more"
    if len(shown) == 1:
        return f"message {shown[0]}"
    return f"messages {', '.join(shown[:-1])} and {shown[-1]}"
