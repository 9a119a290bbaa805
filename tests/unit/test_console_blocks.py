"""Run every `console` block of README and docs, and compare its output with what is shown.

The blocks of a page run in order, in a fresh folder, in a terminal of 92 columns:

- `$ COMMAND` is run by bash; a folder, a variable or a file stays for the next command. A command
  goes on after a backslash, and after `<<'END'` up to a line `END`.
- `$ cat FILE` writes FILE if it does not exist yet: the page shows its own input.
- `...` matches any text within a line; a line `...` matches any number of lines.
- If the page says "in the folder of `brenner demo`", the folder is that of the finished demo.
  With `<!-- console: programme -->` it has the sessions of `session/programme.py`.

`BRENNER_UPDATE_DOCS=1 pytest -n 0 tests/unit/test_console_blocks.py` rewrites the outputs that
differ. Look at the difference before you commit it.
"""

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from program import brenner
from session.programme import play_programme
from terminal import run_in_terminal

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
WIDTH = 92
UPDATE = os.environ.get("BRENNER_UPDATE_DOCS") == "1"
# As long as the folder that a page shows, so that lines wrap at the same place.
SHOWN_FOLDER = "/home/ada/research/lab"
_FOLDER_PREFIX = "brdoc-"
_BLOCK = re.compile(r"^(~~~+|```+)console\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*<<'END'\n(?:.*\n)*?END|(?:.*\\\n)*.*)\n", re.MULTILINE)
# What a slow machine shows of commands that take longer than a second
_PROGRESS = re.compile(r"\r[^\n]*\n?|^(?:Rebuilding|Still checking)[^\n]* …\n", re.MULTILINE)
_DEMO = "in the folder of `brenner demo`"
_PROGRAMME = "<!-- console: programme -->"
# Times, durations and hashes are different each time.
_CHANGING = re.compile(
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?|\b\d\d:\d\d:\d\d\b"
    r"|(?<=/guest/)\S+|(?<=the metadata changed )\(.*\)|\b[\d,]+ bytes"
    r"|\b\d+ (?:s|min|h) ago\b|\bjust now\b|\b\d+(?:\.\d+)? m?s\b"
    r"|\b[0-9a-f]{12}\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"
)


class Shown(NamedTuple):
    """A command of a page, with its output and where the output is in the page."""

    command: str
    output: str
    start: int
    end: int


def shown_in(text: str) -> Iterator[Shown]:
    """Yield the commands of all console blocks, in order."""
    for block in _BLOCK.finditer(text):
        commands = list(_COMMAND.finditer(block[2]))
        ends = [each.start() for each in commands[1:]] + [len(block[2])]
        for command, end in zip(commands, ends, strict=True):
            output = block[2][command.end() : end]
            offset = block.start(2)
            yield Shown(command[1], output, offset + command.end(), offset + end)


def has_blocks(page: Path) -> bool:
    """Whether a page shows a command."""
    return bool(_BLOCK.search(page.read_text("utf-8")))


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished demo, to be copied."""
    outside = tmp_path_factory.mktemp("demo")
    assert brenner("demo", "demo", cwd=outside, GIT_CONFIG_GLOBAL=os.devnull).code == 0
    return outside / "demo"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A fresh folder whose path is as long as the one that pages show."""
    with tempfile.TemporaryDirectory(prefix=_FOLDER_PREFIX, dir="/tmp") as outside:
        inner = Path(outside, "x" * (len(SHOWN_FOLDER) - len(outside) - 1))
        assert len(str(inner)) == len(SHOWN_FOLDER)
        yield inner


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if has_blocks(page)],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_console_blocks(page: Path, folder: Path, request: pytest.FixtureRequest) -> None:
    """The commands print what the page shows."""
    text = page.read_text("utf-8")
    if _DEMO in text:
        shutil.copytree(request.getfixturevalue("demo_folder"), folder)
    else:
        folder.mkdir()
    if _PROGRAMME in text:
        play_programme(folder)
    differ = []
    for shown in [*shown_in(text)]:
        if writes_file(shown, folder):
            continue
        printed = run_command(shown.command, folder).replace(str(folder), SHOWN_FOLDER)
        if not pattern_of(shown.output).fullmatch(printed):
            differ.append((shown, printed))
    if UPDATE:
        update(page, text, differ)
    else:
        assert [(each.command, each.output) for each, _ in differ] == [
            (each.command, printed) for each, printed in differ
        ]


