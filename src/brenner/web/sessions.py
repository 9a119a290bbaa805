"""Sessions as the pages read them: cached per state of the mail, shared by all readers, with the
availability of the store.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, overload

import anyio
import anyio.to_thread

from brenner.artifact.merge.engine import Merge
from brenner.artifact.render import render_artifact
from brenner.artifact.state import Entry
from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.codes.web import MAIL_AWAY
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError
from brenner.lint.linter import LintReport, lint
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import StoredMessage
from brenner.mail.open import store_of
from brenner.persist.git import Persistence, persistence_of, version_digest
from brenner.protocol.messages import thread_order_key
from brenner.services.compile import load_readable_source_text, read_project_source
from brenner.services.references import load_graph
from brenner.services.session_status import LoadedStatus, load_status, update_status
from brenner.services.sessions import SessionList, list_sessions
from brenner.services.version_store import (
    VersionLedger,
    ledger_collector,
    ledgers_of_messages,
    version_texts,
)
from brenner.services.versions import (
    LoadedVersion,
    Target,
    VersionList,
    list_versions,
    load_version,
)
from brenner.services.workspace import Workspace
from brenner.session.participants import ThreadRound, rounds_of
from brenner.session.rebuild import text_hash
from brenner.session.references import ReferenceGraph
from brenner.session.refused_blocks import BlockPosition
from brenner.session.status import (
    BlockResolution,
    SurvivingWork,
    merge_unread,
    messages_with_error_reply,
    resolved_blocks,
    surviving_work,
)
from brenner.session.versions import VersionHistory

_T = TypeVar("_T")


class cached_property(Generic[_T]):  # noqa: N801  used like `property`
    """A property that is computed once per object, thread-safe.

    Each value has a lock of its own, so threads wait only for the value that they need.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._work = compute
        self.__doc__ = compute.__doc__
        self.name = compute.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> "cached_property[_T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...
    def __get__(self, instance: object | None, owner: type) -> "cached_property[_T] | _T":
        if instance is None:
            return self
        # Once the value is in the object's dictionary, Python finds it there and skips this.
        return get_or_compute(vars(instance), self.name, lambda: self._work(instance))

    def peek(self, instance: object) -> _T | None:
        """Return the cached value of an object, or None."""
        return vars(instance).get(self.name)

    def set_value(self, instance: object, value: _T) -> None:
        """Set the cached value of an object."""
        vars(instance)[self.name] = value


def get_or_compute(values: dict[Any, Any], name: Hashable, compute: Callable[[], _T]) -> _T:
    """Return the value under a key. If it is missing, one thread computes it and the others
    wait.
    """
    found = values.get(name, _MISSING)
    if found is _MISSING:
        with values.setdefault((_LOCK_KEY, name), threading.RLock()):
            try:
                found = values.get(name, _MISSING)
                if found is _MISSING:
                    found = values[name] = compute()
            finally:  # an error must leave no lock behind
                values.pop((_LOCK_KEY, name), None)
    value: _T = found
    return value


_LOCK_KEY, _MISSING = "lock of", object()


class LRUCache(Generic[_T]):
    """Thread-safe LRU cache whose values are computed once."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._lock = threading.Lock()
        self._slots: OrderedDict[Hashable, dict[Any, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, name: Hashable, compute: Callable[[], _T]) -> _T:
        """Return the value under a key, computing it if it is missing."""
        with self._lock:
            slot = self._slots.setdefault(name, {})
            self._slots.move_to_end(name)
            while len(self._slots) > self._max_entries:
                self._slots.popitem(last=False)
        try:
            return get_or_compute(slot, name, compute)
        finally:
            with self._lock:
                if name not in slot and self._slots.get(name) is slot:
                    del self._slots[name]


class TTLCache(Generic[_T]):
    """One value that is computed again after some seconds, for what changes without mail."""

    seconds = 5.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entry: tuple[float, _T] | None = None

    def get(self, compute: Callable[[], _T]) -> _T:
        """Return the value. One thread computes it, and the others wait."""
        with self._lock:
            now = time.monotonic()
            if self._entry is None or now - self._entry[0] >= self.seconds:
                self._entry = (now, compute())
            return self._entry[1]


# The cursor


_HASH_DIGITS = 12
_CURSOR = re.compile(r"([0-9]{1,15})(?:-([0-9a-f]{1,64}))?", re.ASCII)


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

    def matches(self, other: "MailCursor") -> bool:
        """Return whether two cursors with the same position can be of one store."""
        return not self.mark or not other.mark or self.mark == other.mark

    def includes(self, other: "MailCursor") -> bool:
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


class _CachedSession(Protocol):
    followed: LoadedStatus


_S = TypeVar("_S", bound=_CachedSession)


class _Slot(Generic[_S]):
    """A cached session, and the cursor up to which it has all mail."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.session: _S | None = None
        self.cursor = MailCursor(0)


