"""What runs in front of a terminal: shells that only wait, and programs by whichever way."""

import subprocess

import pytest

from brenner.integrations.tmux import foreground_programs, is_only_shell, program_name, runs_command


@pytest.mark.parametrize("line", ["bash", "-zsh", "/bin/sh", "bash -l", "sh -i", "-fish --login"])
def test_a_shell_that_waits(line: str) -> None:
    assert is_only_shell([tuple(line.split(" "))])


@pytest.mark.parametrize("line", ["sh -c claude", "bash ./agent.sh", "claude", "vim bash"])
def test_no_shell_that_waits(line: str) -> None:
    assert not is_only_shell([tuple(line.split(" "))])
    assert not is_only_shell([("bash",), tuple(line.split(" "))])


@pytest.mark.parametrize(
    "line",
    [
        *("claude", "/opt/bin/claude --model opus", "node /usr/bin/claude", "-claude"),
        *("python3.11 -IS /home/me/claude x", "node --no-warnings /usr/bin/claude"),
    ],
)
def test_the_program_of_an_agent(line: str) -> None:
    assert runs_command([("sh", "-c", "x"), tuple(line.split(" "))], "tools/claude")


@pytest.mark.parametrize(
    "line", ["vim claude", "less /opt/bin/claude", "node x claude", "shy claude"]
)
def test_a_file_of_that_name(line: str) -> None:
    """Who reads it in an editor does not run it."""
    assert not runs_command([tuple(line.split(" "))], "claude")


def test_what_it_is_called() -> None:
    assert program_name([("/bin/sh", "-c", "cat"), ("/bin/cat",)]) == "cat"
    assert program_name([("-bash",)]) == "bash"


def test_without_a_terminal_or_a_process_nothing_is_told() -> None:
    process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        assert foreground_programs(str(process.pid)) == ()
    finally:
        process.communicate()
    assert foreground_programs(str(process.pid)) == ()
    assert foreground_programs("") == ()
