"""JSON as people and models write it: a lenient scanner and a strict decoder.

The scanner accepts what strict JSON rejects (trailing commas, comments, single quotes, unquoted
keys, …). It records each deviation as a `Fault` with the edit that fixes it, if the fix is certain.
A text without faults is strict JSON; property tests check both directions. The scanner also records
the position of every value, so that a problem deep inside a delta has a line.

The scanner is a one-pass recursive descent parser; the depth limit is checked before each step
down.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from brenner.diagnostics.codes import deltas as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_JSON_DEPTH, MOST_JSON_VALUES, MOST_NUMBER_DIGITS
from brenner.markdown.edits import TextEdit
from brenner.named_tuple import NamedTuple
from brenner.text import escape_control, is_encodable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.diagnostics.model import Code

# The limit per text: more are not useful to the author, and cost time.
MOST_FAULTS = 50


class Fault(NamedTuple):
    """A deviation from JSON at an offset. `edits` fix it; None if a fix would be a guess."""

    code: Code
    offset: int
    words: dict[str, str]
    edits: tuple[TextEdit, ...] | None


# Strings: invalid characters and escapes, and other quotes
#
# A correction never changes the text of a string, only its spelling: a raw line break becomes the
# escape for a line break.


_SUSPICIOUS = lazy_pattern(r"[\x00-\x1f\\\ud800-\udfff]")
CONTROL_NAMES = {
    "\n": "line break",
    "\r": "carriage return",
    "\t": "tab",
    "\b": "backspace",
    "\f": "form feed",
}
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


@cache
def _string_part() -> re.Pattern[str]:
    """Return the pattern of suspicious parts of a string, compiled on first use."""
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
    """Yield the faults inside a string token that begins at `start`."""
    if not _SUSPICIOUS.search(token):
        return
    for part in _string_part().finditer(token):
        offset = start + part.start()
        edit = TextEdit(offset, start + part.end(), "")
        if part.lastgroup == "control":
            escape = _SHORT_ESCAPES.get(part[0]) or f"\\u{ord(part[0]):04x}"
            words = {"character": CONTROL_NAMES.get(part[0], "control character"), "right": escape}
            correction = edit._replace(replacement=escape)
            yield Fault(codes.JSON_CONTROL_CHARACTER, offset, words, (correction,))
        elif part.lastgroup == "lone":
            yield Fault(codes.JSON_LONE_SURROGATE, offset, {"escape": part[0]}, None)
        elif part.lastgroup == "apostrophe":
            correction = edit._replace(replacement="'")
            yield Fault(codes.JSON_BAD_ESCAPE, offset, {"escape": part[0]}, (correction,))
        elif part.lastgroup == "escape":
            yield Fault(codes.JSON_BAD_ESCAPE, offset, {"escape": part[0]}, None)


def to_double_quotes(token: str) -> str:
    """Return a string token in double quotes; its text stays the same."""
    inside = token[1:-1].replace("\\'", "'")
    return '"' + re.sub(r'(\\.)|"', lambda match: match[1] or '\\"', inside, flags=re.DOTALL) + '"'


# Tokens, and the faults between them
#
# Comments and Unicode spaces are skipped and recorded. A fault does not stop the scanner until
# there are too many; unreadable text stops it, and the last fault has the reason.


END = "end"

_SPACES = lazy_pattern(r"[ \t\r\n]*")
# No-break and other spaces, and zero-width characters, which JSON does not treat as space
_UNICODE_SPACES = frozenset(
    "\u00a0\u2002\u2003\u2007\u2009\u200b\u200c\u200d\u202f\u2060\u3000\ufeff"
)
_MOST_SHOWN = 40


@cache
def _token_pattern(*, multiline: bool) -> re.Pattern[str]:
    """Return the pattern of one token, compiled on first use since valid messages never need it.

    Without `multiline` a string ends at the end of its line, so that a single quotation mark in
    prose does not swallow the text after it.
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


class JsonToken(NamedTuple):
    """A token and its position. `kind` is a group of the pattern, `stray`, or END.

    The text of an END is the unterminated string there, if any.
    """

    kind: str
    text: str
    start: int
    end: int


_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_COLON_NEXT = lazy_pattern(r"[ \t\r\n]*:")
_LITERALS = frozenset({"true", "false", "null"})
_PYTHON_LITERALS = {"True": "true", "False": "false", "None": "null"}
_NOT_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})
_STRING_KINDS = frozenset({"string", "single", "curly"})


