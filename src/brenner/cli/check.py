"""`brenner check`: check message files, print a corrected one, or the reply to its sender."""

from __future__ import annotations

import sys

import click

from brenner.cli.io import STANDARD_INPUT, read_message
from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    EXIT_USAGE,
    Command,
    Settings,
    common_options,
    examples,
    operator_of,
)
from brenner.cli.output import (
    cannot_fix_text,
    count_by_severity,
    fix_command,
    styled,
    terminal_width,
    write_diagnostics,
    write_json,
    write_wrapped,
)
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic
from brenner.named_tuple import NamedTuple
from brenner.protocol.validate import Report, adds_hypothesis, check_message
from brenner.text import escape_control, plural

_PRINTED = "printed message"
_UNREADABLE_CODES = {codes.UNREADABLE_INPUT.id, codes.NOT_UTF8.id}


@click.command(
    cls=Command,
    epilog=examples(
        "brenner check message.md",
        "brenner check --fix message.md > corrected.md",
        "brenner check --fix --partial message.md > better.md",
        "brenner check --thread RS-20251230-cell-fate",
    ),
)
@click.argument("files", nargs=-1, metavar="[FILE|-]...")
@click.option(
    "--fix", is_flag=True, help="Print the corrected message, if the correction is certain."
)
@click.option(
    "--partial", is_flag=True, help="With --fix: fix what can be fixed, and leave the rest."
)
@click.option("--reply", is_flag=True, help="Print a reply that lists the errors for the sender.")
@click.option(
    "--thread", "thread_id", metavar="ID", help="Check the stored messages of this thread."
)
@common_options
def command(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    files: tuple[str, ...],
    fix: bool,
    partial: bool,
    reply: bool,
    thread_id: str | None,
) -> int:
    """Check message files, or with --thread all messages of a thread.

    Use it before `brenner mail send`, which also checks names and the thread, and refuses a
    message with placeholders. A message file has headers (Thread, From, To, Subject,
    Ack-Required), an empty line and the body. Without FILE, or with -, standard input is read.

    Redirect the output of --fix to another file: the shell empties FILE before it is read. If an
    error has no certain correction, --fix prints nothing. With --partial it prints the message with
    the certain corrections, and lists the errors that remain.
    """
    if thread_id is not None:
        return _check_thread(settings, thread_id, is_alone=not (files or fix or partial or reply))
    names = _input_names(files)
    is_many = len(names) > 1 and not settings.as_json
    _check_usage(is_many=is_many, fix=fix, partial=partial, reply=reply)
    replier = (settings.actor or operator_of(settings)) if reply else ""
    # With --reply the actor is not the author, so the sender is not checked against it.
    checked = [_check(name, None if reply else settings.actor, settings) for name in names]
    if settings.as_json:
        documents = [each.to_json(replier, is_partial=partial) for each in checked]
        write_json({"results": documents} if len(names) > 1 else documents[0])
    elif fix:
        return _write_fix(checked[0], is_partial=partial)
    elif reply:
        return _write_reply(checked[0], replier)
    else:
        for each in checked:
            _write_report(each)
    return max(EXIT_OK if fix and each.report.corrected else each.exit_code for each in checked)


def _check_usage(*, is_many: bool, fix: bool, partial: bool, reply: bool) -> None:
    message = ""
    if fix and reply:
        message = "--fix and --reply cannot be used together."
    elif partial and not fix:
        message = "--partial needs --fix."
    elif (fix or reply) and is_many:
        message = "--fix and --reply accept one FILE at a time."
    if message:
        raise click.UsageError(message)


def _check_thread(settings: Settings, thread_id: str, *, is_alone: bool) -> int:
    if not is_alone:
        message = "--thread cannot be used with FILE, --fix, --partial or --reply."
        raise click.UsageError(message)
    from brenner.cli.check_thread import check  # only stored mail needs a mailbox

    return check(settings, thread_id)


class _CheckedInput(NamedTuple):
    """One input: its name, its text if it could be read, and the report."""

    name: str
    text: str
    report: Report
    actor: str | None = None

    @property
    def label(self) -> str:
        return "<stdin>" if self.name == STANDARD_INPUT else self.name

    def cannot_fix_text(self) -> str:
        """Return which errors keep the message from being fixed automatically."""
        return cannot_fix_text(self.report.violations, fix_command(self.name, is_partial=True))

    def reply(self, sender: str) -> str | None:
        """Return the Validation Error reply, if there is an error and a sender to reply to."""
        from brenner.session.validation_reply import compose_reply

        return None if self.report.valid else compose_reply(self.text, self.report, sender)

    def to_json(self, replier: str, *, is_partial: bool) -> dict[str, object]:
        """Return the stable JSON form. The last two keys are included only if requested."""
        partly = {"partly_corrected": self.report.partly_corrected} if is_partial else {}
        reply = {"reply": self.reply(replier)} if replier else {}
        return {"file": self.name} | self.report.to_json() | partly | reply

    @property
    def exit_code(self) -> int:
        if any(found.id in _UNREADABLE_CODES for found in self.report.violations):
            return EXIT_USAGE
        return EXIT_OK if self.report.valid else EXIT_INVALID


