"""`brenner demo`: a whole session, in a folder of its own."""

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from shlex import quote, split
from shutil import which
from tempfile import mkdtemp
from typing import TYPE_CHECKING, NamedTuple, TextIO

import click

from brenner.cli.main import run
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, write_json
from brenner.cli.terminal import QUIET, STRONG, Span, fold, print_message
from brenner.cli.workspace import write_failure
from brenner.diagnostics.codes.stores import NO_SUCH_PROJECT
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.persist import git as git_process
from brenner.services.demo import STEPS, Step, When, note
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.services.demo import Found


FINE, FAILED = 0, 1
_KEPT_CODES = (3, 130)  # something outside is unavailable; somebody interrupted it
_ALWAYS: dict[str, object] = {"project": None, "thread_id": None, "git": None}
_ALWAYS |= {"resumed_after": None, "steps": [], "ok": False}


@click.command(
    cls=Reporting, always=_ALWAYS, epilog=examples("brenner demo", "brenner demo ~/brenner-demo")
)
@click.argument("folder", required=False, metavar="[DIR]")
@common_options
def command(settings: Settings, folder: str | None) -> int:
    """Run a whole session before your eyes: three agents, two rounds, two versions, one commit.

    Every command that is shown is run, and what follows is its output. It happens in a new folder,
    or in DIR, which must be empty; the folder stays, for you to look around in. Nothing outside of
    it is touched, and no network is needed. A demo that was interrupted goes on with `brenner demo
    DIR`.

    Exit code 0: every step ended as it should; 1: one did not; 2: DIR is not empty; 3: the store
    or git failed.
    """
    _check_usage(settings)
    place, found = _place(folder)
    stage = Stage(place, found.done, is_silent=settings.as_json)
    if not settings.as_json:
        sys.stdout.writelines(_opening(stage, found))
    played = stage.play()
    if settings.as_json:
        write_json(_document(stage, played))
    else:
        _write_end(stage, played)
    code = played[-1].code if played and not played[-1].is_right else FINE
    return code if code in (FINE, *_KEPT_CODES) else FAILED


def _check_usage(settings: Settings) -> None:
    is_named = settings.actor not in (None, os.environ.get("AGENT_NAME"))
    if settings.project is not None or settings.store is not None or is_named:
        message = "The demo makes its own project, with its own store and people; give only a DIR."
        raise click.UsageError(message)


def _place(name: str | None) -> "tuple[Path, Found]":
    """The folder, ready for the demo, and what was there before."""
    from brenner.services.demo import State, look, make_ready

    try:
        place = Path(mkdtemp(prefix="brenner-demo-") if name is None else name).resolve()
        if place.exists() and not place.is_dir():
            message = f"`{escape_control(name or '')}` is not a folder."
            raise click.UsageError(message)
        found = look(place)
        if found.state in (State.FINISHED, State.OTHER):
            _refuse(name or "", is_finished=found.state is State.FINISHED)
        make_ready(place)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "that is not a folder's name").lower()
        path = name or "a temporary folder"
        raise RequestError(NO_SUCH_PROJECT.at(path=path, reason=reason)) from None
    return place, found


def _refuse(name: str, *, is_finished: bool) -> None:
    about = (
        "holds a demo that was played to its end; look at it there"
        if is_finished
        else "is not empty"
    )
    message = f"`{escape_control(name)}` {about}. Give the demo a new folder, or none at all."
    raise click.UsageError(message)


# For programs


def _document(stage: "Stage", played: "list[Played]") -> dict[str, object]:
    """The stable form; keys are only ever added."""
    from brenner.services.demo import THREAD

    return {
        "project": str(stage.folder),
        "thread_id": THREAD,
        "git": stage.has_git,
        "resumed_after": stage.done or None,
        "steps": [each.to_json() for each in played],
        "ok": all(each.is_right for each in played),
    }


# For people


def _opening(stage: "Stage", found: "Found") -> Iterator[str]:
    from brenner.services.demo import STEPS, State

    out = sys.stdout
    if found.state is State.INTERRUPTED:
        said = (
            f"A demo was interrupted here, after step {found.done} of {len(STEPS)}. It goes on "
            "from there."
        )
    else:
        said = (
            "A project: a folder with a source text, and in outbox/ the messages that three agents "
            "are going to send. Each command that you see is run, and you see what it says."
        )
    yield fold([Span("-- ", STRONG)], [Span(said, STRONG)], "   ", out)
    if stage.put_away:
        about = f"{', '.join(stage.put_away)}: set in your environment, and not used here."
        yield fold([Span("-- ", STRONG)], [Span(about, STRONG)], "   ", out)
    yield f"$ cd {_typed(stage.folder)}\n"


def _write_end(stage: "Stage", played: "list[Played]") -> None:
    from brenner.services.demo import STEPS

    last = played[-1]
    if not last.is_right:
        print_message(
            f"Step {last.number} of {len(STEPS)} did not end as it should: exit code {last.code} "
            f"instead of {last.step.code}. `brenner demo {_typed(stage.folder)}` tries it again, "
            "and goes on.",
            sys.stderr,
        )
        return
    sys.stdout.writelines(_try_next(stage))


def _try_next(stage: "Stage") -> Iterator[str]:
    from brenner.services.demo import TRY_NEXT

    out = sys.stdout
    yield "\n"
    if not stage.has_git:
        yield fold([], [Span("GIT IS NOT INSTALLED: nothing was committed.", STRONG)], "", out)
    yield fold([], [Span("Every step ended as it should. The folder stays. Try next:")], "", out)
    yield f"  cd {_typed(stage.folder)}\n"
    if which("brenner") is None:
        yield f"  {_made_known()}\n"
    if stage.put_away:
        yield f"  unset {' '.join(stage.put_away)}\n"
    for command, about in TRY_NEXT:
        yield f"  {command}\n"
        yield fold([Span("      ")], [Span(about, QUIET)], "      ", out)


def _made_known() -> str:
    """What makes `brenner` a command in a shell that knows of none, as after `make demo`."""
    python = Path(sys.executable)
    if python.with_name("brenner").exists():
        return f'PATH={_typed(python.parent)}:"$PATH"'
    return f"alias brenner={quote(f'{_typed(python)} -m brenner')}"


def _typed(path: Path) -> str:
    """A path as one types it."""
    return quote(escape_control(str(path), len(str(path)) + 1))


# Where the demo is played: each step run as if it had been typed in the folder.


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
                seen.write(fold([], [Span(f"(exit code {code})", QUIET)], "", seen))
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
        yield "\n" + fold([Span("-- ", STRONG)], [Span(step.says, STRONG)], "   ", out)
    if step.typed:
        yield f"$ {step.typed}\n"
