"""What a published version leaves behind for the next one.

The artifact alone is not enough: whether a block is a duplicate (R8), what an author's IDs mean
(R11) and whether an edit is in conflict (R12) depend on who said what, and on which version.
All of it follows from the mail; nothing here comes from anywhere else.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.blame import NO_BLAME, Blame
from brenner.artifact.conflicts import Conflict
from brenner.artifact.merging.authors import Memory
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, Metadata
from brenner.protocol.grammar import ITEM_ID

Counts = Mapping[str, int]  # the highest number given so far, by the prefix of the section
NO_COUNTS: Counts = MappingProxyType({section.prefix: 0 for section in ITEM_SECTIONS})


class Version(NamedTuple):
    """A published version: where its COMPILED message stands in the thread, and its numbering."""

    number: int
    at: datetime | None
    message_id: int
    counts: Counts


# v0 is the empty artifact before the first version. It stands before every message.
EMPTY_VERSION = Version(0, None, 0, NO_COUNTS)


# A place in the thread's order (R9): the store's time of a message, and its id
Moment = tuple[datetime, int]


def latest_before(moment: Moment, versions: tuple[Version, ...]) -> Version:
    """The latest version that was published before a moment."""
    return next(
        version
        for version in reversed(versions)
        if version.at is None or (version.at, version.message_id) < moment
    )


class State(NamedTuple):
    """The latest version of a thread and its memory; `added` is the moment of every item's ADD."""

    artifact: Artifact
    blame: Blame = NO_BLAME
    conflicts: tuple[Conflict, ...] = ()
    versions: tuple[Version, ...] = (EMPTY_VERSION,)
    counts: Counts = NO_COUNTS
    authors: Mapping[str, Memory] = MappingProxyType({})
    added: Mapping[str, Moment] = MappingProxyType({})
    has_question: bool = False
    updated: datetime | None = None


def empty_state(thread_id: str) -> State:
    """A thread before its first version."""
    return State(Artifact(Metadata(session_id=thread_id, version=0)))


def adopted_state(thread_id: str, artifact: Artifact, at: datetime, message_id: int) -> State:
    """A thread whose latest version another program has compiled.

    Nobody is known to have said anything, and the numbering goes on after the highest number. The
    IDs must be well formed, and none may stand twice.
    """
    counts = {
        section.prefix: max((_number(item) for item in artifact.sections[section.id]), default=0)
        for section in ITEM_SECTIONS
    }
    version = Version(artifact.metadata.version or 0, at, message_id, counts)
    return State(
        artifact._replace(metadata=artifact.metadata._replace(session_id=thread_id)),
        versions=(EMPTY_VERSION, version),
        counts=counts,
        has_question=bool(artifact.research_thread.text("statement")),
    )


def _number(item: Item) -> int:
    match = ITEM_ID.fullmatch(item.id)
    return int(match[2] or 0) if match else 0
