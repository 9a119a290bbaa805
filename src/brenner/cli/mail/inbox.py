"""`brenner mail inbox`: what was sent to somebody, newest first."""

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import click

from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import write_json
from brenner.cli.table import (
    COLUMNS,
    OWED,
    UNREAD,
    before_option,
    legend,
    limit_option,
    row,
    standing_marks,
    table,
)
from brenner.cli.terminal import advice, as_option, pager_option, sentence, write_lines
from brenner.cli.workspace import FINE, workspace_of
from brenner.config import Project
from brenner.mail.model import InboxFilter, InboxPage, Received, next_before, received_json
from brenner.mail.open import store_of
from brenner.protocol.grammar import MESSAGE_TYPES
from brenner.services.workspace import Workspace
from brenner.text import escape_control

_TOLD_AFTER = 1.0  # seconds of waiting that nobody needs to be told of
_LONGEST_WAIT = 7 * 24 * 3600
_LOOKED_FOR_STORE = 0.2


@click.command(
    "inbox",
    epilog=examples(
        "brenner mail inbox --unread",
        "brenner mail inbox --as BlueLake --owed",
        "brenner mail inbox --type CRITIQUE --type BLOCKED --wait 60",
    ),
)
@click.option("--unread", is_flag=True, help="Only what is not marked as read.")
@click.option("--owed", is_flag=True, help="Only what you owe an ACK for.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    type=click.Choice(MESSAGE_TYPES, case_sensitive=False),
    help="Only messages of this type, such as CRITIQUE; repeatable.",
)
@click.option("--thread", "thread_id", metavar="ID", help="Only this thread.")
@limit_option
@before_option
@click.option(
    "--wait",
    type=click.FloatRange(0, _LONGEST_WAIT),
    metavar="SECONDS",
    help="If there is nothing, wait so long for mail.",
)
@pager_option
@common_options
def inbox(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    unread: bool,
    owed: bool,
    types: tuple[str, ...],
    thread_id: str | None,
    limit: int,
    before: int | None,
    wait: float | None,
    pager: bool,
) -> int:
    """List what was sent to you, newest first.

    The first column marks what is unread, what you owe an ACK (an acknowledgement) for, and what
    anybody may have sent.
    Nothing is marked as read by looking. In a terminal subjects are cut to its width; into a pipe
    everything goes whole. Exit code 0, also where there is nothing.
    """
    ask = _Ask(InboxFilter(unread, owed, types, thread_id), limit, before)
    answer = _answer(settings, ask, wait or 0.0)
    if settings.as_json:
        write_json(_document(answer))
    else:
        write_lines(_lines(answer, ask), pager=pager)
    return FINE


class _Ask(NamedTuple):
    """What is asked of an inbox."""

    wanted: InboxFilter
    limit: int
    before: int | None

    @property
    def narrowed(self) -> list[str]:
        """What it is asked for less than all of it, in words."""
        wanted = self.wanted
        words = (
            (wanted.unread, "unread only"),
            (wanted.owed, "only what is owed"),
            (wanted.types, f"only {' or '.join(wanted.types)}"),
            (wanted.thread_id is not None, f"only {escape_control(wanted.thread_id or '')}"),
            (self.before is not None, f"older than message {self.before}"),
        )
        return [word for is_asked, word in words if is_asked]

    def page(self, here: Workspace) -> InboxPage:
        """The answer as things stand."""
        return here.mailbox.inbox(here.actor, self.wanted, limit=self.limit, before=self.before)


class _Answer(NamedTuple):
    """What was found, whose it is, and who the operator is."""

    page: InboxPage
    name: str
    operator: str

    @property
    def as_option(self) -> str:
        """What a command for the same inbox must say."""
        return as_option(self.name, self.operator)


