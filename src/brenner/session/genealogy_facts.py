"""What is known of an item: what it is called, who proposed it, and what became of it."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import Artifact, Item
from brenner.artifact.state import KICKOFF, Source, State
from brenner.protocol.delta.schema import RESEARCH_THREAD, Operation, Section

_PROPOSALS = frozenset({Operation.ADD, KICKOFF})


class Fate(StrEnum):
    """What became of an item; the words are the stable ones of the JSON."""

    ACTIVE = "active"
    KILLED = "killed"
    UNKNOWN_ITEM = "unknown_item"
    UNKNOWN_SESSION = "unknown_session"


class Proposal(NamedTuple):
    """Who brought an item in: by which block of which message, in which version, and when."""

    agent: str
    message_id: int
    block: int
    version: int
    at: datetime | None


class Kill(NamedTuple):
    """Who killed an item, when (ISO 8601) and why; version and message where the mail is known."""

    agent: str
    at: str
    reason: str
    version: int | None = None
    message_id: int | None = None


class Described(NamedTuple):
    """An item and what is known of it.

    Without the mail of its session, and in a version that was adopted from another program, nobody
    knows who proposed it.
    """

    node: Node
    fate: Fate
    title: str = ""
    section: str | None = None
    proposal: Proposal | None = None
    kill: Kill | None = None


class SessionFacts(NamedTuple):
    """What is known of a session. One that is nowhere to be found has no source.

    `source` is `mail`, `archive` or `file`. `status` is what its latest version says of itself;
    `phase` is where the session stands, which only its mail tells.
    """

    session: str
    source: str | None = None
    version: int | None = None
    status: str | None = None
    phase: str | None = None
    question: str = ""


def described(node: Node, artifact: Artifact, state: State | None) -> Described:
    """An item as its session's artifact has it, and as its mail knows it."""
    found = _find(artifact, node.item)
    if found is None:
        return Described(node, Fate.UNKNOWN_ITEM)
    section, item = found
    return Described(
        node,
        Fate.KILLED if item.killed else Fate.ACTIVE,
        item.text("statement") if section is RESEARCH_THREAD else item.title,
        section.id,
        _proposal(node.item, state) if state else None,
        _kill(item, state),
    )


def _find(artifact: Artifact, item_id: str) -> tuple[Section, Item] | None:
    return next((pair for pair in artifact.all_items() if pair[1].id == item_id), None)


def _proposal(item_id: str, state: State) -> Proposal | None:
    """The ADD that made the item; an adopted one has none."""
    source = _added_by(item_id, state)
    if source is None:
        return None
    moment = state.added.get(item_id)
    at = moment[0] if moment else None
    return Proposal(source.agent, source.message_id, source.block, source.version, at)


def _added_by(item_id: str, state: State) -> Source | None:
    changes = state.blame.get(item_id, {}).values()
    sources = (each.source for change in changes for each in change.history())
    return next((source for source in sources if source.operation in _PROPOSALS), None)


def _kill(item: Item, state: State | None) -> Kill | None:
    if item.killed is None:
        return None
    change = state.blame.get(item.id, {}).get(("killed",)) if state else None
    source = change.source if change else None
    return Kill(
        *item.killed,
        source.version if source else None,
        source.message_id if source else None,
    )
