"""`brenner session watch` as a process of its own, listened to line by line."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

Event = dict[str, Any]
_NOT_OURS = ("AGENT_NAME", "BRENNER_STORE", "BRENNER_ROSTER", "NO_COLOR", "COLUMNS")
_PATIENCE = 60.0  # seconds until something that does not happen is a fault


def clean_environment(**more: str) -> dict[str, str]:
    """Nothing of who runs the tests decides what is watched."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_OURS}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}


class Watcher:
    """A watch that is under way; every event that was told is in `told`."""

    def __init__(self, folder: Path, errors: TextIO, *arguments: str) -> None:
        self.errors = errors
        self.process = subprocess.Popen(
            [sys.executable, "-m", "brenner", "session", "watch", "--json", *arguments],
            cwd=folder,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            encoding="utf-8",
        )
        self.told: list[Event] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def until(self, is_wanted: Callable[[Event], bool]) -> Event:
        """Listen until such an event is told; it may have to be waited for."""
        while True:
            line = self._lines.get(timeout=_PATIENCE)
            assert line is not None, self.stderr_of()
            event: Event = json.loads(line)
            self.told.append(event)
            if is_wanted(event):
                return event

    def event(self, name: str) -> Event:
        """The next event of that name."""
        return self.until(lambda event: event["event"] == name)

    def messages(self, ids: Iterable[int]) -> None:
        """Listen until all these messages were told."""
        missing = {*ids} - {*self.ids}
        while missing:
            missing.discard(self.event("message")["message"]["id"])

    @property
    def ids(self) -> list[int]:
        """The messages that were told, in their order."""
        return [each["message"]["id"] for each in self.told if each["event"] == "message"]

    def stop(self, number: int = signal.SIGINT) -> int:
        """End it by a signal; the exit code. What it told until its end is in `told`."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """How it ended, when it has."""
        while (line := self._lines.get(timeout=_PATIENCE)) is not None:
            self.told.append(json.loads(line))
        return self.process.wait(_PATIENCE)

    def close(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait(_PATIENCE)
        self._ear.join(_PATIENCE)
        if self.process.stdout:
            self.process.stdout.close()

    def stderr_of(self) -> str:
        """What stands on the standard error."""
        self.errors.seek(0)
        return self.errors.read()


@contextmanager
def watching(folder: Path, *arguments: str) -> Iterator[Watcher]:
    """A watch that has begun; it ends with the test, however that ends."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        watcher = Watcher(folder, errors, *arguments)
        try:
            watcher.event("watching")
            yield watcher
        finally:
            watcher.close()
