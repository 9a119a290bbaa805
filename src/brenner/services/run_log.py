"""The log of `session run`: `.brenner/runs/RUN/`, which git ignores.

`run.json` is written before the first turn, `events.jsonl` during the run, and for each turn a
readable log and the lines that the program printed. No secret gets into any of these files. A run
without a `stop` event whose lock is free was killed.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from brenner.config import OWN_FOLDER
from brenner.diagnostics.codes.publishing import ARTIFACT_NOT_WRITTEN
from brenner.diagnostics.model import UnavailableError
from brenner.integrations.agent_driver import AgentEvent, EventKind
from brenner.named_tuple import NamedTuple
from brenner.persist.files import hold_lock, is_locked, make_own_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from brenner.config import Project

Event = dict[str, Any]

RUNS = "runs"
LOCK = "run.lock"
_LOCK_SECONDS = 1.0  # a reader holds the lock for a moment
_RUN_FILE, _EVENTS_FILE = "run.json", "events.jsonl"
_HIDDEN = "[secret]"
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORTEST_SECRET = 12  # characters; a shorter value may be an ordinary word
_MODE = 0o700


def new_run_id(now: datetime) -> str:
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def lock_run(project: Project, thread_id: str) -> AbstractContextManager[str | None]:
    """Hold the lock of a thread's run; see `hold_lock`."""
    return hold_lock(project, thread_id, LOCK, _LOCK_SECONDS)


class Redaction:
    """Replace secrets in a text: those of the run, and those in our environment."""

    def __init__(self, known: Iterable[str], environ: Mapping[str, str]) -> None:
        named = (
            value
            for name, value in environ.items()
            if any(word in name.upper() for word in _SECRET_WORDS)
        )
        found = {each for each in (*known, *named) if len(each) >= _SHORTEST_SECRET}
        self._secrets = sorted(found, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for each in self._secrets:
            text = text.replace(each, _HIDDEN)
        return text


# Writing


class RunLog:
    """The folder of one run, as it is written. Only the thread that owns it may write events."""

    def __init__(self, project: Project, run_id: str, redact: Redaction) -> None:
        self._project = project
        self._redact = redact
        self.run_id = run_id
        self.folder = project.folder / OWN_FOLDER / RUNS / run_id

    def begin(self, document: Mapping[str, object]) -> None:
        """Create the folder, and write `run.json`. Raise if that is impossible."""
        path = self.folder / _RUN_FILE
        try:
            make_own_folder(self.folder, self._project)
            self.folder.chmod(_MODE)
            text = json.dumps({"id": self.run_id, **document}, indent=2, ensure_ascii=False)
            path.write_text(self._redact(text) + "\n", "utf-8")
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            found = ARTIFACT_NOT_WRITTEN.at(path=str(path), reason=reason)
            raise UnavailableError(found) from None

    def write(self, event: Event) -> Event:
        """Append an event, and return it without secrets.

        A full disk does not end the run: its mail is more important than its log.
        """
        line = self._redact(json.dumps(event, ensure_ascii=False))
        with suppress(OSError), (self.folder / _EVENTS_FILE).open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        found: Event = json.loads(line)
        return found

    def turn(self, name: str) -> TurnLog:
        return TurnLog(self.folder, name, self._redact)

    def shown(self, turn: TurnLog) -> str:
        """Return the path of a turn's log, relative to the project."""
        return turn.path.relative_to(self._project.folder).as_posix()


class TurnLog:
    """The two logs of one turn: in words, and the lines that the program printed.

    Each has one writer at a time: before and after the turn the run, meanwhile the turn's thread.
    """

    def __init__(self, folder: Path, name: str, redact: Redaction) -> None:
        self.path = folder / f"{name}.log"
        self._redact = redact
        self._words = _open(self.path)
        self._raw = _open(folder / f"{name}.jsonl")

    def head(self, title: str, prompt: str) -> None:
        self._write(self._words, f"{title}\n\nAsked:\n\n{_indented(prompt)}\n\n")

    def line(self, text: str) -> None:
        """Write a line as the program printed it."""
        self._write(self._raw, text.rstrip("\n") + "\n")

    def event(self, event: AgentEvent, at: datetime) -> None:
        words = _event_words(event)
        if words:
            self._write(self._words, f"{at:%H:%M:%S}  {words}\n")

    def end(self, words: str, errors: str = "") -> None:
        """Write how the turn ended, with the end of the program's standard error."""
        said = f"\nStandard error:\n\n{_indented(errors)}\n" if errors.strip() else ""
        self._write(self._words, f"{said}\n{words}\n")
        for each in (self._words, self._raw):
            if each:
                with suppress(OSError):
                    each.close()

    def _write(self, file: TextIO | None, text: str) -> None:
        if file:
            with suppress(OSError):
                file.write(self._redact(text))
                file.flush()


def _open(path: Path) -> TextIO | None:
    with suppress(OSError):
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    return None


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip("\n").split("\n"))


def _event_words(event: AgentEvent) -> str:
    """Return one event in words; empty for one that says nothing to a reader."""
    text, is_error = event.text, event.is_error
    tokens = event.usage.tokens if event.usage else 0
    words = {
        EventKind.STARTED: f"started{f', conversation {text}' if text else ''}",
        EventKind.CONNECTED: "connected to Brenner's tools",
        EventKind.TOOL: f"called {text}{', which failed' if is_error else ''}",
        EventKind.TEXT: f"wrote:\n{_indented(text)}",
        EventKind.USAGE: f"used {tokens} tokens",
        EventKind.FAULT: f"fault ({event.fault.kind}): {event.fault.reason}" if event.fault else "",
        EventKind.ENDED: f"ended{' with an error' if is_error else ''}",
    }
    return words.get(event.kind, "")


# Reading


class RunSummary(NamedTuple):
    """One run, as far as its folder shows. `stop` is its last event, None if it has none."""

    run_id: str
    thread_id: str
    started_at: str
    document: Mapping[str, Any]
    events: tuple[Event, ...]
    stop: Event | None
    is_running: bool

    @property
    def was_killed(self) -> bool:
        return self.stop is None and not self.is_running


def load_runs(project: Project, thread_id: str | None = None) -> tuple[RunSummary, ...]:
    """Return the runs of a thread, or of all threads, oldest first. Unreadable ones are left out.

    Only the newest run of a thread can be running.
    """
    folder = project.folder / OWN_FOLDER / RUNS
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return ()
    found = [each for name in names if (each := _load_run(folder / name))]
    wanted = [each for each in found if thread_id in (None, each.thread_id)]
    newest = {each.thread_id: each.run_id for each in wanted}
    return tuple(
        each._replace(is_running=is_locked(project, each.thread_id, LOCK))
        if each.stop is None and newest[each.thread_id] == each.run_id
        else each
        for each in wanted
    )


def _load_run(folder: Path) -> RunSummary | None:
    try:
        document = json.loads((folder / _RUN_FILE).read_text("utf-8"))
        names = ("id", "thread_id", "started_at")
        run_id, thread_id, started_at = (str(document.get(name)) for name in names)
    except (OSError, ValueError, AttributeError):
        return None
    events = tuple(_events(folder / _EVENTS_FILE))
    stop = events[-1] if events and events[-1].get("event") == "stop" else None
    return RunSummary(run_id, thread_id, started_at, document, events, stop, is_running=False)


def _events(path: Path) -> Iterator[Event]:
    """Yield the events of a file. A line that a killed run has not finished is left out."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event
