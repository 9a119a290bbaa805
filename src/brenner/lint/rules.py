"""The rules: which function finds which code. A code is found by one function and no other."""

from collections.abc import Callable, Iterator

from brenner.diagnostics.model import Diagnostic
from brenner.lint import (
    across,
    anomalies,
    assumptions,
    critiques,
    hypotheses,
    metadata,
    predictions,
    provenance,
    research_thread,
    structure,
    tests,
)
from brenner.lint.context import Context

Rule = Callable[[Context], Iterator[Diagnostic]]

RULES: dict[str, Rule] = {
    "EM-001": metadata.front_matter,
    "EM-002": metadata.session_id,
    "EM-003": metadata.created_at,
    "EM-004": metadata.status,
    "WM-001": metadata.contributors,
    "WM-002": metadata.updated_at,
    "IM-001": metadata.thread_id,
    "IM-002": metadata.version,
    "ES-001": structure.sections,
    "ES-002": structure.order,
    "ES-003": structure.well_formed_ids,
    "ES-004": structure.unique_ids,
    "WS-001": structure.numbering,
    "ER-001": research_thread.question,
    "ER-002": research_thread.context,
    "WR-001": research_thread.anchors,
    "IR-001": research_thread.why_it_matters,
    "EH-001": hypotheses.enough,
    "EH-002": hypotheses.not_too_many,
    "EH-003": hypotheses.third_alternative,
    "EH-004": hypotheses.claims,
    "WH-001": hypotheses.anchors,
    "WH-002": hypotheses.well_formed_anchors,
    "WH-003": hypotheses.labelled_inference,
    "IH-001": hypotheses.mechanisms,
    "EP-001": predictions.enough,
    "EP-002": predictions.id_column,
    "EP-003": predictions.hypothesis_columns,
    "WP-001": predictions.cells_differ,
    "WP-002": predictions.well_formed_ids,
    "IP-001": predictions.third_alternative_cells,
    "ET-001": tests.enough,
    "ET-002": tests.procedures,
    "ET-003": tests.expected_outcomes,
    "WT-001": tests.potency_checks,
    "WT-002": tests.ranked,
    "WT-003": tests.scores,
    "IT-001": tests.discriminates,
    "IT-002": tests.feasibility,
    "EA-001": assumptions.enough,
    "EA-002": assumptions.scale_check,
    "EA-003": assumptions.statements,
    "WA-001": assumptions.loads,
    "WA-002": assumptions.tests,
    "WA-003": assumptions.calculations,
    "IA-001": assumptions.statuses,
    "EX-001": anomalies.section,
    "EX-002": anomalies.empty_in_words,
    "WX-001": anomalies.observations,
    "WX-002": anomalies.conflicts,
    "IX-001": anomalies.statuses,
    "EC-001": critiques.enough,
    "EC-002": critiques.attacks,
    "WC-001": critiques.real_third_alternative,
    "WC-002": critiques.evidence,
    "IC-001": critiques.current_statuses,
    "EP-P01": provenance.cited_sections,
    "WP-P01": provenance.sourced_claims,
    "WP-P02": provenance.sourced_inferences,
    "WS-101": across.anchors_in_one_form,
    "WS-102": across.referenced_items,
    "WS-103": across.different_names,
    "WP-101": across.predicted_hypotheses,
    "WT-101": across.tested_hypotheses,
    "WA-101": across.numbers,
}
# Rules about the text itself: a model cannot break them (rulings, Small decisions).
FILE_ONLY = frozenset(
    {"EM-001", "ES-001", "ES-002", "EP-002", "EP-003", "WT-002", "EX-001", "EX-002"}
)
# Rules that need a file outside the thread: they do not keep an artifact at `draft` (R18).
NEEDS_SOURCE_TEXT = frozenset({"EP-P01"})
