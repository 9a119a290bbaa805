"""Run the lint rules on an artifact or on a Markdown file. Both give the same report."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self

from brenner.artifact.format import ParsedArtifact
from brenner.artifact.model import Artifact, item_sort_key
from brenner.artifact.parse import parse_artifact
from brenner.diagnostics.model import Diagnostic, Summary, worst_first
from brenner.lint import rules_cross, rules_sections, rules_structure
from brenner.lint.context import LintContext, SourceText, make_context, make_file_context
from brenner.lint.rules_cross import QUESTIONS
from brenner.protocol.delta.schema import SECTIONS
from brenner.protocol.grammar import ITEM_ID

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
    "ER-001": rules_structure.research_question_present,
    "ER-002": rules_structure.research_context_present,
    "WR-001": rules_structure.research_anchors_present,
    "IR-001": rules_structure.why_it_matters_present,
    "EH-001": rules_sections.enough_hypotheses,
    "EH-002": rules_sections.not_too_many_hypotheses,
    "EH-003": rules_sections.third_alternative_present,
    "EH-004": rules_sections.claims_present,
    "WH-001": rules_sections.hypothesis_anchors_present,
    "WH-002": rules_sections.anchors_well_formed,
    "WH-003": rules_sections.inference_labelled,
    "IH-001": rules_sections.mechanisms_present,
    "EP-001": rules_sections.enough_predictions,
    "EP-002": rules_sections.id_column_present,
    "EP-003": rules_sections.hypothesis_columns_present,
    "WP-001": rules_sections.prediction_cells_differ,
    "WP-002": rules_sections.prediction_ids_well_formed,
    "IP-001": rules_sections.third_alternative_predicted,
    "ET-001": rules_sections.enough_tests,
    "ET-002": rules_sections.procedures_present,
    "ET-003": rules_sections.expected_outcomes_present,
    "WT-001": rules_sections.potency_checks_present,
    "WT-002": rules_sections.ranked_by_score,
    "WT-003": rules_sections.scores_complete,
    "IT-001": rules_sections.discriminated_hypotheses_named,
    "IT-002": rules_sections.feasibility_present,
    "EA-001": rules_sections.enough_assumptions,
    "EA-002": rules_sections.scale_check_present,
    "EA-003": rules_sections.statements_present,
    "WA-001": rules_sections.loads_present,
    "WA-002": rules_sections.assumption_tests_present,
    "WA-003": rules_sections.calculations_present,
    "IA-001": rules_sections.assumption_status_valid,
    "EX-001": rules_sections.anomaly_section_present,
    "EX-002": rules_sections.empty_register_stated,
    "WX-001": rules_sections.observations_present,
    "WX-002": rules_sections.conflicts_with_present,
    "IX-001": rules_sections.anomaly_status_valid,
    "EC-001": rules_sections.enough_critiques,
    "EC-002": rules_sections.attacks_present,
    "WC-001": rules_sections.real_third_alternative_present,
    "WC-002": rules_sections.critique_evidence_present,
    "IC-001": rules_sections.critique_status_present,
    "EP-P01": rules_cross.cited_sections_exist,
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
            "judgement": [question.to_json() for question in QUESTIONS],
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


def lint(artifact: Artifact, source: SourceText | None = None) -> LintReport:
    """Check an artifact against all rules."""
    return _run_rules(make_context(artifact, source))


def lint_text(text: str, source: SourceText | None = None) -> LintReport:
    """Check the text of an artifact, with line numbers.

    This includes the rules about the text itself, and reports where the text departs from the
    format.
    """
    return lint_parsed(parse_artifact(text), source)


def lint_parsed(parsed: ParsedArtifact, source: SourceText | None = None) -> LintReport:
    """Check a file that is already parsed."""
    report = _run_rules(make_file_context(parsed, source))
    return LintReport.of((*parsed.diagnostics, *report.violations))


def _run_rules(context: LintContext) -> LintReport:
    return LintReport.of(found for rule in RULES.values() for found in rule(context))
