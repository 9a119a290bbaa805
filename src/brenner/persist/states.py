"""Draft, Pending, Persisted: read from the file and from git, never stored (R19).

Persisted: a commit in the history of what is checked out has the file as this version. Pending:
the file is this version, but no commit has it. Draft: neither. Whoever asks gets an answer, also
without a repository, without git, or with one that fails.
"""

# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH112

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from brenner.config import Project
from brenner.diagnostics.model import BrennerError
from brenner.persist.artifact_file import plain
from brenner.persist.places import ARTIFACTS, is_in_repository
from brenner.protocol.thread_ids import cross_reference

Status = Literal["Draft", "Pending", "Persisted"]


class Persistence(NamedTuple):
    """How far a version has come; the commit where there is one."""

    status: Status
    path: str
    commit: str | None = None


def persistence_of(project: Project, thread_id: str, text: str) -> Persistence:
    """How far one version has come."""
    return persistences(project, thread_id, {0: text})[0]


def persistences(
    project: Project, thread_id: str, texts: Mapping[int, str]
) -> dict[int, Persistence]:
    """How far versions have come, by their numbers, in one pass over the history."""
    digests = {number: version_digest(text) for number, text in texts.items()}
    return persistences_by_digest(project, thread_id, digests)


def persistences_by_digest(
    project: Project, thread_id: str, wanted: Mapping[int, bytes]
) -> dict[int, Persistence]:
    """The same, for who has kept the digests of the texts."""
    path = cross_reference(thread_id).artifact_path
    file = Path(os.path.realpath(project.folder / ARTIFACTS)) / Path(path).name
    commits = _commits(file, set(wanted.values()))
    written = _written(file)
    found = {}
    for number, digest in wanted.items():
        if digest in commits:
            found[number] = Persistence("Persisted", path, commits[digest])
        else:
            found[number] = Persistence("Pending" if digest == written else "Draft", path)
    return found


def version_digest(text: str) -> bytes:
    """What stands for the text of a version, whichever id of a message a file has."""
    return sha256(plain(text).encode(errors="surrogatepass")).digest()


def _written(file: Path) -> bytes | None:
    try:
        return version_digest(file.read_bytes().decode())
    except (OSError, ValueError):
        return None


def _commits(file: Path, wanted: set[bytes]) -> dict[bytes, str]:
    """The commits that brought the wanted contents in, as far as there are any."""
    folder = file.parent
    while not os.path.isdir(folder) and folder != folder.parent:
        folder = folder.parent
    if not wanted or not is_in_repository(folder):
        return {}
    from brenner.persist.git import Repository
    from brenner.persist.history import contents

    found: dict[bytes, str] = {}
    try:
        repository = Repository.find(folder)
        for held in contents(repository, repository.path_of(file)):
            digest = version_digest(held.content.decode("utf-8", "replace"))
            if digest in wanted:
                found.setdefault(digest, held.commit)
            if len(found) == len(wanted):
                break
    except (BrennerError, ValueError, OSError):
        return found
    return found
