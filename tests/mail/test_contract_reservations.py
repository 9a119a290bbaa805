"""The contract, files that agents are at work on: all is granted, and who comes second hears it."""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import product
from threading import Barrier

import pytest

from brenner.limits import (
    MOST_PATTERN_BYTES,
    MOST_PATTERN_NAMES,
    MOST_PATTERNS,
    MOST_REASON_BYTES,
    MOST_RESERVATIONS,
    MOST_RESERVED_SECONDS,
    MOST_WILDCARDS,
)
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Reservation, ReservationRequest, ReservationResult
from mail.backends import AGENT_MAILS, SECOND_VIEW, Place
from mail.sample_mail import (
    ANN,
    BEA,
    CAT,
    DIFFICULT,
    error_code,
    in_backends_with,
    make_message,
    post,
)

HOUR = 3_600
PATIENCE = 30  # seconds
NOT_PATHS = ("", " ", "/src/a.py", "~/a.py", "C:/a.py", "C:", "../a.py", "src/../a.py", "src\\a.py")


def wish(
    *patterns: str, exclusive: bool = True, seconds: int = HOUR, reason: str = ""
) -> ReservationRequest:
    """What a test asks for."""
    return ReservationRequest(patterns, seconds, exclusive=exclusive, reason=reason)


def told(reservations: Iterable[Reservation]) -> list[tuple[int, str, str, bool, str]]:
    """What a server tells twice in the same way: all but when it was."""
    return [tuple(each[:5]) for each in reservations]  # type: ignore[misc]


def met(reserved: ReservationResult) -> list[tuple[str, list[tuple[str, str]]]]:
    """Conflicts in short: which pattern, who has what."""
    return [
        (pattern, [(each.agent, each.pattern) for each in holders])
        for pattern, holders in reserved.conflicts
    ]


def held(mailbox: Mailbox) -> list[tuple[str, str]]:
    """Who has what now."""
    return [(each.agent, each.pattern) for each in mailbox.reservations()]


@pytest.mark.every_store
def test_files_are_reserved(mailbox: Mailbox) -> None:
    """As they were asked for, for as long as was asked for."""
    assert mailbox.reservations() == ()
    got = mailbox.reserve(ANN, wish("src/*.py", "README.md", reason="tests «ß»", seconds=600))
    first, second = got.granted
    assert got.conflicts == ()
    assert first[1:5] == (ANN, "src/*.py", True, "tests «ß»")
    assert second[1:5] == (ANN, "README.md", True, "tests «ß»")
    assert first.id < second.id
    for each in got.granted:
        assert each.expires_at - each.created_at == timedelta(seconds=600)
    assert told(mailbox.reservations()) == told(got.granted)
    assert [each.expires_at for each in mailbox.reservations()] == [
        each.expires_at for each in got.granted
    ]


@in_backends_with(Capability.CLIENT_CLOCK)
def test_times_are_the_store_s(place: Place, mailbox: Mailbox) -> None:
    now = place.clock.move(timedelta(hours=5))
    got = mailbox.reserve(ANN, wish("a", seconds=7))
    assert got.granted[0][5:] == (now, now + timedelta(seconds=7))
    assert mailbox.reservations() == got.granted


@pytest.mark.every_store
def test_who_comes_second_gets_them_and_is_told(mailbox: Mailbox) -> None:
    mailbox.reserve(ANN, wish("src/*.py", "docs/a.md"))
    got = mailbox.reserve(BEA, wish("src/a.py", "lib/b.py"))
    assert [each.pattern for each in got.granted] == ["src/a.py", "lib/b.py"]
    assert met(got) == [("src/a.py", [(ANN, "src/*.py")])]
    ((_, (holder,)),) = got.conflicts
    assert holder == mailbox.reservations()[0]
    assert len(mailbox.reservations()) == 4


