"""Compile what is ready, for who watches with `--auto-compile`."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from brenner.diagnostics.model import Refused, Unavailable
from brenner.session.model import Phase
from brenner.workflows.desk import Desk
from brenner.workflows.watch_events import Made, NotMade

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

    def due(self, desk: Desk) -> Iterator[Made | NotMade]:
        """Compile what is due; where the mailbox itself is lost, that is raised.

        What came of it is told while it is still held: who stops us then knows of the version.
        """
        now = time.monotonic()
        for thread_id in [each for each, at in self._ready.items() if at <= now]:
            with self._held():
                event = self._compile(desk, thread_id)
                if event:
                    yield event

    def _compile(self, desk: Desk, thread_id: str) -> Made | NotMade | None:
        from brenner.workflows.compile import CompileOptions, compile_thread

        try:
            done = compile_thread(desk, thread_id, CompileOptions(notify=self._notify))
        except Refused as refused:
            self._ready.pop(thread_id)  # until something comes in
            return NotMade(thread_id, refused)
        except Unavailable as error:
            return self._later(desk, thread_id, error)
        self._ready.pop(thread_id)  # its message comes in like every other
        return Made(done)

    def _later(self, desk: Desk, thread_id: str, error: Unavailable) -> NotMade | None:
        """Try again after a pause, unless the mailbox is what failed: then when it is back."""
        try:
            desk.mailbox.position()
        except Unavailable:
            raise error from None
        said, pause = self._failed.get(thread_id, ("", _FIRST_PAUSE))
        self._ready[thread_id] = time.monotonic() + pause
        self._failed[thread_id] = (error.diagnostic.message, min(2 * pause, _LONGEST_PAUSE))
        return None if said == error.diagnostic.message else NotMade(thread_id, error)
