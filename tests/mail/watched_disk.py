"""A disk that is watched: every operation of SQLite's on it, and of ours, can be disturbed.

It becomes SQLite's own for the rest of a process, so it is for processes that end soon.
"""
# ruff: noqa: N802  (SQLite's names)

import os
import signal
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import apsw

_BASE = apsw.vfs_names()[0]
_OURS = {"os.link": 1, "os.remove": 0, "os.mkdir": 0, "os.rename": 1}  # by where the path stands
_ALIKE = 3


class Event(NamedTuple):
    """Something that is about to be done to a file."""

    kind: str
    path: Path
    data: bytes = b""
    offset: int = 0


Watch = Callable[[Event], None]


class _File(apsw.VFSFile):
    def __init__(
        self, disk: "_Disk", path: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__(_BASE, path, flags)
        name = path.filename() if isinstance(path, apsw.URIFilename) else path
        self._path = Path(name or "temporary")
        self._watch = disk.watch

    def xWrite(self, data: Any, offset: int) -> None:
        self._watch(Event("write", self._path, bytes(data), offset))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._watch(Event("sync", self._path))
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        self._watch(Event("truncate", self._path, offset=size))
        super().xTruncate(size)


class _Disk(apsw.VFS):
    def __init__(self, watch: Watch) -> None:
        super().__init__("watched", _BASE, makedefault=True)
        self.watch = watch

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.watch(Event("delete", Path(filename)))
        super().xDelete(filename, syncdir)


_disks: list[_Disk] = []  # SQLite does not keep them alive


def watch_disk(watch: Watch) -> None:
    """From now on, tell of everything that SQLite is about to write, flush, cut or delete."""
    _disks.append(_Disk(watch))


def watch_system(folder: Path, watch: Watch) -> None:
    """From now on, tell of every file that this program links, moves, makes or removes there."""

    def heard(event: str, arguments: tuple[object, ...]) -> None:
        if event in _OURS:
            path = Path(str(arguments[_OURS[event]]))
            if folder in path.parents:
                watch(Event(event, path))

    sys.addaudithook(heard)


class KilledAt:
    """Ends the process at the n-th step; of a write, half is done.

    Many writes in a row to one file are alike: of them the first is a step, and every third.
    """

    def __init__(self, step: int) -> None:
        self._left = step
        self._last: tuple[str, Path] | None = None
        self._alike = 0

    def __call__(self, event: Event) -> None:
        self._alike = self._alike + 1 if self._last == (event.kind, event.path) else 0
        self._last = (event.kind, event.path)
        self._left -= self._alike % _ALIKE == 0
        if self._left == 0:
            if event.kind == "write":
                with event.path.open("r+b") as file:
                    file.seek(event.offset)
                    file.write(event.data[: len(event.data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)


class FailsAt:
    """Lets the n-th event fail and, where the disk stays full, all later ones, until `mend`."""

    def __init__(self, step: int, error: type[Exception], *, stays: bool, kinds: Collection[str]):
        self._left = step
        self._error = error
        self._stays = stays
        self._kinds = kinds
        self.has_failed = False

    def mend(self) -> None:
        """There is room again."""
        self._left = 0
        self._stays = False

    def __call__(self, event: Event) -> None:
        if event.kind not in self._kinds:
            return
        self._left -= 1
        if self._left == 0 or (self._stays and self._left < 0):
            self.has_failed = True
            raise self._error
