"""All sessions of a project, one row each; what was worked out is kept until the thread grows.

A thread that has not grown costs a comparison. Where the home keeps nothing, or may not be written
to, everything is worked out each time, and the answer is the same.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from brenner.diagnostics.model import BrennerError
from brenner.mail.mailbox import Ability
from brenner.mail.model import ThreadSummary
from brenner.protocol.thread_ids import is_valid
from brenner.session.overview import Known, Overview, decode_overview, encode_overview
from brenner.workflows.desk import Desk

if TYPE_CHECKING:
    from brenner.workflows.session_status import Followed

Progress = Callable[[str, int, int | None], None]
Follow = Callable[[Desk, str], "Followed"]
_MANY = (30, 100, 300, 1000)  # rows asked for one by one, before it may be better to read all
_BATCH = 200  # rows that are worked out before they are kept: so many an interruption loses


class Listing(NamedTuple):
    """All sessions, the one with the newest message first.

    `others` are the threads whose ID is none that a session can have.
    """

    sessions: dict[str, Overview]
    others: tuple[str, ...]


def _silent(_doing: str, _done: int, _total: int | None) -> None:
    """Who does not look needs no progress."""


def overviews(desk: Desk, progress: Progress = _silent) -> dict[str, Overview]:
    """All threads with a valid ID in which somebody speaks the protocol."""
    return listing(desk, progress).sessions


def listing(desk: Desk, progress: Progress = _silent, follow: Follow | None = None) -> Listing:
    """All sessions, and what is left out. `follow` is for who knows some of them already."""
    summaries = desk.mailbox.threads()
    threads = {each.thread_id: each for each in summaries if is_valid(each.thread_id)}
    found = _still_true(desk, threads.values())
    stale = [thread_id for thread_id in threads if thread_id not in found]
    for known in _worked_out(desk, stale, progress, follow):
        found[known.thread_id] = known
    rows = {thread_id: found[thread_id].overview for thread_id in threads}
    sessions = {thread_id: row for thread_id, row in rows.items() if row}
    others = tuple(each.thread_id for each in summaries if each.thread_id not in threads)
    return Listing(sessions, others)


def one_overview(desk: Desk, thread_id: str) -> Overview | None:
    """The row of one session; None where there is none of that ID."""
    rows = Rows(desk)
    known = rows.find(thread_id)
    rows.keep()
    return known.overview if known else None


class Rows:
    """Rows as they are asked for, one by one; those that were worked out are kept together.

    To ask for one costs as much as ten of all at once. So where many are asked for, and there are
    not many more, all are read.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._worth_keeping: dict[str, str] = {}
        self._asked = 0
        self._all: dict[str, Known] = {}

    def find(self, thread_id: str) -> Known | None:
        """What there is to know of a thread; None where nobody has written to it."""
        if not is_valid(thread_id):
            return None
        self._asked += 1
        if self._asked in _MANY:
            self._read_all(most=10 * self._asked)
        if thread_id in self._all:
            return self._all[thread_id]
        page = self._desk.mailbox.thread(thread_id, limit=1)
        if not page.messages:
            return None
        thread = ThreadSummary(thread_id, page.position, page.messages[0].at, page.messages[0].at)
        name = _prefix(self._desk) + thread_id
        known = _read(self._desk.mailbox.kept(name))
        if known is None or not _is_of(known, thread):
            known, is_sure = _work_out(self._desk, thread_id)
            if is_sure:
                self._worth_keeping[name] = encode_overview(known)
        if len(self._worth_keeping) >= _BATCH:
            self.keep()
        return known

    def _read_all(self, most: int) -> None:
        threads = self._desk.mailbox.threads(limit=most + 1)
        if len(threads) <= most:
            self._all = _still_true(self._desk, threads)

    def keep(self) -> None:
        """Keep what was worked out, if anything was."""
        _keep(self._desk, self._worth_keeping)
        self._worth_keeping = {}


def _prefix(desk: Desk) -> str:
    """Who may void a version, and dismiss a block, is part of what was worked out."""
    return f"session of {desk.project.operator} for "


def _still_true(desk: Desk, threads: Iterable[ThreadSummary]) -> dict[str, Known]:
    """What was kept of threads that have not grown since."""
    prefix = _prefix(desk)
    kept = desk.mailbox.kept_under(prefix)
    found = {}
    for thread in threads:
        known = _read(kept.get(prefix + thread.thread_id))
        if known is not None and _is_of(known, thread):
            found[thread.thread_id] = known
    return found


def _read(text: str | None) -> Known | None:
    """A kept row; None where there is none, or one that is damaged or of another release."""
    if text is None:
        return None
    try:
        return decode_overview(text)
    except ValueError:
        return None


def _is_of(known: Known, thread: ThreadSummary) -> bool:
    return (
        known.position == thread.position
        and known.last_at == thread.last_at
        and known.thread_id == thread.thread_id
    )


def _worked_out(
    desk: Desk, thread_ids: Sequence[str], progress: Progress, follow: Follow | None
) -> Iterator[Known]:
    """Each thread looked at anew; what was found is kept in batches."""
    remaining = iter(thread_ids)
    done = 0
    while batch := list(islice(remaining, _BATCH)):
        worth_keeping = {}
        for thread_id in batch:
            known, is_sure = _work_out(desk, thread_id, follow)
            if is_sure:
                worth_keeping[_prefix(desk) + thread_id] = encode_overview(known)
            done += 1
            progress("Reading sessions:", done, len(thread_ids))
            yield known
        _keep(desk, worth_keeping)


def _keep(desk: Desk, contents: dict[str, str]) -> None:
    if contents and Ability.KEEPING not in desk.mailbox.lacks:
        with suppress(BrennerError):  # then the next time only takes longer
            desk.mailbox.keep(contents)


def _work_out(desk: Desk, thread_id: str, follow: "Follow | None" = None) -> tuple[Known, bool]:
    """What there is to know of a thread, and whether no message came in while it was read."""
    from brenner.session.overview import overview_of
    from brenner.session.versions import type_of  # who finds all kept needs none of it
    from brenner.workflows.session_status import load_status

    status, chain, messages, *_ = (follow or load_status)(desk, thread_id)
    last_at = max(each.posted.at for each in messages)
    speaks = any(type_of(each) for each in messages)
    overview = overview_of(status, chain.state.artifact) if speaks else None
    is_sure = status.position == chain.position == len(messages)
    return Known(thread_id, len(messages), last_at, overview), is_sure
