"""Persist a version: write its file, commit, push, send the INFO message (R19), compare files.

Every step does only what is missing, so repeating the command finishes an interrupted one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from brenner.artifact.parse import parse_artifact
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.artifacts import FILE_AHEAD_OF_MAIL, FILE_DIFFERS
from brenner.diagnostics.codes.publishing import FILE_OVERTAKEN
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnavailableError
from brenner.markdown.blocks import parse_blocks
from brenner.markdown.escape import read_fields
from brenner.named_tuple import NamedTuple
from brenner.persist.artifact_file import (
    ARTIFACTS,
    ArtifactPaths,
    ForeignFileError,
    Versions,
    VersionText,
    artifact_paths,
    canonical_text,
    check_writable,
    file_text,
    find_hand_edits,
    is_in_repository,
    read_file,
    relative_to_cwd,
)
from brenner.persist.files import has_content, thread_lock, write_atomically, write_own_file
from brenner.persist.git import Persistence, persistence_of
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.protocol.thread_ids import cross_reference
from brenner.services.publish import send_if_absent
from brenner.session.rebuild import first_difference, text_hash
from brenner.text import MOST_SHOWN_CHARACTERS, escape_control, short_commit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from brenner.artifact.manual_edits import HandEdits
    from brenner.artifact.model import Metadata
    from brenner.config import Project
    from brenner.mail.mailbox import Mailbox
    from brenner.mail.model import SendResult
    from brenner.persist.commit import PushDestination
    from brenner.persist.git import Repository
    from brenner.protocol.messages import StoredMessage
    from brenner.services.workspace import Workspace
    from brenner.session.versions import VersionHistory


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
        return self.commit or self.push


# The files


def check_files(
    workspace: Workspace,
    version: VersionText,
    versions: Versions,
    options: PersistOptions,
    *,
    is_preview: bool = False,
) -> None:
    """Raise if writing would overwrite content that is not known to be in the mail.

    For a file that a person has edited, write the message with these edits, unless `is_preview`.
    """
    place = artifact_paths(workspace.project, version.thread_id)
    check_writable(place.file, place.name)
    is_overwritten = True
    try:
        found = find_hand_edits(place.file, version, versions)
        if found and not options.force:
            raise _edited_file_error(workspace, version.thread_id, *found, is_preview=is_preview)
        is_overwritten = found is not None
    except ForeignFileError as error:
        if not options.force:
            diagnostic = codes.ARTIFACT_FILE_FOREIGN.at(path=place.name, reason=str(error))
            raise RequestError(diagnostic) from None
    digest = file_digest(workspace.project, version.thread_id)
    if is_overwritten and options.seen not in (None, digest):
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


# The repository


def check_repository(
    project: Project, place: ArtifactPaths, options: PersistOptions, files: Mapping[str, bytes]
) -> tuple[Repository, Mapping[str, bytes], PushDestination | None, tuple[Diagnostic, ...]]:
    """Return the repository, the contents by their paths in it, where to push to, and notes.

    Raise if a commit or a push cannot be made there. `files` are the contents by file name. If all
    of them are committed already, nothing can block.
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
    return repository, contents, destination, notes


# A file that a person has edited: the error, with a message that contains the edits


_DELTA_FILE = "human.md"
_COPY_ELSEWHERE = "copy them to another place, because no delta can make them"
_SEND_BY_HAND = (
    "save the message below as FILE, send it with `brenner mail send FILE`, and run this command "
    "again"
)


def _edited_file_error(
    workspace: Workspace, thread_id: str, edits: HandEdits, difference: str, *, is_preview: bool
) -> RequestError:
    """Return the error, and write the message with the edits to a file that can be sent.

    The diagnostic's `repaired` is that message, if deltas can make the edits. The details are the
    output of `diff -u` between version and file, and the changes that no delta can make.
    """
    delta = _human_delta(workspace, thread_id, edits)
    advice = _SEND_BY_HAND if delta else _COPY_ELSEWHERE
    if delta and not is_preview:
        advice = _send_advice(workspace.project, thread_id, delta)
    path = cross_reference(thread_id).artifact_path
    diagnostic = codes.ARTIFACT_FILE_EDITED.at(path=path, advice=advice)
    others = (f"A delta cannot express this change: {each}" for each in edits.other)
    return RequestError(diagnostic._replace(repaired=delta), (difference, *others))