class SessionCache(Generic[_S]):
    """The most recently used sessions, updated with new messages.

    `make` creates a session, or derives one from the previous state.
    """

    def __init__(
        self,
        workspace: Workspace,
        make: Callable[[Workspace, str, _S | None, Sequence[StoredMessage]], _S],
    ) -> None:
        self._workspace = workspace
        self._make = make
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot[_S]] = OrderedDict()

    def __contains__(self, thread_id: object) -> bool:
        return thread_id in self._slots

    def get(self, thread_id: str, cursor: MailCursor) -> _S:
        """Return a session with at least the mail up to the cursor. Raise RequestError if it is
        unknown.
        """
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

    def _current(self, slot: _Slot[_S], thread_id: str, cursor: MailCursor) -> _S:
        before = slot.session
        if before is None or not self._is_same_store(slot.cursor, cursor):
            slot.session = None
            session = self._make(self._workspace, thread_id, None, ())
            slot.cursor = _later_cursor(cursor, session.followed.stored)
            return session
        if cursor.position <= slot.cursor.position:
            return before
        found = self._workspace.mailbox.thread_arrivals(thread_id, slot.cursor.position)
        arrivals = [each for each in found if each.arrival <= cursor.position]
        session = self._make(self._workspace, thread_id, before, arrivals) if arrivals else before
        slot.cursor = cursor
        return session

    def _is_same_store(self, then: MailCursor, now: MailCursor) -> bool:
        """Return whether the cached mail is of the store that is there now."""
        if then.position == now.position:
            return then.matches(now)
        mailbox = self._workspace.mailbox
        if then.position > now.position and mailbox.position() < then.position:
            return False
        return then.matches(cursor_at(mailbox, then.position))

    def _evict(self) -> None:
        """Evict the least recently used sessions beyond the limits."""
        sizes = {name: _size(slot) for name, slot in self._slots.items()}
        total = sum(sizes.values())
        for name in list(self._slots)[:-1]:
            if len(self._slots) <= MAX_SESSIONS and total <= MAX_MESSAGES:
                return
            total -= sizes[name]
            del self._slots[name]


def _size(slot: _Slot[_S]) -> int:
    return len(slot.session.followed.stored) if slot.session else 0


def _later_cursor(cursor: MailCursor, stored: Sequence[StoredMessage]) -> MailCursor:
    """Return the later of the requested cursor and the last message that was read."""
    last = max(stored, key=lambda each: each.arrival)
    return cursor if last.arrival <= cursor.position else cursor_after(last)


# Values that depend only on the versions


MAX_VERSIONS = 4  # per session, beside the latest


