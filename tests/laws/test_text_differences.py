"""Laws of differences inside texts: by word, by line, and the matching under both."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.artifact.text_diff import Mark, TextMatcher, unified_diff, word_spans
from strategies import any_text, hostile_text

pytestmark = pytest.mark.fuzz

_sentences = st.lists(
    st.sampled_from(["the ", "cell ", "cells", ", ", "\n", " ", "§42", "a", "é", "細胞", "🧬"]),
    max_size=30,
).map("".join)
_texts = st.one_of(any_text, _sentences, hostile_text)


@given(_texts, _texts)
def test_words_give_back_both_texts(old: str, new: str) -> None:
    """All but the inserted make the old text, all but the removed the new one, exactly."""
    spans = word_spans(old, new)
    assert "".join(span.text for span in spans if span.mark is not Mark.INSERTED) == old
    assert "".join(span.text for span in spans if span.mark is not Mark.REMOVED) == new
    assert all(span.text for span in spans)
    for span, following in pairwise(spans):
        assert span.mark is not following.mark
        assert (span.mark, following.mark) != (Mark.INSERTED, Mark.REMOVED)


@given(_texts)
def test_equal_texts_have_no_marks(text: str) -> None:
    """One stretch, the same."""
    assert [span.mark for span in word_spans(text, text)] == [Mark.SAME] * bool(text)


_few = st.lists(st.sampled_from("abc"), max_size=12)
_many = st.lists(st.integers(0, 400).map(str), max_size=400)


@given(st.one_of(st.tuples(_few, _few), st.tuples(_many, _many)))
def test_matches_are_common_and_ascend(both: tuple[list[str], list[str]]) -> None:
    """Every run is equal in both sequences; runs ascend and do not touch in both at once."""
    old, new = both
    one = other = 0
    *runs, end = TextMatcher(old, new).get_matching_blocks()
    assert end == (len(old), len(new), 0)
    for number, run in enumerate(runs):
        assert run.size > 0
        assert run.a >= one
        assert run.b >= other
        assert not number or (run.a, run.b) != (one, other)
        one, other = run.a + run.size, run.b + run.size
        assert old[run.a : one] == new[run.b : other]


_lines = st.lists(st.sampled_from(["a", "b", "", "x\r", "## 1.", "\u2028", "-a"]), max_size=30)
_line_texts = st.tuples(_lines, st.booleans()).map(
    lambda drawn: "\n".join(drawn[0]) + "\n" * (drawn[1] and bool(drawn[0]))
)


@given(_line_texts, _line_texts)
def test_unified_patches(old: str, new: str) -> None:
    """Applying it to the old text gives the new one; nothing from equal texts."""
    text = unified_diff(old, new, "old", "new")
    assert (text == "") == (old == new)
    assert apply(old, text) == new


def apply(old: str, patch: str) -> str:
    """A small `patch`: every context line must be there."""
    source = old.split("\n")
    lines = patch.replace("\n\\ No newline at end of file\n", "\0\n").split("\n")[2:-1]
    result: list[str] = []
    place = 0
    for line in lines:
        if line.startswith("@@"):
            start, _, count = line.split(" ")[1][1:].partition(",")
            first = int(start) - (count != "0")
            result += [f"{each}\n" for each in source[place:first]]
            place = first
            continue
        body = line[1:-1] if line.endswith("\0") else line[1:] + "\n"
        if line[0] in " -":
            assert source[place] == body.rstrip("\n")
            place += 1
        if line[0] in " +":
            result.append(body)
    rest = "\n".join(source[place:])
    return "".join(result) + rest
