"""One commit of a few files and of nothing else, as `git commit --only` makes it.

Whatever else is staged or changed stays as it is, and the index agrees with the commit for these
files. Where the latest commit has them already nothing is committed, so all of this can be done
again after any interruption.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from tempfile import NamedTemporaryFile
from typing import NamedTuple, NoReturn

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import UnavailableError
from brenner.persist.git import (
    COMMIT_SECONDS,
    PUSH_SECONDS,
    Done,
    GitFailed,
    Repository,
    ask,
    failed,
    in_short,
    literal,
    run,
)

MOST_MESSAGE_CHARACTERS = 120
_FEWEST_SUMMARY_CHARACTERS = 40
_LOCK_SECONDS = 10  # for another git, which takes moments
_TURN_SECONDS = 60  # for other commits of ours, each with its hooks
_LOOK_EVERY = 0.05
_LOCK = re.compile(r"'([^'\n]+\.lock)': File exists")
_LOST_RACE = re.compile(r"(cannot lock ref '[^'\n]+')")
_SIGNING = re.compile(r"sign|gpg|key|commit object")
# What a message is written in, and that it is taken as it is, are not left to settings.
_SETTINGS = ("-c", "i18n.commitEncoding=UTF-8")
_HOW = ("--quiet", "--only", "--cleanup=verbatim", "--untracked-files=no", "--file=-")


def commit_message(thread_id: str, number: int, summary: str) -> str:
    """`artifact(THREAD): vN - summary`, on one line, with nothing in it that a terminal obeys."""
    start = f"artifact({thread_id}): v{number} - "
    shown = "".join(each if each.isprintable() else " " for each in summary)
    words = " ".join(shown.split()) or "compiled"
    most = max(MOST_MESSAGE_CHARACTERS - len(start), _FEWEST_SUMMARY_CHARACTERS)
    if len(words) > most:
        cut = words[: most - 1]
        words = (cut[: cut.rindex(" ")] if " " in cut else cut).rstrip(" ,;:") + "…"
    return start + words


def commit_only(repository: Repository, files: Mapping[str, bytes], message: str) -> None:
    """Commit these files, which are in the work tree, and make the index agree."""
    with _turn(repository):
        wanted = repository.blobs_of(files)
        work = _Commit(repository, wanted, message)
        try:
            work.until_done()
        except BaseException:
            with suppress(UnavailableError):  # the first failure is the one to tell
                work.take_back()
            raise
        work.stage()


class _Commit:
    """The attempts at one commit; `announced` are files that the index had not."""

    def __init__(self, repository: Repository, wanted: dict[str, str], message: str) -> None:
        self.repository = repository
        self.wanted = wanted
        self.message = message
        self.before = repository.committed(wanted)
        self.announced: list[str] = []
        self.deadline = time.monotonic() + _LOCK_SECONDS

    def until_done(self) -> None:
        """Until the latest commit has all of them; another git at work is waited for."""
        while missing := self._missing():
            if not self._is_made(missing):
                continue
            if left := self._missing():
                raise UnavailableError(codes.COMMIT_DIFFERS.at(path=left[0]))

    def _missing(self) -> list[str]:
        there = self.repository.committed(self.wanted)
        return [path for path, blob in self.wanted.items() if there.get(path) != blob]

    def _is_made(self, paths: list[str]) -> bool:
        known = self.repository.staged(paths)
        new = [path for path in paths if path not in known]
        if new:
            if not self._change("add", "--intent-to-add", "--", *map(literal, new)):
                return False
            self.announced += new
        with NamedTemporaryFile() as trace:
            done = run(
                self.repository.top,
                *(*_SETTINGS, "commit", *_HOW, "--", *map(literal, paths)),
                stdin=f"{self.message}\n".encode(),
                seconds=COMMIT_SECONDS,
                extra={"GIT_TRACE2_EVENT": trace.name},
            )
            hook = failed_hook(Path(trace.name).read_bytes()) if done.code else None
        if done.code and not self._missing():
            return True  # another git, left over from a killed process, was quicker
        if done.code and hook:
            found = codes.HOOK_FAILED.at(hook=hook, reason=in_short(done))
            raise GitFailed(found, done.said)
        if done.code and self._is_forgotten(paths):
            return False
        return self._is_done(done, "commit")

    def _is_forgotten(self, paths: list[str]) -> bool:
        """Whether another git has written the index since, without what was announced there."""
        is_time = time.monotonic() <= self.deadline
        return is_time and bool(set(paths) - set(self.repository.staged(paths)))

    def _change(self, *arguments: str) -> bool:
        return self._is_done(run(self.repository.top, *arguments), *arguments)

    def _is_done(self, done: Done, *arguments: str) -> bool:
        """Whether it was done; not if another git was at work, which gets some time to end."""
        if done.code == 0:
            return True
        lock = _lock_in(done)
        if not lock:
            raise self._failure(done, *arguments)
        if time.monotonic() > self.deadline:
            words = {"path": str(self.repository.top), "seconds": str(_LOCK_SECONDS)}
            found = codes.GIT_LOCKED.at(None, **words, reason=lock[1])
            raise GitFailed(found, done.said)
        time.sleep(_LOOK_EVERY)
        return False

    def _failure(self, done: Done, *arguments: str) -> GitFailed:
        settings = ("config", "--type=bool", "commit.gpgsign")
        if _SIGNING.search(done.err) and ask(self.repository.top, *settings).text == "true":
            return GitFailed(codes.SIGNING_FAILED.at(reason=in_short(done)), done.said)
        return failed(done, *arguments)

    def take_back(self) -> None:
        """The index as it was before: what was announced in it is not there any more.

        Where a commit was made after all, the file is in it, and stays.
        """
        there = self.repository.committed(self.wanted)
        left = [path for path in self.announced if there.get(path) == self.before.get(path)]
        until = time.monotonic() + _LOCK_SECONDS
        while left and time.monotonic() < until:
            done = run(self.repository.top, "update-index", "--force-remove", "--", *left)
            if done.code == 0 or not _lock_in(done):
                return
            time.sleep(_LOOK_EVERY)

    def stage(self) -> None:
        """The index as the commit has it, for these files: it may have held something else."""
        self.deadline = time.monotonic() + _LOCK_SECONDS
        while self.repository.staged(self.wanted) != self.wanted:
            if self._change("add", "--force", "--", *map(literal, self.wanted)):
                return


def _lock_in(done: Done) -> re.Match[str] | None:
    """What says that another git was at work: its lock, or that it was quicker."""
    return _LOCK.search(done.err) or _LOST_RACE.search(done.err)


def failed_hook(trace: bytes) -> str | None:
    """Which hook has ended with an error, told by the events that git writes about itself."""
    hooks: dict[object, str] = {}
    for event in _events(trace):
        if event.get("event") == "child_start" and event.get("child_class") == "hook":
            hooks[event.get("child_id")] = str(event.get("hook_name"))
        if event.get("event") == "child_exit" and event.get("code"):
            hook = hooks.get(event.get("child_id"))
            if hook:
                return hook
    return None


def _events(trace: bytes) -> Iterator[dict[str, object]]:
    """What git itself has written; a git that a hook has started writes there, too."""
    for line in trace.splitlines():
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict) and "/" not in str(event.get("sid", "/")):
                yield event


@contextmanager
def _turn(repository: Repository) -> Iterator[None]:
    """One commit of ours at a time in a repository. Git's own locks give up at once; this waits.

    The lock is on git's folder itself, so nothing is left there, and it ends with the process.
    """
    try:
        number = os.open(repository.common_folder, os.O_RDONLY)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UnavailableError(codes.GIT_FAILED.at(command="commit", reason=reason)) from None
    try:
        _lock(number, repository)
        yield
    finally:
        os.close(number)


def _lock(number: int, repository: Repository) -> None:
    until = time.monotonic() + _TURN_SECONDS
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                words = {"path": str(repository.top), "seconds": str(_TURN_SECONDS)}
                reason = "another process of this program commits there"
                raise UnavailableError(codes.GIT_LOCKED.at(None, **words, reason=reason)) from None
            time.sleep(_LOOK_EVERY)
        except OSError:  # a file system without such locks: git's own have to do
            return
        else:
            return


# Pushing the branch that is checked out, and no other, to where git says that it goes.


_SAME_NAME = ("current", "matching")
_ASKING = r"^(branch\..*\.(remote|merge|pushremote)|remote\.pushdefault|push\.|core\.sshcommand)"


class Destination(NamedTuple):
    """A remote and the branch there."""

    remote: str
    branch: str
    ref: str


def destination_of(repository: Repository) -> Destination:
    """Where the branch that is checked out goes, as `git push` decides it; refused if nowhere.

    More than git would do is never done: a branch without an upstream is not given one.
    """
    branch = repository.branch()
    remotes = [line for line in repository.ask("remote").text.split("\n") if line]
    usual = "origin" if "origin" in remotes or len(remotes) != 1 else remotes[0]
    if branch is None:
        advice = "`git switch --create NAME` makes a branch of where you are"
        first = f"; then {_first_push(repository, usual, 'NAME')}" if remotes else ""
        _nowhere("no branch is checked out (a detached HEAD)", advice + first)
    first = _first_push(repository, usual, branch)
    if not remotes:
        advice = "`git remote add origin URL` says where the other repository is"
        _nowhere("the repository has no remote", f"{advice}; then {first}")
    said = _settings(repository)
    upstream = said.get(f"branch.{branch}.remote", usual)
    remote = said.get(f"branch.{branch}.pushremote") or said.get("remote.pushdefault") or upstream
    if remote == ".":
        reason = f"the upstream of the branch `{branch}` is a branch of this repository"
        _nowhere(reason, first)
    ref = _ref_of(branch, said, first, is_other=remote != upstream)
    return Destination(remote, branch, ref)


def _ref_of(branch: str, said: Mapping[str, str], first: str, *, is_other: bool) -> str:
    """What the branch is called there; `is_other`: where one pushes is not where one pulls.

    `first` tells how a destination is given.
    """
    own = f"refs/heads/{branch}"
    how = said.get("push.default", "simple")
    if how == "nothing":
        advice = "`git config push.default simple` lets this repository push as git usually does"
        _nowhere("`push.default` is `nothing`", advice)
    if is_other or how in _SAME_NAME:
        return own
    there = said.get(f"branch.{branch}.merge")
    if there is None and said.get("push.autosetupremote") == "true":
        return own
    if there is None:
        _nowhere(f"the branch `{branch}` has no upstream", first)
    if there != own and how == "simple":
        reason = f"the upstream of the branch `{branch}` has another name, `{there}`"
        advice = "`git config push.default upstream` lets it go there"
        _nowhere(reason, f"{advice}; or, for a branch of its own name, {first}")
    return there


def _first_push(repository: Repository, remote: str, branch: str) -> str:
    """How a branch is given a destination; it needs a commit for that."""
    command = f"`git push --set-upstream {quote(remote)} {quote(branch)}`"
    if repository.has_commits():
        return f"{command} makes the branch there, once"
    return f"run this command without `--push`, for the first commit, and then {command}"


def _nowhere(reason: str, advice: str) -> NoReturn:
    raise UnavailableError(codes.NO_PUSH_DESTINATION.at(reason=reason, advice=advice))


def _settings(repository: Repository) -> dict[str, str]:
    """What is configured about pushing; the last value of a name counts."""
    done = ask(repository.top, "config", "-z", "--get-regexp", _ASKING)
    pairs = (entry.partition("\n") for entry in os.fsdecode(done.out).split("\0"))
    return {name: value for name, _, value in pairs if name}


def push(repository: Repository, to: Destination) -> None:
    """Push; what is there already is fine."""
    arguments = ("push", "--porcelain", "--", to.remote, f"refs/heads/{to.branch}:{to.ref}")
    extra = _quiet_ssh(_settings(repository))
    done = run(repository.top, *arguments, seconds=PUSH_SECONDS, extra=extra)
    if done.code:
        raise _failure(done, to)


def _quiet_ssh(said: Mapping[str, str]) -> dict[str, str]:
    """Plain ssh is told to ask nothing; a command of the operator's own is left as it is."""
    chosen = {"GIT_SSH", "GIT_SSH_COMMAND"} & os.environ.keys() or "core.sshcommand" in said
    return {} if chosen else {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}


def _failure(done: Done, to: Destination) -> GitFailed:
    """`!<tab>FROM:TO<tab>[rejected] (fetch first)` is how git says what the other side thinks."""
    told = [line for line in done.out.decode("utf-8", "replace").split("\n") if line[:2] == "!\t"]
    reason = " / ".join(line.split("\t")[-1] for line in told)
    is_rejected = reason.startswith("[rejected]")
    code = codes.PUSH_REJECTED if is_rejected else codes.PUSH_FAILED
    words = {"remote": to.remote, "reason": reason if is_rejected else in_short(done)}
    return GitFailed(code.at(None, **words), done.said)
