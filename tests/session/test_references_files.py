"""Sessions that are looked up in files; references that are looked at when a message is sent."""

import os
from pathlib import Path

import pytest

from brenner.services.compile import CompileResult
from brenner.services.references import check_references, unresolved_references
from brenner.services.send import SendOptions
from mail_shell import Shell
from session.referring import (
    FIRST,
    SECOND,
    THIRD,
    Referring,
    hypothesis,
    nowhere,
    place,
    references_of,
    to,
)
from session.workspaces import ANN, edit

__all__ = ["place"]
SESSION, ITEM = "UNKNOWN_REFERENCED_SESSION", "UNKNOWN_REFERENCED_ITEM"
UNREADABLE = "SESSION_FILE_UNREADABLE"
CIRCULAR = "CIRCULAR_REFERENCE"


# Files


def test_a_session_that_only_a_file_tells_of(place: Referring) -> None:
    """It is known, its items are, and circles through it are."""
    place.start(FIRST)
    place.file(SECOND, hypothesis("H1", f"extends {FIRST} H1"), hypothesis("H2"))
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1"), to(SECOND, "H2"), to(SECOND, "H9")]))
    done = place.compile(FIRST)
    assert references_of(done, "H1") == [f"extends {SECOND} H2", f"extends {SECOND} H9"]
    assert [each.id for each in done.ledger[0].diagnostics] == [CIRCULAR]
    assert nowhere(done) == [ITEM]


def test_a_file_may_have_more_items_than_the_mail(place: Referring) -> None:
    """What the mail says of an item holds; the file adds what the mail lacks."""
    place.start(FIRST, SECOND)
    place.file(
        SECOND, hypothesis("H1", f"extends {FIRST} H1"), hypothesis("H7", f"refines {FIRST} H1")
    )
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1"), to(SECOND, "H7")]))
    done = place.compile(FIRST)
    assert references_of(done, "H1") == [f"extends {SECOND} H1"]
    assert [each.id for each in done.ledger[0].diagnostics] == [CIRCULAR]
    assert nowhere(done) == []
    place.send(FIRST, edit("H2", references=[to(SECOND, "H7")]))
    assert nowhere(place.compile(FIRST)) == []
    states = {str(status) for _, status in check_references(place.workspace).references}
    assert states == {"active"}


def spoil(path: Path, secret: Path, damage: str) -> None:
    """Something that is not the artifact of its session."""
    match damage:
        case "empty":
            path.write_text("")
        case "binary":
            path.write_bytes(b"\xff\xfe")
        case "link":
            path.symlink_to(secret)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.write_text(secret.read_text("utf-8").replace("second", "2nd"))


@pytest.mark.parametrize("damage", ["empty", "binary", "link", "pipe", "folder", "other session"])
def test_a_damaged_file_is_said_and_stops_nothing(place: Referring, damage: str) -> None:
    """No file outside of `artifacts/` is read, and nothing waits for ever."""
    place.start(FIRST)
    path = place.file(SECOND, hypothesis("H1"))
    secret = place.folder.parent / "secret.md"
    secret.write_text(path.read_text("utf-8"), "utf-8")
    path.unlink()
    spoil(path, secret, damage)
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1"), to(SECOND, "H2")]))
    done = place.compile(FIRST)
    assert (told(done), nowhere(done)) == ([UNREADABLE], [])
    assert done.message
    assert f"## Unresolved References\n- {UNREADABLE}: " in done.message.message.body
    assert [each.id for each in unresolved_references(place.workspace, done.artifact)] == [
        UNREADABLE
    ]
    checked = check_references(place.workspace)
    assert [each.id for each in checked.violations] == [UNREADABLE]
    assert [str(status) for _, status in checked.references] == ["unknown_session"] * 2


def told(done: CompileResult) -> list[str]:
    """What a compile says of files."""
    return [each.id for each in done.warnings if each.id == UNREADABLE]


def test_a_damaged_file_farther_away_is_said(place: Referring) -> None:
    """What leads there may lead back here: nobody can tell. Where nothing is new, nothing can."""
    place.start(FIRST, SECOND)
    path = place.file(THIRD, hypothesis("H1", f"extends {FIRST} H1"))
    place.send(SECOND, edit("H1", references=[to(THIRD, "H1")]))
    place.compile(SECOND)
    path.write_bytes(path.read_bytes() + b"\xff")
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1")]))
    done = place.compile(FIRST)
    assert (told(done), nowhere(done)) == ([UNREADABLE], [])
    assert told(place.compile(FIRST)) == []
    assert told(place.compile(SECOND)) == [UNREADABLE]


