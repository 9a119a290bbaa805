"""`brenner artifact lint`: check an artifact; report as text, JSON, SARIF or deltas."""

import sys
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple, TextIO

import click

from brenner import __version__
from brenner.cli.artifact.common import (
    EXIT_UNREADABLE,
    AnchorSource,
    ArtifactReader,
    LoadedArtifact,
    display_name,
    lint_loaded,
    project_source,
    read_file,
    write_unreadable,
)
from brenner.cli.io import STANDARD_INPUT
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import JsonCommand, count_by_severity, styled, write_diagnostics, write_json
from brenner.cli.terminal import pager_option, write_lines
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.lint.linter import LintReport
from brenner.lint.rules_cross import QUESTIONS
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.lint.context import SourceText


EXIT_OK, EXIT_INVALID = 0, 1
_JSON_DEFAULTS: dict[str, object] = {
    **dict.fromkeys(("file", "thread_id", "version", "source", "message_id")),
    "judgement": [],
    "notes": [],
}


class _ReportFormats(NamedTuple):
    """The requested format of the report. If none is set, it is text."""

    json: bool
    sarif: bool
    fix: bool
    questions: bool


@click.command(
    "lint",
    cls=JsonCommand,
    json_defaults=_JSON_DEFAULTS,
    epilog=examples(
        "brenner artifact lint RS-20251230-cell-fate",
        "brenner artifact lint artifacts/RS-20251230-cell-fate.md --fix",
    ),
)
@click.argument("target", metavar="TARGET")
@click.option("--source-text", metavar="FILE", help="Check that every §n is a heading of FILE.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print the report as SARIF 2.1.0.")
@click.option("--fix", is_flag=True, help="Print the deltas that mend what they can.")
@click.option("--questions", is_flag=True, help="List what people must judge.")
@pager_option
@common_options
def lint(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    target: str,
    source_text: str | None,
    as_sarif: bool,
    fix: bool,
    questions: bool,
    pager: bool,
) -> int:
    """Check an artifact against the rules: a THREAD's latest version, THREAD@vN, or a file.

    Lines count in the file; of a version, in its Markdown as `brenner artifact show` writes it
    into a pipe. Anchors of a version are looked up in the project's source text, where it names
    one. Exit code 0: valid; 1: it has errors, or there is no such thread or version; 2: it cannot
    be read, or is no artifact. Warnings and infos do not make an artifact invalid. With - the
    standard input is read.
    """
    if target == source_text == STANDARD_INPUT:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    forms = _ReportFormats(settings.as_json, as_sarif, fix, questions)
    _check_one_format(**forms._asdict())
    with ArtifactReader(settings) as reader:
        loaded, source_option = _read(reader, target, forms), _read_source_option(source_text)
        if isinstance(loaded, Diagnostic):
            return _report_unreadable(loaded, target, forms)
        if isinstance(source_option, Diagnostic):
            return _report_unreadable(source_option, source_text or "", forms)
        source = AnchorSource(source_option) if source_option else project_source(reader, loaded)
    report = lint_loaded(loaded, source)
    _write(report, loaded, source, forms, pager=pager)
    return EXIT_OK if report.valid else EXIT_INVALID


def _read(
    reader: ArtifactReader, target: str, forms: _ReportFormats
) -> LoadedArtifact | Diagnostic:
    """Read the artifact. An unknown thread or version also gives a failed run in SARIF."""
    try:
        return reader.read(target)
    except RequestError as refused:
        if forms.sarif:
            _write_failed_sarif(refused.diagnostic, target)
        raise


