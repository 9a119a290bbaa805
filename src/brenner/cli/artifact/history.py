"""`brenner artifact history`: the versions of a thread, as the publish document draws them."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TextIO

import click

from brenner.cli.artifact.common import BOLD, DIM, EXIT_OK, ArtifactReader, require_thread
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import JsonCommand, write_json
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    STYLE_OF_TYPE,
    Span,
    Style,
    fold,
    format_hint,
    pager_option,
    write_lines,
)
from brenner.diagnostics.model import Diagnostic
from brenner.text import escape_control, thread_argument

if TYPE_CHECKING:
    from brenner.services.versions import ListedVersion, VersionList


_BRANCH, _LAST_BRANCH, _TRUNK, _NO_TRUNK = "├── ", "└── ", "│   ", "    "
_SHORT_HASH = 12
_STATES: dict[str, Style] = {"Draft": DIM, "Pending": ATTENTION, "Persisted": PLAIN}


class _HistoryEntry(NamedTuple):
    """A COMPILED message in the tree: its line, and the lines below it."""

    message_id: int
    line: list[Span]
    below: list[list[Span]]


@click.command(
    "history",
    cls=JsonCommand,
    json_defaults={"thread_id": None, "versions": [], "void": [], "unread": None},
    epilog=examples(
        "brenner artifact history RS-20251230-cell-fate",
        "brenner artifact history RS-20251230-cell-fate --json",
    ),
)
@click.argument("thread", metavar="THREAD")
@pager_option
@common_options
def history(settings: Settings, thread: str, pager: bool) -> int:
    """List the versions of a THREAD, each with its summary and whether it is persisted.

    A COMPILED message that is no version is listed too, with the reason. Exit code 1: nobody has
    written to the thread.
    """
    from brenner.services.versions import load_version_list as versions_of

    with ArtifactReader(settings) as reader:
        found = versions_of(reader.workspace, require_thread(thread))
    if settings.as_json:
        from brenner.services.versions import version_list_json

        write_json(version_list_json(found))
    else:
        write_lines(_lines(found, sys.stdout), pager=pager)
    return EXIT_OK


def _lines(found: "VersionList", out: TextIO) -> Iterator[str]:
    """Yield the tree, then how many messages are unread and how to compile them."""
    yield fold([Span("Thread: ")], [Span(escape_control(found.thread_id), BOLD)], "", out)
    latest = found.versions[-1] if found.versions else None
    entries = [_version_entry(each, is_latest=each is latest) for each in found.versions]
    entries += [_no_version_entry(each) for each in found.others]
    entries.sort(key=lambda entry: entry.message_id)
    for number, entry in enumerate(entries, 1):
        yield from _entry_lines(entry, out, is_last=number == len(entries))
    thread = thread_argument(found.thread_id)
    count = found.unread
    if not found.versions:
        yield format_hint(f"No version yet: `brenner compile {thread}` publishes the first.", out)
    elif count:
        messages = "1 message is" if count == 1 else f"{count} messages are"
        yield "\n"
        yield fold(
            [], [Span(f"{messages} in no version yet: `brenner compile {thread}`.")], "", out
        )


def _entry_lines(entry: _HistoryEntry, out: TextIO, *, is_last: bool) -> Iterator[str]:
    margin = Span(_NO_TRUNK if is_last else _TRUNK, DIM)
    yield fold([Span(_LAST_BRANCH if is_last else _BRANCH, DIM)], entry.line, margin.text, out)
    for spans in entry.below:
        yield fold([margin], spans, margin.text, out)


def _version_entry(version: "ListedVersion", *, is_latest: bool) -> _HistoryEntry:
    """Return an entry such as `COMPILED: v3 (2025-12-30T14:00:00Z)  ← latest`, with its summary."""
    line = [
        Span("COMPILED:", STYLE_OF_TYPE["COMPILED"]),
        Span(f" v{version.number} ({escape_control(version.compiled_at)})"),
    ]
    if is_latest:
        line.append(Span("  ← latest", BOLD))
    state, commit = version.persistence.status, version.persistence.commit
    commit_text = f" in {escape_control(commit[:_SHORT_HASH])}" if commit else ""
    below = [Span(state, _STATES.get(state, PLAIN)), Span(commit_text, DIM)]
    if version.status == "closed":
        below.append(Span(", closed"))
    if version.summary:
        below += [Span(": ", DIM), Span(escape_control(version.summary), DIM)]
    return _HistoryEntry(version.message.id, line, [below])


def _no_version_entry(found: Diagnostic) -> _HistoryEntry:
    """Return the entry of a COMPILED message that is no version: the reason, and what to do."""
    line = [
        Span(f"message {found.message_id}: no version", ATTENTION),
        Span(f"  {found.id}", DIM),
    ]
    return _HistoryEntry(
        found.message_id or 0, line, [[Span(found.message)], [Span(f"→ {found.fix}")]]
    )
