"""Where a session stands, from the mailbox."""

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
from brenner.persist.artifact_file import ARTIFACTS, MOST_FILE_BYTES, place_of
from brenner.protocol.thread_ids import ThreadKind, classify_thread_id, cross_reference, is_valid
from brenner.services.version_store import check_usable, extend_history, filed, load_history
from brenner.services.workspace import Workspace
from brenner.session.model import SessionStatus
from brenner.session.overview import Known, Overview, decode_overview, encode_overview
from brenner.session.rebuild import ThreadMessage
from brenner.session.status import compute_status, merge_unread
from brenner.session.versions import VersionHistory, Watch, unwatched

# Sessions as their files in `artifacts/` tell of them: of another project, or of mail long gone.
#
# Names come from references, which anybody may write, so nothing outside of that folder is ever
# opened. A file that cannot be read is a diagnostic: other sessions are none the worse for it.


# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH113, PTH114, PTH208


_ENDING = ".md"
_FRONT_MATTER = b"---"
# Never through a link, and a pipe keeps nobody waiting
_OPENED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _UnreadableError(Exception):
    """Why a file is not the artifact of its session, in words."""


def session_files(project: Project) -> tuple[str, ...] | Diagnostic:
    """The sessions that have a file, by its name; or why the folder cannot be looked into."""
    folder = project.folder / ARTIFACTS
    if not os.path.lexists(folder):
        return ()
    try:
        names = os.listdir(place_of(project, "RS-20000101-any").folder)
    except BrennerError as error:
        return _unusable(error)
    except OSError as error:
        return _unreadable(f"{ARTIFACTS}/", _reason(error))
    stems = (name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING))
    return tuple(sorted(filter(is_valid, stems)))


def only_in_files(project: Project, known: Collection[str]) -> tuple[str, ...]:
    """The sessions that have a file and are not among those of the mail, by their names.

    What has the name of a bead may be any other page, such as README.md: its beginning decides.
    """
    found = session_files(project)
    if isinstance(found, Diagnostic):
        return ()
    names = (name for name in found if name not in known)
    return tuple(name for name in names if _is_session(project, name))


def _is_session(project: Project, name: str) -> bool:
    if classify_thread_id(name) is not ThreadKind.ENGINEERING:
        return True
    try:
        opened = os.open(place_of(project, name).file, _OPENED)
        with os.fdopen(opened, "rb") as read:
            return read.read(len(_FRONT_MATTER)) == _FRONT_MATTER
    except (BrennerError, OSError):
        return False


def read_session_file(project: Project, thread_id: str) -> Artifact | Diagnostic | None:
    """The artifact in the file of a session; None where there is no file, or none of a session."""
    if not is_valid(thread_id):
        return None
    path = cross_reference(thread_id).artifact_path
    try:
        file = place_of(project, thread_id).file
        return _read(file, thread_id) if _is_there(file) else None
    except BrennerError as error:
        return _unusable(error)
    except _UnreadableError as error:
        return _unreadable(path, str(error))


def _is_there(file: Path) -> bool:
    """Whether there is anything of that name; where one may not look, nobody can tell."""
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _UnreadableError(_reason(error)) from None
    return True


def _read(file: Path, thread_id: str) -> Artifact | None:
    text = _text(file)
    parsed = parse_artifact(text)
    if not _holds_something(parsed):
        if classify_thread_id(thread_id) is ThreadKind.ENGINEERING and text.strip():
            return None  # such as README.md, which has the name of a bead
        reason = "neither front matter nor any of the seven sections is in it"
        raise _UnreadableError(reason if text.strip() else "it is empty")
    named = parsed.artifact.metadata.session_id
    if named not in (None, thread_id):
        message = f"it says that it belongs to the session `{named}`"
        raise _UnreadableError(message)
    return parsed.artifact


def _text(file: Path) -> str:
    """A link could lead out of the folder, and a pipe would keep us waiting: only plain files."""
    if os.path.islink(file) or not os.path.isfile(file):
        message = "it is not a plain file"
        raise _UnreadableError(message)
    try:
        opened = os.open(file, _OPENED)
        with os.fdopen(opened, "rb") as read:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                message = "it is not a plain file"
                raise _UnreadableError(message)
            raw = read.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise _UnreadableError(_reason(error)) from None
    if len(raw) > MOST_FILE_BYTES:
        message = f"it is larger than {MOST_FILE_BYTES:,} bytes"
        raise _UnreadableError(message)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        message = "it is not UTF-8"
        raise _UnreadableError(message) from None


