"""The versions of a thread: one of them, all of them, and whether they follow from the mail."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import State, empty_state
from brenner.artifact.text_diff import unified
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.codes.publishing import VERSION_NOT_LATEST
from brenner.diagnostics.codes.stores import NOT_AN_ARCHIVE
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, Summary
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Restored, StoredMessage
from brenner.persist.artifact_file import MOST_FILE_BYTES, filed, place_of
from brenner.persist.commit import commit_message
from brenner.protocol.grammar import VERSION
from brenner.protocol.subjects import parse_subject
from brenner.protocol.thread_ids import cross_reference, is_valid
from brenner.services.persist import (
    ComparedFile,
    Persisted,
    Persistence,
    PersistOptions,
    TextOf,
    Versions,
    VersionText,
    check_files,
    check_repository,
    compared_files,
    file_note,
    has_archive,
    persist,
    persistence_of,
    persistences_by_digest,
    version_digest,
)
from brenner.services.publish import check_sound, recipients_of
from brenner.services.version_store import (
    check_usable,
    load_history,
    replay_chain,
    version_text,
    version_texts,
)
from brenner.services.workspace import Workspace
from brenner.session.rebuild import (
    CompiledCandidate,
    Rebuilt,
    altered_in,
    ids_of,
    local_state,
    text_hash,
)
from brenner.session.versions import Published, VersionHistory


class Target(NamedTuple):
    """`THREAD`, or one version of it: `THREAD@vN`."""

    thread_id: str
    version: int | None = None


def parse_target(text: str) -> Target | None:
    """What a command was asked about; None where it cannot be a thread."""
    thread_id, at, number = text.partition("@")
    match = VERSION.fullmatch(number)
    if not is_valid(thread_id) or (at and match is None):
        return None
    return Target(thread_id, int(match[1]) if match else None)


# One version.


class LoadedVersion(NamedTuple):
    """A version, from the mail or from its file; its `state` only where asked for."""

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
    """The version asked for, or the latest: of the mail, else of the file (dual-source rule)."""
    check_usable(target.thread_id)
    if not _has_mail(workspace.mailbox, target.thread_id):
        return _from_file(workspace, target, None)
    history = load_history(workspace.mailbox, target.thread_id, workspace.project.operator).history
    if not history.versions:
        return _from_file(workspace, target, history)
    number = history.number if target.version is None else target.version
    found = {version.number: version for version in history.versions}
    if number not in found:
        words = {"thread_id": target.thread_id, "version": str(number), "known": _known(history)}
        raise RequestError(codes.UNKNOWN_VERSION.at(None, **words))
    state = _its_state(workspace, history, number) if with_state else None
    text = _text(workspace, history, found[number], state)
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


def _its_state(workspace: Workspace, history: VersionHistory, number: int) -> State:
    is_latest = number == history.number
    return (
        latest_state(workspace, history)
        if is_latest
        else _state_of(workspace, history.thread_id, number)
    )


def _text(
    workspace: Workspace, history: VersionHistory, version: Published, state: State | None
) -> str:
    """The text of a version; one whose state is at hand need not be rebuilt for it."""
    text = render_artifact(state.artifact) if state else ""
    if state and text_hash(text) == version.artifact_sha256:
        return text
    return (
        version_texts(workspace.mailbox, history, workspace.project.operator)(version.number) or ""
    )


def latest_state(workspace: Workspace, history: VersionHistory) -> State:
    """The state of the latest version; messages have the ids of this store in it."""
    if _has_its_ids(history):
        return history.state
    return _state_of(workspace, history.thread_id, history.number)


def _has_its_ids(history: VersionHistory) -> bool:
    """Whether every version has the id that it was posted with: none was renumbered by an import,
    and so no message that it has read.
    """
    posted = {version.number: version.message_id for version in history.state.versions}
    return all(
        posted.get(each.number, each.message_id) == each.message_id for each in history.versions
    )


def _has_mail(mailbox: Mailbox, thread_id: str) -> bool:
    return mailbox.thread(thread_id, limit=1).position > 0


def _known(history: VersionHistory) -> str:
    if len(history.versions) == 1:
        return f"there is only v{history.number}"
    return f"the latest is v{history.number}"


def _state_of(workspace: Workspace, thread_id: str, number: int) -> State:
    """The state of a version, which is rebuilt; messages have the ids of this store in it."""
    found: dict[int, State] = {}
    ids: dict[tuple[int, int], int] = {}

    def watch(candidate: CompiledCandidate, rebuilt: Rebuilt) -> None:
        ids.update(ids_of(candidate, rebuilt))
        if candidate.number == number:
            found[number] = local_state(rebuilt.state, ids)

    replay_chain(workspace.mailbox, thread_id, workspace.project.operator, watch)
    return found[number]


def _notes(workspace: Workspace, history: VersionHistory, target: Target) -> tuple[Diagnostic, ...]:
    """What the reader should know beside the version: messages that are none, or that were altered,
    a later file.
    """
    notes = [*history.new_others(), *_broken(history), *history.altered_messages()]
    if target.version is None:
        notes += file_ahead(workspace, history)
    return tuple(notes)


def file_ahead(workspace: Workspace, history: VersionHistory) -> list[Diagnostic]:
    """Say that the file holds a later version than the mail, and none that was voided."""
    number, on_disk = history.number, _file(workspace, history.thread_id)
    held = parse_artifact(on_disk).artifact.metadata.version if on_disk else None
    if held is None or held <= number:
        return []
    if any(each.number == held and history.is_declared_void(each) for each in history.spare):
        return []
    path = cross_reference(history.thread_id).artifact_path
    ends = f"ends with v{number}" if number else "has no version of it"
    return [codes.FILE_AHEAD_OF_MAIL.at(path=path, value=str(held), ends=ends)]


def _not_versions(history: VersionHistory) -> tuple[Diagnostic, ...]:
    """The COMPILED messages that are no version, also the one that stops the next compile."""
    return (*history.others(), *_broken(history))


def _broken(history: VersionHistory) -> tuple[Diagnostic, ...]:
    return (history.unsound,) if history.unsound else ()


def _file(workspace: Workspace, thread_id: str) -> str | None:
    """The artifact's file; None where there is none that can be read."""
    try:
        return (workspace.project.folder / cross_reference(thread_id).artifact_path).read_text(
            "utf-8"
        )
    except (OSError, UnicodeDecodeError):
        return None


