"""`brenner demo`: run a whole example session in a folder of its own."""

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
from brenner.cli.output import JsonCommand, write_json
from brenner.cli.terminal import QUIET, STRONG, Span, fold, print_message
from brenner.cli.workspace import write_failure
from brenner.diagnostics.codes.stores import NO_SUCH_PROJECT
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.persist import git as git_process
from brenner.services.demo import STEPS, Step, When, save_progress
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.services.demo import DemoProgress


EXIT_OK, EXIT_FAILED = 0, 1
_PRESERVED_EXIT_CODES = (3, 130)  # unavailable, interrupted
_JSON_DEFAULTS: dict[str, object] = {"project": None, "thread_id": None, "git": None}
_JSON_DEFAULTS |= {"resumed_after": None, "steps": [], "ok": False}


@click.command(
    cls=JsonCommand,
    json_defaults=_JSON_DEFAULTS,
    epilog=examples("brenner demo", "brenner demo ~/brenner-demo"),
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
    folder_path, found = _prepare_folder(folder)
    runner = DemoRunner(folder_path, found.done, is_silent=settings.as_json)
    if not settings.as_json:
        sys.stdout.writelines(_intro_lines(runner, found))
    results = runner.play()
    if settings.as_json:
        write_json(_document(runner, results))
    else:
        _write_end(runner, results)
    code = results[-1].code if results and not results[-1].is_as_expected else EXIT_OK
    return code if code in (EXIT_OK, *_PRESERVED_EXIT_CODES) else EXIT_FAILED


def _check_usage(settings: Settings) -> None:
    is_named = settings.actor not in (None, os.environ.get("AGENT_NAME"))
    if settings.project is not None or settings.store is not None or is_named:
        message = "The demo makes its own project, with its own store and people; give only a DIR."
        raise click.UsageError(message)


def _prepare_folder(name: str | None) -> "tuple[Path, DemoProgress]":
    """Prepare the folder for the demo, and return it with the state of an earlier run."""
    from brenner.services.demo import DemoState, prepare_folder, read_progress

    try:
        folder = Path(mkdtemp(prefix="brenner-demo-") if name is None else name).resolve()
        if folder.exists() and not folder.is_dir():
            message = f"`{escape_control(name or '')}` is not a folder."
            raise click.UsageError(message)
        found = read_progress(folder)
        if found.state in (DemoState.FINISHED, DemoState.OTHER):
            _refuse_folder(name or "", is_finished=found.state is DemoState.FINISHED)
        prepare_folder(folder)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "that is not a folder's name").lower()
        path = name or "a temporary folder"
        raise RequestError(NO_SUCH_PROJECT.at(path=path, reason=reason)) from None
    return folder, found


def _refuse_folder(name: str, *, is_finished: bool) -> None:
    about = (
        "holds a demo that was played to its end; look at it there"
        if is_finished
        else "is not empty"
    )
    message = f"`{escape_control(name)}` {about}. Give the demo a new folder, or none at all."
    raise click.UsageError(message)


# JSON output


def _document(runner: "DemoRunner", results: "list[StepResult]") -> dict[str, object]:
    """Return the stable JSON form. Keys are only ever added."""
    from brenner.services.demo import THREAD

    return {
        "project": str(runner.folder),
        "thread_id": THREAD,
        "git": runner.has_git,
        "resumed_after": runner.done or None,
        "steps": [each.to_json() for each in results],
        "ok": all(each.is_as_expected for each in results),
    }


# Text output


def _intro_lines(runner: "DemoRunner", found: "DemoProgress") -> Iterator[str]:
    from brenner.services.demo import STEPS, DemoState

    out = sys.stdout
    if found.state is DemoState.INTERRUPTED:
        text = (
            f"A demo was interrupted here, after step {found.done} of {len(STEPS)}. It goes on "
            "from there."
        )
    else:
        text = (
            "A project: a folder with a source text, and in outbox/ the messages that three agents "
            "are going to send. Each command that you see is run, and you see what it says."
        )
    yield fold([Span("-- ", STRONG)], [Span(text, STRONG)], "   ", out)
    if runner.unset_variables:
        about = f"{', '.join(runner.unset_variables)}: set in your environment, and not used here."
        yield fold([Span("-- ", STRONG)], [Span(about, STRONG)], "   ", out)
    yield f"$ cd {_quoted(runner.folder)}\n"


def _write_end(runner: "DemoRunner", results: "list[StepResult]") -> None:
    from brenner.services.demo import STEPS

    last = results[-1]
    if not last.is_as_expected:
        print_message(
            f"Step {last.number} of {len(STEPS)} did not end as it should: exit code {last.code} "
            f"instead of {last.step.code}. `brenner demo {_quoted(runner.folder)}` tries it again, "
            "and goes on.",
            sys.stderr,
        )
        return
    sys.stdout.writelines(_try_next_lines(runner))


