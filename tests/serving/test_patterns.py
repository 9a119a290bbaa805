"""No pattern that reads what agents send takes long, however long and hostile the text is."""

import subprocess
import sys
from pathlib import Path

import pytest

_MOST_SECONDS = 240  # for all of them, on a slow machine; one that runs away takes hours
_FEWEST = 30


@pytest.mark.thorough
def test_no_pattern_runs_away() -> None:
    """In a process of its own: nothing else can stop one."""
    program = Path(__file__).with_name("hostile_patterns.py")
    command = [sys.executable, str(program)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_MOST_SECONDS, check=True)
    except subprocess.TimeoutExpired as late:
        last = (late.stdout or b"").decode().splitlines()[-1:]
        pytest.fail(f"does not end: {last}")
    count, word = done.stdout.decode().splitlines()[-1].split()
    assert word == "patterns"
    assert int(count) >= _FEWEST
