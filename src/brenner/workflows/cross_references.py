"""Where everything of a session is: the Cross-Reference Contract, looked up in every system.

A session may be mail without a file, or a file whose mail is elsewhere. What is not there is said
to be not there; only a thread that neither mail nor a file knows is refused.
"""
# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH113

import os
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from brenner.artifact.model import Artifact, Metadata
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.mail.open import store_of
from brenner.mail.rules import unknown_thread
from brenner.persist.artifact_file import place_of, same_version
from brenner.persist.git import Persistence, persistence_of
from brenner.protocol.roster import Roster, role_in
from brenner.protocol.roster_config import read_roster
from brenner.protocol.thread_ids import CrossReference, cross_reference
from brenner.workflows.chains import check_usable
from brenner.workflows.desk import Desk
from brenner.workflows.session_files import read_session_file, session_files
from brenner.workflows.session_status import Followed, load_status
from brenner.workflows.version_texts import version_texts

if TYPE_CHECKING:
    from brenner.integrations.programs import Bead
    from brenner.workflows.neighbours import Terminal


class MailThread(NamedTuple):
    """The thread in the mailbox; `version` is its latest one, `message_id` what published it."""

    store: str
    messages: int
    first_at: datetime
    last_at: datetime
    version: int | None
    message_id: int | None


class ArtifactFile(NamedTuple):
    """The artifact as a file, there or not.

    `persistence` is how far the latest version of the mail has come; where the mail has none, how
    far the file has. `is_edited` says that the file is not what its version was published as.
    `problem` is why the file cannot be read as this session's.
    """

    path: str
    is_there: bool
    metadata: Metadata
    persistence: Persistence | None
    is_edited: bool
    problem: Diagnostic | None
    archive: str | None


class Whereabouts(NamedTuple):
    """A session in every system; `roster` is who has which role, in its order."""

    names: CrossReference
    mail: MailThread | None
    file: ArtifactFile
    terminal: "Terminal | None"
    bead: "Bead | None"
    roster: tuple[tuple[str, str | None], ...]


def whereabouts(desk: Desk, thread_id: str) -> Whereabouts:
    """Where a session is found; one that is found nowhere is refused, with the nearest."""
    from brenner.workflows.neighbours import bead_of, terminal_of

    check_usable(thread_id)
    has_mail = desk.mailbox.thread(thread_id, limit=1).position > 0
    followed = load_status(desk, thread_id) if has_mail else None
    read = read_session_file(desk.project, thread_id)
    if followed is None and read is None:
        raise unknown_thread(thread_id, _known(desk))
    metadata = read.metadata if isinstance(read, Artifact) else Metadata()
    return Whereabouts(
        cross_reference(thread_id),
        _mail(desk, followed) if followed else None,
        _file(desk, thread_id, read, followed),
        terminal_of(thread_id),
        bead_of(thread_id, desk.project.folder),
        _roster(followed, metadata),
    )


def _known(desk: Desk) -> dict[str, None]:
    """Each once: of two that are equally near nobody could say which is meant."""
    files = session_files(desk.project)
    known = dict.fromkeys(thread.thread_id for thread in desk.mailbox.threads())
    return known if isinstance(files, Diagnostic) else known | dict.fromkeys(files)


def _mail(desk: Desk, followed: Followed) -> MailThread:
    status = followed.status
    return MailThread(
        store_of(desk.project).shown,
        status.position,
        status.first_at,
        status.last_at,
        status.version.number if status.version else None,
        status.version.message_id if status.version else None,
    )


def _file(
    desk: Desk, thread_id: str, read: Artifact | Diagnostic | None, followed: Followed | None
) -> ArtifactFile:
    metadata = read.metadata if isinstance(read, Artifact) else Metadata()
    written = _written(desk, thread_id) if isinstance(read, Artifact) else None
    text_of = _texts(desk, followed)
    latest = text_of(followed.chain.number) if followed else None
    text = written if latest is None else latest
    return ArtifactFile(
        cross_reference(thread_id).artifact_path,
        read is not None,
        metadata,
        persistence_of(desk.project, thread_id, text) if text is not None else None,
        _is_edited(written, text_of(metadata.version or 0)),
        read if isinstance(read, Diagnostic) else None,
        _archive(desk, thread_id),
    )


def _is_edited(written: str | None, published: str | None) -> bool:
    """Where either of them is not known, nobody can say so."""
    if written is None or published is None:
        return False
    return not same_version(written, published)


def _texts(desk: Desk, followed: Followed | None) -> Callable[[int], str | None]:
    if followed is None:
        return lambda _: None
    return version_texts(desk.mailbox, followed.chain, desk.project.operator)


def _written(desk: Desk, thread_id: str) -> str | None:
    """The text of a file that could be read a moment ago."""
    try:
        return place_of(desk.project, thread_id).file.read_text("utf-8")
    except (BrennerError, OSError, UnicodeDecodeError):
        return None


def _archive(desk: Desk, thread_id: str) -> str | None:
    """The thread's mail beside the artifact, where it was kept there."""
    try:
        place = place_of(desk.project, thread_id)
    except BrennerError:
        return None
    return place.archive_name if os.path.isfile(place.archive) else None


def _roster(followed: Followed | None, metadata: Metadata) -> tuple[tuple[str, str | None], ...]:
    """As the thread has it; without mail as the front matter does."""
    if followed:
        people = followed.status.participants
        return tuple((each.name, each.role) for each in people if each.is_in_roster)
    found = read_roster(dict(metadata.roster), "the front matter") if metadata.roster else None
    roster = found if isinstance(found, Roster) else None
    return tuple((name, role_in(roster, name) if roster else None) for name in metadata.agents)
