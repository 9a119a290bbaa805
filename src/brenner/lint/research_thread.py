"""Rules about the research thread (R)."""

from collections.abc import Iterator

from brenner.diagnostics.codes import lint_structure as codes
from brenner.diagnostics.model import Code, Diagnostic
from brenner.lint.context import Context
from brenner.protocol.delta.schema import RESEARCH_THREAD


def question(on: Context) -> Iterator[Diagnostic]:
    """ER-001."""
    return _has(on, "statement", codes.ER_001)


def context(on: Context) -> Iterator[Diagnostic]:
    """ER-002."""
    return _has(on, "context", codes.ER_002)


def anchors(on: Context) -> Iterator[Diagnostic]:
    """WR-001. Malformed ones are WH-002, as for hypotheses."""
    return _has(on, "anchors", codes.WR_001)


def why_it_matters(on: Context) -> Iterator[Diagnostic]:
    """IR-001."""
    return _has(on, "why_it_matters", codes.IR_001)


def _has(on: Context, field: str, code: Code) -> Iterator[Diagnostic]:
    item = on.artifact.research_thread
    if field not in item.fields and on.has(RESEARCH_THREAD):
        yield on.of_item(code, item, field)
