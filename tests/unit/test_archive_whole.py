"""Archives that are not whole: cut short, joined, with records missing or in another order."""

import json

import pytest

from archive_samples import (
    AGENT,
    BOTH,
    LINES,
    filled,
    from_lines,
    record,
    told,
    words,
)
from brenner.limits import MOST_BODY_BYTES, MOST_RECORD_BYTES
from brenner.mail.archive import jsonl
from brenner.mail.model import Agent, MessageRecord
from brenner.protocol.messages import content_hash

HEADER, AGENT_LINE, FIRST, SECOND, END = filled(LINES).splitlines(keepends=True)


def lines(*parts: str) -> list[tuple[str, int | None, str]]:
    """What is told of JSON lines."""
    return told(from_lines("".join(parts).encode()))


def test_lines_cut_short() -> None:
    """Within a line, and between two; a missing line feed alone does no harm."""
    content = filled(LINES).encode()
    broken = "it is incomplete; the file was probably cut short"
    assert told(from_lines(content[:-2])) == [("INVALID_RECORD", 5, words(broken))]
    assert lines(HEADER, AGENT_LINE, FIRST, SECOND[:-9]) == [("INVALID_RECORD", 4, words(broken))]
    assert from_lines(content[:-1]) == [AGENT, *BOTH]
    missing = "the closing line is missing; the file was probably cut short"
    kept: list[str] = []
    for number, line in enumerate((HEADER, AGENT_LINE, FIRST, SECOND), 1):
        kept.append(line)
        assert lines(*kept) == [("INVALID_RECORD", number, words(missing))]
        assert lines(*kept, "\n", " \n") == [("INVALID_RECORD", number, words(missing))]
        assert lines(*kept)[0] == lines("".join(kept)[:-1])[0]


@pytest.mark.parametrize("end", ["1", "3", "0", "-1", "true", "null", '"2"', "2.0", "[]"])
def test_the_closing_line_counts(end: str) -> None:
    """A line of a message was taken out or put in; or it is no number at all."""
    reason = "`end` is not a number of messages"
    if end in ("0", "1", "3"):
        reason = f"`end` says {end} messages, but the archive has 2"
    closing = f'{{"end":{end}}}\n'
    assert lines(HEADER, FIRST, SECOND, closing) == [("INVALID_RECORD", 4, words(reason))]


def test_one_fault_is_told_once() -> None:
    """Where a record is faulty, neither its count nor what it hides is a second fault."""
    assert lines(HEADER, AGENT_LINE, "x\n", SECOND, END)[0][1] == 3
    assert len(lines(HEADER, AGENT_LINE, "x\n", SECOND, END)) == 1
    assert len(lines(HEADER, "x\n")) == 1


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (SECOND + END, "it comes after the closing line"),
        (END, "it comes after the closing line"),
        ("x\n" * 9, "it comes after the closing line"),
        (filled(LINES), "a second archive starts here; import them one after the other"),
    ],
)
def test_nothing_follows_the_closing_line(after: str, reason: str) -> None:
    """But blank lines; the rest is told once, and not read."""
    items = from_lines((filled(LINES) + "\n" + after).encode())
    assert told(items) == [("INVALID_RECORD", 7, words(reason))]
    assert items[:3] == [AGENT, *BOTH]
    assert from_lines((filled(LINES) + "\n \r\n\n").encode()) == [AGENT, *BOTH]


def test_agents_come_first() -> None:
    """One after a message is told: whoever reads on could not take it in any more."""
    reason = "an agent comes after a message; agents must come first"
    late = lines(HEADER, FIRST, AGENT_LINE, SECOND, END)
    assert late == [("INVALID_RECORD", 3, words(reason))]
    # also after a message that is not sound itself
    unsound = json.dumps(json.loads(FIRST) | {"at": "noon"}) + "\n"
    late = lines(HEADER, unsound, AGENT_LINE, SECOND, END)
    assert [each[:2] for each in late] == [("INVALID_RECORD", 2), ("INVALID_RECORD", 3)]


def test_a_record_has_a_longest_length() -> None:
    """Longer ones are told before anything in them is parsed, and what follows is read."""
    reason = words("it is longer than 83,886,080 bytes")
    longer = '{"id":1,"x":"' + "x" * MOST_RECORD_BYTES + '"}\n'
    items = from_lines((HEADER + AGENT_LINE + longer + SECOND + END).encode())
    assert told(items) == [("INVALID_RECORD", 3, reason)]
    assert [type(each) for each in items if each is not items[1]] == [Agent, MessageRecord]


@pytest.mark.parametrize("filling", ["[],", "{},"])
def test_what_is_not_text_is_bounded(filling: str) -> None:
    """Small values cost many times their length; a message holds few."""
    odd = '{"id":1,"x":[' + filling * (3 * 1024 * 1024) + "0]}\n"
    reason = "it has more than 8,388,608 bytes outside its texts"
    assert lines(HEADER, odd, END) == [("INVALID_RECORD", 2, words(reason))]


def test_quotes_that_do_not_close_are_read_once() -> None:
    """Not once more from each of them on."""
    odd = '{"id":' + '"\\"' + '\\"' * (5 * 1024 * 1024) + "\n"
    assert [each[:2] for each in lines(HEADER, odd, END)] == [("INVALID_RECORD", 2)]


def test_the_largest_message_comes_back() -> None:
    """Whatever a store takes can be read again, also where each character is spelled out."""
    text = "\x01" * MOST_BODY_BYTES
    message = record().stored.message._replace(thread_id=text, subject=text, body=text)
    stored = record().stored._replace(message=message, content_hash=content_hash(message))
    largest = MessageRecord(stored)
    content = "".join(jsonl.encode([], [largest])).encode()
    assert len(content) > 18 * MOST_BODY_BYTES
    assert from_lines(content) == [largest]
