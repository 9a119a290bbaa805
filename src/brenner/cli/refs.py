"""`brenner refs`: check references between sessions, and show the genealogy of an item."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

import click

from brenner.cli.artifact.common import BOLD, DIM, STRUCK
from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    ONE_SECTION,
    LazyGroup,
    Number,
    Settings,
    common_options,
    examples,
    group_options,
)
from brenner.cli.output import (
    JsonCommand,
    Progress,
    terminal_width,
    write_diagnostics,
    write_json,
    write_placed_diagnostics,
)
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
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.diagnostics.model import Summary, worst_first
from brenner.protocol.delta.schema import RELATIONS
from brenner.services.references import CheckedReferences, check_references
from brenner.session.genealogy import (
    ARROWS,
    MOST_CHARACTERS,
    MOST_EDGES,
    SECTION_LABELS,
    Direction,
    FirstProposal,
    Genealogy,
    ItemInfo,
    Reach,
    SessionInfo,
    Tree,
    TreeRow,
    describe_first_proposal,
    first_proposal_line,
    genealogy_json,
    mermaid,
    relation_counts_text,
    relation_text,
    session_links,
)
from brenner.session.model import Phase
from brenner.session.references import Edge, ItemStatus
from brenner.session.status_text import PHASE_LABELS
from brenner.text import escape_control, grouped, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.artifact.merge.draft import SessionItem
    from brenner.artifact.model import KillRecord
    from brenner.artifact.state import Source
    from brenner.services.genealogy import SessionLookup

COMMANDS = {
    "graph": (ONE_SECTION, "brenner.cli.refs", "graph", "Show what an item comes from."),
    "check": (ONE_SECTION, "brenner.cli.refs", "check", "List broken references."),
    "similar": (ONE_SECTION, "brenner.cli.similar", "command", "Find killed ideas like a text."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=examples(
        "brenner refs graph RS-20251230-cell-fate H2",
        "brenner refs check",
        'brenner refs similar "Cells read a morphogen gradient"',
    ),
)
@group_options
def command() -> None:
    """Show references between sessions.

    Use it to follow an idea from one session to the next.
    """


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
    """List broken references: to unknown items, to killed items, and in a circle.

    Sessions are found in the mail and in `artifacts/`. With THREAD, only references of these
    sessions are checked. An unknown item is a warning, a killed item an info, a circle an error.
    """
    with workspace_of(settings) as here, Progress() as progress:
        threads = tuple(find_thread(here, each) for each in threads)
        checked = check_references(here, threads, progress)
    if settings.as_json:
        write_json(_check_document(checked))
    else:
        _write_check(checked)
    return EXIT_INVALID if checked.summary.errors else EXIT_OK


def _check_document(checked: CheckedReferences) -> dict[str, object]:
    """Return the stable JSON form. Keys are only ever added."""
    violations = [
        {"session": session} | each.to_json()
        for session, found in checked.found.items()
        for each in found
    ]
    violations += [each.to_json() for each in checked.problems]
    return {
        "references": [
            _edge_json(edge) | {"state": "found" if status is ItemStatus.ACTIVE else str(status)}
            for edge, status in checked.references
        ],
        "circles": [[_edge_json(edge) for edge in cycle] for cycle in checked.circles],
        "violations": violations,
        "summary": checked.summary._asdict(),
        "valid": not checked.summary.errors,
    }


def _edge_json(edge: Edge) -> dict[str, str]:
    return {
        "session": edge.origin.session,
        "item": edge.origin.item,
        "relation": edge.relation,
        "target_session": edge.target.session,
        "target_item": edge.target.item,
    }


def _write_check(checked: CheckedReferences) -> None:
    """Write the problems by session, then those of files, then the totals."""
    out = sys.stdout
    for session, found in checked.found.items():
        placed = ((f"{session} {each.item or ''}".rstrip(), each) for each in found)
        write_placed_diagnostics(placed, out)
    write_diagnostics(checked.problems, "brenner", out)
    print_message(_check_verdict(checked))
    if not checked.references:
        print_hint(
            "An item names the items that it comes from in `references`. Example: "
            "`brenner explain UNKNOWN_REFERENCE`"
        )


def _check_verdict(checked: CheckedReferences) -> str:
    count = len(checked.references)
    if not count:
        return "No references between items yet."
    sessions = len({edge.origin.session for edge, _ in checked.references})
    targets = [status for _, status in checked.references]
    killed = targets.count(ItemStatus.KILLED)
    broken = targets.count(ItemStatus.UNKNOWN_SESSION) + targets.count(ItemStatus.UNKNOWN_ITEM)
    parts = [f"{broken} broken" if broken else "none broken"]
    if killed:
        parts.append(f"{killed} to {'a killed item' if killed == 1 else 'killed items'}")
    if checked.circles:
        parts.append(grouped(len(checked.circles), "circle"))
    figures = f"{grouped(count, 'reference')} in {grouped(sessions, 'session')}"
    return f"{figures}: {', '.join(parts)}."


# One item of a genealogy, in a tree or alone


_BRANCH, _LAST_BRANCH, _TRUNK, _NO_TRUNK = "├── ", "└── ", "│   ", "    "
_GAP = _INDENT = "  "
_NOTICE = STYLE_OF_TYPE["QUESTION"]
_MIN_TITLE_WIDTH = 50  # columns; a long title begins beside the name if so many are left
_DATE_CHARACTERS = 10  # the date in a time of ISO 8601
_KILLED = "[KILLED]"
_UNKNOWN_FATES = {
    ItemStatus.UNKNOWN_SESSION: (
        "[UNKNOWN SESSION]",
        "not found in mail or artifacts/",
    ),
    ItemStatus.UNKNOWN_ITEM: ("[UNKNOWN ITEM]", "its session does not contain it"),
}


def _row_lines(
    row: TreeRow, direction: Direction, lookup: SessionLookup, out: TextIO
) -> Iterator[str]:
    """Yield a row of a tree: an item in full, or its name and where it is shown."""
    trunk = "".join(_TRUNK if goes_on else _NO_TRUNK for goes_on in row.trunk)
    first, under = (_LAST_BRANCH, _NO_TRUNK) if row.is_last else (_BRANCH, _TRUNK)
    first, under = trunk + first, trunk + under
    words = escape_control(relation_text(row.relations, direction))
    relation = [Span(f"{ARROWS[direction]} ", DIM), Span(f"{words} ")]
    if row.shown == "more":
        words = f"… and {row.left_out} more (`--json` lists all)"
        yield from _fold_with_margin(first, under, [Span(words, DIM)], out)
    elif row.shown == "part":
        yield "\n"
        spans = [Span(f"[{row.part}] ", BOLD), *_item_name_spans(row.node, BOLD)]
        yield from _fold_with_margin("", _INDENT, [*spans, Span(", from above", DIM)], out)
    elif row.shown == "in_full":
        yield from _item_lines(lookup.item(row.node), relation, first, under, out)
        if row.part:
            words = f"continued below, at [{row.part}]"
            yield from _fold_with_margin(under, under, [Span(words, BOLD)], out)
    else:
        where = "see above" if row.shown == "above" else "see below"
        spans = [*relation, *_item_name_spans(row.node, PLAIN), Span(f"  ({where})", DIM)]
        yield from _fold_with_margin(first, under, spans, out)


def _item_lines(
    item: ItemInfo, before: Sequence[Span], first: str, under: str, out: TextIO
) -> Iterator[str]:
    """Yield an item in full. Its title is beside its name if there is room.

    `first` is the margin of the first line, and `under` that of the others.
    """
    name = [*before, *_item_name_spans(item.node, BOLD)]
    title = _title_span(item)
    used = display_width(first + _GAP) + sum(display_width(each.text) for each in name)
    room = (terminal_width(out) or UNLIMITED_WIDTH) - used
    if item.title and room >= min(display_width(title.text), _MIN_TITLE_WIDTH):
        yield from _fold_with_margin(first, under, [*name, Span(_GAP), title], out)
    else:
        yield from _fold_with_margin(first, under, name, out)
        if item.title:
            yield from _fold_with_margin(under, under, [title], out)
    if item.status in _UNKNOWN_FATES:
        word, why = _UNKNOWN_FATES[item.status]
        spans = [Span(word, _NOTICE), Span(f" {why}", DIM)]
    else:
        spans = _proposal_spans(item)
    yield from _fold_with_margin(under, under, spans, out)
    if item.killed:
        yield from _fold_with_margin(under, under, _kill_spans(item.killed, item.killed_by), out)


def _root_lines(item: ItemInfo, out: TextIO, *, is_seen: bool) -> Iterator[str]:
    """Yield an item of the session, as the root of a tree.

    One that is shown above is only named.
    """
    short = item._replace(node=item.node._replace(session=""))
    yield "\n"
    if is_seen:
        mark = [Span(f"{_GAP}{_KILLED}", ATTENTION)] if item.killed else []
        name = [*_item_name_spans(short.node, BOLD), Span(_GAP), _title_span(item)]
        spans = [*name, *mark, Span("  (see above)", DIM)]
        yield from _fold_with_margin("", _TRUNK, spans, out)
    else:
        yield from _item_lines(short, [], "", _TRUNK, out)


def _title_span(item: ItemInfo) -> Span:
    return Span(_one_line(item.title), STRUCK if item.status is ItemStatus.KILLED else PLAIN)


def _item_name_spans(node: SessionItem, style: Style) -> list[Span]:
    """Return the name of an item. Its ID is never wrapped apart from its session."""
    return [Span(_escape_whole(str(node).lstrip()), style, is_unbreakable=True)]


def _one_line(text: str) -> str:
    return _escape_whole(" ".join(text.split()))


def _escape_whole(text: str) -> str:
    """Escape a text on one line, without cutting it."""
    return escape_control(text, len(text) + 1)


def _proposal_spans(item: ItemInfo) -> list[Span]:
    """Return spans such as `hypothesis by BlueLake, 2026-01-05, message 4, in v1`."""
    what = SECTION_LABELS.get(item.section or "", "item")
    proposal = item.proposal
    if proposal is None:
        return [Span(f"{what}, author unknown", DIM)]
    when = f", {item.proposed_at:%Y-%m-%d}" if item.proposed_at else ""
    return [
        Span(f"{what} by ", DIM),
        agent_span(proposal.agent),
        Span(f"{when}, message {proposal.message_id}, in v{proposal.version}", DIM),
    ]


def _kill_spans(kill: KillRecord, source: Source | None) -> list[Span]:
    """Return the mark, the agent and the date dimmed, and the reason in normal style."""
    where = f" in v{source.version}" if source and source.version else ""
    when = f", {escape_control(kill.at[:_DATE_CHARACTERS])}" if kill.at else ""
    by = [Span(" by ", DIM), agent_span(kill.agent)] if kill.agent else []
    return [
        Span(_KILLED, ATTENTION),
        Span(where, DIM),
        *by,
        Span(f"{when}: ", DIM),
        Span(_one_line(kill.reason) if kill.reason.strip() else "no reason given"),
    ]


def _fold_with_margin(first: str, under: str, spans: Iterable[Span], out: TextIO) -> Iterator[str]:
    """Wrap the spans, with the tree in the margin dimmed."""
    width = terminal_width(out) or UNLIMITED_WIDTH
    for line in wrap_spans([Span(first)], spans, under, width):
        quiet = [line[0]._replace(style=DIM), *line[1:]] if line else []
        yield f"{styled_line(quiet, out)}\n"


# A genealogy as text: first proposals, ancestors, descendants


_TITLES = {Direction.ANCESTORS: "Comes from", Direction.DESCENDANTS: "Led to"}
_ITEM_WITHOUT_REFERENCES = {
    Direction.ANCESTORS: "refers to no other item",
    Direction.DESCENDANTS: "no other item refers to it",
}
_SESSION_WITHOUT_REFERENCES = {
    Direction.ANCESTORS: "refers to another item",
    Direction.DESCENDANTS: "is referred to",
}
_SOURCES = {"file": "from its file only", "archive": "from its file and archive"}
_MAX_NAME_WIDTH = 40  # columns; the states after longer names are not aligned
_EMPTY_TREE = {Direction.ANCESTORS: "nothing", Direction.DESCENDANTS: "nothing yet"}
_EXAMPLE = '"references": [{"session": "RS-…", "item": "H2", "relation": "refines"}]'


def _genealogy_lines(found: Genealogy, lookup: SessionLookup, out: TextIO) -> Iterator[str]:
    """Yield the whole genealogy. Items are looked up as their lines are written."""
    firsts = found.first_proposals(lookup.item)
    if found.item is None:
        yield from _session_head_lines(lookup.facts(found.session), out)
    else:
        yield from _item_lines(lookup.item(found.starts[0]), [], "", _INDENT, out)
        for first in firsts:
            yield _indented(1, [Span(_escape_whole(describe_first_proposal(first)))], out)
    if not found.edges:
        yield "\n"
        yield from _no_reference_lines(found, out)
        return
    if found.item is None:
        yield from _session_lines(found, lookup, out)
        yield from _first_proposal_lines(firsts, out)
    for reach in found.reaches:
        yield from _title_lines(_TITLES[reach.direction], out)
        yield from _tree_lines(found, reach, lookup, out)
        if reach.left_out:
            hint = f"{plural(reach.left_out, 'more item')} not shown. Without `--depth` all are."
            yield format_hint(hint, out)
    for cycle in found.circles:
        yield "\n"
        yield from _cycle_lines(cycle, out)


def _title_lines(title: str, out: TextIO) -> Iterator[str]:
    yield "\n"
    yield fold([], [Span(title, BOLD)], "", out)


def _indented(level: int, spans: Sequence[Span], out: TextIO) -> str:
    return fold([Span(_INDENT * level)], spans, _INDENT * (2 * level - 1), out)


def _session_head_lines(facts: SessionInfo, out: TextIO) -> Iterator[str]:
    name = Span(_escape_whole(facts.session), BOLD, is_unbreakable=True)
    yield fold([], [name, Span(f"  {_session_state(facts)}", DIM)], _INDENT, out)
    if facts.question:
        yield _indented(1, [Span(_one_line(facts.question))], out)


def _session_state(facts: SessionInfo) -> str:
    """Return a state such as `v2, between rounds`, and the source if it is not the mail."""
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
    words = ", ".join(RELATIONS[:-1]) + f" and {RELATIONS[-1]}"
    yield format_hint(
        f"To add a reference, put it into an ADD or EDIT: `{_EXAMPLE}`. Relations: {words}.", out
    )


def _session_lines(found: Genealogy, lookup: SessionLookup, out: TextIO) -> Iterator[str]:
    """Yield every session of the result with its references, sorted by ID."""
    sums: dict[str, list[tuple[str, Mapping[str, int]]]] = {}
    for (origin, target), relations in session_links(found.edges).items():
        sums.setdefault(origin, []).append((target, relations))
    yield from _title_lines("Sessions", out)
    widest = min(_MAX_NAME_WIDTH, max(len(each) for each in found.sessions))
    for session in found.sessions:
        name = Span(f"{_escape_whole(session):<{widest}}  ", is_unbreakable=True)
        yield _indented(1, [name, Span(_session_state(lookup.facts(session)), DIM)], out)
        for target, counts in sums.get(session, ()):
            arrow = Span(f"{ARROWS[Direction.ANCESTORS]} ", DIM)
            words = Span(f"{_escape_whole(relation_counts_text(counts))} ")
            to = Span(_escape_whole(target), is_unbreakable=True)
            yield _indented(2, [arrow, words, to], out)


def _first_proposal_lines(firsts: Sequence[FirstProposal], out: TextIO) -> Iterator[str]:
    if firsts:
        yield from _title_lines("First proposed by", out)
    for first in firsts:
        start = [Span(_INDENT), Span(f"{first.item.item:<3} ", BOLD)]
        yield fold(start, [Span(_escape_whole(first_proposal_line(first)))], _INDENT * 3, out)


def _tree_lines(
    found: Genealogy, reach: Reach, lookup: SessionLookup, out: TextIO
) -> Iterator[str]:
    direction, graph = reach.direction, found.graph
    if not reach.edges:
        yield _indented(1, [Span(_EMPTY_TREE[direction], DIM)], out)
        return
    edges_of = graph.out_of if direction is Direction.ANCESTORS else graph.into
    roots = [node for node in found.starts if edges_of(node)]
    is_second = direction is Direction.DESCENDANTS and found.ancestors is not None
    for row in Tree(graph, roots, direction, reach.depth).rows():
        if row.shown != "root":
            yield from _row_lines(row, direction, lookup, out)
        elif found.item is None:
            is_seen = is_second and bool(graph.out_of(row.node))
            yield from _root_lines(lookup.item(row.node), out, is_seen=is_seen)


def _cycle_lines(cycle: Sequence[Edge], out: TextIO) -> Iterator[str]:
    """Yield a reference cycle as a highlighted sentence, and how to fix it."""
    spans = [Span("A circle: ", ATTENTION), *_item_name_spans(cycle[0].origin, PLAIN)]
    for edge in cycle:
        words = relation_text([edge.relation])
        spans += [Span(f" {words} ", DIM), *_item_name_spans(edge.target, PLAIN)]
    yield fold([], spans, _INDENT, out)
    yield format_hint("To fix it, see `brenner explain CIRCLE_OF_REFERENCES`.", out)


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
@click.argument("thread", required=False, metavar="[THREAD]")
@click.argument("item", required=False, metavar="[ITEM]")
@click.option("--ancestors", is_flag=True, help="Show only what it comes from.")
@click.option("--descendants", is_flag=True, help="Show only what came of it.")
@click.option("--depth", type=Number(1), metavar="N", help="Follow at most N steps.")
@click.option("--mermaid", "as_mermaid", is_flag=True, help="Print a Mermaid flowchart.")
@pager_option
@common_options
def graph(
    settings: Settings, *, thread: str | None, item: str | None, **options: bool | int | None
) -> int:
    """Show what an ITEM of THREAD comes from, what came of it, and who proposed it.

    Without ITEM, show all items of the session that have references. References are followed
    through all sessions in the mail and in `artifacts/`.
    """
    if options["as_mermaid"] and settings.as_json:
        message = "--mermaid and --json cannot be used together."
        raise click.UsageError(message)
    from brenner.cli.artifact.common import ArtifactReader, join_target
    from brenner.services.genealogy import trace_genealogy

    directions = _directions(ancestors=options["ancestors"], descendants=options["descendants"])
    name, item = join_target(thread, item, takes_place=True)
    with ArtifactReader(settings) as reader:
        target = (reader.thread(name), item and item.upper())
        here = reader.workspace
        with Progress() as progress:
            found, lookup = trace_genealogy(here, target, directions, options["depth"], progress)
            # The tree looks items up while it is written
            if settings.as_json or options["as_mermaid"]:
                lookup.load(found.sessions, progress)
        if settings.as_json:
            _write_graph_json(found, lookup)
            return EXIT_OK
        if options["as_mermaid"]:
            _write_mermaid(found, lookup)
        else:
            lines = _genealogy_lines(found, lookup, sys.stdout)
            write_lines(lines, pager=bool(options["pager"]))
        # Items of files that could not be read are missing in the result
        write_diagnostics(lookup.index.problems, "artifacts", sys.stderr)
    return EXIT_OK


def _directions(*, ancestors: object, descendants: object) -> tuple[Direction, ...]:
    """Return the requested direction, or both."""
    if ancestors and descendants:
        message = (
            "--ancestors and --descendants cannot be used together. Without them both are shown."
        )
        raise click.UsageError(message)
    if ancestors:
        return (Direction.ANCESTORS,)
    return (Direction.DESCENDANTS,) if descendants else tuple(Direction)


def _write_graph_json(found: Genealogy, lookup: SessionLookup) -> None:
    from brenner.services.genealogy import genealogy_diagnostics

    violations = sorted(genealogy_diagnostics(found, lookup.index), key=worst_first)
    write_json(
        {
            **genealogy_json(found, lookup.item, lookup.facts),
            "violations": [each.to_json() for each in violations],
            "summary": Summary.of(violations)._asdict(),
        }
    )


def _write_mermaid(found: Genealogy, lookup: SessionLookup) -> None:
    """Write the whole flowchart. Warn if it exceeds the default limits of Mermaid."""
    text = mermaid(found, lookup.item)
    sys.stdout.write(text)
    if len(found.edges) > MOST_EDGES or len(text) > MOST_CHARACTERS:
        print_message(
            f"By default Mermaid draws at most {MOST_EDGES} references and {MOST_CHARACTERS:,} "
            "characters (maxEdges, maxTextSize). Use `--depth` to make the chart smaller.",
            sys.stderr,
        )
