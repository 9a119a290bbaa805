"""What is open in a session, as people see it: critiques, questions, ACKs, refused blocks.

Every part is absent where there is nothing to say. In a terminal a long list is cut, and says so.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TextIO, TypeVar

from brenner.cli.folding import Piece, fold
from brenner.cli.mail.table import Column, Row, cut, table
from brenner.cli.marks import ATTENTION, QUIET, STRONG, STYLE_OF_TYPE, agent_piece
from brenner.cli.sentences import advice, thread_argument
from brenner.diagnostics.codes.merging import SESSION_FILE_UNREADABLE
from brenner.diagnostics.model import ERROR, Diagnostic, worst_first
from brenner.protocol.message_types import CRITIQUE
from brenner.protocol.messages import exact, span
from brenner.session.model import OpenAck, OpenCritique, OpenMessage, Refusal, SessionStatus
from brenner.text import counted, visible

_T = TypeVar("_T")
_MOST = 5  # of each kind in a terminal
_INDENT = "      "
_OPEN = (
    Column("ID", is_right=True),
    Column("Open"),
    Column("About", least=20),
    Column("From", least=14),
    Column("Waits for", least=16),
)
_OWED = (Column("Owes", least=10), Column("Overdue ACKs", least=20))
_REFUSED = (
    Column("ID", is_right=True),
    Column("Refused"),
    Column("Block", least=12),
    Column("From", least=14),
    Column("Read by"),
)
# The most pressing first, as the attention names them
_ORDER = ("BLOCKED", "QUESTION", "HANDOFF", "CRITIQUE")


def open_lines(status: SessionStatus, out: TextIO, *, is_full: bool) -> Iterator[str]:
    """Blockers, questions, handoffs and critiques: messages, then items of the artifact."""
    messages = sorted(status.messages, key=_pressing)
    rows = [_message_row(each) for each in messages]
    rows += [_critique_row(each) for each in status.critiques]
    if rows:
        yield "\n"
        yield from table(_OPEN, _first(rows, out, is_full=is_full), out)
        yield from _rest(status, len(rows), out, is_full=is_full)


def _pressing(each: OpenMessage) -> tuple[int, datetime, int]:
    rank = _ORDER.index(each.type) if each.type in _ORDER else len(_ORDER)
    return (rank, each.at, each.message_id)


def _message_row(each: OpenMessage) -> Row:
    rank = [Piece(f" {each.rank}", QUIET)] if each.rank else []
    return Row(
        (
            [Piece(str(each.message_id), STRONG)],
            [Piece(each.type, STYLE_OF_TYPE.get(each.type, QUIET)), *_short(rank)],
            [Piece(each.about or each.subject)],
            [agent_piece(each.sender)],
            [*_named(each.waiting_for)],
        )
    )


def _short(pieces: Sequence[Piece]) -> list[Piece]:
    """A severity is a word; whatever else somebody wrote there is cut to one."""
    return cut([piece._replace(text=visible(piece.text)) for piece in pieces], _MOST_RANK)


_MOST_RANK = 12


def _named(agents: Sequence[str]) -> Iterator[Piece]:
    for number, name in enumerate(agents):
        yield Piece(", " * (number > 0))
        yield agent_piece(name)


def _critique_row(each: OpenCritique) -> Row:
    status = f" ({each.status})" if each.status else ""
    return Row(
        (
            [Piece(each.item, STRONG)],
            [Piece("critique", STYLE_OF_TYPE[CRITIQUE.name])],
            [Piece(each.name), Piece(status, QUIET)],
            [agent_piece(each.agent)] if each.agent else [],
            [],
        )
    )


def overdue_lines(
    late: Sequence[OpenAck], now: datetime, deadline: timedelta, out: TextIO
) -> Iterator[str]:
    """The ACKs that should have come by now, by who owes them."""
    if late:
        rows = [
            Row(([agent_piece(debtor)], [*_owed(late, debtor, (now, deadline), out)]))
            for debtor in dict.fromkeys(each.debtor for each in late)
        ]
        yield "\n"
        yield from table(_OWED, rows, out)


def _owed(
    late: Sequence[OpenAck], debtor: str, at: tuple[datetime, timedelta], out: TextIO
) -> Iterator[Piece]:
    """`12 KICKOFF, 3 h late; 16 CRITIQUE, 2 h late`."""
    now, deadline = at
    for number, each in enumerate(each for each in late if each.debtor == debtor):
        since = each.due(deadline)
        said = f"{span(now - since)} late" if out.isatty() else f"due {exact(since)}"
        kind = each.type or "message"
        times = f" ({each.times_sent}×)" if each.times_sent > 1 else ""
        yield Piece("; " * (number > 0) + f"{each.message_id} ")
        yield Piece(kind, STYLE_OF_TYPE.get(kind, QUIET))
        yield Piece(f"{times}, {said}")


def refusal_lines(status: SessionStatus, out: TextIO, *, is_full: bool) -> Iterator[str]:
    """Refused blocks that nobody has corrected: which, why, how to mend it; how to let one be."""
    refusals = status.refusals
    if not refusals:
        return
    yield "\n"
    shown = _first(refusals, out, is_full=is_full)
    is_whole = is_full or not out.isatty()
    yield from table(_REFUSED, [_refusal(each, is_whole=is_whole) for each in shown], out)
    yield from _rest(status, len(refusals), out, is_full=is_full)
    which = f"{refusals[0].message_id}.{refusals[0].block}"
    thread = thread_argument(status.thread_id)
    yield advice(f"`brenner session dismiss {thread} {which}` lets one be.", out)


def _refusal(each: Refusal, *, is_whole: bool) -> Row:
    """`12.1  INVALID_SECTION  ADD hypothesis_slate “Gradient”  RedSky  v1`, the reason, the fix.

    Of several reasons a terminal shows the worst, and how many more there are.
    """
    found = sorted(each.diagnostics, key=worst_first)
    reasons = [one for one in found if one.severity is ERROR] or found[:1]
    what = " ".join(filter(None, (each.operation, each.target_id or each.section)))
    name = f" “{each.name}”" if each.name else ""
    below = []
    for reason in reasons if is_whole else reasons[:1]:
        below += [
            [Piece(_INDENT), *_code(reason, reasons), Piece(reason.message)],
            [Piece(_INDENT), Piece("→ ", QUIET), Piece(reason.fix)],
        ]
    more = [Piece(f" and {len(reasons) - 1} more", QUIET)] * (len(reasons) > 1)
    return Row(
        (
            [Piece(f"{each.message_id}.{each.block}", STRONG)],
            [Piece(reasons[0].id if reasons else "refused", ATTENTION), *more],
            [Piece(f"{what}{name}", QUIET)],
            [agent_piece(each.agent)],
            [Piece(f"v{each.version}" if each.version else "no version", QUIET)],
        ),
        below,
    )


def _code(found: Diagnostic, reasons: Sequence[Diagnostic]) -> list[Piece]:
    """The codes of the other reasons; that of the first stands above them all."""
    return [Piece(f"{found.id}: ")] if found is not reasons[0] else []


def unresolved_lines(
    status: SessionStatus, found: Sequence[Diagnostic], out: TextIO, *, is_full: bool
) -> Iterator[str]:
    """References that lead nowhere, by the item that has them, and files that are in the way."""
    if not found:
        return
    yield "\n"
    files = sum(each.code is SESSION_FILE_UNREADABLE for each in found)
    count = counted(len(found) - files, "reference leads", "references lead")
    said = [f"{count} nowhere"] if len(found) > files else []
    said += [f"{counted(files, 'file')} that references need cannot be read"] if files else []
    yield fold([], [Piece("; ".join(said), QUIET)], "", out)
    for each in _first(found, out, is_full=is_full):
        yield fold([Piece("  ")], [Piece(each.message)], "    ", out)
    yield from _rest(status, len(found), out, is_full=is_full)


def _first(entries: Sequence[_T], out: TextIO, *, is_full: bool) -> Sequence[_T]:
    """What a terminal shows of a list. One entry more costs as much as saying so."""
    is_whole = is_full or not out.isatty() or len(entries) <= _MOST + 1
    return entries if is_whole else entries[:_MOST]


def _rest(status: SessionStatus, count: int, out: TextIO, *, is_full: bool) -> Iterator[str]:
    left = count - len(_first(range(count), out, is_full=is_full))
    if left:
        command = f"brenner session status --full {thread_argument(status.thread_id)}"
        yield advice(f"… {left} more: `{command}`", out)


__all__ = ["open_lines", "overdue_lines", "refusal_lines", "unresolved_lines"]
