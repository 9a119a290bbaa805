"""The genealogy of ideas over all known sessions: ancestors, descendants, first proposals.

The ancestors of an item are the items that it refers to, and their ancestors. Its descendants refer
to it, directly or indirectly. The code is not recursive: paths may be long, and two concurrent
compiles may even have closed a cycle. A genealogy is written as a tree (`Tree`), as a Mermaid
flowchart and as JSON.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import Artifact, KillRecord, item_sort_key
from brenner.artifact.state import KICKOFF, Source, State
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import RESEARCH_THREAD, SECTIONS, Operation
from brenner.protocol.messages import iso
from brenner.session.references import ItemStatus
from brenner.text import escape_control

if TYPE_CHECKING:
    from datetime import datetime

    from brenner.session.references import Edge, ReferenceGraph

# Items: name, proposer and status


_PROPOSING_OPERATIONS = frozenset({Operation.ADD, KICKOFF})


class ItemInfo(NamedTuple):
    """An item and what is known about it: who proposed it, who killed it and why.

    Without the mail of its session, and in an adopted version, the proposal and the delta that
    killed it (`killed_by`) are unknown.
    """

    node: SessionItem
    status: ItemStatus
    title: str = ""
    section: str | None = None
    proposal: Source | None = None
    proposed_at: datetime | None = None
    killed: KillRecord | None = None
    killed_by: Source | None = None


class SessionInfo(NamedTuple):
    """What is known about a session. An unknown session has no source.

    `source` is `mail`, `archive` or `file`. `status` is that of its latest version. `phase` is the
    session's phase, which only its mail shows.
    """

    session: str
    source: str | None = None
    version: int | None = None
    status: str | None = None
    phase: str | None = None
    question: str = ""


def describe_item(node: SessionItem, artifact: Artifact, state: State | None) -> ItemInfo:
    """Describe an item from its session's artifact and, if known, the state from its mail."""
    found = next((pair for pair in artifact.all_items() if pair[1].id == node.item), None)
    if found is None:
        return ItemInfo(node, ItemStatus.UNKNOWN_ITEM)
    section, item = found
    proposal = _proposal(item.id, state) if state else None
    moment = state.added.get(item.id) if state and proposal else None
    kill = state.blame.get(item.id, {}).get(("killed",)) if state and item.killed else None
    return ItemInfo(
        node,
        ItemStatus.KILLED if item.killed else ItemStatus.ACTIVE,
        item.text("statement") if section is RESEARCH_THREAD else item.title,
        section.id,
        proposal,
        moment[0] if moment else None,
        item.killed,
        kill.source if kill else None,
    )


def _proposal(item_id: str, state: State) -> Source | None:
    """Return the ADD or kickoff that created the item; an adopted item has none."""
    changes = state.blame.get(item_id, {}).values()
    sources = (each.source for change in changes for each in change.history())
    return next((each for each in sources if each.operation in _PROPOSING_OPERATIONS), None)


# The relations that continue an idea. Refuting it, or being informed by it, makes another idea.
LINEAGE = frozenset({"extends", "refines", "supersedes", "replicates"})
_SECTION_ORDER = {section.prefix: place for place, section in enumerate(SECTIONS.values())}

Describe = Callable[[SessionItem], ItemInfo]


class Direction(StrEnum):
    """The direction in which references are followed."""

    ANCESTORS = "ancestors"
    DESCENDANTS = "descendants"


class Reach(NamedTuple):
    """The items reachable from some start items, with their distance, the nearest first.

    The start items have distance 0. `left_out` counts the items that are further away than `depth`.
    """

    direction: Direction
    steps: dict[SessionItem, int]
    edges: tuple[Edge, ...]
    depth: int | None = None
    left_out: int = 0

    @property
    def found(self) -> tuple[SessionItem, ...]:
        """The reached items, without the start items."""
        return tuple(node for node, steps in self.steps.items() if steps)


