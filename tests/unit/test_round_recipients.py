"""Whom the next round asks, once, and what happens where somebody else is quicker."""

from pathlib import Path

import pytest

from brenner.diagnostics.model import Refused
from brenner.mail.model import Profile
from brenner.services.decisions import void_version
from brenner.services.rosters import RosterWish
from brenner.services.sessions import load_status
from brenner.services.start_session import State, Status
from brenner.services.workspace import Desk
from brenner.session.model import Phase
from operator_desk import desk
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

__all__ = ["desk"]


def test_nobody_is_asked_twice(desk: Desk) -> None:
    """The same again sends nothing; an interrupted round is finished; the next round asks anew."""
    first_round(desk)
    some = asked(desk, wish=RosterWish(recipients=(("RedSky", None),)))
    assert states(some) == [("RedSky", State.SENT, 7)]
    assert [entry.role for entry in some.roster.entries] == [
        *("test_designer", "hypothesis_generator", "adversarial_critic")
    ]
    done = asked(desk)
    assert states(done) == [
        ("RedSky", State.SENT_BEFORE, 7),
        ("BlueLake", State.SENT, 8),
        ("GreenDog", State.SENT, 9),
    ]
    again = asked(desk)
    assert (again.status, {state for _, state, _ in states(again)}) == (
        Status.NOTHING,
        {State.SENT_BEFORE},
    )
    assert load_status(desk, THREAD).status.phase is Phase.AWAITING_ACKS
    delta(desk, "BlueLake", 1, hypothesis("Third"), resolve("C1"))
    published(desk)
    third = asked(desk)
    assert (third.round, third.status) == (3, Status.SENT)
    assert {state for _, state, _ in states(third)} == {State.SENT}
    assert lines(third, "Current State")[:2] == [
        "- **Base Artifact**: v2",
        "- **Open Critiques**: none",
    ]


def test_an_agent_s_own_kickoff_is_not_the_round_s(desk: Desk) -> None:
    """Whoever got one from somebody else still gets the operator's."""
    first_round(desk)
    body = "# Round 2 Kickoff\n\n## Current State\n- **Base Artifact**: v1\n\n"
    body += "## Research Question\nWhat tells a cell where it is?\n"
    send(desk, NAMES[0], "KICKOFF: Agree with me", body, (NAMES[1],))
    assert [(name, state) for name, state, _ in states(asked(desk))] == [
        (name, State.SENT) for name in NAMES
    ]


def test_other_texts_for_some(desk: Desk) -> None:
    """Whoever has got the kickoff keeps it; that others get another one is told."""
    first_round(desk)
    asked(desk, wish=RosterWish(recipients=(("RedSky", None),)))
    done = asked(desk, constraints="Soon.")
    (found,) = done.diagnostics
    assert found.id == "CONTEXT_DIFFERS"
    assert "with which the round began, has other words under `## Constraints`" in found.message
    assert "only; the others keep theirs" in found.message


# Whom it asks


def test_unified_session(desk: Desk) -> None:
    """One kickoff for all; what waits for somebody names her."""
    started(desk, wish=RosterWish(recipients=PEOPLE, unified=True))
    wrong = block("EDIT", "H9", "hypothesis_slate", claim="Steeper")
    delta(desk, "BlueLake", 0, hypothesis("Gradient"), wrong)
    published(desk)
    (kickoff,) = asked(desk).kickoffs
    assert (kickoff.message.recipients, kickoff.role) == (NAMES, None)
    assert "- **Send again, corrected** (BlueLake): these blocks" in kickoff.message.body


def test_roster_of_the_latest_kickoff(desk: Desk) -> None:
    """R15: roles are those of the latest one; flags beat it."""
    first_round(desk)
    changed = asked(desk, wish=RosterWish(recipients=(("RedSky", "adversarial_critic"),)))
    assert changed.kickoffs[0].role == "adversarial_critic"
    done = asked(desk)
    roles = {name: each.role for each in done.kickoffs for name in each.message.recipients}
    assert roles == {
        "RedSky": "adversarial_critic",
        "BlueLake": "hypothesis_generator",
        "GreenDog": "adversarial_critic",
    }


def test_a_new_agent_joins(desk: Desk) -> None:
    """It is registered and asked alone; the others are not asked again."""
    first_round(desk)
    asked(desk)
    done = asked(desk, wish=RosterWish(recipients=(("NewHill", "test_designer"),)))
    assert (done.status, done.registered) == (Status.SENT, ("NewHill",))
    assert done.roster.names == ("NewHill", *NAMES)


