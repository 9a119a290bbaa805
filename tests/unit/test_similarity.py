"""Texts that resemble each other by their words, and how well killed ideas are recognised (R30)."""

from collections.abc import Sequence

import pytest

from brenner.integrations.text_vectors import TextVectors, load_text_vectors
from brenner.session.similarity import WordIndex, content_words, stem
from similarity_pairs import IDEAS, OPPOSED, Compare, measure, pairs

TEXTS = (
    "Cells read the gradient of a morphogen",
    "The canyon was carved by a flood",
    "Cells divide",
    "",
)


def vectors() -> TextVectors:
    """The vectors; the development tools bring the package."""
    found = load_text_vectors()
    assert found is not None
    return found


def brute_force(texts: Sequence[str], query: str, least: float) -> list[tuple[int, float]]:
    """The scores of all texts, without an index of places."""
    index = WordIndex(texts)
    every = index.matches(query, 1e-9)
    return [(each.place, each.score) for each in every if each.score >= least]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cell", "cells"),
        ("hypothesis", "hypotheses"),
        ("theory", "theories"),
        ("resists", "resistance"),
        ("diffuse", "diffusing"),
        ("stop", "stopped"),
        ("morphogen's", "morphogen"),
        ("process", "processes"),
    ],
)
def test_forms_of_a_word_are_the_same(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_words_have_no_case_and_no_frequent_ones() -> None:
    assert content_words("The CELLS' fate isn't x_1") == ["cells", "fate", "isn't", "x", "1"]


def test_matches_are_the_most_similar_first_and_name_the_words() -> None:
    first, second = WordIndex(TEXTS).matches("A cell's morphogen gradients", 0.1)
    assert (first.place, second.place) == (0, 2)
    assert set(first.words) == {"cell's", "morphogen", "gradients"}
    assert first.words[-1] == "cell's"  # two texts have it
    assert 0 < second.score < first.score < 1


def test_a_text_is_equal_to_itself_and_an_empty_one_to_nothing() -> None:
    index = WordIndex(TEXTS)
    assert index.matches(TEXTS[1], 0.5)[0].score == pytest.approx(1)
    assert index.matches("", 0.1) == index.matches("of the", 0.1) == []
    assert WordIndex(()).matches("cells", 0.1) == []


def test_words_of_others_count_less() -> None:
    query = "Cells read a map"
    alone = WordIndex(TEXTS).matches(query, 0.01)[0].score
    assert WordIndex(TEXTS, ["Cells read"] * 20).matches(query, 0.01)[0].score < alone


@pytest.mark.parametrize("least", [0.2, 0.4, 0.58, 0.8])
def test_the_index_finds_all_that_comparing_with_each_text_finds(least: float) -> None:
    texts = [idea["killed"] for idea in IDEAS]
    index = WordIndex(texts)
    for pair in pairs():
        found = [(each.place, each.score) for each in index.matches(pair.text, least)]
        assert found == brute_force(texts, pair.text, least)


def test_vectors_are_read_without_importing_the_package() -> None:
    import sys

    same, opposite, other, empty = vectors().compare(
        "Cells read a gradient",
        ["A gradient is read by cells", "Cells ignore a gradient", "Wages fell", ""],
    )
    assert same > 0.95
    assert opposite > 0.6
    assert other < 0.3
    assert empty == 0
    assert vectors().compare("Cells", []) == []
    assert "wordllama" not in sys.modules


# How well it works: figures of docs/internals/dependencies.md, printed by
# tools/similarity_figures.py


@pytest.mark.parametrize(
    ("has_vectors", "precision", "recall", "reworded"),
    [(False, 0.89, 0.56, 42), (True, 0.89, 0.62, 52)],
)
def test_rewordings_of_killed_ideas_are_recognised(
    has_vectors: bool, precision: float, recall: float, reworded: int
) -> None:
    compare: Compare | None = vectors().compare if has_vectors else None
    found = measure(compare)
    assert len(list(pairs())) >= 200
    assert found.precision >= precision
    assert found.recall >= recall
    assert found.warned["close"] == (60, 60)
    assert found.warned["reworded"][0] >= reworded
    assert found.warned["unrelated"] == found.warned["related"] == (0, 60)


def test_opposites_look_like_rewordings() -> None:
    """That is why the match is a warning only: no measure tells them apart."""
    opposed, total = measure(None).warned[OPPOSED]
    assert total == 60
    assert opposed >= 55
