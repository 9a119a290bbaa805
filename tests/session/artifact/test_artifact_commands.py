"""The artifact commands on threads, over a real store: show, history, diff; what is not there."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from brenner.artifact.parse import parse_artifact
from brenner.artifact.serialize import artifact_json
from brenner.artifact.text_diff import unified_diff
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from mail_shell import Shell, store_of
from replayed_histories import OPERATOR, Played, compiled_ids, on, play, post

LATER = datetime(2026, 3, 1, 12, tzinfo=UTC)
COMMANDS = ("show", "history", "diff", "blame", "ledger", "verify", "lint", "export")


# show


def test_show_writes_the_exact_version(shell: Shell, conflict: Played) -> None:
    """Into a pipe goes every byte of the version; without a number, of the latest."""
    here = on(shell, conflict)
    for compiled in conflict.versions:
        done = here("artifact", "show", f"{conflict.thread_id}@v{compiled.version}")
        assert (done.code, done.err) == (0, "")
        assert done.raw == compiled.text.encode()
    assert here("artifact", "show", conflict.thread_id).raw == conflict.versions[-1].text.encode()


def test_show_as_json(shell: Shell, conflict: Played) -> None:
    """The artifact as everywhere, with where it comes from, conflicts and the linter's verdict."""
    document = on(shell, conflict)("artifact", "show", f"{conflict.thread_id}@v2", "--json").json
    compiled = conflict.versions[1]
    artifact = parse_artifact(compiled.text).artifact
    ids = compiled_ids(conflict)
    assert document == {
        "thread_id": conflict.thread_id,
        "version": 2,
        "source": "mail",
        "message_id": ids[1],
        **artifact_json(artifact),
        "conflicts": [each.to_json() for each in compiled.conflicts],
        "lint": {"valid": False, "summary": compiled.lint.summary._asdict()},
        "violations": [],
        "summary": {"errors": 0, "warnings": 0, "info": 0},
    }
    assert len(document["conflicts"]) == 2


def test_one_item(shell: Shell, conflict: Played) -> None:
    """Its fields and its conflicts, for people and as JSON; an ID that is not there is refused."""
    here = on(shell, conflict)
    done = here("artifact", "show", f"{conflict.thread_id}@v2", "--item", "T1")
    assert done.out == (
        "  T1  Intronless Hes  8/12\n"
        "      Procedure      Remove the introns of her7\n"
        "      Discriminates  H1 vs H2\n"
        "      Expected H1    faster clock\n"
        "      Expected H2    same clock\n"
        "      Feasibility    Two weeks with a morpholino\n"
        "      Score          likelihood ratio 3, cost 2, speed 3\n"
        "      Open conflict: Feasibility\n"
        "      RedSky, message 5, v2 (current)\n"
        "        Two weeks with a morpholino\n"
        "      BlueLake, message 4, v2\n"
        "        Two months with CRISPR knock-in\n"
    )
    document = here("artifact", "show", f"{conflict.thread_id}@v2", "--item", "T1", "--json").json
    assert (document["section"], document["item"]["id"]) == ("discriminative_tests", "T1")
    assert [each["field"] for each in document["conflicts"]] == ["feasibility"]
    question = here("artifact", "show", conflict.thread_id, "--item", "RT", "--json").json
    assert question["item"]["statement"].startswith("Is the period")
    for options in ([], ["--json"]):
        done = here("artifact", "show", conflict.thread_id, "--item", "H9", *options)
        assert done.code == 1
        assert "NO_SUCH_ITEM" in done.out + done.err


