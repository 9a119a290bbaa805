"""`brenner compile`: publish the next version of a thread, and keep it where asked for."""

import click

from brenner.cli.compile_report import ALWAYS, report
from brenner.cli.help_text import examples
from brenner.cli.mail.desk import desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, note_done
from brenner.cli.persist_options import persist_options
from brenner.workflows.compile import CompileOptions, compile_thread
from brenner.workflows.persist import PersistOptions


@click.command(
    "compile",
    cls=Reporting,
    always=ALWAYS,
    epilog=examples(
        "brenner compile RS-20251230-cell-fate --dry-run",
        "brenner compile RS-20251230-cell-fate --notify",
        "brenner compile RS-20251230-cell-fate --persist --commit",
    ),
)
@click.argument("thread", metavar="THREAD")
@click.option("--dry-run", is_flag=True, help="Show what would be published; post nothing.")
@click.option("--strict", is_flag=True, help="Publish only if no block is refused and lint passes.")
@click.option("--reopen", is_flag=True, help="Go on with a session that was completed.")
@click.option("--notify", is_flag=True, help="Mail the authors of refused blocks what is wrong.")
@persist_options
@common_options
def command(
    settings: Settings,
    thread: str,
    persist: PersistOptions | None,
    **flags: bool,
) -> int:
    """Merge what no version of THREAD has read into its next version, and post it.

    Refused blocks and lint errors do not stop a version: they are stated in it and listed here.
    Where no unread delta applies there is nothing to compile, and `--persist` keeps the latest
    version. A command that was interrupted is finished by running it again. Exit code 1: nothing
    was published because of --strict, or a version of the thread does not rebuild; 3: git or the
    store failed.
    """
    options = CompileOptions(persist=persist, **flags)
    with desk(settings) as here:
        done = compile_thread(here, thread, options)
    if not options.dry_run:
        note_done()
    return report(done, as_json=settings.as_json)
