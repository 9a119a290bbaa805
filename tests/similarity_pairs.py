"""Labelled pairs of hypotheses, and how well the warning about killed ones finds rewordings."""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import KillRecord
from brenner.session.killed_hypotheses import KilledHypothesis, KilledIndex

IDEAS: list[dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("similarity").joinpath("ideas.toml").read_text("utf-8")
)["idea"]
SAME = ("close", "reworded", "free")
DIFFERENT = ("rival", "related", "unrelated")
OPPOSED = "opposed"
_KILL = KillRecord("BlueLake", "2025-12-30T10:00:00Z", "T1 failed")
_ANOTHER_FIELD = 7  # ideas further on

Compare = Callable[[str, Sequence[str]], Sequence[float]]


class Pair(NamedTuple):
    """A killed hypothesis by its number, another text, and how they relate."""

    idea: int
    label: str
    text: str


class Figures(NamedTuple):
    """The pairs of each label with a warning, of how many; precision and recall of rewordings."""

    warned: dict[str, tuple[int, int]]
    precision: float
    recall: float


def pairs() -> Iterator[Pair]:
    """Yield all pairs."""
    for number, idea in enumerate(IDEAS):
        for label in (*SAME, OPPOSED, "rival", "related"):
            yield Pair(number, label, idea[label])
        other = IDEAS[(number + _ANOTHER_FIELD) % len(IDEAS)]
        yield Pair(number, "unrelated", other["close"])


def killed_index(compare: Compare | None) -> KilledIndex:
    """Return a project in which every idea was killed."""
    killed = [
        KilledHypothesis(SessionItem("RS-20251230-fields", f"H{number}"), "", idea["killed"], _KILL)
        for number, idea in enumerate(IDEAS)
    ]
    return KilledIndex(killed, compare=compare)


def measure(compare: Compare | None, ideas: Sequence[int] = range(len(IDEAS))) -> Figures:
    """Count the pairs of these ideas whose killed hypothesis is a close match."""
    index = killed_index(compare)
    found: dict[str, list[bool]] = {}
    for pair in pairs():
        if pair.idea in ideas:
            close = {
                each.hypothesis.item.item for each in index.resembling(pair.text) if each.is_close
            }
            found.setdefault(pair.label, []).append(f"H{pair.idea}" in close)
    right = sum(sum(found[label]) for label in SAME)
    wrong = sum(sum(found[label]) for label in DIFFERENT)
    warned = {label: (sum(some), len(some)) for label, some in found.items()}
    return Figures(
        warned, right / (right + wrong), right / sum(len(found[label]) for label in SAME)
    )
