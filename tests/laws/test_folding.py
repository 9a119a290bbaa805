"""Laws of folding: nothing is lost, nothing is too wide, nothing reaches the terminal raw."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.cli.terminal import UNLIMITED_WIDTH, Span, display_width, wrap_spans
from brenner.text import escape_control
from strategies import any_text

pytestmark = pytest.mark.fuzz

_words = st.lists(
    st.sampled_from(["cell", " ", "  ", "\n", "細胞", "e\u0301", "x" * 50, "\x1b[31m", "🧬"]),
    max_size=20,
).map("".join)
_pieces = st.lists(
    st.builds(
        Span,
        any_text | _words,
        st.sampled_from([{}, {"bold": True}, {"fg": "red"}]),
        st.booleans(),
    ),
    max_size=4,
)


def text_of(line: list[Span]) -> str:
    """What the line shows."""
    return "".join(piece.text for piece in line)


@given(_pieces, st.integers(10, 60))
def test_nothing_is_lost(pieces: list[Span], width: int) -> None:
    """Blanks aside, the lines hold the text, hidden characters spelled out, styles kept."""
    lines = wrap_spans([Span("H1  ")], pieces, "    ", width)
    expected = [
        (letter, piece.style)
        for piece in pieces
        for part in piece.text.split("\n")
        for letter in escape_control(part, len(part) + 1)
        if letter != " "
    ]
    shown = [(letter, piece.style) for line in lines for piece in line[1:] for letter in piece.text]
    assert [pair for pair in shown if pair[0] != " "] == expected


@given(_pieces, st.integers(10, 60))
def test_nothing_is_too_wide(pieces: list[Span], width: int) -> None:
    """No line is wider than the terminal, wide letters counted twice; none holds a control."""
    for line in wrap_spans([Span("H1  ")], pieces, "    ", width):
        assert display_width(text_of(line).rstrip(" ")) <= width
        assert text_of(line).isprintable()


@given(_pieces)
def test_no_width_no_folding(pieces: list[Span]) -> None:
    """In a pipe only line feeds begin a line."""
    lines = wrap_spans([], pieces, "", UNLIMITED_WIDTH)
    assert len(lines) == 1 + sum(piece.text.count("\n") for piece in pieces)
