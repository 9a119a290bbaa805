"""JSON as people and models write it: read leniently, with every fault named and placed.

The scanner accepts what strict JSON refuses (trailing commas, comments, single quotes, unquoted
keys, …), notes each deviation as a `Fault` and, where the correction is certain, the edit that
makes it. A text without faults is strict JSON, and the laws in the tests say so both ways.
It also gives the place of every value, so that a problem deep inside a delta has a line.

One pass of recursive descent; the limit on depth holds before each step down.
"""

import json
import re
from contextlib import suppress
from typing import NamedTuple

from brenner.delta.json_faults import Fault
from brenner.delta.json_strings import check_string, requoted
from brenner.delta.json_tokens import StopError, Token, TokenReader
from brenner.diagnostics.codes import deltas as codes
from brenner.limits import MOST_JSON_DEPTH, MOST_JSON_VALUES, MOST_NUMBER_DIGITS
from brenner.markdown.edits import Edit

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
