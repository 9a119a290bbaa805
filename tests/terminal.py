"""A real terminal to run the program in."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading

_END = b"\x04end of the program\x04"


def in_terminal(width: int, *arguments: str, **environment: str) -> str:
    """Run the program in a terminal of that width and 50 lines; what it wrote."""
    return _run(width, arguments, environment, has_keyboard=False)


def at_terminal(width: int, *arguments: str, typed: str = "", **environment: str) -> str:
    """The same with the terminal as the standard input too, as where a person sits and types."""
    return _run(width, arguments, environment, typed=typed, has_keyboard=True)


def _run(
    width: int,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    *,
    has_keyboard: bool,
    typed: str = "",
) -> str:
    drop = ("NO_COLOR", "COLUMNS", "AGENT_NAME", "BRENNER_STORE", "BRENNER_ROSTER")
    env = {k: v for k, v in os.environ.items() if k not in drop} | {"TERM": "xterm"} | environment
    command = [sys.executable, "-m", "brenner", *arguments]
    return run_in_terminal(command, env, width, typed=typed, has_keyboard=has_keyboard)


def run_in_terminal(  # noqa: PLR0913  (what a terminal has)
    command: list[str],
    environment: dict[str, str],
    width: int,
    *,
    typed: str = "",
    has_keyboard: bool = False,
    has_errors: bool = False,
) -> str:
    """Run any program in a terminal; return what it wrote, its errors only with `has_errors`."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    process = subprocess.Popen(
        command,
        stdin=follower if has_keyboard else subprocess.DEVNULL,
        stdout=follower,
        stderr=follower if has_errors else subprocess.DEVNULL,
        env=environment,
    )
    os.write(leader, typed.encode())
    written = b""
    marker = threading.Thread(target=_mark_end, args=(process, follower))
    marker.start()
    while not written.endswith(_END):
        written += os.read(leader, 65536)
    marker.join()
    os.close(follower)
    os.close(leader)
    return written.removesuffix(_END).decode().replace("\r\n", "\n")


def _mark_end(process: subprocess.Popen[bytes], follower: int) -> None:
    """Write the end mark after the program's last byte.

    A terminal whose last writer has gone may drop what nobody has read yet. So this side keeps the
    terminal open and reads up to the mark.
    """
    process.wait()
    os.write(follower, _END)
