"""`brenner artifact`: what one can do with artifacts, each command imported when it is called."""

import click

from brenner.cli.groups import Command, Commands

COMMANDS = {
    "show": Command("brenner.cli.artifact_show", "show", "Print an artifact, also as JSON."),
    "diff": Command("brenner.cli.artifact_diff", "diff", "Say what changed between two artifacts."),
    "lint": Command("brenner.cli.artifact_lint", "lint", "Check an artifact against the rules."),
}


@click.group(cls=Commands, table=COMMANDS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--as", "actor", metavar="NAME", help="Who you are (or AGENT_NAME).")
@click.pass_context
def command(ctx: click.Context, as_json: bool, actor: str | None) -> None:
    """Show, compare and lint artifacts that are files."""
    before = ctx.find_root().obj
    before.update(as_json=as_json or before["as_json"], actor=actor or before["actor"])
