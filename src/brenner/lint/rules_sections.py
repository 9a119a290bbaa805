"""Lint rules about single sections: hypotheses (H), predictions (P), tests (T), assumptions (A),
anomalies (X) and critiques (C).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.model import (
    ID_COLUMN,
    MAX_ACTIVE_HYPOTHESES,
    NOT_APPLICABLE,
    Item,
    total_score,
)
from brenner.diagnostics.codes import lint_sections as codes
from brenner.lint.context import LintContext, item_name
from brenner.lint.helpers import (
    INFERENCE_ANCHORS,
    INFERENCE_LABEL,
    anchor_problem,
    find_misplaced,
    fixed_anchors,
    suggest_anchor,
    with_edit_fix,
    with_flag_fix,
)
from brenner.lint.rules_structure import id_problem, items_with_malformed_id
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Section,
)
from brenner.protocol.grammar import HYPOTHESIS_REFERENCE
from brenner.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.diagnostics.model import Diagnostic

# Rules about the hypothesis slate (H)

_LABELLED_TEXTS = ("claim", "mechanism", "how_this_could_be_true")


def not_too_many_hypotheses(context: LintContext) -> Iterator[Diagnostic]:
    """EH-002: killed hypotheses do not count."""
    count = len(context.active[HYPOTHESIS_SLATE.id])
    if count > MAX_ACTIVE_HYPOTHESES:
        words = {"count": count, "most": MAX_ACTIVE_HYPOTHESES}
        yield context.section_diagnostic(codes.EH_002, HYPOTHESIS_SLATE, **words)


def third_alternative_present(context: LintContext) -> Iterator[Diagnostic]:
    """EH-003: the label counts, not the name, and a killed hypothesis does not count."""
    active = context.active[HYPOTHESIS_SLATE.id]
    if not context.has_section(HYPOTHESIS_SLATE) or any(
        "third_alternative" in item.fields for item in active
    ):
        return
    called_so = [item for item in active if _is_called_third(item.text("name"))]
    found = context.section_diagnostic(codes.EH_003, HYPOTHESIS_SLATE)
    yield with_flag_fix(found, context, HYPOTHESIS_SLATE, called_so, "third_alternative")


def _is_called_third(name: str) -> bool:
    """Return whether the name contains the label: `Third alternative: …`, `… (Third
    Alternative)`.
    """
    folded = " ".join(name.split()).casefold()
    return folded.startswith("third alternative") or folded.endswith("(third alternative)")


def anchors_well_formed(context: LintContext) -> Iterator[Diagnostic]:
    """WH-002, one per anchor. It includes the research thread, which has no rule of its own."""
    for section, item in items_with_anchors(context):
        found = []
        for anchor in item.listed("anchors"):
            reason = anchor_problem(anchor)
            if reason:
                suggestion = did_you_mean(suggest_anchor(anchor))
                words = {"section": section.id, "value": anchor, "reason": reason}
                words["suggestion"] = suggestion
                found.append(context.item_diagnostic(codes.WH_002, item, "anchors", **words))
        if found:
            yield from with_edit_fix(found, context, section, item, fixed_anchors(item))


def inference_labelled(context: LintContext) -> Iterator[Diagnostic]:
    """WH-003: all anchors are inference, and no text of the item contains `[inference]`."""
    for item in context.active[HYPOTHESIS_SLATE.id]:
        given = item.listed("anchors")
        if not given or not INFERENCE_ANCHORS.issuperset(given) or INFERENCE_LABEL in given:
            continue
        if not any(INFERENCE_LABEL in item.text(name) for name in _LABELLED_TEXTS):
            found = context.item_diagnostic(codes.WH_003, item, "claim")
            claim = item.text("claim")
            payload = {"claim": f"{claim.rstrip()} {INFERENCE_LABEL}"} if claim else None
            yield from with_edit_fix([found], context, HYPOTHESIS_SLATE, item, payload)


def items_with_anchors(context: LintContext) -> Iterator[tuple[Section, Item]]:
    """Yield the active items that can have anchors."""
    yield RESEARCH_THREAD, context.artifact.research_thread
    for item in context.active[HYPOTHESIS_SLATE.id]:
        yield HYPOTHESIS_SLATE, item


# Rules about the predictions table (P)

INDETERMINATE = "indeterminate"


def id_column_present(context: LintContext) -> Iterator[Diagnostic]:
    """EP-002, files only. A missing table has too few rows, which is EP-001."""
    if _lacks_id_column(context):
        yield context.section_diagnostic(codes.EP_002, PREDICTIONS_TABLE)


def hypothesis_columns_present(context: LintContext) -> Iterator[Diagnostic]:
    """EP-003, files only. A killed hypothesis needs no column; a malformed ID is ES-003."""
    shown = _hypotheses_with_column(context)
    for item_id in _active_hypotheses(context):
        if item_id not in shown:
            yield context.section_diagnostic(codes.EP_003, PREDICTIONS_TABLE, id=item_id)._replace(
                item=item_id
            )


def prediction_cells_differ(context: LintContext) -> Iterator[Diagnostic]:
    """WP-001: compare the cells of active hypotheses, ignoring case and spaces.

    Skip the rule if a hypothesis has no column, which is EP-003.
    """
    hypotheses = _active_hypotheses(context)
    if len(hypotheses) < 2 or len(_hypotheses_with_column(context)) < len(hypotheses):  # noqa: PLR2004
        return
    for row in context.active[PREDICTIONS_TABLE.id]:
        cells = [text for key, text in row.mapped("predictions").items() if key in hypotheses]
        if not cells:
            yield context.item_diagnostic(codes.WP_001, row, "predictions", say="are empty")
        elif len(cells) == len(hypotheses) and len(set(map(_fold, cells))) == 1:
            yield context.item_diagnostic(codes.WP_001, row, "predictions", say="say the same")


def prediction_ids_well_formed(context: LintContext) -> Iterator[Diagnostic]:
    """WP-002, killed rows included. A missing ID column is EP-002."""
    if not _lacks_id_column(context):
        for row in items_with_malformed_id(context, PREDICTIONS_TABLE):
            yield context.item_diagnostic(
                codes.WP_002, row, reason=id_problem(PREDICTIONS_TABLE, row.id)
            )


def third_alternative_predicted(context: LintContext) -> Iterator[Diagnostic]:
    """IP-001: cells without a word or a number. Completely empty rows are WP-001.

    The number of third alternatives checked is limited to the maximum of hypotheses (EH-002).
    """
    shown = _hypotheses_with_column(context)
    alternatives = [name for name, item in shown.items() if "third_alternative" in item.fields]
    for row in context.active[PREDICTIONS_TABLE.id] if alternatives else ():
        cells = row.mapped("predictions")
        if shown.keys().isdisjoint(cells):
            continue
        for hypothesis in alternatives[:MAX_ACTIVE_HYPOTHESES]:
            if _predicts_nothing(cells.get(hypothesis, "")):
                path = ("predictions", hypothesis)
                cell = f"{item_name(row)}.{hypothesis}"
                found = context.item_diagnostic(codes.IP_001, row, *path, cell=cell)
                payload = {"predictions": {hypothesis: INDETERMINATE}}
                yield from with_edit_fix([found], context, PREDICTIONS_TABLE, row, payload)


def _active_hypotheses(context: LintContext) -> dict[str, Item]:
    """Return the active hypotheses by ID. Malformed IDs are reported by another rule."""
    active = context.active[HYPOTHESIS_SLATE.id]
    return {item.id: item for item in active if HYPOTHESIS_SLATE.is_valid_id(item.id)}


def _hypotheses_with_column(context: LintContext) -> dict[str, Item]:
    """Return the active hypotheses that have a column: for a model all of them."""
    hypotheses = _active_hypotheses(context)
    columns = context.outline.columns if context.outline else None
    if columns is None:
        return hypotheses
    return {name: hypotheses[name] for name in columns if name in hypotheses}


def _lacks_id_column(context: LintContext) -> bool:
    columns = context.outline.columns if context.outline else None
    return columns is not None and ID_COLUMN not in columns


def _predicts_nothing(cell: str) -> bool:
    """Return whether a cell is `—`, `?` or the like, or the `N/A` of a killed hypothesis."""
    return cell == NOT_APPLICABLE or not any(map(str.isalnum, cell))


def _fold(cell: str) -> str:
    return " ".join(cell.split()).casefold()


# Rules about the discriminative tests (T)


def ranked_by_score(context: LintContext) -> Iterator[Diagnostic]:
    """WT-002, files only: killed tests are ranked among the others (R14).

    Equal scores may be in any order. Tests with a repeated ID are ignored.
    """
    tests = {test.id: test for test in context.artifact.sections[DISCRIMINATIVE_TESTS.id]}
    written = context.outline.tests if context.outline else ()
    shown = [tests[name] for name in written if name in tests and name not in context.repeated]
    for at, near, is_late in find_misplaced([-total_score(test) for test in shown]):
        words = {
            "score": "higher" if is_late else "lower",
            "other": item_name(shown[near]),
            "where": "after" if is_late else "before",
            "way": "up" if is_late else "down",
        }
        yield context.item_diagnostic(codes.WT_002, shown[at], **words)


def scores_complete(context: LintContext) -> Iterator[Diagnostic]:
    """WT-003: a part outside the range 0 to 3 counts as missing."""
    for test in context.active[DISCRIMINATIVE_TESTS.id]:
        score = test.score
        missing = [part for part in SCORE_PARTS if not 0 <= score.get(part, -1) <= MOST_SCORE]
        if missing:
            listed = ", ".join(f"`{part}`" for part in missing)
            yield context.item_diagnostic(codes.WT_003, test, "score", missing=listed)


def discriminated_hypotheses_named(context: LintContext) -> Iterator[Diagnostic]:
    """IT-001: the ID of a hypothesis. Whether the hypothesis exists is WT-101."""
    for test in context.active[DISCRIMINATIVE_TESTS.id]:
        if not named_hypotheses(test.text("discriminates")):
            yield context.item_diagnostic(codes.IT_001, test, "discriminates")


def named_hypotheses(text: str) -> list[str]:
    """Return the hypotheses that a text such as `H1 vs H2` names."""
    return [name for name in HYPOTHESIS_REFERENCE.findall(text) if not name.startswith("@")]


# Rules about the assumption ledger (A)


def scale_check_present(context: LintContext) -> Iterator[Diagnostic]:
    """EA-002: a killed assumption does not count."""
    active = context.active[ASSUMPTION_LEDGER.id]
    if not context.has_section(ASSUMPTION_LEDGER) or any(
        "scale_check" in item.fields for item in active
    ):
        return
    calculated = [item for item in active if has_digits(item.text("calculation"))]
    found = context.section_diagnostic(codes.EA_002, ASSUMPTION_LEDGER)
    yield with_flag_fix(found, context, ASSUMPTION_LEDGER, calculated, "scale_check")


def calculations_present(context: LintContext) -> Iterator[Diagnostic]:
    """WA-003. A calculation without numbers is WA-101."""
    for item in context.active[ASSUMPTION_LEDGER.id]:
        if "scale_check" in item.fields and "calculation" not in item.fields:
            yield context.item_diagnostic(codes.WA_003, item, "calculation")


def has_digits(text: str) -> bool:
    return any(map(str.isdecimal, text))


# Rules about the anomaly register (X)


def anomaly_section_present(context: LintContext) -> Iterator[Diagnostic]:
    """EX-001, files only."""
    if not context.has_section(ANOMALY_REGISTER):
        yield context.missing_section_diagnostic(codes.EX_001, ANOMALY_REGISTER)


def empty_register_stated(context: LintContext) -> Iterator[Diagnostic]:
    """EX-002, files only. A register with a killed anomaly is not empty."""
    is_empty = (
        context.has_section(ANOMALY_REGISTER) and not context.artifact.sections[ANOMALY_REGISTER.id]
    )
    if context.outline and is_empty and not context.outline.says_none_registered:
        yield context.section_diagnostic(codes.EX_002, ANOMALY_REGISTER)


# Rules about the adversarial critique (C)


def real_third_alternative_present(context: LintContext) -> Iterator[Diagnostic]:
    """WC-001: the mark counts, not the name."""
    active = context.active[ADVERSARIAL_CRITIQUE.id]
    if context.has_section(ADVERSARIAL_CRITIQUE) and not any(
        "real_third_alternative" in item.fields for item in active
    ):
        yield context.section_diagnostic(codes.WC_001, ADVERSARIAL_CRITIQUE)
