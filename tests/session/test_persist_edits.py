"""A file edited by hand, at the keyboard: refused, sent as it is offered, compiled, persisted."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from program import Run, brenner
from session.repositories import own_git, settings, start_repository

__all__ = ["settings"]
THREAD = "RS-20251230-cell-fate"
PATH = f"artifacts/{THREAD}.md"
OFFERED = f".brenner/{THREAD}.human.md"
HEADING = "Message to send:"
KICKOFF = "## Research Question\nWhat decides?\n\n## Context\nTwo camps.\n"


@pytest.fixture
def project(tmp_path: Path, settings: Path) -> Path:
    """A project whose thread has a version, which is committed."""
    folder = tmp_path / "my project"
    folder.mkdir()
    start_repository(folder)
    fine(folder, "init")
    fine(folder, "mail", "register", "BlueLake")
    kickoff = ("--subject", "KICKOFF: Cell fate", "--body", KICKOFF, "--to", "BlueLake")
    fine(folder, "mail", "send", "--thread", THREAD, "--as", "Operator", *kickoff)
    contribute(folder, "Counting")
    fine(folder, "compile", THREAD, "--persist", "--commit")
    return folder


def run(folder: Path, *arguments: str) -> Run:
    """Run the program there, where git knows Ada."""
    return brenner(*arguments, cwd=folder, **own_git(folder.parent, {}))


def fine(folder: Path, *arguments: str) -> Run:
    """Run the program, which must work."""
    done = run(folder, *arguments)
    assert done.code == 0, done.err
    return done


def contribute(folder: Path, name: str) -> None:
    """A DELTA with a hypothesis."""
    payload = {"name": name, "claim": f"{name} decides", "mechanism": "It acts", "anchors": ["§1"]}
    block = {
        "operation": "ADD",
        "section": "hypothesis_slate",
        "target_id": None,
        "payload": payload,
        "rationale": "It explains more",
    }
    body = f"# Delta Contribution\n\n```delta\n{json.dumps(block)}\n```\n"
    subject = f"DELTA[opus]: {name}"
    to = ("--to", "Operator", "--as", "BlueLake")
    fine(folder, "mail", "send", "--thread", THREAD, "--subject", subject, "--body", body, *to)


def edit(folder: Path, before: str, after: str) -> None:
    """What a person does with an editor."""
    file = folder / PATH
    text = file.read_text("utf-8")
    assert before in text
    file.write_text(text.replace(before, after), "utf-8")


def refused(folder: Path) -> Run:
    """A compile that is turned down because of the edits."""
    done = run(folder, "compile", THREAD, "--persist", "--commit")
    assert done.code == 1
    assert "ARTIFACT_FILE_EDITED" in done.err
    return done


def history(folder: Path) -> list[Any]:
    """The versions, as the program lists them."""
    versions = fine(folder, "artifact", "history", THREAD, "--json").json["versions"]
    assert isinstance(versions, list)
    return versions


def advised(done: Run) -> list[str]:
    """The command that is advised, as a shell takes it apart."""
    match = re.search(r"`brenner ([^`]+)`", done.err)
    assert match
    return shlex.split(match[1])


@pytest.mark.parametrize("has_news", [True, False])
def test_the_way_back(project: Path, has_news: bool) -> None:
    """With and without unread deltas; the command that is advised is run as it stands."""
    edit(project, "Counting decides", "Counting\tdecides §2\n\nand goes on below")
    if has_news:
        contribute(project, "Gradient")
    done = refused(project)
    assert ("Nothing was published." in done.err) == has_news
    assert "A delta cannot express" not in done.err
    assert len(history(project)) == 1
    assert advised(done) == ["mail", "send", OFFERED]
    fine(project, *advised(done))
    fine(project, "compile", THREAD, "--persist", "--commit")
    assert [each["persistence"]["status"] for each in history(project)] == ["Persisted"] * 2
    text = (project / PATH).read_text("utf-8")
    assert "decides §2" in text
    assert "and goes on below" in text


def test_what_is_shown_can_be_copied(project: Path, tmp_path: Path) -> None:
    """It is the last thing, with no blanks before it, and is what the file holds."""
    edit(project, "Counting decides", "Counting is all")
    contribute(project, "Gradient")
    copied = refused(project).err.partition(f"\n{HEADING}\n\n")[2]
    assert copied == (project / OFFERED).read_text("utf-8")
    (tmp_path / "copied.md").write_text(copied, "utf-8")
    fine(project, "mail", "send", str(tmp_path / "copied.md"))
    fine(project, "compile", THREAD, "--persist", "--commit")
    assert "Counting is all" in (project / PATH).read_text("utf-8")


def test_from_another_folder(project: Path, tmp_path: Path) -> None:
    """The command says where the project is; the folder has a blank in its name."""
    edit(project, "Counting decides", "Counting is all")
    command = ("compile", THREAD, "--persist", "--project", "my project")
    done = run(tmp_path, *command)
    assert done.code == 1
    assert advised(done)[:3] == ["mail", "send", f"my project/{OFFERED}"]
    fine(tmp_path, *advised(done))
    fine(tmp_path, *command)
    assert "Counting is all" in (project / PATH).read_text("utf-8")


def test_from_a_folder_of_the_project(project: Path) -> None:
    edit(project, "Counting decides", "Counting is all")
    done = run(project / "artifacts", "compile", THREAD, "--persist")
    fine(project / "artifacts", *advised(done))
    fine(project / "artifacts", "compile", THREAD, "--persist")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("**Claim**: Counting", "- **claim:** Counting"),
        ("### H1: Counting", "### H1 - Counting"),
        ("## 2. Hypothesis Slate", "## Hypothesis Slate"),
    ],
)
def test_another_form_of_the_same_is_no_edit(project: Path, before: str, after: str) -> None:
    edit(project, before, after)
    contribute(project, "Gradient")
    fine(project, "compile", THREAD, "--persist", "--commit")
    assert before in (project / PATH).read_text("utf-8")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# Brenner Protocol Artifact", "# My thoughts"),
        ("### H1: Counting\n", "### H1: Counting\n\nAsk Ann.\n"),
    ],
)
def test_what_no_delta_can_make(project: Path, before: str, after: str) -> None:
    """It is somebody's, so it is not written over; nothing is offered that would not help."""
    edit(project, before, after)
    done = refused(project)
    assert "A delta cannot express this change: " in done.err
    assert "copy them to another place" in done.err
    assert HEADING not in done.err
    assert not (project / OFFERED).exists()
    fine(project, "compile", THREAD, "--persist", "--commit", "--force")


def test_a_folder_that_cannot_be_written(project: Path) -> None:
    """The message is shown all the same, and the advice is another."""
    edit(project, "Counting decides", "Counting is all")
    (project / OFFERED).mkdir()
    done = refused(project)
    assert "save the message below as FILE" in done.err
    assert "\nDELTA[human]" in done.err.partition(HEADING)[2].replace("Subject: ", "")
    assert [each.name for each in (project / ".brenner").iterdir() if "part" in each.name] == []


def test_as_json(project: Path) -> None:
    """The message is in the document."""
    edit(project, "Counting decides", "Counting is all")
    contribute(project, "Gradient")
    done = run(project, "compile", THREAD, "--persist", "--json")
    (found,) = done.json["violations"]
    assert found["repaired"] == (project / OFFERED).read_text("utf-8")
    assert found["message"].endswith("Nothing was published.")
