"""Where the demo is played: each step run as if it had been typed in the folder."""

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from shlex import split
from typing import NamedTuple, TextIO

from brenner.cli.failures import write_failure
from brenner.cli.folding import Piece, fold
from brenner.cli.main import run
from brenner.cli.marks import QUIET, STRONG
from brenner.diagnostics.model import BrennerError
from brenner.persist import git as git_process
from brenner.services.demo import STEPS, Step, When, note

_AGENT = "AGENT_NAME"
_OURS = "BRENNER_"


class Played(NamedTuple):
    """A step that was run: its number in the script, how it ended, and what was seen of it."""

    number: int
    step: Step
    code: int
    output: str

    @property
    def is_right(self) -> bool:
        """Whether it ended as it should."""
        return self.code == self.step.code

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        return {
            "step": self.number,
            "says": self.step.says,
            "command": self.step.typed or None,
            "expected": self.step.code,
            "exit_code": self.code,
            "ok": self.is_right,
            "output": self.output,
        }


class Stage:
    """A folder to play in. `done` steps were played before; a silent one keeps what is said."""

    def __init__(self, folder: Path, done: int, *, is_silent: bool) -> None:
        self.folder = folder
        self.done = done
        self.is_silent = is_silent
        self.has_git = shutil.which("git") is not None
        self.put_away = sorted(name for name in os.environ if _is_ours(name))

    def play(self) -> list[Played]:
        """Run the steps that are left, up to the first that does not end as it should."""
        played: list[Played] = []
        with _surroundings(self.folder):
            for number, step in enumerate(STEPS[self.done :], self.done + 1):
                if self._is_due(step.when):
                    played.append(self._played(number, step))
                    if not played[-1].is_right:
                        break
                note(self.folder, number)
        return played

    def _is_due(self, when: When) -> bool:
        if not self.has_git:
            return when in (When.ALWAYS, When.NO_GIT)
        if when in (When.ALWAYS, When.GIT, When.NO_GIT):
            return when is not When.NO_GIT
        done = git_process.ask(self.folder, *_QUESTIONS[when])
        return done.code != 0 if when is When.NO_IDENTITY else done.text not in ("", "false")

    def _played(self, number: int, step: Step) -> Played:
        kept = io.StringIO()
        seen = kept if self.is_silent else sys.stdout
        with ExitStack() as streams:
            streams.enter_context(redirect_stdout(seen))
            # The demo shows what one would see, and one sees both.
            streams.enter_context(redirect_stderr(seen))
            if not self.is_silent:
                seen.writelines(_announcement(step, seen))
                seen.flush()
            code = self._run(step) if step.command else 0
            if code and not self.is_silent:
                seen.write(fold([], [Piece(f"(exit code {code})", QUIET)], "", seen))
            seen.flush()
        return Played(number, step, code, kept.getvalue())

    def _run(self, step: Step) -> int:
        program, *arguments = split(step.command.replace("\\\n", ""))
        if program == "git":
            return self._git(arguments)
        if not step.tee:
            return run(arguments)
        with redirect_stdout(io.StringIO()) as pipe, redirect_stderr(io.StringIO()):
            code = run(arguments)
        (self.folder / step.tee).write_text(pipe.getvalue(), "utf-8")
        sys.stdout.write(pipe.getvalue())
        return code

    def _git(self, arguments: list[str]) -> int:
        try:
            done = git_process.run(self.folder, *arguments)
        except BrennerError as error:
            return write_failure(error, as_json=False)
        sys.stdout.write(done.out.decode("utf-8", "replace") + done.err)
        return done.code


# What git is asked before a step that depends on it
_QUESTIONS = {
    When.NO_IDENTITY: ("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"),
    When.SIGNING: ("config", "--type=bool", "commit.gpgsign"),
    When.HOOKS: ("config", "core.hooksPath"),
}


def _is_ours(name: str) -> bool:
    return name == _AGENT or name.startswith(_OURS)


@contextmanager
def _surroundings(folder: Path) -> Iterator[None]:
    """As in a new shell in that folder: nothing of ours is set, and nobody is at the keyboard."""
    before, keyboard = dict(os.environ), sys.stdin
    here = os.open(".", os.O_RDONLY)  # also where the folder is gone by now
    with Path(os.devnull).open(encoding="utf-8") as nobody:
        try:
            for name in filter(_is_ours, before):
                del os.environ[name]
            sys.stdin = nobody
            os.chdir(folder)
            yield
        finally:
            sys.stdin = keyboard
            os.environ.update(before)
            os.fchdir(here)
            os.close(here)


def _announcement(step: Step, out: TextIO) -> Iterator[str]:
    """What is about to happen, and what one would type."""
    if step.says:
        yield "\n" + fold([Piece("-- ", STRONG)], [Piece(step.says, STRONG)], "   ", out)
    if step.typed:
        yield f"$ {step.typed}\n"