class VersionCache:
    """Values that depend only on the versions of a session.

    A message that is no version does not change them, so the next state of the session reuses them.
    """

    def __init__(self, workspace: Workspace, followed: LoadedStatus) -> None:
        self._workspace = workspace
        self._history = followed.history
        self._messages = followed.messages
        self._thread_id = followed.status.thread_id
        self._versions: LRUCache[LoadedVersion] = LRUCache(MAX_VERSIONS)
        self._lint_cache: LRUCache[LintReport] = LRUCache(1)

    @cached_property
    def latest(self) -> LoadedVersion | None:
        """The latest version with blame, None before the first."""
        return self.version(self._history.number) if self._history.versions else None

    def version(self, number: int) -> LoadedVersion:
        """Return a version with blame. Raise RequestError if it does not exist."""
        target = Target(self._thread_id, number)
        return self._versions.get(
            number, lambda: load_version(self._workspace, target, with_state=True)
        )

    @cached_property
    def ledgers(self) -> Mapping[int, VersionLedger]:
        """The outcome of all blocks, by version."""
        operator = self._workspace.project.operator
        found = ledgers_of_messages(self._thread_id, self._messages, operator)
        return {each.number: each for each in found}

    @property
    def has_ledgers(self) -> bool:
        """Whether the ledgers, which take longest, are computed."""
        return VersionCache.ledgers.peek(self) is not None

    @cached_property
    def digests(self) -> Mapping[int, bytes]:
        """The digest of the text of each version, for comparison with files and git."""
        artifacts = {number: each.artifact for number, each in self.ledgers.items()}
        return {
            number: version_digest(render_artifact(artifact))
            for number, artifact in artifacts.items()
            if artifact is not None
        }

    @cached_property
    def survivals(self) -> Mapping[str, SurvivingWork]:
        """How much of each author's work is in the latest version."""
        state = self.latest.state if self.latest else None
        return surviving_work(state) if state else {}

    @property
    def lint(self) -> LintReport | None:
        """The lint report of the latest version. It changes with the source text."""
        if not self._history.versions:
            return None
        source = read_project_source(self._workspace.project)
        return self._lint_cache.get(source if isinstance(source, str) else None, self._run_lint)

    def _run_lint(self) -> LintReport:
        return lint(
            self._history.state.artifact, source=load_readable_source_text(self._workspace.project)
        )

    @cached_property
    def text(self) -> str:
        """The text of the latest version, also of one that is too large for its message."""
        latest = self._history.latest
        if latest is None:
            return ""
        text = render_artifact(self._history.state.artifact)
        if text_hash(text) == latest.artifact_sha256:
            return text
        texts = version_texts(self._workspace.mailbox, self._history, latest.operator)
        return texts(latest.number) or ""

    def updated(self, followed: LoadedStatus, found: Sequence[VersionLedger]) -> "VersionCache":
        """Return the cache for the next state. `found` are the ledgers of the new versions."""
        if _same_versions(self._history, followed.history):
            return self
        new = VersionCache(self._workspace, followed)
        ledgers = VersionCache.ledgers.peek(self)
        combined = (
            _combine_ledgers(ledgers, found, followed.history) if ledgers is not None else None
        )
        if combined is not None:
            VersionCache.ledgers.set_value(new, combined)
        return new


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
    """Add the ledgers of new versions to the known ones. Return None if they do not fit
    together.
    """
    numbers = [version.number for version in history.versions]
    new = {each.number: each for each in found}
    kept = {} if len(new) == len(numbers) else known  # all may have been rebuilt
    combined = {**kept, **new}
    return combined if list(combined) == numbers and not kept.keys() & new.keys() else None


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
        """Return the outage for scripts."""
        return {
            "since": self.since.isoformat(),
            "code": self.why.id,
            "message": self.why.message,
            "fix": self.why.fix,
        }

    def for_guests(self) -> "StoreOutage":
        """Return the same without the location of the store and the reason."""
        return self._replace(why=MAIL_AWAY.at())

    @property
    def error(self) -> UnavailableError:
        """The outage as an exception."""
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
        """Read the cursor. The hash is read again if the position changed or the last one is
        old.
        """
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
        reason = f"it has not answered within {self.patience:g} seconds"
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


