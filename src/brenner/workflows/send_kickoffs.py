"""Send kickoffs: each to those of its recipients who have not got one yet."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from brenner.diagnostics.model import Altered, BrennerError, Uncertain
from brenner.mail.model import Stored
from brenner.protocol.messages import Message
from brenner.protocol.roster import Mode, Roster, role_in
from brenner.workflows.asking_thread import AskingThread


class State(StrEnum):
    """What became of one kickoff. Where a server was lost while it stored one, nobody knows."""

    SENT = "sent"
    SENT_BEFORE = "sent_before"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    DRY_RUN = "dry_run"


class Addressed(NamedTuple):
    """A kickoff, and the message that it has become in the mailbox, if it has.

    `role` is the one that it is for; in a session without roles there is none.
    """

    message: Message
    stored: Stored | None
    state: State
    role: str | None


def role_told(roster: Roster, name: str) -> str | None:
    """The role that a kickoff tells an agent."""
    return None if roster.mode == Mode.UNIFIED else role_in(roster, name)


def addressed(message: Message, thread: AskingThread, roster: Roster) -> Iterator[Addressed]:
    """A kickoff as it went to some before, and as it goes to those who have not got one."""
    reached = thread.reached()
    before: dict[int, list[str]] = {}
    for name in message.recipients:
        if name in reached:
            before.setdefault(reached[name].stored.id, []).append(name)
    for names in before.values():
        asked = reached[names[0]]
        sent = asked.stored.message._replace(recipients=tuple(names))
        role = role_told(asked.roster or roster, names[0])
        yield Addressed(sent, asked.stored, State.SENT_BEFORE, role)
    missing = tuple(name for name in message.recipients if name not in reached)
    if missing:
        to_them = message._replace(recipients=missing)
        yield Addressed(to_them, None, State.NOT_SENT, role_told(roster, missing[0]))


def send_missing(
    thread: AskingThread, kickoffs: Iterable[Addressed], roster: Roster
) -> tuple[tuple[Addressed, ...], BrennerError | None]:
    """Send one after the other; at the first that fails the rest stays as it is."""
    done: list[Addressed] = []
    failed: BrennerError | None = None
    for each in kickoffs:
        if each.state is not State.NOT_SENT or failed:
            done.append(each)
            continue
        try:
            done += _sent(each.message, thread, roster)
        except BrennerError as error:
            failed = error
            is_unknown = isinstance(error, Uncertain | Altered)  # what is there is to be looked at
            done.append(each._replace(state=State.UNKNOWN) if is_unknown else each)
    return tuple(done), failed


def _sent(message: Message, thread: AskingThread, roster: Roster) -> list[Addressed]:
    """The kickoff, sent; also where somebody else was quicker with some of its recipients."""
    stored = thread.send(message)
    split = list(addressed(message, thread, roster))
    return [
        each._replace(state=State.SENT)
        if stored and each.stored and each.stored.id == stored.id
        else each
        for each in split
    ]
