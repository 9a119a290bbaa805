"""The order in which items are shown: tests by score, all others by number (R14)."""

from collections.abc import Iterable

from brenner.artifact.model import Item, order_of
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS, Section


def total(test: Item) -> int:
    """The sum of the parts of its score that were given; -1 without any."""
    return sum(test.score.values()) if test.score else -1


def _by_score(test: Item) -> tuple[int, tuple[int, str]]:
    """Highest first, scoreless ones last, then by number; killed ones among them."""
    return (-total(test), order_of(test.id))


def shown(section: Section, items: Iterable[Item]) -> list[Item]:
    """The items of a section as a reader sees them."""
    if section is DISCRIMINATIVE_TESTS:
        return sorted(items, key=_by_score)
    return list(items)
