"""One long message does not fill what an agent reads: every list cuts bodies, and says so."""

from pathlib import Path
from typing import Any

import pytest

from brenner.limits import MOST_BODY_BYTES, MOST_LISTED_CHARACTERS, MOST_PREVIEW_CHARACTERS
from brenner.mail.archive.jsonl import decode
from brenner.mail.model import MessageRecord, beginning, in_list
from brenner.protocol.messages import Message
from mail_shell import Shell, posted
from session.watch_process import watching

THREAD = "bd-1"
# One line of 3.8 MB, and many long lines
LINE = "Zug " + "é" * 1_900_000 + "\n"
LINES = "".join(f"line {number} {'y' * 400}\n" for number in range(9_000))
_MOST_LISTED = 30_000  # of two messages as JSON: ASCII, so six bytes for a character like é
_MOST_SHOWN = 6_000


@pytest.fixture
def long_mail(shell: Shell) -> Shell:
    """A project with both, as import or another program may put them there."""
    for subject, body in (("CRITIQUE: one line", LINE), ("QUESTION: many lines", LINES)):
        assert len(body.encode()) < MOST_BODY_BYTES
        posted(shell.folder, Message(THREAD, "Operator", ("BlueLake",), subject, body))
    return shell


def _messages(document: Any) -> list[dict[str, Any]]:
    listed = document.get("messages") or document["pending"]
    return [each.get("message", each) for each in listed]


_LISTS = [
    ["thread", THREAD],
    ["inbox", "--as", "BlueLake"],
    ["search", "line"],
    ["pending"],
]


@pytest.mark.parametrize("command", _LISTS, ids=lambda command: command[0])
def test_lists_in_json(long_mail: Shell, command: list[str]) -> None:
    """Cut at 4,000 characters, with how to get the rest; `--bodies` gives all."""
    done = long_mail.mail(*command, "--json")
    assert len(done.raw) < _MOST_LISTED
    whole = {
        each["id"]: each for each in _messages(long_mail.mail(*command, "--json", "--bodies").json)
    }
    cut = _messages(done.json)
    assert len(cut) == len(whole) == 2
    for each in cut:
        body = whole[each["id"]]["body"]
        assert body in (LINE, LINES)
        assert each["body"] == body[:MOST_LISTED_CHARACTERS]
        assert each["body_truncated"] is True
        assert "body_truncated" not in whole[each["id"]]
        program, *arguments = each["body_command"].split()
        assert program == "brenner"
        assert long_mail(*arguments).json["body"] == body


@pytest.mark.parametrize("command", _LISTS, ids=lambda command: command[0])
def test_lists_as_text(long_mail: Shell, command: list[str]) -> None:
    done = long_mail.mail(*command)
    assert len(done.raw) < _MOST_SHOWN
    refused = long_mail("mail", *command, "--bodies")
    assert (refused.code, "--bodies needs --json" in refused.err) == (2, True)


def test_a_thread_is_folded_by_characters(long_mail: Shell) -> None:
    """Also in a pipe; each cut says how to get the rest, and that command gives it."""
    first, second = long_mail.mail("thread", THREAD).out.split("QUESTION: many lines")
    assert first.count("é") == MOST_PREVIEW_CHARACTERS - len("Zug ")
    assert "… cut, 1,900,004 characters in all: `brenner mail show 1`" in first
    assert second.count("y") < MOST_PREVIEW_CHARACTERS + 10
    assert "characters in all: `brenner mail show 2`" in second
    assert "é" * 1_900_000 in long_mail.mail("show", "1").out
    assert LINES in long_mail.mail("show", "2", "--raw").out
    assert LINES in long_mail.mail("thread", THREAD, "--raw").out
    assert "é" * 1_900_000 in long_mail.mail("thread", THREAD, "--full").out


def test_short_bodies_stay_as_they_are(shell: Shell) -> None:
    """A body at the limit is not cut, in neither form."""
    limit = "x" * MOST_LISTED_CHARACTERS
    posted(shell.folder, Message(THREAD, "Operator", ("BlueLake",), "INFO: limit", limit))
    (listed,) = shell.mail("thread", THREAD, "--json").json["messages"]
    assert (listed["body"], "body_truncated" in listed) == (limit, False)
    preview = "x" * MOST_PREVIEW_CHARACTERS
    posted(shell.folder, Message(THREAD, "Operator", ("BlueLake",), "INFO: short", preview))
    shown = shell.mail("thread", THREAD, "--after", "1").out
    assert preview in shown
    assert "cut" not in shown


def test_the_archive_has_all(long_mail: Shell, tmp_path: Path) -> None:
    """Neither an export nor a copy goes through a list."""
    long_mail.mail("export", str(tmp_path / "mail.jsonl"))
    with (tmp_path / "mail.jsonl").open("rb") as file:
        found = [each for each in decode(file, "mail") if isinstance(each, MessageRecord)]
    assert [each.stored.message.body for each in found] == [LINE, LINES]
    target = str(tmp_path / "copy.sqlite3")
    assert long_mail("mail", "copy", "--to", target).code == 0
    for number, body in ((1, LINE), (2, LINES)):
        assert (
            long_mail("mail", "show", str(number), "--json", "--store", target).json["body"] == body
        )


def test_events_are_cut(shell: Shell) -> None:
    """An agent may follow a session, too."""
    assert shell("init").code == 0
    with watching(shell.folder) as cut, watching(shell.folder, "--bodies") as whole:
        posted(shell.folder, Message(THREAD, "Operator", ("BlueLake",), "INFO: long", LINES))
        shown = cut.event("message")["message"]
        assert shown["body"] == LINES[:MOST_LISTED_CHARACTERS]
        assert (shown["body_truncated"], shown["id"]) == (True, 1)
        assert whole.event("message")["message"]["body"] == LINES


@pytest.mark.parametrize(("text", "most"), [("", 0), ("abc", 3), ("abc", 2), ("é😀", 1)])
def test_one_function_cuts(text: str, most: int) -> None:
    start, is_cut = beginning(text, most)
    assert text.startswith(start)
    assert len(start) == min(most, len(text))
    assert is_cut == (start != text)


def test_other_keys_stay() -> None:
    message: dict[str, object] = {"id": 7, "body": "x" * 5_000, "subject": "s"}
    cut = in_list(message, bodies=False)
    assert {key: cut[key] for key in ("id", "subject")} == {"id": 7, "subject": "s"}
    assert cut["body_command"] == "brenner mail show 7 --json"
    assert in_list(message, bodies=True) == message
