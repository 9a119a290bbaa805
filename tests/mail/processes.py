"""Real processes for the tests of faults: started, released together, listened to, ended."""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Child = subprocess.Popen[str]
_PATIENCE = 60  # seconds until a process that hangs is a fault
_RUN = "from {module} import {name} as work; import sys; work(*sys.argv[1:])"


def start(work: Callable[..., object], *arguments: object) -> Child:
    """Do some work of a module of ours in a process of its own."""
    return run(command(work, *arguments))


def command(work: Callable[..., object], *arguments: object) -> list[str]:
    """The command that does it; the arguments arrive as texts."""
    code = _RUN.format(module=work.__module__, name=work.__name__)
    return [sys.executable, "-c", code, *map(str, arguments)]


def run(arguments: Sequence[str]) -> Child:
    """Start a command with our modules in its reach."""
    return subprocess.Popen(
        arguments,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def release(children: Iterable[Child]) -> None:
    """Let all of them go on at once, as soon as each has come to where it is held back."""
    children = list(children)
    for child in children:
        assert child.stdout
        assert child.stdout.readline() == "ready\n", stderr_of(child)
    for child in children:
        assert child.stdin
        child.stdin.write("\n")
        child.stdin.flush()


def ended(child: Child) -> list[str]:
    """What a child said until its end, which must be a good one."""
    try:
        out, err = child.communicate(timeout=_PATIENCE)
    except BaseException:
        kill(child)
        raise
    assert (child.returncode, err) == (0, ""), err
    return out.splitlines()


def answers(work: Callable[..., object], *arguments: object) -> list[Any]:
    """What a child says that is left to itself, a value in a line."""
    return answered(start(work, *arguments))


def answered(child: Child) -> list[Any]:
    """What a child says until its end, a value in a line."""
    return [json.loads(line) for line in ended(child)]


def kill(child: Child) -> list[str]:
    """End a child with SIGKILL; what it had said in whole lines."""
    child.kill()
    out, _ = child.communicate(timeout=_PATIENCE)
    return [line[:-1] for line in out.splitlines(keepends=True) if line.endswith("\n")]


def stderr_of(child: Child) -> str:
    """Why a child did not do what was expected."""
    child.kill()
    return child.communicate(timeout=_PATIENCE)[1]


# What a child does


def wait_for_release() -> None:
    """Wait until the test lets all children go."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()


def say(value: object) -> None:
    """Tell the test something; it is out when this returns."""
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


def in_child(work: Callable[[], object]) -> int:
    """How a child ended that did this work: 0, 1, or a signal. A fork is quick."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    try:
        work()
    except BaseException:  # noqa: BLE001  (the test shows it)
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)
