"""Only the operator saves, commits and pushes; an agent compiles and no more."""

from pathlib import Path

import pytest

import brenner as library
from program import brenner
from session.repositories import settings, start_repository
from session.round_play import THREAD, delta, first_round, hypothesis

SETTINGS = "[persist]\nevery = 1\ncommit = true\n"


pytestmark = pytest.mark.usefixtures(settings.__name__)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session with v1, which is not saved, and a delta after it."""
    with library.open(str(tmp_path)) as workspace:
        first_round(workspace)
        delta(workspace, "BlueLake", 1, hypothesis("Third"))
    return tmp_path


@pytest.mark.parametrize("option", ["--persist", "--commit", "--push", "--archive"])
@pytest.mark.parametrize("command", [("compile",), ("compile", "--dry-run")])
def test_another_name_is_refused(folder: Path, option: str, command: tuple[str, ...]) -> None:
    """Before anything is published. No agent is told to act as the operator."""
    for named in ({"AGENT_NAME": "BlueLake"}, {}):
        words = () if named else ("--as", "BlueLake")
        done = brenner(*command, THREAD, option, "--json", *words, cwd=folder, **named)
        assert (done.code, done.codes) == (1, ["ONLY_THE_OPERATOR"])
        assert "leave out `--as`, and unset `AGENT_NAME`." in done.out
        assert "--as Operator" not in done.out
    assert versions(folder) == 1
    assert not (folder / "artifacts").exists()


def test_an_agent_compiles(folder: Path) -> None:
    done = brenner("compile", THREAD, "--as", "BlueLake", "--json", cwd=folder)
    assert (done.code, done.json["status"], done.json["version"]) == (0, "published", 2)


def test_what_is_saved_automatically(folder: Path) -> None:
    """Not for an agent, and that is said with the command for it; for the operator as before."""
    (folder / "brenner.toml").write_text(SETTINGS, "utf-8")
    for dry in (("--dry-run",), ()):
        done = brenner("compile", THREAD, *dry, cwd=folder, AGENT_NAME="BlueLake")
        assert done.code == 0
        command = f"brenner compile {THREAD} --persist --commit --as Operator"
        assert "NOT_SAVED_FOR_AGENT  v2 is not saved" in done.err
        assert f"`{command}`" in done.err
    assert not (folder / "artifacts").exists()
    again = brenner("compile", THREAD, cwd=folder, AGENT_NAME="BlueLake")
    assert "NOT_SAVED_FOR_AGENT" not in again.err
    start_repository(folder)
    saved = brenner(*command.split()[1:], cwd=folder, AGENT_NAME="BlueLake")
    assert (saved.code, (folder / "artifacts" / f"{THREAD}.md").exists()) == (0, True)


def versions(folder: Path) -> int:
    with library.open(str(folder)) as workspace:
        return workspace.version(THREAD).number or 0
