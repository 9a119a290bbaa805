"""What processes do that persist: at once, as nobody, without room, or killed at every step."""

import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from brenner.config import Project
from brenner.diagnostics.model import BrennerError
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.persist import commit  # noqa: F401  (imported late otherwise)
from brenner.persist.files import thread_lock
from brenner.persist.git import persistence_of
from brenner.services.persist import PersistOptions, persist
from mail.processes import in_child, say, wait_for_release
from session.repositories import ANN, BEA, Bench, text_of

NOBODY = 65534
_MOST_STEPS = 500
_FILES = {"os.mkdir": 0, "os.remove": 0, "os.rename": 1, "open": 0}  # by where the path stands
_CHANGING = {"add", "commit", "push", "update-index"}  # all else that git is asked changes nothing


def options_of(text: str) -> PersistOptions:
    """`commit push` and the like."""
    said: dict[str, Any] = dict.fromkeys(text.split(), True)
    return PersistOptions(**said)


def persist_at_once(folder: str, thread_id: str, number: str, options: str) -> None:
    """Persist as soon as the test lets all go; say what came of it."""
    with Bench.open(Path(folder), thread_id).mailbox as mailbox:
        bench = Bench(Path(folder), mailbox, thread_id)
        wait_for_release()
        done = bench.persist(int(number), options_of(options))
        say([done.words, done.persistence.commit, done.is_new_info])


def hold(folder: str, thread_id: str) -> None:
    """Hold the lock of a thread until the test says otherwise."""
    with thread_lock(Project(Path(folder)), thread_id):
        wait_for_release()


def write_as_nobody(folder: str, options: str) -> None:
    """Look and persist as somebody to whom permissions apply; what came of each, and the state."""
    bench = Bench.open(Path(folder))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    wanted = options_of(options)
    say([_tried(lambda: bench.check(1, wanted)), _tried(lambda: bench.persist(1, wanted))])
    say(persistence_of(bench.workspace.project, bench.thread_id, text_of(1)).status)


def write_without_room(folder: str, most: str) -> None:
    """No file may become larger than so many bytes; then it may."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    bench = Bench.open(Path(folder))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), hard))
    say(_tried(lambda: bench.persist(2, PersistOptions())))
    say(bench.leftovers())
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    say(_tried(lambda: bench.persist(2, PersistOptions())))


def _tried(work: Callable[[], object]) -> object:
    try:
        work()
    except BrennerError as error:
        return [type(error).__name__, error.diagnostic.id, error.diagnostic.message]
    return "fine"


# Killed


def killed_at_every_step(template: str, remains: str, options: str) -> None:
    """Persist the second version and be killed at the first step, at the second, … to the end.

    Each attempt is a child of its own on a copy of the template. Say how many steps there were.
    """
    for step in range(1, _MOST_STEPS):
        folder = Path(remains, f"{step:04}")
        shutil.copytree(template, folder, symlinks=True)
        status = in_child(lambda: _killed(folder / "project", options_of(options), step))  # noqa: B023
        if status == 0:
            say(step)
            return
        if status != signal.SIGKILL:
            sys.exit(f"step {step} ended with {status}")
    sys.exit("there is no end")


def _killed(folder: Path, options: PersistOptions, step: int) -> None:
    """Persist; before the n-th step, the process is killed.

    A step changes something outside: a file of the project is made, opened for writing, flushed,
    moved, removed or locked; a git that changes something is started, or has just been started
    and goes on alone; a message is sent, or has just been sent.
    """
    bench = Bench.open(folder)
    version = bench.version(2)
    left = [step]

    def count(is_step: bool) -> None:
        left[0] -= is_step
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FILES:
            is_ours = str(folder) in str(arguments[_FILES[event]])
            is_reading = event == "open" and not (arguments[2] & (os.O_WRONLY | os.O_RDWR))
            count(is_ours and not is_reading)
        elif event in ("fcntl.flock", "subprocess.Popen"):
            count(event == "fcntl.flock" or bool(_CHANGING & set(arguments[1])))

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        name = getattr(argument, "__name__", "")
        if event == "c_return" and name == "fork_exec":
            count(bool(_CHANGING & set(frame.f_locals["args"])))
        elif event == "c_call":
            count(name == "fsync")
        elif event in ("call", "return") and frame.f_code is SqliteMailbox.send.__code__:
            count(is_step=True)

    sys.addaudithook(heard)
    sys.setprofile(watch)
    persist(bench.workspace, version, bench.text, options, (ANN, BEA))
    os._exit(0)


def killed_as_soon_as(folder: str, command: str) -> None:
    """Persist the second version and be killed as soon as that command of git is running."""
    bench = Bench.open(Path(folder))
    version = bench.version(2)

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        is_started = event == "c_return" and getattr(argument, "__name__", "") == "fork_exec"
        if is_started and command in frame.f_locals["args"]:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)
    persist(bench.workspace, version, bench.text, PersistOptions(commit=True), (ANN, BEA))
