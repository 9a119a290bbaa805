"""What models really send when they are asked for a DELTA: each is caught, and none is lost.

The table says, for each message, which codes it gets and whether it can be corrected; a corrected
one must hold as many valid deltas as the author wrote.
"""

from collections import Counter

import pytest

from brenner.protocol.validate import check_message

HEADERS = """\
Thread: RS-20251230-cell-fate-dichotomy
From: BlueLake
To: Operator
Subject: DELTA[opus]: H2 is refuted

"""
KILL = """\
{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H2",
 "payload": {"reason": "refuted by T1"}, "rationale": "T1 came out negative"}"""
OTHER = KILL.replace("H2", "H3")
GOOD = f"```delta\n{KILL}\n```\n"
SECOND = f"```delta\n{OTHER}\n```\n"

# name: (text, codes, deltas in the corrected message, or None where there is no certain correction)
MISTAKES: dict[str, tuple[str, list[str], int | None]] = {
    "wrapped in an equal fence": (
        f"{HEADERS}```markdown\n{GOOD}```\n",
        ["MB-004", "SWALLOWED_DELTA"],
        1,
    ),
    "the whole file in a fence": (f"```markdown\n{HEADERS}{GOOD}```\n", ["INVALID_HEADER"], 1),
    "a json fence": (f"{HEADERS}```json\n{KILL}\n```\n", ["MB-004", "INLINE_DELTA"], 1),
    "two in a json fence": (
        f"{HEADERS}```json\n{KILL}\n{OTHER}\n```\n",
        ["MB-004", "INLINE_DELTA", "INLINE_DELTA"],
        2,
    ),
    "capitals in the label": (f"{HEADERS}```Delta\n{KILL}\n```\n", ["MB-004", "INLINE_DELTA"], 1),
    "not closed": (f"{HEADERS}```delta\n{KILL}\n", ["UNCLOSED_FENCE"], 1),
    "not closed, then prose": (
        f"{HEADERS}```delta\n{KILL}\n\nThat is all.\n",
        ["UNCLOSED_FENCE"],
        1,
    ),
    "closed with words": (
        f"{HEADERS}```delta\n{KILL}\n``` end\n\n{SECOND}",
        ["SEVERAL_DELTAS_IN_BLOCK", "INLINE_DELTA"],
        2,
    ),
    "four backticks closed by three": (
        f"{HEADERS}````delta\n{KILL}\n```\n\n{SECOND}",
        ["UNCLOSED_FENCE", "INLINE_DELTA"],
        2,
    ),
    "the first of two not closed": (
        f"{HEADERS}```delta\n{KILL}\n\n{SECOND}",
        ["SEVERAL_DELTAS_IN_BLOCK", "INLINE_DELTA"],
        2,
    ),
    "two objects in a block": (
        f"{HEADERS}```delta\n{KILL}\n{OTHER}\n```\n",
        ["SEVERAL_DELTAS_IN_BLOCK", "INLINE_DELTA"],
        2,
    ),
    "two objects and a comma": (
        f"{HEADERS}```delta\n{KILL},\n{OTHER}\n```\n",
        ["SEVERAL_DELTAS_IN_BLOCK", "INLINE_DELTA"],
        2,
    ),
    "a list of deltas": (
        f"{HEADERS}```delta\n[{KILL}, // one\n{OTHER},]\n```\n",
        ["DELTA_NOT_AN_OBJECT", "JSON_COMMENT", "JSON_TRAILING_COMMA"],
        2,
    ),
    "a list of deltas in an object": (
        f'{HEADERS}```delta\n{{"deltas": [{KILL}, {OTHER}]}}\n```\n',
        ["DELTA_NOT_AN_OBJECT"],
        2,
    ),
    "two base versions": (
        f"{HEADERS}**Base Version**: v1\n**Base Version**: v2\n\n{GOOD}",
        ["CONFLICTING_VERSIONS"],
        None,
    ),
    "prose in the block": (
        f"{HEADERS}```delta\nHere it is: {KILL}\n```\n",
        ["INVALID_JSON"],
        None,
    ),
    "JSON on the line of the fence": (f"{HEADERS}```delta {KILL}\n```\n", ["INVALID_JSON"], None),
    "one delta on the line of the fence, one below": (
        f"{HEADERS}```delta {OTHER.replace(chr(10), '')}\n{KILL}\n```\n",
        ["INVALID_JSON"],
        None,
    ),
    "an unknown name, escaped": (
        HEADERS
        + GOOD.replace("KILL", "EDIT")
        .replace("hypothesis_slate", "predictions_table")
        .replace("H2", "P1")
        .replace('"reason": "refuted by T1"', '"predictions": {"\\u0040epi": "refuted by T1"}'),
        ["UNKNOWN_LOCAL_ID"],
        None,
    ),
    "unescaped quotes": (
        HEADERS + GOOD.replace("refuted by T1", 'refuted by "T1"'),
        ["INVALID_JSON"],
        None,
    ),
    "typographic quotes": (
        HEADERS + GOOD.replace('"refuted by T1"', "“refuted by T1”"),
        ["JSON_CURLY_QUOTES"],
        1,
    ),
    "no-break spaces": (HEADERS + GOOD.replace(": ", ":\u00a0", 1), ["JSON_ODD_BLANK"], 1),
    "a hidden character in a key": (
        HEADERS + GOOD.replace('"payload"', '"pay\u200bload"'),
        ["MISSING_REQUIRED_FIELD"],
        1,
    ),
    "a formula": (
        HEADERS + GOOD.replace("refuted by T1", "\\tau is too short"),
        ["JSON_SUSPICIOUS_ESCAPE"],
        None,
    ),
    "another formula": (
        HEADERS + GOOD.replace("refuted by T1", "\\sigma is too short"),
        ["JSON_BAD_ESCAPE"],
        None,
    ),
    "op and target": (
        HEADERS + GOOD.replace("operation", "op").replace("target_id", "target"),
        ["MISSING_REQUIRED_FIELD", "MISSING_TARGET"],
        None,
    ),
    "a field with another meaning": (
        HEADERS
        + GOOD.replace("KILL", "EDIT")
        .replace("hypothesis_slate", "discriminative_tests")
        .replace("H2", "T1")
        .replace('"reason": "refuted by T1"', '"procedure": "wait", "latency_check": "1 s"'),
        ["UNKNOWN_FIELD"],
        None,
    ),
    "a field in camel case": (
        HEADERS
        + GOOD.replace("KILL", "EDIT")
        .replace("hypothesis_slate", "discriminative_tests")
        .replace("H2", "T1")
        .replace('"reason": "refuted by T1"', '"procedure": "wait", "potencyCheck": "1 s"'),
        ["UNKNOWN_FIELD"],
        1,
    ),
    "a brace in prose before it": (
        f'{HEADERS}The set {{"a, b is odd.\n\n{KILL}\n',
        ["MB-004", "INLINE_DELTA"],
        1,
    ),
    "a flat delta": (
        HEADERS
        + GOOD.replace('"payload": {"reason": "refuted by T1"}', '"reason": "refuted by T1"'),
        ["MISSING_REQUIRED_FIELD"],
        1,
    ),
    "YAML beside a real block": (
        f"{HEADERS}{GOOD}\n```yaml\noperation: KILL\nsection: hypothesis_slate\n```\n",
        ["INLINE_DELTA"],
        None,
    ),
    "a field missing and a name unknown": (
        HEADERS
        + GOOD.replace("KILL", "ADD")
        .replace("hypothesis_slate", "predictions_table")
        .replace('"target_id": "H2"', '"target_id": null')
        .replace('"reason": "refuted by T1"', '"predictions": {"@epi": "refuted by T1"}'),
        ["MISSING_REQUIRED_FIELD", "UNKNOWN_LOCAL_ID"],
        None,
    ),
    "inside a table": (
        f"{HEADERS}| 1 | {KILL.replace(chr(10), '')} |\n",
        ["MB-004", "INLINE_DELTA"],
        None,
    ),
    "inside HTML": (
        f"{HEADERS}<details>\n{GOOD}</details>\n",
        ["MB-004", "SWALLOWED_DELTA"],
        None,
    ),
    "quoted": (
        HEADERS + "".join(f"> {line}\n" for line in GOOD.splitlines()),
        ["MB-004", "QUOTED_DELTA"],
        None,
    ),
    "a role that is a model's name": (
        f"{HEADERS}{GOOD}".replace("DELTA[opus]", "DELTA[opus-4.5]"),
        ["INVALID_SUBJECT_PREFIX"],
        None,
    ),
    "no role, and a comma too many": (
        f"{HEADERS}{GOOD}".replace("DELTA[opus]", "DELTA").replace('"}\n```', '",}\n```'),
        ["INVALID_SUBJECT_PREFIX", "JSON_TRAILING_COMMA"],
        None,
    ),
    "headers in bold": (
        f"{HEADERS}{GOOD}".replace("Thread:", "**Thread**:"),
        ["INVALID_HEADER", "DELTA_NOT_CONTRIBUTED"],
        None,
    ),
    "an underscore in a header": (f"ack_required: false\n{HEADERS}{GOOD}", [], None),
    "Windows line ends": (
        f"{HEADERS}{GOOD}".replace('"}\n```', '",}\n```').replace("\n", "\r\n"),
        ["JSON_TRAILING_COMMA"],
        1,
    ),
    "a base version that is not in bold": (
        f"{HEADERS}Base Version: v2\n\n{GOOD}",
        ["MALFORMED_VERSION"],
        None,
    ),
}


