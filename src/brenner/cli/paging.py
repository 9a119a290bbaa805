"""What is longer than the screen goes through the reader's pager; what is exact, out unchanged."""

import sys
from collections.abc import Iterable
from itertools import chain
from typing import TextIO

import click

from brenner.text import visible_lines


def write_lines(lines: Iterable[str], *, pager: bool = True) -> None:
    """Write lines for people: by the pager where there are more than the screen has."""
    out = sys.stdout
    if not pager or not _is_watched(out):
        out.writelines(lines)
        return
    from shutil import get_terminal_size  # not needed in a pipe

    screen, rows = get_terminal_size().lines, 0
    following = iter(lines)
    first = []
    for line in following:
        first.append(line)
        rows += line.count("\n")
        if rows >= screen:
            click.echo_via_pager(chain(first, following))
            return
    out.writelines(first)


def write_exact(text: str, out: TextIO) -> None:
    """Every byte as it is into a pipe or a file; in a terminal nothing of it is obeyed."""
    out.write(visible_lines(text) if out.isatty() else text)


def _is_watched(out: TextIO) -> bool:
    """Whether somebody is there to turn the pages."""
    return out.isatty() and sys.stdin is not None and sys.stdin.isatty()


pager_option = click.option(
    "--no-pager", "pager", flag_value=False, default=True, help="Never page; write it all at once."
)
