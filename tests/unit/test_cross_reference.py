"""The cross-reference contract, checked against the systems that it names."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.protocol.thread_ids import ThreadKind, cross_reference, is_valid_thread_id
from parts import need

IDS = ("RS-20251230-cell-fate", "brenner_bot-5so.3.4.2", "COORD-daily-sync", "-begins-with-a-dash")


def test_research_thread() -> None:
    """The document's example of a research session."""
    found = cross_reference("RS-20251230-cell-fate")
    assert found.kind is ThreadKind.RESEARCH
    assert found.artifact_path == "artifacts/RS-20251230-cell-fate.md"
    assert found.front_matter == 'session_id: "RS-20251230-cell-fate"'
    assert found.ntm_session == "RS-20251230-cell-fate"
    assert found.bead is None


def test_engineering_thread() -> None:
    """The document's example of engineering work."""
    found = cross_reference("brenner_bot-5so.3.4.2")
    assert found.kind is ThreadKind.ENGINEERING
    assert found.artifact_path == "artifacts/brenner_bot-5so.3.4.2.md"
    assert found.ntm_session == "brenner_bot-5so.3.4.2"
    assert found.tmux_session == "brenner_bot-5so_3_4_2"
    assert found.bead == "brenner_bot-5so.3.4.2"


@pytest.mark.parametrize("thread_id", [*IDS, "a" * 252])
def test_valid_ids_are_file_names(thread_id: str, tmp_path: Path) -> None:
    """A valid ID is used verbatim as a file's name, inside `artifacts/` and nowhere else."""
    assert is_valid_thread_id(thread_id)
    path = tmp_path / cross_reference(thread_id).artifact_path
    path.parent.mkdir()
    path.write_text("x", "utf-8")
    assert [file.name for file in path.parent.iterdir()] == [f"{thread_id}.md"]


@pytest.mark.parametrize("thread_id", ["a" * 253, "../x", "a/b", "..", ".", "", "a\n", "RS-1"])
def test_what_is_no_file_name_is_refused(thread_id: str) -> None:
    """R1: an ID is valid or refused, never cleaned up."""
    assert not is_valid_thread_id(thread_id)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[list[str]]:
    """A tmux server of our own."""
    program = shutil.which("tmux")
    need(program, "tmux is not installed, so the tmux names are not tested")
    command = [str(program), "-S", str(tmp_path / "socket"), "-f", os.devnull]
    yield command
    subprocess.run([*command, "kill-server"], check=False, capture_output=True)


@pytest.mark.parametrize("thread_id", IDS)
def test_tmux_finds_the_session(thread_id: str, tmux: list[str]) -> None:
    """A session opened under the thread ID is found under the name that we give."""
    subprocess.run([*tmux, "new-session", "-d", "-s", thread_id, "sleep 60"], check=True)
    listed = subprocess.run(
        [*tmux, "list-sessions", "-F", "#{session_name}"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert listed.stdout.split() == [cross_reference(thread_id).tmux_session]
