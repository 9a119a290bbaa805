"""Messages: the `Message` type, the message file, stored messages, content hashes and times.

A message file is headers, an empty line and the Markdown body. Parsing never fails: it returns the
problems together with what it could read. Header positions are recorded so that corrections can be
placed.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import messages as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_HEADERS
from brenner.markdown.edits import TextEdit
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.subjects import parse_subject
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Sequence

    from brenner.diagnostics.model import Diagnostic

HEADERS = ("Thread", "From", "To", "Subject", "Ack-Required")
_REQUIRED_HEADERS = ("Thread", "From", "Subject")
_HEADER = lazy_pattern(r"([A-Za-z][A-Za-z0-9_-]*)[ \t]*:(.*)")
_FENCE_LINE = lazy_pattern(r"(?:`{3,}|~{3,})[^`~]*")
_YES_OR_NO = {"true": True, "yes": True, "false": False, "no": False}


class Message(NamedTuple):
    """A message as its author wrote it. `ack_required` is None if the type decides."""

    thread_id: str
    sender: str
    recipients: tuple[str, ...]
    subject: str
    body: str
    ack_required: bool | None = None

    @property
    def type(self) -> str | None:
        """The message type that the subject's prefix names; None for mail outside the protocol."""
        subject = parse_subject(self.subject)
        return subject.type if subject else None


class Header(NamedTuple):
    """A header's value, its line, and the offset in the text at which the value begins."""

    value: str
    line: int
    start: int


class MessageFile(NamedTuple):
    """A parsed message file, with its diagnostics and the edits that fix some of them."""

    message: Message
    headers: dict[str, Header]
    body_start: int
    body_line: int
    diagnostics: tuple[Diagnostic, ...]
    edits: tuple[TextEdit, ...]


def render_message_file(message: Message) -> str:
    lines = [
        f"Thread: {message.thread_id}",
        f"From: {message.sender}",
        f"To: {', '.join(message.recipients)}",
        f"Subject: {message.subject}",
    ]
    if message.ack_required is not None:
        lines.append(f"Ack-Required: {'true' if message.ack_required else 'false'}")
    return "\n".join(lines) + "\n\n" + message.body


def parse_message_file(text: str) -> MessageFile:
    """Parse a message file. Any text is accepted; problems become diagnostics."""
    reader = _HeaderReader(text)
    reader.read()
    headers = reader.headers
    found = reader.diagnostics
    if headers or not found:
        found += [codes.MISSING_HEADER.at(1, name=n) for n in _REQUIRED_HEADERS if n not in headers]
    value = {name: header.value for name, header in headers.items()}
    recipients = tuple(name.strip() for name in value.get("To", "").split(",") if name.strip())
    found += check_header_values(headers, recipients) if headers else []
    subject = headers.get("Subject")  # the patterns of thread IDs and names are stricter
    wrong = control_character("subject", subject.value, subject.line) if subject else None
    found += [wrong] if wrong else []
    message = Message(
        thread_id=value.get("Thread", ""),
        sender=value.get("From", ""),
        recipients=tuple(dict.fromkeys(recipients)),
        subject=value.get("Subject", ""),
        body=text[reader.position :],
        ack_required=_YES_OR_NO.get(value.get("Ack-Required", "").lower()),
    )
    return MessageFile(
        message, headers, reader.position, reader.line, tuple(found), tuple(reader.edits)
    )


def as_message_file(message: Message) -> MessageFile:
    """Return a message as a `MessageFile` without header text; its headers are on line 0."""
    values = {
        "Thread": message.thread_id,
        "From": message.sender,
        "To": ", ".join(message.recipients),
        "Subject": message.subject,
    }
    if message.ack_required is not None:
        values["Ack-Required"] = str(message.ack_required).lower()
    headers = {name: Header(value, 0, 0) for name, value in values.items()}
    found = check_header_values(headers, message.recipients)
    return MessageFile(message, headers, 0, 1, tuple(found), ())


def check_header_values(
    headers: dict[str, Header], recipients: tuple[str, ...]
) -> list[Diagnostic]:
    """Check the agent names in From and To, and the value of Ack-Required."""
    found = []
    sender, to, ack = (headers.get(name) for name in ("From", "To", "Ack-Required"))
    if sender and not AGENT_NAME.fullmatch(sender.value):
        found.append(codes.INVALID_AGENT_NAME.at(sender.line, name=sender.value))
    if not recipients:
        found.append(codes.NO_RECIPIENT.at(to.line if to else 1))
    elif to:
        found += [
            codes.INVALID_AGENT_NAME.at(to.line, name=name)
            for name in recipients
            if not AGENT_NAME.fullmatch(name)
        ]
    if ack and ack.value.lower() not in _YES_OR_NO:
        found.append(codes.INVALID_ACK_REQUIRED.at(ack.line, value=ack.value))
    return found


