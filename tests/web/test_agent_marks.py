"""Marks of agents: no two alike, far apart, and readable."""

import itertools
import math
import re

import pytest

from brenner.web.agent_marks import COLOURS, AgentMarks, colour_classes
from brenner.web.rendering import style_sheet

_LINEAR, _STEP = 0.04045, 12.92
_LIGHT, _DARK = "#fdfcfa", "#171614"
# Linear RGB as people without red or green cones see it (Machado 2009)
_NORMAL = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
_NO_RED = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
_NO_GREEN = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.01182, 0.04294, 0.968881),
)


def test_initials_are_told_apart() -> None:
    """Equal ones differ by the first letter in which the names differ."""
    marks = AgentMarks(["BlueLake", "BrownLynx", "Agent1", "Agent2", "agent-b", "Bl", "BlueLakes"])
    found = {name: marks.of(name).initials for name in ("BlueLake", "BrownLynx", "Agent2")}
    assert found == {"BlueLake": "BL", "BrownLynx": "BR", "Agent2": "A2"}


def test_no_two_marks_are_alike() -> None:
    """However many agents there are; the operator's mark is outside the dozen."""
    names = ["Operator", *(f"Agent{number}" for number in range(3 * COLOURS)), "---", "***"]
    marks = AgentMarks(names, "Operator")
    found = [marks.of(name) for name in names]
    assert len({mark.initials for mark in found}) == len(names)
    assert len({mark.css for mark in found}) == 3 * COLOURS + 1
    assert marks.of("Agent0").css == "tint-0"


def test_an_unknown_agent_gets_the_next_mark() -> None:
    marks = AgentMarks(["BlueLake"])
    assert marks.of("RedSky").css == "tint-1"
    assert marks.of("RedSky") is marks.of("RedSky")
    assert colour_classes(COLOURS) == "tint-0 again-1"


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_are_far_apart_and_readable(theme: int) -> None:
    """The initials have a contrast of 4.5, a dot on paper of 3; most people see 12 colours."""
    found = [_pair(number)[theme] for number in range(COLOURS)]
    paper = _luminance(_linear((_LIGHT, _DARK)[theme]))
    for colour, ink in found:
        assert _contrast(_luminance(_linear(colour)), _luminance(_linear(ink))) >= 4.5
        assert _contrast(_luminance(_linear(colour)), paper) >= 3 - 0.15
    for view, least in ((_NORMAL, 0.13), (_NO_RED, 0.06), (_NO_GREEN, 0.06)):
        seen = [_oklab(_seen(view, _linear(colour))) for colour, _ in found]
        assert min(math.dist(*pair) for pair in itertools.combinations(seen, 2)) >= least


def _pair(number: int) -> list[tuple[str, str]]:
    """The colour and its ink, in the light and in the dark."""
    rule = re.search(rf"\.tint-{number} \{{ (.*?) \}}", style_sheet())
    assert rule
    values = re.findall(r"--[\w-]+: (.*?);", rule[1])
    spread = [re.findall(r"#\w+", value) * 2 for value in values]
    return [(spread[0][place], spread[1][place]) for place in (0, 1)]


def _linear(colour: str) -> tuple[float, ...]:
    digits = colour[1:] if len(colour) > 4 else "".join(2 * each for each in colour[1:])
    parts = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return tuple(
        each / _STEP if each <= _LINEAR else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    )


def _luminance(colour: tuple[float, ...]) -> float:
    return sum(share * each for share, each in zip((0.2126, 0.7152, 0.0722), colour, strict=True))


def _contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def _seen(view: tuple[tuple[float, ...], ...], colour: tuple[float, ...]) -> tuple[float, ...]:
    mixed = (sum(a * b for a, b in zip(row, colour, strict=True)) for row in view)
    return tuple(min(1.0, max(0.0, each)) for each in mixed)


def _oklab(colour: tuple[float, ...]) -> tuple[float, ...]:
    """OKLab, in which a distance is about what people see."""
    cones = (
        (0.4122214708, 0.5363325363, 0.0514459929),
        (0.2119034982, 0.6806995451, 0.1073969566),
        (0.0883024619, 0.2817188376, 0.6299787005),
    )
    roots = [sum(a * b for a, b in zip(row, colour, strict=True)) ** (1 / 3) for row in cones]
    axes = (
        (0.2104542553, 0.7936177850, -0.0040720468),
        (1.9779984951, -2.4285922050, 0.4505937099),
        (0.0259040371, 0.7827717662, -0.8086757660),
    )
    return tuple(sum(a * b for a, b in zip(row, roots, strict=True)) for row in axes)
