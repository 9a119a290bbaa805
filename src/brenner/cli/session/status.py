"""`brenner session status`: where a session stands, and whose turn it is."""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple, TextIO, TypeVar

import click

from brenner.cli.mail.show import labelled
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, width_of, write_json
from brenner.cli.table import WIDE, Cell, Column, Row, cut, table, when
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    QUIET,
    STRONG,
    STYLE_OF_TYPE,
    Span,
    Style,
    advice,
    agent_piece,
    columns,
    fold,
    joined,
    pager_option,
    thread_argument,
    write_lines,
)
from brenner.cli.workspace import FINE, workspace_of
from brenner.diagnostics.codes.merging import SESSION_FILE_UNREADABLE
from brenner.diagnostics.model import ERROR, Diagnostic, worst_first
from brenner.integrations.programs import Bead
from brenner.protocol.grammar import RESEARCH_THREAD_ID
from brenner.protocol.message_types import CRITIQUE
from brenner.protocol.messages import exact, span
from brenner.services.identity import Unverified
from brenner.services.workspace import Workspace
from brenner.session.model import (
    LatestVersion,
    OpenAck,
    OpenCritique,
    OpenMessage,
    Participant,
    Phase,
    Refusal,
    SessionStatus,
)
from brenner.session.overview import Need, Overview, needs_of, status_json
from brenner.session.status_text import (
    PHASE_WORDS,
    Attention,
    Reader,
    Step,
    attention,
    next_step,
    since_words,
    turn_words,
)
from brenner.text import counted, escape_control

_MOST_LISTED = 10


