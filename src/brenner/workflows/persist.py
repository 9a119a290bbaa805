"""Persist a version: its file, its commit, a push, and the INFO message that says so (R19).

Every step looks at what is there and does what is missing. So one that was interrupted, wherever,
is finished by doing all of it again.
"""

from typing import NamedTuple

from brenner.diagnostics.errors import Unavailable
from brenner.diagnostics.model import Diagnostic
from brenner.mail.model import Stored
from brenner.persist.artifact_file import Versions, VersionText, filed
from brenner.persist.files import is_written, locked, write_whole
from brenner.persist.places import Place, place_of
from brenner.persist.states import Persistence, persistence_of, persistences
from brenner.workflows.desk import Desk
from brenner.workflows.persist_checks import (
    EditedByHand,
    Home,
    PersistOptions,
    check_files,
    check_repository,
)
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
]


class Persisted(NamedTuple):
    """What was done: `words` says how far it came, `info` is the message that says so."""

    persistence: Persistence
    words: str
    info: Stored | None
    is_new_info: bool
    notes: tuple[Diagnostic, ...]


def check_persistable(
    desk: Desk, version: VersionText, versions: Versions, options: PersistOptions
) -> None:
    """Raise what can be known to fail, before anything is posted. Nothing is written."""
    place = place_of(desk.project, version.thread_id)
    check_files(desk, version, versions, options, place)
    if options.is_commit:
        names = [place.file.name, *([place.archive.name] if options.archive else [])]
        check_repository(desk.project, place, options, dict.fromkeys(names, b""))


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
        persistence, failure = _in_git(desk, version, place, files, home)
        words = _words(home, failure)
        message = info_message(version, place.name, words, persistence.commit if home else None)
        message = message._replace(sender=desk.actor, recipients=recipients)
        sent = send_info(desk.mailbox, message, version, words)
    if failure:
        raise failure
    notes = home.notes if home else ()
    return Persisted(persistence, words, sent.stored, sent.is_new, notes)


def _files(
    desk: Desk, version: VersionText, options: PersistOptions, place: Place
) -> dict[str, bytes]:
    """What is to be written, by the names of the files."""
    files = {place.file.name: filed(place.file, version).encode()}
    if options.archive:
        from brenner.workflows.thread_archive import thread_archive

        files[place.archive.name] = thread_archive(desk.mailbox, version)
    return files


def _in_git(
    desk: Desk, version: VersionText, place: Place, files: dict[str, bytes], home: Home | None
) -> tuple[Persistence, Unavailable | None]:
    """Commit and push as far as wanted; how far it came, and why the push failed, if it did."""
    if home is None:
        return persistence_of(desk.project, version.thread_id, version.text), None
    from brenner.persist.commit import commit_message, commit_only
    from brenner.persist.push import push

    repository = home.repository
    paths = {repository.path_of(place.folder / name): data for name, data in files.items()}
    message = commit_message(version.thread_id, version.number, version.summary)
    commit_only(repository, paths, message)
    commit = repository.brought_in(repository.path_of(place.file))
    failure = None
    try:
        if home.destination:
            push(repository, home.destination)
    except Unavailable as error:
        failure = error
    return Persistence("Persisted", place.name, commit), failure


def _words(home: Home | None, failure: Unavailable | None) -> str:
    if home is None:
        return WRITTEN
    return PUSHED if home.destination and not failure else COMMITTED