_CONTROL = lazy_pattern(r"[\x01-\x1f\x7f-\x9f\u2028\u2029]")
_LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def control_character(what: str, text: str, line: int | None = None) -> Diagnostic | None:
    """Return an error if the text of a header contains a control character or a line break.

    Shown as a file, a line break would begin another header, such as a forged `From`.
    """
    found = _CONTROL.search(text)
    if not found:
        return None
    from brenner.diagnostics.codes.mail import UNSTORABLE_TEXT  # few messages need it

    is_break = found[0] in _LINE_BREAKS
    name = "a line break" if is_break else f"the control character U+{ord(found[0]):04X}"
    return UNSTORABLE_TEXT.at(line, what=what, reason=f"it contains {name}")


def without_control(text: str) -> str:
    """Return the text of a header with spaces in place of control characters."""
    return _CONTROL.sub(" ", text)


def header_errors(message: Message) -> tuple[Diagnostic, ...]:
    """Return an error for each header that contains a control character.

    Every entrance calls it before it stores a message, whether or not the message is checked.
    """
    parts = [
        ("thread ID", message.thread_id),
        ("sender", message.sender),
        *(("recipient", name) for name in message.recipients),
        ("subject", message.subject),
    ]
    found = (control_character(what, text) for what, text in parts)
    return tuple(each for each in found if each)


class _HeaderReader:
    """A line-by-line parser of the headers.

    After `read`, `position` and `line` are where the body begins. `taken` counts the lines read
    that were not empty.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = len(text) - len(text.removeprefix("\ufeff"))
        self.line = 1
        self.taken = 0
        self.headers: dict[str, Header] = {}
        self.diagnostics: list[Diagnostic] = []
        self.edits: list[TextEdit] = []

    def read(self) -> None:
        started = False
        while self.position < len(self.text):
            start, content, after = self._next_line()
            blank = not content.strip(" \t")
            if not blank and not self._take(start, content, started):
                return
            self.taken += not blank
            if self.taken > MOST_HEADERS:
                self._invalid(content, f"there are more than {MOST_HEADERS} lines of headers")
                return
            self.position, self.line = after, self.line + 1
            if blank and started:
                return
            started = started or not blank

    def _next_line(self) -> tuple[int, str, int]:
        """Return the offset of the current line, its text, and the offset of the next line."""
        end = self.text.find("\n", self.position)
        after = len(self.text) if end < 0 else end + 1
        content = self.text[self.position : after].removesuffix("\n").removesuffix("\r")
        return self.position, content, after

    def _take(self, start: int, content: str, started: bool) -> bool:
        """Read one line as a header. Return False if the body begins without an empty line."""
        match = _HEADER.fullmatch(content)
        if match:
            self._store(match, start)
            return True
        if started and content[0] in " \t":
            self._invalid(content, "a header cannot continue on the next line")
            return True
        if started:
            reason = "a blank line must separate the headers from the body"
            self._invalid(content, reason, [TextEdit(start, start, "\n")])
        elif _FENCE_LINE.fullmatch(content):
            reason = "the message must begin with its headers, not with a fence"
            self._invalid(content, reason, self._fence_removal_edits(start))
        else:
            self._invalid(content, "the message must begin with its headers")
        return False

    def _invalid(self, content: str, reason: str, edits: Sequence[TextEdit] = ()) -> None:
        found = codes.INVALID_HEADER.at(self.line, line_text=content, reason=reason)
        self.diagnostics.append(found._replace(fixable=bool(edits)))
        self.edits += edits

    def _fence_removal_edits(self, start: int) -> list[TextEdit]:
        """Return the edits that remove a code fence around the whole message, if there is one."""
        whole = self.text.rstrip()
        last = whole.rfind("\n") + 1
        first_end = self.text.find("\n", start) + 1
        if last <= start or whole[last:].strip() not in ("```", "````", "~~~"):
            return []
        return [TextEdit(start, first_end, ""), TextEdit(last, len(self.text), "")]

    def _store(self, match: re.Match[str], start: int) -> None:
        name = closest(match[1], HEADERS, most_edits=0) or match[1]
        if name not in HEADERS:
            suggestion = did_you_mean(closest(name, HEADERS))
            self.diagnostics.append(
                codes.UNKNOWN_HEADER.at(self.line, name=name, suggestion=suggestion)
            )
        elif name in self.headers:
            first = self.headers[name].line
            self.diagnostics.append(codes.REPEATED_HEADER.at(self.line, name=name, first=first))
        else:
            value = match[2].strip(" \t")
            offset = start + match.start(2) + len(match[2]) - len(match[2].lstrip(" \t"))
            self.headers[name] = Header(value, self.line, offset)


# Stored messages, with the ID and the time that the store assigned


_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class Trust(StrEnum):
    """How the sender of a message was authenticated. The values are stable JSON values."""

    LOCAL = "local"  # written by a process with access to the store
    VERIFIED = "verified"  # the sender has presented the secret of the name
    UNVERIFIED = "unverified"  # the name is only claimed; imported mail, too


class Importance(StrEnum):
    """The urgency that the sender states."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class Envelope(NamedTuple):
    """Delivery data of a message that the protocol does not define.

    `cc` is the subset of the recipients who get a copy. `trust` is None if the backend does not
    report it.
    """

    importance: Importance = Importance.NORMAL
    cc: tuple[str, ...] = ()
    trust: Trust | None = Trust.LOCAL


