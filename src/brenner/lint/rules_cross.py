"""Lint rules that compare sections (101 and up), rules about sources (P01 to P03), and the
questions that only people can judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.model import NOT_APPLICABLE, Item
from brenner.diagnostics.codes import lint_structure as codes
from brenner.lint.context import LintContext, item_name
from brenner.lint.helpers import (
    INFERENCE_ANCHORS,
    INFERENCE_LABEL,
    cited_sections,
    fixed_anchors,
    has_long_range,
    has_short_range,
    known_outcomes,
    replacement_payload,
    with_edit_fix,
)
from brenner.lint.rules_sections import has_digits, items_with_anchors, named_hypotheses
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
)
from brenner.protocol.grammar import SOURCE_IN_TEXT
from brenner.text import cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.evidence_pack import CitationFault

# Rules that compare sections (101 and up)


def ranges_in_one_form(context: LintContext) -> Iterator[Diagnostic]:
    """WS-101: `§42-§45` where `§42-45` is used as well; one violation per item."""
    first, short = next(_short_ranges(context), ("", ""))
    for section, item in items_with_anchors(context) if short else ():
        long = next(filter(has_long_range, item.listed("anchors")), None)
        if long:
            words = {"section": section.id, "value": long, "other": short, "first": first}
            found = context.item_diagnostic(codes.WS_101, item, "anchors", **words)
            yield from with_edit_fix([found], context, section, item, fixed_anchors(item))


def _short_ranges(context: LintContext) -> Iterator[tuple[str, str]]:
    """Yield each anchor of the form `§42-45`, with the name of its item."""
    for _, item in items_with_anchors(context):
        for anchor in item.listed("anchors"):
            if has_short_range(anchor):
                yield item_name(item), anchor


def referenced_items_exist(context: LintContext) -> Iterator[Diagnostic]:
    """WS-102: items in `conflicts_with`, and references to items of this session.

    A killed item exists. Items of other sessions cannot be checked. If the section of the item is
    missing, another rule reports that.
    """
    is_whole = context.has_all_items
    yield from _unknown_conflicts(context, is_whole=is_whole)
    session = context.artifact.metadata.session_id
    for section, item in context.artifact.all_items():
        if item.killed is not None or not item.references:
            continue
        unknown = {
            each: each.item
            for each in item.references
            if each.session == session
            and each.item not in context.items
            and not context.is_in_missing_section(each.item)
        }
        kept = [each._asdict() for each in item.references if each not in unknown]
        found = [
            context.unknown_reference(codes.WS_102, item, "references", other=name)
            for name in dict.fromkeys(unknown.values())
        ]
        payload = replacement_payload("references", kept) if is_whole else None
        yield from with_edit_fix(found, context, section, item, payload)


def _unknown_conflicts(context: LintContext, *, is_whole: bool) -> Iterator[Diagnostic]:
    for item in context.active[ANOMALY_REGISTER.id]:
        given = item.listed("conflicts_with")
        unknown = dict.fromkeys(
            name
            for name in given
            if name not in context.items and not context.is_in_missing_section(name)
        )
        kept = [name for name in given if name not in unknown]
        found = [
            context.unknown_reference(codes.WS_102, item, "conflicts_with", other=name)
            for name in unknown
        ]
        payload = replacement_payload("conflicts_with", kept) if is_whole else None
        yield from with_edit_fix(found, context, ANOMALY_REGISTER, item, payload)


def hypothesis_names_differ(context: LintContext) -> Iterator[Diagnostic]:
    """WS-103: active hypotheses, ignoring case and spaces."""
    first: dict[str, tuple[str, str]] = {}
    for item in context.active[HYPOTHESIS_SLATE.id]:
        name = item.text("name")
        folded = " ".join(name.split()).casefold()
        other_id, other = first.setdefault(folded, (item.id, item_name(item)))
        if name and other_id != item.id:
            yield context.item_diagnostic(codes.WS_103, item, "name", other=other, name=name)


def predicted_hypotheses_exist(context: LintContext) -> Iterator[Diagnostic]:
    """WP-101: a killed hypothesis exists, and its cell is N/A (R12). Skip the rule without a
    slate.
    """
    active = {item.id for item in context.active[HYPOTHESIS_SLATE.id]}
    is_whole = context.has_all_items
    for row in (
        context.active[PREDICTIONS_TABLE.id] if context.has_section(HYPOTHESIS_SLATE) else ()
    ):
        cells = row.mapped("predictions")
        found = [
            context.unknown_reference(codes.WP_101, row, "predictions", name, other=name)
            for name in cells
            if name not in context.hypotheses
        ]
        if found:
            kept = known_outcomes(cells, context.hypotheses) if is_whole else None
            if kept is not None:
                kept |= dict.fromkeys(kept.keys() - active, NOT_APPLICABLE)
            payload = replacement_payload("predictions", kept)
            yield from with_edit_fix(found, context, PREDICTIONS_TABLE, row, payload)


def discriminated_hypotheses_exist(context: LintContext) -> Iterator[Diagnostic]:
    """WT-101: one violation per hypothesis, in the text, the outcomes or the results. Skip the
    rule without a slate.
    """
    is_whole = context.has_all_items
    for test in (
        context.active[DISCRIMINATIVE_TESTS.id] if context.has_section(HYPOTHESIS_SLATE) else ()
    ):
        named = dict.fromkeys(named_hypotheses(test.text("discriminates")))
        for name in named:
            if name not in context.hypotheses:
                yield context.unknown_reference(codes.WT_101, test, "discriminates", other=name)
        outcomes = test.mapped("expected_outcomes")
        found = [
            context.unknown_reference(codes.WT_101, test, "expected_outcomes", name, other=name)
            for name in outcomes
            if name not in context.hypotheses and name not in named
        ]
        if found:
            kept = known_outcomes(outcomes, context.hypotheses) if is_whole else None
            payload = replacement_payload("expected_outcomes", kept)
            yield from with_edit_fix(found, context, DISCRIMINATIVE_TESTS, test, payload)
        judged = (name for each in test.results for name in (*each.contradicts, *each.supports))
        for name in dict.fromkeys(judged):
            if name not in context.hypotheses and name not in named and name not in outcomes:
                yield context.unknown_reference(codes.WT_101, test, "results", other=name)


def scale_check_has_numbers(context: LintContext) -> Iterator[Diagnostic]:
    """WA-101. A scale check without any calculation is WA-003."""
    for item in context.active[ASSUMPTION_LEDGER.id]:
        calculation = item.text("calculation")
        if "scale_check" in item.fields and calculation and not has_digits(calculation):
            yield context.item_diagnostic(codes.WA_101, item, "calculation")


# Rules about the sources of claims (P01 to P03)
#
# A hypothesis and the research thread name sources under `anchors`. An assumption and an anomaly
# have no such field, so they name them in their text, or by a reference to an item.


_MOST_QUOTED = 300  # characters of a quotation that are shown
# The sections without anchors, with the field that makes a claim
_CLAIM_FIELDS = ((ASSUMPTION_LEDGER, "statement"), (ANOMALY_REGISTER, "observation"))


_ANCHORS_EXAMPLE = '"anchors": ["§42", "§57 [inference]"]'
_TEXT_EXAMPLE = "… (§42, §57 [inference])"


def _edit_words(field: str) -> dict[str, str]:
    """Return how an EDIT corrects a source: anchors are a list, which grows unless replaced."""
    replace = ' and `"anchors_replace": true`' if field == "anchors" else ""
    return {"field": field, "replace": replace}


def cited_sections_exist(context: LintContext) -> Iterator[Diagnostic]:
    """EP-P01, only with a source text: check anchors and all texts; once per item and citation."""
    if context.source is None:
        return
    for section, item in context.artifact.all_items():
        reported: set[str] = set()
        for name, text in _texts(item, section.fields) if item.killed is None else ():
            for written, first, last in cited_sections(text):
                missing = context.source.missing(first, last)
                if missing is not None and written not in reported:
                    reported.add(written)
                    value = written if first == last else f"{written} (there is no §{missing})"
                    words = {"value": value, "path": context.source.path, **_edit_words(name)}
                    yield context.item_diagnostic(codes.EP_P01, item, name, **words)


def cited_evidence_exists(context: LintContext) -> Iterator[Diagnostic]:
    """EP-P02, only with an evidence pack: check all texts; once per item and anchor."""
    for item, name, fault in _evidence_faults(context):
        if not fault.is_quotation:
            words = {"value": f"`{fault.anchor}`", "path": context.pack_path, **_edit_words(name)}
            yield context.item_diagnostic(codes.EP_P02, item, name, **words)


def quotations_exact(context: LintContext) -> Iterator[Diagnostic]:
    """EP-P03, only with an evidence pack: check each quotation that an excerpt's anchor follows."""
    for item, name, fault in _evidence_faults(context):
        if fault.is_quotation:
            shown = cut(" ".join(fault.value.split()), _MOST_QUOTED)
            words = {"value": f"`{fault.anchor}`", "quotation": shown, **_edit_words(name)}
            yield context.item_diagnostic(codes.EP_P03, item, name, **words)


