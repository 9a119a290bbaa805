"""Whom the next round asks, once, and what happens where somebody else is quicker."""

from pathlib import Path

import pytest

from brenner.diagnostics.model import RequestError
from brenner.mail.model import Profile
from brenner.services.decisions import void_version
from brenner.services.rosters import RosterRequest
from brenner.services.session_status import load_status
from brenner.services.start_session import KickoffState, StartStatus
from brenner.services.workspace import Workspace
from brenner.session.model import Phase
from operator_workspace import workspace
from session.round_play import (
    NAMES,
    PEOPLE,
    QUESTION,
    THREAD,
    asked,
    block,
    codes,
    delta,
    first_round,
    hypothesis,
    lines,
    published,
    resolve,
    send,
    started,
    states,
)

__all__ = ["workspace"]


def test_nobody_is_asked_twice(workspace: Workspace) -> None:
    """The same again sends nothing; an interrupted round is finished; the next round asks anew."""
    first_round(workspace)
    some = asked(workspace, wish=RosterRequest(recipients=(("RedSky", None),)))
    assert states(some) == [("RedSky", KickoffState.SENT, 7)]
    assert [entry.role for entry in some.roster.entries] == [
        *("test_designer", "hypothesis_generator", "adversarial_critic")
    ]
    done = asked(workspace)
    assert states(done) == [
        ("RedSky", KickoffState.SENT_BEFORE, 7),
        ("BlueLake", KickoffState.SENT, 8),
        ("GreenDog", KickoffState.SENT, 9),
    ]
    again = asked(workspace)
    assert (again.status, {state for _, state, _ in states(again)}) == (
        StartStatus.NOTHING,
        {KickoffState.SENT_BEFORE},
    )
    assert load_status(workspace, THREAD).status.phase is Phase.AWAITING_ACKS
    delta(workspace, "BlueLake", 1, hypothesis("Third"), resolve("C1"))
    published(workspace)
    third = asked(workspace)
    assert (third.round, third.status) == (3, StartStatus.SENT)
    assert {state for _, state, _ in states(third)} == {KickoffState.SENT}
    assert lines(third, "Current State")[:2] == [
        "- **Base Artifact**: v2",
        "- **Open Critiques**: none",
    ]


def test_an_agent_s_own_kickoff_is_not_the_round_s(workspace: Workspace) -> None:
    """Whoever got one from somebody else still gets the operator's."""
    first_round(workspace)
    body = "# Round 2 Kickoff\n\n## Current State\n- **Base Artifact**: v1\n\n"
    body += "## Research Question\nWhat tells a cell where it is?\n"
    send(workspace, NAMES[0], "KICKOFF: Agree with me", body, (NAMES[1],))
    assert [(name, state) for name, state, _ in states(asked(workspace))] == [
        (name, KickoffState.SENT) for name in NAMES
    ]


def test_other_texts_for_some(workspace: Workspace) -> None:
    """Whoever has got the kickoff keeps it; that others get another one is told."""
    first_round(workspace)
    asked(workspace, wish=RosterRequest(recipients=(("RedSky", None),)))
    done = asked(workspace, constraints="Soon.")
    (found,) = done.diagnostics
    assert found.id == "CONTEXT_DIFFERS"
    assert "which started the round, has different text under `## Constraints`" in found.message
    assert "sent only to BlueLake, GreenDog." in found.message


# Whom it asks


def test_unified_session(workspace: Workspace) -> None:
    """One kickoff for all; what waits for somebody names her."""
    started(workspace, wish=RosterRequest(recipients=PEOPLE, unified=True))
    wrong = block("EDIT", "H9", "hypothesis_slate", claim="Steeper")
    delta(workspace, "BlueLake", 0, hypothesis("Gradient"), wrong)
    published(workspace)
    (kickoff,) = asked(workspace).kickoffs
    assert (kickoff.message.recipients, kickoff.role) == (NAMES, None)
    assert "- **Correct your rejected blocks** (BlueLake) in a new message" in kickoff.message.body


def test_roster_of_the_latest_kickoff(workspace: Workspace) -> None:
    """R15: roles are those of the latest one; flags beat it."""
    first_round(workspace)
    changed = asked(workspace, wish=RosterRequest(recipients=(("RedSky", "adversarial_critic"),)))
    assert changed.kickoffs[0].role == "adversarial_critic"
    done = asked(workspace)
    roles = {name: each.role for each in done.kickoffs for name in each.message.recipients}
    assert roles == {
        "RedSky": "adversarial_critic",
        "BlueLake": "hypothesis_generator",
        "GreenDog": "adversarial_critic",
    }


