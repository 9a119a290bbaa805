"""Running git: in a folder, with a time limit, asking nobody anything.

Git is the operator's own: her hooks, filters and signatures hold. Of the environment everything
stays but what points to another repository or index, as it does where a hook runs this program:
the repository is the one that holds the file, whoever calls.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import Diagnostic, Unavailable
from brenner.text import MOST_CHARACTERS, visible

QUERY_SECONDS = 30
COMMIT_SECONDS = 600  # hooks may run a whole test suite
PUSH_SECONDS = 600
_PATIENCE = 5  # seconds in which git may tidy up before it is killed
_MOST_SAID = 64 * 1024
_NEXT = " / "
_FROM_ELSEWHERE = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
    *("GIT_PREFIX", "GIT_INTERNAL_SUPER_PREFIX", "GIT_IMPLICIT_WORK_TREE"),
    *("GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_TRACE2_PARENT_SID"),
    *("GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"),
)
_OURS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # set and empty: no window asks for a password either
    "SSH_ASKPASS_REQUIRE": "never",
}
_READING = {"GIT_OPTIONAL_LOCKS": "0"}


class Done(NamedTuple):
    """How git ended, and what it said."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The answer, as text without its last line end; bytes of names that are not UTF-8 stay."""
        return os.fsdecode(self.out).removesuffix("\n")

    @property
    def said(self) -> str:
        """What there is to read about a failure: hooks and git speak on either output.

        Git parts columns by tabs, for programs; for people a blank does.
        """
        both = f"{self.err}\n{self.out.decode('utf-8', 'replace')}"
        return both.replace("\t", " ").strip()


class GitFailed(Unavailable):
    """Git, or a hook, has failed; `output` is all that it said, for people to read."""

    def __init__(self, diagnostic: Diagnostic, output: str) -> None:
        super().__init__(diagnostic)
        self.output = output

    @property
    def details(self) -> tuple[str, ...]:
        """What git said, whole, unless the message has all of it."""
        is_told = visible(_on_one_line(self.output)) in self.diagnostic.message
        return () if is_told else (self.output,)


def ask(folder: Path, *arguments: str, stdin: bytes = b"") -> Done:
    """Ask git something; it changes nothing, and runs nothing that the repository names."""
    return run(folder, "-c", "core.fsmonitor=false", *arguments, stdin=stdin, extra=_READING)


def run(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    seconds: float = QUERY_SECONDS,
    extra: Mapping[str, str] | None = None,
) -> Done:
    """Run git there. Outputs are files: a process that a hook leaves behind holds nobody up."""
    program = shutil.which("git")
    if program is None:
        raise Unavailable(codes.GIT_MISSING.at(reason="there is no such program"))
    kept = {name: value for name, value in os.environ.items() if name not in _FROM_ELSEWHERE}
    kept.pop("SSH_ASKPASS", None)
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603
                [program, *arguments],
                cwd=folder,
                stdin=given,
                stdout=out,
                stderr=err,
                env=kept | _OURS | dict(extra or {}),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or type(error).__name__).lower()
            raise Unavailable(codes.GIT_MISSING.at(reason=reason)) from None
        _wait(process, seconds, command_of(arguments))
        out.seek(0)
        err.seek(0)
        told = err.read(_MOST_SAID).decode("utf-8", "replace")
        return Done(process.returncode, out.read(), told)


def _wait(process: subprocess.Popen[bytes], seconds: float, command: str) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        found = codes.GIT_TIMEOUT.at(command=command, seconds=round(seconds))
        raise Unavailable(found) from None
    except BaseException:  # somebody interrupts us, and means all of it
        _end(process)
        raise


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git with all that it has started. First it may remove its locks, then it is killed."""
    for each in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, each)
        except ProcessLookupError:
            break
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def command_of(arguments: tuple[str, ...]) -> str:
    """The word that says what git was to do: the first one that is no setting."""
    words = iter(arguments)
    for word in words:
        if word == "-c":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def failed(done: Done, *arguments: str) -> GitFailed:
    """The error that says so in git's own words."""
    command = command_of(arguments)
    return GitFailed(codes.GIT_FAILED.at(command=command, reason=in_short(done)), done.said)


def in_short(done: Done) -> str:
    """What was said, on one line; where that is too long, how it began."""
    words = _on_one_line(done.said)
    if not words:
        return f"it said nothing, exit code {done.code}."
    return words if len(words) <= MOST_CHARACTERS else f"{words.partition(_NEXT)[0]} …"


def _on_one_line(said: str) -> str:
    return _NEXT.join(filter(None, (line.strip() for line in said.splitlines())))
