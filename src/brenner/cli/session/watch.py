"""`brenner session watch`: follow sessions live."""

import errno
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from brenner.cli.failures import exit_code
from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import failure, note_done
from brenner.cli.session.watch_json import JsonView, write_line
from brenner.cli.session.watch_stopping import Stopping
from brenner.cli.session.watch_view import View
from brenner.diagnostics.model import BrennerError
from brenner.services.watch import Event, Made, Quiet, WatchOptions
from brenner.services.watch import watch as follow
from brenner.session.model import Phase

_COMPILING = "The compile is finished first; Ctrl-C again breaks it off."


@click.command(
    "watch",
    epilog=examples(
        "brenner session watch",
        "brenner session watch RS-20251230-cell-fate --auto-compile --notify",
        "brenner session watch RS-20251230-cell-fate --until ready_to_compile",
        "brenner session watch --json | jq -c 'select(.event == \"phase\")'",
    ),
)
@click.argument("thread", metavar="[THREAD]", required=False)
@click.option("--auto-compile", is_flag=True, help="Compile whatever is ready.")
@click.option("--notify", is_flag=True, help="With it: tell authors of refused blocks why.")
@click.option(
    "--until",
    type=click.Choice([phase.value for phase in Phase]),
    metavar="PHASE",
    help="End when THREAD is in that phase, such as `ready_to_compile`.",
)
@common_options
def watch(
    settings: Settings, thread: str | None, *, auto_compile: bool, notify: bool, until: str | None
) -> int:
    """Follow THREAD, or all sessions: each message as it comes in, and what it means.

    Nothing is written; only with --auto-compile a session that is ready is compiled. A mailbox
    that is lost is waited for, and then everything is told that has come in meanwhile. With --json
    each event is one JSON object on one line: `watching`, `message`, `phase`, `compiled`, `lost`,
    `back`, `stopped`.

    Ctrl-C ends it, with exit code 0; a compile under way is finished before.
    """
    _check_usage(thread, auto_compile=auto_compile, notify=notify, until=until)
    options = WatchOptions(thread, auto_compile, notify, Phase(until) if until else None)
    try:
        return _run(settings, options)
    except BrennerError as error:
        if not settings.as_json:
            raise
        write_line({"event": "failed", **failure(error.diagnostic)})
        return exit_code(error)


def _check_usage(
    thread: str | None, *, auto_compile: bool, notify: bool, until: str | None
) -> None:
    if notify and not auto_compile:
        message = "--notify tells what a compile refused; it goes with --auto-compile."
        raise click.UsageError(message)
    if until and thread is None:
        message = "--until needs a THREAD: the phase is that of one session."
        raise click.UsageError(message)


def _run(settings: Settings, options: WatchOptions) -> int:
    view: View | JsonView = JsonView(options) if settings.as_json else View(options)
    reason = "until"
    with Stopping() as stopping:
        try:
            with desk(settings) as here, _erased(view):
                view.deadline = here.project.ack_deadline
                for event in follow(here, options, lambda: stopping.held(_COMPILING)):
                    with stopping.held():
                        if isinstance(event, Made) and event.done.message:
                            note_done()
                        view.show(event)
                        _check_reader(event)
        except KeyboardInterrupt:
            reason = "interrupted"
        stopping.no_more()
        view.end(reason)
    return FINE


@contextmanager
def _erased(view: View | JsonView) -> Iterator[None]:
    """However it ends, nothing of the last line is left."""
    try:
        yield
    finally:
        view.erase()


def _check_reader(event: Event) -> None:
    """Nobody waits for news on behalf of a reader who has gone, as `head` does."""
    if not isinstance(event, Quiet) or sys.stdout.isatty():
        return
    reader = select.poll()
    try:
        reader.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # no file of the system's
        return
    if any(found & (select.POLLERR | select.POLLNVAL) for _, found in reader.poll(0)):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
