"""`brenner artifact`: the group of commands that show, compare, verify and lint artifacts."""

from __future__ import annotations

import click

from brenner.cli.options import ONE_SECTION, LazyGroup, examples, group_options

COMMANDS = {
    "show": (ONE_SECTION, "brenner.cli.artifact.show", "show", "Print an artifact."),
    "history": (ONE_SECTION, "brenner.cli.artifact.history", "history", "List the versions."),
    "diff": (ONE_SECTION, "brenner.cli.artifact.diff", "diff", "Compare two versions or files."),
    "blame": (ONE_SECTION, "brenner.cli.artifact.blame", "blame", "Show who set each field."),
    "ledger": (
        ONE_SECTION,
        "brenner.cli.artifact.ledger",
        "ledger",
        "Show the result of each block.",
    ),
    "tests": (ONE_SECTION, "brenner.cli.artifact.tests", "tests", "Show which test to do next."),
    "lint": (ONE_SECTION, "brenner.cli.artifact.lint", "lint", "Check against the rules."),
    "verify": (
        ONE_SECTION,
        "brenner.cli.artifact.verify",
        "verify",
        "Rebuild and compare versions.",
    ),
    "export": (
        ONE_SECTION,
        "brenner.cli.artifact.export",
        "export",
        "Write JSON, Markdown or HTML.",
    ),
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

    TARGET is a THREAD (its latest version), THREAD@vN, a file, or - for standard input. An existing
    file has priority over a thread of the same name. THREAD@vN is always a thread.
    """