def _evidence_faults(context: LintContext) -> Iterator[tuple[Item, str, CitationFault]]:
    """Yield each wrong citation of the active items, with the field that first has it."""
    if context.pack is None:
        return
    from brenner.protocol.evidence_pack import citation_faults  # only with an evidence pack

    for section, item in context.artifact.all_items():
        reported: set[CitationFault] = set()
        for name, text in _texts(item, section.fields) if item.killed is None else ():
            for fault in citation_faults(text, context.pack):
                if fault not in reported:
                    reported.add(fault)
                    yield item, name, fault


def claims_sourced(context: LintContext) -> Iterator[Diagnostic]:
    """WP-P01. A hypothesis without anchors is WH-001, a research thread without them WR-001."""
    for section, field in _CLAIM_FIELDS:
        for item in context.active[section.id]:
            if field in item.fields and not _is_sourced(item) and not _is_labelled(item):
                yield context.item_diagnostic(codes.WP_P01, item, field)


def inferences_sourced(context: LintContext) -> Iterator[Diagnostic]:
    """WP-P02: an inference, by its anchors or by the label in its text, that names no source."""
    for _, item in items_with_anchors(context):
        given = item.listed("anchors")
        if given and INFERENCE_ANCHORS.issuperset(given) and not _is_sourced(item):
            yield context.item_diagnostic(
                codes.WP_P02, item, "anchors", example=_ANCHORS_EXAMPLE, **_edit_words("anchors")
            )
    for section, field in _CLAIM_FIELDS:
        for item in context.active[section.id]:
            if field in item.fields and _is_labelled(item) and not _is_sourced(item):
                yield context.item_diagnostic(
                    codes.WP_P02, item, field, example=_TEXT_EXAMPLE, **_edit_words(field)
                )


