"""A message as its author means it: what each ID in it stands for (R8, R11)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from brenner.artifact.merging.authors import Applied, Author, Key, block_key
from brenner.artifact.merging.contribution import Contribution
from brenner.artifact.merging.draft import Draft
from brenner.artifact.merging.mentions import Mention, mentions, with_ids
from brenner.artifact.merging.numbering import OwnItems, Target, View, Views, own_adds, views
from brenner.artifact.state import Moment, Version
from brenner.delta.model import Delta
from brenner.delta.schema import Operation

Meanings = Mapping[str, Target | None]


class Reading(NamedTuple):
    """What the IDs of a message mean.

    `meanings` has every ID and `@name` that its blocks mention, as the view that holds reads it:
    an item, the number of the block that adds it, or nothing. `doubtful` are those that the thread
    view reads otherwise, where nothing says which view was meant. `resent` are the ADDs that equal
    an applied one of an earlier message: they stand for its item.
    """

    contribution: Contribution
    base: Version
    views: Views
    mentions: Mapping[int, list[Mention]]
    meanings: Meanings
    doubtful: Meanings
    resent: Mapping[int, Applied]
    keys: dict[int, Key]

    def meant(self, number: int) -> Meanings:
        """What the IDs in one block mean."""
        meanings = self.meanings
        return {each.written: meanings[each.written] for each in self.mentions[number]}


def read_message(
    contribution: Contribution, base: Version, draft: Draft, author: Author
) -> Reading:
    """Find out what the IDs of a message mean."""
    named: dict[int, list[Mention]] = {}
    names: dict[str, int] = {}
    for block in contribution.blocks:
        if block.delta is not None:
            named[block.number] = mentions(block.delta, draft.thread_id)
            if block.delta.local_id is not None:
                names[f"@{block.delta.local_id}"] = block.number
    ids = {each.written for found in named.values() for each in found}
    keys: dict[int, Key] = {}
    again: dict[int, str] = {}
    if author.blocks:
        keys = _plain_keys(contribution, named, base)
        again = _again(keys, draft, author)
    here = (contribution.posted.at, contribution.posted.id)
    earlier = partial(_earlier, author, base, draft, here)
    own = OwnItems(own_adds(contribution.blocks), again, earlier)
    both = views(ids - names.keys(), own, base, draft.counts_before(here, base))
    meanings = {each: names.get(each) or _item(both.chosen, each, draft) for each in ids}
    resent: dict[int, Applied] = {}
    reading = Reading(contribution, base, both, named, meanings, {}, resent, keys)
    if author.blocks:
        resent |= _resent(reading, draft, author)
        meanings = _standing_for(meanings, resent)
    doubtful: Meanings = {}
    if not both.is_thread and contribution.stated_base != base.number:
        others = {each: _item(both.thread, each, draft) for each in ids - names.keys()}
        others = _standing_for(others, resent)
        doubtful = {
            each: other for each, other in others.items() if other not in (None, meanings[each])
        }
    return reading._replace(meanings=meanings, doubtful=doubtful)


def _earlier(
    author: Author, base: Version, draft: Draft, here: Moment, prefix: str
) -> Sequence[str]:
    """Her items of earlier messages on that base."""
    added = author.added_on(base.number, prefix)
    if not draft.is_late(here):
        return added
    return [item_id for item_id in added if draft.was_added_before(item_id, here)]


def _plain_keys(
    contribution: Contribution, named: Mapping[int, list[Mention]], base: Version
) -> dict[int, Key]:
    """What the ADDs are compared by that name nothing, and so mean the same in every view."""
    return {
        block.number: block_key(block.delta, None, block.delta.payload, base.number)
        for block in contribution.blocks
        if block.delta is not None
        and block.delta.operation is Operation.ADD
        and not named[block.number]
    }


def _again(keys: Mapping[int, Key], draft: Draft, author: Author) -> dict[int, str]:
    """The ADDs that can be seen to be resent before any view is chosen, with their items."""
    found = {number: author.blocks[key] for number, key in keys.items() if key in author.blocks}
    return {
        number: first.item_id
        for number, first in found.items()
        if not draft.is_killed(first.item_id)
    }


def _item(view: View, written: str, draft: Draft) -> Target | None:
    target = view.meaning(written)
    return target if isinstance(target, int) or target in draft.items else None


def _standing_for(
    meanings: dict[str, Target | None], resent: Mapping[int, Applied]
) -> dict[str, Target | None]:
    """The meanings with the items that resent ADDs stand for."""
    return {
        written: resent[target].item_id if isinstance(target, int) and target in resent else target
        for written, target in meanings.items()
    }


def _resent(reading: Reading, draft: Draft, author: Author) -> dict[int, Applied]:
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
        key = _key(adds[number], reading, number, resent, draft.thread_id)
        first = author.blocks.get(key) if key else None
        if first is None or draft.is_killed(first.item_id):
            continue
        if killed.get(first.item_id, number) < number:
            continue  # the message kills it first, and so adds it anew
        resent[number] = first
        for dependent in needed_by.get(number, ()):
            needs[dependent].discard(number)
            if not needs[dependent]:
                waiting.append(dependent)
    return resent


def _named_adds(reading: Reading, number: int) -> set[int]:
    return {target for target in reading.meant(number).values() if isinstance(target, int)}


def _kills(reading: Reading) -> dict[str, int]:
    """The items that the message kills, each with the first block that does."""
    kills: dict[str, int] = {}
    for block in reading.contribution.blocks:
        if block.delta is not None and block.delta.operation is Operation.KILL:
            target = reading.meanings[block.delta.target_id or ""]
            if isinstance(target, str):
                kills.setdefault(target, block.number)
    return kills


def _key(
    delta: Delta,
    reading: Reading,
    number: int,
    resent: Mapping[int, Applied],
    thread_id: str,
) -> Key | None:
    """What the ADD is compared by; nothing, if it names something that does not exist."""
    if number in reading.keys:
        return reading.keys[number]
    meant = _standing_for(dict(reading.meant(number)), resent)
    ids = {written: target for written, target in meant.items() if isinstance(target, str)}
    if len(ids) < len(meant):
        return None
    payload = delta.payload if is_as_written(ids) else with_ids(delta, ids, thread_id)
    key = reading.keys[number] = block_key(delta, None, payload, reading.base.number)
    return key


def is_as_written(ids: Mapping[str, Target | None]) -> bool:
    """Whether every ID means the item that has that number."""
    return [*ids] == [*ids.values()]
