"""Linting: of a model, and of a Markdown file, with the same result either way."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self

from brenner.artifact.format import ParsedArtifact
from brenner.artifact.model import Artifact, order_of
from brenner.artifact.parse import parse_artifact
from brenner.diagnostics.model import Diagnostic, Summary, worst_first
from brenner.lint import rules_cross as across
from brenner.lint import rules_cross as provenance
from brenner.lint import rules_sections as anomalies
from brenner.lint import rules_sections as assumptions
from brenner.lint import rules_sections as critiques
from brenner.lint import rules_sections as hypotheses
from brenner.lint import rules_sections as predictions
from brenner.lint import rules_sections as tests
from brenner.lint import rules_structure as metadata
from brenner.lint import rules_structure as research_thread
from brenner.lint import rules_structure as structure
from brenner.lint.context import Context, SourceText, context_of, context_of_file
from brenner.lint.rules_cross import QUESTIONS
from brenner.protocol.delta.schema import SECTIONS
from brenner.protocol.grammar import ITEM_ID

# The rules: which function finds which code. A code is found by one function and no other.


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
    "EP-001": predictions.predictions_enough,
    "EP-002": predictions.id_column,
    "EP-003": predictions.hypothesis_columns,
    "WP-001": predictions.cells_differ,
    "WP-002": predictions.well_formed_ids,
    "IP-001": predictions.third_alternative_cells,
    "ET-001": tests.tests_enough,
    "ET-002": tests.procedures,
    "ET-003": tests.expected_outcomes,
    "WT-001": tests.potency_checks,
    "WT-002": tests.ranked,
    "WT-003": tests.scores,
    "IT-001": tests.discriminates,
    "IT-002": tests.feasibility,
    "EA-001": assumptions.assumptions_enough,
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
    "IX-001": anomalies.anomalies_statuses,
    "EC-001": critiques.critiques_enough,
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


# What linting found, as a value and as the stable JSON (design, JSON).


class LintReport(NamedTuple):
    """Everything that was found in one artifact, worst first. Lines count in the file."""

    violations: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, found: Iterable[Diagnostic]) -> Self:
        """The report, in the order in which it is shown."""
        return cls(tuple(sorted(found, key=_order)))

    @property
    def summary(self) -> Summary:
        """How many of each severity."""
        return Summary.of(self.violations)

    @property
    def valid(self) -> bool:
        """Whether there is no error."""
        return self.summary.errors == 0

    @property
    def deltas(self) -> tuple[str, ...]:
        """The fixes that are deltas, each once. Those that replace come first: one that adds to a
        field must not be undone by one that replaces it.
        """
        blocks = dict.fromkeys(found.repaired for found in self.violations if found.repaired)
        return tuple(sorted(blocks, key=lambda block: '_replace": true' not in block))

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        return {
            "valid": self.valid,
            "summary": self.summary._asdict(),
            "violations": [found.to_json() for found in self.violations],
            "judgement": [question.to_json() for question in QUESTIONS],
        }


def _order(found: Diagnostic) -> tuple[object, ...]:
    """Severity and line; then the section, item, rule and field, where lines do not decide. What
    one rule finds in one field stays in the order of the field.

    The section is that of the item, or else the one that the second letter of the code names.
    """
    item = found.item or ""
    match = ITEM_ID.fullmatch(item)
    prefix = (match[1] or found.item) if match else found.id[1]
    return (
        worst_first(found),
        _SECTION_RANK.get(prefix or "", -1),
        order_of(item) if item else (0, ""),
        _RULE_RANK.get(found.id, len(RULES)),
        found.field or "",
    )


# The front matter, the sections of the artifact; R stands for RT in the code of a rule.
_SECTION_RANK = {"M": 0, "S": 1, "R": 2} | {
    section.prefix: number for number, section in enumerate(SECTIONS.values(), 2)
}
_RULE_RANK = {code_id: number for number, code_id in enumerate(RULES)}


def lint(artifact: Artifact, source: SourceText | None = None) -> LintReport:
    """What the rules find in an artifact."""
    return _examine(context_of(artifact, source))


def lint_text(text: str, source: SourceText | None = None) -> LintReport:
    """What the rules find in the text of an artifact, with lines.

    Rules about the text itself hold here, and the report tells where the text departs from the
    format.
    """
    return lint_parsed(parse_artifact(text), source)


def lint_parsed(parsed: ParsedArtifact, source: SourceText | None = None) -> LintReport:
    """The same, of a text that was read already."""
    report = _examine(context_of_file(parsed, source))
    return LintReport.of((*parsed.diagnostics, *report.violations))


def _examine(on: Context) -> LintReport:
    return LintReport.of(found for rule in RULES.values() for found in rule(on))
