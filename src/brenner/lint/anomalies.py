"""Rules about the anomaly register (X)."""

from collections.abc import Iterator

from brenner.diagnostics.codes import lint_sections as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.choices import not_a_choice
from brenner.lint.context import Context
from brenner.protocol.delta.schema import ANOMALY_REGISTER

_SECTION = ANOMALY_REGISTER


def section(on: Context) -> Iterator[Diagnostic]:
    """EX-001, files only."""
    if not on.has(_SECTION):
        yield on.in_place_of(codes.EX_001, _SECTION)


def empty_in_words(on: Context) -> Iterator[Diagnostic]:
    """EX-002, files only. A register that shows a killed anomaly is not empty."""
    is_empty = on.has(_SECTION) and not on.artifact.sections[_SECTION.id]
    if on.outline and is_empty and not on.outline.says_none_registered:
        yield on.of_section(codes.EX_002, _SECTION)


def observations(on: Context) -> Iterator[Diagnostic]:
    """WX-001."""
    return on.without(codes.WX_001, _SECTION, "observation")


def conflicts(on: Context) -> Iterator[Diagnostic]:
    """WX-002."""
    return on.without(codes.WX_002, _SECTION, "conflicts_with")


def statuses(on: Context) -> Iterator[Diagnostic]:
    """IX-001."""
    return not_a_choice(on, codes.IX_001, _SECTION)
