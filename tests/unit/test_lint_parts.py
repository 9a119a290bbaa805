"""What the lint rules are made of: anchors, the source text, the order of parts."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.lint.context import SourceText, read_source_text
from brenner.lint.helpers import anchor_problem, find_misplaced, fix_anchor, suggest_anchor

# Anchors

ANCHORS = {
    "¬ß42": "§42",
    "Â§42-45": "§42-45",
    "§ 42": "§42",
    "§§42-45": "§42-45",
    "§42–45": "§42-45",
    "42": "§42",
    "42-45": "§42-45",
    "42-§45": None,
    "[Inference]": "[inference]",
    "Inference": "inference",
    "§45-42": None,
    "sec. 42": None,
    "": None,
    "[external: ]": None,
    "§1-9999999999": None,
    "§ " + "4" * 5_000: None,
}


@pytest.mark.parametrize("anchor", ANCHORS)
def test_malformed_anchor(anchor: str) -> None:
    """What is malformed is mended where it has one reading."""
    assert anchor_problem(anchor)
    assert fix_anchor(anchor) == ANCHORS[anchor]


@pytest.mark.parametrize(
    ("anchor", "meant"),
    [
        *(("§ 5", "§5"), ("§§4", "§4"), ("sec. 3", "§3"), ("Section 3-4", "§3-4")),
        *(("S127", "§127"), ("$42", "§42"), ("H1", None), ("p. 9", None), ("$42.50", None)),
        *(("S9-3", None), ("s 4", None), ("S" * 5_000, None)),
    ],
)
def test_suggested_anchor(anchor: str, meant: str | None) -> None:
    """Another sign for § is a likely reading, not a certain one: no delta is made of it."""
    assert anchor_problem(anchor)
    assert suggest_anchor(anchor) == meant


@pytest.mark.parametrize(
    "anchor",
    [
        *("§42", "§42-45", "§42-§45", "EV-001", "EV-001#E1", "inference", "§42, §57 [inference]"),
        *("[axiomatic]", "[external: a book]", "[external: §9-" + "9" * 5_000 + " §3-1]"),
    ],
)
def test_well_formed_anchor(anchor: str) -> None:
    """The companion's forms."""
    assert anchor_problem(anchor) is None


# The source text


def test_source_text() -> None:
    """Headings carry the numbers; with § anywhere only those with it count."""
    plain = read_source_text(
        "# 1. One\n\n## 2) Two\n\n## 3 Three\n\n### 4.5 No\n\n# Five\n", "s.md"
    )
    assert plain == SourceText.of("s.md", [1, 2, 3])
    signed = read_source_text("# 1. Chapter\n\n## §42 A\n\n§ 44\n====\n\n    ## §43 code\n", "s.md")
    assert signed == SourceText.of("s.md", [42, 44])
    assert read_source_text("No heading at all.\n\n```\n# 1. code\n```\n", "s.md").is_empty


def test_ranges_are_not_expanded() -> None:
    """The first section that is missing, at the cost of one look-up."""
    source = SourceText.of("s.md", [*range(1, 50), 60])
    assert source.missing(1, 49) is None
    assert source.missing(1, 999_999_999) == 50
    assert source.missing(0, 3) == 0
    assert source.missing(55, 55) == 55
    assert SourceText.of("s.md", []).missing(7, 7) == 7


# The order of parts


@given(st.lists(st.integers(0, 5), max_size=7))
def test_misplaced_is_as_few_as_can_be(ranks: list[int]) -> None:
    """Without them the rest ascends, and no smaller choice would do; each says where it belongs."""
    found = find_misplaced(ranks)
    wrong = {at for at, _, _ in found}
    rest = [rank for at, rank in enumerate(ranks) if at not in wrong]
    assert rest == sorted(rest)
    smaller = combinations(range(len(ranks)), len(wrong) - 1) if wrong else ()
    for choice in smaller:
        left = [rank for at, rank in enumerate(ranks) if at not in choice]
        assert left != sorted(left)
    for at, near, is_late in found:
        assert (near < at) is is_late
        assert (ranks[at] < ranks[near]) is is_late
        assert ranks[at] != ranks[near]
