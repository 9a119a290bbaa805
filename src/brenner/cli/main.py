"""The command line: one table of commands, each imported when it is called.

Exit codes: 0 fine, 1 the content has errors, 2 wrong usage or unreadable input, 3 something
outside is unavailable.
"""

import os
import sys

import click

from brenner import __version__
from brenner.cli.options import Command, Commands, group_options
from brenner.cli.output import failure, is_done, write_diagnostics, write_json
from brenner.diagnostics.codes import messages as codes

COMMANDS = {
    "agent": Command("brenner.cli.agent", "command", "Connect agents to this project."),
    "artifact": Command(
        "brenner.cli.artifact", "command", "Show, compare, verify and lint artifacts."
    ),
    "check": Command("brenner.cli.check", "command", "Check a message before sending it."),
    "compile": Command("brenner.cli.compile", "command", "Publish the next version of a thread."),
    "demo": Command("brenner.cli.demo", "command", "Run a whole example session, offline."),
    "doctor": Command("brenner.cli.doctor", "command", "Say what is wrong and how to mend it."),
    "explain": Command(
        "brenner.cli.explain", "command", "Say what a code means and how to mend it."
    ),
    "init": Command("brenner.cli.init", "command", "Set a project up."),
    "mail": Command("brenner.cli.mail", "command", "Send, read and acknowledge mail."),
    "mcp": Command("brenner.cli.mcp", "command", "Serve one agent over standard input and output."),
    "new": Command("brenner.cli.new", "command", "Print a message of a type to fill in."),
    "orchestrate": Command("brenner.cli.session", "orchestrate", "The same as `session start`."),
    "refs": Command("brenner.cli.refs", "command", "Say which item comes from which."),
    "roster": Command("brenner.cli.roster", "command", "Say who has which role, and why."),
    "serve": Command("brenner.cli.serve", "command", "Serve agents and browsers over HTTP."),
    "session": Command("brenner.cli.session", "command", "Start, follow and end a session."),
}
_INTERRUPTED, _UNAVAILABLE = 130, 3
_OUT, _ERR = 1, 2  # the descriptors of the two outputs
_LOST = "brenner: the standard output is closed; what was to be written there is lost\n"


@click.group(cls=Commands, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="brenner %(version)s")
@group_options
def cli() -> None:
    """A research group of AI coding agents and one operator, working by mail.

    Start with `brenner init`; if something does not work, ask `brenner doctor`. Or without any
    mail: `brenner new DELTA > message.md` and `brenner check message.md`.
    """


def run(arguments: list[str]) -> int:
    """Run a command; its exit code. Whatever goes wrong ends in a code, never in a traceback."""
    is_lost = sys.stdout is None
    _open_outputs()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = _code_of(arguments)
        sys.stdout.flush()
        if is_lost:
            sys.stderr.write(_LOST)
        sys.stderr.flush()
    except OSError as error:
        return _output_failed(error)
    return code


def _open_outputs() -> None:
    """An output that is closed leads nowhere; else the next file to be opened would become it."""
    for number, name in ((_OUT, "stdout"), (_ERR, "stderr")):
        if getattr(sys, name) is None:
            _lead_nowhere(number)
            setattr(sys, name, os.fdopen(number, "w", closefd=False))


def _lead_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def _code_of(arguments: list[str]) -> int:
    try:
        # Not `cli.main`: that one takes a closed output for the end of the work, and says nothing.
        with cli.make_context("brenner", list(arguments)) as context:
            return _invoked(context)
    except click.ClickException as error:
        return _usage(error, arguments)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED


def _invoked(context: click.Context) -> int:
    try:
        code: object = cli.invoke(context)
        sys.stdout.flush()
    except OSError as error:
        return _output_failed(error, is_done=is_done(context))
    return code if isinstance(code, int) else 0


def _usage(error: click.ClickException, arguments: list[str]) -> int:
    context, as_json = getattr(error, "ctx", None), "--json" in arguments
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not as_json:
        sys.stdout.write(error.format_message() + "\n")
        return 0
    command = context.command_path if context else "brenner"
    reason = error.format_message() + _hint(error, arguments)
    found = codes.WRONG_USAGE.at(reason=reason, command=command)
    if as_json:
        write_json(failure(found, context))
    else:
        write_diagnostics([found], "brenner", sys.stderr)
    return error.exit_code if error.exit_code > 1 else 2


def _hint(error: click.ClickException, arguments: list[str]) -> str:
    """That a thread ID which begins with a hyphen was taken for options."""
    if not isinstance(error, click.NoSuchOption):
        return ""
    from brenner.cli.terminal import thread_argument
    from brenner.protocol.thread_ids import is_valid

    alike = (each for each in arguments if each.startswith(error.option_name))
    for each in alike:
        if each[1:2] != "-" and not {"-", "."}.isdisjoint(each[1:]) and is_valid(each):
            return f" If `{each}` is a thread's ID, write `{thread_argument(each)}`."
    return ""


def _output_failed(error: OSError, *, is_done: bool = False) -> int:
    """The reader went away, or the disk is full; what is buffered must not be tried again.

    Nobody should repeat what was done: a message would go out twice.
    """
    _lead_nowhere(_OUT)
    reason = error.strerror or type(error).__name__
    found = (codes.REPORT_LOST if is_done else codes.OUTPUT_CLOSED).at(reason=reason)
    try:
        write_diagnostics([found], "brenner", sys.stderr)
        sys.stderr.flush()
    except OSError:
        _lead_nowhere(_ERR)
    return _UNAVAILABLE
