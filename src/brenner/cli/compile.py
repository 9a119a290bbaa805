"""`brenner compile`: publish the next version of a thread, and keep it where asked for."""

import click

from brenner.cli.compile_options import compile_options
from brenner.cli.compile_report import ALWAYS, report
from brenner.cli.help_text import examples
from brenner.cli.mail.desk import desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, note_done
from brenner.services.compile import CompileOptions, compile_thread


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
@compile_options
@common_options
def command(settings: Settings, thread: str, options: CompileOptions) -> int:
    """Merge what no version of THREAD has read into its next version, and post it.

    Refused blocks and lint errors do not stop a version: they are stated in it and listed here.
    Where no unread delta applies there is nothing to compile, and `--persist` keeps the latest
    version. A command that was interrupted is finished by running it again. Exit code 1: nothing
    was published because of --strict, or a version of the thread does not rebuild; 3: git or the
    store failed.
    """
    with desk(settings) as here:
        done = compile_thread(here, thread, options)
    if not options.dry_run:
        note_done()
    return report(done, as_json=settings.as_json)
