"""Export and import between a mailbox and an archive: nothing in between is passed over."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from archive_samples import AGENT, BOTH, LINES, filled, told
from brenner.limits import MOST_RECORD_BYTES
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import RestoreResult
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.services.archive import (
    ArchiveExport,
    archive_lines,
    import_archive,
    is_archive_start,
)

HEADER, AGENT_LINE, FIRST, SECOND, END = filled(LINES).encode().splitlines(keepends=True)


def mailbox_of_both() -> MemoryMailbox:
    """A mailbox that holds the two messages and the agent."""
    mailbox = MemoryMailbox()
    mailbox.restore([AGENT], BOTH)
    return mailbox


def test_an_export_counts_what_it_wrote() -> None:
    """As many as went out, not as many as there are when it is asked."""
    mailbox = mailbox_of_both()
    outgoing = ArchiveExport(mailbox, "jsonl")
    portions = list(outgoing)
    assert outgoing.messages == 2
    other = MemoryMailbox()
    assert isinstance(import_archive(other, portions_as_lines(portions), "x"), RestoreResult)
    assert list(other.records()) == list(mailbox.records())
    mails = ArchiveExport(mailbox, "mbox")
    assert (len(list(mails)), mails.messages) == (2, 2)
    empty = ArchiveExport(MemoryMailbox(), "jsonl")
    assert (b"".join(empty).count(b"\n"), empty.messages) == (2, 0)


def portions_as_lines(portions: list[bytes]) -> Iterator[bytes]:
    """As a file would be read."""
    return archive_lines(io.BytesIO(b"".join(portions)))


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ([HEADER, FIRST, AGENT_LINE, SECOND, END], [3]),
        ([HEADER, b"x\n", AGENT_LINE, FIRST, SECOND, END], [2]),
        ([HEADER, AGENT_LINE, b"x\n"], [3]),
        ([HEADER, AGENT_LINE, FIRST], [3]),
        ([HEADER, AGENT_LINE], [2]),
        ([HEADER, AGENT_LINE, FIRST, b"x\n", b"y\n", SECOND, END], [4, 5]),
        ([HEADER, AGENT_LINE, FIRST, SECOND, END, AGENT_LINE], [6]),
    ],
)
def test_every_fault_is_told_and_nothing_stays(parts: list[bytes], lines: list[int]) -> None:
    """Wherever it stands: before, between or after the messages."""
    mailbox = MemoryMailbox()
    found = import_archive(mailbox, parts, "mail.jsonl")
    assert not isinstance(found, RestoreResult)
    assert [(code, line) for code, line, _ in told(list(found))] == [
        ("INVALID_RECORD", line) for line in lines
    ]
    assert (mailbox.agents(), mailbox.position()) == ((), 0)


def test_an_archive_that_cannot_be_read_on_is_not_the_stores_fault(tmp_path: Path) -> None:
    """What the file raises comes out as it is, and nothing stays."""

    def breaking() -> Iterator[bytes]:
        yield from (HEADER, AGENT_LINE, FIRST)
        raise OSError(5, "Input/output error")

    with SqliteMailbox.create(tmp_path / "mail.sqlite3") as mailbox:
        with pytest.raises(OSError, match="Input/output error"):
            import_archive(mailbox, breaking(), "mail.jsonl")
        assert (mailbox.agents(), mailbox.position()) == ((), 0)


def test_of_a_line_without_end_little_is_read() -> None:
    """No more than shows that it is too long."""
    with Path("/dev/zero").open("rb") as source:
        assert len(next(archive_lines(source))) == MOST_RECORD_BYTES + 1
        found = import_archive(MemoryMailbox(), archive_lines(source), "x")
    assert not isinstance(found, RestoreResult)
    assert [each.id for each in found] == ["NOT_AN_ARCHIVE"]


def test_long_lines_are_cut_and_told() -> None:
    """The lines around them keep their numbers; a line of the greatest length is whole."""
    odd = b'{"id":1,"x":"' + b"x" * (MOST_RECORD_BYTES + 200_000) + b'"}\n'
    content = HEADER + AGENT_LINE + odd + FIRST + b"y\n" + SECOND + END
    lines = list(archive_lines(io.BytesIO(content)))
    assert [len(line) for line in lines[:3]] == [
        *(len(HEADER), len(AGENT_LINE), MOST_RECORD_BYTES + 1)
    ]
    assert lines[3:] == [FIRST, b"y\n", SECOND, END]
    # a copy of them reads the same
    assert list(archive_lines(io.BytesIO(b"".join(lines)))) == lines
    found = import_archive(MemoryMailbox(), lines, "mail.jsonl")
    assert not isinstance(found, RestoreResult)
    assert [each.line for each in found] == [3, 5]
    for length in (MOST_RECORD_BYTES - 1, MOST_RECORD_BYTES):
        whole = b"x" * length + b"\n"
        cut = list(archive_lines(io.BytesIO(whole + FIRST)))
        assert [len(line) for line in cut] == [length + 1, len(FIRST)]


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        (HEADER, True),
        (b"\xef\xbb\xbf" + HEADER, True),
        (b"From a@b Tue Dec 30 14:22:05 2025\n", False),
        (FIRST, False),
        (b'{"format":"brenner-mail","version":2}\n', False),
        (b"x\n", False),
        (b"", False),
    ],
)
def test_how_an_archive_begins(line: bytes, begins: bool) -> None:
    """What does not begin so need not be awaited."""
    assert is_archive_start(line) is begins
