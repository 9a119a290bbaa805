"""`brenner artifact verify`: rebuild every version from the mail, and compare it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from brenner.cli.artifact.common import (
    BOLD,
    DIM,
    INDENT,
    POSITIVE,
    ArtifactReader,
    join_target,
    write_unreadable,
)
from brenner.cli.io import unreadable_input
from brenner.cli.options import EXIT_INVALID, EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, slow_notice, write_diagnostics, write_json
from brenner.cli.terminal import ATTENTION, Span, fold, format_hint, pager_option, write_lines
from brenner.cli.workspace import workspace_without_mail
from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes.publishing import RECORD_NEWER
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.protocol.thread_ids import cross_reference
from brenner.text import escape_control, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.services.version_store import VerifiedVersion
    from brenner.services.versions import Target, Verification
    from brenner.services.workspace import Workspace


_HASH_CHARACTERS = 12


@click.command(
    "verify",
    cls=JsonCommand,
    json_defaults={
        "thread_id": None,
        "versions": [],
        "ok": False,
        "archive": None,
        "altered": [],
        "files": [],
    },
    epilog=examples(
        "brenner artifact verify RS-20251230-cell-fate",
        "brenner artifact verify RS-20251230-cell-fate --files",
        "brenner artifact verify RS-20251230-cell-fate --archive cell-fate.mail.jsonl",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.argument("version", required=False, metavar="[vN]")
@click.option("--archive", metavar="FILE", help="Rebuild from this archive of the mail only.")
@click.option("--files", is_flag=True, help="Fail if the saved file or a commit differs.")
@pager_option
@common_options
def verify(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    thread: str | None,
    version: str | None,
    archive: str | None,
    files: bool,
    pager: bool,
) -> int:
    """Rebuild every version of THREAD from the mail and compare it with the published one.

    Use it to prove that an artifact follows from its mail. The hash of each message is computed
    again. The saved file and its commits are compared, too. THREAD@vN checks one version. THREAD is
    optional if only one session is open. If the store does not contain the thread,
    `artifacts/THREAD.mail.jsonl` is used.
    """
    name, _ = join_target(thread, version)
    found = _archive_problem(archive)
    if found:
        return write_unreadable(found, archive or "", as_json=settings.as_json)
    with ArtifactReader(settings) as reader:
        target = reader.target(name) if archive is None else _target_in_archive(name)
        if target is None:
            message = f"`{escape_control(name)}` is not a thread ID. Give THREAD or THREAD@vN."
            raise click.UsageError(message)
        workspace = reader.workspace if archive is None else workspace_without_mail(settings)
        with slow_notice(escape_control(f"Rebuilding {target.thread_id}")):
            archive_path, result = _rebuild(workspace, target, archive, files=files)
    requested = _requested_versions(result, target.version)
    if not requested:
        _raise_nothing_verified(result, target)
    from brenner.services.versions import is_verified, verification_json

    if settings.as_json:
        source = str(archive_path) if archive_path else None
        write_json(verification_json(result, requested, source, files=files))
    else:
        write_diagnostics(result.notes, result.thread_id, sys.stderr)
        write_lines(_lines(result, requested, archive_path, sys.stdout), pager=pager)
    return EXIT_OK if is_verified(result, requested, files=files) else EXIT_INVALID


def _target_in_archive(name: str) -> Target | None:
    """Return the thread that a name refers to, without looking into the store."""
    from brenner.services.versions import parse_target

    return parse_target(name)


def _archive_problem(archive: str | None) -> Diagnostic | None:
    try:
        if archive is not None:
            Path(archive).open("rb").close()
    except (OSError, ValueError) as error:
        return unreadable_input(archive or "", error)
    return None


def _rebuild(
    workspace: Workspace, target: Target, archive: str | None, *, files: bool
) -> tuple[Path | None, Verification]:
    """Rebuild the versions. Return the archive that was used, if any, and the result."""
    from brenner.services.versions import verify as rebuild_all

    if archive is not None:
        return Path(archive), rebuild_all(workspace, target.thread_id, Path(archive), files=files)
    try:
        return None, rebuild_all(workspace, target.thread_id, files=files)
    except RequestError as refused:
        path = cross_reference(target.thread_id).artifact_path
        beside = workspace.project.folder / (path.removesuffix(".md") + ".mail.jsonl")
        if refused.diagnostic.id != mail_codes.UNKNOWN_THREAD.id or not beside.is_file():
            raise
        return beside, rebuild_all(workspace, target.thread_id, beside, files=files)


def _requested_versions(result: Verification, number: int | None) -> list[VerifiedVersion]:
    """Return all versions, or the requested one and any lower one that stopped the rebuild."""
    return [
        each
        for each in result.versions
        if number is None or each.number == number or (not each.ok and each.number < number)
    ]


def _raise_nothing_verified(result: Verification, target: Target) -> None:
    """Raise RequestError if nothing was verified, so that it does not look like success."""
    thread_id, known = result.thread_id, [each.number for each in result.versions]
    if not known:
        path = cross_reference(thread_id).artifact_path
        raise RequestError(artifacts_codes.NO_VERSION_YET.at(thread_id=thread_id, path=path))
    words = (
        f"the only version is v{known[0]}"
        if len(known) == 1
        else f"the versions are v{known[0]} to v{known[-1]}"
    )
    number = str(target.version)
    raise RequestError(
        artifacts_codes.UNKNOWN_VERSION.at(thread_id=thread_id, version=number, known=words)
    )


def _lines(
    result: Verification, requested: list[VerifiedVersion], archive_path: Path | None, out: TextIO
) -> Iterator[str]:
    source = f"from {archive_path}" if archive_path else "from the mail"
    title = f"{escape_control(result.thread_id)}, rebuilt {escape_control(source)}"
    yield fold([], [Span(title, BOLD)], INDENT, out)
    width = max(len(str(each.number)) for each in requested) + 1
    for each in requested:
        verdict = Span("ok     ", POSITIVE) if each.ok else Span("differs", ATTENTION)
        sha = each.artifact_sha256 if not out.isatty() else each.artifact_sha256[:_HASH_CHARACTERS]
        start = [Span(f"{INDENT}{f'v{each.number}':<{width}}  ", BOLD)]
        yield fold(start, [verdict, Span(f"  SHA-256 {sha}", DIM)], INDENT, out)
        if each.difference:
            yield fold([Span(INDENT * 3)], [Span(f"{each.difference}.")], INDENT * 3, out)
    from brenner.services.versions import verification_summary

    wrong = [each for each in requested if not each.ok]
    yield fold([], [Span(verification_summary(requested, result.altered))], "", out)
    # Voiding helps neither an altered message nor a newer version.
    if not wrong or result.altered or any(each.code is RECORD_NEWER for each in result.notes):
        return
    number, thread = wrong[0].number, thread_argument(result.thread_id)
    yield format_hint(
        f"To withdraw it: `brenner session void {thread}@v{number}`. "
        f"To keep it as it is: `brenner session adopt {thread}`.",
        out,
    )
