"""The demo: its script, and the folder that it runs in, with its progress."""

from __future__ import annotations

import json
import tomllib
from hashlib import sha256
from pathlib import Path

from brenner.config import OWN_FOLDER
from brenner.named_tuple import NamedTuple
from brenner.persist.files import replace_file, write_atomically

THREAD = "RS-20260105-phage-protein-template"
_FILES = Path(__file__).parent / "demo_project"
_PROGRESS = Path(OWN_FOLDER) / "demo.json"


class Step(NamedTuple):
    """One step of the demo. `command` is a shell command that must exit with `code`.

    With `tee` its standard output is also written to a file. Without a command it only prints
    `says`. `when` is a condition: "git", "no git", "short", or one about the configuration of git.

    The short demo shows a step only if it has a text in `short`. It shows the lines of the output
    that match the pattern `keep`, or all.
    """

    says: str = ""
    command: str = ""
    code: int = 0
    when: str = ""
    tee: str = ""
    short: str = ""
    keep: str = ""

    @property
    def typed(self) -> str:
        """Return the command as a user types it."""
        return f"{self.command} 2>/dev/null | tee {self.tee}" if self.tee else self.command


_SCRIPT = tomllib.loads(_FILES.with_name("demo_script.toml").read_text("utf-8"))
STEPS = tuple(Step(**step) for step in _SCRIPT["steps"])
TRY_NEXT = tuple((each["command"], each["about"]) for each in _SCRIPT["try_next"])


def is_new_folder(folder: Path) -> bool:
    """Return whether a folder is missing or empty."""
    return not folder.exists() or not any(folder.iterdir())


def read_progress(folder: Path) -> int | None:
    """Return the number of finished steps of the demo in a folder.

    Return None if there is anything else: a demo of another script cannot be resumed.
    """
    try:
        saved = json.loads((folder / _PROGRESS).read_bytes())
        done = saved["done"] if saved["script"] == _script_digest() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return done if type(done) is int and 0 <= done <= len(STEPS) else None


def prepare_folder(folder: Path) -> None:
    """Mark the folder as the demo's, then write the missing project files."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / _PROGRESS).exists():
        save_progress(folder, 0)
    for name, content in _project_files().items():
        if not (folder / name).exists():
            write_atomically(folder / name, content)


def save_progress(folder: Path, done: int) -> None:
    """Save the number of finished steps."""
    path = folder / _PROGRESS
    path.parent.mkdir(exist_ok=True)
    text = json.dumps({"script": _script_digest(), "done": done}) + "\n"
    replace_file(path, [text.encode()])


def _project_files() -> dict[str, bytes]:
    files = sorted(path for path in _FILES.rglob("*") if path.is_file())
    return {path.relative_to(_FILES).as_posix(): path.read_bytes() for path in files}


def _script_digest() -> str:
    return sha256(repr((STEPS, _project_files())).encode()).hexdigest()
