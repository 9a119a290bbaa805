"""Sessions as the pages read them: cached per state of the mail, shared by all readers, with the
availability of the store.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio
import anyio.to_thread

from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.codes.web import MAIL_AWAY
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError
from brenner.lazy_pattern import lazy_pattern
from brenner.lint.linter import LintReport, lint
from brenner.mail.open import store_of
from brenner.named_tuple import NamedTuple
from brenner.persist.git import Persistence, persistence_of, version_digest
from brenner.protocol.messages import thread_order_key
from brenner.services.compile import load_readable_source_text, read_project_source
from brenner.services.evidence import pack_text, readable_pack
from brenner.services.references import load_graph
from brenner.services.session_files import read_session_file
from brenner.services.session_status import LoadedStatus, load_status, update_status
from brenner.services.sessions import SessionList, list_sessions
from brenner.services.version_store import (
    VersionLedger,
    ledger_collector,
    ledgers_of_messages,
    load_history,
    state_of,
    version_texts,
)
from brenner.services.versions import (
    ListedVersion,
    LoadedVersion,
    Target,
    latest_state,
    list_versions,
    load_version,
    version_of,
)
from brenner.session.participants import ThreadRound, rounds_of
from brenner.session.rebuild import text_hash
from brenner.session.status import (
    BlockResolution,
    SurvivingWork,
    messages_with_error_reply,
    resolved_blocks,
    surviving_work,
)
from brenner.web.cache import LRUCache, TTLCache
from brenner.web.item_index import IndexedItem, index_artifact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from brenner.artifact.merge.engine import Merge
    from brenner.artifact.state import Entry
    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.messages import StoredMessage
    from brenner.services.workspace import Workspace
    from brenner.session.references import ReferenceGraph
    from brenner.session.refused_blocks import BlockPosition
    from brenner.session.versions import VersionHistory

_T = TypeVar("_T")
_HASH_DIGITS = 12
_CURSOR = lazy_pattern(r"([0-9]{1,15})(?:-([0-9a-f]{1,64}))?", re.ASCII)


class MailCursor(NamedTuple):
    """A position in the mail of a store: the number of messages, and a prefix of the last one's
    hash.

    The hash (`mark`) detects that the store was replaced by another one.
    """

    position: int
    mark: str = ""

    def __str__(self) -> str:
        """The text in pages and event IDs."""
        return f"{self.position}-{self.mark}" if self.mark else str(self.position)

    def matches(self, other: MailCursor) -> bool:
        """Return whether two cursors with the same position can be of one store."""
        return not self.mark or not other.mark or self.mark == other.mark

    def includes(self, other: MailCursor) -> bool:
        """Return whether this cursor includes all mail up to the other one."""
        if self.position == other.position:
            return self.matches(other)
        return self.position > other.position


def parse_cursor(text: str) -> MailCursor | None:
    """Parse a cursor from a browser. Return None if it is not one."""
    match = _CURSOR.fullmatch(text)
    return MailCursor(int(match[1]), match[2] or "") if match else None


def cursor_after(stored: StoredMessage) -> MailCursor:
    """Return the cursor whose last message is this one."""
    return MailCursor(stored.arrival, stored.content_hash[:_HASH_DIGITS])


def cursor_at(mailbox: Mailbox, position: int | None = None) -> MailCursor:
    """Return the current cursor of a mailbox, or the one at a position."""
    position = mailbox.position() if position is None else position
    found = mailbox.arrivals(position - 1, 1) if position else ()
    return cursor_after(found[0]) if found else MailCursor(position)


# Sessions in memory, shared by all readers. A new message costs only what is new.


MAX_SESSIONS = 100
MAX_MESSAGES = 40_000  # of all cached sessions together
MAX_INDEX_SIZE = 64_000_000  # characters of all indexed items together


class _Slot:
    """A cached session, and the cursor up to which it has all mail."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.session: Session | None = None
        self.cursor = MailCursor(0)

    @property
    def size(self) -> int:
        return len(self.session.followed.messages) if self.session else 0


