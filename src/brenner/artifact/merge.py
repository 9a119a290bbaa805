"""Merging: a published state and the messages that no version has read yet make the next version.

A pure function: the same input gives the same output, byte for byte. Messages are put into the
order of R9 and taken one after the other, whatever order they come in.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from brenner.artifact.blame import Blame
from brenner.artifact.conflicts import Conflict
from brenner.artifact.ledger import Entry
from brenner.artifact.merging.circles import NOWHERE, Elsewhere, LeftOut
from brenner.artifact.merging.contribution import Contribution, Kickoff, read_posted
from brenner.artifact.merging.round import Round
from brenner.artifact.merging.shortcomings import shortcomings, unknown_agents
from brenner.artifact.model import Artifact
from brenner.artifact.state import State, Version
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.messages import Posted, in_thread_order

OPERATOR = "Operator"


class Merge(NamedTuple):
    """The next version, not yet published, with the account of how it came about."""

    state: State
    ledger: tuple[Entry, ...]
    warnings: tuple[Diagnostic, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def artifact(self) -> Artifact:
        """The artifact of the next version."""
        return self.state.artifact

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """All conflicts that are open now."""
        return self.state.conflicts

    @property
    def blame(self) -> Blame:
        """Who set what."""
        return self.state.blame

    def publish(self, message_id: int, at: datetime) -> State:
        """The state after the COMPILED message of this version was posted."""
        number = self.artifact.metadata.version or 0
        version = Version(number, at, message_id, self.state.counts)
        return self.state._replace(versions=(*self.state.versions, version))


def merge(
    state: State,
    messages: Iterable[Posted],
    roster: Collection[str] | None = None,
    operator: str = OPERATOR,
    elsewhere: Elsewhere = NOWHERE,
) -> Merge:
    """Merge what KICKOFF and DELTA messages bring; messages of other types bring nothing.

    All must be messages of the state's thread. `roster` are the session's agents, where that is
    known from elsewhere than its kickoffs. `elsewhere` is what no circle of references is to be
    closed through.
    """
    read = map(read_posted, sorted(messages, key=in_thread_order))
    brought = [each for each in read if each is not None]
    return merge_read(state, brought, roster, operator, elsewhere)


def merge_read(
    state: State,
    brought: Iterable[Contribution | Kickoff],
    roster: Collection[str] | None = None,
    operator: str = OPERATOR,
    elsewhere: Elsewhere = NOWHERE,
) -> Merge:
    """Merge messages that were read already and stand in their order."""
    current = Round(state, elsewhere)
    for each in brought:
        current.take(each)
    after = current.end()
    agents = after.artifact.metadata.agents or None if roster is None else roster
    warnings = (
        *current.warnings,
        *unknown_agents(current.senders, agents, operator),
        *shortcomings(after.artifact, after.has_question),
    )
    return Merge(after, tuple(current.ledger), warnings, tuple(current.left_out))
