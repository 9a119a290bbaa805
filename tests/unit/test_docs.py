"""What the documentation shows is what the program does."""

import json
import re
import shlex
from pathlib import Path

import pytest

import brenner
from brenner import limits
from brenner.cli.main import run
from terminal import in_terminal

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
WIDTH = 92


def console(text: str) -> list[tuple[str, str]]:
    """The commands of the first console excerpt, each with the output that is shown."""
    match = re.search(r"~~~console\n(.*?)~~~", text, re.DOTALL)
    assert match
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", match[1], flags=re.MULTILINE)[1:]
    commands = [part.replace("\\\n", "") for part in parts[::2]]
    return list(zip(commands, parts[1::2], strict=True))


def test_readme_excerpt_is_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the README print what it shows."""
    monkeypatch.chdir(tmp_path)
    ran = 0
    for command, output in console(README):
        asked, _, into = command.partition(" 2>/dev/null > ")
        program, *arguments = shlex.split(asked)
        if program == "cat":
            (tmp_path / arguments[0]).write_text(output, "utf-8")
            continue
        assert program == "brenner"
        printed = in_terminal(WIDTH, *arguments, NO_COLOR="1")
        ran += 1
        if into:
            (tmp_path / into).write_text(printed, "utf-8")
        assert ("" if into else printed) == output
    assert ran >= 5


def test_json_of_the_readme_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page on message files shows what `check --json` says of it, in the form that it asks."""
    page = (ROOT / "docs" / "message-files.md").read_text("utf-8")
    (output,) = [said for command, said in console(page) if "check --json" in command]
    shown = dict(console(README))
    (tmp_path / "message.md").write_text(shown["cat message.md"], "utf-8")
    assert run(["check", "--json", str(tmp_path / "message.md")]) == 1
    document = json.loads(capsys.readouterr().out)
    keys = ("id", "line", "block", "field", "also")
    asked = [document[key] for key in ("valid", "type", "summary", "deltas")]
    asked += [{key: each.get(key) for key in keys} for each in document["violations"]]
    assert [json.loads(line) for line in output.splitlines()] == asked


def test_readme_is_short() -> None:
    """Under two screens."""
    assert len(README.splitlines()) <= 100


@pytest.mark.parametrize("name", [name for name in vars(limits) if name.isupper()])
def test_limits_are_documented(name: str) -> None:
    """Each limit has a row, with its figure."""
    page = (ROOT / "docs" / "limits.md").read_text("utf-8")
    rows = [row for row in page.splitlines() if f"`{name}`" in row]
    assert rows
    assert f"{vars(limits)[name]:,}" in rows[0]


def test_every_file_is_in_the_architecture() -> None:
    """The page names every source file (the codes by their folder), and none that is not there."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    source = Path(brenner.__file__).parent
    paths = [path.relative_to(source).as_posix() for path in source.rglob("*.py")]
    named = [path for path in paths if not path.endswith("__init__.py") and "/codes/" not in path]
    assert [path for path in named if path.rpartition("/")[2] not in page] == []
    known = {path.rpartition("/")[2] for path in paths}
    known |= {path.name for path in (ROOT / "tests").rglob("*.py")}
    assert set(re.findall(r"`(?:[a-z_]+/)*([a-z_]+\.py)`", page)) <= known | {"run.py"}


PAGES = [README, *(path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md")))]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Links to files of the project lead to files that exist."""
    prose = re.sub(r"^(~~~+|```+).*?^\1", "", page, flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#:]+)\)", prose):
        assert (ROOT / target).exists() or (ROOT / "docs" / target).exists(), target


def test_version_is_one() -> None:
    """The version stands in two places, and is the same in both."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'version = "{brenner.__version__}"' in project
    assert brenner.__version__ in (ROOT / "CHANGELOG.md").read_text("utf-8")
