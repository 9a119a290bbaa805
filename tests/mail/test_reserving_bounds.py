"""Reservations within all limits cost no more than some work, however they are written."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from brenner.diagnostics.model import RequestError
from brenner.limits import MOST_RESERVATIONS_OF_ALL
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile, Reservation, ReservationRequest
from brenner.mail.reservations import Pattern, find_conflicts
from brenner.mail.sqlite.mailbox import SqliteMailbox

NOW = datetime(2025, 12, 30, tzinfo=UTC)
MOST_STEPS = 1_000_000


def held(agent: str, patterns: list[str]) -> list[Reservation]:
    """What somebody has reserved."""
    return [
        Reservation(
            number, agent, pattern, exclusive=True, reason="", created_at=NOW, expires_at=NOW
        )
        for number, pattern in enumerate(patterns)
    ]


def dear(mark: str, count: int) -> list[str]:
    """Patterns that take long to compare, and have no path in common with those of other marks."""
    names = "/".join(["**", *["*" + "a" * 11 + "?"] * 8, *["**"] * 7])
    return [f"{names}/{mark}{number}" for number in range(count)]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The work of each comparison that is made."""
    made: list[int] = []
    overlaps = Pattern.overlaps

    def counted(ours: Pattern, theirs: Pattern) -> bool:
        made.append(ours.compare_cost(theirs))
        return overlaps(ours, theirs)

    monkeypatch.setattr(Pattern, "overlaps", counted)
    return made


def test_work_has_an_end(steps: list[int]) -> None:
    """Beyond it the rest is told as a conflict: nobody hears too little."""
    others = held("RedStone", dear("x", 900))
    found = find_conflicts(held("BlueLake", dear("y", 50)), others)
    assert MOST_STEPS / 2 < sum(steps) <= MOST_STEPS
    assert len(found) == 50
    assert found[-1][1] == tuple(others)


def test_elsewhere_is_elsewhere(steps: list[int]) -> None:
    """What begins with other folders is not compared, nor told, however much is compared."""
    mine = held("BlueLake", [f"docs/{each}" for each in dear("y", 49)] + ["src/a.py"])
    others = held("RedStone", [f"docs/{each}" for each in dear("x", 900)] + ["src/*.py"])
    found = dict(find_conflicts(mine, others))
    assert [each.pattern for each in found["src/a.py"]] == ["src/*.py"]
    assert sum(steps) <= MOST_STEPS
    files = held("RedStone", [f"src/{number}/x.py" for number in range(900)])
    steps.clear()
    assert find_conflicts(held("BlueLake", [f"docs/{n}/**/*.md" for n in range(50)]), files) == ()
    assert not steps


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
