"""The overview of all sessions, one row each, cached until the thread gets a message.

An unchanged thread costs one comparison. If the store has no cache, or is read-only, every row is
computed each time, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from brenner.diagnostics.model import BrennerError
from brenner.mail.mailbox import Capability
from brenner.mail.model import ThreadSummary
from brenner.named_tuple import NamedTuple
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.services.workspace import Workspace
from brenner.session.overview import CachedOverview, Overview, decode_overview, encode_overview

if TYPE_CHECKING:
    from brenner.services.session_status import LoadedStatus


Progress = Callable[[str, int, int | None], None]
StatusLoader = Callable[[Workspace, str], "LoadedStatus"]
# After so many single lookups, consider reading all rows
_LOOKUPS_BEFORE_READING_ALL = (30, 100, 300, 1000)
_SAVE_BATCH = 200  # rows per write; an interruption loses at most these


class SessionList(NamedTuple):
    """All sessions, the one with the newest message first.

    `others` are the threads whose ID is not a valid session ID.
    """

    sessions: dict[str, Overview]
    others: tuple[str, ...]


def no_progress(_doing: str, _done: int, _total: int | None) -> None:
    """Ignore progress."""


def overviews(workspace: Workspace, progress: Progress = no_progress) -> dict[str, Overview]:
    """Return the overview of every thread with a valid ID and mail of the protocol."""
    return list_sessions(workspace, progress).sessions


def list_sessions(
    workspace: Workspace, progress: Progress = no_progress, load: StatusLoader | None = None
) -> SessionList:
    """Return all sessions, and the other threads. `load` can replace `load_status`."""
    summaries = workspace.mailbox.threads()
    threads = {each.thread_id: each for each in summaries if is_valid_thread_id(each.thread_id)}
    found = _load_current_rows(workspace, threads.values())
    stale = [thread_id for thread_id in threads if thread_id not in found]
    for known in _compute_rows(workspace, stale, progress, load):
        found[known.thread_id] = known
    rows = {thread_id: found[thread_id].overview for thread_id in threads}
    sessions = {thread_id: row for thread_id, row in rows.items() if row}
    others = tuple(each.thread_id for each in summaries if each.thread_id not in threads)
    return SessionList(sessions, others)


def load_overview(workspace: Workspace, thread_id: str) -> Overview | None:
    """Return the overview of one session; None if there is none of that ID."""
    rows = OverviewCache(workspace)
    known = rows.find(thread_id)
    rows.keep()
    return known.overview if known else None


class OverviewCache:
    """A cache of overview rows that are looked up one by one, and saved together.

    One lookup costs as much as ten rows of a full read. So after many lookups in a small project,
    all rows are read at once.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._unsaved: dict[str, str] = {}
        self._lookups = 0
        self._all: dict[str, CachedOverview] = {}

    def find(self, thread_id: str) -> CachedOverview | None:
        """Return the row of a thread; None if the thread has no messages."""
        if not is_valid_thread_id(thread_id):
            return None
        self._lookups += 1
        if self._lookups in _LOOKUPS_BEFORE_READING_ALL:
            self._read_all(most=10 * self._lookups)
        if thread_id in self._all:
            return self._all[thread_id]
        page = self._workspace.mailbox.thread(thread_id, limit=1)
        if not page.messages:
            return None
        thread = ThreadSummary(thread_id, page.position, page.messages[0].at, page.messages[0].at)
        name = _cache_prefix(self._workspace) + thread_id
        known = _decode_row(self._workspace.mailbox.kept(name))
        if known is None or not _is_current(known, thread):
            known, is_sure = _compute_row(self._workspace, thread_id)
            if is_sure:
                self._unsaved[name] = encode_overview(known)
        if len(self._unsaved) >= _SAVE_BATCH:
            self.keep()
        return known

    def _read_all(self, most: int) -> None:
        threads = self._workspace.mailbox.threads(limit=most + 1)
        if len(threads) <= most:
            self._all = _load_current_rows(self._workspace, threads)

    def keep(self) -> None:
        """Save the computed rows to the store's cache."""
        _save_rows(self._workspace, self._unsaved)
        self._unsaved = {}


def _cache_prefix(workspace: Workspace) -> str:
    """Return the prefix of cache keys, with the operator, who decides on voids and dismissals."""
    return f"session of {workspace.project.operator} for "


def _load_current_rows(
    workspace: Workspace, threads: Iterable[ThreadSummary]
) -> dict[str, CachedOverview]:
    """Return the cached rows of threads without newer messages."""
    prefix = _cache_prefix(workspace)
    kept = workspace.mailbox.kept_under(prefix)
    found = {}
    for thread in threads:
        known = _decode_row(kept.get(prefix + thread.thread_id))
        if known is not None and _is_current(known, thread):
            found[thread.thread_id] = known
    return found


def _decode_row(text: str | None) -> CachedOverview | None:
    """Decode a cached row; return None if it is missing, damaged or of another release."""
    if text is None:
        return None
    try:
        return decode_overview(text)
    except ValueError:
        return None


def _is_current(known: CachedOverview, thread: ThreadSummary) -> bool:
    return (
        known.position == thread.position
        and known.last_at == thread.last_at
        and known.thread_id == thread.thread_id
    )


def _compute_rows(
    workspace: Workspace, thread_ids: Sequence[str], progress: Progress, load: StatusLoader | None
) -> Iterator[CachedOverview]:
    remaining = iter(thread_ids)
    done = 0
    while batch := list(islice(remaining, _SAVE_BATCH)):
        worth_keeping = {}
        for thread_id in batch:
            known, is_sure = _compute_row(workspace, thread_id, load)
            if is_sure:
                worth_keeping[_cache_prefix(workspace) + thread_id] = encode_overview(known)
            done += 1
            progress("Reading sessions:", done, len(thread_ids))
            yield known
        _save_rows(workspace, worth_keeping)


def _save_rows(workspace: Workspace, contents: dict[str, str]) -> None:
    if contents and Capability.CACHE not in workspace.mailbox.lacks:
        with suppress(BrennerError):  # the next time only takes longer
            workspace.mailbox.keep(contents)


def _compute_row(
    workspace: Workspace, thread_id: str, load: StatusLoader | None = None
) -> tuple[CachedOverview, bool]:
    """Return the row of a thread, and whether no message came in while it was read."""
    # Not needed if all rows are cached
    from brenner.services.session_status import load_status
    from brenner.session.overview import overview_of

    status, history, messages, *_ = (load or load_status)(workspace, thread_id)
    last_at = max(each.at for each in messages)
    speaks = any(each.type for each in messages)
    overview = overview_of(status, history.state.artifact) if speaks else None
    is_sure = status.position == history.position == len(messages)
    return CachedOverview(thread_id, len(messages), last_at, overview), is_sure
