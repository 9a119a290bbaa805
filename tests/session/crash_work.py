"""A whole compile (publish, notify, persist, commit, say so) that is killed at every single step.

Each attempt is made in a child of its own on a copy of the same project. Steps are what SQLite
does to its files, what this program does to others, and each start of git.
"""

import shutil
import signal
import sys
from pathlib import Path

from brenner.services.compile import CompileOptions, CompileResult, compile_thread
from brenner.services.persist import PersistOptions
from brenner.services.workspace import workspace_in
from mail.processes import in_child
from mail.watched_disk import Event, KilledAt, Watch, watch_disk, watch_system
from session.workspaces import THREAD, project_in

_MOST_STEPS = 2_000
WISH = CompileOptions(notify=True, persist=PersistOptions(commit=True, archive=True))


def compile_all(folder: Path | str) -> CompileResult:
    """Publish, notify, persist, commit."""
    with workspace_in(project_in(folder), None, create=False) as workspace:
        return compile_thread(workspace, THREAD, WISH)


def killed_at(template: str, remains: str, first: str, stride: str) -> None:
    """Kill the process at its first step, and at every `stride`-th after it, up to its end."""
    for step in range(int(first), _MOST_STEPS, int(stride)):
        folder = Path(remains, f"{step:04}")
        shutil.copytree(template, folder, symlinks=True)
        status = in_child(lambda: _killed(folder, step))  # noqa: B023  (at once)
        if status == 0:
            return
        if status != signal.SIGKILL:
            sys.exit(f"step {step} ended with {status}")
    sys.exit("there is no end")


def _killed(folder: Path, step: int) -> None:
    watch = KilledAt(step)
    watch_disk(watch)
    watch_system(folder, watch)
    watch_programs(watch)
    compile_all(folder)


def watch_programs(watch: Watch) -> None:
    """From now on, tell of every program that is about to be started."""

    def heard(event: str, arguments: tuple[object, ...]) -> None:
        if event == "subprocess.Popen":
            watch(Event(event, Path(str(arguments[0]))))

    sys.addaudithook(heard)
