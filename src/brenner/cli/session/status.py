"""`brenner session status`: the status of a session as a screen, as one line and as JSON."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from brenner.cli.mail.show import labelled_lines
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, terminal_width, write_json
from brenner.cli.table import (
    WIDE_TERMINAL,
    Cell,
    DisplayRow,
    TableColumn,
    cut,
    format_compiled_time,
    format_time,
    table,
)
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    QUIET,
    STRONG,
    STYLE_OF_TYPE,
    Span,
    Style,
    agent_span,
    display_width,
    fold,
    format_hint,
    pager_option,
    write_lines,
)
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.diagnostics.codes.merging import SESSION_FILE_UNREADABLE
from brenner.diagnostics.codes.messages import DELTA_NOT_CONTRIBUTED
from brenner.diagnostics.model import ERROR, Diagnostic, worst_first
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import RESEARCH_THREAD_ID
from brenner.protocol.message_types import CRITIQUE
from brenner.protocol.messages import duration_text, exact_time
from brenner.protocol.thread_ids import cross_reference
from brenner.session.model import (
    ENDED_PHASES,
    Cancellation,
    OpenAck,
    OpenCritique,
    OpenMessage,
    Participant,
    Phase,
    PublishedVersion,
    RefusedBlock,
    SessionStatus,
)
from brenner.session.overview import (
    Need,
    Overview,
    describe_phase,
    needs_of,
    status_json,
)
from brenner.session.status_text import (
    NextStep,
    StatusReader,
    attention,
    describe_independent,
    describe_round,
    describe_settled,
    describe_turn,
    describe_unread,
    next_step,
)
from brenner.text import escape_control, joined, plural, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.integrations.programs import Bead
    from brenner.protocol.messages import StoredMessage
    from brenner.services.workspace import Workspace
    from brenner.session.unanswered import UnansweredItem


@click.command(
    "status",
    cls=JsonCommand,
    json_defaults={
        "thread_id": None,
        "phase": None,
        "bead": None,
        "unresolved": [],
        "unverified": [],
    },
    epilog=examples(
        "brenner session status",
        "brenner session status RS-20251230-cell-fate",
        "brenner session status RS-20251230-cell-fate --line",
        "brenner session status RS-20251230-cell-fate --json",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option(
    "--line", "is_line", is_flag=True, help="Print one line, for a prompt or a status bar."
)
@click.option("--full", "is_full", is_flag=True, help="Do not shorten lists.")
@pager_option
@common_options
def status(
    settings: Settings, *, thread: str | None, is_line: bool, is_full: bool, pager: bool
) -> int:
    """Show what needs you in a session, whose turn it is, and what to do next.

    THREAD is optional if only one session is open. A terminal shortens long lists. --line prints
    one line of at most 80 columns.
    """
    if is_line and (is_full or settings.as_json):
        message = "--line cannot be used with --full or --json."
        raise click.UsageError(message)
    with workspace_of(settings) as here:
        thread_id = find_thread(here, thread)
        if is_line:
            sys.stdout.write(f"{_load_status_line(here, thread_id)}\n")
            return EXIT_OK

        screen = _load_screen(here, thread_id)
    project = here.project
    reader = StatusReader(here.actor, project.operator, datetime.now(UTC), project.ack_deadline)
    if settings.as_json:
        write_json(status_document(screen, reader))
    else:
        write_lines(status_lines(screen, reader, sys.stdout, is_full=is_full), pager=pager)
    return EXIT_OK


def _load_status_line(here: Workspace, thread_id: str) -> str:
    from brenner.services.sessions import load_overview

    overview = load_overview(here, thread_id)
    if overview is None:
        _check_thread_exists(here, thread_id)
        return f"{short_id(thread_id)} conversation"
    return status_line(overview, datetime.now(UTC), here.project.ack_deadline)


def _check_thread_exists(here: Workspace, thread_id: str) -> None:
    """Refuse an invalid thread ID, and a thread without messages."""
    from brenner.mail.rules import unknown_thread_error
    from brenner.services.session_status import mention_artifact_file
    from brenner.services.version_store import require_thread_id

    require_thread_id(thread_id)
    if not here.mailbox.thread(thread_id, limit=1).position:
        known = [each.thread_id for each in here.mailbox.threads()]
        raise mention_artifact_file(here, thread_id, unknown_thread_error(thread_id, known))


def _load_screen(here: Workspace, thread_id: str) -> StatusScreen:
    from brenner.services.identity import unverified_in_thread
    from brenner.services.session_status import load_status
    from brenner.session.status import messages_with_error_reply

    found = load_status(here, thread_id)
    broken: tuple[Diagnostic, ...] = ()
    if found.status.references:
        from brenner.services.references import unresolved_references

        broken = unresolved_references(here, found.history.state.artifact)
    bead = None
    if cross_reference(thread_id).bead:
        from brenner.integrations.programs import find_bead

        bead = find_bead(thread_id, here.project.folder)
    unverified = unverified_in_thread(found.messages, found.history)
    notified = messages_with_error_reply(found.messages)
    return StatusScreen(found.status, broken, bead, notified, *unverified)


# The status as one line, for a prompt or a status bar: no colour, at most 80 columns


_MAX_LINE_WIDTH = 80
_MAX_ID_WIDTH = 28
_SEPARATOR, _MORE_MARK = " · ", " …"


def status_line(overview: Overview, now: datetime, deadline: timedelta) -> str:
    """Return a line such as `cell-fate r2 v1 awaiting deltas: RedSky, GreenDog · 1 overdue`."""
    head = [short_id(overview.thread_id)]
    if overview.phase:
        head.append(f"r{overview.round}")
    if overview.version is not None:
        head.append(f"v{overview.version}")
    head.append(describe_phase(overview)[0])
    start = " ".join(head)
    tail = _join_fitting(
        _open_counts(overview, now, deadline), _MAX_LINE_WIDTH - display_width(start)
    )
    return (
        start
        + _awaited_names(overview, _MAX_LINE_WIDTH - display_width(start) - display_width(tail))
        + tail
    )


def _join_fitting(parts: list[str], room: int) -> str:
    """Join as many parts as fit into `room` columns. A mark shows that there are more."""
    whole = "".join(f"{_SEPARATOR}{each}" for each in parts)
    if display_width(whole) <= room:
        return whole
    joined_parts = ""
    for each in parts:
        more = f"{joined_parts}{_SEPARATOR}{each}"
        if display_width(more) + display_width(_MORE_MARK) > room:
            break
        joined_parts = more
    return joined_parts + _MORE_MARK


def short_id(thread_id: str) -> str:
    """Return a short name for a session. For a research session it is the slug."""
    match = RESEARCH_THREAD_ID.fullmatch(thread_id)
    [piece] = cut([Span(escape_control(match[2] if match else thread_id))], _MAX_ID_WIDTH)
    return piece.text


def _open_counts(overview: Overview, now: datetime, deadline: timedelta) -> list[str]:
    """Return counts of what is open, the most urgent first."""
    if overview.phase is Phase.CANCELLED:
        return []
    is_open = overview.phase not in ENDED_PHASES
    counts = (
        (overview.blocked, "blocked", "blocked"),
        (overview.questions, "question", "questions"),
        (len(overview.overdue(now, deadline)), "overdue", "overdue"),
        (overview.refusals * is_open, "rejected", "rejected"),
        (overview.needed_misplaced, "in no DELTA", "in no DELTA"),
        (overview.unanswered * is_open, "unanswered", "unanswered"),
        (overview.late, "late", "late"),
        (overview.handoffs, "handoff", "handoffs"),
    )
    needs = needs_of(overview, now, deadline)
    stopped = ["cannot compile"] if Need.STOPPED in needs else []
    return stopped + [plural(count, one, several) for count, one, several in counts if count]


def _awaited_names(overview: Overview, room: int) -> str:
    """Return the agents that the round waits for: as many names as fit, and how many more."""
    names = [escape_control(name) for name, _ in overview.awaited]
    for shown in range(len(names), 0, -1):
        more = f" +{len(names) - shown}" if shown < len(names) else ""
        text = f": {', '.join(names[:shown])}{more}"
        if display_width(text) <= room:
            return text
    return ""


# Tables of what is open: critiques, questions, ACKs, rejected blocks. Empty tables are left out.


_T = TypeVar("_T")
_MAX_ROWS = 5  # of each table in a terminal
_MAX_RANK_WIDTH = 12
_INDENT = "      "
_OPEN_COLUMNS = (
    TableColumn("ID", is_right=True),
    TableColumn("Open"),
    TableColumn("About", min_width=20),
    TableColumn("From", min_width=14),
    TableColumn("Waiting for", min_width=16),
)
_OVERDUE_COLUMNS = (TableColumn("Owes", min_width=10), TableColumn("Overdue ACKs", min_width=20))
_REFUSED_COLUMNS = (
    TableColumn("ID", is_right=True),
    TableColumn("Rejected"),
    TableColumn("Block", min_width=12),
    TableColumn("From", min_width=14),
    TableColumn("Version"),
)
_UNANSWERED_COLUMNS = (
    TableColumn("ID", is_right=True),
    TableColumn("Asks"),
    TableColumn("Unanswered", min_width=20),
    TableColumn("Waiting for", min_width=14),
)
# The most urgent first, in the order of the attention lines
_TYPE_ORDER = ("BLOCKED", "QUESTION", "HANDOFF", "CRITIQUE")


def open_lines(status: SessionStatus, out: TextIO, *, is_full: bool) -> Iterator[str]:
    """Yield a table of open messages, the most urgent first, then open critiques of the
    artifact.
    """
    messages = sorted(status.messages, key=_urgency)
    rows = [_message_row(each) for each in messages]
    rows += [_critique_row(each) for each in status.critiques]
    if rows:
        yield "\n"
        # Critiques of the artifact wait for no agent: without messages the last column is empty
        columns = _OPEN_COLUMNS if messages else _OPEN_COLUMNS[:-1]
        rows = [row._replace(cells=row.cells[: len(columns)]) for row in rows]
        yield from table(columns, _visible(rows, out, is_full=is_full), out)
        yield from _more_hint(status, len(rows), out, is_full=is_full)


def _urgency(each: OpenMessage) -> tuple[int, datetime, int]:
    rank = _TYPE_ORDER.index(each.type) if each.type in _TYPE_ORDER else len(_TYPE_ORDER)
    return (rank, each.at, each.message_id)


def _message_row(each: OpenMessage) -> DisplayRow:
    # Its text comes from an agent and may be long
    rank = [Span(escape_control(f" {each.rank}"), QUIET)] if each.rank else []
    return DisplayRow(
        (
            [Span(str(each.message_id), STRONG)],
            [Span(each.type, STYLE_OF_TYPE.get(each.type, QUIET)), *cut(rank, _MAX_RANK_WIDTH)],
            [Span(each.about or each.subject)],
            [agent_span(each.sender)],
            [*_name_spans(each.waiting_for)],
        )
    )


def _name_spans(agents: Sequence[str]) -> Iterator[Span]:
    for number, name in enumerate(agents):
        yield Span(", " * (number > 0))
        yield agent_span(name)


def _critique_row(each: OpenCritique) -> DisplayRow:
    status = f" ({each.status})" if each.status else ""
    return DisplayRow(
        (
            [Span(each.item, STRONG)],
            [Span("critique", STYLE_OF_TYPE[CRITIQUE.name])],
            [Span(each.name), Span(status, QUIET)],
            [agent_span(each.agent)] if each.agent else [],
            [],
        )
    )


def overdue_lines(
    late: Sequence[OpenAck], now: datetime, deadline: timedelta, out: TextIO
) -> Iterator[str]:
    """Yield a table of the overdue ACKs, by the agent that owes them."""
    if late:
        rows = [
            DisplayRow(
                ([agent_span(debtor)], [*_overdue_spans(late, debtor, (now, deadline), out)])
            )
            for debtor in dict.fromkeys(each.debtor for each in late)
        ]
        yield "\n"
        yield from table(_OVERDUE_COLUMNS, rows, out)


def _overdue_spans(
    late: Sequence[OpenAck], debtor: str, at: tuple[datetime, timedelta], out: TextIO
) -> Iterator[Span]:
    """Return spans such as `12 KICKOFF, 3 h late; 16 CRITIQUE, 2 h late`."""
    now, deadline = at
    for number, each in enumerate(each for each in late if each.debtor == debtor):
        since = each.due(deadline)
        lateness = (
            f"{duration_text(now - since)} late" if out.isatty() else f"due {exact_time(since)}"
        )
        kind = each.type or "message"
        times = f" ({each.times_sent}×)" if each.times_sent > 1 else ""
        yield Span("; " * (number > 0) + f"{each.message_id} ")
        yield Span(kind, STYLE_OF_TYPE.get(kind, QUIET))
        yield Span(f"{times}, {lateness}")


def refusal_lines(status: SessionStatus, out: TextIO, *, is_full: bool) -> Iterator[str]:
    """Yield a table of the blocks that do not contribute with fixes, and how to dismiss one.

    They are rejected, or in a message that is no DELTA. Blocks with one cause are one row, except
    in the full status. After the end of a session only misplaced blocks that came later need one.
    """
    refusals = (*(() if status.is_over else status.refusals), *status.needed_misplaced)
    if not refusals:
        return
    yield "\n"
    from brenner.diagnostics.repeats import group_blocks

    groups = [[each] for each in refusals] if is_full else group_blocks(refusals)
    shown = _visible(groups, out, is_full=is_full)
    is_whole = is_full or not out.isatty()
    yield from table(
        _REFUSED_COLUMNS, [_refusal_row(each, is_whole=is_whole) for each in shown], out
    )
    yield from _more_hint(status, len(groups), out, is_full=is_full)
    which = f"{refusals[0].message_id}.{refusals[0].block}"
    thread = thread_argument(status.thread_id)
    command = f"`brenner session dismiss {thread} {which}`"
    what = "a rejected block" if status.refusals else "a block"
    yield format_hint(f"To ignore {what}: {command}", out)


def unanswered_lines(status: SessionStatus, out: TextIO, *, is_full: bool) -> Iterator[str]:
    """Yield a table of the items that ask for an answer (R28), and how to dismiss one."""
    found = status.unanswered
    if not found or status.is_over:
        return
    yield "\n"
    rows = [_unanswered_row(each, status) for each in found]
    yield from table(_UNANSWERED_COLUMNS, _visible(rows, out, is_full=is_full), out)
    yield from _more_hint(status, len(rows), out, is_full=is_full)
    command = f"brenner session dismiss {thread_argument(status.thread_id)} {found[0].address}"
    yield format_hint(f"To keep it without an answer: `{command} --reason TEXT`", out)


def _unanswered_row(each: UnansweredItem, status: SessionStatus) -> DisplayRow:
    return DisplayRow(
        (
            [Span(str(each.message_id), STRONG)],
            [Span(each.address)],
            [Span(each.request)],
            [agent_span(each.agent or status.operator)],
        )
    )


def _refusal_row(group: Sequence[RefusedBlock], *, is_whole: bool) -> DisplayRow:
    """Return a row such as `12.1  INVALID_SECTION  ADD hypothesis_slate “Gradient”  RedSky  v1`.

    The reason and the fix are below it. A terminal shows only the worst of several reasons, and how
    many more there are. Several blocks with one cause are one row, with a count.
    """
    each = group[0]
    found = sorted(each.diagnostics, key=worst_first)
    reasons = [one for one in found if one.severity is ERROR] or found[:1]
    what = " ".join(filter(None, (each.operation, each.target_id or each.section)))
    name = f" “{each.name}”" if each.name else ""
    below = []
    for reason in reasons if is_whole else reasons[:1]:
        below += [
            [Span(_INDENT), *_code_spans(reason, reasons), Span(reason.message)],
            [Span(_INDENT), Span("→ ", QUIET), Span(reason.fix)],
        ]
    more = [Span(f" and {len(reasons) - 1} more", QUIET)] * (len(reasons) > 1)
    if len(group) > 1:
        from brenner.diagnostics.repeats import numbered

        more = [Span(f" ×{len(group)}", ATTENTION), *more]
        others = numbered("block", (other.block for other in group[1:]))
        below.insert(1, [Span(_INDENT), Span(f"Also {others} of message {each.message_id}.")])
    return DisplayRow(
        (
            [Span(f"{each.message_id}.{each.block}", STRONG)],
            [Span(reasons[0].id if reasons else "rejected", ATTENTION), *more],
            [Span(f"{what}{name}", QUIET)],
            [agent_span(each.agent)],
            [Span(_version_text(each), QUIET)],
        ),
        below,
    )


def _version_text(each: RefusedBlock) -> str:
    if any(found.code is DELTA_NOT_CONTRIBUTED for found in each.diagnostics):
        return "in no DELTA"
    return f"v{each.version}" if each.version else "unread"


def _code_spans(found: Diagnostic, reasons: Sequence[Diagnostic]) -> list[Span]:
    """Return the code of a reason. The row already shows the code of the first."""
    return [Span(f"{found.id}: ")] if found is not reasons[0] else []


def unresolved_lines(
    status: SessionStatus, found: Sequence[Diagnostic], out: TextIO, *, is_full: bool
) -> Iterator[str]:
    """Yield the broken references by item, and the files that cannot be read."""
    if not found:
        return
    yield "\n"
    files = sum(each.code is SESSION_FILE_UNREADABLE for each in found)
    parts = [plural(len(found) - files, "broken reference")] if len(found) > files else []
    parts += [f"{plural(files, 'file')} with referenced items cannot be read"] if files else []
    yield fold([], [Span("; ".join(parts), QUIET)], "", out)
    for each in _visible(found, out, is_full=is_full):
        yield fold([Span("  ")], [Span(each.message)], "    ", out)
    yield from _more_hint(status, len(found), out, is_full=is_full)


def _visible(entries: Sequence[_T], out: TextIO, *, is_full: bool) -> Sequence[_T]:
    """Return the entries that a terminal shows.

    One extra entry takes no more room than a hint about it.
    """
    is_whole = is_full or not out.isatty() or len(entries) <= _MAX_ROWS + 1
    return entries if is_whole else entries[:_MAX_ROWS]


def _more_hint(status: SessionStatus, count: int, out: TextIO, *, is_full: bool) -> Iterator[str]:
    left = count - len(_visible(range(count), out, is_full=is_full))
    if left:
        command = f"brenner session status --full {thread_argument(status.thread_id)}"
        yield format_hint(f"… {left} more: `{command}`", out)


_TURN_STYLES = MappingProxyType(
    {"attention": ATTENTION, "strong": STRONG, "plain": PLAIN, "quiet": QUIET}
)


def turn_spans(each: Participant, status: SessionStatus, now: datetime) -> Cell:
    """Return what the agent has to do or has done, followed by its other messages."""
    words = describe_turn(each, status, now)
    spans = [Span(words.text, _TURN_STYLES[words.weight])]
    return [*spans, Span(words.aside, QUIET)] if words.aside else spans


# The status screen: what needs the operator first, the next step last


_NOTICE, _POSITIVE = STYLE_OF_TYPE["QUESTION"], STYLE_OF_TYPE["COMPILED"]
# Kinds that block the session: they also get a mark
_URGENT_KINDS = (
    *("stopped", "blocked", "question", "overdue", "refused", "misplaced"),
    *("unanswered", "no_kickoff"),
)
_ATTENTION_STYLES: dict[str, Style] = {
    "stopped": ATTENTION,
    "blocked": ATTENTION,
    "question": _NOTICE,
    "overdue": ATTENTION,
    "refused": ATTENTION,
    "misplaced": ATTENTION,
    "unanswered": ATTENTION,
    "no_kickoff": _NOTICE,
    "ready": _POSITIVE,
    "late": _NOTICE,
    "handoff": _NOTICE,
}
_AGENT_COLUMNS = (
    TableColumn("Agent", min_width=12),
    TableColumn("Role", min_width=12),
    TableColumn("Turn", min_width=30),
    TableColumn("Deltas", is_right=True, min_terminal_width=WIDE_TERMINAL),
    TableColumn("Last message"),
)


class StatusScreen(NamedTuple):
    """The status of a session, with what other sources add.

    `notified` are the messages whose authors were notified of their rejected blocks. `unverified`
    are the messages whose senders are unverified, some of them new.
    """

    status: SessionStatus
    unresolved: tuple[Diagnostic, ...] = ()
    bead: Bead | None = None
    notified: frozenset[int] = frozenset()
    unverified: tuple[int, ...] = ()
    new_unverified: tuple[StoredMessage, ...] = ()


def status_document(screen: StatusScreen, reader: StatusReader) -> dict[str, object]:
    """Return the JSON document: the status as in all front ends, and what other sources add."""
    return status_json(screen.status, reader.now, reader.deadline) | {
        "bead": bead_json(screen.bead),
        "unresolved": [each.to_json() for each in screen.unresolved],
        "unverified": list(screen.unverified),
    }


def status_lines(
    screen: StatusScreen, reader: StatusReader, out: TextIO, *, is_full: bool
) -> Iterator[str]:
    """Yield the whole screen. A terminal cuts long lists, unless `is_full` is set."""
    status = screen.status
    yield from _title_lines(status, out)
    yield from _attention_lines(status, reader, out)
    yield "\n"
    yield from labelled_lines([*_fact_fields(screen, out)], out)
    yield from _agent_lines(status, reader.now, out)
    yield from open_lines(status, out, is_full=is_full)
    late = status.overdue(reader.now, reader.deadline)
    yield from overdue_lines(late, reader.now, reader.deadline, out)
    yield from refusal_lines(status, out, is_full=is_full)
    yield from unanswered_lines(status, out, is_full=is_full)
    yield from unresolved_lines(status, screen.unresolved, out, is_full=is_full)
    yield "\n"
    yield from step_lines(next_step(status, reader, screen.notified), out)


def _title_lines(status: SessionStatus, out: TextIO) -> Iterator[str]:
    """Yield a title such as `RS-20251230-cell-fate  Round 2, awaiting deltas`."""
    is_done = status.phase is None or status.is_over
    style = _POSITIVE if status.phase is Phase.READY_TO_COMPILE else QUIET if is_done else STRONG
    spans = [Span(status.thread_id, STRONG, is_unbreakable=True), Span("  ")]
    words = describe_round(status.phase, status.round)
    if status.phase is None and status.unread:
        words = "no session: it has no kickoff"
    yield fold([], [*spans, Span(words, style)], "  ", out)


def _attention_lines(status: SessionStatus, reader: StatusReader, out: TextIO) -> Iterator[str]:
    found = attention(status, reader.now, reader.deadline)
    for each in found:
        style = _ATTENTION_STYLES.get(each.kind, PLAIN)
        mark = Span("  ! ", style) if each.kind in _URGENT_KINDS else Span("  · ", QUIET)
        yield fold([mark], [Span(each.text, style)], "    ", out)
    if not found:
        yield fold([Span("  ")], [Span(_calm_text(status, reader), QUIET)], "  ", out)


def _calm_text(status: SessionStatus, reader: StatusReader) -> str:
    """Return what the reader is asked to do where nothing is urgent, and who is waited for."""
    step = next_step(status, reader)
    text = "Nothing needs you."
    if step.does in ("acknowledge", "write"):
        text = f"You are asked to {step.purpose}."
    waits = joined(each.name for each in status.awaited if each.name != reader.actor)
    return f"{text} Waiting for {waits}." if waits else text


def _fact_fields(screen: StatusScreen, out: TextIO) -> Iterator[tuple[str, Sequence[Span]]]:
    status = screen.status
    if status.question:
        yield "Question", _one_line(status.question, out)
    if status.version:
        yield "Version", [*_version_spans(status.version, out), *_unread_spans(status)]
    elif status.phase or status.unread:
        none = "none" if status.is_over else "none yet"
        yield "Version", [Span(none, QUIET), *_unread_spans(status)]
    if screen.bead:
        yield "Bead", bead_spans(screen.bead)
    if not status.phase:
        yield "Messages", [Span(str(status.position))]
    if status.cancelled:
        yield "Cancelled", _cancellation_spans(status.cancelled, out)
    if independent := describe_independent(status):
        yield "First round", [Span(independent)]
    if settled := describe_settled(status):
        yield "Settled ACKs", [Span(settled)]
    if screen.unverified:
        yield "Unverified", [*_unverified_spans(screen)]


def _cancellation_spans(found: Cancellation, out: TextIO) -> list[Span]:
    """Return spans such as `by Operator, 3 h ago (message 7): the question was answered`."""
    when = f", {format_time(found.at, out)} (message {found.message_id}): "
    return [Span("by "), agent_span(found.by), Span(when, QUIET), Span(found.reason)]


def _unverified_spans(screen: StatusScreen) -> Iterator[Span]:
    """Return spans such as `messages 12 (DELTA, BlueLake) and 14 (mail, RedCreek); 9 older`.

    New messages are highlighted.
    """
    new, older = screen.new_unverified, len(screen.unverified) - len(screen.new_unverified)
    if new:
        words = [f"{each.id} ({each.type or 'mail'}, {each.message.sender})" for each in new]
        yield Span(f"message{'s' * (len(words) > 1)} {joined(words)}", ATTENTION)
    if older:
        yield Span(f"{'; ' if new else ''}{older} older", QUIET)


_LABEL_WIDTH = 14  # columns before the value of a field


def _one_line(text: str, out: TextIO) -> list[Span]:
    """Cut a text to one line of the terminal."""
    width = terminal_width(out)
    piece = Span(escape_control(" ".join(text.split()), len(text) + 1))
    return cut([piece], width - _LABEL_WIDTH) if width else [piece]


def _version_spans(version: PublishedVersion, out: TextIO) -> Iterator[Span]:
    """Return spans such as `v1, 3 h ago: draft, 6 lint errors, 2 warnings, no third
    alternative`.
    """
    yield Span(f"v{version.number}", STRONG)
    yield Span(f", {format_compiled_time(version.compiled_at, out)}: ", QUIET)
    found = [
        version.status,
        plural(version.errors, "lint error") if version.errors else "",
        plural(version.warnings, "warning") if version.warnings else "",
        "" if version.has_third_alternative else "no third alternative",
    ]
    if not (version.errors or version.warnings):
        found.insert(1, "no lint problems")
    yield Span(", ".join(escape_control(each) for each in found if each))


def _unread_spans(status: SessionStatus) -> Iterator[Span]:
    """Return what has arrived since the latest version."""
    if words := describe_unread(status):
        yield Span(f"\n{'; '.join(words)}")


def _agent_lines(status: SessionStatus, now: datetime, out: TextIO) -> Iterator[str]:
    if status.participants:
        yield "\n"
        yield from table(
            _AGENT_COLUMNS,
            [_agent_row(each, status, now, out) for each in status.participants],
            out,
        )


def _agent_row(each: Participant, status: SessionStatus, now: datetime, out: TextIO) -> DisplayRow:
    last_heard = format_time(each.last_at, out) if each.last_at else "never"
    return DisplayRow(
        (
            [agent_span(each.name)],
            [Span(each.role or "", QUIET)],
            turn_spans(each, status, now),
            [Span(str(each.total), PLAIN if each.total else QUIET)],
            [Span(last_heard, QUIET)],
        )
    )


def step_lines(step: NextStep, out: TextIO) -> Iterator[str]:
    """Yield a line such as `Next: publish v2: brenner compile …`.

    A command that does not fit is not wrapped, because a copy of it would contain line breaks.
    """
    yield from _command_lines(f"Next: {step.words}:", step.command, out)
    if step.instead:
        words, command = step.instead
        yield from _command_lines(f"  {words}:", command, out)


def _command_lines(words: str, command: str, out: TextIO) -> Iterator[str]:
    width = terminal_width(out)
    if width and display_width(words) + display_width(command) + 1 > width:
        yield fold([], _backtick_spans(words), "  ", out)
        is_long = display_width(command) + 2 > width
        yield f"{'' if is_long else '  '}{command}\n"
        return
    yield fold(
        [],
        [*_backtick_spans(words), Span(" "), Span(command, STRONG, is_unbreakable=True)],
        "",
        out,
    )


def _backtick_spans(words: str) -> list[Span]:
    return [
        Span(f"`{part}`" if number % 2 else part, is_unbreakable=bool(number % 2))
        for number, part in enumerate(words.split("`"))
    ]


def bead_json(bead: Bead | None) -> dict[str, object] | None:
    """Return what `bd` reports. `problem` says why it reports nothing."""
    return bead._asdict() | {"problem": bead.problem or None} if bead else None


def bead_spans(bead: Bead) -> list[Span]:
    """Return spans such as `in_progress  Prove the conventions  BlueLake`, or the problem."""
    if bead.problem:
        return [Span(f"no details from bd: {escape_control(bead.problem)}", QUIET)]
    spans = [Span(escape_control(bead.status or "no status"), STRONG)]
    if bead.title:
        spans.append(Span(f"  {escape_control(bead.title)}"))
    if bead.assignee:
        spans += [Span("  "), agent_span(bead.assignee)]
    return spans