class JsonNode:
    """A value and its position.

    `kind` is object, array, string, number or word. An object has `members`: the start and end of
    each key, and its value (the last of equal keys). An array has `items`.
    """

    __slots__ = ("end", "items", "kind", "members", "start")

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.members: dict[str, tuple[int, int, JsonNode]] = {}
        self.items: list[JsonNode] = []


def scan(
    text: str, start: int = 0, comments_end: int | None = None, *, in_prose: bool = False
) -> JsonScanner:
    """Scan one value from `start` on, and outside of prose the spaces and comments after it.

    `comments_end` is the offset of the last `*/` in the text, for callers that scan the text often.
    """
    scanner = JsonScanner(text, start, comments_end, in_prose=in_prose)
    with suppress(NotJSON):
        scanner.root = scanner.read_value(MOST_JSON_DEPTH)
        if not in_prose:
            scanner.skip()
    return scanner


class JsonScanner:
    """A scanner of one value: the tokens, the grammar, the faults and all objects in the value.

    `root` is None if the scanner stopped inside the value; `objects` are those found until then.
    `position` is the end of the scanned text. `cut_off` means that the scanner stopped at the end
    of the text; the last fault says the same.
    """

    def __init__(self, text: str, start: int, comments_end: int | None, *, in_prose: bool) -> None:
        self.text = text
        self.in_prose = in_prose
        self.token = _token_pattern(multiline=not in_prose)
        self.values = 0
        self.position = start
        self.comments_end = comments_end
        self.faults: list[Fault] = []
        self.cut_off = False
        self.root: JsonNode | None = None
        self.objects: list[JsonNode] = []

    def next_token(self) -> JsonToken:
        """Return the next token; comments before it are recorded as faults."""
        self.skip()
        match = self.token.match(self.text, self.position)
        if match:
            self.position = match.end()
            return JsonToken(match.lastgroup or "", match[0], match.start(), match.end())
        start = self.position
        if start == len(self.text) or self.text[start] == '"':
            end = self.line_end(start) if self.in_prose else len(self.text)
            return JsonToken(END, self.text[start:end], start, end)
        self.position = start + 1
        return JsonToken("stray", self.text[start : start + 1], start, start + 1)

    def skip(self) -> None:
        """Skip white space and comments; record comments and Unicode spaces as faults."""
        while True:
            spaces = _SPACES.match(self.text, self.position)
            self.position = start = spaces.end() if spaces else self.position
            end = self.comment_end(start)
            if end is not None:
                comment = self.text[start:end]
                edit = TextEdit(start, end, "")
                self.fault(codes.JSON_COMMENT, start, (edit,), comment=comment)
            elif self.text[start : start + 1] in _UNICODE_SPACES:
                end = start + 1
                edit = TextEdit(start, end, " ")
                self.fault(codes.JSON_ODD_BLANK, start, (edit,), character=self.text[start])
            else:
                return
            self.position = end

    def comment_end(self, start: int) -> int | None:
        """Return the end of the comment that begins here; None without a closed comment."""
        if self.text.startswith(("//", "#"), start):
            return self.line_end(start)
        if self.text.startswith("/*", start):
            if self.comments_end is None:
                self.comments_end = self.text.rfind("*/")
            if start + 2 <= self.comments_end:
                return self.text.index("*/", start + 2) + 2
        return None

    def line_end(self, start: int) -> int:
        end = self.text.find("\n", start)
        return len(self.text) if end < 0 else end

    def stop(self, token: JsonToken, reason: str) -> NoReturn:
        """Stop at a token. `{token}` in the reason is replaced by its text."""
        if token.kind == END:
            self.cut_off = True
            reason = "it ends before all brackets are closed"
            if token.text:
                reason = "the string that begins here is not closed"
            elif not self.values or not self.text.strip():
                reason = "it is empty"
        words = {
            "reason": reason.replace("{token}", f"`{escape_control(token.text, _MOST_SHOWN)}`")
        }
        self.faults.append(Fault(codes.INVALID_JSON, token.start, words, None))
        self.position = token.end
        raise NotJSON

    def fault(
        self, code: Code, offset: int, edits: tuple[TextEdit, ...] | None, **words: str
    ) -> None:
        self.add(Fault(code, offset, words, edits))

    def add(self, fault: Fault) -> None:
        """Record a fault, and stop if there are too many."""
        self.faults.append(fault)
        if len(self.faults) >= MOST_FAULTS:
            words = {"reason": f"it has {MOST_FAULTS} faults up to here, and the rest was not read"}
            self.faults.append(Fault(codes.INVALID_JSON, fault.offset, words, None))
            raise NotJSON

    # The grammar

    def read_value(self, depth: int, token: JsonToken | None = None) -> JsonNode:
        token = token or self.next_token()
        self.values += 1
        if self.values > MOST_JSON_VALUES:
            self.stop(token, f"it has more than {MOST_JSON_VALUES} values")
        if token.text == "{":
            return self.read_object(token, depth - 1)
        if token.text == "[":
            return self.read_array(token, depth - 1)
        self.scalar(token)
        kind = "string" if token.kind in _STRING_KINDS else token.kind
        return JsonNode(kind, token.start, token.end)

    def read_object(self, opening: JsonToken, depth: int) -> JsonNode:
        self.check_depth(opening, depth)
        node = JsonNode("object", opening.start, opening.end)
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
            # Record the key even if the scanner stops inside its value.
            node.members[key] = start, token.end, JsonNode("word", token.end, token.end)
            self.colon()
            value = self.read_value(depth)
            node.members[key] = start, token.end, value
            node.end = value.end
        self.closed(node, token, comma)
        return node

    def read_array(self, opening: JsonToken, depth: int) -> JsonNode:
        self.check_depth(opening, depth)
        node = JsonNode("array", opening.start, opening.end)
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

    def key(self, token: JsonToken) -> str:
        if token.kind == "string":
            self.check_string(token)
            return decode_string(token.text)
        if token.kind == "word":
            edit = TextEdit(token.start, token.end, f'"{token.text}"')
            self.fault(codes.JSON_UNQUOTED_KEY, token.start, (edit,), key=token.text)
            return token.text
        if token.kind in _STRING_KINDS:
            return decode_string(self.requote(token))
        return self.stop(token, "expected a key in double quotes, found {token}")

    def colon(self) -> None:
        token = self.next_token()
        if token.text != ":":
            self.stop(token, "expected a colon after the key, found {token}")

    def scalar(self, token: JsonToken) -> None:
        if token.kind == "string":
            self.check_string(token)
        elif token.kind in _STRING_KINDS:
            self.requote(token)
        elif token.kind == "number":
            self.number(token)
        elif token.kind == "word":
            self.word(token)
        else:
            self.stop(token, "expected a value, found {token}")

    # Faults

    def number(self, token: JsonToken) -> None:
        if not _NUMBER.fullmatch(token.text):
            self.fault(
                codes.INVALID_JSON, token.start, None, reason=f"`{token.text}` is not a number"
            )
        elif len(token.text) > MOST_NUMBER_DIGITS:
            length, most = str(len(token.text)), str(MOST_NUMBER_DIGITS)
            self.fault(codes.JSON_NUMBER_TOO_LONG, token.start, None, length=length, most=most)

    def word(self, token: JsonToken) -> None:
        if token.text in _PYTHON_LITERALS:
            word = _PYTHON_LITERALS[token.text]
            edit = TextEdit(token.start, token.end, word)
            self.fault(codes.JSON_PYTHON_WORD, token.start, (edit,), word=token.text, right=word)
        elif token.text in _NOT_NUMBERS:
            self.fault(codes.JSON_NOT_A_NUMBER, token.start, None, word=token.text)
        elif token.text not in _LITERALS:
            is_first = self.values == 1
            self.stop(token, "it begins with {token}" if is_first else "{token} is not in quotes")

    def check_string(self, token: JsonToken) -> None:
        for fault in check_string(token.text, token.start):
            self.add(fault)

    def requote(self, token: JsonToken) -> str:
        right = to_double_quotes(token.text)
        code = codes.JSON_SINGLE_QUOTES if token.kind == "single" else codes.JSON_CURLY_QUOTES
        self.fault(code, token.start, (TextEdit(token.start, token.end, right),), string=token.text)
        return right

    def closed(self, node: JsonNode, token: JsonToken, comma: JsonToken | None) -> None:
        node.end = token.end
        if comma is not None:
            edit = TextEdit(comma.start, comma.end, "")
            self.fault(codes.JSON_TRAILING_COMMA, comma.start, (edit,), mark=token.text)

    def comma_missing_before(self, token: JsonToken, end: int, *, is_next: bool) -> None:
        """Report a missing comma.

        The fix is certain only if the next member begins on a line of its own.
        """
        if not is_next or "\n" not in self.text[end : token.start]:
            quotes = '. If the quotes before it belong to the text, write them as `\\"`'
            after_text = self.text[end - 1 : end] == '"' and token.kind != "mark"
            reason = "expected a comma or a closing bracket before {token}"
            self.stop(token, reason + quotes * after_text)
        self.fault(codes.JSON_MISSING_COMMA, end, (TextEdit(end, end, ","),), token=token.text)

    def is_key(self, token: JsonToken) -> bool:
        is_name = token.kind in _STRING_KINDS or token.kind == "word"
        return is_name and _COLON_NEXT.match(self.text, token.end) is not None

    def check_depth(self, token: JsonToken, depth: int) -> None:
        if depth < 0:
            self.fault(codes.JSON_TOO_DEEP, token.start, None, most=str(MOST_JSON_DEPTH))
            raise NotJSON


