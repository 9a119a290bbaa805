"""The law of mail that comes in: stored byte for byte, or refused with nothing stored."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brenner.config import Project
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.messages import Message
from brenner.services.receive import IncomingMessage, receive
from brenner.services.workspace import Workspace
from strategies import any_text, deltas, json_like, subjects

pytestmark = pytest.mark.fuzz
THREAD = "RS-20251230-cell-fate-choice"
ANN, OPERATOR = "BlueLake", "Operator"
NEARLY = ("delta[gpt]: x", "DELTA: x", "DELTA[gpt] : x", "DELTA[gpt-5]: x", "[DELTA] x")
some_subjects = st.one_of(
    any_text,
    st.sampled_from(NEARLY),
    st.just("DELTA[gpt]: x"),
    st.just("Re: KICKOFF: x"),
    subjects().map(lambda subject: subject.render()),
)
bodies = st.one_of(
    any_text,
    json_like.map(lambda text: f"```delta\n{text}\n```\n"),
    st.tuples(any_text, deltas()).map(lambda both: f"{both[0]}\n\n{render_delta(both[1])}"),
    deltas().map(lambda delta: render_delta(delta).replace("```delta", "```json")),
)
threads = st.one_of(st.just(THREAD), st.just(""), st.just("lunch"), any_text)


def new_desk() -> Workspace:
    """A session that has begun."""
    mailbox = MemoryMailbox()
    mailbox.register(Profile(OPERATOR))
    mailbox.register(Profile(ANN, "codex-cli", "gpt-5"))
    mailbox.send(Message(THREAD, OPERATOR, (ANN,), "KICKOFF: Fate", "# Fate\n"))
    return Workspace(mailbox, Project(Path("/group")), OPERATOR)


@given(threads, some_subjects, bodies, st.sampled_from([None, True, False]))
@example(THREAD, "delta[gpt]: x\n", "```delta\n{}\n```", None)
@example(THREAD, "Re: \x00", "", None)
@example("", "DELTA[gpt]: \ud800", "x", True)
def test_stored_as_it_is_or_not_at_all(
    thread_id: str, subject: str, body: str, ack: bool | None
) -> None:
    """Nothing raises; what was refused has a reason and a fix; what is corrected is accepted."""
    workspace = new_desk()
    message = Message(thread_id, ANN, (OPERATOR,), subject, body, ack)
    receipt = receive(workspace, IncomingMessage(message))
    assert all(found.message and found.fix for found in receipt.violations)
    if receipt.sent is None:
        assert workspace.mailbox.position() == 1
        assert receipt.violations
    else:
        stored = workspace.mailbox.message(2)
        assert workspace.mailbox.position() == 2
        assert stored.message == message._replace(thread_id=thread_id or "2")
    if receipt.corrected is not None:
        assert receive(workspace, IncomingMessage(receipt.corrected)).sent is not None
