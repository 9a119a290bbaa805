"""The author's view: what the IDs in her message mean (R11).

Numbers are given at compile, so an author who ADDs items must guess how they will be numbered. In
the *base view* she counts on from the version that she goes by; in the *thread view*, from the
thread as it stood just before her message. One of the two holds for her whole message.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from brenner.artifact.authors import Author
from brenner.artifact.state import Counts, Version
from brenner.delta.model import DeltaBlock
from brenner.delta.schema import RESEARCH_THREAD, SECTIONS, Operation, Section
from brenner.grammar import ITEM_ID
from brenner.thread.posted import Posted

# What an ID means: an item that exists, or the ADD of this message with that block number
Target = str | int

_ADD_IN_TEXT = re.compile(r'"operation"\s*:\s*"ADD"')
_SECTION_IN_TEXT = re.compile(r'"section"\s*:\s*"([a-z_]+)"')


class View(NamedTuple):
    """A numbering: the first so many numbers are items; the author's own ADDs go on from there."""

    counts: Counts
    own: Mapping[str, list[Target]]

    def meaning(self, item_id: str) -> Target | None:
        """What an ID means in this view; None where it means nothing."""
        match = ITEM_ID.fullmatch(item_id)
        if match is None or match[2] is None:
            return item_id if match else None
        prefix, number = match[1], int(match[2])
        beyond = number - self.counts[prefix]
        if beyond <= 0:
            return item_id
        own = self.own.get(prefix, [])
        return own[beyond - 1] if beyond <= len(own) else None


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
    here = (posted.at, posted.id)
    return max(
        (each for each in versions if each.at is None or (each.at, each.message_id) < here),
        key=lambda version: version.number,
    )


def own_adds(blocks: Iterable[DeltaBlock]) -> dict[str, list[Target]]:
    """The ADDs of a message by section prefix, refused ones included: their author counts them."""
    own: dict[str, list[Target]] = {}
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


def views(
    named: Iterable[str],
    own: dict[str, list[Target]],
    base: Version,
    counts: Counts,
    author: Author,
) -> Views:
    """Both views of a message that names these IDs; `counts` are the thread's, just before it.

    The thread view has every ID that the base view has. So the base view holds, unless the message
    names one that only the thread view has: then she had read the thread.
    """
    continued = {
        prefix: [*own.get(prefix, []), *author.added_on(base.number, prefix)] for prefix in counts
    }
    in_base, in_thread = View(base.counts, continued), View(counts, own)
    is_thread = any(
        in_base.meaning(item_id) is None and in_thread.meaning(item_id) is not None
        for item_id in named
    )
    return Views(in_base, in_thread, is_thread)
