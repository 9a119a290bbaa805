"""`brenner mail pending`: ACKs that agents owe; resend or escalate the overdue ones."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING

import click

from brenner.cli.options import EXIT_OK, Command, Settings, common_options, examples
from brenner.cli.output import note_changes_made, write_json
from brenner.cli.table import (
    FROM_COLUMN,
    ID_COLUMN,
    SUBJECT_COLUMN,
    THREAD_COLUMN,
    WIDE_TERMINAL,
    DisplayRow,
    TableColumn,
    bodies_option,
    check_bodies_usage,
    is_unverified,
    table,
    trust_spans,
)
from brenner.cli.terminal import (
    ATTENTION,
    QUIET,
    Span,
    agent_span,
    format_hint,
    format_message,
    pager_option,
    print_message,
    subject_spans,
    write_lines,
)
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_for_writing, workspace_of
from brenner.mail.model import SendResult, in_list, stored_json
from brenner.protocol.messages import duration_text, exact_time, iso
from brenner.services.acknowledge import DueAck, escalate, pending_acks, resend
from brenner.text import as_option, escape_control, grouped, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from brenner.protocol.messages import StoredMessage
    from brenner.services.workspace import Workspace

_COLUMNS = (
    TableColumn("Owes", min_width=14),
    TableColumn("Due"),
    ID_COLUMN,
    FROM_COLUMN,
    SUBJECT_COLUMN,
    THREAD_COLUMN._replace(min_terminal_width=WIDE_TERMINAL),
)


@click.command(
    "pending",
    epilog=examples(
        "brenner mail pending",
        "brenner mail pending --agent BlueLake --overdue",
        "brenner mail pending --thread RS-20251230-cell-fate --resend",
    ),
    cls=Command,
)
@click.option("--agent", metavar="NAME", help="Only ACKs that this agent owes.")
@click.option("--thread", "thread_id", metavar="ID", help="Only this thread.")
@click.option("--overdue", is_flag=True, help="Only overdue ACKs.")
@click.option("--resend", "resends", is_flag=True, help="Send overdue messages again.")
@click.option("--escalate", "escalates", is_flag=True, help="Report overdue ACKs to the operator.")
@bodies_option
@pager_option
@common_options
def command(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    agent: str | None,
    thread_id: str | None,
    overdue: bool,
    resends: bool,
    escalates: bool,
    bodies: bool,
    pager: bool,
) -> int:
    """List owed acknowledgements (ACKs), overdue ones first.

    An ACK is overdue after 24 hours, or `ack_deadline_hours` in brenner.toml. --resend sends your
    overdue messages again; the operator resends those of all senders. --escalate sends the operator
    one BLOCKED message per thread. --json cuts long bodies, unless you add --bodies.
    """
    check_bodies_usage(bodies=bodies, as_json=settings.as_json)
    now = datetime.now(UTC)
    with (workspace_for_writing if resends or escalates else workspace_of)(settings) as here:
        thread_id = thread_id and find_thread(here, thread_id)
        deadline = here.project.ack_deadline
        found = pending_acks(here.mailbox, now, deadline, debtor=agent, thread_id=thread_id)
        late = [each for each in found if each.is_overdue]
        resent = resend(here.mailbox, _resendable(late, here)) if resends else ()
        operator = here.project.operator
        escalated = escalate(here.mailbox, late, here.actor, operator) if escalates else ()
    if resent or escalated:
        note_changes_made()
    shown = sorted(late if overdue else found, key=_worst_first)
    if settings.as_json:
        write_json(_document(shown, resent, escalated, bodies=bodies))
        return EXIT_OK
    write_lines(_lines(shown, now, overdue=overdue), pager=pager)
    if late and not resends and not escalates and _resendable(late, here):
        thread = f" --thread {quote(escape_control(thread_id))}" if thread_id else ""
        actor = as_option(here.actor, here.project.operator)
        sys.stdout.write("\n")
        print_message(f"To remind them: `brenner mail pending --resend{thread}{actor}`")
    if resends:
        _write_resent(resent, late, here)
    if escalates:
        _write_escalated(escalated, late, here)
    return EXIT_OK


def _resendable(late: Iterable[DueAck], here: Workspace) -> list[DueAck]:
    """Return what the actor may resend: its own messages. The operator may resend all."""
    return [
        each for each in late if here.is_operator or each.pending.first.message.sender == here.actor
    ]


def _worst_first(each: DueAck) -> tuple[bool, datetime, int, str]:
    return (not each.is_overdue, each.due, each.pending.first.id, each.pending.debtor)


def _document(
    shown: Iterable[DueAck],
    resent: Iterable[SendResult],
    escalated: Iterable[SendResult],
    *,
    bodies: bool,
) -> dict[str, object]:
    def listed(stored: StoredMessage) -> dict[str, object]:
        return in_list(stored_json(stored), bodies=bodies)

    return {
        "pending": [_debt_json(each) | {"message": listed(each.pending.first)} for each in shown],
        "resent": [listed(sent.stored) for sent in resent if sent.is_new],
        "escalated": [listed(sent.stored) for sent in escalated if sent.is_new],
    }


def _debt_json(each: DueAck) -> dict[str, object]:
    debt = each.pending
    return {
        "agent": debt.debtor,
        "message_id": debt.first.id,
        "last_message_id": debt.last.id,
        "times_sent": debt.times_sent,
        "since": iso(debt.first.at),
        "due": iso(each.due),
        "overdue": each.is_overdue,
        **({"sealed": True} if each.is_sealed else {}),
    }


def _lines(shown: Sequence[DueAck], now: datetime, *, overdue: bool) -> Iterator[str]:
    """Yield a headline, then the table of pending ACKs."""
    if not shown:
        none = "No acknowledgement is overdue." if overdue else "No agent owes an acknowledgement."
        yield format_message(none, sys.stdout)
        asking = "KICKOFF, CRITIQUE, HANDOFF, BLOCKED and QUESTION messages require one."
        yield format_hint(asking, sys.stdout)
        return
    yield format_message(_headline(shown, now), sys.stdout) + "\n"
    yield from table(_COLUMNS, [_row(each, now) for each in shown], sys.stdout)


def _headline(shown: Sequence[DueAck], now: datetime) -> str:
    """Return `Waiting for 3 acknowledgements from 2 agents, the oldest for 3 h. 1 is overdue.`"""
    agents = {each.pending.debtor for each in shown}
    late = sum(each.is_overdue for each in shown)
    oldest = duration_text(now - min(each.pending.last.at for each in shown))
    who = joined(agents) if len(agents) == 1 else f"{len(agents)} agents"
    since = f"for {oldest}" if len(shown) == 1 else f"the oldest for {oldest}"
    overdue = _count_is(late) if late else "None is"
    what = grouped(len(shown), "acknowledgement")
    return f"Waiting for {what} from {who}, {since}. {overdue} overdue."


def _row(each: DueAck, now: datetime) -> DisplayRow:
    debt = each.pending
    message = debt.first.message
    times = f" ({debt.times_sent}×)" if debt.times_sent > 1 else ""
    unverified = [Span(" "), *trust_spans(debt.first)] if is_unverified(debt.first) else []
    return DisplayRow(
        (
            [agent_span(debt.debtor)],
            [_due_span(each, now)],
            [Span(str(debt.first.id) + times)],
            [agent_span(message.sender), *unverified],
            subject_spans(message.subject),
            [Span(message.thread_id)],
        )
    )


def _due_span(each: DueAck, now: datetime) -> Span:
    if each.is_sealed:
        return Span("not before v1", QUIET)
    if not sys.stdout.isatty():
        return Span(("overdue since " if each.is_overdue else "") + exact_time(each.due))
    if each.is_overdue:
        return Span(f"{duration_text(now - each.due)} overdue", ATTENTION)
    return Span(f"due in {duration_text(each.due - now)}", QUIET)


def _write_resent(resent: Sequence[SendResult], late: Sequence[DueAck], here: Workspace) -> None:
    for sent in resent:
        first, to = sent.stored.reply_to, joined(sent.stored.message.recipients)
        again = f"again to {to}, as message {sent.stored.id}"
        if sent.is_new:
            print_message(f"Sent message {first} {again}.")
        else:
            print_message(f"Message {first} was just sent {again}. Nothing was sent.")
    own = _resendable(late, here)
    imported = sum(not each.pending.first.is_local for each in own)
    if not late:
        print_message("Nothing was sent: nothing is overdue.")
    if len(own) < len(late):
        others = _count_is(len(late) - len(own))
        who = "Only their senders and the operator can resend them."
        print_message(f"{others} owed for messages from other agents. {who}")
    if imported:
        text = "owed for imported mail, which cannot be resent. Send the agents a new message."
        print_message(f"{_count_is(imported)} {text}")


def _count_is(count: int) -> str:
    return "1 is" if count == 1 else f"{count} are"


def _write_escalated(
    escalated: Sequence[SendResult], late: Sequence[DueAck], here: Workspace
) -> None:
    to = escape_control(here.project.operator)
    for sent in escalated:
        thread, number = escape_control(sent.stored.message.thread_id), sent.stored.id
        if sent.is_new:
            print_message(f"Reported what is overdue in {thread} to {to}, as message {number}.")
        else:
            print_message(f"Message {number} already reports what is overdue in {thread} to {to}.")
    others = [
        each for each in late if each.pending.debtor not in (here.project.operator, here.actor)
    ]
    if not escalated and others:
        print_message(f"Nothing was sent: {to} has a report of what is overdue.")
    elif not escalated:
        print_message("Nothing was sent: no other agent is overdue.")