class Genealogy(NamedTuple):
    """The genealogy of an item, or of all connected items of a session, in a graph of references.

    A direction that was not requested is None.
    """

    graph: ReferenceGraph
    session: str
    item: str | None
    starts: tuple[SessionItem, ...]
    ancestors: Reach | None
    descendants: Reach | None
    circles: tuple[tuple[Edge, ...], ...] = ()

    @property
    def reaches(self) -> tuple[Reach, ...]:
        return tuple(each for each in (self.ancestors, self.descendants) if each is not None)

    @property
    def nodes(self) -> tuple[SessionItem, ...]:
        """Every item once: start items, ancestors, descendants."""
        found = (node for reach in self.reaches for node in reach.steps)
        return tuple(dict.fromkeys((*self.starts, *found)))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every reference once."""
        return tuple(dict.fromkeys(edge for reach in self.reaches for edge in reach.edges))

    @property
    def sessions(self) -> tuple[str, ...]:
        """The IDs of the sessions of all items, sorted; IDs of research sessions sort by date."""
        return tuple(sorted({self.session, *(node.session for node in self.nodes)}))

    def first_proposals(self, describe: Describe) -> tuple[FirstProposal, ...]:
        """Return who first proposed the item, or each item of a session that continues another.

        Empty if the query does not follow ancestors.
        """
        asked = self.starts if self.ancestors else ()
        if self.item is None:
            edges = ((node, self.graph.out_of(node)) for node in asked)
            asked = tuple(node for node, some in edges if any(e.relation in LINEAGE for e in some))
        return tuple(find_first_proposal(self.graph, node, describe) for node in asked)


def node_order(node: SessionItem) -> tuple[str, int, tuple[int, str]]:
    """Return the sort key of an item: session, section and number."""
    place = _SECTION_ORDER.get(node.item[:1], len(_SECTION_ORDER))
    return (node.session, place, item_sort_key(node.item))


def links(
    graph: ReferenceGraph, node: SessionItem, direction: Direction
) -> dict[SessionItem, tuple[str, ...]]:
    """Return the neighbours of an item in one direction, sorted, with the relations to each."""
    is_up = direction is Direction.ANCESTORS
    relations: dict[SessionItem, dict[str, None]] = {}
    for edge in graph.out_of(node) if is_up else graph.into(node):
        relations.setdefault(edge.target if is_up else edge.origin, {})[edge.relation] = None
    return {to: tuple(relations[to]) for to in sorted(relations, key=node_order)}


def find_reachable(
    graph: ReferenceGraph,
    starts: Iterable[SessionItem],
    direction: Direction,
    depth: int | None = None,
) -> Reach:
    """Find all items that can be reached, up to a distance of `depth` if given (breadth first)."""
    steps = dict.fromkeys(starts, 0)
    waiting = deque(steps)
    while waiting:
        node = waiting.popleft()
        for to in links(graph, node, direction):
            if to not in steps:
                steps[to] = steps[node] + 1
                waiting.append(to)
    near = {node: far for node, far in steps.items() if depth is None or far <= depth}
    edges_of = graph.out_of if direction is Direction.ANCESTORS else graph.into
    passed = (node for node, far in near.items() if depth is None or far < depth)
    edges = dict.fromkeys(edge for node in passed for edge in edges_of(node))
    return Reach(direction, near, tuple(edges), depth, len(steps) - len(near))


def genealogy(
    graph: ReferenceGraph,
    session: str,
    item: str | None,
    directions: Sequence[Direction] = tuple(Direction),
    depth: int | None = None,
) -> Genealogy:
    """Compute the genealogy of an item, or of every connected item of a session."""
    connected = (node for node in graph.nodes if node.session == session)
    starts = [SessionItem(session, item)] if item else sorted(connected, key=node_order)
    up, down = (
        find_reachable(graph, starts, each, depth) if each in directions else None
        for each in Direction
    )
    found = {node for each in (up, down) if each for node in each.steps}
    cycles = graph.circles() if found else ()
    circles = tuple(way for way in cycles if all(edge.origin in found for edge in way))
    return Genealogy(graph, session, item, tuple(starts), up, down, circles)


def session_links(edges: Iterable[Edge]) -> dict[tuple[str, str], Counter[str]]:
    """Count the references from one session to another by relation, sorted by the sessions."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for edge in edges:
        pair = (edge.origin.session, edge.target.session)
        if pair[0] != pair[1]:
            counts.setdefault(pair, Counter())[edge.relation] += 1
    return dict(sorted(counts.items()))


