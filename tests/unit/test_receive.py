"""Receive mail from agents: check protocol messages, store other mail unchanged."""

from pathlib import Path

import pytest

from brenner.config import Project
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Envelope, Importance, Message, Trust
from brenner.services.receive import IncomingMessage, Receipt, is_session, receive
from brenner.services.workspace import Workspace

THREAD = "RS-20251230-cell-fate-choice"
ANN, BEA, OPERATOR = "BlueLake", "RedSky", "Operator"
ADD = (
    '{"operation": "ADD", "section": "hypothesis_slate", "target_id": null,\n'
    ' "payload": {"name": "Memory", "claim": "Cells inherit it", "mechanism": "Marks",\n'
    ' "anchors": ["§42"]}, "rationale": "why"}'
)
EDIT = (
    '{"operation": "EDIT", "section": "hypothesis_slate", "target_id": null,\n'
    ' "payload": {"claim": "x"}, "rationale": "why"}'
)
EMPTY = EDIT.replace("EDIT", "ADD").replace('"claim": "x"', "")
GOOD = f"```delta\n{ADD}\n```\n"
QUESTION = "# Question\n\n## Question\nWhich one?\n\n## Urgency\nSoon\n"
KICKOFF = "# Fate\n\n## Research Question\nWhat decides?\n\n## Context\nCells.\n"


@pytest.fixture
def workspace() -> Workspace:
    """Return a project in memory; BlueLake's model is known, RedSky's is not."""
    mailbox = MemoryMailbox()
    mailbox.register(Profile(OPERATOR))
    mailbox.register(Profile(ANN, "codex-cli", "gpt-5"))
    mailbox.register(Profile(BEA))
    return Workspace(mailbox, Project(Path("/group/cell-fate")), OPERATOR)


def make_message(
    subject: str, body: str, thread_id: str = THREAD, sender: str = ANN
) -> IncomingMessage:
    """A message to the operator."""
    return IncomingMessage(Message(thread_id, sender, (OPERATOR,), subject, body))


def ids(receipt: Receipt) -> list[str]:
    """What was said."""
    return [found.id for found in receipt.violations]


def kick_off(workspace: Workspace, thread_id: str = THREAD) -> int:
    """Begin a session; the kickoff's id."""
    message = Message(thread_id, OPERATOR, (ANN, BEA), "KICKOFF: Fate", KICKOFF)
    return workspace.mailbox.send(message).stored.id


def resend_corrected(workspace: Workspace, receipt: Receipt) -> Receipt:
    """Send the corrected message and return the result."""
    assert receipt.corrected is not None
    return receive(workspace, IncomingMessage(receipt.corrected))


# What agents get wrong in a DELTA (delta document, Common Failure Modes): the codes, and whether
# the correction is certain. Lines count in the body.
FAILURE_MODES = {
    "1 inline JSON": (f"Here is my hypothesis:\n\n{ADD}\n", {"MB-004", "INLINE_DELTA"}, True),
    "1 another fence": (f"```json\n{ADD}\n```\n", {"MB-004", "INLINE_DELTA"}, True),
    "2 wrong section name": (
        GOOD.replace("hypothesis_slate", "hypotheses"),
        {"INVALID_SECTION"},
        True,
    ),
    "3 no target": (
        f"```delta\n{EDIT}\n```\n",
        {"MISSING_TARGET"},
        False,
    ),
    "4 trailing comma": (GOOD.replace('"why"}', '"why",}'), {"JSON_TRAILING_COMMA"}, True),
    "4 single quotes": (GOOD.replace('"Memory"', "'Memory'"), {"JSON_SINGLE_QUOTES"}, True),
    "4 unquoted key": (GOOD.replace('"name":', "name:"), {"JSON_UNQUOTED_KEY"}, True),
    "4 comment": (GOOD.replace('"why"}', '"why" // really\n}'), {"JSON_COMMENT"}, True),
    "5 empty payload": (
        f"```delta\n{EMPTY}\n```\n",
        {"MISSING_REQUIRED_FIELD"},
        False,
    ),
}


@pytest.mark.parametrize(("body", "codes", "certain"), FAILURE_MODES.values(), ids=FAILURE_MODES)
def test_faulty_message_is_rejected_with_a_working_fix(
    workspace: Workspace, body: str, codes: set[str], certain: bool
) -> None:
    kick_off(workspace)
    receipt = receive(workspace, make_message("DELTA[gpt]: Memory", body))
    assert receipt.sent is None
    assert workspace.mailbox.position() == 1
    assert codes <= set(ids(receipt))
    assert all(found.fix for found in receipt.violations)
    assert (receipt.corrected is not None) is certain
    if certain:
        again = resend_corrected(workspace, receipt)
        assert again.sent is not None
        assert again.sent.stored.message == receipt.corrected
        assert ids(again) == []


