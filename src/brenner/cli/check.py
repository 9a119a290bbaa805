"""`brenner check`: check message files, print a corrected one, or the reply to its sender."""

from __future__ import annotations

import sys

import click

from brenner.cli.io import STANDARD_INPUT, read_message
from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    EXIT_USAGE,
    Settings,
    common_options,
    operator_of,
)
from brenner.cli.output import count_by_severity, styled, write_diagnostics, write_json
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic
from brenner.named_tuple import NamedTuple
from brenner.protocol.validate import Report, check_message
from brenner.text import escape_control

_UNREADABLE_CODES = {codes.UNREADABLE_INPUT.id, codes.NOT_UTF8.id}


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE|-]...")
@click.option("--fix", is_flag=True, help="Print the corrected message, if there is a certain one.")
@click.option("--reply", is_flag=True, help="Print the reply that tells the sender what is wrong.")
@click.option("--thread", "thread_id", metavar="ID", help="Check all mail of a thread instead.")
@common_options
def command(
    settings: Settings, files: tuple[str, ...], fix: bool, reply: bool, thread_id: str | None
) -> int:
    """Check messages before they are sent, or with --thread those that are stored.

    A message file is headers (Thread, From, To, Subject, Ack-Required), a blank line, the body.
    With no FILE, or with -, the standard input is read.

    Exit code 0: valid; 1: it has errors; 2: it cannot be read. With --fix 0 also means that what
    was printed is valid. Redirect it to another file: the shell empties FILE before it is read.
    """
    if thread_id is not None:
        return _check_thread(settings, thread_id, is_alone=not (files or fix or reply))
    names = _input_names(files)
    if fix and reply:
        message = "--fix and --reply exclude each other."
        raise click.UsageError(message)
    if (fix or reply) and len(names) > 1 and not settings.as_json:
        message = "--fix and --reply take one FILE at a time."
        raise click.UsageError(message)
    replier = (settings.actor or operator_of(settings)) if reply else ""
    # With --reply the actor is not the author, so the sender is not checked against it.
    checked = [_check(name, None if reply else settings.actor, settings) for name in names]
    if settings.as_json:
        documents = [each.to_json(replier) for each in checked]
        write_json({"results": documents} if len(names) > 1 else documents[0])
    elif fix:
        return _write_fix(checked[0])
    elif reply:
        return _write_reply(checked[0], replier)
    else:
        for each in checked:
            _write_report(each)
    return max(EXIT_OK if fix and each.report.corrected else each.exit_code for each in checked)


def _check_thread(settings: Settings, thread_id: str, *, is_alone: bool) -> int:
    if not is_alone:
        message = "--thread goes with neither FILE nor --fix nor --reply."
        raise click.UsageError(message)
    from brenner.cli.check_thread import check  # only stored mail needs a mailbox

    return check(settings, thread_id)


class _CheckedInput(NamedTuple):
    """One input: its name, its text if it could be read, and the report."""

    name: str
    text: str
    report: Report

    @property
    def label(self) -> str:
        return "<stdin>" if self.name == STANDARD_INPUT else self.name

    def reply(self, sender: str) -> str | None:
        """Return the Validation Error reply, if there is an error and a sender to reply to."""
        from brenner.session.validation_reply import compose_reply

        return None if self.report.valid else compose_reply(self.text, self.report, sender)

    def to_json(self, replier: str) -> dict[str, object]:
        """Return the stable JSON form. `reply` is included only if one was requested."""
        reply = {"reply": self.reply(replier)} if replier else {}
        return {"file": self.name} | self.report.to_json() | reply

    @property
    def exit_code(self) -> int:
        if any(found.id in _UNREADABLE_CODES for found in self.report.violations):
            return EXIT_USAGE
        return EXIT_OK if self.report.valid else EXIT_INVALID


def _input_names(files: tuple[str, ...]) -> tuple[str, ...]:
    if not files and sys.stdin is not None and sys.stdin.isatty():
        message = "Give a FILE, or - to read from the standard input."
        raise click.UsageError(message)
    if files.count(STANDARD_INPUT) > 1:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    return files or (STANDARD_INPUT,)


def _check(name: str, actor: str | None, settings: Settings) -> _CheckedInput:
    text = read_message(name, settings)
    if isinstance(text, Diagnostic):
        return _CheckedInput(name, "", Report(None, None, (text,)))
    return _CheckedInput(name, text, check_message(text, actor))


def _write_report(checked: _CheckedInput) -> None:
    out, report = sys.stdout, checked.report
    write_diagnostics(report.violations, checked.label, out)
    if report.valid:
        verdict = styled("valid", out, fg="green", bold=True)
    else:
        verdict = styled("not valid", out, fg="magenta", bold=True)
    blocks = len(report.deltas)
    deltas = [f"{blocks} delta block{'s' * (blocks != 1)}"] if blocks else []
    details = ", ".join([*([report.type] if report.type else []), *deltas])
    about = f" ({details})" if details else ""
    out.write(
        f"{escape_control(checked.label)}: {verdict}: {count_by_severity(report.summary)}{about}\n"
    )
    if report.corrected is not None:
        from shlex import quote

        care = "; read it before you send it" if report.valid else ""
        separator = "-- " if checked.name.startswith("-") and checked.name != "-" else ""
        command = f"brenner check --fix {separator}{quote(escape_control(checked.name))}"
        out.write(f"  `{command}` prints it corrected{care}.\n")
    elif checked.text and not report.valid:
        out.write("  There is no certain correction: at least one error needs its author.\n")


def _write_fix(checked: _CheckedInput) -> int:
    """Write the corrected message to the standard output, all else to the standard error."""
    err, report = sys.stderr, checked.report
    write_diagnostics(report.violations, checked.label, err)
    if report.corrected is not None:
        err.write(f"{escape_control(checked.label)}: corrected; what was printed is valid\n")
        sys.stdout.write(report.corrected)
    elif report.valid:
        err.write(f"{escape_control(checked.label)}: valid; there is nothing to correct\n")
        sys.stdout.write(checked.text)
    else:
        err.write(
            f"{escape_control(checked.label)}: not corrected: at least one error needs its author\n"
        )
        return checked.exit_code
    return EXIT_OK


def _write_reply(checked: _CheckedInput, sender: str) -> int:
    """Write the Validation Error reply as a message file, if there is a sender to reply to."""
    if checked.report.valid:
        sys.stderr.write(f"{escape_control(checked.label)}: valid; there is nothing to reply\n")
        return EXIT_OK
    reply = checked.reply(sender)
    if reply is None:
        write_diagnostics(checked.report.violations, checked.label, sys.stderr)
        sys.stderr.write("There is no reply: the message has no valid thread or sender.\n")
    else:
        sys.stdout.write(reply)
    return checked.exit_code
