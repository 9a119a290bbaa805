"""A genealogy as a flowchart that Mermaid draws: ancestors on top, one box per session.

Names come from mail. Mermaid looks for directives, comments, links, Markdown and HTML in a label,
so whatever is not a letter, a digit or one of a few signs is written as the number of its
character, `#34;`, which Mermaid shows and never obeys. IDs of nodes are our own.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from brenner.session.genealogy import Describe, Genealogy, node_order
from brenner.session.genealogy_facts import Described, Fate
from brenner.text import visible

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
        for character in visible(text, most).translate(_SPELLED)
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
