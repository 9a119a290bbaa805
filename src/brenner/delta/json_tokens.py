"""The tokens of JSON as people and models write it, and the faults between them.

Comments, and blanks that are blanks to the eye only, are gone over and noted. A fault does not stop
the reading until there are too many; what cannot be read at all raises `StopError`.
"""

import re
from functools import cache
from typing import NamedTuple, NoReturn

from brenner.delta.json_faults import MOST_FAULTS, Fault
from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.model import Code
from brenner.markdown.edits import Edit
from brenner.text import visible

END = "end"

_BLANK = re.compile(r"[ \t\r\n]*")
# No-break and other spaces, zero-width characters: blanks to the eye, not to JSON
_ODD_BLANKS = frozenset("\u00a0\u2002\u2003\u2007\u2009\u200b\u200c\u200d\u202f\u2060\u3000\ufeff")
_MOST_SHOWN = 40


@cache
def _token(*, multiline: bool) -> re.Pattern[str]:
    """One token; compiled when first needed, since sound messages never come here.

    Without `multiline` a string ends with its line, so that a lone quotation mark in prose does
    not swallow what follows.
    """
    inside = r'[^"\\]*(?:\\.[^"\\]*)*' if multiline else r'[^"\\\n]*(?:\\.[^"\\\n]*)*'
    return re.compile(
        rf"""
          (?P<string> "{inside}" )
        | (?P<mark> [{{}}\[\],:] )
        | (?P<number> [-+.]?[0-9][0-9A-Za-z.+-]* )
        | (?P<word> -?[A-Za-z_$][A-Za-z0-9_$]* )
        | (?P<single> '[^'\\\n]*(?:\\.[^'\\\n]*)*' )
        | (?P<curly> [“”„][^“”„"\\\n]*[“”] )
        """,
        re.VERBOSE | re.DOTALL,
    )


class StopError(Exception):
    """The text cannot be read further; the last fault says why."""


class Token(NamedTuple):
    """A token and its place. Its `kind` is a group of the pattern, `stray`, or END.

    The text of an END is the string that it cuts off, if it does.
    """

    kind: str
    text: str
    start: int
    end: int


class TokenReader:
    """Reads token after token and collects the faults."""

    def __init__(self, text: str, start: int, *, multiline: bool, comments_end: int | None) -> None:
        self.text = text
        self.multiline = multiline
        self.token = _token(multiline=multiline)
        self.values = 0
        self.position = start
        self.comments_end = comments_end
        self.faults: list[Fault] = []
        self.cut_off = False

    def next_token(self) -> Token:
        """The next token; comments on the way are faults."""
        self.skip()
        match = self.token.match(self.text, self.position)
        if match:
            self.position = match.end()
            return Token(match.lastgroup or "", match[0], match.start(), match.end())
        start = self.position
        if start == len(self.text) or self.text[start] == '"':
            end = len(self.text) if self.multiline else self.line_end(start)
            return Token(END, self.text[start:end], start, end)
        self.position = start + 1
        return Token("stray", self.text[start : start + 1], start, start + 1)

    def skip(self) -> None:
        """Go over blanks and comments, and over blanks that only look like some."""
        while True:
            self.position = start = _after_blanks(self.text, self.position)
            end = self.comment_end(start)
            if end is not None:
                comment = self.text[start:end]
                edit = Edit(start, end, "")
                self.fault(codes.JSON_COMMENT, start, (edit,), comment=comment)
            elif self.text[start : start + 1] in _ODD_BLANKS:
                end = start + 1
                edit = Edit(start, end, " ")
                self.fault(codes.JSON_ODD_BLANK, start, (edit,), character=self.text[start])
            else:
                return
            self.position = end

    def comment_end(self, start: int) -> int | None:
        """Where the comment ends that begins here, if one does and if it ends."""
        if self.text.startswith(("//", "#"), start):
            return self.line_end(start)
        if self.text.startswith("/*", start):
            if self.comments_end is None:
                self.comments_end = self.text.rfind("*/")
            if start + 2 <= self.comments_end:
                return self.text.index("*/", start + 2) + 2
        return None

    def line_end(self, start: int) -> int:
        """Where the line of an offset ends."""
        end = self.text.find("\n", start)
        return len(self.text) if end < 0 else end

    def stop(self, token: Token, reason: str) -> NoReturn:
        """Give up at a token; `{token}` in the reason stands for it."""
        if token.kind == END:
            self.cut_off = True
            reason = "it ends before everything that was opened is closed"
            if token.text:
                reason = "the text in quotes that begins here has no end"
            elif not self.values or not self.text.strip():
                reason = "it is empty"
        words = {"reason": reason.replace("{token}", f"`{visible(token.text, _MOST_SHOWN)}`")}
        self.faults.append(Fault(codes.INVALID_JSON, token.start, words, None))
        self.position = token.end
        raise StopError

    def fault(self, code: Code, offset: int, edits: tuple[Edit, ...] | None, **words: str) -> None:
        """Note a fault."""
        self.add(Fault(code, offset, words, edits))

    def add(self, fault: Fault) -> None:
        """Note a fault, and stop where there are too many."""
        self.faults.append(fault)
        if len(self.faults) >= MOST_FAULTS:
            words = {"reason": f"there are {MOST_FAULTS} faults up to here; the rest was not read"}
            self.faults.append(Fault(codes.INVALID_JSON, fault.offset, words, None))
            raise StopError


def _after_blanks(text: str, start: int) -> int:
    match = _BLANK.match(text, start)
    return match.end() if match else start
