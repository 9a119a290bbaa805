"""`brenner session round`: send the kickoffs of the next round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import JsonCommand
from brenner.cli.roster import roster_options
from brenner.cli.session.start import (
    EXCERPT_FILE,
    UnreadableOption,
    read_texts,
    report,
    report_unreadable,
    spawn_after_mail,
    spawn_options,
)
from brenner.cli.terminal import pager_option
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_for_writing, workspace_of
from brenner.diagnostics.model import Summary
from brenner.mail.mailbox import Capability
from brenner.services.spawn_agents import check_can_spawn
from brenner.services.start_session import StartStatus

if TYPE_CHECKING:
    from brenner.services.next_round import RoundOptions
    from brenner.services.rosters import RosterRequest
    from brenner.services.spawn_agents import SpawnOptions, TerminalResult
    from brenner.services.start_session import Started
    from brenner.services.workspace import Workspace

_JSON_DEFAULTS: dict[str, object] = {
    "thread_id": None,
    "status": "refused",
    "round": None,
    "kickoffs": [],
    "registered": [],
    "roster": None,
    "neighbours": None,
}
_TEXT_OPTIONS = ("focus", "question", "constraints", "outputs")


@click.command(
    "round",
    cls=JsonCommand,
    json_defaults=_JSON_DEFAULTS,
    epilog=examples(
        "brenner session round RS-20251230-cell-fate",
        "brenner session round RS-20251230-cell-fate --focus 'How H2 works' --dry-run",
        "brenner session round RS-20251230-cell-fate --to RedSky --outputs @outputs.md",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option("--focus", metavar="TEXT|@FILE|-", help="What this round is about.")
@click.option("--question", metavar="TEXT|@FILE|-", help="Refined question.")
@click.option("--outputs", metavar="TEXT|@FILE|-", help="What to deliver (default: what is open).")
@click.option("--constraints", metavar="TEXT|@FILE|-", help="Limits of time, scope or focus.")
@click.option("--excerpt-file", metavar="FILE|-", help="New passages of the source.")
@click.option(
    "--excerpt", "sections", metavar="42,45-47", help="Sections of the project's source text."
)
@click.option(
    "--evidence",
    multiple=True,
    metavar="EV-001#E1",
    help="Excerpt of the evidence pack; EV-001: all of the record.",
)
@click.option("--title", metavar="TEXT", help="Subject (default: the question).")
@roster_options
@click.option("--register", is_flag=True, help="Register recipients on an Agent Mail server, too.")
@click.option("--reopen", is_flag=True, help="Continue a completed or cancelled session.")
@spawn_options
@click.option("--dry-run", is_flag=True, help="Show all kickoffs; send nothing.")
@pager_option
@common_options
def round_(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    thread: str | None,
    *,
    wish: RosterRequest,
    evidence: tuple[str, ...],
    spawn_request: SpawnOptions,
    pager: bool,
    **options_given: object,
) -> int:
    """Send the kickoffs of the next round of THREAD, based on its latest version.

    Use it after `brenner compile`. Each kickoff names the version, its open critiques, the rejected
    blocks and the lint errors. Without --to, it goes to the agents of the rounds before, in the
    same roles. Run the same command again after an interruption: no agent gets a kickoff twice. A
    completed session needs --reopen.
    """
    text_values = {
        name: value if isinstance(value, str) else None for name, value in options_given.items()
    }
    texts = _read_option_texts(text_values)
    if isinstance(texts, tuple):
        return report_unreadable(texts, settings)
    from brenner.services.next_round import RoundOptions

    options = RoundOptions(
        wish=wish,
        focus=texts["focus"],
        question=texts["question"],
        title=text_values["title"] or "",
        excerpt=texts[EXCERPT_FILE],
        sections=text_values["sections"],
        evidence=evidence,
        constraints=texts["constraints"],
        outputs=texts["outputs"],
        dry_run=bool(options_given["dry_run"]),
        reopen=bool(options_given["reopen"]),
        register=bool(options_given["register"]),
    )
    done, attended = _run(settings, thread, options, spawn_request)
    return report(done, attended, as_json=settings.as_json, pager=pager)


def _read_option_texts(values: dict[str, str | None]) -> dict[str, str] | UnreadableOption:
    """Return the texts of the options.

    Refuse an empty focus or question: it is usually an unset shell variable.
    """
    if values[EXCERPT_FILE] is not None and values["sections"] is not None:
        message = "--excerpt-file and --excerpt cannot be used together."
        raise click.UsageError(message)
    texts = read_texts(values, (*_TEXT_OPTIONS, EXCERPT_FILE))
    if isinstance(texts, tuple):
        return texts
    for name in ("focus", "question"):
        if values[name] is not None and not texts[name].strip():
            message = f"--{name} needs a text."
            raise click.UsageError(message)
    return texts


def _run(
    settings: Settings, thread: str | None, options: RoundOptions, spawn_request: SpawnOptions
) -> tuple[Started, TerminalResult | None]:
    """Start the round.

    Detect predictable failures before an agent is registered or a kickoff is sent.
    """
    from brenner.services.next_round import start_round

    with workspace_of(settings) as here:
        thread = find_thread(here, thread)
        if options.dry_run or _needs_dry_run_first(here, spawn_request):
            dry_run = start_round(here, thread, options._replace(dry_run=True))
            is_wrong = bool(Summary.of(dry_run.diagnostics).errors)
            if not is_wrong:
                check_can_spawn(here, dry_run.roster, dry_run.recipients, spawn_request, thread)
            if options.dry_run:
                return spawn_after_mail(here, dry_run, spawn_request)
            if is_wrong:
                return dry_run._replace(status=StartStatus.REFUSED, registered=()), None
    with workspace_for_writing(settings, project=here.project) as here:
        return spawn_after_mail(here, start_round(here, thread, options), spawn_request)


def _needs_dry_run_first(here: Workspace, spawn_request: SpawnOptions) -> bool:
    """Return whether a dry run must come first, so that a refused round leaves nothing behind.

    That is so if a server owns the names, or if terminals are to be opened.
    """
    return bool(spawn_request) or Capability.PROJECT_NAMES in here.mailbox.lacks