def test_a_damaged_file_beside_mail(place: Referring) -> None:
    """It is opened only for what the mail lacks; then both are said: neither explains the other."""
    place.start(FIRST, SECOND)
    place.file(SECOND).write_bytes(b"\xff")
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1")]))
    done = place.compile(FIRST)
    assert (told(done), nowhere(done)) == ([], [])
    place.send(FIRST, edit("H1", references=[to(SECOND, "H7")]))
    done = place.compile(FIRST)
    assert (told(done), nowhere(done)) == ([UNREADABLE], [ITEM])
    assert [each.id for each in check_references(place.workspace).violations] == [ITEM, UNREADABLE]


def test_a_damaged_file_is_said_by_the_status(
    place: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted apart: nobody knows whether the references lead nowhere."""
    place.start(FIRST)
    place.file(SECOND).write_bytes(b"\xff")
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1"), to(THIRD, "H1")]))
    place.compile(FIRST)
    shell = Shell(place.folder, monkeypatch)
    found = shell("session", "status", FIRST, "--json").json["unresolved"]
    assert [each["id"] for each in found] == [SESSION, UNREADABLE]
    shown = shell("session", "status", FIRST).out
    assert "1 broken reference; 1 file with referenced items cannot be read\n" in shown
    assert f"  Cannot read `artifacts/{SECOND}.md` as the artifact of a session: " in shown


def test_a_folder_that_leads_out_of_the_project(place: Referring) -> None:
    """It is not looked into."""
    place.start(FIRST)
    outside = place.folder.parent / "outside"
    outside.mkdir()
    (outside / f"{SECOND}.md").write_text(place.file(SECOND, hypothesis("H1")).read_text("utf-8"))
    (place.folder / "artifacts" / f"{SECOND}.md").unlink()
    (place.folder / "artifacts").rmdir()
    (place.folder / "artifacts").symlink_to(outside)
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1")]))
    place.send(FIRST, edit("H2", references=[to(THIRD, "H1")]))
    done = place.compile(FIRST)
    assert (told(done), nowhere(done)) == ([UNREADABLE], [])
    [found] = check_references(place.workspace).violations
    assert found.id == UNREADABLE
    assert found.message.startswith("Cannot read `artifacts/` as the artifact of a session: `art")


def test_other_files_are_none_of_our_business(place: Referring) -> None:
    """A page of notes has the name of a bead, and is no session."""
    place.start(FIRST)
    place.file(SECOND, hypothesis("H1"))
    artifacts = place.folder / "artifacts"
    (artifacts / "README.md").write_text("What these files are.\n")
    (artifacts / "RS-20251230-second-look.mail.jsonl").write_text("{}\n")
    (artifacts / "not an ID.md").write_text("---\nsession_id: x\n---\n")
    assert check_references(place.workspace).violations == ()


# At sending


def test_sending_tells_what_leads_nowhere_and_in_a_circle(place: Referring) -> None:
    """As things stand; the message goes out all the same."""
    place.start(FIRST, SECOND)
    place.send(SECOND, edit("H1", references=[to(FIRST, "H1")]))
    place.compile(SECOND)
    block = edit(
        "H1", references=[to(SECOND, "H1"), to(SECOND, "H8"), to(THIRD, "H1"), to("x/y", "H1")]
    )
    text = place.send(THIRD, block).message.body
    file = f"Thread: {FIRST}\nFrom: {ANN}\nTo: Operator\nSubject: DELTA[opus]: More\n\n{text}"
    outcome = place.workspace.send(file, SendOptions(actor=ANN))
    assert outcome.sent
    assert [(each.id, each.line) for each in outcome.report.violations] == [
        ("UNKNOWN_REFERENCE", 7),
        ("WOULD_CLOSE_CIRCLE", 7),
        (ITEM, 7),
        (ITEM, 7),
        ("BASE_ASSUMED", None),
    ]


def test_sending_tells_that_a_file_cannot_be_read(place: Referring) -> None:
    """Once, however many references need it."""
    place.start(FIRST)
    place.file(SECOND).write_bytes(b"\xff")
    text = place.send(THIRD, edit("H1", references=[to(SECOND, "H1"), to(SECOND, "H2")])).message
    file = f"Thread: {FIRST}\nFrom: {ANN}\nTo: Operator\nSubject: DELTA[opus]: More\n\n{text.body}"
    outcome = place.workspace.send(file, SendOptions(actor=ANN))
    assert outcome.sent
    assert [each.id for each in outcome.report.violations] == [UNREADABLE, "BASE_ASSUMED"]
