"""What a person sees: a real terminal of a given width, with and without colour."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from brenner.cli.output import wrap_text
from terminal import in_terminal

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
MESSAGE = """\
Thread: RS-20251230-cell-fate-dichotomy
From: BlueLake
To: Operator
Subject: DELTA[opus]: x

```delta
{"operation": "KILL", "section": "hypotheses", "target_id": "H2", "rationale": "T1 failed",}
```
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A message with two faults."""
    file = tmp_path / "m.md"
    file.write_text(MESSAGE, "utf-8")
    return str(file)


@pytest.mark.parametrize("width", [80, 140])
def test_lines_fit(path: str, width: int) -> None:
    """Messages and fixes are folded to the terminal."""
    shown = ESCAPE.sub("", in_terminal(width, "check", path))
    lines = [line for line in shown.splitlines() if not line.startswith(("/", "  `"))]
    assert max(map(len, lines)) <= width
    assert any(line.startswith("    → ") for line in lines)


@pytest.mark.parametrize("command", [["explain"], ["explain", "MB-004"], ["--help"]], ids=" ".join)
def test_listings_fit(command: list[str]) -> None:
    """Nothing is wider than 80 columns but examples, which are not folded."""
    shown = ESCAPE.sub("", in_terminal(80, *command))
    assert max(map(len, shown.split("wrong\n")[0].splitlines())) <= 80


def test_colour_only_where_wanted(path: str) -> None:
    """Colour in a terminal, none with NO_COLOR or a dumb one; the words are the same."""
    coloured = in_terminal(80, "check", path)
    assert ESCAPE.search(coloured)
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = in_terminal(80, "check", path, **environment)
        assert not ESCAPE.search(plain)
        assert plain == ESCAPE.sub("", coloured)


def test_no_file_and_no_pipe() -> None:
    """`check` without a file does not wait for a person to type a message."""
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "brenner", "check"],
        stdin=follower,
        capture_output=True,
        check=False,
        timeout=60,
    )
    os.close(leader)
    os.close(follower)
    assert done.returncode == 2
    assert b"Give a FILE" in done.stderr


def test_repeats_are_shown_once(tmp_path: Path) -> None:
    """The same code with the same words: one entry with its other places, in a pipe as well."""
    file = tmp_path / "m.md"
    block = MESSAGE.partition("\n\n")[2]
    file.write_text(MESSAGE + "\n" + block + "\n" + block, "utf-8")
    for shown in (
        ESCAPE.sub("", in_terminal(140, "check", str(file))),
        subprocess.run(
            [sys.executable, "-m", "brenner", "check", str(file)],
            capture_output=True,
            check=False,
            text=True,
        ).stdout,
    ):
        assert shown.count("error INVALID_SECTION") == 1
        whole = " ".join(shown.split())
        assert "INVALID_SECTION ×3" in whole
        assert "Also on lines 11 and 15." in whole
        assert "6 errors" in whole


def test_commands_are_not_wrapped() -> None:
    """A command in a fix is on one line if it fits, so that it can be copied."""
    lines = wrap_text("Check the number: `brenner mail thread THREAD`.", "  → ", "    ", 40)
    assert lines == "  → Check the number:\n    `brenner mail thread THREAD`.\n"


@pytest.mark.parametrize("width", [20, 60, 80])
def test_wrapped_text_keeps_its_words(width: int) -> None:
    """Wrapping changes only spaces and line breaks, also around a command that is too long."""
    text = f"Run `brenner compile {'x' * 15} --persist` or `brenner doctor`, then go on."
    lines = wrap_text(text, "  → ", "    ", width)
    assert re.sub(r"\s+", "", lines) == re.sub(r"\s+", "", f"→{text}")
    assert all(len(line) <= width for line in lines.splitlines())
