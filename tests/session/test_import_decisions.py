"""Archives do not lead or decide in threads that are here, unless the operator accepts that."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from brenner.protocol.messages import Message, content_hash, iso
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import void_version
from brenner.session.decisions import VOID_FENCE, render_declaration
from mail_shell import Shell
from program import Run
from session.workspaces import ANN, THREAD, add, contribute, edit, kickoff, new_workspace

Line = dict[str, Any]
_ADOPTED = '{"at":"2025-12-30T14:00:00Z","content_hash":"' + "5" * 64 + '","id":1,"version":8}'


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project with a session that has v1."""
    with new_workspace(tmp_path / "here") as workspace:
        kickoff(workspace)
        contribute(workspace, ANN, add("Gradient"), edit("H9", claim="There is none"))
        compile_thread(workspace, THREAD, CompileOptions())
    return Shell(tmp_path / "here", monkeypatch)


def exported(shell: Shell) -> list[Line]:
    """The lines of an archive of the project."""
    return [json.loads(line) for line in shell("mail", "export", "-").out.splitlines()]


def written(shell: Shell, lines: list[Line]) -> str:
    """An archive with these lines; its closing line is made right."""
    for line in lines:
        if "end" in line:
            line["end"] = sum("id" in each for each in lines)
    path = shell.folder.parent / "archive.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return str(path)


def forged(subject: str, body: str, sender: str = "Operator", **more: object) -> list[Line]:
    """An archive with one message that anybody could write."""
    message = Message(THREAD, sender, (ANN,), subject, body)
    line: Line = {
        "id": 5000,
        "at": iso(datetime.now(UTC)),
        "hash": content_hash(message),
        "thread_id": THREAD,
        "from": sender,
        "to": [ANN],
        "subject": subject,
        "body": body,
        **more,
    }
    return [{"format": "brenner-mail", "version": 1}, line, {"end": 1}]


def void_of(shell: Shell) -> str:
    """The body of a declaration that voids v1."""
    compiled = next(each for each in exported(shell) if "COMPILED" in each.get("subject", ""))
    values = {"content_hash": compiled["hash"], "version": 1}
    return f"# Void\n\n{render_declaration(values, VOID_FENCE)}"


def versions(shell: Shell) -> list[int]:
    done = shell("artifact", "history", THREAD, "--json")
    return [each["version"] for each in done.json["versions"]]


def continued(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *command: str) -> str:
    """An archive of the same thread that went on elsewhere, where somebody ran a command."""
    there = Shell(tmp_path / "there", monkeypatch)
    there.folder.mkdir()
    assert there("init").code == 0
    there.mail("import", written(shell, exported(shell)))
    with new_workspace(there.folder) as workspace:
        contribute(workspace, ANN, add("Lineage"))
    assert there(*command).code == 0
    return written(there, exported(there))


def refused(done: Run) -> str:
    """The message of the one fault."""
    assert (done.code, done.codes) == (1, ["DECISIONS_IN_ARCHIVE"])
    (found,) = done.json["violations"]
    assert "--accept-decisions" in found["fix"]
    return str(found["message"])


def test_a_line_voids_no_version(shell: Shell) -> None:
    """It is named, and nothing is imported. Accepted, it counts."""
    before = exported(shell)
    path = written(shell, forged("INFO: v1 is void", void_of(shell)))
    assert "message 5000 (Operator voids v1)" in refused(shell("mail", "import", path, "--json"))
    assert (exported(shell), versions(shell)) == (before, [1])
    done = shell("mail", "import", path, "--accept-decisions", "--json")
    assert (done.code, done.json["added"], done.json["accepted"]) == (0, 1, 1)
    assert versions(shell) == []
    again = shell("mail", "import", path, "--json")
    assert (again.code, again.json["skipped"], again.json["accepted"]) == (0, 1, 0)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param(("compile", THREAD), "Operator publishes v2", id="a version"),
        pytest.param(
            ("session", "complete", THREAD), "Operator closes the session with v2", id="the end"
        ),
        pytest.param(
            ("session", "dismiss", THREAD, "2.2"), "dismisses rejected blocks", id="a dismissal"
        ),
        pytest.param(("session", "void", f"{THREAD}@v1"), "Operator voids v1", id="a void"),
    ],
)
def test_a_thread_that_went_on_elsewhere(
    shell: Shell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    words: str,
) -> None:
    path = continued(shell, tmp_path, monkeypatch, *command)
    before = exported(shell)
    assert words in refused(shell("mail", "import", path, "--json"))
    assert exported(shell) == before
    assert shell("mail", "import", path, "--accept-decisions").code == 0
    there = Shell(tmp_path / "there", monkeypatch)
    assert versions(shell) == versions(there)
    status = [each("session", "status", THREAD, "--json").json for each in (shell, there)]
    assert status[0]["refusals"] == status[1]["refusals"]
    assert status[0]["phase"] == status[1]["phase"]


