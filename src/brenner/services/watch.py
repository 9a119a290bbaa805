"""Watch sessions live: yield new messages, what they mean, and phase changes.

Nothing is written, unless auto-compile is requested. If the store is lost, the watch waits until it
is back, then yields every message that came in meanwhile, once.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from brenner.diagnostics.codes.sessions import STORE_REPLACED
from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.model import BrennerError, RequestError, UnavailableError
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import StoredMessage
from brenner.mail.open import SqliteStore, open_mailbox, store_of
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.services.version_store import (
    extend_history,
    load_history,
    require_thread_id,
    to_thread_message,
)
from brenner.services.workspace import Workspace
from brenner.session.model import Phase, SessionStatus
from brenner.session.overview import Overview
from brenner.session.rebuild import ThreadMessage
from brenner.session.routing import Route, RouteStep, evidence_of, route
from brenner.session.status import ComputedStatus, compute_status
from brenner.session.versions import VersionHistory, replay

if TYPE_CHECKING:
    from brenner.services.compile import CompileResult


# A mailbox that is only read


class _ReadOnlyMailbox:
    """The mailbox for reading: it ignores writes to the cache, but passes on all other calls.

    With `upto`, the messages of a thread end with that arrival in the store.
    """

    def __init__(self, mailbox: Mailbox, upto: int | None) -> None:
        self._mailbox = mailbox
        self._upto = upto

    def __getattr__(self, name: str) -> object:
        return getattr(self._mailbox, name)

    def thread_arrivals(self, thread_id: str, after: int) -> "tuple[StoredMessage, ...]":
        found = self._mailbox.thread_arrivals(thread_id, after)
        return tuple(each for each in found if self._upto is None or each.arrival <= self._upto)

    def keep(self, contents: Mapping[str, str]) -> None:
        """Discard the contents: a watch must not write to the cache."""


def read_only(workspace: Workspace, upto: int | None = None) -> Workspace:
    """Return the workspace with a mailbox that does not write to the cache.

    The caller must not send with it: other writes are not blocked.
    """
    return workspace._replace(mailbox=cast("Mailbox", _ReadOnlyMailbox(workspace.mailbox, upto)))


# The watched threads, cached in memory so that each new message is added incrementally


_MOST_CACHED_THREADS = 100  # other threads are read again when they get a message
_NO_SESSION = Route(
    None, RouteStep.NOTHING, "the thread's ID is no session's: nothing in it is compiled"
)


class WatchedThread(NamedTuple):
    """A thread as far as it was read."""

    history: VersionHistory
    messages: tuple[ThreadMessage, ...]
    computed: ComputedStatus

    @property
    def status(self) -> SessionStatus:
        return self.computed.status


class RoutedMessage(NamedTuple):
    """A new message, what it means, and the status of its session before and after it.

    A thread whose ID is not a valid session ID has no status.
    """

    stored: StoredMessage
    route: Route
    before: SessionStatus | None
    after: SessionStatus | None


class WatchedThreads:
    """All watched threads; an LRU cache of those that get messages."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._known: dict[str, WatchedThread] = {}

    def first(self, thread_id: str, upto: int) -> SessionStatus:
        """Return the status of a thread when the store had `upto` messages.

        Raise if the thread is unknown.
        """
        require_thread_id(thread_id)
        known = self._known[thread_id] = _load_thread(self.workspace, thread_id, upto)
        return known.status

    def take(self, stored: StoredMessage) -> RoutedMessage:
        """Add the next message. If the mailbox fails meanwhile, the state is unchanged."""
        thread_id = stored.message.thread_id
        if not is_valid_thread_id(thread_id):
            return RoutedMessage(stored, _NO_SESSION, None, None)
        before = self._before(thread_id, stored)
        message = to_thread_message(stored)
        after = _append(before, message, self.workspace.project.operator)
        self._remember(thread_id, after)
        ledger = after.computed.ledger
        evidence = evidence_of(message, before and before.history, after.history, ledger)
        found = route(message, before and before.status, after.status, evidence)
        return RoutedMessage(stored, found, before and before.status, after.status)

    def _before(self, thread_id: str, stored: StoredMessage) -> WatchedThread | None:
        """Return the thread without the message; None if that is its first."""
        if thread_id in self._known:
            return self._known[thread_id]
        upto = stored.arrival - 1
        earlier = self.workspace.mailbox.thread_arrivals(thread_id, 0)
        if all(each.arrival > upto for each in earlier):
            return None
        return _load_thread(self.workspace, thread_id, upto)

    def _remember(self, thread_id: str, known: WatchedThread) -> None:
        self._known.pop(thread_id, None)
        self._known[thread_id] = known  # now the most recently used one
        if len(self._known) > _MOST_CACHED_THREADS:
            del self._known[next(iter(self._known))]


