"""`brenner refs`: check references between sessions, and show the genealogy of an item."""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TextIO

import click

from brenner.artifact.merge.draft import SessionItem
from brenner.cli.artifact.common import BOLD, DIM, STRUCK
from brenner.cli.options import (
    LazyCommand,
    LazyGroup,
    Number,
    Settings,
    common_options,
    examples,
    group_options,
)
from brenner.cli.output import JsonCommand, Progress, terminal_width, write_diagnostics, write_json
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    STYLE_OF_TYPE,
    UNLIMITED_WIDTH,
    Span,
    Style,
    agent_span,
    display_width,
    fold,
    format_hint,
    format_message,
    pager_option,
    print_hint,
    print_message,
    styled_line,
    wrap_spans,
    write_lines,
)
from brenner.cli.workspace import EXIT_INVALID, EXIT_OK, workspace_of
from brenner.diagnostics.model import Summary, worst_first
from brenner.protocol.delta.schema import RELATIONS
from brenner.services.genealogy import GenealogyResult
from brenner.services.references import CheckedReference, CheckedReferences, check_references
from brenner.session.genealogy import (
    ARROWS,
    SECTION_LABELS,
    Describe,
    Direction,
    Genealogy,
    ItemInfo,
    ItemStatus,
    Kill,
    Proposal,
    RowKind,
    SessionInfo,
    SessionLink,
    Tree,
    TreeRow,
    describe_first_proposal,
    first_proposal_line,
    relation_counts_text,
    relation_text,
    session_links,
)
from brenner.session.model import Phase
from brenner.session.references import Edge, ReferenceGraph, TargetStatus
from brenner.session.status_text import PHASE_LABELS
from brenner.text import escape_control, grouped

