"""Whole sessions of three rounds, in every home: who is asked when, and what status says of it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from brenner.diagnostics.codes.sessions import RECIPIENTS_NOT_REGISTERED
from brenner.services.rosters import RosterRequest
from brenner.services.session_status import load_status
from brenner.services.start_session import KickoffState, StartStatus
from brenner.services.versions import verify
from brenner.services.workspace import Workspace, workspace_in
from brenner.session.model import Phase, Turn
from kickoffs import section
from mail.processes import answered, release, start
from session.backends import (
    HOUSINGS,
    OPERATOR,
    ProjectBackend,
    housed,
    postgresql_store,
    sqlite_store,
)
from session.round_play import (
    NAMES,
    PEOPLE,
    THREAD,
    acked,
    asked,
    attack,
    delta,
    first_round,
    hypothesis,
    know,
    published,
    resolve,
)
from session.round_work import ask
from session.workspaces import project_in

KEPT = HOUSINGS[1:]  # each process has a memory of its own


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is named by the environment."""
    for name in ("AGENT_NAME", "BRENNER_STORE", "BRENNER_ROSTER", "BRENNER_ROSTER_MODE"):
        monkeypatch.delenv(name, raising=False)


def phase(workspace: Workspace) -> Phase | None:
    """What the session waits for."""
    return load_status(workspace, THREAD).status.phase


def turns(workspace: Workspace) -> dict[str, Turn]:
    """Whose turn it is."""
    return {each.name: each.turn for each in load_status(workspace, THREAD).status.participants}


@pytest.mark.every_store
@pytest.mark.parametrize("housing", KEPT, ids=lambda each: each.home.name)
def test_three_rounds(
    housing: ProjectBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kickoff, ACKs, deltas, version; what was open is asked for, what was answered is not."""
    with (
        housed(housing, tmp_path, monkeypatch),
        workspace_in(project_in(tmp_path), None, create=True) as workspace,
    ):
        know(workspace)
        first_round(workspace)
        critique_message = attack(workspace, "RedSky", "H2 has no clock", ("BlueLake",))
        assert phase(workspace) is Phase.IN_CRITIQUE
        second = asked(workspace)
        assert (second.status, second.round) == (StartStatus.SENT, 2)
        assert phase(workspace) is Phase.AWAITING_ACKS
        state = section(second.kickoffs[0].message, "Current State")
        assert (
            f"- **Open Critiques**: C1, message {critique_message.id} (RedSky: H2 has no clock)"
            in state
        )
        assert asked(workspace).status is StartStatus.NOTHING
        acked(workspace, second)
        assert phase(workspace) is Phase.AWAITING_DELTAS
        workspace._replace(actor="BlueLake").acknowledge(
            critique_message.id, "Completed", "It need not."
        )
        delta(workspace, "BlueLake", 1, hypothesis("Odour"), resolve("C1"))
        assert turns(workspace)["BlueLake"] is Turn.CONTRIBUTED
        compiled = published(workspace)
        assert compiled.version == 2
        warned = {each.id for each in compiled.warnings}
        assert warned.isdisjoint({"QUESTION_DIFFERS", "AP-009"})
        third = asked(workspace)
        assert (third.status, third.round) == (StartStatus.SENT, 3)
        state = section(third.kickoffs[0].message, "Current State")
        assert state.startswith("- **Base Artifact**: v2\n- **Open Critiques**: none\n")
        assert phase(workspace) is Phase.AWAITING_ACKS
        assert verify(workspace, THREAD).ok


def test_strangers_on_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There only those are asked whom the server knows."""
    with (
        housed(HOUSINGS[-1], tmp_path, monkeypatch),
        workspace_in(project_in(tmp_path), None, create=True) as workspace,
    ):
        know(workspace)
        first_round(workspace)
        wish = RosterRequest(recipients=(*PEOPLE, ("AmberBeacon", "test_designer")))
        done = asked(workspace, wish=wish)
        assert done.status is StartStatus.REFUSED
        assert [each.code for each in done.diagnostics] == [RECIPIENTS_NOT_REGISTERED]
        assert asked(workspace, wish=wish, register=True).registered == ("AmberBeacon",)


@pytest.mark.thorough
@pytest.mark.parametrize("store", [sqlite_store, postgresql_store])
def test_two_operators_at_once(tmp_path: Path, store: Callable[[Path], str]) -> None:
    """Each recipient gets one kickoff of the round, whoever sends it."""
    (tmp_path / "brenner.toml").write_text(f'store = "{store(tmp_path)}"\n', "utf-8")
    with workspace_in(project_in(tmp_path), None, create=True) as workspace:
        first_round(workspace)
        before = len(workspace.mailbox.thread(THREAD).messages)
        operators = [start(ask, tmp_path, name) for name in ("Operator", OPERATOR, "Ada", "Bob")]
        release(operators)
        sent = Counter(name for child in operators for name in answered(child))
        assert sent == Counter(NAMES)
        messages = workspace.mailbox.thread(THREAD).messages[before:]
        assert Counter(name for each in messages for name in each.message.recipients) == sent
        assert {state for _, state in again(workspace)} == {KickoffState.SENT_BEFORE}


def again(workspace: Workspace) -> list[tuple[str, KickoffState]]:
    """What the same command says afterwards."""
    done = asked(workspace)
    return [(name, each.state) for each in done.kickoffs for name in each.message.recipients]
