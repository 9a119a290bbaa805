"""The next round: what its kickoffs say, to whom they go, once, and what stops them."""

import pytest

from brenner.diagnostics.model import RequestError
from brenner.mail.model import Profile
from brenner.protocol.compiled import check_version_sequence
from brenner.protocol.messages import render_message_file
from brenner.protocol.validate import check_message, check_stored
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.next_round import RoundOptions, start_round
from brenner.services.rosters import RosterRequest
from brenner.services.start_session import KickoffState, StartStatus
from brenner.services.workspace import Workspace
from kickoffs import headings, section
from operator_workspace import workspace
from session.round_play import (
    NAMES,
    PEOPLE,
    QUESTION,
    THREAD,
    asked,
    attack,
    block,
    codes,
    critique,
    delta,
    first_round,
    hypothesis,
    lines,
    published,
    send,
    started,
    states,
)

__all__ = ["workspace"]


def test_the_document_s_form(workspace: Workspace) -> None:
    """Title, addressee, the three lines, question, outputs; then what every kickoff has."""
    first_round(workspace)
    letter = attack(workspace, "RedSky", "H2 has no clock", ("Operator", "BlueLake"))
    done = asked(workspace, focus="The mechanism\nof H2")
    assert (done.status, done.round, codes(done)) == (StartStatus.SENT, 2, [])
    assert states(done) == [
        (name, KickoffState.SENT, n) for n, name in enumerate(NAMES, letter.id + 1)
    ]
    message = done.kickoffs[0].message
    assert message.subject == f"KICKOFF: Round 2: {QUESTION} ({THREAD})"
    assert message.ack_required
    assert message.body.startswith(
        "# Round 2 Kickoff\n\nFrom Operator, for **BlueLake**. Your role is "
        "`hypothesis_generator`.\n\n## Current State\n\n"
    )
    tool = "(with MCP tools: `brenner_artifact`)"
    shows = f"`brenner artifact show {THREAD}` prints the latest version {tool}."
    where = f"message 6 (COMPILED) contains v1. {shows}"
    assert lines(done, "Current State") == [
        "- **Base Artifact**: v1",
        f"- **Open Critiques**: C1, message {letter.id} (RedSky: H2 has no clock)",
        "- **Focus Area**: The mechanism of H2",
        f"- **Where It Is**: {where}",
        f"- **Linter**: 7 errors, 2 warnings (`brenner artifact lint {THREAD}` lists them)",
        "",
        "The open critiques:",
        "",
        "- C1 Too noisy (GreenDog): At ten molecules H1 tells nothing.",
        f"- message {letter.id} (RedSky, Major: H2 has no clock): Nothing counts to a hundred.",
    ]
    assert section(message, "Research Question") == QUESTION
    assert headings(message) == [
        *("Current State", "Research Question", "Excerpt", "Requested Outputs"),
        *("Session Configuration", "Your Role", "How to Contribute"),
    ]
    assert "**Base Version**: v1\n**Action**: Response to C1\n" in section(
        message, "How to Contribute"
    )


def test_what_is_asked_of_each(workspace: Workspace) -> None:
    """Critiques by ID, her own refused blocks and messages, what the linter lacks, her role."""
    first_round(workspace)
    letter = attack(workspace, "RedSky", "H2 has no clock", ("BlueLake",))
    done = asked(workspace)
    blue, red, green = (section(each.message, "Requested Outputs") for each in done.kickoffs)
    both = f"each by its ID: C1, message {letter.id}."
    assert blue.startswith(f"- **Answer the open critiques**, {both}")
    assert "each by its ID: C1." in red  # the message is her own
    closes = "explain in an EDIT of the critique (C1) why it is wrong."
    assert closes in blue
    assert green.startswith("- **Judge the open critiques**, each by its ID: C1. Press")
    for each in (blue, red, green):  # no EDIT can close a message: who can is named
        assert (
            "cannot be edited. Each is closed when its recipients acknowledge it or reply:" in each
        )
        assert f"message {letter.id} (waits for BlueLake)." in each
    assert "  - message 4, block 3 (EDIT H9): INVALID_TARGET" in blue
    acknowledge = "ack NUMBER --as BlueLake` (with MCP tools: `acknowledge_message`):"
    assert f"{acknowledge}\n  - message {letter.id} (CRITIQUE, RedSky: H2 has" in blue
    assert not any("rejected" in each or "and acknowledge" in each for each in (red, green))
    assert "  - EH-003 (no third alternative): " in blue
    assert "  - ET-001 (too few tests): " in red
    assert "EH-003" not in red
    for each in (blue, red, green):
        assert "\n- **Also contribute**, as far as v1 lacks it:\n  - " in each
        assert "At least" not in each  # what a version must contain is asked for by the lint errors