@pytest.mark.parametrize(("text", "codes", "deltas"), MISTAKES.values(), ids=MISTAKES)
def test_mistake(text: str, codes: list[str], deltas: int | None) -> None:
    """It gets its codes, and its correction loses nothing."""
    report = check_message(text)
    assert Counter(found.id for found in report.violations) == Counter(codes)
    if deltas is None:
        assert report.corrected is None
    else:
        assert report.corrected is not None
        corrected = check_message(report.corrected)
        assert corrected.valid
        assert [delta.valid for delta in corrected.deltas] == [True] * deltas
        assert "refuted by T1" in report.corrected or "potency_check" in report.corrected


def test_hints_name_the_heading() -> None:
    """The heading that was probably meant is quoted, without a second line number."""
    text = HEADERS.replace("DELTA[opus]: H2 is refuted", "CRITIQUE: x") + "# Target\nx\n"
    (found,) = [each for each in check_message(text).violations if each.id == "MB-006"]
    assert found.fix.endswith(" The heading `# Target` does not count.")


@pytest.mark.parametrize(
    ("written", "right"),
    [
        *(("**Base Version**: 0", "v0"), ("Base Version: v0", "v0"), ("Base Version: 3", "v3")),
        *(("**Base Version**: version 12", "v12"), ("**Base Version**: latest", "vN")),
        *(("**Base Version**: v1.0", "vN"), ("Base Version: v0 or v1", "vN")),
    ],
)
def test_base_version_in_another_form(written: str, right: str) -> None:
    """The fix names the version that is written, and never one that may not exist."""
    (found,) = check_message(f"{HEADERS}{written}\n\n{GOOD}").violations
    assert found.id == "MALFORMED_VERSION"
    assert f"Write `**Base Version**: {right}`" in found.fix
    if right != "vN":
        assert check_message(f"{HEADERS}**Base Version**: {right}\n\n{GOOD}").violations == ()


@pytest.mark.parametrize("actor", ["bluelake", "BLUELAKE"])
def test_sender_in_another_case(actor: str) -> None:
    """Only the mailbox knows which of the two is registered: no name is offered."""
    (found,) = check_message(f"{HEADERS}{GOOD}", actor).violations
    assert found.id == "SENDER_MISMATCH"
    assert actor not in found.fix
    assert "as the agent is registered" in found.fix
