"""A message as its author means it: what each ID in it stands for (R11)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from brenner.artifact.merging.authors import Author
from brenner.artifact.merging.contribution import Contribution
from brenner.artifact.merging.draft import Draft
from brenner.artifact.merging.mentions import Mention, mentions
from brenner.artifact.merging.numbering import OwnItems, Target, View, Views, own_adds, views
from brenner.artifact.merging.resent import Resent, plain_adds, plainly_resent, resent_adds
from brenner.artifact.state import Moment, Version

Meanings = Mapping[str, Target | None]
_NONE_RESENT = Resent({}, {})


class Reading(NamedTuple):
    """What the IDs of a message mean.

    `meanings` has every ID and `@name` that its blocks mention, as the view that holds reads it:
    an item, the number of the block that adds it, or nothing. `doubtful` are those that the thread
    view reads otherwise, where nothing says which view was meant.
    """

    contribution: Contribution
    base: Version
    views: Views
    mentions: Mapping[int, list[Mention]]
    meanings: Meanings
    doubtful: Meanings
    resent: Resent

    def meant(self, number: int) -> Meanings:
        """What the IDs in one block mean."""
        meanings = self.meanings
        return {each.written: meanings[each.written] for each in self.mentions[number]}


def read_message(
    contribution: Contribution, base: Version, draft: Draft, author: Author
) -> Reading:
    """Find out what the IDs of a message mean."""
    blocks = contribution.blocks
    named = {b.number: mentions(b.delta, draft.thread_id) for b in blocks if b.delta is not None}
    names = {f"@{b.delta.local_id}": b.number for b in blocks if b.delta and b.delta.local_id}
    ids = {each.written for found in named.values() for each in found} - names.keys()
    plain = plain_adds(blocks, named) if author.count else {}
    here = (contribution.posted.at, contribution.posted.id)
    own = OwnItems(
        own_adds(blocks),
        plainly_resent(plain, blocks, draft, author) if plain else {},
        partial(_earlier, author, base, draft, here),
    )
    both = views(ids, own, base, draft.counts_before(here, base))
    meanings: dict[str, Target | None] = {each: _item(both.chosen, each, draft) for each in ids}
    meanings |= names
    reading = Reading(contribution, base, both, named, meanings, {}, _NONE_RESENT)
    if author.count:
        meant = {number: reading.meant(number) for number in named}
        resent = resent_adds(blocks, meant, plain, draft, author)
        reading = reading._replace(meanings=_standing_for(meanings, resent), resent=resent)
    is_certain = both.is_thread or contribution.stated_base == base.number
    return reading if is_certain else reading._replace(doubtful=_doubtful(reading, ids, draft))


def _earlier(
    author: Author, base: Version, draft: Draft, here: Moment, prefix: str
) -> Sequence[str]:
    """Her items of earlier messages on that base."""
    added = author.added_on(base.number, prefix)
    if not draft.is_late(here):
        return added
    return [item_id for item_id in added if draft.was_added_before(item_id, here)]


def _item(view: View, written: str, draft: Draft) -> Target | None:
    target = view.meaning(written)
    return target if isinstance(target, int) or target in draft.items else None


def _standing_for(meanings: Meanings, resent: Resent) -> dict[str, Target | None]:
    """The meanings with the items that resent ADDs stand for."""
    firsts = resent.firsts
    return {
        written: firsts[target].item_id if isinstance(target, int) and target in firsts else target
        for written, target in meanings.items()
    }


def _doubtful(reading: Reading, ids: set[str], draft: Draft) -> Meanings:
    """The IDs that the thread view reads otherwise than the base view, which holds."""
    others = {each: _item(reading.views.thread, each, draft) for each in ids}
    return {
        written: other
        for written, other in _standing_for(others, reading.resent).items()
        if other not in (None, reading.meanings[written])
    }


def is_as_written(ids: Meanings) -> bool:
    """Whether every ID means the item that has that number."""
    return [*ids] == [*ids.values()]
