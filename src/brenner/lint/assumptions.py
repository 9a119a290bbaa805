"""Rules about the assumption ledger (A)."""

from collections.abc import Iterator

from brenner.diagnostics.codes import lint_sections as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.choices import not_a_choice
from brenner.lint.context import Context
from brenner.lint.fixes import with_flag
from brenner.protocol.delta.schema import ASSUMPTION_LEDGER

_SECTION = ASSUMPTION_LEDGER


def enough(on: Context) -> Iterator[Diagnostic]:
    """EA-001: three active ones."""
    return on.too_few(codes.EA_001, _SECTION)


def scale_check(on: Context) -> Iterator[Diagnostic]:
    """EA-002: a killed one checks nothing any more."""
    active = on.active[_SECTION.id]
    if not on.has(_SECTION) or any("scale_check" in item.fields for item in active):
        return
    calculated = [item for item in active if has_numbers(item.text("calculation"))]
    found = on.of_section(codes.EA_002, _SECTION)
    yield with_flag(found, on, _SECTION, calculated, "scale_check")


def statements(on: Context) -> Iterator[Diagnostic]:
    """EA-003."""
    return on.without(codes.EA_003, _SECTION, "statement")


def loads(on: Context) -> Iterator[Diagnostic]:
    """WA-001."""
    return on.without(codes.WA_001, _SECTION, "load")


def tests(on: Context) -> Iterator[Diagnostic]:
    """WA-002."""
    return on.without(codes.WA_002, _SECTION, "test")


def calculations(on: Context) -> Iterator[Diagnostic]:
    """WA-003. One without numbers is WA-101."""
    for item in on.active[_SECTION.id]:
        if "scale_check" in item.fields and "calculation" not in item.fields:
            yield on.of_item(codes.WA_003, item, "calculation")


def statuses(on: Context) -> Iterator[Diagnostic]:
    """IA-001."""
    return not_a_choice(on, codes.IA_001, _SECTION)


def has_numbers(text: str) -> bool:
    """Whether there is a digit in it, of whatever alphabet."""
    return any(map(str.isdecimal, text))