def test_a_file_comes_before_a_thread(
    shell: Shell, conflict: Played, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file of the thread's name is the file; with @vN it is the thread; a folder is no file."""
    monkeypatch.chdir(tmp_path)
    here = on(shell, conflict)
    (tmp_path / conflict.thread_id).mkdir()
    assert here("artifact", "show", conflict.thread_id).code == 0
    (tmp_path / conflict.thread_id).rmdir()
    (tmp_path / conflict.thread_id).write_text(conflict.versions[0].text, "utf-8")
    assert here("artifact", "show", conflict.thread_id).out == conflict.versions[0].text
    latest = here("artifact", "show", f"{conflict.thread_id}@v4")
    assert latest.out == conflict.versions[3].text


def test_a_later_file_is_told(shell: Shell, tmp_path: Path) -> None:
    """The mail is shown all the same (dual-source rule)."""
    played = play("one_round", tmp_path / "own")
    here = on(shell, played)
    folder = played.folder / "artifacts"
    folder.mkdir()
    text = played.versions[0].text.replace("version: 1", "version: 7")
    (folder / f"{played.thread_id}.md").write_text(text, "utf-8")
    done = here("artifact", "show", played.thread_id)
    assert (done.code, done.out) == (0, played.versions[0].text)
    assert "FILE_AHEAD_OF_MAIL" in done.err
    document = here("artifact", "show", played.thread_id, "--json").json
    assert [each["id"] for each in document["violations"]] == ["FILE_AHEAD_OF_MAIL"]
    assert document["violations"][0]["target"] == f"{played.thread_id}@v1"
    assert document["summary"]["warnings"] == 1


def test_a_persisted_session_without_its_mail(shell: Shell, conflict: Played) -> None:
    """The file is shown, and said to be the file; who set what is not known from it."""
    folder = shell.folder / "artifacts"
    folder.mkdir()
    text = conflict.versions[3].text
    (folder / f"{conflict.thread_id}.md").write_text(text, "utf-8")
    done = shell("artifact", "show", conflict.thread_id)
    assert (done.code, done.out) == (0, text)
    assert "SHOWN_FROM_FILE" in done.err
    document = shell("artifact", "show", f"{conflict.thread_id}@v4", "--json").json
    assert (document["source"], document["message_id"]) == ("file", None)
    assert shell("artifact", "show", f"{conflict.thread_id}@v3").code == 1
    for command in ("blame", "ledger"):
        done = shell("artifact", command, conflict.thread_id, "--json")
        assert (done.code, done.codes) == (1, ["AUTHORS_NOT_KNOWN"])
    assert not store_of(shell.folder).exists()


# What is not there

UNKNOWN = "RS-20260114-nobody-knows"


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_not_there(shell: Shell, conflict: Played, command: str) -> None:
    """Exit code 1 with the code; as JSON one document with the keys that it always has."""
    here = on(shell, conflict)
    more = ["--output", "new.html", "--force"] if command == "export" else []
    targets = {UNKNOWN: "UNKNOWN_THREAD", "RS-20260114-Capital": "INVALID_RS_THREAD_ID"}
    if command != "history":
        targets[f"{conflict.thread_id}@v9"] = "UNKNOWN_VERSION"
    fine = here("artifact", command, conflict.thread_id, "--json", *more).json
    for target, code in targets.items():
        done = here("artifact", command, target, *more)
        assert (done.code, done.out) == (1, "")
        assert code in done.err
        done = here("artifact", command, target, "--json", *more)
        assert (done.code, done.err, done.codes) == (1, "", [code])
        assert set(fine) - set(done.json) == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_before_the_first_version(shell: Shell, command: str) -> None:
    """A thread that has only mail: the history is empty and says how to begin it; all else is
    refused with the command.
    """
    sent = Message("RS-20260114-young", "BlueLake", (OPERATOR,), "QUESTION: Which?", "x\n")
    post(shell.folder, LATER, sent)
    done = shell("artifact", command, "RS-20260114-young")
    if command == "history":
        assert (done.code, done.err) == (0, "")
        assert "To publish the first: `brenner compile RS-20260114-young`" in done.out
        return
    assert (done.code, done.out) == (1, "")
    assert "NO_VERSION_YET" in done.err
    assert "`brenner compile RS-20260114-young`" in done.err


# history


def test_history(shell: Shell, conflict: Played) -> None:
    """The tree of the publish document."""
    done = on(shell, conflict)("artifact", "history", conflict.thread_id)
    lines = done.out.splitlines()
    stamps = [compiled.artifact.metadata.compiled_at for compiled in conflict.versions]
    assert lines[0] == f"Thread: {conflict.thread_id}"
    assert lines[1:9:2] == [
        f"├── COMPILED: v1 ({stamps[0]})",
        f"├── COMPILED: v2 ({stamps[1]})",
        f"├── COMPILED: v3 ({stamps[2]})",
        f"└── COMPILED: v4 ({stamps[3]})  ← latest",
    ]
    assert lines[2] == "│   Not saved to a file: initial artifact with 2 hypotheses"
    assert lines[8] == "    Not saved to a file: changed P1 (H2) and T1 (feasibility); killed H2"
    assert len(lines) == 9


def test_history_as_json(shell: Shell, conflict: Played) -> None:
    """The keys of the stable interface."""
    document = on(shell, conflict)("artifact", "history", conflict.thread_id, "--json").json
    first = document["versions"][0]
    assert {key: first[key] for key in ("version", "compiled_by", "summary", "persistence")} == {
        "version": 1,
        "compiled_by": OPERATOR,
        "summary": "initial artifact with 2 hypotheses",
        "persistence": {
            "status": "Draft",
            "path": f"artifacts/{conflict.thread_id}.md",
            "commit": None,
        },
    }
    assert [each["message_id"] for each in document["versions"]] == compiled_ids(conflict)
    assert (document["void"], document["unread"]) == ([], 0)


def test_history_tells_what_is_no_version(shell: Shell, tmp_path: Path) -> None:
    """Void messages, messages without a record, and what is unread, each with what to do."""
    played = play("one_round", tmp_path / "own")
    thread = played.thread_id
    with SqliteMailbox.open(store_of(played.folder)) as mailbox:
        published = mailbox.message(compiled_ids(played)[0]).message
    post(
        played.folder,
        LATER,
        published,
        Message(thread, "RedSky", (OPERATOR,), "COMPILED: v2 by hand", "# v2\n"),
        Message(thread, "RedSky", (OPERATOR,), "DELTA[gpt]: More", "```delta\n{}\n```\n"),
    )
    here = on(shell, played)
    out = here("artifact", "history", thread).out
    assert re.search(r"├── COMPILED: v1 \(.*\)  ← latest\n", out)
    assert re.search(
        r"├── message \d+: not a version  VOID_VERSION\n│   This COMPILED message is", out
    )
    assert re.search(r"└── message \d+: not a version  COMPILED_WITHOUT_RECORD\n    This", out)
    assert out.endswith(f"\n\n1 unread message. To compile: `brenner compile {thread}`\n")
    document = here("artifact", "history", thread, "--json").json
    assert [each["id"] for each in document["void"]] == ["VOID_VERSION", "COMPILED_WITHOUT_RECORD"]
    assert (len(document["versions"]), document["unread"]) == (1, 1)
    shown = here("artifact", "show", thread)
    assert shown.out == played.versions[0].text
    assert "VOID_VERSION" in shown.err


def test_history_of_one_version_is_wrong_usage(shell: Shell, conflict: Played) -> None:
    """It is about all of them."""
    done = on(shell, conflict)("artifact", "history", f"{conflict.thread_id}@v2")
    assert done.code == 2
    assert f"Give `{conflict.thread_id}` without" in done.err


# diff


def test_diff_in_its_short_forms(shell: Shell, conflict: Played) -> None:
    """A version of the first one's thread; a thread alone is its latest against the one before."""
    here, thread = on(shell, conflict), conflict.thread_id
    whole = here("artifact", "diff", f"{thread}@v1", f"{thread}@v3").out
    assert whole.startswith(f"{thread}@v1 → {thread}@v3\nChanged H1 (anchors), H2 (mechanism)")
    for short in ("v3", "@v3"):
        assert here("artifact", "diff", f"{thread}@v1", short).out == whole
    latest = here("artifact", "diff", f"{thread}@v3", thread).out
    assert latest.startswith(f"{thread}@v3 → {thread}@v4\n")
    assert here("artifact", "diff", thread).out == latest
    assert here("artifact", "diff", f"{thread}@v3", f"{thread}@v4").out == latest
    second = here("artifact", "diff", f"{thread}@v2").out
    assert second == here("artifact", "diff", f"{thread}@v1", "v2").out


def test_diff_with_nothing(shell: Shell, conflict: Played) -> None:
    """Before the first version stands the empty artifact, v0."""
    here, thread = on(shell, conflict), conflict.thread_id
    first = here("artifact", "diff", f"{thread}@v1").out
    assert first.startswith(f"{thread}@v0 → {thread}@v1\nAdded H1, H2, P1 and T1; changed RT")
    assert here("artifact", "diff", f"{thread}@v0", "v1").out == first


def test_diff_as_text_and_as_json(shell: Shell, conflict: Played) -> None:
    """The exact texts of the versions are compared."""
    here, thread = on(shell, conflict), conflict.thread_id
    old, new = (conflict.versions[number].text for number in (0, 1))
    text = unified_diff(old, new, f"{thread}@v1", f"{thread}@v2")
    assert here("artifact", "diff", f"{thread}@v1", "v2", "--text").out == text
    document = here("artifact", "diff", f"{thread}@v1", "v2", "--text", "--json").json
    assert document["text"] == text
    assert (document["old"]["version"], document["new"]["version"]) == (1, 2)


def test_diff_of_a_file_and_a_thread(shell: Shell, conflict: Played, tmp_path: Path) -> None:
    """Either may be either; a version alone needs a thread before it."""
    here, thread = on(shell, conflict), conflict.thread_id
    path = tmp_path / "edited.md"
    path.write_text(conflict.versions[3].text.replace("A year", "Ten years"), "utf-8")
    path.write_text(conflict.versions[3].text.replace("one loop", "two loops"), "utf-8")
    done = here("artifact", "diff", thread, str(path))
    assert f"{thread}@v4 → {path} (v4)\nChanged H1 (claim)." in done.out
    assert here("artifact", "diff", str(path), "@v3").code == 2
    assert here("artifact", "diff", str(path)).code == 2


def test_json_is_one_document(shell: Shell, conflict: Played) -> None:
    """Every command, and nothing besides on either output."""
    here = on(shell, conflict)
    for command in COMMANDS:
        more = ["--format", "json"] if command == "export" else []
        done = here("artifact", command, conflict.thread_id, "--json", *more)
        assert done.err == ""
        assert isinstance(json.loads(done.out), dict)
