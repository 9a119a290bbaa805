"""Load the status of a session from the mailbox, and update it with new messages."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.model import RequestError
from brenner.named_tuple import NamedTuple
from brenner.protocol.thread_ids import cross_reference
from brenner.services.session_files import read_session_file
from brenner.services.version_store import extend_history, load_thread, require_thread_id
from brenner.session.status import compute_status, may_ask, merge_unread
from brenner.session.versions import VersionCallback, VersionHistory, ignore_version
from brenner.text import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brenner.artifact.merge.engine import Merge
    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.messages import StoredMessage
    from brenner.services.versions import LoadedVersion
    from brenner.services.workspace import Workspace
    from brenner.session.model import SessionStatus


class LoadedStatus(NamedTuple):
    """The status of a thread, and the data that it was computed from, in order of arrival."""

    status: SessionStatus
    history: VersionHistory
    messages: tuple[StoredMessage, ...]
    merged: Merge

    @property
    def is_sealed(self) -> bool:
        """Whether some messages are sealed for this reader (R33): they must be read again."""
        return any(each.is_sealed for each in self.messages)


def load_status(workspace: Workspace, thread_id: str) -> LoadedStatus:
    """Return the status of a thread. Raise if it has no messages."""
    require_thread_id(thread_id)
    operator = workspace.project.operator
    try:
        history, messages = load_thread(workspace.mailbox, thread_id, operator)
    except RequestError as refused:
        raise mention_artifact_file(workspace, thread_id, refused) from None
    return status_of(history, messages, operator)


def status_of(
    history: VersionHistory,
    messages: tuple[StoredMessage, ...],
    operator: str,
    before: LoadedStatus | None = None,
) -> LoadedStatus:
    """Return the status of a loaded thread; what is known of an earlier one is reused."""
    merged = merge_unread(history, operator, before and (before.history, before.merged))
    status = compute_status(history, messages, operator, before and before.status, merged)
    return LoadedStatus(status, history, messages, merged)


def update_status(
    before: LoadedStatus,
    news: Sequence[StoredMessage],
    operator: str,
    on_version: VersionCallback = ignore_version,
) -> LoadedStatus:
    """Return the status after new messages; `on_version` gets new versions."""
    messages = (*before.messages, *news)
    history = extend_history(before.history, messages, news, operator, on_version)
    return status_of(history, messages, operator, before)


def unanswered_warnings(workspace: Workspace, version: LoadedVersion) -> tuple[Diagnostic, ...]:
    """Return a warning for each item that asks for an answer (R28), for the latest version only."""
    if not may_ask(version.artifact):
        return ()
    from brenner.diagnostics.codes.sessions import UNANSWERED_ITEM

    thread_id = version.thread_id
    status = load_status(workspace, thread_id).status
    if status.version is None or status.version.number != version.number:
        return ()
    return tuple(
        UNANSWERED_ITEM.at(
            None,
            fact=each.fact,
            id=each.message_id,
            item=each.item,
            names=joined(dict.fromkeys((each.item, each.because))),
            thread_id=thread_id,
            address=each.address,
        )._replace(item=each.item)
        for each in status.unanswered
    )


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
    commands = f"`brenner session show {thread}` and `brenner artifact show {thread}` show it"
    hint = f" Its artifact is in `{path}`: {commands}."
    return RequestError(UNKNOWN_THREAD.at(thread=thread_id, suggestion=hint))
