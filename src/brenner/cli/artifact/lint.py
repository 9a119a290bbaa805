"""`brenner artifact lint`: check an artifact; report as text, JSON, SARIF or deltas."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from brenner import __version__
from brenner.cli.artifact.common import (
    ORIGIN_DEFAULTS,
    ArtifactReader,
    LoadedArtifact,
    display_name,
    join_target,
    lint_loaded,
    project_pack,
    project_source,
    read_file,
    write_unreadable,
)
from brenner.cli.io import STANDARD_INPUT
from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    EXIT_USAGE,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import (
    JsonCommand,
    count_by_severity,
    diagnostic_lines,
    styled,
    write_diagnostics,
    write_json,
)
from brenner.cli.terminal import pager_option, write_lines
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.lint.context import read_source_text
from brenner.lint.rules_cross import QUESTIONS
from brenner.text import escape_control, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.lint.context import SourceText
    from brenner.lint.linter import LintReport


_JSON_DEFAULTS = {"file": None} | ORIGIN_DEFAULTS | {"judgement": [], "notes": []}


@click.command(
    "lint",
    cls=JsonCommand,
    json_defaults=_JSON_DEFAULTS,
    epilog=examples(
        "brenner artifact lint RS-20251230-cell-fate",
        "brenner artifact lint artifacts/RS-20251230-cell-fate.md --fix",
    ),
)
@click.argument("target", required=False, metavar="[TARGET]")
@click.argument("version", required=False, metavar="[vN]")
@click.option("--source-text", metavar="FILE", help="Check that each §n is a heading in FILE.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print SARIF 2.1.0.")
@click.option("--fix", is_flag=True, help="Print deltas that fix what can be fixed.")
@click.option("--questions", is_flag=True, help="List questions that need human judgement.")
@pager_option
@common_options
def lint(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    target: str | None,
    version: str | None,
    source_text: str | None,
    as_sarif: bool,
    fix: bool,
    questions: bool,
    pager: bool,
) -> int:
    """Check an artifact against the rules of the protocol.

    TARGET is a THREAD (its latest version), THREAD@vN, a file, or -. It is optional if only one
    session is open. Warnings and infos do not make
    an artifact invalid. Line numbers of a version refer to the Markdown that `brenner artifact
    show` writes to a pipe. Anchors are looked up in the source text (§n) and in the evidence pack
    (EV-001) of the project.
    """
    if target == source_text == STANDARD_INPUT:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    name, _ = join_target(target, version)
    _check_one_format(json=settings.as_json, sarif=as_sarif, fix=fix, questions=questions)
    with ArtifactReader(settings) as reader:
        try:
            loaded = reader.read(name)
        except RequestError as refused:
            if as_sarif:  # an unknown thread or version is a failed run, too
                _write_failed_sarif(refused.diagnostic, name)
            raise
        given = _read_source_option(source_text)
        if isinstance(loaded, Diagnostic):
            return _report_unreadable(settings, loaded, name, as_sarif=as_sarif)
        if isinstance(given, Diagnostic):
            return _report_unreadable(settings, given, source_text or "", as_sarif=as_sarif)
        source, notes = (given, ()) if given else project_source(reader, loaded)
        notes = notes if source else (*notes, *_citation_notes(reader, loaded))
        pack = project_pack(reader, loaded)
        notes = notes if pack else (*notes, *_evidence_notes(reader, loaded))
        report = _with_unanswered(reader, loaded, lint_loaded(loaded, source, pack))
    notes = (*notes, *(loaded.version.notes if loaded.version else ()))
    if settings.as_json:
        write_json(_document(loaded, notes, report))
    else:
        write_diagnostics(notes, loaded.name, sys.stderr)
    if as_sarif:
        from brenner.lint.sarif import to_sarif

        write_json(to_sarif(report, _uri(loaded.given), __version__))
    elif fix:
        _write_deltas(report, loaded.name)
    elif not settings.as_json:
        write_lines(_report_lines(report, loaded.name, with_questions=questions), pager=pager)
    return EXIT_OK if report.valid else EXIT_INVALID


def _report_unreadable(settings: Settings, found: Diagnostic, name: str, *, as_sarif: bool) -> int:
    if not as_sarif:
        return write_unreadable(found, name, as_json=settings.as_json)
    _write_failed_sarif(found, name)
    return EXIT_USAGE


def _document(
    loaded: LoadedArtifact, notes: tuple[Diagnostic, ...], report: LintReport
) -> dict[str, object]:
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
        message = f"{' and '.join(options)} cannot be used together."
        raise click.UsageError(message)


def _write_failed_sarif(found: Diagnostic, name: str) -> None:
    from brenner.lint.sarif import failure_to_sarif

    write_json(failure_to_sarif(found, _uri(name), __version__))


def _read_source_option(name: str | None) -> SourceText | Diagnostic | None:
    """Return the section numbers of the source text, or a diagnostic if it cannot be read."""
    if name is None:
        return None
    text = read_file(name)
    if isinstance(text, Diagnostic):
        return text
    source = read_source_text(text, name)
    return codes.NO_SECTION_NUMBERS.at(path=display_name(name)) if source.is_empty else source


def _citation_notes(reader: ArtifactReader, loaded: LoadedArtifact) -> tuple[Diagnostic, ...]:
    """Return which cited sections no excerpt has, for a version without a source text."""
    if loaded.version is None or reader.workspace.project.source_text:
        return ()
    from brenner.services.citations import citation_notes  # only without a source text

    return citation_notes(reader.workspace.mailbox, loaded.version.thread_id, loaded.artifact)


def _with_unanswered(
    reader: ArtifactReader, loaded: LoadedArtifact, report: LintReport
) -> LintReport:
    """Return the report with the items of a thread that ask for an answer (R28).

    A file alone has no history, so its report is the same.
    """
    version = loaded.version
    if version is None or version.source != "mail":
        return report
    from brenner.services.session_status import unanswered_warnings

    return report.of((*report.violations, *unanswered_warnings(reader.workspace, version)))


def _evidence_notes(reader: ArtifactReader, loaded: LoadedArtifact) -> tuple[Diagnostic, ...]:
    """Return why anchors of a version are not looked up, if its project has an evidence pack."""
    if loaded.version is None or reader.workspace.project.evidence_pack is None:
        return ()
    from brenner.services.evidence import unchecked_notes  # only with an evidence pack

    return unchecked_notes(reader.workspace.project)


def _report_lines(report: LintReport, name: str, *, with_questions: bool) -> Iterator[str]:
    out = sys.stdout
    yield from diagnostic_lines(report.violations, name, out)
    if report.valid:
        verdict = styled("valid", out, fg="green", bold=True)
    else:
        verdict = styled("not valid", out, fg="magenta", bold=True)
    yield f"{escape_control(name)}: {verdict}: {count_by_severity(report.summary)}\n"
    count = len(report.deltas)
    if count:
        deltas = plural(count, "delta that fixes", "deltas that fix")
        yield f"  To print {deltas} what can be fixed: add `--fix`.\n"
    if with_questions:
        yield from (f"  {section}: {question}\n" for section, _, question in QUESTIONS)
    else:
        note = f"  {len(QUESTIONS)} questions need a reviewer. To list them: add `--questions`."
        yield styled(note, out, dim=True) + "\n"


def _write_deltas(report: LintReport, name: str) -> None:
    """Write the deltas to the standard output, all else to the standard error."""
    write_diagnostics(report.violations, name, sys.stderr)
    sys.stderr.write(f"{escape_control(name)}: {count_by_severity(report.summary)}\n")
    sys.stdout.write("\n".join(block.rstrip("\n") + "\n" for block in report.deltas))
    if report.violations and not report.deltas:
        sys.stderr.write("  Cannot fix automatically: every problem needs a decision.\n")


def _uri(name: str) -> str:
    from urllib.parse import quote

    path = name.replace("\\", "/")
    start = "file://" if path.startswith("/") else ""
    return "stdin" if name == STANDARD_INPUT else start + quote(path)