def _human_delta(workspace: Workspace, thread_id: str, edits: HandEdits) -> str | None:
    """Return the message that would bring the changes in, as far as deltas can make them."""
    if not edits.deltas:
        return None
    from brenner.artifact.manual_edits import render_edit_message

    arrived = workspace.mailbox.thread_arrivals(thread_id, 0)
    known = {agent.name for agent in workspace.mailbox.agents()} - {workspace.actor}
    writers = dict.fromkeys(stored.message.sender for stored in arrived)
    others = tuple(name for name in writers if name in known)
    base = edits.version.metadata.version or 0
    return render_edit_message(
        edits, thread_id, base, workspace.actor, others or (workspace.actor,)
    )


def _send_advice(project: Project, thread_id: str, delta: str) -> str:
    """Return how to send the message: with one command, if it could be written to a file."""
    with suppress(UnavailableError):  # the message is shown anyway
        file = write_own_file(project, thread_id, _DELTA_FILE, delta.encode())
        command = f"brenner mail send {quote(relative_to_cwd(file))}"
        if not Path.cwd().is_relative_to(project.folder.resolve()):
            command += f" --project {quote(str(project.folder))}"
        advice = f"send them with `{command}`, then run this command again"
        # It must be shown unchanged.
        if advice.isprintable() and len(advice) <= MOST_SHOWN_CHARACTERS:
            return advice
    return _SEND_BY_HAND


# The INFO message about a persisted version: once per thread, version and status


WRITTEN, COMMITTED, PUSHED = PERSIST_STATUSES = ("Written", "Committed", "Committed and pushed")