@click.command(
    "status",
    cls=Reporting,
    always={"thread_id": None, "phase": None, "bead": None, "unresolved": [], "unverified": []},
    epilog=examples(
        "brenner session status",
        "brenner session status RS-20251230-cell-fate",
        "brenner session status RS-20251230-cell-fate --line",
        "brenner session status RS-20251230-cell-fate --json",
        "brenner session status -- -an-id-that-begins-with-a-hyphen",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option("--line", "is_line", is_flag=True, help="One line, for a prompt or a status bar.")
@click.option("--full", "is_full", is_flag=True, help="List everything, however long.")
@pager_option
@common_options
def status(
    settings: Settings, *, thread: str | None, is_line: bool, is_full: bool, pager: bool
) -> int:
    """Say where the session THREAD stands: what needs you, whose turn it is, what to do next.

    THREAD can be left out where only one session is not complete. In a terminal long lists are
    cut, and say so. --line is one line without colour, of at most 80 columns. Exit code 0,
    whatever is open; 1: nobody has written to the thread; 2: THREAD is left out, and there is not
    just one session; 3: the store is unavailable.
    """
    if is_line and (is_full or settings.as_json):
        message = "--line goes with neither --full nor --json."
        raise click.UsageError(message)
    with workspace_of(settings) as here:
        thread_id = _only_session(here) if thread is None else thread
        if is_line:
            sys.stdout.write(f"{_line(here, thread_id)}\n")
            return FINE

        screen = _looked_up(here, thread_id)
    reader = _reader(here)
    if settings.as_json:
        write_json(document(screen, reader))
    else:
        write_lines(lines(screen, reader, sys.stdout, is_full=is_full), pager=pager)
    return FINE


def _line(here: Workspace, thread_id: str) -> str:
    from brenner.services.sessions import one_overview

    overview = one_overview(here, thread_id)
    if overview is None:
        _check_known(here, thread_id)
        return f"{short_id(thread_id)} conversation"
    return line(overview, datetime.now(UTC), here.project.ack_deadline)


def _check_known(here: Workspace, thread_id: str) -> None:
    """Refuse what is no thread's ID, and a thread that nobody has written to."""
    from brenner.mail.rules import unknown_thread
    from brenner.services.sessions import with_its_file
    from brenner.services.version_store import check_usable

    check_usable(thread_id)
    if not here.mailbox.thread(thread_id, limit=1).position:
        known = [each.thread_id for each in here.mailbox.threads()]
        raise with_its_file(here, thread_id, unknown_thread(thread_id, known))


def _looked_up(here: Workspace, thread_id: str) -> "Screen":
    from brenner.integrations.programs import bead_of
    from brenner.services.identity import unverified_in
    from brenner.services.references import unresolved
    from brenner.services.sessions import load_status
    from brenner.session.status import told_of_refusals

    found = load_status(here, thread_id)
    nowhere = unresolved(here, found.history.state.artifact)
    bead = bead_of(thread_id, here.project.folder)
    unverified = unverified_in(here.mailbox, found.history)
    return Screen(found.status, nowhere, bead, told_of_refusals(found.messages), unverified)


def _reader(here: Workspace) -> "Reader":
    from brenner.session.status_text import Reader

    return Reader(here.actor, here.project.operator, datetime.now(UTC), here.project.ack_deadline)


def _only_session(here: Workspace) -> str:
    """The session that is not complete, if there is just one; the only one that there is."""
    from brenner.services.sessions import overviews
    from brenner.session.model import Phase

    sessions = {key: each.phase for key, each in overviews(here).items() if each.phase}
    going_on = [key for key, phase in sessions.items() if phase is not Phase.COMPLETE]
    candidates = going_on or list(sessions)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        message = "There is no session yet: `brenner session start` begins one."
        raise click.UsageError(message)
    names = [escape_control(each) for each in candidates[:_MOST_LISTED]]
    more = f", and {len(candidates) - _MOST_LISTED} more" * (len(candidates) > _MOST_LISTED)
    message = f"Which THREAD? There are {len(candidates)}: {', '.join(names)}{more}."
    raise click.UsageError(message)


# A session in one line, for a prompt or a status bar: no colour, at most 80 columns.


_MOST_COLUMNS = 80
_MOST_ID = 28
_BETWEEN, _MORE = " · ", " …"


def line(overview: Overview, now: datetime, deadline: timedelta) -> str:
    """`cell-fate r2 v1 awaiting deltas: RedSky, GreenDog · 1 overdue`."""
    head = [short_id(overview.thread_id)]
    if overview.phase:
        head.append(f"r{overview.round}")
    if overview.version is not None:
        head.append(f"v{overview.version}")
    head.append(PHASE_WORDS[overview.phase])
    said = " ".join(head)
    tail = _fitting(_open(overview, now, deadline), _MOST_COLUMNS - columns(said))
    return said + _names(overview, _MOST_COLUMNS - columns(said) - columns(tail)) + tail


def _fitting(parts: list[str], room: int) -> str:
    """As many as there is room for; a sign says that there are more."""
    whole = "".join(f"{_BETWEEN}{each}" for each in parts)
    if columns(whole) <= room:
        return whole
    kept = ""
    for each in parts:
        more = f"{kept}{_BETWEEN}{each}"
        if columns(more) + columns(_MORE) > room:
            break
        kept = more
    return kept + _MORE


def short_id(thread_id: str) -> str:
    """What tells a session from others in a line: of a research session its slug."""
    match = RESEARCH_THREAD_ID.fullmatch(thread_id)
    [piece] = cut([Span(escape_control(match[2] if match else thread_id))], _MOST_ID)
    return piece.text


def _open(overview: Overview, now: datetime, deadline: timedelta) -> list[str]:
    """What waits, the most urgent first; how far the session is stands before it."""
    counts = {
        Need.BLOCKED: overview.blocked,
        Need.ASKED: overview.questions,
        Need.OVERDUE: len(overview.overdue(now, deadline)),
        Need.REFUSED: overview.refusals,
        Need.LATE: overview.late,
        Need.HANDOFFS: overview.handoffs,
    }
    needs = needs_of(overview, now, deadline)
    stopped = [str(Need.STOPPED)] if Need.STOPPED in needs else []
    return stopped + [f"{count} {_word(need, count)}" for need, count in counts.items() if count]


def _word(need: Need, count: int) -> str:
    return "handoff" if need is Need.HANDOFFS and count == 1 else str(need)


def _names(overview: Overview, room: int) -> str:
    """For whom the round waits: as many names as there is room for, and how many more."""
    names = [escape_control(each.name) for each in overview.awaited]
    for shown in range(len(names), 0, -1):
        more = f" +{len(names) - shown}" if shown < len(names) else ""
        said = f": {', '.join(names[:shown])}{more}"
        if columns(said) <= room:
            return said
    return ""


# What is open in a session, as people see it: critiques, questions, ACKs, refused blocks.
#
# Every part is absent where there is nothing to say. In a terminal a long list is cut, and says so.


_T = TypeVar("_T")
_MOST = 5  # of each kind in a terminal
_INDENT = "      "
_OPEN = (
    Column("ID", is_right=True),
    Column("Open"),
    Column("About", least=20),
    Column("From", least=14),
    Column("Waits for", least=16),
)
_OWED = (Column("Owes", least=10), Column("Overdue ACKs", least=20))
_REFUSED = (
    Column("ID", is_right=True),
    Column("Refused"),
    Column("Block", least=12),
    Column("From", least=14),
    Column("Read by"),
)
# The most pressing first, as the attention names them
_ORDER = ("BLOCKED", "QUESTION", "HANDOFF", "CRITIQUE")


def open_lines(status: SessionStatus, out: TextIO, *, is_full: bool) -> Iterator[str]:
    """Blockers, questions, handoffs and critiques: messages, then items of the artifact."""
    messages = sorted(status.messages, key=_pressing)
    rows = [_message_row(each) for each in messages]
    rows += [_critique_row(each) for each in status.critiques]
    if rows:
        yield "\n"
        yield from table(_OPEN, _first(rows, out, is_full=is_full), out)
        yield from _rest(status, len(rows), out, is_full=is_full)


def _pressing(each: OpenMessage) -> tuple[int, datetime, int]:
    rank = _ORDER.index(each.type) if each.type in _ORDER else len(_ORDER)
    return (rank, each.at, each.message_id)


def _message_row(each: OpenMessage) -> Row:
    rank = [Span(f" {each.rank}", QUIET)] if each.rank else []
    return Row(
        (
            [Span(str(each.message_id), STRONG)],
            [Span(each.type, STYLE_OF_TYPE.get(each.type, QUIET)), *_short(rank)],
            [Span(each.about or each.subject)],
            [agent_piece(each.sender)],
            [*_named(each.waiting_for)],
        )
    )


def _short(pieces: Sequence[Span]) -> list[Span]:
    """A severity is a word; whatever else somebody wrote there is cut to one."""
    return cut([piece._replace(text=escape_control(piece.text)) for piece in pieces], _MOST_RANK)


_MOST_RANK = 12


def _named(agents: Sequence[str]) -> Iterator[Span]:
    for number, name in enumerate(agents):
        yield Span(", " * (number > 0))
        yield agent_piece(name)


def _critique_row(each: OpenCritique) -> Row:
    status = f" ({each.status})" if each.status else ""
    return Row(
        (
            [Span(each.item, STRONG)],
            [Span("critique", STYLE_OF_TYPE[CRITIQUE.name])],
            [Span(each.name), Span(status, QUIET)],
            [agent_piece(each.agent)] if each.agent else [],
            [],
        )
    )


def overdue_lines(
    late: Sequence[OpenAck], now: datetime, deadline: timedelta, out: TextIO
) -> Iterator[str]:
    """The ACKs that should have come by now, by who owes them."""
    if late:
        rows = [
            Row(([agent_piece(debtor)], [*_owed(late, debtor, (now, deadline), out)]))
            for debtor in dict.fromkeys(each.debtor for each in late)
        ]
        yield "\n"
        yield from table(_OWED, rows, out)


def _owed(
    late: Sequence[OpenAck], debtor: str, at: tuple[datetime, timedelta], out: TextIO
) -> Iterator[Span]:
    """`12 KICKOFF, 3 h late; 16 CRITIQUE, 2 h late`."""
    now, deadline = at
    for number, each in enumerate(each for each in late if each.debtor == debtor):
        since = each.due(deadline)
        said = f"{span(now - since)} late" if out.isatty() else f"due {exact(since)}"
        kind = each.type or "message"
        times = f" ({each.times_sent}×)" if each.times_sent > 1 else ""
        yield Span("; " * (number > 0) + f"{each.message_id} ")
        yield Span(kind, STYLE_OF_TYPE.get(kind, QUIET))
        yield Span(f"{times}, {said}")


def refusal_lines(status: SessionStatus, out: TextIO, *, is_full: bool) -> Iterator[str]:
    """Refused blocks that nobody has corrected: which, why, how to mend it; how to let one be."""
    refusals = status.refusals
    if not refusals:
        return
    yield "\n"
    shown = _first(refusals, out, is_full=is_full)
    is_whole = is_full or not out.isatty()
    yield from table(_REFUSED, [_refusal(each, is_whole=is_whole) for each in shown], out)
    yield from _rest(status, len(refusals), out, is_full=is_full)
    which = f"{refusals[0].message_id}.{refusals[0].block}"
    thread = thread_argument(status.thread_id)
    yield advice(f"`brenner session dismiss {thread} {which}` lets one be.", out)


def _refusal(each: Refusal, *, is_whole: bool) -> Row:
    """`12.1  INVALID_SECTION  ADD hypothesis_slate “Gradient”  RedSky  v1`, the reason, the fix.

    Of several reasons a terminal shows the worst, and how many more there are.
    """
    found = sorted(each.diagnostics, key=worst_first)
    reasons = [one for one in found if one.severity is ERROR] or found[:1]
    what = " ".join(filter(None, (each.operation, each.target_id or each.section)))
    name = f" “{each.name}”" if each.name else ""
    below = []
    for reason in reasons if is_whole else reasons[:1]:
        below += [
            [Span(_INDENT), *_code(reason, reasons), Span(reason.message)],
            [Span(_INDENT), Span("→ ", QUIET), Span(reason.fix)],
        ]
    more = [Span(f" and {len(reasons) - 1} more", QUIET)] * (len(reasons) > 1)
    return Row(
        (
            [Span(f"{each.message_id}.{each.block}", STRONG)],
            [Span(reasons[0].id if reasons else "refused", ATTENTION), *more],
            [Span(f"{what}{name}", QUIET)],
            [agent_piece(each.agent)],
            [Span(f"v{each.version}" if each.version else "no version", QUIET)],
        ),
        below,
    )


def _code(found: Diagnostic, reasons: Sequence[Diagnostic]) -> list[Span]:
    """The codes of the other reasons; that of the first stands above them all."""
    return [Span(f"{found.id}: ")] if found is not reasons[0] else []


def unresolved_lines(
    status: SessionStatus, found: Sequence[Diagnostic], out: TextIO, *, is_full: bool
) -> Iterator[str]:
    """References that lead nowhere, by the item that has them, and files that are in the way."""
    if not found:
        return
    yield "\n"
    files = sum(each.code is SESSION_FILE_UNREADABLE for each in found)
    count = counted(len(found) - files, "reference leads", "references lead")
    said = [f"{count} nowhere"] if len(found) > files else []
    said += [f"{counted(files, 'file')} that references need cannot be read"] if files else []
    yield fold([], [Span("; ".join(said), QUIET)], "", out)
    for each in _first(found, out, is_full=is_full):
        yield fold([Span("  ")], [Span(each.message)], "    ", out)
    yield from _rest(status, len(found), out, is_full=is_full)


def _first(entries: Sequence[_T], out: TextIO, *, is_full: bool) -> Sequence[_T]:
    """What a terminal shows of a list. One entry more costs as much as saying so."""
    is_whole = is_full or not out.isatty() or len(entries) <= _MOST + 1
    return entries if is_whole else entries[:_MOST]


def _rest(status: SessionStatus, count: int, out: TextIO, *, is_full: bool) -> Iterator[str]:
    left = count - len(_first(range(count), out, is_full=is_full))
    if left:
        command = f"brenner session status --full {thread_argument(status.thread_id)}"
        yield advice(f"… {left} more: `{command}`", out)


__all__ = ["open_lines", "overdue_lines", "refusal_lines", "unresolved_lines"]


# An agent's turn in a round, as a terminal has it.


_STYLES = MappingProxyType(
    {"attention": ATTENTION, "strong": STRONG, "plain": PLAIN, "quiet": QUIET}
)


def turn_pieces(each: Participant, status: SessionStatus, now: datetime) -> Cell:
    """What she has to do or has done; what she wrote instead stands after it."""
    words = turn_words(each, status, now)
    pieces = [Span(words.text, _STYLES[words.weight])]
    return [*pieces, Span(words.aside, QUIET)] if words.aside else pieces


# The status of a session on one screen: what needs the operator first, what to do next last.


_NOTICE, _POSITIVE = STYLE_OF_TYPE["QUESTION"], STYLE_OF_TYPE["COMPILED"]
# What keeps the session from going on has a mark besides its words
_PRESSING = ("stopped", "blocked", "question", "overdue", "refused")
_STATUS_VIEW_STYLES: dict[str, Style] = {
    "stopped": ATTENTION,
    "blocked": ATTENTION,
    "question": _NOTICE,
    "overdue": ATTENTION,
    "refused": ATTENTION,
    "ready": _POSITIVE,
    "late": _NOTICE,
    "handoff": _NOTICE,
}
_AGENTS = (
    Column("Agent", least=12),
    Column("Role", least=12),
    Column("Turn", least=30),
    Column("Deltas", is_right=True, shown_from=WIDE),
    Column("Last heard"),
)


class Screen(NamedTuple):
    """What is shown: the status, and what only the surroundings know.

    `told` are the messages whose authors have been mailed what is refused in them, `unverified`
    those that anybody may have sent.
    """

    status: SessionStatus
    unresolved: tuple[Diagnostic, ...] = ()
    bead: Bead | None = None
    told: frozenset[int] = frozenset()
    unverified: Unverified = Unverified()


def document(screen: Screen, reader: Reader) -> dict[str, object]:
    """The status as every front end has it, and what the surroundings add; it is what is shown."""
    return status_json(screen.status, reader.now, reader.deadline) | {
        "bead": bead_json(screen.bead),
        "unresolved": [each.to_json() for each in screen.unresolved],
        "unverified": list(screen.unverified.ids),
    }


def lines(screen: Screen, reader: Reader, out: TextIO, *, is_full: bool) -> Iterator[str]:
    """The whole screen. In a terminal long lists are cut, unless it is to be full."""
    status = screen.status
    yield from _title(status, out)
    yield from _attention(status, reader, out)
    yield "\n"
    yield from labelled([*_facts(screen, out)], out)
    yield from _agents(status, reader.now, out)
    yield from open_lines(status, out, is_full=is_full)
    late = status.overdue(reader.now, reader.deadline)
    yield from overdue_lines(late, reader.now, reader.deadline, out)
    yield from refusal_lines(status, out, is_full=is_full)
    yield from unresolved_lines(status, screen.unresolved, out, is_full=is_full)
    yield "\n"
    yield from step_lines(next_step(status, reader, screen.told), out)


def _title(status: SessionStatus, out: TextIO) -> Iterator[str]:
    """`RS-20251230-cell-fate  round 2, awaiting deltas`."""
    is_done = status.phase in (None, Phase.COMPLETE)
    style = _POSITIVE if status.phase is Phase.READY_TO_COMPILE else QUIET if is_done else STRONG
    words = PHASE_WORDS[status.phase]
    said = f"round {status.round}, {words}" if status.phase else words
    pieces = [Span(status.thread_id, STRONG, is_solid=True), Span("  ")]
    yield fold([], [*pieces, Span(said, style)], "  ", out)


def _attention(status: SessionStatus, reader: Reader, out: TextIO) -> Iterator[str]:
    found = attention(status, reader.now, reader.deadline)
    for each in found:
        yield fold(
            [_mark(each)],
            [Span(each.text, _STATUS_VIEW_STYLES.get(each.kind, PLAIN))],
            "    ",
            out,
        )
    if not found:
        waits = joined(each.name for each in status.awaited)
        why = f": the round waits for {waits}" if waits else ""
        yield fold([Span("  ")], [Span(f"Nothing needs you{why}", QUIET)], "  ", out)


def _mark(each: Attention) -> Span:
    if each.kind in _PRESSING:
        return Span("  ! ", _STATUS_VIEW_STYLES[each.kind])
    return Span("  · ", QUIET)


def _facts(screen: Screen, out: TextIO) -> Iterator[tuple[str, Sequence[Span]]]:
    status = screen.status
    if status.question:
        yield "Question", _one_line(status.question, out)
    if status.version:
        yield "Version", [*_version(status.version, out), *_since(status)]
    elif status.phase:
        yield "Version", [Span("none yet", QUIET), *_since(status)]
    if screen.bead:
        yield "Bead", bead_pieces(screen.bead)
    if not status.phase:
        yield "Messages", [Span(str(status.position))]
    if screen.unverified.ids:
        yield "Unverified", [*_unverified(screen.unverified)]


def _unverified(found: Unverified) -> Iterator[Span]:
    """`messages 12 (DELTA, BlueLake) and 14 (mail, RedCreek); 9 older`: what is new stands out."""
    if found.new:
        words = [f"{each.id} ({each.type or 'mail'}, {each.message.sender})" for each in found.new]
        yield Span(f"message{'s' * (len(words) > 1)} {joined(words)}", ATTENTION)
    if found.older:
        yield Span(f"{'; ' if found.new else ''}{found.older} older", QUIET)


_LABELLED = 14  # columns before what a field says


def _one_line(text: str, out: TextIO) -> list[Span]:
    """As much of a text as a line of the terminal has."""
    width = width_of(out)
    piece = Span(escape_control(" ".join(text.split()), len(text) + 1))
    return cut([piece], width - _LABELLED) if width else [piece]


def _version(version: LatestVersion, out: TextIO) -> Iterator[Span]:
    """`v1, 3 h ago: draft, 6 errors, 2 warnings, no third alternative`."""
    yield Span(f"v{version.number}", STRONG)
    yield Span(f", {_compiled(version, out)}: ", QUIET)
    found = [
        version.status,
        counted(version.errors, "lint error") if version.errors else "",
        counted(version.warnings, "warning") if version.warnings else "",
        "" if version.has_third_alternative else "no third alternative",
    ]
    if not (version.errors or version.warnings):
        found.insert(1, "lint finds nothing")
    yield Span(", ".join(escape_control(each) for each in found if each))


def _compiled(version: LatestVersion, out: TextIO) -> str:
    """When; a compiler's clock may say anything."""
    try:
        return when(datetime.fromisoformat(version.compiled_at), out)
    except (ValueError, TypeError):
        return escape_control(version.compiled_at)


def _since(status: SessionStatus) -> Iterator[Span]:
    """What has come in that no version has read."""
    words = since_words(status)
    if words:
        arrived, becomes = words
        yield Span(f"\n{arrived}; ")
        yield Span(becomes)


def _agents(status: SessionStatus, now: datetime, out: TextIO) -> Iterator[str]:
    if status.participants:
        yield "\n"
        yield from table(
            _AGENTS, [_agent(each, status, now, out) for each in status.participants], out
        )


def _agent(each: Participant, status: SessionStatus, now: datetime, out: TextIO) -> Row:
    heard = when(each.last_at, out) if each.last_at else "never"
    return Row(
        (
            [agent_piece(each.name)],
            [Span(each.role or "", QUIET)],
            turn_pieces(each, status, now),
            [Span(str(each.total), PLAIN if each.total else QUIET)],
            [Span(heard, QUIET)],
        )
    )


def step_lines(step: Step, out: TextIO) -> Iterator[str]:
    """`Next: publish v2: brenner compile …`. A command that does not fit is not folded: who copies
    it would copy the line ends.
    """
    yield from _way_on(f"Next: {step.words}:", step.command, out)
    if step.instead:
        words, command = step.instead
        yield from _way_on(f"  {words}:", command, out)


def _way_on(words: str, command: str, out: TextIO) -> Iterator[str]:
    width = width_of(out)
    if width and columns(words) + columns(command) + 1 > width:
        yield fold([], _said(words), "  ", out)
        is_long = columns(command) + 2 > width
        yield f"{'' if is_long else '  '}{command}\n"
        return
    yield fold([], [*_said(words), Span(" "), Span(command, STRONG, is_solid=True)], "", out)


def _said(words: str) -> list[Span]:
    return [
        Span(f"`{part}`" if number % 2 else part, is_solid=bool(number % 2))
        for number, part in enumerate(words.split("`"))
    ]


def bead_json(bead: Bead | None) -> dict[str, object] | None:
    """What bd told; `problem` is why it told nothing."""
    return bead._asdict() | {"problem": bead.problem or None} if bead else None


def bead_pieces(bead: Bead) -> list[Span]:
    """`in_progress  Prove the conventions (BlueLake)`; or why bd says nothing."""
    if bead.problem:
        return [Span(f"bd does not say more: {escape_control(bead.problem)}", QUIET)]
    pieces = [Span(escape_control(bead.status or "no status"), STRONG)]
    if bead.title:
        pieces.append(Span(f"  {escape_control(bead.title)}"))
    if bead.assignee:
        pieces += [Span("  "), agent_piece(bead.assignee)]
    return pieces
