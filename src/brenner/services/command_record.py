"""Run a command for a test, and keep its record as evidence (R26): `results/THREAD/`.

The folder is meant to be committed, unlike our own folder. A record is JSON with what was run and
how it ended. The whole output is in a file beside it. An exit code is recorded, never interpreted.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING

from brenner import __version__
from brenner.diagnostics.codes import publishing as publishing_codes
from brenner.diagnostics.codes import results as codes
from brenner.diagnostics.model import UnavailableError
from brenner.integrations.command_process import (
    CommandEnd,
    CommandLimits,
    Ending,
    run_command,
)
from brenner.limits import MOST_FILE_NAME_BYTES
from brenner.named_tuple import NamedTuple
from brenner.persist.files import write_atomically
from brenner.services.evidence_files import RECORD_SUFFIX, file_evidence
from brenner.services.record_result import iso_milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from brenner.config import Project

RESULTS_FOLDER = "results"
RECORD_FORMAT = 1
_OUTPUT_SUFFIX = ".txt"
_MOST_IN_RECORD = 16 * 1024  # bytes of output: half from the start, half from the end
_MOST_SAME_SECOND = 100


class CommandRequest(NamedTuple):
    """A command that tests an item of a thread."""

    thread_id: str
    test_id: str
    words: tuple[str, ...]
    limits: CommandLimits


class CommandRecord(NamedTuple):
    """The record of a command that has run, its file, and that file as evidence."""

    document: Mapping[str, object]
    path: str
    evidence: str
    end: CommandEnd
    ended_at: datetime

    @property
    def is_whole(self) -> bool:
        """Return whether the command ended by itself."""
        return self.end.ending is Ending.EXITED

    def to_json(self) -> dict[str, object]:
        """Return the record with its place, as commands print it."""
        return {**self.document, "path": self.path, "evidence": self.evidence}


def record_command(
    project: Project, request: CommandRequest, echo: Callable[[bytes, bool], None]
) -> CommandRecord:
    """Run the command in the current folder, and keep its record, however it ends.

    Raise UnavailableError if the command cannot be run, or if no file can be written.
    """
    folder = Path.cwd()
    repository = _repository_state(project, folder)
    start = datetime.now(UTC)
    try:
        path, file = _create_output_file(project, request, start)
    except OSError as error:
        raise _not_written(project.folder / RESULTS_FOLDER, error) from None
    with file:
        output = _Output(file, echo)
        try:
            end = run_command(
                request.words, folder, request.limits, f"result-{secrets.token_hex(8)}", output.take
            )
        except (OSError, ValueError) as error:
            _remove_unused(path)
            raise _not_run(request.words[0], error, folder) from None
    if output.error:
        raise _not_written(path, output.error)
    ended_at = datetime.now(UTC)
    document = {
        "format": RECORD_FORMAT,
        "thread_id": request.thread_id,
        "test": request.test_id,
        "argv": list(request.words),
        "folder": _shown_folder(project, folder),
        "started_at": iso_milliseconds(start),
        "ended_at": iso_milliseconds(ended_at),
        "seconds": round((ended_at - start).total_seconds(), 3),
        "timeout_seconds": request.limits.seconds,
        "ending": end.ending.value,
        "exit_code": end.exit_code,
        "signal": end.signal,
        "git": repository,
        "brenner": __version__,
        "output": {"file": path.name, **output.document()},
    }
    record = path.with_suffix(RECORD_SUFFIX)
    text = json.dumps(document, indent=2, ensure_ascii=False)
    write_atomically(record, f"{text}\n".encode("utf-8", "backslashreplace"))
    evidence = file_evidence(project, record)
    shown = record.relative_to(project.folder).as_posix()
    return CommandRecord(document, shown, evidence, end, ended_at)


# The files


def _create_output_file(
    project: Project, request: CommandRequest, start: datetime
) -> tuple[Path, IO[bytes]]:
    """Create the file of the output, under a name that neither it nor its record has."""
    folder = project.folder / RESULTS_FOLDER / _folder_name(request.thread_id)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{request.test_id}-{start:%Y%m%d-%H%M%S}"
    for number in range(1, _MOST_SAME_SECOND):
        path = folder / f"{name}{f'-{number}' if number > 1 else ''}{_OUTPUT_SUFFIX}"
        if not path.with_suffix(RECORD_SUFFIX).exists():
            with suppress(FileExistsError):
                return path, path.open("xb", buffering=0)
    raise FileExistsError(0, "too many records in one second", str(folder))


def _folder_name(thread_id: str) -> str:
    is_short = len(thread_id) <= MOST_FILE_NAME_BYTES
    return thread_id if is_short else sha256(thread_id.encode()).hexdigest()


def _remove_unused(path: Path) -> None:
    """Remove an empty output file, and folders that are empty without it."""
    with suppress(OSError):
        path.unlink()
        path.parent.rmdir()
        path.parent.parent.rmdir()


class _Output:
    """The output of a command: written to its file as it comes, with its start and end at hand."""

    def __init__(self, file: IO[bytes], echo: Callable[[bytes, bool], None]) -> None:
        self._file, self._echo = file, echo
        self._digest, self._size = sha256(), 0
        self._start, self._end = b"", b""
        self.error: OSError | None = None

    def take(self, piece: bytes, is_error: bool) -> None:
        """Write a piece, and pass it on. A full disk must not end the command."""
        if self.error is None:
            try:
                written = memoryview(piece)
                while written:
                    written = written[self._file.write(written) :]
            except OSError as error:
                self.error = error
        self._digest.update(piece)
        self._size += len(piece)
        half = _MOST_IN_RECORD // 2
        room = half - len(self._start)
        self._start += piece[:room]
        self._end = (self._end + piece[room:])[-half:]
        self._echo(piece, is_error)

    def document(self) -> dict[str, object]:
        """Return the output as the record has it: bounded, with the hash of the whole."""
        is_whole = len(self._start) + len(self._end) == self._size
        start = self._start + self._end if is_whole else self._start
        return {
            "bytes": self._size,
            "sha256": self._digest.hexdigest(),
            "truncated": not is_whole,
            "start": start.decode("utf-8", "replace"),
            "end": "" if is_whole else self._end.decode("utf-8", "replace"),
        }


def _not_written(path: Path, error: OSError) -> UnavailableError:
    reason = (error.strerror or type(error).__name__).lower()
    found = publishing_codes.ARTIFACT_NOT_WRITTEN.at(path=str(path), reason=reason)
    return UnavailableError(found)


def _not_run(program: str, error: OSError | ValueError, folder: Path) -> UnavailableError:
    reason = (getattr(error, "strerror", None) or "its name is invalid").lower()
    if isinstance(error, FileNotFoundError):
        reason = "no such program" if os.sep not in program else f"no such file in `{folder}`"
    return UnavailableError(codes.COMMAND_NOT_RUN.at(program=program, reason=reason))


# Where it ran


def _shown_folder(project: Project, folder: Path) -> str:
    """Return the folder relative to the project folder, if it is inside it."""
    with suppress(ValueError):
        return folder.resolve().relative_to(project.folder.resolve()).as_posix()
    return str(folder)


def _repository_state(project: Project, folder: Path) -> dict[str, object] | None:
    """Return the commit of the repository around a folder, and whether it had changes.

    Records themselves are no change. Return None without git, a repository, or a commit.
    """
    from brenner.persist.git import Repository

    try:
        repository = Repository.find(folder)
        if not repository.has_commits():
            return None
        commit = repository.query("rev-parse", "HEAD").text
        own = _own_paths(project, repository.top)
        status = repository.query("status", "--porcelain", "--", ":/", *own)
    except UnavailableError:
        return None
    return {"commit": commit, "dirty": bool(status.out.strip())}


def _own_paths(project: Project, top: Path) -> Sequence[str]:
    """Return the pathspec that leaves the records out, if they are in this repository."""
    records = (project.folder / RESULTS_FOLDER).resolve()
    try:
        shown = records.relative_to(top.resolve()).as_posix()
    except ValueError:
        return ()
    return (f":(top,exclude,literal){shown}",)
