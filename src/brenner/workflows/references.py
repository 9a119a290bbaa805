"""What the references of a session lead to in others: when it is compiled, and after (R21).

Only what is referred to is looked up: who refers to no other session pays nothing.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

from brenner.artifact.merge.draft import NOWHERE, Elsewhere, Node
from brenner.artifact.merge.resolve import Contribution, read_posted
from brenner.artifact.model import Artifact, Reference
from brenner.artifact.state import Entry
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.delta.schema import DeltaBlock
from brenner.protocol.delta.validate import dotted
from brenner.protocol.messages import Posted
from brenner.session.references import (
    Edge,
    Known,
    Names,
    ReferenceGraph,
    circle,
    known_by_artifact,
    unknown_item,
    unknown_session,
)
from brenner.session.versions import Chain
from brenner.workflows.desk import Desk
from brenner.workflows.known_sessions import Sessions

NOBODY = Known("")


# What a merge has to know


def elsewhere_for(desk: Desk, chain: Chain, sessions: Sessions | None = None) -> Elsewhere:
    """The references of other sessions through which this one could close a circle.

    From what its items and its unread messages refer to on, item by item; what leads back to this
    session the merge knows itself, and better.
    """
    unread = [filed.posted for filed in chain.unread]
    return reached(chain.state.artifact, unread, sessions or Sessions(desk))


def reached(artifact: Artifact, unread: Iterable[Posted], sessions: Sessions) -> Elsewhere:
    """What can be reached, through other sessions, from an artifact and messages to it."""
    given = [each.edge.target for posted in unread for each in given_in(posted)]
    if not given:  # only a new reference closes a circle
        return NOWHERE
    own = artifact.metadata.session_id or ""
    found = _walked((*given, *_named_in(artifact)), own, sessions)
    return Elsewhere({node: tuple(dict.fromkeys(map(_node, to))) for node, to in found.items()})


def closed_circles(artifact: Artifact, sessions: Sessions) -> tuple[Diagnostic, ...]:
    """The circles that go through a version, once it is published.

    Another session may have published its half of one in the same moment.
    """
    own = known_by_artifact(artifact.metadata.session_id or "", artifact)
    found = _walked(_named_in(artifact), own.session, sessions)
    if not found:
        return ()
    others: dict[str, list[Node]] = {}
    for node in found:
        others.setdefault(node.session, []).append(node)
    known = (
        Known(
            session,
            references=tuple((node.item, each) for node in nodes for each in found[node]),
            killed={node.item: kill for node in nodes if (kill := sessions.killed(node))},
        )
        for session, nodes in others.items()
    )
    graph = ReferenceGraph((own, *known))
    through = (
        way for way in graph.circles() if any(edge.origin.session == own.session for edge in way)
    )
    return tuple(circle(way, graph.killed_on(way)) for way in through)


def _walked(
    starts: Iterable[Node], own: str, sessions: Sessions
) -> dict[Node, tuple[Reference, ...]]:
    """The items of other sessions that can be reached and refer to something, with that."""
    waiting = deque(dict.fromkeys(starts))
    seen = set(waiting)
    found: dict[Node, tuple[Reference, ...]] = {}
    while waiting:
        node = waiting.popleft()
        references = sessions.references(node) if node.session != own else ()
        if references:
            found[node] = references
        fresh = [each for each in dict.fromkeys(map(_node, references)) if each not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    sessions.keep()
    return found


def _named_in(artifact: Artifact) -> Iterator[Node]:
    for _section, item in artifact.all_items():
        yield from map(_node, item.references)


def _node(reference: Reference) -> Node:
    return Node(reference.session, reference.item)


class Given(NamedTuple):
    """A reference in a message: the block and its place in the list there. An item that is still
    to be added has no ID; its name stands for it.
    """

    block: DeltaBlock
    place: int
    edge: Edge


def given_in(posted: Posted) -> Iterator[Given]:
    """The references in the delta blocks of a message."""
    body = posted.message.body
    if "references" not in body and "\\u" not in body:  # JSON may spell a letter out
        return
    read = read_posted(posted)
    for block in read.blocks if isinstance(read, Contribution) else ():
        delta = block.delta
        if delta is None:
            continue
        payload = delta.payload
        called = delta.target_id or payload.get("name") or payload.get("condition") or ""
        origin = Node(posted.message.thread_id, str(called))
        given = cast("Iterable[dict[str, str]]", payload.get("references", ()))
        for place, each in enumerate(given):
            target = Node(each["session"], each["item"])
            yield Given(block, place, Edge(origin, target, each["relation"]))


def gives_references(messages: Iterable[Posted]) -> bool:
    """Whether any of these messages gives an item a reference."""
    return any(True for posted in messages for _ in given_in(posted))


# What leads nowhere


def unresolved(
    desk: Desk,
    artifact: Artifact,
    sessions: Sessions | None = None,
    told: frozenset[Edge] = frozenset(),
) -> tuple[Diagnostic, ...]:
    """The references of an artifact that lead nowhere (yet), but for those that were `told`.

    A file that cannot be read is told in the place of all references that may lead into it.
    """
    looked_up = sessions or Sessions(desk)
    own = artifact.metadata.session_id or ""
    edges = [
        Edge(Node(own, item.id), _node(reference), reference.relation)
        for _section, item in artifact.all_items()
        for reference in item.references
    ]
    left = (edge for edge in edges if edge not in told)
    found = leading_nowhere(left, looked_up, known_by_artifact(own, artifact))
    return (*found, *looked_up.problems)


def told_in(ledger: Iterable[Entry], read: Iterable[Posted]) -> frozenset[Edge]:
    """The references of which a ledger tells itself that what they name is no ID."""
    fields = {
        (entry.message_id, entry.block): (entry.item_id or "", [*_unknown_in(entry)])
        for entry in ledger
    }
    told = set()
    for posted in read:
        for block, place, edge in given_in(posted):
            item, unknown = fields.get((posted.id, block.number), ("", []))
            path = dotted(("payload", "references", place))
            if any(field.startswith(f"{path}.") for field in unknown):
                told.add(edge._replace(origin=edge.origin._replace(item=item)))
    return frozenset(told)


def _unknown_in(entry: Entry) -> Iterator[str]:
    for found in entry.diagnostics:
        if found.code is UNKNOWN_REFERENCE and found.field:
            yield found.field


def leading_nowhere(
    edges: Iterable[Edge], sessions: Sessions, own: Known = NOBODY
) -> tuple[Diagnostic, ...]:
    """Of these references those that lead nowhere; of its `own` session more may be known.

    Nothing is said of those to a session whose file is among the `problems` of the sessions.
    """
    found: list[Diagnostic] = []
    names: Names | None = None
    for edge in edges:
        session = edge.target.session
        if session == own.session:
            if edge.target.item not in own.items:
                found.append(unknown_item(edge, own))
        elif not sessions.has(edge.target) and not sessions.is_unreadable(session):
            known = sessions.known(session)
            if known is None:
                names = names or Names(sessions.names())
                found.append(unknown_session(edge, names))
            else:
                found.append(unknown_item(edge, known))
    sessions.keep()
    return tuple(found)
