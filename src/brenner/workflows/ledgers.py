"""What became of every block of a thread, version by version."""

from collections.abc import Sequence
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.state import Conflict, Entry
from brenner.session.rebuild import Candidate, Filed, Rebuilt, local_ledger
from brenner.session.versions import Watch, replay
from brenner.workflows.chains import check_usable, replay_chain
from brenner.workflows.desk import Desk


class VersionLedger(NamedTuple):
    """The blocks that one version has read, the artifact after them, and what is in conflict in it.

    An adopted one has read none.
    """

    number: int
    entries: tuple[Entry, ...]
    artifact: Artifact | None = None
    conflicts: tuple[Conflict, ...] = ()


def ledgers(desk: Desk, thread_id: str) -> tuple[VersionLedger, ...]:
    """The ledger of every version, in order; all of them are rebuilt once."""
    check_usable(thread_id)
    found: list[VersionLedger] = []
    replay_chain(desk.mailbox, thread_id, desk.project.operator, gathered(found))
    return tuple(found)


def ledgers_in(
    thread_id: str, messages: Sequence[Filed], operator: str
) -> tuple[VersionLedger, ...]:
    """The same of messages that are at hand."""
    found: list[VersionLedger] = []
    replay(thread_id, messages, operator, gathered(found))
    return tuple(found)


def gathered(found: list[VersionLedger]) -> Watch:
    """What looks on while versions are rebuilt, and gathers their ledgers."""

    def watch(candidate: Candidate, rebuilt: Rebuilt) -> None:
        entries = local_ledger(candidate, rebuilt)
        conflicts = tuple(rebuilt.state.conflicts)
        found.append(VersionLedger(candidate.number, entries, rebuilt.artifact, conflicts))

    return watch


def ledger_of(desk: Desk, thread_id: str, number: int) -> tuple[Entry, ...]:
    """What became of every block that one version has read."""
    found = {each.number: each.entries for each in ledgers(desk, thread_id)}
    return found.get(number, ())
