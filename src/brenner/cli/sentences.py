"""What a command says in words: what it did, then what to do next, folded to the terminal."""

import sys
from itertools import cycle
from typing import TextIO

from brenner.cli.folding import PLAIN, Piece, Style, fold
from brenner.text import as_option, joined, thread_argument

__all__ = [
    "advice",
    "advise",
    "as_option",
    "joined",
    "pieces",
    "say",
    "sentence",
    "thread_argument",
]


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
