"""`brenner artifact lint`: what the rules find in the Markdown file of an artifact."""

import sys
from typing import TYPE_CHECKING

import click

from brenner import __version__
from brenner.cli.artifact_files import shown_name, write_unreadable
from brenner.cli.options import Settings, common_options
from brenner.cli.output import counted, styled, write_diagnostics, write_json
from brenner.cli.reading import STANDARD_INPUT, read_text
from brenner.diagnostics.codes import input as codes
from brenner.diagnostics.model import Diagnostic
from brenner.diagnostics.visible import visible
from brenner.limits import MOST_BODY_BYTES
from brenner.lint.judgement import QUESTIONS
from brenner.lint.run import lint_text

if TYPE_CHECKING:
    from brenner.lint.report import LintReport
    from brenner.lint.source_text import SourceText

FINE, CONTENT = 0, 1


@click.command("lint")
@click.argument("file", metavar="FILE|-")
@click.option("--source-text", metavar="FILE", help="Check that every §n is a heading of FILE.")
@click.option("--sarif", "form", flag_value="sarif", help="Print the report as SARIF 2.1.0.")
@click.option("--fix", "form", flag_value="fix", help="Print the deltas that mend what they can.")
@click.option("--questions", "form", flag_value="questions", help="List what people must judge.")
@common_options
def lint(settings: Settings, file: str, source_text: str | None, form: str | None) -> int:
    """Check the Markdown file of an artifact against the rules.

    Exit code 0: valid; 1: it has errors; 2: it cannot be read. Warnings and infos do not make an
    artifact invalid. With - the standard input is read.
    """
    if file == source_text == STANDARD_INPUT:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    as_json = settings.as_json or form == "sarif"
    text, source = _read(file), _source(source_text)
    if isinstance(text, Diagnostic):
        return write_unreadable(text, file, as_json=as_json)
    if isinstance(source, Diagnostic):
        return write_unreadable(source, source_text or "", as_json=as_json)
    report = lint_text(text, source)
    if form == "sarif":
        _write_sarif(report, file)
    elif settings.as_json:
        write_json({"file": file} | report.to_json())
    elif form == "fix":
        _write_deltas(report, file)
    else:
        _write_report(report, file, with_questions=form == "questions")
    return FINE if report.valid else CONTENT


def _read(name: str) -> str | Diagnostic:
    """A text, whatever it is: the rules say what a file lacks that is no artifact."""
    text = read_text(name)
    if isinstance(text, str) or text.id != codes.MESSAGE_TOO_LARGE.id:
        return text
    reason = f"it is larger than {MOST_BODY_BYTES} bytes"
    return codes.UNREADABLE_INPUT.at(path=name, reason=reason)


def _source(name: str | None) -> "SourceText | Diagnostic | None":
    """The section numbers of the source text, or why they cannot be had."""
    if name is None:
        return None
    from brenner.lint.source_text import read_source_text

    text = _read(name)
    if isinstance(text, Diagnostic):
        return text
    source = read_source_text(text, name)
    if source.is_empty:
        reason = "none of its headings has a section number, as in `## §42 Title`"
        return codes.UNREADABLE_INPUT.at(path=name, reason=reason)
    return source


def _write_report(report: "LintReport", name: str, *, with_questions: bool) -> None:
    out, shown = sys.stdout, visible(shown_name(name))
    write_diagnostics(report.violations, shown_name(name), out)
    if report.valid:
        verdict = styled("valid", out, fg="green", bold=True)
    else:
        verdict = styled("not valid", out, fg="magenta", bold=True)
    out.write(f"{shown}: {verdict}: {counted(report.summary)}\n")
    count = len(report.deltas)
    if count:
        out.write(f"  `--fix` prints {count} delta{'s' * (count != 1)} ready to send.\n")
    if with_questions:
        out.writelines(f"  {each.section.id}: {each.question}\n" for each in QUESTIONS)
    else:
        note = f"  {len(QUESTIONS)} questions are left to people: `--questions` lists them."
        out.write(styled(note, out, dim=True) + "\n")


def _write_deltas(report: "LintReport", name: str) -> None:
    """The deltas go to the standard output, everything else to the other one."""
    write_diagnostics(report.violations, shown_name(name), sys.stderr)
    sys.stderr.write(f"{visible(shown_name(name))}: {counted(report.summary)}\n")
    sys.stdout.write("\n".join(block.rstrip("\n") + "\n" for block in report.deltas))


def _write_sarif(report: "LintReport", name: str) -> None:
    from urllib.parse import quote

    from brenner.lint.sarif import to_sarif

    path = name.replace("\\", "/")
    start = "file://" if path.startswith("/") else ""
    uri = "stdin" if name == STANDARD_INPUT else start + quote(path)
    write_json(to_sarif(report, uri, __version__))
