"""A message as its author means it: what each ID in it stands for (R8, R11)."""

from collections.abc import Mapping
from typing import NamedTuple

from brenner.artifact.authors import Applied, Author, block_key
from brenner.artifact.contribution import Contribution
from brenner.artifact.draft import Draft
from brenner.artifact.mentions import Mention, mentions, with_ids
from brenner.artifact.numbering import Target, Views, own_adds, views
from brenner.artifact.state import Version
from brenner.delta.model import Delta
from brenner.delta.schema import Operation


class Reading(NamedTuple):
    """The mentions of every block, and what they mean in the view that holds.

    `resent` are the ADDs that equal an applied one of an earlier message: they stand for its item.
    """

    contribution: Contribution
    base: Version
    views: Views
    names: Mapping[str, int]
    mentions: Mapping[int, list[Mention]]
    items: Mapping[str, object]
    resent: Mapping[int, Applied]

    @property
    def is_stated(self) -> bool:
        """Whether the message states the base that it is read by."""
        return self.contribution.stated_base == self.base.number

    def meaning(self, written: str) -> Target | None:
        """What an ID or an `@name` means: an item, an ADD of this message, or nothing."""
        target = self.names.get(written) or self.views.chosen.meaning(written)
        return self._known(target)

    def other_meaning(self, written: str) -> Target | None:
        """What it would mean in the thread view, where the base view holds."""
        target = self.names.get(written) or self.views.thread.meaning(written)
        return self._known(target)

    def _known(self, target: Target | None) -> Target | None:
        if isinstance(target, int):
            first = self.resent.get(target)
            return first.item_id if first else target
        return target if target in self.items else None


def read_message(
    contribution: Contribution, base: Version, draft: Draft, author: Author, thread_id: str
) -> Reading:
    """Find out what the IDs of a message mean."""
    named: dict[int, list[Mention]] = {}
    names: dict[str, int] = {}
    for block in contribution.blocks:
        if block.delta is not None:
            named[block.number] = mentions(block.delta, thread_id)
            if block.delta.local_id is not None:
                names[f"@{block.delta.local_id}"] = block.number
    ids = {each.written for found in named.values() for each in found}
    both = views(ids, own_adds(contribution.blocks), base, draft.counts, author)
    reading = Reading(contribution, base, both, names, named, draft.items, {})
    if not author.blocks:
        return reading
    return reading._replace(resent=_resent(reading, draft, author, thread_id))


def _resent(reading: Reading, draft: Draft, author: Author, thread_id: str) -> dict[int, Applied]:
    """The ADDs that equal an applied one, while that item is active.

    An ADD can be compared only when those that it names are: one that names a new item is new.
    """
    adds = {
        block.number: block.delta
        for block in reading.contribution.blocks
        if block.delta is not None and block.delta.operation is Operation.ADD
    }
    needs = {number: _named_adds(reading, number) for number in adds}
    needed_by: dict[int, list[int]] = {}
    for number, wanted in needs.items():
        for each in wanted:
            needed_by.setdefault(each, []).append(number)
    killed = _kills(reading)
    resent: dict[int, Applied] = {}
    waiting = [number for number, wanted in needs.items() if not wanted]
    while waiting:
        number = waiting.pop()
        first = _applied_before(
            adds[number], reading._replace(resent=resent), author, thread_id, number
        )
        is_new = (
            first is None
            or draft.is_killed(first.item_id)
            or killed.get(first.item_id, number) < number
        )
        if first is None or is_new:
            continue
        resent[number] = first
        for dependent in needed_by.get(number, ()):
            needs[dependent].discard(number)
            if not needs[dependent]:
                waiting.append(dependent)
    return resent


def _named_adds(reading: Reading, number: int) -> set[int]:
    meanings = (reading.meaning(each.written) for each in reading.mentions[number])
    return {target for target in meanings if isinstance(target, int)}


def _kills(reading: Reading) -> dict[str, int]:
    """The items that the message kills, each with the first block that does."""
    kills: dict[str, int] = {}
    for block in reading.contribution.blocks:
        if block.delta is not None and block.delta.operation is Operation.KILL:
            target = reading.meaning(block.delta.target_id or "")
            if isinstance(target, str):
                kills.setdefault(target, block.number)
    return kills


def _applied_before(
    delta: Delta, reading: Reading, author: Author, thread_id: str, number: int
) -> Applied | None:
    meant = {each.written: reading.meaning(each.written) for each in reading.mentions[number]}
    known = {written: target for written, target in meant.items() if isinstance(target, str)}
    if len(known) < len(meant):
        return None
    payload = with_ids(delta, known, thread_id) if known else delta.payload
    return author.blocks.get(block_key(delta, None, payload, reading.base.number))
