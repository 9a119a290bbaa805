"""The status of a session on one screen: what needs the operator first, what to do next last."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, TextIO

from brenner.cli.folding import PLAIN, Piece, Style, columns, fold
from brenner.cli.mail.message import labelled
from brenner.cli.mail.rows import WIDE, when
from brenner.cli.mail.table import Column, Row, cut, table
from brenner.cli.marks import ATTENTION, QUIET, STRONG, STYLE_OF_TYPE, agent_piece
from brenner.cli.output import width_of
from brenner.cli.sentences import joined
from brenner.cli.session.show_view import bead_json, bead_pieces
from brenner.cli.session.status_open import (
    open_lines,
    overdue_lines,
    refusal_lines,
    unresolved_lines,
)
from brenner.cli.session.status_words import turn_pieces
from brenner.diagnostics.model import Diagnostic
from brenner.integrations.programs import Bead
from brenner.services.identity import Unverified
from brenner.session.model import LatestVersion, Participant, Phase, SessionStatus
from brenner.session.overview import status_json
from brenner.session.status_text import (
    PHASE_WORDS,
    Attention,
    Reader,
    Step,
    attention,
    next_step,
    since_words,
)
from brenner.text import counted, visible

_NOTICE, _POSITIVE = STYLE_OF_TYPE["QUESTION"], STYLE_OF_TYPE["COMPILED"]
# What keeps the session from going on has a mark besides its words
_PRESSING = ("stopped", "blocked", "question", "overdue", "refused")
_STYLES: dict[str, Style] = {
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
    pieces = [Piece(status.thread_id, STRONG, is_solid=True), Piece("  ")]
    yield fold([], [*pieces, Piece(said, style)], "  ", out)


def _attention(status: SessionStatus, reader: Reader, out: TextIO) -> Iterator[str]:
    found = attention(status, reader.now, reader.deadline)
    for each in found:
        yield fold([_mark(each)], [Piece(each.text, _STYLES.get(each.kind, PLAIN))], "    ", out)
    if not found:
        waits = joined(each.name for each in status.awaited)
        why = f": the round waits for {waits}" if waits else ""
        yield fold([Piece("  ")], [Piece(f"Nothing needs you{why}", QUIET)], "  ", out)


def _mark(each: Attention) -> Piece:
    if each.kind in _PRESSING:
        return Piece("  ! ", _STYLES[each.kind])
    return Piece("  · ", QUIET)


def _facts(screen: Screen, out: TextIO) -> Iterator[tuple[str, Sequence[Piece]]]:
    status = screen.status
    if status.question:
        yield "Question", _one_line(status.question, out)
    if status.version:
        yield "Version", [*_version(status.version, out), *_since(status)]
    elif status.phase:
        yield "Version", [Piece("none yet", QUIET), *_since(status)]
    if screen.bead:
        yield "Bead", bead_pieces(screen.bead)
    if not status.phase:
        yield "Messages", [Piece(str(status.position))]
    if screen.unverified.ids:
        yield "Unverified", [*_unverified(screen.unverified)]


def _unverified(found: Unverified) -> Iterator[Piece]:
    """`messages 12 (DELTA, BlueLake) and 14 (mail, RedCreek); 9 older`: what is new stands out."""
    if found.new:
        words = [f"{each.id} ({each.type or 'mail'}, {each.message.sender})" for each in found.new]
        yield Piece(f"message{'s' * (len(words) > 1)} {joined(words)}", ATTENTION)
    if found.older:
        yield Piece(f"{'; ' if found.new else ''}{found.older} older", QUIET)


_LABELLED = 14  # columns before what a field says


def _one_line(text: str, out: TextIO) -> list[Piece]:
    """As much of a text as a line of the terminal has."""
    width = width_of(out)
    piece = Piece(visible(" ".join(text.split()), len(text) + 1))
    return cut([piece], width - _LABELLED) if width else [piece]


def _version(version: LatestVersion, out: TextIO) -> Iterator[Piece]:
    """`v1, 3 h ago: draft, 6 errors, 2 warnings, no third alternative`."""
    yield Piece(f"v{version.number}", STRONG)
    yield Piece(f", {_compiled(version, out)}: ", QUIET)
    found = [
        version.status,
        counted(version.errors, "lint error") if version.errors else "",
        counted(version.warnings, "warning") if version.warnings else "",
        "" if version.has_third_alternative else "no third alternative",
    ]
    if not (version.errors or version.warnings):
        found.insert(1, "lint finds nothing")
    yield Piece(", ".join(visible(each) for each in found if each))


def _compiled(version: LatestVersion, out: TextIO) -> str:
    """When; a compiler's clock may say anything."""
    try:
        return when(datetime.fromisoformat(version.compiled_at), out)
    except (ValueError, TypeError):
        return visible(version.compiled_at)


def _since(status: SessionStatus) -> Iterator[Piece]:
    """What has come in that no version has read."""
    words = since_words(status)
    if words:
        arrived, becomes = words
        yield Piece(f"\n{arrived}; ")
        yield Piece(becomes)


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
            [Piece(each.role or "", QUIET)],
            turn_pieces(each, status, now),
            [Piece(str(each.total), PLAIN if each.total else QUIET)],
            [Piece(heard, QUIET)],
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
    yield fold([], [*_said(words), Piece(" "), Piece(command, STRONG, is_solid=True)], "", out)


def _said(words: str) -> list[Piece]:
    return [
        Piece(f"`{part}`" if number % 2 else part, is_solid=bool(number % 2))
        for number, part in enumerate(words.split("`"))
    ]
