"""The folder that the demo runs in: made ready, and how far the demo has come in it."""

import json
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from brenner.config import OWN_FOLDER
from brenner.persist.files import write_whole
from brenner.workflows.demo.steps import STEPS

_FILES = Path(__file__).parent / "project"
_PROGRESS = Path(OWN_FOLDER) / "demo.json"


class State(StrEnum):
    """What a folder holds before the demo starts."""

    NEW = "new"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"
    OTHER = "other"


class Found(NamedTuple):
    """What was found in a folder; `done` steps are behind it."""

    state: State
    done: int = 0


def look(folder: Path) -> Found:
    """What the folder holds. A demo of another script is not ours to go on with."""
    if not folder.exists() or not any(folder.iterdir()):
        return Found(State.NEW)
    try:
        noted = json.loads((folder / _PROGRESS).read_bytes())
        done = noted["done"] if noted["script"] == _script() else None
    except (OSError, ValueError, KeyError, TypeError):
        return Found(State.OTHER)
    if type(done) is not int or not 0 <= done <= len(STEPS):
        return Found(State.OTHER)
    return Found(State.FINISHED if done == len(STEPS) else State.INTERRUPTED, done)


def make_ready(folder: Path) -> None:
    """Write the files of the project that are not there; first that it is a demo's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / _PROGRESS).exists():
        note(folder, 0)
    for name, content in _contents().items():
        if not (folder / name).exists():
            write_whole(folder / name, content)


def note(folder: Path, done: int) -> None:
    """Keep how many steps are behind it. Nothing is lost if it is not on the disk: steps repeat."""
    path = folder / _PROGRESS
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".part")
    new.write_text(json.dumps({"script": _script(), "done": done}) + "\n", "utf-8")
    new.replace(path)


def _contents() -> dict[str, bytes]:
    files = sorted(path for path in _FILES.rglob("*") if path.is_file())
    return {path.relative_to(_FILES).as_posix(): path.read_bytes() for path in files}


def _script() -> str:
    """The steps and the files, in short."""
    return sha256(repr((STEPS, _contents())).encode()).hexdigest()
