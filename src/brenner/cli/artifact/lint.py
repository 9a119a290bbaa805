"""`brenner artifact lint`: what the rules find in the Markdown file of an artifact."""

import sys
from typing import TYPE_CHECKING

import click

from brenner import __version__
from brenner.cli.artifact.files import (
    UNREADABLE,
    read_artifact,
    read_file,
    shown_name,
    write_unreadable,
)
from brenner.cli.options import Settings, common_options
from brenner.cli.output import counted, styled, write_diagnostics, write_json
from brenner.cli.reading import STANDARD_INPUT
from brenner.diagnostics.codes import input as codes
from brenner.diagnostics.model import Diagnostic
from brenner.diagnostics.visible import visible
from brenner.lint.judgement import QUESTIONS
from brenner.lint.run import lint_parsed

if TYPE_CHECKING:
    from brenner.lint.report import LintReport
    from brenner.lint.source_text import SourceText

FINE, CONTENT = 0, 1


@click.command("lint")
@click.argument("file", metavar="FILE|-")
@click.option("--source-text", metavar="FILE", help="Check that every §n is a heading of FILE.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print the report as SARIF 2.1.0.")
@click.option("--fix", is_flag=True, help="Print the deltas that mend what they can.")
@click.option("--questions", is_flag=True, help="List what people must judge.")
@common_options
def lint(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    file: str,
    source_text: str | None,
    as_sarif: bool,
    fix: bool,
    questions: bool,
) -> int:
    """Check the Markdown file of an artifact against the rules.

    Exit code 0: valid; 1: it has errors; 2: it cannot be read, or is no artifact. Warnings and
    infos do not make an artifact invalid. With - the standard input is read.
    """
    if file == source_text == STANDARD_INPUT:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    _one_of(json=settings.as_json, sarif=as_sarif, fix=fix, questions=questions)
    parsed, source = read_artifact(file), _source(source_text)
    if isinstance(parsed, Diagnostic):
        return _unreadable(parsed, file, as_json=settings.as_json, as_sarif=as_sarif)
    if isinstance(source, Diagnostic):
        name = source_text or ""
        return _unreadable(source, name, as_json=settings.as_json, as_sarif=as_sarif)
    report = lint_parsed(parsed, source)
    if as_sarif:
        _write_sarif(report, file)
    elif settings.as_json:
        write_json({"file": file} | report.to_json())
    elif fix:
        _write_deltas(report, file)
    else:
        _write_report(report, file, with_questions=questions)
    return FINE if report.valid else CONTENT


def _one_of(**forms: bool) -> None:
    """Refuse two forms at once. The questions are in the JSON document anyway."""
    given = [f"--{name}" for name, is_given in forms.items() if is_given]
    if len(given) > 1 and given != ["--json", "--questions"]:
        message = f"{' and '.join(given)} do not go together: each is a form of the report."
        raise click.UsageError(message)


def _unreadable(found: Diagnostic, name: str, *, as_json: bool, as_sarif: bool) -> int:
    if not as_sarif:
        return write_unreadable(found, name, as_json=as_json)
    from brenner.lint.sarif import failed_sarif

    write_json(failed_sarif(found, _uri(name), __version__))
    return UNREADABLE


def _source(name: str | None) -> "SourceText | Diagnostic | None":
    """The section numbers of the source text, or why they cannot be had."""
    if name is None:
        return None
    from brenner.lint.source_text import read_source_text

    text = read_file(name)
    if isinstance(text, Diagnostic):
        return text
    source = read_source_text(text, name)
    return codes.NO_SECTION_NUMBERS.at(path=shown_name(name)) if source.is_empty else source


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
    if report.violations and not report.deltas:
        sys.stderr.write("  No fix is certain: what was found needs an author.\n")


def _write_sarif(report: "LintReport", name: str) -> None:
    from brenner.lint.sarif import to_sarif

    write_json(to_sarif(report, _uri(name), __version__))


def _uri(name: str) -> str:
    from urllib.parse import quote

    path = name.replace("\\", "/")
    start = "file://" if path.startswith("/") else ""
    return "stdin" if name == STANDARD_INPUT else start + quote(path)