def test_agents_of_the_project_who_take_no_part(desk: Desk, tmp_path: Path) -> None:
    """Whom no kickoff has asked is not asked by default, and that is told."""
    entry = '{ agentName = "GrayFox", role = "test_designer" }'
    text = f"[roster]\nentries = [{entry}]\n"
    (tmp_path / "brenner.toml").write_text(text, "utf-8")
    first_round(desk)
    done = asked(desk)
    assert (done.status, codes(done)) == (Status.SENT, ["LEFT_OUT_OF_ROUND"])
    assert sorted(name for name, _, _ in states(done)) == sorted(NAMES)
    assert "GrayFox" in done.diagnostics[0].message


def test_faulty_roster_of_a_later_kickoff(desk: Desk) -> None:
    """Anybody can send a kickoff; one with a wrong role does not stop the session."""
    first_round(desk)
    body = "## Research Question\nWhy?\n\n## Session Configuration\n\n"
    table = "| Agent | Role |\n|---|---|\n| RedSky | king |\n"
    send(desk, "RedSky", "KICKOFF: Mine", f"{body}{table}")
    done = asked(desk)
    assert (done.status, codes(done)) == (Status.SENT, ["ROSTER_PASSED_OVER"])
    assert sorted(name for name, _, _ in states(done)) == sorted(NAMES)


def test_kickoffs_without_a_roster(desk: Desk) -> None:
    """Of another program: those whom it asked are asked, in the role that their names tell."""
    for name in ("Claude", "CodexAgent"):
        desk.mailbox.register(Profile(name))
    body = f"# Fate\n\n## Research Question\n{QUESTION}\n\n## Context\nCells.\n"
    send(desk, "Operator", "KICKOFF: Fate", body, ("Claude", "CodexAgent"))
    delta(desk, "Claude", 0, hypothesis("Gradient"))
    published(desk)
    done = asked(desk)
    assert done.status is Status.SENT
    assert "NO_ROSTER" in codes(done)
    assert [name for name, _, _ in states(done)] == ["Claude", "CodexAgent"]


# Somebody else is quicker


def test_a_version_is_published_meanwhile(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kickoff that names the version before is not sent."""
    first_round(desk)
    delta(desk, "BlueLake", 1, hypothesis("Third"))
    meanwhile(desk, monkeypatch, lambda: published(desk))
    with pytest.raises(Refused) as refused:
        asked(desk)
    assert refused.value.diagnostic.id == "ROUND_OVERTAKEN"
    assert "build on v1" in refused.value.diagnostic.message
    assert "v2 is the latest version" in refused.value.diagnostic.message
    assert asked(desk).round == 3


def test_the_version_is_voided_meanwhile(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then there is nothing to build on."""
    first_round(desk)
    meanwhile(desk, monkeypatch, lambda: void_version(desk, THREAD, 1, "A mistake"))
    with pytest.raises(Refused) as refused:
        asked(desk)
    assert refused.value.diagnostic.id == "ROUND_OVERTAKEN"
    assert "it has no version any more" in refused.value.diagnostic.message


def test_the_same_round_is_started_meanwhile(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each recipient gets one kickoff; other mail in between does no harm."""
    first_round(desk)
    before = len(desk.mailbox.thread(THREAD).messages)

    def others() -> None:
        send(desk, "RedSky", "INFO: Back soon", "# Information\n\nIn an hour.\n")
        asked(desk, wish=RosterWish(recipients=PEOPLE[:2]))

    meanwhile(desk, monkeypatch, others)
    done = asked(desk)
    assert [state for _, state, _ in states(done)] == [
        *(State.SENT_BEFORE, State.SENT_BEFORE, State.SENT)
    ]
    assert len(desk.mailbox.thread(THREAD).messages) == before + 1 + 3


def meanwhile(desk: Desk, patch: pytest.MonkeyPatch, work: object) -> None:
    """Let something happen right before the next message is sent, once."""
    mailbox = type(desk.mailbox)
    send_it = mailbox.send

    def quicker(self: object, *args: object, **options: object) -> object:
        patch.setattr(mailbox, "send", send_it)
        work()  # type: ignore[operator]
        return send_it(self, *args, **options)  # type: ignore[arg-type]

    patch.setattr(mailbox, "send", quicker)
