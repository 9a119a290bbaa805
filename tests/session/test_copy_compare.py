"""Comparing a copy with its source: what counts as the same, and what is told of the rest."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Importance, Message
from brenner.services.copy_mail import (
    MessageFingerprint,
    check_thread_versions,
    compare_mail,
    describe_messages,
    fingerprints,
    lost_versions,
    match_messages,
)
from brenner.services.workspace import Workspace
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff

AT = datetime(2025, 12, 30, 9, tzinfo=UTC)
USUAL = (Importance.NORMAL, frozenset[str]())


def message(number: int, content: str, origin: int | None = None, *to: str) -> MessageFingerprint:
    """A message of some content."""
    delivery = (frozenset(to), False)
    return MessageFingerprint(number, origin or number, content, THREAD, AT, delivery, USUAL)


@pytest.mark.parametrize(
    ("source", "target", "pairs"),
    [
        # by origin, though another has the same content and came first
        ([(5, "x", 5)], [(1, "x", 9), (2, "x", 5)], {5: 2}),
        # by content, in their order
        ([(1, "x", 1), (2, "x", 2)], [(7, "x", 7), (8, "x", 8)], {1: 7, 2: 8}),
        # twice is not once
        ([(1, "x", 1), (2, "x", 2)], [(7, "x", 7)], {1: 7}),
        # what is known by its origin is nobody else's
        ([(1, "x", 1), (2, "x", 2)], [(7, "x", 2)], {2: 7}),
        # one that came back from elsewhere and an equal one of that number are two
        ([(1, "x", 1), (2, "x", 1)], [(7, "x", 1)], {1: 7}),
        # the same origin with another content is another message
        ([(1, "x", 1)], [(1, "y", 1)], {}),
    ],
)
def test_pairs(
    source: list[tuple[int, str, int]],
    target: list[tuple[int, str, int]],
    pairs: dict[int, int],
) -> None:
    """Which message of the target is which of the source."""
    found = match_messages([message(*each) for each in source], [message(*each) for each in target])
    assert {number: each.id for number, each in found.items()} == pairs


def test_what_is_missing_or_differs() -> None:
    """A message that is not there; other recipients; another time or envelope, if these stay."""
    source = [message(1, "a", 1, ANN), *(message(n, c) for n, c in enumerate("bcde", 2))]
    later = message(3, "c")._replace(at=AT + timedelta(seconds=1))
    urgent = message(5, "e")._replace(around=(Importance.URGENT, frozenset()))
    target = [message(1, "a", 1, BEA), later, message(4, "d"), urgent]
    missing, differing = compare_mail(source, target, exact=[1, 2, 3, 4, 5])
    assert [each.id for each in missing] == [2]
    assert [each.id for each in differing] == [1, 3, 5]
    assert [each.id for each in compare_mail(source, target, exact=[])[1]] == [1]
    assert compare_mail(source, source, exact=[1, 2, 3, 4, 5]) == ([], [])


def test_names_of_many() -> None:
    """Not all of a thousand are named."""
    assert describe_messages([message(3, "x")]) == f"message 3 of {THREAD}"
    assert describe_messages([message(3, "x"), message(5, "x")]) == f"messages 3, 5 of {THREAD}"
    many = describe_messages([message(number, "x") for number in range(1, 1001)])
    assert many == f"messages 1, 2, 3, 4, 5, 6, 7, 8 and 992 more of {THREAD}"


@pytest.fixture
def workspace() -> Workspace:
    """A thread with a version, in memory."""
    mailbox = MemoryMailbox()
    for name in (ANN, BEA, "Operator"):
        mailbox.register(Profile(name))
    found = Workspace(mailbox, Project(Path("/none")), "Operator")
    kickoff(found)
    contribute(found, ANN, add("Gradient"))
    found.compile(THREAD)
    return found


def test_seen(workspace: Workspace) -> None:
    """What is compared of each message; whether an ACK is wanted is the type's word, too."""
    first, *_ = fingerprints(workspace.mailbox.records())
    assert first.delivery == (frozenset({ANN, BEA}), True)
    plain = workspace.mailbox.send(Message(THREAD, ANN, (BEA,), "INFO: x", "x\n")).stored
    *_, last = fingerprints(workspace.mailbox.records())
    assert (last.id, last.delivery) == (plain.id, (frozenset({BEA}), False))


def test_lost_versions(workspace: Workspace) -> None:
    """One that is not there, one that is another; one that was wrong before is not expected."""
    (fact,) = check_thread_versions(workspace, THREAD)
    assert list(lost_versions(workspace, [fact])) == []
    assert list(lost_versions(workspace, [fact._replace(artifact_sha256="0" * 64)])) == [
        f"v1 of {THREAD} cannot be rebuilt there (its text is different)"
    ]
    assert list(lost_versions(workspace, [fact._replace(message_hash="0" * 64)])) == [
        f"v1 of {THREAD} cannot be rebuilt there (its message is different)"
    ]
    elsewhere = fact._replace(thread_id="RS-20251230-elsewhere", artifact_sha256="0" * 64)
    assert list(lost_versions(workspace, [fact._replace(number=2), elsewhere])) == [
        f"v2 of {THREAD} is missing",
        "v1 of RS-20251230-elsewhere is missing",
    ]
    assert list(lost_versions(workspace, [elsewhere._replace(difference="it never did")])) == []
