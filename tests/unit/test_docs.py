"""What the documentation shows is what the program does."""

import json
import re
import shlex
from pathlib import Path

import pytest

import brenner
from brenner import limits
from brenner.cli.main import run
from brenner.diagnostics.catalogue import CATALOGUE
from brenner.mail.agent_mail import http
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import Capability
from brenner.mail.postgres import connection
from brenner.mail.postgres import mailbox as database
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox
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


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("CONNECT_SECONDS", connection.CONNECT_SECONDS),
        ("SILENCE", connection.SILENCE),
        ("LOCK_SECONDS", connection.LOCK_SECONDS),
        ("SETTLE_SECONDS", database.SETTLE_SECONDS),
        ("MIGRATING_SECONDS", connection.MIGRATING_SECONDS),
        ("MOST", connection.MOST),
        ("MOST_BYTES", http.MOST_BYTES),
    ],
)
def test_limits_of_waiting_are_documented(name: str, figure: float) -> None:
    """The figures for servers stand in rows of their own, at the beginning."""
    _, _, page = (ROOT / "docs" / "limits.md").read_text("utf-8").partition("## Waiting")
    (row,) = [row for row in page.splitlines() if f"`{name}`" in row]
    assert row.startswith(f"| {int(figure):,} ")


def test_the_architecture_names_every_package() -> None:
    """A newcomer finds each folder and each file of the top level in the table of packages."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    source = Path(brenner.__file__).parent
    packages = {f"{path.parent.name}/" for path in source.glob("*/__init__.py")}
    files = {path.name for path in source.glob("*.py")} - {"__init__.py", "__main__.py"}
    rows = "".join(re.findall(r"^\| (`.+?) \|", page, re.MULTILINE))
    assert packages | files <= set(re.findall(r"`([a-z_./]+)`", rows))


@pytest.mark.parametrize("name", ["docs/architecture.md", "docs/limits.md", "CONTRIBUTING.md"])
def test_named_source_files_exist(name: str) -> None:
    source = Path(brenner.__file__).parent
    text = (ROOT / name).read_text("utf-8")
    named = re.findall(r"`((?:src/brenner/)?[a-z_]+/[a-z_/]+(?:\.py|/))`", text)
    paths = [each.removeprefix("src/brenner/") for each in named]
    assert paths
    assert [each for each in paths if not any((r / each).exists() for r in (source, ROOT))] == []


def test_the_page_on_homes_has_what_each_of_them_lacks() -> None:
    """A row for every ability; `no: …` says what happens instead."""
    page = (ROOT / "docs" / "homes.md").read_text("utf-8")
    _, _, table = page.partition("\n| ability |")
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    homes = (SqliteMailbox, PostgresMailbox, AgentMailMailbox)
    said = {name: [cell == "yes" for cell in cells] for name, *cells in rows}
    assert said == {str(each): [each not in home.lacks for home in homes] for each in Capability}
    assert all(cell == "yes" or cell.startswith("no: ") for row in rows for cell in row[1:])


PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
_VARIABLE = re.compile("(AGENT|BRENNER|GIT|MAX|MOST|PGCONNECT)_.*|NO_COLOR|.*_SECONDS")


def prose(path: Path) -> str:
    """A page without its excerpts."""
    text = path.read_text("utf-8")
    return re.sub(r"^(~~~+|```+).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """What links can lead to inside of a page: its headings, as web pages name them."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links to files of the project lead to files that exist, and to headings in them."""
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", prose(page)):
        path = page.parent / target if target else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_codes_that_pages_name_exist(page: Path) -> None:
    """What a page says in capitals is a code, or a variable of the environment or of the code."""
    words = re.findall(r"`([A-Z]+_[A-Z_]+)`", page.read_text("utf-8"))
    assert [each for each in words if each not in CATALOGUE and not _VARIABLE.match(each)] == []


def test_version_is_one() -> None:
    """The version stands in two places, and is the same in both."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'version = "{brenner.__version__}"' in project
    assert brenner.__version__ in (ROOT / "CHANGELOG.md").read_text("utf-8")
