"""`artifact verify`: every version from the mail alone, from an archive alone, and where it fails.

And `artifact lint` of a version.
"""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import StoredMessage
from mail_shell import Shell, store_of
from replayed_histories import Played, on, play, post


@pytest.fixture
def archive(shell: Shell, conflict: Played, tmp_path: Path) -> Path:
    """All mail of the thread as an archive."""
    path = tmp_path / "mail.jsonl"
    assert on(shell, conflict)("mail", "export", str(path)).code == 0
    return path


def mail_of(played: Played) -> tuple[StoredMessage, ...]:
    """The thread as it is stored."""
    with SqliteMailbox.open(store_of(played.folder)) as mailbox:
        return mailbox.thread(played.thread_id).messages


def copied(played: Played, folder: Path, message_id: int, old: str, new: str) -> None:
    """The same thread in another store, with one word of one message replaced."""
    for stored in mail_of(played):
        message = stored.message
        if stored.id == message_id:
            assert old in message.body
            message = message._replace(body=message.body.replace(old, new))
        post(folder, stored.at, message)


def test_every_version_follows_from_the_mail(shell: Shell, conflict: Played) -> None:
    """A line for each; the hash is that of the exact text; exit code 0."""
    here = on(shell, conflict)
    hashes = [sha256(each.text.encode()).hexdigest() for each in conflict.versions]
    done = here("artifact", "verify", conflict.thread_id)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"{conflict.thread_id}, rebuilt from the mail\n"
        + "".join(f"  v{n}  ok       SHA-256 {each}\n" for n, each in enumerate(hashes, 1))
        + "All 4 versions rebuild from the mail, byte for byte.\n"
    )
    document = here("artifact", "verify", conflict.thread_id, "--json").json
    assert document["ok"] is True
    assert document["archive"] is None
    assert document["versions"] == [
        {"version": n, "ok": True, "artifact_sha256": each, "difference": None}
        for n, each in enumerate(hashes, 1)
    ]
    one = here("artifact", "verify", f"{conflict.thread_id}@v2", "--json").json
    assert one["versions"] == document["versions"][1:2]


def test_a_message_that_was_altered(shell: Shell, conflict: Played) -> None:
    """The version that had read it does not follow; exit code 1, the first difference, what to do.

    Those before it still do.
    """
    copied(conflict, shell.folder, 4, "Two months", "Two years")
    done = shell("artifact", "verify", conflict.thread_id)
    assert done.code == 1
    assert "  v1  ok       SHA-256 " in done.out
    assert "  v2  differs  SHA-256 " in done.out
    assert "      message 4 of 2026-01-14T09:40:00Z, which the version includes, is not" in done.out
    assert "v3" not in done.out
    assert f"To withdraw it: `brenner session void {conflict.thread_id}@v2`." in done.out
    document = shell("artifact", "verify", conflict.thread_id, "--json").json
    assert document["ok"] is False
    assert [each["ok"] for each in document["versions"]] == [True, False]
    assert document["versions"][1]["difference"].startswith("message 4 of")
    assert shell("artifact", "verify", f"{conflict.thread_id}@v1").code == 0
    later = shell("artifact", "verify", f"{conflict.thread_id}@v4", "--json")
    assert (later.code, [each["version"] for each in later.json["versions"]]) == (1, [2])
    history = shell("artifact", "history", conflict.thread_id)
    assert "message 6: not a version  RECORD_MISMATCH\n" in history.out
    assert "← latest" in history.out


def test_an_artifact_that_was_altered(shell: Shell, tmp_path: Path) -> None:
    """In the COMPILED message itself: the line is named, as it is and as it should be."""
    played = play("one_round", tmp_path / "own")
    compiled = next(each for each in mail_of(played) if each.type == "COMPILED")
    text = played.versions[0].text
    claim = next(line for line in text.split("\n") if line.startswith("**Claim**"))
    copied(played, shell.folder, compiled.id, claim, "**Claim**: Something else")
    done = shell("artifact", "verify", played.thread_id)
    number = text.split("\n").index(claim) + 1
    assert done.code == 1
    assert (
        f"line {number} of the artifact is `**Claim**: Something else` in the message" in done.out
    )


