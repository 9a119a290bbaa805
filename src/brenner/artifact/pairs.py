"""Pairs: for every two active hypotheses, the best test that separates them, or none.

Different declared keys separate (R27). Outcomes that only have other words are kept apart from
them. The tests are in the order of `next_tests` (R32).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.evidence import evidence_matrix
from brenner.artifact.next_test import DECLARED, WORDING, NextTests, RankedTest, next_tests
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, PREDICTIONS_TABLE
from brenner.text import cut, plural

if TYPE_CHECKING:
    from brenner.artifact.model import Artifact

_LONGEST_NAME = 60


def active_tests(artifact: Artifact) -> NextTests:
    """Return the same tests as those of the whole evidence matrix, without computing the columns of
    predictions and the rows of killed hypotheses.
    """
    active = {
        HYPOTHESIS_SLATE.id: tuple(artifact.active(HYPOTHESIS_SLATE)),
        PREDICTIONS_TABLE.id: (),
    }
    return next_tests(evidence_matrix(artifact._replace(sections={**artifact.sections, **active})))


class PairCell(NamedTuple):
    """Two hypotheses, and the best test that tells them apart. Its `basis` says how."""

    first: str
    second: str
    test: RankedTest | None = None
    basis: str | None = None


def pair_rows(found: NextTests, most: int) -> tuple[tuple[PairCell, ...], ...]:
    """Return the triangle of the first hypotheses: row N compares N + 1 with all before it."""
    shown = range(min(most, len(found.hypotheses)))
    return tuple(tuple(_cell(found, one, two) for one in range(two)) for two in shown if two)


def _cell(found: NextTests, one: int, two: int) -> PairCell:
    names = found.hypotheses[one], found.hypotheses[two]
    by_key = (test for test in found.tests if _differ(test.keys, one, two))
    by_word = (test for test in found.tests if _differ(test.words, one, two))
    test = next(by_key, None)
    if test:
        return PairCell(*names, test, DECLARED)
    test = next(by_word, None)
    return PairCell(*names, test, WORDING) if test else PairCell(*names)


def _differ(stated: tuple[str, ...], one: int, two: int) -> bool:
    return bool(stated[one] and stated[two]) and stated[one] != stated[two]


# The state of the argument in one sentence


def describe_state(artifact: Artifact, versions: int, found: NextTests) -> str:
    """Return `4 of 6 hypotheses alive after 3 versions; 2 of 6 pairs separated; best next test T4
    Cut the ridge (1.585 bits)`, or an empty text without hypotheses.
    """
    total = len(artifact.sections[HYPOTHESIS_SLATE.id])
    if not total:
        return ""
    after = f" after {plural(versions, 'version')}" if versions else ""
    alive = f"{len(found.hypotheses)} of {plural(total, 'hypothesis', 'hypotheses')} alive{after}"
    return "; ".join((alive, *_pair_phrases(found), *_best_test_phrase(found)))


def _pair_phrases(found: NextTests) -> tuple[str, ...]:
    count = len(found.hypotheses)
    pairs = count * (count - 1) // 2
    if not pairs:
        return ()
    separated, worded = found.count_separated(), found.count_only_worded_differently()
    phrase = f"{separated} of {plural(pairs, 'pair')} separated"
    return (f"{phrase}, {worded} only worded differently" if worded else phrase,)


def _best_test_phrase(found: NextTests) -> tuple[str, ...]:
    best = found.best
    if best is None:
        return ()
    by = "" if best.basis == DECLARED else " by wording"
    name = cut(best.item.title, _LONGEST_NAME)
    return (f"best next test {best.item.id} {name} ({best.bits:.3f} bits{by})",)
