"""Persist a version: its file, its commit, a push, and the INFO message that says so (R19).

Every step looks at what is there and does what is missing. So one that was interrupted, wherever,
is finished by doing all of it again.
"""

from typing import NamedTuple

from brenner.diagnostics.model import BrennerError, Diagnostic, Unavailable
from brenner.mail.model import Stored
from brenner.persist.artifact_file import Place, Versions, VersionText, filed, place_of
from brenner.persist.files import is_written, locked, write_whole
from brenner.persist.git import (
    Persistence,
    persistence_of,
    persistences,
    persistences_by_digest,
    version_digest,
)
from brenner.workflows.desk import Desk
from brenner.workflows.persist_checks import (
    Home,
    PersistOptions,
    check_files,
    check_repository,
    has_archive,
)
from brenner.workflows.persist_edits import EditedByHand
from brenner.workflows.persist_info import COMMITTED, PUSHED, WRITTEN, info_message, send_info

__all__ = [
    "EditedByHand",
    "PersistOptions",
    "Persisted",
    "Persistence",
    "VersionText",
    "Versions",
    "check_persistable",
    "persist",
    "persistence_of",
    "persistences",
    "persistences_by_digest",
    "version_digest",
]


class Persisted(NamedTuple):
    """What was done with which version: `words` says how far it came, `info` is the message that
    says so.

    `archive` is the path of the thread's mail, where it was written along. `commit` is the latest
    one that brought in the file or the archive; the one of `persistence` brought in the version.
    """

    persistence: Persistence
    words: str
    info: Stored | None
    is_new_info: bool
    notes: tuple[Diagnostic, ...]
    archive: str | None = None
    commit: str | None = None
    version: int = 0


def check_persistable(
    desk: Desk, version: VersionText, versions: Versions, options: PersistOptions
) -> None:
    """Raise what can be known to fail, before anything is posted, and say that nothing was.

    Nothing is written but the message that would bring a person's edits in.
    """
    try:
        place = place_of(desk.project, version.thread_id)
        check_files(desk, version, versions, options, place)
        if options.is_commit:
            archive = [place.archive.name] if has_archive(options, place) else []
            names = [place.file.name, *archive]
            check_repository(desk.project, place, options, dict.fromkeys(names, b""))
    except BrennerError as error:
        found = error.diagnostic
        end = "" if found.message.endswith((".", "!", "?", "…")) else "."
        error.diagnostic = found._replace(message=f"{found.message}{end} {_NOTHING}")
        raise


_NOTHING = "Nothing was published."


def persist(
    desk: Desk,
    version: VersionText,
    versions: Versions,
    options: PersistOptions,
    recipients: tuple[str, ...],
) -> Persisted:
    """Persist a version that is posted.

    A push that fails is raised when everything before it is done and said.
    """
    place = place_of(desk.project, version.thread_id)
    with locked(desk.project, version.thread_id):
        check_files(desk, version, versions, options, place)
        files = _files(desk, version, options, place)
        home = check_repository(desk.project, place, options, files) if options.is_commit else None
        for name, data in files.items():
            if not is_written(place.folder / name, data):
                write_whole(place.folder / name, data)
        persistence, commit, failure = _in_git(desk, version, place, home)
        words = _words(home, failure)
        message = info_message(version, place.name, words, persistence.commit if home else None)
        message = message._replace(sender=desk.actor, recipients=recipients)
        sent = send_info(desk.mailbox, message, version, words)
    if failure:
        raise failure
    notes = home.notes if home else ()
    archive = place.archive_name if place.archive.name in files else None
    return Persisted(
        *(persistence, words, sent.stored, sent.is_new, notes), archive, commit, version.number
    )


def _files(
    desk: Desk, version: VersionText, options: PersistOptions, place: Place
) -> dict[str, bytes]:
    """What is to be written, by the names of the files."""
    files = {place.file.name: filed(place.file, version).encode()}
    if has_archive(options, place):
        from brenner.workflows.thread_archive import thread_archive

        files[place.archive.name] = thread_archive(desk.mailbox, version)
    return files


_ARCHIVE_ALONE = "mail archive"  # the summary of a commit that has nothing else


def _in_git(
    desk: Desk, version: VersionText, place: Place, home: Home | None
) -> tuple[Persistence, str | None, Unavailable | None]:
    """Commit and push as far as wanted; how far it came, the commit, why the push failed."""
    if home is None:
        persistence = persistence_of(desk.project, version.thread_id, version.text)
        return persistence, persistence.commit, None
    from brenner.persist.commit import commit_message, commit_only, push

    repository = home.repository
    path = repository.path_of(place.file)
    is_there = repository.has({path: home.contents[path]})
    summary = _ARCHIVE_ALONE if is_there else version.summary
    commit_only(
        repository, home.contents, commit_message(version.thread_id, version.number, summary)
    )
    commit = repository.brought_in(path)
    failure = None
    try:
        if home.destination:
            push(repository, home.destination)
    except Unavailable as error:
        failure = error
    latest = repository.brought_in(*home.contents)
    return Persistence("Persisted", place.name, commit), latest, failure


def _words(home: Home | None, failure: Unavailable | None) -> str:
    if home is None:
        return WRITTEN
    return PUSHED if home.destination and not failure else COMMITTED
