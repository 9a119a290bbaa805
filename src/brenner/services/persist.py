"""Persist a version: write its file, commit, push, send the INFO message (R19), compare files.

Every step does only what is missing, so repeating the command finishes an interrupted one.
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
from brenner.mail.model import SendResult, StoredMessage
from brenner.markdown.blocks import parse_blocks
from brenner.markdown.escape import read_fields
from brenner.persist.artifact_file import (
    ARTIFACTS,
    ArtifactPaths,
    EditedFile,
    ForeignFile,
    NewerFile,
    Versions,
    VersionText,
    WriteObstacle,
    artifact_paths,
    canonical_text,
    check_writable,
    file_text,
    find_write_obstacle,
    is_in_repository,
    read_file,
    relative_to_cwd,
)
from brenner.persist.files import has_content, thread_lock, write_atomically, write_own_file
from brenner.persist.git import (
    Persistence,
    persistence_of,
)
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.protocol.thread_ids import cross_reference
from brenner.services.publish import send_if_absent
from brenner.services.workspace import Workspace
from brenner.session.rebuild import text_hash
from brenner.session.versions import VersionHistory
from brenner.text import MOST_SHOWN_CHARACTERS, escape_control

if TYPE_CHECKING:
    from brenner.persist.commit import PushDestination
    from brenner.persist.git import Repository


# Checks before a version is persisted: its path, its file, its repository


class PersistOptions(NamedTuple):
    """Options of persisting. A push implies a commit.

    `force` overwrites a changed file; with `seen`, only if the file still has that digest. An
    existing archive is updated even if `archive` is not set.
    """

    commit: bool = False
    push: bool = False
    archive: bool = False
    force: bool = False
    seen: str | None = None

    @property
    def is_commit(self) -> bool:
        """Return whether a commit is requested."""
        return self.commit or self.push


# The files


def check_files(
    workspace: Workspace,
    version: VersionText,
    versions: Versions,
    options: PersistOptions,
    place: ArtifactPaths,
) -> None:
    """Raise if writing would overwrite content that is not known to be in the mail."""
    check_writable(place.file, place.name)
    found = find_write_obstacle(place.file, version, versions)
    if isinstance(found, NewerFile) or (found and not options.force):
        raise _file_error(workspace, version, place, found)
    if found and options.seen not in (None, file_digest(workspace.project, version.thread_id)):
        raise RequestError(FILE_OVERTAKEN.at(path=place.name))
    if should_write_archive(options, place):
        _check_archive(workspace, version.thread_id, options, place)


def file_digest(project: Project, thread_id: str) -> str:
    """Return the digest of a session's file, or `NO_FILE`."""
    try:
        return sha256(artifact_paths(project, thread_id).file.read_bytes()).hexdigest()
    except (OSError, RequestError):  # `check_writable` reports the reason
        return NO_FILE


NO_FILE = "none"


def should_write_archive(options: PersistOptions, place: ArtifactPaths) -> bool:
    """Return whether to write the archive: if requested, or if one exists already.

    An outdated archive would verify fewer versions than the file has, without notice.
    """
    return options.archive or os.path.lexists(place.archive)


def _check_archive(
    workspace: Workspace, thread_id: str, options: PersistOptions, place: ArtifactPaths
) -> None:
    from brenner.services.archive import archive_conflict
    from brenner.services.version_store import altered_in_thread

    check_writable(place.archive, place.archive_name)
    for found in altered_in_thread(workspace.mailbox, thread_id):
        raise RequestError(found)
    reason = archive_conflict(workspace.mailbox, thread_id, place.archive, place.archive_name)
    if reason and not options.force:
        raise RequestError(codes.ARCHIVE_FILE_FOREIGN.at(path=place.archive_name, reason=reason))


def _file_error(
    workspace: Workspace, version: VersionText, place: ArtifactPaths, found: WriteObstacle
) -> RequestError:
    if isinstance(found, NewerFile):
        words = {"path": place.name, "value": str(found.number), "version": str(version.number)}
        return RequestError(codes.ARTIFACT_FILE_NEWER.at(None, **words))
    if isinstance(found, ForeignFile):
        return RequestError(codes.ARTIFACT_FILE_FOREIGN.at(path=place.name, reason=found.reason))

    return edited_file_error(workspace, version.thread_id, place.name, found)


# The repository


class CommitTarget(NamedTuple):
    """The repository and branch to commit to, and the contents by their paths in the repository.

    `notes` are for the operator.
    """

    repository: "Repository"
    destination: "PushDestination | None"
    contents: Mapping[str, bytes]
    notes: tuple[Diagnostic, ...]


