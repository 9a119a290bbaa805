"""The script of the demo: its messages, its steps, and the folder that it plays in."""

import json
import re
from pathlib import Path

import pytest

from brenner.cli.main import COMMANDS
from brenner.protocol.messages import parse_message_file
from brenner.protocol.validate import check_message
from brenner.services import demo
from brenner.services.demo import (
    STEPS,
    THREAD,
    TRY_NEXT,
    Found,
    State,
    Step,
    look,
    make_ready,
    note,
)
from brenner.session.kickoff_text import excerpt_of
from program import brenner, files

FILES = Path(demo.__file__).parent / "demo_project"
MESSAGES = sorted((FILES / "outbox").glob("*.md"))
FAULTS = {
    "1-red.md": ["JSON_SINGLE_QUOTES", "JSON_TRAILING_COMMA"],
    "1-red-unchecked.md": ["INVALID_SECTION"],
}


def codes(text: str) -> list[str]:
    """What the check says of a message."""
    return [found.id for found in check_message(text).violations]


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.name)
def test_messages_are_as_they_should_be(path: Path) -> None:
    """Sound, but for the two that are not; those have a certain correction."""
    text = path.read_text("utf-8")
    assert codes(text) == FAULTS.get(path.name, [])
    assert parse_message_file(text).message.thread_id == THREAD
    corrected = check_message(text).corrected
    if path.name in FAULTS:
        assert corrected is not None
        assert codes(corrected) == []


def test_every_message_is_sent() -> None:
    """Each under a key of its own, so that a step can be repeated; a corrected one keeps it."""
    sent = dict(re.findall(r"mail send outbox/(\S+).* --key (\S+)", "\n".join(typed())))
    names = {path.name for path in MESSAGES}
    assert set(sent) == names | {"1-red-fixed.md"}
    assert sent.pop("1-red-fixed.md") == sent["1-red.md"]
    assert len(set(sent.values())) == len(names)


def typed() -> list[str]:
    """What the demo types."""
    return [step.typed for step in STEPS if step.command]


def test_commands_fit_and_exist() -> None:
    """In 80 columns, the `$` included; nothing but our commands and git."""
    lines = [f"$ {command}" for command in typed()] + [f"  {command}" for command, _ in TRY_NEXT]
    assert max(len(line) for each in lines for line in each.split("\n")) <= 80
    for command in (*typed(), *(command for command, _ in TRY_NEXT)):
        program, name, *_ = command.split()
        assert program == "git" or (program == "brenner" and name in COMMANDS)


def test_the_source_text_has_what_is_cited() -> None:
    """The sections of the kickoff, and no message cites any other."""
    source = (FILES / "source.md").read_text("utf-8")
    excerpt = excerpt_of(source, "source.md", "1-7")
    assert isinstance(excerpt, str)
    known = {int(number) for number in re.findall(r"\*\*§([0-9]+)\*\*", excerpt)}
    assert known == set(range(1, 8))
    written = [(FILES / "background.md"), *MESSAGES]
    for path in written:
        cited = {int(number) for number in re.findall(r"§([0-9]+)", path.read_text("utf-8"))}
        assert cited <= known


# The folder


def test_new_folders(tmp_path: Path) -> None:
    """One that is not there, and one that is empty."""
    assert look(tmp_path / "there" / "not") == look(tmp_path) == Found(State.NEW)


def test_how_far_it_came(tmp_path: Path) -> None:
    """Is kept after each step."""
    make_ready(tmp_path)
    assert look(tmp_path) == Found(State.INTERRUPTED, 0)
    note(tmp_path, 7)
    assert look(tmp_path) == Found(State.INTERRUPTED, 7)
    note(tmp_path, len(STEPS))
    assert look(tmp_path) == Found(State.FINISHED, len(STEPS))


def test_what_is_there_stays(tmp_path: Path) -> None:
    """Going on writes only what is missing."""
    make_ready(tmp_path)
    note(tmp_path, 7)
    (tmp_path / "source.md").write_text("mine", "utf-8")
    (tmp_path / "background.md").unlink()
    make_ready(tmp_path)
    assert (tmp_path / "source.md").read_text("utf-8") == "mine"
    assert (tmp_path / "background.md").exists()
    assert look(tmp_path).done == 7


@pytest.mark.parametrize(
    "noted", ["", "[]", "{}", '{"script": "another", "done": 3}', '{"done": 3}', "\xff"]
)
def test_others_are_left_alone(tmp_path: Path, noted: str) -> None:
    """A folder with anything else, also a demo of another script."""
    (tmp_path / ".brenner").mkdir()
    (tmp_path / ".brenner" / "demo.json").write_text(noted, "latin-1")
    assert look(tmp_path) == Found(State.OTHER)


@pytest.mark.parametrize("done", [-1, len(STEPS) + 1, True, 1.0, "3", None])
def test_progress_that_cannot_be(tmp_path: Path, done: object) -> None:
    """Is not ours."""
    make_ready(tmp_path)
    path = tmp_path / ".brenner" / "demo.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"done": done}), "utf-8")
    assert look(tmp_path) == Found(State.OTHER)


def test_a_demo_of_another_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cannot be gone on with: its steps have other numbers."""
    make_ready(tmp_path)
    monkeypatch.setattr(demo, "STEPS", (*demo.STEPS, Step("One more.")))
    assert look(tmp_path) == Found(State.OTHER)


# Wrong usage


def test_a_folder_that_is_not_empty(tmp_path: Path) -> None:
    """Is refused, and nothing is written into it."""
    (tmp_path / "thesis.md").write_text("mine", "utf-8")
    done = brenner("demo", ".", cwd=tmp_path)
    assert done.code == 2
    assert "is not empty" in done.err
    assert files(tmp_path) == ["thesis.md"]


def test_no_folder_at_all(tmp_path: Path) -> None:
    """A file is none, nor is what would be inside of one."""
    (tmp_path / "file").write_text("", "utf-8")
    done = brenner("demo", "file", cwd=tmp_path)
    assert (done.code, "is not a folder" in done.err) == (2, True)
    done = brenner("demo", "file/below", cwd=tmp_path)
    assert (done.code, "NO_SUCH_PROJECT" in done.err) == (2, True)


@pytest.mark.parametrize(
    "option", [("--as", "BlueLake"), ("--project", "."), ("--store", "sqlite:///x")]
)
def test_it_is_a_project_of_its_own(tmp_path: Path, option: tuple[str, str]) -> None:
    """Options that choose another one are refused; in JSON the keys are there all the same."""
    done = brenner("demo", "--json", *option, cwd=tmp_path)
    assert done.code == 2
    assert (done.json["ok"], done.json["steps"]) == (False, [])
    assert [found["id"] for found in done.json["violations"]] == ["WRONG_USAGE"]
