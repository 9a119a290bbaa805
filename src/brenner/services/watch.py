"""Follow sessions live: what comes in, what it means, how the phase changes.

Nothing is written, unless it was asked for that what is ready is compiled. A mailbox that is lost
is waited for, for as long as it takes; then everything is told that has come in meanwhile, each
message once.
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
from brenner.protocol.thread_ids import is_valid
from brenner.services.version_store import check_usable, extend_history, filed, load_history
from brenner.services.workspace import Workspace
from brenner.session.model import Phase, SessionStatus
from brenner.session.overview import Overview
from brenner.session.rebuild import ThreadMessage
from brenner.session.routing import Route, Step, evidence_of, route
from brenner.session.status import ComputedStatus, compute_status
from brenner.session.versions import VersionHistory, replay

if TYPE_CHECKING:
    from brenner.services.compile import CompileResult


# A mailbox that is only looked at: nothing is kept there, whatever was worked out.


class _Looking:
    """The mailbox, as it was when so many messages had come in, or as it is."""

    def __init__(self, mailbox: Mailbox, upto: int | None) -> None:
        self._mailbox = mailbox
        self._upto = upto

    def __getattr__(self, name: str) -> object:
        return getattr(self._mailbox, name)

    def thread_arrivals(self, thread_id: str, after: int) -> "tuple[StoredMessage, ...]":
        found = self._mailbox.thread_arrivals(thread_id, after)
        return tuple(each for each in found if self._upto is None or each.arrival <= self._upto)

    def keep(self, contents: Mapping[str, str]) -> None:
        """Who only looks leaves nothing behind; the next time takes as long."""


def only_looking(workspace: Workspace, upto: int | None = None) -> Workspace:
    """The desk of somebody who writes nothing, not even what follows from the mail."""
    return workspace._replace(mailbox=cast("Mailbox", _Looking(workspace.mailbox, upto)))


# The threads that are followed: each kept in memory, so that a message costs what is new.


_MOST_IN_MEMORY = 100  # threads; the others are read again when something comes in there
_NO_SESSION = Route(
    None, Step.NOTHING, "the thread's ID is no session's: nothing in it is compiled"
)


class Known(NamedTuple):
    """A thread as far as it was read."""

    history: VersionHistory
    messages: tuple[ThreadMessage, ...]
    computed: ComputedStatus

    @property
    def status(self) -> SessionStatus:
        """Where it stands."""
        return self.computed.status


class Taken(NamedTuple):
    """A new message, what it means, and where its session stood before and stands after it.

    A thread whose ID no session can have stands nowhere.
    """

    stored: StoredMessage
    route: Route
    before: SessionStatus | None
    after: SessionStatus | None


class Threads:
    """All that are followed; those in which something happens stay in memory."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._known: dict[str, Known] = {}

    def first(self, thread_id: str, upto: int) -> SessionStatus:
        """Where a thread stood when so many messages had come in; an unknown one is refused."""
        check_usable(thread_id)
        known = self._known[thread_id] = _read(self.workspace, thread_id, upto)
        return known.status

    def take(self, stored: StoredMessage) -> Taken:
        """The next message. Nothing has happened where the mailbox fails on the way."""
        thread_id = stored.message.thread_id
        if not is_valid(thread_id):
            return Taken(stored, _NO_SESSION, None, None)
        before = self._before(thread_id, stored)
        message = filed(stored)
        after = _with(before, message, self.workspace.project.operator)
        self._remember(thread_id, after)
        ledger = after.computed.ledger
        evidence = evidence_of(message, before and before.history, after.history, ledger)
        found = route(message, before and before.status, after.status, evidence)
        return Taken(stored, found, before and before.status, after.status)

    def _before(self, thread_id: str, stored: StoredMessage) -> Known | None:
        """The thread without the message; None where that is its first."""
        if thread_id in self._known:
            return self._known[thread_id]
        upto = stored.arrival - 1
        earlier = self.workspace.mailbox.thread_arrivals(thread_id, 0)
        if all(each.arrival > upto for each in earlier):
            return None
        return _read(self.workspace, thread_id, upto)

    def _remember(self, thread_id: str, known: Known) -> None:
        self._known.pop(thread_id, None)
        self._known[thread_id] = known  # the last one is the one that was used last
        if len(self._known) > _MOST_IN_MEMORY:
            del self._known[next(iter(self._known))]


def _read(workspace: Workspace, thread_id: str, upto: int) -> Known:
    """A thread as it was; what others have kept of it helps, and nothing is kept."""
    then, operator = only_looking(workspace, upto), workspace.project.operator
    found = load_history(then.mailbox, thread_id, operator)
    messages = tuple(map(filed, then.mailbox.thread_arrivals(thread_id, 0)))
    # What somebody kept may be newer than the moment that is asked for.
    history = found.history if found.arrival <= upto else replay(thread_id, messages, operator)
    return Known(history, messages, compute_status(history, messages, operator))


