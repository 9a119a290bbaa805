"""Run the lint rules on an artifact or on a Markdown file. Both give the same report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Self

from brenner.artifact.model import Artifact, item_sort_key
from brenner.artifact.parse import parse_artifact
from brenner.diagnostics.codes import lint_sections as sections
from brenner.diagnostics.codes import lint_structure as structure
from brenner.diagnostics.model import Diagnostic, Summary, worst_first
from brenner.lint import rules_cross, rules_results, rules_sections, rules_structure
from brenner.lint.context import LintContext, SourceText, make_context, make_file_context
from brenner.lint.helpers import enough_items, field_present, status_valid, thread_field_present
from brenner.lint.rules_cross import QUESTIONS
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    SECTIONS,
)
from brenner.protocol.grammar import ITEM_ID

if TYPE_CHECKING:
    from brenner.artifact.format import ParsedArtifact
    from brenner.protocol.evidence_pack import EvidencePack

# The rule for each code. Each code has exactly one rule.

Rule = Callable[[LintContext], Iterator[Diagnostic]]

RULES: dict[str, Rule] = {
    "EM-001": rules_structure.front_matter_readable,
    "EM-002": rules_structure.session_id_present,
    "EM-003": rules_structure.created_at_valid,
    "EM-004": rules_structure.status_valid,
    "WM-001": rules_structure.contributors_present,
    "WM-002": rules_structure.updated_not_before_created,
    "IM-001": rules_structure.thread_id_valid,
    "IM-002": rules_structure.version_is_integer,
    "ES-001": rules_structure.sections_present,
    "ES-002": rules_structure.sections_in_order,
    "ES-003": rules_structure.item_ids_well_formed,
    "ES-004": rules_structure.item_ids_unique,
    "WS-001": rules_structure.item_numbers_contiguous,
    "ER-001": partial(thread_field_present, structure.ER_001, "statement"),
    "ER-002": partial(thread_field_present, structure.ER_002, "context"),
    "WR-001": partial(thread_field_present, structure.WR_001, "anchors"),
    "IR-001": partial(thread_field_present, structure.IR_001, "why_it_matters"),
    "EH-001": rules_results.enough_hypotheses,
    "EH-002": rules_sections.not_too_many_hypotheses,
    "EH-003": rules_sections.third_alternative_present,
    "EH-004": partial(field_present, sections.EH_004, HYPOTHESIS_SLATE, "claim"),
    "WH-001": partial(field_present, sections.WH_001, HYPOTHESIS_SLATE, "anchors"),
    "WH-002": rules_sections.anchors_well_formed,
    "WH-003": rules_sections.inference_labelled,
    "IH-001": partial(field_present, sections.IH_001, HYPOTHESIS_SLATE, "mechanism"),
    "EP-001": partial(enough_items, sections.EP_001, PREDICTIONS_TABLE),
    "EP-002": rules_sections.id_column_present,
    "EP-003": rules_sections.hypothesis_columns_present,
    "WP-001": rules_sections.prediction_cells_differ,
    "WP-002": rules_sections.prediction_ids_well_formed,
    "WP-003": partial(rules_results.outcomes_declared, sections.WP_003, PREDICTIONS_TABLE),
    "IP-001": rules_sections.third_alternative_predicted,
    "ET-001": partial(enough_items, sections.ET_001, DISCRIMINATIVE_TESTS),
    "ET-002": partial(field_present, sections.ET_002, DISCRIMINATIVE_TESTS, "procedure"),
    "ET-003": partial(field_present, sections.ET_003, DISCRIMINATIVE_TESTS, "expected_outcomes"),
    "WT-001": partial(field_present, sections.WT_001, DISCRIMINATIVE_TESTS, "potency_check"),
    "WT-002": rules_sections.ranked_by_score,
    "WT-003": rules_sections.scores_complete,
    "WT-004": partial(rules_results.outcomes_declared, sections.WT_004, DISCRIMINATIVE_TESTS),
    "WT-005": rules_results.results_have_verdict,
    "IT-001": rules_sections.discriminated_hypotheses_named,
    "IT-002": partial(field_present, sections.IT_002, DISCRIMINATIVE_TESTS, "feasibility"),
    "IT-003": rules_results.results_have_evidence,
    "EA-001": partial(enough_items, sections.EA_001, ASSUMPTION_LEDGER),
    "EA-002": rules_sections.scale_check_present,
    "EA-003": partial(field_present, sections.EA_003, ASSUMPTION_LEDGER, "statement"),
    "WA-001": partial(field_present, sections.WA_001, ASSUMPTION_LEDGER, "load"),
    "WA-002": partial(field_present, sections.WA_002, ASSUMPTION_LEDGER, "test"),
    "WA-003": rules_sections.calculations_present,
    "IA-001": partial(status_valid, sections.IA_001, ASSUMPTION_LEDGER),
    "EX-001": rules_sections.anomaly_section_present,
    "EX-002": rules_sections.empty_register_stated,
    "WX-001": partial(field_present, sections.WX_001, ANOMALY_REGISTER, "observation"),
    "WX-002": partial(field_present, sections.WX_002, ANOMALY_REGISTER, "conflicts_with"),
    "IX-001": partial(status_valid, sections.IX_001, ANOMALY_REGISTER),
    "EC-001": partial(enough_items, sections.EC_001, ADVERSARIAL_CRITIQUE),
    "EC-002": partial(field_present, sections.EC_002, ADVERSARIAL_CRITIQUE, "attack"),
    "WC-001": rules_sections.real_third_alternative_present,
    "WC-002": partial(field_present, sections.WC_002, ADVERSARIAL_CRITIQUE, "evidence"),
    "IC-001": partial(field_present, sections.IC_001, ADVERSARIAL_CRITIQUE, "current_status"),
    "EP-P01": rules_cross.cited_sections_exist,
    "EP-P02": rules_cross.cited_evidence_exists,
    "EP-P03": rules_cross.quotations_exact,
    "WP-P01": rules_cross.claims_sourced,
    "WP-P02": rules_cross.inferences_sourced,
    "WS-101": rules_cross.ranges_in_one_form,
    "WS-102": rules_cross.referenced_items_exist,
    "WS-103": rules_cross.hypothesis_names_differ,
    "WP-101": rules_cross.predicted_hypotheses_exist,
    "WT-101": rules_cross.discriminated_hypotheses_exist,
    "WA-101": rules_cross.scale_check_has_numbers,
}
# Rules about the text itself, which a model cannot violate (rulings, Small decisions)
FILE_ONLY = frozenset(
    {"EM-001", "ES-001", "ES-002", "EP-002", "EP-003", "WT-002", "EX-001", "EX-002"}
)


# The report, with its stable JSON form (design, JSON)


class LintReport(NamedTuple):
    """All violations in one artifact, worst first. Line numbers are those of the file."""

    violations: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, found: Iterable[Diagnostic]) -> Self:
        """Build a report with the violations in display order."""
        return cls(tuple(sorted(found, key=_sort_key)))

    @property
    def summary(self) -> Summary:
        """Return the number of violations per severity."""
        return Summary.of(self.violations)

    @property
    def valid(self) -> bool:
        """Return whether there is no error."""
        return self.summary.errors == 0

    @property
    def deltas(self) -> tuple[str, ...]:
        """Return the fixes that are deltas, each once.

        Those that replace a field come first, so that they do not undo one that adds to it.
        """
        blocks = dict.fromkeys(found.repaired for found in self.violations if found.repaired)
        return tuple(sorted(blocks, key=lambda block: '_replace": true' not in block))

    def to_json(self) -> dict[str, object]:
        """Return the stable JSON form; keys are only ever added."""
        return {
            "valid": self.valid,
            "summary": self.summary._asdict(),
            "violations": [found.to_json() for found in self.violations],
            "judgement": [
                {"section": section, "rules": list(rules), "question": question}
                for section, rules, question in QUESTIONS
            ],
        }


def _sort_key(found: Diagnostic) -> tuple[object, ...]:
    """Sort by severity and line, then by section, item, rule and field.

    Violations of one rule in one field stay in the order of the field. The section is that of the
    item, or else the one that the second letter of the code names.
    """
    item = found.item or ""
    match = ITEM_ID.fullmatch(item)
    prefix = (match[1] or found.item) if match else found.id[1]
    return (
        worst_first(found),
        _SECTION_RANK.get(prefix or "", -1),
        item_sort_key(item) if item else (0, ""),
        _RULE_RANK.get(found.id, len(RULES)),
        found.field or "",
    )


# The front matter first, then the sections. In the code of a rule, R means RT.
_SECTION_RANK = {"M": 0, "S": 1, "R": 2} | {
    section.prefix: number for number, section in enumerate(SECTIONS.values(), 2)
}
_RULE_RANK = {code_id: number for number, code_id in enumerate(RULES)}


# Linting


def lint(
    artifact: Artifact, source: SourceText | None = None, pack: EvidencePack | None = None
) -> LintReport:
    """Check an artifact against all rules.

    A compile gives no evidence pack: no version depends on that file (R31).
    """
    return _run_rules(make_context(artifact, source, pack))


def lint_text(
    text: str, source: SourceText | None = None, pack: EvidencePack | None = None
) -> LintReport:
    """Check the text of an artifact, with line numbers.

    This includes the rules about the text itself, and reports where the text departs from the
    format.
    """
    return lint_parsed(parse_artifact(text), source, pack)


def lint_parsed(
    parsed: ParsedArtifact, source: SourceText | None = None, pack: EvidencePack | None = None
) -> LintReport:
    """Check a file that is already parsed."""
    report = _run_rules(make_file_context(parsed, source, pack))
    return LintReport.of((*parsed.diagnostics, *report.violations))


def _run_rules(context: LintContext) -> LintReport:
    return LintReport.of(found for rule in RULES.values() for found in rule(context))
