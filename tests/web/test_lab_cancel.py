"""Cancelling in the lab, and what the pages show of a session that ended or was none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.services.session_status import load_status
from brenner.services.workspace import Workspace
from brenner.web.lab.cancel import CANCEL_ACTION as ACTION
from session.workspaces import ANN, THREAD, add, contribute, kickoff, new_workspace
from web.lab_visits import Operator


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    with new_workspace(tmp_path) as here:
        kickoff(here)
        contribute(here, ANN, add("Gradient"))
        yield Operator(here, THREAD)


def messages(workspace: Workspace) -> int:
    return workspace.mailbox.thread(THREAD).position


def test_it_is_cancelled_once_with_its_reason(operator: Operator) -> None:
    html = operator.html(operator.form(ACTION))
    assert 'name="reason"' in html
    done = operator.done(ACTION, {"reason": "Answered elsewhere."})
    assert done.is_done
    cancelled = load_status(operator.workspace, THREAD).status.cancelled
    assert cancelled is not None
    assert (cancelled.by, cancelled.reason) == ("Operator", "Answered elsewhere.")
    count = messages(operator.workspace)
    again = operator.done(ACTION, {"reason": "Once more."})
    assert "already cancelled" in again.says
    assert messages(operator.workspace) == count


def test_without_a_reason_nothing_is_sent(operator: Operator) -> None:
    count = messages(operator.workspace)
    page = operator.again(ACTION, {"reason": "  "})
    assert "CANNOT_CANCEL" in operator.html(page)
    assert messages(operator.workspace) == count
