"""The mbox archive of mail, which mail programs read and which restores every message exactly.

The variant is mboxrd: a body line that begins with `From `, after any number of `>`, gets one more
`>`. X-Brenner headers hold what mail has no header for. Each mail has its position, and the last is
marked, so that a missing mail is detected. Mail of other programs is reported as invalid.
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
from brenner.mail.archive.jsonl import (
    FATAL_CODES,
    VERSION,
    ArchiveEntry,
    InvalidRecordError,
    RecordReader,
    reject_record,
)
from brenner.mail.model import Agent, Envelope, Importance, MessageRecord
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.messages import Message, iso

# Lossless encoding of any text in a header or body
#
# Python's header writer folds and joins spaces and loses line feeds. Its single encoded words
# (RFC 2047) are exact, so only these are used.


_MOST_LINE_BYTES = 998  # RFC 5322, 2.1.1
_MOST_PLAIN = 900  # leaves room for any header's name
# With these an encoded word fits into RFC 2047's 76 columns after any of our header names
_ENCODED_WORD_BYTES = 30
_MOST_ENCODED_WORD = 58
# Mail programs add some dozens
_MOST_HEADERS = 1_000

_END_OF_HEADER = re.compile(rb"(?:\A|\n)\r?\n")
_FOLD = re.compile(rb"\r?\n(?=[ \t])")
_HEADER = re.compile(rb"^(?:([!-9;-~]+):)?(.*)$", re.MULTILINE)
_NUMBER = re.compile(r"[0-9]{1,16}")
_ENCODED = re.compile(r"=\?utf-8\?([bq])\?([!->@-~]*)\?=", re.IGNORECASE)
# Control characters and line separators, which a mail program or a terminal would interpret
_NOT_PLAIN = re.compile("[^\\t\\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\U0010ffff]")
_FROM_LINE = re.compile(rb"^(>*From )", re.MULTILINE)
_QUOTED_FROM_LINE = re.compile(rb"^>(>*From )", re.MULTILINE)


class MailBody(NamedTuple):
    """The encoded body of a mail. Without its own final line feed it got one."""

    content: bytes
    encoding: str
    has_own_end: bool = True


def to_header(text: str) -> str:
    """Return a header value: plain if that is exact, else as encoded words."""
    is_plain = text.isascii() and text.isprintable() and text == text.strip()
    if is_plain and "=?" not in text and len(text) <= _MOST_PLAIN:
        return text
    return "\n ".join(_encode_word(part.encode()) for part in _split_for_encoded_words(text))


def _split_for_encoded_words(text: str) -> Iterator[str]:
    """Split the text into parts that each fit into an encoded word."""
    start = size = 0
    for index, character in enumerate(text):
        width = len(character.encode())
        if size + width > _ENCODED_WORD_BYTES:
            yield text[start:index]
            start, size = index, 0
        size += width
    yield text[start:]


def _encode_word(part: bytes) -> str:
    """Return one encoded word, readable if possible."""
    word = quoprimime.header_encode(part, "utf-8")
    return word if len(word) <= _MOST_ENCODED_WORD else base64mime.header_encode(part, "utf-8")


def from_header(value: str) -> str:
    """Decode an unfolded header value."""
    words = value.split()
    matches = [_ENCODED.fullmatch(word) for word in words]
    if not words or None in matches:
        return value
    try:
        return b"".join(_decode_word(match[1], match[2]) for match in matches if match).decode()
    except (Error, UnicodeError):
        reject_record("an encoded word in its header cannot be read")


def _decode_word(encoding: str, word: str) -> bytes:
    if encoding in "bB":
        return a2b_base64(word, strict_mode=True)
    return quoprimime.header_decode(word).encode("latin-1")


def to_body(text: str) -> MailBody:
    """Encode a body: plain text if it is exact, else base64."""
    content = _FROM_LINE.sub(rb">\1", text.encode())
    if _NOT_PLAIN.search(text) or max(map(len, content.split(b"\n"))) > _MOST_LINE_BYTES:
        return MailBody(encodebytes(text.encode()), "base64")
    has_own_end = not text or text.endswith("\n")
    return MailBody(content if has_own_end else content + b"\n", "8bit", has_own_end)


def from_body(content: bytes, encoding: str, *, has_own_end: bool) -> str:
    """Decode a body. CRLF line ends, which a program may have added, become line feeds."""
    content = content.replace(b"\r\n", b"\n")
    if encoding == "base64":
        return _decode_utf_8(_decode_base64(content.replace(b"\n", b"")))
    if encoding != "8bit":
        reject_record("its `Content-Transfer-Encoding` is neither `8bit` nor `base64`")
    text = _decode_utf_8(_QUOTED_FROM_LINE.sub(rb"\1", content))
    return text if has_own_end else text.removesuffix("\n")


def _decode_base64(content: bytes) -> bytes:
    try:
        return a2b_base64(content, strict_mode=True)
    except Error:
        reject_record("its body is not base64, or breaks off in the middle")


def _decode_utf_8(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        reject_record("its body is not UTF-8")


class Headers:
    """The headers of one mail, by name. Those that are read must occur only once."""

    def __init__(self, unfolded: bytes) -> None:
        self._values: dict[bytes, list[bytes]] = {}
        for count, line in enumerate(_HEADER.finditer(unfolded), 1):
            if line[1] is None:
                reject_record("a line of its header is not `Name: value`")
            if count > _MOST_HEADERS:
                reject_record(f"it has more than {_MOST_HEADERS:,} headers")
            self._values.setdefault(line[1].lower(), []).append(line[2].strip())

    def find(self, name: str) -> str | None:
        """Return the value of a header, or None."""
        values = self._values.get(name.lower().encode(), [])
        if len(values) > 1:
            reject_record(f"it has the header `{name}` twice")
        try:
            return values[0].decode() if values else None
        except UnicodeDecodeError:
            reject_record(f"the header `{name}` is not UTF-8")

    def value(self, name: str) -> str:
        """Return the value of a required header."""
        value = self.find(name)
        return reject_record(f"the header `{name}` is missing") if value is None else value

    def number(self, name: str) -> int:
        """Return the value of a required header as a number."""
        return parse_number(self.value(name), name)

    def parts(self, name: str) -> list[str]:
        """Return the values of an optional header with a list."""
        value = self.find(name)
        return [part.strip() for part in value.split(",")] if value else []


def parse_number(value: str, name: str) -> int:
    """Parse a number of the header `name`."""
    if not _NUMBER.fullmatch(value):
        reject_record(f"the header `{name}` is not a number that a message can have")
    return int(value)


def split_mail(mail: bytes) -> tuple[Headers, bytes]:
    """Return the headers and the body, without the empty line that ends every mail."""
    if len(mail) > MOST_RECORD_BYTES:
        reject_record(f"it is longer than {MOST_RECORD_BYTES:,} bytes")
    end = _END_OF_HEADER.search(mail)
    if end is None:
        reject_record("it breaks off in its header; the file was probably cut short")
    unfolded = _FOLD.sub(b"", mail[: end.start()].rstrip(b"\r\n"))
    return Headers(unfolded), _without_blank_line(mail[end.end() :])


def _without_blank_line(body: bytes) -> bytes:
    for blank in (b"\r\n", b"\n"):
        rest = body.removesuffix(blank)
        if rest != body and (not rest or rest.endswith(b"\n")):
            return rest
    return body


_HOST = "brenner.invalid"  # never a real host (RFC 2606)
_NO_RECIPIENTS = "undisclosed-recipients:;"
_FLAG_NAMES = {True: "true", False: "false", None: None}
_FLAGS = {"true": True, "false": False, None: None}

_SEPARATOR = b"From "
_ADDRESS = re.compile(rf"({AGENT_NAME.pattern}) <\1@{re.escape(_HOST)}>")
_POSITION = re.compile(r"([1-9][0-9]{0,15})(,\s*last)?")
_READ_MARK = re.compile(rf"({AGENT_NAME.pattern}) (\S+)")


# Writing


def encode(_agents: Iterable[Agent], records: Iterable[MessageRecord]) -> Iterator[bytes]:
    """Yield one mail per message. An mbox has only the names of the agents."""
    for record, position in _with_positions(records):
        stored = record.stored
        body = to_body(stored.message.body)
        headers = _record_headers(record, position) | {
            "MIME-Version": "1.0",
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Transfer-Encoding": body.encoding,
            "X-Brenner-Final-Line-Feed": None if body.has_own_end else "added",
        }
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        time = stored.at.astimezone(UTC).ctime()
        head = "\n".join([f"From {_mailbox_address(stored.message.sender)} {time}", *lines])
        yield head.encode() + b"\n\n" + body.content + b"\n"


def _with_positions(records: Iterable[MessageRecord]) -> Iterator[tuple[MessageRecord, str]]:
    """Yield each record with its position; the last one is marked."""
    waiting: MessageRecord | None = None
    for position, record in enumerate(chain(records, [None])):
        if waiting is not None:
            yield waiting, str(position) if record else f"{position}, last"
        waiting = record


def _record_headers(record: MessageRecord, position: str) -> dict[str, str | None]:
    stored, message = record.stored, record.stored.message
    answers = None if stored.reply_to is None else _message_id(message, stored.reply_to)
    return {
        "From": _full_address(message.sender),
        "To": _fold_list(map(_full_address, message.recipients)) or _NO_RECIPIENTS,
        "Subject": to_header(message.subject),
        "Date": format_datetime(stored.at.astimezone(UTC)),
        "Message-ID": _message_id(message, stored.id),
        "In-Reply-To": answers,
        "References": answers,
        "X-Brenner-Format": str(VERSION),
        "X-Brenner-Place": position,
        "X-Brenner-Id": str(stored.id),
        "X-Brenner-Origin-Id": str(stored.origin_id),
        "X-Brenner-At": iso(stored.at),
        "X-Brenner-Hash": to_header(stored.content_hash),
        "X-Brenner-Thread": to_header(message.thread_id),
        "X-Brenner-Ack-Required": _FLAG_NAMES[message.ack_required],
        "X-Brenner-In-Reply-To": None if stored.reply_to is None else str(stored.reply_to),
        "X-Brenner-Acknowledges": _fold_list(map(str, stored.acknowledges)),
        "X-Brenner-Decides": _FLAG_NAMES[stored.decides],
        "X-Brenner-Read": _fold_list(
            f"{_safe_name(name)} {iso(at)}" for name, at in record.read_at
        ),
        **_envelope_headers(stored.envelope),
    }


def _envelope_headers(envelope: Envelope) -> dict[str, str | None]:
    """Return the headers of an envelope, without defaults.

    Copies are in `To`, too, so that earlier versions read all recipients in order.
    """
    is_normal = envelope.importance is Importance.NORMAL
    return {
        "X-Brenner-Importance": None if is_normal else str(envelope.importance),
        "X-Brenner-Cc": _fold_list(map(_safe_name, envelope.cc)),
        "X-Brenner-Trust": None if envelope.trust is None else str(envelope.trust),
    }


def _fold_list(parts: Iterable[str]) -> str | None:
    """Join a list with one part per line: there may be hundreds."""
    return ",\n ".join(parts) or None


def _safe_name(name: str) -> str:
    """Return a valid agent name, or `-` for any other text."""
    return name if AGENT_NAME.fullmatch(name) else "-"


def _mailbox_address(name: str) -> str:
    return f"{_safe_name(name)}@{_HOST}"


def _full_address(name: str) -> str:
    return f"{_safe_name(name)} <{_mailbox_address(name)}>"


def _message_id(message: Message, number: int) -> str:
    """Return a Message-ID with the thread: ids alone repeat between projects."""
    thread = sha256(message.thread_id.encode()).hexdigest()[:16]
    return f"<{number}.{thread}@{_HOST}>"


# Reading


def decode(
    lines: Iterable[bytes], name: str, latest: datetime | None = None
) -> Iterator[ArchiveEntry]:
    """Yield the content of each mail, or what is wrong with it. `name` is the archive's name.

    A message newer than `latest` is invalid.
    """
    archive = _MboxArchive(name, latest)
    start, item = 0, None
    for start, mail in _split_mails(lines):
        if archive.is_closed:
            reason = "it stands after the last mail; import one archive after the other"
            yield codes.INVALID_RECORD.at(start, reason=reason)
            return
        item = archive.parse(mail, start) if start else _not_an_archive(mail, name)
        yield item
        if isinstance(item, Diagnostic) and item.code in FATAL_CODES:
            return
    if not start:
        yield _not_an_archive(b"", name)
    elif not archive.is_closed and not isinstance(item, Diagnostic):
        reason = "it is not the last mail, but none follows it; the file was probably cut short"
        yield codes.INVALID_RECORD.at(start, reason=reason)


def _split_mails(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield each mail with the line number of its separator; 0 for text before the first mail.

    Of a mail that is too long, only enough is read to detect that.
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


class _MboxArchive:
    """Parses the mails, and checks that none is missing or out of order."""

    def __init__(self, name: str, latest: datetime | None) -> None:
        self.is_closed = False
        self._name = name
        self._reader = RecordReader(latest)
        self._next_position: int | None = 1  # None after a mail without a valid position

    def parse(self, mail: bytes, start: int) -> ArchiveEntry:
        """Return the content of a mail, or what is wrong with it."""
        expected, self._next_position = self._next_position, None
        try:
            headers, body = split_mail(mail)
            version = _format_version(headers)
            if version > VERSION:
                return codes.ARCHIVE_TOO_NEW.at(
                    start, path=self._name, version=version, known=VERSION
                )
            position, self.is_closed = _parse_position(headers)
            self._next_position = position + 1
            if expected not in (None, position):
                reject_record(
                    f"it is mail {position} of its archive, but mail {expected} belongs here"
                )
            fields = _record_fields(headers, body)
        except InvalidRecordError as fault:
            return codes.INVALID_RECORD.at(start, reason=str(fault))
        return self._reader.record(fields, start)


def _not_an_archive(line: bytes, name: str) -> Diagnostic:
    return codes.NOT_AN_ARCHIVE.at(path=name, reason=_not_an_archive_reason(line))


def _not_an_archive_reason(line: bytes) -> str:
    if not line:
        return "it is empty"
    if line.lstrip().startswith(b"{"):
        return "it looks like JSON lines, not like an mbox"
    return "its first line does not begin with `From `"


def _format_version(headers: Headers) -> int:
    if headers.find("X-Brenner-Format") is None:
        reject_record("it has no header `X-Brenner-Format`: another program wrote it")
    return headers.number("X-Brenner-Format") or reject_record("`X-Brenner-Format` is 0")


def _parse_position(headers: Headers) -> tuple[int, bool]:
    """Return the position of a mail in its archive, and whether it is the last."""
    match = _POSITION.fullmatch(headers.value("X-Brenner-Place"))
    if not match:
        reject_record("`X-Brenner-Place` is not a number, with `, last` in the last mail")
    return int(match[1]), match[2] is not None


def _record_fields(headers: Headers, body: bytes) -> dict[str, object]:
    """Return the message as record fields, not validated yet."""
    reply_to = headers.find("X-Brenner-In-Reply-To")
    encoding = headers.value("Content-Transfer-Encoding").lower()
    has_own_end = headers.find("X-Brenner-Final-Line-Feed") is None
    return {
        "id": headers.number("X-Brenner-Id"),
        "origin_id": headers.number("X-Brenner-Origin-Id"),
        "at": headers.value("X-Brenner-At"),
        "hash": headers.value("X-Brenner-Hash"),
        "thread_id": from_header(headers.value("X-Brenner-Thread")),
        "from": _parse_address(headers.value("From"), "From"),
        "to": _parse_recipients(headers),
        "subject": from_header(headers.value("Subject")),
        "body": from_body(body, encoding, has_own_end=has_own_end),
        "ack_required": _parse_flag(headers, "X-Brenner-Ack-Required"),
        "decides": _parse_flag(headers, "X-Brenner-Decides"),
        "reply_to": reply_to and parse_number(reply_to, "X-Brenner-In-Reply-To"),
        "acknowledges": [
            parse_number(part, "X-Brenner-Acknowledges")
            for part in headers.parts("X-Brenner-Acknowledges")
        ],
        "read": _parse_read_marks(headers.parts("X-Brenner-Read")),
        "cc": headers.parts("X-Brenner-Cc"),
        **{
            key: value
            for key in ("importance", "trust")
            if (value := _brenner_header(headers, key))
        },
    }


def _brenner_header(headers: Headers, key: str) -> str | None:
    return headers.find(f"X-Brenner-{key.capitalize()}")


def _parse_address(address: str, header: str) -> str:
    match = _ADDRESS.fullmatch(address)
    return match[1] if match else reject_record(f"`{header}` is not `Name <Name@{_HOST}>`")


def _parse_recipients(headers: Headers) -> list[str]:
    to = headers.value("To")
    return (
        []
        if to == _NO_RECIPIENTS
        else [_parse_address(part.strip(), "To") for part in to.split(",")]
    )


def _parse_flag(headers: Headers, name: str) -> bool | None:
    value = headers.find(name)
    return (
        _FLAGS[value]
        if value in _FLAGS
        else reject_record(f"`{name}` is neither `true` nor `false`")
    )


def _parse_read_marks(parts: list[str]) -> dict[str, str]:
    read: dict[str, str] = {}
    for part in parts:
        match = _READ_MARK.fullmatch(part)
        if not match or match[1] in read:
            reject_record("`X-Brenner-Read` is not a list of names with the time of each")
        read[match[1]] = match[2]
    return read
