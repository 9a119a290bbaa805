"""Two patterns overlap exactly where a path is found that both match."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.mail.reservations import Pattern, count_wildcards, split_pattern

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
    assert Pattern(ours).overlaps(Pattern(theirs)) == found(ours, theirs, NAMES)


@given(paths, paths)
def test_paths(ours: str, theirs: str) -> None:
    assert Pattern(ours).overlaps(Pattern(theirs)) == found(ours, theirs, PATHS)


@given(st.text("ab/*?[]!-^.ß", max_size=12), st.text("ab/*?[]!-^.ß", max_size=12))
def test_any_text(ours: str, theirs: str) -> None:
    """Whatever it is, the order does not matter, and what is written otherwise is the same."""
    one, other = Pattern(ours), Pattern(theirs)
    assert one.overlaps(other) == other.overlaps(one)
    assert one.overlaps(other) == Pattern(f"./{ours}//").overlaps(other)
    assert not one.overlaps(other) or one.overlaps(one)
    assert not (one.overlaps(other) and one.is_in_other_folder(other))


@given(st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=4), paths)
def test_a_path_is_a_pattern(path: list[str], pattern: str) -> None:
    """And meets those that match it, or something below it."""
    text = "/".join(path)
    below = [each for each in PATHS if f"{each}/".startswith(f"{text}/")]
    assert Pattern(text).overlaps(Pattern(pattern)) == found(text, pattern, below)


def test_hostile_patterns() -> None:
    """Nothing here takes more steps than the product of two lengths: else it would not end."""
    many = 3_000
    stars, pairs = "*" * many, "*a" * many
    assert Pattern(stars).overlaps(Pattern(pairs))
    assert not Pattern(pairs + "b").overlaps(Pattern(pairs + "c"))
    assert Pattern("**/a/" * 100 + "b").overlaps(Pattern("a*b" * 100 + "[!a-z]"))
    assert not Pattern("a/" + "**/a/" * 100 + "b").overlaps(Pattern("a*b" * 100 + "/**"))
    assert not Pattern("[a-y]" * many).overlaps(Pattern("?" * many + "*z"))
    assert count_wildcards(pairs + "/**/[x]?") == many + 2
    assert split_pattern("./a//b/./c/") == ("a", "b", "c")
