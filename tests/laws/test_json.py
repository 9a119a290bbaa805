"""The laws of JSON reading: strict decoding, lenient scanning and repairs agree."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brenner.markdown.edits import apply_edits
from brenner.protocol.delta.lenient_json import NotJSON, decode_strict, scan, to_value
from strategies import json_like, json_values, scalar_text

pytestmark = pytest.mark.fuzz


def reference(text: str) -> object:
    """RFC 8259 by another way: the standard decoder with every laxity closed, at any cost."""

    def pairs(members: list[tuple[str, object]]) -> dict[str, object]:
        if len({key for key, _ in members}) != len(members):
            raise ValueError
        return dict(members)

    def refuse(_: str) -> object:
        raise ValueError

    value = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode()  # fails on lone surrogates
    return value


def accepted(text: str) -> bool:
    """Whether the reference takes it."""
    try:
        reference(text)
    except (ValueError, RecursionError):
        return False
    return True


@given(json_like)
def test_strict_decoding_is_rfc_8259(text: str) -> None:
    """The decoder takes what the RFC takes, gives the same value, and refuses everything else."""
    try:
        value = decode_strict(text)
    except NotJSON:
        assert not accepted(text)
    else:
        assert value == reference(text)


@given(json_like)
def test_no_faults_means_strict(text: str) -> None:
    """A text that the scanner takes whole and without a fault is JSON; any other is not."""
    found = scan(text)
    flawless = found.root is not None and not found.faults and found.position == len(text)
    assert flawless == accepted(text)


@given(json_values)
def test_scanner_reads_the_value(value: object) -> None:
    """The lenient scanner gives the value that was written."""
    text = json.dumps(value)
    found = scan(text)
    assert found.root is not None
    assert to_value(text, found.root) == value


@example('"\\\'"')
@given(json_like)
def test_certain_repairs_make_json_of_the_same_value(text: str) -> None:
    """Where every fault has a certain repair, the repaired text is JSON with the value meant."""
    found = scan(text)
    if found.root is None or found.position < len(text):
        return
    if any(fault.edits is None for fault in found.faults):
        return
    repaired = apply_edits(text, [edit for fault in found.faults for edit in fault.edits or ()])
    for _ in range(3):  # an apostrophe mended may show a control character inside its string
        again = scan(repaired)
        repaired = apply_edits(repaired, [e for fault in again.faults for e in fault.edits or ()])
    assert decode_strict(repaired) == to_value(text, found.root)


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[object, str]:
    """A value, and its JSON spoiled in ways that have only one reading."""
    value = draw(st.dictionaries(st.from_regex(r"\A[a-z]{1,6}\Z"), json_values, min_size=1))
    text = json.dumps(value, indent=draw(st.sampled_from([None, 2])))
    if draw(st.booleans()):
        text = text[:-1].rstrip() + draw(st.sampled_from([",", " ,", ",\n"])) + "}"
    if draw(st.booleans()):
        key = next(iter(value))
        text = text.replace(f'"{key}":', f"{key}:", 1)
    if draw(st.booleans()):
        text = draw(st.sampled_from(["// a\n", "/* b */", "# c\n"])) + text
    if draw(st.booleans()):
        key = next(iter(value))
        text = text.replace(f'"{key}":', f"'{key}':", 1)
    return value, text


@given(spoiled())
def test_what_was_spoiled_is_mended(case: tuple[object, str]) -> None:
    """Trailing commas, comments, unquoted and single-quoted keys are put right, nothing else."""
    value, text = case
    found = scan(text)
    assert all(fault.edits is not None for fault in found.faults)
    edits = [edit for fault in found.faults for edit in fault.edits or ()]
    assert decode_strict(apply_edits(text, edits)) == value


@given(scalar_text, st.sampled_from(["'", '"']))
def test_text_of_strings_is_never_altered(text: str, quote: str) -> None:
    """Whatever quotes and raw control characters a string had, its text comes out the same."""
    written = re.sub(rf"([\\{quote}])", r"\\\1", text)
    if quote == "'" and "\n" in text:
        return
    source = f"{quote}{written}{quote}"
    found = scan(source)
    assert found.root is not None
    repaired = source
    for _ in range(3):
        edits = [edit for fault in scan(repaired).faults for edit in fault.edits or ()]
        repaired = apply_edits(repaired, edits)
    assert decode_strict(repaired) == text
