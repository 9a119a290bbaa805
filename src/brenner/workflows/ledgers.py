"""What became of every block of a thread, version by version."""

from typing import NamedTuple

from brenner.artifact.ledger import Entry
from brenner.session.local_ids import local_ledger
from brenner.session.rebuild import Candidate, Rebuilt
from brenner.workflows.chains import check_usable, replay_chain
from brenner.workflows.desk import Desk


class VersionLedger(NamedTuple):
    """The blocks that one version has read; an adopted one has read none."""

    number: int
    entries: tuple[Entry, ...]


def ledgers(desk: Desk, thread_id: str) -> tuple[VersionLedger, ...]:
    """The ledger of every version, in order; all of them are rebuilt once."""
    check_usable(thread_id)
    found: list[VersionLedger] = []

    def watch(candidate: Candidate, rebuilt: Rebuilt) -> None:
        found.append(VersionLedger(candidate.number, local_ledger(candidate, rebuilt)))

    replay_chain(desk.mailbox, thread_id, desk.project.operator, watch)
    return tuple(found)


def ledger_of(desk: Desk, thread_id: str, number: int) -> tuple[Entry, ...]:
    """What became of every block that one version has read."""
    found = {each.number: each.entries for each in ledgers(desk, thread_id)}
    return found.get(number, ())
