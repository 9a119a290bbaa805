"""The options of the commands that publish a version: `compile` and `session complete`."""

import functools
from collections.abc import Callable
from typing import Any

import click

from brenner.services.compile import CompileOptions
from brenner.services.persist import PersistOptions

_HOW = (
    click.option("--dry-run", is_flag=True, help="Show what would be published; post nothing."),
    click.option(
        "--strict", is_flag=True, help="Publish only if no block is refused and lint passes."
    ),
    click.option("--reopen", is_flag=True, help="Go on with a session that was completed."),
    click.option(
        "--notify", is_flag=True, help="Mail the authors of refused blocks what is wrong."
    ),
)
_KEPT = (
    click.option("--persist", is_flag=True, help="Write the version to artifacts/THREAD.md."),
    click.option("--commit", is_flag=True, help="Commit that file, and nothing else."),
    click.option("--push", is_flag=True, help="Push the branch afterwards."),
    click.option(
        "--archive", is_flag=True, help="Put the thread's mail beside the artifact, from now on."
    ),
    click.option("--force", is_flag=True, help="Write over changes made by hand in the file."),
)
_FLAGS = ("dry_run", "strict", "reopen", "notify")
_ASKED = ("persist", "commit", "push", "archive")


def compile_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add them to a command, which gets `options`."""

    @functools.wraps(function)
    def command(*args: object, **said: object) -> int:
        flags = {name: bool(said.pop(name)) for name in (*_FLAGS, *_ASKED, "force")}
        how: dict[str, Any] = {name: flags[name] for name in _FLAGS}
        return function(*args, options=CompileOptions(**how, persist=_wish(flags)), **said)

    for option in reversed((*_HOW, *_KEPT)):
        command = option(command)
    return command


def _wish(flags: dict[str, bool]) -> PersistOptions | None:
    """How the version is to be kept; None where it is not."""
    if not any(flags[name] for name in _ASKED):
        if flags["force"]:
            message = "--force says how to persist; add --persist."
            raise click.UsageError(message)
        return None
    return PersistOptions(
        commit=flags["commit"] or flags["push"],
        push=flags["push"],
        archive=flags["archive"],
        force=flags["force"],
    )