def _from_file(
    workspace: Workspace, target: Target, history: VersionHistory | None
) -> LoadedVersion:
    """The persisted version, where the mail has none."""
    path = cross_reference(target.thread_id).artifact_path
    text = _file(workspace, target.thread_id)
    if text is None:
        if history is None:
            load_history(workspace.mailbox, target.thread_id, workspace.project.operator)  # refuses
        elif history.stopped:
            raise RequestError(history.stopped)
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


# All versions.


class ListedVersion(NamedTuple):
    """One line of the history."""

    number: int
    message: StoredMessage
    compiled_at: str
    compiled_by: str
    status: str
    summary: str
    persistence: Persistence


class VersionList(NamedTuple):
    """Every version, in order; `others` are COMPILED messages that are none."""

    thread_id: str
    versions: tuple[ListedVersion, ...]
    others: tuple[Diagnostic, ...]
    unread: int


def history(workspace: Workspace, thread_id: str) -> VersionList:
    """The versions that the mail has, each with what is known of its file and commit."""
    check_usable(thread_id)
    history = load_history(workspace.mailbox, thread_id, workspace.project.operator).history
    text_of = version_texts(workspace.mailbox, history, workspace.project.operator)
    digests = {each.number: version_digest(text_of(each.number) or "") for each in history.versions}
    return list_versions(workspace, history, digests)


def list_versions(
    workspace: Workspace, history: VersionHistory, digests: Mapping[int, bytes]
) -> VersionList:
    """The same of a chain that is known, with the digests of its versions.

    A version of which there is none cannot be found in files or in git: it counts as a draft.
    """
    wanted = {each.number: digests.get(each.number, b"") for each in history.versions}
    states = persistences_by_digest(workspace.project, history.thread_id, wanted)
    listed = []
    for version in history.versions:
        stored = workspace.mailbox.message(version.message_id)
        subject = parse_subject(stored.message.subject)
        said = subject.description if subject else stored.message.subject
        listed.append(
            ListedVersion(
                version.number,
                stored,
                version.compiled_at,
                version.compiled_by,
                version.status,
                said.removeprefix(f"v{version.number}").strip(),
                states[version.number],
            )
        )
    return VersionList(
        history.thread_id, tuple(listed), _not_versions(history), len(history.unread)
    )


