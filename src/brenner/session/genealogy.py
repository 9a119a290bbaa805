"""Where an idea comes from, and what came of it, over all sessions that are known.

An item comes from those that it refers to, and so do these: its ancestors. What refers to it, and
to that in turn, are its descendants. Nothing here is recursive: a line of ideas may be long, and
two compilers at once may even have closed a circle.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, StrEnum, auto
from itertools import groupby
from typing import NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import Artifact, Item, order_of
from brenner.artifact.state import KICKOFF, Source, State
from brenner.protocol.delta.schema import RESEARCH_THREAD, SECTIONS, Operation, Section
from brenner.protocol.messages import iso
from brenner.session.references import Edge, ReferenceGraph
from brenner.text import escape_control

# What is known of an item: what it is called, who proposed it, and what became of it.


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


# The relations by which an idea lives on in another one. What refutes it, or only knew of it, is
# another idea.
LINEAGE = frozenset({"extends", "refines", "supersedes", "replicates"})
_PLACES = {section.prefix: place for place, section in enumerate(SECTIONS.values())}

Describe = Callable[[Node], Described]


class Direction(StrEnum):
    """Which way references are followed."""

    ANCESTORS = "ancestors"
    DESCENDANTS = "descendants"


class Link(NamedTuple):
    """That one item leads to another in some direction, and by which relations."""

    node: Node
    relations: tuple[str, ...]


class Reach(NamedTuple):
    """What can be reached from some items: how many steps each is away, the nearest first.

    The items themselves are no steps away. `left_out` counts what is further away than `depth`.
    """

    direction: Direction
    steps: dict[Node, int]
    edges: tuple[Edge, ...]
    depth: int | None = None
    left_out: int = 0

    @property
    def found(self) -> tuple[Node, ...]:
        """What was reached, the items themselves aside."""
        return tuple(node for node, steps in self.steps.items() if steps)


class Genealogy(NamedTuple):
    """Of an item, or of a session with all of its items that refer or are referred to.

    A direction that nobody asked for is None.
    """

    session: str
    item: str | None
    starts: tuple[Node, ...]
    ancestors: Reach | None
    descendants: Reach | None
    circles: tuple[tuple[Edge, ...], ...] = ()

    @property
    def reaches(self) -> tuple[Reach, ...]:
        """The directions that were asked for."""
        return tuple(each for each in (self.ancestors, self.descendants) if each is not None)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every item once: the ones asked about, ancestors, descendants."""
        found = (node for reach in self.reaches for node in reach.steps)
        return tuple(dict.fromkeys((*self.starts, *found)))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every reference once."""
        return tuple(dict.fromkeys(edge for reach in self.reaches for edge in reach.edges))

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions of all items, by their IDs: those of research by their dates."""
        return tuple(sorted({self.session, *(node.session for node in self.nodes)}))


def node_order(node: Node) -> tuple[str, int, tuple[int, str]]:
    """The sort key of items: by session, section and number."""
    return (node.session, _PLACES.get(node.item[:1], len(_PLACES)), order_of(node.item))


def links(graph: ReferenceGraph, node: Node, direction: Direction) -> tuple[Link, ...]:
    """What an item leads to in one step, each once, in their order."""
    is_up = direction is Direction.ANCESTORS
    relations: dict[Node, dict[str, None]] = {}
    for edge in graph.out_of(node) if is_up else graph.into(node):
        relations.setdefault(edge.target if is_up else edge.origin, {})[edge.relation] = None
    return tuple(Link(to, tuple(relations[to])) for to in sorted(relations, key=node_order))


def reach(
    graph: ReferenceGraph, starts: Iterable[Node], direction: Direction, depth: int | None = None
) -> Reach:
    """All that can be reached, or what is no more than so many steps away."""
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
    """Where an item, or every item of a session, comes from, and what came of it."""
    starts = (Node(session, item),) if item else _connected(graph, session)
    ways = {way: reach(graph, starts, way, depth) for way in directions}
    found = {node for each in ways.values() for node in each.steps}
    circles = graph.circles() if found else ()
    return Genealogy(
        session,
        item,
        starts,
        ways.get(Direction.ANCESTORS),
        ways.get(Direction.DESCENDANTS),
        tuple(circle for circle in circles if all(edge.origin in found for edge in circle)),
    )