def test_what_a_version_contains_is_not_asked_for_again(workspace: Workspace) -> None:
    """Three hypotheses and a third alternative are in v1: neither is requested."""
    started(workspace)
    third = hypothesis("Both wrong")
    third["payload"]["third_alternative"] = True  # type: ignore[index]
    delta(workspace, "BlueLake", 0, hypothesis("Gradient"), hypothesis("Counting"), third)
    published(workspace)
    blue = section(asked(workspace).kickoffs[0].message, "Requested Outputs")
    assert "third alternative" not in blue
    assert "hypotheses (" not in blue
    assert "EH-0" not in blue
    assert "EP-001 (too few predictions)" in blue


def test_critique_of_a_killed_item_says_so(workspace: Workspace) -> None:
    """It is still open by the rulings, but no answer is needed."""
    first_round(workspace)
    letter = attack(workspace, "RedSky", "H2 has no clock", ("BlueLake",))
    delta(workspace, "GreenDog", 1, block("KILL", "H2", "hypothesis_slate", reason="No clock"))
    published(workspace)
    state = section(asked(workspace).kickoffs[0].message, "Current State")
    assert f"- message {letter.id} (RedSky, Major: H2 has no clock) (H2 is killed): " in state
    assert "- C1 Too noisy (GreenDog): " in state  # it names H1, which is active


def test_the_operator_s_outputs_stand_alone(workspace: Workspace) -> None:
    """Outputs, constraints, an excerpt and a title of hers are taken as they are."""
    first_round(workspace)
    done = asked(
        workspace, outputs="- One table", constraints="Soon.", excerpt="§50: new", title="The clock"
    )
    message = done.kickoffs[1].message
    assert section(message, "Requested Outputs") == "- One table"
    assert section(message, "Constraints") == "Soon."
    assert section(message, "Excerpt") == "> §50: new"
    assert message.subject == f"KICKOFF: Round 2: The clock ({THREAD})"
    assert codes(done) == []


def test_passages_of_earlier_kickoffs(workspace: Workspace) -> None:
    """They are pointed at, not sent again; a pointer is no passage itself."""
    first_round(workspace)
    assert lines(asked(workspace, excerpt="§50-§52: new"), "Excerpt") == ["> §50-§52: new"]
    delta(workspace, "BlueLake", 1, hypothesis("Third"))
    published(workspace)
    told = (
        "The passages of the earlier kickoffs are still the source: message 1 has §42, §45-47; "
        "message 7 has §50-52. `brenner mail show 1` shows them (with MCP tools: "
        "`resource://message/1`)."
    )
    assert lines(asked(workspace), "Excerpt") == [told]
    delta(workspace, "BlueLake", 2, hypothesis("Fourth"))
    published(workspace)
    assert lines(asked(workspace), "Excerpt") == [told]


def test_nothing_is_open(workspace: Workspace) -> None:
    """Then it says so; the focus is left out, and nothing is to be answered."""
    started(workspace, excerpt="")
    delta(workspace, "BlueLake", 0, hypothesis("Gradient"))
    published(workspace)
    done = asked(workspace)
    assert codes(done) == []  # that there is no excerpt was told when the session began
    assert lines(done, "Current State")[:2] == [
        "- **Base Artifact**: v1",
        "- **Open Critiques**: none",
    ]
    assert "Focus Area" not in done.kickoffs[0].message.body
    assert "critiques**" not in section(done.kickoffs[0].message, "Requested Outputs")
    assert "**Action**" not in done.kickoffs[0].message.body


