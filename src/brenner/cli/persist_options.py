"""`--persist`, `--commit`, `--push`, `--archive`, `--force`: how a version is kept."""

import functools
from collections.abc import Callable

import click

from brenner.workflows.persist import PersistOptions

_OPTIONS = (
    click.option("--persist", is_flag=True, help="Write the version to artifacts/THREAD.md."),
    click.option("--commit", is_flag=True, help="Commit that file, and nothing else."),
    click.option("--push", is_flag=True, help="Push the branch afterwards."),
    click.option(
        "--archive", is_flag=True, help="Put the thread's mail beside the artifact, from now on."
    ),
    click.option("--force", is_flag=True, help="Write over changes made by hand in the file."),
)
_ASKED = ("persist", "commit", "push", "archive")


def persist_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add them to a command, which gets `persist`: None where nothing is to be kept."""

    @functools.wraps(function)
    def command(*args: object, **options: object) -> int:
        said = {name: bool(options.pop(name)) for name in (*_ASKED, "force")}
        if said["force"] and not any(said[name] for name in _ASKED):
            message = "--force says how to persist; add --persist."
            raise click.UsageError(message)
        wish = PersistOptions(
            commit=said["commit"] or said["push"],
            push=said["push"],
            archive=said["archive"],
            force=said["force"],
        )
        asked = any(said[name] for name in _ASKED)
        return function(*args, persist=wish if asked else None, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command