def test_from_an_archive_alone(shell: Shell, conflict: Played, archive: Path) -> None:
    """In an empty project, by name, or beside the artifact; nothing is written."""
    done = shell("artifact", "verify", conflict.thread_id, "--archive", str(archive), "--json")
    assert (done.code, done.json["ok"], done.json["archive"]) == (0, True, str(archive))
    assert len(done.json["versions"]) == 4
    assert shell("artifact", "verify", conflict.thread_id).code == 1
    beside = shell.folder / "artifacts" / f"{conflict.thread_id}.mail.jsonl"
    beside.parent.mkdir()
    beside.write_bytes(archive.read_bytes())
    done = shell("artifact", "verify", conflict.thread_id)
    assert done.code == 0
    assert done.out.startswith(f"{conflict.thread_id}, rebuilt from {beside}\n")
    assert not store_of(shell.folder).exists()


def test_an_archive_that_was_altered(shell: Shell, conflict: Played, archive: Path) -> None:
    """One whose mail was altered is refused as a whole: the hash of the message tells."""
    text = archive.read_text("utf-8")
    archive.write_text(text.replace("Two months with CRISPR", "Two years with CRISPR"), "utf-8")
    done = shell("artifact", "verify", conflict.thread_id, "--archive", str(archive), "--json")
    assert done.code == 1
    assert done.codes != []
    assert done.json["ok"] is False


def test_an_archive_that_cannot_be_had(shell: Shell, conflict: Played, tmp_path: Path) -> None:
    """Missing, a folder, no archive, another thread's."""
    for name in ("none.jsonl", "."):
        done = shell("artifact", "verify", conflict.thread_id, "--archive", name)
        assert (done.code, done.out) == (2, "")
        assert "UNREADABLE_INPUT" in done.err
    (tmp_path / "notes.txt").write_text("Not an archive.\n", "utf-8")
    done = shell("artifact", "verify", conflict.thread_id, "--archive", "notes.txt", "--json")
    assert (done.code, done.json["ok"]) == (1, False)
    assert shell("artifact", "verify", "artifacts/x.md").code == 2


def test_another_thread_than_the_archive_has(shell: Shell, archive: Path) -> None:
    """Nothing to verify is no success."""
    done = shell("artifact", "verify", "RS-20260114-other", "--archive", str(archive), "--json")
    assert (done.code, done.codes, done.json["ok"]) == (1, ["UNKNOWN_THREAD"], False)


# lint


def test_lint_of_a_version(shell: Shell, conflict: Played, tmp_path: Path) -> None:
    """As of its file, line by line; the place is the version."""
    here, thread = on(shell, conflict), conflict.thread_id
    path = tmp_path / "v2.md"
    path.write_text(conflict.versions[1].text, "utf-8")
    of_version, of_file = (here("artifact", "lint", each) for each in (f"{thread}@v2", str(path)))
    assert of_version.code == of_file.code == 1
    assert of_version.out == of_file.out.replace(str(path), f"{thread}@v2")
    document = here("artifact", "lint", f"{thread}@v2", "--json").json
    assert (document["file"], document["version"], document["source"]) == (None, 2, "mail")
    assert [each["id"] for each in document["notes"]] == ["ANCHORS_NOT_CHECKED"]
    file = here("artifact", "lint", str(path), "--json").json
    assert document["violations"] == file["violations"]


def test_lint_looks_into_the_source_text(shell: Shell, tmp_path: Path) -> None:
    """Of a version in the one that the project names; one that cannot be read is told."""
    played = play("three_agents", tmp_path / "own")
    here = on(shell, played)
    (played.folder / "brenner.toml").write_text('source_text = "talks.md"\n', "utf-8")
    done = here("artifact", "lint", played.thread_id)
    assert "talks.md" in done.err
    (played.folder / "talks.md").write_text("## §7 One\n\n## §9 Two\n", "utf-8")
    document = here("artifact", "lint", played.thread_id, "--json").json
    cited = [each for each in document["violations"] if "§8" in each["message"]]
    assert len(cited) == 1
    other = tmp_path / "other.md"
    other.write_text("".join(f"## §{n} Title\n\n" for n in range(1, 20)), "utf-8")
    found = here("artifact", "lint", played.thread_id, "--source-text", str(other), "--json").json
    assert [each for each in found["violations"] if "§8" in each["message"]] == []


def test_lint_as_sarif_of_what_is_not_there(shell: Shell) -> None:
    """A run that failed, with the code."""
    done = shell("artifact", "lint", "RS-20260114-nobody", "--sarif")
    (run,) = json.loads(done.out)["runs"]
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (done.code, told["descriptor"]["id"]) == (1, "UNKNOWN_THREAD")
