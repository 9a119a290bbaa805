"""`brenner artifact history`: the versions of a thread, as the publish document draws them."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TextIO

import click

from brenner.cli.artifact.common import BOLD, DIM, FINE, Reader, thread_of
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, write_json
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    STYLE_OF_TYPE,
    Span,
    Style,
    advice,
    fold,
    pager_option,
    thread_argument,
    write_lines,
)
from brenner.diagnostics.model import Diagnostic
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.services.versions import ListedVersion, VersionList


_BRANCH, _END, _DOWN, _NOTHING = "├── ", "└── ", "│   ", "    "
_SHORT_HASH = 12
_STATES: dict[str, Style] = {"Draft": DIM, "Pending": ATTENTION, "Persisted": PLAIN}


class _Entry(NamedTuple):
    """One COMPILED message of the tree: its line, and what stands under it."""

    message_id: int
    line: list[Span]
    below: list[list[Span]]


@click.command(
    "history",
    cls=Reporting,
    always={"thread_id": None, "versions": [], "void": [], "unread": None},
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
    from brenner.services.versions import history as versions_of

    with Reader(settings) as reader:
        found = versions_of(reader.workspace, thread_of(thread))
    if settings.as_json:
        from brenner.services.versions import history_json

        write_json(history_json(found))
    else:
        write_lines(_lines(found, sys.stdout), pager=pager)
    return FINE


def _lines(found: "VersionList", out: TextIO) -> Iterator[str]:
    """The tree; then what no version has read yet, and how to bring it in."""
    yield fold([Span("Thread: ")], [Span(escape_control(found.thread_id), BOLD)], "", out)
    latest = found.versions[-1] if found.versions else None
    entries = [_version(each, is_latest=each is latest) for each in found.versions]
    entries += [_other(each) for each in found.others]
    entries.sort(key=lambda entry: entry.message_id)
    for number, entry in enumerate(entries, 1):
        yield from _branch(entry, out, is_last=number == len(entries))
    thread = thread_argument(found.thread_id)
    count = found.unread
    if not found.versions:
        yield advice(f"No version yet: `brenner compile {thread}` publishes the first.", out)
    elif count:
        messages = "1 message is" if count == 1 else f"{count} messages are"
        yield "\n"
        yield fold(
            [], [Span(f"{messages} in no version yet: `brenner compile {thread}`.")], "", out
        )


def _branch(entry: _Entry, out: TextIO, *, is_last: bool) -> Iterator[str]:
    under = Span(_NOTHING if is_last else _DOWN, DIM)
    yield fold([Span(_END if is_last else _BRANCH, DIM)], entry.line, under.text, out)
    for pieces in entry.below:
        yield fold([under], pieces, under.text, out)


def _version(version: "ListedVersion", *, is_latest: bool) -> _Entry:
    """`COMPILED: v3 (2025-12-30T14:00:00Z)  ← latest`, and under it what it is about."""
    line = [
        Span("COMPILED:", STYLE_OF_TYPE["COMPILED"]),
        Span(f" v{version.number} ({escape_control(version.compiled_at)})"),
    ]
    if is_latest:
        line.append(Span("  ← latest", BOLD))
    state, commit = version.persistence.status, version.persistence.commit
    where = f" in {escape_control(commit[:_SHORT_HASH])}" if commit else ""
    below = [Span(state, _STATES.get(state, PLAIN)), Span(where, DIM)]
    if version.status == "closed":
        below.append(Span(", closed"))
    if version.summary:
        below += [Span(": ", DIM), Span(escape_control(version.summary), DIM)]
    return _Entry(version.message.id, line, [below])


def _other(found: Diagnostic) -> _Entry:
    """A COMPILED message that is no version: which, why, what to do."""
    line = [
        Span(f"message {found.message_id}: no version", ATTENTION),
        Span(f"  {found.id}", DIM),
    ]
    return _Entry(found.message_id or 0, line, [[Span(found.message)], [Span(f"→ {found.fix}")]])