def _load_thread(workspace: Workspace, thread_id: str, upto: int) -> WatchedThread:
    """Load a thread as it was when the store had `upto` messages.

    Use the cache, but do not write to it.
    """
    then, operator = read_only(workspace, upto), workspace.project.operator
    found = load_history(then.mailbox, thread_id, operator)
    messages = tuple(map(to_thread_message, then.mailbox.thread_arrivals(thread_id, 0)))
    # The cached history may be newer than `upto`.
    history = found.history if found.arrival <= upto else replay(thread_id, messages, operator)
    return WatchedThread(history, messages, compute_status(history, messages, operator))


def _append(before: WatchedThread | None, message: ThreadMessage, operator: str) -> WatchedThread:
    """Return the thread with one more message."""
    thread_id = message.posted.message.thread_id
    if before is None:
        history = replay(thread_id, (message,), operator)
        return WatchedThread(history, (message,), compute_status(history, (message,), operator))
    messages = (*before.messages, message)
    history = extend_history(before.history, messages, [message], operator)
    return WatchedThread(
        history, messages, compute_status(history, messages, operator, before.status)
    )


# Events


class WatchStarted(NamedTuple):
    """The start: the status of all sessions, or of the one watched thread in `status`."""

    where: str
    sessions: tuple[Overview, ...]
    status: SessionStatus | None = None


class MessageArrived(NamedTuple):
    """A message came in."""

    taken: RoutedMessage


class PhaseChanged(NamedTuple):
    """A session changed its phase; `before` is None for a new session."""

    before: Phase | None
    status: SessionStatus


class AutoCompiled(NamedTuple):
    """A compile by `--auto-compile` finished."""

    done: "CompileResult"


class AutoCompileFailed(NamedTuple):
    """A compile by `--auto-compile` failed."""

    thread_id: str
    error: BrennerError


class StoreLost(NamedTuple):
    """The store is unavailable."""

    error: BrennerError
    at: datetime


class StoreBack(NamedTuple):
    """The store is available again, after that many seconds."""

    seconds: float


class Idle(NamedTuple):
    """Nothing happened for a while."""


Event = (
    WatchStarted
    | MessageArrived
    | PhaseChanged
    | AutoCompiled
    | AutoCompileFailed
    | StoreLost
    | StoreBack
    | Idle
)


# Auto-compile


_FIRST_RETRY_PAUSE, _LONGEST_RETRY_PAUSE = (
    1.0,
    60.0,
)  # seconds before a failed compile is retried