def _input_names(files: tuple[str, ...]) -> tuple[str, ...]:
    if not files and sys.stdin is not None and sys.stdin.isatty():
        message = "Give a FILE, or `-` to read from the standard input."
        raise click.UsageError(message)
    if files.count(STANDARD_INPUT) > 1:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    return files or (STANDARD_INPUT,)


def _check(name: str, actor: str | None, settings: Settings) -> _CheckedInput:
    text = read_message(name, settings)
    if isinstance(text, Diagnostic):
        return _CheckedInput(name, "", Report(None, None, (text,)))
    report = check_message(text, actor)
    if any(found.code is codes.THREAD_ID_ADVICE for found in report.violations):
        from brenner.cli.check_thread import without_needless_advice  # it opens the store

        report = without_needless_advice(report, settings)
    if "EV-" in text:
        from brenner.cli.check_thread import with_evidence_faults  # it reads the evidence pack

        report = with_evidence_faults(report, text, settings)
    if report.valid and adds_hypothesis(report.deltas):
        from brenner.cli.check_killed import with_resembling_killed  # it reads all sessions

        report = with_resembling_killed(report, text, settings)
    return _CheckedInput(name, text, report, actor)


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
        care = "\n  Read it before you send it." if report.valid else ""
        text = f"  To print the corrected message: `{fix_command(checked.name)}`"
        is_long = 0 < terminal_width(out) < len(text)  # a command is never wrapped
        text = text.replace(": `", ":\n  `", 1) if is_long else text
        out.write(f"{text}{care}\n")
    elif checked.text and not report.valid:
        write_wrapped(checked.cannot_fix_text(), "  ", out)
    left = sum(found.code is codes.PLACEHOLDER_LEFT for found in report.violations)
    if report.valid and left:
        placeholders = "its placeholder" if left == 1 else f"its {left} placeholders"
        write_wrapped(f"It cannot be sent yet: first fill in {placeholders}.", "  ", out)


def _write_fix(checked: _CheckedInput, *, is_partial: bool) -> int:
    """Write the corrected message to the standard output, all else to the standard error."""
    err, report = sys.stderr, checked.report
    if is_partial and checked.text and not report.valid and report.corrected is None:
        return _write_partial_fix(checked)
    write_diagnostics(report.violations, checked.label, err)
    if report.corrected is not None:
        err.write(f"{escape_control(checked.label)}: corrected; the printed message is valid\n")
        sys.stdout.write(report.corrected)
    elif report.valid:
        err.write(f"{escape_control(checked.label)}: valid; nothing to correct\n")
        sys.stdout.write(checked.text)
    else:
        if checked.text:
            label = escape_control(checked.label)
            write_wrapped(f"{label}: not valid. {checked.cannot_fix_text()}", "", err)
        return checked.exit_code
    return EXIT_OK


def _write_partial_fix(checked: _CheckedInput) -> int:
    """Write the message with the certain corrections, and what is left to the standard error.

    The lines of what is left count in the printed message.
    """
    text = checked.report.partly_corrected or checked.text
    left = check_message(text, checked.actor)
    write_diagnostics(left.violations, _PRINTED, sys.stderr)
    remaining = left.summary.errors
    fixed = plural(checked.report.summary.errors - remaining, "error")
    remain = f"{plural(remaining, 'error')} {'remains' if remaining == 1 else 'remain'}"
    label = escape_control(checked.label)
    sys.stderr.write(f"{label}: fixed {fixed}; {remain} in the printed message\n")
    sys.stdout.write(text)
    return checked.exit_code


def _write_reply(checked: _CheckedInput, sender: str) -> int:
    """Write the Validation Error reply as a message file, if there is a sender to reply to."""
    if checked.report.valid:
        sys.stderr.write(f"{escape_control(checked.label)}: valid; nothing to reply\n")
        return EXIT_OK
    reply = checked.reply(sender)
    if reply is None:
        write_diagnostics(checked.report.violations, checked.label, sys.stderr)
        sys.stderr.write("Cannot write a reply: the message has no valid thread or sender.\n")
    else:
        sys.stdout.write(reply)
    return checked.exit_code