def decode_string(token: str) -> str:
    """Return the text of a string token, as far as it can be decoded."""
    if "\\" not in token:
        return token[1:-1]
    corrected = re.sub(
        r"\\(.)", lambda escape: "'" if escape[1] == "'" else escape[0], token, flags=re.DOTALL
    )
    try:
        return str(json.loads(corrected, strict=False))
    except ValueError:
        return token[1:-1]


def to_value(text: str, node: JsonNode) -> object:
    """Return the value of a node with its faults fixed; None for unreadable parts."""
    if node.kind == "object":
        return {key: to_value(text, value) for key, (_, _, value) in node.members.items()}
    if node.kind == "array":
        return [to_value(text, item) for item in node.items]
    token = text[node.start : node.end]
    if node.kind == "string":
        return decode_string(token if token.startswith('"') else to_double_quotes(token))
    try:
        return json.loads(_PYTHON_LITERALS.get(token, token))
    except ValueError:
        return None


# LaTeX commands that JSON reads as an escape and other text: valid, but not intended


_ESCAPED_CHARACTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LATEX_COMMAND = lazy_pattern(
    r"(?<!\\)(?:\\\\)*\\("
    r"beta|bar|begin|binom|frac|forall|nabla|neq|nu|rho|rightarrow|right|tau|times|theta|text|tilde"
    r")(?![A-Za-z])"
)


