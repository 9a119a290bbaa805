"""`--spawn` and `--broadcast`: the options of commands that send kickoffs."""

import functools
from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--spawn", is_flag=True, help="Then open the agents' programs, with ntm or else tmux."
    ),
    click.option(
        "--broadcast", is_flag=True, help="Then tell the agents' panes to read their mail."
    ),
)


def neighbour_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets what they say as its argument `neighbours`.

    A command with `dry_run` gets that in it as well.
    """

    @functools.wraps(function)
    def command(*args: object, **options: Any) -> Any:
        from brenner.services.spawn_agents import NeighbourWish  # help needs no workflows

        wish = NeighbourWish(
            options.pop("spawn"), options.pop("broadcast"), bool(options.get("dry_run"))
        )
        return function(*args, neighbours=wish, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command
