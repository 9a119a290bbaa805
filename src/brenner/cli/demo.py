"""`brenner demo`: run a whole example session in a folder of its own."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from shlex import quote, split
from shutil import which
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import click

from brenner.cli.main import run
from brenner.cli.options import EXIT_INVALID, EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, write_json
from brenner.cli.terminal import QUIET, STRONG, Span, fold, print_message
from brenner.cli.workspace import write_failure
from brenner.diagnostics.codes.stores import NO_SUCH_PROJECT
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.services.demo import Step


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
    from brenner.services.demo import STEPS, THREAD

    _check_usage(settings)
    folder_path, resumed_after = _prepare_folder(folder)
    demo = DemoRunner(folder_path, resumed_after or 0, is_silent=settings.as_json)
    if not settings.as_json:
        demo.write_intro(is_resumed=resumed_after is not None)
    steps, code = demo.play()
    if settings.as_json:
        document = {"project": str(demo.folder), "thread_id": THREAD, "git": demo.has_git}
        resumed = {"resumed_after": resumed_after or None}
        write_json({**document, **resumed, "steps": steps, "ok": all(each["ok"] for each in steps)})
    elif steps[-1]["ok"]:
        demo.write_next_commands()
    else:
        print_message(
            f"Step {steps[-1]['step']} of {len(STEPS)} did not end as it should: exit code {code} "
            f"instead of {steps[-1]['expected']}. `brenner demo {_quoted(demo.folder)}` tries it "
            "again, and goes on.",
            sys.stderr,
        )
    if not steps or steps[-1]["ok"]:
        return EXIT_OK
    return code if code in (EXIT_OK, *_PRESERVED_EXIT_CODES) else EXIT_INVALID


def _check_usage(settings: Settings) -> None:
    is_named = settings.actor not in (None, os.environ.get("AGENT_NAME"))
    if settings.project is not None or settings.store is not None or is_named:
        message = "The demo makes its own project, with its own store and people; give only a DIR."
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
            about = "holds a demo that was played to its end; look at it there"
            about = about if done else "is not empty"
            message = f"`{shown}` {about}. Give the demo a new folder, or none at all."
            raise click.UsageError(message)
        prepare_folder(folder)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "that is not a folder's name").lower()
        path = name or "a temporary folder"
        raise RequestError(NO_SUCH_PROJECT.at(path=path, reason=reason)) from None
    return folder, done


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


class DemoRunner:
    """Runs the steps of the demo in a folder, as if they were typed there.

    `done` steps were run before. A silent runner collects the output instead of showing it.
    """

    def __init__(self, folder: Path, done: int, *, is_silent: bool) -> None:
        self.folder = folder
        self.done = done
        self.is_silent = is_silent
        self.has_git = which("git") is not None
        self.unset_variables = sorted(name for name in os.environ if _is_brenner_variable(name))

    def write_intro(self, *, is_resumed: bool) -> None:
        """Write what is going to happen, and where."""
        from brenner.services.demo import STEPS

        if is_resumed:
            _write_comment(
                f"A demo was interrupted here, after step {self.done} of {len(STEPS)}. It goes on "
                "from there."
            )
        else:
            _write_comment(
                "A project: a folder with a source text, and in outbox/ the messages that three "
                "agents are going to send. Each command that you see is run, and you see what it "
                "says."
            )
        if self.unset_variables:
            names = ", ".join(self.unset_variables)
            _write_comment(f"{names}: set in your environment, and not used here.")
        sys.stdout.write(f"$ cd {_quoted(self.folder)}\n")

    def write_next_commands(self) -> None:
        from brenner.services.demo import TRY_NEXT

        out = sys.stdout
        out.write("\n")
        if not self.has_git:
            out.write(
                fold([], [Span("GIT IS NOT INSTALLED: nothing was committed.", STRONG)], "", out)
            )
        out.write(
            fold([], [Span("Every step ended as it should. The folder stays. Try next:")], "", out)
        )
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
        from brenner.services.demo import STEPS, save_progress

        steps: list[dict[str, object]] = []
        code = 0
        with _clean_environment(self.folder):
            for number, step in enumerate(STEPS[self.done :], self.done + 1):
                if self._is_due(step.when):
                    code, output = self._run_step(step)
                    is_ok = code == step.code
                    shown = {"step": number, "says": step.says, "command": step.typed or None}
                    codes = {"expected": step.code, "exit_code": code, "ok": is_ok}
                    steps.append({**shown, **codes, "output": output})
                    if not is_ok:
                        break
                save_progress(self.folder, number)
        return steps, code

    def _is_due(self, when: str) -> bool:
        from brenner.persist import git

        if when in _GIT_QUERIES and self.has_git:
            done = git.query(self.folder, *_GIT_QUERIES[when])
            return done.code != 0 if when == "no identity" else done.text not in ("", "false")
        return when in ("", "git" if self.has_git else "no git")

    def _run_step(self, step: Step) -> tuple[int, str]:
        """Run a step; return its exit code and, from a silent runner, its output."""
        buffer = io.StringIO()
        stream = buffer if self.is_silent else sys.stdout
        # A terminal shows both streams, and so does the demo.
        with redirect_stdout(stream), redirect_stderr(stream):
            if step.says and not self.is_silent:
                stream.write("\n")
                _write_comment(step.says)
            if step.command and not self.is_silent:
                stream.write(f"$ {step.typed}\n")
            stream.flush()
            code = self._run(step) if step.command else 0
            if code and not self.is_silent:
                stream.write(fold([], [Span(f"(exit code {code})", QUIET)], "", stream))
            stream.flush()
        return code, buffer.getvalue()

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
        from brenner.persist import git

        try:
            done = git.run(self.folder, *arguments)
        except BrennerError as error:
            return write_failure(error, as_json=False)
        sys.stdout.write(done.out.decode("utf-8", "replace") + done.err)
        return done.code


def _write_comment(text: str) -> None:
    sys.stdout.write(fold([Span("-- ", STRONG)], [Span(text, STRONG)], "   ", sys.stdout))


def _is_brenner_variable(name: str) -> bool:
    return name == "AGENT_NAME" or name.startswith("BRENNER_")


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
