"""Rules about the discriminative tests (T)."""

from collections.abc import Iterator

from brenner.artifact.model import total
from brenner.diagnostics.codes import lint_sections as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import Context, called
from brenner.lint.order import misplaced
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS, MOST_SCORE, SCORE_PARTS
from brenner.protocol.grammar import NAME_IN_DISCRIMINATES

_SECTION = DISCRIMINATIVE_TESTS


def enough(on: Context) -> Iterator[Diagnostic]:
    """ET-001: two active ones."""
    return on.too_few(codes.ET_001, _SECTION)


def procedures(on: Context) -> Iterator[Diagnostic]:
    """ET-002."""
    return on.without(codes.ET_002, _SECTION, "procedure")


def expected_outcomes(on: Context) -> Iterator[Diagnostic]:
    """ET-003."""
    return on.without(codes.ET_003, _SECTION, "expected_outcomes")


def potency_checks(on: Context) -> Iterator[Diagnostic]:
    """WT-001."""
    return on.without(codes.WT_001, _SECTION, "potency_check")


def ranked(on: Context) -> Iterator[Diagnostic]:
    """WT-002, files only: killed tests are ranked among the others (R14); equal scores may stand
    in any order, and an ID that stands twice has no place of its own.
    """
    tests = {test.id: test for test in on.artifact.sections[_SECTION.id]}
    written = on.outline.tests if on.outline else ()
    shown = [tests[name] for name in written if name in tests and name not in on.repeated]
    for wrong in misplaced([-total(test) for test in shown]):
        words = {
            "score": "higher" if wrong.is_late else "lower",
            "other": called(shown[wrong.other]),
            "where": "after" if wrong.is_late else "before",
            "way": "up" if wrong.is_late else "down",
        }
        yield on.of_item(codes.WT_002, shown[wrong.at], **words)


def scores(on: Context) -> Iterator[Diagnostic]:
    """WT-003: a part that is not from 0 to 3 is as good as none."""
    for test in on.active[_SECTION.id]:
        score = test.score
        missing = [part for part in SCORE_PARTS if not 0 <= score.get(part, -1) <= MOST_SCORE]
        if missing:
            listed = ", ".join(f"`{part}`" for part in missing)
            yield on.of_item(codes.WT_003, test, "score", missing=listed)


def discriminates(on: Context) -> Iterator[Diagnostic]:
    """IT-001: an ID of a hypothesis; whether it exists is WT-101."""
    for test in on.active[_SECTION.id]:
        if not named_in(test.text("discriminates")):
            yield on.of_item(codes.IT_001, test, "discriminates")


def feasibility(on: Context) -> Iterator[Diagnostic]:
    """IT-002."""
    return on.without(codes.IT_002, _SECTION, "feasibility")


def named_in(text: str) -> list[str]:
    """The hypotheses that a text such as `H1 vs H2` names."""
    return [name for name in NAME_IN_DISCRIMINATES.findall(text) if not name.startswith("@")]
