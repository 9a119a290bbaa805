"""Commands that a text names: whether there are such, with the options that it gives them."""

import re
import shlex
from collections.abc import Iterator

import click

from brenner.cli.main import cli

# In Markdown and in what is shown on a terminal; on a web page
_MARKED = re.compile(r"`(?:\w+=\S+ )?brenner ([^`\n]+)`")
_LEFT_OUT = re.compile(r"…|\{\w+\}")  # what a template fills in
_FILLED_IN = (re.compile(r"…|\{options?\}"), re.compile(r"\{\w+\}"))  # options; one word
_CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)


def in_marks(text: str) -> list[str]:
    """What follows `brenner` in commands between backticks."""
    return _MARKED.findall(text)


def in_code(page: str) -> list[str]:
    """The same of a web page, on whose lines of code commands stand alone."""
    lines = [line for code in _CODE.findall(page) for line in code.split("\n")]
    return [line.removeprefix("brenner ") for line in lines if line.startswith("brenner ")]


def _find(words: list[str]) -> click.Command:
    """Return the command that the words begin with, and remove its name from them."""
    command: click.Command = cli
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            break
        command = found
        words.pop(0)
    return command


def incomplete(said: str) -> Iterator[str]:
    """What a command lacks to be run as it is written: a subcommand, an argument, an option."""
    options, word = _FILLED_IN
    words = shlex.split(word.sub("WORD", options.sub(" ", said)))
    command = _find(words)
    if command.name == "run" and "--" in words:  # after it is the command of `result run`
        words = words[: words.index("--")]
    if isinstance(command, click.Group):
        yield f"{command.name} {' '.join(words)}: no command"
        return
    try:
        given, left, _ = command.make_parser(click.Context(command)).parse_args(words)
    except click.UsageError as error:
        yield f"{said}: {error.message}"
        return
    yield from (f"{said}: what is {each}" for each in left)
    for each in command.params:
        value = given.get(each.name or "")  # a string or a tuple if it was given
        if each.required and not (isinstance(value, str | tuple) and value):
            yield f"{said}: no {each.name}"


def unknown(said: str) -> Iterator[str]:
    """What of a command there is not: itself, or one of its options."""
    words = shlex.split(_LEFT_OUT.sub(" ", said))
    command = _find(words)
    if isinstance(command, click.Group) and words and not words[0].startswith("-"):
        yield f"{command.name} {words[0]}"
        return
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if name.startswith("--") and name not in {*known, "--help", "--version"}:
            yield f"{command.name} {name}"
