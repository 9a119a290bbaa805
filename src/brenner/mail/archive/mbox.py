"""mbox: an archive that mail programs read, and that gives every message back exactly.

It is the variety called mboxrd: a line of a body that begins with `From `, after any number of
`>`, gets one more `>`, and loses it again. What mail has no place for stands in X-Brenner headers.
Mail of other programs is told, not guessed at.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from email.utils import format_datetime
from hashlib import sha256

from brenner.diagnostics.codes import archive as codes
from brenner.diagnostics.model import Diagnostic
from brenner.grammar import AGENT_NAME
from brenner.mail.archive.mail_text import from_body, from_header, to_body, to_header
from brenner.mail.archive.record import VERSION, Item, Reader, UnsoundError, unsound
from brenner.mail.model import Agent, Record
from brenner.thread.messages import Message
from brenner.thread.posted import iso

_HOST = "brenner.invalid"  # no such host can ever be (RFC 2606)
_NOBODY = "undisclosed-recipients:;"
_NAMES_OF_FLAGS = {True: "true", False: "false", None: None}
_FLAGS = {"true": True, "false": False, None: None}

_SEPARATOR = b"From "
_BLANK_LINES = (b"\n", b"\r\n")
_FOLD = re.compile(rb"\r?\n(?=[ \t])")
_HEADER = re.compile(rb"([!-9;-~]+):(.*)", re.DOTALL)
_ADDRESS = re.compile(rf"({AGENT_NAME.pattern}) <\1@{re.escape(_HOST)}>")
_NUMBER = re.compile(r"[0-9]{1,16}")
_READ = re.compile(rf"({AGENT_NAME.pattern}) (\S+)")


# Writing


def encode(_agents: Iterable[Agent], records: Iterable[Record]) -> Iterator[bytes]:
    """One mail for each message, and nothing of the agents: an mbox has only their names."""
    for record in records:
        stored = record.stored
        body = to_body(stored.message.body)
        headers = _headers(record) | {
            "MIME-Version": "1.0",
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Transfer-Encoding": body.encoding,
            "X-Brenner-Final-Line-Feed": None if body.has_own_end else "added",
        }
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        time = stored.at.astimezone(UTC).ctime()
        head = "\n".join([f"From {_mailbox(stored.message.sender)} {time}", *lines])
        yield head.encode() + b"\n\n" + body.content + b"\n"


def _headers(record: Record) -> dict[str, str | None]:
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
        "X-Brenner-Id": str(stored.id),
        "X-Brenner-Origin-Id": str(stored.origin_id),
        "X-Brenner-At": iso(stored.at),
        "X-Brenner-Hash": to_header(stored.content_hash),
        "X-Brenner-Thread": to_header(message.thread_id),
        "X-Brenner-Ack-Required": _NAMES_OF_FLAGS[message.ack_required],
        "X-Brenner-In-Reply-To": None if stored.reply_to is None else str(stored.reply_to),
        "X-Brenner-Acknowledges": _folded(map(str, stored.acknowledges)),
        "X-Brenner-Read": _folded(f"{_local(name)} {iso(at)}" for name, at in record.read_at),
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


def decode(lines: Iterable[bytes], name: str) -> Iterator[Item]:
    """What each mail holds, or what is wrong with it. `name` is what the archive is called."""
    reader = Reader()
    for start, mail in _mails(lines):
        item = _item(reader, mail, start, name)
        yield item
        if isinstance(item, Diagnostic) and item.code in (
            codes.NOT_AN_ARCHIVE,
            codes.ARCHIVE_TOO_NEW,
        ):
            return


def _mails(lines: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of each mail, and where its separator stands; 0 for what stands before all."""
    start = 0
    mail: list[bytes] = []
    for number, line in enumerate(lines, 1):
        if line.startswith(_SEPARATOR):
            if start:
                yield start, mail
            start, mail = number, []
        elif start:
            mail.append(line)
        elif line.strip():
            yield 0, [line]
    if start:
        yield start, mail