class AutoCompile:
    """The threads that are ready to compile, and those to retry later.

    A rejected compile is not retried until the thread changes. Other failures (git, a disk) are
    retried after a pause, and reported once.
    """

    def __init__(
        self, notify: bool, uninterrupted: Callable[[], AbstractContextManager[object]]
    ) -> None:
        self._notify = notify
        self._uninterrupted = uninterrupted
        self._ready: dict[str, float] = {}  # when each is due
        self._failed: dict[str, tuple[str, float]] = {}  # the reported error, and the next pause

    def note(self, thread_id: str, phase: Phase | None) -> None:
        """Record the phase of a thread that has a new message."""
        self._ready.pop(thread_id, None)
        self._failed.pop(thread_id, None)
        if phase is Phase.READY_TO_COMPILE:
            self._ready[thread_id] = -math.inf

    @property
    def pause(self) -> float:
        """Return the seconds until a compile is due."""
        return max(0.0, min(self._ready.values(), default=math.inf) - time.monotonic())

    def due(self, workspace: Workspace) -> Iterator[AutoCompiled | AutoCompileFailed]:
        """Compile the threads that are due. Raise if the store itself is lost.

        The event is yielded inside the uninterrupted context, so that an interrupt cannot hide a
        published version.
        """
        now = time.monotonic()
        for thread_id in [each for each, at in self._ready.items() if at <= now]:
            with self._uninterrupted():
                event = self._compile(workspace, thread_id)
                if event:
                    yield event

    def _compile(
        self, workspace: Workspace, thread_id: str
    ) -> AutoCompiled | AutoCompileFailed | None:
        from brenner.services.compile import CompileOptions, compile_thread

        try:
            done = compile_thread(workspace, thread_id, CompileOptions(notify=self._notify))
        except RequestError as refused:
            self._ready.pop(thread_id)  # until the thread gets a message
            return AutoCompileFailed(thread_id, refused)
        except UnavailableError as error:
            return self._retry_later(workspace, thread_id, error)
        self._ready.pop(thread_id)  # its message arrives like any other
        return AutoCompiled(done)

    def _retry_later(
        self, workspace: Workspace, thread_id: str, error: UnavailableError
    ) -> AutoCompileFailed | None:
        """Schedule a retry after a pause. Raise if the store is lost: then retry when it is
        back.
        """
        try:
            workspace.mailbox.position()
        except UnavailableError:
            raise error from None
        reported, pause = self._failed.get(thread_id, ("", _FIRST_RETRY_PAUSE))
        self._ready[thread_id] = time.monotonic() + pause
        self._failed[thread_id] = (error.diagnostic.message, min(2 * pause, _LONGEST_RETRY_PAUSE))
        return None if reported == error.diagnostic.message else AutoCompileFailed(thread_id, error)


# The watched store: whether it is still available, and still the same


_FileIdentity = tuple[int, int]


class WatchedStore:
    """The store of a workspace. Its file may be moved away and put back: then it is reopened.

    `position` is the number of messages that were processed, `last` the latest of them.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.position = 0
        self.last: StoredMessage | None = None
        self._store = store_of(workspace.project)
        self._file = self._store.path if isinstance(self._store, SqliteStore) else None
        self._identity = _file_identity(self._file)
        self._was_opened_here = False  # whether the mailbox was opened here
        self._is_missing = isinstance(workspace.mailbox, MemoryMailbox)

    @property
    def shown(self) -> str:
        """Return the name of the store in messages."""
        return self._store.shown

    def begin(self) -> None:
        """Treat every message from now on as new."""
        mailbox = self.workspace.mailbox
        self.position = mailbox.position()
        found = mailbox.arrivals(self.position - 1, 1) if self.position else ()
        self.last = found[0] if found else None

    def news(self, thread_id: str | None, seconds: float) -> tuple[StoredMessage, ...]:
        """Return new messages, as soon as there are any, or nothing after a timeout."""
        self._check_present()
        mailbox = self.workspace.mailbox
        position = mailbox.wait(self.position, seconds)
        if position <= self.position:
            return ()
        if thread_id is None:
            return mailbox.arrivals(self.position)
        found = mailbox.thread_arrivals(thread_id, self.position)
        if not found:
            self.position = position
        return found

    def done(self, stored: StoredMessage) -> None:
        """Record that a message was processed."""
        self.position, self.last = stored.arrival, stored

    def reconnect(self) -> None:
        """Reconnect to the store; raise `UnavailableError` as long as it is lost.

        The messages processed so far must be unchanged. Otherwise the position would be wrong.
        """
        if self._file and _file_identity(self._file) != self._identity:
            self._reopen()
        mailbox, last = self.workspace.mailbox, self.last
        position = mailbox.position()
        found = mailbox.arrivals(last.arrival - 1, 1) if last else ()
        is_same = not last or [(each.id, each.content_hash) for each in found] == [
            (last.id, last.content_hash)
        ]
        if position < self.position or not is_same:
            raise StoreReplacedError(STORE_REPLACED.at(where=self.shown))

    def close(self) -> None:
        """Close the mailbox, if it was opened here."""
        if self._was_opened_here:
            self.workspace.mailbox.close()

    def _check_present(self) -> None:
        """Open a store that was created since. Raise if the file was moved away.

        An open file can still be read after it was moved away, but never changes again.
        """
        if self._is_missing:
            if self._store.is_there():
                self._reopen()
        elif self._file and _file_identity(self._file) != self._identity:
            raise self._missing_file_error()

    def _reopen(self) -> None:
        identity = _file_identity(self._file)
        if self._file and identity is None:
            raise self._missing_file_error()
        mailbox = open_mailbox(self.workspace.project, create=False)
        self.close()
        self.workspace = self.workspace._replace(mailbox=mailbox)
        self._identity, self._was_opened_here, self._is_missing = identity, True, False

    def _missing_file_error(self) -> UnavailableError:
        reason = "the file was taken away"
        return UnavailableError(STORE_UNUSABLE.at(path=str(self._file), reason=reason))


class StoreReplacedError(UnavailableError):
    """Another store is in the place of the watched one; waiting does not help."""


def _file_identity(path: Path | None) -> _FileIdentity | None:
    """Return what distinguishes a file from another one of the same name."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_IDLE_SECONDS = 2.0  # without news the caller gets control after that many seconds