def test_lines_count_in_the_body(workspace: Workspace) -> None:
    """Headers have no lines; the third line of the body is the third."""
    kick_off(workspace)
    body = "# Delta Contribution\n\n" + GOOD.replace('"why"}', '"why",}')
    (found,) = receive(workspace, make_message("DELTA[gpt]: x", body)).violations
    assert found.line is not None
    assert body.splitlines()[found.line - 1].endswith('"why",}')
    (subject,) = receive(workspace, make_message("delta[gpt]: x", GOOD)).violations
    assert (subject.id, subject.line) == ("INVALID_SUBJECT_PREFIX", None)


def test_a_subject_that_nearly_has_a_prefix(workspace: Workspace) -> None:
    """It is refused with the subject as it should be, and the body as it was."""
    kick_off(workspace)
    receipt = receive(workspace, make_message("delta [GPT] : Memory", GOOD))
    assert receipt.sent is None
    assert receipt.corrected is not None
    assert receipt.corrected == make_message("DELTA[gpt]: Memory", GOOD).message
    assert resend_corrected(workspace, receipt).sent is not None


def test_subject_and_body_are_corrected_together(workspace: Workspace) -> None:
    """Two certain corrections make one certain message."""
    kick_off(workspace)
    receipt = receive(
        workspace, make_message("delta[gpt]: Memory", GOOD.replace('"why"}', '"why",}'))
    )
    assert receipt.corrected == make_message("DELTA[gpt]: Memory", GOOD).message
    uncertain = receive(
        workspace, make_message("delta[gpt]: Memory", GOOD.replace('"claim"', '"kleim"'))
    )
    assert (uncertain.sent, uncertain.corrected) == (None, None)


@pytest.mark.parametrize("subject", ["DELTA: Memory", "DELTA[gpt-5]: Memory", "Delta[] : Memory"])
def test_missing_shorthand_is_taken_from_the_known_model(
    workspace: Workspace, subject: str
) -> None:
    kick_off(workspace)
    receipt = receive(workspace, make_message(subject, GOOD))
    assert receipt.corrected == make_message("DELTA[gpt]: Memory", GOOD).message
    unknown = receive(workspace, make_message(subject, GOOD, sender=BEA))
    assert (ids(unknown), unknown.corrected) == (["INVALID_SUBJECT_PREFIX"], None)
    assert receive(workspace, make_message("DELTA[opus-4]: Memory", GOOD)).corrected is None
    left = GOOD.replace("Memory", "[[fill in: its name]]")
    assert receive(workspace, make_message(subject, left)).corrected is None


def test_protocol_message_without_a_thread_is_rejected(workspace: Workspace) -> None:
    receipt = receive(workspace, make_message("DELTA[gpt]: x", GOOD, thread_id=""))
    assert (receipt.sent, ids(receipt)) == (None, ["NO_THREAD_NAMED"])


def test_unknown_names_and_templates_are_rejected(workspace: Workspace) -> None:
    """The error suggests the nearest name; there is no correction."""
    kick_off(workspace)
    message = Message(THREAD, ANN, ("RedSkye",), "delta[gpt]: x", GOOD)
    receipt = receive(workspace, IncomingMessage(message))
    assert (receipt.sent, receipt.corrected) == (None, None)
    assert set(ids(receipt)) == {"UNKNOWN_RECIPIENT", "INVALID_SUBJECT_PREFIX"}
    plain = receive(
        workspace, IncomingMessage(message._replace(subject="Hello", sender="BleuLake"))
    )
    assert ids(plain) == ["UNKNOWN_SENDER", "UNKNOWN_RECIPIENT"]
    assert [found.suggestion for found in plain.violations] == [ANN, BEA]
    nobody = receive(workspace, IncomingMessage(message._replace(subject="Hello", recipients=())))
    assert ids(nobody) == ["SENT_TO_NOBODY"]
    left = receive(
        workspace, make_message("QUESTION: x", QUESTION.replace("Which", "[[fill in: what]]"))
    )
    assert ids(left) == ["TEMPLATE_NOT_FILLED_IN"]
    assert workspace.mailbox.position() == 1


