"""`brenner result`: the group of commands that record and list what tests showed."""

from __future__ import annotations

import click

from brenner.cli.options import ONE_SECTION, LazyGroup, examples, group_options

COMMANDS = {
    "add": (ONE_SECTION, "brenner.cli.result.add", "add", "Record what a test showed."),
    "run": (ONE_SECTION, "brenner.cli.result.run", "run", "Run a command and keep its record."),
    "list": (ONE_SECTION, "brenner.cli.result.list", "list_", "List results and their evidence."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=examples(
        "brenner result add RS-20251230-cell-fate T1 --outcome changed",
        "brenner result run RS-20251230-cell-fate T1 -- python analyse.py",
        "brenner result list RS-20251230-cell-fate",
    ),
)
@group_options
def command() -> None:
    """Record and list what tests showed.

    A result is an outcome of a test. It may contradict or support hypotheses, and it changes
    nothing but its test.
    """
