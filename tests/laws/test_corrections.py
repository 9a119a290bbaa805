"""The laws of correction: nothing lost, nothing guessed, nothing said that was not written."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.protocol.delta.parse import read_deltas, render_delta
from brenner.protocol.delta.schema import Delta
from brenner.protocol.messages import parse_message_file
from brenner.protocol.validate import check_message
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
