"""Acknowledge, resend, escalate: what is sent, to whom, and how often."""

from datetime import UTC, datetime, timedelta

import pytest

from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile, SendResult
from brenner.protocol.messages import Message
from brenner.services.acknowledge import DueAck, acknowledge, escalate, pending_acks, resend

THREAD = "RS-20251230-cell-fate-dichotomy"
DAY = timedelta(hours=24)


class Office:
    """A mailbox with a clock, in which a question waits for two answers."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.mailbox = MemoryMailbox(clock=lambda: self.now)
        for name in ("Operator", "BlueLake", "RedSky", "GreenDog"):
            self.mailbox.register(Profile(name))
        self.ask("GreenDog", ("BlueLake", "RedSky"), "Which?")
        self.now += DAY + timedelta(hours=1)

    def ask(self, sender: str, to: tuple[str, ...], body: str) -> SendResult:
        """Send a question."""
        return self.mailbox.send(Message(THREAD, sender, to, "QUESTION: Which?", body))

    def overdue(self, debtor: str | None = None) -> tuple[DueAck, ...]:
        """What is overdue now."""
        owed = pending_acks(self.mailbox, self.now, DAY, debtor=debtor)
        return tuple(each for each in owed if each.is_overdue)

    def escalated(self, sender: str = "GreenDog") -> tuple[SendResult, ...]:
        """What the operator is told now."""
        return escalate(self.mailbox, self.overdue(), sender, "Operator")


@pytest.fixture
def office() -> Office:
    """A fresh one."""
    return Office()


def recipients(sent: tuple[SendResult, ...]) -> list[tuple[str, ...]]:
    """To whom the new ones went."""
    return [each.stored.message.recipients for each in sent if each.is_new]


def test_each_debtor_can_be_reminded_by_herself(office: Office) -> None:
    """Reminding one does not keep the other from being reminded."""
    assert recipients(resend(office.mailbox, office.overdue("BlueLake"))) == [("BlueLake",)]
    assert recipients(resend(office.mailbox, office.overdue("RedSky"))) == [("RedSky",)]
    assert office.overdue() == ()


def test_a_resend_is_sent_once(office: Office) -> None:
    """Two who saw the same debts send one copy."""
    seen = office.overdue()
    first, second = resend(office.mailbox, seen), resend(office.mailbox, seen)
    assert (recipients(first), recipients(second)) == ([("BlueLake", "RedSky")], [])
    assert first[0].stored == second[0].stored


def test_imported_mail_is_not_resent(office: Office) -> None:
    """Nobody here has seen who wrote it, so nobody here writes in that name."""
    other = MemoryMailbox(clock=lambda: office.now)
    other.restore(office.mailbox.agents(), office.mailbox.records())
    late = pending_acks(other, office.now, DAY)
    assert [each.is_overdue for each in late] == [True, True]
    assert resend(other, late) == ()


def test_the_operator_is_told_once(office: Office) -> None:
    """Whoever asks; as long as she has not acknowledged, and also after the deadline changed."""
    assert recipients(office.escalated()) == [("Operator",)]
    assert office.escalated() == ()
    assert office.escalated("Operator") == ()
    later = pending_acks(office.mailbox, office.now, timedelta(hours=1))
    assert escalate(office.mailbox, later, "GreenDog", "Operator") == ()
    acknowledge(office.mailbox, "Operator", 2)
    assert recipients(escalate(office.mailbox, later, "GreenDog", "Operator")) == [("Operator",)]


def test_no_debtor_can_keep_the_operator_from_being_told(office: Office) -> None:
    """Words of the debtor's own, or in a message that is no escalation, are not one."""
    words = "- BlueLake has not acknowledged message 1 (\n- RedSky has not acknowledged message 1 ("
    office.ask("BlueLake", ("Operator",), words)
    blocked = Message(THREAD, "BlueLake", ("Operator",), "BLOCKED: x", words)
    office.mailbox.send(blocked)
    (sent,) = office.escalated()
    assert "BlueLake has not acknowledged message 1" in sent.stored.message.body
    assert "RedSky has not" not in sent.stored.message.body


def test_nobody_complains_of_herself(office: Office) -> None:
    """A debtor who escalates tells of the others only."""
    (sent,) = office.escalated("RedSky")
    assert sent.stored.message.subject == "BLOCKED: 1 ACK overdue from BlueLake"


def test_an_interrupted_acknowledgement_is_finished(office: Office) -> None:
    """The ACK was sent by hand, or the process ended before the message was marked."""
    resend(office.mailbox, office.overdue("BlueLake"))
    first = acknowledge(office.mailbox, "BlueLake", 1)
    office.mailbox.mark("BlueLake", [1, 2], is_read=False)
    again = acknowledge(office.mailbox, "BlueLake", 1)
    assert (first.is_new, again.is_new, again.stored) == (True, False, first.stored)
    assert [each.is_read for each in office.mailbox.inbox("BlueLake").messages] == [True, True]