class VerifiedVersion(NamedTuple):
    """Whether a version follows from the mail; `difference` says where it does not."""

    number: int
    ok: bool
    artifact_sha256: str
    difference: str = ""


class Verification(NamedTuple):
    """What came of rebuilding every version.

    `altered` are the ids of all messages of the thread whose content does not match their hash.
    `files` are the persisted file and its commits. They count for `ok` only if that was asked for.
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

    Nothing that was kept from before is used, and the hash of every message is computed again.
    With `files` a persisted file or a commit that differs from its version is a failure.
    """
    check_usable(thread_id)
    mailbox = workspace.mailbox if archive is None else mail_in(archive)
    found: list[VerifiedVersion] = []

    def watch(candidate: CompiledCandidate, rebuilt: Rebuilt) -> None:
        found.append(_verified(candidate, altered_in(candidate, rebuilt)))

    history = replay_chain(mailbox, thread_id, workspace.project.operator, watch)
    if history.broken:
        found.append(_verified(history.broken.candidate, history.broken.difference))
    text_of = version_texts(mailbox, history, workspace.project.operator)
    compared, about_files = _files(workspace, history, text_of, files=files)
    return Verification(
        thread_id,
        tuple(found),
        not history.stopped and not (files and any(not each.ok for each in compared)),
        (*history.others(), *_missing(history), *history.altered_messages(), *about_files),
        tuple(each.posted.id for each in history.altered),
        compared,
    )


def _missing(history: VersionHistory) -> tuple[Diagnostic, ...]:
    """Return how to get a missing version back; the verdict on the next one does not say it."""
    return _broken(history) if history.broken and history.broken.is_gap else ()


def _files(
    workspace: Workspace, history: VersionHistory, text_of: TextOf, *, files: bool
) -> tuple[tuple[ComparedFile, ...], list[Diagnostic]]:
    """Compare the file and its commits with the versions; also return what is to be said of them.

    Where git fails, that is an error only for a caller who asked for the files.
    """
    try:
        compared = compared_files(workspace.project, history, text_of)
    except BrennerError as error:
        if files:
            raise
        return (), [error.diagnostic]
    notes = []
    for each in compared:
        if not each.ok:
            ahead = file_ahead(workspace, history) if each.commit is None else []
            notes += ahead or [file_note(each, history.thread_id)]
    return compared, notes


def _verified(candidate: CompiledCandidate, difference: str) -> VerifiedVersion:
    sha256 = candidate.record.artifact_sha256 if candidate.record else ""
    return VerifiedVersion(candidate.number, not difference, sha256, difference)


def mail_in(archive: Path) -> Mailbox:
    """The mail in an archive, in memory."""
    from brenner.mail.memory import MemoryMailbox  # only who has no other mail needs it
    from brenner.services.archive import archive_lines, import_archive

    mailbox = MemoryMailbox()
    try:
        with archive.open("rb") as file:
            done = import_archive(mailbox, archive_lines(file), "jsonl", str(archive))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise RequestError(NOT_AN_ARCHIVE.at(path=str(archive), reason=reason)) from None
    if not isinstance(done, Restored):
        raise RequestError(done[0])
    return mailbox


# The versions of a thread as JSON, the same for every front end. Keys are only ever added.


def history_json(found: VersionList) -> dict[str, object]:
    """Every version, and the COMPILED messages that are none."""
    others = [other.to_json() for other in found.others]
    return {
        "thread_id": found.thread_id,
        "versions": [_listed(version) for version in found.versions],
        "void": others,
        "unread": found.unread,
        "violations": others,
        "summary": Summary.of(found.others)._asdict(),
    }


def _listed(version: ListedVersion) -> dict[str, object]:
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
    asked: Sequence[VerifiedVersion],
    archive: str | None = None,
    *,
    files: bool = False,
) -> dict[str, object]:
    """What came of rebuilding the versions that were asked for."""
    return {
        "thread_id": found.thread_id,
        "versions": [
            {
                "version": each.number,
                "ok": each.ok,
                "artifact_sha256": each.artifact_sha256,
                "difference": each.difference or None,
            }
            for each in asked
        ],
        "ok": is_verified(found, asked, files=files),
        "archive": archive,
        "altered": list(found.altered),
        "files": [
            {**each._asdict(), "difference": each.difference or None} for each in found.files
        ],
        "violations": [note.to_json() for note in found.notes],
        "summary": Summary.of(found.notes)._asdict(),
    }


