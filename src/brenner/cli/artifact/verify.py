"""`brenner artifact verify`: every version rebuilt from the mail, and compared."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, TextIO

import click

from brenner.cli.artifact.common import (
    BOLD,
    CONTENT,
    DIM,
    FINE,
    INDENT,
    POSITIVE,
    Reader,
    target_of,
    write_unreadable,
)
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, write_diagnostics, write_json
from brenner.cli.terminal import (
    ATTENTION,
    Span,
    advice,
    fold,
    pager_option,
    thread_argument,
    write_lines,
)
from brenner.cli.workspace import desk_without_mail
from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.protocol.thread_ids import cross_reference
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.services.versions import Target, Verification, VerifiedVersion
    from brenner.services.workspace import Workspace


_PATIENCE = 1.0  # seconds without a word
_SHOWN_HASH = 12


@click.command(
    "verify",
    cls=Reporting,
    always={
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
@click.argument("thread", metavar="THREAD")
@click.option("--archive", metavar="FILE", help="Rebuild from this archive of the mail alone.")
@click.option(
    "--files", is_flag=True, help="Fail if the persisted file or a commit differs from its version."
)
@pager_option
@common_options
def verify(settings: Settings, thread: str, archive: str | None, files: bool, pager: bool) -> int:
    """Rebuild every version of a THREAD from the mail, and compare it with what was published.

    The hash of every message is computed again. The persisted file and its commits are compared
    with the versions that they name. THREAD@vN looks at that version alone. Where the store does
    not know the thread and artifacts/THREAD.mail.jsonl is there, that archive is taken. Exit code
    0: every version follows from the mail; 1: one does not, or there is none, or a message was
    altered; with --files also if a file or a commit differs; 2: the archive cannot be read.
    """
    target = target_of(thread)
    if target is None:
        message = f"`{escape_control(thread)}` is not a thread. Give a THREAD, or THREAD@vN."
        raise click.UsageError(message)
    found = _unreadable(archive)
    if found:
        return write_unreadable(found, archive or "", as_json=settings.as_json)
    with Reader(settings) as reader, _announced(f"Rebuilding {thread}"):
        workspace = reader.workspace if archive is None else desk_without_mail(settings)
        taken, result = _verified(workspace, target, archive, files=files)
    asked = _asked_for(result, target.version)
    if not asked:
        _refuse(result, target)
    from brenner.services.versions import is_verified, verification_json

    if settings.as_json:
        source = str(taken) if taken else None
        write_json(verification_json(result, asked, source, files=files))
    else:
        write_diagnostics(result.notes, result.thread_id, sys.stderr)
        write_lines(_lines(result, asked, taken, sys.stdout), pager=pager)
    return FINE if is_verified(result, asked, files=files) else CONTENT


def _unreadable(archive: str | None) -> Diagnostic | None:
    """Why an archive that was named cannot be opened."""
    try:
        if archive is not None:
            Path(archive).open("rb").close()
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        return messages_codes.UNREADABLE_INPUT.at(path=archive or "", reason=reason)
    except ValueError:
        return messages_codes.UNREADABLE_INPUT.at(
            path=archive or "", reason="that is not a file's name"
        )
    return None


def _verified(
    workspace: "Workspace", target: "Target", archive: str | None, *, files: bool
) -> "tuple[Path | None, Verification]":
    """What was rebuilt, and from which archive, if from one."""
    from brenner.services.versions import verify as rebuild_all

    if archive is not None:
        return Path(archive), rebuild_all(workspace, target.thread_id, Path(archive), files=files)
    try:
        return None, rebuild_all(workspace, target.thread_id, files=files)
    except RequestError as refused:
        beside = workspace.project.folder / _archive_path(target.thread_id)
        if refused.diagnostic.id != mail_codes.UNKNOWN_THREAD.id or not beside.is_file():
            raise
        return beside, rebuild_all(workspace, target.thread_id, beside, files=files)


def _archive_path(thread_id: str) -> str:
    return cross_reference(thread_id).artifact_path.removesuffix(".md") + ".mail.jsonl"


def _asked_for(result: "Verification", number: int | None) -> "list[VerifiedVersion]":
    """The version of that number, or the one below it that stopped the rebuilding; or all."""
    return [
        each
        for each in result.versions
        if number is None or each.number == number or (not each.ok and each.number < number)
    ]


def _refuse(result: "Verification", target: "Target") -> None:
    """Nothing was verified: that must not look like success."""
    thread_id, known = result.thread_id, [each.number for each in result.versions]
    if not known:
        path = cross_reference(thread_id).artifact_path
        raise RequestError(artifacts_codes.NO_VERSION_YET.at(thread_id=thread_id, path=path))
    words = (
        f"there is only v{known[0]}"
        if len(known) == 1
        else f"there are v{known[0]} to v{known[-1]}"
    )
    number = str(target.version)
    raise RequestError(
        artifacts_codes.UNKNOWN_VERSION.at(thread_id=thread_id, version=number, known=words)
    )


@contextmanager
def _announced(doing: str) -> Iterator[None]:
    """After a second, what is going on; for who watches."""
    if not sys.stderr.isatty():
        yield
        return
    timer = Timer(_PATIENCE, lambda: sys.stderr.write(f"{escape_control(doing)} …\n"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _lines(
    result: "Verification", asked: "list[VerifiedVersion]", taken: Path | None, out: TextIO
) -> Iterator[str]:
    source = f"from {taken}" if taken else "from the mail"
    title = f"{escape_control(result.thread_id)}, rebuilt {escape_control(source)}"
    yield fold([], [Span(title, BOLD)], INDENT, out)
    width = max(len(str(each.number)) for each in asked) + 1
    for each in asked:
        verdict = Span("ok     ", POSITIVE) if each.ok else Span("differs", ATTENTION)
        sha = each.artifact_sha256 if not out.isatty() else each.artifact_sha256[:_SHOWN_HASH]
        start = [Span(f"{INDENT}{f'v{each.number}':<{width}}  ", BOLD)]
        yield fold(start, [verdict, Span(f"  SHA-256 {sha}", DIM)], INDENT, out)
        if each.difference:
            yield fold([Span(INDENT * 3)], [Span(f"{each.difference}.")], INDENT * 3, out)
    from brenner.services.versions import verification_words

    wrong = [each for each in asked if not each.ok]
    yield fold([], [Span(verification_words(asked, result.altered))], "", out)
    if not wrong or result.altered:  # a message that was altered is restored, not voided
        return
    number, thread = wrong[0].number, thread_argument(result.thread_id)
    yield advice(
        f"`brenner session void {thread}@v{number}` takes it back; "
        f"`brenner session adopt {thread}` takes it as it is.",
        out,
    )
