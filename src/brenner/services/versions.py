"""The versions of a thread: load one, list all, verify and compare, persist the latest."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import State, empty_state
from brenner.artifact.text_diff import unified_diff
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.codes.publishing import VERSION_NOT_LATEST
from brenner.diagnostics.codes.stores import NOT_AN_ARCHIVE
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, Summary
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import RestoreResult, StoredMessage
from brenner.persist.artifact_file import (
    MOST_FILE_BYTES,
    Versions,
    VersionText,
    artifact_paths,
    file_text,
)
from brenner.persist.commit import commit_message
from brenner.persist.git import Persistence, persistence_of, persistences_by_digest, version_digest
from brenner.protocol.grammar import VERSION
from brenner.protocol.subjects import parse_subject
from brenner.protocol.thread_ids import cross_reference, is_valid_thread_id
from brenner.services.persist import (
    ComparedFile,
    PersistOptions,
    PersistResult,
    TextOf,
    check_files,
    check_repository,
    compare_files,
    file_differs,
    persist,
    should_write_archive,
)
from brenner.services.publish import check_sound, recipients_of
from brenner.services.version_store import (
    load_history,
    replay_history,
    require_thread_id,
    version_text,
    version_texts,
)
from brenner.services.workspace import Workspace
from brenner.session.rebuild import (
    CompiledCandidate,
    RebuiltVersion,
    describe_altered,
    local_ids_of,
    local_state,
    text_hash,
)
from brenner.session.versions import PublishedVersion, VersionHistory


class Target(NamedTuple):
    """`THREAD`, or one version of it: `THREAD@vN`."""

    thread_id: str
    version: int | None = None


def parse_target(text: str) -> Target | None:
    """Parse `THREAD` or `THREAD@vN`; return None if it cannot be a thread."""
    thread_id, at, number = text.partition("@")
    match = VERSION.fullmatch(number)
    if not is_valid_thread_id(thread_id) or (at and match is None):
        return None
    return Target(thread_id, int(match[1]) if match else None)


# One version


class LoadedVersion(NamedTuple):
    """A version, from the mail or from its file; with its `state` only if requested."""

    thread_id: str
    number: int | None
    artifact: Artifact
    text: str
    source: Literal["mail", "file"]
    message: StoredMessage | None = None
    state: State | None = None
    notes: tuple[Diagnostic, ...] = ()


def load_version(
    workspace: Workspace, target: Target, *, with_state: bool = False
) -> LoadedVersion:
    """Load a version, or the latest: from the mail, else from the file (dual-source rule)."""
    require_thread_id(target.thread_id)
    if not _has_mail(workspace.mailbox, target.thread_id):
        return _load_from_file(workspace, target, None)
    history = load_history(workspace.mailbox, target.thread_id, workspace.project.operator).history
    if not history.versions:
        return _load_from_file(workspace, target, history)
    number = history.number if target.version is None else target.version
    found = {version.number: version for version in history.versions}
    if number not in found:
        words = {
            "thread_id": target.thread_id,
            "version": str(number),
            "known": _known_versions(history),
        }
        raise RequestError(codes.UNKNOWN_VERSION.at(None, **words))
    state = _version_state(workspace, history, number) if with_state else None
    text = _version_text(workspace, history, found[number], state)
    return LoadedVersion(
        target.thread_id,
        number,
        state.artifact if state else parse_artifact(text).artifact,
        text,
        "mail",
        workspace.mailbox.message(found[number].message_id),
        state,
        _notes(workspace, history, target),
    )


def _version_state(workspace: Workspace, history: VersionHistory, number: int) -> State:
    is_latest = number == history.number
    return (
        latest_state(workspace, history)
        if is_latest
        else _rebuild_state(workspace, history.thread_id, number)
    )


def _version_text(
    workspace: Workspace, history: VersionHistory, version: PublishedVersion, state: State | None
) -> str:
    """Return the text of a version; render it from the state if that is loaded."""
    text = render_artifact(state.artifact) if state else ""
    if state and text_hash(text) == version.artifact_sha256:
        return text
    return (
        version_texts(workspace.mailbox, history, workspace.project.operator)(version.number) or ""
    )


def latest_state(workspace: Workspace, history: VersionHistory) -> State:
    """Return the state of the latest version, with the message ids of this store."""
    if _has_original_ids(history):
        return history.state
    return _rebuild_state(workspace, history.thread_id, history.number)


def _has_original_ids(history: VersionHistory) -> bool:
    """Return whether every version has the id that it was posted with.

    If so, no import has renumbered the versions, nor the messages that they include.
    """
    posted = {version.number: version.message_id for version in history.state.versions}
    return all(
        posted.get(each.number, each.message_id) == each.message_id for each in history.versions
    )


def _has_mail(mailbox: Mailbox, thread_id: str) -> bool:
    return mailbox.thread(thread_id, limit=1).position > 0


def _known_versions(history: VersionHistory) -> str:
    if len(history.versions) == 1:
        return f"there is only v{history.number}"
    return f"the latest is v{history.number}"


def _rebuild_state(workspace: Workspace, thread_id: str, number: int) -> State:
    """Rebuild a version and return its state, with the message ids of this store."""
    found: dict[int, State] = {}
    ids: dict[tuple[int, int], int] = {}

    def on_version(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> None:
        ids.update(local_ids_of(candidate, rebuilt))
        if candidate.number == number:
            found[number] = local_state(rebuilt.state, ids)

    replay_history(workspace.mailbox, thread_id, workspace.project.operator, on_version)
    return found[number]


def _notes(workspace: Workspace, history: VersionHistory, target: Target) -> tuple[Diagnostic, ...]:
    """Return notes for the reader: COMPILED messages that are no version, altered mail, a later
    file.
    """
    notes = [*history.new_void_messages(), *_broken_version(history), *history.altered_messages()]
    if target.version is None:
        notes += file_ahead(workspace, history)
    return tuple(notes)


def file_ahead(workspace: Workspace, history: VersionHistory) -> list[Diagnostic]:
    """Return a note if the file has a later version than the mail, unless that was voided."""
    number, on_disk = history.number, _read_artifact_file(workspace, history.thread_id)
    file_version = parse_artifact(on_disk).artifact.metadata.version if on_disk else None
    if file_version is None or file_version <= number:
        return []
    if any(
        each.number == file_version and history.is_declared_void(each)
        for each in history.other_candidates
    ):
        return []
    path = cross_reference(history.thread_id).artifact_path
    ends = f"ends with v{number}" if number else "has no version of it"
    return [codes.FILE_AHEAD_OF_MAIL.at(path=path, value=str(file_version), ends=ends)]


def _not_versions(history: VersionHistory) -> tuple[Diagnostic, ...]:
    """Return the COMPILED messages that are no version, including one that blocks a compile."""
    return (*history.others(), *_broken_version(history))


def _broken_version(history: VersionHistory) -> tuple[Diagnostic, ...]:
    return (history.broken_version_error,) if history.broken_version_error else ()


def _read_artifact_file(workspace: Workspace, thread_id: str) -> str | None:
    """Return the text of the artifact's file; None if it cannot be read."""
    try:
        return (workspace.project.folder / cross_reference(thread_id).artifact_path).read_text(
            "utf-8"
        )
    except (OSError, UnicodeDecodeError):
        return None


