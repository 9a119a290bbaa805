"""`brenner refs`: references between the items of sessions, each command imported when called."""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TextIO

import click

from brenner.artifact.merge.draft import Node
from brenner.cli.artifact.common import BOLD, DIM, STRUCK
from brenner.cli.options import (
    Command,
    Commands,
    Number,
    Settings,
    common_options,
    examples,
    group_options,
)
from brenner.cli.output import Progress, Reporting, width_of, write_diagnostics, write_json
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    STYLE_OF_TYPE,
    UNLIMITED,
    Span,
    Style,
    advice,
    agent_piece,
    columns,
    fold,
    lines_of,
    pager_option,
    print_hint,
    print_message,
    sentence,
    shown_line,
    write_lines,
)
from brenner.cli.workspace import CONTENT, FINE, workspace_of
from brenner.diagnostics.model import Summary, worst_first
from brenner.protocol.delta.schema import RELATIONS
from brenner.services.genealogy import Followed
from brenner.services.references import Checked, CheckedReferences, check_references
from brenner.session.genealogy import (
    ARROWS,
    SECTION_WORDS,
    Between,
    Describe,
    Described,
    Direction,
    Fate,
    Genealogy,
    Kill,
    Proposal,
    Row,
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
from brenner.session.references import Edge, Leads, ReferenceGraph
from brenner.session.status_text import PHASE_WORDS
from brenner.text import escape_control, grouped

COMMANDS = {
    "check": Command("brenner.cli.refs", "check", "List what leads nowhere or in a circle."),
    "graph": Command("brenner.cli.refs", "graph", "Show what an item comes from and led to."),
}


@click.group(cls=Commands, table=COMMANDS)
@group_options
def command() -> None:
    """Follow an idea across sessions."""


# `brenner refs check`: references that lead nowhere, in a circle, or to a killed item.


@click.command(
    "check",
    cls=Reporting,
    always={"references": [], "circles": []},
    epilog=examples(
        "brenner refs check", "brenner refs check RS-20251230-cell-fate RS-20251231-vesicles"
    ),
)
@click.argument("threads", nargs=-1, metavar="[THREAD]...")
@common_options
def check(settings: Settings, threads: tuple[str, ...]) -> int:
    """List the references between items that lead nowhere, in a circle, or to a killed item.

    Sessions are looked up in the mail and in `artifacts/` of the project. With THREAD only the
    references of these sessions are looked at. What is not known yet is a warning, a killed item
    an info, a circle an error.

    Exit code 0: no circle; 1: references go in a circle.
    """
    with workspace_of(settings) as here, Progress() as progress:
        checked = check_references(here, threads, progress)
    if settings.as_json:
        write_json(_document(checked))
    else:
        _write(checked)
    return CONTENT if checked.summary.errors else FINE


# JSON


def _document(checked: CheckedReferences) -> dict[str, object]:
    """The stable form; keys are only ever added."""
    violations = [
        {"session": found.session} | each.to_json()
        for found in checked.found
        for each in found.violations
    ]
    violations += [each.to_json() for each in checked.problems]
    return {
        "references": [_reference(each) for each in checked.references],
        "circles": [[_step(edge) for edge in way] for way in checked.circles],
        "violations": violations,
        "summary": checked.summary._asdict(),
        "valid": not checked.summary.errors,
    }


def _reference(checked: Checked) -> dict[str, str]:
    return _step(checked.edge) | {"state": str(checked.leads)}


def _step(edge: Edge) -> dict[str, str]:
    return {
        "session": edge.origin.session,
        "item": edge.origin.item,
        "relation": edge.relation,
        "target_session": edge.target.session,
        "target_item": edge.target.item,
    }


# For people


def _write(checked: CheckedReferences) -> None:
    """Session by session, then the files, then the figures."""
    out = sys.stdout
    for found in checked.found:
        for each in found.violations:
            write_diagnostics([each], f"{found.session} {each.item or ''}".rstrip(), out)
    write_diagnostics(checked.problems, "brenner", out)
    print_message(_verdict(checked))
    if not checked.references:
        print_hint(
            "A delta says in `references` which item of which session its own comes from; "
            "`brenner explain UNKNOWN_REFERENCE` shows one."
        )


def _verdict(checked: CheckedReferences) -> str:
    count = len(checked.references)
    if not count:
        return "No item refers to another one yet."
    sessions = len({each.edge.origin.session for each in checked.references})
    leads = [each.leads for each in checked.references]
    killed = leads.count(Leads.TO_KILLED)
    nowhere = leads.count(Leads.NO_SESSION) + leads.count(Leads.NO_ITEM)
    said = [f"{nowhere} {'leads' if nowhere == 1 else 'lead'} nowhere yet"] if nowhere else []
    if not nowhere:
        said.append("all lead somewhere" if count > 1 else "it leads somewhere")
    if killed:
        said.append(f"{killed} to {'a killed item' if killed == 1 else 'killed items'}")
    if checked.circles:
        said.append(grouped(len(checked.circles), "circle"))
    figures = f"{grouped(count, 'reference')} in {grouped(sessions, 'session')}"
    return f"{figures}; {', '.join(said)}."


# One item of a genealogy: its name, who proposed it and when, its fate; in a tree or alone.


_BRANCH, _END, _DOWN, _NOTHING = "├── ", "└── ", "│   ", "    "
_GAP = "  "
_NOTICE = STYLE_OF_TYPE["QUESTION"]
_ROOM_FOR_TITLE = 50  # columns, in which also a long one may begin
_DAY = 10  # letters of a time in ISO 8601
_KILLED = "[KILLED]"
_UNKNOWN = {
    Fate.UNKNOWN_SESSION: ("[UNKNOWN SESSION]", "nothing of it can be read, in mail or artifacts/"),
    Fate.UNKNOWN_ITEM: ("[UNKNOWN ITEM]", "its session does not have it"),
}


class Margin(NamedTuple):
    """What stands before the first line of an item, and before the others."""

    first: str = ""
    under: str = "  "


def row_lines(row: Row, direction: Direction, describe: Describe, out: TextIO) -> Iterator[str]:
    """A row of a tree: an item in full, or only its name and where it is shown."""
    margin = _margin(row)
    words = escape_control(relation_words(row.relations, direction))
    relation = [Span(f"{ARROWS[direction]} ", DIM), Span(f"{words} ")]
    if row.shown is Shown.MORE:
        words = f"… and {row.left_out} more; `--json` lists them all"
        yield from _folded(margin, [Span(words, DIM)], out)
    elif row.shown is Shown.PART:
        yield "\n"
        pieces = [Span(f"[{row.part}] ", BOLD), *name_pieces(row.node, BOLD)]
        yield from _folded(Margin(), [*pieces, Span(", from above", DIM)], out)
    elif row.shown is Shown.IN_FULL:
        yield from item_lines(describe(row.node), relation, margin, out)
        if row.part:
            words = f"goes on below, at [{row.part}]"
            yield from _folded(Margin(margin.under, margin.under), [Span(words, BOLD)], out)
    else:
        where = "see above" if row.shown is Shown.ABOVE else "see below"
        pieces = [*relation, *name_pieces(row.node, PLAIN), Span(f"  ({where})", DIM)]
        yield from _folded(margin, pieces, out)


def _margin(row: Row) -> Margin:
    if row.shown is Shown.PART:
        return Margin()
    trunk = "".join(_DOWN if goes_on else _NOTHING for goes_on in row.trunk)
    first, under = (_END, _NOTHING) if row.is_last else (_BRANCH, _DOWN)
    return Margin(trunk + first, trunk + under)


def item_lines(
    known: Described, before: Sequence[Span], margin: Margin, out: TextIO
) -> Iterator[str]:
    """An item in full. Its title stands beside its name where there is room for it."""
    is_killed = known.fate is Fate.KILLED
    name = [*before, *name_pieces(known.node, BOLD)]
    title = Span(one_line(known.title), STRUCK if is_killed else PLAIN)
    under = Margin(margin.under, margin.under)
    taken = columns(margin.first + _GAP) + sum(columns(each.text) for each in name)
    room = (width_of(out) or UNLIMITED) - taken
    if known.title and room >= min(columns(title.text), _ROOM_FOR_TITLE):
        yield from _folded(margin, [*name, Span(_GAP), title], out)
    else:
        yield from _folded(margin, name, out)
        if known.title:
            yield from _folded(under, [title], out)
    if known.fate in _UNKNOWN:
        word, why = _UNKNOWN[known.fate]
        yield from _folded(under, [Span(word, _NOTICE), Span(f" {why}", DIM)], out)
        return
    yield from _folded(under, _proposal_pieces(known), out)
    if known.kill:
        yield from _folded(under, _kill_pieces(known.kill), out)


def root_lines(known: Described, out: TextIO, *, is_seen: bool) -> Iterator[str]:
    """An item of the session that it is all about, with the tree that begins under it.

    One that was told of above is only named.
    """
    short = known._replace(node=known.node._replace(session=""))
    yield "\n"
    if is_seen:
        title = Span(one_line(known.title), STRUCK if known.kill else PLAIN)
        mark = [Span(f"{_GAP}{_KILLED}", ATTENTION)] if known.kill else []
        name = name_pieces(short.node, BOLD)
        pieces = [*name, Span(_GAP), title, *mark, Span("  (see above)", DIM)]
        yield from _folded(Margin(under=_DOWN), pieces, out)
    else:
        yield from item_lines(short, [], Margin(under=_DOWN), out)


def name_pieces(node: Node, style: Style) -> list[Span]:
    """An item as one names it; its ID is never parted from its session."""
    name = f"{node.session} {node.item}".lstrip()
    return [Span(escape_control(name, len(name) + 1), style, is_solid=True)]


def one_line(text: str) -> str:
    """A text of several lines on one, whole."""
    joined = " ".join(text.split())
    return escape_control(joined, len(joined) + 1)


def _proposal_pieces(known: Described) -> list[Span]:
    """`hypothesis by BlueLake, 2026-01-05, message 4, in v1`."""
    what = SECTION_WORDS.get(known.section or "", "item")
    proposal: Proposal | None = known.proposal
    if proposal is None:
        return [Span(f"{what}; who proposed it is not known here", DIM)]
    when = f", {proposal.at:%Y-%m-%d}" if proposal.at else ""
    return [
        Span(f"{what} by ", DIM),
        agent_piece(proposal.agent),
        Span(f"{when}, message {proposal.message_id}, in v{proposal.version}", DIM),
    ]


def _kill_pieces(kill: Kill) -> list[Span]:
    """The mark in words, who and when quiet, the reason at full strength."""
    where = f" in v{kill.version}" if kill.version else ""
    when = f", {escape_control(kill.at[:_DAY])}" if kill.at else ""
    by = [Span(" by ", DIM), agent_piece(kill.agent)] if kill.agent else []
    return [
        Span(_KILLED, ATTENTION),
        Span(where, DIM),
        *by,
        Span(f"{when}: ", DIM),
        Span(one_line(kill.reason) if kill.reason.strip() else "no reason is given"),
    ]


def _folded(margin: Margin, pieces: Sequence[Span], out: TextIO) -> Iterator[str]:
    """The pieces in lines, the tree before them quiet."""
    laid_out = lines_of([Span(margin.first)], pieces, margin.under, width_of(out) or UNLIMITED)
    for line in laid_out:
        quiet = [line[0]._replace(style=DIM), *line[1:]] if line else []
        yield f"{shown_line(quiet, out)}\n"


# A genealogy for people: who had the idea, what it comes from, what came of it.


_INDENT = "  "
_TITLES = {Direction.ANCESTORS: "Comes from", Direction.DESCENDANTS: "What came of it"}
_GENEALOGY_LINES_NOTHING = {
    Direction.ANCESTORS: "refers to nothing",
    Direction.DESCENDANTS: "led to nothing yet",
}
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
        yield fold([], [Span(_TITLES[reach.direction], BOLD)], "", out)
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
        yield fold([Span(_INDENT)], [Span(_whole(first_sentence(first)))], _INDENT, out)


def _session_head(facts: SessionFacts, found: Genealogy, out: TextIO) -> Iterator[str]:
    name = Span(_whole(found.session), BOLD, is_solid=True)
    yield fold([], [name, Span(f"  {_state(facts)}", DIM)], _INDENT, out)
    if facts.question:
        yield fold([Span(_INDENT)], [Span(one_line(facts.question))], _INDENT, out)


def _state(facts: SessionFacts) -> str:
    """`v2, in critique`; what is only known from elsewhere than the mail is said."""
    if facts.source is None:
        return "unknown session"
    state = PHASE_WORDS[Phase(facts.phase)] if facts.phase else escape_control(facts.status or "")
    version = f"v{facts.version}" if facts.version else "no version yet"
    return ", ".join(filter(None, [version, state, _SOURCES.get(facts.source)]))


def _no_references(found: Genealogy, out: TextIO) -> Iterator[str]:
    """That there is nothing to show, and how that is changed."""
    asked = [reach.direction for reach in found.reaches]
    if found.item:
        said = " and ".join(_GENEALOGY_LINES_NOTHING[each] for each in asked)
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
    return escape_control(text, len(text) + 1)


# Between sessions


def _sessions(followed: Followed, out: TextIO) -> Iterator[str]:
    """Every session of the answer, the oldest first, and what it refers to."""
    found = followed.genealogy
    sums: dict[str, list[Between]] = {}
    for each in between(found.edges):
        sums.setdefault(each.origin, []).append(each)
    yield "\n"
    yield fold([], [Span("Sessions", BOLD)], "", out)
    widest = min(_MOST_NAME, max(len(each) for each in found.sessions))
    for session in found.sessions:
        state = _state(followed.sessions.facts(session))
        name = f"{_whole(session):<{widest}}  "
        yield fold([Span(_INDENT)], [Span(name, is_solid=True), Span(state, DIM)], _INDENT, out)
        for each in sums.get(session, ()):
            words = [Span(f"{_UP} ", DIM), Span(f"{_whole(counted_words(each.relations))} ")]
            target = Span(_whole(each.target), is_solid=True)
            yield fold([Span(_INDENT * 2)], [*words, target], _INDENT * 3, out)


def _firsts(followed: Followed, out: TextIO) -> Iterator[str]:
    firsts = followed.firsts()
    if not firsts:
        return
    yield "\n"
    yield fold([], [Span("First proposed by", BOLD)], "", out)
    for first in firsts:
        start = [Span(_INDENT), Span(f"{first.item.item:<3} ", BOLD)]
        yield fold(start, [Span(_whole(first_words(first)))], _INDENT * 3, out)


# The trees


def _tree(followed: Followed, direction: Direction, out: TextIO) -> Iterator[str]:
    found, graph = followed.genealogy, followed.graph
    reach = found.ancestors if direction is Direction.ANCESTORS else found.descendants
    if reach is None or not reach.edges:
        yield fold([Span(_INDENT)], [Span(_NONE[direction], DIM)], _INDENT, out)
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
    pieces = [Span("A circle: ", ATTENTION), *name_pieces(circle[0].origin, PLAIN)]
    for edge in circle:
        words = relation_words([edge.relation], Direction.ANCESTORS)
        pieces += [Span(f" {words} ", DIM), *name_pieces(edge.target, PLAIN)]
    yield fold([], pieces, _INDENT, out)
    yield advice("`brenner explain CIRCLE_OF_REFERENCES` says how one is taken apart.", out)


# `brenner refs graph`: what an item comes from and what came of it, over all sessions.


GRAPH_FINE = 0


@click.command(
    "graph",
    cls=Reporting,
    always={
        "target": None,
        "sessions": [],
        "nodes": [],
        "edges": [],
        "between": [],
        "ancestors": None,
        "descendants": None,
        "left_out": {"ancestors": 0, "descendants": 0},
        "first_proposed": None,
        "items": [],
        "circles": [],
    },
    epilog=examples(
        "brenner refs graph RS-20251230-cell-fate H2",
        "brenner refs graph RS-20251230-cell-fate --ancestors --depth 2",
        "brenner refs graph RS-20251230-cell-fate H2 --mermaid > h2.mmd",
    ),
)
@click.argument("thread", metavar="THREAD")
@click.argument("item", required=False, metavar="[ITEM]")
@click.option("--ancestors", is_flag=True, help="Only what it comes from.")
@click.option("--descendants", is_flag=True, help="Only what came of it.")
@click.option("--depth", type=Number(1), metavar="N", help="No further than so many steps.")
@click.option("--mermaid", "as_mermaid", is_flag=True, help="Print a flowchart for Mermaid.")
@pager_option
@common_options
def graph(settings: Settings, thread: str, item: str | None, **options: "bool | int | None") -> int:
    """Show what an ITEM of a THREAD comes from, what came of it, and who proposed it first.

    Without ITEM it is about all items of the session that refer to others or are referred to.
    References are followed through all sessions of the mail and of artifacts/. Exit code 1: there
    is no such thread or item.
    """
    if options["as_mermaid"] and settings.as_json:
        message = "Give either --mermaid or --json."
        raise click.UsageError(message)
    from brenner.cli.artifact.common import thread_of
    from brenner.cli.output import Progress
    from brenner.cli.workspace import workspace_of
    from brenner.services.genealogy import Asked, follow

    ways = _directions(ancestors=options["ancestors"], descendants=options["descendants"])
    asked = Asked(thread_of(thread), item, ways, options["depth"])
    with workspace_of(settings) as here:
        with Progress() as progress:
            followed = follow(here, asked, progress)
            if settings.as_json or options["as_mermaid"]:  # a tree is written as it is looked up
                followed.look_up(progress)
        if settings.as_json:
            write_json(_graph_document(followed))
        elif options["as_mermaid"]:
            _write_mermaid(followed)
        else:
            _write_text(followed, pager=bool(options["pager"]))
    return GRAPH_FINE


def _directions(*, ancestors: object, descendants: object) -> "tuple[Direction, ...]":
    """Both, unless one is asked for."""
    from brenner.session.genealogy import Direction

    if ancestors and descendants:
        message = "Give --ancestors or --descendants; without them both are shown."
        raise click.UsageError(message)
    if ancestors:
        return (Direction.ANCESTORS,)
    return (Direction.DESCENDANTS,) if descendants else tuple(Direction)


def _graph_document(followed: "Followed") -> dict[str, object]:
    from brenner.session.genealogy import genealogy_json

    sessions = followed.sessions
    document = genealogy_json(followed.genealogy, sessions.item, sessions.facts, followed.firsts())
    found = sorted(followed.diagnostics(), key=worst_first)
    return {
        **document,
        "violations": [each.to_json() for each in found],
        "summary": Summary.of(found)._asdict(),
    }


def _write_mermaid(followed: "Followed") -> None:
    """The flowchart, whole; where Mermaid would not draw it as it is set up, that is said."""
    from brenner.session.genealogy import MOST_CHARACTERS, MOST_EDGES, mermaid

    text = mermaid(followed.genealogy, followed.sessions.item)
    sys.stdout.write(text)
    if len(followed.genealogy.edges) > MOST_EDGES or len(text) > MOST_CHARACTERS:
        print_message(
            f"Mermaid draws at most {MOST_EDGES} references and {MOST_CHARACTERS:,} characters "
            "unless its maxEdges and maxTextSize say otherwise; `--depth` makes the chart smaller.",
            sys.stderr,
        )
    _write_problems(followed)


def _write_text(followed: "Followed", *, pager: bool) -> None:

    write_lines(lines(followed, sys.stdout), pager=pager)
    _write_problems(followed)


def _write_problems(followed: "Followed") -> None:
    """Files that could not be read: what they hold is missing in the answer."""
    write_diagnostics(followed.problems, "artifacts", sys.stderr)
