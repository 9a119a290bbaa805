"""JSON as people and models write it: read leniently, with every fault named and placed.

The scanner accepts what strict JSON refuses (trailing commas, comments, single quotes, unquoted
keys, …), notes each deviation as a `Fault` and, where the correction is certain, the edit that
makes it. A text without faults is strict JSON, and the laws in the tests say so both ways.
It also gives the place of every value, so that a problem deep inside a delta has a line.

One pass of recursive descent; the limit on depth holds before each step down.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import NamedTuple, NoReturn

from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.model import Code
from brenner.limits import MOST_JSON_DEPTH, MOST_JSON_VALUES, MOST_NUMBER_DIGITS
from brenner.markdown.edits import Edit
from brenner.text import escape_control

# What a fault in a JSON text is.


# More than these in one text are not worth reading, and not worth the time to collect.
MOST_FAULTS = 50


class Fault(NamedTuple):
    """A deviation from JSON at an offset; `edits` mend it, or None where that would be a guess."""

    code: Code
    offset: int
    words: dict[str, str]
    edits: tuple[Edit, ...] | None


# The inside of JSON strings: what may not stand there, and how quotes are changed.
#
# What a string says is never altered, only how it is spelled: a raw line break becomes the escape
# that means a line break.


_WORTH_A_LOOK = re.compile(r"[\x00-\x1f\\\ud800-\udfff]")
NAMES = {
    "\n": "line break",
    "\r": "carriage return",
    "\t": "tab",
    "\b": "backspace",
    "\f": "form feed",
}
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


@cache
def _part() -> re.Pattern[str]:
    """A part of a string that is worth a look; compiled when first needed."""
    return re.compile(
        r"""
          (?P<control> [\x00-\x1f] )
        | (?P<fine> \\ (?: ["\\/bfnrt] | u (?! [dD][89a-fA-F] ) [0-9a-fA-F]{4} ) )
        | (?P<pair> \\u [dD][89abAB][0-9a-fA-F]{2} \\u [dD][c-fC-F][0-9a-fA-F]{2} )
        | (?P<lone> \\u [dD][89a-fA-F][0-9a-fA-F]{2} | [\ud800-\udfff] )
        | (?P<apostrophe> \\' )
        | (?P<escape> \\ . )
        """,
        re.VERBOSE | re.DOTALL,
    )


def check_string(token: str, start: int) -> Iterator[Fault]:
    """The faults inside a string token that begins at `start`."""
    if not _WORTH_A_LOOK.search(token):
        return
    for part in _part().finditer(token):
        offset = start + part.start()
        edit = Edit(offset, start + part.end(), "")
        if part.lastgroup == "control":
            escape = _escaped_control(part[0])
            words = {"character": NAMES.get(part[0], "control character"), "right": escape}
            mended = edit._replace(replacement=escape)
            yield Fault(codes.JSON_CONTROL_CHARACTER, offset, words, (mended,))
        elif part.lastgroup == "lone":
            yield Fault(codes.JSON_LONE_SURROGATE, offset, {"escape": part[0]}, None)
        elif part.lastgroup == "apostrophe":
            mended = edit._replace(replacement="'")
            yield Fault(codes.JSON_BAD_ESCAPE, offset, {"escape": part[0]}, (mended,))
        elif part.lastgroup == "escape":
            yield Fault(codes.JSON_BAD_ESCAPE, offset, {"escape": part[0]}, None)


def requoted(token: str) -> str:
    """A string in other quotes, put into double quotes; its text stays the same."""
    inside = token[1:-1].replace("\\'", "'")
    return '"' + re.sub(r'(\\.)|"', lambda match: match[1] or '\\"', inside, flags=re.DOTALL) + '"'


def _escaped_control(character: str) -> str:
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


# The tokens of JSON as people and models write it, and the faults between them.
#
# Comments, and blanks that are blanks to the eye only, are gone over and noted. A fault does not
# stop
# the reading until there are too many; what cannot be read at all raises `StopError`.


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
        words = {
            "reason": reason.replace("{token}", f"`{escape_control(token.text, _MOST_SHOWN)}`")
        }
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


_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_COLON_NEXT = re.compile(r"[ \t\r\n]*:")
_WORDS = frozenset({"true", "false", "null"})
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_NOT_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})
_STRINGS = frozenset({"string", "single", "curly"})


class Node:
    """A value and its place. An object has `members` (of equal keys the last), an array `items`.

    `kind` is object, array, string, number or word.
    """

    __slots__ = ("end", "items", "kind", "members", "start")

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.members: dict[str, Member] = {}
        self.items: list[Node] = []


class Member(NamedTuple):
    """A key's place and its value."""

    key_start: int
    key_end: int
    value: Node


class Scan(NamedTuple):
    """What stands from the start on: the value, where it ends, its faults, all its objects.

    `root` is None where the scanner had to stop inside the value; `objects` are as far as it got.
    `cut_off` says that it stopped because the text ends; the last fault says the same.
    """

    root: Node | None
    end: int
    faults: tuple[Fault, ...]
    objects: tuple[Node, ...]
    cut_off: bool = False


def scan(text: str, start: int = 0, comments_end: int | None = None) -> Scan:
    """Scan one value from `start` on, with blanks and comments after it.

    `comments_end` is the offset of the last `*/` in the text, for callers that scan it often.
    """
    scanner = _Scanner(text, start, multiline=True, comments_end=comments_end)
    root = None
    with suppress(StopError):
        root = scanner.read_value(MOST_JSON_DEPTH)
        scanner.skip()
    return scanner.result(root)


def scan_in_prose(text: str, start: int, comments_end: int) -> Scan:
    """Scan one value that stands in prose; `comments_end` is where the text's last `*/` stands."""
    scanner = _Scanner(text, start, multiline=False, comments_end=comments_end)
    root = None
    with suppress(StopError):
        root = scanner.read_value(MOST_JSON_DEPTH)
    return scanner.result(root)


class _Scanner(TokenReader):
    def __init__(self, text: str, start: int, *, multiline: bool, comments_end: int | None) -> None:
        super().__init__(text, start, multiline=multiline, comments_end=comments_end)
        self.objects: list[Node] = []

    def result(self, root: Node | None) -> Scan:
        return Scan(root, self.position, tuple(self.faults), tuple(self.objects), self.cut_off)

    # The grammar

    def read_value(self, depth: int, token: Token | None = None) -> Node:
        token = token or self.next_token()
        self.values += 1
        if self.values > MOST_JSON_VALUES:
            self.stop(token, f"it has more than {MOST_JSON_VALUES} values")
        if token.text == "{":
            return self.read_object(token, depth - 1)
        if token.text == "[":
            return self.read_array(token, depth - 1)
        self.scalar(token)
        kind = "string" if token.kind in _STRINGS else token.kind
        return Node(kind, token.start, token.end)

    def read_object(self, opening: Token, depth: int) -> Node:
        self.check_depth(opening, depth)
        node = Node("object", opening.start, opening.end)
        self.objects.append(node)
        comma = None
        while (token := self.next_token()).text != "}":
            if node.members and comma is None:
                if token.text == ",":
                    comma = token
                    continue
                self.comma_missing_before(token, node.end, is_next=self.is_key(token))
            comma = None
            key, start = self.key(token), token.start
            if key in node.members:
                self.fault(codes.JSON_DUPLICATE_KEY, start, None, key=key)
            # Known to be there, even if the scanner stops inside its value.
            node.members[key] = Member(start, token.end, Node("word", token.end, token.end))
            self.colon()
            node.members[key] = Member(start, token.end, self.read_value(depth))
            node.end = node.members[key].value.end
        self.closed(node, token, comma)
        return node

    def read_array(self, opening: Token, depth: int) -> Node:
        self.check_depth(opening, depth)
        node = Node("array", opening.start, opening.end)
        comma = None
        while (token := self.next_token()).text != "]":
            if node.items and comma is None:
                if token.text == ",":
                    comma = token
                    continue
                both_objects = token.text == "{" and node.items[-1].kind == "object"
                self.comma_missing_before(token, node.end, is_next=both_objects)
            comma = None
            node.items.append(self.read_value(depth, token))
            node.end = node.items[-1].end
        self.closed(node, token, comma)
        return node

    def key(self, token: Token) -> str:
        if token.kind == "string":
            self.check_string(token)
            return decode_string(token.text)
        if token.kind == "word":
            edit = Edit(token.start, token.end, f'"{token.text}"')
            self.fault(codes.JSON_UNQUOTED_KEY, token.start, (edit,), key=token.text)
            return token.text
        if token.kind in _STRINGS:
            return decode_string(self.requote(token))
        return self.stop(token, "a key in double quotes should stand here, not {token}")

    def colon(self) -> None:
        token = self.next_token()
        if token.text != ":":
            self.stop(token, "a colon should stand between key and value, not {token}")

    def scalar(self, token: Token) -> None:
        if token.kind == "string":
            self.check_string(token)
        elif token.kind in _STRINGS:
            self.requote(token)
        elif token.kind == "number":
            self.number(token)
        elif token.kind == "word":
            self.word(token)
        else:
            self.stop(token, "a value should stand here, not {token}")

    # What is wrong

    def number(self, token: Token) -> None:
        if not _NUMBER.fullmatch(token.text):
            self.fault(codes.INVALID_JSON, token.start, None, reason=f"`{token.text}` is no number")
        elif len(token.text) > MOST_NUMBER_DIGITS:
            length, most = str(len(token.text)), str(MOST_NUMBER_DIGITS)
            self.fault(codes.JSON_NUMBER_TOO_LONG, token.start, None, length=length, most=most)

    def word(self, token: Token) -> None:
        if token.text in _PYTHON_WORDS:
            word = _PYTHON_WORDS[token.text]
            edit = Edit(token.start, token.end, word)
            self.fault(codes.JSON_PYTHON_WORD, token.start, (edit,), word=token.text, right=word)
        elif token.text in _NOT_NUMBERS:
            self.fault(codes.JSON_NOT_A_NUMBER, token.start, None, word=token.text)
        elif token.text not in _WORDS:
            is_first = self.values == 1
            self.stop(token, "{token} stands before it" if is_first else "{token} is not in quotes")

    def check_string(self, token: Token) -> None:
        for fault in check_string(token.text, token.start):
            self.add(fault)

    def requote(self, token: Token) -> str:
        right = requoted(token.text)
        code = codes.JSON_SINGLE_QUOTES if token.kind == "single" else codes.JSON_CURLY_QUOTES
        self.fault(code, token.start, (Edit(token.start, token.end, right),), string=token.text)
        return right

    def closed(self, node: Node, token: Token, comma: Token | None) -> None:
        node.end = token.end
        if comma is not None:
            edit = Edit(comma.start, comma.end, "")
            self.fault(codes.JSON_TRAILING_COMMA, comma.start, (edit,), mark=token.text)

    def comma_missing_before(self, token: Token, end: int, *, is_next: bool) -> None:
        """Certain only where the next member has begun on a line of its own."""
        if not is_next or "\n" not in self.text[end : token.start]:
            quotes = ', or the quotes before it belong to the text and are written `\\"`'
            after_text = self.text[end - 1 : end] == '"' and token.kind != "mark"
            reason = "a comma or a closing bracket should stand before {token}"
            self.stop(token, reason + quotes * after_text)
        self.fault(codes.JSON_MISSING_COMMA, end, (Edit(end, end, ","),), token=token.text)

    def is_key(self, token: Token) -> bool:
        is_name = token.kind in _STRINGS or token.kind == "word"
        return is_name and _COLON_NEXT.match(self.text, token.end) is not None

    def check_depth(self, token: Token, depth: int) -> None:
        if depth < 0:
            self.fault(codes.JSON_TOO_DEEP, token.start, None, most=str(MOST_JSON_DEPTH))
            raise StopError


def decode_string(token: str) -> str:
    """The text that a string token stands for, as far as it can be told."""
    if "\\" not in token:
        return token[1:-1]
    mended = re.sub(
        r"\\(.)", lambda escape: "'" if escape[1] == "'" else escape[0], token, flags=re.DOTALL
    )
    try:
        return str(json.loads(mended, strict=False))
    except ValueError:
        return token[1:-1]


def to_value(text: str, node: Node) -> object:
    """The value that a node stands for, its faults mended; None for what cannot be made out."""
    if node.kind == "object":
        return {key: to_value(text, member.value) for key, member in node.members.items()}
    if node.kind == "array":
        return [to_value(text, item) for item in node.items]
    token = text[node.start : node.end]
    if node.kind == "string":
        return decode_string(token if token.startswith('"') else requoted(token))
    try:
        return json.loads(_PYTHON_WORDS.get(token, token))
    except ValueError:
        return None


# Commands of LaTeX that JSON reads as an escape and a rest: valid, and not what was meant.


_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_COMMAND = re.compile(
    r"(?<!\\)(?:\\\\)*\\("
    r"beta|bar|begin|binom|frac|forall|nabla|neq|nu|rho|rightarrow|right|tau|times|theta|text|tilde"
    r")(?![A-Za-z])"
)


def latex_commands(text: str) -> Iterator[Fault]:
    """Each command in a JSON text that will be read as something else."""
    for match in _COMMAND.finditer(text):
        name = match[1]
        words = {
            "escape": f"\\{name}",
            "character": f"a {NAMES[_ESCAPES[name[0]]]}",
            "rest": name[1:],
            "name": name,
        }
        yield Fault(codes.JSON_SUSPICIOUS_ESCAPE, match.start(1) - 1, words, None)


# JSON exactly as RFC 8259 has it, and nothing more (ruling R5), near the standard decoder's speed.
#
# The standard decoder is laxer than the RFC in four ways: NaN and Infinity, numbers of any length,
# duplicate keys, lone surrogates. Hooks refuse the first three; for the last one a cheap test tells
# whether there *could* be one, and only then the text is scanned.


class NotJSON(ValueError):
    """The text is not JSON in the sense of RFC 8259 and our limits."""


def decode(text: str) -> object:
    """The value, or `NotJSON`. What is wrong, and where, `scan` tells."""
    opened = text.count("{") + text.count("[")
    # There are at most so many levels, and at most one value more than brackets and commas.
    if opened > MOST_JSON_DEPTH or opened + text.count(",") >= MOST_JSON_VALUES:
        _scan_strictly(text)
    start = 0 if text.startswith("{") else len(text) - len(text.lstrip(_BLANKS))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise NotJSON from None
    if text[end:].strip(_BLANKS):
        raise NotJSON
    if "\\u" in text or not (text.isascii() or _is_encodable(text)):
        _scan_strictly(text)
    return value


def _scan_strictly(text: str) -> None:

    if scan(text).faults:
        raise NotJSON


def _is_encodable(text: str) -> bool:
    """Whether no half of a character stands in the text itself."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJSON
    return members


def _integer(digits: str) -> int:
    if len(digits) > MOST_NUMBER_DIGITS:
        raise NotJSON
    return int(digits)


def _float(digits: str) -> float:
    if len(digits) > MOST_NUMBER_DIGITS:
        raise NotJSON
    return float(digits)


def _refuse(_constant: str) -> object:
    raise NotJSON


_BLANKS = " \t\r\n"
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_refuse
)