def _connected(graph: ReferenceGraph, session: str) -> tuple[Node, ...]:
    """The items of a session that refer or are referred to."""
    found = {node for node in graph.nodes if node.session == session}
    return tuple(sorted(found, key=node_order))


# Between sessions


class Between(NamedTuple):
    """How often one session refers to another, by relation."""

    origin: str
    target: str
    relations: tuple[tuple[str, int], ...]


def between(edges: Iterable[Edge]) -> tuple[Between, ...]:
    """The references from one session to another, summed up; those within a session aside."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for edge in edges:
        pair = (edge.origin.session, edge.target.session)
        if pair[0] != pair[1]:
            counts.setdefault(pair, Counter())[edge.relation] += 1
    return tuple(Between(*pair, tuple(counts[pair].items())) for pair in sorted(counts))


# Who had the idea


class FirstProposed(NamedTuple):
    """The earliest proposal of an idea; several where sessions have one of the same instant.

    `not_known` are the items in its line of which nobody here can say who proposed them and when:
    one of them may be earlier.
    """

    item: Node
    earliest: tuple[Described, ...]
    not_known: tuple[Node, ...]


def first_proposed(graph: ReferenceGraph, node: Node, describe: Describe) -> FirstProposed:
    """Who first proposed an item, or what it extends, refines, supersedes or replicates."""
    line = [describe(each) for each in _lineage(graph, node)]
    known = [(each.proposal, each) for each in line if each.proposal and each.proposal.at]
    first = min((proposal.at for proposal, _ in known if proposal.at), default=None)
    tied = [pair for pair in known if pair[0].at == first]
    tied.sort(key=lambda pair: (pair[0].message_id, pair[0].block))
    # Of one session the order of the mail decides; between sessions nothing does.
    earliest = {each.node.session: each for _, each in reversed(tied)}
    dated = {each.node for _, each in known}
    return FirstProposed(
        node,
        tuple(each for each in line if earliest.get(each.node.session) is each),
        tuple(each.node for each in line if each.node not in dated),
    )


def _lineage(graph: ReferenceGraph, node: Node) -> tuple[Node, ...]:
    """The item and its ancestors by the relations that carry an idea on."""
    found = {node: None}
    waiting = deque([node])
    while waiting:
        for link in links(graph, waiting.popleft(), Direction.ANCESTORS):
            if link.node not in found and not LINEAGE.isdisjoint(link.relations):
                found[link.node] = None
                waiting.append(link.node)
    return tuple(found)


# A genealogy laid out as a tree: each item in full once, where it is nearest, else by its name.
#
# A tree that grows too far to the right goes on in a part of its own, and of very many branches
# only
# the first are drawn. So every line has an end, however long the line of ideas is.


MOST_LEVELS = 6
MOST_BRANCHES = 40


class Shown(Enum):
    """How an item is shown in a row."""

    ROOT = auto()  # in full, and the tree under it
    IN_FULL = auto()
    ABOVE = auto()  # shown in full above
    BELOW = auto()  # shown in full further down
    PART = auto()  # where a part of the tree begins that had no room
    MORE = auto()  # no item, but how many were left out


class Row(NamedTuple):
    """One row. `trunk` says for each level above whether its line goes on past this row.

    `relations` lead from the row above to this item. `part` is the number of the part in which the
    tree under it goes on, or which begins here. `left_out` counts branches that are not drawn.
    """

    shown: Shown
    node: Node
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
        roots: Iterable[Node],
        direction: Direction,
        depth: int | None = None,
    ) -> None:
        self.roots = tuple(dict.fromkeys(roots))
        self._graph, self._direction, self._depth = graph, direction, depth
        self.steps = dict.fromkeys(self.roots, 0)
        self._parents: dict[Node, Node] = {}  # under which an item is shown in full
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

    def rows(self) -> Iterator[Row]:
        """The rows, top to bottom."""
        yield from _Drawing(self).rows()

    def branches(self, node: Node) -> tuple[tuple[Link, ...], int]:
        """What is drawn under an item, and how much is not."""
        if self._depth is not None and self.steps[node] >= self._depth:
            return (), 0
        found = links(self._graph, node, self._direction)
        return found[:MOST_BRANCHES], max(0, len(found) - MOST_BRANCHES)

    def is_under(self, node: Node, parent: Node) -> bool:
        """Whether this is the place where an item is shown in full."""
        return self._parents.get(node) == parent


class _Drawing:
    """The tree being drawn: what was shown so far, and which parts had no room."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._shown: set[Node] = set()
        self._parts: deque[tuple[int, Node]] = deque()
        self._count = 0

    def rows(self) -> Iterator[Row]:
        for root in self._tree.roots:
            self._shown.add(root)
            yield Row(Shown.ROOT, root)
            yield from self._under(root)
        while self._parts:
            number, node = self._parts.popleft()
            yield Row(Shown.PART, node, part=number)
            yield from self._under(node)

    def _under(self, top: Node) -> Iterator[Row]:
        """Everything under an item, as far as there is room."""
        waiting = self._rows_of(top, ())
        while waiting:
            row = waiting.pop()
            if row.shown is not Shown.IN_FULL:
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

    def _rows_of(self, node: Node, trunk: tuple[bool, ...]) -> list[Row]:
        """The rows directly under an item, the last one first: they are taken from the end."""
        drawn, left_out = self._tree.branches(node)
        rows = [
            Row(
                Shown.IN_FULL if self._tree.is_under(link.node, node) else Shown.ABOVE,
                link.node,
                link.relations,
                trunk,
                is_last=False,
            )
            for link in drawn
        ]
        if left_out:
            rows.append(Row(Shown.MORE, node, trunk=trunk, left_out=left_out))
        if rows:
            rows[-1] = rows[-1]._replace(is_last=True)
        return rows[::-1]

    def _elsewhere(self, row: Row) -> Row:
        """A row that shows no item in full: where it is shown, as far as is known by now."""
        is_below = row.shown is Shown.ABOVE and row.node not in self._shown
        return row._replace(shown=Shown.BELOW) if is_below else row


