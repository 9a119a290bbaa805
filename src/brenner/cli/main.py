"""The entry point of the command line: the table of commands, exit codes and error output.

Each command module is imported only when its command runs. Exit codes: 0 success, 1 the content has
errors, 2 wrong usage or unreadable input, 3 an external resource is unavailable.
"""

from __future__ import annotations

import os
import sys

import click

from brenner import __version__
from brenner.cli.options import EXIT_UNAVAILABLE, LazyGroup, group_options
from brenner.cli.output import failure_json, were_changes_made, write_diagnostics, write_json
from brenner.diagnostics.codes import messages as codes

COMMANDS = {
    "agent": ("brenner.cli.agent", "command", "Connect agents to this project."),
    "artifact": ("brenner.cli.artifact", "command", "Show, compare, verify and lint artifacts."),
    "check": ("brenner.cli.check", "command", "Check a message before sending it."),
    "compile": ("brenner.cli.compile", "command", "Publish the next version of a thread."),
    "demo": ("brenner.cli.demo", "command", "Run a whole example session, offline."),
    "doctor": ("brenner.cli.doctor", "command", "Say what is wrong and how to mend it."),
    "explain": ("brenner.cli.explain", "command", "Say what a code means and how to mend it."),
    "init": ("brenner.cli.init", "command", "Set a project up."),
    "mail": ("brenner.cli.mail", "command", "Send, read and acknowledge mail."),
    "mcp": ("brenner.cli.mcp", "command", "Serve one agent over standard input and output."),
    "new": ("brenner.cli.new", "command", "Print a message of a type to fill in."),
    "orchestrate": ("brenner.cli.session", "orchestrate", "The same as `session start`."),
    "refs": ("brenner.cli.refs", "command", "Say which item comes from which."),
    "roster": ("brenner.cli.roster", "command", "Say who has which role, and why."),
    "serve": ("brenner.cli.serve", "command", "Serve agents and browsers over HTTP."),
    "session": ("brenner.cli.session", "command", "Start, follow and end a session."),
}
_EXIT_INTERRUPTED = 130
_STDOUT_FD, _STDERR_FD = 1, 2
_OUTPUT_CLOSED_WARNING = (
    "brenner: the standard output is closed; what was to be written there is lost\n"
)


@click.group(
    cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="brenner %(version)s")
@group_options
def cli() -> None:
    """A research group of AI coding agents and one operator, working by mail.

    Start with `brenner init`; if something does not work, ask `brenner doctor`. Or without any
    mail: `brenner new DELTA > message.md` and `brenner check message.md`.
    """


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code.

    Every failure becomes an exit code, never a traceback.
    """
    is_stdout_closed = sys.stdout is None
    _reopen_closed_outputs()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = _run_command(arguments)
        sys.stdout.flush()
        if is_stdout_closed:
            sys.stderr.write(_OUTPUT_CLOSED_WARNING)
        sys.stderr.flush()
    except OSError as error:
        return _report_output_failure(error)
    return code


def _reopen_closed_outputs() -> None:
    """Open standard streams that are closed on /dev/null.

    Otherwise the next file that is opened would get the descriptor of the stream.
    """
    for fd, name in ((_STDOUT_FD, "stdout"), (_STDERR_FD, "stderr")):
        if getattr(sys, name) is None:
            _redirect_to_null(fd)
            setattr(sys, name, os.fdopen(fd, "w", closefd=False))


def _redirect_to_null(fd: int) -> None:
    null_fd = os.open(os.devnull, os.O_WRONLY)
    if null_fd != fd:
        os.dup2(null_fd, fd)
        os.close(null_fd)


def _run_command(arguments: list[str]) -> int:
    try:
        # Not `cli.main`: on a closed output it exits without an error message.
        with cli.make_context("brenner", list(arguments)) as context:
            return _invoke(context)
    except click.ClickException as error:
        return _report_usage_error(error, arguments)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _EXIT_INTERRUPTED


def _invoke(context: click.Context) -> int:
    try:
        code: object = cli.invoke(context)
        sys.stdout.flush()
    except OSError as error:
        return _report_output_failure(error, is_done=were_changes_made(context))
    return code if isinstance(code, int) else 0


def _report_usage_error(error: click.ClickException, arguments: list[str]) -> int:
    context, as_json = getattr(error, "ctx", None), "--json" in arguments
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not as_json:
        sys.stdout.write(error.format_message() + "\n")
        return 0
    command = context.command_path if context else "brenner"
    reason = error.format_message() + _thread_id_hint(error, arguments)
    found = codes.WRONG_USAGE.at(reason=reason, command=command)
    if as_json:
        write_json(failure_json(found, context=context))
    else:
        write_diagnostics([found], "brenner", sys.stderr)
    return error.exit_code if error.exit_code > 1 else 2


def _thread_id_hint(error: click.ClickException, arguments: list[str]) -> str:
    """Return a hint if a thread ID that begins with a hyphen was parsed as options."""
    if not isinstance(error, click.NoSuchOption):
        return ""
    from brenner.protocol.thread_ids import is_valid_thread_id
    from brenner.text import thread_argument

    candidates = (each for each in arguments if each.startswith(error.option_name))
    for each in candidates:
        if each[1:2] != "-" and not {"-", "."}.isdisjoint(each[1:]) and is_valid_thread_id(each):
            return f" If `{each}` is a thread's ID, write `{thread_argument(each)}`."
    return ""


def _report_output_failure(error: OSError, *, is_done: bool = False) -> int:
    """Report that the output cannot be written, and discard what is still buffered.

    If the command has changed something, the message says so: a retry would, for example, send a
    message twice.
    """
    _redirect_to_null(_STDOUT_FD)
    reason = error.strerror or type(error).__name__
    found = (codes.REPORT_LOST if is_done else codes.OUTPUT_CLOSED).at(reason=reason)
    try:
        write_diagnostics([found], "brenner", sys.stderr)
        sys.stderr.flush()
    except OSError:
        _redirect_to_null(_STDERR_FD)
    return EXIT_UNAVAILABLE
