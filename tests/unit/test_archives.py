"""Archives of mail, by example: what the files look like, and what survives in them."""

import pytest

from archive_samples import (
    AGENT,
    BOTH,
    LINES,
    MAILS,
    filled,
    from_lines,
    record,
)
from brenner.mail.archive import jsonl, mbox


def test_json_lines_look_like_this() -> None:
    """The format is a promise: keys, their order, and nothing else."""
    assert "".join(jsonl.encode([AGENT], BOTH)) == filled(LINES)
    assert from_lines(filled(LINES).encode()) == [AGENT, *BOTH]


def test_an_mbox_looks_like_this() -> None:
    """Mail programs see a thread of two mails."""
    written = b"".join(mbox.encode(BOTH)).decode()
    assert written.replace("Hash: \n ", "Hash: ") == filled(MAILS)


def test_another_programs_line_ends_do_no_harm() -> None:
    """As a Windows program would save the file."""
    assert from_lines(filled(LINES).replace("\n", "\r\n").encode()) == [AGENT, *BOTH]
    assert from_lines(b"\xef\xbb\xbf" + filled(LINES).encode() + b"\n\n") == [AGENT, *BOTH]


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        ("", b"7bit"),
        ("Bücher\nFrom A\n\tto B 🧬\n", b"8bit"),
        ("no line feed at the end", b"7bit"),
        ("x" * 998, b"base64"),
        ("a\r\nb\r\n", b"base64"),
        ("\x1b[31mred", b"base64"),
        ("a\u2028b", b"base64"),
    ],
)
def test_clean_bodies_stay_readable(body: str, encoding: bytes) -> None:
    """Only what mail would not keep is wrapped."""
    (mail,) = mbox.encode([record(body=body)])
    assert b"\nContent-Transfer-Encoding: " + encoding + b"\n" in mail
    assert max(map(len, mail.split(b"\n"))) <= 998


def test_a_subject_cannot_bring_headers() -> None:
    """Nor can a body, a thread or the end of a line."""
    nasty = "x\r\nX-Brenner-Id: 5\nX-Brenner-Id: 6\n\nFrom a@b Tue Dec 30 14:22:05 2025\nSubject: y"
    each = record(subject=nasty, body=nasty)
    message = each.stored.message._replace(thread_id=nasty, recipients=("Red\nCreek",))
    content = b"".join(mbox.encode([each._replace(stored=each.stored._replace(message=message))]))
    assert content.count(b"\nX-Brenner-Id:") == 1
    assert content.count(b"\nSubject:") == 1
    assert b"\nTo: - <-@brenner.invalid>\n" in content