# Genealogies in words: relations in both directions, sections, who had an idea first.


class Said(NamedTuple):
    """A relation as the item says it, and as one says it of what it refers to."""

    up: str
    down: str


RELATION_WORDS = {
    "extends": Said("extends", "extended by"),
    "refines": Said("refines", "refined by"),
    "refutes": Said("refutes", "refuted by"),
    "informed_by": Said("informed by", "informed"),
    "supersedes": Said("supersedes", "superseded by"),
    "replicates": Said("replicates", "replicated by"),
}
_MOST_NAMED = 2
ARROWS = {Direction.ANCESTORS: "←", Direction.DESCENDANTS: "→"}
SECTION_WORDS = {
    "research_thread": "question",
    "hypothesis_slate": "hypothesis",
    "predictions_table": "prediction",
    "discriminative_tests": "test",
    "assumption_ledger": "assumption",
    "anomaly_register": "anomaly",
    "adversarial_critique": "critique",
}


def relation_words(relations: Iterable[str], direction: Direction) -> str:
    """`refines`, `refined by`; several are listed. What is no relation of ours is quoted."""
    is_up = direction is Direction.ANCESTORS
    return ", ".join(_words(each, is_up=is_up) for each in relations)


def _words(relation: str, *, is_up: bool) -> str:
    said = RELATION_WORDS.get(relation)
    if said is None:
        return f'"{relation}"' if is_up else f'"{relation}" said by'
    return said.up if is_up else said.down


def counted_words(relations: Iterable[tuple[str, int]]) -> str:
    """`refines, informed by ×2`: relations as one says them, each with its number from 2 on."""
    return ", ".join(
        _words(name, is_up=True) + (f" ×{count}" if count > 1 else "") for name, count in relations
    )


def first_sentence(first: FirstProposed) -> str:
    """Who had the idea first, and what nobody here can tell, in whole sentences."""
    parts = []
    if first.earliest:
        parts.append(f"First proposed by {_proposals(first)}.")
    if first.not_known:
        parts.append(_not_known(first))
    return " ".join(parts)


def first_words(first: FirstProposed) -> str:
    """The same in one line of a list."""
    others = [node for node in first.not_known if node != first.item]
    if not first.earliest:
        return f"not known here; it goes back to {_named(others)}" if others else "not known here"
    return _proposals(first) + (f"; perhaps earlier as {_named(others)}" if others else "")


