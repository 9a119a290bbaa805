"""Persist a version: its file, its commit, a push, and the INFO message that says so (R19).

Every step looks at what is there and does what is missing. So one that was interrupted, wherever,
is finished by doing all of it again.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from brenner.artifact.parse import parse_artifact
from brenner.config import Project
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.artifacts import FILE_DIFFERS
from brenner.diagnostics.codes.publishing import FILE_OVERTAKEN
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnavailableError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Sent, StoredMessage
from brenner.markdown.blocks import blocks
from brenner.markdown.escape import fields
from brenner.persist.artifact_file import (
    ARTIFACTS,
    Edited,
    Foreign,
    Newer,
    Obstacle,
    Place,
    Versions,
    VersionText,
    check_writable,
    filed,
    is_in_repository,
    obstacle,
    place_of,
    plain,
    read_file,
    typed,
)
from brenner.persist.files import is_written, locked, write_own, write_whole
from brenner.persist.git import (
    Persistence,
    persistence_of,
    persistences,
    persistences_by_digest,
    version_digest,
)
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.protocol.thread_ids import cross_reference
from brenner.services.publish import send_if_absent
from brenner.services.workspace import Workspace
from brenner.session.rebuild import text_hash
from brenner.session.versions import VersionHistory
from brenner.text import MOST_CHARACTERS, escape_control

if TYPE_CHECKING:
    from brenner.persist.commit import Destination
    from brenner.persist.git import Repository


# What can be known to fail before a version is persisted: its path, its file, its repository.


# Where one may not look, os.path says no and pathlib raises.


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
    workspace: Workspace,
    version: VersionText,
    versions: Versions,
    options: PersistOptions,
    place: Place,
) -> None:
    """Refuse to write over what is not known to be in the mail."""
    check_writable(place.file, place.name)
    found = obstacle(place.file, version, versions)
    if isinstance(found, Newer) or (found and not options.force):
        raise _refusal(workspace, version, place, found)
    if found and options.seen not in (None, file_digest(workspace.project, version.thread_id)):
        raise RequestError(FILE_OVERTAKEN.at(path=place.name))
    if has_archive(options, place):
        _check_archive(workspace, version.thread_id, options, place)


def file_digest(project: Project, thread_id: str) -> str:
    """What stands for the file of a session as it is now; also for that there is none."""
    try:
        return sha256(place_of(project, thread_id).file.read_bytes()).hexdigest()
    except (OSError, RequestError):  # what cannot be a file of ours is told elsewhere
        return NO_FILE


NO_FILE = "none"


def has_archive(options: PersistOptions, place: Place) -> bool:
    """Whether the archive is written: where it is asked for, and where there is one already.

    One that stays behind would verify less than the file holds, and nobody would notice.
    """
    return options.archive or os.path.lexists(place.archive)


def _check_archive(
    workspace: Workspace, thread_id: str, options: PersistOptions, place: Place
) -> None:
    from brenner.services.archive import archive_obstacle
    from brenner.services.version_store import altered_in_thread

    check_writable(place.archive, place.archive_name)
    for found in altered_in_thread(workspace.mailbox, thread_id):
        raise RequestError(found)
    reason = archive_obstacle(workspace.mailbox, thread_id, place.archive, place.archive_name)
    if reason and not options.force:
        raise RequestError(codes.ARCHIVE_FILE_FOREIGN.at(path=place.archive_name, reason=reason))


def _refusal(
    workspace: Workspace, version: VersionText, place: Place, found: Obstacle
) -> RequestError:
    if isinstance(found, Newer):
        words = {"path": place.name, "value": str(found.number), "version": str(version.number)}
        return RequestError(codes.ARTIFACT_FILE_NEWER.at(None, **words))
    if isinstance(found, Foreign):
        return RequestError(codes.ARTIFACT_FILE_FOREIGN.at(path=place.name, reason=found.reason))

    return edited_by_hand(workspace, version.thread_id, place.name, found)


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


# A file that a person has edited: the refusal, with the message that would bring the edits in.


_OFFERED = "human.md"
_NO_DELTA = "copy them to another place: no delta can make them"
_BY_HAND = (
    "save the message that is given here as FILE, send it with `brenner mail send FILE`, and run "
    "this command again"
)


class EditedByHand(RequestError):
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


def edited_by_hand(workspace: Workspace, thread_id: str, name: str, found: Edited) -> EditedByHand:
    """The refusal. The message is also written to a file of our own folder, ready to be sent."""
    delta = _human_delta(workspace, thread_id, found)
    advice = _advice(workspace.project, thread_id, delta) if delta else _NO_DELTA
    diagnostic = codes.ARTIFACT_FILE_EDITED.at(path=name, advice=advice)
    return EditedByHand(diagnostic._replace(repaired=delta), found.difference, found.others)


def _human_delta(workspace: Workspace, thread_id: str, found: Edited) -> str | None:
    """The message that would bring the changes in, as far as deltas can make them."""
    if not found.edits.deltas:
        return None
    from brenner.artifact.manual_edits import human_delta

    arrived = workspace.mailbox.thread_arrivals(thread_id, 0)
    known = {agent.name for agent in workspace.mailbox.agents()} - {workspace.actor}
    writers = dict.fromkeys(stored.message.sender for stored in arrived)
    others = tuple(name for name in writers if name in known)
    return human_delta(
        found.edits, thread_id, found.base, workspace.actor, others or (workspace.actor,)
    )


def _advice(project: Project, thread_id: str, delta: str) -> str:
    """How the message is sent: by one command, if it could be written to a file."""
    with suppress(UnavailableError):  # without it the message is still shown
        file = write_own(project, thread_id, _OFFERED, delta.encode())
        advice = f"send them with `{_command(project, file)}`, then run this command again"
        if advice.isprintable() and len(advice) <= MOST_CHARACTERS:  # it is shown as it is
            return advice
    return _BY_HAND


def _command(project: Project, file: Path) -> str:
    """The command that sends a message file from where one is."""
    command = f"brenner mail send {quote(typed(file))}"
    own = project.folder.resolve()
    here = Path.cwd()
    is_here = here == own or own in here.parents
    return command if is_here else f"{command} --project {quote(str(project.folder))}"


# The INFO message about a version that was persisted: once per thread, version and words.


WRITTEN, COMMITTED, PUSHED = WORDS = ("Written", "Committed", "Committed and pushed")
_SHORT = 12  # characters of a commit's id


def info_message(version: VersionText, path: str, words: str, commit: str | None) -> Message:
    """The message of the publish document; sender and recipients are for whoever sends it."""
    lines = [f"- **Path**: {path}"]
    lines += [f"- **Git Commit**: {commit[:_SHORT]}"] if commit else []
    lines += [f"- **Status**: {words}"]
    body = "# Artifact Persisted\n\n" + "\n".join(lines) + "\n"
    subject = compose_subject("INFO", f"Artifact v{version.number} persisted to repository")
    return Message(version.thread_id, "", (), subject, body)


def send_info(mailbox: Mailbox, message: Message, version: VersionText, words: str) -> Sent:
    """Send it, unless the thread has it, or says more about this version already."""
    key = f"persisted {version.message_id} {words}"
    return send_if_absent(
        mailbox, message, lambda: _said_before(mailbox, message, version, words), key=key
    )


def _said_before(
    mailbox: Mailbox, message: Message, version: VersionText, words: str
) -> StoredMessage | None:
    """The first message that says this much of the version, or more."""
    after = mailbox.message(version.message_id).arrival
    enough = WORDS[WORDS.index(words) :]
    for stored in mailbox.thread_arrivals(version.thread_id, after):
        if stored.message.subject == message.subject:
            said = {each.name: each.value for each in fields(blocks(stored.message.body))}
            if said.get("Status") in enough:
                return stored
    return None


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
    info: StoredMessage | None
    is_new_info: bool
    notes: tuple[Diagnostic, ...]
    archive: str | None = None
    commit: str | None = None
    version: int = 0


def check_persistable(
    workspace: Workspace, version: VersionText, versions: Versions, options: PersistOptions
) -> None:
    """Raise what can be known to fail, before anything is posted, and say that nothing was.

    Nothing is written but the message that would bring a person's edits in.
    """
    try:
        place = place_of(workspace.project, version.thread_id)
        check_files(workspace, version, versions, options, place)
        if options.is_commit:
            archive = [place.archive.name] if has_archive(options, place) else []
            names = [place.file.name, *archive]
            check_repository(workspace.project, place, options, dict.fromkeys(names, b""))
    except BrennerError as error:
        found = error.diagnostic
        end = "" if found.message.endswith((".", "!", "?", "…")) else "."
        error.diagnostic = found._replace(message=f"{found.message}{end} {_NOTHING}")
        raise


_NOTHING = "Nothing was published."


def persist(
    workspace: Workspace,
    version: VersionText,
    versions: Versions,
    options: PersistOptions,
    recipients: tuple[str, ...],
) -> Persisted:
    """Persist a version that is posted.

    A push that fails is raised when everything before it is done and said.
    """
    place = place_of(workspace.project, version.thread_id)
    with locked(workspace.project, version.thread_id):
        check_files(workspace, version, versions, options, place)
        files = _files(workspace, version, options, place)
        home = (
            check_repository(workspace.project, place, options, files)
            if options.is_commit
            else None
        )
        for name, data in files.items():
            if not is_written(place.folder / name, data):
                write_whole(place.folder / name, data)
        persistence, commit, failure = _in_git(workspace, version, place, home)
        words = _words(home, failure)
        message = info_message(version, place.name, words, persistence.commit if home else None)
        message = message._replace(sender=workspace.actor, recipients=recipients)
        sent = send_info(workspace.mailbox, message, version, words)
    if failure:
        raise failure
    notes = home.notes if home else ()
    archive = place.archive_name if place.archive.name in files else None
    return Persisted(
        *(persistence, words, sent.stored, sent.is_new, notes), archive, commit, version.number
    )


def _files(
    workspace: Workspace, version: VersionText, options: PersistOptions, place: Place
) -> dict[str, bytes]:
    """What is to be written, by the names of the files."""
    files = {place.file.name: filed(place.file, version).encode()}
    if has_archive(options, place):
        from brenner.services.archive import thread_archive

        files[place.archive.name] = thread_archive(workspace.mailbox, version)
    return files


_ARCHIVE_ALONE = "mail archive"  # the summary of a commit that has nothing else


def _in_git(
    workspace: Workspace, version: VersionText, place: Place, home: Home | None
) -> tuple[Persistence, str | None, UnavailableError | None]:
    """Commit and push as far as wanted; how far it came, the commit, why the push failed."""
    if home is None:
        persistence = persistence_of(workspace.project, version.thread_id, version.text)
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
    except UnavailableError as error:
        failure = error
    latest = repository.brought_in(*home.contents)
    return Persistence("Persisted", place.name, commit), latest, failure


def _words(home: Home | None, failure: UnavailableError | None) -> str:
    if home is None:
        return WRITTEN
    return PUSHED if home.destination and not failure else COMMITTED


# Compare the persisted file and the commits of a thread with the versions that they name.


# os.path answers "no" for a folder that may not be read; pathlib raises.
# ruff: noqa: PTH112


_MOST_SHOWN = 60  # characters of a line that differs
_SHORT_HASH = 7

TextOf = Callable[[int], str | None]


class ComparedFile(NamedTuple):
    """A file, or its content in a commit, and the version that it says it is.

    `difference` says how it differs from that version, or why it is none.
    """

    path: str
    commit: str | None
    version: int | None
    ok: bool
    difference: str = ""


def compared_files(
    project: Project, history: VersionHistory, text_of: TextOf
) -> tuple[ComparedFile, ...]:
    """Compare the file, and every content that the history of its repository has of it.

    Without a file or a repository there is nothing to compare. The message id in the front matter
    is not compared (R18). Raise what git raises: a comparison that failed must not look like one
    that found no difference.
    """
    return tuple(_compared(project, _Known(history, text_of)))


def _compared(project: Project, known: "_Known") -> Iterator[ComparedFile]:
    path = cross_reference(known.history.thread_id).artifact_path
    file = Path(os.path.realpath(project.folder / ARTIFACTS)) / Path(path).name
    text = read_file(file)
    if isinstance(text, Foreign):
        yield ComparedFile(path, None, None, ok=False, difference=text.reason)
    elif text is not None:
        yield known.compare(path, None, text)
    for commit, content in _committed(file):
        try:
            yield known.compare(path, commit, content.decode())
        except UnicodeDecodeError:
            yield ComparedFile(path, commit, None, ok=False, difference="it is not UTF-8")


def _committed(file: Path) -> Iterator[tuple[str, bytes]]:
    folder = file.parent
    while not os.path.isdir(folder) and folder != folder.parent:
        folder = folder.parent
    if not is_in_repository(folder):
        return
    from brenner.persist.git import Repository, contents

    repository = Repository.find(folder)
    yield from contents(repository, repository.path_of(file))


class _Known:
    """The versions of a thread, by the hash of their text.

    A file may also be a version that the operator voided after it was persisted. Other COMPILED
    messages that are no version do not count: any agent can post one.
    """

    def __init__(self, history: VersionHistory, text_of: TextOf) -> None:
        self.history = history
        self._text_of = text_of
        void = [each for each in history.spare if each.record and history.is_declared_void(each)]
        self._numbers = {
            each.record.artifact_sha256: each.number for each in void if each.record
        } | {each.artifact_sha256: each.number for each in history.versions}

    def compare(self, path: str, commit: str | None, text: str) -> ComparedFile:
        """Compare one content with the version that its front matter names."""
        text = plain(text)
        number = self._numbers.get(text_hash(text))
        if number is not None:
            return ComparedFile(path, commit, number, ok=True)
        metadata = parse_artifact(text).artifact.metadata
        difference = self._difference(text, metadata.version, metadata.session_id)
        return ComparedFile(path, commit, metadata.version, ok=False, difference=difference)

    def _difference(self, text: str, number: int | None, session: str | None) -> str:
        if number is None:
            return "it has no front matter that gives a version"
        if session != self.history.thread_id:
            return f"it belongs to the session `{escape_control(session or '')}`"
        version = self._text_of(number)
        broken = self.history.broken
        if version is None and broken and number >= broken.number:
            return f"v{broken.number} cannot be rebuilt, so that v{number} cannot be compared"
        if version is None:
            return f"it says that it is v{number}, which is not in the mail"
        return _first_difference(text, version, number)


def _first_difference(text: str, version: str, number: int) -> str:
    pairs = zip_longest(text.split("\n"), version.split("\n"))
    for line, (here, there) in enumerate(pairs, 1):
        if here != there:
            return f"line {line} is {_shown(here)}, and {_shown(there)} in v{number}"
    return "its bytes differ"


def _shown(line: str | None) -> str:
    return "missing" if line is None else f"`{escape_control(line, _MOST_SHOWN)}`"


def file_note(found: ComparedFile, thread_id: str) -> Diagnostic:
    """Return the warning for a file or a commit that differs."""
    place = f"`{found.path}`"
    if found.commit:
        place += f" in commit {found.commit[:_SHORT_HASH]}"
    return FILE_DIFFERS.at(place=place, difference=found.difference, thread_id=thread_id)