def check_repository(
    project: Project, place: ArtifactPaths, options: PersistOptions, files: Mapping[str, bytes]
) -> CommitTarget:
    """Return the commit target for the files; raise if a commit or a push cannot be made there.

    `files` are the contents by file name. If all of them are committed already, nothing can block.
    """
    from brenner.persist.commit import find_push_destination
    from brenner.persist.git import Repository

    folder = place.folder if place.folder.is_dir() else place.folder.parent
    repository = Repository.find(folder)
    own = project.folder.resolve()
    if own in repository.top.parents and is_in_repository(own):
        repository = repository._replace(superproject=repository.superproject or own)
    destination = find_push_destination(repository) if options.push else None
    contents = {repository.path_of(place.folder / name): data for name, data in files.items()}
    archive = repository.path_of(place.archive)
    if archive in contents and not options.archive and repository.ignores(archive):
        del contents[archive]  # the repository ignores the existing archive
    is_done = repository.has(contents)
    notes = repository.notes() if is_done else repository.check(contents)
    return CommitTarget(repository, destination, contents, notes)


# A file that a person has edited: the error, with a message that contains the edits


_DELTA_FILE = "human.md"
_COPY_ELSEWHERE = "copy them to another place: no delta can make them"
_SEND_BY_HAND = (
    "save the message that is given here as FILE, send it with `brenner mail send FILE`, and run "
    "this command again"
)


class EditedByHand(RequestError):
    """The file has changes that are in no version.

    The diagnostic's `repaired` is the message that would bring them in, if deltas can. `difference`
    is the output of `diff -u` between version and file. `others` describes changes that no delta
    can make.
    """

    def __init__(
        self, diagnostic: Diagnostic, difference: str, others: tuple[str, ...] = ()
    ) -> None:
        super().__init__(diagnostic)
        self.difference = difference
        self.others = others

    @property
    def details(self) -> tuple[str, ...]:
        """Return the difference, and the changes that no delta can make."""
        return (
            self.difference,
            *(f"No delta can make this change: {each}" for each in self.others),
        )


def edited_file_error(
    workspace: Workspace, thread_id: str, name: str, found: EditedFile
) -> EditedByHand:
    """Return the error, and write the message with the edits to a file that can be sent."""
    delta = _human_delta(workspace, thread_id, found)
    advice = _send_advice(workspace.project, thread_id, delta) if delta else _COPY_ELSEWHERE
    diagnostic = codes.ARTIFACT_FILE_EDITED.at(path=name, advice=advice)
    return EditedByHand(diagnostic._replace(repaired=delta), found.difference, found.others)


def _human_delta(workspace: Workspace, thread_id: str, found: EditedFile) -> str | None:
    """Return the message that would bring the changes in, as far as deltas can make them."""
    if not found.edits.deltas:
        return None
    from brenner.artifact.manual_edits import render_edit_message

    arrived = workspace.mailbox.thread_arrivals(thread_id, 0)
    known = {agent.name for agent in workspace.mailbox.agents()} - {workspace.actor}
    writers = dict.fromkeys(stored.message.sender for stored in arrived)
    others = tuple(name for name in writers if name in known)
    return render_edit_message(
        found.edits, thread_id, found.base, workspace.actor, others or (workspace.actor,)
    )


def _send_advice(project: Project, thread_id: str, delta: str) -> str:
    """Return how to send the message: with one command, if it could be written to a file."""
    with suppress(UnavailableError):  # the message is shown anyway
        file = write_own_file(project, thread_id, _DELTA_FILE, delta.encode())
        advice = f"send them with `{_send_command(project, file)}`, then run this command again"
        if (
            advice.isprintable() and len(advice) <= MOST_SHOWN_CHARACTERS
        ):  # it must be shown unchanged
            return advice
    return _SEND_BY_HAND


def _send_command(project: Project, file: Path) -> str:
    """Return the command that sends a message file from the current folder."""
    command = f"brenner mail send {quote(relative_to_cwd(file))}"
    own = project.folder.resolve()
    here = Path.cwd()
    is_here = here == own or own in here.parents
    return command if is_here else f"{command} --project {quote(str(project.folder))}"


# The INFO message about a persisted version: once per thread, version and status


WRITTEN, COMMITTED, PUSHED = PERSIST_STATUSES = ("Written", "Committed", "Committed and pushed")
_SHORT_COMMIT = 12  # characters of a commit's id


