"""The tool that shows whether a change only moves code."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "moved_code.py"
WORDS = '"""Words."""\n\nimport re\n\n\ndef count(text):\n    return len(text.split())\n'
NUMBERS = '"""Numbers."""\n\n\ndef digits(text):\n    return [each for each in text]\n'
MERGED = (
    '"""Words and numbers."""\n\n\ndef digits(text):\n    return [each for each in text]\n\n\n'
    "def count_words(text):\n    return len(text.split())\n"
)


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two modules in a commit; the work tree has them merged, one function renamed."""
    package = tmp_path / "src" / "brenner"
    package.mkdir(parents=True)
    (package / "words.py").write_text(WORDS, "utf-8")
    (package / "numbers.py").write_text(NUMBERS, "utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "Two modules")
    (package / "words.py").unlink()
    (package / "numbers.py").unlink()
    (package / "text.py").write_text(MERGED, "utf-8")
    (tmp_path / "renames.txt").write_text("brenner.words count count_words\n", "utf-8")
    return tmp_path


def compare(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), "HEAD", *arguments]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)


def test_moved_and_renamed_code_is_the_same(repository: Path) -> None:
    done = compare(repository, "renames.txt")
    assert (done.returncode, done.stdout) == (0, "")


def test_an_unlisted_rename_is_shown(repository: Path) -> None:
    done = compare(repository)
    assert done.returncode == 1
    assert [line.split("(")[0] for line in done.stdout.splitlines()] == [
        "- def count",
        "+ def count_words",
    ]


def test_a_changed_body_is_shown(repository: Path) -> None:
    path = repository / "src" / "brenner" / "text.py"
    path.write_text(MERGED.replace("each for each", "each.upper() for each"), "utf-8")
    done = compare(repository, "renames.txt")
    assert done.returncode == 1
    assert [line.split("(")[0] for line in done.stdout.splitlines()] == [
        "- def digits",
        "+ def digits",
    ]
