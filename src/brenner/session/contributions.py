"""What each agent has brought into a session, and what of it stands.

What she sent is counted in the ledgers; what stands is read off who set what in the latest version.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from brenner.artifact.state import Change, Entry, Outcome, State
from brenner.diagnostics.model import ERROR, worst_first
from brenner.protocol.delta.schema import Operation


class RoundCounts(NamedTuple):
    """What became of the blocks of one agent in one round; round N is what version N is made of."""

    round: int
    applied: int = 0
    refused: int = 0
    duplicate: int = 0

    @property
    def blocks(self) -> int:
        """All of them."""
        return self.applied + self.refused + self.duplicate


class Contribution(NamedTuple):
    """What an agent has sent.

    `rounds` are those in which she sent blocks, the last of them perhaps not compiled yet. The
    items are those that versions have: `edited` and `killed` may be anybody's. `codes` say why
    blocks were refused, by the worst fault of each.
    """

    agent: str
    rounds: tuple[RoundCounts, ...] = ()
    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    codes: tuple[tuple[str, int], ...] = ()

    def count(self, outcome: Outcome) -> int:
        """How many of her blocks ended so, in all rounds."""
        return sum(getattr(each, outcome.value) for each in self.rounds)

    @property
    def blocks(self) -> int:
        """How many she sent."""
        return sum(each.blocks for each in self.rounds)


class Survival(NamedTuple):
    """What stands of an agent's work in a version.

    `active` and `killed` are the items that she added. `fields_set` counts how often she gave a
    field a value, `fields_standing` the values of hers that active items have.
    """

    active: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    fields_set: int = 0
    fields_standing: int = 0


def contributions(
    ledgers: Mapping[int, Iterable[Entry]], expected: Iterable[Entry] = ()
) -> dict[str, Contribution]:
    """What every author of blocks has sent.

    `ledgers` are those of the versions; `expected` is what would become of the blocks that none
    has read: they count, but their items are not there yet.
    """
    counting: defaultdict[str, _Counting] = defaultdict(_Counting)
    for number, entries in ledgers.items():
        for entry in entries:
            counting[entry.agent].take(entry, number, is_read=True)
    following = max(ledgers, default=0) + 1
    for entry in expected:
        counting[entry.agent].take(entry, following, is_read=False)
    return {agent: counted.contribution(agent) for agent, counted in counting.items()}


class _Counting:
    """The blocks of one agent while they are counted."""

    def __init__(self) -> None:
        self._rounds: dict[int, Counter[Outcome]] = {}
        self._codes: Counter[str] = Counter()
        self._items: dict[str, dict[str, None]] = {each.value: {} for each in Operation}

    def take(self, entry: Entry, number: int, *, is_read: bool) -> None:
        self._rounds.setdefault(number, Counter())[entry.state] += 1
        if entry.state is Outcome.REFUSED:
            self._codes.update([reason(entry)])
        elif entry.state is Outcome.APPLIED and is_read and entry.item_id and entry.operation:
            self._items[entry.operation][entry.item_id] = None

    def contribution(self, agent: str) -> Contribution:
        rounds = (
            RoundCounts(number, *(found[outcome] for outcome in Outcome))
            for number, found in sorted(self._rounds.items())
        )
        return Contribution(
            agent,
            tuple(rounds),
            added=tuple(self._items[Operation.ADD]),
            edited=tuple(self._items[Operation.EDIT]),
            killed=tuple(self._items[Operation.KILL]),
            codes=tuple(self._codes.most_common()),
        )


def reason(entry: Entry) -> str:
    """The code of the worst fault of a refused block; empty where it has none of its own."""
    errors = [found for found in entry.diagnostics if found.severity is ERROR]
    return min(errors, key=worst_first).id if errors else ""


def survivals(state: State) -> dict[str, Survival]:
    """What stands of everybody's work in a version."""
    fields = _Fields()
    active: dict[str, list[str]] = {}
    killed: dict[str, list[str]] = {}
    for _, item in state.artifact.all_items():
        authors: list[str] = []
        for path, change in state.blame.get(item.id, {}).items():
            if path[0] != "killed":
                authors += fields.take(change, is_active=item.is_active)
        for author in authors[:1]:
            (active if item.is_active else killed).setdefault(author, []).append(item.id)
    return {
        name: Survival(
            tuple(active.get(name, ())),
            tuple(killed.get(name, ())),
            fields.set[name],
            fields.standing[name],
        )
        for name in dict.fromkeys((*active, *killed, *fields.set))
    }


class _Fields:
    """How many fields everybody has set. What a KILL turns into `N/A` nobody has said."""

    def __init__(self) -> None:
        self.set: Counter[str] = Counter()
        self.standing: Counter[str] = Counter()

    def take(self, last: Change, *, is_active: bool) -> Iterator[str]:
        """Count a field with its history; what comes back is who added its item."""
        if is_active and last.value is not None and last.source.operation != Operation.KILL:
            self.standing[last.source.agent] += 1
        for change in last.history():
            source = change.source
            if source.operation != Operation.KILL and change.value is not None:
                self.set[source.agent] += 1
            if source.operation == Operation.ADD:
                yield source.agent
