"""Lanes: how each hypothesis came to be what it is, as marks on a line over the versions.

A mark is one message that added, changed or killed the hypothesis, attacked it, registered an
anomaly against it, or recorded a result for or against it. All marks come from the blame of the
working state, so a lane also shows what no version has published yet.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import StrEnum
from typing import TYPE_CHECKING

from brenner.artifact.model import Artifact, Item, Result
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    ADD,
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    KILL,
)
from brenner.protocol.grammar import ITEM_ID_IN_PROSE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.artifact.state import Blame, Change, Path, Source


class MarkKind(StrEnum):
    """What happened to a hypothesis; the values are stable in the JSON."""

    BORN = "born"
    CHANGED = "changed"
    ATTACKED = "attacked"
    ANOMALY = "anomaly"
    CONTRADICTED = "contradicted"
    SUPPORTED = "supported"
    KILLED = "killed"


class LaneMark(NamedTuple):
    """One message in the lane of a hypothesis.

    `item` is the item that did it: the critique, anomaly or test; None for a CRITIQUE message and
    for the author of the hypothesis itself. `fields` are those that a change set. `place` is where
    it is between the first version (0) and the latest (1).
    """

    kind: MarkKind
    version: int
    message_id: int
    agent: str
    item: str | None = None
    fields: tuple[str, ...] = ()
    place: float = 0.0


class Lane(NamedTuple):
    """A hypothesis with its marks, oldest first, and the part of the line on which it lives.

    A hypothesis of an adopted version has no known birth, and so lives from the start.
    """

    hypothesis: Item
    marks: tuple[LaneMark, ...]
    start: float
    end: float


class VersionColumn(NamedTuple):
    """The part of all lanes whose messages a version has read; `end` is where it is published."""

    version: int
    end: float


class Lanes(NamedTuple):
    columns: tuple[VersionColumn, ...]
    lanes: tuple[Lane, ...]


class Attack(NamedTuple):
    """A CRITIQUE message, the version that followed it, and the hypotheses that it targets."""

    message_id: int
    agent: str
    version: int
    targets: tuple[str, ...]


def lanes_of(
    artifact: Artifact, blame: Blame, versions: Sequence[int], attacks: Iterable[Attack] = ()
) -> Lanes:
    """Return the lanes of all hypotheses, in their order.

    `versions` are the published ones. A mark of a later version makes one more column.
    """
    hypotheses = artifact.sections[HYPOTHESIS_SLATE.id]
    found: dict[str, list[LaneMark]] = {
        item.id: list(_own(blame.get(item.id, {}))) for item in hypotheses
    }
    for target, mark in (*_of_others(artifact, blame), *_of_messages(attacks)):
        if target in found:
            found[target].append(mark)
    marks = [mark for some in found.values() for mark in some]
    columns = sorted({*versions, *(mark.version for mark in marks)})
    places = _places(marks, columns)
    return Lanes(
        tuple(
            VersionColumn(version, number / len(columns))
            for number, version in enumerate(columns, 1)
        ),
        tuple(_lane(item, found[item.id], places) for item in hypotheses),
    )


def _lane(item: Item, marks: Iterable[LaneMark], places: Mapping[tuple[int, int], float]) -> Lane:
    placed = sorted(
        (mark._replace(place=places[mark.version, mark.message_id]) for mark in marks), key=_order
    )
    born = (mark.place for mark in placed if mark.kind is MarkKind.BORN)
    killed = [mark.place for mark in placed if mark.kind is MarkKind.KILLED]
    end = killed[-1] if killed and item.killed else 1.0
    return Lane(item, tuple(placed), next(born, 0.0), end)


def _order(mark: LaneMark) -> tuple[float, int]:
    return mark.place, _KIND_ORDER.index(mark.kind)


_KIND_ORDER = tuple(MarkKind)


def _places(marks: Iterable[LaneMark], columns: Sequence[int]) -> dict[tuple[int, int], float]:
    """Return the place of each message: evenly spread over the column of its version."""
    messages: dict[int, list[int]] = {}
    for version, message_id in sorted({(mark.version, mark.message_id) for mark in marks}):
        messages.setdefault(version, []).append(message_id)
    return {
        (version, message_id): (bisect_left(columns, version) + number / (len(ids) + 1))
        / len(columns)
        for version, ids in messages.items()
        for number, message_id in enumerate(ids, 1)
    }


# The author's own marks


_KIND_OF_OPERATION: Mapping[str, MarkKind] = {ADD: MarkKind.BORN, KILL: MarkKind.KILLED}


def _own(changes: Mapping[Path, Change]) -> Iterator[LaneMark]:
    """Yield one mark for each message and operation that set fields of the hypothesis."""
    fields: dict[tuple[Source, MarkKind], dict[str, None]] = {}
    for path, last in changes.items():
        for change in last.history():
            kind = _KIND_OF_OPERATION.get(change.source.operation, MarkKind.CHANGED)
            source = change.source._replace(block=0)
            fields.setdefault((source, kind), {})[path[0]] = None
    for (source, kind), names in fields.items():
        shown = tuple(names) if kind is MarkKind.CHANGED else ()
        yield _mark(kind, source)._replace(fields=shown)


def _mark(kind: MarkKind, source: Source, item: str | None = None) -> LaneMark:
    return LaneMark(kind, source.version, source.message_id, source.agent, item)


# The marks of critiques, anomalies and results


def _of_others(artifact: Artifact, blame: Blame) -> Iterator[tuple[str, LaneMark]]:
    for critique in artifact.sections[ADVERSARIAL_CRITIQUE.id]:
        source = _added(blame.get(critique.id, {}))
        if source:
            mark = _mark(MarkKind.ATTACKED, source, critique.id)
            yield from ((target, mark) for target in attacked_items(critique))
    for anomaly in artifact.sections[ANOMALY_REGISTER.id]:
        changes = blame.get(anomaly.id, {})
        for target in anomaly.listed("conflicts_with"):
            change = changes.get(("conflicts_with", target))
            if change:
                yield target, _mark(MarkKind.ANOMALY, change.source, anomaly.id)
    for test in artifact.sections[DISCRIMINATIVE_TESTS.id]:
        if test.results:
            yield from _of_results(test, blame.get(test.id, {}))


def _of_results(test: Item, changes: Mapping[Path, Change]) -> Iterator[tuple[str, LaneMark]]:
    for path, change in changes.items():
        result = change.value
        if path[0] != "results" or not isinstance(result, Result) or not result.has_verdict:
            continue
        for kind, targets in (
            (MarkKind.CONTRADICTED, result.contradicts),
            (MarkKind.SUPPORTED, result.supports),
        ):
            yield from ((target, _mark(kind, change.source, test.id)) for target in targets)


def attacked_items(critique: Item) -> tuple[str, ...]:
    """Return the items that a critique names in its name, attack and evidence, each once."""
    text = "\n".join(critique.text(name) for name in ("name", "attack", "evidence"))
    return tuple(dict.fromkeys(ITEM_ID_IN_PROSE.findall(text)))


def _added(changes: Mapping[Path, Change]) -> Source | None:
    found = (change.source for last in changes.values() for change in last.history())
    return next((source for source in found if source.operation == ADD), None)


def _of_messages(attacks: Iterable[Attack]) -> Iterator[tuple[str, LaneMark]]:
    for attack in attacks:
        mark = LaneMark(MarkKind.ATTACKED, attack.version, attack.message_id, attack.agent)
        yield from ((target, mark) for target in attack.targets)
