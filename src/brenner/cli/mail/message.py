"""A message as people read it in a terminal: who, to whom, what became of it, the body."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TextIO

from brenner.cli.folding import Piece, fold
from brenner.cli.mail.rows import when
from brenner.cli.mail.standing import importance_pieces, trust_pieces
from brenner.cli.marks import ATTENTION, QUIET, STRONG, agent_piece, subject_pieces
from brenner.cli.output import width_of
from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Delivery, Stored
from brenner.protocol.messages import ago, exact

INDENT = "    "
_FIRST_ROWS = 6
_TAB = 4
_REPLY = "↳"


def is_sent_again(mailbox: Mailbox, stored: Stored) -> bool:
    """Whether it answers nothing, but is the message that it names, sent once more."""
    if stored.reply_to is None:
        return False
    try:
        return mailbox.message(stored.reply_to).content_hash == stored.content_hash
    except Refused:  # a link that leads nowhere
        return False


def message_lines(
    stored: Stored, deliveries: Sequence[Delivery], out: TextIO, *, is_whole: bool, is_copy: bool
) -> Iterator[str]:
    """The head, what became of it, and the body: whole, or its first lines."""
    yield head(stored, out, is_exact=is_whole, is_copy=is_copy)
    yield fold([Piece(INDENT)], subject_pieces(stored.message.subject), INDENT, out)
    fate = list(fate_pieces(deliveries))
    if fate:
        yield fold([Piece(f"{INDENT}ACK: ", QUIET)], fate, INDENT, out)
    lines = _lines_of(stored.message.body)
    if lines:
        yield "\n"
        yield from _whole(lines, out) if is_whole else _first_lines(lines, stored.id, out)


def head(stored: Stored, out: TextIO, *, is_exact: bool, is_copy: bool) -> str:
    """`12  BlueLake → Operator  3 h ago  ↳ 11  urgent  unverified`."""
    message = stored.message
    pieces = [agent_piece(message.sender), Piece(" → "), *names(message.recipients)]
    time = both_times(stored.at) if is_exact else when(stored.at, out)
    pieces.append(Piece(f"  {time}", QUIET))
    if stored.reply_to is not None:
        link = f"copy of message {stored.reply_to}" if is_copy else f"{_REPLY} {stored.reply_to}"
        pieces += [Piece("  "), Piece(link, is_solid=True)]
    if not stored.is_local:
        pieces.append(Piece("  imported", QUIET))
    for piece in (*importance_pieces(stored), *trust_pieces(stored)):
        pieces += [Piece("  "), piece]
    number = str(stored.id)
    gap = " " * max(2, len(INDENT) - len(number))
    return fold([Piece(number, STRONG), Piece(gap)], pieces, INDENT, out)


def names(agents: Iterable[str]) -> Iterator[Piece]:
    """Names in a row, each in its tint."""
    for number, name in enumerate(agents):
        if number:
            yield Piece(", ")
        yield agent_piece(name)


def both_times(at: datetime) -> str:
    """The exact time; for people also how long ago that is."""
    relative = ago(at, datetime.now(UTC))
    is_worth_it = sys.stdout.isatty() and not exact(at).startswith(relative)
    return f"{exact(at)} ({relative})" if is_worth_it else exact(at)


def fate_pieces(deliveries: Sequence[Delivery]) -> Iterator[Piece]:
    """`acknowledged by RedCreek; owed by BlueLake`; nothing where nobody has or should have."""
    acknowledged = [each.recipient for each in deliveries if each.acknowledged_by is not None]
    owing = [each.recipient for each in deliveries if each.owes_ack]
    if acknowledged:
        yield Piece("acknowledged by ", QUIET)
        yield from names(acknowledged)
    if acknowledged and owing:
        yield Piece("; ", QUIET)
    if owing:
        yield Piece("owed by ", ATTENTION)
        yield from names(owing)


def labelled(fields: Sequence[tuple[str, Sequence[Piece]]], out: TextIO) -> Iterator[str]:
    """Labels and what they say, which begins in one column."""
    column = max(len(label) for label, _ in fields) + 2
    for label, pieces in fields:
        start = [Piece(f"  {label:<{column}}", QUIET)]
        yield fold(start, pieces, " " * (column + 2), out)


def body_lines(body: str, out: TextIO) -> Iterator[str]:
    """A whole body, folded to the terminal."""
    yield from _whole(_lines_of(body), out)


def _whole(lines: Sequence[str], out: TextIO) -> Iterator[str]:
    """Lines of a body, indented and folded; nothing in them is obeyed."""
    for line in lines:
        yield fold([Piece(INDENT)], [Piece(line)], INDENT, out)


def _lines_of(body: str) -> list[str]:
    """The lines to read: a carriage return at their end and blank lines around them do not show."""
    lines = [line.removesuffix("\r").expandtabs(_TAB) for line in body.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    return lines[first:]


def _first_lines(lines: Sequence[str], message_id: int, out: TextIO) -> Iterator[str]:
    """The first rows, and how many lines are left; one row more costs as much as saying so."""
    most = _FIRST_ROWS * (width_of(out) or sys.maxsize)
    rows: list[str] = []
    whole = 0
    for number, line in enumerate(lines[: _FIRST_ROWS + 1], 1):
        rows += fold([Piece(INDENT)], [Piece(line[:most])], INDENT, out).splitlines(keepends=True)
        if len(line) <= most and len(rows) <= _FIRST_ROWS:
            whole = number
        elif len(line) <= most and len(rows) == _FIRST_ROWS + 1 and number == len(lines):
            yield from rows
            return
    yield from rows[:_FIRST_ROWS]
    left = len(lines) - whole
    if not left:
        return
    note = f"… {left} more line{'s' * (left != 1)}: `brenner mail show {message_id}`"
    yield fold([Piece(INDENT)], [Piece(note, QUIET)], INDENT, out)
