"""Commands that a text names: whether there are such, with the options that it gives them."""

import re
import shlex
from collections.abc import Iterator

import click

from brenner.cli.main import cli

# In Markdown and in what is shown on a terminal; on a web page
_MARKED = re.compile(r"`(?:\w+=\S+ )?brenner ([^`\n]+)`")
_LEFT_OUT = re.compile(r"…|\{\w+\}")  # what a template fills in
_CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)


def in_marks(text: str) -> list[str]:
    """What follows `brenner` in commands between backticks."""
    return _MARKED.findall(text)


def in_code(page: str) -> list[str]:
    """The same of a web page, on whose lines of code commands stand alone."""
    lines = [line for code in _CODE.findall(page) for line in code.split("\n")]
    return [line.removeprefix("brenner ") for line in lines if line.startswith("brenner ")]


def unknown(said: str) -> Iterator[str]:
    """What of a command there is not: itself, or one of its options."""
    command: click.Command = cli
    words = shlex.split(_LEFT_OUT.sub(" ", said))
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            yield f"{command.name} {words[0]}"
            return
        command = found
        words.pop(0)
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if name.startswith("--") and name not in {*known, "--help", "--version"}:
            yield f"{command.name} {name}"
