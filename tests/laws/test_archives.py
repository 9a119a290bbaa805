"""The laws of archives: what is written comes back, what is read is sound, nothing is forged, and
nothing is missing in silence.
"""

import email
import io
import mailbox
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.diagnostics.model import Diagnostic
from brenner.mail.archive import jsonl, mbox
from brenner.mail.archive.jsonl import ArchiveEntry
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Agent, MessageRecord, RestoreResult
from brenner.protocol.messages import (
    Envelope,
    Importance,
    Message,
    StoredMessage,
    Trust,
    content_hash,
)
from brenner.services.archive import import_archive
from strategies import HOSTILE, any_text, one_line, scalar_text

pytestmark = pytest.mark.fuzz

# Pieces of text that try to be structure of mail or of JSON lines
_PIECES = (
    *("From ", "\nFrom ", ">From ", "\n>>From x\n", "From BlueLake@brenner.invalid Tue Dec 30"),
    *("=?utf-8?q?a?=", "=?utf-8?b?w6k=?= =?utf-8?b?w6k=?=", "=?", "?=", "=", "_", "=0A"),
    *("\r\nX-Brenner-Id: 5\r\n", "\nX-Brenner-Id: 5\n", "\n\n", "\n \n", " ", "  ", "\t", "\r"),
    *("<", ">", ",", ";", "@brenner.invalid", "\x1a", "\x9b31m", "x" * 1_001, "é" * 500),
    *('"}\n{"id":1', "\\", "\x85", "\u2029", "\ufffe"),
)
_texts = (
    st.lists(st.sampled_from([*_PIECES, *HOSTILE]) | scalar_text, max_size=5).map("".join)
    | st.text(max_size=60)
).map(lambda text: text.replace("\0", ""))
_names = st.sampled_from(["BlueLake", "RedCreek", "Operator", "From", "a", "A-_9", "x" * 64])
_ids = st.integers(1, 2**53 - 1)
_zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# Any zone must be able to write the time of any other
_INSTANTS = timedelta(days=1), timedelta(days=3_652_056)
_times = st.builds(
    lambda since, zone: (datetime.min.replace(tzinfo=UTC) + since).astimezone(zone),
    st.timedeltas(*_INSTANTS),
    st.just(UTC) | _zones,
)


@st.composite
def _agents(draw: st.DrawFn) -> Agent:
    program, model, task = (draw(_texts)[:500] for _ in range(3))
    return Agent(draw(_names), program, model, task, draw(_times))


@st.composite
def _records(draw: st.DrawFn) -> MessageRecord:
    recipients = draw(st.lists(_names, max_size=4, unique=True))
    message = Message(
        thread_id=draw(_texts),
        sender=draw(_names),
        recipients=tuple(recipients),
        subject=draw(_texts),
        body=draw(_texts),
        ack_required=draw(st.sampled_from([None, True, False])),
    )
    stored = StoredMessage(
        id=draw(_ids),
        at=draw(_times),
        message=message,
        content_hash=content_hash(message),
        arrival=draw(st.integers(1, 99)),
        origin_id=draw(_ids),
        reply_to=draw(st.none() | _ids),
        acknowledges=tuple(draw(st.lists(_ids, max_size=3, unique=True))),
        is_local=draw(st.booleans()),
        envelope=Envelope(
            draw(st.sampled_from(Importance)),
            tuple(name for name in recipients[::-1] if draw(st.booleans())),
            draw(st.none() | st.sampled_from(Trust)),
        ),
    )
    return MessageRecord(
        stored, tuple((name, draw(_times)) for name in recipients if draw(st.booleans()))
    )


_agent_lists = st.lists(_agents(), max_size=2, unique_by=lambda agent: agent.name)
_record_lists = st.lists(_records(), max_size=3, unique_by=lambda record: record.stored.id)
_some_records = _record_lists.filter(bool)


class Form(NamedTuple):
    """One form of archive."""

    write: Callable[[Iterable[Agent], Iterable[MessageRecord]], list[bytes]]
    decode: Callable[[Iterable[bytes], str], Iterator[ArchiveEntry]]

    def read(self, content: bytes) -> list[ArchiveEntry]:
        """What a file of that content holds."""
        return list(self.decode(io.BytesIO(content), "mail"))


JSONL = Form(
    lambda agents, records: [line.encode() for line in jsonl.encode(agents, records)], jsonl.decode
)