def info_message(version: VersionText, path: str, status: str, commit: str | None) -> Message:
    """Return the INFO message of the publish document, without sender and recipients."""
    lines = [f"- **Path**: {path}"]
    lines += [f"- **Git Commit**: {commit[:_SHORT_COMMIT]}"] if commit else []
    lines += [f"- **Status**: {status}"]
    body = "# Artifact Persisted\n\n" + "\n".join(lines) + "\n"
    subject = compose_subject("INFO", f"Artifact v{version.number} persisted to repository")
    return Message(version.thread_id, "", (), subject, body)


def send_info(mailbox: Mailbox, message: Message, version: VersionText, status: str) -> SendResult:
    """Send the INFO message, unless the thread has it, or one with a further status."""
    key = f"persisted {version.message_id} {status}"
    return send_if_absent(
        mailbox, message, lambda: _find_info(mailbox, message, version, status), key=key
    )


def _find_info(
    mailbox: Mailbox, message: Message, version: VersionText, status: str
) -> StoredMessage | None:
    """Return the first INFO message with this status of the version, or a further one."""
    after = mailbox.message(version.message_id).arrival
    enough = PERSIST_STATUSES[PERSIST_STATUSES.index(status) :]
    for stored in mailbox.thread_arrivals(version.thread_id, after):
        if stored.message.subject == message.subject:
            values = {
                each.name: each.value for each in read_fields(parse_blocks(stored.message.body))
            }
            if values.get("Status") in enough:
                return stored
    return None


