"""`brenner session start`: send the kickoffs of a session, and open or notify the agents.

`session round` uses the same text options, spawn options and report.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

from brenner.cli.io import STANDARD_INPUT, read_text
from brenner.cli.mail.show import INDENT, body_lines, name_spans
from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    EXIT_USAGE,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import (
    JsonCommand,
    count_by_severity,
    failure_json,
    note_changes_made,
    write_diagnostics,
    write_json,
)
from brenner.cli.roster import roster_options
from brenner.cli.terminal import (
    QUIET,
    STRONG,
    Span,
    fold,
    format_hint,
    format_message,
    pager_option,
    print_hint,
    print_message,
    subject_spans,
    write_lines,
)
from brenner.cli.workspace import (
    exit_code,
    indented,
    project_of,
    workspace_for_writing,
    workspace_of,
)
from brenner.diagnostics.codes.publishing import SESSION_CANCELLED
from brenner.diagnostics.codes.sessions import ROUND_OF_CLOSED_SESSION
from brenner.diagnostics.model import Diagnostic, Summary
from brenner.mail.mailbox import Capability
from brenner.mail.open import store_of
from brenner.services.rosters import resolve_roster
from brenner.services.spawn_agents import (
    SpawnOptions,
    TerminalResult,
    check_can_spawn,
    kickoff_summary,
    spawn_after_kickoffs,
    started_json,
)
from brenner.services.start_session import (
    KickoffDelivery,
    KickoffState,
    Started,
    StartOptions,
    StartStatus,
    start_session,
)
from brenner.text import escape_control, joined, thread_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from brenner.config import Project
    from brenner.services.rosters import RosterRequest
    from brenner.services.workspace import Workspace

    _StartResult = tuple[Started, TerminalResult | None]

# Options whose value is a text, `@FILE`, or `-` for the standard input


EXCERPT_FILE = "excerpt_file"  # its value is always a file
UnreadableOption = tuple[str, Diagnostic]
"""An option whose file cannot be read, and why."""


def read_texts(
    options: Mapping[str, str | None], names: Iterable[str]
) -> dict[str, str] | UnreadableOption:
    """Return the text of each option by name, or the first option whose file cannot be read.

    An option that was not given has an empty text.
    """
    names = list(names)
    if [options[name] for name in names].count(STANDARD_INPUT) > 1:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    texts: dict[str, str] = {}
    for name in names:
        text = _option_text(name, options[name])
        if isinstance(text, Diagnostic):
            return f"--{name.replace('_', '-')}", text
        texts[name] = text
    return texts


def _option_text(name: str, value: str | None) -> str | Diagnostic:
    if value is None:
        return ""
    if name == EXCERPT_FILE or value == STANDARD_INPUT:
        return read_text(value)
    return read_text(value[1:]) if value.startswith("@") else value


def report_unreadable(wrong: UnreadableOption, settings: Settings) -> int:
    """Report an option whose file cannot be read, and return the exit code."""
    option, found = wrong
    if settings.as_json:
        write_json(failure_json(found))
    else:
        write_diagnostics([found], option, sys.stderr)
    return EXIT_USAGE


# `--spawn` and `--broadcast`


_SPAWN_OPTIONS = (
    click.option("--spawn", is_flag=True, help="Then start the agents' programs with ntm or tmux."),
    click.option("--broadcast", is_flag=True, help="Then ask running agents to read their mail."),
)


def spawn_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--spawn` and `--broadcast` to a command, which gets them as `spawn_request`.

    If the command has the option `dry_run`, the request includes it.
    """

    @functools.wraps(function)
    def command(*args: object, **options: Any) -> Any:
        request = SpawnOptions(
            options.pop("spawn"), options.pop("broadcast"), bool(options.get("dry_run"))
        )
        return function(*args, spawn_request=request, **options)

    for option in reversed(_SPAWN_OPTIONS):
        command = option(command)
    return command


_JSON_DEFAULTS: dict[str, object] = {
    "thread_id": None,
    "status": "refused",
    "kickoffs": [],
    "registered": [],
    "roster": None,
    "neighbours": None,
    "created_project": None,
}
_TEXT_OPTIONS = ("question", "context", "hypotheses", "constraints", "outputs")

# The options of a new session, which `session run` has, too