def _holds_something(parsed: ParsedArtifact) -> bool:
    outline = parsed.outline
    has_items = any(parsed.artifact.sections.values())
    return bool(outline.headings) or outline.front_matter is not None or has_items


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _unreadable(path: str, reason: str) -> Diagnostic:
    return SESSION_FILE_UNREADABLE.at(path=path, reason=reason)


def _unusable(error: BrennerError) -> Diagnostic:
    """What is wrong with the folder: the same for all sessions, whose paths it would name."""
    _path, _, reason = error.diagnostic.message.partition("`: ")
    return _unreadable(f"{ARTIFACTS}/", reason.rstrip("."))


class Followed(NamedTuple):
    """The status of a thread, and what it was worked out from, in the order of arrival."""

    status: SessionStatus
    history: VersionHistory
    messages: tuple[ThreadMessage, ...]
    stored: tuple[StoredMessage, ...] = ()
    merged: Merge | None = None


def load_status(workspace: Workspace, thread_id: str) -> Followed:
    """Where a thread stands; one that nobody has written to is refused."""
    check_usable(thread_id)
    try:
        known = load_history(workspace.mailbox, thread_id, workspace.project.operator)
    except RequestError as refused:
        raise with_its_file(workspace, thread_id, refused) from None
    found = workspace.mailbox.thread_arrivals(thread_id, 0)
    stored = tuple(each for each in found if each.arrival <= known.arrival)
    messages = tuple(map(filed, stored))
    history, operator = known.history, workspace.project.operator
    merged = merge_unread(history, operator)
    status = compute_status(history, messages, operator, None, merged).status
    return Followed(status, history, messages, stored, merged)


def with_news(
    before: Followed, news: Sequence[StoredMessage], operator: str, watch: Watch = unwatched
) -> Followed:
    """Where the thread stands with messages that came in since; `watch` sees new versions."""
    new = tuple(map(filed, news))
    messages = (*before.messages, *new)
    history = extend_history(before.history, messages, new, operator, watch)
    merged = merge_unread(history, operator, before.merged and (before.history, before.merged))
    status = compute_status(history, messages, operator, before.status, merged).status
    return Followed(status, history, messages, (*before.stored, *news), merged)


def with_its_file(workspace: Workspace, thread_id: str, refused: RequestError) -> RequestError:
    """The refusal of a thread without mail; where its artifact is here, it says so."""
    if refused.diagnostic.code != UNKNOWN_THREAD:
        return refused
    if read_session_file(workspace.project, thread_id) is None:
        return refused
    path, thread = cross_reference(thread_id).artifact_path, quote(thread_id)
    thread = f"-- {thread}" if thread_id.startswith("-") else thread
    said = f" It is in `{path}`: `brenner session show {thread}`, `brenner artifact show {thread}`."
    return RequestError(UNKNOWN_THREAD.at(thread=thread_id, suggestion=said))


# All sessions of a project, one row each; what was worked out is kept until the thread grows.
#
# A thread that has not grown costs a comparison. Where the home keeps nothing, or may not be
# written
# to, everything is worked out each time, and the answer is the same.


Progress = Callable[[str, int, int | None], None]
Follow = Callable[[Workspace, str], "Followed"]
_MANY = (30, 100, 300, 1000)  # rows asked for one by one, before it may be better to read all
_BATCH = 200  # rows that are worked out before they are kept: so many an interruption loses


class Listing(NamedTuple):
    """All sessions, the one with the newest message first.

    `others` are the threads whose ID is none that a session can have.
    """

    sessions: dict[str, Overview]
    others: tuple[str, ...]


def _silent(_doing: str, _done: int, _total: int | None) -> None:
    """Who does not look needs no progress."""


def overviews(workspace: Workspace, progress: Progress = _silent) -> dict[str, Overview]:
    """All threads with a valid ID in which somebody speaks the protocol."""
    return listing(workspace, progress).sessions


def listing(
    workspace: Workspace, progress: Progress = _silent, follow: Follow | None = None
) -> Listing:
    """All sessions, and what is left out. `follow` is for who knows some of them already."""
    summaries = workspace.mailbox.threads()
    threads = {each.thread_id: each for each in summaries if is_valid(each.thread_id)}
    found = _still_true(workspace, threads.values())
    stale = [thread_id for thread_id in threads if thread_id not in found]
    for known in _worked_out(workspace, stale, progress, follow):
        found[known.thread_id] = known
    rows = {thread_id: found[thread_id].overview for thread_id in threads}
    sessions = {thread_id: row for thread_id, row in rows.items() if row}
    others = tuple(each.thread_id for each in summaries if each.thread_id not in threads)
    return Listing(sessions, others)


