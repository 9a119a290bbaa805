"""Load the status of a session from the mailbox, and update it with new messages."""

from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

from brenner.artifact.merge.engine import Merge
from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.model import RequestError
from brenner.mail.model import StoredMessage
from brenner.protocol.thread_ids import cross_reference
from brenner.services.session_files import read_session_file
from brenner.services.version_store import (
    extend_history,
    load_history,
    require_thread_id,
    to_thread_message,
)
from brenner.services.workspace import Workspace
from brenner.session.model import SessionStatus
from brenner.session.rebuild import ThreadMessage
from brenner.session.status import compute_status, merge_unread
from brenner.session.versions import VersionCallback, VersionHistory, ignore_version


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
