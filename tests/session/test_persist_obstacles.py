"""What is never written over: a newer version, a person's edits, somebody else's file (R19)."""

from pathlib import Path

import pytest

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.mail.model import Profile
from brenner.persist.artifact_file import canonical_text, with_message_id
from brenner.protocol.messages import parse_message_file
from brenner.protocol.validate import check_message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.persist import PersistOptions
from brenner.services.workspace import workspace_in
from session.compile_work import THREAD as SESSION
from session.compile_work import contribution
from session.repositories import (
    ANN,
    BOSS,
    COMMIT,
    PATH,
    THREAD,
    WRITE,
    Bench,
    bench,
    raised,
    settings,
    start_repository,
    text_of,
)

__all__ = ["bench", "settings"]
CLAIM = "ADP release of the front head is slowest"
EDITED = "ADP release of the rear head is slowest"


def put(bench: Bench, text: str) -> str:
    """Put a file there."""
    bench.file.parent.mkdir(exist_ok=True)
    bench.file.write_text(text, "utf-8")
    return text


def refusal(bench: Bench, number: int, options: PersistOptions = COMMIT) -> RequestError:
    """How a version is turned down, before anything is posted and under the lock."""
    before = bench.file.read_bytes()
    with pytest.raises(RequestError) as error:
        bench.check(number, options)
    with pytest.raises(RequestError) as again:
        bench.persist(number, options)
    assert raised(again) == raised(error)
    assert bench.file.read_bytes() == before
    assert bench.infos() == []
    assert bench.log() == ["Begin"]
    return error.value


def accepted(bench: Bench, number: int, options: PersistOptions = COMMIT) -> None:
    """That a version can be persisted."""
    bench.check(number, options)
    bench.persist(number, options)
    assert canonical_text(bench.file.read_text("utf-8")) == text_of(number)


def test_a_newer_file(bench: Bench) -> None:
    """Not even with --force: it would undo other people's work."""
    put(bench, with_message_id(text_of(3), 6))
    for options in (WRITE, COMMIT, PersistOptions(commit=True, force=True)):
        found = refusal(bench, 2, options).diagnostic
        assert found.id == "ARTIFACT_FILE_NEWER"
        said = f"`{PATH}` contains v3, which is newer than v2. Nothing was published."
        assert found.message == said


def test_a_newer_file_that_was_edited(bench: Bench) -> None:
    put(bench, text_of(3).replace(CLAIM, EDITED))
    assert refusal(bench, 2).diagnostic.id == "ARTIFACT_FILE_NEWER"


@pytest.mark.parametrize("there", [1, 2])
def test_a_file_that_equals_any_version(bench: Bench, there: int) -> None:
    """Whatever the id of its message, however its lines end."""
    put(bench, with_message_id(text_of(there), 4711).replace("\n", "\r\n"))
    accepted(bench, 2)


def test_the_same_version_with_other_line_ends_is_written_as_it_is(bench: Bench) -> None:
    put(bench, text_of(2).replace("\n", "\r\n"))
    accepted(bench, 2)
    assert b"\r" not in bench.file.read_bytes()


@pytest.mark.parametrize("base", [1, 2])
def test_edited_by_hand(bench: Bench, base: int) -> None:
    """The refusal shows the difference, and the DELTA[human] that would bring the edits in."""
    put(bench, with_message_id(text_of(base), 2).replace(CLAIM, EDITED))
    error = refusal(bench, 2)
    difference, *others = error.details
    assert error.diagnostic.id == "ARTIFACT_FILE_EDITED"
    assert f"-**Claim**: {CLAIM}\n+**Claim**: {EDITED}\n" in difference
    assert difference.startswith(f"--- v{base}\n+++ {PATH}\n")
    assert not others
    delta = error.diagnostic.repaired
    assert delta
    assert check_message(delta).valid
    message = parse_message_file(delta).message
    assert (message.thread_id, message.sender, message.recipients) == (THREAD, BOSS, (ANN,))
    assert message.subject.startswith("DELTA[human]: ")
    assert f"**Base Version**: v{base}" in message.body
    assert EDITED in message.body


def test_edits_that_the_new_version_has_are_no_obstacle(bench: Bench) -> None:
    """As it is when the DELTA[human] was sent and compiled: v2 has a hypothesis more than v1."""
    heading = "### H4: "
    assert heading not in text_of(1)
    block = heading + text_of(2).partition(heading)[2].partition("\n## ")[0].rstrip()
    put(bench, text_of(1).replace("## 3. ", f"{block}\n\n## 3. ", 1))
    accepted(bench, 2)


