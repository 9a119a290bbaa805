"""Follow sessions live: what comes in, what it means, how the phase changes.

Nothing is written, unless it was asked for that what is ready is compiled. A mailbox that is lost
is waited for, for as long as it takes; then everything is told that has come in meanwhile, each
message once.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import UTC, datetime
from typing import NamedTuple

from brenner.diagnostics.model import BrennerError, Unavailable
from brenner.session.model import Phase
from brenner.workflows.desk import Desk
from brenner.workflows.looking import only_looking
from brenner.workflows.watch_compile import AutoCompile
from brenner.workflows.watch_events import (
    Back,
    Came,
    Event,
    Lost,
    PhaseChanged,
    Quiet,
    Watching,
)
from brenner.workflows.watch_home import Home, StoreReplacedError
from brenner.workflows.watch_threads import Threads

_LOOK_UP_EVERY = 2.0  # seconds without news after which the front end may look around
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0  # seconds, while the mailbox is lost

Held = Callable[[], AbstractContextManager[object]]


class WatchOptions(NamedTuple):
    """What to watch: one thread, or all. With `until` it ends when the thread has that phase."""

    thread_id: str | None = None
    auto_compile: bool = False
    notify: bool = False
    until: Phase | None = None


def watch(desk: Desk, options: WatchOptions, held: Held = nullcontext) -> Iterator[Event]:
    """What happens, from now on; it ends only with the phase that was asked for.

    Within `held` nobody may interrupt: a version is posted, what is known of it kept, and the
    event handed out that tells of it.
    """
    watcher = _Watcher(desk, options, held)
    with closing(watcher.home):
        yield from watcher.events()


class _Watcher:
    def __init__(self, desk: Desk, options: WatchOptions, held: Held) -> None:
        self.options = options
        self.home = Home(desk)
        self.threads = Threads(desk)
        self.compiles = AutoCompile(options.notify, held)
        self.is_over = False

    def events(self) -> Iterator[Event]:
        yield self._begin()
        while True:
            try:
                yield from self.compiles.due(self.home.desk)
                if self.is_over:
                    return
                yield from self._news()
            except StoreReplacedError:
                raise
            except Unavailable as lost:
                yield from self._until_back(lost)

    def _begin(self) -> Watching:
        """Where everything stands, and from where on it is news."""
        self.home.begin()
        desk, thread_id = self.home.desk, self.options.thread_id
        if thread_id is not None:
            status = self.threads.first(thread_id, self.home.position)
            self._note(status.thread_id, status.phase)
            return Watching(self.home.shown, (), status)
        from brenner.workflows.sessions import overviews  # only who watches all needs them

        found = tuple(overviews(only_looking(desk)).values())
        for each in found:
            self._note(each.thread_id, each.phase)
        return Watching(self.home.shown, found)

    def _news(self) -> Iterator[Event]:
        """What has come in, one message after the other; each counts once it has been read."""
        news = self.home.news(self.options.thread_id, min(_LOOK_UP_EVERY, self.compiles.pause))
        self.threads.desk = self.home.desk
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

    def _until_back(self, lost: Unavailable) -> Iterator[Event]:
        """Try again and again; that it was lost is said once."""
        began, pause = time.monotonic(), _FIRST_PAUSE
        yield Lost(lost, datetime.now(UTC))
        while True:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            try:
                self.home.return_to()
            except StoreReplacedError:
                raise
            except BrennerError:
                yield Quiet()
            else:
                break
        yield Back(time.monotonic() - began)
