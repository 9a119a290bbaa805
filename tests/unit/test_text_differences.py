"""Differences inside texts by example: words, lines, and where comparing stops."""

import pytest

from brenner.artifact.text_diff import MAX_COMPARISONS, Mark, TextMatcher, unified_diff, word_spans


def marked(old: str, new: str) -> str:
    """The spans with signs."""
    signs = {Mark.SAME: "{}", Mark.REMOVED: "[-{}-]", Mark.INSERTED: "{{+{}+}}"}
    return "".join(signs[span.mark].format(span.text) for span in word_spans(old, new))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ""),
        ("", "a", "{+a+}"),
        ("the cat sat", "the dog sat", "the [-cat-]{+dog+} sat"),
        ("the quick fox ran", "the slow dog ran", "the [-quick fox-]{+slow dog+} ran"),
        ("a, b", "a, b, c", "a, b{+, c+}"),
        ("one. two", "one.\ntwo", "one.[- -]{+\n+}two"),
        ("cafe\u0301", "cafe", "[-cafe\u0301-]{+cafe+}"),
        ("細胞は死ぬ", "細胞は生きる", "細胞は[-死ぬ-]{+生きる+}"),
        ("first\nold\nlast", "first\nnew\nlast", "first\n[-old-]{+new+}\nlast"),
    ],
)
def test_words(old: str, new: str, expected: str) -> None:
    """Whole words, neighbours joined, accents kept with their letters."""
    assert marked(old, new) == expected


def test_a_long_text_is_compared_around_what_is_unique() -> None:
    """Far too long to compare in full, and yet each changed word is found."""
    words = [f"w{number}" for number in range(3_000)]
    altered = [word if number % 1_000 else "new" for number, word in enumerate(words)]
    spans = word_spans(" ".join(words), " ".join(altered))
    assert [span.text for span in spans if span.mark is Mark.REMOVED] == ["w0", "w1000", "w2000"]


def test_what_could_take_for_ever_is_replaced_whole() -> None:
    """Few different elements and no common ends: beyond the limit it is one change."""
    side = int(MAX_COMPARISONS**0.5)
    short = TextMatcher(["a", "b"] * (side // 2), ["b", "a"] * (side // 2))
    assert [run.size for run in short.get_matching_blocks()] == [side - 1, 0]
    long = TextMatcher(["a", "b"] * side, ["b", "a"] * side)
    assert [run.size for run in long.get_matching_blocks()] == [0]


def test_the_steps_are_limited() -> None:
    """Thousands of lines in reverse order would take a comparison for each pair of them."""
    lines = [str(number) for number in range(20_000)]
    runs = TextMatcher(lines, lines[::-1]).get_matching_blocks()
    assert len(runs) <= 2


def test_what_changed_places_is_matched_once() -> None:
    """A longer and a shorter part changed places: the longer one is the same."""
    first, second = [f"a{n}" for n in range(150)], [f"b{n}" for n in range(200)]
    runs = TextMatcher([*first, *second], [*second, *first]).get_matching_blocks()
    assert runs[:-1] == [(150, 0, 200)]


def test_texts_without_a_unique_word_are_compared_by_series() -> None:
    """Every word stands many times, and yet one inserted word is one insertion."""
    old = " ".join(f"w{number**3 // 7 % 101}" for number in range(900))
    words = old.split(" ")
    new = " ".join(["new", *words[:450], "here", *words[450:], "end"])
    spans = word_spans(old, new)
    inserted = [span.text.strip() for span in spans if span.mark is Mark.INSERTED]
    assert inserted == ["new", "here", "end"]
    assert not [span for span in spans if span.mark is Mark.REMOVED]


def test_unified_joins_contexts_that_touch() -> None:
    """Six equal lines between two changes are shown once; seven make two hunks."""
    for between, hunks in ((6, 1), (7, 2)):
        same = "".join(f"{number}\n" for number in range(between))
        text = unified_diff(f"a\n{same}b\n", f"x\n{same}y\n", "old", "new")
        assert text.count("@@ -") == hunks


def test_unified() -> None:
    """As `diff -u` has it: contexts of three lines, hunks apart."""
    old = "".join(f"{number}\n" for number in range(1, 21))
    new = old.replace("2\n", "two\n", 1).replace("19\n", "").removesuffix("\n")
    assert unified_diff(old, new, "a.md", "b.md") == (
        "--- a.md\n+++ b.md\n"
        "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n"
        "@@ -16,5 +16,4 @@\n 16\n 17\n 18\n-19\n-20\n+20\n\\ No newline at end of file\n"
    )
    assert unified_diff("", "a\n", "x", "y") == "--- x\n+++ y\n@@ -0,0 +1 @@\n+a\n"