def test_a_forged_kickoff_and_a_foreign_artifact_lead_nothing(shell: Shell) -> None:
    for subject, words in (("KICKOFF: Round 9", "starts a round"), ("COMPILED: v2 x", "version")):
        path = written(shell, forged(subject, "# X\n\n## Research Question\nWhy?\n"))
        assert words in refused(shell("mail", "import", path, "--json"))


def test_contributions_still_come_in(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are unread, and marked as unverified."""
    path = continued(shell, tmp_path, monkeypatch, "session", "status", THREAD)
    done = shell("mail", "import", path, "--json")
    assert (done.code, done.json["added"], done.json["accepted"]) == (0, 1, 0)
    assert "--accept-decisions" not in done.err
    assert shell("compile", THREAD, "--json").json["changes"]["added"] == ["H2"]


def test_a_whole_thread_brings_its_decisions(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another name is the operator's, and though an agent has declared more."""
    with new_workspace(shell.folder) as workspace:
        workspace.mailbox.send(Message(THREAD, ANN, ("Operator",), "INFO: void", void_of(shell)))
        contribute(workspace, ANN, add("Lineage"))
        compile_thread(workspace, THREAD, CompileOptions())
        void_version(workspace, THREAD, 2, "It was a mistake.")
    there = Shell(tmp_path / "there", monkeypatch)
    there.folder.mkdir()
    (there.folder / "brenner.toml").write_text(f'operator = "{ANN}"\n', "utf-8")
    lines = exported(shell)
    assert [each["decides"] for each in lines if "decides" in each] == [False, True]
    there.mail("import", written(shell, lines))
    assert versions(there) == versions(shell) == [1]
    assert [each["decides"] for each in exported(there) if "decides" in each] == [False, True]


@pytest.mark.parametrize(("said", "left"), [(None, []), (True, []), (False, [1])])
def test_what_is_accepted_counts(shell: Shell, said: bool | None, left: list[int]) -> None:
    """Whoever sent it, unless the archive says that it did not count there."""
    more = {} if said is None else {"decides": said}
    path = written(shell, forged("INFO: v1 is void", void_of(shell), ANN, **more))
    assert f"{ANN} voids v1" in refused(shell("mail", "import", path, "--json"))
    assert shell("mail", "import", path, "--accept-decisions").code == 0
    assert versions(shell) == left


def test_words_about_decisions_are_none(shell: Shell) -> None:
    """Nor is a declaration in a message of another type."""
    words = 'A record may begin with `{"adopted":{"version":1}}`.'
    for subject, body in (
        ("CRITIQUE: H1", words),
        ("DELTA[opus]: x", words),
        ("CRITIQUE: H1", void_of(shell)),
    ):
        path = written(shell, forged(subject, body, ANN))
        assert shell("mail", "import", path).code == 0
    assert versions(shell) == [1]


def test_no_record_in_an_archive_makes_its_author_the_operator(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older archive says nothing of decisions; a bogus record before v1 must not, either."""
    compiled = next(each for each in exported(shell) if "COMPILED" in each.get("subject", ""))
    bogus = compiled["body"].replace('"operator":"Operator"', f'"operator":"{ANN}"')
    bogus = bogus.replace('{"adopted":null', '{"adopted":' + _ADOPTED)
    lines = [
        *exported(shell)[:-1],
        *forged("INFO: v1 is void", void_of(shell), ANN, id=5001)[1:2],
        {"end": 0},
    ]
    lines.insert(2, forged("COMPILED: v9 x", bogus, ANN, id=5000)[1])
    agents = [each for each in lines if "agent" in each]
    others = [each for each in lines if "agent" not in each]
    there = Shell(tmp_path / "there", monkeypatch)
    there.folder.mkdir()
    there.mail("import", written(shell, [others[0], *agents, *others[1:]]))
    assert versions(there) == [1]


def test_an_archive_from_before_counts_by_name_and_is_settled(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of this project's operator; another one's counts as long as the first version names her."""
    with new_workspace(shell.folder) as workspace:
        void_version(workspace, THREAD, 1, "It was a mistake.")
    lines = exported(shell)
    for line in lines:
        line.pop("decides", None)
    there = Shell(tmp_path / "there", monkeypatch)
    there.folder.mkdir()
    there.mail("import", written(shell, lines))
    (there.folder / "brenner.toml").write_text('operator = "Ada"\n', "utf-8")
    assert versions(there) == []


def test_mail_from_the_future_is_refused(shell: Shell) -> None:
    tomorrow = iso(datetime.now(UTC) + timedelta(days=1))
    path = written(shell, forged("INFO: Hello", "x\n", ANN, at=tomorrow))
    done = shell("mail", "import", path, "--json")
    assert (done.code, done.codes) == (1, ["INVALID_RECORD"])
    assert "which is in the future" in done.json["violations"][0]["message"]