def find_latex_commands(text: str) -> Iterator[Fault]:
    """Yield a fault for each LaTeX command that JSON reads as an escape."""
    for match in _LATEX_COMMAND.finditer(text):
        name = match[1]
        words = {
            "escape": f"\\{name}",
            "character": f"a {CONTROL_NAMES[_ESCAPED_CHARACTERS[name[0]]]}",
            "rest": name[1:],
            "name": name,
        }
        yield Fault(codes.JSON_SUSPICIOUS_ESCAPE, match.start(1) - 1, words, None)


# Strict decoding: exactly RFC 8259 (ruling R5), about as fast as the standard decoder
#
# The standard decoder is laxer than the RFC in four ways: NaN and Infinity, numbers of any length,
# duplicate keys, lone surrogates. Hooks reject the first three. For the last one a cheap test finds
# texts that *may* contain one, and only these are scanned.


class NotJSON(ValueError):
    """The text is not JSON as defined by RFC 8259 and our limits."""


def decode_strict(text: str) -> object:
    """Decode strict JSON, or raise `NotJSON`. Use `scan` to find the errors."""
    # An upper bound: the depth is at most the brackets, the values at most brackets + commas + 1.
    opened = text.count("{") + text.count("[")
    is_long = len(text) >= MOST_JSON_VALUES and opened + text.count(",") >= MOST_JSON_VALUES
    if is_long or opened > MOST_JSON_DEPTH:
        _require_no_faults(text)
    start = 0 if text.startswith("{") else len(text) - len(text.lstrip(_JSON_SPACES))
    try:
        value, end = _decode(text, start)
    except (ValueError, RecursionError):
        raise NotJSON from None
    after = text[end:]
    if after not in ("\n", "") and after.strip(_JSON_SPACES):
        raise NotJSON
    if ("\\" in text and "\\u" in text) or not (text.isascii() or is_encodable(text)):
        _require_no_faults(text)
    return value


def _require_no_faults(text: str) -> None:
    if scan(text).faults:
        raise NotJSON


def _reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJSON
    return members


def _parse_integer(digits: str) -> int:
    if len(digits) > MOST_NUMBER_DIGITS:
        raise NotJSON
    return int(digits)


def _parse_float(digits: str) -> float:
    if len(digits) > MOST_NUMBER_DIGITS:
        raise NotJSON
    return float(digits)


def _reject_constant(_constant: str) -> object:
    raise NotJSON


_JSON_SPACES = " \t\r\n"
_decode = json.JSONDecoder(
    object_pairs_hook=_reject_duplicate_keys,
    parse_int=_parse_integer,
    parse_float=_parse_float,
    parse_constant=_reject_constant,
).raw_decode