# The first proposal of an idea


class FirstProposal(NamedTuple):
    """The earliest proposal of an idea; several if sessions have one of the same instant.

    `not_known` are the items in its lineage without a known proposer and time: one of them may be
    earlier.
    """

    item: SessionItem
    earliest: tuple[ItemInfo, ...]
    not_known: tuple[SessionItem, ...]


def find_first_proposal(
    graph: ReferenceGraph, node: SessionItem, describe: Describe
) -> FirstProposal:
    """Find who first proposed an item, or what it extends, refines, supersedes or replicates."""
    line = [describe(each) for each in _lineage(graph, node)]
    moments = {
        each.node: (each.proposed_at, each.proposal.message_id, each.proposal.block)
        for each in line
        if each.proposal and each.proposed_at
    }
    first = min((at for at, *_ in moments.values()), default=None)
    tied = [each for each in line if each.node in moments and moments[each.node][0] == first]
    tied.sort(key=lambda each: moments[each.node])
    # Within a session the order of the mail breaks ties; between sessions nothing does.
    earliest = {each.node.session: each for each in reversed(tied)}
    return FirstProposal(
        node,
        tuple(each for each in line if earliest.get(each.node.session) is each),
        tuple(each.node for each in line if each.node not in moments),
    )


def _lineage(graph: ReferenceGraph, node: SessionItem) -> tuple[SessionItem, ...]:
    """Return the item and its ancestors by the relations that continue an idea."""
    found = {node: None}
    waiting = deque([node])
    while waiting:
        for to, relations in links(graph, waiting.popleft(), Direction.ANCESTORS).items():
            if to not in found and not LINEAGE.isdisjoint(relations):
                found[to] = None
                waiting.append(to)
    return tuple(found)


# Tree layout: each item is shown in full once, where it is nearest, else only by its name
#
# A subtree that is too deep continues in a separate part, and only the first branches are drawn. So
# the width of a row is limited, however long the paths are.


MOST_LEVELS = 6
MOST_BRANCHES = 40


# How a row shows its item: in full, with the tree under it (root); in full; by its name, because it
# is shown in full above or further down (below); as the beginning of a separate part; or not at
# all, only the number of those left out (more)
RowKind: TypeAlias = Literal["root", "in_full", "above", "below", "part", "more"]


class TreeRow(NamedTuple):
    """One row of a tree.

    `trunk` has for each level above whether its line continues past this row. `relations` are those
    between the parent item and this item. `part` is the number of the part that begins here, or in
    which the subtree continues. `left_out` counts branches that are not drawn.
    """

    shown: RowKind
    node: SessionItem
    relations: tuple[str, ...] = ()
    trunk: tuple[bool, ...] = ()
    is_last: bool = True
    part: int | None = None
    left_out: int = 0


