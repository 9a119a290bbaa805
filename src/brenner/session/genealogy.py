"""The genealogy of ideas over all known sessions: ancestors, descendants, first proposals.

The ancestors of an item are the items that it refers to, and their ancestors. Its descendants refer
to it, directly or indirectly. The code is not recursive: paths may be long, and two concurrent
compiles may even have closed a cycle. A genealogy is rendered as a tree, as text, as a Mermaid
flowchart and as JSON.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, StrEnum, auto
from itertools import groupby
from typing import NamedTuple

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import Artifact, Item, item_sort_key
from brenner.artifact.state import KICKOFF, Source, State
from brenner.protocol.delta.schema import RESEARCH_THREAD, SECTIONS, Operation, Section
from brenner.protocol.messages import iso
from brenner.session.references import Edge, ReferenceGraph
from brenner.text import escape_control

# Items: name, proposer and status


_PROPOSING_OPERATIONS = frozenset({Operation.ADD, KICKOFF})


class ItemStatus(StrEnum):
    """The status of an item; the values are stable in the JSON."""

    ACTIVE = "active"
    KILLED = "killed"
    UNKNOWN_ITEM = "unknown_item"
    UNKNOWN_SESSION = "unknown_session"


class Proposal(NamedTuple):
    """The origin of an item: agent, message, block, version and time."""

    agent: str
    message_id: int
    block: int
    version: int
    at: datetime | None


class Kill(NamedTuple):
    """Who killed an item, when (ISO 8601) and why; version and message if the mail is known."""

    agent: str
    at: str
    reason: str
    version: int | None = None
    message_id: int | None = None


class ItemInfo(NamedTuple):
    """An item and what is known about it.

    Without the mail of its session, and in an adopted version, its proposal is unknown.
    """

    node: SessionItem
    status: ItemStatus
    title: str = ""
    section: str | None = None
    proposal: Proposal | None = None
    kill: Kill | None = None


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
    found = _find_item(artifact, node.item)
    if found is None:
        return ItemInfo(node, ItemStatus.UNKNOWN_ITEM)
    section, item = found
    return ItemInfo(
        node,
        ItemStatus.KILLED if item.killed else ItemStatus.ACTIVE,
        item.text("statement") if section is RESEARCH_THREAD else item.title,
        section.id,
        _proposal(node.item, state) if state else None,
        _kill(item, state),
    )


def _find_item(artifact: Artifact, item_id: str) -> tuple[Section, Item] | None:
    return next((pair for pair in artifact.all_items() if pair[1].id == item_id), None)


def _proposal(item_id: str, state: State) -> Proposal | None:
    """Return the ADD or kickoff that created the item; an adopted item has none."""
    source = _adding_source(item_id, state)
    if source is None:
        return None
    moment = state.added.get(item_id)
    at = moment[0] if moment else None
    return Proposal(source.agent, source.message_id, source.block, source.version, at)


def _adding_source(item_id: str, state: State) -> Source | None:
    changes = state.blame.get(item_id, {}).values()
    sources = (each.source for change in changes for each in change.history())
    return next((source for source in sources if source.operation in _PROPOSING_OPERATIONS), None)


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


# The relations that continue an idea. Refuting it, or being informed by it, makes another idea.
LINEAGE = frozenset({"extends", "refines", "supersedes", "replicates"})
_SECTION_ORDER = {section.prefix: place for place, section in enumerate(SECTIONS.values())}

Describe = Callable[[SessionItem], ItemInfo]


class Direction(StrEnum):
    """The direction in which references are followed."""

    ANCESTORS = "ancestors"
    DESCENDANTS = "descendants"


class Link(NamedTuple):
    """A neighbour of an item in some direction, and the relations to it."""

    node: SessionItem
    relations: tuple[str, ...]


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
    """The genealogy of an item, or of all connected items of a session.

    A direction that was not requested is None.
    """

    session: str
    item: str | None
    starts: tuple[SessionItem, ...]
    ancestors: Reach | None
    descendants: Reach | None
    circles: tuple[tuple[Edge, ...], ...] = ()

    @property
    def reaches(self) -> tuple[Reach, ...]:
        """The requested directions."""
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


def node_order(node: SessionItem) -> tuple[str, int, tuple[int, str]]:
    """Return the sort key of an item: session, section and number."""
    return (
        node.session,
        _SECTION_ORDER.get(node.item[:1], len(_SECTION_ORDER)),
        item_sort_key(node.item),
    )


def links(graph: ReferenceGraph, node: SessionItem, direction: Direction) -> tuple[Link, ...]:
    """Return the neighbours of an item in one direction, each once, sorted."""
    is_up = direction is Direction.ANCESTORS
    relations: dict[SessionItem, dict[str, None]] = {}
    for edge in graph.out_of(node) if is_up else graph.into(node):
        relations.setdefault(edge.target if is_up else edge.origin, {})[edge.relation] = None
    return tuple(Link(to, tuple(relations[to])) for to in sorted(relations, key=node_order))


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
        for link in links(graph, node, direction):
            if link.node not in steps:
                steps[link.node] = steps[node] + 1
                waiting.append(link.node)
    near = {node: far for node, far in steps.items() if depth is None or far <= depth}
    is_up = direction is Direction.ANCESTORS
    passed = (node for node, far in near.items() if depth is None or far < depth)
    edges = (
        edge for node in passed for edge in (graph.out_of(node) if is_up else graph.into(node))
    )
    return Reach(direction, near, tuple(dict.fromkeys(edges)), depth, len(steps) - len(near))


def genealogy(
    graph: ReferenceGraph,
    session: str,
    item: str | None,
    directions: Sequence[Direction] = tuple(Direction),
    depth: int | None = None,
) -> Genealogy:
    """Compute the genealogy of an item, or of every connected item of a session."""
    starts = (SessionItem(session, item),) if item else _connected(graph, session)
    reaches = {
        direction: find_reachable(graph, starts, direction, depth) for direction in directions
    }
    found = {node for each in reaches.values() for node in each.steps}
    cycles = graph.circles() if found else ()
    return Genealogy(
        session,
        item,
        starts,
        reaches.get(Direction.ANCESTORS),
        reaches.get(Direction.DESCENDANTS),
        tuple(cycle for cycle in cycles if all(edge.origin in found for edge in cycle)),
    )


def _connected(graph: ReferenceGraph, session: str) -> tuple[SessionItem, ...]:
    """Return the items of a session that refer or are referred to."""
    found = {node for node in graph.nodes if node.session == session}
    return tuple(sorted(found, key=node_order))


# References between sessions


class SessionLink(NamedTuple):
    """How often one session refers to another, by relation."""

    origin: str
    target: str
    relations: tuple[tuple[str, int], ...]


def session_links(edges: Iterable[Edge]) -> tuple[SessionLink, ...]:
    """Sum up the references from one session to another, without those within a session."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for edge in edges:
        pair = (edge.origin.session, edge.target.session)
        if pair[0] != pair[1]:
            counts.setdefault(pair, Counter())[edge.relation] += 1
    return tuple(SessionLink(*pair, tuple(counts[pair].items())) for pair in sorted(counts))


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
    info = [(each.proposal, each) for each in line if each.proposal and each.proposal.at]
    first = min((proposal.at for proposal, _ in info if proposal.at), default=None)
    tied = [pair for pair in info if pair[0].at == first]
    tied.sort(key=lambda pair: (pair[0].message_id, pair[0].block))
    # Within a session the order of the mail breaks ties; between sessions nothing does.
    earliest = {each.node.session: each for _, each in reversed(tied)}
    dated = {each.node for _, each in info}
    return FirstProposal(
        node,
        tuple(each for each in line if earliest.get(each.node.session) is each),
        tuple(each.node for each in line if each.node not in dated),
    )


