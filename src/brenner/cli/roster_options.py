"""The options with which a command is told who does what.

Each `--role` belongs to the `--to` before it, so the order of the two matters; click keeps that of
each option alone. What it found, and in which order, is noted where it parses.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from brenner.text import visible

_ORDER = "brenner.recipients"
_TO, _ROLE = "to", "role"


class _Ordered(click.Option):
    """An option that notes in which order its values and those of `--role` stood."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parse = parser.parse_args

        def noting(args: list[str]) -> Any:
            values, rest, order = parse(args)
            ctx.meta[_ORDER] = [each.name for each in order if each.name in (_TO, _ROLE)]
            return values, rest, order

        parser.parse_args = noting


_OPTIONS = (
    click.option(
        "--to", cls=_Ordered, multiple=True, metavar="NAME", help="Who takes part; repeatable."
    ),
    click.option("--role", multiple=True, metavar="ROLE", help="The role of the --to before it."),
    click.option(
        "--agent-role", multiple=True, metavar="NAME=ROLE", help="The role of an agent; repeatable."
    ),
    click.option("--roster", metavar="JSON|@FILE", help="A whole roster."),
    click.option("--preset", metavar="ID", help="A roster without names, given out in order."),
    click.option("--unified", is_flag=True, help="One prompt for all, whatever their roles."),
)


def roster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets what they say as its argument `wish`."""

    @functools.wraps(function)
    def command(*args: object, **options: Any) -> Any:
        from brenner.services.rosters import RosterWish  # help needs no rosters

        recipients = _paired(options.pop(_TO), options.pop(_ROLE))
        wish = RosterWish(
            roster=options.pop("roster"),
            agent_roles=options.pop("agent_role"),
            recipients=recipients,
            preset=options.pop("preset"),
            unified=options.pop("unified"),
        )
        return function(*args, wish=wish, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _paired(names: Sequence[str], roles: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """Each name with the role that stands after it; wrong usage where a role has no name."""
    context = click.get_current_context()
    paired: list[tuple[str, str | None]] = []
    name, role = iter(names), iter(roles)
    for kind in context.meta.get(_ORDER, ()):
        if kind == _TO:
            paired.append((next(name), None))
            continue
        said = next(role)
        if not paired:
            _refuse(said, "it stands before any --to", context)
        to, before = paired[-1]
        if before is not None:
            _refuse(said, f"--to {visible(to)} has the role {visible(before)} already", context)
        paired[-1] = (to, said)
    return tuple(paired)


def _refuse(role: str, reason: str, context: click.Context) -> NoReturn:
    message = f"--role {visible(role)} belongs to no --to NAME: {reason}."
    raise click.UsageError(message, context)