def test_text_that_no_store_can_keep(workspace: Workspace) -> None:
    """It is returned as a violation, never raised."""
    for subject, body in (("Hello", "half \ud800"), ("Hel\0lo", "x"), ("INFO: x", "\0")):
        receipt = receive(workspace, make_message(subject, body))
        assert (receipt.sent, ids(receipt)) == (None, ["UNSTORABLE_TEXT"])


def test_valid_contribution_is_stored_once_per_key(workspace: Workspace) -> None:
    kick_off(workspace)
    envelope = Envelope(Importance.HIGH, (OPERATOR,), Trust.VERIFIED)
    sent = make_message("DELTA[gpt]: x", GOOD)._replace(envelope=envelope, reply_to=1, key="k")
    first = receive(workspace, sent)
    assert first.sent is not None
    assert (first.sent.stored.envelope, first.sent.stored.reply_to) == (envelope, 1)
    assert ids(first) == []
    second = receive(workspace, sent)
    assert second.sent is not None
    assert (second.sent.is_new, second.sent.stored.id) == (False, first.sent.stored.id)


def test_mistyped_thread_gives_a_suggestion(workspace: Workspace) -> None:
    """Nothing is stored, and the corrected message names the thread (R23)."""
    kick_off(workspace)
    mistyped = make_message("DELTA[gpt]: x", GOOD, thread_id="RS-20251230-cel-fate-choice")
    receipt = receive(workspace, mistyped)
    assert (receipt.sent, ids(receipt)) == (None, ["UNKNOWN_THREAD"])
    assert receipt.violations[0].suggestion == THREAD
    assert receipt.corrected == mistyped.message._replace(thread_id=THREAD)
    assert resend_corrected(workspace, receipt).sent is not None


def test_blocks_that_the_merge_would_reject_are_reported(workspace: Workspace) -> None:
    """Lines are counted in the body."""
    kick_off(workspace)
    kill = ADD.replace("ADD", "KILL").replace("null", '"H9"')
    body = "# Delta Contribution\n\n```delta\n" + kill + "\n```\n"
    refused = receive(workspace, make_message("DELTA[gpt]: x", body))
    assert (refused.sent, ids(refused)[0]) == (None, "EVERY_BLOCK_REFUSED")
    receipt = receive(workspace, make_message("DELTA[gpt]: x", body)._replace(anyway=True))
    assert receipt.sent is not None
    (found,) = [each for each in receipt.violations if each.id == "WOULD_BE_REFUSED"]
    assert found.line == 4


def test_ordinary_mail_is_stored_byte_for_byte(workspace: Workspace) -> None:
    body = "At noon?\r\n\tYes.\n\n```json\n" + ADD + "\n```"
    for thread_id in ("", "Lunch / today", "T-1"):
        receipt = receive(workspace, make_message("Question about lunch ", body, thread_id))
        assert receipt.sent is not None
        assert receipt.violations == ()
        stored = receipt.sent.stored
        assert stored.message.body == body
        assert stored.message.subject == "Question about lunch "
        assert stored.message.thread_id == (thread_id or str(stored.id))


def test_ordinary_mail_in_a_session_is_stored_with_a_warning(workspace: Workspace) -> None:
    kick_off(workspace)
    receipt = receive(workspace, make_message("Re: KICKOFF: Fate", "Thanks, I am on it."))
    assert receipt.sent is not None
    assert (ids(receipt), receipt.corrected) == (["NOT_COMPILED"], None)
    assert "If it is only for reading" in receipt.violations[0].fix


@pytest.mark.parametrize("body", [GOOD, f"```json\n{ADD}\n```\n", f"Here:\n\n{ADD}\n"])
def test_deltas_in_an_answer(workspace: Workspace, body: str) -> None:
    """They are pointed out, with the message that makes them count."""
    kick_off(workspace)
    receipt = receive(workspace, make_message("Re: KICKOFF: Fate", body))
    assert receipt.sent is not None
    assert ids(receipt) == ["NOT_COMPILED"]
    assert "`DELTA[gpt]: Fate`" in receipt.violations[0].fix
    assert "not even its delta block" in receipt.violations[0].message
    again = resend_corrected(workspace, receipt)
    assert again.sent is not None
    assert again.sent.stored.message.subject == "DELTA[gpt]: Fate"
    assert ids(again) == []


