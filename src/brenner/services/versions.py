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
from brenner.diagnostics.model import BrennerError, Diagnostic, Refused, Summary
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Restored, Stored
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
    load_chain,
    replay_chain,
    version_text,
    version_texts,
)
from brenner.services.workspace import Desk
from brenner.session.rebuild import Candidate, Rebuilt, altered_in, ids_of, local_state, text_hash
from brenner.session.versions import Chain, Published


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
    message: Stored | None = None
    state: State | None = None
    notes: tuple[Diagnostic, ...] = ()


def load_version(desk: Desk, target: Target, *, with_state: bool = False) -> LoadedVersion:
    """The version asked for, or the latest: of the mail, else of the file (dual-source rule)."""
    check_usable(target.thread_id)
    if not _has_mail(desk.mailbox, target.thread_id):
        return _from_file(desk, target, None)
    chain = load_chain(desk.mailbox, target.thread_id, desk.project.operator).chain
    if not chain.versions:
        return _from_file(desk, target, chain)
    number = chain.number if target.version is None else target.version
    found = {version.number: version for version in chain.versions}
    if number not in found:
        words = {"thread_id": target.thread_id, "version": str(number), "known": _known(chain)}
        raise Refused(codes.UNKNOWN_VERSION.at(None, **words))
    state = _its_state(desk, chain, number) if with_state else None
    text = _text(desk, chain, found[number], state)
    return LoadedVersion(
        target.thread_id,
        number,
        state.artifact if state else parse_artifact(text).artifact,
        text,
        "mail",
        desk.mailbox.message(found[number].message_id),
        state,
        _notes(desk, chain, target),
    )


def _its_state(desk: Desk, chain: Chain, number: int) -> State:
    is_latest = number == chain.number
    return latest_state(desk, chain) if is_latest else _state_of(desk, chain.thread_id, number)


def _text(desk: Desk, chain: Chain, version: Published, state: State | None) -> str:
    """The text of a version; one whose state is at hand need not be rebuilt for it."""
    text = render_artifact(state.artifact) if state else ""
    if state and text_hash(text) == version.artifact_sha256:
        return text
    return version_texts(desk.mailbox, chain, desk.project.operator)(version.number) or ""


def latest_state(desk: Desk, chain: Chain) -> State:
    """The state of the latest version; messages have the ids of this store in it."""
    if _has_its_ids(chain):
        return chain.state
    return _state_of(desk, chain.thread_id, chain.number)


def _has_its_ids(chain: Chain) -> bool:
    """Whether every version has the id that it was posted with: none was renumbered by an import,
    and so no message that it has read.
    """
    posted = {version.number: version.message_id for version in chain.state.versions}
    return all(
        posted.get(each.number, each.message_id) == each.message_id for each in chain.versions
    )


def _has_mail(mailbox: Mailbox, thread_id: str) -> bool:
    return mailbox.thread(thread_id, limit=1).position > 0


def _known(chain: Chain) -> str:
    if len(chain.versions) == 1:
        return f"there is only v{chain.number}"
    return f"the latest is v{chain.number}"


def _state_of(desk: Desk, thread_id: str, number: int) -> State:
    """The state of a version, which is rebuilt; messages have the ids of this store in it."""
    found: dict[int, State] = {}
    ids: dict[tuple[int, int], int] = {}

    def watch(candidate: Candidate, rebuilt: Rebuilt) -> None:
        ids.update(ids_of(candidate, rebuilt))
        if candidate.number == number:
            found[number] = local_state(rebuilt.state, ids)

    replay_chain(desk.mailbox, thread_id, desk.project.operator, watch)
    return found[number]


def _notes(desk: Desk, chain: Chain, target: Target) -> tuple[Diagnostic, ...]:
    """What the reader should know beside the version: messages that are none, or that were altered,
    a later file.
    """
    notes = [*chain.new_others(), *_broken(chain), *chain.altered_messages()]
    if target.version is None:
        notes += file_ahead(desk, chain)
    return tuple(notes)


