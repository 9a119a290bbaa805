"""What comes of the kickoffs of a session, or of one of its rounds: sent, tried, or broken off."""

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from brenner.diagnostics.codes.publishing import KICKOFFS_OVERTAKEN
from brenner.diagnostics.codes.sessions import KICKOFF_INCOMPLETE, LEFT_OUT_OF_ROSTER, ROLE_CHANGED
from brenner.diagnostics.model import BrennerError, Diagnostic, Refused
from brenner.mail.model import Profile
from brenner.protocol.roster import Roster
from brenner.text import joined
from brenner.workflows.asking_thread import AskingThread
from brenner.workflows.desk import Desk
from brenner.workflows.send_kickoffs import Addressed, State, role_told, send_missing


class Status(StrEnum):
    """How starting a session ended."""

    SENT = "sent"
    NOTHING = "nothing_to_send"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"
    DRY_RUN = "dry_run"


class Started(NamedTuple):
    """What was done. `registered` are the names that were made known, or would be.

    `failed` is what went wrong after the first kickoff had gone out. `round` is the number of a
    later round, where the kickoffs are of one. `digest` stands for what would be sent.
    """

    thread_id: str | None
    status: Status
    kickoffs: tuple[Addressed, ...]
    registered: tuple[str, ...]
    roster: Roster
    diagnostics: tuple[Diagnostic, ...]
    failed: BrennerError | None = None
    round: int | None = None
    digest: str = ""

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody whom the kickoffs are for."""
        return tuple(name for each in self.kickoffs for name in each.message.recipients)


def changed_roles(kickoffs: Iterable[Addressed], roster: Roster) -> Iterator[Diagnostic]:
    """Whoever was told another role before gets no second kickoff, so the operator must know."""
    for each in kickoffs:
        for name in each.message.recipients:
            role = role_told(roster, name)
            if each.stored and each.role != role:
                before, now = each.role or "one of all", role or "one of all"
                yield ROLE_CHANGED.at(name=name, id=each.stored.id, before=before, role=now)


def left_out(
    thread: AskingThread, kickoffs: Iterable[Addressed], roster: Roster
) -> list[Diagnostic]:
    """Those who were asked before, and whom the roster that is about to be told has not."""
    if all(each.stored for each in kickoffs):  # nothing is told
        return []
    names = sorted(name for name in thread.reached() if name not in roster.names)
    return [LEFT_OUT_OF_ROSTER.at(names=joined(names))] if names else []


def digest_of(kickoffs: Iterable[Addressed], base: int = 0) -> str:
    """What stands for all that would be sent, and for the message of the version beneath it."""
    letters = [
        [each.message.thread_id, each.message.recipients, each.message.subject, each.message.body]
        for each in kickoffs
        if each.stored is None
    ]
    return sha256(json.dumps([base, letters]).encode()).hexdigest()


def check_as_seen(started: Started, seen: str | None) -> None:
    """Refuse to send other kickoffs than somebody has looked at; None is whoever did not look."""
    if seen is not None and seen != started.digest:
        raise Refused(KICKOFFS_OVERTAKEN.at(thread_id=started.thread_id or ""))


def once(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each once: of the thread's ID the check of a kickoff says what was said before."""
    return tuple({(each.id, each.message): each for each in reversed([*found])}.values())[::-1]


def tried(started: Started, newcomers: Iterable[Profile]) -> Started:
    """What a dry run says: what would be sent, and who would be registered."""
    kickoffs = (
        each if each.stored else each._replace(state=State.DRY_RUN) for each in started.kickoffs
    )
    registered = tuple(profile.name for profile in newcomers)
    return started._replace(kickoffs=tuple(kickoffs), registered=registered)


def send_all(
    desk: Desk, thread: AskingThread, started: Started, newcomers: Iterable[Profile]
) -> Started:
    """Register whom nobody knows yet, then send what is missing."""
    registered = [desk.mailbox.register(profile) for profile in newcomers]
    kickoffs, failed = send_missing(thread, started.kickoffs, started.roster)
    is_sent = any(each.state is State.SENT for each in kickoffs)
    started = started._replace(
        status=Status.SENT if is_sent else Status.NOTHING,
        kickoffs=kickoffs,
        registered=tuple(each.agent.name for each in registered if each.before is None),
    )
    return _incomplete(started, failed) if failed else started


def _incomplete(started: Started, failed: BrennerError) -> Started:
    """What to say where it broke off; where nobody was reached, that is all there is to say."""
    missed = [each for each in started.kickoffs if each.state in (State.NOT_SENT, State.UNKNOWN)]
    reached = [each for each in started.kickoffs if each not in missed]
    if not reached:
        raise failed
    found = failed.diagnostic
    told = KICKOFF_INCOMPLETE.at(
        reached=_names(reached), missed=_names(missed), reason=found.message, hint=found.fix
    )
    return started._replace(
        status=Status.INCOMPLETE,
        diagnostics=(*started.diagnostics, told._replace(also=(found.id,))),
        failed=failed,
    )


def _names(kickoffs: Iterable[Addressed]) -> str:
    return ", ".join(
        f"{name} (or perhaps it has)" if each.state is State.UNKNOWN else name
        for each in kickoffs
        for name in each.message.recipients
    )
