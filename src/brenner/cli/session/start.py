"""`brenner session start`: the kickoffs of a session."""

import os
from typing import TYPE_CHECKING, Any

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import desk, desk_to_try, is_trial, real_desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, note_done
from brenner.cli.paging import pager_option
from brenner.cli.roster_options import roster_options
from brenner.cli.session.option_texts import (
    FILE,
    Unreadable,
    read_texts,
    report_unreadable,
)
from brenner.cli.session.spawn_options import neighbour_options
from brenner.config import find_project
from brenner.diagnostics.model import Summary
from brenner.mail.mailbox import Ability
from brenner.mail.open import Store, store_of

if TYPE_CHECKING:
    from brenner.services.rosters import RosterWish
    from brenner.services.spawn_agents import Attended, NeighbourWish
    from brenner.services.start_session import Started, StartOptions
    from brenner.services.workspace import Desk

    _Done = tuple[Started, Attended | None]

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
    from brenner.cli.session.start_report import report
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
        with desk(settings) as here:
            _check_ahead(here, options, neighbours)
            return _attended(here, start_session(here, options), neighbours)
    if Ability.OWN_NAMES in _store(settings).lacks:
        return _run_there(settings, options, neighbours)
    with desk_to_try(settings) as here:
        _check_ahead(here, options, neighbours)
        done = start_session(here, options)
        if not is_trial(here) or done.status is Status.REFUSED:
            return _attended(here, done, neighbours)
    with real_desk(here) as here:
        return _attended(here, start_session(here, options), neighbours)


def _run_there(settings: Settings, options: "StartOptions", neighbours: "NeighbourWish") -> "_Done":
    """Start it where names belong to a server: what is refused makes nobody known, either."""
    from brenner.services.start_session import Status, start_session

    with desk(settings) as here:
        _check_ahead(here, options, neighbours)
        tried = start_session(here, options._replace(dry_run=True))
    if Summary.of(tried.diagnostics).errors:
        return tried._replace(status=Status.REFUSED, registered=()), None
    with real_desk(here) as here:
        return _attended(here, start_session(here, options), neighbours)


def _check_ahead(here: "Desk", options: "StartOptions", neighbours: "NeighbourWish") -> None:
    """Refuse an opening that is known to fail; what is wrong with the roster is told later."""
    if not neighbours:
        return
    from brenner.services.rosters import resolve_roster
    from brenner.services.spawn_agents import check_ahead

    resolved = resolve_roster(here.project, os.environ, options.wish)
    names = () if resolved.errors else resolved.recipients
    thread_id = options.bead if options.thread_id is None else options.thread_id
    check_ahead(here, resolved.roster, names, neighbours, thread_id)


def _attended(here: "Desk", done: "Started", neighbours: "NeighbourWish") -> "_Done":
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
