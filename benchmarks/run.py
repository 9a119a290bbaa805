"""All benchmarks, each figure beside a lower bound that was measured in the same run."""

import os
import platform
import sys
from pathlib import Path

import artifact
import cold_start
import compile_loop
import delta_blocks
import hostile
import mail_homes
import mail_store
import merges
import page_weight
import serve_load
import session_loop
import sessions
import similar
import web_load

IN_MEMORY = (cold_start, delta_blocks, artifact, hostile, merges, session_loop)
MAIL = (mail_store, mail_homes, compile_loop, sessions, similar, serve_load, page_weight, web_load)


def main() -> None:
    """Run them all."""
    print(f"Python {platform.python_version()} on {platform.machine()}, {_load()}")
    sys.path.append(str(Path(__file__).parents[1] / "tests"))  # which can start servers
    for benchmark in (*IN_MEMORY, *MAIL):
        benchmark.run()


def _load() -> str:
    """What else the machine did: a figure taken on a busy one says less."""
    return f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main()
