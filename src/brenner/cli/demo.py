"""`brenner demo`: run an example session in its own folder."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from enum import StrEnum
from pathlib import Path
from shlex import quote, split
from shutil import which
from tempfile import TemporaryDirectory, mkdtemp
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from brenner.cli.main import run
from brenner.cli.options import EXIT_INVALID, EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, Progress, styled, terminal_width, wrap_text, write_json
from brenner.cli.terminal import QUIET, STRONG, Span, fold, print_message
from brenner.cli.workspace import exit_code, write_error
from brenner.diagnostics.codes.stores import NO_SUCH_PROJECT
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.text import cut, escape_control

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.services.demo import Step


_COMMENT_MARK = "-- "
_PIPE_WIDTH, _MAX_WIDTH = 80, 100
_PRESERVED_EXIT_CODES = (3, 130)  # unavailable, interrupted
_JSON_DEFAULTS: dict[str, object] = {"project": None, "thread_id": None, "git": None}
_JSON_DEFAULTS |= {"resumed_after": None, "steps": [], "ok": False}


@click.command(
    cls=JsonCommand,
    json_defaults=_JSON_DEFAULTS,
    epilog=examples("brenner demo", "brenner demo --full", "brenner demo --step ~/brenner-demo"),
)
@click.argument("folder", required=False, metavar="[DIR]")
@click.option(
    "--full",
    "is_full",
    is_flag=True,
    help="Show every step in full, then run agents.",
)
@click.option("--step", "is_stepped", is_flag=True, help="Wait for Enter before each step.")
@common_options
def command(settings: Settings, folder: str | None, *, is_full: bool, is_stepped: bool) -> int:
    """Run an example session: three agents, two rounds, two versions, one commit.

    The demo runs each command that it shows. It uses a new folder, or DIR, which must be empty. It
    keeps the folder and changes nothing outside. It needs no network. `brenner demo DIR` resumes an
    interrupted demo. With --full, tests get results and the session a conclusion. Then three small
    programs answer a second question by themselves.

    Exit code 0: every step ended as expected; 1: a step did not; 2: DIR is not empty, or --step
    without a terminal; 3: the store or git failed.
    """
    _check_usage(settings, is_stepped=is_stepped)
    folder_path, resumed_after = _prepare_folder(folder)
    view = View.SILENT if settings.as_json else View.FULL if is_full else View.SHORT
    demo = DemoRunner(folder_path, resumed_after or 0, view, is_stepped=is_stepped)
    demo.write_intro(is_resumed=resumed_after is not None)
    steps, code = demo.play()
    if settings.as_json:
        _write_json(demo, resumed_after, steps)
    elif steps[-1]["ok"]:
        demo.write_next_commands()
    else:
        _write_failed_step(demo, steps[-1], code)
    if not steps or steps[-1]["ok"]:
        return EXIT_OK
    return code if code in (EXIT_OK, *_PRESERVED_EXIT_CODES) else EXIT_INVALID


def _write_json(
    demo: DemoRunner, resumed_after: int | None, steps: list[dict[str, object]]
) -> None:
    from brenner.services.demo import THREAD

    document = {"project": str(demo.folder), "thread_id": THREAD, "git": demo.has_git}
    resumed = {"resumed_after": resumed_after or None}
    write_json({**document, **resumed, "steps": steps, "ok": all(each["ok"] for each in steps)})


def _write_failed_step(demo: DemoRunner, step: dict[str, object], code: int) -> None:
    from brenner.services.demo import STEPS

    full = "--full " if demo.view is View.FULL else ""
    print_message(
        f"Step {step['step']} of {len(STEPS)} failed: exit code {code} instead of "
        f"{step['expected']}. To repeat it and go on: `brenner demo {full}{_quoted(demo.folder)}`.",
        sys.stderr,
    )


def _check_usage(settings: Settings, *, is_stepped: bool) -> None:
    is_named = settings.actor not in (None, os.environ.get("AGENT_NAME"))
    if settings.project is not None or settings.store is not None or is_named:
        message = "The demo creates its own project, store and agents. Give only a DIR."
        raise click.UsageError(message)
    if is_stepped and settings.as_json:
        message = "--step and --json exclude each other."
        raise click.UsageError(message)
    if is_stepped and (sys.stdin is None or not sys.stdin.isatty()):
        message = "--step waits for Enter, and the standard input is not a terminal. Omit --step."
        raise click.UsageError(message)


def _prepare_folder(name: str | None) -> tuple[Path, int | None]:
    """Prepare the folder for the demo; return it with the number of steps of an interrupted one."""
    from brenner.services.demo import STEPS, is_new_folder, prepare_folder, read_progress

    shown = escape_control(name or "")
    try:
        folder = Path(mkdtemp(prefix="brenner-demo-") if name is None else name).resolve()
        if folder.exists() and not folder.is_dir():
            message = f"`{shown}` is not a folder."
            raise click.UsageError(message)
        is_new = is_new_folder(folder)
        done = None if is_new else read_progress(folder)
        if done == len(STEPS) or (done is None and not is_new):
            about = "already contains a finished demo" if done else "is not empty"
            message = f"`{shown}` {about}. Name another folder, or omit it for a new one."
            raise click.UsageError(message)
        prepare_folder(folder)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "not a valid folder name").lower()
        path = name or "a temporary folder"
        raise RequestError(NO_SUCH_PROJECT.at(path=path, reason=reason)) from None
    return folder, done


def _program() -> str:
    """Return the command that starts `brenner` in any folder, as needed after `make demo`."""
    if which("brenner"):
        return "brenner"
    own = Path(sys.executable).with_name("brenner")
    return _quoted(own) if own.exists() else f"{_quoted(Path(sys.executable))} -m brenner"


def _path_command() -> str:
    """Return a shell command that puts `brenner` on the path, as needed after `make demo`."""
    python = Path(sys.executable)
    if python.with_name("brenner").exists():
        return f'PATH={_quoted(python.parent)}:"$PATH"'
    return f"alias brenner={quote(f'{_quoted(python)} -m brenner')}"


def _quoted(path: Path) -> str:
    return quote(escape_control(str(path), len(str(path)) + 1))


# Running the steps


# Queries to git that decide whether a step runs
_GIT_QUERIES = {
    "no identity": ("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"),
    "signing": ("config", "--type=bool", "commit.gpgsign"),
    "hooks": ("config", "core.hooksPath"),
}


class View(StrEnum):
    """What the demo shows of its steps."""

    SILENT = "silent"  # nothing; the output is collected
    SHORT = "short"
    FULL = "full"


class DemoRunner:
    """Runs the steps of the demo in a folder, as if they were typed there.

    `done` steps were run before. With `is_stepped` it waits for Enter before each shown step.
    """

    def __init__(self, folder: Path, done: int, view: View, *, is_stepped: bool = False) -> None:
        self.folder = folder
        self.done = done
        self.view = view
        self.keyboard = sys.stdin if is_stepped else None
        self.progress = Progress()  # of the steps that are not shown
        self.has_git = which("git") is not None
        self.unset_variables = sorted(name for name in os.environ if _is_brenner_variable(name))

    def write_intro(self, *, is_resumed: bool) -> None:
        """Write what is going to happen, and where."""
        from brenner.services.demo import STEPS

        if self.view is View.SILENT:
            return
        if is_resumed:
            _write_comment(
                f"This demo was interrupted after step {self.done} of {len(STEPS)}. It resumes now."
            )
        elif self.view is View.FULL:
            _write_comment(
                "A project is a folder. This one has a source text, and in outbox/ the messages "
                "that three agents will send. The demo runs each command and shows its output."
            )
        else:
            _write_comment("Three agents work on one question by mail. Long output is shortened.")
        if self.unset_variables:
            names = ", ".join(self.unset_variables)
            _write_comment(f"The demo ignores these variables of your environment: {names}.")
        sys.stdout.write(f"$ cd {_quoted(self.folder)}\n")

    def write_next_commands(self) -> None:
        """Write how to look at the result."""
        out = sys.stdout
        out.write("\n")
        if not self.has_git:
            out.write(
                fold([], [Span("GIT IS NOT INSTALLED: nothing was committed.", STRONG)], "", out)
            )
        if self.view is View.FULL:
            self._write_all_commands()
            return
        out.write("All steps ended as expected. To see the whole session in your browser:\n")
        unset = "".join(f" -u {name}" for name in self.unset_variables)
        program = _program()
        serve = f"env{unset} {program} serve" if unset else f"{program} serve"
        out.write(f"  cd {_quoted(self.folder)} && {serve}\n")
        out.write("Then open http://127.0.0.1:8765. To see every step of this demo:\n")
        out.write(f"  {program} demo --full\n")

    def _write_all_commands(self) -> None:
        from brenner.services.demo import TRY_NEXT

        out = sys.stdout
        words = "All steps ended as expected. The folder stays. Try next:"
        out.write(fold([], [Span(words)], "", out))
        out.write(f"  cd {_quoted(self.folder)}\n")
        if which("brenner") is None:
            out.write(f"  {_path_command()}\n")
        if self.unset_variables:
            out.write(f"  unset {' '.join(self.unset_variables)}\n")
        for command, about in TRY_NEXT:
            out.write(f"  {command}\n")
            out.write(fold([Span("      ")], [Span(about, QUIET)], "      ", out))

    def play(self) -> tuple[list[dict[str, object]], int]:
        """Run the remaining steps, up to the first that does not end as expected.

        Return them in their stable JSON form, whose keys are only ever added, and the last exit
        code.
        """
        from brenner.services.demo import STEPS, complete_settings, save_progress

        steps: list[dict[str, object]] = []
        code = 0
        with _clean_environment(self.folder):
            for number, written in enumerate(STEPS[self.done :], self.done + 1):
                self.progress("Running step", number, len(STEPS))
                if self._is_due(written):
                    step = complete_settings(self.folder, written)
                    code, output = self._run_step(step)
                    is_ok = code == step.code
                    shown = {"step": number, "says": step.says, "command": step.typed or None}
                    codes = {"expected": step.code, "exit_code": code, "ok": is_ok}
                    steps.append({**shown, **codes, "output": output})
                    if not is_ok:
                        break
                save_progress(self.folder, number)
        self.progress.clear()
        return steps, code

    def _is_due(self, step: Step) -> bool:
        from brenner.persist import git
        from brenner.services.demo import has_ended_run

        when = step.when
        if when in _GIT_QUERIES and self.has_git:
            done = git.query(self.folder, *_GIT_QUERIES[when])
            return done.code != 0 if when == "no identity" else done.text not in ("", "false")
        if step.runs and has_ended_run(self.folder, step.runs):
            return False
        holds = ("", "git" if self.has_git else "no git", self.view)
        return all(each in holds for each in when.split(", "))

    def _run_step(self, step: Step) -> tuple[int, str]:
        """Run a step; return its exit code and, if it is not shown as it runs, its output."""
        if self.view is View.SHORT:
            return self._run_short(step)
        buffer = io.StringIO()
        stream = buffer if self.view is View.SILENT else sys.stdout
        if self.view is View.FULL:
            self._write_step(step.says, step.typed)
        # A terminal shows both streams, and so does the demo.
        with redirect_stdout(stream), redirect_stderr(stream):
            code = self._run(step) if step.typed else 0
            if code and self.view is View.FULL:
                stream.write(fold([], [Span(f"(exit code {code})", QUIET)], "", stream))
            stream.flush()
        return code, buffer.getvalue()

    def _run_short(self, step: Step) -> tuple[int, str]:
        """Run a step of the short demo; show the output in part, or all if the step failed."""
        buffer = io.StringIO()
        if step.short:
            self._write_step(step.short, step.typed)
        with redirect_stdout(buffer), redirect_stderr(buffer):
            code = self._run(step) if step.typed else 0
        output = buffer.getvalue()
        if code != step.code:
            self.progress.clear()
            sys.stdout.write(f"$ {step.typed}\n" * (not step.short) + output)
        elif step.short:
            sys.stdout.writelines(_shortened(output, step.keep))
        sys.stdout.flush()
        return code, output

    def _write_step(self, says: str, typed: str) -> None:
        self.progress.clear()
        if says:
            if self.keyboard:
                sys.stdout.write("\nPress Enter to continue …")
                sys.stdout.flush()
                if not self.keyboard.readline():  # Ctrl-D: go on without waiting
                    self.keyboard = None
                    sys.stdout.write("\n")
            else:
                sys.stdout.write("\n")
            _write_comment(says)
        if typed:
            sys.stdout.write(f"$ {typed}\n")
        sys.stdout.flush()

    def _run(self, step: Step) -> int:
        from brenner.services.demo import append_settings

        if step.settings:
            append_settings(self.folder, step.settings)
            return 0
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
        from brenner.persist import git

        try:
            done = git.run(self.folder, *arguments)
        except BrennerError as error:
            write_error(error)
            return exit_code(error)
        sys.stdout.write(done.out.decode("utf-8", "replace") + done.err)
        return done.code


def _write_comment(text: str) -> None:
    lines = wrap(text, _width() - len(_COMMENT_MARK), break_on_hyphens=False)
    for mark, line in zip((_COMMENT_MARK, *["   "] * len(lines)), lines, strict=False):
        sys.stdout.write(styled(mark + line, sys.stdout, **STRONG) + "\n")


def _shortened(output: str, pattern: str) -> Iterator[str]:
    """Yield the matching lines, each cut to the width, or without a pattern all lines, wrapped."""
    for line in filter(str.strip, output.splitlines()):
        if not pattern:
            indent = line[: len(line) - len(line.lstrip())]
            text, _, fix = line.strip().partition("  → ")
            yield wrap_text(text, indent, f"{indent}    ", _width())
            if fix:
                yield wrap_text(fix, f"{indent}    → ", f"{indent}      ", _width())
        elif re.search(pattern, line):
            yield cut(line, _width()) + "\n"


def _width() -> int:
    return min(terminal_width(sys.stdout) or _PIPE_WIDTH, _MAX_WIDTH)


def _is_brenner_variable(name: str) -> bool:
    return name == "AGENT_NAME" or name.startswith("BRENNER_")


@contextmanager
def _clean_environment(folder: Path) -> Iterator[None]:
    """Simulate a new shell in the folder: no variables of Brenner, and an empty standard input.

    What agents' programs leave in the user's state folder goes to a temporary one.
    """
    variables, stdin = dict(os.environ), sys.stdin
    old_folder = os.open(".", os.O_RDONLY)  # works even if the folder was deleted
    with Path(os.devnull).open(encoding="utf-8") as null, TemporaryDirectory() as state:
        try:
            for name in filter(_is_brenner_variable, variables):
                del os.environ[name]
            os.environ["XDG_STATE_HOME"] = state
            sys.stdin = null
            os.chdir(folder)
            yield
        finally:
            sys.stdin = stdin
            os.environ.pop("XDG_STATE_HOME", None)
            os.environ.update(variables)
            os.fchdir(old_folder)
            os.close(old_folder)
