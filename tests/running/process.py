"""`session run` as a process of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from running.group import Group

SECONDS = 300  # no test needs that; a machine may be slow


class Running:
    """The process."""

    def __init__(self, group: Group, *options: str) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("BRENNER_", "AGENT_"))}
        self.group = group
        self.errors = group.folder.parent / "errors"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "brenner", "session", "run", *options, "--json"],
                cwd=group.folder,
                env=clean | group.environment,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def wait_for(self, condition: Callable[[], object]) -> None:
        until = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < until, self.errors.read_text()
            assert self.process.poll() is None, self.errors.read_text()
            time.sleep(0.02)

    def wait_for_mark(self, name: str) -> None:
        self.wait_for((self.group.actions / name).exists)

    def end(self) -> tuple[int, list[dict[str, Any]]]:
        out, _ = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()]
