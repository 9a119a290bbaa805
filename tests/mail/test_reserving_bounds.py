"""The limit on the reservations of all agents together."""

from pathlib import Path

import pytest

from brenner.diagnostics.model import RequestError
from brenner.limits import MOST_RESERVATIONS_OF_ALL
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile, ReservationRequest
from brenner.mail.sqlite.mailbox import SqliteMailbox


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_all_agents_together(kind: str, tmp_path: Path) -> None:
    """There is a limit for all of them; who replaces what she has is within it."""
    mailbox = (
        MemoryMailbox() if kind == "memory" else SqliteMailbox.create(tmp_path / "mail.sqlite3")
    )
    with mailbox:
        for number in range(11):
            mailbox.register(Profile(f"Agent{number}"))
        for number in range(MOST_RESERVATIONS_OF_ALL // 50):
            wish = ReservationRequest(tuple(f"{number}/{each}" for each in range(50)), 60)
            mailbox.reserve(f"Agent{number // 2}", wish)
        with pytest.raises(RequestError, match="reservations of all agents"):
            mailbox.reserve("Agent10", ReservationRequest(("one more",), 60))
        assert mailbox.reserve("Agent0", ReservationRequest(("0/1",), 60)).granted
        assert len(mailbox.reservations()) == MOST_RESERVATIONS_OF_ALL
