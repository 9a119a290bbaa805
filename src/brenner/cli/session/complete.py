"""`brenner session complete`: publish the last version of a session, and close it."""

import click

from brenner.cli.compile_options import compile_options
from brenner.cli.compile_report import ALWAYS, report
from brenner.cli.help_text import examples
from brenner.cli.mail.desk import desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, note_done
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import check_operator


@click.command(
    "complete",
    cls=Reporting,
    always=ALWAYS,
    epilog=examples(
        "brenner session complete RS-20251230-cell-fate",
        "brenner session complete RS-20251230-cell-fate --persist --commit --archive",
    ),
)
@click.argument("thread", metavar="THREAD")
@compile_options
@common_options
def complete(settings: Settings, thread: str, options: CompileOptions) -> int:
    """Publish one last version of THREAD, with the status `closed`.

    It has everything that no version has read so far. Later deltas are compiled only with
    `brenner compile --reopen`. A session that is closed is left as it is, and persisted where
    asked for. Exit code 1: there is no version to close.
    """
    with desk(settings) as here:
        check_operator(here, "complete a session")
        done = compile_thread(here, thread, options._replace(close=True))
    if not options.dry_run:
        note_done()
    return report(done, as_json=settings.as_json)