def test_one_conflict_for_each_holder(mailbox: Mailbox) -> None:
    mailbox.reserve(ANN, wish("a/x.py", "b/x.py"))
    mailbox.reserve(BEA, wish("a/*.py"))
    got = mailbox.reserve(CAT, wish("a/x.py", "b/*.py"))
    assert met(got) == [
        ("a/x.py", [(ANN, "a/x.py"), (BEA, "a/*.py")]),
        ("b/*.py", [(ANN, "b/x.py")]),
    ]


MEETINGS = (
    ("src", "src/deep/a.py", True),
    ("src/", "./src//a.py", True),
    (".", "anything/at/all", True),
    ("*/x.py", "src/*.py", True),
    ("src/**/test_*.py", "src/a/b/*_x.py", True),
    ("src/*.py", "src/*.md", True),  # approximate: only the start of names with wildcards counts
    ("src/test_*.py", "src/lib_*.py", False),
    ("src/*.py", "src/a.md", False),
    ("src/a?.py", "src/a.py", False),
    ("Src/a.py", "src/a.py", False),
    ("src/a.py", "src/a.pyx", False),
)


def test_patterns_that_meet(mailbox: Mailbox) -> None:
    """Where some path may match both, whoever comes first."""
    for pattern, other, meets in MEETINGS:
        mailbox.reserve(ANN, wish(pattern))
        expected = [(other, [(ANN, pattern)])] if meets else []
        assert met(mailbox.reserve(BEA, wish(other))) == expected
        mailbox.release(ANN)
        expected = [(pattern, [(BEA, other)])] if meets else []
        assert met(mailbox.reserve(ANN, wish(pattern))) == expected
        mailbox.release(ANN)
        mailbox.release(BEA)


def test_who_shares_meets_nobody_who_shares(mailbox: Mailbox) -> None:
    for first, second in product((False, True), repeat=2):
        mailbox.reserve(ANN, wish("a.py", exclusive=first))
        got = mailbox.reserve(BEA, wish("a.py", exclusive=second))
        assert got.granted[0].exclusive is second
        assert bool(got.conflicts) is (first or second)
        mailbox.release(BEA)


def test_nobody_meets_herself(mailbox: Mailbox) -> None:
    mailbox.reserve(ANN, wish("src/*"))
    assert mailbox.reserve(ANN, wish("src/a.py", "src/*.py")).conflicts == ()


def test_reserved_again(mailbox: Mailbox) -> None:
    """The new one takes the place of the old, under a new id; what is written otherwise is the
    same, and twice in one wish is once.
    """
    old = mailbox.reserve(ANN, wish("src/a.py", "b", "b/", seconds=60, reason="old")).granted
    assert [each.pattern for each in old] == ["src/a.py", "b"]
    mailbox.reserve(BEA, wish("src/a.py", exclusive=False))
    new = mailbox.reserve(ANN, wish("./src//a.py", exclusive=False, reason="new")).granted
    assert new[0].id > old[1].id
    now = [each for each in mailbox.reservations() if each.agent == ANN]
    assert told(now) == told([old[1], new[0]])
    assert now[1].expires_at > old[0].expires_at
    assert held(mailbox) == [(ANN, "b"), (BEA, "src/a.py"), (ANN, "./src//a.py")]


def test_nothing_is_wished_for(mailbox: Mailbox) -> None:
    mailbox.reserve(ANN, wish("a"))
    assert mailbox.reserve(BEA, wish()) == ReservationResult((), ())
    assert held(mailbox) == [(ANN, "a")]