def _lineage(graph: ReferenceGraph, node: SessionItem) -> tuple[SessionItem, ...]:
    """Return the item and its ancestors by the relations that continue an idea."""
    found = {node: None}
    waiting = deque([node])
    while waiting:
        for link in links(graph, waiting.popleft(), Direction.ANCESTORS):
            if link.node not in found and not LINEAGE.isdisjoint(link.relations):
                found[link.node] = None
                waiting.append(link.node)
    return tuple(found)


# Tree layout: each item is shown in full once, where it is nearest, else only by its name
#
# A subtree that is too deep continues in a separate part, and only the first branches are drawn. So
# the width of a row is limited, however long the paths are.


MOST_LEVELS = 6
MOST_BRANCHES = 40


class RowKind(Enum):
    """How a row shows its item."""

    ROOT = auto()  # in full, with the tree under it
    IN_FULL = auto()
    ABOVE = auto()  # shown in full above
    BELOW = auto()  # shown in full further down
    PART = auto()  # the beginning of a separate part
    MORE = auto()  # no item, only the number of those left out


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
        self.roots = tuple(dict.fromkeys(roots))
        self._graph, self._direction, self._depth = graph, direction, depth
        self.steps = dict.fromkeys(self.roots, 0)
        self._parents: dict[
            SessionItem, SessionItem
        ] = {}  # the parent under which an item is shown in full
        self._grow()

    def _grow(self) -> None:
        waiting = deque(self.roots)
        while waiting:
            node = waiting.popleft()
            for link in self.branches(node)[0]:
                if link.node not in self.steps:
                    self.steps[link.node] = self.steps[node] + 1
                    self._parents[link.node] = node
                    waiting.append(link.node)

    def rows(self) -> Iterator[TreeRow]:
        """Yield the rows, top to bottom."""
        yield from _TreeLayout(self).rows()

    def branches(self, node: SessionItem) -> tuple[tuple[Link, ...], int]:
        """Return the branches to draw under an item, and the number of those left out."""
        if self._depth is not None and self.steps[node] >= self._depth:
            return (), 0
        found = links(self._graph, node, self._direction)
        return found[:MOST_BRANCHES], max(0, len(found) - MOST_BRANCHES)

    def is_under(self, node: SessionItem, parent: SessionItem) -> bool:
        """Return whether the item is shown in full under this parent."""
        return self._parents.get(node) == parent


