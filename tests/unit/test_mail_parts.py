"""The parts that mail commands are made of: cells that are cut, words that are marked, times."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.cli.mail.search import excerpt_spans
from brenner.cli.table import cut
from brenner.cli.terminal import STYLE_OF_TYPE, Span, agent_span, display_width, subject_spans
from brenner.mail.search import tokenize
from brenner.protocol.grammar import MESSAGE_TYPES
from brenner.protocol.messages import duration_text, relative_time
from brenner.text import escape_control, joined, thread_argument
from strategies import any_text

NOW = datetime(2026, 1, 2, 12, 0, 0, 5, tzinfo=UTC)
shown_text = any_text.map(lambda text: escape_control(text, len(text) + 1))


@given(st.lists(shown_text, max_size=4), st.integers(1, 40))
def test_a_cell_is_cut_by_its_width(texts: list[str], width: int) -> None:
    """Never wider than there is room; whole where it fits; else a beginning and a sign."""
    cell = [Span(text) for text in texts]
    whole = "".join(texts)
    shown = "".join(piece.text for piece in cut(cell, width))
    assert display_width(shown) <= width
    if display_width(whole) <= width:
        assert shown == whole
    else:
        assert shown.endswith("…")
        assert whole.startswith(shown.removesuffix("…"))


@given(any_text, any_text)
def test_an_excerpt_is_a_piece_of_the_body(body: str, words: str) -> None:
    """Whatever is looked for: nothing, or one line that stands in the body so."""
    phrase = tuple(tokenize(words))
    found = "".join(piece.text for piece in excerpt_spans(body, (phrase,), StringIO()))
    if not found:
        return
    text = found.strip().removeprefix("… ").removesuffix(" …").replace("«", "").replace("»", "")
    blank = str.maketrans("\t\r\n", "   ")
    assert text.strip() in body.translate(blank).replace("«", "").replace("»", "")
    assert "«" in found
    assert phrase


@pytest.mark.parametrize(
    ("body", "words", "shown"),
    [
        ("# One\nthe Gradient, here\n", "gradient", "the «Gradient», here"),
        ("état, e\u0301tat\n", "etat", "«état», «e\u0301tat»"),
        ("a\nsteep\ngradient b\n", '"steep gradient"', "«steep gradient» b"),
        ("細胞運命の勾配\n", "勾配", "細胞運命の«勾配»"),
        ("see §42 there\n", "§42", "see «§42» there"),
        ("nothing\n", "gradient", ""),
    ],
)
def test_found_words_are_marked(body: str, words: str, shown: str) -> None:
    """Case and accents do not matter; a phrase may go on in the next line."""
    phrase = tuple(tokenize(words))
    assert (
        "".join(piece.text for piece in excerpt_spans(body, (phrase,), StringIO())).strip() == shown
    )


@pytest.mark.parametrize(
    ("since", "words"),
    [
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=44), "just now"),
        (timedelta(seconds=59), "59 s ago"),
        (timedelta(minutes=12, seconds=59), "12 min ago"),
        (timedelta(hours=3, minutes=59), "3 h ago"),
        (timedelta(hours=47), "47 h ago"),
        (timedelta(hours=48), "2 d ago"),
        (timedelta(days=13, hours=23), "13 d ago"),
        (timedelta(days=14), "2025-12-19"),
        (timedelta(hours=-30), "2026-01-03"),
    ],
)
def test_ago(since: timedelta, words: str) -> None:
    """The largest unit that is full; a day where it is long ago, or yet to come."""
    assert relative_time(NOW - since, NOW) == words


def test_span_is_never_negative() -> None:
    """A clock that was set back makes no negative times."""
    assert duration_text(timedelta(seconds=-5)) == "0 s"


def test_every_type_has_a_role() -> None:
    """All ten, and nothing else; a subject without a valid prefix is plain."""
    assert set(STYLE_OF_TYPE) == set(MESSAGE_TYPES)
    assert subject_spans("Re: hello") == (Span("Re: hello"),)
    assert "".join(piece.text for piece in subject_spans("ACK:x")) == "ACK:x"


def test_an_agent_keeps_her_tint() -> None:
    """The same name has the same tint in every process; not all have one."""
    names = [f"Agent{number}" for number in range(40)]
    assert agent_span("BlueLake").style == {"fg": 130}
    assert len({agent_span(name).style["fg"] for name in names}) > 3


def test_names_in_a_sentence() -> None:
    """As one writes them; very many are counted."""
    assert joined(["A"]) == "A"
    assert joined(["A", "B"]) == "A and B"
    assert joined("ABC") == "A, B and C"
    assert joined("ABCDEFGHI") == "A, B, C, D, E, F and 3 others"
    assert joined(["\x1b[2J"]) == "\\x1b[2J"


def test_thread_as_it_is_typed() -> None:
    """A shell and our own parser take it for a thread ID and nothing else."""
    assert thread_argument("RS-20251230-cell-fate") == "RS-20251230-cell-fate"
    assert thread_argument("-x") == "-- -x"
    assert thread_argument("a b; rm") == "'a b; rm'"