def is_verified(
    found: Verification, asked: Sequence[VerifiedVersion], *, files: bool = False
) -> bool:
    """Whether the versions that were asked for follow from mail that is as it was stored.

    With `files` the persisted file and its commits must also equal their versions.
    """
    is_as_stored = all(each.ok for each in asked) and not found.altered
    return is_as_stored and not (files and any(not each.ok for each in found.files))


def verification_words(asked: Sequence[VerifiedVersion], altered: Sequence[int] = ()) -> str:
    """What came of it in one sentence."""
    wrong = next((each.number for each in asked if not each.ok), None)
    if wrong is not None:
        return f"v{wrong} does not follow from the mail; nothing is compiled until that is settled."
    all_of = {1: "The version follows", 2: "Both versions follow"}
    words = all_of.get(len(asked), f"All {len(asked)} versions follow")
    if altered:
        ids = ", ".join(map(str, altered))
        which = f"message {ids} does" if len(altered) == 1 else f"messages {ids} do"
        return f"{words} from the mail, but {which} not match the stored hash."
    return f"{words} from the mail, byte for byte."


# Two versions of a thread to compare; v0 is the empty artifact before the first one (R11).


class Side:
    """A version as far as comparing needs it. Its text follows from it, byte for byte (R10)."""

    def __init__(self, number: int, artifact: Artifact) -> None:
        self.number = number
        self.artifact = artifact

    @cached_property
    def text(self) -> str:
        """As it was published."""
        return render_artifact(self.artifact)


def side_of_nothing(thread_id: str) -> Side:
    """The thread before its first version."""
    return Side(0, empty_state(thread_id).artifact)


# Persist the latest version of a thread, whatever is unread; and foresee what that would do.


class Latest(NamedTuple):
    """The latest version of a thread, ready to be persisted."""

    history: VersionHistory
    version: VersionText


class Foreseen(NamedTuple):
    """What persisting would do.

    `difference` is what `diff -u` says of the file as it is and as it would be; empty where it
    would stay. `obstacle` is why nothing would be done. `notes` are what to know before.
    """

    version: VersionText
    persistence: Persistence
    difference: str
    commit: str | None = None
    destination: str | None = None
    archive: str | None = None
    notes: tuple[Diagnostic, ...] = ()
    obstacle: BrennerError | None = None


def latest_of(
    workspace: Workspace, thread_id: str, number: int | None = None, message_id: int | None = None
) -> Latest:
    """The latest version; refused where there is none, or where it is not the one of `number`, or
    of that message: a number that was declared void is given again.
    """
    check_usable(thread_id)
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
    return Latest(history, version_text(history, history.number, stored.id, text, stored.message))


def foresee(workspace: Workspace, latest: Latest, options: PersistOptions) -> Foreseen:
    """What `persist_latest` would do now. Nothing is written, nothing is sent."""
    version = latest.version
    persistence = persistence_of(workspace.project, version.thread_id, version.text)
    seen = Foreseen(version, persistence, "")
    try:
        place = place_of(workspace.project, version.thread_id)
        there, after = _there(place.file), filed(place.file, version)
        seen = seen._replace(difference=unified(there, after, place.name, place.name))
        check_files(workspace, version, _texts(workspace, latest), options, place)
        if has_archive(options, place):
            seen = seen._replace(archive=place.archive_name)
        if options.is_commit:
            names = [place.file.name, *([place.archive.name] if seen.archive else [])]
            home = check_repository(workspace.project, place, options, dict.fromkeys(names, b""))
            said = commit_message(version.thread_id, version.number, version.summary)
            to = home.destination
            seen = seen._replace(
                commit=said,
                destination=f"{to.branch} to {to.remote}" if to else None,
                notes=home.notes,
            )
    except BrennerError as error:
        return seen._replace(obstacle=error)
    return seen


def persist_latest(workspace: Workspace, latest: Latest, options: PersistOptions) -> Persisted:
    """Persist it; what was interrupted is finished by doing it again."""
    artifact = latest.history.state.artifact
    recipients = recipients_of(workspace, latest.history, artifact)
    return persist(workspace, latest.version, _texts(workspace, latest), options, recipients)


def _texts(workspace: Workspace, latest: Latest) -> Versions:
    return version_texts(workspace.mailbox, latest.history, workspace.project.operator)


def _there(file: Path) -> str:
    """What the file holds; nothing where there is none. One that is no text is told elsewhere."""
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