class PersistResult(NamedTuple):
    """The result of persisting a version.

    `words` is how far it came, and `info` the message that reports it. `archive` is the path of the
    thread's mail, if it was written. `commit` is the latest one with the file or the archive; the
    commit in `persistence` is the one with the version.
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
    """Raise foreseeable failures before posting, and mention that nothing was published.

    It writes nothing except the message with a person's edits.
    """
    try:
        place = artifact_paths(workspace.project, version.thread_id)
        check_files(workspace, version, versions, options, place)
        if options.is_commit:
            archive = [place.archive.name] if should_write_archive(options, place) else []
            names = [place.file.name, *archive]
            check_repository(workspace.project, place, options, dict.fromkeys(names, b""))
    except BrennerError as error:
        found = error.diagnostic
        end = "" if found.message.endswith((".", "!", "?", "…")) else "."
        error.diagnostic = found._replace(message=f"{found.message}{end} {_NOT_PUBLISHED}")
        raise


_NOT_PUBLISHED = "Nothing was published."


def persist(
    workspace: Workspace,
    version: VersionText,
    versions: Versions,
    options: PersistOptions,
    recipients: tuple[str, ...],
) -> PersistResult:
    """Persist a version that is posted.

    A failed push is raised after everything before it is done and reported.
    """
    place = artifact_paths(workspace.project, version.thread_id)
    with thread_lock(workspace.project, version.thread_id):
        check_files(workspace, version, versions, options, place)
        files = _file_contents(workspace, version, options, place)
        target = (
            check_repository(workspace.project, place, options, files)
            if options.is_commit
            else None
        )
        for name, data in files.items():
            if not has_content(place.folder / name, data):
                write_atomically(place.folder / name, data)
        persistence, commit, failure = _commit_and_push(workspace, version, place, target)
        status = _persist_status(target, failure)
        message = info_message(version, place.name, status, persistence.commit if target else None)
        message = message._replace(sender=workspace.actor, recipients=recipients)
        sent = send_info(workspace.mailbox, message, version, status)
    if failure:
        raise failure
    notes = target.notes if target else ()
    archive = place.archive_name if place.archive.name in files else None
    return PersistResult(
        *(persistence, status, sent.stored, sent.is_new, notes), archive, commit, version.number
    )


def _file_contents(
    workspace: Workspace, version: VersionText, options: PersistOptions, place: ArtifactPaths
) -> dict[str, bytes]:
    """Return the contents to write, by file name."""
    files = {place.file.name: file_text(place.file, version).encode()}
    if should_write_archive(options, place):
        from brenner.services.archive import thread_archive

        files[place.archive.name] = thread_archive(workspace.mailbox, version)
    return files


_ARCHIVE_ALONE = "mail archive"  # the summary of a commit that has nothing else


def _commit_and_push(
    workspace: Workspace, version: VersionText, place: ArtifactPaths, target: CommitTarget | None
) -> tuple[Persistence, str | None, UnavailableError | None]:
    """Commit and push as requested. Return the persistence, the latest commit, the push error."""
    if target is None:
        persistence = persistence_of(workspace.project, version.thread_id, version.text)
        return persistence, persistence.commit, None
    from brenner.persist.commit import commit_message, commit_only, push

    repository = target.repository
    path = repository.path_of(place.file)
    is_there = repository.has({path: target.contents[path]})
    summary = _ARCHIVE_ALONE if is_there else version.summary
    commit_only(
        repository, target.contents, commit_message(version.thread_id, version.number, summary)
    )
    commit = repository.last_commit_of(path)
    failure = None
    try:
        if target.destination:
            push(repository, target.destination)
    except UnavailableError as error:
        failure = error
    latest = repository.last_commit_of(*target.contents)
    return Persistence("Persisted", place.name, commit), latest, failure


def _persist_status(target: CommitTarget | None, failure: UnavailableError | None) -> str:
    if target is None:
        return WRITTEN
    return PUSHED if target.destination and not failure else COMMITTED


# Comparing the persisted file and its commits with the versions that they name


# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH112


_MOST_SHOWN = 60  # characters of a line that differs
_SHORT_HASH = 7

TextOf = Callable[[int], str | None]


class ComparedFile(NamedTuple):
    """A file, or its content in a commit, and the version that it claims to be.

    `difference` is how it differs from that version, or why it is none.
    """

    path: str
    commit: str | None
    version: int | None
    ok: bool
    difference: str = ""


def compare_files(
    project: Project, history: VersionHistory, text_of: TextOf
) -> tuple[ComparedFile, ...]:
    """Compare the file, and every committed content of it, with the versions.

    Without a file or a repository there is nothing to compare. The message id in the front matter
    is not compared (R18). Git errors are raised: a failed comparison must not look like an equal
    one.
    """
    return tuple(_compare(project, _KnownVersions(history, text_of)))


def _compare(project: Project, known: "_KnownVersions") -> Iterator[ComparedFile]:
    path = cross_reference(known.history.thread_id).artifact_path
    file = Path(os.path.realpath(project.folder / ARTIFACTS)) / Path(path).name
    text = read_file(file)
    if isinstance(text, ForeignFile):
        yield ComparedFile(path, None, None, ok=False, difference=text.reason)
    elif text is not None:
        yield known.compare(path, None, text)
    for commit, content in _committed_contents(file):
        try:
            yield known.compare(path, commit, content.decode())
        except UnicodeDecodeError:
            yield ComparedFile(path, commit, None, ok=False, difference="it is not UTF-8")


def _committed_contents(file: Path) -> Iterator[tuple[str, bytes]]:
    folder = file.parent
    while not os.path.isdir(folder) and folder != folder.parent:
        folder = folder.parent
    if not is_in_repository(folder):
        return
    from brenner.persist.git import Repository, committed_contents

    repository = Repository.find(folder)
    yield from committed_contents(repository, repository.path_of(file))


class _KnownVersions:
    """The versions of a thread, by the hash of their text.

    They include versions that the operator voided after they were persisted. Other COMPILED
    messages that are no version do not count: any agent can post one.
    """

    def __init__(self, history: VersionHistory, text_of: TextOf) -> None:
        self.history = history
        self._text_of = text_of
        void = [
            each
            for each in history.other_candidates
            if each.record and history.is_declared_void(each)
        ]
        self._numbers = {
            each.record.artifact_sha256: each.number for each in void if each.record
        } | {each.artifact_sha256: each.number for each in history.versions}

    def compare(self, path: str, commit: str | None, text: str) -> ComparedFile:
        """Compare one content with the version that its front matter names."""
        text = canonical_text(text)
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
        broken = self.history.broken_version
        if version is None and broken and number >= broken.number:
            return f"v{broken.number} cannot be rebuilt, so that v{number} cannot be compared"
        if version is None:
            return f"it says that it is v{number}, which is not in the mail"
        return _first_difference(text, version, number)


def _first_difference(text: str, version: str, number: int) -> str:
    pairs = zip_longest(text.split("\n"), version.split("\n"))
    for line, (here, there) in enumerate(pairs, 1):
        if here != there:
            return f"line {line} is {_quoted_line(here)}, and {_quoted_line(there)} in v{number}"
    return "its bytes differ"


def _quoted_line(line: str | None) -> str:
    return "missing" if line is None else f"`{escape_control(line, _MOST_SHOWN)}`"


def file_differs(found: ComparedFile, thread_id: str) -> Diagnostic:
    """Return the warning for a file or a commit that differs."""
    place = f"`{found.path}`"
    if found.commit:
        place += f" in commit {found.commit[:_SHORT_HASH]}"
    return FILE_DIFFERS.at(place=place, difference=found.difference, thread_id=thread_id)
