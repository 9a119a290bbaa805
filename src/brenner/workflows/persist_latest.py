"""Persist the latest version of a thread, whatever is unread; and foresee what that would do."""

from pathlib import Path
from typing import NamedTuple

from brenner.artifact.render import render_artifact
from brenner.artifact.text_diff import unified
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.codes.publishing import VERSION_NOT_LATEST
from brenner.diagnostics.model import BrennerError, Diagnostic, Refused
from brenner.persist.artifact_file import MOST_FILE_BYTES, filed, place_of
from brenner.persist.commit import commit_message
from brenner.protocol.thread_ids import cross_reference
from brenner.session.versions import Chain
from brenner.workflows.chains import check_usable, load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.persist import (
    Persisted,
    Persistence,
    PersistOptions,
    Versions,
    VersionText,
    persist,
    persistence_of,
)
from brenner.workflows.persist_checks import check_files, check_repository, has_archive
from brenner.workflows.publishing import check_sound, recipients_of
from brenner.workflows.version_texts import version_text, version_texts


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
