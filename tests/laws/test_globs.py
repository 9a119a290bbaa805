"""Two patterns overlap where a path is found that both match; sometimes without one, too."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.mail.reservations import count_wildcards, may_overlap, split_pattern

pytestmark = pytest.mark.fuzz

# Names as long as two patterns of three parts could need, over letters that tell the parts apart
NAMES = ["".join(letters) for n in range(1, 5) for letters in product("abc]", repeat=n)]
PARTS = ("a", "b", "*", "?", "[ab]", "[!a]", "[^ab]", "[b-c]", "[z-a]", "[]b]", "**")
# Paths of names in which any two of these names meet, if they do
FOLDERS = ("a", "b", "*", "?", "a*", "[!a]", "**", ".", "")
PATHS = ["/".join(names) for n in range(1, 7) for names in product(("a", "b", "ab"), repeat=n)]

names = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("".join)
paths = st.lists(st.sampled_from(FOLDERS), min_size=1, max_size=3).map("/".join)


def expression(pattern: str) -> re.Pattern[str]:
    """The paths that a pattern matches, by the means of regular expressions."""
    parts = [_in_expression(name) for name in pattern.split("/") if name not in ("", ".")]
    return re.compile("".join(parts) + ".*")


def _in_expression(name: str) -> str:
    if name == "**":
        return "([^/]+/)*"
    signs = re.findall(r"\[[!^]?\]?[^\]]*\]|.", name)
    return "".join(_sign(sign) for sign in signs) + "/"


def _sign(sign: str) -> str:
    if sign in ("*", "?"):
        return {"*": "[^/]*", "?": "[^/]"}[sign]
    if len(sign) == 1:
        return re.escape(sign)
    if sign == "[z-a]":
        return "(?!)"
    inside = sign[1:-1].replace("]", r"\]")
    return f"[^/{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"


def found(ours: str, theirs: str, among: list[str]) -> bool:
    """Whether one of these paths matches both; a path ends with a stroke, as a folder does."""
    first, second = expression(ours), expression(theirs)
    return any(first.fullmatch(f"{each}/") and second.fullmatch(f"{each}/") for each in among)


@given(names, names)
def test_names(ours: str, theirs: str) -> None:
    assert may_overlap(ours, theirs) or not found(ours, theirs, NAMES)


@given(paths, paths)
def test_paths(ours: str, theirs: str) -> None:
    assert may_overlap(ours, theirs) or not found(ours, theirs, PATHS)


@given(st.text("ab/*?[]!-^.ß", max_size=12), st.text("ab/*?[]!-^.ß", max_size=12))
def test_any_text(ours: str, theirs: str) -> None:
    """Whatever it is, the order does not matter, and what is written otherwise is the same."""
    assert may_overlap(ours, ours)
    assert may_overlap(ours, theirs) == may_overlap(theirs, ours)
    assert may_overlap(ours, theirs) == may_overlap(f"./{ours}//", theirs)


@given(st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=4), paths)
def test_a_path_is_a_pattern(path: list[str], pattern: str) -> None:
    """Without `**` in the other pattern, the comparison with a plain path is exact."""
    text = "/".join(path)
    below = [each for each in PATHS if f"{each}/".startswith(f"{text}/")]
    assert may_overlap(text, pattern) or not found(text, pattern, below)
    if "**" not in pattern:
        assert may_overlap(text, pattern) == found(text, pattern, below)


def test_hostile_patterns() -> None:
    """Nothing here takes more steps than the product of two lengths: else it would not end."""
    many = 3_000
    pairs = "*a" * many
    assert may_overlap("*" * many, pairs)
    assert not may_overlap("a" * many + "b", pairs + "c")
    assert may_overlap("**/a/" * 100 + "b", "a*b" * 100 + "[!a-z]")
    assert count_wildcards(pairs + "/**/[x]?") == many + 2
    assert split_pattern("./a//b/./c/") == ("a", "b", "c")
