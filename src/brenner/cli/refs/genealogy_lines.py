"""A genealogy for people: who had the idea, what it comes from, what came of it."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from brenner.artifact.merge.draft import Node
from brenner.cli.artifact.values import BOLD, DIM
from brenner.cli.folding import PLAIN, Piece, fold
from brenner.cli.marks import ATTENTION
from brenner.cli.refs.item_lines import (
    Margin,
    item_lines,
    name_pieces,
    one_line,
    root_lines,
    row_lines,
)
from brenner.cli.sentences import advice, sentence
from brenner.protocol.delta.schema import RELATIONS
from brenner.services.genealogy import Followed
from brenner.session.genealogy import (
    ARROWS,
    Between,
    Direction,
    Genealogy,
    SessionFacts,
    Shown,
    Tree,
    between,
    counted_words,
    first_sentence,
    first_words,
    relation_words,
)
from brenner.session.model import Phase
from brenner.session.references import Edge, ReferenceGraph
from brenner.session.status_text import PHASE_WORDS
from brenner.text import visible

_INDENT = "  "
_TITLES = {Direction.ANCESTORS: "Comes from", Direction.DESCENDANTS: "What came of it"}
_NOTHING = {Direction.ANCESTORS: "refers to nothing", Direction.DESCENDANTS: "led to nothing yet"}
_NO_ITEM = {Direction.ANCESTORS: "refers to another", Direction.DESCENDANTS: "is referred to"}
_SOURCES = {"file": "only its file is here", "archive": "from its file and archive"}
_UP = ARROWS[Direction.ANCESTORS]
_MOST_NAME = 40  # columns of a session's name, in which states line up
_NONE = {Direction.ANCESTORS: "nothing", Direction.DESCENDANTS: "nothing yet"}
_EXAMPLE = '"references": [{"session": "RS-…", "item": "H2", "relation": "refines"}]'


def lines(followed: Followed, out: TextIO) -> Iterator[str]:
    """All of it, as it is being looked up."""
    found = followed.genealogy
    yield from _head(followed, out)
    if not found.edges:
        yield "\n"
        yield from _no_references(found, out)
        return
    if found.item is None:
        yield from _sessions(followed, out)
        yield from _firsts(followed, out)
    for reach in found.reaches:
        yield "\n"
        yield fold([], [Piece(_TITLES[reach.direction], BOLD)], "", out)
        yield from _tree(followed, reach.direction, out)
        if reach.left_out:
            yield _left_out(reach.left_out, out)
    for circle in found.circles:
        yield "\n"
        yield from _circle(circle, out)


# What it is about


def _head(followed: Followed, out: TextIO) -> Iterator[str]:
    found = followed.genealogy
    if found.item is None:
        yield from _session_head(followed.sessions.facts(found.session), found, out)
        return
    [target] = found.starts
    yield from item_lines(followed.sessions.item(target), [], Margin(under=_INDENT), out)
    for first in followed.firsts():
        yield fold([Piece(_INDENT)], [Piece(_whole(first_sentence(first)))], _INDENT, out)


def _session_head(facts: SessionFacts, found: Genealogy, out: TextIO) -> Iterator[str]:
    name = Piece(_whole(found.session), BOLD, is_solid=True)
    yield fold([], [name, Piece(f"  {_state(facts)}", DIM)], _INDENT, out)
    if facts.question:
        yield fold([Piece(_INDENT)], [Piece(one_line(facts.question))], _INDENT, out)


def _state(facts: SessionFacts) -> str:
    """`v2, in critique`; what is only known from elsewhere than the mail is said."""
    if facts.source is None:
        return "unknown session"
    state = PHASE_WORDS[Phase(facts.phase)] if facts.phase else visible(facts.status or "")
    version = f"v{facts.version}" if facts.version else "no version yet"
    return ", ".join(filter(None, [version, state, _SOURCES.get(facts.source)]))


def _no_references(found: Genealogy, out: TextIO) -> Iterator[str]:
    """That there is nothing to show, and how that is changed."""
    asked = [reach.direction for reach in found.reaches]
    if found.item:
        said = " and ".join(_NOTHING[each] for each in asked)
        yield sentence(_whole(f"{found.session} {found.item} {said}."), out)
    else:
        said = " or ".join(_NO_ITEM[each] for each in asked)
        yield sentence(_whole(f"No item of {found.session} {said}."), out)
    words = ", ".join(RELATIONS[:-1]) + f" or {RELATIONS[-1]}"
    yield advice(
        f"An item refers to another one in its ADD or an EDIT: `{_EXAMPLE}`; the relation is "
        f"{words}.",
        out,
    )


def _whole(text: str) -> str:
    """A text that may be long, on one line."""
    return visible(text, len(text) + 1)


# Between sessions


def _sessions(followed: Followed, out: TextIO) -> Iterator[str]:
    """Every session of the answer, the oldest first, and what it refers to."""
    found = followed.genealogy
    sums: dict[str, list[Between]] = {}
    for each in between(found.edges):
        sums.setdefault(each.origin, []).append(each)
    yield "\n"
    yield fold([], [Piece("Sessions", BOLD)], "", out)
    widest = min(_MOST_NAME, max(len(each) for each in found.sessions))
    for session in found.sessions:
        state = _state(followed.sessions.facts(session))
        name = f"{_whole(session):<{widest}}  "
        yield fold([Piece(_INDENT)], [Piece(name, is_solid=True), Piece(state, DIM)], _INDENT, out)
        for each in sums.get(session, ()):
            words = [Piece(f"{_UP} ", DIM), Piece(f"{_whole(counted_words(each.relations))} ")]
            target = Piece(_whole(each.target), is_solid=True)
            yield fold([Piece(_INDENT * 2)], [*words, target], _INDENT * 3, out)


def _firsts(followed: Followed, out: TextIO) -> Iterator[str]:
    firsts = followed.firsts()
    if not firsts:
        return
    yield "\n"
    yield fold([], [Piece("First proposed by", BOLD)], "", out)
    for first in firsts:
        start = [Piece(_INDENT), Piece(f"{first.item.item:<3} ", BOLD)]
        yield fold(start, [Piece(_whole(first_words(first)))], _INDENT * 3, out)


# The trees


def _tree(followed: Followed, direction: Direction, out: TextIO) -> Iterator[str]:
    found, graph = followed.genealogy, followed.graph
    reach = found.ancestors if direction is Direction.ANCESTORS else found.descendants
    if reach is None or not reach.edges:
        yield fold([Piece(_INDENT)], [Piece(_NONE[direction], DIM)], _INDENT, out)
        return
    following = graph.out_of if direction is Direction.ANCESTORS else graph.into
    roots = [node for node in found.starts if following(node)]
    for row in Tree(graph, roots, direction, reach.depth).rows():
        if row.shown is not Shown.ROOT:
            yield from row_lines(row, direction, followed.sessions.item, out)
        elif found.item is None:
            known = followed.sessions.item(row.node)
            yield from root_lines(known, out, is_seen=_is_seen(found, graph, row.node, direction))


def _is_seen(found: Genealogy, graph: ReferenceGraph, node: Node, direction: Direction) -> bool:
    """Whether an item of the session was told of in the tree before."""
    is_second = direction is Direction.DESCENDANTS and found.ancestors is not None
    return is_second and bool(graph.out_of(node))


def _left_out(count: int, out: TextIO) -> str:
    words = "1 more item is" if count == 1 else f"{count} more items are"
    return advice(f"{words} further away; without `--depth` everything is shown.", out)


def _circle(circle: Sequence[Edge], out: TextIO) -> Iterator[str]:
    """That items come from one another: told as a sentence, marked as what needs somebody."""
    pieces = [Piece("A circle: ", ATTENTION), *name_pieces(circle[0].origin, PLAIN)]
    for edge in circle:
        words = relation_words([edge.relation], Direction.ANCESTORS)
        pieces += [Piece(f" {words} ", DIM), *name_pieces(edge.target, PLAIN)]
    yield fold([], pieces, _INDENT, out)
    yield advice("`brenner explain CIRCLE_OF_REFERENCES` says how one is taken apart.", out)