_FIRST_RECONNECT_PAUSE, _LONGEST_RECONNECT_PAUSE = 0.25, 5.0  # seconds

Uninterrupted = Callable[[], AbstractContextManager[object]]


class WatchOptions(NamedTuple):
    """What to watch: one thread, or all. The watch ends when the thread is in phase `until`."""

    thread_id: str | None = None
    auto_compile: bool = False
    notify: bool = False
    until: Phase | None = None


def watch(
    workspace: Workspace, options: WatchOptions, uninterrupted: Uninterrupted = nullcontext
) -> Iterator[Event]:
    """Yield events from now on. The watch ends only with the phase in `options.until`.

    Within the context `uninterrupted`, interrupts must wait. There a version is posted and cached,
    and its event yielded.
    """
    watcher = _Watcher(workspace, options, uninterrupted)
    with closing(watcher.home):
        yield from watcher.events()


class _Watcher:
    def __init__(
        self, workspace: Workspace, options: WatchOptions, uninterrupted: Uninterrupted
    ) -> None:
        self.options = options
        self.home = WatchedStore(workspace)
        self.threads = WatchedThreads(workspace)
        self.compiles = AutoCompile(options.notify, uninterrupted)
        self.is_over = False

    def events(self) -> Iterator[Event]:
        yield self._begin()
        while True:
            try:
                yield from self.compiles.due(self.home.workspace)
                if self.is_over:
                    return
                yield from self._news()
            except StoreReplacedError:
                raise
            except UnavailableError as lost:
                yield from self._wait_until_back(lost)

    def _begin(self) -> WatchStarted:
        """Return the initial status, and start counting new messages."""
        self.home.begin()
        workspace, thread_id = self.home.workspace, self.options.thread_id
        if thread_id is not None:
            status = self.threads.first(thread_id, self.home.position)
            self._note(status.thread_id, status.phase)
            return WatchStarted(self.home.shown, (), status)
        from brenner.services.sessions import overviews  # needed only to watch all sessions

        found = tuple(overviews(read_only(workspace)).values())
        for each in found:
            self._note(each.thread_id, each.phase)
        return WatchStarted(self.home.shown, found)

    def _news(self) -> Iterator[Event]:
        """Yield events for new messages, one by one. A message counts once it has been read."""
        news = self.home.news(self.options.thread_id, min(_IDLE_SECONDS, self.compiles.pause))
        self.threads.workspace = self.home.workspace
        for stored in news:
            routed = self.threads.take(stored)
            self.home.done(stored)
            yield MessageArrived(routed)
            status = routed.after
            if status is None:
                continue
            self._note(status.thread_id, status.phase)
            before = routed.before.phase if routed.before else None
            if status.phase is not before:
                yield PhaseChanged(before, status)
        if not news:
            yield Idle()

    def _note(self, thread_id: str, phase: Phase | None) -> None:
        """Record a phase. An awaited phase counts even if the next message has already ended it."""
        self.is_over |= phase is not None and phase is self.options.until
        if self.options.auto_compile:
            self.compiles.note(thread_id, phase)

    def _wait_until_back(self, lost: UnavailableError) -> Iterator[Event]:
        """Retry until the store is back. Yield `StoreLost` once."""
        began, pause = time.monotonic(), _FIRST_RECONNECT_PAUSE
        yield StoreLost(lost, datetime.now(UTC))
        while True:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_RECONNECT_PAUSE)
            try:
                self.home.reconnect()
            except StoreReplacedError:
                raise
            except BrennerError:
                yield Idle()
            else:
                break
        yield StoreBack(time.monotonic() - began)