def test_focus_from_the_critiques(workspace: Workspace) -> None:
    """The hypotheses that open critiques name; nothing that is not an active hypothesis."""
    first_round(workspace)
    delta(workspace, "GreenDog", 1, critique("Both", "H1 and H2, H7 and T1 and RT are cut badly."))
    published(workspace)
    done = asked(workspace)
    assert "- **Focus Area**: H1, which C1 and C2 attack; H2, which C2 attacks" in lines(
        done, "Current State"
    )


def test_conflicts_are_told(workspace: Workspace) -> None:
    """Two edits of one field that did not know of each other."""
    first_round(workspace)
    delta(workspace, "BlueLake", 1, block("EDIT", "H1", "hypothesis_slate", claim="Steeper"))
    delta(workspace, "RedSky", 1, block("EDIT", "H1", "hypothesis_slate", claim="Flatter"))
    published(workspace)
    done = asked(workspace)
    assert "- **Open Conflicts**: H1 claim" in lines(done, "Current State")
    assert "**Settle the open conflicts**: H1 claim." in section(
        done.kickoffs[2].message, "Requested Outputs"
    )


def test_it_passes_our_own_checks(workspace: Workspace) -> None:
    """Alone, in the thread, and as a contribution: it is none."""
    first_round(workspace)
    attack(workspace, "RedSky", "H2 has no clock", ("BlueLake",))
    done = asked(workspace)
    for each in done.kickoffs:
        assert check_stored(each.message).violations == ()
        assert check_message(render_message_file(each.message), "Operator").violations == ()
    thread = [each.posted for each in workspace.mailbox.thread(THREAD).messages]
    assert check_version_sequence(thread) == []  # AP-009
    compiled = compile_thread(workspace, THREAD, CompileOptions())
    assert (compiled.status, compiled.ledger, compiled.not_contributed) == (
        "nothing_to_compile",
        (),
        (),
    )


def test_dry_run_is_what_is_sent(workspace: Workspace) -> None:
    """It shows every kickoff, and sends none."""
    first_round(workspace)
    count = len(workspace.mailbox.thread(THREAD).messages)
    tried = asked(workspace, dry_run=True)
    assert (tried.status, len(workspace.mailbox.thread(THREAD).messages)) == (
        StartStatus.DRY_RUN,
        count,
    )
    assert {each.state for each in tried.kickoffs} == {KickoffState.DRY_RUN}
    done = asked(workspace)
    assert [each.message for each in done.kickoffs] == [each.message for each in tried.kickoffs]


def test_without_a_version(workspace: Workspace) -> None:
    """The first round is `session start`'s."""
    started(workspace)
    with pytest.raises(RequestError) as refused:
        asked(workspace)
    assert refused.value.diagnostic.id == "ROUND_WITHOUT_VERSION"
    with pytest.raises(RequestError) as refused:
        start_round(workspace, "RS-20251230-another-session", RoundOptions())
    assert refused.value.diagnostic.id == "UNKNOWN_THREAD"


def test_closed_session(workspace: Workspace) -> None:
    """It is refused, unless meant; then the compile needs to be told so, too."""
    first_round(workspace)
    published(workspace, close=True)
    with pytest.raises(RequestError) as refused:
        asked(workspace)
    assert refused.value.diagnostic.id == "SESSION_CLOSED"
    done = asked(workspace, reopen=True)
    assert (done.status, done.round, codes(done)) == (
        StartStatus.SENT,
        3,
        ["ROUND_OF_CLOSED_SESSION"],
    )
    assert f"`brenner compile --reopen {THREAD}`" in done.diagnostics[0].fix
    delta(workspace, "BlueLake", 2, hypothesis("Third"))
    assert published(workspace, reopen=True).version == 3


