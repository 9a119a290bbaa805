"""One item of a genealogy: its name, who proposed it and when, its fate; in a tree or alone."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TextIO

from brenner.artifact.merge.draft import Node
from brenner.cli.artifact.values import BOLD, DIM, STRUCK
from brenner.cli.folding import PLAIN, UNLIMITED, Piece, Style, columns, lines_of, shown_line
from brenner.cli.marks import ATTENTION, STYLE_OF_TYPE, agent_piece
from brenner.cli.output import width_of
from brenner.session.genealogy import (
    ARROWS,
    SECTION_WORDS,
    Describe,
    Described,
    Direction,
    Fate,
    Kill,
    Proposal,
    Row,
    Shown,
    relation_words,
)
from brenner.text import visible

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
    words = visible(relation_words(row.relations, direction))
    relation = [Piece(f"{ARROWS[direction]} ", DIM), Piece(f"{words} ")]
    if row.shown is Shown.MORE:
        words = f"… and {row.left_out} more; `--json` lists them all"
        yield from _folded(margin, [Piece(words, DIM)], out)
    elif row.shown is Shown.PART:
        yield "\n"
        pieces = [Piece(f"[{row.part}] ", BOLD), *name_pieces(row.node, BOLD)]
        yield from _folded(Margin(), [*pieces, Piece(", from above", DIM)], out)
    elif row.shown is Shown.IN_FULL:
        yield from item_lines(describe(row.node), relation, margin, out)
        if row.part:
            words = f"goes on below, at [{row.part}]"
            yield from _folded(Margin(margin.under, margin.under), [Piece(words, BOLD)], out)
    else:
        where = "see above" if row.shown is Shown.ABOVE else "see below"
        pieces = [*relation, *name_pieces(row.node, PLAIN), Piece(f"  ({where})", DIM)]
        yield from _folded(margin, pieces, out)


def _margin(row: Row) -> Margin:
    if row.shown is Shown.PART:
        return Margin()
    trunk = "".join(_DOWN if goes_on else _NOTHING for goes_on in row.trunk)
    first, under = (_END, _NOTHING) if row.is_last else (_BRANCH, _DOWN)
    return Margin(trunk + first, trunk + under)


def item_lines(
    known: Described, before: Sequence[Piece], margin: Margin, out: TextIO
) -> Iterator[str]:
    """An item in full. Its title stands beside its name where there is room for it."""
    is_killed = known.fate is Fate.KILLED
    name = [*before, *name_pieces(known.node, BOLD)]
    title = Piece(one_line(known.title), STRUCK if is_killed else PLAIN)
    under = Margin(margin.under, margin.under)
    taken = columns(margin.first + _GAP) + sum(columns(each.text) for each in name)
    room = (width_of(out) or UNLIMITED) - taken
    if known.title and room >= min(columns(title.text), _ROOM_FOR_TITLE):
        yield from _folded(margin, [*name, Piece(_GAP), title], out)
    else:
        yield from _folded(margin, name, out)
        if known.title:
            yield from _folded(under, [title], out)
    if known.fate in _UNKNOWN:
        word, why = _UNKNOWN[known.fate]
        yield from _folded(under, [Piece(word, _NOTICE), Piece(f" {why}", DIM)], out)
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
        title = Piece(one_line(known.title), STRUCK if known.kill else PLAIN)
        mark = [Piece(f"{_GAP}{_KILLED}", ATTENTION)] if known.kill else []
        name = name_pieces(short.node, BOLD)
        pieces = [*name, Piece(_GAP), title, *mark, Piece("  (see above)", DIM)]
        yield from _folded(Margin(under=_DOWN), pieces, out)
    else:
        yield from item_lines(short, [], Margin(under=_DOWN), out)


def name_pieces(node: Node, style: Style) -> list[Piece]:
    """An item as one names it; its ID is never parted from its session."""
    name = f"{node.session} {node.item}".lstrip()
    return [Piece(visible(name, len(name) + 1), style, is_solid=True)]


def one_line(text: str) -> str:
    """A text of several lines on one, whole."""
    joined = " ".join(text.split())
    return visible(joined, len(joined) + 1)


def _proposal_pieces(known: Described) -> list[Piece]:
    """`hypothesis by BlueLake, 2026-01-05, message 4, in v1`."""
    what = SECTION_WORDS.get(known.section or "", "item")
    proposal: Proposal | None = known.proposal
    if proposal is None:
        return [Piece(f"{what}; who proposed it is not known here", DIM)]
    when = f", {proposal.at:%Y-%m-%d}" if proposal.at else ""
    return [
        Piece(f"{what} by ", DIM),
        agent_piece(proposal.agent),
        Piece(f"{when}, message {proposal.message_id}, in v{proposal.version}", DIM),
    ]


def _kill_pieces(kill: Kill) -> list[Piece]:
    """The mark in words, who and when quiet, the reason at full strength."""
    where = f" in v{kill.version}" if kill.version else ""
    when = f", {visible(kill.at[:_DAY])}" if kill.at else ""
    by = [Piece(" by ", DIM), agent_piece(kill.agent)] if kill.agent else []
    return [
        Piece(_KILLED, ATTENTION),
        Piece(where, DIM),
        *by,
        Piece(f"{when}: ", DIM),
        Piece(one_line(kill.reason) if kill.reason.strip() else "no reason is given"),
    ]


def _folded(margin: Margin, pieces: Sequence[Piece], out: TextIO) -> Iterator[str]:
    """The pieces in lines, the tree before them quiet."""
    laid_out = lines_of([Piece(margin.first)], pieces, margin.under, width_of(out) or UNLIMITED)
    for line in laid_out:
        quiet = [line[0]._replace(style=DIM), *line[1:]] if line else []
        yield f"{shown_line(quiet, out)}\n"
