"""Rules about the adversarial critique (C)."""

from collections.abc import Iterator

from brenner.diagnostics.codes import lint_sections as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import Context
from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE

_SECTION = ADVERSARIAL_CRITIQUE


def enough(on: Context) -> Iterator[Diagnostic]:
    """EC-001: two active ones."""
    return on.too_few(codes.EC_001, _SECTION)


def attacks(on: Context) -> Iterator[Diagnostic]:
    """EC-002."""
    return on.without(codes.EC_002, _SECTION, "attack")


def real_third_alternative(on: Context) -> Iterator[Diagnostic]:
    """WC-001: the mark counts, not the name."""
    active = on.active[_SECTION.id]
    if on.has(_SECTION) and not any("real_third_alternative" in item.fields for item in active):
        yield on.of_section(codes.WC_001, _SECTION)


def evidence(on: Context) -> Iterator[Diagnostic]:
    """WC-002."""
    return on.without(codes.WC_002, _SECTION, "evidence")


def current_statuses(on: Context) -> Iterator[Diagnostic]:
    """IC-001: any words will do."""
    return on.without(codes.IC_001, _SECTION, "current_status")