def _load_from_file(
    workspace: Workspace, target: Target, history: VersionHistory | None
) -> LoadedVersion:
    """Return the persisted version, if the mail has none."""
    path = cross_reference(target.thread_id).artifact_path
    text = _read_artifact_file(workspace, target.thread_id)
    if text is None:
        if history is None:
            load_history(workspace.mailbox, target.thread_id, workspace.project.operator)  # raises
        elif history.compile_blocker:
            raise RequestError(history.compile_blocker)
        raise RequestError(codes.NO_VERSION_YET.at(thread_id=target.thread_id, path=path))
    parsed = parse_artifact(text)
    artifact = parsed.artifact
    number = artifact.metadata.version
    if target.version not in (None, number):
        known = f"there is only v{number}, in `{path}`"
        words = {"thread_id": target.thread_id, "version": str(target.version), "known": known}
        raise RequestError(codes.UNKNOWN_VERSION.at(None, **words))
    note = codes.SHOWN_FROM_FILE.at(thread_id=target.thread_id, path=path)
    others = _not_versions(history) if history else ()
    notes = (note, *others, *parsed.diagnostics)
    return LoadedVersion(target.thread_id, number, artifact, text, "file", notes=notes)


# All versions


class ListedVersion(NamedTuple):
    """One row of the version list."""

    number: int
    message: StoredMessage
    compiled_at: str
    compiled_by: str
    status: str
    summary: str
    persistence: Persistence