def test_released(mailbox: Mailbox) -> None:
    """One's own: by pattern, by id, by both where both are said; all where nothing is."""
    a, b, c, d = mailbox.reserve(ANN, wish("a", "b", "c", "d")).granted
    (hers,) = mailbox.reserve(BEA, wish("a")).granted
    assert mailbox.release(ANN, patterns=["nothing", "/a", "*"]).total == 0
    assert mailbox.release(ANN, patterns=[])[0] == 0
    assert mailbox.release(ANN, ids=[])[0] == 0
    assert mailbox.release(ANN, ids=[hers.id, 0, -1, 10**30])[0] == 0
    assert mailbox.release(ANN, patterns=["a"], ids=[b.id])[0] == 0
    assert len(held(mailbox)) == 5
    assert mailbox.release(ANN, patterns=iter(["./a/"]))[0] == 1
    assert mailbox.release(ANN, ids=iter([b.id, a.id]))[0] == 1
    assert mailbox.release(ANN, patterns=["c", "d"], ids=[c.id])[0] == 1
    assert held(mailbox) == [(ANN, "d"), (BEA, "a")]
    mailbox.reserve(ANN, wish("e"))
    assert mailbox.release(ANN)[0] == 2
    assert mailbox.release(ANN)[0] == 0
    assert told(mailbox.reservations()) == told([hers])
    assert d.id not in {each.id for each in mailbox.reservations()}


@in_backends_with(Capability.CLIENT_CLOCK)
def test_a_release_says_when(place: Place, mailbox: Mailbox) -> None:
    now = place.clock.move(timedelta(minutes=9))
    assert mailbox.release(ANN) == (0, now)


def test_what_was_released_meets_nobody(mailbox: Mailbox) -> None:
    mailbox.reserve(ANN, wish("a.py"))
    mailbox.release(ANN, patterns=["a.py"])
    assert mailbox.reserve(BEA, wish("a.py")).conflicts == ()


@in_backends_with(Capability.CLIENT_CLOCK)
def test_expired(place: Place, mailbox: Mailbox) -> None:
    """At that moment: it is not listed, not met, not released, and does not count."""
    mailbox.reserve(ANN, wish("a.py", seconds=10))
    place.clock.move(timedelta(seconds=10) - timedelta(microseconds=1))
    assert held(mailbox) == [(ANN, "a.py")]
    assert mailbox.reserve(BEA, wish("a.py", seconds=HOUR)).conflicts
    place.clock.move(timedelta(microseconds=1))
    assert held(mailbox) == [(BEA, "a.py")]
    assert mailbox.release(ANN)[0] == 0
    assert mailbox.reserve(CAT, wish("a.py")).conflicts[0][1][0].agent == BEA
    place.clock.move(timedelta(hours=2))
    assert mailbox.reservations() == ()


@pytest.mark.parametrize("place", AGENT_MAILS, indirect=True, ids=lambda home: home.name)
def test_it_expires_by_the_clock_of_a_server(mailbox: Mailbox) -> None:
    mailbox.reserve(ANN, wish("a.py", seconds=1))
    deadline = time.monotonic() + PATIENCE
    while mailbox.reservations() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert mailbox.reservations() == ()
    assert mailbox.reserve(BEA, wish("a.py")).conflicts == ()


@in_backends_with(Capability.CLIENT_CLOCK)
def test_ids_are_never_used_again(place: Place, mailbox: Mailbox) -> None:
    """Neither after a release nor after all have expired."""
    seen = []
    for _ in range(3):
        seen += [each.id for each in mailbox.reserve(ANN, wish("a", "b")).granted]
        mailbox.release(ANN)
        seen += [each.id for each in mailbox.reserve(BEA, wish("a", seconds=1)).granted]
        place.clock.move(timedelta(seconds=2))
    assert seen == sorted(set(seen))


@in_backends_with(SECOND_VIEW)
def test_others_see_them(place: Place, mailbox: Mailbox) -> None:
    mailbox.reserve(ANN, wish("src/**"))
    other = place.again()
    assert other.reservations() == mailbox.reservations()
    assert met(other.reserve(BEA, wish("src/a.py"))) == [("src/a.py", [(ANN, "src/**")])]
    assert other.release(ANN)[0] == 1
    assert held(mailbox) == [(BEA, "src/a.py")]


def test_names_that_are_not_known(mailbox: Mailbox) -> None:
    """Nobody becomes known by it."""
    before = mailbox.agents()
    assert error_code(mailbox.reserve, "NobodyHere", wish("a")) == "NO_SUCH_AGENT"
    assert error_code(mailbox.release, "NobodyHere") == "NO_SUCH_AGENT"
    assert mailbox.agents() == before
    assert mailbox.reservations() == ()


