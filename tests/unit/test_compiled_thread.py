"""Versions in a thread (AP-002, AP-009), and the replies to refused blocks."""

from datetime import UTC, datetime, timedelta

import pytest

from brenner.artifact.merge.engine import merge
from brenner.artifact.state import BlockOutcome, Entry, empty_state
from brenner.diagnostics.codes.deltas import INVALID_JSON
from brenner.limits import MOST_BODY_BYTES
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.compiled import check_version_sequence
from brenner.protocol.delta.parse import is_delta_fence, read_blocks
from brenner.protocol.messages import Message, StoredMessage
from brenner.protocol.validate import check_stored
from brenner.services.blame import check_thread
from brenner.session.decisions import compose_void
from brenner.session.validation_reply import compose_block_errors
from compiled_samples import golden

THREAD_ID = "RS-20251230-cell-fate-dichotomy"
START = datetime(2025, 12, 30, 10, 0, tzinfo=UTC)


def posted(number: int, subject: str, body: str = "") -> StoredMessage:
    """A message of the thread, a minute after the one before."""
    message = Message(THREAD_ID, "Ann", ("Bob",), subject, body)
    return StoredMessage(number, START + timedelta(minutes=number), message)


def compiled(*numbers: int) -> list[StoredMessage]:
    """COMPILED messages that say these versions."""
    return [
        posted(place, f"COMPILED: v{number} x") for place, number in enumerate(numbers, start=1)
    ]


@pytest.mark.parametrize(
    ("numbers", "wrong"),
    [
        ((1, 2, 3), []),
        ((2,), [(1, "v2", "v1")]),
        ((1, 1), [(2, "v1", "v2")]),
        ((1, 3, 4), [(2, "v3", "v2")]),
        ((1, 2, 1, 3), [(3, "v1", "v3")]),
        ((1, 2, 3, 2, 3, 4), [(4, "v2", "v4"), (5, "v3", "v4")]),
    ],
)
def test_versions_count_up(numbers: tuple[int, ...], wrong: list[tuple[int, str, str]]) -> None:
    """AP-002: from 1, without gaps and repeats; after a gap the count goes on from there."""
    found = check_version_sequence(compiled(*numbers))
    assert [each.id for each in found] == ["AP-002"] * len(wrong)
    for each, (message_id, version, expected) in zip(found, wrong, strict=True):
        assert each.message_id == message_id
        assert f"The version is {version}, but the next version of this thread is {expected}." in (
            each.message
        )


def test_the_order_of_the_thread_counts() -> None:
    """R9: the store's time, whatever order they come in; ids break ties."""
    one, two = compiled(1, 2)
    assert check_version_sequence([two, one]) == []
    swapped = [one._replace(at=two.at), two._replace(at=one.at)]
    assert [each.message_id for each in check_version_sequence(swapped)] == [2, 1]
    assert check_version_sequence([two._replace(at=one.at), one]) == []


def test_a_void_version_frees_its_number() -> None:
    """The next message with its number is right."""
    thread = compiled(1, 2, 2, 3)
    assert [each.message_id for each in check_version_sequence(thread)] == [3]
    assert check_version_sequence(thread, voided={2}) == []
    # The void one itself had the next number when it was posted.
    assert [each.message_id for each in check_version_sequence(compiled(1, 3, 2), voided={2})] == [
        2
    ]


def test_a_compiled_without_a_number_is_passed_over() -> None:
    """AP-001 tells of it already."""
    assert (
        check_version_sequence([*compiled(1), posted(2, "COMPILED: new"), *compiled(1, 2)[1:]])
        == []
    )


@pytest.mark.parametrize(
    ("subject", "field"),
    [
        ("DELTA[opus]: x", "**Base Version**: {}"),
        ("CRITIQUE: x", "## Target\n- **Artifact Version**: {}\n- **Item**: H2"),
        ("KICKOFF: x", "## Current State\n- **Base Artifact**: {}"),
    ],
)
def test_versions_that_messages_name(subject: str, field: str) -> None:
    """AP-009: those that were there by then, and v0; each with its line."""
    for version, line in (("v0", None), ("v1", None), ("v2", 1), ("v7", 1)):
        body = "# Title\n\n" + field.format(version)
        found = check_version_sequence([*compiled(1), posted(2, subject, body)])
        is_wrong = line is not None
        assert [each.id for each in found] == ["AP-009"] * is_wrong
        for each in found:
            assert (each.message_id, each.line) == (2, body[: body.index(version)].count("\n") + 1)
            assert (
                f"refers to {version}, which does not exist in this thread. The latest is v1."
                in (each.message)
            )
    later = [posted(1, subject, field.format("v1")), posted(2, "COMPILED: v1 x")]
    assert [each.message_id for each in check_version_sequence(later)] == [1]


