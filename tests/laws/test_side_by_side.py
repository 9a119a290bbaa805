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
    pairs = all_pairs(before, after)
    sides = [line_spans(pair, before, after) for pair in pairs]
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
    before, after = split_lines(old), split_lines(new)
    pairs, last = side_by_side(before, after)
    shown_old = [pair.old for pair in pairs if pair.old is not None]
    shown_new = [pair.new for pair in pairs if pair.new is not None]
    left_out = sum(pair.skipped for pair in pairs) + last
    assert shown_old == sorted(set(shown_old))
    assert shown_new == sorted(set(shown_new))
    assert len(shown_old) + left_out == len(before)
    assert len(shown_new) + left_out == len(after)