DEFAULT_ENVELOPE = Envelope()


class StoredMessage(NamedTuple):
    """An immutable message in a mailbox. `at` is the store's time, never the sender's.

    `arrival` is its sequence number in the store. `origin_id` is its id in the store where it was
    first stored; it differs from `id` only after an import. `acknowledges` are the messages whose
    pending acknowledgements it settled on arrival. An imported message is not local: its ids come
    from another store. `decides` records, when the message is stored, whether a decision counts as
    the operator's. It is None for a message that is no decision, and if the store did not know the
    operator. An `is_sealed` message has neither its subject nor its body, because this reader may
    not read them yet (R33).
    """

    id: int
    at: datetime
    message: Message
    content_hash: str = ""
    arrival: int = 0
    origin_id: int = 0
    reply_to: int | None = None
    acknowledges: tuple[int, ...] = ()
    is_local: bool = True
    envelope: Envelope = DEFAULT_ENVELOPE
    decides: bool | None = None
    is_sealed: bool = False

    @property
    def posted(self) -> StoredMessage:
        """The message itself, under its name of 0.1.0."""
        return self

    @property
    def type(self) -> str | None:
        """The message type, or None for mail outside the protocol."""
        return self.message.type

    def counts_for(self, operators: Collection[str]) -> bool:
        """Return whether a decision in this message counts.

        If the store has not determined that, the sender's name decides.
        """
        return self.message.sender in operators if self.decides is None else self.decides


def thread_order_key(stored: StoredMessage) -> tuple[datetime, int]:
    """Return the sort key of every thread (R9): the time in UTC, then the numeric message ID."""
    return (stored.at, stored.id)


def iso(at: datetime) -> str:
    """Format a time as ISO 8601 in UTC; a fraction of a second appears only if it is not zero."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def duration_text(length: timedelta) -> str:
    """Format a duration in one unit, rounded down: `5 min`, `3 h`; in days from two days on."""
    seconds = max(0, int(length.total_seconds()))
    if seconds >= 2 * _DAY:
        return f"{seconds // _DAY} d"
    if seconds >= _HOUR:
        return f"{seconds // _HOUR} h"
    if seconds >= _MINUTE:
        return f"{seconds // _MINUTE} min"
    return f"{seconds} s"


# The content hash, which identifies copies of a message (rulings, Small decisions)


def content_hash(message: Message) -> str:
    """Return the hash that identifies a message's content.

    It is the SHA-256, in hexadecimal, of the canonical JSON (RFC 8785) of [thread, from, subject,
    body]. A JSON list of strings is canonical if it has no spaces and only the necessary escapes.
    """
    parts = [message.thread_id, message.sender, message.subject, message.body]
    from hashlib import sha256  # loads OpenSSL; not every command hashes

    return sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


# Times for people: relative in lists, exact on demand


_NOW_SECONDS = 45  # shown as "just now"
_MOST_RELATIVE = timedelta(days=14)


def relative_time(at: datetime, now: datetime) -> str:
    """Return how long ago a time was, or its date if it is long ago or in the future."""
    since = now - at
    if timedelta(seconds=-_NOW_SECONDS) < since < timedelta(seconds=_NOW_SECONDS):
        return "just now"
    if timedelta(0) < since < _MOST_RELATIVE:
        return f"{duration_text(since)} ago"
    return exact_time(at)[:10]


def exact_time(at: datetime) -> str:
    """Format a time in UTC, to the second."""
    return iso(at.replace(microsecond=0))