class Session:
    """One session in one state of its mail. Values are computed on first use."""

    def __init__(
        self, workspace: Workspace, followed: LoadedStatus, known: VersionCache | None = None
    ) -> None:
        self.workspace = workspace
        self.followed = followed
        self.status = followed.status
        self.history = followed.history
        self.messages = followed.messages  # in the order of arrival
        self.version_cache = known or VersionCache(workspace, followed)
        self._cache: dict[object, object] = {}
        self._history: TTLCache[VersionList] = TTLCache()
        self._persistence: TTLCache[Persistence] = TTLCache()

    @property
    def thread_id(self) -> str:
        return self.status.thread_id

    @property
    def position(self) -> int:
        """The number of messages."""
        return self.status.position

    @cached_property
    def stored(self) -> tuple[StoredMessage, ...]:
        """The messages as the mailbox has them, in the order of the thread (R9)."""
        return tuple(sorted(self.followed.stored, key=lambda each: thread_order_key(each.posted)))

    @property
    def latest(self) -> LoadedVersion | None:
        """The latest version with blame, None before the first."""
        return self.version_cache.latest

    def version(self, number: int) -> LoadedVersion:
        """Return a version with blame. Raise RequestError if it does not exist."""
        return self.version_cache.version(number)

    @property
    def version_list(self) -> VersionList:
        """All versions. Files and git are read again after some seconds."""
        digests = self.version_cache.digests
        return self._history.get(lambda: list_versions(self.workspace, self.history, digests))

    @property
    def persistence(self) -> Persistence:
        """Whether the latest version is in a file and committed. Git is asked again after some
        seconds.
        """
        project, text = self.workspace.project, self.text
        return self._persistence.get(lambda: persistence_of(project, self.thread_id, text))

    @property
    def text(self) -> str:
        """The text of the latest version, also of one that is too large for its message."""
        return self.version_cache.text

    @property
    def ledgers(self) -> Mapping[int, VersionLedger]:
        """The outcome of all blocks, by version."""
        return self.version_cache.ledgers

    @cached_property
    def merged(self) -> Merge:
        """The merge of all unread messages into the latest version."""
        return self.followed.merged or merge_unread(self.history, self.workspace.project.operator)

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
        return self.version_cache.survivals

    @property
    def lint(self) -> LintReport | None:
        """The lint report of the latest version. It changes with the source text."""
        return self.version_cache.lint

    @cached_property
    def rounds(self) -> tuple[ThreadRound, ...]:
        """The messages by rounds."""
        is_over = self.status.round == self.history.number
        return rounds_of(self.history, self.messages, is_over=is_over)

    @cached_property
    def notified_messages(self) -> frozenset[int]:
        """The messages whose authors have been notified of refused blocks."""
        return messages_with_error_reply(self.messages)

    def cached(self, compute: "Callable[[Session], _T]") -> _T:
        """Return the value of a function of this session, computed once."""
        return get_or_compute(self._cache, compute, lambda: compute(self))


class SessionRepository:
    """The sessions of a project for all readers.

    One that is pinned by `at` serves one request: it sees each session with the same mail all the
    time.
    """

    def __init__(self, workspace: Workspace, store: StoreMonitor | None = None) -> None:
        self.workspace = workspace
        self.store = store or StoreMonitor(workspace, store_of(workspace.project).shown)
        self.cursor: MailCursor | None = None
        self.kept = SessionCache(workspace, _update_session)
        # Two entries: the current state, and the one of requests that began a moment ago
        self._listings: LRUCache[SessionList] = LRUCache(2)
        self._graphs: LRUCache[TTLCache[ReferenceGraph]] = LRUCache(2)
        self._pinned: dict[str, Session] = {}
        self._preparing = threading.Lock()

    def at(self, cursor: MailCursor) -> Self:
        """Return the repository pinned to a cursor, for one request."""
        pinned = copy(self)
        vars(pinned).update(cursor=cursor, _pinned={})
        return pinned

    def session(self, thread_id: str) -> Session:
        """Return the current session. Raise RequestError if it is unknown."""
        if self.cursor is None:
            return self.kept.get(thread_id, cursor_at(self.workspace.mailbox))
        cursor = self.cursor
        session = get_or_compute(self._pinned, thread_id, lambda: self.kept.get(thread_id, cursor))
        if session.position > _LONG_SESSION and not session.version_cache.has_ledgers:
            _start_thread(partial(self._prepare, session))
        return session

    def begin(self) -> threading.Thread:
        """Start to compute the ledgers of the newest session, if it is long, before the first
        request.
        """
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
        return self._graphs.get(cursor, TTLCache).get(self._graph)

    def _graph(self) -> ReferenceGraph:
        return load_graph(self.workspace, rows=self.listing().sessions).graph

    def _follow(self, _workspace: Workspace, thread_id: str) -> LoadedStatus:
        return self.kept.get(thread_id, self.cursor or cursor_at(self.workspace.mailbox)).followed


def _start_thread(compute: Callable[[], None]) -> threading.Thread:
    """Run the work in a daemon thread."""
    thread = threading.Thread(target=compute, name="sessions", daemon=True)
    thread.start()
    return thread


def _update_session(
    workspace: Workspace, thread_id: str, before: Session | None, arrivals: Sequence[StoredMessage]
) -> Session:
    """Load a session, or derive it from the previous state and the new messages."""
    if before is None:
        return Session(workspace, load_status(workspace, thread_id))
    found: list[VersionLedger] = []
    followed = update_status(
        before.followed, arrivals, workspace.project.operator, ledger_collector(found)
    )
    return Session(workspace, followed, before.version_cache.updated(followed, found))
