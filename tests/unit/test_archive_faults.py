"""What is wrong with an archive is told: what, on which line; and the rest of it is read."""

import json

import pytest

from archive_samples import (
    AGENT,
    BOTH,
    LINES,
    THREAD,
    filled,
    from_lines,
    record,
    told,
    words,
)
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BODY_BYTES
from brenner.mail.archive import jsonl
from brenner.mail.archive.jsonl import MBOX_IS_NOT_READ

NO_ARCHIVES = {
    b"": "it is empty",
    b" \n\n": "it is empty",
    b"From a@b Tue Dec 30 14:22:05 2025\n": MBOX_IS_NOT_READ,
    b"Thread: x\n": "its first line is not",
    b"[]\n": "its first line is not",
    b"\xff\n": "its first line is not",
    b"[" * 100_000: "its first line is not",
    b'{"format":"brenner-mail"}\n': "its first line is not",
    b'{"format":"brenner-mail","version":true}\n': "its first line is not",
    b'{"format":"brenner-mail","version":0}\n': "its first line is not",
    b'{"format":"brenner-mail","version":"1"}\n': "its first line is not",
    b'{"format":"mail","version":1}\n': "its first line is not",
    b'{"format":"brenner-mail","version":1': "its first line is not",
    filled(LINES).encode().split(b"\n")[2]: "its first line is not",
}


@pytest.mark.parametrize(("content", "reason"), NO_ARCHIVES.items())
def test_what_is_no_archive(content: bytes, reason: str) -> None:
    """Told once, for the file, and no record of it is looked at."""
    ((code, line, message),) = told(from_lines(content))
    assert (code, line) == ("NOT_AN_ARCHIVE", None)
    assert f"`mail.jsonl` is not a mail archive: {reason}" in message


def test_newer_archives_are_refused_whole() -> None:
    """Keys may be new, a version may not."""
    newer = b'{"format":"brenner-mail","version":2,"parts":7}\n{"id":1}\n'
    assert [each[:2] for each in told(from_lines(newer))] == [("ARCHIVE_TOO_NEW", 1)]


def changed(**fields: object) -> bytes:
    """An archive of one message, of which some fields are others."""
    header, _, line, *_ = filled(LINES).split("\n")
    return "\n".join([header, json.dumps(json.loads(line) | fields), '{"end":1}']).encode()


NUMBERS: tuple[object, ...] = (0, -1, 2**53, 1.0, "1", True, [], {})
TIMES = (
    *(None, 5, "", "2025-12-30", "2025-12-30T14:22:05", "2025-02-30T14:22:05Z", "20251230T1422"),
    *("0001-01-01T00:00:00+01:00", "2025-12-30T14:22:05.1234567Z", "2025-W01-1T00:00:00Z"),
    *("2025-12-30T14:22:05+25:00", "2025-12-30T14:22:05Z\n", "٢٠٢٥-12-30T14:22:05Z"),
)
NAMES = (None, 5, "", "Blue Lake", "ВlueLake", "x" * 65, "BlueLake\n", "-", ["BlueLake"])
TEXTS = (None, 5, ["x"], "a\0b", "\ud800", "\udfff", "x" * (MOST_BODY_BYTES + 1))
FAULTS: dict[str, tuple[object, ...]] = {
    "id": (None, *NUMBERS),
    "origin_id": (None, *NUMBERS),
    "reply_to": NUMBERS,
    "acknowledges": (None, 5, {}, "1", *([number] for number in NUMBERS), [3, 3]),
    "at": TIMES,
    "read": (None, [], "x", {"RedCreek": None}, {"Stranger": "2025-12-30T14:22:05Z"}),
    "from": NAMES,
    "to": (None, 5, "RedCreek", {}, ["RedCreek", "RedCreek"], *([name] for name in NAMES)),
    "thread_id": TEXTS,
    "subject": TEXTS,
    "body": TEXTS,
    "hash": (None, 5),
    "ack_required": (0, 1, "true", []),
    "local": (0, 1, "true", []),
    "importance": (None, 5, "", "High", "hugely", ["high"]),
    "cc": (None, 5, "RedCreek", {}, ["RedCreek", "RedCreek"], ["Stranger"], ["Blue Lake"]),
    "trust": (None, True, "", "Verified", "none", ["local"]),
}


@pytest.mark.parametrize("key", FAULTS)
def test_every_field_is_checked(key: str) -> None:
    """Type, range and form; the diagnostic names the field and the line."""
    for value in FAULTS[key]:
        ((code, line, message),) = told(from_lines(changed(**{key: value})))
        assert (code, line) == ("INVALID_RECORD", 2), value
        assert f"`{key}`" in message, value