def _item(reader: Reader, mail: list[bytes], start: int, name: str) -> Item:
    if not start:
        return codes.NOT_AN_ARCHIVE.at(path=name, reason=_other_form(mail[0]))
    try:
        headers, body = _taken_apart(mail)
        version = _version(headers)
        if version > VERSION:
            return codes.ARCHIVE_TOO_NEW.at(start, path=name, version=version, known=VERSION)
        fields = _fields(headers, body)
    except UnsoundError as fault:
        return codes.INVALID_RECORD.at(start, reason=str(fault))
    return reader.record(fields, start)


def _other_form(line: bytes) -> str:
    if line.lstrip().startswith(b"{"):
        return "it looks like JSON lines, not like an mbox"
    return "its first line does not begin with `From `"


class _Headers:
    """The headers of one mail, by name. Those that are asked for may stand there once only."""

    def __init__(self, unfolded: bytes) -> None:
        self._values: dict[bytes, list[bytes]] = {}
        for line in unfolded.split(b"\n"):
            match = _HEADER.fullmatch(line)
            if not match:
                unsound("a line of its header is not `Name: value`")
            self._values.setdefault(match[1].lower(), []).append(match[2].strip())

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
        return _number(self.value(name), name)

    def parts(self, name: str) -> list[str]:
        """A header that is a list, or is not there."""
        value = self.find(name)
        return [part.strip() for part in value.split(",")] if value else []


def _taken_apart(mail: list[bytes]) -> tuple[_Headers, list[bytes]]:
    """The headers and the lines of the body, without the blank line that ends every mail."""
    end = next((index for index, line in enumerate(mail) if line in _BLANK_LINES), None)
    if end is None:
        unsound("it breaks off in its header; the file was probably cut short")
    unfolded = _FOLD.sub(b"", b"".join(mail[:end]).rstrip(b"\r\n"))
    body = mail[end + 1 :]
    return _Headers(unfolded), body[:-1] if body and body[-1] in _BLANK_LINES else body


def _version(headers: _Headers) -> int:
    if headers.find("X-Brenner-Format") is None:
        unsound("it has no header `X-Brenner-Format`: another program wrote it")
    return headers.number("X-Brenner-Format") or unsound("`X-Brenner-Format` is 0")


def _fields(headers: _Headers, body: list[bytes]) -> dict[str, object]:
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
        "ack_required": _flag(headers.find("X-Brenner-Ack-Required")),
        "reply_to": reply_to and _number(reply_to, "X-Brenner-In-Reply-To"),
        "acknowledges": [
            _number(part, "X-Brenner-Acknowledges")
            for part in headers.parts("X-Brenner-Acknowledges")
        ],
        "read": _read(headers.parts("X-Brenner-Read")),
    }


def _number(value: str, name: str) -> int:
    if not _NUMBER.fullmatch(value):
        unsound(f"the header `{name}` is not a number that a message can have")
    return int(value)


def _name(address: str, header: str) -> str:
    match = _ADDRESS.fullmatch(address)
    return match[1] if match else unsound(f"`{header}` is not `Name <Name@{_HOST}>`")


def _recipients(headers: _Headers) -> list[str]:
    to = headers.value("To")
    return [] if to == _NOBODY else [_name(part.strip(), "To") for part in to.split(",")]


def _flag(value: str | None) -> bool | None:
    name = "X-Brenner-Ack-Required"
    return _FLAGS[value] if value in _FLAGS else unsound(f"`{name}` is neither `true` nor `false`")


def _read(parts: list[str]) -> dict[str, str]:
    read: dict[str, str] = {}
    for part in parts:
        match = _READ.fullmatch(part)
        if not match or match[1] in read:
            unsound("`X-Brenner-Read` is not a list of names with the time of each")
        read[match[1]] = match[2]
    return read
