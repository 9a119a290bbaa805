"""Any text in the header or the body of a mail, so that it comes back character for character.

Python's own writer of headers folds and joins blanks, and loses line feeds. Its encoded words
(RFC 2047) are exact one by one: these are used, the rest is here.
"""

import re
from base64 import encodebytes
from binascii import Error, a2b_base64
from collections.abc import Iterable, Iterator
from email import base64mime, quoprimime
from typing import NamedTuple

from brenner.mail.archive.record import unsound

_LONGEST_LINE = 998  # RFC 5322, 2.1.1
_MOST_PLAIN = 900  # leaves room for any header's name
# With these an encoded word fits into RFC 2047's 76 columns after any name that we use
_WORD_BYTES = 30
_LONGEST_WORD = 58

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


def from_body(lines: Iterable[bytes], encoding: str, *, has_own_end: bool) -> str:
    """The text. Line ends that a program has made its own are line feeds again."""
    content = b"".join(lines).replace(b"\r\n", b"\n")
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
