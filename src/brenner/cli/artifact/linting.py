"""What the rules say of an artifact that was read, with the source text that the project names."""

from typing import TYPE_CHECKING, NamedTuple

from brenner.cli.artifact.targets import Loaded, Reader
from brenner.cli.output import counted
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.lint.linter import LintReport, lint_parsed

if TYPE_CHECKING:
    from brenner.lint.context import SourceText


class Source(NamedTuple):
    """The section numbers to look anchors up in, where there are any; and why there are none."""

    text: "SourceText | None" = None
    notes: tuple[Diagnostic, ...] = ()


NO_SOURCE = Source()


def project_source(reader: Reader, loaded: Loaded) -> Source:
    """The source text of the project that a version belongs to; a file belongs to none."""
    if loaded.version is None:
        return NO_SOURCE
    from brenner.services.compile import source_text_of

    try:
        return Source(source_text_of(reader.desk.project), ())
    except Refused as refused:
        return Source(None, (refused.diagnostic,))


def report_of(loaded: Loaded, source: Source = NO_SOURCE) -> LintReport:
    """The report, with the lines of the artifact's Markdown."""
    parsed = loaded.parsed
    if parsed is None:
        from brenner.artifact.parse import parse_artifact

        parsed = parse_artifact(loaded.text)
    return lint_parsed(parsed, source.text)


def verdict_of(report: LintReport) -> str:
    """`not valid: 2 errors, 1 warning`."""
    return f"{'valid' if report.valid else 'not valid'}: {counted(report.summary)}"