REFUSED = (
    *((wish("fine", pattern), "INVALID_PATTERN") for pattern in NOT_PATHS),
    (wish("a/" * (MOST_PATTERN_NAMES + 1)), "INVALID_PATTERN"),
    (wish("a*" * (MOST_WILDCARDS + 1)), "INVALID_PATTERN"),
    (wish("ß" * (MOST_PATTERN_BYTES // 2 + 1)), "FIELD_TOO_LONG"),
    (wish("a\0b"), "UNSTORABLE_TEXT"),
    (wish("a\ud800"), "UNSTORABLE_TEXT"),
    (wish("a", reason="x" * (MOST_REASON_BYTES + 1)), "FIELD_TOO_LONG"),
    (wish("a", reason="\0"), "UNSTORABLE_TEXT"),
    (wish("a", seconds=0), "INVALID_RESERVED_TIME"),
    (wish("a", seconds=-5), "INVALID_RESERVED_TIME"),
    (wish("a", seconds=MOST_RESERVED_SECONDS + 1), "INVALID_RESERVED_TIME"),
    (wish("a", seconds=10**30), "INVALID_RESERVED_TIME"),
    (wish(*map(str, range(MOST_PATTERNS + 1))), "TOO_MANY_RESERVATIONS"),
)


def test_what_is_refused(mailbox: Mailbox) -> None:
    """All of it: nothing is reserved, and no server is asked."""
    for asked, code in REFUSED:
        assert error_code(mailbox.reserve, ANN, asked) == code, asked
    assert mailbox.reservations() == ()


@in_backends_with(Capability.CLIENT_CLOCK)
def test_as_much_as_is_taken(mailbox: Mailbox) -> None:
    """Up to the limits, and who has that many can still reserve the same again."""
    longest = "a/" * (MOST_PATTERN_NAMES - 1) + "*?[x]" * 5 + "z" * 300
    most = wish(longest, seconds=MOST_RESERVED_SECONDS, reason="ß" * (MOST_REASON_BYTES // 2))
    got = mailbox.reserve(ANN, most)
    assert mailbox.reservations() == got.granted
    mailbox.release(ANN)
    calls = [range(at, at + MOST_PATTERNS) for at in range(0, MOST_RESERVATIONS, MOST_PATTERNS)]
    for numbers in calls:
        mailbox.reserve(ANN, wish(*map(str, numbers)))
    assert error_code(mailbox.reserve, ANN, wish("one more")) == "TOO_MANY_RESERVATIONS"
    mailbox.reserve(ANN, wish(*map(str, calls[0])))
    mailbox.reserve(BEA, wish("one more"))
    assert len(mailbox.reservations()) == MOST_RESERVATIONS + 1


@in_backends_with(Capability.CLIENT_CLOCK)
def test_any_text(mailbox: Mailbox) -> None:
    """It comes back as it was."""
    for text in (each for each in DIFFICULT if each.strip() and "\\" not in each):
        got = mailbox.reserve(ANN, wish(text, reason=text))
        assert mailbox.reservations() == got.granted
        assert (got.granted[0].pattern, got.granted[0].reason) == (text, text)
        assert mailbox.release(ANN, patterns=[text])[0] == 1


def test_mail_is_not_concerned(mailbox: Mailbox) -> None:
    post(mailbox, make_message())
    mailbox.reserve(ANN, wish("."))
    assert mailbox.position() == 1
    assert post(mailbox, make_message("again", sender=BEA, to=(ANN,))).arrival == 2


@in_backends_with(Capability.CLIENT_CLOCK)
def test_of_two_at_once_one_hears_of_the_other(mailbox: Mailbox) -> None:
    """At least who comes second does."""
    together = Barrier(2)

    def reserved(name: str, number: int) -> bool:
        together.wait()
        return bool(mailbox.reserve(name, wish(f"{number}.py")).conflicts)

    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            heard = list(pool.map(reserved, (ANN, BEA), (number, number)))
            assert any(heard)