def one_overview(workspace: Workspace, thread_id: str) -> Overview | None:
    """The row of one session; None where there is none of that ID."""
    rows = Rows(workspace)
    known = rows.find(thread_id)
    rows.keep()
    return known.overview if known else None


class Rows:
    """Rows as they are asked for, one by one; those that were worked out are kept together.

    To ask for one costs as much as ten of all at once. So where many are asked for, and there are
    not many more, all are read.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._desk = workspace
        self._worth_keeping: dict[str, str] = {}
        self._asked = 0
        self._all: dict[str, Known] = {}

    def find(self, thread_id: str) -> Known | None:
        """What there is to know of a thread; None where nobody has written to it."""
        if not is_valid(thread_id):
            return None
        self._asked += 1
        if self._asked in _MANY:
            self._read_all(most=10 * self._asked)
        if thread_id in self._all:
            return self._all[thread_id]
        page = self._desk.mailbox.thread(thread_id, limit=1)
        if not page.messages:
            return None
        thread = ThreadSummary(thread_id, page.position, page.messages[0].at, page.messages[0].at)
        name = _prefix(self._desk) + thread_id
        known = _sessions_read(self._desk.mailbox.kept(name))
        if known is None or not _is_of(known, thread):
            known, is_sure = _work_out(self._desk, thread_id)
            if is_sure:
                self._worth_keeping[name] = encode_overview(known)
        if len(self._worth_keeping) >= _BATCH:
            self.keep()
        return known

    def _read_all(self, most: int) -> None:
        threads = self._desk.mailbox.threads(limit=most + 1)
        if len(threads) <= most:
            self._all = _still_true(self._desk, threads)

    def keep(self) -> None:
        """Keep what was worked out, if anything was."""
        _keep(self._desk, self._worth_keeping)
        self._worth_keeping = {}


def _prefix(workspace: Workspace) -> str:
    """Who may void a version, and dismiss a block, is part of what was worked out."""
    return f"session of {workspace.project.operator} for "


def _still_true(workspace: Workspace, threads: Iterable[ThreadSummary]) -> dict[str, Known]:
    """What was kept of threads that have not grown since."""
    prefix = _prefix(workspace)
    kept = workspace.mailbox.kept_under(prefix)
    found = {}
    for thread in threads:
        known = _sessions_read(kept.get(prefix + thread.thread_id))
        if known is not None and _is_of(known, thread):
            found[thread.thread_id] = known
    return found


def _sessions_read(text: str | None) -> Known | None:
    """A kept row; None where there is none, or one that is damaged or of another release."""
    if text is None:
        return None
    try:
        return decode_overview(text)
    except ValueError:
        return None


def _is_of(known: Known, thread: ThreadSummary) -> bool:
    return (
        known.position == thread.position
        and known.last_at == thread.last_at
        and known.thread_id == thread.thread_id
    )


def _worked_out(
    workspace: Workspace, thread_ids: Sequence[str], progress: Progress, follow: Follow | None
) -> Iterator[Known]:
    """Each thread looked at anew; what was found is kept in batches."""
    remaining = iter(thread_ids)
    done = 0
    while batch := list(islice(remaining, _BATCH)):
        worth_keeping = {}
        for thread_id in batch:
            known, is_sure = _work_out(workspace, thread_id, follow)
            if is_sure:
                worth_keeping[_prefix(workspace) + thread_id] = encode_overview(known)
            done += 1
            progress("Reading sessions:", done, len(thread_ids))
            yield known
        _keep(workspace, worth_keeping)


def _keep(workspace: Workspace, contents: dict[str, str]) -> None:
    if contents and Capability.KEEPING not in workspace.mailbox.lacks:
        with suppress(BrennerError):  # then the next time only takes longer
            workspace.mailbox.keep(contents)


def _work_out(
    workspace: Workspace, thread_id: str, follow: "Follow | None" = None
) -> tuple[Known, bool]:
    """What there is to know of a thread, and whether no message came in while it was read."""
    from brenner.session.overview import overview_of
    from brenner.session.versions import type_of  # who finds all kept needs none of it

    status, history, messages, *_ = (follow or load_status)(workspace, thread_id)
    last_at = max(each.posted.at for each in messages)
    speaks = any(type_of(each) for each in messages)
    overview = overview_of(status, history.state.artifact) if speaks else None
    is_sure = status.position == history.position == len(messages)
    return Known(thread_id, len(messages), last_at, overview), is_sure
