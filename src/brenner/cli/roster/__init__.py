"""`brenner roster`: who has which role, where that is said, and whether it can be used."""

import click

from brenner.cli.groups import Command, Commands
from brenner.cli.help_text import examples
from brenner.cli.options import group_options

COMMANDS = {
    "show": Command("brenner.cli.roster.show", "show", "Say who has which role, and where from."),
    "validate": Command("brenner.cli.roster.validate", "validate", "Check a roster, send nothing."),
    "presets": Command("brenner.cli.roster.presets", "presets", "List the presets."),
}


@click.group(
    cls=Commands,
    table=COMMANDS,
    epilog=examples(
        "brenner roster show --to BlueLake --role test_designer",
        "brenner roster validate roster.json",
        "brenner roster presets",
    ),
)
@group_options
def command() -> None:
    """Say who has which role, and why.

    A roster gives each agent one of three roles: hypothesis_generator, test_designer or
    adversarial_critic. It comes from flags, the environment, a project's file or a preset; the
    first that speaks of an agent counts. `session start` takes the same flags.
    """
