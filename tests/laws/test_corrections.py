"""The laws of correction: nothing lost, nothing guessed, nothing said that was not written."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.diagnostics.model import ERROR
from brenner.protocol.delta.parse import read_deltas, render_delta
from brenner.protocol.delta.schema import Delta
from brenner.protocol.messages import parse_message_file
from brenner.protocol.validate import Report, check_message
from strategies import any_text, deltas

pytestmark = pytest.mark.fuzz

HEADERS = "Thread: RS-20251230-cell-fate-dichotomy\nFrom: A\nTo: B\nSubject: DELTA[opus]: x\n\n"


def spoil_comma(block: str) -> str:
    """A comma before the last bracket."""
    return block[: block.rindex("}")].rstrip() + ",\n}" + block[block.rindex("}") + 1 :]


def spoil_comment(block: str) -> str:
    """A comment behind the first line of the JSON."""
    return block.replace("{\n", "{ // why not\n", 1)


def spoil_key(block: str) -> str:
    """A key without quotes."""
    return block.replace('"operation":', "operation:", 1)


def spoil_quotes(block: str) -> str:
    """A value in single quotes."""
    for name in ("ADD", "EDIT", "KILL"):
        block = block.replace(f'"operation": "{name}"', f"\"operation\": '{name.lower()}'", 1)
    return block


def spoil_label(block: str) -> str:
    """Another name for the fence."""
    marker, _, rest = block.partition("delta\n")
    return f"{marker}json\n{rest}"


def spoil_end(block: str) -> str:
    """The closing fence has words after it."""
    return block.rstrip("\n") + " that is all\n"


SPOILERS = (spoil_comma, spoil_comment, spoil_key, spoil_quotes, spoil_label, spoil_end)


@st.composite
def spoiled_messages(draw: st.DrawFn) -> tuple[list[Delta], str]:
    """Valid deltas, and a message in which each block is spoiled in ways that can be mended."""
    found = draw(st.lists(deltas(), min_size=1, max_size=3))
    parts = []
    for delta in found:
        block = render_delta(delta)
        for spoil in draw(st.lists(st.sampled_from(SPOILERS), max_size=2, unique=True)):
            block = spoil(block)
        parts.append(block)
    return found, HEADERS + "# Delta Contribution\n\n" + "\n".join(parts)


def written(text: str) -> list[Delta]:
    """The deltas of a message, in order."""
    blocks = read_deltas(parse_message_file(text).message.body)
    return [block.delta for block in blocks if block.delta]


@given(spoiled_messages())
def test_what_was_spoiled_is_mended_whole(case: tuple[list[Delta], str]) -> None:
    """A correction brings back every delta exactly as it was meant, or is not offered."""
    found, text = case
    report = check_message(text)
    result = report.corrected if report.corrected is not None else text if report.valid else None
    if result is not None:
        assert [_plain(delta) for delta in written(result)] == [_plain(delta) for delta in found]


def _plain(delta: Delta) -> str:
    return json.dumps([delta.operation, delta.section, delta.target_id, dict(delta.payload)])


@given(st.lists(deltas(), min_size=1, max_size=2), any_text)
def test_correction_adds_no_words(found: list[Delta], prose: str) -> None:
    """Every string of a corrected message stood in the original."""
    body = "\n".join([prose, *map(spoil_comma, map(render_delta, found))])
    report = check_message(HEADERS + body)
    if report.corrected is None:
        return
    for delta in written(report.corrected):
        strings = Counter(_strings(dict(delta.payload)))
        for text in strings:
            assert json.dumps(text, ensure_ascii=False)[1:-1] in body or text in body


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _strings(each)]


@given(any_text)
def test_correcting_twice_is_correcting_once(text: str) -> None:
    """A corrected message is valid and has nothing left to correct."""
    report = check_message(HEADERS + text)
    if report.corrected is not None:
        again = check_message(report.corrected)
        assert again.valid
        assert again.corrected is None


@given(st.lists(deltas(), max_size=2), any_text)
def test_valid_blocks_stay_valid(found: list[Delta], prose: str) -> None:
    """A correction never costs a block that was valid before."""
    text = HEADERS + "\n".join([*map(render_delta, found), prose])
    report = check_message(text)
    if report.corrected is not None:
        before = [_plain(delta) for delta in written(text)]
        after = Counter(_plain(delta) for delta in written(report.corrected))
        assert Counter(before) <= after


# Correcting in part


def lose_target(block: str) -> str:
    """The target is a misspelt key, which no correction renames."""
    return block.replace('"target_id"', '"targetted"', 1)


def lose_operation(block: str) -> str:
    """An operation that does not exist."""
    for name in ("ADD", "EDIT", "KILL"):
        block = block.replace(f'"operation": "{name}"', '"operation": "REPLACE"', 1)
    return block


def lose_quote(block: str) -> str:
    """A quotation mark inside a text ends it too early."""
    return block.replace('"section": "', '"section": "x" y "', 1)


def lose_label(block: str) -> str:
    """A quotation of the block."""
    return "".join(f"> {line}\n" for line in block.splitlines())


LOSERS = (lose_target, lose_operation, lose_quote, lose_label)


@st.composite
def broken_messages(draw: st.DrawFn) -> str:
    """A message with several blocks, each spoiled in ways that have a correction or have none."""
    parts = []
    for delta in draw(st.lists(deltas(), min_size=1, max_size=4)):
        block = render_delta(delta)
        for spoil in draw(st.lists(st.sampled_from(SPOILERS + LOSERS), max_size=3, unique=True)):
            block = spoil(block)
        parts.append(block)
    head = draw(st.sampled_from([HEADERS, HEADERS.replace("DELTA[opus]", "delta[OPUS]")]))
    return head + "# Delta Contribution\n\n" + "\n".join(parts) + draw(st.sampled_from(["", "x\n"]))


def errors(report: Report) -> Counter[str]:
    return Counter(found.id for found in report.violations if found.severity is ERROR)


def contributions(text: str, report: Report) -> int:
    """How many delta blocks, and texts that look like one."""
    strays = ("INLINE_DELTA", "SWALLOWED_DELTA", "QUOTED_DELTA")
    return len(report.deltas) + sum(found.id in strays for found in report.violations)


def result_of_fixing(text: str, report: Report) -> str:
    return report.corrected or report.partly_corrected or text


@given(st.one_of(broken_messages(), any_text.map(lambda text: HEADERS + text)))
def test_a_partial_fix_leaves_exactly_what_is_not_fixable(text: str) -> None:
    """It adds no error, and what remains was marked as not fixable; a full fix is valid."""
    report = check_message(text)
    after = check_message(result_of_fixing(text, report))
    unfixable = (each for each in report.violations if each.severity is ERROR and not each.fixable)
    assert errors(after) <= Counter(each.id for each in unfixable)
    assert errors(after) <= errors(report)
    assert report.corrected is None or (after.valid and report.partly_corrected is None)
    is_changed = report.corrected is not None or report.partly_corrected is not None
    assert is_changed or not any(found.fixable for found in report.violations)


@given(st.one_of(broken_messages(), any_text.map(lambda text: HEADERS + text)))
def test_a_partial_fix_loses_no_contribution(text: str) -> None:
    """Every block is still there, and those that were valid are as they were."""
    report = check_message(text)
    fixed = result_of_fixing(text, report)
    after = check_message(fixed)
    assert contributions(fixed, after) >= contributions(text, report)
    before = Counter(map(_plain, written(text)))
    assert before <= Counter(map(_plain, written(fixed)))


@given(st.one_of(broken_messages(), any_text.map(lambda text: HEADERS + text)))
def test_fixing_in_part_twice_is_fixing_once(text: str) -> None:
    report = check_message(text)
    fixed = result_of_fixing(text, report)
    again = check_message(fixed)
    assert result_of_fixing(fixed, again) == fixed
    assert not any(found.fixable for found in again.violations)
