"""Merging ADDs, EDITs and list-growing EDITs against building the same values alone.

The lower bound builds, for every block, what a merge must leave behind: the item or the new value,
the blame record of every field, the ledger entry. It decides nothing and compares nothing.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import cast

from brenner.artifact.merge.engine import merge_parsed
from brenner.artifact.merge.resolve import DeltaMessage, parse_posted
from brenner.artifact.model import Fields, Item
from brenner.artifact.state import BlockOutcome, Change, Entry, Source, State, empty_state
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta, Operation
from brenner.protocol.messages import Message, StoredMessage
from measure import best_of, heading, milliseconds, row

THREAD = "RS-20251230-cell-fate"
START = datetime(2025, 12, 30, 10, tzinfo=UTC)
BLOCKS_PER_MESSAGE = 20


def add(number: int) -> Delta:
    """A new assumption."""
    payload = {
        "name": f"Stable gradient {number}",
        "statement": f"The gradient keeps its shape for {number} hours.",
        "load": "H2 falls, and with it T1.",
        "test": "Image the gradient hourly.",
        "status": "unchecked",
    }
    return Delta(Operation.ADD, "assumption_ledger", None, payload, "A load that nobody had named")


def edit(number: int) -> Delta:
    """Another text for a field that every edit sets."""
    payload = {"load": f"H2 falls, and {number} tests with it."}
    return Delta(Operation.EDIT, "assumption_ledger", "A1", payload, "Counted again")


def grow(number: int) -> Delta:
    """One more element of a list."""
    payload = {"anchors": [f"§{number + 1}"]}
    return Delta(Operation.EDIT, "research_thread", "RT", payload, "Another source")


WORK: dict[str, Callable[[int], Delta]] = {"ADD": add, "EDIT": edit, "list-growing EDIT": grow}
_AIMS = {"ADD": 3.5, "EDIT": 6, "list-growing EDIT": 6}


def contributions(make: Callable[[int], Delta], count: int) -> list[DeltaMessage]:
    """So many deltas, in messages of some blocks each, by three authors in turn."""
    return [
        contribution(
            number, [make(n) for n in range(start, min(start + BLOCKS_PER_MESSAGE, count))]
        )
        for number, start in enumerate(range(0, count, BLOCKS_PER_MESSAGE), 2)
    ]


def contribution(number: int, deltas: list[Delta]) -> DeltaMessage:
    """One message, read."""
    body = "# Delta Contribution\n\n## Deltas\n\n" + "\n".join(map(render_delta, deltas))
    sender = ("BlueLake", "RedSky", "GreenHill")[number % 3]
    message = Message(THREAD, sender, ("Operator",), "DELTA[opus]: A contribution", body)
    read = parse_posted(StoredMessage(number, START + timedelta(seconds=number), message))
    assert isinstance(read, DeltaMessage)
    return read


def build(deltas: list[Delta]) -> object:
    """What a merge of these deltas must build at the least."""
    return list(_built(deltas))


def _built(deltas: list[Delta]) -> Iterator[object]:
    for number, delta in enumerate(deltas, 1):
        operation = delta.operation.value
        source = Source(number, "BlueLake", 1, 1, operation)
        paths = {(name,): Change(source, value) for name, value in delta.payload.items()}
        item_id = f"A{number}"
        if delta.operation is Operation.ADD:
            yield Item(item_id, MappingProxyType(dict(cast("Fields", delta.payload))))
        yield paths
        yield Entry(
            *(number, 1, 7, "BlueLake", operation, delta.section, delta.target_id),
            BlockOutcome.APPLIED,
            item_id, item_id,
        )  # fmt: skip


def start() -> State:
    """A thread with one assumption, published."""
    first = merge_parsed(empty_state(THREAD), [contribution(1, [add(0)])])
    return first.publish(1, START + timedelta(milliseconds=1500))


def run() -> None:
    """100, 1,000 and 10,000 deltas of each kind; growth is per delta, from first to last."""
    counts = (100, 1_000, 10_000)
    columns = ("deltas", "building alone", "merge", "ratio", "growth per delta", "aim")
    heading("Merging", *columns)
    state = start()
    for name, make in WORK.items():
        per_delta = []
        for count in counts:
            brought = contributions(make, count)
            deltas = [block.delta for each in brought for block in each.blocks if block.delta]
            merged = merge_parsed(state, brought)
            assert [entry.state for entry in merged.ledger] == [BlockOutcome.APPLIED] * count
            bound = best_of(partial(build, deltas))
            taken = best_of(partial(merge_parsed, state, brought))
            per_delta.append(taken / count)
            growth = f"{per_delta[-1] / per_delta[0]:.2f} ×"
            aim = f"{_AIMS[name]} ×, linear" if count == counts[-1] else ""
            figures = (milliseconds(bound), milliseconds(taken), f"{taken / bound:.2f} ×")
            row(f"{count:,} {name}s", *figures, growth, aim)
