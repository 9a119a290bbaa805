"""Agents' names: kept or refused, never changed."""

import re

import pytest

from brenner.mail.rules import name_problem, skeleton, suggest_names
from brenner.protocol.grammar import AGENT_NAME

KNOWN = ("Operator", "BlueLake", "worker-12", "Wren")


def suggested(name: str, known: tuple[str, ...] = KNOWN) -> list[str]:
    """The suggestions as a list."""
    return re.findall(r"`([^`]*)`", suggest_names(name, known))


@pytest.mark.parametrize("name", ["RedSky", "x", "a" * 64, "opus-4", "Blue", "BlueLakes", *KNOWN])
def test_kept(name: str) -> None:
    """A valid name that is free, or exactly known, is not refused."""
    assert name_problem(name, KNOWN) is None


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("bluelake", "BlueLake"),
        ("BLUELAKE", "BlueLake"),
        ("Blue_Lake", "BlueLake"),
        ("Blue-Lake-", "BlueLake"),
        ("B1ueLake", "BlueLake"),
        ("BIueLake", "BlueLake"),
        ("8lueLake", None),
        ("OPERAT0R", "Operator"),
        ("0perator", None),
        ("worker_12", "worker-12"),
        ("worker12", "worker-12"),
        ("vvorker-l2", "worker-12"),
        ("VVren", "Wren"),
        ("Wrm", None),
    ],
)
def test_look_alikes(name: str, other: str | None) -> None:
    """A name that a reader takes for a known one is refused, and the known one is named."""
    found = name_problem(name, KNOWN)
    if other is None:
        assert found is None or found.id == "INVALID_NAME"
    else:
        assert found
        assert found.id == "NAME_LOOKS_LIKE"
        assert f"`{other}`" in found.message
        assert suggest_names(name, KNOWN) in found.fix


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        ("Bob", "B0b", True),
        ("Bob", "8ob", True),
        ("Sol5", "SolS", True),
        ("Ill", "lI1", True),
        ("Warm", "VVarrn", True),
        ("vvv", "vw", True),
        ("wv", "vw", True),
        ("a-b_c", "ABC", True),
        ("Bob", "Rob", False),
        ("Fox2", "FoxZ", False),
        ("Dove", "Clove", False),
        ("BlueLake", "BlueLake2", False),
    ],
)
def test_skeletons(one: str, other: str, are_alike: bool) -> None:
    """What looks alike in ASCII has one skeleton."""
    assert (skeleton(one) == skeleton(other)) is are_alike


def test_known_twice_alike() -> None:
    """A store from elsewhere may hold look-alikes: whoever is known exactly is not refused."""
    assert name_problem("Blue_Lake", ["BlueLake", "Blue_Lake"]) is None


@pytest.mark.parametrize(
    ("name", "reason", "meant"),
    [
        ("", "it is empty", None),
        ("  ", "it contains only spaces", None),
        ("Red Sky", "it contains a space or a line break", "RedSky"),
        ("RedSky\n", "it contains a space or a line break", "RedSky"),
        ("Rеd", "`е` only looks like `e`; it is CYRILLIC SMALL LETTER IE", "Red"),
        ("ВОВ", "`В` only looks like `B`; it is CYRILLIC CAPITAL LETTER VE", "BOB"),
        ("Νίκος", "`Ν` only looks like `N`; it is GREEK CAPITAL LETTER NU", None),
        ("naïve-Fox", "`ï` is not one of the letters A to Z", "naive-Fox"),
        ("nai\u0308ve", "it contains a combining mark", "naive"),
        ("Søren", "`ø` is not one of the letters A to Z", "Soren"),
        ("Ｆｏｘ", "`Ｆ` is not one of the letters A to Z", "Fox"),
        ("Иван", "`И` is not one of the letters A to Z", None),
        ("细胞", "`细` is not one of the letters A to Z", None),
        ("Fox٣", "`٣` is not one of the digits 0 to 9", None),
        ("Fo\u200bx", "it contains a hidden character, ZERO WIDTH SPACE", "Fox"),
        ("Fox\x1b[31m", "it contains a hidden character, U+001B", None),
        ("Fox\ud800", "it contains a hidden character, U+D800", None),
        ("2Fox", "it starts with `2`, not with a letter", "Fox2"),
        ("_Fox", "it starts with `_`, not with a letter", "Fox"),
        ("--as", "it starts with `-`, not with a letter", "as"),
        ("007", "it starts with `0`, not with a letter", None),
        ("x" * 65, "it has 65 characters (at most 64)", "x" * 64),
        ("opus-4.5", "`.` is not a letter, a digit, `_` or `-`", "opus-4-5"),
        ("@Fox", "`@` is not a letter, a digit, `_` or `-`", "Fox"),
        ('"Fox"', '`"` is not a letter, a digit, `_` or `-`', "Fox"),
        ("“O’Neil”", "`“` is not a letter, a digit, `_` or `-`", "ONeil"),
        ("Fox/../x", "`/` is not a letter, a digit, `_` or `-`", "Fox-x"),
        ("Fox🦊", "`🦊` is not a letter, a digit, `_` or `-`", "Fox"),
    ],
)
def test_invalid(name: str, reason: str, meant: str | None) -> None:
    """The reason is the first wrong thing; what was meant comes first where one can see it."""
    found = name_problem(name, KNOWN)
    assert found
    assert found.id == "INVALID_NAME"
    assert reason in found.message
    first, *others = suggested(name)
    assert len(others) == (2 if meant else 1)
    assert meant in (first, None)
    assert f"`{first}`" in found.fix