def test_shorthand_of_an_unknown_model_is_not_guessed(workspace: Workspace) -> None:
    kick_off(workspace)
    receipt = receive(workspace, make_message("Re: KICKOFF: Fate", GOOD * 2, sender=BEA))
    assert receipt.corrected is None
    assert "not even its 2 delta blocks" in receipt.violations[0].message
    assert "`DELTA[agent]: Fate`, with the shorthand" in receipt.violations[0].fix


def test_deltas_that_missed_their_thread(workspace: Workspace) -> None:
    """A delta block in ordinary mail is pointed out wherever it is sent."""
    receipt = receive(workspace, make_message("Hello", GOOD, thread_id=""))
    assert receipt.sent is not None
    assert (ids(receipt), receipt.corrected) == (["NOT_COMPILED"], None)
    assert "in the session's thread" in receipt.violations[0].fix


def test_quoted_delta_is_not_a_contribution(workspace: Workspace) -> None:
    kick_off(workspace)
    quoted = "".join(f"> {line}\n" for line in GOOD.splitlines())
    receipt = receive(workspace, make_message("Re: DELTA[gpt]: x", f"{quoted}\nI agree."))
    assert "delta block" not in receipt.violations[0].message


def test_session_is_recognised_by_thread_id_or_mail(workspace: Workspace) -> None:
    """INFO messages alone do not make a session."""
    mailbox = workspace.mailbox
    assert is_session(mailbox, THREAD)
    assert not is_session(mailbox, "RS-2025-x")
    assert not is_session(mailbox, "")
    mailbox.send(make_message("INFO: x", "x", "bd-12").message)
    assert not is_session(mailbox, "bd-12")
    kick_off(workspace, "bd-12")
    assert is_session(mailbox, "bd-12")
    assert not is_session(mailbox, "bd-1")


def test_near_prefix_counts_only_in_a_session(workspace: Workspace) -> None:
    assert receive(workspace, make_message("Question: which?", "x", "lunch")).sent is not None
    kick_off(workspace, "bd-12")
    refused = receive(workspace, make_message("Question: which?", QUESTION, "bd-12"))
    assert refused.sent is None
    assert refused.corrected == make_message("QUESTION: which?", QUESTION, "bd-12").message


def test_checked_mail_is_stored_unchanged_with_warnings(workspace: Workspace) -> None:
    receipt = receive(
        workspace, make_message("delta[x", "no block", "any")._replace(is_checked=True)
    )
    assert receipt.sent is not None
    assert ids(receipt)[0] == "STORED_UNCHECKED"
    assert "INVALID_SUBJECT_PREFIX" in ids(receipt)
    odd = make_message("x" * 5_000, "x", "T-1")._replace(is_checked=True)
    receipt = receive(workspace, odd)
    assert receipt.sent is not None
    assert receipt.sent.stored.message == odd.message
    forged = make_message("Hi", "x", "any text\nat all")._replace(is_checked=True)
    assert ids(receive(workspace, forged)) == ["UNSTORABLE_TEXT"]
    kick_off(workspace)
    good = receive(workspace, make_message("DELTA[gpt]: x", GOOD)._replace(is_checked=True))
    assert "STORED_UNCHECKED" not in ids(good)


def test_ack_without_a_reference_gives_a_warning(workspace: Workspace) -> None:
    kick_off(workspace)
    body = "# Acknowledgement\n\n## Message ID\n99\n\n## Status\nReceived\n"
    receipt = receive(workspace, make_message("ACK: x", body))
    assert receipt.sent is not None
    assert ids(receipt) == ["ACK_OF_UNKNOWN"]


def test_malformed_thread_with_one_match_is_corrected(workspace: Workspace) -> None:
    """The correction is certain because only one thread matches (R1)."""
    wrong = THREAD.replace("cell", "Cell")
    unknown = receive(workspace, make_message("DELTA[gpt]: Memory", GOOD, wrong))
    assert (ids(unknown), unknown.corrected) == (["INVALID_RS_THREAD_ID"], None)
    kick_off(workspace)
    refused = receive(workspace, make_message("DELTA[gpt]: Memory", GOOD, wrong))
    assert refused.sent is None
    assert refused.corrected == make_message("DELTA[gpt]: Memory", GOOD).message
    assert resend_corrected(workspace, refused).violations == ()


def test_thread_name_advice_is_only_for_the_first_sender(workspace: Workspace) -> None:
    short = "RS-20251230-fate"
    begun = receive(workspace, make_message("KICKOFF: Fate", KICKOFF, short))
    assert "THREAD_ID_ADVICE" in ids(begun)
    assert ids(receive(workspace, make_message("DELTA[gpt]: Memory", GOOD, short))) == []