class Tree:
    """The tree of some items in one direction, down to a depth if one is given."""

    def __init__(
        self,
        graph: ReferenceGraph,
        roots: Iterable[SessionItem],
        direction: Direction,
        depth: int | None = None,
    ) -> None:
        self._graph, self._direction, self._depth = graph, direction, depth
        self._steps = dict.fromkeys(roots, 0)
        self._roots = tuple(self._steps)
        # The parent under which an item is shown in full
        self._parents: dict[SessionItem, SessionItem] = {}
        self._shown: set[SessionItem] = set()
        self._parts: list[SessionItem] = []
        self._assign_parents()

    def _assign_parents(self) -> None:
        waiting = deque(self._roots)
        while waiting:
            node = waiting.popleft()
            for to, _ in self._branches(node)[:MOST_BRANCHES]:
                if to not in self._steps:
                    self._steps[to] = self._steps[node] + 1
                    self._parents[to] = node
                    waiting.append(to)

    def _branches(self, node: SessionItem) -> list[tuple[SessionItem, tuple[str, ...]]]:
        if self._depth is not None and self._steps[node] >= self._depth:
            return []
        return list(links(self._graph, node, self._direction).items())

    def rows(self) -> Iterator[TreeRow]:
        """Yield the rows, top to bottom."""
        for root in self._roots:
            self._shown.add(root)
            yield TreeRow("root", root)
            yield from self._under(root)
        for number, node in enumerate(self._parts, 1):  # it grows meanwhile
            yield TreeRow("part", node, part=number)
            yield from self._under(node)

    def _under(self, top: SessionItem) -> Iterator[TreeRow]:
        """Yield the rows under an item, up to the maximum depth of a part."""
        waiting = self._rows_of(top, ())
        while waiting:
            row = waiting.pop()
            if row.shown == "in_full":
                self._shown.add(row.node)
                below = self._rows_of(row.node, (*row.trunk, not row.is_last))
                if below and len(row.trunk) + 1 >= MOST_LEVELS:
                    self._parts.append(row.node)
                    row, below = row._replace(part=len(self._parts)), []
                waiting += below
            elif row.shown == "above" and row.node not in self._shown:
                row = row._replace(shown="below")
            yield row

    def _rows_of(self, node: SessionItem, trunk: tuple[bool, ...]) -> list[TreeRow]:
        """Return the rows directly under an item in reverse order, for use as a stack."""
        branches = self._branches(node)
        rows = []
        for to, relations in branches[:MOST_BRANCHES]:
            shown: RowKind = "in_full" if self._parents.get(to) == node else "above"
            rows.append(TreeRow(shown, to, relations, trunk, is_last=False))
        left_out = len(branches) - len(rows)
        if left_out:
            rows.append(TreeRow("more", node, trunk=trunk, left_out=left_out))
        if rows:
            rows[-1] = rows[-1]._replace(is_last=True)
        return rows[::-1]


# Texts: relations in both directions, sections, first proposals


# A relation as a phrase: of the referring item, and of the referenced one
RELATION_PHRASES = {
    "extends": ("extends", "extended by"),
    "refines": ("refines", "refined by"),
    "refutes": ("refutes", "refuted by"),
    "informed_by": ("informed by", "informed"),
    "supersedes": ("supersedes", "superseded by"),
    "replicates": ("replicates", "replicated by"),
}
_MOST_NAMED = 2
ARROWS = {Direction.ANCESTORS: "←", Direction.DESCENDANTS: "→"}
SECTION_LABELS = {
    "research_thread": "question",
    "hypothesis_slate": "hypothesis",
    "predictions_table": "prediction",
    "discriminative_tests": "test",
    "assumption_ledger": "assumption",
    "anomaly_register": "anomaly",
    "adversarial_critique": "critique",
}


def relation_text(relations: Iterable[str], direction: Direction = Direction.ANCESTORS) -> str:
    """Return `refines` or `refined by`; list several, and quote unknown relations."""
    is_down = direction is Direction.DESCENDANTS
    unknown = ('"{}"', '"{}" by')
    phrases = (RELATION_PHRASES.get(each, unknown)[is_down].format(each) for each in relations)
    return ", ".join(phrases)


def relation_counts_text(relations: Mapping[str, int]) -> str:
    """Return `refines, informed by ×2`: relations with their counts from 2 on."""
    return ", ".join(
        relation_text([name]) + (f" ×{count}" if count > 1 else "")
        for name, count in relations.items()
    )


def describe_first_proposal(first: FirstProposal) -> str:
    """Describe in sentences who proposed the idea first, and what is unknown."""
    parts = [f"First proposed by {_proposals_phrase(first)}."] if first.earliest else []
    others = [node for node in first.not_known if node != first.item]
    if others:
        start = "It may be older: it comes" if first.earliest else "It comes"
        parts.append(f"{start} from {_join_nodes(others)}, whose author is unknown.")
    elif first.not_known and first.earliest:
        parts.append(f"The author of {first.item} itself is unknown.")
    elif first.not_known:
        parts.append("Its author is unknown.")
    return " ".join(parts)