def test_nothing_of_a_name_is_obeyed() -> None:
    """Escape sequences and endless names are shown, not printed."""
    for name in (
        "\x1b[31mFox",
        "Fox\u202e",
        "é" * 100_000,
        "a" * 100_000,
        "e" + "\u0301\u0316" * 500_000,
    ):
        found = name_problem(name, KNOWN)
        assert found
        assert len(found.message) < 600
        assert found.message.isprintable()


def test_suggestions_for_a_name_that_is_taken() -> None:
    """The name with a number, and two of ours; the same ones each time."""
    first, *others = suggested("BlueLake")
    assert first == "BlueLake2"
    assert len(others) == 2
    assert suggested("BlueLake") == [first, *others]
    assert others != suggested("RedSky")[1:]


def test_suggestions_for_a_name_that_looks_like_another() -> None:
    """With a number it would look like the other one's second: others only."""
    for name in ("B1ueLake", "bluelake", "B1ue Lake"):
        offered = suggested(name)
        assert len(offered) == 2
        assert all(skeleton("BlueLake") not in skeleton(each) for each in offered)


@pytest.mark.parametrize("name", ["FillInName", "Fill In Name"])
def test_what_a_template_leaves_is_no_name(name: str) -> None:
    """It is refused, and never suggested."""
    found = name_problem(name, KNOWN)
    assert found
    assert found.id == "INVALID_NAME"
    assert ("it is the placeholder of a template" in found.message) == (" " not in name)
    assert not [each for each in suggested(name) if each.startswith("FillIn")]


def test_suggestions_differ() -> None:
    """A name that is one of ours is not offered twice."""
    for adjective in ("Calm", "Green", "Quiet", "Swift"):
        for noun in ("Creek", "Harbour", "Heron", "Island", "River", "Stone", "Summit", "Valley"):
            for number in range(30):
                offered = suggested(f"{' ' * number}{adjective} {noun}")
                assert offered[0] == f"{adjective}{noun}"
                assert len(set(offered)) == 3


@pytest.mark.parametrize(
    ("name", "known", "first"),
    [
        ("BlueLake", ("BlueLake", "BlueLake2", "blue_lake3"), "BlueLake4"),
        ("BlueLake2", ("BlueLake", "BlueLake2"), "BlueLake3"),
        ("Blue Lake", ("BlueLake",), "BlueLake2"),
        ("Bol", ("Bol", "Bol2", "Bol3", "Bol4", "BolS"), "Bol6"),
        ("a" * 64, ("a" * 64,), "a" * 63 + "2"),
    ],
)
def test_numbers(name: str, known: tuple[str, ...], first: str) -> None:
    """The first number that nobody has, or has something like."""
    assert suggested(name, known)[0] == first


def test_our_names_never_run_out() -> None:
    """Even where all names of ours are taken, the suggestions are free."""
    known: list[str] = ["BlueLake"]
    for _ in range(300):
        offered = suggested("BlueLake", tuple(known))
        assert len(offered) == 3
        for name in offered:
            assert AGENT_NAME.fullmatch(name)
            assert name_problem(name, known) is None
        assert len({skeleton(name) for name in offered}) == 3
        known += offered[1:]
    pairs = {name for name in known[1:] if not name[-1].isdigit()}
    assert len(pairs) == 256


def test_known_names_are_read_once() -> None:
    """What gives the known names one after the other will do."""
    found = name_problem("bluelake", iter(KNOWN))
    assert found
    assert "BlueLake" in found.message
    assert suggest_names("BlueLake", iter(KNOWN)).startswith("`BlueLake2`")