_SESSION_OPTIONS = (
    click.option("--question", metavar="TEXT|@FILE|-", help="Research question, one sentence."),
    click.option("--context", metavar="TEXT|@FILE|-", help="Background, two to four sentences."),
    click.option("--excerpt-file", metavar="FILE|-", help="Passages of the source, with their §n."),
    click.option(
        "--excerpt", "sections", metavar="42,45-47", help="Sections of the project's source text."
    ),
    click.option(
        "--evidence",
        multiple=True,
        metavar="EV-001#E1",
        help="Excerpt of the evidence pack; EV-001: all of the record.",
    ),
    click.option("--hypotheses", metavar="TEXT|@FILE|-", help="Hypotheses to start from."),
    click.option("--constraints", metavar="TEXT|@FILE|-", help="Limits of time, scope or focus."),
    click.option("--outputs", metavar="TEXT|@FILE|-", help="What to deliver (default: by role)."),
    click.option("--title", metavar="TEXT", help="Title (default: the question)."),
    click.option("--thread-id", metavar="ID", help="Thread ID (default: made from the question)."),
    click.option("--bead", metavar="ID", help="Bead whose ID becomes the thread ID."),
)
_KICKOFF_OPTIONS = (
    click.option(
        "--independent", is_flag=True, help="Seal contributions from other agents until v1."
    ),
    click.option(
        "--register", is_flag=True, help="Register recipients on an Agent Mail server, too."
    ),
)


