"""Lint rules about results of tests (R26) and declared outcomes (R27)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.model import LAYOUT_BY_SECTION, Item
from brenner.diagnostics.codes import lint_sections as codes
from brenner.lint.helpers import with_edit_fix
from brenner.protocol.delta.field_checks import parse_time
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    OUTCOME_FIELDS,
    POTENCY_FAILED,
    Section,
    undeclared_outcomes,
)
from brenner.protocol.delta.validate import undeclared_words
from brenner.text import closest_certain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.artifact.model import Artifact, Result
    from brenner.diagnostics.model import Code, Diagnostic
    from brenner.lint.context import LintContext


def enough_hypotheses(context: LintContext) -> Iterator[Diagnostic]:
    """EH-001: active hypotheses, and those that were killed after a result contradicted them."""
    least = LAYOUT_BY_SECTION[HYPOTHESIS_SLATE.id].least
    count = len(context.active[HYPOTHESIS_SLATE.id])
    if count >= least or not context.has_section(HYPOTHESIS_SLATE):
        return
    if count + len(killed_by_results(context.artifact)) < least:
        yield context.section_diagnostic(codes.EH_001, HYPOTHESIS_SLATE, count=count, least=least)


def killed_by_results(artifact: Artifact) -> tuple[Item, ...]:
    """Return the hypotheses that were killed after a result had contradicted them (R26).

    A result without a time of observation counts as earlier than the kill.
    """
    results = [
        result
        for test in artifact.sections[DISCRIMINATIVE_TESTS.id]
        for result in test.results
        if result.has_verdict
    ]
    return tuple(
        item
        for item in artifact.sections[HYPOTHESIS_SLATE.id]
        if any(item.id in result.contradicts and _is_before(result, item) for result in results)
    )


def _is_before(result: Result, hypothesis: Item) -> bool:
    if hypothesis.killed is None:
        return False
    observed, killed = parse_time(result.observed_at or ""), parse_time(hypothesis.killed.at)
    return observed is None or killed is None or observed <= killed


def outcomes_declared(code: Code, section: Section, context: LintContext) -> Iterator[Diagnostic]:
    """WP-003, WT-004: where outcomes are declared, every stated outcome is one of their keys."""
    name = OUTCOME_FIELDS[section]
    for item in context.active[section.id]:
        declared, stated = item.mapped("outcomes"), item.mapped(name)
        fixed: dict[str, str] = {}
        found = []
        for hypothesis, outcome in undeclared_outcomes(declared, stated) if declared else ():
            words = undeclared_words(outcome, declared) | {"cell": hypothesis}
            found.append(context.item_diagnostic(code, item, name, hypothesis, **words))
            meant = closest_certain(outcome, declared)
            fixed |= {hypothesis: meant} if meant else {}
        is_certain = len(fixed) == len(found) and fixed.keys() <= context.hypotheses
        payload = {name: fixed} if is_certain else None
        yield from with_edit_fix(found, context, section, item, payload)


def results_have_verdict(context: LintContext) -> Iterator[Diagnostic]:
    """WT-005: a result whose test worked says which hypotheses it contradicts or supports."""
    for test in context.active[DISCRIMINATIVE_TESTS.id]:
        for result in test.results:
            if not result.has_verdict and result.potency != POTENCY_FAILED:
                words = {"value": result.outcome}
                yield context.item_diagnostic(codes.WT_005, test, "results", **words)


def results_have_evidence(context: LintContext) -> Iterator[Diagnostic]:
    """IT-003: a result without evidence is only a claim."""
    for test in context.active[DISCRIMINATIVE_TESTS.id]:
        for result in test.results:
            if not result.evidence:
                words = {"value": result.outcome}
                yield context.item_diagnostic(codes.IT_003, test, "results", **words)
