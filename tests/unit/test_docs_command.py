"""`brenner docs` shows the pages that come with the program."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from brenner.cli import docs
from program import brenner
from terminal import in_terminal

ROOT = Path(__file__).parents[2]
NAMES = ["README", "tutorial", "how-to/connect-agents", "how-to/undo", "reference/undo-codes"]


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with pages, in the place of the real ones."""
    for name in NAMES:
        file = tmp_path / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# {name}\n\nText of `{name}`.\n", "utf-8")
    monkeypatch.setattr(docs, "docs_folder", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("tutorial", ["tutorial"]),
        ("Tutorial.md", ["tutorial"]),
        ("docs/how-to/undo.md", ["how-to/undo"]),
        ("connect-agents", ["how-to/connect-agents"]),
        ("connect", ["how-to/connect-agents"]),
        ("undo", ["how-to/undo"]),
        ("how-to", ["how-to/connect-agents", "how-to/undo"]),
        ("nothing", []),
    ],
)
def test_a_part_of_a_name_is_enough(wanted: str, found: list[str]) -> None:
    assert docs.find_page(wanted, NAMES) == found


def test_pages(pages: Path) -> None:
    assert brenner("docs", cwd=pages).out == "# README\n\nText of `README`.\n"
    assert brenner("docs", "connect", cwd=pages).out.startswith("# how-to/connect-agents\n")
    assert brenner("docs", "--path", cwd=pages).out == f"{pages}\n"
    assert brenner("docs", "tutorial", "--path", cwd=pages).out == f"{pages}/tutorial.md\n"
    document = brenner("docs", "tutorial", "--json", cwd=pages).json
    assert document["page"] == "tutorial"
    assert document["text"].startswith("# tutorial\n")
    assert sorted(document["pages"]) == sorted(NAMES)


def test_unknown_page(pages: Path) -> None:
    """Exit code 2, the closest name, and the pages that exist."""
    done = brenner("docs", "tutorail", cwd=pages)
    assert (done.code, done.out) == (2, "")
    assert "Unknown page `tutorail`. Did you mean `tutorial`?" in done.err
    assert "\n  how-to/connect-agents\n" in done.err
    done = brenner("docs", "how-to", cwd=pages)
    assert "`how-to` fits several pages." in done.err
    assert "README" not in done.err
    done = brenner("docs", "tutorail", "--json", cwd=pages)
    assert (done.code, done.codes) == (2, ["WRONG_USAGE"])
    assert sorted(done.json["pages"]) == sorted(NAMES)


def test_the_repository_has_its_pages() -> None:
    """In an editable install the pages are those of the repository."""
    assert docs.docs_folder() == ROOT / "docs"
    assert "reference/commands" in docs.page_names(ROOT / "docs")


def test_layout_for_a_terminal() -> None:
    """Headings are bold, paragraphs are wrapped, code keeps its lines."""
    shown = in_terminal(60, "docs", "reference/commands")
    assert "\x1b[1mCommands\x1b[0m\n" in shown
    lines = [line for line in shown.splitlines() if not line.startswith(("    ", "|"))]
    assert max(len(line) for line in lines if "](#" not in line) <= 80


def test_the_wheel_has_pages_and_manuals(tmp_path: Path) -> None:
    """All files of the package, all pages, all manual pages; no pictures."""
    wheel = _build("wheel", tmp_path)
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "src/brenner", "docs", "man"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    wanted = [name for name in tracked if (ROOT / name).is_file()]
    assert {name.removeprefix("src/") for name in wanted if name.startswith("src/")} <= names
    pages = {f"brenner/{name}" for name in wanted if name.startswith("docs/")}
    assert {name for name in pages if name.endswith(".md")} <= names
    assert not [name for name in names if name.endswith(".png")]
    manuals = {Path(name).name for name in wanted if name.startswith("man/")}
    assert "brenner.1" in manuals
    assert manuals == {Path(name).name for name in names if "/share/man/man1/" in name}


def test_the_source_distribution_builds_the_same(tmp_path: Path) -> None:
    """`pip install` of a source distribution installs the same files."""
    archive = _build("sdist", tmp_path)
    with tarfile.open(archive) as source:
        names = {name.split("/", 1)[1] for name in source.getnames() if "/" in name}
    assert {"man/brenner.1", "docs/reference/commands.md", "src/brenner/__main__.py"} <= names


def _build(kind: str, folder: Path) -> Path:
    """Build the package as pip does, without the network."""
    code = f"import hatchling.build as b, sys; print(b.build_{kind}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return folder / done.stdout.split()[-1]
