"""Sessions of a project: their files, the status of one, and a cached overview of all."""

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from brenner.artifact.format import ParsedArtifact
from brenner.artifact.merge.engine import Merge
from brenner.artifact.model import Artifact
from brenner.artifact.parse import parse_artifact
from brenner.config import Project
from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.codes.merging import SESSION_FILE_UNREADABLE
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError
from brenner.mail.mailbox import Capability
from brenner.mail.model import StoredMessage, ThreadSummary
from brenner.persist.artifact_file import ARTIFACTS, MOST_FILE_BYTES, artifact_paths
from brenner.protocol.thread_ids import (
    ThreadKind,
    classify_thread_id,
    cross_reference,
    is_valid_thread_id,
)
from brenner.services.version_store import (
    extend_history,
    load_history,
    require_thread_id,
    to_thread_message,
)
from brenner.services.workspace import Workspace
from brenner.session.model import SessionStatus
from brenner.session.overview import CachedOverview, Overview, decode_overview, encode_overview
from brenner.session.rebuild import ThreadMessage
from brenner.session.status import compute_status, merge_unread
from brenner.session.versions import VersionCallback, VersionHistory, ignore_version

# Session files in `artifacts/`, also of sessions whose mail is elsewhere or lost
#
# Names come from references, which any agent can write, so nothing outside of that folder is ever
# opened. A file that cannot be read is a diagnostic, and does not affect other sessions.

# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH113, PTH114, PTH208


_SUFFIX = ".md"
_FRONT_MATTER = b"---"
# Follow no link, and do not block on a pipe
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _UnreadableFileError(Exception):
    """The reason why a file is not the artifact of its session."""


def session_files(project: Project) -> tuple[str, ...] | Diagnostic:
    """Return the IDs of the sessions that have a file, or why the folder cannot be read."""
    folder = project.folder / ARTIFACTS
    if not os.path.lexists(folder):
        return ()
    try:
        names = os.listdir(artifact_paths(project, "RS-20000101-any").folder)
    except BrennerError as error:
        return _unusable_folder(error)
    except OSError as error:
        return _unreadable_file(f"{ARTIFACTS}/", _reason(error))
    stems = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return tuple(sorted(filter(is_valid_thread_id, stems)))


def sessions_only_in_files(project: Project, known: Collection[str]) -> tuple[str, ...]:
    """Return the IDs of sessions that have a file and are not in `known`.

    A file with the name of a bead may be any other page, such as README.md. Its first bytes decide.
    """
    found = session_files(project)
    if isinstance(found, Diagnostic):
        return ()
    names = (name for name in found if name not in known)
    return tuple(name for name in names if _is_session_file(project, name))


def _is_session_file(project: Project, name: str) -> bool:
    if classify_thread_id(name) is not ThreadKind.ENGINEERING:
        return True
    try:
        opened = os.open(artifact_paths(project, name).file, _OPEN_FLAGS)
        with os.fdopen(opened, "rb") as read:
            return read.read(len(_FRONT_MATTER)) == _FRONT_MATTER
    except (BrennerError, OSError):
        return False


def read_session_file(project: Project, thread_id: str) -> Artifact | Diagnostic | None:
    """Return the artifact in a session's file; None if there is no file, or no session's file."""
    if not is_valid_thread_id(thread_id):
        return None
    path = cross_reference(thread_id).artifact_path
    try:
        file = artifact_paths(project, thread_id).file
        return _read_artifact(file, thread_id) if _exists(file) else None
    except BrennerError as error:
        return _unusable_folder(error)
    except _UnreadableFileError as error:
        return _unreadable_file(path, str(error))


def _exists(file: Path) -> bool:
    """Return whether a file of that name exists. Raise if the folder cannot be read."""
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _UnreadableFileError(_reason(error)) from None
    return True


def _read_artifact(file: Path, thread_id: str) -> Artifact | None:
    text = _read_text(file)
    parsed = parse_artifact(text)
    if not _has_content(parsed):
        if classify_thread_id(thread_id) is ThreadKind.ENGINEERING and text.strip():
            return None  # such as README.md, which has the name of a bead
        reason = "neither front matter nor any of the seven sections is in it"
        raise _UnreadableFileError(reason if text.strip() else "it is empty")
    named = parsed.artifact.metadata.session_id
    if named not in (None, thread_id):
        message = f"it says that it belongs to the session `{named}`"
        raise _UnreadableFileError(message)
    return parsed.artifact


def _read_text(file: Path) -> str:
    """Read a regular file. A link could lead out of the folder, and a pipe would block."""
    if os.path.islink(file) or not os.path.isfile(file):
        message = "it is not a plain file"
        raise _UnreadableFileError(message)
    try:
        opened = os.open(file, _OPEN_FLAGS)
        with os.fdopen(opened, "rb") as read:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                message = "it is not a plain file"
                raise _UnreadableFileError(message)
            raw = read.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise _UnreadableFileError(_reason(error)) from None
    if len(raw) > MOST_FILE_BYTES:
        message = f"it is larger than {MOST_FILE_BYTES:,} bytes"
        raise _UnreadableFileError(message)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        message = "it is not UTF-8"
        raise _UnreadableFileError(message) from None


