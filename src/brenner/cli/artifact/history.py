"""`brenner artifact history`: the versions of a thread, as the publish document draws them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

import click

from brenner.cli.artifact.common import BOLD, DIM, ArtifactReader
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, write_json
from brenner.cli.table import format_compiled_time
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    STYLE_OF_TYPE,
    Span,
    Style,
    fold,
    format_hint,
    format_message,
    pager_option,
    write_lines,
)
from brenner.protocol.message_types import DELTA
from brenner.text import escape_control, plural, short_commit, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.diagnostics.model import Diagnostic
    from brenner.services.versions import ListedVersion
    from brenner.session.versions import VersionHistory


_BRANCH, _LAST_BRANCH, _TRUNK, _NO_TRUNK = "├── ", "└── ", "│   ", "    "
# A version that is only in the mail, in a file that is not committed, and in a commit
_STATES: dict[str, tuple[str, Style]] = {
    "Draft": ("Not saved to a file", DIM),
    "Pending": ("Saved, not committed", ATTENTION),
    "Persisted": ("Committed", PLAIN),
}


# A COMPILED message in the tree: its id, its line, and the lines below it
_HistoryEntry = tuple[int, list[Span], list[list[Span]]]


@click.command(
    "history",
    cls=JsonCommand,
    json_defaults={"thread_id": None, "versions": [], "void": [], "unread": None},
    epilog=examples(
        "brenner artifact history RS-20251230-cell-fate",
        "brenner artifact history RS-20251230-cell-fate --json",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@pager_option
@common_options
def history(settings: Settings, thread: str | None, pager: bool) -> int:
    """List the versions of THREAD, each with a summary and its saved file.

    THREAD is optional if only one session is open. A COMPILED message that is not a version is
    listed with the reason.
    """
    from brenner.services.versions import load_version_list, version_list_json

    with ArtifactReader(settings) as reader:
        history, versions = load_version_list(reader.workspace, reader.thread(thread))
    if settings.as_json:
        write_json(version_list_json(history, versions))
    else:
        write_lines(_lines(history, versions, sys.stdout), pager=pager)
    return EXIT_OK


def _lines(
    history: VersionHistory, versions: tuple[ListedVersion, ...], out: TextIO
) -> Iterator[str]:
    from brenner.services.versions import not_versions

    yield fold([Span("Thread: ")], [Span(escape_control(history.thread_id), BOLD)], "", out)
    latest = versions[-1] if versions else None
    entries = [_version_entry(each, is_latest=each is latest) for each in versions]
    entries += [_no_version_entry(each) for each in not_versions(history)]
    entries.sort(key=lambda entry: entry[0])
    for number, (_, line, below) in enumerate(entries, 1):
        is_last = number == len(entries)
        margin = Span(_NO_TRUNK if is_last else _TRUNK, DIM)
        yield fold([Span(_LAST_BRANCH if is_last else _BRANCH, DIM)], line, margin.text, out)
        yield from (fold([margin], spans, margin.text, out) for spans in below)
    thread = thread_argument(history.thread_id)
    count = len(history.unread)
    if not versions:
        yield format_hint(f"No version yet. To publish the first: `brenner compile {thread}`", out)
    elif count:
        yield "\n"
        text = f"{plural(count, 'unread message')}."
        if any(each.type == DELTA.name for each in history.unread):
            text += f" To compile: `brenner compile {thread}`"
        yield format_message(text, out)


def _version_entry(version: ListedVersion, *, is_latest: bool) -> _HistoryEntry:
    """Return an entry such as `COMPILED: v3 (2025-12-30T14:00:00Z)  ← latest`, with its summary."""
    line = [
        Span("COMPILED:", STYLE_OF_TYPE["COMPILED"]),
        Span(f" v{version.number} ({format_compiled_time(version.compiled_at, sys.stdout)})"),
    ]
    if is_latest:
        line.append(Span("  ← latest", BOLD))
    state, commit = version.persistence.status, version.persistence.commit
    commit_text = f" in {escape_control(short_commit(commit))}" if commit else ""
    text, style = _STATES.get(state, (state, PLAIN))
    below = [Span(text, style), Span(commit_text, DIM)]
    if version.status == "closed":
        below.append(Span(", closed"))
    if version.summary:
        below += [Span(": ", DIM), Span(escape_control(version.summary), DIM)]
    return version.message.id, line, [below]


def _no_version_entry(found: Diagnostic) -> _HistoryEntry:
    """Return the entry of a COMPILED message that is not a version: the reason and the fix."""
    code = Span(f"  {found.shown_id}", DIM)
    line = [Span(f"message {found.message_id}: not a version", ATTENTION), code]
    return found.message_id or 0, line, [[Span(found.message)], [Span(f"→ {found.fix}")]]