def session_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a new session to a command; `read_start_options` reads them."""
    command = function
    for option in reversed(_KICKOFF_OPTIONS):
        command = option(command)
    command = roster_options(command)
    for option in reversed(_SESSION_OPTIONS):
        command = option(command)
    return command


def read_start_options(
    options: dict[str, Any], wish: RosterRequest
) -> StartOptions | UnreadableOption:
    """Return the options of a new session, or the one whose file cannot be read.

    Raise a usage error if they contradict each other or are missing.
    """
    _check_usage(options)
    texts = read_texts(options, (*_TEXT_OPTIONS, EXCERPT_FILE))
    if isinstance(texts, tuple):
        return texts
    _check_question(texts)
    return StartOptions(
        question=texts["question"],
        context=texts["context"],
        wish=wish,
        title=options["title"] or "",
        excerpt=texts[EXCERPT_FILE],
        sections=options["sections"],
        evidence=tuple(options["evidence"]),
        hypotheses=texts["hypotheses"],
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        thread_id=options["thread_id"],
        bead=options["bead"],
        register=bool(options["register"]),
        independent=bool(options["independent"]),
    )


@click.command(
    "start",
    cls=JsonCommand,
    json_defaults=_JSON_DEFAULTS,
    epilog=examples(
        "brenner session start --question 'How do cells know their fate?' \\",
        "    --context @background.md --excerpt 42,45-47 \\",
        "    --to BlueLake --role hypothesis_generator \\",
        "    --to RedSky --role test_designer --to GreenDog --role adversarial_critic",
        "brenner session start --question @question.md --context @background.md \\",
        "    --preset default-3-agent --to BlueLake --to RedSky --to GreenDog --dry-run",
    ),
)
@session_options
@spawn_options
@click.option("--dry-run", is_flag=True, help="Show all kickoffs; send nothing.")
@pager_option
@common_options
def start(
    settings: Settings,
    *,
    wish: RosterRequest,
    spawn_request: SpawnOptions,
    dry_run: bool,
    pager: bool,
    **options_given: Any,
) -> int:
    """Send the kickoffs of a new session: one per recipient, with the prompt of its role.

    Roles come from --to NAME --role ROLE, or from the roster (`brenner roster show`). Unknown names
    are registered; on an Agent Mail server only with --register. All kickoffs are checked before
    the first is sent. With --independent, all agents take the first turn together: until v1, no
    agent can read the contributions of another one. Run the same command again after an
    interruption, or to add recipients: no recipient gets a kickoff twice.
    """
    read = read_start_options(options_given, wish)
    if not isinstance(read, StartOptions):
        return report_unreadable(read, settings)
    options = read._replace(dry_run=dry_run)
    project = project_of(settings)
    done, attended = _run(settings, project, options, spawn_request)
    if settings.as_json:
        created = not project.is_known and store_of(project).is_there()
        folder = str(project.folder) if created else None
        write_json(started_json(done, attended) | {"created_project": folder})
        return _exit_code_of(done, attended)
    return report(done, attended, as_json=settings.as_json, pager=pager)


def _run(
    settings: Settings, project: Project, options: StartOptions, spawn_request: SpawnOptions
) -> _StartResult:
    """Start the session, in a new project where there is none."""
    if Capability.PROJECT_NAMES in store_of(project).lacks and not options.dry_run:
        return _run_on_agent_mail(settings, project, options, spawn_request)
    open_workspace = workspace_of if options.dry_run else workspace_for_writing
    with open_workspace(settings, project=project) as here:
        _check_spawn(here, options, spawn_request)
        return spawn_after_mail(here, start_session(here, options), spawn_request)


def _run_on_agent_mail(
    settings: Settings, project: Project, options: StartOptions, spawn_request: SpawnOptions
) -> _StartResult:
    """Start the session on a server that owns the names. A refused start registers no agent."""
    with workspace_of(settings, project=project) as here:
        _check_spawn(here, options, spawn_request)
        dry_run = start_session(here, options._replace(dry_run=True))
    if Summary.of(dry_run.diagnostics).errors:
        return dry_run._replace(status=StartStatus.REFUSED, registered=()), None
    with workspace_for_writing(settings, project=project) as here:
        return spawn_after_mail(here, start_session(here, options), spawn_request)


def _check_spawn(here: Workspace, options: StartOptions, spawn_request: SpawnOptions) -> None:
    """Refuse a spawn that is known to fail. Problems of the roster are reported later."""
    if not spawn_request:
        return
    resolved = resolve_roster(here.project, os.environ, options.wish)
    names = () if resolved.errors else resolved.recipients
    thread_id = options.bead if options.thread_id is None else options.thread_id
    check_can_spawn(here, resolved.roster, names, spawn_request, thread_id)


def spawn_after_mail(here: Workspace, done: Started, spawn_request: SpawnOptions) -> _StartResult:
    """Record the changes of the mail, then open or notify the agents in a terminal."""
    is_changed = any(each.stored for each in done.kickoffs) or done.registered
    if is_changed and done.status is not StartStatus.DRY_RUN:
        note_changes_made()
    if not spawn_request:
        return done, None
    return done, spawn_after_kickoffs(here, done, spawn_request)


def _check_usage(options: dict[str, str | None]) -> None:
    """Refuse options that contradict each other or are missing, all at once."""
    wrong = []
    for one, other, names in (
        (EXCERPT_FILE, "sections", "--excerpt-file and --excerpt"),
        ("thread_id", "bead", "--thread-id and --bead"),
    ):
        if options[one] is not None and options[other] is not None:
            wrong.append(f"{names} cannot be used together.")
    missing = [f"--{name}" for name in ("question", "context") if options[name] is None]
    if missing:
        wrong.append(f"A kickoff needs {' and '.join(missing)}.")
    if wrong:
        raise click.UsageError(" ".join(wrong))


def _check_question(texts: dict[str, str]) -> None:
    """Refuse an empty question: it is usually an unset shell variable."""
    if not texts["question"].strip():
        message = "--question needs a text: one sentence. Each answer must be able to be false."
        raise click.UsageError(message)


# Text report on the agents in a terminal


def spawn_report_lines(done: TerminalResult, out: TextIO) -> Iterator[str]:
    """Yield which agents were opened and notified, or would be, then how to see them."""
    if done.is_skipped:
        text = "No agent was started or notified, because some kickoffs were not sent."
        yield format_message(text, out)
        return
    lines = [*_spawned_messages(done), *_notified_messages(done)]
    for line in lines:
        yield format_message(line, out)
    if lines and not done.is_dry_run:
        yield format_hint(f"To see them: `{escape_control(done.attach, len(done.attach))}`", out)


def _spawned_messages(done: TerminalResult) -> Iterator[str]:
    session = escape_control(done.session)
    if done.opened:
        verb = "Would start" if done.is_dry_run else "Started"
        # Ntm uses its own commands, so only the name is shown.
        words = 1 if done.program == "ntm" else None
        agents = joined(
            f"{agent} ({' '.join(command[:words])})" for agent, (_, command) in done.opened.items()
        )
        yield f"{verb} {agents} in {session}, with {done.program}."
    if done.open_before:
        yield f"Already running in {session}: {joined(done.open_before)}."
    if done.is_left_untouched:
        yield f"The session {session} is already running and was not changed."


def _notified_messages(done: TerminalResult) -> Iterator[str]:
    if not done.told:
        return
    verb = "Would notify" if done.is_dry_run else "Notified"
    panes = f"all panes of {escape_control(done.session)}"
    yield f"{verb} {panes if done.is_to_all_panes else joined(done.told)} of new mail."


# Report on the kickoffs


def report(
    done: Started, attended: TerminalResult | None = None, *, as_json: bool, pager: bool
) -> int:
    """Write the result for the mail and for the agents in a terminal. Return the exit code."""
    summary = Summary.of(done.diagnostics)
    if as_json:
        write_json(started_json(done, attended))
    else:
        # A kickoff is not in a file: line numbers count in its body.
        write_diagnostics(done.diagnostics, "kickoff", sys.stderr)
        for block in filter(None, (each.repaired for each in done.diagnostics)):
            sys.stderr.write(f"    Corrected block:\n{indented(block)}")
        if done.status is StartStatus.DRY_RUN:
            write_lines(_dry_run_lines(done, summary, sys.stdout), pager=pager)
        else:
            _write(done, summary)
        if attended:
            write_diagnostics(attended.diagnostics, attended.program, sys.stderr)
            sys.stdout.writelines(spawn_report_lines(attended, sys.stdout))
        if done.status in (StartStatus.SENT, StartStatus.NOTHING):
            for hint in _next_steps(done):
                print_hint(hint)
    return _exit_code_of(done, attended)


def _exit_code_of(done: Started, attended: TerminalResult | None) -> int:
    """Return the exit code of kickoffs and of what was opened for them."""
    for failed in (done.failed, attended.failed if attended else None):
        if failed:
            return exit_code(failed)
    return EXIT_INVALID if Summary.of(done.diagnostics).errors else EXIT_OK


# Text output


def _write(done: Started, summary: Summary) -> None:
    if done.status is StartStatus.REFUSED:
        print_message(f"Nothing was sent: {count_by_severity(summary)}.", sys.stderr)
        return
    if done.registered:
        print_message(f"Registered {joined(done.registered)}.")
    for each in done.kickoffs:
        print_message(kickoff_summary(done, each))
    if done.status is StartStatus.INCOMPLETE:
        print_hint("To send the missing kickoffs, run the same command again.")
        return
    if done.status is StartStatus.NOTHING:
        thread = escape_control(done.thread_id or "")
        print_message(f"Nothing was sent: all kickoffs of {thread} were sent before.")


def _next_steps(done: Started) -> Iterator[str]:
    if any(each.id == SESSION_CANCELLED.id for each in done.diagnostics):
        return  # the warning has the next step
    thread = thread_argument(done.thread_id or "")
    reopen = " --reopen" * any(each.code is ROUND_OF_CLOSED_SESSION for each in done.diagnostics)
    version = f"v{done.round}" if done.round else "a version"
    yield f"To see whose turn it is: `brenner session status {thread}`"
    yield f"When deltas have arrived, publish {version}: `brenner compile{reopen} {thread}`"


def _dry_run_lines(done: Started, summary: Summary, out: TextIO) -> Iterator[str]:
    """Yield every kickoff in full, then a summary."""
    to_send = [each for each in done.kickoffs if each.state is not KickoffState.SENT_BEFORE]
    for number, each in enumerate(to_send, 1):
        head = [Span(f"{number} of {len(to_send)}", STRONG), Span("  to "), *_recipient_spans(each)]
        yield fold([], head, INDENT, out)
        yield fold([Span(INDENT)], subject_spans(each.message.subject), INDENT, out)
        yield "\n"
        yield from body_lines(each.message.body, out)
        yield "\n"
    for each in done.kickoffs:
        if each.state is KickoffState.SENT_BEFORE:
            yield format_message(kickoff_summary(done, each), out)
    count = f"{len(to_send)} kickoff{'s' * (len(to_send) != 1)}"
    if summary.errors:
        yield format_message(f"Nothing would be sent: {count_by_severity(summary)}.", out)
        return
    thread = escape_control(done.thread_id or "")
    yield format_message(f"Preview of {count} in {thread}. Nothing was sent.", out)
    if done.registered:
        yield format_hint(f"Would register {joined(done.registered)}.", out)


def _recipient_spans(each: KickoffDelivery) -> Iterator[Span]:
    yield from name_spans(each.message.recipients)
    if each.role:
        yield Span(f"  {each.role}", QUIET)