def test_the_same_words_in_another_form_are_no_obstacle(bench: Bench) -> None:
    """Nothing is lost with blank lines; the text reads the same."""
    put(bench, text_of(1).replace("\n\n**Mechanism**", "\n\n\n\n**Mechanism**"))
    accepted(bench, 2)


def test_a_note_between_the_fields_is_an_edit(bench: Bench) -> None:
    """No delta can bring it in, but it is somebody's."""
    put(bench, text_of(1).replace("## 3. ", "Ask Sydney about this.\n\n## 3. ", 1))
    error = refusal(bench, 2)
    difference, *others = error.details
    assert error.diagnostic.id == "ARTIFACT_FILE_EDITED"
    assert "+Ask Sydney about this." in difference
    assert others
    assert error.diagnostic.repaired is None


def test_edited_front_matter(bench: Bench) -> None:
    put(bench, text_of(1).replace('status: "draft"', 'status: "closed"'))
    error = refusal(bench, 2)
    _, *others = error.details
    assert error.diagnostic.id == "ARTIFACT_FILE_EDITED"
    assert others


def test_force_gives_edits_up(bench: Bench) -> None:
    put(bench, text_of(1).replace(CLAIM, EDITED))
    accepted(bench, 2, PersistOptions(commit=True, force=True))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# Notes\n\nMy own.\n", "no front matter with a version"),
        ("", "no front matter with a version"),
        (text_of(1).replace(THREAD, "RS-20260108-other"), "session `RS-20260108-other`"),
        (text_of(1).replace("version: 1", "version: 0"), "v0, which is not in this store"),
    ],
)
def test_a_file_that_is_no_version(bench: Bench, text: str, reason: str) -> None:
    put(bench, text)
    found = refusal(bench, 2).diagnostic
    assert found.id == "ARTIFACT_FILE_FOREIGN"
    assert reason in found.message
    accepted(bench, 2, PersistOptions(commit=True, force=True))


def test_an_unfinished_merge_in_the_file(bench: Bench) -> None:
    """It is still somebody's to resolve."""
    mine, theirs = f"**Claim**: {CLAIM}\n", f"**Claim**: {EDITED}\n"
    both = f"<<<<<<< HEAD\n{mine}=======\n{theirs}>>>>>>> side\n"
    put(bench, text_of(1).replace(mine, both))
    assert refusal(bench, 2).diagnostic.id == "ARTIFACT_FILE_EDITED"


def test_a_file_that_is_no_text(bench: Bench) -> None:
    bench.file.parent.mkdir()
    bench.file.write_bytes(b"\xff\xfe\x00")
    found = refusal(bench, 2).diagnostic
    assert (found.id, "it is not UTF-8" in found.message) == ("ARTIFACT_FILE_FOREIGN", True)
    accepted(bench, 2, PersistOptions(commit=True, force=True))


def test_edits_come_back_as_a_delta(tmp_path: Path, settings: Path) -> None:
    """R19, the whole way: refused before anything is posted, sent, compiled, persisted."""
    start_repository(make_folder(tmp_path / "project"))
    wish = CompileOptions(persist=PersistOptions(commit=True))
    with workspace_in(Project(tmp_path / "project"), None, create=True) as workspace:
        workspace.mailbox.register(Profile(ANN))
        workspace.mailbox.send(contribution(ANN, 1))
        compile_thread(workspace, SESSION, wish)
        file = tmp_path / "project" / "artifacts" / f"{SESSION}.md"
        file.write_text(file.read_text("utf-8").replace("assumes 1", "is sure of 1"), "utf-8")
        workspace.mailbox.send(contribution(ANN, 2))
        before = workspace.mailbox.position()
        with pytest.raises(RequestError, match="ARTIFACT_FILE_EDITED") as error:
            compile_thread(workspace, SESSION, wish)
        assert workspace.mailbox.position() == before
        assert error.value.diagnostic.repaired
        assert workspace.send(error.value.diagnostic.repaired).sent
        done = compile_thread(workspace, SESSION, wish)
        assert (done.version, done.persistence.status) == (2, "Persisted")
        assert "is sure of 1" in file.read_text("utf-8")


def make_folder(folder: Path) -> Path:
    """A folder that was not there."""
    folder.mkdir()
    return folder