def info_message(version: VersionText, path: str, status: str, commit: str | None) -> Message:
    """Return the INFO message of the publish document, without sender and recipients."""
    lines = [f"- **Path**: {path}"]
    lines += [f"- **Git Commit**: {short_commit(commit)}"] if commit else []
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
    commit in `persistence` is the one with the version. `is_new` is whether a commit was made now;
    without a commit, whether the file was written.
    """

    persistence: Persistence
    words: str
    info: StoredMessage | None
    is_new_info: bool
    notes: tuple[Diagnostic, ...]
    archive: str | None = None
    commit: str | None = None
    version: int = 0
    is_new: bool = True


def check_persistable(
    workspace: Workspace,
    version: VersionText,
    versions: Versions,
    options: PersistOptions,
    *,
    is_preview: bool = False,
) -> None:
    """Raise foreseeable failures before posting, and mention that nothing was published."""
    try:
        place = artifact_paths(workspace.project, version.thread_id)
        check_files(workspace, version, versions, options, is_preview=is_preview)
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
        check_files(workspace, version, versions, options)
        files = _file_contents(workspace, version, options, place)
        target = (
            check_repository(workspace.project, place, options, files)
            if options.is_commit
            else None
        )
        stale = [name for name, data in files.items() if not has_content(place.folder / name, data)]
        for name in stale:
            write_atomically(place.folder / name, files[name])
        is_new = not target[0].has(target[1]) if target else bool(stale)
        if target:
            persistence, commit, failure = _commit_and_push(version, place, *target[:3])
            status = PUSHED if options.push and not failure else COMMITTED
        else:
            persistence = persistence_of(workspace.project, version.thread_id, version.text)
            commit, failure, status = persistence.commit, None, WRITTEN
        message = info_message(version, place.name, status, persistence.commit if target else None)
        message = message._replace(sender=workspace.actor, recipients=recipients)
        sent = send_info(workspace.mailbox, message, version, status)
    if failure:
        raise failure
    notes = target[3] if target else ()
    archive = place.archive_name if place.archive.name in files else None
    return PersistResult(
        *(persistence, status, sent.stored, sent.is_new, notes),
        *(archive, commit, version.number, is_new),
    )


def _file_contents(
    workspace: Workspace, version: VersionText, options: PersistOptions, place: ArtifactPaths
) -> dict[str, bytes]:
    files = {place.file.name: file_text(place.file, version).encode()}
    if should_write_archive(options, place):
        from brenner.services.archive import thread_archive

        files[place.archive.name] = thread_archive(workspace.mailbox, version)
    return files


_ARCHIVE_ALONE = "mail archive"  # the summary of a commit that has nothing else


def _commit_and_push(
    version: VersionText,
    place: ArtifactPaths,
    repository: Repository,
    contents: Mapping[str, bytes],
    destination: PushDestination | None,
) -> tuple[Persistence, str | None, UnavailableError | None]:
    """Commit and push as requested. Return the persistence, the latest commit, the push error."""
    from brenner.persist.commit import commit_message, commit_only, push

    path = repository.path_of(place.file)
    is_there = repository.has({path: contents[path]})
    summary = _ARCHIVE_ALONE if is_there else version.summary
    commit_only(repository, contents, commit_message(version.thread_id, version.number, summary))
    commit = repository.last_commit_of(path)
    failure = None
    try:
        if destination:
            push(repository, destination)
    except UnavailableError as error:
        failure = error
    latest = repository.last_commit_of(*contents)
    return Persistence("Persisted", place.name, commit), latest, failure


# Comparing the persisted file and its commits with the versions that they name


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
    project: Project, history: VersionHistory, text_of: Versions
) -> Iterator[ComparedFile]:
    """Compare the file, and every committed content of it, with the versions.

    Without a file or a repository there is nothing to compare. The message id in the front matter
    is not compared (R18). Git errors are raised: a failed comparison must not look like an equal
    one.
    """
    path = cross_reference(history.thread_id).artifact_path
    file = Path(os.path.realpath(project.folder / ARTIFACTS)) / Path(path).name
    # Versions that the operator voided may have been persisted before. Other COMPILED messages
    # that are no version do not count: any agent can post one.
    void = (each for each in history.other_candidates if history.is_declared_void(each))
    numbers = {each.record.artifact_sha256: each.number for each in void if each.record}
    numbers |= {each.artifact_sha256: each.number for each in history.versions}

    def compare(commit: str | None, text: str) -> ComparedFile:
        text = canonical_text(text)
        number = numbers.get(text_hash(text))
        if number is not None:
            return ComparedFile(path, commit, number, ok=True)
        metadata = parse_artifact(text).artifact.metadata
        difference = _describe_difference(text, metadata, history, text_of)
        return ComparedFile(path, commit, metadata.version, ok=False, difference=difference)

    try:
        text = read_file(file)
        if text is not None:
            yield compare(None, text)
    except ForeignFileError as error:
        yield ComparedFile(path, None, None, ok=False, difference=str(error))
    from brenner.persist.git import committed_contents

    for commit, content in committed_contents(file):
        try:
            yield compare(commit, content.decode())
        except UnicodeDecodeError:
            yield ComparedFile(path, commit, None, ok=False, difference="it is not UTF-8")


def _describe_difference(
    text: str, metadata: Metadata, history: VersionHistory, text_of: Versions
) -> str:
    """Describe how a text differs from the version that its front matter names."""
    number, session, broken = metadata.version, metadata.session_id, history.broken_version
    if number is None:
        return "it has no front matter with a version"
    if session != history.thread_id:
        return f"it belongs to the session `{escape_control(session or '')}`"
    version = text_of(number)
    if version is None and broken and number >= broken.number:
        return f"v{broken.number} cannot be rebuilt, so v{number} cannot be compared"
    if version is None:
        return f"it claims to be v{number}, which is not in the mail"
    difference = first_difference(text, version)
    if difference is None:
        return "its bytes differ"
    line, here, there = difference
    return f"line {line} is {here}, but {there} in v{number}"


def file_differs(found: ComparedFile, thread_id: str) -> Diagnostic:
    """Return the warning for a file or a commit that differs."""
    place = f"`{found.path}`"
    if found.commit:
        place += f" in commit {short_commit(found.commit)}"
    return FILE_DIFFERS.at(place=place, difference=found.difference, thread_id=thread_id)


def read_artifact_file(project: Project, thread_id: str) -> str | None:
    """Return the text of a thread's artifact file; None if it cannot be read."""
    try:
        return (project.folder / cross_reference(thread_id).artifact_path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def file_ahead(project: Project, history: VersionHistory) -> tuple[Diagnostic, ...]:
    """Return a note if the file has a later version than the mail, unless that was voided."""
    on_disk, latest = read_artifact_file(project, history.thread_id), history.latest
    if on_disk is None:
        return ()
    if latest and text_hash(canonical_text(on_disk)) == latest.artifact_sha256:
        return ()
    number = parse_artifact(on_disk).artifact.metadata.version
    void = {each.number for each in history.other_candidates if history.is_declared_void(each)}
    if number is None or number <= history.number or number in void:
        return ()
    path = cross_reference(history.thread_id).artifact_path
    ends = f"ends with v{history.number}" if latest else "has no version of it"
    return (FILE_AHEAD_OF_MAIL.at(path=path, value=str(number), ends=ends),)