def test_what_names_no_version() -> None:
    """Another type's field, a quotation, an example and a malformed one say nothing here."""
    for subject, body in (
        ("INFO: x", "**Base Version**: v9"),
        ("DELTA[opus]: x", "> **Base Version**: v9"),
        ("DELTA[opus]: x", "```\n**Base Version**: v9\n```"),
        ("DELTA[opus]: x", "**Base Version**: nine"),
        ("DELTA[opus]: x", "**Base Version**: v0\n\n**Base Version**: v9"),
        ("Re: DELTA[opus]: x", "**Base Version**: v9"),
    ):
        assert check_version_sequence([posted(1, subject, body)]) == []


def test_check_thread() -> None:
    """The rules on a thread stand among the findings of its messages; a void is the operator's."""
    mailbox = MemoryMailbox()
    for name in ("Ann", "Bob", "Operator"):
        mailbox.register(Profile(name))
    for message in (
        posted(1, "COMPILED: v1 x").message,
        posted(2, "COMPILED: v2 y").message,
        posted(3, "COMPILED: v2 z").message,
        posted(4, "DELTA[opus]: x", "**Base Version**: v5").message,
    ):
        mailbox.send(message)
    assert _sequence_codes(mailbox) == [(3, "AP-002"), (4, "AP-009")]
    both = _sequence_codes(mailbox)
    hashes = [mailbox.message(number).content_hash for number in (2, 3)]
    for sender, expected in (("Ann", both), ("Operator", both[1:])):
        from_whom = Message(THREAD_ID, sender, ("Bob",), "", "")
        mailbox.send(compose_void(from_whom, 2, 2, hashes, "It does not fit."))
        assert _sequence_codes(mailbox) == expected
    mailbox.send(posted(7, "COMPILED: v2 again").message)
    assert _sequence_codes(mailbox) == both[1:]


def _sequence_codes(mailbox: MemoryMailbox) -> list[tuple[int | None, str]]:
    return [
        (each.message_id, each.id)
        for _, report in check_thread(mailbox, THREAD_ID)
        for each in report.violations
        if each.id in ("AP-002", "AP-009")
    ]


# Replies to refused blocks

BAD = """\
# Delta Contribution

**Base Version**: v1

```delta
{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H1",
 "payload": {"reason": "refuted"}, "rationale": "T1",}
```

```delta
{"operation": "KILL"}
```
"""


def refusal(body: str, latest: int | None = None) -> Message:
    """The reply to a message with bad blocks."""
    sent = posted(12, "DELTA[opus]: Killed H1", body)
    ledger = merge(empty_state(THREAD_ID), [sent]).ledger
    assert {entry.state for entry in ledger} == {BlockOutcome.REFUSED}
    return compose_block_errors(sent, ledger, "Operator", latest)


def test_a_reply() -> None:
    """Which message, every fault, how to send it again, the corrected block where it is certain."""
    reply = refusal(BAD)
    assert (reply.sender, reply.recipients) == ("Operator", ("Ann",))
    assert reply.subject == "INFO: Validation error in message 12: DELTA[opus]: Killed H1"
    assert reply.body.startswith(
        "# Validation Error\n\n## Message\n12\n\nDELTA[opus]: Killed H1\n\n## Errors\n"
        "- Block 1, body line 7: JSON_TRAILING_COMMA: "
    )
    assert "\n- Block 2, body line 11: MISSING_REQUIRED_FIELD: " in reply.body
    assert "Correct these 2 blocks as shown below, in a new DELTA message" in reply.body
    assert "Keep the base: `**Base Version**: v1`." in reply.body
    assert (
        '\nBlock 1. Corrected block:\n\n````markdown\n```delta\n{"operation": "KILL", "section": '
        '"hypothesis_slate", "target_id": "H1",\n "payload": {"reason": "refuted"}, '
        '"rationale": "T1"}\n```\n````\n'
    ) in reply.body
    assert reply.body.count("Corrected block:") == 1  # block 2 needs a decision
    assert [each.id for each in check_stored(reply).violations] == []


