"""Watch sessions live: yield new messages, what they mean, and phase changes.

Nothing is written, unless auto-compile is requested. If the store is lost, the watch waits until it
is back, then yields every message that came in meanwhile, once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, cast

from brenner.diagnostics.codes.sessions import STORE_REPLACED
from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.model import BrennerError, RequestError, UnavailableError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.open import SqliteStore, open_mailbox, store_of
from brenner.named_tuple import NamedTuple
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.services.session_status import LoadedStatus, status_of, update_status
from brenner.services.version_store import load_thread, require_thread_id
from brenner.services.workspace import mailbox_for
from brenner.session.model import Phase, SessionStatus
from brenner.session.routing import Route, RouteStep, RoutingContext, route
from brenner.session.versions import replay

if TYPE_CHECKING:
    from pathlib import Path

    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.messages import StoredMessage
    from brenner.services.compile import CompileResult
    from brenner.services.workspace import Workspace
    from brenner.session.overview import Overview


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

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
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
    None, RouteStep.NOTHING, "the thread ID is not valid for a session: nothing is compiled"
)


class WatchedThreads:
    """All watched threads; an LRU cache of those that get messages."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._known: dict[str, LoadedStatus] = {}

    def first(self, thread_id: str, upto: int) -> SessionStatus:
        """Return the status of a thread when the store had `upto` messages.

        Raise if the thread is unknown.
        """
        require_thread_id(thread_id)
        known = self._known[thread_id] = _load_thread(self.workspace, thread_id, upto)
        return known.status

    def take(
        self, message: StoredMessage
    ) -> tuple[Route, SessionStatus | None, SessionStatus | None]:
        """Add the next message. Return what it means, and the status before and after it.

        A thread whose ID is not a valid session ID has no status. If the mailbox fails meanwhile,
        the state is unchanged.
        """
        thread_id = message.message.thread_id
        if not is_valid_thread_id(thread_id):
            return _NO_SESSION, None, None
        before = self._before(thread_id, message)
        operator = self.workspace.project.operator
        after = (
            _load_thread(self.workspace, thread_id, message.arrival)
            if before and before.is_sealed  # which may have ended with this message
            else update_status(before, [message], operator)
            if before
            else status_of(replay(thread_id, (message,), operator), (message,), operator)
        )
        self._remember(thread_id, after)
        status = before and before.status
        context = RoutingContext(message, status, after.status).with_evidence(
            before and before.history, after.history, after.merged.ledger
        )
        return route(context), status, after.status

    def _before(self, thread_id: str, stored: StoredMessage) -> LoadedStatus | None:
        """Return the thread without the message; None if that is its first."""
        if thread_id in self._known:
            return self._known[thread_id]
        upto = stored.arrival - 1
        earlier = self.workspace.mailbox.thread_arrivals(thread_id, 0)
        if all(each.arrival > upto for each in earlier):
            return None
        return _load_thread(self.workspace, thread_id, upto)

    def _remember(self, thread_id: str, known: LoadedStatus) -> None:
        self._known.pop(thread_id, None)
        self._known[thread_id] = known  # now the most recently used one
        if len(self._known) > _MOST_CACHED_THREADS:
            del self._known[next(iter(self._known))]


def _load_thread(workspace: Workspace, thread_id: str, upto: int) -> LoadedStatus:
    """Load a thread as it was when the store had `upto` messages.

    Use the cache, but do not write to it.
    """
    then, operator = read_only(workspace, upto), workspace.project.operator
    history, messages = load_thread(then.mailbox, thread_id, operator)
    return status_of(history, messages, operator)


# Events


class WatchView(Protocol):
    """Shows the events of a watch, one method for each."""

    def watching(
        self, store: str, sessions: tuple[Overview, ...], status: SessionStatus | None
    ) -> None:
        """Show the start: the status of all sessions, or of the one watched thread."""

    def message(self, stored: StoredMessage, route: Route, status: SessionStatus | None) -> None:
        """Show a message that came in, what it means, and the status of its session."""

    def phase(self, before: Phase | None, status: SessionStatus) -> None:
        """Show a phase change; `before` is None for a new session."""

    def compiled(self, done: CompileResult) -> None:
        """Show a compile by `--auto-compile`."""

    def compile_failed(self, thread_id: str, error: BrennerError) -> None:
        """Show that a compile by `--auto-compile` failed."""

    def lost(self, error: BrennerError, at: datetime) -> None:
        """Show that the store is unavailable."""

    def back(self, seconds: float) -> None:
        """Show that the store is available again, after that many seconds."""