@pytest.mark.parametrize("key", ["agent", "program", "model", "task", "registered_at"])
def test_every_field_of_an_agent_is_checked(key: str) -> None:
    """As of a message; a profile is short."""
    header, line, *_ = filled(LINES).split("\n")
    wrong = {"agent": NAMES, "registered_at": TIMES}.get(key, (*TEXTS[:-1], "x" * 2_001))
    for value in wrong:
        content = f'{header}\n{json.dumps(json.loads(line) | {key: value})}\n{{"end":0}}'
        ((code, number, message),) = told(from_lines(content.encode()))
        assert (code, number) == ("INVALID_RECORD", 2), value
        assert f"`{key}`" in message, value


REQUIRED = ("id", "at", "hash", "thread_id", "from", "to", "subject", "body")


def test_what_may_be_left_out() -> None:
    """What says nothing, or the same as something else; and what is unknown is passed over."""
    header, _, line, *_ = filled(LINES).split("\n")
    members = json.loads(line)
    least = {key: members[key] for key in REQUIRED} | {"priority": {"x": [1, None]}}
    assert from_lines(f'{header}\n{json.dumps(least)}\n{{"end":1}}'.encode()) == [record()]
    for key in REQUIRED:
        rest = {name: value for name, value in members.items() if name != key}
        items = from_lines(f'{header}\n{json.dumps(rest)}\n{{"end":1}}'.encode())
        assert told(items) == [("INVALID_RECORD", 2, words(f"`{key}` is missing"))]


def test_times_of_other_zones_are_instants() -> None:
    """Any ISO form that names its zone."""
    for written in ("2025-12-30T15:22:05+01:00", "20251230T142205Z", "2025-12-30 14:22:05.000Z"):
        assert from_lines(changed(at=written)) == [record()]


BROKEN_LINES = {
    '{"id":1,"id":1}': "it contains the key `id` twice",
    '{"id":1,"read":{"a":1,"a":2}}': "it contains the key `a` twice",
    '{"id":1;}': "it is not valid JSON from character 8 on",
    '{"id":NaN}': "`NaN` is not valid JSON",
    '{"id":' + "1" * 301 + "}": "a number in it has more than 300 digits",
    '{"a":' * 100_000: "its JSON exceeds the limits",
    "[1]": "it is not a JSON object",
    "5": "it is not a JSON object",
    '{"format":"brenner-mail","version":1}': "a second archive starts here; import them "
    "one after the other",
    '{"body":"a\tb"}': "it is not valid JSON from character 11 on",
    '{"agent":"BlueLake","id":1}': "it has `agent` and `id`, but a line can only be one of them",
    '{"id":1,"end":0}': "it has `id` and `end`, but a line can only be one of them",
}


@pytest.mark.parametrize(("line", "reason"), BROKEN_LINES.items(), ids=lambda text: text[:30])
def test_lines_that_are_not_records(line: str, reason: str) -> None:
    """Each is told where it stands, and the records around it are read."""
    header, agent, first, second, end, _ = filled(LINES).split("\n")
    items = from_lines("\n".join([header, agent, line, "", first, second, end]).encode())
    assert told(items) == [("INVALID_RECORD", 3, words(reason))]
    assert [each for each in items if not isinstance(each, Diagnostic)] == [AGENT, *BOTH]


def test_bytes_that_are_not_utf_8() -> None:
    """Told as such, not as broken JSON."""
    content = filled(LINES).encode().replace("ß".encode(), b"\xdf")
    assert told(from_lines(content)) == [("INVALID_RECORD", 4, words("it is not UTF-8"))]


def test_edited_messages_are_told() -> None:
    """Whichever part that the hash covers was changed."""
    for old, new in {
        "Hello.": "Hallo.",
        "INFO: Hello": "INFO: Hallo",
        THREAD: THREAD + "s",
    }.items():
        lines = filled(LINES).replace(old, new, 1)
        assert [each[:2] for each in told(from_lines(lines.encode()))] == [("HASH_MISMATCH", 3)]


def test_an_id_means_one_message() -> None:
    """The same message twice, or two messages: a link to that id would have two ends."""
    reason = words("another message of this archive also has the ID 1")
    for other in (record(), record(subject="INFO: Another")):
        items = from_lines("".join(jsonl.encode([], [record(), other])).encode())
        assert items[0] == record()
        assert told(items) == [("INVALID_RECORD", 3, reason)]


def test_an_agent_is_there_once() -> None:
    """Two profiles of one name: nobody could say which holds."""
    content = "".join(jsonl.encode([AGENT, AGENT], [])).encode()
    reason = words("the agent `BlueLake` occurs twice")
    assert told(from_lines(content)) == [("INVALID_RECORD", 3, reason)]


def test_a_hostile_reason_is_shown_not_obeyed() -> None:
    """What a record says of itself is somebody else's text."""
    ((_, _, message),) = told(from_lines(changed(**{"from": "\x1b[2J" + "x" * 1_000_000})))
    assert "\\x1b[2J" in message
    assert len(message) < 400
