"""The demo: its script, and the folder that it runs in, with its progress."""

from __future__ import annotations

import json
import sys
import tomllib
from hashlib import sha256
from pathlib import Path

from brenner.config import OWN_FOLDER, SETTINGS_FILE, Project
from brenner.named_tuple import NamedTuple
from brenner.persist.files import replace_file, write_atomically

THREAD = "RS-20260105-phage-protein-template"
_FILES = Path(__file__).parent / "demo_project"
_PROGRESS = Path(OWN_FOLDER) / "demo.json"
_AGENT = Path("agents") / "agent.py"
_UNFINISHED = (None, "interrupted", "failed")  # None: it was killed


class Step(NamedTuple):
    """One step of the demo. `command` is a shell command that must exit with `code`.

    With `tee` its standard output is also written to a file. `settings` are appended to
    `brenner.toml`. Without a command or settings it only prints `says`. `when` has conditions:
    "git", "no git", "short", "full" (with a comma between two), or one about git's settings.
    `runs` is the thread whose agents it runs: a run that has ended is not repeated, because it
    would go on.

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
    settings: str = ""
    runs: str = ""

    @property
    def typed(self) -> str:
        """Return the command as a user types it."""
        if self.settings:
            return f"cat >> {SETTINGS_FILE} <<'END'\n{self.settings}END"
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


def complete_settings(folder: Path, step: Step) -> Step:
    """Return a step whose settings name this Python and the agent's file in this folder."""
    names = {"{python}": sys.executable, "{agent}": str(folder / _AGENT)}
    text = step.settings
    for placeholder, value in names.items():
        text = text.replace(placeholder, json.dumps(value, ensure_ascii=False))
    return step._replace(settings=text)


def append_settings(folder: Path, text: str) -> None:
    """Append a table of settings to the project file, unless it contains that table already."""
    path = folder / SETTINGS_FILE
    before = path.read_text("utf-8")
    if text.strip().splitlines()[0] not in before.splitlines():
        replace_file(path, [f"{before}{text}".encode()])


def has_ended_run(folder: Path, thread_id: str) -> bool:
    """Return whether the agents of a thread were run to an end."""
    from brenner.services.run_summary import latest_run

    found = latest_run(Project(folder), thread_id)
    return found is not None and found[1].reason not in _UNFINISHED


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
