"""The options that every command takes, before or after its name."""

import functools
import os
from collections.abc import Callable
from typing import NamedTuple

import click


class Settings(NamedTuple):
    """What the common options say. `actor` is who runs the command, where that is known."""

    as_json: bool
    actor: str | None


def common_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the common options to a command, which gets `settings` as its first argument."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document, nothing else.")
    @click.option("--as", "actor", metavar="NAME", help="Who you are (or AGENT_NAME).")
    @functools.wraps(function)
    def command(*args: object, as_json: bool, actor: str | None, **options: object) -> int:
        before = click.get_current_context().find_root().obj
        settings = Settings(
            as_json or before["as_json"],
            actor or before["actor"] or os.environ.get("AGENT_NAME") or None,
        )
        return function(settings, *args, **options)

    return command