class VersionList(NamedTuple):
    """All versions, in order; `others` are COMPILED messages that are no version."""

    thread_id: str
    versions: tuple[ListedVersion, ...]
    others: tuple[Diagnostic, ...]
    unread: int


def load_version_list(workspace: Workspace, thread_id: str) -> VersionList:
    """Return the versions in the mail, each with the state of its file and commit."""
    require_thread_id(thread_id)
    history = load_history(workspace.mailbox, thread_id, workspace.project.operator).history
    text_of = version_texts(workspace.mailbox, history, workspace.project.operator)
    digests = {each.number: version_digest(text_of(each.number) or "") for each in history.versions}
    return list_versions(workspace, history, digests)


def list_versions(
    workspace: Workspace, history: VersionHistory, digests: Mapping[int, bytes]
) -> VersionList:
    """Return the same for a loaded history, with the digests of its versions.

    A version without a digest cannot be found in files or in git: it counts as a draft.
    """
    wanted = {each.number: digests.get(each.number, b"") for each in history.versions}
    states = persistences_by_digest(workspace.project, history.thread_id, wanted)
    listed = []
    for version in history.versions:
        stored = workspace.mailbox.message(version.message_id)
        subject = parse_subject(stored.message.subject)
        description = subject.description if subject else stored.message.subject
        listed.append(
            ListedVersion(
                version.number,
                stored,
                version.compiled_at,
                version.compiled_by,
                version.status,
                description.removeprefix(f"v{version.number}").strip(),
                states[version.number],
            )
        )
    return VersionList(
        history.thread_id, tuple(listed), _not_versions(history), len(history.unread)
    )


class VerifiedVersion(NamedTuple):
    """Whether a version follows from the mail; if not, `difference` says where."""

    number: int
    ok: bool
    artifact_sha256: str
    difference: str = ""


class Verification(NamedTuple):
    """The result of rebuilding every version.

    `altered` are the ids of all messages of the thread whose content does not match their hash.
    `files` are the persisted file and its commits. They count for `ok` only if that was requested.
    """

    thread_id: str
    versions: tuple[VerifiedVersion, ...]
    ok: bool
    notes: tuple[Diagnostic, ...] = ()
    altered: tuple[int, ...] = ()
    files: tuple[ComparedFile, ...] = ()