def test_a_new_agent_joins(workspace: Workspace) -> None:
    """It is registered and asked alone; the others are not asked again."""
    first_round(workspace)
    asked(workspace)
    done = asked(workspace, wish=RosterRequest(recipients=(("NewHill", "test_designer"),)))
    assert (done.status, done.registered) == (StartStatus.SENT, ("NewHill",))
    assert done.roster.names == ("NewHill", *NAMES)


def test_agents_of_the_project_who_take_no_part(workspace: Workspace, tmp_path: Path) -> None:
    """Whom no kickoff has asked is not asked by default, and that is told."""
    entry = '{ agentName = "GrayFox", role = "test_designer" }'
    text = f"[roster]\nentries = [{entry}]\n"
    (tmp_path / "brenner.toml").write_text(text, "utf-8")
    first_round(workspace)
    done = asked(workspace)
    assert (done.status, codes(done)) == (StartStatus.SENT, ["LEFT_OUT_OF_ROUND"])
    assert sorted(name for name, _, _ in states(done)) == sorted(NAMES)
    assert "GrayFox" in done.diagnostics[0].message


def test_faulty_roster_of_a_later_kickoff(workspace: Workspace) -> None:
    """Anybody can send a kickoff; one with a wrong role does not stop the session."""
    first_round(workspace)
    body = "## Research Question\nWhy?\n\n## Session Configuration\n\n"
    table = "| Agent | Role |\n|---|---|\n| RedSky | king |\n"
    send(workspace, "RedSky", "KICKOFF: Mine", f"{body}{table}")
    done = asked(workspace)
    assert (done.status, codes(done)) == (StartStatus.SENT, ["ROSTER_PASSED_OVER"])
    assert sorted(name for name, _, _ in states(done)) == sorted(NAMES)


def test_kickoffs_without_a_roster(workspace: Workspace) -> None:
    """Of another program: those whom it asked are asked, all with the same prompt."""
    for name in ("Claude", "CodexAgent"):
        workspace.mailbox.register(Profile(name))
    body = f"# Fate\n\n## Research Question\n{QUESTION}\n\n## Context\nCells.\n"
    send(workspace, "Operator", "KICKOFF: Fate", body, ("Claude", "CodexAgent"))
    delta(workspace, "Claude", 0, hypothesis("Gradient"))
    published(workspace)
    done = asked(workspace)
    assert done.status is StartStatus.SENT
    assert "NO_ROSTER" in codes(done)
    assert [name for name, _, _ in states(done)] == ["Claude, CodexAgent"]


# Somebody else is quicker


def test_a_version_is_published_meanwhile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kickoff that names the version before is not sent."""
    first_round(workspace)
    delta(workspace, "BlueLake", 1, hypothesis("Third"))
    meanwhile(workspace, monkeypatch, lambda: published(workspace))
    with pytest.raises(RequestError) as refused:
        asked(workspace)
    assert refused.value.diagnostic.id == "ROUND_OVERTAKEN"
    assert "build on v1" in refused.value.diagnostic.message
    assert "v2 is the latest version" in refused.value.diagnostic.message
    assert asked(workspace).round == 3


def test_the_version_is_voided_meanwhile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then there is nothing to build on."""
    first_round(workspace)
    meanwhile(workspace, monkeypatch, lambda: void_version(workspace, THREAD, 1, "A mistake"))
    with pytest.raises(RequestError) as refused:
        asked(workspace)
    assert refused.value.diagnostic.id == "ROUND_OVERTAKEN"
    assert "the session has no version" in refused.value.diagnostic.message


def test_the_same_round_is_started_meanwhile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each recipient gets one kickoff; other mail in between does no harm."""
    first_round(workspace)
    before = len(workspace.mailbox.thread(THREAD).messages)

    def others() -> None:
        send(workspace, "RedSky", "INFO: Back soon", "# Information\n\nIn an hour.\n")
        asked(workspace, wish=RosterRequest(recipients=PEOPLE[:2]))

    meanwhile(workspace, monkeypatch, others)
    done = asked(workspace)
    assert [state for _, state, _ in states(done)] == [
        *(KickoffState.SENT_BEFORE, KickoffState.SENT_BEFORE, KickoffState.SENT)
    ]
    assert len(workspace.mailbox.thread(THREAD).messages) == before + 1 + 3


def meanwhile(workspace: Workspace, patch: pytest.MonkeyPatch, work: object) -> None:
    """Let something happen right before the next message is sent, once."""
    mailbox = type(workspace.mailbox)
    send_it = mailbox.send

    def quicker(self: object, *args: object, **options: object) -> object:
        patch.setattr(mailbox, "send", send_it)
        work()  # type: ignore[operator]
        return send_it(self, *args, **options)  # type: ignore[arg-type]

    patch.setattr(mailbox, "send", quicker)
