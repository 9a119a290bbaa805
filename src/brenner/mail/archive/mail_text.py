"""Any text in the header or the body of a mail, so that it comes back character for character.

Python's own writer of headers folds and joins blanks, and loses line feeds. Its encoded words
(RFC 2047) are exact one by one: these are used, the rest is here.
"""

import re
from base64 import encodebytes
from binascii import Error, a2b_base64
from collections.abc import Iterator
from email import base64mime, quoprimime
from typing import NamedTuple

from brenner.limits import MOST_RECORD_BYTES
from brenner.mail.archive.record import unsound

_LONGEST_LINE = 998  # RFC 5322, 2.1.1
_MOST_PLAIN = 900  # leaves room for any header's name
# With these an encoded word fits into RFC 2047's 76 columns after any name that we use
_WORD_BYTES = 30
_LONGEST_WORD = 58
# Programs that mail goes through add some dozens
_MOST_HEADERS = 1_000

_END_OF_HEADER = re.compile(rb"(?:\A|\n)\r?\n")
_FOLD = re.compile(rb"\r?\n(?=[ \t])")
_HEADER = re.compile(rb"^(?:([!-9;-~]+):)?(.*)$", re.MULTILINE)
_NUMBER = re.compile(r"[0-9]{1,16}")
_ENCODED = re.compile(r"=\?utf-8\?([bq])\?([!->@-~]*)\?=", re.IGNORECASE)
# Control characters and separators of lines: what a mail program or a terminal would obey
_NOT_PLAIN = re.compile("[^\\t\\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\U0010ffff]")
_FROM_LINE = re.compile(rb"^(>*From )", re.MULTILINE)
_QUOTED_FROM_LINE = re.compile(rb"^>(>*From )", re.MULTILINE)


class MailBody(NamedTuple):
    """A body as it stands in a mail. Without a final line feed of its own it has got one."""

    content: bytes
    encoding: str
    has_own_end: bool = True


def to_header(text: str) -> str:
    """The value of a header: as it is where that is exact, else as encoded words."""
    is_plain = text.isascii() and text.isprintable() and text == text.strip()
    if is_plain and "=?" not in text and len(text) <= _MOST_PLAIN:
        return text
    return "\n ".join(_encoded(part.encode()) for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """The text in pieces that each fit into an encoded word."""
    start = size = 0
    for index, character in enumerate(text):
        width = len(character.encode())
        if size + width > _WORD_BYTES:
            yield text[start:index]
            start, size = index, 0
        size += width
    yield text[start:]


def _encoded(part: bytes) -> str:
    """One encoded word, as readable as it can be."""
    word = quoprimime.header_encode(part, "utf-8")
    return word if len(word) <= _LONGEST_WORD else base64mime.header_encode(part, "utf-8")


def from_header(value: str) -> str:
    """The text, out of an unfolded value."""
    words = value.split()
    matches = [_ENCODED.fullmatch(word) for word in words]
    if not words or None in matches:
        return value
    try:
        return b"".join(_decoded(match[1], match[2]) for match in matches if match).decode()
    except (Error, UnicodeError):
        unsound("an encoded word in its header cannot be read")


def _decoded(how: str, word: str) -> bytes:
    if how in "bB":
        return a2b_base64(word, strict_mode=True)
    return quoprimime.header_decode(word).encode("latin-1")


def to_body(text: str) -> MailBody:
    """Plain text that one can read in the file, or base64 where mail would not keep it."""
    content = _FROM_LINE.sub(rb">\1", text.encode())
    if _NOT_PLAIN.search(text) or max(map(len, content.split(b"\n"))) > _LONGEST_LINE:
        return MailBody(encodebytes(text.encode()), "base64")
    has_own_end = not text or text.endswith("\n")
    return MailBody(content if has_own_end else content + b"\n", "8bit", has_own_end)


def from_body(content: bytes, encoding: str, *, has_own_end: bool) -> str:
    """The text. Line ends that a program has made its own are line feeds again."""
    content = content.replace(b"\r\n", b"\n")
    if encoding == "base64":
        return _utf_8(_from_base64(content.replace(b"\n", b"")))
    if encoding != "8bit":
        unsound("its `Content-Transfer-Encoding` is neither `8bit` nor `base64`")
    text = _utf_8(_QUOTED_FROM_LINE.sub(rb"\1", content))
    return text if has_own_end else text.removesuffix("\n")


def _from_base64(content: bytes) -> bytes:
    try:
        return a2b_base64(content, strict_mode=True)
    except Error:
        unsound("its body is not base64, or breaks off in the middle")


def _utf_8(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        unsound("its body is not UTF-8")


class Headers:
    """The headers of one mail, by name. Those that are asked for may stand there once only."""

    def __init__(self, unfolded: bytes) -> None:
        self._values: dict[bytes, list[bytes]] = {}
        for count, line in enumerate(_HEADER.finditer(unfolded), 1):
            if line[1] is None:
                unsound("a line of its header is not `Name: value`")
            if count > _MOST_HEADERS:
                unsound(f"it has more than {_MOST_HEADERS:,} headers")
            self._values.setdefault(line[1].lower(), []).append(line[2].strip())

    def find(self, name: str) -> str | None:
        """The value of a header, or None where it is not there."""
        values = self._values.get(name.lower().encode(), [])
        if len(values) > 1:
            unsound(f"it has the header `{name}` twice")
        try:
            return values[0].decode() if values else None
        except UnicodeDecodeError:
            unsound(f"the header `{name}` is not UTF-8")

    def value(self, name: str) -> str:
        """The value of a header that must be there."""
        value = self.find(name)
        return unsound(f"the header `{name}` is missing") if value is None else value

    def number(self, name: str) -> int:
        """A header that is a number."""
        return number_in(self.value(name), name)

    def parts(self, name: str) -> list[str]:
        """A header that is a list, or is not there."""
        value = self.find(name)
        return [part.strip() for part in value.split(",")] if value else []


def number_in(value: str, name: str) -> int:
    """A number in the header of that name."""
    if not _NUMBER.fullmatch(value):
        unsound(f"the header `{name}` is not a number that a message can have")
    return int(value)


def taken_apart(mail: bytes) -> tuple[Headers, bytes]:
    """The headers and the body, without the blank line that ends every mail."""
    if len(mail) > MOST_RECORD_BYTES:
        unsound(f"it is longer than {MOST_RECORD_BYTES:,} bytes")
    end = _END_OF_HEADER.search(mail)
    if end is None:
        unsound("it breaks off in its header; the file was probably cut short")
    unfolded = _FOLD.sub(b"", mail[: end.start()].rstrip(b"\r\n"))
    return Headers(unfolded), _without_blank_line(mail[end.end() :])


def _without_blank_line(body: bytes) -> bytes:
    for blank in (b"\r\n", b"\n"):
        rest = body.removesuffix(blank)
        if rest != body and (not rest or rest.endswith(b"\n")):
            return rest
    return body
