"""ACKs that are owed: which are overdue, and the two ways on: resend, escalate.

(Message document, ACK Workflow: unacknowledged messages after a timeout.)
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Debt, Sent
from brenner.markdown.escape import one_paragraph
from brenner.protocol.messages import Message, iso
from brenner.protocol.subjects import compose_subject
from brenner.text import visible


class Pending(NamedTuple):
    """An ACK that is owed, and until when it was asked for."""

    debt: Debt
    due: datetime
    is_overdue: bool


def pending(
    mailbox: Mailbox,
    now: datetime,
    deadline: timedelta,
    *,
    debtor: str | None = None,
    thread_id: str | None = None,
) -> tuple[Pending, ...]:
    """Every ACK that is owed, the oldest first. The deadline counts from the last sending."""
    owed = mailbox.debts(debtor, thread_id)
    dues = [_due(debt, deadline) for debt in owed]
    return tuple(Pending(debt, due, due < now) for debt, due in zip(owed, dues, strict=True))


def _due(debt: Debt, deadline: timedelta) -> datetime:
    """Until when; imported mail may bear any date."""
    last_moment = datetime.max.replace(tzinfo=UTC)
    return debt.last.at + deadline if debt.last.at < last_moment - deadline else last_moment


def resend(mailbox: Mailbox, overdue: Iterable[Pending]) -> tuple[Sent, ...]:
    """Send each message again, to those who still owe an ACK for it.

    The copy has the same content, so acknowledging either settles both. Running it twice at once
    sends one copy: the key says which sending it is, and to whom. Its sender is known as well as
    that of the first, no better. Imported mail is not resent: nobody here has seen who wrote it.
    """
    debtors: dict[str, list[Debt]] = {}
    for each in overdue:
        if each.debt.first.is_local:
            debtors.setdefault(each.debt.first.content_hash, []).append(each.debt)
    return tuple(_resend(mailbox, debts) for debts in debtors.values())


def _resend(mailbox: Mailbox, debts: list[Debt]) -> Sent:
    first = min((debt.first for debt in debts), key=lambda stored: stored.id)
    last = max((debt.last for debt in debts), key=lambda stored: stored.id)
    names = tuple(sorted(debt.debtor for debt in debts))
    copies = tuple(name for name in names if name in first.envelope.cc)
    return mailbox.send(
        first.message._replace(recipients=names),
        reply_to=first.id,
        key=f"resend after {last.id} to {_digest(names)}",
        envelope=first.envelope._replace(cc=copies),
    )


def escalate(
    mailbox: Mailbox, overdue: Iterable[Pending], sender: str, operator: str
) -> tuple[Sent, ...]:
    """Tell the operator, in one message for each thread, of what she has not been told yet.

    Nobody complains of herself, or to the operator of the operator. What an escalation says that
    she has not acknowledged is not said again, whoever asks.
    """
    threads: dict[str, list[Pending]] = {}
    for each in overdue:
        if each.debt.debtor not in (operator, sender):
            threads.setdefault(each.debt.first.message.thread_id, []).append(each)
    news = {thread_id: _untold(mailbox, each, operator) for thread_id, each in threads.items()}
    messages = [_escalation(name, debts, sender, operator) for name, debts in news.items() if debts]
    return tuple(
        mailbox.send(message, key=f"escalate {_digest([message.body])}") for message in messages
    )


def _untold(mailbox: Mailbox, overdue: list[Pending], operator: str) -> list[Pending]:
    """Those that stand in no open escalation to the operator, but for one by the debtor herself."""
    thread_id = overdue[0].debt.first.message.thread_id
    known = {agent.name for agent in mailbox.agents()}
    owed = mailbox.debts(operator, thread_id) if operator in known else ()
    told = [debt.first.message for debt in owed if debt.first.type == "BLOCKED"]
    return [
        each
        for each in overdue
        if not any(
            message.sender != each.debt.debtor and _complaint(each.debt) in message.body
            for message in told
        )
    ]


def _complaint(debt: Debt) -> str:
    return f"- {debt.debtor} has not acknowledged message {debt.first.id} ("


def _digest(parts: Iterable[str]) -> str:
    from hashlib import sha256  # only who sends needs it

    return sha256("\n".join(parts).encode()).hexdigest()[:32]


def _escalation(thread_id: str, overdue: list[Pending], sender: str, operator: str) -> Message:
    count = len(overdue)
    debtors = ", ".join(sorted({each.debt.debtor for each in overdue}))
    description = f"{count} ACK{'s' * (count != 1)} overdue from {debtors}"
    lines = [
        f"{_complaint(debt)}`{_plain(debt.first.message.subject)}`,"
        f" from {debt.first.message.sender}, sent {_times(debt)}; due {iso(due)})"
        for debt, due, _ in overdue
    ]
    item = one_paragraph(visible(thread_id)) or "mail outside of any thread"
    body = (
        f"# Work Blocked\n\n## Item\n{item}\n\n## Blocker\n" + "\n".join(lines) + "\n\n"
        "## Type\nDependency\n\n## Needed\n"
        "An ACK from each of them (`brenner mail ack ID --as NAME`), or a decision to go on "
        "without.\n"
    )
    return Message(thread_id, sender, (operator,), compose_subject("BLOCKED", description), body)


def _times(debt: Debt) -> str:
    when = iso(debt.first.at)
    return when if debt.times_sent == 1 else f"{debt.times_sent} times since {when}"


def _plain(subject: str) -> str:
    """A subject that may stand between backticks."""
    return visible(subject).replace("`", "'")