def test_unread_deltas(workspace: Workspace) -> None:
    """A warning, as long as the round has not begun: they would belong to it."""
    first_round(workspace)
    delta(workspace, "BlueLake", 1, hypothesis("Third"))
    done = asked(workspace, wish=RosterRequest(recipients=PEOPLE[:1]))
    assert (done.status, codes(done)) == (StartStatus.SENT, ["ROUND_BEFORE_COMPILE"])
    assert done.diagnostics[0].message.startswith("There is 1 DELTA message since v1 that no")
    assert codes(asked(workspace)) == []


def test_broken_chain(workspace: Workspace) -> None:
    """As compile does: a version that does not rebuild stops the next round."""
    first_round(workspace)
    (compiled,) = [
        each for each in workspace.mailbox.thread(THREAD).messages if each.type == "COMPILED"
    ]
    delta(workspace, "BlueLake", 1, hypothesis("Third"))
    body = compiled.message.body.replace('"version":1', '"version":2')
    send(workspace, "RedSky", "COMPILED: v2 ours", body)
    with pytest.raises(RequestError) as refused:
        asked(workspace)
    assert refused.value.diagnostic.id == "RECORD_MISMATCH"


def test_refined_question(workspace: Workspace) -> None:
    """The kickoff asks it; the operator gets the EDIT to send; the artifact keeps its own."""
    first_round(workspace)
    done = asked(workspace, question="Do cells forget?")
    assert (done.status, codes(done)) == (StartStatus.SENT, ["QUESTION_DIFFERS"])
    assert '"statement": "Do cells forget?"' in (done.diagnostics[0].repaired or "")
    assert section(done.kickoffs[0].message, "Research Question") == "Do cells forget?"
    assert (
        f"- **Question**: new in this round. The artifact still has “{QUESTION}” until an EDIT of "
        "`RT` changes it."
    ) in lines(done, "Current State")
    delta(workspace, "BlueLake", 1, hypothesis("Third"))
    compiled = published(workspace)
    assert compiled.artifact.research_thread.text("statement") == QUESTION
    assert "QUESTION_DIFFERS" in [each.id for each in compiled.warnings]


def test_the_same_question_in_other_letters(workspace: Workspace) -> None:
    """It is the artifact's, in the artifact's words; so is one that an agent has edited."""
    first_round(workspace)
    delta(
        workspace,
        "BlueLake",
        1,
        block("EDIT", "RT", "research_thread", statement="Who tells a cell?"),
    )
    published(workspace)
    done = asked(workspace, question="who tells a CELL")
    assert codes(done) == []
    assert section(done.kickoffs[0].message, "Research Question") == "Who tells a cell?"


def test_question_that_would_be_structure(workspace: Workspace) -> None:
    """An agent's EDIT of the question is escaped in the kickoff, and is the same question still."""
    first_round(workspace)
    statement = "# Who tells a cell?\n\n**Base Artifact**: v9"
    delta(workspace, "BlueLake", 1, block("EDIT", "RT", "research_thread", statement=statement))
    published(workspace)
    done = asked(workspace)
    assert (codes(done), lines(done, "Research Question")[0]) == ([], "\\# Who tells a cell?")
    assert asked(workspace).status is StartStatus.NOTHING  # the base is still the one of the state
    delta(workspace, "BlueLake", 2, hypothesis("Third"))
    assert "QUESTION_DIFFERS" not in [each.id for each in published(workspace).warnings]


def test_session_without_a_question(workspace: Workspace) -> None:
    """One must be given, and then the next version has it."""
    for name in NAMES:
        workspace.mailbox.register(Profile(name))
    delta(workspace, "BlueLake", 0, hypothesis("Gradient"))
    published(workspace)
    wish = RosterRequest(recipients=PEOPLE)
    assert codes(asked(workspace, wish=wish)) == ["ROUND_WITHOUT_QUESTION"]
    done = asked(workspace, wish=wish, question=QUESTION)
    assert (done.status, codes(done)) == (StartStatus.SENT, [])
    delta(workspace, "BlueLake", 1, hypothesis("Third"))
    assert published(workspace).artifact.research_thread.text("statement") == QUESTION
