"""Answers to the worst messages are bounded, whether they are checked, sent or refused."""

import json

import pytest

from brenner.limits import MOST_DIAGNOSTICS_OF_A_MESSAGE
from brenner.mcp.tool import ToolResult
from effort import effort
from hostile_bodies import HOSTILE_BODIES, HostileBody
from serving.sessions import ANN, in_session, value
from session.round_play import THREAD

_SIZE = effort(40_000, 100_000)


def size(answer: ToolResult) -> int:
    """How long it is: what programs get, and what is read."""
    return len(json.dumps(answer.value)) + len(answer.text or "")


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES)
def test_answers(body: HostileBody) -> None:
    """At most so many violations, however many there are."""
    here = in_session()
    about = {"thread_id": THREAD, "subject": body.subject, "body_md": body.make(_SIZE)}
    checked = here.ask("brenner_check", **about, sender_name=ANN, to=["Operator"])
    key = str(here.workspace.project.folder)
    sent = here.ask("send_message", **about, project_key=key, sender_name=ANN, to=["Operator"])
    for answer in (checked, sent):
        found = value(answer).get("violations", [])
        assert len(found) <= 2 * MOST_DIAGNOSTICS_OF_A_MESSAGE + 1
        assert size(answer) < 1_000_000 + 5 * _SIZE
