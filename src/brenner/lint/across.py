"""Rules about what one section says of another (101 and up)."""

from collections.abc import Iterator

from brenner.artifact.model import NOT_APPLICABLE
from brenner.diagnostics.codes import lint_structure as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.anchors import has_long_range, has_short_range
from brenner.lint.assumptions import has_numbers
from brenner.lint.context import Context, called
from brenner.lint.fixes import known_only, mended_anchors, replaced, with_edit
from brenner.lint.hypotheses import anchored
from brenner.lint.tests import named_in
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
)


def anchors_in_one_form(on: Context) -> Iterator[Diagnostic]:
    """WS-101: `§42-§45` where `§42-45` is in use as well; one violation per item."""
    first, short = next(_short_ranges(on), ("", ""))
    for section, item in anchored(on) if short else ():
        long = next(filter(has_long_range, item.listed("anchors")), None)
        if long:
            words = {"section": section.id, "value": long, "other": short, "first": first}
            found = on.of_item(codes.WS_101, item, "anchors", **words)
            yield from with_edit([found], on, section, item, mended_anchors(item))


def _short_ranges(on: Context) -> Iterator[tuple[str, str]]:
    """Each anchor of the form `§42-45`, after the item that has it."""
    for _, item in anchored(on):
        for anchor in item.listed("anchors"):
            if has_short_range(anchor):
                yield called(item), anchor


def referenced_items(on: Context) -> Iterator[Diagnostic]:
    """WS-102: what an anomaly conflicts with, and references to items of this session.

    A killed item exists. What other sessions hold cannot be seen from here. Where the section of
    the item is missing, that is the fault.
    """
    is_whole = on.is_whole
    yield from _conflicts(on, is_whole=is_whole)
    session = on.artifact.metadata.session_id
    for section, item in on.artifact.all_items():
        if item.killed is not None or not item.references:
            continue
        unknown = {
            each: each.item
            for each in item.references
            if each.session == session and each.item not in on.items and not on.is_lost(each.item)
        }
        kept = [each._asdict() for each in item.references if each not in unknown]
        found = [
            on.of_item(codes.WS_102, item, "references", other=name)
            for name in dict.fromkeys(unknown.values())
        ]
        payload = replaced("references", kept) if is_whole else None
        yield from with_edit(found, on, section, item, payload)


def _conflicts(on: Context, *, is_whole: bool) -> Iterator[Diagnostic]:
    for item in on.active[ANOMALY_REGISTER.id]:
        given = item.listed("conflicts_with")
        unknown = dict.fromkeys(
            name for name in given if name not in on.items and not on.is_lost(name)
        )
        kept = [name for name in given if name not in unknown]
        found = [on.of_item(codes.WS_102, item, "conflicts_with", other=name) for name in unknown]
        payload = replaced("conflicts_with", kept) if is_whole else None
        yield from with_edit(found, on, ANOMALY_REGISTER, item, payload)


def different_names(on: Context) -> Iterator[Diagnostic]:
    """WS-103: active hypotheses; case and blanks make no difference."""
    first: dict[str, tuple[str, str]] = {}
    for item in on.active[HYPOTHESIS_SLATE.id]:
        name = item.text("name")
        folded = " ".join(name.split()).casefold()
        other_id, other = first.setdefault(folded, (item.id, called(item)))
        if name and other_id != item.id:
            yield on.of_item(codes.WS_103, item, "name", other=other, name=name)


def predicted_hypotheses(on: Context) -> Iterator[Diagnostic]:
    """WP-101: a killed hypothesis exists, and its cell says N/A (R12). Without a slate that is the
    fault.
    """
    active = {item.id for item in on.active[HYPOTHESIS_SLATE.id]}
    is_whole = on.is_whole
    for row in on.active[PREDICTIONS_TABLE.id] if on.has(HYPOTHESIS_SLATE) else ():
        cells = row.mapped("predictions")
        found = [
            on.of_item(codes.WP_101, row, "predictions", name, other=name)
            for name in cells
            if name not in on.hypotheses
        ]
        if found:
            kept = known_only(cells, on.hypotheses) if is_whole else None
            if kept is not None:
                kept |= dict.fromkeys(kept.keys() - active, NOT_APPLICABLE)
            payload = replaced("predictions", kept)
            yield from with_edit(found, on, PREDICTIONS_TABLE, row, payload)


def tested_hypotheses(on: Context) -> Iterator[Diagnostic]:
    """WT-101: one violation per hypothesis, in the text or under the outcomes. Without a slate
    that is the fault.
    """
    is_whole = on.is_whole
    for test in on.active[DISCRIMINATIVE_TESTS.id] if on.has(HYPOTHESIS_SLATE) else ():
        named = dict.fromkeys(named_in(test.text("discriminates")))
        for name in named:
            if name not in on.hypotheses:
                yield on.of_item(codes.WT_101, test, "discriminates", other=name)
        outcomes = test.mapped("expected_outcomes")
        found = [
            on.of_item(codes.WT_101, test, "expected_outcomes", name, other=name)
            for name in outcomes
            if name not in on.hypotheses and name not in named
        ]
        if found:
            kept = known_only(outcomes, on.hypotheses) if is_whole else None
            payload = replaced("expected_outcomes", kept)
            yield from with_edit(found, on, DISCRIMINATIVE_TESTS, test, payload)


def numbers(on: Context) -> Iterator[Diagnostic]:
    """WA-101. A scale check without any calculation is WA-003."""
    for item in on.active[ASSUMPTION_LEDGER.id]:
        calculation = item.text("calculation")
        if "scale_check" in item.fields and calculation and not has_numbers(calculation):
            yield on.of_item(codes.WA_101, item, "calculation")