COMMANDS = {
    "check": LazyCommand("brenner.cli.refs", "check", "List what leads nowhere or in a circle."),
    "graph": LazyCommand("brenner.cli.refs", "graph", "Show what an item comes from and led to."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
@group_options
def command() -> None:
    """Follow an idea across sessions."""


# `brenner refs check`: broken references, cycles, references to killed items


@click.command(
    "check",
    cls=JsonCommand,
    json_defaults={"references": [], "circles": []},
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
        write_json(_check_document(checked))
    else:
        _write_check(checked)
    return EXIT_INVALID if checked.summary.errors else EXIT_OK


# JSON output


def _check_document(checked: CheckedReferences) -> dict[str, object]:
    """Return the stable JSON form. Keys are only ever added."""
    violations = [
        {"session": found.session} | each.to_json()
        for found in checked.found
        for each in found.violations
    ]
    violations += [each.to_json() for each in checked.problems]
    return {
        "references": [_reference_json(each) for each in checked.references],
        "circles": [[_edge_json(edge) for edge in cycle] for cycle in checked.circles],
        "violations": violations,
        "summary": checked.summary._asdict(),
        "valid": not checked.summary.errors,
    }


def _reference_json(checked: CheckedReference) -> dict[str, str]:
    return _edge_json(checked.edge) | {"state": str(checked.leads)}


def _edge_json(edge: Edge) -> dict[str, str]:
    return {
        "session": edge.origin.session,
        "item": edge.origin.item,
        "relation": edge.relation,
        "target_session": edge.target.session,
        "target_item": edge.target.item,
    }


# Text output


def _write_check(checked: CheckedReferences) -> None:
    """Write the problems by session, then those of files, then the totals."""
    out = sys.stdout
    for found in checked.found:
        for each in found.violations:
            write_diagnostics([each], f"{found.session} {each.item or ''}".rstrip(), out)
    write_diagnostics(checked.problems, "brenner", out)
    print_message(_check_verdict(checked))
    if not checked.references:
        print_hint(
            "A delta says in `references` which item of which session its own comes from; "
            "`brenner explain UNKNOWN_REFERENCE` shows one."
        )


def _check_verdict(checked: CheckedReferences) -> str:
    count = len(checked.references)
    if not count:
        return "No item refers to another one yet."
    sessions = len({each.edge.origin.session for each in checked.references})
    leads = [each.leads for each in checked.references]
    killed = leads.count(TargetStatus.KILLED)
    broken = leads.count(TargetStatus.UNKNOWN_SESSION) + leads.count(TargetStatus.UNKNOWN_ITEM)
    parts = [f"{broken} {'leads' if broken == 1 else 'lead'} nowhere yet"] if broken else []
    if not broken:
        parts.append("all lead somewhere" if count > 1 else "it leads somewhere")
    if killed:
        parts.append(f"{killed} to {'a killed item' if killed == 1 else 'killed items'}")
    if checked.circles:
        parts.append(grouped(len(checked.circles), "circle"))
    figures = f"{grouped(count, 'reference')} in {grouped(sessions, 'session')}"
    return f"{figures}; {', '.join(parts)}."


# One item of a genealogy, in a tree or alone


_BRANCH, _LAST_BRANCH, _TRUNK, _NO_TRUNK = "├── ", "└── ", "│   ", "    "
_GAP = "  "
_NOTICE = STYLE_OF_TYPE["QUESTION"]
_MIN_TITLE_WIDTH = 50  # columns; a long title begins beside the name if so many are left
_DATE_CHARACTERS = 10  # the date in a time of ISO 8601
_KILLED = "[KILLED]"
_UNKNOWN_FATES = {
    ItemStatus.UNKNOWN_SESSION: (
        "[UNKNOWN SESSION]",
        "nothing of it can be read, in mail or artifacts/",
    ),
    ItemStatus.UNKNOWN_ITEM: ("[UNKNOWN ITEM]", "its session does not have it"),
}


class Margin(NamedTuple):
    """The text before the first line of an item, and before its other lines."""

    first: str = ""
    under: str = "  "


def row_lines(row: TreeRow, direction: Direction, describe: Describe, out: TextIO) -> Iterator[str]:
    """Yield a row of a tree: an item in full, or its name and where it is shown."""
    margin = _margin(row)
    words = escape_control(relation_text(row.relations, direction))
    relation = [Span(f"{ARROWS[direction]} ", DIM), Span(f"{words} ")]
    if row.shown is RowKind.MORE:
        words = f"… and {row.left_out} more; `--json` lists them all"
        yield from _fold_with_margin(margin, [Span(words, DIM)], out)
    elif row.shown is RowKind.PART:
        yield "\n"
        spans = [Span(f"[{row.part}] ", BOLD), *item_name_spans(row.node, BOLD)]
        yield from _fold_with_margin(Margin(), [*spans, Span(", from above", DIM)], out)
    elif row.shown is RowKind.IN_FULL:
        yield from item_lines(describe(row.node), relation, margin, out)
        if row.part:
            words = f"goes on below, at [{row.part}]"
            yield from _fold_with_margin(
                Margin(margin.under, margin.under), [Span(words, BOLD)], out
            )
    else:
        where = "see above" if row.shown is RowKind.ABOVE else "see below"
        spans = [*relation, *item_name_spans(row.node, PLAIN), Span(f"  ({where})", DIM)]
        yield from _fold_with_margin(margin, spans, out)


def _margin(row: TreeRow) -> Margin:
    if row.shown is RowKind.PART:
        return Margin()
    trunk = "".join(_TRUNK if goes_on else _NO_TRUNK for goes_on in row.trunk)
    first, under = (_LAST_BRANCH, _NO_TRUNK) if row.is_last else (_BRANCH, _TRUNK)
    return Margin(trunk + first, trunk + under)


def item_lines(
    item: ItemInfo, before: Sequence[Span], margin: Margin, out: TextIO
) -> Iterator[str]:
    """Yield an item in full. Its title is beside its name if there is room."""
    is_killed = item.status is ItemStatus.KILLED
    name = [*before, *item_name_spans(item.node, BOLD)]
    title = Span(one_line(item.title), STRUCK if is_killed else PLAIN)
    under = Margin(margin.under, margin.under)
    used = display_width(margin.first + _GAP) + sum(display_width(each.text) for each in name)
    room = (terminal_width(out) or UNLIMITED_WIDTH) - used
    if item.title and room >= min(display_width(title.text), _MIN_TITLE_WIDTH):
        yield from _fold_with_margin(margin, [*name, Span(_GAP), title], out)
    else:
        yield from _fold_with_margin(margin, name, out)
        if item.title:
            yield from _fold_with_margin(under, [title], out)
    if item.status in _UNKNOWN_FATES:
        word, why = _UNKNOWN_FATES[item.status]
        yield from _fold_with_margin(under, [Span(word, _NOTICE), Span(f" {why}", DIM)], out)
        return
    yield from _fold_with_margin(under, _proposal_spans(item), out)
    if item.kill:
        yield from _fold_with_margin(under, _kill_spans(item.kill), out)


def root_lines(item: ItemInfo, out: TextIO, *, is_seen: bool) -> Iterator[str]:
    """Yield an item of the session, as the root of a tree.

    One that is shown above is only named.
    """
    short = item._replace(node=item.node._replace(session=""))
    yield "\n"
    if is_seen:
        title = Span(one_line(item.title), STRUCK if item.kill else PLAIN)
        mark = [Span(f"{_GAP}{_KILLED}", ATTENTION)] if item.kill else []
        name = item_name_spans(short.node, BOLD)
        spans = [*name, Span(_GAP), title, *mark, Span("  (see above)", DIM)]
        yield from _fold_with_margin(Margin(under=_TRUNK), spans, out)
    else:
        yield from item_lines(short, [], Margin(under=_TRUNK), out)


def item_name_spans(node: SessionItem, style: Style) -> list[Span]:
    """Return the name of an item. Its ID is never wrapped apart from its session."""
    name = f"{node.session} {node.item}".lstrip()
    return [Span(escape_control(name, len(name) + 1), style, is_unbreakable=True)]


def one_line(text: str) -> str:
    """Join the lines of a text, and escape it."""
    joined = " ".join(text.split())
    return escape_control(joined, len(joined) + 1)


def _proposal_spans(item: ItemInfo) -> list[Span]:
    """Return spans such as `hypothesis by BlueLake, 2026-01-05, message 4, in v1`."""
    what = SECTION_LABELS.get(item.section or "", "item")
    proposal: Proposal | None = item.proposal
    if proposal is None:
        return [Span(f"{what}; who proposed it is not known here", DIM)]
    when = f", {proposal.at:%Y-%m-%d}" if proposal.at else ""
    return [
        Span(f"{what} by ", DIM),
        agent_span(proposal.agent),
        Span(f"{when}, message {proposal.message_id}, in v{proposal.version}", DIM),
    ]


def _kill_spans(kill: Kill) -> list[Span]:
    """Return the mark, the agent and the date dimmed, and the reason in normal style."""
    where = f" in v{kill.version}" if kill.version else ""
    when = f", {escape_control(kill.at[:_DATE_CHARACTERS])}" if kill.at else ""
    by = [Span(" by ", DIM), agent_span(kill.agent)] if kill.agent else []
    return [
        Span(_KILLED, ATTENTION),
        Span(where, DIM),
        *by,
        Span(f"{when}: ", DIM),
        Span(one_line(kill.reason) if kill.reason.strip() else "no reason is given"),
    ]


def _fold_with_margin(margin: Margin, spans: Sequence[Span], out: TextIO) -> Iterator[str]:
    """Wrap the spans, with the tree in the margin dimmed."""
    laid_out = wrap_spans(
        [Span(margin.first)], spans, margin.under, terminal_width(out) or UNLIMITED_WIDTH
    )
    for line in laid_out:
        quiet = [line[0]._replace(style=DIM), *line[1:]] if line else []
        yield f"{styled_line(quiet, out)}\n"


# A genealogy as text: first proposals, ancestors, descendants


_INDENT = "  "
_TITLES = {Direction.ANCESTORS: "Comes from", Direction.DESCENDANTS: "What came of it"}
_ITEM_WITHOUT_REFERENCES = {
    Direction.ANCESTORS: "refers to nothing",
    Direction.DESCENDANTS: "led to nothing yet",
}
_SESSION_WITHOUT_REFERENCES = {
    Direction.ANCESTORS: "refers to another",
    Direction.DESCENDANTS: "is referred to",
}
_SOURCES = {"file": "only its file is here", "archive": "from its file and archive"}
_ANCESTOR_ARROW = ARROWS[Direction.ANCESTORS]
_MAX_NAME_WIDTH = 40  # columns; the states after longer names are not aligned
_EMPTY_TREE = {Direction.ANCESTORS: "nothing", Direction.DESCENDANTS: "nothing yet"}
_EXAMPLE = '"references": [{"session": "RS-…", "item": "H2", "relation": "refines"}]'


def genealogy_lines(followed: GenealogyResult, out: TextIO) -> Iterator[str]:
    """Yield the whole genealogy. Items are looked up as their lines are written."""
    found = followed.genealogy
    yield from _head_lines(followed, out)
    if not found.edges:
        yield "\n"
        yield from _no_reference_lines(found, out)
        return
    if found.item is None:
        yield from _session_lines(followed, out)
        yield from _first_proposal_lines(followed, out)
    for reach in found.reaches:
        yield "\n"
        yield fold([], [Span(_TITLES[reach.direction], BOLD)], "", out)
        yield from _tree_lines(followed, reach.direction, out)
        if reach.left_out:
            yield _left_out_hint(reach.left_out, out)
    for cycle in found.circles:
        yield "\n"
        yield from _cycle_lines(cycle, out)


# Head


def _head_lines(followed: GenealogyResult, out: TextIO) -> Iterator[str]:
    found = followed.genealogy
    if found.item is None:
        yield from _session_head_lines(followed.sessions.facts(found.session), found, out)
        return
    [target] = found.starts
    yield from item_lines(followed.sessions.item(target), [], Margin(under=_INDENT), out)
    for first in followed.firsts():
        yield fold(
            [Span(_INDENT)], [Span(_escape_whole(describe_first_proposal(first)))], _INDENT, out
        )


def _session_head_lines(facts: SessionInfo, found: Genealogy, out: TextIO) -> Iterator[str]:
    name = Span(_escape_whole(found.session), BOLD, is_unbreakable=True)
    yield fold([], [name, Span(f"  {_session_state(facts)}", DIM)], _INDENT, out)
    if facts.question:
        yield fold([Span(_INDENT)], [Span(one_line(facts.question))], _INDENT, out)


def _session_state(facts: SessionInfo) -> str:
    """Return a state such as `v2, in critique`, and the source if it is not the mail."""
    if facts.source is None:
        return "unknown session"
    state = PHASE_LABELS[Phase(facts.phase)] if facts.phase else escape_control(facts.status or "")
    version = f"v{facts.version}" if facts.version else "no version yet"
    return ", ".join(filter(None, [version, state, _SOURCES.get(facts.source)]))


def _no_reference_lines(found: Genealogy, out: TextIO) -> Iterator[str]:
    """Say that there are no references, and how to add one."""
    directions = [reach.direction for reach in found.reaches]
    if found.item:
        text = " and ".join(_ITEM_WITHOUT_REFERENCES[each] for each in directions)
        yield format_message(_escape_whole(f"{found.session} {found.item} {text}."), out)
    else:
        text = " or ".join(_SESSION_WITHOUT_REFERENCES[each] for each in directions)
        yield format_message(_escape_whole(f"No item of {found.session} {text}."), out)
    words = ", ".join(RELATIONS[:-1]) + f" or {RELATIONS[-1]}"
    yield format_hint(
        f"An item refers to another one in its ADD or an EDIT: `{_EXAMPLE}`; the relation is "
        f"{words}.",
        out,
    )


def _escape_whole(text: str) -> str:
    """Escape a text on one line, without cutting it."""
    return escape_control(text, len(text) + 1)


# References between sessions


def _session_lines(followed: GenealogyResult, out: TextIO) -> Iterator[str]:
    """Yield every session of the result with its references, sorted by ID."""
    found = followed.genealogy
    sums: dict[str, list[SessionLink]] = {}
    for each in session_links(found.edges):
        sums.setdefault(each.origin, []).append(each)
    yield "\n"
    yield fold([], [Span("Sessions", BOLD)], "", out)
    widest = min(_MAX_NAME_WIDTH, max(len(each) for each in found.sessions))
    for session in found.sessions:
        state = _session_state(followed.sessions.facts(session))
        name = f"{_escape_whole(session):<{widest}}  "
        yield fold(
            [Span(_INDENT)], [Span(name, is_unbreakable=True), Span(state, DIM)], _INDENT, out
        )
        for each in sums.get(session, ()):
            words = [
                Span(f"{_ANCESTOR_ARROW} ", DIM),
                Span(f"{_escape_whole(relation_counts_text(each.relations))} "),
            ]
            target = Span(_escape_whole(each.target), is_unbreakable=True)
            yield fold([Span(_INDENT * 2)], [*words, target], _INDENT * 3, out)


def _first_proposal_lines(followed: GenealogyResult, out: TextIO) -> Iterator[str]:
    firsts = followed.firsts()
    if not firsts:
        return
    yield "\n"
    yield fold([], [Span("First proposed by", BOLD)], "", out)
    for first in firsts:
        start = [Span(_INDENT), Span(f"{first.item.item:<3} ", BOLD)]
        yield fold(start, [Span(_escape_whole(first_proposal_line(first)))], _INDENT * 3, out)


# Trees


def _tree_lines(followed: GenealogyResult, direction: Direction, out: TextIO) -> Iterator[str]:
    found, graph = followed.genealogy, followed.graph
    reach = found.ancestors if direction is Direction.ANCESTORS else found.descendants
    if reach is None or not reach.edges:
        yield fold([Span(_INDENT)], [Span(_EMPTY_TREE[direction], DIM)], _INDENT, out)
        return
    edges_of = graph.out_of if direction is Direction.ANCESTORS else graph.into
    roots = [node for node in found.starts if edges_of(node)]
    for row in Tree(graph, roots, direction, reach.depth).rows():
        if row.shown is not RowKind.ROOT:
            yield from row_lines(row, direction, followed.sessions.item, out)
        elif found.item is None:
            item = followed.sessions.item(row.node)
            yield from root_lines(
                item, out, is_seen=_is_shown_above(found, graph, row.node, direction)
            )


def _is_shown_above(
    found: Genealogy, graph: ReferenceGraph, node: SessionItem, direction: Direction
) -> bool:
    """Return whether an item of the session was shown in the tree before."""
    is_second = direction is Direction.DESCENDANTS and found.ancestors is not None
    return is_second and bool(graph.out_of(node))


def _left_out_hint(count: int, out: TextIO) -> str:
    words = "1 more item is" if count == 1 else f"{count} more items are"
    return format_hint(f"{words} further away; without `--depth` everything is shown.", out)


def _cycle_lines(cycle: Sequence[Edge], out: TextIO) -> Iterator[str]:
    """Yield a reference cycle as a highlighted sentence, and how to fix it."""
    spans = [Span("A circle: ", ATTENTION), *item_name_spans(cycle[0].origin, PLAIN)]
    for edge in cycle:
        words = relation_text([edge.relation], Direction.ANCESTORS)
        spans += [Span(f" {words} ", DIM), *item_name_spans(edge.target, PLAIN)]
    yield fold([], spans, _INDENT, out)
    yield format_hint("`brenner explain CIRCLE_OF_REFERENCES` says how one is taken apart.", out)


# `brenner refs graph`: ancestors and descendants of an item, over all sessions


@click.command(
    "graph",
    cls=JsonCommand,
    json_defaults={
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
    from brenner.cli.artifact.common import require_thread
    from brenner.cli.output import Progress
    from brenner.cli.workspace import workspace_of
    from brenner.services.genealogy import GenealogyQuery, trace_genealogy

    directions = _directions(ancestors=options["ancestors"], descendants=options["descendants"])
    request = GenealogyQuery(require_thread(thread), item, directions, options["depth"])
    with workspace_of(settings) as here:
        with Progress() as progress:
            followed = trace_genealogy(here, request, progress)
            if (
                settings.as_json or options["as_mermaid"]
            ):  # the tree looks items up while it is written
                followed.look_up(progress)
        if settings.as_json:
            write_json(_graph_document(followed))
        elif options["as_mermaid"]:
            _write_mermaid(followed)
        else:
            _write_tree(followed, pager=bool(options["pager"]))
    return EXIT_OK


def _directions(*, ancestors: object, descendants: object) -> "tuple[Direction, ...]":
    """Return the requested direction, or both."""
    from brenner.session.genealogy import Direction

    if ancestors and descendants:
        message = "Give --ancestors or --descendants; without them both are shown."
        raise click.UsageError(message)
    if ancestors:
        return (Direction.ANCESTORS,)
    return (Direction.DESCENDANTS,) if descendants else tuple(Direction)


def _graph_document(followed: "GenealogyResult") -> dict[str, object]:
    from brenner.session.genealogy import genealogy_json

    sessions = followed.sessions
    document = genealogy_json(followed.genealogy, sessions.item, sessions.facts, followed.firsts())
    found = sorted(followed.diagnostics(), key=worst_first)
    return {
        **document,
        "violations": [each.to_json() for each in found],
        "summary": Summary.of(found)._asdict(),
    }


def _write_mermaid(followed: "GenealogyResult") -> None:
    """Write the whole flowchart. Warn if it exceeds the default limits of Mermaid."""
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


def _write_tree(followed: "GenealogyResult", *, pager: bool) -> None:

    write_lines(genealogy_lines(followed, sys.stdout), pager=pager)
    _write_problems(followed)


def _write_problems(followed: "GenealogyResult") -> None:
    """Write which files could not be read: their items are missing in the result."""
    write_diagnostics(followed.problems, "artifacts", sys.stderr)