def _with(before: Known | None, message: ThreadMessage, operator: str) -> Known:
    """The thread with one more message."""
    thread_id = message.posted.message.thread_id
    if before is None:
        history = replay(thread_id, (message,), operator)
        return Known(history, (message,), compute_status(history, (message,), operator))
    messages = (*before.messages, message)
    history = extend_history(before.history, messages, [message], operator)
    return Known(history, messages, compute_status(history, messages, operator, before.status))


# What happens while sessions are watched.


class Watching(NamedTuple):
    """The beginning: where everything stands. `status` is that of the one thread, if it is one."""

    where: str
    sessions: tuple[Overview, ...]
    status: SessionStatus | None = None


class Came(NamedTuple):
    """A message came in."""

    taken: Taken


class PhaseChanged(NamedTuple):
    """A session has come from one phase to another; `before` is None where it has just begun."""

    before: Phase | None
    status: SessionStatus


class Made(NamedTuple):
    """A compile that `--auto-compile` asked for has ended."""

    done: "CompileResult"


class NotMade(NamedTuple):
    """A compile that `--auto-compile` asked for could not be done."""

    thread_id: str
    error: BrennerError


class Lost(NamedTuple):
    """The mailbox cannot be used now."""

    error: BrennerError
    at: datetime


class Back(NamedTuple):
    """It can be used again, after so many seconds."""

    seconds: float


class Quiet(NamedTuple):
    """Nothing has happened for a while."""


Event = Watching | Came | PhaseChanged | Made | NotMade | Lost | Back | Quiet


# Compile what is ready, for who watches with `--auto-compile`.


_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds until what is not to be had is tried again


class AutoCompile:
    """Which threads are ready, and which of them are to be tried again later.

    A refusal stands until the thread changes. What fails for another reason (git, a disk) is tried
    again after a while, and said once.
    """

    def __init__(self, notify: bool, held: Callable[[], AbstractContextManager[object]]) -> None:
        self._notify = notify
        self._held = held
        self._ready: dict[str, float] = {}  # when each is due
        self._failed: dict[str, tuple[str, float]] = {}  # what was said, and the pause after it

    def note(self, thread_id: str, phase: Phase | None) -> None:
        """Where a thread stands now that something has come in there."""
        self._ready.pop(thread_id, None)
        self._failed.pop(thread_id, None)
        if phase is Phase.READY_TO_COMPILE:
            self._ready[thread_id] = -math.inf

    @property
    def pause(self) -> float:
        """Seconds until something is due."""
        return max(0.0, min(self._ready.values(), default=math.inf) - time.monotonic())

    def due(self, workspace: Workspace) -> Iterator[Made | NotMade]:
        """Compile what is due; where the mailbox itself is lost, that is raised.

        What came of it is told while it is still held: who stops us then knows of the version.
        """
        now = time.monotonic()
        for thread_id in [each for each, at in self._ready.items() if at <= now]:
            with self._held():
                event = self._compile(workspace, thread_id)
                if event:
                    yield event

    def _compile(self, workspace: Workspace, thread_id: str) -> Made | NotMade | None:
        from brenner.services.compile import CompileOptions, compile_thread

        try:
            done = compile_thread(workspace, thread_id, CompileOptions(notify=self._notify))
        except RequestError as refused:
            self._ready.pop(thread_id)  # until something comes in
            return NotMade(thread_id, refused)
        except UnavailableError as error:
            return self._later(workspace, thread_id, error)
        self._ready.pop(thread_id)  # its message comes in like every other
        return Made(done)

    def _later(
        self, workspace: Workspace, thread_id: str, error: UnavailableError
    ) -> NotMade | None:
        """Try again after a pause, unless the mailbox is what failed: then when it is back."""
        try:
            workspace.mailbox.position()
        except UnavailableError:
            raise error from None
        said, pause = self._failed.get(thread_id, ("", _FIRST_PAUSE))
        self._ready[thread_id] = time.monotonic() + pause
        self._failed[thread_id] = (error.diagnostic.message, min(2 * pause, _LONGEST_PAUSE))
        return None if said == error.diagnostic.message else NotMade(thread_id, error)


# The home of the mail while it is watched: whether it is still there, and still the same.


_Identity = tuple[int, int]


