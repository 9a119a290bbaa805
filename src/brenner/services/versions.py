"""The versions of a thread: load one, list all, verify and compare, persist the latest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.text_diff import unified_diff
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.codes.publishing import RECORD_MISMATCH, VERSION_NOT_LATEST
from brenner.diagnostics.codes.stores import NOT_AN_ARCHIVE
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, Summary
from brenner.mail.model import RestoreResult
from brenner.named_tuple import NamedTuple
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
from brenner.protocol.thread_ids import cross_reference, is_valid_thread_id
from brenner.services.persist import (
    ComparedFile,
    PersistOptions,
    PersistResult,
    check_files,
    check_repository,
    compare_files,
    file_ahead,
    file_differs,
    persist,
    read_artifact_file,
    should_write_archive,
)
from brenner.services.publish import check_sound, recipients_of
from brenner.services.version_store import (
    load_history,
    load_ledgers,
    require_thread_id,
    state_of,
    verify_versions,
    version_summary,
    version_text,
    version_texts,
)
from brenner.session.rebuild import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from brenner.artifact.model import Artifact
    from brenner.artifact.state import State
    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.messages import StoredMessage
    from brenner.services.version_store import VerifiedVersion
    from brenner.services.workspace import Workspace
    from brenner.session.versions import VersionHistory


class Target(NamedTuple):
    """`THREAD`, or one version of it: `THREAD@vN` or `THREAD@N`."""

    thread_id: str
    version: int | None = None


def parse_target(text: str) -> Target | None:
    """Parse `THREAD`, `THREAD@vN` or `THREAD@N`; return None if it cannot be a thread."""
    thread_id, at, written = text.partition("@")
    number = version_number(written)
    if not is_valid_thread_id(thread_id) or (at and number is None):
        return None
    return Target(thread_id, number)


def version_number(text: str) -> int | None:
    """Return N of `vN` or `N`, or None if the text is no version."""
    found = VERSION.fullmatch(f"v{text.removeprefix('v')}")
    return int(found[1]) if found else None


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
    if not workspace.mailbox.thread(target.thread_id, limit=1).position:
        return _load_from_file(workspace, target, None)
    history = load_history(workspace.mailbox, target.thread_id, workspace.project.operator)
    if not history.versions:
        return _load_from_file(workspace, target, history)
    if target.version in (None, history.number):
        state = latest_state(workspace, history) if with_state else None
        loaded = version_of(workspace, history, history.number, state)
        later = () if target.version else file_ahead(workspace.project, history)
        return loaded._replace(notes=(*loaded.notes, *later))
    is_known = any(target.version == each.number for each in history.versions)
    ledgers = load_ledgers(workspace, target.thread_id) if with_state and is_known else ()
    state = state_of(ledgers, target.version) if ledgers else None
    return version_of(workspace, history, target.version, state)


def version_of(
    workspace: Workspace, history: VersionHistory, number: int, state: State | None = None
) -> LoadedVersion:
    """Return a version of a loaded history. Raise if it does not exist.

    `state` is that of the version, if the caller knows it (see `state_of`).
    """
    version = next((each for each in history.versions if each.number == number), None)
    if version is None:
        is_one = len(history.versions) == 1
        known = f"{'there is only' if is_one else 'the latest is'} v{history.number}"
        raise _unknown_version(history.thread_id, number, known)
    text = render_artifact(state.artifact) if state else ""
    if text_hash(text) != version.artifact_sha256:
        texts = version_texts(workspace.mailbox, history, workspace.project.operator)
        text = texts(number) or ""
    return LoadedVersion(
        history.thread_id,
        number,
        state.artifact if state else parse_artifact(text).artifact,
        text,
        "mail",
        workspace.mailbox.message(version.message_id),
        state,
        (*history.new_void_messages(), *_broken_version(history), *history.altered_messages()),
    )


def _unknown_version(thread_id: str, number: int | None, known: str) -> RequestError:
    found = codes.UNKNOWN_VERSION.at(thread_id=thread_id, version=str(number), known=known)
    return RequestError(found)


def latest_state(workspace: Workspace, history: VersionHistory) -> State:
    """Return the state of the latest version, with the message ids of this store."""
    posted = {version.number: version.message_id for version in history.state.versions}
    # If a version has another id than it was posted with, an import has renumbered the messages.
    if all(posted.get(each.number) in (None, each.message_id) for each in history.versions):
        return history.state
    return state_of(load_ledgers(workspace, history.thread_id), history.number)


def not_versions(history: VersionHistory) -> tuple[Diagnostic, ...]:
    """Return the COMPILED messages that are no version, including one that blocks a compile."""
    return (*history.others(), *_broken_version(history))


def _broken_version(history: VersionHistory) -> tuple[Diagnostic, ...]:
    return (history.broken_version_error,) if history.broken_version_error else ()


def _load_from_file(
    workspace: Workspace, target: Target, history: VersionHistory | None
) -> LoadedVersion:
    path = cross_reference(target.thread_id).artifact_path
    text = read_artifact_file(workspace.project, target.thread_id)
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
        raise _unknown_version(target.thread_id, target.version, known)
    note = codes.SHOWN_FROM_FILE.at(thread_id=target.thread_id, path=path)
    others = not_versions(history) if history else ()
    notes = (note, *others, *parsed.diagnostics)
    return LoadedVersion(target.thread_id, number, artifact, text, "file", notes=notes)


# All versions


class ListedVersion(NamedTuple):
    number: int
    message: StoredMessage
    compiled_at: str
    compiled_by: str
    status: str
    summary: str
    persistence: Persistence


def load_version_list(
    workspace: Workspace, thread_id: str
) -> tuple[VersionHistory, tuple[ListedVersion, ...]]:
    """Return the history, and its versions in order, each with the state of its file and commit."""
    require_thread_id(thread_id)
    history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
    text_of = version_texts(workspace.mailbox, history, workspace.project.operator)
    digests = {each.number: version_digest(text_of(each.number) or "") for each in history.versions}
    return history, list_versions(workspace, history, digests)


def list_versions(
    workspace: Workspace, history: VersionHistory, digests: Mapping[int, bytes]
) -> tuple[ListedVersion, ...]:
    """Return the versions of a loaded history, with the digests of their texts.

    A version without a digest cannot be found in files or in git: it counts as a draft.
    """
    wanted = {each.number: digests.get(each.number, b"") for each in history.versions}
    states = persistences_by_digest(workspace.project, history.thread_id, wanted)
    listed = []
    for version in history.versions:
        stored = workspace.mailbox.message(version.message_id)
        summary = version_summary(stored.message, version.number)
        compiled = (version.compiled_at, version.compiled_by, version.status)
        persistence = states[version.number]
        listed.append(ListedVersion(version.number, stored, *compiled, summary, persistence))
    return tuple(listed)


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
    history, found = verify_versions(mailbox, thread_id, workspace.project.operator)
    # How to restore a missing version, or read a newer one; the version itself does not say it.
    other = [each for each in _broken_version(history) if each.code is not RECORD_MISMATCH]
    text_of = version_texts(mailbox, history, workspace.project.operator)
    compared, about_files = _compare_files(workspace, history, text_of, files=files)
    return Verification(
        thread_id,
        found,
        not history.compile_blocker and not (files and any(not each.ok for each in compared)),
        (*other, *history.others(), *history.altered_messages(), *about_files),
        tuple(each.id for each in history.altered),
        compared,
    )


def _compare_files(
    workspace: Workspace, history: VersionHistory, text_of: Versions, *, files: bool
) -> tuple[tuple[ComparedFile, ...], list[Diagnostic]]:
    """Compare the file and its commits with the versions. Return the comparison and its notes.

    A git failure is raised only if the files were requested.
    """
    try:
        compared = tuple(compare_files(workspace.project, history, text_of))
    except BrennerError as error:
        if files:
            raise
        return (), [error.diagnostic]
    notes: list[Diagnostic] = []
    for each in compared:
        if not each.ok:
            ahead = () if each.commit else file_ahead(workspace.project, history)
            notes += ahead or [file_differs(each, history.thread_id)]
    return compared, notes


def load_archived_mail(archive: Path) -> Mailbox:
    from brenner.mail.memory import MemoryMailbox  # needed only for an archive
    from brenner.services.archive import archive_lines, import_archive

    mailbox = MemoryMailbox()
    try:
        with archive.open("rb") as file:
            done = import_archive(mailbox, archive_lines(file), str(archive))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise RequestError(NOT_AN_ARCHIVE.at(path=str(archive), reason=reason)) from None
    if not isinstance(done, RestoreResult):
        raise RequestError(done[0])
    return mailbox


# JSON, the same for every front end. Keys are only ever added.


def version_list_json(
    history: VersionHistory, versions: Iterable[ListedVersion]
) -> dict[str, object]:
    """Return the listed versions, and the COMPILED messages that are none, as JSON."""
    found = not_versions(history)
    others = [other.to_json() for other in found]
    return {
        "thread_id": history.thread_id,
        "versions": [
            {
                "version": each.number,
                "compiled_at": each.compiled_at,
                "compiled_by": each.compiled_by,
                "message_id": each.message.id,
                "status": each.status,
                "summary": each.summary,
                "persistence": each.persistence._asdict(),
            }
            for each in versions
        ],
        "void": others,
        "unread": len(history.unread),
        "violations": others,
        "summary": Summary.of(found)._asdict(),
    }


def verification_json(
    found: Verification,
    selected: Sequence[VerifiedVersion],
    archive: str | None = None,
    *,
    files: bool = False,
) -> dict[str, object]:
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
    wrong = next((each.number for each in selected if not each.ok), None)
    if wrong is not None:
        return f"v{wrong} does not rebuild from the mail. Compiling stops until this is resolved."
    all_of = {1: "The version rebuilds", 2: "Both versions rebuild"}
    words = all_of.get(len(selected), f"All {len(selected)} versions rebuild")
    if altered:
        ids = ", ".join(map(str, altered))
        which = f"message {ids} does" if len(altered) == 1 else f"messages {ids} do"
        return f"{words} from the mail, but {which} not match the stored hash."
    return f"{words} from the mail, byte for byte."


# Persisting the latest version, and a preview of that


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
) -> tuple[VersionHistory, VersionText]:
    """Return the latest version. Raise if there is none, or if `number` or message differ.

    The message matters too, because the number of a voided version is reused.
    """
    require_thread_id(thread_id)
    history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
    check_sound(history)
    if history.latest is None:
        path = cross_reference(thread_id).artifact_path
        raise RequestError(NO_VERSION_YET.at(thread_id=thread_id, path=path))
    latest = None
    if number is not None and number != history.number:
        latest = f"the latest is v{history.number}"
    elif message_id not in (None, history.latest.message_id):
        number = history.number
        latest = f"message {history.latest.message_id} is the valid v{number}"
    if latest:
        words = {"thread_id": thread_id, "version": str(number), "latest": latest}
        raise RequestError(VERSION_NOT_LATEST.at(None, **words))
    stored = workspace.mailbox.message(history.latest.message_id)
    text = render_artifact(history.state.artifact)
    return history, version_text(history, history.number, stored.id, text, stored.message)


def preview_persist(
    workspace: Workspace, history: VersionHistory, version: VersionText, options: PersistOptions
) -> PersistPreview:
    """Return what `persist_latest` would do now. Nothing is written, sent or committed."""
    persistence = persistence_of(workspace.project, version.thread_id, version.text)
    preview = PersistPreview(version, persistence, "")
    try:
        place = artifact_paths(workspace.project, version.thread_id)
        there, after = _current_file_text(place.file), file_text(place.file, version)
        preview = preview._replace(difference=unified_diff(there, after, place.name, place.name))
        texts = version_texts(workspace.mailbox, history, workspace.project.operator)
        check_files(workspace, version, texts, options, is_preview=True)
        if should_write_archive(options, place):
            preview = preview._replace(archive=place.archive_name)
        if options.is_commit:
            names = [place.file.name, *([place.archive.name] if preview.archive else [])]
            contents = dict.fromkeys(names, b"")
            *_, to, notes = check_repository(workspace.project, place, options, contents)
            message = commit_message(version.thread_id, version.number, version.summary)
            destination = "{1} to {0}".format(*to) if to else None
            preview = preview._replace(commit=message, destination=destination, notes=notes)
    except BrennerError as error:
        return preview._replace(error=error)
    return preview


def persist_latest(
    workspace: Workspace, history: VersionHistory, version: VersionText, options: PersistOptions
) -> PersistResult:
    """Persist the latest version. Repeating the call finishes what was interrupted."""
    recipients = recipients_of(workspace, history, history.state.artifact)
    texts = version_texts(workspace.mailbox, history, workspace.project.operator)
    return persist(workspace, version, texts, options, recipients)


def _current_file_text(file: Path) -> str:
    """Return the text of the file; empty if there is none. Another check reports invalid text."""
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