def _is_sourced(item: Item) -> bool:
    """Return whether a text of the item names a source, or the item has a reference."""
    return bool(item.references) or any(SOURCE_IN_TEXT.search(text) for _, text in _texts(item))


def _is_labelled(item: Item) -> bool:
    return any(INFERENCE_LABEL in text for _, text in _texts(item))


def _texts(item: Item, names: Iterable[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield every text of an item with its field, including anchors and outcomes.

    With `names`, the fields are in that order.
    """
    for name in item.fields if names is None else names:
        value = item.fields.get(name)
        if type(value) is str:
            yield name, value
        elif name == "anchors":
            yield from ((name, anchor) for anchor in item.listed(name))
        elif name in ("predictions", "expected_outcomes", "outcomes"):
            yield from ((name, text) for text in item.mapped(name).values())
        elif name == "results":
            for result in item.results:
                texts = (result.outcome, *result.evidence, result.note or "")
                yield from ((name, text) for text in texts)


# Questions that only people can judge. No rule checks them; every report lists all of them.


# Each has its section, the rules that check the part of it that a program can check, and the text.
QUESTIONS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (RESEARCH_THREAD.id, ("ER-001",), "Could an observation answer the question with no?"),
    (
        RESEARCH_THREAD.id,
        ("ER-002",),
        "Does the context say what is in dispute, and fairly to each side?",
    ),
    (
        RESEARCH_THREAD.id,
        ("WR-001", "WH-001", "EP-P01"),
        "Does each anchor support what it is cited for?",
    ),
    (
        HYPOTHESIS_SLATE.id,
        ("EH-004",),
        "Does each claim forbid something, so that it could turn out wrong?",
    ),
    (
        HYPOTHESIS_SLATE.id,
        ("EH-003",),
        "Is the third alternative another explanation, and not a restatement of the first two?",
    ),
    (HYPOTHESIS_SLATE.id, ("WS-103",), "Do any two hypotheses say the same in other words?"),
    (HYPOTHESIS_SLATE.id, ("WH-003", "WP-P02"), "Does each inference follow from what it names?"),
    (
        PREDICTIONS_TABLE.id,
        ("WP-001",),
        "Do the cells of each row differ in what one would see, and not only in their words?",
    ),
    (
        PREDICTIONS_TABLE.id,
        ("IP-001", "IH-001"),
        "Does each prediction follow from the mechanism of its hypothesis?",
    ),
    (DISCRIMINATIVE_TESTS.id, ("WT-001",), "Could each potency check have failed?"),
    (
        DISCRIMINATIVE_TESTS.id,
        ("ET-003", "IT-001"),
        "Would the outcomes of each test tell its hypotheses apart?",
    ),
    (DISCRIMINATIVE_TESTS.id, ("WT-002", "WT-003"), "Are the four numbers of each score deserved?"),
    (
        ASSUMPTION_LEDGER.id,
        ("EA-001", "WA-001"),
        "Is an assumption missing on which much of this rests?",
    ),
    (
        ASSUMPTION_LEDGER.id,
        ("WA-003", "WA-101"),
        "Are the numbers of the scale check right, with their units?",
    ),
    (
        ANOMALY_REGISTER.id,
        ("EX-002",),
        "Is something known that fits none of the hypotheses and is not registered?",
    ),
    (
        ANOMALY_REGISTER.id,
        ("IX-001",),
        "Is each resolved anomaly explained, and not explained away?",
    ),
    (
        ADVERSARIAL_CRITIQUE.id,
        ("WC-001",),
        "Is the real third alternative real: would its author bet on it?",
    ),
    (
        ADVERSARIAL_CRITIQUE.id,
        ("EC-002", "WC-002"),
        "Does each attack strike the framing, and would its evidence confirm it?",
    ),
)
