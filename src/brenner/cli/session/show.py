"""`brenner session show`: where a session is in every system: mail, files, terminals, beads."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

import click

from brenner.cli.mail.show import full_time, labelled_lines
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, write_json
from brenner.cli.session.status import bead_json, bead_spans
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    QUIET,
    STRONG,
    Span,
    Style,
    agent_span,
    display_width,
    fold,
    pager_option,
    write_lines,
)
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.diagnostics.model import Summary
from brenner.integrations.programs import NTM, TMUX, Bead
from brenner.protocol.messages import iso
from brenner.services.genealogy import SessionLocations, locate_session
from brenner.text import escape_control, plural, short_commit, thread_argument

if TYPE_CHECKING:
    from brenner.integrations.tmux import TerminalSession
    from brenner.persist.git import Persistence
    from brenner.session.model import SessionStatus

_STATES: dict[str, tuple[str, Style]] = {
    "Draft": ("not saved to a file", QUIET),
    "Pending": ("saved, not committed", ATTENTION),
    "Persisted": ("committed", PLAIN),
}
Field = tuple[str, Sequence[Span]]


def _document(found: SessionLocations) -> dict[str, object]:
    """Return the stable JSON form. Keys are only ever added."""
    problems = [found.problem] if found.problem else []
    return {
        "thread_id": found.names.thread_id,
        "kind": str(found.names.kind),
        "mail": _mail_json(found.store, found.status) if found.status else None,
        "artifact": _file_json(found),
        "archive": found.archive,
        "terminal": _terminal_json(found),
        "bead": _bead_json(found),
        "roster": [{"agent": name, "role": role} for name, role in found.roster],
        "violations": [each.to_json() for each in problems],
        "summary": Summary.of(problems)._asdict(),
    }


def _mail_json(store: str, status: SessionStatus) -> dict[str, object]:
    return {
        "store": store,
        "messages": status.position,
        "first_at": iso(status.first_at),
        "last_at": iso(status.last_at),
        "version": status.version.number if status.version else None,
        "message_id": status.version.message_id if status.version else None,
    }


def _file_json(found: SessionLocations) -> dict[str, object]:
    return {
        "path": found.names.artifact_path,
        "exists": found.has_file,
        "version": found.metadata.version,
        "session_id": found.metadata.session_id,
        "front_matter": found.names.front_matter,
        "edited": found.is_edited,
        "persistence": found.persistence._asdict() if found.persistence else None,
    }


def _terminal_json(found: SessionLocations) -> dict[str, object]:
    """Return the terminal session.

    `program` is the installed one, if any; the names never change.
    """
    terminal = found.terminal
    return {
        "ntm_session": found.names.ntm_session,
        "tmux_session": found.names.tmux_session,
        "program": terminal.program if terminal else None,
        "running": terminal.is_running if terminal else None,
        "windows": terminal.windows if terminal else 0,
        "panes": terminal.panes if terminal else 0,
        "agents": list(terminal.agents) if terminal else [],
        "attach": terminal.attach if terminal else None,
        "problem": terminal.problem or None if terminal else None,
    }


def _bead_json(found: SessionLocations) -> dict[str, object] | None:
    """Return the bead of engineering work, also if `bd` is not installed."""
    if found.names.bead is None:
        return None
    bead = bead_json(found.bead or Bead(found.names.bead))
    return {"command": f"bd show {thread_argument(found.names.bead)}", **(bead or {})}


def _lines(found: SessionLocations, out: TextIO) -> Iterator[str]:
    """Yield one field per system, in the order of the contract, then the roster."""
    name, kind = escape_control(found.names.thread_id), f"  {found.names.kind}"
    yield fold([], [Span(name, STRONG), Span(kind, QUIET)], "  ", out)
    fields = (_mail_fields, _file_fields, _program_fields, _roster_fields)
    yield from labelled_lines([each for some in fields for each in some(found)], out)


def _mail_fields(found: SessionLocations) -> Iterator[Field]:
    status, thread = found.status, thread_argument(found.names.thread_id)
    if status is None:
        yield "Mail thread", [Span("none in this store", QUIET)]
        return
    count, store = plural(status.position, "message"), escape_control(found.store)
    yield "Mail thread", [Span(f"{count} in "), Span(store, is_unbreakable=True)]
    yield "", [_command_span(f"brenner mail thread {thread}")]
    yield "First, last", [Span(full_time(status.first_at)), Span("\n" + full_time(status.last_at))]
    latest = status.version
    if latest is None:
        yield "Latest", [Span("no version yet", QUIET)]
    else:
        yield "Latest", [Span(f"v{latest.number}", STRONG), Span(f", message {latest.message_id}")]


def _file_fields(found: SessionLocations) -> Iterator[Field]:
    path = Span(escape_control(found.names.artifact_path), is_unbreakable=True)
    yield "Artifact file", [path, *_file_state(found)]
    if found.persistence:
        yield "", [*_persistence_spans(found, found.persistence)]
    front_matter = [Span(found.names.front_matter, is_unbreakable=True)]
    if found.has_file and not found.problem and found.metadata.session_id is None:
        front_matter.append(Span("  missing in the file", ATTENTION))
    yield "Front matter", front_matter
    if found.archive:
        yield "Archive", [Span(escape_control(found.archive), is_unbreakable=True)]


def _file_state(found: SessionLocations) -> Iterator[Span]:
    """Return which version the file contains, or why it cannot be read."""
    number = found.metadata.version
    if found.problem:
        yield Span(f"  {found.problem.message}", ATTENTION)
    elif not found.has_file:
        yield Span("  not written", QUIET)
    else:
        yield Span(f"  v{number}" if number is not None else "  without a version", STRONG)
    if found.is_edited:
        yield Span(", edited by hand", ATTENTION)


def _persistence_spans(found: SessionLocations, persistence: Persistence) -> Iterator[Span]:
    """Return spans such as `v3 is committed in 0123456789ab`.

    If the mail has no version, it is about the version in the file.
    """
    latest = found.status.version if found.status else None
    number = latest.number if latest else found.metadata.version
    yield Span(f"v{number} is " if number is not None else "")
    yield Span(*_STATES[persistence.status])
    if persistence.commit:
        yield Span(f" in {escape_control(short_commit(persistence.commit))}")


def _program_fields(found: SessionLocations) -> Iterator[Field]:
    """Yield the sessions of ntm and tmux, and the bead.

    A program that is not installed adds no details.
    """
    names, terminal = found.names, found.terminal
    program = terminal.program if terminal else None
    ntm: list[Span] = [Span(names.ntm_session, is_unbreakable=True)]
    tmux: list[Span] = [Span(names.tmux_session, is_unbreakable=True)]
    if terminal:
        (ntm if program == NTM else tmux).extend(_running_span(terminal))
    yield "ntm session", ntm
    if program == TMUX or names.tmux_session != names.ntm_session:
        yield "tmux session", tmux
    if terminal and terminal.is_running:
        yield "", [_command_span(terminal.attach)]
    if names.bead is not None:
        yield "Bead", [_command_span(f"bd show {thread_argument(names.bead)}")]
    if found.bead:
        yield "", bead_spans(found.bead)


def _running_span(terminal: TerminalSession) -> Iterator[Span]:
    if terminal.is_running is None:
        yield Span(f"  unknown whether it runs: {terminal.problem}", QUIET)
    elif terminal.is_running:
        yield Span(f"  running, {plural(terminal.windows, 'window')}", STRONG)
    else:
        yield Span("  not running", QUIET)


def _roster_fields(found: SessionLocations) -> Iterator[Field]:
    if not found.roster:
        yield "Roster", [Span("none", QUIET)]
        return
    widest = max(display_width(escape_control(name)) for name, _ in found.roster)
    spans: list[Span] = []
    for number, (name, role) in enumerate(found.roster):
        gap = " " * (widest - display_width(escape_control(name)) + 2)
        role_piece = Span(f"{gap}{role or ''}", QUIET, is_unbreakable=True)
        spans += [Span("\n" * (number > 0)), agent_span(name), role_piece]
    yield "Roster", spans


def _command_span(words: str) -> Span:
    """Return a command that is never wrapped, so that it can be copied."""
    return Span(f"`{words}`", is_unbreakable=True)


@click.command(
    "show",
    cls=JsonCommand,
    json_defaults={
        "thread_id": None,
        "kind": None,
        "mail": None,
        "artifact": None,
        "archive": None,
        "terminal": None,
        "bead": None,
        "roster": [],
    },
    epilog=examples(
        "brenner session show RS-20251230-cell-fate",
        "brenner session show RS-20251230-cell-fate --json",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@pager_option
@common_options
def show(settings: Settings, thread: str | None, pager: bool) -> int:
    """Show where everything of a session is: mail, files, terminals, roster.

    Use it to find the artifact file with its version and commit, the mail archive, the tmux or ntm
    session, and the bead. A session is known by its mail or by its file in `artifacts/`.
    """
    with workspace_of(settings) as here:
        found = locate_session(here, find_thread(here, thread))
    if settings.as_json:
        write_json(_document(found))
    else:
        write_lines(_lines(found, sys.stdout), pager=pager)
    return EXIT_OK
