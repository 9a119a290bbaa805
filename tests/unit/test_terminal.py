"""What a person sees: a real terminal of a given width, with and without colour."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

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


def in_terminal(width: int, *arguments: str, **environment: str) -> str:
    """Run the program in a terminal of that width; what it wrote."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    drop = ("NO_COLOR", "COLUMNS", "AGENT_NAME")
    env = {k: v for k, v in os.environ.items() if k not in drop} | {"TERM": "xterm"} | environment
    process = subprocess.Popen(
        [sys.executable, "-m", "brenner", *arguments], stdout=follower, env=env
    )
    os.close(follower)
    written = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    process.wait()
    os.close(leader)
    return written.decode().replace("\r\n", "\n")


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