def _write(
    report: LintReport,
    loaded: LoadedArtifact,
    source: AnchorSource,
    forms: _ReportFormats,
    *,
    pager: bool,
) -> None:
    if forms.json:
        write_json(_document(loaded, source, report))
        return
    notes = (*source.notes, *(loaded.version.notes if loaded.version else ()))
    write_diagnostics(notes, loaded.name, sys.stderr)
    if forms.sarif:
        from brenner.lint.sarif import to_sarif

        write_json(to_sarif(report, _uri(loaded.given), __version__))
    elif forms.fix:
        _write_deltas(report, loaded.name)
    else:
        page = _TerminalBuffer()
        _write_report(report, loaded.name, page, with_questions=forms.questions)
        write_lines(page.getvalue().splitlines(keepends=True), pager=pager)


class _TerminalBuffer(StringIO):
    """A buffer that has the width and styles of the standard output, to be paged."""

    def isatty(self) -> bool:
        return sys.stdout.isatty()


def _document(
    loaded: LoadedArtifact, source: AnchorSource, report: LintReport
) -> dict[str, object]:
    """Return the report and the origin of the artifact.

    `notes` are the warnings about a version.
    """
    notes = (*source.notes, *(loaded.version.notes if loaded.version else ()))
    return {
        "file": loaded.given if loaded.parsed else None,
        **loaded.to_json(),
        **report.to_json(),
        "notes": [note.to_json() for note in notes],
    }


def _check_one_format(**forms: bool) -> None:
    """Refuse two formats at once. The JSON document includes the questions anyway."""
    options = [f"--{name}" for name, is_given in forms.items() if is_given]
    if len(options) > 1 and options != ["--json", "--questions"]:
        message = f"{' and '.join(options)} do not go together: each is a form of the report."
        raise click.UsageError(message)


def _report_unreadable(found: Diagnostic, name: str, forms: _ReportFormats) -> int:
    if not forms.sarif:
        return write_unreadable(found, name, as_json=forms.json)
    _write_failed_sarif(found, name)
    return EXIT_UNREADABLE


def _write_failed_sarif(found: Diagnostic, name: str) -> None:
    from brenner.lint.sarif import failure_to_sarif

    write_json(failure_to_sarif(found, _uri(name), __version__))


def _read_source_option(name: str | None) -> "SourceText | Diagnostic | None":
    """Return the section numbers of the source text, or a diagnostic if it cannot be read."""
    if name is None:
        return None
    from brenner.lint.context import read_source_text

    text = read_file(name)
    if isinstance(text, Diagnostic):
        return text
    source = read_source_text(text, name)
    return codes.NO_SECTION_NUMBERS.at(path=display_name(name)) if source.is_empty else source


def _write_report(report: LintReport, name: str, out: TextIO, *, with_questions: bool) -> None:
    write_diagnostics(report.violations, name, out)
    if report.valid:
        verdict = styled("valid", out, fg="green", bold=True)
    else:
        verdict = styled("not valid", out, fg="magenta", bold=True)
    out.write(f"{escape_control(name)}: {verdict}: {count_by_severity(report.summary)}\n")
    count = len(report.deltas)
    if count:
        out.write(f"  `--fix` prints {count} delta{'s' * (count != 1)} ready to send.\n")
    if with_questions:
        out.writelines(f"  {each.section.id}: {each.question}\n" for each in QUESTIONS)
    else:
        note = f"  {len(QUESTIONS)} questions are left to people: `--questions` lists them."
        out.write(styled(note, out, dim=True) + "\n")


def _write_deltas(report: LintReport, name: str) -> None:
    """Write the deltas to the standard output, all else to the standard error."""
    write_diagnostics(report.violations, name, sys.stderr)
    sys.stderr.write(f"{escape_control(name)}: {count_by_severity(report.summary)}\n")
    sys.stdout.write("\n".join(block.rstrip("\n") + "\n" for block in report.deltas))
    if report.violations and not report.deltas:
        sys.stderr.write("  No fix is certain: what was found needs an author.\n")


def _uri(name: str) -> str:
    from urllib.parse import quote

    path = name.replace("\\", "/")
    start = "file://" if path.startswith("/") else ""
    return "stdin" if name == STANDARD_INPUT else start + quote(path)