def file_ahead(desk: Desk, chain: Chain) -> list[Diagnostic]:
    """Say that the file holds a later version than the mail, and none that was voided."""
    number, on_disk = chain.number, _file(desk, chain.thread_id)
    held = parse_artifact(on_disk).artifact.metadata.version if on_disk else None
    if held is None or held <= number:
        return []
    if any(each.number == held and chain.is_declared_void(each) for each in chain.spare):
        return []
    path = cross_reference(chain.thread_id).artifact_path
    ends = f"ends with v{number}" if number else "has no version of it"
    return [codes.FILE_AHEAD_OF_MAIL.at(path=path, value=str(held), ends=ends)]


def _not_versions(chain: Chain) -> tuple[Diagnostic, ...]:
    """The COMPILED messages that are no version, also the one that stops the next compile."""
    return (*chain.others(), *_broken(chain))


def _broken(chain: Chain) -> tuple[Diagnostic, ...]:
    return (chain.unsound,) if chain.unsound else ()


def _file(desk: Desk, thread_id: str) -> str | None:
    """The artifact's file; None where there is none that can be read."""
    try:
        return (desk.project.folder / cross_reference(thread_id).artifact_path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _from_file(desk: Desk, target: Target, chain: Chain | None) -> LoadedVersion:
    """The persisted version, where the mail has none."""
    path = cross_reference(target.thread_id).artifact_path
    text = _file(desk, target.thread_id)
    if text is None:
        if chain is None:
            load_chain(desk.mailbox, target.thread_id, desk.project.operator)  # refuses
        elif chain.stopped:
            raise Refused(chain.stopped)
        raise Refused(codes.NO_VERSION_YET.at(thread_id=target.thread_id, path=path))
    parsed = parse_artifact(text)
    artifact = parsed.artifact
    number = artifact.metadata.version
    if target.version not in (None, number):
        known = f"there is only v{number}, in `{path}`"
        words = {"thread_id": target.thread_id, "version": str(target.version), "known": known}
        raise Refused(codes.UNKNOWN_VERSION.at(None, **words))
    note = codes.SHOWN_FROM_FILE.at(thread_id=target.thread_id, path=path)
    others = _not_versions(chain) if chain else ()
    notes = (note, *others, *parsed.diagnostics)
    return LoadedVersion(target.thread_id, number, artifact, text, "file", notes=notes)


# All versions.


class ListedVersion(NamedTuple):
    """One line of the history."""

    number: int
    message: Stored
    compiled_at: str
    compiled_by: str
    status: str
    summary: str
    persistence: Persistence


class History(NamedTuple):
    """Every version, in order; `others` are COMPILED messages that are none."""

    thread_id: str
    versions: tuple[ListedVersion, ...]
    others: tuple[Diagnostic, ...]
    unread: int


def history(desk: Desk, thread_id: str) -> History:
    """The versions that the mail has, each with what is known of its file and commit."""
    check_usable(thread_id)
    chain = load_chain(desk.mailbox, thread_id, desk.project.operator).chain
    text_of = version_texts(desk.mailbox, chain, desk.project.operator)
    digests = {each.number: version_digest(text_of(each.number) or "") for each in chain.versions}
    return history_of(desk, chain, digests)


def history_of(desk: Desk, chain: Chain, digests: Mapping[int, bytes]) -> History:
    """The same of a chain that is known, with the digests of its versions.

    A version of which there is none cannot be found in files or in git: it counts as a draft.
    """
    wanted = {each.number: digests.get(each.number, b"") for each in chain.versions}
    states = persistences_by_digest(desk.project, chain.thread_id, wanted)
    listed = []
    for version in chain.versions:
        stored = desk.mailbox.message(version.message_id)
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
    return History(chain.thread_id, tuple(listed), _not_versions(chain), len(chain.unread))


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
    desk: Desk, thread_id: str, archive: Path | None = None, *, files: bool = False
) -> Verification:
    """Rebuild every version from the mail alone, or from an archive of it, and compare.

    Nothing that was kept from before is used, and the hash of every message is computed again.
    With `files` a persisted file or a commit that differs from its version is a failure.
    """
    check_usable(thread_id)
    mailbox = desk.mailbox if archive is None else mail_in(archive)
    found: list[VerifiedVersion] = []

    def watch(candidate: Candidate, rebuilt: Rebuilt) -> None:
        found.append(_verified(candidate, altered_in(candidate, rebuilt)))

    chain = replay_chain(mailbox, thread_id, desk.project.operator, watch)
    if chain.broken:
        found.append(_verified(chain.broken.candidate, chain.broken.difference))
    text_of = version_texts(mailbox, chain, desk.project.operator)
    compared, about_files = _files(desk, chain, text_of, files=files)
    return Verification(
        thread_id,
        tuple(found),
        not chain.stopped and not (files and any(not each.ok for each in compared)),
        (*chain.others(), *_missing(chain), *chain.altered_messages(), *about_files),
        tuple(each.posted.id for each in chain.altered),
        compared,
    )


