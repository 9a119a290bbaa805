"""`brenner session start`: the kickoffs of a session."""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from brenner.cli.io import STANDARD_INPUT, read_text
from brenner.cli.mail.show import INDENT, body_lines, names
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, counted, failure, note_done, write_diagnostics, write_json
from brenner.cli.roster import roster_options
from brenner.cli.terminal import (
    QUIET,
    STRONG,
    Span,
    advice,
    fold,
    joined,
    pager_option,
    print_hint,
    print_message,
    sentence,
    subject_pieces,
    thread_argument,
    write_lines,
)
from brenner.cli.workspace import (
    CONTENT,
    FINE,
    UNREADABLE,
    exit_code,
    indented,
    is_trial,
    real_workspace,
    trial_workspace,
    workspace_of,
)
from brenner.config import find_project
from brenner.diagnostics.codes.sessions import ROUND_OF_CLOSED_SESSION
from brenner.diagnostics.model import Diagnostic, Summary
from brenner.mail.mailbox import Capability
from brenner.mail.open import Store, store_of
from brenner.services.spawn_agents import Attended, Spawned, Told, started_json, what_became
from brenner.services.start_session import Addressed, Started, State, Status
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.services.rosters import RosterWish
    from brenner.services.spawn_agents import NeighbourWish
    from brenner.services.start_session import StartOptions
    from brenner.services.workspace import Workspace

    _Done = tuple[Started, Attended | None]

# Options that hold a text for a kickoff: as it is, `@FILE`, or `-` for the standard input.


FILE = "excerpt_file"  # its value is always a file


class Unreadable(NamedTuple):
    """What is wrong with the file that an option names."""

    option: str
    found: Diagnostic


def read_texts(
    said: Mapping[str, str | None], names: Iterable[str]
) -> "dict[str, str] | Unreadable":
    """What the options say, by name; empty where one was not given."""
    names = list(names)
    if [said[name] for name in names].count(STANDARD_INPUT) > 1:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    texts: dict[str, str] = {}
    for name in names:
        text = _text(name, said[name])
        if isinstance(text, Diagnostic):
            return Unreadable(option_of(name), text)
        texts[name] = text
    return texts


def option_of(name: str) -> str:
    """How an option is typed."""
    return f"--{name.replace('_', '-')}"


def _text(name: str, value: str | None) -> str | Diagnostic:
    """What an option says, or the file that it names."""
    if value is None:
        return ""
    if name == FILE or value == STANDARD_INPUT:
        return read_text(value)
    return read_text(value[1:]) if value.startswith("@") else value


def report_unreadable(wrong: Unreadable, settings: Settings) -> int:
    """Say it; the exit code."""
    if settings.as_json:
        write_json(failure(wrong.found, click.get_current_context()))
    else:
        write_diagnostics([wrong.found], wrong.option, sys.stderr)
    return UNREADABLE


# `--spawn` and `--broadcast`: the options of commands that send kickoffs.


_OPTIONS = (
    click.option(
        "--spawn", is_flag=True, help="Then open the agents' programs, with ntm or else tmux."
    ),
    click.option(
        "--broadcast", is_flag=True, help="Then tell the agents' panes to read their mail."
    ),
)


