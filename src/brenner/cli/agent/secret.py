"""`brenner agent secret`: give a name a secret, and show it once."""

import sys

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk_to_try, is_trial, real_desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import note_done, write_json
from brenner.cli.sentences import advise, say
from brenner.diagnostics.codes.serving import SECRET_GIVEN
from brenner.diagnostics.codes.stores import HOME_CANNOT
from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Ability
from brenner.services.identity import SECRET, claim, renew
from brenner.services.workspace import Desk


@click.command(
    "secret",
    epilog=examples(
        "brenner agent secret Operator",
        "brenner agent secret BlueLake --new",
        f"{SECRET}=$(brenner agent secret BlueLake) codex",
    ),
)
@click.argument("name")
@click.option("--new", is_flag=True, help="Replace the one that it has, which is then worthless.")
@common_options
def secret(settings: Settings, *, name: str, new: bool) -> int:
    """Give a NAME a secret, with which a server knows who sends.

    An agent gets its own when it registers; this is for the operator, whose name no agent can use
    without, and for agents that were given a name and are to be given its secret. It is printed
    once, alone on the standard output, and kept nowhere: the store has a digest.
    """
    with desk_to_try(settings) as here:
        _check(here, settings.actor, name)
        if not is_trial(here):
            given = _given(here, name, is_new=new)
    if is_trial(here):
        with real_desk(here) as here:
            given = _given(here, name, is_new=new)
    note_done()
    if settings.as_json:
        write_json({"name": name, "secret": given})
        return FINE
    sys.stdout.write(f"{given}\n")
    sys.stdout.flush()
    say(f"That is the secret of {name}. It is shown this once.", sys.stderr)
    advise(
        f"Keep it in {SECRET}, or in a file that only you may read (mode 600), never in one that "
        "git takes.",
        sys.stderr,
    )
    return FINE


def _check(here: Desk, actor: str | None, name: str) -> None:
    """Whether the name can have one, and the one who asks may give it.

    Who has the store has everything in it. But an agent that tries is not to end up with another
    name by a slip.
    """
    if actor is not None and actor not in (name, here.project.operator):
        message = f"{actor} acts here (--as, AGENT_NAME); only the operator gives others a secret."
        raise click.UsageError(message)
    here.mailbox.agent(name)
    reason = here.mailbox.lacks.get(Ability.SECRETS)
    if reason is not None:
        raise Refused(HOME_CANNOT.at(ability=Ability.SECRETS, reason=reason))


def _given(here: Desk, name: str, *, is_new: bool) -> str:
    found = renew(here.mailbox, name) if is_new else claim(here.mailbox, name)
    if found is None:
        raise Refused(SECRET_GIVEN.at(name=name))
    return found