class Home:
    """The mailbox of a desk. A file may be taken away and put back: then it is opened anew.

    `position` is how many messages were taken in, `last` the latest of them.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.position = 0
        self.last: StoredMessage | None = None
        self._store = store_of(workspace.project)
        self._file = self._store.path if isinstance(self._store, SqliteStore) else None
        self._identity = _identity(self._file)
        self._is_ours = False  # whether the mailbox was opened here
        self._is_missing = isinstance(workspace.mailbox, MemoryMailbox)

    @property
    def shown(self) -> str:
        """How the store is called before people."""
        return self._store.shown

    def begin(self) -> None:
        """From here on everything that comes in is news."""
        mailbox = self.workspace.mailbox
        self.position = mailbox.position()
        found = mailbox.arrivals(self.position - 1, 1) if self.position else ()
        self.last = found[0] if found else None

    def news(self, thread_id: str | None, seconds: float) -> tuple[StoredMessage, ...]:
        """What has come in, as soon as there is something, or when the time is up."""
        self._check_there()
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
        """A message was taken in."""
        self.position, self.last = stored.arrival, stored

    def return_to(self) -> None:
        """Be there again, with the same mail; `Unavailable` as long as it is not.

        What was taken in must still be what it was: else the news would begin at a wrong place.
        """
        if self._file and _identity(self._file) != self._identity:
            self._open_anew()
        mailbox, last = self.workspace.mailbox, self.last
        position = mailbox.position()
        found = mailbox.arrivals(last.arrival - 1, 1) if last else ()
        is_same = not last or [(each.id, each.content_hash) for each in found] == [
            (last.id, last.content_hash)
        ]
        if position < self.position or not is_same:
            raise StoreReplacedError(STORE_REPLACED.at(where=self.shown))

    def close(self) -> None:
        """Let go of what was opened here."""
        if self._is_ours:
            self.workspace.mailbox.close()

    def _check_there(self) -> None:
        """A store that was not there may have been made since.

        A file that is open can be read long after it was taken away, and never changes again.
        """
        if self._is_missing:
            if self._store.is_there():
                self._open_anew()
        elif self._file and _identity(self._file) != self._identity:
            raise self._gone()

    def _open_anew(self) -> None:
        identity = _identity(self._file)
        if self._file and identity is None:
            raise self._gone()
        mailbox = open_mailbox(self.workspace.project, create=False)
        self.close()
        self.workspace = self.workspace._replace(mailbox=mailbox)
        self._identity, self._is_ours, self._is_missing = identity, True, False

    def _gone(self) -> UnavailableError:
        reason = "the file was taken away"
        return UnavailableError(STORE_UNUSABLE.at(path=str(self._file), reason=reason))


class StoreReplacedError(UnavailableError):
    """Another store is in the place of the one that was watched; waiting does not help."""


def _identity(path: Path | None) -> _Identity | None:
    """What tells a file from another one that has got its name."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_LOOK_UP_EVERY = 2.0  # seconds without news after which the front end may look around
_WATCH_FIRST_PAUSE, _WATCH_LONGEST_PAUSE = 0.25, 5.0  # seconds, while the mailbox is lost

Held = Callable[[], AbstractContextManager[object]]


class WatchOptions(NamedTuple):
    """What to watch: one thread, or all. With `until` it ends when the thread has that phase."""

    thread_id: str | None = None
    auto_compile: bool = False
    notify: bool = False
    until: Phase | None = None


def watch(workspace: Workspace, options: WatchOptions, held: Held = nullcontext) -> Iterator[Event]:
    """What happens, from now on; it ends only with the phase that was asked for.

    Within `held` nobody may interrupt: a version is posted, what is known of it kept, and the
    event handed out that tells of it.
    """
    watcher = _Watcher(workspace, options, held)
    with closing(watcher.home):
        yield from watcher.events()


class _Watcher:
    def __init__(self, workspace: Workspace, options: WatchOptions, held: Held) -> None:
        self.options = options
        self.home = Home(workspace)
        self.threads = Threads(workspace)
        self.compiles = AutoCompile(options.notify, held)
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
                yield from self._until_back(lost)

    def _begin(self) -> Watching:
        """Where everything stands, and from where on it is news."""
        self.home.begin()
        workspace, thread_id = self.home.workspace, self.options.thread_id
        if thread_id is not None:
            status = self.threads.first(thread_id, self.home.position)
            self._note(status.thread_id, status.phase)
            return Watching(self.home.shown, (), status)
        from brenner.services.sessions import overviews  # only who watches all needs them

        found = tuple(overviews(only_looking(workspace)).values())
        for each in found:
            self._note(each.thread_id, each.phase)
        return Watching(self.home.shown, found)

    def _news(self) -> Iterator[Event]:
        """What has come in, one message after the other; each counts once it has been read."""
        news = self.home.news(self.options.thread_id, min(_LOOK_UP_EVERY, self.compiles.pause))
        self.threads.workspace = self.home.workspace
        for stored in news:
            taken = self.threads.take(stored)
            self.home.done(stored)
            yield Came(taken)
            status = taken.after
            if status is None:
                continue
            self._note(status.thread_id, status.phase)
            before = taken.before.phase if taken.before else None
            if status.phase is not before:
                yield PhaseChanged(before, status)
        if not news:
            yield Quiet()

    def _note(self, thread_id: str, phase: Phase | None) -> None:
        """A phase that was waited for counts though the next message has ended it already."""
        self.is_over |= phase is not None and phase is self.options.until
        if self.options.auto_compile:
            self.compiles.note(thread_id, phase)

    def _until_back(self, lost: UnavailableError) -> Iterator[Event]:
        """Try again and again; that it was lost is said once."""
        began, pause = time.monotonic(), _WATCH_FIRST_PAUSE
        yield Lost(lost, datetime.now(UTC))
        while True:
            time.sleep(pause)
            pause = min(2 * pause, _WATCH_LONGEST_PAUSE)
            try:
                self.home.return_to()
            except StoreReplacedError:
                raise
            except BrennerError:
                yield Quiet()
            else:
                break
        yield Back(time.monotonic() - began)