class SessionCache:
    """The most recently used sessions, updated with new messages."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()

    def __contains__(self, thread_id: object) -> bool:
        return thread_id in self._slots

    def get(self, thread_id: str, cursor: MailCursor) -> Session:
        """Return a session with all mail up to the cursor. Raise RequestError if it is unknown."""
        with self._lock:
            slot = self._slots.setdefault(thread_id, _Slot())
            self._slots.move_to_end(thread_id)
        try:
            with slot.lock:
                slot.session = session = self._current(slot, thread_id, cursor)
        finally:
            with self._lock:
                if slot.session is None and self._slots.get(thread_id) is slot:
                    del self._slots[thread_id]
                self._evict()
        return session

    def _current(self, slot: _Slot, thread_id: str, cursor: MailCursor) -> Session:
        before = slot.session
        is_stale = before is not None and cursor.position > slot.cursor.position
        if is_stale and before is not None and before.followed.is_sealed:
            before = None  # they may not be sealed any more
        if before is None or not self._is_same_store(slot.cursor, cursor):
            slot.session = None
            session = Session(self._workspace, load_status(self._workspace, thread_id))
            slot.cursor = _later_cursor(cursor, session.followed.messages)
            return session
        if cursor.position <= slot.cursor.position:
            return before
        found = self._workspace.mailbox.thread_arrivals(thread_id, slot.cursor.position)
        arrivals = [each for each in found if each.arrival <= cursor.position]
        slot.cursor = cursor
        return before.updated(arrivals) if arrivals else before

    def _is_same_store(self, then: MailCursor, now: MailCursor) -> bool:
        if then.position == now.position:
            return then.matches(now)
        mailbox = self._workspace.mailbox
        if then.position > now.position and mailbox.position() < then.position:
            return False
        return then.matches(cursor_at(mailbox, then.position))

    def _evict(self) -> None:
        total = sum(slot.size for slot in self._slots.values())
        for name in list(self._slots)[:-1]:
            if len(self._slots) <= MAX_SESSIONS and total <= MAX_MESSAGES:
                return
            total -= self._slots.pop(name).size


def _later_cursor(cursor: MailCursor, stored: Sequence[StoredMessage]) -> MailCursor:
    """Return the later of the requested cursor and the last message that was read."""
    last = max(stored, key=lambda each: each.arrival)
    return cursor if last.arrival <= cursor.position else cursor_after(last)


# Availability of the store


_TIMEOUT = 5.0  # seconds, after which a store without an answer counts as away
_RETRY_SECONDS = 1.0  # between two polls while it is away
_RECHECK_SECONDS = 1.0  # after which the hash of the last message is read again
_MAX_THREADS = 4


class StoreOutage(NamedTuple):
    """The store is away: since when, and why."""

    since: datetime
    why: Diagnostic

    def to_json(self) -> dict[str, object]:
        return {
            "since": self.since.isoformat(),
            "code": self.why.id,
            "message": self.why.message,
            "fix": self.why.fix,
        }

    def for_guests(self) -> StoreOutage:
        """Return the same without the location of the store and the reason."""
        return self._replace(why=MAIL_AWAY.at())

    @property
    def error(self) -> UnavailableError:
        return UnavailableError(self.why)


class StoreMonitor:
    """Availability and cursor of a store. Thread-safe.

    While a store is away, one request polls it from time to time; the others get the outage at
    once.
    """

    patience = _TIMEOUT

    def __init__(
        self, workspace: Workspace, shown: str = "", clock: Callable[[], float] = time.monotonic
    ):
        self.workspace = workspace
        self.shown = shown
        self._clock = clock
        self._lock = threading.Lock()
        self._outage: StoreOutage | None = None
        self._polled_at = 0.0
        self._polling = 0
        self._last: tuple[MailCursor, float] | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def outage(self) -> StoreOutage | None:
        """The current outage, None while the store is available."""
        return self._outage

    def mark_lost(self, error: UnavailableError) -> StoreOutage:
        """Record that the store failed, and return the outage. It counts from the first failure."""
        with self._lock:
            since = self._outage.since if self._outage else datetime.now(UTC)
            self._outage = StoreOutage(since, error.diagnostic)
            self._polled_at = self._clock()
            return self._outage

    def mark_found(self) -> None:
        """Record that the store answers."""
        with self._lock:
            self._outage = None

    def poll(self) -> MailCursor:
        """Return the current cursor. Raise UnavailableError if the store does not answer."""
        try:
            cursor = self._read_cursor()
        except UnavailableError as error:
            self.mark_lost(error)
            raise
        self.mark_found()
        return cursor

    def _read_cursor(self) -> MailCursor:
        """Read the cursor. The hash is read again after a change, and after a while."""
        mailbox, last, now = self.workspace.mailbox, self._last, self._clock()
        position = mailbox.position()
        if last and last[0].position == position and now - last[1] < _RECHECK_SECONDS:
            return last[0]
        cursor = cursor_at(mailbox, position)
        self._last = (cursor, now)
        return cursor

    async def cursor(self) -> MailCursor | StoreOutage:
        """Return the cursor for a request, or the outage, within the timeout."""
        with self._lock:
            if self._outage and not self._may_poll():
                return self._outage
            self._polled_at = self._clock()
        self._limiter = self._limiter or anyio.CapacityLimiter(_MAX_THREADS)
        with anyio.move_on_after(self.patience):
            return await anyio.to_thread.run_sync(
                self._poll_counted, abandon_on_cancel=True, limiter=self._limiter
            )
        reason = f"no response within {self.patience:g} seconds"
        return self.mark_lost(UnavailableError(STORE_UNUSABLE.at(path=self.shown, reason=reason)))

    def _may_poll(self) -> bool:
        """Return whether it is time to poll a store that is away, and no other request does."""
        return not self._polling and self._clock() - self._polled_at >= _RETRY_SECONDS

    def _poll_counted(self) -> MailCursor | StoreOutage:
        """Poll in a thread. Requests that gave up before their thread started are not counted."""
        with self._lock:
            self._polling += 1
        try:
            return self.poll()
        except UnavailableError as error:
            return self.mark_lost(error)
        except BrennerError as error:
            return self.mark_lost(UnavailableError(error.diagnostic))
        finally:
            with self._lock:
                self._polling -= 1


# Sessions for the pages


_LONG_SESSION = 500  # messages
MAX_VERSIONS = 4  # per session, beside the latest


class Session:
    """One session in one state of its mail. Values are computed on first use.

    `before` is the state before it. Values that depend only on the versions are taken over from it
    if no version is new.
    """

    def __init__(
        self, workspace: Workspace, followed: LoadedStatus, before: Session | None = None
    ) -> None:
        self.workspace = workspace
        self.followed = followed
        self.status = followed.status
        self.history = followed.history
        self.messages = followed.messages  # in the order of arrival
        self._values: LRUCache[Any] = LRUCache()
        self.version_values: LRUCache[Any] = LRUCache()
        self.versions: LRUCache[LoadedVersion] = LRUCache(MAX_VERSIONS)
        if before is not None and _same_versions(before.history, self.history):
            self.version_values, self.versions = before.version_values, before.versions
        self._history: TTLCache[tuple[ListedVersion, ...]] = TTLCache()
        self._persistence: TTLCache[Persistence] = TTLCache()

    def updated(self, arrivals: Sequence[StoredMessage]) -> Session:
        """Return the next state, with these new messages."""
        found: list[VersionLedger] = []
        operator = self.workspace.project.operator
        followed = update_status(self.followed, arrivals, operator, ledger_collector(found))
        new = Session(self.workspace, followed, self)
        if self.has_ledgers and not new.has_ledgers:
            ledgers = _combine_ledgers(self.ledgers, found, followed.history)
            if ledgers is not None:
                new.version_values.put("ledgers", ledgers)
        return new

    def _of_versions(self, name: str, compute: Callable[[], _T]) -> _T:
        value: _T = self.version_values.get(name, compute)
        return value

    @property
    def thread_id(self) -> str:
        return self.status.thread_id

    @property
    def position(self) -> int:
        return self.status.position

    @cached_property
    def stored(self) -> tuple[StoredMessage, ...]:
        """The messages as the mailbox has them, in the order of the thread (R9)."""
        return tuple(sorted(self.followed.messages, key=thread_order_key))

    @property
    def latest(self) -> LoadedVersion | None:
        """The latest version with blame, None before the first."""
        if not self.history.versions:
            return None
        number = self.history.number
        return self._of_versions("latest", lambda: self.version(number))

    def version(self, number: int) -> LoadedVersion:
        """Return a version with blame. Raise RequestError if it does not exist."""
        return self.versions.get(number, lambda: self._load_version(number))

    def _load_version(self, number: int) -> LoadedVersion:
        """Return a version. One replay of the thread, for the ledgers, serves all earlier ones."""
        if self.history.versions and number == self.history.number:
            state = latest_state(self.workspace, self.history)
        elif any(number == each.number for each in self.history.versions):
            state = state_of(self.ledgers.values(), number)
        else:
            return load_version(self.workspace, Target(self.thread_id, number), with_state=True)
        return version_of(self.workspace, self.history, number, state)

    @property
    def version_list(self) -> tuple[ListedVersion, ...]:
        """All versions. Files and git are read again after some seconds."""
        return self._history.get(lambda: list_versions(self.workspace, self.history, self._digests))

    @property
    def _digests(self) -> Mapping[int, bytes]:
        """The digest of the text of each version, for comparison with files and git."""

        def compute() -> dict[int, bytes]:
            return {
                number: version_digest(render_artifact(each.state.artifact))
                for number, each in self.ledgers.items()
            }

        return self._of_versions("digests", compute)

    @property
    def persistence(self) -> Persistence:
        """Whether the latest version is in a file and committed, as of some seconds ago."""
        project, text = self.workspace.project, self.text
        return self._persistence.get(lambda: persistence_of(project, self.thread_id, text))

    @property
    def text(self) -> str:
        """The text of the latest version, also of one that is too large for its message."""

        def compute() -> str:
            latest = self.history.latest
            if latest is None:
                return ""
            text = render_artifact(self.history.state.artifact)
            if text_hash(text) == latest.artifact_sha256:
                return text
            texts = version_texts(self.workspace.mailbox, self.history, latest.operator)
            return texts(latest.number) or ""

        return self._of_versions("text", compute)

    @property
    def ledgers(self) -> Mapping[int, VersionLedger]:
        """The outcome of all blocks, by version."""

        def compute() -> dict[int, VersionLedger]:
            operator = self.workspace.project.operator
            found = ledgers_of_messages(self.thread_id, self.messages, operator)
            return {each.number: each for each in found}

        return self._of_versions("ledgers", compute)

    @property
    def has_ledgers(self) -> bool:
        """Whether the ledgers, which take longest, are computed."""
        return "ledgers" in self.version_values

    @property
    def merged(self) -> Merge:
        """The merge of all unread messages into the latest version."""
        return self.followed.merged

    @property
    def unread_entries(self) -> tuple[Entry, ...]:
        """The expected outcome of the blocks that no version has read."""
        return self.merged.ledger

    @cached_property
    def resolved(self) -> Mapping[BlockPosition, BlockResolution]:
        """The refused blocks that were corrected or dismissed since."""
        read = [self.ledgers[number].entries for number in sorted(self.ledgers)]
        return resolved_blocks(self.history, self.messages, [*read, self.unread_entries])

    @property
    def survivals(self) -> Mapping[str, SurvivingWork]:
        """How much of each author's work is in the latest version."""
        state = self.latest.state if self.latest else None
        return self._of_versions("work", lambda: surviving_work(state)) if state else {}

    @property
    def lint(self) -> LintReport | None:
        """The lint report of the latest version.

        It changes with the source text and the evidence pack.
        """
        if not self.history.versions:
            return None
        project = self.workspace.project
        source = read_project_source(project)
        reports = self._of_versions("lint", lambda: LRUCache[LintReport](1))
        return reports.get(
            (source if isinstance(source, str) else None, pack_text(project)),
            lambda: lint(
                self.history.state.artifact,
                source=load_readable_source_text(project),
                pack=readable_pack(project),
            ),
        )

    @cached_property
    def rounds(self) -> tuple[ThreadRound, ...]:
        is_over = self.status.round == self.history.number
        return rounds_of(self.history, self.messages, is_over=is_over)

    @cached_property
    def notified_messages(self) -> frozenset[int]:
        """The messages whose authors have been notified of refused blocks."""
        return messages_with_error_reply(self.messages)

    def cached(self, compute: Callable[[Session], _T]) -> _T:
        """Return the value of a function of this session, computed once."""
        value: _T = self._values.get(compute, lambda: compute(self))
        return value