def first_proposal_line(first: FirstProposal) -> str:
    """Describe the first proposal in one line of a list."""
    others = [node for node in first.not_known if node != first.item]
    if first.earliest:
        more = f"; perhaps earlier as {_join_nodes(others)}" if others else ""
        return _proposals_phrase(first) + more
    return "author unknown" + (f"; it comes from {_join_nodes(others)}" if others else "")


def _proposals_phrase(first: FirstProposal) -> str:
    few = [_proposal_phrase(each, first.item) for each in first.earliest[:_MOST_NAMED]]
    more = len(first.earliest) - len(few)
    if len(few) == 1:
        return few[0]
    return "several at the same time: " + "; ".join([*few, f"{more} more"] if more else few)


def _proposal_phrase(info: ItemInfo, item: SessionItem) -> str:
    """Return `BlueLake on 2026-01-05, as RS-… H2 (message 4)`."""
    proposal, at = info.proposal, info.proposed_at
    if proposal is None or at is None:  # cannot happen for an earliest proposal
        return str(info.node)
    where = "here" if info.node == item else f"as {info.node}"
    return f"{proposal.agent} on {at:%Y-%m-%d}, {where} (message {proposal.message_id})"


def _join_nodes(nodes: Sequence[SessionItem]) -> str:
    few = [str(node) for node in nodes[:_MOST_NAMED]]
    more = len(nodes) - len(few)
    return " and ".join([*few, f"{more} more"] if more else few)


# Mermaid flowchart: ancestors on top, one box per session
#
# Names come from mail. Mermaid interprets directives, comments, links, Markdown and HTML in labels.
# So every character except letters, digits and a few signs is written as an entity such as `#34;`,
# which Mermaid shows and never interprets. IDs of nodes are generated.


# Limits of Mermaid with its default settings (maxEdges, maxTextSize)
MOST_EDGES = 500
MOST_CHARACTERS = 50_000
_MOST_TITLE = 60
_PLAIN_SIGNS = frozenset(" ,-()")
# Mermaid uses these signs internally to mark entities, so they must not occur in a label
_RESERVED_SIGNS = str.maketrans({"ﬂ": "fl", "¶": "\\xb6"})
_CLASSES = {
    ItemStatus.KILLED: "stroke-dasharray:5 4,color:gray,text-decoration:line-through",
    ItemStatus.UNKNOWN_ITEM: "stroke-dasharray:1 4,font-style:italic",
    ItemStatus.UNKNOWN_SESSION: "stroke-dasharray:1 4,font-style:italic",
    "target": "stroke-width:3px",
}
_STATUS_LABELS = {
    ItemStatus.KILLED: "KILLED",
    ItemStatus.UNKNOWN_ITEM: "unknown item",
    ItemStatus.UNKNOWN_SESSION: "unknown session",
}


def mermaid(found: Genealogy, describe: Describe) -> str:
    """Render a Mermaid flowchart; arrows point from an item to what it refers to."""
    return "".join(f"{line}\n" for line in _mermaid_lines(found, describe))


def mermaid_label(text: str, most: int = _MOST_TITLE) -> str:
    """Escape a text for a quoted Mermaid label, on one line."""
    return "".join(
        sign if sign in _PLAIN_SIGNS or sign.isalnum() else f"#{ord(sign)};"
        for sign in escape_control(text, most).translate(_RESERVED_SIGNS)
    )


