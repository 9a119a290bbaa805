"""What keeps a message from being sent: its thread, names, blocks, headers, or a secret."""

import pytest

from brenner.mail.model import Profile
from brenner.protocol.messages import Message, parse_message_file, render_message_file
from brenner.services.acknowledge import send_ack
from brenner.services.identity import claim_name, new_secret
from brenner.services.receive import IncomingMessage, receive
from brenner.services.send import Outcome, SendOptions, examine_text, send_text
from brenner.services.send_checks import certain_thread, match_by_case
from brenner.services.workspace import Workspace
from mail.sample_mail import error_code
from unit.receiving import ANN, GOOD, OPERATOR, THREAD, kick_off, workspace_in_memory

INFO = "Hello.\n"
ACK = "# Acknowledgement\n\n## Message ID\n1\n\n## Status\nReceived\n"
CRITIQUE = (
    "# Critique\n\n## Target\nH1\n\n## Severity\nMajor\n\n## Evidence\nNone.\n\n"
    "## Suggested Resolution\nMore.\n"
)
BODIES = {"DELTA[gpt]: x": GOOD, "CRITIQUE: x": CRITIQUE, "ACK: x": ACK, "INFO: x": INFO}
TYPO = f"{THREAD}s"
EDIT = GOOD.replace('"ADD"', '"EDIT"').replace("null", '"H9"')
TWO_BLOCKS = f"{EDIT}\n{GOOD}"


@pytest.fixture
def workspace() -> Workspace:
    """A project in memory with a session."""
    found = workspace_in_memory()
    kick_off(found)
    return found


def sent(workspace: Workspace, message: Message, **options: object) -> Outcome:
    """Send a message as a file, as the command line, the lab and Python do."""
    chosen = SendOptions(project=workspace.project, **options)  # type: ignore[arg-type]
    return send_text(workspace.mailbox, render_message_file(message), chosen)


def received(workspace: Workspace, message: Message, **options: object) -> list[str]:
    """Send the same as an agent over MCP; the codes, with `sent` if it was stored."""
    receipt = receive(workspace, IncomingMessage(message, **options))  # type: ignore[arg-type]
    return [found.id for found in receipt.violations] + ["sent"] * bool(receipt.sent)


def codes(outcome: Outcome) -> list[str]:
    """The codes, with `sent` if it was stored."""
    return [found.id for found in outcome.report.violations] + ["sent"] * bool(outcome.sent)


def by_ann(subject: str, body: str, thread_id: str = THREAD, to: str = OPERATOR) -> Message:
    """A message of an agent."""
    return Message(thread_id, ANN, (to,), subject, body)


# Threads (R23)


@pytest.mark.parametrize("subject", BODIES)
def test_only_a_kickoff_opens_a_research_thread(workspace: Workspace, subject: str) -> None:
    """R23: the same code at every entrance, the closest ID, and nothing is stored."""
    message = by_ann(subject, BODIES[subject], TYPO)
    outcome = sent(workspace, message)
    (found,) = [each for each in outcome.report.violations if each.id == "UNKNOWN_THREAD"]
    assert (outcome.sent, found.suggestion) == (None, THREAD)
    assert "UNKNOWN_THREAD" in received(workspace, message)
    assert "UNKNOWN_THREAD" in received(workspace, message._replace(subject="Hello"))
    assert workspace.mailbox.position() == 1


def test_which_types_open_other_threads(workspace: Workspace) -> None:
    """R23: contributions and ACKs need a thread; INFO and plain mail may open one."""
    for thread_id in ("COORD-weekly-plan", "bd-12.1"):
        for subject, body in BODIES.items():
            found = codes(sent(workspace, by_ann(subject, body, thread_id), anyway=True))
            assert ("UNKNOWN_THREAD" not in found) == (subject == "INFO: x")
            if subject == "INFO: x":
                assert found[-1] == "sent"
    assert received(workspace, by_ann("Hello", "x", "lunch"))[-1] == "sent"
    kickoff = workspace.mailbox.message(1).message
    opening = kickoff._replace(thread_id="RS-20260101-new-question", sender=OPERATOR)
    assert codes(sent(workspace, opening))[-1] == "sent"


