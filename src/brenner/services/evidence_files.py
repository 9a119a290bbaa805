"""Files as evidence of results: `file:PATH#sha256=HEX`, with a path in the project folder."""

from __future__ import annotations

import errno
import json
import os
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import results as codes
from brenner.diagnostics.model import RequestError
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import EVIDENCE_FILE

if TYPE_CHECKING:
    from brenner.config import Project

PREFIX = "file:"
_NOT_IN_PATHS = "#\n"
# A record of a command names a file with its output
_MOST_RECORD_BYTES = 1024 * 1024
RECORD_SUFFIX = ".json"


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file. A pipe or a device could be read for ever: raise OSError."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file")
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def file_evidence(project: Project, path: Path) -> str:
    """Return a file of the project as evidence. Raise OSError if it cannot be read."""
    shown = _inside(project.folder, path).as_posix()
    return f"{PREFIX}{shown}#sha256={hash_file(path)}"


def _inside(folder: Path, path: Path) -> Path:
    """Return a path relative to a folder. Raise ValueError if it is outside.

    A folder in the project may be a link to another disk, and the project's own path may be a link.
    """
    plain = Path(os.path.normpath(path))
    if plain.is_relative_to(folder):
        return plain.relative_to(folder)
    return path.resolve().relative_to(folder.resolve())


def with_hash(project: Project, given: str) -> str:
    """Return evidence as it is stored: `file:PATH` gets the hash of the file as it is now.

    A path without a hash is relative to the current folder. Raise RequestError if the file cannot
    be read, or is outside the project folder.
    """
    if not given.startswith(PREFIX) or "#sha256=" in given:
        return given
    written = given.removeprefix(PREFIX)
    reason = ""
    try:
        if any(each in written for each in _NOT_IN_PATHS):
            reason = "its path contains `#` or a line end"
        else:
            return file_evidence(project, Path.cwd() / written)
    except OSError as error:
        reason = _reason(error)
    except ValueError:
        reason = f"it is not inside the project folder `{project.folder}`"
    raise RequestError(codes.RESULT_FILE_UNREADABLE.at(path=written, reason=reason))


class FileState(NamedTuple):
    """A file that is evidence, and whether it is the same. `problem` says why it is unreadable."""

    path: str
    sha256: str
    is_same: bool
    problem: str = ""


def check_file(project: Project, evidence: str) -> tuple[FileState, ...]:
    """Return the state of a file, and of the output that a record of a command names.

    Return nothing for evidence that is no file.
    """
    found = EVIDENCE_FILE.fullmatch(evidence)
    if not found:
        return ()
    state = _file_state(project, found["path"], found["sha256"])
    output = _output_of_record(project, state) if state.is_same else None
    return (state, _file_state(project, *output)) if output else (state,)


def _file_state(project: Project, written: str, sha256: str) -> FileState:
    path = Path(os.path.normpath(project.folder / written))  # `..` may not leave the project
    if not path.is_relative_to(os.path.normpath(project.folder)):
        return FileState(written, sha256, is_same=False, problem="it is outside the project folder")
    try:
        return FileState(written, sha256, is_same=hash_file(path) == sha256)
    except OSError as error:
        return FileState(written, sha256, is_same=False, problem=_reason(error))
    except ValueError:  # a character that no path can have
        return FileState(written, sha256, is_same=False, problem="its path is invalid")


def _output_of_record(project: Project, state: FileState) -> tuple[str, str] | None:
    """Return the file with a command's output and its hash, if the evidence is a record of one."""
    path = project.folder / state.path
    if path.suffix != RECORD_SUFFIX or path.stat().st_size > _MOST_RECORD_BYTES:
        return None
    try:
        output = json.loads(path.read_bytes())["output"]
        beside = PurePosixPath(state.path).with_name(output["file"])
        return str(beside), str(output["sha256"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):  # another program's file
        return None


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
