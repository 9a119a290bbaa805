"""Complete a session: send its conclusion, then publish the last version (R28, R29).

Everything that can be known to fail is checked with a preview first, so that no conclusion stays
behind in a session that is not completed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.codes.artifacts import COMPILE_OVERTAKEN
from brenner.diagnostics.codes.mail import VERSION_OVERTAKEN
from brenner.diagnostics.model import RequestError
from brenner.protocol.messages import Message
from brenner.services.compile import (
    CompileOptions,
    CompileResult,
    CompileStatus,
    compile_thread,
    unanswered_error,
)
from brenner.services.publish import (
    MOST_TRIES,
    check_operator,
    check_publishable,
    recipients_of,
    send_condition,
)
from brenner.services.send_checks import refuse_secrets
from brenner.services.session_status import load_status
from brenner.services.version_store import load_history
from brenner.session.conclusion import CONCLUSION, compose_conclusion

if TYPE_CHECKING:
    from brenner.services.session_status import LoadedStatus
    from brenner.services.workspace import Workspace


def complete_session(
    workspace: Workspace, thread_id: str, options: CompileOptions, conclusion: str = ""
) -> CompileResult:
    """Publish the last version of a session, with the conclusion if one is given.

    A conclusion that the thread has already is not sent again.
    """
    check_operator(workspace, "complete a session")
    options = options._replace(close=True)
    text = conclusion.strip()
    if not text or known_conclusion(load_status(workspace, thread_id)) == text:
        return compile_thread(workspace, thread_id, options)
    preview = options._replace(dry_run=True, conclusion=text)
    done = compile_thread(workspace, thread_id, preview)
    if options.dry_run or done.status is not CompileStatus.DRY_RUN:
        return done
    _send_conclusion(workspace, thread_id, text)
    if options.position is not None:  # the conclusion is new since the preview, and was in it
        position = workspace.mailbox.thread(thread_id, limit=1).position
        options = options._replace(position=position)
    return compile_thread(workspace, thread_id, options)


def known_conclusion(loaded: LoadedStatus) -> str:
    """Return the conclusion of a thread, with that of unread messages; empty if it has none."""
    return loaded.merged.artifact.research_thread.text(CONCLUSION)


def needs_conclusion(workspace: Workspace, thread_id: str, options: CompileOptions) -> bool:
    """Return whether to ask the operator for a conclusion.

    Raise if the session cannot be completed, so that the operator does not write in vain.
    """
    loaded = load_status(workspace, thread_id)
    status = loaded.status
    if status.unanswered and not options.anyway and not status.is_over:
        raise unanswered_error(thread_id, status.unanswered)
    is_open = not status.is_over or options.reopen
    return is_open and status.version is not None and not known_conclusion(loaded)


def _send_conclusion(workspace: Workspace, thread_id: str, text: str) -> None:
    """Send the conclusion, unless a version or a contribution comes in at the same moment."""
    for _ in range(MOST_TRIES):
        history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
        to = recipients_of(workspace, history, history.state.artifact)
        blank = Message(thread_id, workspace.actor, to, "", "")
        message = compose_conclusion(blank, history.number, text)
        refuse_secrets(workspace.mailbox, message.subject, message.body)
        check_publishable(message)
        try:
            condition = send_condition(history, contributions=True)
            workspace.mailbox.send(message, position=condition)
        except RequestError as refused:
            if refused.diagnostic.code is not VERSION_OVERTAKEN:
                raise
        else:
            return
    raise RequestError(COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))
