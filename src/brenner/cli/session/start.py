"""`brenner session start`: send the kickoffs of a session, and open or notify the agents.

`session round` uses the same text options, spawn options and report.
"""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from brenner.cli.io import STANDARD_INPUT, read_text
from brenner.cli.mail.show import INDENT, body_lines, name_spans
from brenner.cli.options import Settings, common_options, examples
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
    EXIT_INVALID,
    EXIT_OK,
    EXIT_UNREADABLE,
    exit_code,
    indented,
    is_in_memory,
    workspace_for_writing,
    workspace_of,
    workspace_with_store,
)
from brenner.config import find_project
from brenner.diagnostics.codes.sessions import ROUND_OF_CLOSED_SESSION
from brenner.diagnostics.model import Diagnostic, Summary
from brenner.mail.mailbox import Capability
from brenner.mail.open import Store, store_of
from brenner.services.spawn_agents import (
    BroadcastResult,
    SpawnResult,
    TerminalResult,
    kickoff_summary,
    started_json,
)
from brenner.services.start_session import KickoffDelivery, KickoffState, Started, StartStatus
from brenner.text import escape_control, joined, thread_argument

if TYPE_CHECKING:
    from brenner.services.rosters import RosterRequest
    from brenner.services.spawn_agents import SpawnOptions
    from brenner.services.start_session import StartOptions
    from brenner.services.workspace import Workspace

    _StartResult = tuple[Started, TerminalResult | None]

# Options whose value is a text, `@FILE`, or `-` for the standard input


EXCERPT_FILE = "excerpt_file"  # its value is always a file


class UnreadableOption(NamedTuple):
    """An option whose file cannot be read, with the diagnostic."""

    option: str
    found: Diagnostic


def read_texts(
    options: Mapping[str, str | None], names: Iterable[str]
) -> "dict[str, str] | UnreadableOption":
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
            return UnreadableOption(option_name(name), text)
        texts[name] = text
    return texts


def option_name(name: str) -> str:
    """Return an option as it is typed."""
    return f"--{name.replace('_', '-')}"


def _option_text(name: str, value: str | None) -> str | Diagnostic:
    """Return the value of an option, or the text of the file that it names."""
    if value is None:
        return ""
    if name == EXCERPT_FILE or value == STANDARD_INPUT:
        return read_text(value)
    return read_text(value[1:]) if value.startswith("@") else value


def report_unreadable(wrong: UnreadableOption, settings: Settings) -> int:
    """Report an option whose file cannot be read, and return the exit code."""
    if settings.as_json:
        write_json(failure_json(wrong.found, click.get_current_context()))
    else:
        write_diagnostics([wrong.found], wrong.option, sys.stderr)
    return EXIT_UNREADABLE


# `--spawn` and `--broadcast`


_SPAWN_OPTIONS = (
    click.option(
        "--spawn", is_flag=True, help="Then open the agents' programs, with ntm or else tmux."
    ),
    click.option(
        "--broadcast", is_flag=True, help="Then tell the agents' panes to read their mail."
    ),
)