def _try_next_lines(runner: "DemoRunner") -> Iterator[str]:
    from brenner.services.demo import TRY_NEXT

    out = sys.stdout
    yield "\n"
    if not runner.has_git:
        yield fold([], [Span("GIT IS NOT INSTALLED: nothing was committed.", STRONG)], "", out)
    yield fold([], [Span("Every step ended as it should. The folder stays. Try next:")], "", out)
    yield f"  cd {_quoted(runner.folder)}\n"
    if which("brenner") is None:
        yield f"  {_path_command()}\n"
    if runner.unset_variables:
        yield f"  unset {' '.join(runner.unset_variables)}\n"
    for command, about in TRY_NEXT:
        yield f"  {command}\n"
        yield fold([Span("      ")], [Span(about, QUIET)], "      ", out)


def _path_command() -> str:
    """Return a shell command that puts `brenner` on the path, as needed after `make demo`."""
    python = Path(sys.executable)
    if python.with_name("brenner").exists():
        return f'PATH={_quoted(python.parent)}:"$PATH"'
    return f"alias brenner={quote(f'{_quoted(python)} -m brenner')}"


def _quoted(path: Path) -> str:
    """Return a path quoted for the shell."""
    return quote(escape_control(str(path), len(str(path)) + 1))


# Running the steps


_AGENT_VARIABLE = "AGENT_NAME"
_VARIABLE_PREFIX = "BRENNER_"


class StepResult(NamedTuple):
    """A step that was run: its number in the script, its exit code and its output."""

    number: int
    step: Step
    code: int
    output: str

    @property
    def is_as_expected(self) -> bool:
        return self.code == self.step.code

    def to_json(self) -> dict[str, object]:
        """Return the stable JSON form. Keys are only ever added."""
        return {
            "step": self.number,
            "says": self.step.says,
            "command": self.step.typed or None,
            "expected": self.step.code,
            "exit_code": self.code,
            "ok": self.is_as_expected,
            "output": self.output,
        }


class DemoRunner:
    """Runs the steps of the demo in a folder, as if they were typed there.

    `done` steps were run before. A silent runner collects the output instead of showing it.
    """

    def __init__(self, folder: Path, done: int, *, is_silent: bool) -> None:
        self.folder = folder
        self.done = done
        self.is_silent = is_silent
        self.has_git = shutil.which("git") is not None
        self.unset_variables = sorted(name for name in os.environ if _is_brenner_variable(name))

    def play(self) -> list[StepResult]:
        """Run the remaining steps, up to the first that does not end as expected."""
        results: list[StepResult] = []
        with _clean_environment(self.folder):
            for number, step in enumerate(STEPS[self.done :], self.done + 1):
                if self._is_due(step.when):
                    results.append(self._run_step(number, step))
                    if not results[-1].is_as_expected:
                        break
                save_progress(self.folder, number)
        return results

    def _is_due(self, when: When) -> bool:
        if not self.has_git:
            return when in (When.ALWAYS, When.NO_GIT)
        if when in (When.ALWAYS, When.GIT, When.NO_GIT):
            return when is not When.NO_GIT
        done = git_process.query(self.folder, *_GIT_QUERIES[when])
        return done.code != 0 if when is When.NO_IDENTITY else done.text not in ("", "false")

    def _run_step(self, number: int, step: Step) -> StepResult:
        buffer = io.StringIO()
        stream = buffer if self.is_silent else sys.stdout
        with ExitStack() as streams:
            streams.enter_context(redirect_stdout(stream))
            # A terminal shows both streams, and so does the demo.
            streams.enter_context(redirect_stderr(stream))
            if not self.is_silent:
                stream.writelines(_step_intro(step, stream))
                stream.flush()
            code = self._run(step) if step.command else 0
            if code and not self.is_silent:
                stream.write(fold([], [Span(f"(exit code {code})", QUIET)], "", stream))
            stream.flush()
        return StepResult(number, step, code, buffer.getvalue())

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


# Queries to git that decide whether a step runs
_GIT_QUERIES = {
    When.NO_IDENTITY: ("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"),
    When.SIGNING: ("config", "--type=bool", "commit.gpgsign"),
    When.HOOKS: ("config", "core.hooksPath"),
}


def _is_brenner_variable(name: str) -> bool:
    return name == _AGENT_VARIABLE or name.startswith(_VARIABLE_PREFIX)


@contextmanager
def _clean_environment(folder: Path) -> Iterator[None]:
    """Simulate a new shell in the folder: no variables of Brenner, and an empty standard input."""
    variables, stdin = dict(os.environ), sys.stdin
    old_folder = os.open(".", os.O_RDONLY)  # works even if the folder was deleted
    with Path(os.devnull).open(encoding="utf-8") as null:
        try:
            for name in filter(_is_brenner_variable, variables):
                del os.environ[name]
            sys.stdin = null
            os.chdir(folder)
            yield
        finally:
            sys.stdin = stdin
            os.environ.update(variables)
            os.fchdir(old_folder)
            os.close(old_folder)


def _step_intro(step: Step, out: TextIO) -> Iterator[str]:
    """Yield the explanation of a step and the command as typed."""
    if step.says:
        yield "\n" + fold([Span("-- ", STRONG)], [Span(step.says, STRONG)], "   ", out)
    if step.typed:
        yield f"$ {step.typed}\n"