Event = Callable[[WatchView], None]
"""Calls the method of an event."""


# Auto-compile


# Seconds before a failed compile is retried
_FIRST_RETRY_PAUSE, _LONGEST_RETRY_PAUSE = 1.0, 60.0


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
        return max(0.0, min(self._ready.values(), default=math.inf) - time.monotonic())

    def due(self, workspace: Workspace) -> Iterator[Event]:
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

    def _compile(self, workspace: Workspace, thread_id: str) -> Event | None:
        from brenner.services.compile import CompileOptions, compile_thread

        try:
            done = compile_thread(workspace, thread_id, CompileOptions(notify=self._notify))
        except RequestError as error:
            self._ready.pop(thread_id)  # until the thread gets a message
            refused = error
            return lambda view: view.compile_failed(thread_id, refused)
        except UnavailableError as error:
            return self._retry_later(workspace, thread_id, error)
        self._ready.pop(thread_id)  # its message arrives like any other
        return lambda view: view.compiled(done)

    def _retry_later(
        self, workspace: Workspace, thread_id: str, error: UnavailableError
    ) -> Event | None:
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
        if reported == error.diagnostic.message:
            return None
        return lambda view: view.compile_failed(thread_id, error)


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
            raise UnavailableError(STORE_REPLACED.at(where=self.shown))

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
        project, actor = self.workspace.project, self.workspace.actor
        mailbox = mailbox_for(open_mailbox(project, create=False), project, actor)
        self.close()
        self.workspace = self.workspace._replace(mailbox=mailbox)
        self._identity, self._was_opened_here, self._is_missing = identity, True, False

    def _missing_file_error(self) -> UnavailableError:
        reason = "the file was removed"
        return UnavailableError(STORE_UNUSABLE.at(path=str(self._file), reason=reason))


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
) -> Iterator[Event | None]:
    """Yield events from now on, None if nothing happened for a while.

    The watch ends only with the phase in `options.until`.

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

    def events(self) -> Iterator[Event | None]:
        yield self._begin()
        while True:
            try:
                yield from self.compiles.due(self.home.workspace)
                if self.is_over:
                    return
                yield from self._news()
            except UnavailableError as lost:
                yield from self._wait_until_back(lost)

    def _begin(self) -> Event:
        """Return the event of the start, and start counting new messages."""
        self.home.begin()
        workspace, thread_id, shown = self.home.workspace, self.options.thread_id, self.home.shown
        if thread_id is not None:
            status = self.threads.first(thread_id, self.home.position)
            self._note(status.thread_id, status.phase)
            return lambda view: view.watching(shown, (), status)
        from brenner.services.sessions import overviews  # needed only to watch all sessions

        found = tuple(overviews(read_only(workspace)).values())
        for each in found:
            self._note(each.thread_id, each.phase)
        return lambda view: view.watching(shown, found, None)

    def _news(self) -> Iterator[Event | None]:
        """Yield events for new messages, one by one. A message counts once it has been read."""
        news = self.home.news(self.options.thread_id, min(_IDLE_SECONDS, self.compiles.pause))
        self.threads.workspace = self.home.workspace
        for stored in news:
            yield from self._take(stored)
        if not news:
            yield None

    def _take(self, stored: StoredMessage) -> Iterator[Event]:
        found, before, status = self.threads.take(stored)
        self.home.done(stored)
        yield lambda view: view.message(stored, found, status)
        if status is None:
            return
        self._note(status.thread_id, status.phase)
        phase = before.phase if before else None
        if status.phase is not phase:
            yield lambda view: view.phase(phase, status)

    def _note(self, thread_id: str, phase: Phase | None) -> None:
        """Record a phase. An awaited phase counts even if the next message has already ended it."""
        self.is_over |= phase is not None and phase is self.options.until
        if self.options.auto_compile:
            self.compiles.note(thread_id, phase)

    def _wait_until_back(self, lost: UnavailableError) -> Iterator[Event | None]:
        """Retry until the store is back. Yield the loss once."""
        began, pause = time.monotonic(), _FIRST_RECONNECT_PAUSE
        at = datetime.now(UTC)
        yield lambda view: view.lost(lost, at)
        while True:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_RECONNECT_PAUSE)
            try:
                self.home.reconnect()
            except BrennerError as error:
                if error.diagnostic.code is STORE_REPLACED:  # waiting does not help
                    raise
                yield None
            else:
                break
        seconds = time.monotonic() - began
        yield lambda view: view.back(seconds)
