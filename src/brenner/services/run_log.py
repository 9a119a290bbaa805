"""The log of `session run`: `.brenner/runs/RUN/`, which git ignores.

`run.json` is written before the first turn, `events.jsonl` during the run, and for each turn a
readable log and the lines that the program printed. No secret gets into any of these files.
`run_summary.py` reads them.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from brenner.config import OWN_FOLDER
from brenner.diagnostics.codes.publishing import ARTIFACT_NOT_WRITTEN
from brenner.diagnostics.model import UnavailableError
from brenner.integrations.agent_driver import AgentEvent, EventKind
from brenner.persist.files import hold_lock, make_own_folder
from brenner.services.run_summary import EVENTS_FILE, FAULT_LABELS, LOCK, RUN_FILE, RUNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from brenner.config import Project
    from brenner.integrations.agent_driver import Fault

Event = dict[str, Any]

_LOCK_SECONDS = 1.0  # a reader holds the lock for a moment
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
        found |= {json.dumps(each, ensure_ascii=False)[1:-1] for each in found}
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

    def begin(self, document: Mapping[str, object]) -> Event:
        """Create the folder, and write and return `run.json`. Raise if that is impossible."""
        path, whole = self.folder / RUN_FILE, {"id": self.run_id, **document}
        try:
            make_own_folder(self.folder, self._project)
            self.folder.chmod(_MODE)
            text = json.dumps(whole, indent=2, ensure_ascii=False)
            path.write_text(self._redact(text) + "\n", "utf-8")
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            found = ARTIFACT_NOT_WRITTEN.at(path=str(path), reason=reason)
            raise UnavailableError(found) from None
        return whole

    def write(self, event: Event) -> Event:
        """Append an event, and return it without secrets.

        A full disk does not end the run: its mail is more important than its log.
        """
        line = self._redact(json.dumps(event, ensure_ascii=False))
        with suppress(OSError), (self.folder / EVENTS_FILE).open("a", encoding="utf-8") as file:
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
        self._latest = ""  # words of the latest event
        self._words = _open(self.path)
        self._raw = _open(folder / f"{name}.jsonl")

    def head(self, title: str, prompt: str) -> None:
        self._write(self._words, f"{title}\n\nAsked:\n\n{_indented(prompt)}\n\n")

    def line(self, text: str) -> None:
        """Write a line as the program printed it."""
        self._write(self._raw, text.rstrip("\n") + "\n")

    def event(self, event: AgentEvent, at: datetime) -> None:
        words = _event_words(event)
        if words and not (event.kind is EventKind.USAGE and words == self._latest):
            self._write(self._words, f"{at:%H:%M:%S}  {words}\n")
            self._latest = words

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


def fault_text(fault: Fault) -> str:
    """Return a fault in words, with what the program reported."""
    return f"{FAULT_LABELS[fault.kind]}: {fault.reason}"


def _event_words(event: AgentEvent) -> str:
    """Return one event in words; empty for one that says nothing to a reader."""
    text, is_error = event.text, event.is_error
    tokens = event.usage.tokens if event.usage else 0
    words = {
        EventKind.STARTED: f"started{f', conversation {text}' if text else ''}",
        EventKind.CONNECTED: "connected to Brenner's tools",
        EventKind.TOOL: f"called {text}{', which failed' if is_error else ''}",
        EventKind.TEXT: f"wrote:\n{_indented(text)}",
        EventKind.USAGE: f"used {tokens:,} tokens so far" if tokens else "",
        EventKind.FAULT: f"fault: {fault_text(event.fault)}" if event.fault else "",
        EventKind.ENDED: f"ended{' with an error' if is_error else ''}",
    }
    return words.get(event.kind, "")