def _proposals(first: FirstProposed) -> str:
    if len(first.earliest) == 1:
        return _genealogy_words_proposal(first.earliest[0], first.item)
    few = [_genealogy_words_proposal(each, first.item) for each in first.earliest[:_MOST_NAMED]]
    more = len(first.earliest) - len(few)
    return "several at the same instant: " + "; ".join([*few, f"{more} more"] if more else few)


def _genealogy_words_proposal(known: Described, item: Node) -> str:
    """`BlueLake on 2026-01-05, as RS-… H2 (message 4)`."""
    proposal = known.proposal
    if proposal is None or proposal.at is None:  # then it is none of the earliest
        return str(known.node)
    where = "here" if known.node == item else f"as {known.node}"
    return f"{proposal.agent} on {proposal.at:%Y-%m-%d}, {where} (message {proposal.message_id})"


def _not_known(first: FirstProposed) -> str:
    others = [node for node in first.not_known if node != first.item]
    if not others and first.earliest:
        return f"Who proposed {first.item} itself, and when, is not known here."
    if not others:
        return "Nobody here can tell who proposed it, and when."
    start = "It may be older: it goes back" if first.earliest else "It goes back"
    return f"{start} to {_named(others)}, and who proposed that is not known here."


def _named(nodes: Sequence[Node]) -> str:
    few = [str(node) for node in nodes[:_MOST_NAMED]]
    more = len(nodes) - len(few)
    return " and ".join([*few, f"{more} more"] if more else few)


# A genealogy as a flowchart that Mermaid draws: ancestors on top, one box per session.
#
# Names come from mail. Mermaid looks for directives, comments, links, Markdown and HTML in a label,
# so whatever is not a letter, a digit or one of a few signs is written as the number of its
# character, `#34;`, which Mermaid shows and never obeys. IDs of nodes are our own.


# More than these Mermaid refuses to draw unless its settings are changed (maxEdges, maxTextSize)
MOST_EDGES = 500
MOST_CHARACTERS = 50_000
_MOST_TITLE = 60
_PLAIN = frozenset(" ,-()")
# With these signs Mermaid marks entities inside, and it looks for the marks until the very end
_SPELLED = str.maketrans({"ﬂ": "fl", "¶": "\\xb6"})
_BREAK = "<br/>"
_CLASSES = {
    Fate.KILLED: "stroke-dasharray:5 4,color:gray,text-decoration:line-through",
    Fate.UNKNOWN_ITEM: "stroke-dasharray:1 4,font-style:italic",
    Fate.UNKNOWN_SESSION: "stroke-dasharray:1 4,font-style:italic",
}
_TARGET = "target"
_TARGET_STYLE = "stroke-width:3px"
_SAID = {
    Fate.ACTIVE: "",
    Fate.KILLED: "KILLED",
    Fate.UNKNOWN_ITEM: "unknown item",
    Fate.UNKNOWN_SESSION: "unknown session",
}


def mermaid(found: Genealogy, describe: Describe) -> str:
    """The whole flowchart; references point from an item to what it comes from."""
    return "".join(f"{line}\n" for line in _lines(found, describe))


def label(text: str, most: int = _MOST_TITLE) -> str:
    """A text of which nothing is obeyed, on one line, to stand between quotation marks."""
    return "".join(
        character if _is_plain(character) else f"#{ord(character)};"
        for character in escape_control(text, most).translate(_SPELLED)
    )


def _is_plain(character: str) -> bool:
    return character in _PLAIN or character.isalnum()


def _lines(found: Genealogy, describe: Describe) -> Iterator[str]:
    nodes = sorted(found.nodes, key=node_order)
    names = {node: f"n{number}" for number, node in enumerate(nodes, 1)}
    fates: dict[Fate, list[str]] = {fate: [] for fate in _CLASSES}
    yield "flowchart BT"
    for number, (session, group) in enumerate(groupby(nodes, lambda node: node.session), 1):
        yield f'  subgraph s{number}["{label(session, len(session) + 1)}"]'
        for node in group:
            known = describe(node)
            yield f'    {names[node]}["{_box(known)}"]'
            if known.fate in fates:
                fates[known.fate].append(names[node])
        yield "  end"
    for edge in found.edges:
        words = label(edge.relation.replace("_", " "))
        yield f'  {names[edge.origin]} -->|"{words}"| {names[edge.target]}'
    yield from _styles(fates, [names[node] for node in found.starts])