def _answer(settings: Settings, ask: _Ask, seconds: float) -> _Answer:
    """What fits; where nothing does, what has come by the end of the wait."""
    end = time.monotonic() + seconds
    is_told = False
    while True:
        with workspace_of(settings) as here:
            if not here.is_new_operator:
                return _Answer(_awaited(here, ask, end), here.actor, here.project.operator)
        if not is_told:
            _tell(end)
            is_told = True
        if not _store_comes(here.project, end):
            page = InboxPage((), has_more=False)
            return _Answer(page, here.actor, here.project.operator)


def _awaited(here: Workspace, ask: _Ask, end: float) -> InboxPage:
    mailbox = here.mailbox
    position = mailbox.position()
    page = ask.page(here)
    if not page.messages:
        _tell(end)
    while not page.messages and (left := end - time.monotonic()) > 0:
        position = mailbox.wait(position, left)
        page = ask.page(here)
    return page


def _store_comes(project: Project, end: float) -> bool:
    """Whether the project's store is there by the end of the wait; reading does not make one."""
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LOOKED_FOR_STORE))
        if store_of(project).is_there():
            return True
    return False


def _tell(end: float) -> None:
    """Say that nothing hangs, to somebody who looks."""
    left = end - time.monotonic()
    if left > _TOLD_AFTER and sys.stderr.isatty():
        sys.stderr.write(f"Nothing yet; waiting up to {left:.0f} s …\n")


def _document(answer: _Answer) -> dict[str, object]:
    page = answer.page
    stored = [received.stored for received in page.messages]
    return {
        "agent": answer.name,
        "messages": [received_json(received) for received in page.messages],
        "has_more": page.has_more,
        "next_before": next_before(stored, has_more=page.has_more),
    }


def _lines(answer: _Answer, ask: _Ask) -> Iterator[str]:
    """How it stands in one line, the table, what its marks mean, how to go on."""
    page = answer.page
    if not page.messages:
        yield from _nothing(answer, is_narrowed=bool(ask.narrowed))
        return
    yield sentence(_headline(answer, ask), sys.stdout) + "\n"
    marks = [_marks(received) for received in page.messages]
    rows = [row(each.stored, mark) for each, mark in zip(page.messages, marks, strict=True)]
    yield from table(COLUMNS, rows, sys.stdout)
    notes = legend(marks, answer.as_option)
    if page.has_more:
        older = f"Older ones: the same with `--before {page.messages[-1].stored.id}`."
        notes.append(sentence(older, sys.stdout))
    yield from ["\n", *notes] if notes else []


def _marks(received: Received) -> str:
    marks = UNREAD * (received.is_read is False) + OWED * received.owes_ack
    return marks + standing_marks(received.stored)


def _headline(answer: _Answer, ask: _Ask) -> str:
    """Whose inbox, which part of it, and what is left to do there. Copies are owed one ACK."""
    messages = answer.page.messages
    count = len(messages)
    shown = " shown, there are older ones" if answer.page.has_more else ""
    unread = sum(received.is_read is False for received in messages)
    # The hash stands for the thread as well.
    owed = len({received.stored.content_hash for received in messages if received.owes_ack})
    parts = [
        f"{count} message{'s' * (count != 1)}{shown}",
        f"{unread} unread" if unread else "",
        f"{owed} to acknowledge" if owed else "",
    ]
    which = "".join(f", {words}" for words in ask.narrowed)
    standing = ", ".join(part for part in parts if part)
    return f"Inbox of {escape_control(answer.name)}{which}: {standing}."


def _nothing(answer: _Answer, *, is_narrowed: bool) -> Iterator[str]:
    name = escape_control(answer.name)
    if is_narrowed:
        all_of_it = f"`brenner mail inbox{answer.as_option}` shows all of it."
        yield sentence(f"Nothing in the inbox of {name} fits. {all_of_it}", sys.stdout)
        return
    appears = f"What others send to {name} will appear here, newest first:"
    yield sentence(f"No mail for {name} yet. {appears}", sys.stdout)
    sender = "SENDER" if answer.name == answer.operator else escape_control(answer.operator)
    new = f"`brenner new INFO --as {sender} --to {name} > message.md`"
    yield advice(f"{new}; fill it in; `brenner mail send message.md`", sys.stdout)
