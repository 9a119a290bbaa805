"""How much work it is to typeset a text, counted: so that no text of anybody's holds up the page.

The parser looks for the ends of links again and again, fills up tables, and asks every container
about every line: there are texts of a few kilobytes over which it sits for minutes. No clock is
looked at, for the same text is to look the same on every machine. What is counted is steps of the
parser, in parts that take about a microsecond each.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

MOST_WORK = 800_000
# What one step of each kind takes
_ASKED = 1  # what stands at a place that was looked at before
_PLACE = 3
_LINE = 10
_COLUMNS = 16  # so many characters of a line, looked at for a rule or a table, are one more
_TOKEN = 8
_PARAGRAPH = 20
_PAIR = 5
_ADDRESS = 20
# A text may take so much for what can be counted without parsing: ordinary ones take the half
_FOR_CHARACTER, _FOR_LINE, _FOR_MARK, _FOR_CELL = 2, 120, 16, 100
_MARK = re.compile(r"[]\[!*_~`<>&\\#$%+:=@^{}\n-]")  # what the parser stops at
_LEAST = 2_000
_DEEPEST = 20  # pictures in the words of pictures
_BLOCK_CHAINS = ["paragraph", "reference", "blockquote", "list"]
WORK = "work"  # what a parser finds the account by


class TooMuchWork(Exception):
    """A text that would take more than it may."""


class Account:
    """The work that is left for a text."""

    __slots__ = ("_depth", "_left", "_tokens")

    def __init__(self, most: int) -> None:
        self._left, self._tokens, self._depth = most, 0, 0

    @property
    def left(self) -> int:
        """What is not spent."""
        return max(0, self._left)

    def spend(self, work: int) -> None:
        """Take from it; where nothing is left, stop."""
        self._left -= work
        if self._left < 0:
            raise TooMuchWork

    @contextmanager
    def within(self) -> Iterator[None]:
        """One text within another; the parser calls itself for each."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TooMuchWork
        yield
        self._depth -= 1

    def made(self, tokens: int) -> None:
        """So many tokens are there; those that are new are paid for."""
        new, self._tokens = tokens - self._tokens, tokens
        self.spend(_TOKEN * max(0, new))


def weight(text: str) -> int:
    """The most work that a text may take: by its characters, its lines and its marks.

    Where the parser takes more, it walks over the same text again and again.
    """
    marks = len(text) - len(_MARK.sub("", text))
    counted = (
        _FOR_CHARACTER * len(text)
        + _FOR_LINE * (text.count("\n") + text.count("\r"))
        + _FOR_CELL * text.count("|")
        + _FOR_MARK * marks
    )
    return _LEAST + counted


def paragraph_work(content: str) -> int:
    """What the marks of a paragraph take beside the steps: to pair them, to read addresses."""
    pairs = sum(map(content.count, "*_~"))
    return _PARAGRAPH + _PAIR * pairs + _ADDRESS * content.count("](")


def count_steps(parser: MarkdownIt) -> None:
    """Have a parser pay for each step, from the account in its `env`."""
    parser.block.ruler.before("table", "count", _count_line, {"alt": _BLOCK_CHAINS})
    parser.inline.ruler.before("text", "count", _count_place)


class CountingInline(ParserInline):
    """Looks ahead as the parser does, and pays also for what it knows already."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """The marks of a paragraph; or of the words of a picture, within those of a paragraph."""
        with env[WORK].within():
            return super().parse(src, md, env, tokens)

    def skipToken(self, state: StateInline) -> None:  # noqa: N802
        """Go behind what stands here."""
        state.env[WORK].spend(_ASKED)
        super().skipToken(state)


# The first rules of all, which apply to nothing: the parser asks them at every step


def _count_line(state: StateBlock, line: int, _end: int, _is_asked: bool) -> bool:
    account: Account = state.env[WORK]
    account.made(len(state.tokens))
    account.spend(_LINE + (state.eMarks[line] - state.bMarks[line]) // _COLUMNS)
    return False


def _count_place(state: StateInline, _is_asked: bool) -> bool:
    state.env[WORK].spend(_PLACE)
    return False
