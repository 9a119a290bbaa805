"""Which ADDs of a message equal an applied one of an earlier message (R8).

Each stands for the item that the first one became, so that a message resent with one block
corrected adds only that block. Blocks are compared with their IDs resolved, and an ADD may name
another one of the same message: then it can be compared only when that one has been.
"""

import heapq
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from brenner.artifact.merging.authors import Applied, Author, Key, block_key
from brenner.artifact.merging.draft import Draft
from brenner.artifact.merging.mentions import Mention, with_ids
from brenner.artifact.merging.numbering import Target
from brenner.protocol.delta.schema import Delta, DeltaBlock, Operation


class Resent(NamedTuple):
    """The ADDs that were resent, with the first ones; and what those that are new compare by."""

    firsts: Mapping[int, Applied]
    keys: Mapping[int, Key]


def plain_adds(blocks: list[DeltaBlock], named: Mapping[int, list[Mention]]) -> dict[int, Key]:
    """The ADDs that name nothing, and so mean the same in every view, with their keys."""
    return {
        block.number: block_key(block.delta, None, block.delta.payload, 0)
        for block in blocks
        if block.delta is not None and block.delta.operation is Operation.ADD
        if not named[block.number]
    }


def plainly_resent(
    keys: Mapping[int, Key], blocks: list[DeltaBlock], draft: Draft, author: Author
) -> dict[int, str]:
    """Those of them that were resent, with their items: known before any view is chosen."""
    search = _Search(draft, author, _kills(blocks, {}))
    found = {number: search.first_of(number, key) for number, key in keys.items()}
    return {number: first.item_id for number, first in found.items() if first is not None}


def resent_adds(
    blocks: list[DeltaBlock],
    meant: Mapping[int, Mapping[str, Target | None]],
    plain: Mapping[int, Key],
    draft: Draft,
    author: Author,
) -> Resent:
    """All of them, given what the IDs in each block mean."""
    adds = {
        block.number: block.delta
        for block in blocks
        if block.delta is not None and block.delta.operation is Operation.ADD
    }
    kills = _kills(blocks, {w: t for found in meant.values() for w, t in found.items()})
    search = _Search(draft, author, kills)
    needs = {
        number: {target for target in meant[number].values() if isinstance(target, int)}
        for number in adds
    }
    needed_by: dict[int, list[int]] = {}
    for number, wanted in needs.items():
        for each in wanted:
            needed_by.setdefault(each, []).append(number)
    firsts: dict[int, Applied] = {}
    keys = dict(plain)
    waiting = [number for number, wanted in needs.items() if not wanted]
    heapq.heapify(waiting)  # in their order, so that of equal ADDs the first is the first's
    while waiting:
        number = heapq.heappop(waiting)
        key = keys.get(number) or _key(adds[number], meant[number], firsts, draft)
        if key is None:
            continue
        keys[number] = key
        first = search.first_of(number, key)
        if first is not None:
            firsts[number] = first
            for dependent in needed_by.get(number, ()):
                needs[dependent].discard(number)
                if not needs[dependent]:
                    heapq.heappush(waiting, dependent)
    left = {number: adds[number] for number, wanted in needs.items() if wanted}
    if left:
        firsts |= _in_circles(left, meant, firsts, search)
    return Resent(firsts, keys)


def _in_circles(
    left: Mapping[int, Delta],
    meant: Mapping[int, Mapping[str, Target | None]],
    firsts: Mapping[int, Applied],
    search: "_Search",
) -> dict[int, Applied]:
    """Those among ADDs that name each other: guessed by what is written, kept where it all fits."""
    guess = {}
    for number, delta in left.items():
        first = search.first_of(number, block_key(delta, None, delta.payload, 0), as_written=True)
        if first is not None:
            guess[number] = first
    while True:
        known = {**firsts, **guess}
        wrong = []
        for number, first in guess.items():
            key = _key(left[number], meant[number], known, search.draft)
            if key is None or first not in search.author.firsts(key):
                wrong.append(number)
        if not wrong:
            return guess
        for number in wrong:
            del guess[number]


class _Search:
    """Finds the first of each ADD: of equal ones the first for the first, and so on."""

    def __init__(self, draft: Draft, author: Author, kills: Mapping[str, int]) -> None:
        self.draft = draft
        self.author = author
        self._kills = kills
        self._taken: Counter[Key] = Counter()

    def first_of(self, number: int, key: Key, *, as_written: bool = False) -> Applied | None:
        """The applied ADD that this block repeats, while that item is active."""
        known = self.author.firsts(key, as_written=as_written)
        active = [first for first in known if self._stands(first.item_id, number)]
        if not active:
            return None
        self._taken[key] += 1
        return active[min(self._taken[key], len(active)) - 1]

    def _stands(self, item_id: str, number: int) -> bool:
        """Whether the item is active, and no block above this one kills it."""
        return not self.draft.is_killed(item_id) and self._kills.get(item_id, number) >= number


def _kills(blocks: list[DeltaBlock], meaning: Mapping[str, Target | None]) -> dict[str, int]:
    """The items that the message kills, each with the first block that does."""
    kills: dict[str, int] = {}
    for block in blocks:
        if block.delta is not None and block.delta.operation is Operation.KILL:
            written = block.delta.target_id or ""
            target = meaning.get(written, written)
            if isinstance(target, str):
                kills.setdefault(target, block.number)
    return kills


def _key(
    delta: Delta, meant: Mapping[str, Target | None], firsts: Mapping[int, Applied], draft: Draft
) -> Key | None:
    """What the ADD is compared by; nothing, if it names what does not exist or is new."""
    ids = {written: target for written, target in meant.items() if isinstance(target, str)}
    ids |= {
        written: firsts[target].item_id
        for written, target in meant.items()
        if isinstance(target, int) and target in firsts
    }
    if len(ids) < len(meant):
        return None
    return block_key(delta, None, with_ids(delta, ids, draft.thread_id), 0)