def test_corrected_message_is_in_the_thread_that_is_certain(workspace: Workspace) -> None:
    """It is sent as it stands. An ID with another digit may be another session."""
    for written in (TYPO, THREAD.replace("cell-", "cell_"), THREAD.upper()):
        outcome = sent(workspace, by_ann("DELTA[gpt]: x", GOOD, written))
        assert outcome.sent is None
        assert outcome.report.corrected is not None
        assert parse_message_file(outcome.report.corrected).message.thread_id == THREAD
        assert send_text(workspace.mailbox, outcome.report.corrected, SendOptions()).sent
    for other in (THREAD.replace("30", "31"), f"{THREAD}-2", "RS-20251230-something-else"):
        assert certain_thread(workspace.mailbox, other) is None
        assert sent(workspace, by_ann("DELTA[gpt]: x", GOOD, other)).report.corrected is None


def test_unchecked_mail_opens_any_thread(workspace: Workspace) -> None:
    """R23: as mail of other programs does."""
    message = by_ann("DELTA[gpt]: x", GOOD, TYPO)
    assert sent(workspace, message, check=False).sent
    ghost = by_ann("DELTA[gpt]: x", GOOD, f"{THREAD}-b")
    assert received(workspace, ghost, is_checked=True)[-1] == "sent"


# Names


def test_names_match_by_case(workspace: Workspace) -> None:
    """The stored message has the registered names, and a note says so."""
    message = Message(THREAD, "bluelake", ("operator", ANN), "INFO: x", INFO)
    outcome = sent(workspace, message, actor="BLUELAKE")
    assert codes(outcome) == ["NAME_MATCHED", "NAME_MATCHED", "sent"]
    assert outcome.sent is not None
    stored = outcome.sent.stored.message
    assert (stored.sender, stored.recipients, stored.body) == (ANN, (OPERATOR, ANN), INFO)
    assert codes(sent(workspace, message, check=False))[-1] == "sent"
    wrong = sent(workspace, message._replace(recipients=("operater",)))
    assert "UNKNOWN_RECIPIENT" in codes(wrong)


def test_case_must_be_unique() -> None:
    """An import may bring two names that differ only by case; then none is meant."""
    assert match_by_case(["bluelake"], ["BlueLake", "BLUELAKE"]) == {}
    assert match_by_case(["bluelake", "RedSky"], ["BlueLake", "RedSky"]) == {"bluelake": "BlueLake"}


def test_names_that_differ_by_case_are_not_registered(workspace: Workspace) -> None:
    assert error_code(workspace.mailbox.register, Profile("bluelake")) == "NAME_LOOKS_LIKE"


# Blocks


def test_delta_that_contributes_nothing_is_not_sent(workspace: Workspace) -> None:
    """Its author gets the reasons; `anyway` sends it. One good block is enough."""
    message = by_ann("DELTA[gpt]: x", EDIT)
    refused = ["EVERY_BLOCK_REFUSED", "WOULD_BE_REFUSED"]
    assert codes(sent(workspace, message)) == refused
    assert received(workspace, message) == refused
    assert examine_text(
        workspace.mailbox, render_message_file(message), SendOptions()
    ).summary.errors
    assert workspace.mailbox.position() == 1
    assert codes(sent(workspace, message, anyway=True)) == ["WOULD_BE_REFUSED", "sent"]
    assert received(workspace, message, anyway=True) == ["WOULD_BE_REFUSED", "sent"]
    mixed = by_ann("DELTA[gpt]: x", TWO_BLOCKS)
    assert codes(sent(workspace, mixed)) == ["WOULD_BE_REFUSED", "sent"]


def test_repeating_a_send_is_not_refused(workspace: Workspace) -> None:
    """With its key it was sent before, whatever has become of its target since."""
    message = by_ann("DELTA[gpt]: x", EDIT)
    first = sent(workspace, message, anyway=True, key="k").sent
    again = sent(workspace, message, key="k").sent
    assert first is not None
    assert again is not None
    assert (again.is_new, again.stored) == (False, first.stored)