def _mermaid_lines(found: Genealogy, describe: Describe) -> Iterator[str]:
    nodes = sorted(found.nodes, key=node_order)
    names = {node: f"n{number}" for number, node in enumerate(nodes, 1)}
    members: dict[str, list[str]] = {each: [] for each in _CLASSES}
    yield "flowchart BT"
    for number, (session, group) in enumerate(groupby(nodes, lambda node: node.session), 1):
        yield f'  subgraph s{number}["{mermaid_label(session, len(session) + 1)}"]'
        for node in group:
            info = describe(node)
            yield f'    {names[node]}["{_box_label(info)}"]'
            if info.status in _CLASSES:
                members[info.status].append(names[node])
        yield "  end"
    for edge in found.edges:
        words = mermaid_label(edge.relation.replace("_", " "))
        yield f'  {names[edge.origin]} -->|"{words}"| {names[edge.target]}'
    members["target"] = [names[node] for node in found.starts]
    for name, some in members.items():
        if some:
            yield f"  classDef {name} {_CLASSES[name]}"
            yield f"  class {','.join(some)} {name}"


def _box_label(info: ItemInfo) -> str:
    """Return the label of a box: ID and name, proposer and date, and the status unless active."""
    proposer = info.proposal.agent if info.proposal else ""
    if info.proposed_at:
        proposer += f" {info.proposed_at:%Y-%m-%d}"
    first = f"{info.node.item}  {info.title}" if info.title else info.node.item
    parts = [first, proposer, _STATUS_LABELS.get(info.status, "")]
    return "<br/>".join(mermaid_label(part) for part in parts if part)


# JSON; keys are only ever added


def genealogy_json(
    found: Genealogy, describe: Describe, describe_session: Callable[[str], SessionInfo]
) -> dict[str, object]:
    """Return the stable JSON. A direction that was not requested is null."""
    up, down = found.ancestors, found.descendants
    first = [_first_proposal_json(each) for each in found.first_proposals(describe)]
    return {
        "target": {"session": found.session, "item": found.item},
        "sessions": [
            facts._asdict() | {"question": facts.question or None}
            for facts in map(describe_session, found.sessions)
        ],
        "nodes": [_node_json(describe(node)) for node in found.nodes],
        "edges": [_edge_json(edge) for edge in found.edges],
        "between": [
            {"from": origin, "to": target, "relations": dict(relations)}
            for (origin, target), relations in session_links(found.edges).items()
        ],
        "ancestors": _reach_json(up),
        "descendants": _reach_json(down),
        "left_out": {
            "ancestors": up.left_out if up else 0,
            "descendants": down.left_out if down else 0,
        },
        "first_proposed": first[0] if found.item and first else None,
        "items": [] if found.item else first,
        "circles": [[_edge_json(edge) for edge in cycle] for cycle in found.circles],
    }


def _edge_json(edge: Edge) -> dict[str, object]:
    origin, target = edge.origin._asdict(), edge.target._asdict()
    return {"from": origin, "to": target, "relation": edge.relation}


def _reach_json(reach: Reach | None) -> list[dict[str, object]] | None:
    if reach is None:
        return None
    return [node._asdict() | {"steps": reach.steps[node]} for node in reach.found]


def _node_json(info: ItemInfo) -> dict[str, object]:
    by = info.killed_by
    where = {"version": by.version if by else None, "message_id": by.message_id if by else None}
    return {
        **info.node._asdict(),
        "title": info.title or None,
        "section": info.section,
        "fate": info.status.value,
        "proposed": _proposal_json(info) or None,
        "killed": info.killed._asdict() | where if info.killed else None,
    }


def _proposal_json(info: ItemInfo) -> dict[str, object]:
    if info.proposal is None:
        return {}
    names = ("agent", "message_id", "block", "version")
    at = iso(info.proposed_at) if info.proposed_at else None
    return {name: getattr(info.proposal, name) for name in names} | {"at": at}


def _first_proposal_json(first: FirstProposal) -> dict[str, object]:
    """Return the first proposal: one, or several at the same instant."""
    return {
        **first.item._asdict(),
        "earliest": [{**each.node._asdict(), **_proposal_json(each)} for each in first.earliest],
        "not_known": [node._asdict() for node in first.not_known],
        "is_certain": len(first.earliest) == 1 and not first.not_known,
    }
