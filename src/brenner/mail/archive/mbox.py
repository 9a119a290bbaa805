"""mbox: an archive that mail programs read, and that gives every message back exactly.

It is the variety called mboxrd: a line of a body that begins with `From `, after any number of
`>`, gets one more `>`, and loses it again. What mail has no place for stands in X-Brenner headers.
Each mail says which one it is, and the last one that it is the last: so one that is missing is
told. Mail of other programs is told too, not guessed at.
"""

import re
from base64 import encodebytes
from binascii import Error, a2b_base64
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email import base64mime, quoprimime
from email.utils import format_datetime
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_RECORD_BYTES
from brenner.mail.archive.jsonl import HOPELESS, VERSION, Item, Reader, UnsoundError, unsound
from brenner.mail.model import Agent, Envelope, Importance, Record
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.messages import Message, iso

# Any text in the header or the body of a mail, so that it comes back character for character.
#
# Python's own writer of headers folds and joins blanks, and loses line feeds. Its encoded words
# (RFC 2047) are exact one by one: these are used, the rest is here.


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


_HOST = "brenner.invalid"  # no such host can ever be (RFC 2606)
_NOBODY = "undisclosed-recipients:;"
_NAMES_OF_FLAGS = {True: "true", False: "false", None: None}
_FLAGS = {"true": True, "false": False, None: None}

_SEPARATOR = b"From "
_ADDRESS = re.compile(rf"({AGENT_NAME.pattern}) <\1@{re.escape(_HOST)}>")
_PLACE = re.compile(r"([1-9][0-9]{0,15})(,\s*last)?")
_READ = re.compile(rf"({AGENT_NAME.pattern}) (\S+)")


# Writing


def encode(_agents: Iterable[Agent], records: Iterable[Record]) -> Iterator[bytes]:
    """One mail for each message, and nothing of the agents: an mbox has only their names."""
    for record, place in _placed(records):
        stored = record.stored
        body = to_body(stored.message.body)
        headers = _headers(record, place) | {
            "MIME-Version": "1.0",
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Transfer-Encoding": body.encoding,
            "X-Brenner-Final-Line-Feed": None if body.has_own_end else "added",
        }
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        time = stored.at.astimezone(UTC).ctime()
        head = "\n".join([f"From {_mailbox(stored.message.sender)} {time}", *lines])
        yield head.encode() + b"\n\n" + body.content + b"\n"


def _placed(records: Iterable[Record]) -> Iterator[tuple[Record, str]]:
    """Each record with its place; with one look ahead, so that the last one can say it."""
    waiting: Record | None = None
    for place, record in enumerate(chain(records, [None])):
        if waiting is not None:
            yield waiting, str(place) if record else f"{place}, last"
        waiting = record


def _headers(record: Record, place: str) -> dict[str, str | None]:
    stored, message = record.stored, record.stored.message
    answers = None if stored.reply_to is None else _message_id(message, stored.reply_to)
    return {
        "From": _address(message.sender),
        "To": _folded(map(_address, message.recipients)) or _NOBODY,
        "Subject": to_header(message.subject),
        "Date": format_datetime(stored.at.astimezone(UTC)),
        "Message-ID": _message_id(message, stored.id),
        "In-Reply-To": answers,
        "References": answers,
        "X-Brenner-Format": str(VERSION),
        "X-Brenner-Place": place,
        "X-Brenner-Id": str(stored.id),
        "X-Brenner-Origin-Id": str(stored.origin_id),
        "X-Brenner-At": iso(stored.at),
        "X-Brenner-Hash": to_header(stored.content_hash),
        "X-Brenner-Thread": to_header(message.thread_id),
        "X-Brenner-Ack-Required": _NAMES_OF_FLAGS[message.ack_required],
        "X-Brenner-In-Reply-To": None if stored.reply_to is None else str(stored.reply_to),
        "X-Brenner-Acknowledges": _folded(map(str, stored.acknowledges)),
        "X-Brenner-Decides": _NAMES_OF_FLAGS[stored.decides],
        "X-Brenner-Read": _folded(f"{_local(name)} {iso(at)}" for name, at in record.read_at),
        **_envelope_headers(stored.envelope),
    }


def _envelope_headers(envelope: Envelope) -> dict[str, str | None]:
    """What is as on most messages is left out.

    Who gets a copy stands in `To`, too: so earlier versions read all recipients, in their order.
    """
    is_normal = envelope.importance is Importance.NORMAL
    return {
        "X-Brenner-Importance": None if is_normal else str(envelope.importance),
        "X-Brenner-Cc": _folded(map(_local, envelope.cc)),
        "X-Brenner-Trust": None if envelope.trust is None else str(envelope.trust),
    }


def _folded(parts: Iterable[str]) -> str | None:
    """A list, each part on its own line: there may be hundreds."""
    return ",\n ".join(parts) or None


def _local(name: str) -> str:
    """A name in a header. What is not one becomes a sign that no reader takes for a name."""
    return name if AGENT_NAME.fullmatch(name) else "-"


def _mailbox(name: str) -> str:
    return f"{_local(name)}@{_HOST}"


def _address(name: str) -> str:
    return f"{_local(name)} <{_mailbox(name)}>"


def _message_id(message: Message, number: int) -> str:
    """Where mail of several projects meets, ids repeat; an id in a thread hardly does."""
    thread = sha256(message.thread_id.encode()).hexdigest()[:16]
    return f"<{number}.{thread}@{_HOST}>"


# Reading


