"""What has become of refused blocks since: corrected by their authors, or dismissed."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from brenner.artifact.state import Entry, Outcome
from brenner.session.chain import Chain
from brenner.session.letters import letters
from brenner.session.rebuild import Filed
from brenner.session.refused import BlockPlace, corrections
from brenner.session.standing import uncorrected


class How(StrEnum):
    """Why nobody waits for a refused block any more."""

    CORRECTED = "corrected"
    DISMISSED = "dismissed"


class Settled(NamedTuple):
    """How a refused block was settled, and in which message."""

    how: How
    message_id: int


def settled(
    chain: Chain, messages: Sequence[Filed], ledgers: Sequence[Sequence[Entry]]
) -> dict[BlockPlace, Settled]:
    """The refused blocks that are not open any more, by message and block.

    `ledgers` are those of all versions in their order, and last what would become of the blocks
    that none has read.
    """
    expected = ledgers[-1] if ledgers else ()
    found = {place: Settled(How.CORRECTED, by[0]) for place, by in corrections(ledgers).items()}
    if not chain.refused and all(entry.state is not Outcome.REFUSED for entry in expected):
        return found
    for refusal, dismissed in uncorrected(chain, letters(messages), expected):
        if dismissed is not None:
            found[refusal.message_id, refusal.block] = Settled(How.DISMISSED, dismissed)
    return found
