"""Copying to a home that keeps nothing as it was: every message is sent there again, in its order.

Ids and times are new then, and so is what hangs on them. What was sent before the copy broke off
stays, and is not sent again.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.stores import NAME_ELSEWHERE
from brenner.diagnostics.model import Diagnostic, Refused, Unavailable
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Agent, Record, Restored
from brenner.mail.rules import order, strangers

_TAKE_OVER = (
    "Mail that is stored keeps the names of those who wrote it. If it is the same agent, `brenner "
    "mail register NAME --update --store STORE` takes the name over from there; then repeat the "
    "command. If not, keep the mail in another home."
)
Step = Callable[[int], None]


class Anew(NamedTuple):
    """The target of such a copy. `must_go_on` leaves out what it refuses; `step` hears how many
    messages have been sent.
    """

    mailbox: Mailbox
    where: str
    must_go_on: bool
    step: Step


class Sendings(NamedTuple):
    """What was sent, and what the target does not take: the ids, and why."""

    restored: Restored
    refused: tuple[int, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def send_anew(
    to: Anew, agents: Iterable[Agent], records: Collection[Record], known: int
) -> Sendings:
    """Make everybody known, then send the messages in the order of their threads (R9).

    `known` others are there already. A name that belongs to somebody else on that server is
    refused before anything is sent.
    """
    new_agents = _introduced(to, _everybody(agents, records))
    renumbered: list[tuple[int, int]] = []
    found: list[Diagnostic] = []
    refused: list[int] = []
    for count, record in enumerate(sorted(records, key=_order), 1):
        stored = record.stored
        try:
            sent = to.mailbox.send(stored.message, envelope=stored.envelope)
            renumbered.append((stored.id, sent.stored.id))
        except Refused as refusal:
            diagnostic = _not_taken(to, record, refusal)
            if not to.must_go_on:
                raise Refused(diagnostic) from None
            found.append(diagnostic)
            refused.append(stored.id)
        except Unavailable as failure:
            total = known + len(records)
            raise broke_off(failure, to.where, known + len(renumbered), total) from None
        to.step(count)
    moved = tuple((old, new) for old, new in renumbered if old != new)
    restored = Restored(len(renumbered), known, moved, new_agents)
    return Sendings(restored, tuple(refused), tuple(found))


def broke_off(failure: Unavailable, where: str, done: int, total: int) -> Unavailable:
    """What went wrong when messages were there already: not nothing was done."""
    reason = failure.diagnostic.message
    found = codes.COPY_BROKE_OFF.at(where=where, done=done, total=total, reason=reason)
    return type(failure)(found)


def _everybody(agents: Iterable[Agent], records: Iterable[Record]) -> list[Agent]:
    """Those who are known, and those whose names only stand in the mail."""
    found = {agent.name: agent for agent in agents}
    for record in records:
        found |= {agent.name: agent for agent in strangers(record.stored, found)}
    return list(found.values())


def _introduced(to: Anew, agents: Iterable[Agent]) -> tuple[str, ...]:
    """Everybody whom the target did not know."""
    try:
        return to.mailbox.restore(agents, ()).new_agents
    except Refused as refusal:
        found = refusal.diagnostic
        if found.code != NAME_ELSEWHERE:
            raise
        raise Refused(found._replace(fix=_TAKE_OVER)) from None


def _order(record: Record) -> tuple[datetime, int]:
    return order(record.stored)


def _not_taken(to: Anew, record: Record, refusal: Refused) -> Diagnostic:
    stored = record.stored
    found = codes.MESSAGE_NOT_TAKEN.at(
        where=to.where,
        id=stored.id,
        thread_id=stored.message.thread_id,
        reason=refusal.diagnostic.message,
    )
    return found._replace(message_id=stored.id)
