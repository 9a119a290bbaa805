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
    Step,
    is_new_folder,
    prepare_folder,
    read_progress,
    save_progress,
)
from brenner.session.excerpts import excerpt_of
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
    assert is_new_folder(tmp_path / "there" / "not")
    assert is_new_folder(tmp_path)


def test_how_far_it_came(tmp_path: Path) -> None:
    """Is kept after each step."""
    prepare_folder(tmp_path)
    assert not is_new_folder(tmp_path)
    assert read_progress(tmp_path) == 0
    save_progress(tmp_path, 7)
    assert read_progress(tmp_path) == 7
    save_progress(tmp_path, len(STEPS))
    assert read_progress(tmp_path) == len(STEPS)


def test_what_is_there_stays(tmp_path: Path) -> None:
    """Going on writes only what is missing."""
    prepare_folder(tmp_path)
    save_progress(tmp_path, 7)
    (tmp_path / "source.md").write_text("mine", "utf-8")
    (tmp_path / "background.md").unlink()
    prepare_folder(tmp_path)
    assert (tmp_path / "source.md").read_text("utf-8") == "mine"
    assert (tmp_path / "background.md").exists()
    assert read_progress(tmp_path) == 7


@pytest.mark.parametrize(
    "noted", ["", "[]", "{}", '{"script": "another", "done": 3}', '{"done": 3}', "\xff"]
)
def test_others_are_left_alone(tmp_path: Path, noted: str) -> None:
    """A folder with anything else, also a demo of another script."""
    (tmp_path / ".brenner").mkdir()
    (tmp_path / ".brenner" / "demo.json").write_text(noted, "latin-1")
    assert read_progress(tmp_path) is None


@pytest.mark.parametrize("done", [-1, len(STEPS) + 1, True, 1.0, "3", None])
def test_progress_that_cannot_be(tmp_path: Path, done: object) -> None:
    """Is not ours."""
    prepare_folder(tmp_path)
    path = tmp_path / ".brenner" / "demo.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"done": done}), "utf-8")
    assert read_progress(tmp_path) is None


def test_a_demo_of_another_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cannot be gone on with: its steps have other numbers."""
    prepare_folder(tmp_path)
    monkeypatch.setattr(demo, "STEPS", (*demo.STEPS, Step("One more.")))
    assert read_progress(tmp_path) is None


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