def _same_versions(before: VersionHistory, after: VersionHistory) -> bool:
    """Return whether no message has become a version, or claims to be one, since."""
    return (
        before.versions == after.versions
        and before.other_candidates == after.other_candidates
        and before.unrecorded == after.unrecorded
        and before.broken_version == after.broken_version
    )


def _combine_ledgers(
    known: Mapping[int, VersionLedger], found: Sequence[VersionLedger], history: VersionHistory
) -> Mapping[int, VersionLedger] | None:
    """Add the ledgers of new versions to the known ones. Return None if they do not fit."""
    numbers = [version.number for version in history.versions]
    new = {each.number: each for each in found}
    kept = {} if len(new) == len(numbers) else known  # all may have been rebuilt
    combined = {**kept, **new}
    return combined if list(combined) == numbers and not kept.keys() & new.keys() else None


class SessionRepository:
    """The sessions of a project for all readers.

    One that is pinned by `at` serves one request: it sees each session with the same mail all the
    time.
    """

    def __init__(self, workspace: Workspace, store: StoreMonitor | None = None) -> None:
        self.workspace = workspace
        self.store = store or StoreMonitor(workspace, store_of(workspace.project).shown)
        self.cursor: MailCursor | None = None
        self.kept = SessionCache(workspace)
        # Two entries: the current state, and the one of requests that began a moment ago
        self._listings: LRUCache[SessionList] = LRUCache(2)
        self._graphs: LRUCache[TTLCache[ReferenceGraph]] = LRUCache(2)
        self._items: LRUCache[tuple[IndexedItem, ...]] = LRUCache(MAX_INDEX_SIZE, _index_size)
        self._items_in_files: LRUCache[TTLCache[tuple[IndexedItem, ...]]] = LRUCache(MAX_SESSIONS)
        self._pinned: LRUCache[Session] = LRUCache()
        self._preparing = threading.Lock()

    def at(self, cursor: MailCursor) -> Self:
        """Return the repository pinned to a cursor, for one request."""
        pinned = copy(self)
        vars(pinned).update(cursor=cursor, _pinned=LRUCache())
        return pinned

    def session(self, thread_id: str) -> Session:
        """Return the current session. Raise RequestError if it is unknown."""
        if self.cursor is None:
            return self.kept.get(thread_id, cursor_at(self.workspace.mailbox))
        cursor = self.cursor
        session = self._pinned.get(thread_id, lambda: self.kept.get(thread_id, cursor))
        if session.position > _LONG_SESSION and not session.has_ledgers:
            _start_thread(partial(self._prepare, session))
        return session

    def begin(self) -> threading.Thread:
        """Start to compute the ledgers of the newest session in advance, if it is long."""
        return _start_thread(self._prepare_newest)

    def _prepare_newest(self) -> None:
        mailbox = self.workspace.mailbox
        with suppress(BrennerError):  # the next request reports it
            for each in mailbox.threads(limit=1):
                if each.position > _LONG_SESSION:
                    self._prepare(self.kept.get(each.thread_id, cursor_at(mailbox)))

    def _prepare(self, session: Session) -> None:
        """Compute the ledgers of a long session in advance, one session at a time."""
        if self._preparing.acquire(blocking=False):
            try:
                _ = session.ledgers
            finally:
                self._preparing.release()

    def listing(self) -> SessionList:
        """Return all sessions, one row each, and the threads that are left out."""
        cursor = self.cursor or cursor_at(self.workspace.mailbox)
        return self._listings.get(cursor, lambda: list_sessions(self.workspace, load=self._follow))

    def references(self) -> ReferenceGraph:
        """Return the references between items of all sessions. Files are read again after some
        seconds.

        Most of it follows from the listing, and is cached as long.
        """
        cursor = self.cursor or cursor_at(self.workspace.mailbox)
        return self._graphs.get(cursor, TTLCache).get(
            lambda: load_graph(self.workspace, rows=self.listing().sessions)[0]
        )

    def items(self, thread_id: str) -> tuple[IndexedItem, ...]:
        """Return the items of the latest version of a session, cached until it gets a message.

        Without a version in the mail, they are those of its file, which is read again after some
        seconds.
        """
        row = self.listing().sessions.get(thread_id)
        if row is not None and row.version is not None:
            key = (thread_id, row.version, row.position)
            return self._items.get(key, lambda: self._index_session(thread_id))
        in_file = self._items_in_files.get(thread_id, TTLCache)
        return in_file.get(lambda: self._index_file(thread_id))

    def _index_session(self, thread_id: str) -> tuple[IndexedItem, ...]:
        """Index a session; one that is not in memory by its cached history, which is cheaper."""
        if thread_id in self.kept:
            return index_artifact(thread_id, self.session(thread_id).history.state.artifact)
        mailbox, operator = self.workspace.mailbox, self.workspace.project.operator
        return index_artifact(thread_id, load_history(mailbox, thread_id, operator).state.artifact)

    def _index_file(self, thread_id: str) -> tuple[IndexedItem, ...]:
        artifact = read_session_file(self.workspace.project, thread_id)
        return index_artifact(thread_id, artifact) if isinstance(artifact, Artifact) else ()

    def _follow(self, _workspace: Workspace, thread_id: str) -> LoadedStatus:
        return self.kept.get(thread_id, self.cursor or cursor_at(self.workspace.mailbox)).followed


def _index_size(items: tuple[IndexedItem, ...]) -> int:
    return sum(item.size for item in items) + 1


def _start_thread(compute: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=compute, name="sessions", daemon=True)
    thread.start()
    return thread
