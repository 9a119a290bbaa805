"""A message, and the text file that holds one: headers, a blank line, the Markdown body.

Reading never fails: what is wrong is collected beside what could be read, so that everything
else in the file is still checked. The places of headers are kept for corrections.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_HEADERS
from brenner.markdown.edits import Edit
from brenner.protocol.grammar import AGENT_NAME
from brenner.text import closest, did_you_mean

HEADERS = ("Thread", "From", "To", "Subject", "Ack-Required")
_REQUIRED = ("Thread", "From", "Subject")
_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)[ \t]*:(.*)")
_FENCE_LINE = re.compile(r"(?:`{3,}|~{3,})[^`~]*")
_YES_OR_NO = {"true": True, "yes": True, "false": False, "no": False}


class Message(NamedTuple):
    """A message as its author wrote it. `ack_required` is None where she left it to the type."""

    thread_id: str
    sender: str
    recipients: tuple[str, ...]
    subject: str
    body: str
    ack_required: bool | None = None


class Header(NamedTuple):
    """A header's value and its place: the line, and where the value begins in the text."""

    value: str
    line: int
    start: int


class MessageFile(NamedTuple):
    """A message file taken apart, with what was wrong and what could be mended in it."""

    message: Message
    headers: dict[str, Header]
    body_start: int
    body_line: int
    diagnostics: tuple[Diagnostic, ...]
    edits: tuple[Edit, ...]


def render_message_file(message: Message) -> str:
    """The message as a file."""
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
    """Take a message file apart, whatever it holds."""
    reader = _HeaderReader(text)
    reader.read()
    headers = reader.headers
    found = reader.diagnostics
    if headers or not found:
        found += [codes.MISSING_HEADER.at(1, name=n) for n in _REQUIRED if n not in headers]
    value = {name: header.value for name, header in headers.items()}
    recipients = tuple(name.strip() for name in value.get("To", "").split(",") if name.strip())
    found += check_names(headers, recipients) if headers else []
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


def as_if_filed(message: Message) -> MessageFile:
    """A stored message as a file that begins with its body: the headers stand on line 0."""
    values = {
        "Thread": message.thread_id,
        "From": message.sender,
        "To": ", ".join(message.recipients),
        "Subject": message.subject,
    }
    if message.ack_required is not None:
        values["Ack-Required"] = str(message.ack_required).lower()
    headers = {name: Header(value, 0, 0) for name, value in values.items()}
    found = check_names(headers, message.recipients)
    return MessageFile(message, headers, 0, 1, tuple(found), ())


def check_names(headers: dict[str, Header], recipients: tuple[str, ...]) -> list[Diagnostic]:
    """The headers that hold names, or yes and no."""
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


class _HeaderReader:
    """Walks down the lines of the header; afterwards `position` and `line` are the body's."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = len(text) - len(text.removeprefix("\ufeff"))
        self.line = 1
        self.taken = 0
        self.headers: dict[str, Header] = {}
        self.diagnostics: list[Diagnostic] = []
        self.edits: list[Edit] = []

    def read(self) -> None:
        started = False
        while self.position < len(self.text):
            start, content, after = self._next_line()
            blank = not content.strip(" \t")
            if not blank and not self._take(start, content, started):
                return
            self.taken += not blank
            if self.taken > MOST_HEADERS:
                self._invalid(content, f"there are more than {MOST_HEADERS} lines of them")
                return
            self.position, self.line = after, self.line + 1
            if blank and started:
                return
            started = started or not blank

    def _next_line(self) -> tuple[int, str, int]:
        """Where the line at hand begins, its text, and where the next one begins."""
        end = self.text.find("\n", self.position)
        after = len(self.text) if end < 0 else end + 1
        content = self.text[self.position : after].removesuffix("\n").removesuffix("\r")
        return self.position, content, after

    def _take(self, start: int, content: str, started: bool) -> bool:
        """Take one line as a header; False where the body begins without a blank line."""
        match = _HEADER.fullmatch(content)
        if match:
            self._store(match, start)
            return True
        if started and content[0] in " \t":
            self._invalid(content, "a header stands on one line and is not continued on the next")
            return True
        if started:
            self._invalid(content, "a blank line separates the headers from the body")
            self.edits.append(Edit(start, start, "\n"))
        elif _FENCE_LINE.fullmatch(content):
            self._invalid(content, "the message begins with its headers, not with a fence")
            self.edits += self._without_fence(start)
        else:
            self._invalid(content, "the message begins with its headers")
        return False

    def _invalid(self, content: str, reason: str) -> None:
        self.diagnostics.append(
            codes.INVALID_HEADER.at(self.line, line_text=content, reason=reason)
        )

    def _without_fence(self, start: int) -> list[Edit]:
        """Take away a fence around the whole message, if it is one."""
        whole = self.text.rstrip()
        last = whole.rfind("\n") + 1
        first_end = self.text.find("\n", start) + 1
        if last <= start or whole[last:].strip() not in ("```", "````", "~~~"):
            return []
        return [Edit(start, first_end, ""), Edit(last, len(self.text), "")]

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


# A message as a store has it: with the number and the time that the store gave it.


_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class PostedMessage(NamedTuple):
    """A stored message. `at` is the store's time, never the sender's."""

    id: int
    at: datetime
    message: Message


def in_thread_order(posted: PostedMessage) -> tuple[datetime, int]:
    """R9, the sort key of every thread: the instant in UTC, then the message id as a number."""
    return (posted.at, posted.id)


def iso(at: datetime) -> str:
    """An instant as text: ISO 8601 in UTC, with a fraction only where it has one."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def span(length: timedelta) -> str:
    """How long, in the largest unit that fills at least one: `3 h`."""
    seconds = max(0, int(length.total_seconds()))
    if seconds >= 2 * _DAY:
        return f"{seconds // _DAY} d"
    if seconds >= _HOUR:
        return f"{seconds // _HOUR} h"
    if seconds >= _MINUTE:
        return f"{seconds // _MINUTE} min"
    return f"{seconds} s"


# The content hash: what makes two copies of a message the same (rulings, Small decisions).


def content_hash(message: Message) -> str:
    """SHA-256 of the canonical JSON (RFC 8785) of [thread, from, subject, body], in hexadecimal.

    A list of texts is canonical when it has no blanks and escapes only what it must.
    """
    parts = [message.thread_id, message.sender, message.subject, message.body]
    return sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


# Times for people: relative where one scans, exact on demand.


__all__ = ["ago", "exact", "span"]

_SOON = 45  # seconds that are called now
_MOST_RELATIVE = timedelta(days=14)


def ago(at: datetime, now: datetime) -> str:
    """How long ago; the day where that is long, or where it is yet to come."""
    since = now - at
    if timedelta(seconds=-_SOON) < since < timedelta(seconds=_SOON):
        return "just now"
    if timedelta(0) < since < _MOST_RELATIVE:
        return f"{span(since)} ago"
    return exact(at)[:10]


def exact(at: datetime) -> str:
    """The instant, to the second, in UTC."""
    return iso(at.replace(microsecond=0))
