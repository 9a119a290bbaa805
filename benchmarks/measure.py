"""Measuring: the best of several runs, and ratios to a lower bound taken in the same run."""

import gc
import subprocess
import time
from collections.abc import Callable, Sequence


def best_of(
    work: Callable[[], object], *, least_seconds: float = 0.25, least_runs: int = 5
) -> float:
    """The seconds of the fastest run: what the work costs when nothing disturbs it."""
    gc.collect()
    best = float("inf")
    spent, runs = 0.0, 0
    while runs < least_runs or spent < least_seconds:
        start = time.perf_counter()
        work()
        taken = time.perf_counter() - start
        best, spent, runs = min(best, taken), spent + taken, runs + 1
    return best


def best_of_turns(*works: Callable[[], object], rounds: int) -> list[float]:
    """The fastest run of each, in turns: a disk has good moments and bad ones for all of them."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def best_of_processes(commands: Sequence[Sequence[str]], rounds: int = 15) -> list[float]:
    """The seconds of the fastest start of each command, taken in turns so that all suffer alike."""
    best = [float("inf")] * len(commands)
    for _ in range(rounds):
        for index, command in enumerate(commands):
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def heading(title: str, *columns: str) -> None:
    """The head of a table."""
    print(f"\n{title}")
    print("".join(f"{column:>{18 if index else 34}}" for index, column in enumerate(columns)))


def row(name: str, *figures: str) -> None:
    """A row of a table."""
    print(f"{name:>34}" + "".join(f"{figure:>18}" for figure in figures))


def milliseconds(seconds: float) -> str:
    """A time, readable."""
    return f"{seconds * 1000:.2f} ms"
