"""Laws of two texts side by side: nothing is lost, and the marks are where the two differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.artifact.text_diff import (
    Mark,
    TextSpan,
    all_pairs,
    line_spans,
    side_by_side,
    split_lines,
)
from strategies import any_text, hostile_text

pytestmark = pytest.mark.fuzz

_lines = st.lists(
    st.sampled_from(["a b c", "a b d", "x", "", "one two three", "one two four", "\r", "\x0c"]),
    max_size=30,
).map("\n".join)
_texts = st.one_of(_lines, any_text, hostile_text)


def _joined(spans: list[tuple[TextSpan, ...]]) -> str:
    return "".join(span.text for each in spans for span in each)


@given(_texts, _texts)
def test_the_columns_give_back_both_texts(old: str, new: str) -> None:
    """Left is the old text and nothing else, right the new one; the marks say which words."""
    before, after = split_lines(old), split_lines(new)
    pairs = all_pairs(old, new)
    sides = [
        line_spans(
            before[pair.old] if pair.old is not None else "",
            after[pair.new] if pair.new is not None else "",
            is_same=pair.is_same,
            is_similar=pair.is_similar,
        )
        for pair in pairs
    ]
    assert _joined([left for left, _ in sides]) == old
    assert _joined([right for _, right in sides]) == new
    for pair, (left, right) in zip(pairs, sides, strict=True):
        marks = {span.mark for span in (*left, *right)}
        assert (marks == {Mark.SAME}) == pair.is_same
        kept = ["".join(s.text for s in side if s.mark is Mark.SAME) for side in (left, right)]
        assert kept[0] == kept[1]


@given(_texts, _texts)
def test_what_is_not_shown_is_the_same(old: str, new: str) -> None:
    """The lines that the columns leave out, and those that they show, are all there are."""
    found = side_by_side(old, new)
    shown_old = [pair.old for each in found.hunks for pair in each.pairs if pair.old is not None]
    shown_new = [pair.new for each in found.hunks for pair in each.pairs if pair.new is not None]
    left_out = sum(each.skipped for each in found.hunks) + found.skipped
    assert shown_old == sorted(set(shown_old))
    assert shown_new == sorted(set(shown_new))
    assert len(shown_old) + left_out == len(split_lines(old))
    assert len(shown_new) + left_out == len(split_lines(new))
