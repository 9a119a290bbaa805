"""Numbers with their words."""

import pytest

from brenner.text import grouped, plural


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 deltas"), (1, "1 delta"), (2, "2 deltas"), (1234, "1234 deltas")]
)
def test_counted(number: int, said: str) -> None:
    assert plural(number, "delta") == said


def test_a_plural_of_its_own() -> None:
    said = [plural(number, "hypothesis", "hypotheses") for number in (0, 1, 2)]
    assert said == ["0 hypotheses", "1 hypothesis", "2 hypotheses"]


def test_large_numbers() -> None:
    said = [grouped(number, "message") for number in (0, 1, 12000)]
    assert said == ["0 messages", "1 message", "12,000 messages"]
