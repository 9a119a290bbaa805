"""Linting: of a model, and of a Markdown file, with the same result either way."""

from brenner.artifact.format import ParsedArtifact
from brenner.artifact.model import Artifact
from brenner.artifact.parse import parse_artifact
from brenner.lint.context import Context, context_of, context_of_file
from brenner.lint.report import LintReport
from brenner.lint.rules import RULES
from brenner.lint.source_text import SourceText


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
