"""Session files in `artifacts/`, also of sessions whose mail is elsewhere or lost.

Names come from references, which any agent can write, so nothing outside of that folder is ever
opened. A file that cannot be read is a diagnostic, and does not affect other sessions.
"""

from __future__ import annotations

# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH113, PTH114, PTH208
import os
import stat
from typing import TYPE_CHECKING

from brenner.artifact.parse import parse_artifact
from brenner.diagnostics.codes.merging import SESSION_FILE_UNREADABLE
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.persist.artifact_file import ARTIFACTS, ForeignFileError, artifact_paths, read_file
from brenner.protocol.thread_ids import (
    ThreadKind,
    classify_thread_id,
    cross_reference,
    is_valid_thread_id,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from brenner.artifact.format import ParsedArtifact
    from brenner.artifact.model import Artifact
    from brenner.config import Project

_SUFFIX = ".md"
_FRONT_MATTER = b"---"
# Follow no link, and do not block on a pipe
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_A_PLAIN_FILE = "it is not a regular file"


def session_files(project: Project) -> tuple[str, ...] | Diagnostic:
    """Return the IDs of the sessions that have a file, or why the folder cannot be read."""
    folder = project.folder / ARTIFACTS
    if not os.path.lexists(folder):
        return ()
    try:
        names = os.listdir(artifact_paths(project, "RS-20000101-any").folder)
    except BrennerError as error:
        return _unusable_folder(error)
    except OSError as error:
        return _unreadable_file(f"{ARTIFACTS}/", _reason(error))
    stems = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return tuple(sorted(filter(is_valid_thread_id, stems)))


def sessions_only_in_files(project: Project, known: Collection[str]) -> tuple[str, ...]:
    """Return the IDs of sessions that have a file and are not in `known`.

    A file with the name of a bead may be any other page, such as README.md. Its first bytes decide.
    """
    found = session_files(project)
    if isinstance(found, Diagnostic):
        return ()
    names = (name for name in found if name not in known)
    return tuple(name for name in names if _is_session_file(project, name))


def _is_session_file(project: Project, name: str) -> bool:
    if classify_thread_id(name) is not ThreadKind.ENGINEERING:
        return True
    try:
        opened = os.open(artifact_paths(project, name).file, _OPEN_FLAGS)
        with os.fdopen(opened, "rb") as read:
            return read.read(len(_FRONT_MATTER)) == _FRONT_MATTER
    except (BrennerError, OSError):
        return False


def read_session_file(project: Project, thread_id: str) -> Artifact | Diagnostic | None:
    """Return the artifact in a session's file; None if there is no file, or no session's file."""
    if not is_valid_thread_id(thread_id):
        return None
    path = cross_reference(thread_id).artifact_path
    try:
        file = artifact_paths(project, thread_id).file
        return _read_artifact(file, thread_id) if _exists(file) else None
    except BrennerError as error:
        return _unusable_folder(error)
    except ForeignFileError as error:
        return _unreadable_file(path, str(error))


def _exists(file: Path) -> bool:
    """Return whether a file of that name exists. Raise if the folder cannot be read."""
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ForeignFileError(_reason(error)) from None
    return True


def _read_artifact(file: Path, thread_id: str) -> Artifact | None:
    text = _read_text(file)
    parsed = parse_artifact(text)
    if not _has_content(parsed):
        if classify_thread_id(thread_id) is ThreadKind.ENGINEERING and text.strip():
            return None  # such as README.md, which has the name of a bead
        reason = "it contains no front matter and none of the seven sections"
        raise ForeignFileError(reason if text.strip() else "it is empty")
    named = parsed.artifact.metadata.session_id
    if named not in (None, thread_id):
        message = f"it belongs to the session `{named}`"
        raise ForeignFileError(message)
    return parsed.artifact


def _read_text(file: Path) -> str:
    """Read a regular file. A link could lead out of the folder, and a pipe would block."""
    is_plain = not os.path.islink(file) and os.path.isfile(file)
    text = read_file(file, _open_plain_file) if is_plain else None
    if text is None:
        raise ForeignFileError(_NOT_A_PLAIN_FILE)
    return text


def _open_plain_file(path: str, _flags: int) -> int:
    number = os.open(path, _OPEN_FLAGS)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(None, _NOT_A_PLAIN_FILE)
    return number


def _has_content(parsed: ParsedArtifact) -> bool:
    outline = parsed.outline
    has_items = any(parsed.artifact.sections.values())
    return bool(outline.headings) or outline.front_matter is not None or has_items


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _unreadable_file(path: str, reason: str) -> Diagnostic:
    return SESSION_FILE_UNREADABLE.at(path=path, reason=reason)


def _unusable_folder(error: BrennerError) -> Diagnostic:
    """Return the diagnostic for the folder, the same for all sessions in it."""
    _path, _, reason = error.diagnostic.message.partition("`: ")
    return _unreadable_file(f"{ARTIFACTS}/", reason.rstrip("."))
