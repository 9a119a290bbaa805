"""The mail that the contract is tried with: who writes, what, and what is expected of it."""

from collections.abc import Callable, Iterable
from typing import ParamSpec

import pytest

from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import InboxPage, PendingAck, Profile
from brenner.protocol.messages import Message, StoredMessage
from mail.backends import ALL_HOMES

ANN, BEA, CAT, BOSS = "BlueLake", "GreenDog", "RedCreek", "Operator"
NAMES = (ANN, BEA, CAT, BOSS)
THREAD, ELSEWHERE = "RS-20251230-cell-fate", "brenner_bot-5so.1.4.1"
NO_MESSAGE = (0, -1, 999, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30)
QUESTION, KICKOFF = "QUESTION: Which gradient?", "KICKOFF: Cell fate"
INFO = "INFO: For all"

P = ParamSpec("P")

# Texts that a home must give back as they were: of terminals, of SQL, of other programs' quotes.
DIFFICULT = (
    *("", " ", "\n", "\r\n", "a\rb", "\t", "\x1b[31mred", "\x7f", "\x85", "\u2028", "\ufeffbom"),
    *("'; DROP TABLE messages; --", '"', "%", "_", "\\", "NULL", "null", "0", "1e3", "b'x'"),
    *("é", "e\u0301", "ﬁ", "İ", "ß", "🧬", "\U0010ffff", "\u202egnirts", "\u200b", "\ufffe"),
)


def introduce(mailbox: Mailbox, names: Iterable[str] = NAMES) -> None:
    """Register the usual agents."""
    for name in names:
        mailbox.register(Profile(name, "claude-code", "opus"))


def make_message(
    body: str = "Read this.",
    *,
    sender: str = ANN,
    to: tuple[str, ...] = (BEA, CAT),
    subject: str = INFO,
    thread: str = THREAD,
) -> Message:
    """A message; what a test does not care about is filled in."""
    return Message(thread, sender, to, subject, body)


def ack(
    text: str = "", *, sender: str = BEA, to: tuple[str, ...] = (ANN,), thread: str = THREAD
) -> Message:
    """An ACK with a text under `## Message ID`, or without that section."""
    named = f"## Message ID\n{text}\n\n" if text else ""
    body = f"# Acknowledgement\n\n{named}## Status\nReceived\n"
    return Message(thread, sender, to, "ACK: Received", body)


def post(mailbox: Mailbox, message: Message, *, reply_to: int | None = None) -> StoredMessage:
    """Send it; what was stored."""
    return mailbox.send(message, reply_to=reply_to).stored


def error_code(call: Callable[P, object], *values: P.args, **named: P.kwargs) -> str:
    """The code with which a request is refused."""
    with pytest.raises(RequestError) as caught:
        call(*values, **named)
    return caught.value.diagnostic.id


def ids(messages: Iterable[StoredMessage]) -> list[int]:
    """Their ids, in their order."""
    return [stored.id for stored in messages]


def listed(page: InboxPage) -> list[int]:
    """The ids of an inbox, in its order."""
    return [received.stored.id for received in page.messages]


def owed(debts: Iterable[PendingAck]) -> list[tuple[str, int, int, int]]:
    """Debts in short: who, the first open copy, the last one, how many."""
    return [(debt.debtor, debt.first.id, debt.last.id, debt.times_sent) for debt in debts]


def whole(mailbox: Mailbox) -> object:
    """Everything that can be seen of a mailbox, to find that a request left nothing behind."""
    return (
        mailbox.agents(),
        mailbox.position(),
        tuple(mailbox.records()),
        mailbox.debts(),
        mailbox.threads(),
    )


def in_backends_with(*abilities: str) -> pytest.MarkDecorator:
    """Run a test in the homes that are able to."""
    return pytest.mark.parametrize("place", backends_with(*abilities), indirect=True)


def backends_with(*abilities: str) -> list[pytest.ParameterSet]:
    """The homes that are able to, as parameters of a test."""
    able = (home for home in ALL_HOMES if home.cannot.keys().isdisjoint(abilities))
    return [pytest.param(home, id=home.name) for home in able]