def arrived(records: Iterable[MessageRecord]) -> list[MessageRecord]:
    """The records as they must come back: nobody here has seen who wrote them."""
    return [
        record._replace(
            stored=record.stored._replace(
                arrival=count,
                is_local=False,
                envelope=record.stored.envelope._replace(trust=Trust.UNVERIFIED),
            )
        )
        for count, record in enumerate(records, 1)
    ]


@given(_agent_lists, _record_lists)
def test_json_lines_come_back(agents: list[Agent], records: list[MessageRecord]) -> None:
    """Everything is in them, the agents too."""
    content = b"".join(JSONL.write(agents, records))
    assert JSONL.read(content) == [*agents, *arrived(records)]


@given(_agent_lists, _record_lists)
def test_json_lines_can_be_looked_at(agents: list[Agent], records: list[MessageRecord]) -> None:
    """One object is one line to everybody, and nothing in it moves a terminal."""
    lines = list(jsonl.encode(agents, records))
    assert "".join(lines).splitlines(keepends=True) == lines
    assert all(line[:-1].isprintable() for line in lines)


@given(_record_lists)
def test_mbox_can_be_looked_at(records: list[MessageRecord]) -> None:
    """It is UTF-8 without control characters, in lines as long as mail may have them."""
    content = b"".join(mbox.encode(records))
    assert not re.search(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", content.decode())
    assert max(map(len, content.split(b"\n"))) <= 998
    heads = [mail.partition(b"\n\n")[0] for mail in mbox.encode(records)]
    lines = [line for head in heads for line in head.split(b"\n") if b"=?utf-8?" in line]
    assert max(map(len, lines), default=0) <= 78  # RFC 5322, 2.1.1


@given(_records(), any_text, any_text)
def test_no_text_forges_a_header(record: MessageRecord, sender: str, recipient: str) -> None:
    """Whatever stands in a message, even where its names are none: another reader sees ours."""
    message = record.stored.message._replace(sender=sender, recipients=(recipient,))
    forged = record._replace(stored=record.stored._replace(message=message), read_at=())
    for each in (record, forged):
        (mail,) = mbox.encode([each])
        assert len(re.findall(rb"^From ", mail, re.MULTILINE)) == 1
        read = email.message_from_bytes(mail[mail.index(b"\n") + 1 :])
        assert len(set(read.keys())) == len(read.keys())
        assert read["X-Brenner-Id"] == str(each.stored.id)
        assert read.defects == []


def read_by_python(content: bytes) -> list[EmailMessage]:
    """The mails that the standard library finds in an mbox, with the words of headers decoded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mail")
        path.write_bytes(content)
        with closing(mailbox.mbox(path)) as found:
            mails = [found.get_bytes(key) for key in found.iterkeys()]
    return [email.message_from_bytes(mail, policy=default) for mail in mails]


def seen_body(body: str) -> str:
    """The body as other readers show it: they keep the quoting and the line feed at the end."""
    if re.search(r"[^\t\n -~\xa0-\u2027\u202a-\U0010ffff]", body):
        return body
    quoted = re.sub(r"^From ", ">From ", body, flags=re.MULTILINE)
    if any(len(line.encode()) > 997 for line in body.split("\n")):
        return body
    return quoted if body.endswith("\n") or not body else quoted + "\n"


@given(st.lists(_records(), max_size=3), st.lists(one_line, min_size=3, max_size=3))
def test_other_programs_read_the_same(records: list[MessageRecord], subjects: list[str]) -> None:
    """Subject, sender, recipients, time and body, as Python's mailbox and email read them."""
    clean = []
    for record, subject in zip(records, subjects, strict=False):
        message = record.stored.message._replace(subject=subject)
        at = record.stored.at.astimezone(UTC).replace(year=2025, day=1)
        clean.append(record._replace(stored=record.stored._replace(message=message, at=at)))
    seen = read_by_python(b"".join(mbox.encode(clean)))
    assert len(seen) == len(clean)
    for mail, record in zip(seen, clean, strict=True):
        message = record.stored.message
        assert str(mail["Subject"]) == message.subject
        assert [each.username for each in mail["From"].addresses] == [message.sender]
        assert [each.username for each in mail["To"].addresses] == list(message.recipients)
        assert mail["Date"].datetime == record.stored.at.replace(microsecond=0)
        assert mail.get_content() == seen_body(message.body)


@given(agents=_agent_lists, records=_record_lists, data=st.data())
def test_a_cut_is_told(
    agents: list[Agent], records: list[MessageRecord], data: st.DataObject
) -> None:
    """Cut at any byte, an archive gives its first records and says so, or nothing is missing."""
    parts = JSONL.write(agents, records)
    content = b"".join(parts)
    # Between two records it would be missed most easily
    borders = [len(b"".join(parts[:index])) for index in range(len(parts) + 1)]
    cut = data.draw(st.sampled_from(borders) | st.integers(0, len(content)))
    read = JSONL.read(content[:cut])
    whole = [item for item in read if not isinstance(item, Diagnostic)]
    expected = [*agents, *arrived(records)]
    assert whole == expected[: len(whole)]
    assert [type(item) for item in read[len(whole) :]] in ([], [Diagnostic])
    assert len(read) > len(whole) or whole == expected


@given(records=_record_lists, data=st.data())
def test_a_missing_record_is_told(records: list[MessageRecord], data: st.DataObject) -> None:
    """Whichever of them, and however many; the header and the closing line as well."""
    parts = JSONL.write([], records)
    kept = data.draw(st.sets(st.sampled_from(range(len(parts))))) if parts else set()
    read = JSONL.read(b"".join(parts[index] for index in sorted(kept)))
    assert len(kept) == len(parts) > 0 or any(isinstance(item, Diagnostic) for item in read)


@given(agents=_agent_lists, records=_record_lists, data=st.data())
def test_nothing_is_passed_over(
    agents: list[Agent], records: list[MessageRecord], data: st.DataObject
) -> None:
    """Lines in any order, some of them twice: each is taken in, or there is a fault and none is."""
    header, *lines = JSONL.write(agents, records)
    some = data.draw(st.lists(st.sampled_from([*lines, b"x\n"]), max_size=2))
    mixed = [header, *data.draw(st.permutations([*lines, *some]) | st.just([*lines]))]
    faults = tuple(item for item in JSONL.decode(mixed, "mail") if isinstance(item, Diagnostic))
    mailbox = MemoryMailbox()
    done = import_archive(mailbox, mixed, "mail")
    if not isinstance(done, RestoreResult):
        assert done == faults != ()
        assert (mailbox.agents(), mailbox.position()) == ((), 0)
        return
    assert not faults
    assert sorted(mixed) == sorted([header, *lines])
    assert done.added + done.skipped == len(records)
    profiles = {agent.name: agent for agent in mailbox.agents()}
    assert all(profiles[agent.name] == agent for agent in agents)


@given(lines=st.lists(st.binary(max_size=40), max_size=12), content=st.binary(max_size=400))
def test_reading_never_raises(lines: list[bytes], content: bytes) -> None:
    """Any bytes, also in pieces that are not lines."""
    start = b"".join(JSONL.write([], [])[:1])
    for each in (lines, [start, *lines], [b"From x\n", *lines]):
        assert all(isinstance(item, Diagnostic) for item in JSONL.decode(each, "mail"))
    assert all(isinstance(item, Diagnostic) for item in JSONL.read(start + content))


_MUTATIONS = st.tuples(
    st.floats(0, 1),
    st.integers(0, 30),
    st.one_of(
        st.binary(max_size=8),
        st.sampled_from([*HOSTILE, *_PIECES]).map(str.encode),
        st.sampled_from(
            [b"null", b"true", b"-1", b"1e999", b"[[", b"{}", b'""', b"\xff", b"\\ud800"]
        ),
    ),
)


@given(agents=_agent_lists, records=_record_lists, changes=st.lists(_MUTATIONS, max_size=4))
def test_what_is_read_is_sound(
    agents: list[Agent],
    records: list[MessageRecord],
    changes: list[tuple[float, int, bytes]],
) -> None:
    """A damaged archive gives only records with the right hash, which can be written again."""
    content = b"".join(JSONL.write(agents, records))
    for where, length, put in changes:
        start = int(where * len(content))
        content = content[:start] + put + content[start + length :]
    read = JSONL.read(content)
    again = [item for item in read if isinstance(item, MessageRecord)]
    assert all(each.stored.content_hash == content_hash(each.stored.message) for each in again)
    assert JSONL.read(b"".join(JSONL.write([], again))) == again
    known = [item for item in read if isinstance(item, Agent)]
    assert JSONL.read(b"".join(JSONL.write(known, []))) == known