def neighbour_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets what they say as its argument `neighbours`.

    A command with `dry_run` gets that in it as well.
    """

    @functools.wraps(function)
    def command(*args: object, **options: Any) -> Any:
        from brenner.services.spawn_agents import NeighbourWish  # help needs no workflows

        wish = NeighbourWish(
            options.pop("spawn"), options.pop("broadcast"), bool(options.get("dry_run"))
        )
        return function(*args, neighbours=wish, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_ALWAYS: dict[str, object] = {
    "thread_id": None,
    "status": "refused",
    "kickoffs": [],
    "registered": [],
    "roster": None,
    "neighbours": None,
}
# Options whose value is a text, `@FILE`, or `-` for the standard input
_TEXTS = ("question", "context", "hypotheses", "constraints", "outputs")
_NAMES = {name: f"--{name}" for name in _TEXTS} | {
    FILE: "--excerpt-file",
    "sections": "--excerpt",
    "thread_id": "--thread-id",
    "bead": "--bead",
}


@click.command(
    "start",
    cls=Reporting,
    always=_ALWAYS,
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
@neighbour_options
@click.option("--dry-run", is_flag=True, help="Show every kickoff whole; send nothing.")
@pager_option
@common_options
def start(
    settings: Settings,
    *,
    wish: "RosterWish",
    neighbours: "NeighbourWish",
    dry_run: bool,
    pager: bool,
    **said: Any,
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
    register = bool(said.pop("register"))
    _check_usage(said)
    texts = read_texts(said, (*_TEXTS, FILE))
    if isinstance(texts, Unreadable):
        return report_unreadable(texts, settings)
    _check_asked(texts)
    from brenner.services.start_session import StartOptions

    options = StartOptions(
        question=texts["question"],
        context=texts["context"],
        wish=wish,
        title=said["title"] or "",
        excerpt=texts[FILE],
        sections=said["sections"],
        hypotheses=texts["hypotheses"],
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        thread_id=said["thread_id"],
        bead=said["bead"],
        dry_run=dry_run,
        register=register,
    )
    done, attended = _run(settings, options, neighbours)
    return report(done, attended, as_json=settings.as_json, pager=pager)


def _run(settings: Settings, options: "StartOptions", neighbours: "NeighbourWish") -> "_Done":
    """Start it; where there is no store yet only a session that is not refused makes one."""
    from brenner.services.start_session import Status, start_session

    if options.dry_run:
        with workspace_of(settings) as here:
            _check_ahead(here, options, neighbours)
            return _attended(here, start_session(here, options), neighbours)
    if Capability.OWN_NAMES in _store(settings).lacks:
        return _run_there(settings, options, neighbours)
    with trial_workspace(settings) as here:
        _check_ahead(here, options, neighbours)
        done = start_session(here, options)
        if not is_trial(here) or done.status is Status.REFUSED:
            return _attended(here, done, neighbours)
    with real_workspace(here) as here:
        return _attended(here, start_session(here, options), neighbours)


def _run_there(settings: Settings, options: "StartOptions", neighbours: "NeighbourWish") -> "_Done":
    """Start it where names belong to a server: what is refused makes nobody known, either."""
    from brenner.services.start_session import Status, start_session

    with workspace_of(settings) as here:
        _check_ahead(here, options, neighbours)
        tried = start_session(here, options._replace(dry_run=True))
    if Summary.of(tried.diagnostics).errors:
        return tried._replace(status=Status.REFUSED, registered=()), None
    with real_workspace(here) as here:
        return _attended(here, start_session(here, options), neighbours)


def _check_ahead(here: "Workspace", options: "StartOptions", neighbours: "NeighbourWish") -> None:
    """Refuse an opening that is known to fail; what is wrong with the roster is told later."""
    if not neighbours:
        return
    from brenner.services.rosters import resolve_roster
    from brenner.services.spawn_agents import check_ahead

    resolved = resolve_roster(here.project, os.environ, options.wish)
    names = () if resolved.errors else resolved.recipients
    thread_id = options.bead if options.thread_id is None else options.thread_id
    check_ahead(here, resolved.roster, names, neighbours, thread_id)


def _attended(here: "Workspace", done: "Started", neighbours: "NeighbourWish") -> "_Done":
    """What was done for the mail, and then for the agents in a terminal."""
    from brenner.services.start_session import Status

    if done.status is not Status.DRY_RUN:
        _note(done)
    if not neighbours:
        return done, None
    from brenner.services.spawn_agents import after_mail

    return done, after_mail(here, done, neighbours)


def _store(settings: Settings) -> Store:
    return store_of(find_project(settings.project, os.environ, settings.store))


def _note(done: "Started") -> None:
    if any(each.stored for each in done.kickoffs) or done.registered:
        note_done()


def _check_usage(said: dict[str, str | None]) -> None:
    for pair in ((FILE, "sections"), ("thread_id", "bead")):
        if None not in [said[name] for name in pair]:
            message = f"{' and '.join(_NAMES[name] for name in pair)} do not go together."
            raise click.UsageError(message)
    missing = [_NAMES[name] for name in ("question", "context") if said[name] is None]
    if missing:
        message = f"A kickoff needs {' and '.join(missing)}."
        raise click.UsageError(message)


def _check_asked(texts: dict[str, str]) -> None:
    """A blank question is most often a variable that was not filled in."""
    if not texts["question"].strip():
        message = "--question needs a text: one sentence that could turn out false."
        raise click.UsageError(message)


# What became of the agents in a terminal, for people.


def write_attended(done: Attended) -> None:
    """Say it: what went wrong on the standard error, the rest on the output."""
    write_diagnostics(done.diagnostics, done.program, sys.stderr)
    for line in attended_lines(done, sys.stdout):
        sys.stdout.write(line)


def attended_lines(done: Attended, out: TextIO) -> Iterator[str]:
    """Who was opened and told, or would be; then how to see them."""
    if done.is_skipped:
        yield sentence("Nobody was opened or told, as not all have got their mail.", out)
        return
    lines = [
        *(_spawned(done, done.spawned) if done.spawned else ()),
        *(_told(done, done.told) if done.told else ()),
    ]
    for line in lines:
        yield sentence(line, out)
    if lines and not done.wish.dry_run:
        yield advice(f"`{escape_control(done.attach, len(done.attach))}` shows them.", out)


def _spawned(done: Attended, spawned: Spawned) -> Iterator[str]:
    session = escape_control(done.session)
    if spawned.opened:
        verb = "Would open" if done.wish.dry_run else "Opened"
        agents = joined(
            f"{each.agent} ({_spawn_report_run(done, each.command)})" for each in spawned.opened
        )
        yield f"{verb} {agents} in {session}, with {done.program}."
    if spawned.before:
        yield f"Open before in {session}: {joined(spawned.before)}."
    if spawned.is_untouched:
        yield f"The session {session} is open already, and was left as it is."


def _spawn_report_run(done: Attended, command: tuple[str, ...]) -> str:
    """Ntm has commands of its own."""
    return command[0] if done.program == "ntm" else " ".join(command)


def _told(done: Attended, told: Told) -> Iterator[str]:
    if not told.names:
        return
    verb = "Would tell" if done.wish.dry_run else "Told"
    whom = (
        f"all panes of {escape_control(done.session)}"
        if told.is_to_all_panes
        else joined(told.names)
    )
    whose = "the" if told.is_to_all_panes else "its" if len(told.names) == 1 else "their"
    yield f"{verb} {whom} to read {whose} mail."


# What became of the kickoffs of a session, for people and as JSON.


def report(done: Started, attended: Attended | None = None, *, as_json: bool, pager: bool) -> int:
    """Show it, and what became of the agents in a terminal; the exit code."""
    summary = Summary.of(done.diagnostics)
    if as_json:
        write_json(started_json(done, attended))
    else:
        # A kickoff has no file: what is wrong has its line in the body.
        write_diagnostics(done.diagnostics, "kickoff", sys.stderr)
        for block in filter(None, (each.repaired for each in done.diagnostics)):
            sys.stderr.write(indented(block))
        if done.status is Status.DRY_RUN:
            write_lines(_dry_run(done, summary, sys.stdout), pager=pager)
        else:
            _write(done, summary)
        if attended:
            write_attended(attended)
        if done.status in (Status.SENT, Status.NOTHING):
            print_hint(_what_next(done))
    for failed in (done.failed, attended.failed if attended else None):
        if failed:
            return exit_code(failed)
    return CONTENT if summary.errors else FINE


# For people


def _write(done: Started, summary: Summary) -> None:
    if done.status is Status.REFUSED:
        print_message(f"Nothing was sent: {counted(summary)}.", sys.stderr)
        return
    if done.registered:
        print_message(f"Registered {joined(done.registered)}.")
    for each in done.kickoffs:
        print_message(what_became(done, each))
    if done.status is Status.INCOMPLETE:
        print_hint("The same command again sends what is missing.")
        return
    if done.status is Status.NOTHING:
        print_message(f"Nothing was left to send in {escape_control(done.thread_id or '')}.")


def _what_next(done: Started) -> str:
    thread = done.thread_id or ""
    reopen = " --reopen" * any(each.code is ROUND_OF_CLOSED_SESSION for each in done.diagnostics)
    if done.round:
        return (
            f"`brenner session status {thread_argument(thread)}` shows whose turn it is; once "
            f"deltas are in, `brenner compile{reopen} {thread_argument(thread)}` publishes "
            f"v{done.round}."
        )
    return (
        f"`brenner mail pending --thread {quote(escape_control(thread))}` shows who owes an ACK; once "
        f"deltas are in, `brenner compile {thread_argument(thread)}` publishes a version."
    )


def _dry_run(done: Started, summary: Summary, out: TextIO) -> Iterator[str]:
    """Every kickoff whole, then what would have happened."""
    to_send = [each for each in done.kickoffs if each.state is not State.SENT_BEFORE]
    for number, each in enumerate(to_send, 1):
        head = [Span(f"{number} of {len(to_send)}", STRONG), Span("  to "), *_heads(each)]
        yield fold([], head, INDENT, out)
        yield fold([Span(INDENT)], subject_pieces(each.message.subject), INDENT, out)
        yield "\n"
        yield from body_lines(each.message.body, out)
        yield "\n"
    for each in done.kickoffs:
        if each.state is State.SENT_BEFORE:
            yield sentence(what_became(done, each), out)
    count = f"{len(to_send)} kickoff{'s' * (len(to_send) != 1)}"
    if summary.errors:
        yield sentence(f"Nothing would be sent: {counted(summary)}.", out)
        return
    yield sentence(
        f"{count} would go out in {escape_control(done.thread_id or '')}; nothing was sent.", out
    )
    if done.registered:
        yield advice(f"Would be registered: {joined(done.registered)}.", out)


def _heads(each: Addressed) -> Iterator[Span]:
    yield from names(each.message.recipients)
    if each.role:
        yield Span(f"  {each.role}", QUIET)