def writes_file(shown: Shown, folder: Path) -> bool:
    """Write the file that a first `cat FILE` shows."""
    found = re.fullmatch(r"cat ([\w./-]+)", shown.command)
    if found is None:
        return False
    path = current_folder(folder) / found[1]
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(shown.output, "utf-8")
    return True


def pattern_of(output: str) -> re.Pattern[str]:
    """Return a pattern for an output in which `...` stands for anything."""
    lines = []
    for line in output.splitlines(keepends=True):
        if line == "...\n":
            lines.append("(?:.*\n)*?")
        else:
            lines.append(".*?".join(map(re.escape, line.split("..."))))
    return re.compile("".join(lines))


def current_folder(folder: Path) -> Path:
    """Return the folder that the last command of the page ended in."""
    place = folder.parent / "folder"
    return Path(place.read_text("utf-8").rstrip("\n")) if place.exists() else folder


def run_command(command: str, folder: Path) -> str:
    """Run a command in a terminal, where the last one ended, with the variables that it left."""
    outside = folder.parent
    (outside / "brenner").write_text(f'#!/bin/sh\nexec {sys.executable} -m brenner "$@"\n')
    (outside / "brenner").chmod(0o755)
    (outside / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
        "[color]\n\tui = false\n"
    )
    script = (
        f"[ -e {outside}/variables ] && . {outside}/variables\n"
        f"cd {shlex.quote(str(current_folder(folder)))}\n{command}\n"
        f"pwd > {outside}/folder; export -p > {outside}/variables\n"
    )
    shown = run_in_terminal(["bash", "-c", script], _environment(outside), WIDTH, has_errors=True)
    return _PROGRESS.sub("", shown)


def _environment(outside: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return kept | {
        "PATH": f"{outside}:{os.environ['PATH']}",
        "HOME": str(outside),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
        "PAGER": "cat",
    }


def update(page: Path, text: str, differ: list[tuple[Shown, str]]) -> None:
    """Write the new outputs into the page."""
    for shown, printed in reversed(differ):
        text = text[: shown.start] + excerpt_like(shown.output, printed) + text[shown.end :]
    page.write_text(text, "utf-8")


def excerpt_like(old: str, printed: str) -> str:
    """Return the output without what changes each time, cut where the old one was cut.

    A line that still fits an old one with `...` in it stays as it was.
    """
    before = old.splitlines(keepends=True)
    open_lines = [line for line in before if "..." in line and line != "...\n"]
    lines = [
        next((each for each in open_lines if pattern_of(each).fullmatch(line)), None)
        or _CHANGING.sub("...", line)
        for line in printed.splitlines(keepends=True)
    ]
    if "...\n" not in before:
        return "".join(lines)
    place = before.index("...\n")
    after = len(before) - place - 1
    if place + after >= len(lines):
        return "".join(lines)
    return "".join([*lines[:place], "...\n", *lines[len(lines) - after :]])


@pytest.mark.parametrize(
    ("shown", "printed", "is_same"),
    [
        ("a ... c\n", "a b c\n", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\n", "a\n", True),
        ("a ... c\n", "a b\nb c\n", False),
        ("a\n", "a\nb\n", False),
        ("a.b\n", "axb\n", False),
    ],
)
def test_outputs_are_compared(shown: str, printed: str, is_same: bool) -> None:
    """What is not `...` must be the same."""
    assert bool(pattern_of(shown).fullmatch(printed)) == is_same


def test_updated_outputs_keep_their_cut() -> None:
    """The beginning and the end stay as long as they were; times and hashes are left out."""
    printed = "Sent 3 s ago.\na\nb\nc\nCommit 4f0c2d1b9a77.\n"
    assert excerpt_like("x\n...\ny\n", printed) == "Sent ....\n...\nCommit ....\n"
    assert pattern_of(excerpt_like("x\n", printed)).fullmatch(printed)


EXAMPLE = ROOT / "docs" / "examples" / "finished-artifact.md"


def test_the_finished_artifact_is_that_of_the_demo(demo_folder: Path) -> None:
    """Its times apart, which are different each time."""
    [file] = (demo_folder / "artifacts").glob("*.md")
    written = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "2026-01-05T12:00:00Z", file.read_text("utf-8"))
    if UPDATE:
        EXAMPLE.write_text(written, "utf-8")
    assert EXAMPLE.read_text("utf-8") == written
