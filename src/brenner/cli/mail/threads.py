"""The threads of a mailbox as a list, the one with the newest message first."""

import sys
from collections.abc import Iterator, Sequence

from brenner.cli.folding import Piece
from brenner.cli.mail.rows import THREAD, when
from brenner.cli.mail.table import Column, Row, table
from brenner.cli.marks import QUIET
from brenner.cli.sentences import advice, sentence
from brenner.mail.model import ThreadSummary
from brenner.protocol.messages import iso
from brenner.text import visible

_COLUMNS = (THREAD, Column("Messages", is_right=True), Column("First"), Column("Last"))


def document(threads: Sequence[ThreadSummary]) -> dict[str, object]:
    """The stable form; `position` is how many messages a thread has."""
    return {
        "threads": [
            {
                "thread_id": each.thread_id,
                "position": each.position,
                "first_at": iso(each.first_at),
                "last_at": iso(each.last_at),
            }
            for each in threads
        ]
    }


def lines(threads: Sequence[ThreadSummary], sender: str) -> Iterator[str]:
    """A row for each, or how that sender begins one."""
    if not threads:
        begins = "Each begins with the first message that names it:"
        yield sentence(f"There are no threads yet. {begins}", sys.stdout)
        new = f"`brenner new KICKOFF --as {visible(sender)} --to NAME > message.md`"
        yield advice(f"{new}; fill it in; `brenner mail send message.md`", sys.stdout)
        return
    yield from table(_COLUMNS, [_row(each) for each in threads], sys.stdout)


def _row(thread: ThreadSummary) -> Row:
    out = sys.stdout
    return Row(
        (
            [Piece(thread.thread_id)],
            [Piece(str(thread.position))],
            [Piece(when(thread.first_at, out), QUIET)],
            [Piece(when(thread.last_at, out), QUIET)],
        )
    )
