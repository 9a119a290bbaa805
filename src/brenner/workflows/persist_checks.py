"""What can be known to fail before a version is persisted: its path, its file, its repository."""

# Where one may not look, os.path says no and pathlib raises.

import os
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from brenner.config import Project
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.publishing import FILE_OVERTAKEN
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.persist.artifact_file import (
    Foreign,
    Newer,
    Obstacle,
    Place,
    Versions,
    VersionText,
    check_writable,
    is_in_repository,
    obstacle,
    place_of,
)
from brenner.workflows.desk import Desk

if TYPE_CHECKING:
    from brenner.persist.commit import Destination
    from brenner.persist.git import Repository


class PersistOptions(NamedTuple):
    """How far to go. A push needs a commit, so it means one. `force` gives up what is there; with
    `seen` only if it is still the file of that digest.

    An archive that is there already is kept up to date also where nobody asks for one.
    """

    commit: bool = False
    push: bool = False
    archive: bool = False
    force: bool = False
    seen: str | None = None

    @property
    def is_commit(self) -> bool:
        """Whether a commit is wanted."""
        return self.commit or self.push


# The files


def check_files(
    desk: Desk, version: VersionText, versions: Versions, options: PersistOptions, place: Place
) -> None:
    """Refuse to write over what is not known to be in the mail."""
    check_writable(place.file, place.name)
    found = obstacle(place.file, version, versions)
    if isinstance(found, Newer) or (found and not options.force):
        raise _refusal(desk, version, place, found)
    if found and options.seen not in (None, file_digest(desk.project, version.thread_id)):
        raise Refused(FILE_OVERTAKEN.at(path=place.name))
    if has_archive(options, place):
        _check_archive(desk, version.thread_id, options, place)


def file_digest(project: Project, thread_id: str) -> str:
    """What stands for the file of a session as it is now; also for that there is none."""
    try:
        return sha256(place_of(project, thread_id).file.read_bytes()).hexdigest()
    except (OSError, Refused):  # what cannot be a file of ours is told elsewhere
        return NO_FILE


NO_FILE = "none"


def has_archive(options: PersistOptions, place: Place) -> bool:
    """Whether the archive is written: where it is asked for, and where there is one already.

    One that stays behind would verify less than the file holds, and nobody would notice.
    """
    return options.archive or os.path.lexists(place.archive)


def _check_archive(desk: Desk, thread_id: str, options: PersistOptions, place: Place) -> None:
    from brenner.workflows.chains import altered_in_thread
    from brenner.workflows.thread_archive import archive_obstacle

    check_writable(place.archive, place.archive_name)
    for found in altered_in_thread(desk.mailbox, thread_id):
        raise Refused(found)
    reason = archive_obstacle(desk.mailbox, thread_id, place.archive, place.archive_name)
    if reason and not options.force:
        raise Refused(codes.ARCHIVE_FILE_FOREIGN.at(path=place.archive_name, reason=reason))


def _refusal(desk: Desk, version: VersionText, place: Place, found: Obstacle) -> Refused:
    if isinstance(found, Newer):
        words = {"path": place.name, "value": str(found.number), "version": str(version.number)}
        return Refused(codes.ARTIFACT_FILE_NEWER.at(None, **words))
    if isinstance(found, Foreign):
        return Refused(codes.ARTIFACT_FILE_FOREIGN.at(path=place.name, reason=found.reason))
    from brenner.workflows.persist_edits import edited_by_hand

    return edited_by_hand(desk, version.thread_id, place.name, found)


# The repository


class Home(NamedTuple):
    """Where the commit goes, and what is committed: contents by their paths in the repository.

    `notes` are what whoever commits there should know.
    """

    repository: "Repository"
    destination: "Destination | None"
    contents: Mapping[str, bytes]
    notes: tuple[Diagnostic, ...]


def check_repository(
    project: Project, place: Place, options: PersistOptions, files: Mapping[str, bytes]
) -> Home:
    """The repository that holds the files, if a commit and a push can be made there.

    `files` are the contents by the names of the files. Where all of them are committed already,
    nothing is in the way of that.
    """
    from brenner.persist.commit import destination_of
    from brenner.persist.git import Repository

    folder = place.folder if place.folder.is_dir() else place.folder.parent
    repository = Repository.find(folder)
    own = project.folder.resolve()
    if own in repository.top.parents and is_in_repository(own):
        repository = repository._replace(outer=repository.outer or own)
    destination = destination_of(repository) if options.push else None
    contents = {repository.path_of(place.folder / name): data for name, data in files.items()}
    archive = repository.path_of(place.archive)
    if archive in contents and not options.archive and repository.ignores(archive):
        del contents[archive]  # it is there, and not meant for the repository
    is_done = repository.has(contents)
    notes = repository.notes() if is_done else repository.check(contents)
    return Home(repository, destination, contents, notes)
