"""What a person sees: a real terminal of a given width, with and without colour."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
