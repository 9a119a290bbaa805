"""What can be known to fail before a version is persisted: its path, its file, its repository."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from brenner.diagnostics.codes import publish as codes
from brenner.diagnostics.errors import Refused
from brenner.diagnostics.model import Diagnostic
from brenner.persist.artifact_file import (
    Edited,
    Foreign,
    Newer,
    Obstacle,
    Versions,
    VersionText,
    obstacle,
)
from brenner.persist.places import Place, check_writable, is_in_repository
from brenner.project import Project
from brenner.workflows.desk import Desk

if TYPE_CHECKING:
    from brenner.persist.git import Repository
    from brenner.persist.push import Destination


class PersistOptions(NamedTuple):
    """How far to go. A push needs a commit, so it means one. `force` gives up what is there."""

    commit: bool = False
    push: bool = False
    archive: bool = False
    force: bool = False

    @property
    def is_commit(self) -> bool:
        """Whether a commit is wanted."""
        return self.commit or self.push


class EditedByHand(Refused):
    """The file has changes that are in no version. Its diagnostic's `repaired` is the message
    that would bring them in, where a delta can.

    `difference` is what `diff -u` says of the version and the file; `others` are the changes that
    no delta can make, in words.
    """

    def __init__(
        self, diagnostic: Diagnostic, difference: str, others: tuple[str, ...] = ()
    ) -> None:
        super().__init__(diagnostic)
        self.difference = difference
        self.others = others

    @property
    def details(self) -> tuple[str, ...]:
        """What differs, and which of it no delta can bring in."""
        return (
            self.difference,
            *(f"No delta can make this change: {each}" for each in self.others),
        )


# The files


def check_files(
    desk: Desk, version: VersionText, versions: Versions, options: PersistOptions, place: Place
) -> None:
    """Refuse to write over what is not known to be in the mail."""
    check_writable(place.file, place.name)
    found = obstacle(place.file, version, versions)
    if isinstance(found, Newer) or (found and not options.force):
        raise _refusal(desk, version, place, found)
    if options.archive:
        _check_archive(desk, version.thread_id, options, place)


def _check_archive(desk: Desk, thread_id: str, options: PersistOptions, place: Place) -> None:
    from brenner.workflows.thread_archive import archive_obstacle

    check_writable(place.archive, place.archive_name)
    reason = archive_obstacle(desk.mailbox, thread_id, place.archive, place.archive_name)
    if reason and not options.force:
        raise Refused(codes.ARCHIVE_FILE_FOREIGN.at(path=place.archive_name, reason=reason))


def _refusal(desk: Desk, version: VersionText, place: Place, found: Obstacle) -> Refused:
    if isinstance(found, Newer):
        words = {"path": place.name, "value": str(found.number), "version": str(version.number)}
        return Refused(codes.ARTIFACT_FILE_NEWER.at(None, **words))
    if isinstance(found, Foreign):
        return Refused(codes.ARTIFACT_FILE_FOREIGN.at(path=place.name, reason=found.reason))
    diagnostic = codes.ARTIFACT_FILE_EDITED.at(path=place.name)
    repaired = _human_delta(desk, version.thread_id, found)
    return EditedByHand(diagnostic._replace(repaired=repaired), found.difference, found.others)


def _human_delta(desk: Desk, thread_id: str, found: Edited) -> str | None:
    """The message that would bring the changes in, as far as deltas can make them."""
    if not found.edits.deltas:
        return None
    from brenner.artifact.hand_edits import human_delta

    arrived = desk.mailbox.thread_arrivals(thread_id, 0)
    writers = dict.fromkeys(stored.message.sender for stored in arrived)
    others = tuple(name for name in writers if name != desk.actor)
    return human_delta(found.edits, thread_id, found.base, desk.actor, others or (desk.actor,))


# The repository


class Home(NamedTuple):
    """Where the commit goes; `notes` are what whoever commits there should know."""

    repository: "Repository"
    destination: "Destination | None"
    notes: tuple[Diagnostic, ...]


def check_repository(
    project: Project, place: Place, options: PersistOptions, files: Mapping[str, bytes]
) -> Home:
    """The repository that holds the files, if a commit and a push can be made there.

    `files` are the contents by the names of the files. Where all of them are committed already,
    nothing is in the way of that.
    """
    from brenner.persist.git import Repository
    from brenner.persist.push import destination_of

    folder = place.folder if place.folder.is_dir() else place.folder.parent
    repository = Repository.find(folder)
    own = project.folder.resolve()
    if own in repository.top.parents and is_in_repository(own):
        repository = repository._replace(outer=repository.outer or own)
    destination = destination_of(repository) if options.push else None
    contents = {repository.path_of(place.folder / name): data for name, data in files.items()}
    is_done = repository.has(contents)
    notes = repository.notes() if is_done else repository.check(contents)
    return Home(repository, destination, notes)