def _missing(chain: Chain) -> tuple[Diagnostic, ...]:
    """Return how to get a missing version back; the verdict on the next one does not say it."""
    return _broken(chain) if chain.broken and chain.broken.is_gap else ()


def _files(
    desk: Desk, chain: Chain, text_of: TextOf, *, files: bool
) -> tuple[tuple[ComparedFile, ...], list[Diagnostic]]:
    """Compare the file and its commits with the versions; also return what is to be said of them.

    Where git fails, that is an error only for a caller who asked for the files.
    """
    try:
        compared = compared_files(desk.project, chain, text_of)
    except BrennerError as error:
        if files:
            raise
        return (), [error.diagnostic]
    notes = []
    for each in compared:
        if not each.ok:
            ahead = file_ahead(desk, chain) if each.commit is None else []
            notes += ahead or [file_note(each, chain.thread_id)]
    return compared, notes


def _verified(candidate: Candidate, difference: str) -> VerifiedVersion:
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
        raise Refused(NOT_AN_ARCHIVE.at(path=str(archive), reason=reason)) from None
    if not isinstance(done, Restored):
        raise Refused(done[0])
    return mailbox


# The versions of a thread as JSON, the same for every front end. Keys are only ever added.


def history_json(found: History) -> dict[str, object]:
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

    chain: Chain
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
    desk: Desk, thread_id: str, number: int | None = None, message_id: int | None = None
) -> Latest:
    """The latest version; refused where there is none, or where it is not the one of `number`, or
    of that message: a number that was declared void is given again.
    """
    check_usable(thread_id)
    chain = load_chain(desk.mailbox, thread_id, desk.project.operator).chain
    check_sound(chain)
    if chain.latest is None:
        path = cross_reference(thread_id).artifact_path
        raise Refused(NO_VERSION_YET.at(thread_id=thread_id, path=path))
    if number is not None and number != chain.number:
        now = f"v{chain.number} is"
        raise Refused(VERSION_NOT_LATEST.at(thread_id=thread_id, version=number, latest=now))
    if message_id not in (None, chain.latest.message_id):
        now = f"another v{chain.number} is, message {chain.latest.message_id}"
        number = chain.number
        raise Refused(VERSION_NOT_LATEST.at(thread_id=thread_id, version=number, latest=now))
    stored = desk.mailbox.message(chain.latest.message_id)
    text = render_artifact(chain.state.artifact)
    return Latest(chain, version_text(chain, chain.number, stored.id, text, stored.message))


def foresee(desk: Desk, latest: Latest, options: PersistOptions) -> Foreseen:
    """What `persist_latest` would do now. Nothing is written, nothing is sent."""
    version = latest.version
    persistence = persistence_of(desk.project, version.thread_id, version.text)
    seen = Foreseen(version, persistence, "")
    try:
        place = place_of(desk.project, version.thread_id)
        there, after = _there(place.file), filed(place.file, version)
        seen = seen._replace(difference=unified(there, after, place.name, place.name))
        check_files(desk, version, _texts(desk, latest), options, place)
        if has_archive(options, place):
            seen = seen._replace(archive=place.archive_name)
        if options.is_commit:
            names = [place.file.name, *([place.archive.name] if seen.archive else [])]
            home = check_repository(desk.project, place, options, dict.fromkeys(names, b""))
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


def persist_latest(desk: Desk, latest: Latest, options: PersistOptions) -> Persisted:
    """Persist it; what was interrupted is finished by doing it again."""
    artifact = latest.chain.state.artifact
    recipients = recipients_of(desk, latest.chain, artifact)
    return persist(desk, latest.version, _texts(desk, latest), options, recipients)


def _texts(desk: Desk, latest: Latest) -> Versions:
    return version_texts(desk.mailbox, latest.chain, desk.project.operator)


def _there(file: Path) -> str:
    """What the file holds; nothing where there is none. One that is no text is told elsewhere."""
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
