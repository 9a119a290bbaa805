"""The mbox archive of mail, for mail programs. It is written only; JSON lines are read back.

X-Brenner headers hold what mail has no header for.
"""

from __future__ import annotations

from datetime import UTC
from email.charset import Charset
from email.generator import BytesGenerator
from email.header import Header
from email.mime.text import MIMEText
from email.utils import format_datetime
from hashlib import sha256
from io import BytesIO
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.mail.archive.jsonl import record_fields
from brenner.protocol.grammar import AGENT_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.mail.model import MessageRecord
    from brenner.protocol.messages import Message

_HOST = "brenner.invalid"  # never a real host (RFC 2606)
_NO_RECIPIENTS = "undisclosed-recipients:;"
_MOST_LINE_BYTES = 998  # RFC 5322, 2.1.1
# Control characters and line separators, which a mail program or a terminal would interpret
_CONTROL = lazy_pattern("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_FIELDS = (
    *("id", "origin_id", "at", "hash", "thread_id", "ack_required", "reply_to", "acknowledges"),
    *("decides", "read", "importance", "cc", "trust"),
)


def encode(records: Iterable[MessageRecord]) -> Iterator[bytes]:
    """Yield one mail per message, each with its separator line and a final empty line."""
    for record in records:
        message = record.stored.message
        mail = MIMEText(message.body, _charset=_body_charset(message.body))  # type: ignore[arg-type]
        for name, value in (_mail_headers(record) | _own_headers(record)).items():
            mail[name] = _header(name, value)
        time = record.stored.at.astimezone(UTC).ctime()
        mail.set_unixfrom(f"From {_address(message.sender)} {time}")
        content = BytesIO()
        BytesGenerator(content, mangle_from_=True).flatten(mail, unixfrom=True)
        end = b"\n" if content.getvalue().endswith(b"\n") else b"\n\n"
        yield content.getvalue() + end


def _body_charset(body: str) -> Charset:
    """Return UTF-8, as base64 if mail or a terminal would not leave the text as it is."""
    charset = Charset("utf-8")
    lines = body.replace("\t", "").split("\n")
    is_plain = all(
        not _CONTROL.search(each) and len(each.encode()) < _MOST_LINE_BYTES for each in lines
    )
    if is_plain:
        charset.body_encoding = None  # type: ignore[assignment]  # as it is
    return charset


def _mail_headers(record: MessageRecord) -> dict[str, str]:
    stored, message = record.stored, record.stored.message
    answers = "" if stored.reply_to is None else _message_id(message, stored.reply_to)
    headers = {
        "From": _full_address(message.sender),
        "To": ", ".join(map(_full_address, message.recipients)) or _NO_RECIPIENTS,
        "Subject": message.subject,
        "Date": format_datetime(stored.at.astimezone(UTC)),
        "Message-ID": _message_id(message, stored.id),
    }
    return headers | ({"In-Reply-To": answers, "References": answers} if answers else {})


def _own_headers(record: MessageRecord) -> dict[str, str]:
    """Return the headers of the other fields, without those that say nothing."""
    fields = record_fields(record)
    return {
        f"X-Brenner-{key.replace('_', '-').title()}": _as_text(fields[key])
        for key in _FIELDS
        if fields.get(key) not in (None, [], {})
    }


def _as_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {at}" for name, at in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _header(name: str, text: str) -> str:
    """Return the text as one line, so that it can bring no header of its own."""
    line = _CONTROL.sub(" ", text)
    is_plain = line.isascii() and "=?" not in line and line == line.strip()
    is_short = max(map(len, line.split(" "))) < _MOST_LINE_BYTES - 100  # folded between words only
    charset = None if is_plain and is_short else "utf-8"
    return Header(line, charset, header_name=name).encode()


def _address(name: str) -> str:
    """Return an address; `-` replaces a name that no agent can have."""
    return f"{name if AGENT_NAME.fullmatch(name) else '-'}@{_HOST}"


def _full_address(name: str) -> str:
    return f"{_address(name).removesuffix(f'@{_HOST}')} <{_address(name)}>"


def _message_id(message: Message, number: int) -> str:
    """Return a Message-ID with the thread: ids alone repeat between projects."""
    thread = sha256(message.thread_id.encode(errors="replace")).hexdigest()[:16]
    return f"<{number}.{thread}@{_HOST}>"
