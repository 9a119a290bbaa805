"""`brenner session round`: the kickoffs of the next round."""

from typing import TYPE_CHECKING

import click

from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, note_done
from brenner.cli.roster import roster_options
from brenner.cli.session.start import (
    FILE,
    Unreadable,
    neighbour_options,
    read_texts,
    report_unreadable,
)
from brenner.cli.terminal import pager_option
from brenner.cli.workspace import is_trial, real_workspace, workspace_of
from brenner.diagnostics.model import Summary
from brenner.mail.mailbox import Capability

if TYPE_CHECKING:
    from brenner.services.next_round import RoundOptions
    from brenner.services.rosters import RosterWish
    from brenner.services.spawn_agents import Attended, NeighbourWish
    from brenner.services.start_session import Started
    from brenner.services.workspace import Workspace

    _Done = tuple[Started, Attended | None]

_ALWAYS: dict[str, object] = {
    "thread_id": None,
    "status": "refused",
    "round": None,
    "kickoffs": [],
    "registered": [],
    "roster": None,
    "neighbours": None,
}
_TEXTS = ("focus", "question", "constraints", "outputs")


@click.command(
    "round",
    cls=Reporting,
    always=_ALWAYS,
    epilog=examples(
        "brenner session round RS-20251230-cell-fate",
        "brenner session round RS-20251230-cell-fate --focus 'How H2 works' --dry-run",
        "brenner session round RS-20251230-cell-fate --to RedSky --outputs @outputs.md",
    ),
)
@click.argument("thread", metavar="THREAD")
@click.option("--focus", metavar="TEXT|@FILE|-", help="What this round is about.")
@click.option("--question", metavar="TEXT|@FILE|-", help="The question, where it is refined.")
@click.option("--outputs", metavar="TEXT|@FILE|-", help="What to deliver; else what is open.")
@click.option("--constraints", metavar="TEXT|@FILE|-", help="Bounds of time, scope or focus.")
@click.option("--excerpt-file", metavar="FILE|-", help="New passages of the source.")
@click.option(
    "--excerpt", "sections", metavar="42,45-47", help="Sections of the project's source text."
)
@click.option("--title", metavar="TEXT", help="What the subject says; else the question.")
@roster_options
@click.option(
    "--register", is_flag=True, help="Register recipients also where a server keeps the names."
)
@click.option("--reopen", is_flag=True, help="Go on with a session that is closed.")
@neighbour_options
@click.option("--dry-run", is_flag=True, help="Show every kickoff whole; send nothing.")
@pager_option
@common_options
def round_(
    settings: Settings,
    thread: str,
    *,
    wish: "RosterWish",
    neighbours: "NeighbourWish",
    pager: bool,
    **said: object,
) -> int:
    """Send the kickoffs of the next round of THREAD, which has a version.

    Each names that version as its base and the critiques that are open in it, and asks its reader
    to answer them, to send again what was refused, and to mend what the linter finds. Without --to
    they go to those of the session's roster who were asked before, in the roles that they have.
    Run the same command again to finish what was interrupted: nobody gets the kickoff of a round
    twice. A round of a closed session needs --reopen, and so does compiling it.

    Exit code 0: all have got it; 1: refused, or only some have got it; 2: a file cannot be read; 3:
    the store failed, or agents could not be opened or told.
    """
    words = {name: value if isinstance(value, str) else None for name, value in said.items()}
    texts = _texts(words)
    if isinstance(texts, Unreadable):
        return report_unreadable(texts, settings)
    from brenner.cli.session.start import report
    from brenner.services.next_round import RoundOptions

    options = RoundOptions(
        wish=wish,
        focus=texts["focus"],
        question=texts["question"],
        title=words["title"] or "",
        excerpt=texts[FILE],
        sections=words["sections"],
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        dry_run=bool(said["dry_run"]),
        reopen=bool(said["reopen"]),
        register=bool(said["register"]),
    )
    done, attended = _run(settings, thread, options, neighbours)
    return report(done, attended, as_json=settings.as_json, pager=pager)


def _texts(words: dict[str, str | None]) -> dict[str, str] | Unreadable:
    """What the options say; one that says nothing is most often a variable that has no value."""
    if words[FILE] is not None and words["sections"] is not None:
        message = "--excerpt-file and --excerpt do not go together."
        raise click.UsageError(message)
    texts = read_texts(words, (*_TEXTS, FILE))
    if isinstance(texts, Unreadable):
        return texts
    for name in ("focus", "question"):
        if words[name] is not None and not texts[name].strip():
            message = f"--{name} needs a text."
            raise click.UsageError(message)
    return texts


def _run(
    settings: Settings, thread: str, options: "RoundOptions", neighbours: "NeighbourWish"
) -> "_Done":
    """Start it; what can be known to fail is found out before anybody is registered or asked."""
    from brenner.services.next_round import start_round
    from brenner.services.spawn_agents import after_mail, check_ahead
    from brenner.services.start_session import Status

    with workspace_of(settings) as here:
        if options.dry_run or _is_tried_first(here, neighbours):
            tried = start_round(here, thread, options._replace(dry_run=True))
            is_wrong = bool(Summary.of(tried.diagnostics).errors)
            if not is_wrong:
                check_ahead(here, tried.roster, tried.recipients, neighbours, thread)
            if options.dry_run:
                return tried, after_mail(here, tried, neighbours)
            if is_wrong:
                return tried._replace(status=Status.REFUSED, registered=()), None
    with real_workspace(here) as here:
        done = start_round(here, thread, options)
        if any(each.stored for each in done.kickoffs) or done.registered:
            note_done()
        return done, after_mail(here, done, neighbours)


def _is_tried_first(here: "Workspace", neighbours: "NeighbourWish") -> bool:
    """Where a refusal must leave nothing behind: no store, no name on a server, no mail before a
    terminal that cannot be opened.
    """
    return bool(neighbours) or is_trial(here) or Capability.OWN_NAMES in here.mailbox.lacks
