"""Where an artifact and its archive are written, and what is in the way there."""
# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH112, PTH113, PTH114

import os
from pathlib import Path
from typing import NamedTuple, NoReturn

from brenner.config import Project
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import Refused, Unavailable
from brenner.limits import MOST_FILE_NAME_BYTES
from brenner.protocol.thread_ids import cross_reference, is_valid

ARTIFACTS = "artifacts"
_ARCHIVE = ".mail.jsonl"


class Place(NamedTuple):
    """The files of a thread: their real paths, in `folder`, and what they are called."""

    folder: Path
    file: Path
    archive: Path
    name: str
    archive_name: str


def place_of(project: Project, thread_id: str) -> Place:
    """Where the artifact of a thread belongs. A bad path is refused; nothing is made."""
    name = cross_reference(thread_id).artifact_path
    if not is_valid(thread_id):
        _bad(name, "the thread ID is not valid")
    own = Path(os.path.realpath(project.folder))
    named = own / ARTIFACTS
    folder = Path(os.path.realpath(named))
    if not folder.is_relative_to(own):
        _bad(name, f"`{ARTIFACTS}` is a link that leads out of the project, to `{folder}`")
    if os.path.islink(named) and not os.path.isdir(named):
        _bad(name, f"`{ARTIFACTS}` is a link to `{folder}`, and there is no such folder")
    if os.path.lexists(folder) and not os.path.isdir(folder):
        _bad(name, f"`{ARTIFACTS}` is not a folder")
    archive = f"{thread_id}{_ARCHIVE}"
    return Place(
        folder, folder / f"{thread_id}.md", folder / archive, name, f"{ARTIFACTS}/{archive}"
    )


def check_writable(file: Path, name: str) -> None:
    """Refuse what can be known not to be writable as a file of that name."""
    if len(os.fsencode(file.name)) > MOST_FILE_NAME_BYTES:
        _bad(name, f"its name is longer than {MOST_FILE_NAME_BYTES} bytes")
    if os.path.islink(file):
        _bad(name, "it is a symbolic link, not a file")
    if os.path.isdir(file):
        _bad(name, "a folder has that name")
    if os.path.lexists(file) and not os.path.isfile(file):
        _bad(name, "it is not a file")
    if os.path.lexists(file) and not os.access(file, os.R_OK | os.W_OK):
        _forbidden(name, "you may not read and write it")
    folder = file.parent if os.path.isdir(file.parent) else file.parent.parent
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        _forbidden(name, f"you may not write to `{folder}`")


def typed(path: Path) -> str:
    """A path as one types it where one is: from here, or else whole."""
    try:
        here = Path(os.path.realpath(os.getcwd()))  # noqa: PTH109
        return str(Path(os.path.realpath(path)).relative_to(here))
    except (OSError, ValueError):
        return str(path)


def is_in_repository(folder: Path) -> bool:
    """Whether a folder seems to be in a repository; git itself is not asked."""
    return any(os.path.lexists(each / ".git") for each in (folder, *folder.parents))


def _bad(path: str, reason: str) -> NoReturn:
    raise Refused(codes.BAD_ARTIFACT_PATH.at(path=path, reason=reason))


def _forbidden(path: str, reason: str) -> NoReturn:
    raise Unavailable(codes.BAD_ARTIFACT_PATH.at(path=path, reason=reason))
