"""The author's view: what the IDs in her message mean (R11).

Numbers are given at compile, so an author who ADDs items must guess how they will be numbered. In
the *base view* she counts on from the version that she goes by; in the *thread view*, from the
thread as it stood just before her message. One of the two holds for her whole message.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from brenner.artifact.state import Counts, Version, latest_before
from brenner.protocol.delta.schema import RESEARCH_THREAD, SECTIONS, DeltaBlock, Operation, Section
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.messages import Posted

# What an ID means: an item that exists, or the ADD of this message with that block number
Target = str | int

_ADD_IN_TEXT = re.compile(r'"operation"\s*:\s*"ADD"')
_SECTION_IN_TEXT = re.compile(r'"section"\s*:\s*"([a-z_]+)"')


def _nothing(_prefix: str) -> Sequence[str]:
    return ()


class View(NamedTuple):
    """A numbering: the first so many numbers are items; the author's own ADDs go on from there.

    `own` are those of the message, by the prefix of the section; after them come `earlier` ones.
    """

    counts: Counts
    own: Mapping[str, Sequence[int]]
    earlier: Callable[[str], Sequence[str]] = _nothing

    def meaning(self, item_id: str) -> Target | None:
        """What an ID means in this view; None where it means nothing."""
        match = ITEM_ID.fullmatch(item_id)
        if match is None or match[2] is None:
            return item_id if match else None
        prefix, number = match[1], int(match[2])
        beyond = number - self.counts[prefix]
        if beyond <= 0:
            return item_id
        own = self.own.get(prefix, ())
        if beyond <= len(own):
            return own[beyond - 1]
        earlier = self.earlier(prefix)
        beyond -= len(own)
        return earlier[beyond - 1] if beyond <= len(earlier) else None


class Views(NamedTuple):
    """Both readings of a message, and whether the thread view holds."""

    base: View
    thread: View
    is_thread: bool

    @property
    def chosen(self) -> View:
        """The one that holds."""
        return self.thread if self.is_thread else self.base


def base_of(posted: Posted, stated: int | None, versions: tuple[Version, ...]) -> Version:
    """The version that a message goes by: what it states, or the latest published before it."""
    if stated is not None:
        for version in reversed(versions):
            if version.number == stated:
                return version
    return latest_before((posted.at, posted.id), versions)


def own_adds(blocks: Iterable[DeltaBlock]) -> dict[str, list[int]]:
    """The ADDs of a message by section prefix, refused ones included: their author counts them."""
    own: dict[str, list[int]] = {}
    for block in blocks:
        section = _section_of_add(block)
        if section is not None and section is not RESEARCH_THREAD:
            own.setdefault(section.prefix, []).append(block.number)
    return own


def _section_of_add(block: DeltaBlock) -> Section | None:
    """The section to which a block adds, also where the rest of it cannot be read."""
    if block.delta is not None:
        is_add = block.delta.operation is Operation.ADD
        return SECTIONS[block.delta.section] if is_add else None
    if isinstance(block.value, dict):
        is_add = block.written("operation") == Operation.ADD
        return SECTIONS.get(block.written("section") or "") if is_add else None
    section = _SECTION_IN_TEXT.search(block.fence.text)
    return SECTIONS.get(section[1]) if section and _ADD_IN_TEXT.search(block.fence.text) else None


class OwnItems(NamedTuple):
    """What an author may count on from her own numbering, by the prefix of the section.

    `adds` are the ADDs of her message; those that were `resent` stand for an item that she had
    added before. `earlier` are her items of earlier messages on the same base.
    """

    adds: Mapping[str, Sequence[int]]
    resent: Mapping[int, str]
    earlier: Callable[[str], Sequence[str]]

    def others(self, prefix: str) -> Sequence[str]:
        """The earlier ones without those that the message has again: an item is counted once."""
        before = self.earlier(prefix)
        if not self.resent:
            return before
        known = set(self.resent.values())
        return [item_id for item_id in before if item_id not in known]

    def new(self) -> Mapping[str, Sequence[int]]:
        """The ADDs of the message without those that the thread has already."""
        return {
            prefix: [number for number in numbers if number not in self.resent]
            for prefix, numbers in self.adds.items()
        }


def views(named: Iterable[str], own: OwnItems, base: Version, counts: Counts) -> Views:
    """Both views of a message that names these IDs; `counts` are the thread's, just before it.

    The thread view has every ID that the base view has. So the base view holds, unless the message
    names one that only the thread view has: then she had read the thread.
    """
    others = cache(own.others)
    in_base, in_thread = View(base.counts, own.adds, others), View(counts, own.new())
    is_thread = any(
        in_base.meaning(item_id) is None and in_thread.meaning(item_id) is not None
        for item_id in named
    )
    return Views(in_base, in_thread, is_thread)
