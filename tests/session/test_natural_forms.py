"""The natural forms of THREAD, of a version and of an item in commands."""

import json
from pathlib import Path

import pytest

from brenner.protocol.messages import Message
from mail_shell import Shell
from session.workspaces import ANN, KICKOFF, THREAD, add, contribute, edit, kickoff, new_workspace

OTHER = "RS-20260106-fly-segments"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project with one session of two versions; H1 changed in the second."""
    for name in ("AGENT_NAME", "BRENNER_STORE", "BRENNER_SERVE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with new_workspace(tmp_path) as here:
        kickoff(here)
        contribute(here, ANN, add("One"), add("Two"))
        here.compile(THREAD)
        contribute(here, ANN, edit("H1", claim="It is otherwise"))
        here.compile(THREAD)
    return Shell(tmp_path, monkeypatch)


def open_sessions(shell: Shell, *thread_ids: str) -> None:
    with new_workspace(shell.folder) as here:
        for each in thread_ids:
            here.mailbox.send(Message(each, "Operator", (ANN,), "KICKOFF: Cell fate", KICKOFF))


WHOLE = ("artifact", "diff", f"{THREAD}@v1", f"{THREAD}@v2")


@pytest.mark.parametrize(
    "arguments",
    [
        (THREAD, "v1", "v2"),
        (f"{THREAD}@1", "v2"),
        (f"{THREAD}@v1", "@2"),
        ("cell", "v1", "v2"),
        ("CELL-f@1", "v2"),
        ("v1", "v2"),
        ("v2",),
        (THREAD,),
        (),
    ],
)
def test_two_versions_are_compared_however_they_are_named(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    expected = shell(*WHOLE, "--json")
    found = shell("artifact", "diff", *arguments, "--json")
    assert (found.code, found.json) == (0, expected.json)
    assert [each["id"] for each in found.json["items"]] == ["H1"]


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("artifact show v1 h2", f"artifact show {THREAD}@v1 --item H2"),
        ("artifact show --item h2", f"artifact show {THREAD} --item H2"),
        ("artifact blame h1.claim", f"artifact blame {THREAD} H1.claim"),
        ("artifact blame cell v1 H1.Claim", f"artifact blame {THREAD}@v1 H1.claim"),
        ("artifact lint v1", f"artifact lint {THREAD}@v1"),
        ("artifact ledger @1", f"artifact ledger {THREAD}@v1"),
        ("artifact ledger --all", f"artifact ledger {THREAD} --all"),
        ("artifact verify v2", f"artifact verify {THREAD}@v2"),
        ("artifact history fate", f"artifact history {THREAD}"),
        ("compile", f"compile {THREAD}"),
        ("session status cell", f"session status {THREAD}"),
        ("session show", f"session show {THREAD}"),
        ("refs graph h1", f"refs graph {THREAD} H1"),
        ("check --thread cell", f"check --thread {THREAD}"),
        ("mail thread cell", f"mail thread {THREAD}"),
    ],
)
def test_short_and_whole_forms_give_the_same(shell: Shell, short: str, whole: str) -> None:
    found, expected = (shell(*each.split(), "--json") for each in (short, whole))
    assert found.code == expected.code
    for each in (found.json, expected.json):
        each.pop("exported_at", None)
    assert without_ages(found.json) == without_ages(expected.json)


def without_ages(value: object) -> object:
    """The document without the numbers of seconds that pass between two calls."""
    if isinstance(value, dict):
        return {
            key: without_ages(each) for key, each in value.items() if not key.endswith("seconds")
        }
    return [without_ages(each) for each in value] if isinstance(value, list) else value


def test_the_interpretation_is_reported_once_and_not_in_the_output(shell: Shell) -> None:
    found = shell("artifact", "diff", "cell", "v1", "v2")
    assert found.err.count(f"Interpreted `cell` as {THREAD}.") == 1
    assert "Interpreted" not in found.out
    assert "Interpreted" not in shell("artifact", "diff", THREAD, "v1", "v2").err


def test_a_part_of_several_ids_is_refused_with_their_names(shell: Shell) -> None:
    open_sessions(shell, OTHER)
    for arguments in (
        ("compile", "RS-202"),
        ("artifact", "show", "RS"),
        ("session", "status", "f"),
    ):
        found = shell(*arguments)
        assert found.code == 2
        assert THREAD in found.err
        assert OTHER in found.err


def test_a_part_may_be_a_date(shell: Shell) -> None:
    assert shell("session", "status", "20251230", "--json").json["thread_id"] == THREAD


@pytest.mark.parametrize(
    "arguments", [("compile",), ("artifact", "show"), ("session", "complete"), ("artifact", "diff")]
)
def test_without_a_thread_there_must_be_one_open_session(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    open_sessions(shell, OTHER)
    found = shell(*arguments)
    assert (found.code, "Name one of the 2 sessions: " in found.err) == (2, True)


def test_a_whole_id_comes_before_a_longer_one(shell: Shell) -> None:
    open_sessions(shell, "bd-1", "bd-12")
    assert shell("session", "status", "bd-1", "--json").json["thread_id"] == "bd-1"
    assert shell("session", "status", "d-12", "--json").json["thread_id"] == "bd-12"


@pytest.mark.parametrize(
    "text", ["7", "nothing-like-it", "RS-20251230-cell-fate-s", "RS-20251230-cell-fat"]
)
def test_what_is_part_of_no_id_is_an_unknown_thread(shell: Shell, text: str) -> None:
    commands = (("compile",), ("artifact", "show"), ("session", "complete"))
    for command in (*commands, ("session", "cancel", "--reason", "x")):
        found = shell(*command, text, "--json")
        assert (found.code, found.json["violations"][0]["id"]) == (1, "UNKNOWN_THREAD")


def test_a_file_comes_before_a_thread_and_a_version(shell: Shell) -> None:
    text = shell("artifact", "show", THREAD).out
    for name in ("cell", "v1", "h1"):
        (shell.folder / name).write_text(text, "utf-8")
        found = shell("artifact", "show", name, "--json")
        assert (found.code, found.json["source"]) == (0, "file")


def test_void_and_dismiss_take_short_forms(shell: Shell) -> None:
    assert (
        shell("session", "dismiss", "2.1", "--json").json["violations"][0]["id"] == "CANNOT_DISMISS"
    )
    voided = shell("session", "void", "cell", "v2", "--json").json
    assert (voided["thread_id"], voided["version"]) == (THREAD, 2)
    assert shell("session", "void", "v1", "--json").json["latest_version"] is None


def test_extra_arguments_are_refused(shell: Shell) -> None:
    for arguments in (
        ("show", f"{THREAD}@v1", "v2"),
        ("lint", THREAD, "H1"),
        ("diff", "v1", "v2", "x"),
    ):
        found = shell("artifact", *arguments)
        assert (found.code, "Unexpected argument" in found.err) == (2, True), arguments


@pytest.mark.parametrize("name", ["out.pdf", "out", ".html.bak", "out.docx"])
def test_an_unknown_ending_is_refused_before_anything_is_written(shell: Shell, name: str) -> None:
    for command in ("artifact", "session"):
        found = shell(command, "export", "--output", name)
        assert (found.code, "`.html`" in found.err) == (2, True)
        assert not (shell.folder / name).exists()


def test_a_session_is_exported_as_one_file(shell: Shell) -> None:
    for name in ("s.html", "s.json", "s.md"):
        assert shell("session", "export", "cell", "--output", name).code == 0
        assert shell("session", "export", "cell", "--output", name).code == 2
        assert shell("session", "export", "cell", "--output", name, "--force").code == 0
    report = (shell.folder / "s.html").read_text("utf-8")
    assert all(f'id="{each}"' in report for each in ("artifact", "versions", "thread", "H2"))
    assert "<script" not in report
    document = json.loads((shell.folder / "s.json").read_text("utf-8"))
    assert (document["thread_id"], document["artifact"]["version"]) == (THREAD, 2)
    assert len(document["messages"]) == len(
        shell("mail", "thread", THREAD, "--json").json["messages"]
    )
    assert (shell.folder / "s.md").read_text("utf-8") == shell("artifact", "show", THREAD).out