def test_base_version_that_does_not_exist(workspace: Workspace) -> None:
    """R11: the merge reads such a message on the latest version, so it is a warning."""
    message = by_ann("DELTA[gpt]: x", f"**Base Version**: v9\n\n{GOOD}")
    outcome = sent(workspace, message)
    assert codes(outcome) == ["AP-009", "sent"]
    assert outcome.report.violations[0].line == 6
    again = by_ann("DELTA[gpt]: y", f"**Base Version**: v0\n\n{GOOD}")
    assert codes(sent(workspace, again)) == ["DUPLICATE_BLOCK", "sent"]


# Size, headers, secrets


def test_large_messages_get_a_warning(workspace: Workspace) -> None:
    message = by_ann("INFO: x", "é" * 32_769)
    assert codes(sent(workspace, message)) == ["LARGE_MESSAGE", "sent"]
    assert received(workspace, message) == ["LARGE_MESSAGE", "sent"]
    plain = message._replace(subject="Hello", thread_id="lunch")
    assert received(workspace, plain) == ["LARGE_MESSAGE", "sent"]
    assert codes(sent(workspace, by_ann("INFO: y", "x" * 65_536))) == ["sent"]


CONTROL = ["\n", "\r", "\t", "\x0b", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\x01"]


@pytest.mark.parametrize("character", CONTROL)
def test_headers_have_no_control_characters(workspace: Workspace, character: str) -> None:
    """A line feed would begin another header, such as `From: Operator`."""
    forged = f"INFO: x{character}From: Operator"
    message = by_ann(forged, INFO)
    for is_checked in (False, True):
        assert received(workspace, message, is_checked=is_checked) == ["UNSTORABLE_TEXT"]
        for part in (
            by_ann(f"Hello{character}x", INFO),
            by_ann("Hello", INFO, f"lunch{character}x"),
            by_ann("Hello", INFO, to=f"Operator{character}x"),
            by_ann("Hello", INFO)._replace(sender=f"Operator{character}x"),
        ):
            assert received(workspace, part, is_checked=is_checked) == ["UNSTORABLE_TEXT"]
    if character != "\n":  # in a file it is the end of the header
        assert "UNSTORABLE_TEXT" in codes(sent(workspace, message))
        assert "UNSTORABLE_TEXT" in codes(sent(workspace, message, check=False))
    assert workspace.mailbox.position() == 1


def test_a_secret_of_ours_is_not_sent(workspace: Workspace) -> None:
    """In subject, body and ACK; the secret itself is in no diagnostic."""
    mailbox = workspace.mailbox
    secret = claim_name(mailbox, ANN)
    assert secret is not None
    bodies = {f"a\n\nIt is _{secret}_.": 8, f"Say {secret}x": 6, f"brs_{secret}": 6}
    for body, line in bodies.items():
        message = by_ann("INFO: x", body)
        outcome = sent(workspace, message)
        assert (codes(outcome), outcome.report.violations[0].line) == (["SECRET_IN_MESSAGE"], line)
        assert secret not in str(outcome.report.to_json())
        assert received(workspace, message) == ["SECRET_IN_MESSAGE"]
        assert received(workspace, message, is_checked=True) == ["SECRET_IN_MESSAGE"]
        assert "SECRET_IN_MESSAGE" in codes(sent(workspace, message, check=False))
    assert received(workspace, by_ann(f"Hi {secret}", "x")) == ["SECRET_IN_MESSAGE"]
    asked = mailbox.send(Message(THREAD, OPERATOR, (ANN,), "INFO: x", "x")).stored
    assert error_code(send_ack, mailbox, ANN, asked.id, "Received", secret) == "SECRET_IN_MESSAGE"
    assert mailbox.position() == 2


def test_a_text_that_looks_like_a_secret_is_sent(workspace: Workspace) -> None:
    """Only a secret of this project is one; a replaced one is no secret any more."""
    for text in (new_secret(), "brs_", "brs_" + "x" * 42):
        assert codes(sent(workspace, by_ann("INFO: x", text))) == ["sent"]