def verify(
    workspace: Workspace, thread_id: str, archive: Path | None = None, *, files: bool = False
) -> Verification:
    """Rebuild every version from the mail alone, or from an archive of it, and compare.

    No cache is used, and the hash of every message is computed again. With `files` a persisted file
    or a commit that differs from its version is a failure.
    """
    require_thread_id(thread_id)
    mailbox = workspace.mailbox if archive is None else load_archived_mail(archive)
    found: list[VerifiedVersion] = []

    def on_version(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> None:
        found.append(_verified_version(candidate, describe_altered(candidate, rebuilt)))

    history = replay_history(mailbox, thread_id, workspace.project.operator, on_version)
    if history.broken_version:
        found.append(
            _verified_version(history.broken_version.candidate, history.broken_version.difference)
        )
    text_of = version_texts(mailbox, history, workspace.project.operator)
    compared, about_files = _compare_files(workspace, history, text_of, files=files)
    return Verification(
        thread_id,
        tuple(found),
        not history.compile_blocker and not (files and any(not each.ok for each in compared)),
        (*history.others(), *_missing_version(history), *history.altered_messages(), *about_files),
        tuple(each.posted.id for each in history.altered),
        compared,
    )


def _missing_version(history: VersionHistory) -> tuple[Diagnostic, ...]:
    """Return how to restore a missing version; the diagnostic for the next one does not say it."""
    return (
        _broken_version(history) if history.broken_version and history.broken_version.is_gap else ()
    )


def _compare_files(
    workspace: Workspace, history: VersionHistory, text_of: TextOf, *, files: bool
) -> tuple[tuple[ComparedFile, ...], list[Diagnostic]]:
    """Compare the file and its commits with the versions. Return the comparison and its notes.

    A git failure is raised only if the files were requested.
    """
    try:
        compared = compare_files(workspace.project, history, text_of)
    except BrennerError as error:
        if files:
            raise
        return (), [error.diagnostic]
    notes = []
    for each in compared:
        if not each.ok:
            ahead = file_ahead(workspace, history) if each.commit is None else []
            notes += ahead or [file_differs(each, history.thread_id)]
    return compared, notes


def _verified_version(candidate: CompiledCandidate, difference: str) -> VerifiedVersion:
    sha256 = candidate.record.artifact_sha256 if candidate.record else ""
    return VerifiedVersion(candidate.number, not difference, sha256, difference)


def load_archived_mail(archive: Path) -> Mailbox:
    """Load an archive into an in-memory mailbox."""
    from brenner.mail.memory import MemoryMailbox  # needed only for an archive
    from brenner.services.archive import archive_lines, import_archive

    mailbox = MemoryMailbox()
    try:
        with archive.open("rb") as file:
            done = import_archive(mailbox, archive_lines(file), "jsonl", str(archive))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise RequestError(NOT_AN_ARCHIVE.at(path=str(archive), reason=reason)) from None
    if not isinstance(done, RestoreResult):
        raise RequestError(done[0])
    return mailbox


# JSON, the same for every front end. Keys are only ever added.


def version_list_json(found: VersionList) -> dict[str, object]:
    """Return all versions, and the COMPILED messages that are none, as JSON."""
    others = [other.to_json() for other in found.others]
    return {
        "thread_id": found.thread_id,
        "versions": [_listed_json(version) for version in found.versions],
        "void": others,
        "unread": found.unread,
        "violations": others,
        "summary": Summary.of(found.others)._asdict(),
    }


def _listed_json(version: ListedVersion) -> dict[str, object]:
    return {
        "version": version.number,
        "compiled_at": version.compiled_at,
        "compiled_by": version.compiled_by,
        "message_id": version.message.id,
        "status": version.status,
        "summary": version.summary,
        "persistence": version.persistence._asdict(),
    }


def verification_json(
    found: Verification,
    selected: Sequence[VerifiedVersion],
    archive: str | None = None,
    *,
    files: bool = False,
) -> dict[str, object]:
    """Return the verification of the selected versions as JSON."""
    return {
        "thread_id": found.thread_id,
        "versions": [
            {
                "version": each.number,
                "ok": each.ok,
                "artifact_sha256": each.artifact_sha256,
                "difference": each.difference or None,
            }
            for each in selected
        ],
        "ok": is_verified(found, selected, files=files),
        "archive": archive,
        "altered": list(found.altered),
        "files": [
            {**each._asdict(), "difference": each.difference or None} for each in found.files
        ],
        "violations": [note.to_json() for note in found.notes],
        "summary": Summary.of(found.notes)._asdict(),
    }


def is_verified(
    found: Verification, selected: Sequence[VerifiedVersion], *, files: bool = False
) -> bool:
    """Return whether the selected versions follow from unaltered mail.

    With `files` the persisted file and its commits must also equal their versions.
    """
    is_as_stored = all(each.ok for each in selected) and not found.altered
    return is_as_stored and not (files and any(not each.ok for each in found.files))


def verification_summary(selected: Sequence[VerifiedVersion], altered: Sequence[int] = ()) -> str:
    """Return the verification in one sentence."""
    wrong = next((each.number for each in selected if not each.ok), None)
    if wrong is not None:
        return f"v{wrong} does not follow from the mail; nothing is compiled until that is settled."
    all_of = {1: "The version follows", 2: "Both versions follow"}
    words = all_of.get(len(selected), f"All {len(selected)} versions follow")
    if altered:
        ids = ", ".join(map(str, altered))
        which = f"message {ids} does" if len(altered) == 1 else f"messages {ids} do"
        return f"{words} from the mail, but {which} not match the stored hash."
    return f"{words} from the mail, byte for byte."


# Comparing two versions; v0 is the empty artifact before the first one (R11)


class ComparedVersion:
    """One side of a comparison. Its text follows from the artifact, byte for byte (R10)."""

    def __init__(self, number: int, artifact: Artifact) -> None:
        self.number = number
        self.artifact = artifact

    @cached_property
    def text(self) -> str:
        """Return the text as it was published."""
        return render_artifact(self.artifact)


def empty_version(thread_id: str) -> ComparedVersion:
    """Return v0: the thread before its first version."""
    return ComparedVersion(0, empty_state(thread_id).artifact)


# Persisting the latest version, and a preview of that


class PersistableVersion(NamedTuple):
    """The latest version of a thread, ready to be persisted."""

    history: VersionHistory
    version: VersionText


class PersistPreview(NamedTuple):
    """What persisting would do.

    `difference` is the output of `diff -u` between the current and the new file; empty if equal.
    `error` is what would stop it. `notes` are warnings.
    """

    version: VersionText
    persistence: Persistence
    difference: str
    commit: str | None = None
    destination: str | None = None
    archive: str | None = None
    notes: tuple[Diagnostic, ...] = ()
    error: BrennerError | None = None


def load_latest(
    workspace: Workspace, thread_id: str, number: int | None = None, message_id: int | None = None
) -> PersistableVersion:
    """Return the latest version. Raise if there is none, or if `number` or message differ.

    The message matters too, because the number of a voided version is reused.
    """
    require_thread_id(thread_id)
    history = load_history(workspace.mailbox, thread_id, workspace.project.operator).history
    check_sound(history)
    if history.latest is None:
        path = cross_reference(thread_id).artifact_path
        raise RequestError(NO_VERSION_YET.at(thread_id=thread_id, path=path))
    if number is not None and number != history.number:
        now = f"v{history.number} is"
        raise RequestError(VERSION_NOT_LATEST.at(thread_id=thread_id, version=number, latest=now))
    if message_id not in (None, history.latest.message_id):
        now = f"another v{history.number} is, message {history.latest.message_id}"
        number = history.number
        raise RequestError(VERSION_NOT_LATEST.at(thread_id=thread_id, version=number, latest=now))
    stored = workspace.mailbox.message(history.latest.message_id)
    text = render_artifact(history.state.artifact)
    return PersistableVersion(
        history, version_text(history, history.number, stored.id, text, stored.message)
    )


def preview_persist(
    workspace: Workspace, latest: PersistableVersion, options: PersistOptions
) -> PersistPreview:
    """Return what `persist_latest` would do now.

    Nothing is sent or committed. Nothing is written except, for a file that a person has edited,
    the message with these edits.
    """
    version = latest.version
    persistence = persistence_of(workspace.project, version.thread_id, version.text)
    preview = PersistPreview(version, persistence, "")
    try:
        place = artifact_paths(workspace.project, version.thread_id)
        there, after = _current_file_text(place.file), file_text(place.file, version)
        preview = preview._replace(difference=unified_diff(there, after, place.name, place.name))
        check_files(workspace, version, _texts_of_versions(workspace, latest), options, place)
        if should_write_archive(options, place):
            preview = preview._replace(archive=place.archive_name)
        if options.is_commit:
            names = [place.file.name, *([place.archive.name] if preview.archive else [])]
            target = check_repository(workspace.project, place, options, dict.fromkeys(names, b""))
            message = commit_message(version.thread_id, version.number, version.summary)
            to = target.destination
            preview = preview._replace(
                commit=message,
                destination=f"{to.branch} to {to.remote}" if to else None,
                notes=target.notes,
            )
    except BrennerError as error:
        return preview._replace(error=error)
    return preview


def persist_latest(
    workspace: Workspace, latest: PersistableVersion, options: PersistOptions
) -> PersistResult:
    """Persist the latest version. Repeating the call finishes what was interrupted."""
    artifact = latest.history.state.artifact
    recipients = recipients_of(workspace, latest.history, artifact)
    return persist(
        workspace, latest.version, _texts_of_versions(workspace, latest), options, recipients
    )


def _texts_of_versions(workspace: Workspace, latest: PersistableVersion) -> Versions:
    return version_texts(workspace.mailbox, latest.history, workspace.project.operator)


def _current_file_text(file: Path) -> str:
    """Return the text of the file; empty if there is none. Another check reports invalid text."""
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
