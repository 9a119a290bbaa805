"""The entry point of the command line: the table of commands, exit codes and error output.

Each command module is imported only when its command runs. Exit codes: 0 success, 1 the content has
errors, 2 wrong usage or unreadable input, 3 an external resource is unavailable.
"""

from __future__ import annotations

import os
import sys

import click

from brenner import __version__
from brenner.cli.options import COMPLETION_VARIABLE, EXIT_UNAVAILABLE, LazyGroup, group_options
from brenner.cli.output import failure_json, were_changes_made, write_diagnostics, write_json
from brenner.diagnostics.codes import messages as codes

_SET_UP, _RUN, _WRITE, _READ, _CONNECT = (
    "Set up",
    "Run a session",
    "Write",
    "Read",
    "Connect agents and browsers",
)
# The section of the help, the module, the name there, the line in the help. In the order of work.
COMMANDS = {
    "init": (_SET_UP, "brenner.cli.init", "command", "Create a project in this folder."),
    "doctor": (_SET_UP, "brenner.cli.doctor", "command", "Check the project and its store."),
    "demo": (_SET_UP, "brenner.cli.demo", "command", "Run an example session, offline."),
    "completion": (
        _SET_UP,
        "brenner.cli.completion",
        "command",
        "Print a shell completion script.",
    ),
    "session": (_RUN, "brenner.cli.session", "command", "Start, follow and end a session."),
    "compile": (_RUN, "brenner.cli.compile", "command", "Publish the next version."),
    "result": (_RUN, "brenner.cli.result", "command", "Record what a test showed."),
    "roster": (_RUN, "brenner.cli.roster", "command", "Show which agent has which role."),
    "orchestrate": (_RUN, "brenner.cli.session", "orchestrate", "Same as `session start`."),
    "new": (_WRITE, "brenner.cli.new", "command", "Print a message to fill in."),
    "check": (_WRITE, "brenner.cli.check", "command", "Check a message before you send it."),
    "mail send": (_WRITE, "brenner.cli.mail.send", "send", "Check a message and send it."),
    "artifact": (_READ, "brenner.cli.artifact", "command", "Show, compare and verify versions."),
    "mail": (_READ, "brenner.cli.mail", "command", "Read, search and acknowledge messages."),
    "evidence": (
        _READ,
        "brenner.cli.evidence",
        "command",
        "Add, list and check cited sources.",
    ),
    "refs": (_READ, "brenner.cli.refs", "command", "Show references between sessions."),
    "explain": (_READ, "brenner.cli.explain", "command", "Explain a code and how to fix it."),
    "docs": (_READ, "brenner.cli.docs", "command", "Read the documentation."),
    "help": (_READ, "brenner.cli.help", "command", "Show the help of a command."),
    "agent": (_CONNECT, "brenner.cli.agent", "command", "Connect an agent to the project."),
    "serve": (_CONNECT, "brenner.cli.serve", "command", "Serve browsers and agents over HTTP."),
    "mcp": (_CONNECT, "brenner.cli.mcp", "command", "Serve one agent over a pipe."),
}
_EXIT_CODES = """Exit codes
0    Success.
1    The content has errors, or the request was rejected.
2    Wrong usage, or a file cannot be read.
3    The store, a server or a program such as git is unavailable.
130  Interrupted with Ctrl-C."""
_EXIT_INTERRUPTED = 130
_STDOUT_FD, _STDERR_FD = 1, 2
_OUTPUT_CLOSED_WARNING = "brenner: the standard output is closed, so the output is lost\n"


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=_EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", message="brenner %(version)s")
@group_options
def cli() -> None:
    """Run a research group of AI coding agents and one operator, by mail.

    \b
    First time? `brenner demo`, then `brenner docs tutorial`.
    Problems? `brenner doctor`.
    """  # noqa: D301  (\\b keeps click from wrapping)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code.

    Every failure becomes an exit code, never a traceback.
    """
    if COMPLETION_VARIABLE in os.environ:
        from brenner.cli.completion import complete  # only when a shell asks

        return complete(cli, os.environ)
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
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    context, as_json = getattr(error, "ctx", None), "--json" in own
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
    message twice. Otherwise a closed pipe needs no message: the reader wants no more.
    """
    _redirect_to_null(_STDOUT_FD)
    if isinstance(error, BrokenPipeError) and not is_done:
        return EXIT_UNAVAILABLE
    reason = error.strerror or type(error).__name__
    found = (codes.REPORT_LOST if is_done else codes.OUTPUT_CLOSED).at(reason=reason)
    try:
        write_diagnostics([found], "brenner", sys.stderr)
        sys.stderr.flush()
    except OSError:
        _redirect_to_null(_STDERR_FD)
    return EXIT_UNAVAILABLE