def decode(lines: Iterable[bytes], name: str, latest: datetime | None = None) -> Iterator[Item]:
    """What each mail holds, or what is wrong with it. `name` is what the archive is called.

    A message that is newer than `latest` is wrong.
    """
    archive = _Archive(name, latest)
    start, item = 0, None
    for start, mail in _mails(lines):
        if archive.is_closed:
            reason = "it stands after the last mail; import one archive after the other"
            yield codes.INVALID_RECORD.at(start, reason=reason)
            return
        item = archive.take(mail, start) if start else _not_an_archive(mail, name)
        yield item
        if isinstance(item, Diagnostic) and item.code in HOPELESS:
            return
    if not start:
        yield _not_an_archive(b"", name)
    elif not archive.is_closed and not isinstance(item, Diagnostic):
        reason = "it is not the last mail, but none follows it; the file was probably cut short"
        yield codes.INVALID_RECORD.at(start, reason=reason)


def _mails(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each mail, and the line of its separator; 0 for what stands before all.

    Of one that is too long no more is kept than shows it.
    """
    start, mail = 0, bytearray()
    for number, line in enumerate(lines, 1):
        if line.startswith(_SEPARATOR):
            if start:
                yield start, bytes(mail)
            start, mail = number, bytearray()
        elif start:
            if len(mail) <= MOST_RECORD_BYTES:
                mail += line
        elif line.strip():
            yield 0, line
    if start:
        yield start, bytes(mail)


class _Archive:
    """Takes the mails one by one, and sees whether all of them are there, in their order."""

    def __init__(self, name: str, latest: datetime | None) -> None:
        self.is_closed = False
        self._name = name
        self._reader = Reader(latest)
        self._next_place: int | None = 1  # None after a mail whose place cannot be read

    def take(self, mail: bytes, start: int) -> Item:
        """What a mail holds, or what is wrong with it."""
        expected, self._next_place = self._next_place, None
        try:
            headers, body = taken_apart(mail)
            version = _version(headers)
            if version > VERSION:
                return codes.ARCHIVE_TOO_NEW.at(
                    start, path=self._name, version=version, known=VERSION
                )
            place, self.is_closed = _place(headers)
            self._next_place = place + 1
            if expected not in (None, place):
                unsound(f"it is mail {place} of its archive, but mail {expected} belongs here")
            fields = _fields(headers, body)
        except UnsoundError as fault:
            return codes.INVALID_RECORD.at(start, reason=str(fault))
        return self._reader.record(fields, start)


def _not_an_archive(line: bytes, name: str) -> Diagnostic:
    return codes.NOT_AN_ARCHIVE.at(path=name, reason=_other_form(line))


def _other_form(line: bytes) -> str:
    if not line:
        return "it is empty"
    if line.lstrip().startswith(b"{"):
        return "it looks like JSON lines, not like an mbox"
    return "its first line does not begin with `From `"


def _version(headers: Headers) -> int:
    if headers.find("X-Brenner-Format") is None:
        unsound("it has no header `X-Brenner-Format`: another program wrote it")
    return headers.number("X-Brenner-Format") or unsound("`X-Brenner-Format` is 0")


def _place(headers: Headers) -> tuple[int, bool]:
    """Which mail of its archive it is, and whether it is the last."""
    match = _PLACE.fullmatch(headers.value("X-Brenner-Place"))
    if not match:
        unsound("`X-Brenner-Place` is not a number, with `, last` in the last mail")
    return int(match[1]), match[2] is not None


def _fields(headers: Headers, body: bytes) -> dict[str, object]:
    """The message as plain values, still unchecked."""
    reply_to = headers.find("X-Brenner-In-Reply-To")
    encoding = headers.value("Content-Transfer-Encoding").lower()
    has_own_end = headers.find("X-Brenner-Final-Line-Feed") is None
    return {
        "id": headers.number("X-Brenner-Id"),
        "origin_id": headers.number("X-Brenner-Origin-Id"),
        "at": headers.value("X-Brenner-At"),
        "hash": headers.value("X-Brenner-Hash"),
        "thread_id": from_header(headers.value("X-Brenner-Thread")),
        "from": _name(headers.value("From"), "From"),
        "to": _recipients(headers),
        "subject": from_header(headers.value("Subject")),
        "body": from_body(body, encoding, has_own_end=has_own_end),
        "ack_required": _flag(headers, "X-Brenner-Ack-Required"),
        "decides": _flag(headers, "X-Brenner-Decides"),
        "reply_to": reply_to and number_in(reply_to, "X-Brenner-In-Reply-To"),
        "acknowledges": [
            number_in(part, "X-Brenner-Acknowledges")
            for part in headers.parts("X-Brenner-Acknowledges")
        ],
        "read": _read(headers.parts("X-Brenner-Read")),
        "cc": headers.parts("X-Brenner-Cc"),
        **{key: value for key in ("importance", "trust") if (value := _word(headers, key))},
    }


def _word(headers: Headers, key: str) -> str | None:
    return headers.find(f"X-Brenner-{key.capitalize()}")


def _name(address: str, header: str) -> str:
    match = _ADDRESS.fullmatch(address)
    return match[1] if match else unsound(f"`{header}` is not `Name <Name@{_HOST}>`")


def _recipients(headers: Headers) -> list[str]:
    to = headers.value("To")
    return [] if to == _NOBODY else [_name(part.strip(), "To") for part in to.split(",")]


def _flag(headers: Headers, name: str) -> bool | None:
    value = headers.find(name)
    return _FLAGS[value] if value in _FLAGS else unsound(f"`{name}` is neither `true` nor `false`")


def _read(parts: list[str]) -> dict[str, str]:
    read: dict[str, str] = {}
    for part in parts:
        match = _READ.fullmatch(part)
        if not match or match[1] in read:
            unsound("`X-Brenner-Read` is not a list of names with the time of each")
        read[match[1]] = match[2]
    return read
