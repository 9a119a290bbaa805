"""The next round of a long thread: from the state that was kept, and from nothing.

A thread of so many messages, in rounds of ten, by five agents; a message has two blocks, nearly all
of them EDITs. Measured is the round after that: merging ten messages, rendering the artifact, and
writing the state for the round that follows. There are two bounds: the same round with a state that
is in memory and stays there; and reading all of the kept text, where a round reads what it needs.
"""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import ITEM_SECTIONS
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import decode_state, encode_state
from brenner.artifact.state import BlockOutcome, State, empty_state
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta, FieldKind, Operation, Section
from brenner.protocol.messages import Message, StoredMessage
from measure import best_of, heading, milliseconds, row

SIZES = (100, 1_000, 10_000)
PER_ROUND, BLOCKS = 10, 2
THREAD = "RS-20251230-cell-fate"
START = datetime(2025, 12, 30, 10, tzinfo=UTC)
AGENTS = ("BlueLake", "RedSky", "GreenHill", "TallTree", "Owl")
ITEMS = {"H": 6, "P": 10, "T": 12, "A": 18, "X": 6, "C": 8}  # sixty at the beginning
_WORDS = "Follow the marks through {} divisions of a transplanted cell, and count the differences."
_VALUES: dict[FieldKind, object] = {
    FieldKind.ANCHORS: ["§42", "inference"],
    FieldKind.ITEMS: ["H1"],
    FieldKind.OUTCOMES: {"H1": "The marks stay", "H2": "The marks are lost"},
}

Make = Callable[[int], Delta]  # the delta of that number


def add(section: Section, number: int) -> Delta:
    """A new item with the fields that it must have."""
    payload = {
        field.name: _VALUES.get(field.kind, field.choices[0] if field.choices else _text(number))
        for field in section.fields.values()
        if field.required
    }
    return Delta(Operation.ADD, section.id, None, payload, "Nobody had named it")


def edit(number: int) -> Delta:
    """Another text for a field of one of the first items; all of them have their turn."""
    section = ITEM_SECTIONS[number % len(ITEM_SECTIONS)]
    texts = [name for name in section.fields if name in section.texts & section.required]
    turn = number // len(ITEM_SECTIONS)
    target = f"{section.prefix}{turn % ITEMS[section.prefix] + 1}"
    payload = {texts[turn % len(texts)]: _text(number)}
    return Delta(Operation.EDIT, section.id, target, payload, "Counted again")


def sometimes_add(number: int) -> Delta:
    """One assumption more in every tenth message."""
    every = PER_ROUND * BLOCKS
    return edit(number) if number % every else add(ITEM_SECTIONS[3], number)


def _text(number: int) -> str:
    return _WORDS.format(number)


THREADS: dict[str, Make] = {"60 items": edit, "growing": sometimes_add}


class Clock:
    """The numbers and times of a store, which go up by one."""

    def __init__(self) -> None:
        self.number = 0

    def tick(self) -> tuple[int, datetime]:
        """The next number and its time."""
        self.number += 1
        return self.number, START + timedelta(seconds=self.number)


def post(clock: Clock, deltas: list[Delta]) -> StoredMessage:
    """One message, as a store has it."""
    number, at = clock.tick()
    body = "# Delta Contribution\n\n## Deltas\n\n" + "\n".join(map(render_delta, deltas))
    sender = AGENTS[number % len(AGENTS)]
    return StoredMessage(
        number, at, Message(THREAD, sender, ("Operator",), "DELTA[opus]: News", body)
    )


def a_round(clock: Clock, make: Make, first: int) -> list[StoredMessage]:
    """Ten messages, beginning with the message of that number."""
    return [
        post(clock, [make(message * BLOCKS + block) for block in range(BLOCKS)])
        for message in range(first, first + PER_ROUND)
    ]


class Loop(NamedTuple):
    """A thread of some length: what all its rounds took, its state, and the round that is next."""

    seconds: float
    state: State
    messages: list[StoredMessage]
    compiled: tuple[int, datetime]


def play(make: Make, size: int) -> Loop:
    """Merge round by round, rendering each version, as one who knows nothing must."""
    clock = Clock()
    opening = [add(each, n) for each in ITEM_SECTIONS for n in range(ITEMS[each.prefix])]
    state = merge(empty_state(THREAD), [post(clock, opening)]).publish(*clock.tick())
    seconds = 0.0
    for first in range(0, size, PER_ROUND):
        messages = a_round(clock, make, first)
        start = time.perf_counter()
        result = merge(state, messages)
        render_artifact(result.artifact)
        seconds += time.perf_counter() - start
        state = result.publish(*clock.tick())
        assert all(entry.state is BlockOutcome.APPLIED for entry in result.ledger)
    return Loop(seconds, state, a_round(clock, make, size), clock.tick())


def in_memory(state: State, messages: list[StoredMessage]) -> Merge:
    """What is new, and nothing else."""
    result = merge(state, messages)
    render_artifact(result.artifact)
    return result


def from_kept(text: str, loop: Loop) -> str:
    """The next round as it is compiled: from the kept text to the one that is kept then."""
    result = in_memory(decode_state(text), loop.messages)
    return encode_state(result.publish(*loop.compiled))


def read_all(text: str) -> list[object]:
    """Everything that the text says."""
    return [json.loads(part) for line in text.split("\n") for part in line.split("\t")]


def run() -> None:
    """100, 1,000 and 10,000 messages; growth is that of the next round, from first to last."""
    columns = ("all rounds", "next round", "of all", "growth", "in memory", "ratio", "reading all")
    heading("The next round of ten messages", "", *columns)
    for name, make in THREADS.items():
        taken: list[float] = []
        for size in SIZES:
            loop = play(make, size)
            text = encode_state(loop.state)
            assert from_kept(text, loop) == encode_state(
                in_memory(loop.state, loop.messages).publish(*loop.compiled)
            )
            memory = best_of(partial(in_memory, loop.state, loop.messages))
            loop = loop._replace(state=empty_state(THREAD))  # a compiler does not have it either
            taken.append(best_of(partial(from_kept, text, loop)))
            row(
                f"{size:,} messages, {name}",
                milliseconds(loop.seconds),
                milliseconds(taken[-1]),
                f"{taken[-1] / loop.seconds:.1%}",
                f"{taken[-1] / taken[0]:.2f} ×",
                milliseconds(memory),
                f"{taken[-1] / memory:.2f} ×",
                milliseconds(best_of(partial(read_all, text), least_runs=3)),
            )
        print(f"  {SIZES[-1]:,} messages are {len(text) / 1e6:.1f} MB of kept text.")
