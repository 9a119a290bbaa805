"""Which subjects were meant for the protocol, and which are ordinary mail: where the line is."""

import pytest

from brenner.protocol.validate import looks_like_protocol_subject

# As plain mail these would be lost, wherever they are sent.
ALWAYS = (
    *("DELTA[gpt]: x", "KICKOFF: x", "QUESTION: x", "INFO: x", "ACK: x"),
    *("delta[gpt]: x", "delta[gpt] : x", "Delta[GPT]: x", "DELTA[gpt]：x", " DELTA[gpt]: x"),
    *("DELTA: x", "delta: x", "Delta: changes", "DELTA[opus-4.5]: x", "DELTA[gpt] x", "DELTA[]: x"),
    *("DELTA(gpt): x", "DELTA gpt-5: x", "DELTA-claude: x", "**DELTA[gpt]**: x", "# DELTA[gpt]: x"),
    *("`DELTA[gpt]: x`", "DETLA[gpt]: x", "DELTAS: x", "Subject: DELTA[gpt]: x"),
    *("\u200bDELTA[gpt]: x", "ＤＥＬＴＡ[gpt]: x", "DELTA[gpt]:\u00a0x"),
    *("Kickoff: x", "kickoff : x", "KICKOF: x", "KICK-OFF: x", "Compiled: v1 x", "COMPILED : v1 x"),
    *("QUESTION : x", "INFO： x", "ACK : x"),
)
# In a session these are; elsewhere people write so.
IN_A_SESSION = (
    *("Question: which one?", "question: which one?", "Info: lunch at noon", "Ack: thanks"),
    *("Critique: your patch", "claim: bd-12", "Blocked: CI", "Handoff: the parser"),
    *("DELTA x", "[DELTA] x", "DELTA - x", "KICKOFF", "[KICKOFF] x", "COMPILED fine", "CRITIQUE x"),
    *("COMPILE: fails", "DELTA_x: y"),
)
# These never are.
NEVER = (
    *("", "x", "Hello", "Info about lunch", "Question about X", "Delta of the Nile", "Delta"),
    *("Re: KICKOFF: x", "Re: DELTA[gpt]: x", "RE: INFO: x", "Fwd: DELTA[gpt]: x", "AW: KICKOFF: x"),
    *("Re: info", "Kickoff meeting at ten", "delta flights: late", "Deltas since Tuesday"),
    *("BLOCKER: CI is red", "QUESTIONS: two", "ACKNOWLEDGED", "Claims: none", "INFORMATION: x"),
    *("[CLAIM] bd-12", "[bd-12] Start: parser", "KICK: x", "DELAY: two days", "TODO: x", "PS: x"),
    *(
        "Subject: lunch",
        "Informative: x",
        "ALPHA: x",
        "The DELTA[gpt]: prefix",
        "Δ: x",
        "\U0010ffff",
    ),
)


@pytest.mark.parametrize("subject", ALWAYS)
def test_always(subject: str) -> None:
    """In a session and elsewhere."""
    assert looks_like_protocol_subject(subject, in_session=True)
    assert looks_like_protocol_subject(subject, in_session=False)


@pytest.mark.parametrize("subject", IN_A_SESSION)
def test_in_a_session(subject: str) -> None:
    """Only there."""
    assert looks_like_protocol_subject(subject, in_session=True)
    assert not looks_like_protocol_subject(subject, in_session=False)


@pytest.mark.parametrize("subject", NEVER)
def test_never(subject: str) -> None:
    """Ordinary mail is not refused by accident."""
    assert not looks_like_protocol_subject(subject, in_session=True)
    assert not looks_like_protocol_subject(subject, in_session=False)


def test_a_very_long_subject_costs_no_time() -> None:
    """A megabyte of marks after a prefix is looked at as far as a prefix goes."""
    assert looks_like_protocol_subject("DELTA[gpt" + "." * 1_000_000, in_session=False)
    assert not looks_like_protocol_subject("." * 1_000_000 + "DELTA[gpt]: x", in_session=True)
