"""The folder that servers of the tests work in. When the test process ends, however, so do they.

A watchdog holds the other end of a pipe: it is closed when we end, be it by SIGKILL. Whoever works
in the folder then (whose current directory is there) is ended, and the folder goes. This file is
the watchdog, too, and so it imports nothing of ours.
"""

import atexit
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

_KIND = 5  # seconds until whoever was asked to end is ended
_PATIENCE = 30  # seconds until somebody who was ended and does not go is a fault
_numbers = count(1)


def new_folder(name: str) -> Path:
    """A folder for one server."""
    folder = _base() / f"{name}-{next(_numbers)}"
    folder.mkdir()
    return folder


@cache
def _base() -> Path:
    """The folder of this process. Other users may pass: a database does not run as root."""
    places = (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))  # noqa: S108
    place = next((place for place in places if open_to_all(place)), places[0])
    folder = Path(tempfile.mkdtemp(prefix="brenner-servers-", dir=place)).resolve()
    folder.chmod(0o711)
    watchdog = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(folder)],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what a terminal sends to the tests is not for it
    )
    atexit.register(watchdog.communicate)
    return folder


def open_to_all(path: Path) -> bool:
    """Whether every user may go into a folder, by way of all the folders above it."""
    path = path.resolve()
    return all(each.stat().st_mode & stat.S_IXOTH for each in (path, *path.parents))


def occupants(folder: Path) -> dict[int, str]:
    """The processes that work in a folder or below it, each with its state."""
    found = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                state = (process / "stat").read_text("utf-8", "replace").rpartition(")")[2]
                found[int(process.name)] = state.split()[0]
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


def tell(folder: Path, number: signal.Signals) -> None:
    """Send a signal to everybody in a folder."""
    for process in occupants(folder):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue


def empty(folder: Path) -> None:
    """End everybody in a folder at once."""
    for _ in until(lambda: not occupants(folder), _PATIENCE):
        tell(folder, signal.SIGKILL)


def until(reached: Callable[[], bool], seconds: float) -> Iterator[None]:
    """Again and again until something is so; after so many seconds that is a fault."""
    limit = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > limit:
            raise TimeoutError
        yield
        time.sleep(0.01)


def _watch(folder: Path) -> None:
    """Wait for the end of the test process, then end what it has started."""
    sys.stdin.buffer.read()
    tell(folder, signal.SIGINT)  # with which a database gives its shared memory back
    tell(folder, signal.SIGCONT)
    try:
        for _ in until(lambda: not occupants(folder), _KIND):
            pass
    except TimeoutError:
        empty(folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _watch(Path(sys.argv[1]))
