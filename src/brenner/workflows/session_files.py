"""Sessions as their files in `artifacts/` tell of them: of another project, or of mail long gone.

Names come from references, which anybody may write, so nothing outside of that folder is ever
opened. A file that cannot be read is a diagnostic: other sessions are none the worse for it.
"""
# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH113, PTH114, PTH208

import os
import stat
from collections.abc import Collection
from pathlib import Path

from brenner.artifact.format import ParsedArtifact
from brenner.artifact.model import Artifact
from brenner.artifact.parse import parse_artifact
from brenner.config import Project
from brenner.diagnostics.codes.merging import SESSION_FILE_UNREADABLE
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.persist.artifact_file import ARTIFACTS, MOST_FILE_BYTES, place_of
from brenner.protocol.thread_ids import ThreadKind, classify_thread_id, cross_reference, is_valid

_ENDING = ".md"
_FRONT_MATTER = b"---"
# Never through a link, and a pipe keeps nobody waiting
_OPENED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _UnreadableError(Exception):
    """Why a file is not the artifact of its session, in words."""


def session_files(project: Project) -> tuple[str, ...] | Diagnostic:
    """The sessions that have a file, by its name; or why the folder cannot be looked into."""
    folder = project.folder / ARTIFACTS
    if not os.path.lexists(folder):
        return ()
    try:
        names = os.listdir(place_of(project, "RS-20000101-any").folder)
    except BrennerError as error:
        return _unusable(error)
    except OSError as error:
        return _unreadable(f"{ARTIFACTS}/", _reason(error))
    stems = (name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING))
    return tuple(sorted(filter(is_valid, stems)))


def only_in_files(project: Project, known: Collection[str]) -> tuple[str, ...]:
    """The sessions that have a file and are not among those of the mail, by their names.

    What has the name of a bead may be any other page, such as README.md: its beginning decides.
    """
    found = session_files(project)
    if isinstance(found, Diagnostic):
        return ()
    names = (name for name in found if name not in known)
    return tuple(name for name in names if _is_session(project, name))


def _is_session(project: Project, name: str) -> bool:
    if classify_thread_id(name) is not ThreadKind.ENGINEERING:
        return True
    try:
        opened = os.open(place_of(project, name).file, _OPENED)
        with os.fdopen(opened, "rb") as read:
            return read.read(len(_FRONT_MATTER)) == _FRONT_MATTER
    except (BrennerError, OSError):
        return False


def read_session_file(project: Project, thread_id: str) -> Artifact | Diagnostic | None:
    """The artifact in the file of a session; None where there is no file, or none of a session."""
    if not is_valid(thread_id):
        return None
    path = cross_reference(thread_id).artifact_path
    try:
        file = place_of(project, thread_id).file
        return _read(file, thread_id) if _is_there(file) else None
    except BrennerError as error:
        return _unusable(error)
    except _UnreadableError as error:
        return _unreadable(path, str(error))


def _is_there(file: Path) -> bool:
    """Whether there is anything of that name; where one may not look, nobody can tell."""
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _UnreadableError(_reason(error)) from None
    return True


def _read(file: Path, thread_id: str) -> Artifact | None:
    text = _text(file)
    parsed = parse_artifact(text)
    if not _holds_something(parsed):
        if classify_thread_id(thread_id) is ThreadKind.ENGINEERING and text.strip():
            return None  # such as README.md, which has the name of a bead
        reason = "neither front matter nor any of the seven sections is in it"
        raise _UnreadableError(reason if text.strip() else "it is empty")
    named = parsed.artifact.metadata.session_id
    if named not in (None, thread_id):
        message = f"it says that it belongs to the session `{named}`"
        raise _UnreadableError(message)
    return parsed.artifact


def _text(file: Path) -> str:
    """A link could lead out of the folder, and a pipe would keep us waiting: only plain files."""
    if os.path.islink(file) or not os.path.isfile(file):
        message = "it is not a plain file"
        raise _UnreadableError(message)
    try:
        opened = os.open(file, _OPENED)
        with os.fdopen(opened, "rb") as read:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                message = "it is not a plain file"
                raise _UnreadableError(message)
            raw = read.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise _UnreadableError(_reason(error)) from None
    if len(raw) > MOST_FILE_BYTES:
        message = f"it is larger than {MOST_FILE_BYTES:,} bytes"
        raise _UnreadableError(message)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        message = "it is not UTF-8"
        raise _UnreadableError(message) from None


def _holds_something(parsed: ParsedArtifact) -> bool:
    outline = parsed.outline
    has_items = any(parsed.artifact.sections.values())
    return bool(outline.headings) or outline.front_matter is not None or has_items


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _unreadable(path: str, reason: str) -> Diagnostic:
    return SESSION_FILE_UNREADABLE.at(path=path, reason=reason)


def _unusable(error: BrennerError) -> Diagnostic:
    """What is wrong with the folder: the same for all sessions, whose paths it would name."""
    _path, _, reason = error.diagnostic.message.partition("`: ")
    return _unreadable(f"{ARTIFACTS}/", reason.rstrip("."))
