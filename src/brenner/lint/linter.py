"""Linting: of a model, and of a Markdown file, with the same result either way."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self

from brenner.artifact.format import ParsedArtifact
from brenner.artifact.model import Artifact, order_of
from brenner.artifact.parse import parse_artifact
from brenner.diagnostics.model import Diagnostic, Summary, worst_first
from brenner.lint import rules_cross, rules_sections, rules_structure
from brenner.lint.context import Context, SourceText, context_of, context_of_file
from brenner.lint.rules_cross import QUESTIONS
from brenner.protocol.delta.schema import SECTIONS
from brenner.protocol.grammar import ITEM_ID

# The rules: which function finds which code. A code is found by one function and no other.


Rule = Callable[[Context], Iterator[Diagnostic]]

RULES: dict[str, Rule] = {
    "EM-001": rules_structure.front_matter,
    "EM-002": rules_structure.session_id,
    "EM-003": rules_structure.created_at,
    "EM-004": rules_structure.status,
    "WM-001": rules_structure.contributors,
    "WM-002": rules_structure.updated_at,
    "IM-001": rules_structure.thread_id,
    "IM-002": rules_structure.version,
    "ES-001": rules_structure.sections,
    "ES-002": rules_structure.order,
    "ES-003": rules_structure.well_formed_ids,
    "ES-004": rules_structure.unique_ids,
    "WS-001": rules_structure.numbering,
    "ER-001": rules_structure.question,
    "ER-002": rules_structure.context,
    "WR-001": rules_structure.anchors,
    "IR-001": rules_structure.why_it_matters,
    "EH-001": rules_sections.enough,
    "EH-002": rules_sections.not_too_many,
    "EH-003": rules_sections.third_alternative,
    "EH-004": rules_sections.claims,
    "WH-001": rules_sections.anchors,
    "WH-002": rules_sections.well_formed_anchors,
    "WH-003": rules_sections.labelled_inference,
    "IH-001": rules_sections.mechanisms,
    "EP-001": rules_sections.predictions_enough,
    "EP-002": rules_sections.id_column,
    "EP-003": rules_sections.hypothesis_columns,
    "WP-001": rules_sections.cells_differ,
    "WP-002": rules_sections.well_formed_ids,
    "IP-001": rules_sections.third_alternative_cells,
    "ET-001": rules_sections.tests_enough,
    "ET-002": rules_sections.procedures,
    "ET-003": rules_sections.expected_outcomes,
    "WT-001": rules_sections.potency_checks,
    "WT-002": rules_sections.ranked,
    "WT-003": rules_sections.scores,
    "IT-001": rules_sections.discriminates,
    "IT-002": rules_sections.feasibility,
    "EA-001": rules_sections.assumptions_enough,
    "EA-002": rules_sections.scale_check,
    "EA-003": rules_sections.statements,
    "WA-001": rules_sections.loads,
    "WA-002": rules_sections.tests,
    "WA-003": rules_sections.calculations,
    "IA-001": rules_sections.statuses,
    "EX-001": rules_sections.section,
    "EX-002": rules_sections.empty_in_words,
    "WX-001": rules_sections.observations,
    "WX-002": rules_sections.conflicts,
    "IX-001": rules_sections.anomalies_statuses,
    "EC-001": rules_sections.critiques_enough,
    "EC-002": rules_sections.attacks,
    "WC-001": rules_sections.real_third_alternative,
    "WC-002": rules_sections.evidence,
    "IC-001": rules_sections.current_statuses,
    "EP-P01": rules_cross.cited_sections,
    "WP-P01": rules_cross.sourced_claims,
    "WP-P02": rules_cross.sourced_inferences,
    "WS-101": rules_cross.anchors_in_one_form,
    "WS-102": rules_cross.referenced_items,
    "WS-103": rules_cross.different_names,
    "WP-101": rules_cross.predicted_hypotheses,
    "WT-101": rules_cross.tested_hypotheses,
    "WA-101": rules_cross.numbers,
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
