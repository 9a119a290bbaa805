"""`brenner mail register`: make a name known to the mailbox."""

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk_to_try, is_trial, real_desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import note_done, write_json
from brenner.cli.sentences import advise, say
from brenner.mail.model import Profile, agent_json


@click.command(
    "register",
    epilog=examples(
        "brenner mail register BlueLake",
        "brenner mail register BlueLake --program claude-code --model opus-4.5",
    ),
)
@click.argument("name")
@click.option("--program", default="", metavar="TEXT", help="The program that it runs in.")
@click.option("--model", default="", metavar="TEXT", help="The model.")
@click.option("--task", default="", metavar="TEXT", help="What it works on.")
@click.option("--update", is_flag=True, help="It is the same agent, with another program or model.")
@common_options
def register(  # noqa: PLR0913  (one parameter per option)
    settings: Settings, *, name: str, program: str, model: str, task: str, update: bool
) -> int:
    """Register a NAME, so that it can send and receive mail.

    The name is kept exactly as given, or refused with suggestions (exit code 1): where another
    agent has it, or where it looks like another one. To register again is fine.
    """
    profile = Profile(name, program, model, task)
    with desk_to_try(settings, needs_operator=False) as here:
        agent, before = here.mailbox.register(profile, update=update)
    if is_trial(here):
        with real_desk(here, needs_operator=False) as here:
            agent, before = here.mailbox.register(profile, update=update)
    note_done()
    if settings.as_json:
        write_json({"new": before is None, "changed": before != agent, "agent": agent_json(agent)})
        return FINE
    if before is None:
        say(f"Registered {agent.name}.")
    elif before != agent:
        say(f"{agent.name} was registered; what is known of it has changed.")
    else:
        say(f"{agent.name} was registered before; nothing has changed.")
    advise(f"It acts with `--as {agent.name}`, or with AGENT_NAME={agent.name} set.")
    return FINE