def test_a_reply_without_a_base() -> None:
    """It says that the one before her eyes is to be stated."""
    reply = refusal(BAD.replace("**Base Version**: v1\n", ""))
    assert "State the version that you have read, for example `**Base Version**: v1`." in reply.body


@pytest.mark.parametrize(
    ("latest", "words"),
    [
        (None, "Keep the base: `**Base Version**: v1`."),
        (1, "Keep the base: `**Base Version**: v1`."),
        (0, "The stated base, v1, does not exist. There is no version yet. Leave the line out."),
    ],
)
def test_the_base_to_state(latest: int | None, words: str) -> None:
    """One that does not exist is not to be kept."""
    body = refusal(BAD, latest).body
    assert words in body
    assert ("`**Base Version**: v1`" in body) is (latest != 0)


def test_a_base_beyond_the_latest_version() -> None:
    """The latest is named, the wrong one is not advised."""
    body = refusal(BAD.replace("v1", "v7"), 2).body
    assert "v7, does not exist. The latest version is v2. State the version that you have" in body
    assert "`**Base Version**: v7`" not in body


def test_a_reply_says_what_each_check_can_see() -> None:
    """A message alone shows less than its thread."""
    body = refusal(BAD).body
    assert "Check the message with `brenner check FILE`" in body
    assert "`WOULD_BE_REFUSED` means that a block would still be rejected." in body


def test_the_corrected_block_passes() -> None:
    """Taken out of its outer fence it is a sound block."""
    (outer,) = [block for block in parse_blocks(refusal(BAD).body) if block.info == "markdown"]
    (block,) = read_blocks(parse_blocks(outer.text))
    assert block.delta is not None


def test_both_readings() -> None:
    """A target that can mean two items: the block for each, by its final number."""
    ledger = golden("two_agents_at_once")[1].ledger
    entries = tuple(entry for entry in ledger if entry.state is BlockOutcome.REFUSED)
    reply = compose_block_errors(posted(7, "DELTA[opus]: Withdrawing H4"), entries, "Operator")
    ready = [block.text for block in parse_blocks(reply.body) if block.info == "markdown"]
    targets = [read_blocks(parse_blocks(text))[0].written("target_id") for text in ready]
    assert targets == ["H5", "H4"]
    assert "Send the one that you mean,\nunchanged, in a message without a `**Base" in reply.body
    assert reply.body.count("Base Version") == 1


def test_readings_beside_other_blocks() -> None:
    """A message has one base: what goes without one goes apart, and the rest keeps its own."""
    ledger = golden("two_agents_at_once")[1].ledger
    doubtful = next(entry for entry in ledger if entry.state is BlockOutcome.REFUSED)
    fault = INVALID_JSON.at(1, reason="x")
    other = Entry(7, 9, 1, "Ann", None, None, None, BlockOutcome.REFUSED, diagnostics=(fault,))
    reply = compose_block_errors(posted(7, "DELTA[opus]: x", BAD), (doubtful, other), "Operator", 3)
    assert (
        "Send a block with several meanings in a separate message. For the others: Keep the base:"
    ) in reply.body
    assert reply.body.count("Base Version") == 2


def test_a_reply_fits_into_a_message() -> None:
    """However many blocks there are, and however long the corrected ones."""
    block = "```delta\n" + "x" * (200 * 1024) + "\n```\n"
    fault = INVALID_JSON.at(1, reason="x")._replace(repaired=block)
    entries = tuple(
        Entry(1, n, 1, "Ann", None, None, None, BlockOutcome.REFUSED, diagnostics=(fault,) * 30)
        for n in range(1, 2001)
    )
    reply = compose_block_errors(posted(1, "DELTA[opus]: x"), entries, "Operator")
    assert len(reply.body.encode()) < MOST_BODY_BYTES
    assert f"- and 1950 more blocks: `brenner artifact ledger {THREAD_ID}`" in reply.body
    assert "the corrected block is too long to show here." in reply.body
    assert not any(map(is_delta_fence, parse_blocks(reply.body)))