def _has_content(parsed: ParsedArtifact) -> bool:
    outline = parsed.outline
    has_items = any(parsed.artifact.sections.values())
    return bool(outline.headings) or outline.front_matter is not None or has_items


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _unreadable_file(path: str, reason: str) -> Diagnostic:
    return SESSION_FILE_UNREADABLE.at(path=path, reason=reason)


def _unusable_folder(error: BrennerError) -> Diagnostic:
    """Return the diagnostic for the folder, the same for all sessions in it."""
    _path, _, reason = error.diagnostic.message.partition("`: ")
    return _unreadable_file(f"{ARTIFACTS}/", reason.rstrip("."))


class LoadedStatus(NamedTuple):
    """The status of a thread, and the data that it was computed from, in order of arrival."""

    status: SessionStatus
    history: VersionHistory
    messages: tuple[ThreadMessage, ...]
    stored: tuple[StoredMessage, ...] = ()
    merged: Merge | None = None


def load_status(workspace: Workspace, thread_id: str) -> LoadedStatus:
    """Return the status of a thread. Raise if it has no messages."""
    require_thread_id(thread_id)
    try:
        known = load_history(workspace.mailbox, thread_id, workspace.project.operator)
    except RequestError as refused:
        raise mention_artifact_file(workspace, thread_id, refused) from None
    found = workspace.mailbox.thread_arrivals(thread_id, 0)
    stored = tuple(each for each in found if each.arrival <= known.arrival)
    messages = tuple(map(to_thread_message, stored))
    history, operator = known.history, workspace.project.operator
    merged = merge_unread(history, operator)
    status = compute_status(history, messages, operator, None, merged).status
    return LoadedStatus(status, history, messages, stored, merged)


def update_status(
    before: LoadedStatus,
    news: Sequence[StoredMessage],
    operator: str,
    on_version: VersionCallback = ignore_version,
) -> LoadedStatus:
    """Return the status after new messages; `on_version` gets new versions."""
    new = tuple(map(to_thread_message, news))
    messages = (*before.messages, *new)
    history = extend_history(before.history, messages, new, operator, on_version)
    merged = merge_unread(history, operator, before.merged and (before.history, before.merged))
    status = compute_status(history, messages, operator, before.status, merged).status
    return LoadedStatus(status, history, messages, (*before.stored, *news), merged)


def mention_artifact_file(
    workspace: Workspace, thread_id: str, refused: RequestError
) -> RequestError:
    """Return the error for a thread without mail, extended with its artifact's file, if any."""
    if refused.diagnostic.code != UNKNOWN_THREAD:
        return refused
    if read_session_file(workspace.project, thread_id) is None:
        return refused
    path, thread = cross_reference(thread_id).artifact_path, quote(thread_id)
    thread = f"-- {thread}" if thread_id.startswith("-") else thread
    hint = f" It is in `{path}`: `brenner session show {thread}`, `brenner artifact show {thread}`."
    return RequestError(UNKNOWN_THREAD.at(thread=thread_id, suggestion=hint))


# The overview of all sessions, one row each, cached until the thread gets a message
#
# An unchanged thread costs one comparison. If the store has no cache, or is read-only, every row is
# computed each time, with the same result.


Progress = Callable[[str, int, int | None], None]
StatusLoader = Callable[[Workspace, str], "LoadedStatus"]
_LOOKUPS_BEFORE_READING_ALL = (
    30,
    100,
    300,
    1000,
)  # after so many single lookups, consider reading all rows
_SAVE_BATCH = 200  # rows per write; an interruption loses at most these


class SessionList(NamedTuple):
    """All sessions, the one with the newest message first.

    `others` are the threads whose ID is not a valid session ID.
    """

    sessions: dict[str, Overview]
    others: tuple[str, ...]


def _no_progress(_doing: str, _done: int, _total: int | None) -> None:
    """Ignore progress."""


def overviews(workspace: Workspace, progress: Progress = _no_progress) -> dict[str, Overview]:
    """Return the overview of every thread with a valid ID and mail of the protocol."""
    return list_sessions(workspace, progress).sessions


def list_sessions(
    workspace: Workspace, progress: Progress = _no_progress, load: StatusLoader | None = None
) -> SessionList:
    """Return all sessions, and the other threads. `load` can replace `load_status`."""
    summaries = workspace.mailbox.threads()
    threads = {each.thread_id: each for each in summaries if is_valid_thread_id(each.thread_id)}
    found = _load_current_rows(workspace, threads.values())
    stale = [thread_id for thread_id in threads if thread_id not in found]
    for known in _compute_rows(workspace, stale, progress, load):
        found[known.thread_id] = known
    rows = {thread_id: found[thread_id].overview for thread_id in threads}
    sessions = {thread_id: row for thread_id, row in rows.items() if row}
    others = tuple(each.thread_id for each in summaries if each.thread_id not in threads)
    return SessionList(sessions, others)