def _box(known: Described) -> str:
    """What stands in a box: ID and name, who and when, and its fate if that is not the usual."""
    first = known.node.item if not known.title else f"{known.node.item}  {known.title}"
    parts = [first, _who(known), _SAID[known.fate]]
    return _BREAK.join(label(part) for part in parts if part)


def _who(known: Described) -> str:
    proposal = known.proposal
    if proposal is None:
        return ""
    return f"{proposal.agent} {proposal.at:%Y-%m-%d}" if proposal.at else proposal.agent


def _styles(fates: Mapping[Fate, Sequence[str]], starts: Sequence[str]) -> Iterator[str]:
    for fate, names in fates.items():
        if names:
            yield f"  classDef {fate} {_CLASSES[fate]}"
            yield f"  class {','.join(names)} {fate}"
    if starts:
        yield f"  classDef {_TARGET} {_TARGET_STYLE}"
        yield f"  class {','.join(starts)} {_TARGET}"


# A genealogy as JSON; keys are only ever added.


DescribeSession = Callable[[str], SessionFacts]


def genealogy_json(
    found: Genealogy,
    describe: Describe,
    describe_session: DescribeSession,
    firsts: Iterable[FirstProposed],
) -> dict[str, object]:
    """The stable form. A direction that nobody asked for is null."""
    first = [_first_json(each) for each in firsts]
    return {
        "target": {"session": found.session, "item": found.item},
        "sessions": [_session_json(describe_session(each)) for each in found.sessions],
        "nodes": [_node_json(describe(node)) for node in found.nodes],
        "edges": [_edge_json(edge) for edge in found.edges],
        "between": [
            {"from": each.origin, "to": each.target, "relations": dict(each.relations)}
            for each in between(found.edges)
        ],
        "ancestors": _reach_json(found.ancestors),
        "descendants": _reach_json(found.descendants),
        "left_out": {
            "ancestors": found.ancestors.left_out if found.ancestors else 0,
            "descendants": found.descendants.left_out if found.descendants else 0,
        },
        "first_proposed": first[0] if found.item and first else None,
        "items": [] if found.item else first,
        "circles": [[_edge_json(edge) for edge in circle] for circle in found.circles],
    }


def _name_json(node: Node) -> dict[str, object]:
    return {"session": node.session, "item": node.item}


def _edge_json(edge: Edge) -> dict[str, object]:
    return {
        "from": _name_json(edge.origin),
        "to": _name_json(edge.target),
        "relation": edge.relation,
    }


def _reach_json(reach: Reach | None) -> list[dict[str, object]] | None:
    if reach is None:
        return None
    return [_name_json(node) | {"steps": reach.steps[node]} for node in reach.found]


def _session_json(facts: SessionFacts) -> dict[str, object]:
    return {
        "session": facts.session,
        "source": facts.source,
        "version": facts.version,
        "status": facts.status,
        "phase": facts.phase,
        "question": facts.question or None,
    }


def _node_json(known: Described) -> dict[str, object]:
    return {
        **_name_json(known.node),
        "title": known.title or None,
        "section": known.section,
        "fate": known.fate.value,
        "proposed": _proposal_json(known.proposal),
        "killed": _kill_json(known.kill),
    }


def _proposal_json(proposal: Proposal | None) -> dict[str, object] | None:
    if proposal is None:
        return None
    return {**proposal._asdict(), "at": iso(proposal.at) if proposal.at else None}


def _kill_json(kill: Kill | None) -> dict[str, object] | None:
    return kill._asdict() if kill else None


def _first_json(first: FirstProposed) -> dict[str, object]:
    """Who first proposed an item: one, or several at the same instant."""
    return {
        **_name_json(first.item),
        "earliest": [
            {**_name_json(each.node), **(_proposal_json(each.proposal) or {})}
            for each in first.earliest
        ],
        "not_known": [_name_json(node) for node in first.not_known],
        "is_certain": len(first.earliest) == 1 and not first.not_known,
    }