def spawn_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--spawn` and `--broadcast` to a command, which gets them as `spawn_request`.

    If the command has the option `dry_run`, the request includes it.
    """

    @functools.wraps(function)
    def command(*args: object, **options: Any) -> Any:
        from brenner.services.spawn_agents import SpawnOptions  # `--help` does not need it

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
}
_TEXT_OPTIONS = ("question", "context", "hypotheses", "constraints", "outputs")
_OPTION_NAMES = {name: f"--{name}" for name in _TEXT_OPTIONS} | {
    EXCERPT_FILE: "--excerpt-file",
    "sections": "--excerpt",
    "thread_id": "--thread-id",
    "bead": "--bead",
}


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
@click.option("--question", metavar="TEXT|@FILE|-", help="The research question, one sentence.")
@click.option("--context", metavar="TEXT|@FILE|-", help="Two to four sentences of background.")
@click.option("--excerpt-file", metavar="FILE|-", help="Passages of the source, with their §n.")
@click.option(
    "--excerpt", "sections", metavar="42,45-47", help="Sections of the project's source text."
)
@click.option("--hypotheses", metavar="TEXT|@FILE|-", help="Hypotheses to start from.")
@click.option("--constraints", metavar="TEXT|@FILE|-", help="Bounds of time, scope or focus.")
@click.option("--outputs", metavar="TEXT|@FILE|-", help="What to deliver; else as the role says.")
@click.option("--title", metavar="TEXT", help="The session's title; else the question.")
@click.option("--thread-id", metavar="ID", help="The thread; else it is named after the question.")
@click.option("--bead", metavar="ID", help="The bead whose ID is the thread's.")
@roster_options
@click.option(
    "--register", is_flag=True, help="Register recipients also where a server keeps the names."
)
@spawn_options
@click.option("--dry-run", is_flag=True, help="Show every kickoff whole; send nothing.")
@pager_option
@common_options
def start(
    settings: Settings,
    *,
    wish: "RosterRequest",
    spawn_request: "SpawnOptions",
    dry_run: bool,
    pager: bool,
    **options_given: Any,
) -> int:
    """Send the kickoff of a session: to each recipient one with the prompt of its role.

    Names that nobody knows yet are registered; on an Agent Mail server, where a name may be another
    project's, only with --register. All kickoffs are checked before the first is sent.
    Run the same command again to finish a kickoff that was interrupted, or to ask more recipients:
    whoever has got the question is not asked again. Roles come from --to NAME --role ROLE, or from
    where `brenner roster show` finds them. With --spawn the agents' programs are opened in a
    session of ntm or tmux that has the thread's name; with --broadcast they are told to read.

    Exit code 0: all have got it; 1: refused, or only some have got it; 2: a file cannot be read; 3:
    the store failed, or agents could not be opened or told.
    """
    register = bool(options_given.pop("register"))
    _check_usage(options_given)
    texts = read_texts(options_given, (*_TEXT_OPTIONS, EXCERPT_FILE))
    if isinstance(texts, UnreadableOption):
        return report_unreadable(texts, settings)
    _check_question(texts)
    from brenner.services.start_session import StartOptions

    options = StartOptions(
        question=texts["question"],
        context=texts["context"],
        wish=wish,
        title=options_given["title"] or "",
        excerpt=texts[EXCERPT_FILE],
        sections=options_given["sections"],
        hypotheses=texts["hypotheses"],
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        thread_id=options_given["thread_id"],
        bead=options_given["bead"],
        dry_run=dry_run,
        register=register,
    )
    done, attended = _run(settings, options, spawn_request)
    return report(done, attended, as_json=settings.as_json, pager=pager)


def _run(
    settings: Settings, options: "StartOptions", spawn_request: "SpawnOptions"
) -> "_StartResult":
    """Start the session.

    If there is no store yet, create one only if the session is not refused.
    """
    from brenner.services.start_session import StartStatus, start_session

    if options.dry_run:
        with workspace_of(settings) as here:
            _check_spawn(here, options, spawn_request)
            return _spawn_after_mail(here, start_session(here, options), spawn_request)
    if Capability.PROJECT_NAMES in _store(settings).lacks:
        return _run_on_agent_mail(settings, options, spawn_request)
    with workspace_for_writing(settings) as here:
        _check_spawn(here, options, spawn_request)
        done = start_session(here, options)
        if not is_in_memory(here) or done.status is StartStatus.REFUSED:
            return _spawn_after_mail(here, done, spawn_request)
    with workspace_with_store(here) as here:
        return _spawn_after_mail(here, start_session(here, options), spawn_request)


def _run_on_agent_mail(
    settings: Settings, options: "StartOptions", spawn_request: "SpawnOptions"
) -> "_StartResult":
    """Start the session on a server that owns the names. A refused start registers no agent."""
    from brenner.services.start_session import StartStatus, start_session

    with workspace_of(settings) as here:
        _check_spawn(here, options, spawn_request)
        dry_run = start_session(here, options._replace(dry_run=True))
    if Summary.of(dry_run.diagnostics).errors:
        return dry_run._replace(status=StartStatus.REFUSED, registered=()), None
    with workspace_with_store(here) as here:
        return _spawn_after_mail(here, start_session(here, options), spawn_request)


def _check_spawn(here: "Workspace", options: "StartOptions", spawn_request: "SpawnOptions") -> None:
    """Refuse a spawn that is known to fail. Problems of the roster are reported later."""
    if not spawn_request:
        return
    from brenner.services.rosters import resolve_roster
    from brenner.services.spawn_agents import check_can_spawn

    resolved = resolve_roster(here.project, os.environ, options.wish)
    names = () if resolved.errors else resolved.recipients
    thread_id = options.bead if options.thread_id is None else options.thread_id
    check_can_spawn(here, resolved.roster, names, spawn_request, thread_id)


def _spawn_after_mail(
    here: "Workspace", done: "Started", spawn_request: "SpawnOptions"
) -> "_StartResult":
    """Record the changes of the mail, then open or notify the agents in a terminal."""
    from brenner.services.start_session import StartStatus

    if done.status is not StartStatus.DRY_RUN:
        _note_changes(done)
    if not spawn_request:
        return done, None
    from brenner.services.spawn_agents import spawn_after_kickoffs

    return done, spawn_after_kickoffs(here, done, spawn_request)


def _store(settings: Settings) -> Store:
    return store_of(find_project(settings.project, os.environ, settings.store))


def _note_changes(done: "Started") -> None:
    if any(each.stored for each in done.kickoffs) or done.registered:
        note_changes_made()


def _check_usage(options: dict[str, str | None]) -> None:
    for pair in ((EXCERPT_FILE, "sections"), ("thread_id", "bead")):
        if None not in [options[name] for name in pair]:
            message = f"{' and '.join(_OPTION_NAMES[name] for name in pair)} do not go together."
            raise click.UsageError(message)
    missing = [_OPTION_NAMES[name] for name in ("question", "context") if options[name] is None]
    if missing:
        message = f"A kickoff needs {' and '.join(missing)}."
        raise click.UsageError(message)


def _check_question(texts: dict[str, str]) -> None:
    """Refuse an empty question: it is usually an unset shell variable."""
    if not texts["question"].strip():
        message = "--question needs a text: one sentence that could turn out false."
        raise click.UsageError(message)


# Text report on the agents in a terminal


def write_spawn_report(done: TerminalResult) -> None:
    """Write problems to the standard error, the rest to the standard output."""
    write_diagnostics(done.diagnostics, done.program, sys.stderr)
    for line in spawn_report_lines(done, sys.stdout):
        sys.stdout.write(line)


def spawn_report_lines(done: TerminalResult, out: TextIO) -> Iterator[str]:
    """Yield which agents were opened and notified, or would be, then how to see them."""
    if done.is_skipped:
        yield format_message("Nobody was opened or told, as not all have got their mail.", out)
        return
    lines = [
        *(_spawned_messages(done, done.spawned) if done.spawned else ()),
        *(_notified_messages(done, done.told) if done.told else ()),
    ]
    for line in lines:
        yield format_message(line, out)
    if lines and not done.wish.dry_run:
        yield format_hint(f"`{escape_control(done.attach, len(done.attach))}` shows them.", out)


def _spawned_messages(done: TerminalResult, spawned: SpawnResult) -> Iterator[str]:
    session = escape_control(done.session)
    if spawned.opened:
        verb = "Would open" if done.wish.dry_run else "Opened"
        agents = joined(
            f"{each.agent} ({_command_text(done, each.command)})" for each in spawned.opened
        )
        yield f"{verb} {agents} in {session}, with {done.program}."
    if spawned.before:
        yield f"Open before in {session}: {joined(spawned.before)}."
    if spawned.is_left_untouched:
        yield f"The session {session} is open already, and was left as it is."


def _command_text(done: TerminalResult, command: tuple[str, ...]) -> str:
    """Return the command of an agent. Ntm uses its own commands, so only the name is shown."""
    return command[0] if done.program == "ntm" else " ".join(command)


def _notified_messages(done: TerminalResult, notified: BroadcastResult) -> Iterator[str]:
    if not notified.names:
        return
    verb = "Would tell" if done.wish.dry_run else "Told"
    whom = (
        f"all panes of {escape_control(done.session)}"
        if notified.is_to_all_panes
        else joined(notified.names)
    )
    whose = "the" if notified.is_to_all_panes else "its" if len(notified.names) == 1 else "their"
    yield f"{verb} {whom} to read {whose} mail."


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
            sys.stderr.write(indented(block))
        if done.status is StartStatus.DRY_RUN:
            write_lines(_dry_run_lines(done, summary, sys.stdout), pager=pager)
        else:
            _write(done, summary)
        if attended:
            write_spawn_report(attended)
        if done.status in (StartStatus.SENT, StartStatus.NOTHING):
            print_hint(_next_step(done))
    for failed in (done.failed, attended.failed if attended else None):
        if failed:
            return exit_code(failed)
    return EXIT_INVALID if summary.errors else EXIT_OK


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
        print_hint("The same command again sends what is missing.")
        return
    if done.status is StartStatus.NOTHING:
        print_message(f"Nothing was left to send in {escape_control(done.thread_id or '')}.")


def _next_step(done: Started) -> str:
    thread = done.thread_id or ""
    reopen = " --reopen" * any(each.code is ROUND_OF_CLOSED_SESSION for each in done.diagnostics)
    if done.round:
        return (
            f"`brenner session status {thread_argument(thread)}` shows whose turn it is; once "
            f"deltas are in, `brenner compile{reopen} {thread_argument(thread)}` publishes "
            f"v{done.round}."
        )
    return (
        f"`brenner mail pending --thread {quote(escape_control(thread))}` shows who owes an ACK; "
        f"once deltas are in, `brenner compile {thread_argument(thread)}` publishes a version."
    )


def _dry_run_lines(done: Started, summary: Summary, out: TextIO) -> Iterator[str]:
    """Yield every kickoff in full, then what would have happened."""
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
    yield format_message(
        f"{count} would go out in {escape_control(done.thread_id or '')}; nothing was sent.", out
    )
    if done.registered:
        yield format_hint(f"Would be registered: {joined(done.registered)}.", out)


def _recipient_spans(each: KickoffDelivery) -> Iterator[Span]:
    yield from name_spans(each.message.recipients)
    if each.role:
        yield Span(f"  {each.role}", QUIET)