def load_overview(workspace: Workspace, thread_id: str) -> Overview | None:
    """Return the overview of one session; None if there is none of that ID."""
    rows = OverviewCache(workspace)
    known = rows.find(thread_id)
    rows.keep()
    return known.overview if known else None


class OverviewCache:
    """A cache of overview rows that are looked up one by one, and saved together.

    One lookup costs as much as ten rows of a full read. So after many lookups in a small project,
    all rows are read at once.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._unsaved: dict[str, str] = {}
        self._lookups = 0
        self._all: dict[str, CachedOverview] = {}

    def find(self, thread_id: str) -> CachedOverview | None:
        """Return the row of a thread; None if the thread has no messages."""
        if not is_valid_thread_id(thread_id):
            return None
        self._lookups += 1
        if self._lookups in _LOOKUPS_BEFORE_READING_ALL:
            self._read_all(most=10 * self._lookups)
        if thread_id in self._all:
            return self._all[thread_id]
        page = self._workspace.mailbox.thread(thread_id, limit=1)
        if not page.messages:
            return None
        thread = ThreadSummary(thread_id, page.position, page.messages[0].at, page.messages[0].at)
        name = _cache_prefix(self._workspace) + thread_id
        known = _decode_row(self._workspace.mailbox.kept(name))
        if known is None or not _is_current(known, thread):
            known, is_sure = _compute_row(self._workspace, thread_id)
            if is_sure:
                self._unsaved[name] = encode_overview(known)
        if len(self._unsaved) >= _SAVE_BATCH:
            self.keep()
        return known

    def _read_all(self, most: int) -> None:
        threads = self._workspace.mailbox.threads(limit=most + 1)
        if len(threads) <= most:
            self._all = _load_current_rows(self._workspace, threads)

    def keep(self) -> None:
        """Save the computed rows to the store's cache."""
        _save_rows(self._workspace, self._unsaved)
        self._unsaved = {}


def _cache_prefix(workspace: Workspace) -> str:
    """Return the prefix of cache keys, with the operator, who decides on voids and dismissals."""
    return f"session of {workspace.project.operator} for "


def _load_current_rows(
    workspace: Workspace, threads: Iterable[ThreadSummary]
) -> dict[str, CachedOverview]:
    """Return the cached rows of threads without newer messages."""
    prefix = _cache_prefix(workspace)
    kept = workspace.mailbox.kept_under(prefix)
    found = {}
    for thread in threads:
        known = _decode_row(kept.get(prefix + thread.thread_id))
        if known is not None and _is_current(known, thread):
            found[thread.thread_id] = known
    return found


def _decode_row(text: str | None) -> CachedOverview | None:
    """Decode a cached row; return None if it is missing, damaged or of another release."""
    if text is None:
        return None
    try:
        return decode_overview(text)
    except ValueError:
        return None


def _is_current(known: CachedOverview, thread: ThreadSummary) -> bool:
    return (
        known.position == thread.position
        and known.last_at == thread.last_at
        and known.thread_id == thread.thread_id
    )


def _compute_rows(
    workspace: Workspace, thread_ids: Sequence[str], progress: Progress, load: StatusLoader | None
) -> Iterator[CachedOverview]:
    """Compute the row of each thread, and save the rows in batches."""
    remaining = iter(thread_ids)
    done = 0
    while batch := list(islice(remaining, _SAVE_BATCH)):
        worth_keeping = {}
        for thread_id in batch:
            known, is_sure = _compute_row(workspace, thread_id, load)
            if is_sure:
                worth_keeping[_cache_prefix(workspace) + thread_id] = encode_overview(known)
            done += 1
            progress("Reading sessions:", done, len(thread_ids))
            yield known
        _save_rows(workspace, worth_keeping)


def _save_rows(workspace: Workspace, contents: dict[str, str]) -> None:
    if contents and Capability.CACHE not in workspace.mailbox.lacks:
        with suppress(BrennerError):  # the next time only takes longer
            workspace.mailbox.keep(contents)


def _compute_row(
    workspace: Workspace, thread_id: str, load: "StatusLoader | None" = None
) -> tuple[CachedOverview, bool]:
    """Return the row of a thread, and whether no message came in while it was read."""
    from brenner.session.overview import overview_of
    from brenner.session.versions import type_of  # not needed if all rows are cached

    status, history, messages, *_ = (load or load_status)(workspace, thread_id)
    last_at = max(each.posted.at for each in messages)
    speaks = any(type_of(each) for each in messages)
    overview = overview_of(status, history.state.artifact) if speaks else None
    is_sure = status.position == history.position == len(messages)
    return CachedOverview(thread_id, len(messages), last_at, overview), is_sure