class _TreeLayout:
    """The tree being drawn: the items shown so far, and the parts still to draw."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._shown: set[SessionItem] = set()
        self._parts: deque[tuple[int, SessionItem]] = deque()
        self._count = 0

    def rows(self) -> Iterator[TreeRow]:
        for root in self._tree.roots:
            self._shown.add(root)
            yield TreeRow(RowKind.ROOT, root)
            yield from self._under(root)
        while self._parts:
            number, node = self._parts.popleft()
            yield TreeRow(RowKind.PART, node, part=number)
            yield from self._under(node)

    def _under(self, top: SessionItem) -> Iterator[TreeRow]:
        """Yield the rows under an item, up to the maximum depth of a part."""
        waiting = self._rows_of(top, ())
        while waiting:
            row = waiting.pop()
            if row.shown is not RowKind.IN_FULL:
                yield self._elsewhere(row)
                continue
            self._shown.add(row.node)
            below = self._rows_of(row.node, (*row.trunk, not row.is_last))
            if below and len(row.trunk) + 1 >= MOST_LEVELS:
                self._count += 1
                self._parts.append((self._count, row.node))
                row, below = row._replace(part=self._count), []
            yield row
            waiting += below

    def _rows_of(self, node: SessionItem, trunk: tuple[bool, ...]) -> list[TreeRow]:
        """Return the rows directly under an item in reverse order, for use as a stack."""
        drawn, left_out = self._tree.branches(node)
        rows = [
            TreeRow(
                RowKind.IN_FULL if self._tree.is_under(link.node, node) else RowKind.ABOVE,
                link.node,
                link.relations,
                trunk,
                is_last=False,
            )
            for link in drawn
        ]
        if left_out:
            rows.append(TreeRow(RowKind.MORE, node, trunk=trunk, left_out=left_out))
        if rows:
            rows[-1] = rows[-1]._replace(is_last=True)
        return rows[::-1]

    def _elsewhere(self, row: TreeRow) -> TreeRow:
        """Return a row for an item that is shown in full elsewhere: above, or further down."""
        is_below = row.shown is RowKind.ABOVE and row.node not in self._shown
        return row._replace(shown=RowKind.BELOW) if is_below else row


# Texts: relations in both directions, sections, first proposals


class RelationPhrase(NamedTuple):
    """A relation as a phrase: of the referring item (`up`), and of the referenced one (`down`)."""

    up: str
    down: str


RELATION_PHRASES = {
    "extends": RelationPhrase("extends", "extended by"),
    "refines": RelationPhrase("refines", "refined by"),
    "refutes": RelationPhrase("refutes", "refuted by"),
    "informed_by": RelationPhrase("informed by", "informed"),
    "supersedes": RelationPhrase("supersedes", "superseded by"),
    "replicates": RelationPhrase("replicates", "replicated by"),
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


def relation_text(relations: Iterable[str], direction: Direction) -> str:
    """Return `refines` or `refined by`; list several, and quote unknown relations."""
    is_up = direction is Direction.ANCESTORS
    return ", ".join(_relation_phrase(each, is_up=is_up) for each in relations)


def _relation_phrase(relation: str, *, is_up: bool) -> str:
    phrase = RELATION_PHRASES.get(relation)
    if phrase is None:
        return f'"{relation}"' if is_up else f'"{relation}" said by'
    return phrase.up if is_up else phrase.down


def relation_counts_text(relations: Iterable[tuple[str, int]]) -> str:
    """Return `refines, informed by ×2`: relations with their counts from 2 on."""
    return ", ".join(
        _relation_phrase(name, is_up=True) + (f" ×{count}" if count > 1 else "")
        for name, count in relations
    )


def describe_first_proposal(first: FirstProposal) -> str:
    """Describe in sentences who proposed the idea first, and what is unknown."""
    parts = []
    if first.earliest:
        parts.append(f"First proposed by {_proposals_phrase(first)}.")
    if first.not_known:
        parts.append(_unknown_proposers(first))
    return " ".join(parts)


def first_proposal_line(first: FirstProposal) -> str:
    """Describe the first proposal in one line of a list."""
    others = [node for node in first.not_known if node != first.item]
    if not first.earliest:
        return (
            f"not known here; it goes back to {_join_nodes(others)}" if others else "not known here"
        )
    return _proposals_phrase(first) + (
        f"; perhaps earlier as {_join_nodes(others)}" if others else ""
    )


def _proposals_phrase(first: FirstProposal) -> str:
    if len(first.earliest) == 1:
        return _proposal_phrase(first.earliest[0], first.item)
    few = [_proposal_phrase(each, first.item) for each in first.earliest[:_MOST_NAMED]]
    more = len(first.earliest) - len(few)
    return "several at the same instant: " + "; ".join([*few, f"{more} more"] if more else few)


def _proposal_phrase(info: ItemInfo, item: SessionItem) -> str:
    """Return `BlueLake on 2026-01-05, as RS-… H2 (message 4)`."""
    proposal = info.proposal
    if proposal is None or proposal.at is None:  # cannot happen for an earliest proposal
        return str(info.node)
    where = "here" if info.node == item else f"as {info.node}"
    return f"{proposal.agent} on {proposal.at:%Y-%m-%d}, {where} (message {proposal.message_id})"


def _unknown_proposers(first: FirstProposal) -> str:
    others = [node for node in first.not_known if node != first.item]
    if not others and first.earliest:
        return f"Who proposed {first.item} itself, and when, is not known here."
    if not others:
        return "Nobody here can tell who proposed it, and when."
    start = "It may be older: it goes back" if first.earliest else "It goes back"
    return f"{start} to {_join_nodes(others)}, and who proposed that is not known here."


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
_BREAK = "<br/>"
_CLASSES = {
    ItemStatus.KILLED: "stroke-dasharray:5 4,color:gray,text-decoration:line-through",
    ItemStatus.UNKNOWN_ITEM: "stroke-dasharray:1 4,font-style:italic",
    ItemStatus.UNKNOWN_SESSION: "stroke-dasharray:1 4,font-style:italic",
}
_TARGET = "target"
_TARGET_STYLE = "stroke-width:3px"
_STATUS_LABELS = {
    ItemStatus.ACTIVE: "",
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
        character if _is_plain(character) else f"#{ord(character)};"
        for character in escape_control(text, most).translate(_RESERVED_SIGNS)
    )


def _is_plain(character: str) -> bool:
    return character in _PLAIN_SIGNS or character.isalnum()


def _mermaid_lines(found: Genealogy, describe: Describe) -> Iterator[str]:
    nodes = sorted(found.nodes, key=node_order)
    names = {node: f"n{number}" for number, node in enumerate(nodes, 1)}
    names_by_status: dict[ItemStatus, list[str]] = {status: [] for status in _CLASSES}
    yield "flowchart BT"
    for number, (session, group) in enumerate(groupby(nodes, lambda node: node.session), 1):
        yield f'  subgraph s{number}["{mermaid_label(session, len(session) + 1)}"]'
        for node in group:
            info = describe(node)
            yield f'    {names[node]}["{_box_label(info)}"]'
            if info.status in names_by_status:
                names_by_status[info.status].append(names[node])
        yield "  end"
    for edge in found.edges:
        words = mermaid_label(edge.relation.replace("_", " "))
        yield f'  {names[edge.origin]} -->|"{words}"| {names[edge.target]}'
    yield from _mermaid_styles(names_by_status, [names[node] for node in found.starts])


def _box_label(info: ItemInfo) -> str:
    """Return the label of a box: ID and name, proposer and date, and the status unless active."""
    first = info.node.item if not info.title else f"{info.node.item}  {info.title}"
    parts = [first, _proposer(info), _STATUS_LABELS[info.status]]
    return _BREAK.join(mermaid_label(part) for part in parts if part)


def _proposer(info: ItemInfo) -> str:
    proposal = info.proposal
    if proposal is None:
        return ""
    return f"{proposal.agent} {proposal.at:%Y-%m-%d}" if proposal.at else proposal.agent


def _mermaid_styles(
    names_by_status: Mapping[ItemStatus, Sequence[str]], starts: Sequence[str]
) -> Iterator[str]:
    for status, names in names_by_status.items():
        if names:
            yield f"  classDef {status} {_CLASSES[status]}"
            yield f"  class {','.join(names)} {status}"
    if starts:
        yield f"  classDef {_TARGET} {_TARGET_STYLE}"
        yield f"  class {','.join(starts)} {_TARGET}"


# JSON; keys are only ever added


DescribeSession = Callable[[str], SessionInfo]


def genealogy_json(
    found: Genealogy,
    describe: Describe,
    describe_session: DescribeSession,
    firsts: Iterable[FirstProposal],
) -> dict[str, object]:
    """Return the stable JSON. A direction that was not requested is null."""
    first = [_first_proposal_json(each) for each in firsts]
    return {
        "target": {"session": found.session, "item": found.item},
        "sessions": [_session_json(describe_session(each)) for each in found.sessions],
        "nodes": [_node_json(describe(node)) for node in found.nodes],
        "edges": [_edge_json(edge) for edge in found.edges],
        "between": [
            {"from": each.origin, "to": each.target, "relations": dict(each.relations)}
            for each in session_links(found.edges)
        ],
        "ancestors": _reach_json(found.ancestors),
        "descendants": _reach_json(found.descendants),
        "left_out": {
            "ancestors": found.ancestors.left_out if found.ancestors else 0,
            "descendants": found.descendants.left_out if found.descendants else 0,
        },
        "first_proposed": first[0] if found.item and first else None,
        "items": [] if found.item else first,
        "circles": [[_edge_json(edge) for edge in cycle] for cycle in found.circles],
    }


def _node_name_json(node: SessionItem) -> dict[str, object]:
    return {"session": node.session, "item": node.item}


def _edge_json(edge: Edge) -> dict[str, object]:
    return {
        "from": _node_name_json(edge.origin),
        "to": _node_name_json(edge.target),
        "relation": edge.relation,
    }


def _reach_json(reach: Reach | None) -> list[dict[str, object]] | None:
    if reach is None:
        return None
    return [_node_name_json(node) | {"steps": reach.steps[node]} for node in reach.found]


def _session_json(facts: SessionInfo) -> dict[str, object]:
    return {
        "session": facts.session,
        "source": facts.source,
        "version": facts.version,
        "status": facts.status,
        "phase": facts.phase,
        "question": facts.question or None,
    }


def _node_json(info: ItemInfo) -> dict[str, object]:
    return {
        **_node_name_json(info.node),
        "title": info.title or None,
        "section": info.section,
        "fate": info.status.value,
        "proposed": _proposal_json(info.proposal),
        "killed": _kill_json(info.kill),
    }


def _proposal_json(proposal: Proposal | None) -> dict[str, object] | None:
    if proposal is None:
        return None
    return {**proposal._asdict(), "at": iso(proposal.at) if proposal.at else None}


def _kill_json(kill: Kill | None) -> dict[str, object] | None:
    return kill._asdict() if kill else None


def _first_proposal_json(first: FirstProposal) -> dict[str, object]:
    """Return the first proposal: one, or several at the same instant."""
    return {
        **_node_name_json(first.item),
        "earliest": [
            {**_node_name_json(each.node), **(_proposal_json(each.proposal) or {})}
            for each in first.earliest
        ],
        "not_known": [_node_name_json(node) for node in first.not_known],
        "is_certain": len(first.earliest) == 1 and not first.not_known,
    }
