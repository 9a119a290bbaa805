"""Archives of mail, by example: what the files look like, and what survives in them."""

import mailbox
from pathlib import Path

import pytest

from archive_samples import (
    AGENT,
    BOTH,
    LINES,
    MAILS,
    filled,
    from_lines,
    from_mails,
    record,
    told,
    words,
)
from brenner.mail.archive import jsonl, mbox
from brenner.mail.model import MessageRecord
from brenner.protocol.messages import content_hash


def test_json_lines_look_like_this() -> None:
    """The format is a promise: keys, their order, and nothing else."""
    assert "".join(jsonl.encode([AGENT], BOTH)) == filled(LINES)
    assert from_lines(filled(LINES).encode()) == [AGENT, *BOTH]


def test_an_mbox_looks_like_this() -> None:
    """The format is a promise; mail programs see a thread of two mails."""
    assert b"".join(mbox.encode([AGENT], BOTH)).decode() == filled(MAILS)
    assert from_mails(filled(MAILS).encode()) == list(BOTH)


def test_another_programs_line_ends_do_no_harm() -> None:
    """As a Windows program would save the file."""
    assert from_lines(filled(LINES).replace("\n", "\r\n").encode()) == [AGENT, *BOTH]
    assert from_mails(filled(MAILS).replace("\n", "\r\n").encode()) == list(BOTH)
    assert from_lines(b"\xef\xbb\xbf" + filled(LINES).encode() + b"\n\n") == [AGENT, *BOTH]


def test_encoded_words_of_other_programs_are_read() -> None:
    """In capitals, and with half a character at the end of a word, as some write them."""
    ours = "=?utf-8?q?QUESTION=3A_Wie_s=C3=BC=C3=9F=3F?="
    theirs = "=?UTF-8?B?UVVFU1RJT046?= =?UTF-8?Q?_Wie_s=c3=bc=c3?=\n\t=?UTF-8?B?nz8=?="
    assert ours in filled(MAILS)
    assert from_mails(filled(MAILS).replace(ours, theirs).encode()) == list(BOTH)


def test_an_mbox_survives_a_mail_program(tmp_path: Path) -> None:
    """Python's mailbox reads every mail and writes it anew, headers folded in its own way."""
    odd = ["a\r\nb", "From here\n>From there\n", "x" * 2_000, "", "\n\n", " \n"]
    subjects = ["INFO: " + "long words " * 9 + "end", "=?utf-8?q?no?=", " x", "a\nb", "é" * 99, ""]
    records = [
        record(number, subject, body)
        for number, (subject, body) in enumerate(zip(subjects, odd, strict=True), 1)
    ]
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"".join(mbox.encode([], records)))
    one, other = mailbox.mbox(first), mailbox.mbox(second)
    for mail in one:
        mail["X-Status"] = "seen"
        other.add(mail)
    other.close()
    one.close()
    assert b"X-Status: seen" in second.read_bytes()
    found = from_mails(second.read_bytes())
    assert told(found) == []
    assert [each.stored.message for each in found if isinstance(each, MessageRecord)] == [
        each.stored.message for each in records
    ]


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        ("", b"8bit"),
        ("Bücher\nFrom A\n\tto B 🧬\n", b"8bit"),
        ("no line feed at the end", b"8bit"),
        ("x" * 998, b"8bit"),
        ("x" * 999, b"base64"),
        ("From " + "x" * 992, b"8bit"),
        ("From " + "x" * 993, b"base64"),
        ("a\rb", b"base64"),
        ("a\r\nb\r\n", b"base64"),
        ("\x1b[31mred", b"base64"),
        ("a\u2028b", b"base64"),
    ],
)
def test_clean_bodies_stay_readable(body: str, encoding: bytes) -> None:
    """Only what mail would not keep is wrapped."""
    (mail,) = mbox.encode([], [record(body=body)])
    longest = max(map(len, mail.split(b"\n")))
    assert b"\nContent-Transfer-Encoding: " + encoding + b"\n" in mail
    assert longest <= 998
    assert from_mails(mail) == [record(body=body)]


def test_a_subject_cannot_bring_headers() -> None:
    """Nor can a body, a thread or the end of a line."""
    nasty = "x\r\nX-Brenner-Id: 5\nX-Brenner-Id: 6\n\nFrom a@b Tue Dec 30 14:22:05 2025\nSubject: y"
    each = record(subject=nasty, body=nasty)
    message = each.stored.message._replace(thread_id=nasty)
    stored = each.stored._replace(message=message, content_hash=content_hash(message))
    content = b"".join(mbox.encode([], [each._replace(stored=stored)]))
    assert content.count(b"\nX-Brenner-Id:") == 1
    assert from_mails(content) == [each._replace(stored=stored)]


def test_what_is_not_a_name_never_becomes_one() -> None:
    """No store lets it in; if it came here all the same, it could not be taken for anybody."""
    each = record()
    message = each.stored.message._replace(recipients=("Red\nCreek",))
    content = b"".join(
        mbox.encode([], [each._replace(stored=each.stored._replace(message=message))])
    )
    assert told(from_mails(content)) == [
        ("INVALID_RECORD", 1, words("`To` is not `Name <Name@brenner.invalid>`"))
    ]
