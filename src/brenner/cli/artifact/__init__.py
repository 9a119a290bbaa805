"""`brenner artifact`: the group of commands that show, compare, verify and lint artifacts."""

from __future__ import annotations

import click

from brenner.cli.options import LazyGroup, examples, group_options

COMMANDS = {
    "show": ("brenner.cli.artifact.show", "show", "Print an artifact, also as JSON."),
    "history": ("brenner.cli.artifact.history", "history", "List the versions."),
    "diff": ("brenner.cli.artifact.diff", "diff", "Say what changed between two artifacts."),
    "blame": ("brenner.cli.artifact.blame", "blame", "Say who set each field, and when."),
    "ledger": ("brenner.cli.artifact.ledger", "ledger", "Say what became of every block."),
    "verify": ("brenner.cli.artifact.verify", "verify", "Rebuild every version, compare."),
    "lint": ("brenner.cli.artifact.lint", "lint", "Check an artifact against the rules."),
    "export": ("brenner.cli.artifact.export", "export", "Write JSON, Markdown or HTML."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=examples(
        "brenner artifact show RS-20251230-cell-fate",
        "brenner artifact diff RS-20251230-cell-fate@v1 v2",
        "brenner artifact blame RS-20251230-cell-fate H2.claim",
        "brenner artifact verify RS-20251230-cell-fate",
    ),
)
@group_options
def command() -> None:
    """Show, compare, verify and lint artifacts.

    A TARGET is a THREAD (its latest version), THREAD@vN, a file, or - for the standard input. A
    file that exists comes before a thread of the same name; with @vN it is always the thread.
    """
