"""What a command says in words: what it did, then what to do next, folded to the terminal."""

import sys
from collections.abc import Iterable
from itertools import cycle
from shlex import quote
from typing import TextIO

from brenner.cli.folding import PLAIN, Piece, Style, fold
from brenner.diagnostics.visible import visible

_MOST_NAMES = 7


def sentence(text: str, out: TextIO) -> str:
    """What was done or found."""
    return fold([], pieces(text), "", out)


def advice(text: str, out: TextIO) -> str:
    """What to do next, or what else there is to know."""
    return fold([Piece("  ")], pieces(text), "  ", out)


def pieces(text: str, style: Style = PLAIN) -> list[Piece]:
    """The text, in which a command between backticks is never folded: one copies it whole."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick that stands for itself
        return [Piece(text, style)]
    return [
        Piece(f"`{part}`", style, is_solid=True) if is_code else Piece(part, style)
        for part, is_code in zip(parts, cycle((False, True)), strict=False)
        if part
    ]


def say(text: str, out: TextIO | None = None) -> None:
    """Write what was done or found, to the standard output unless said otherwise."""
    out = out or sys.stdout
    out.write(sentence(text, out))


def advise(text: str, out: TextIO | None = None) -> None:
    """Write what to do next."""
    out = out or sys.stdout
    out.write(advice(text, out))


def joined(names: Iterable[str]) -> str:
    """Names as in a sentence: `BlueLake, GreenDog and RedCreek`."""
    shown = [visible(name) for name in names]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} others"]
    *most, last = shown or [""]
    return f"{', '.join(most)} and {last}" if most else last


def as_option(actor: str, operator: str) -> str:
    """What a command must say for somebody who is not the operator."""
    return "" if actor == operator else f" --as {quote(visible(actor))}"


def thread_argument(thread_id: str) -> str:
    """A thread ID as one types it; one that begins with a hyphen is no option."""
    return "-- " * thread_id.startswith("-") + quote(visible(thread_id, len(thread_id) + 1))
