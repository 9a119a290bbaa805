"""Commit exactly the given files, as `git commit --only` does, and push the branch.

Other staged or changed files stay as they are, and the index matches the commit for these files. If
the latest commit already has them, nothing is committed, so everything can be repeated after an
interruption.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, NoReturn

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import UnavailableError
from brenner.lazy_pattern import lazy_pattern
from brenner.persist.files import wait_for_lock
from brenner.persist.git import (
    COMMIT_SECONDS,
    PUSH_SECONDS,
    GitResult,
    Repository,
    error_with_output,
    git_error,
    literal_pathspec,
    query,
    run,
    summarize_output,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping

MOST_MESSAGE_CHARACTERS = 120
_FEWEST_SUMMARY_CHARACTERS = 40
_LOCK_SECONDS = 10  # for a lock of another git process
_COMMIT_LOCK_SECONDS = 60  # for other commits of ours, with their hooks
_POLL_SECONDS = 0.05
_LOCK_ERROR = lazy_pattern(r"'([^'\n]+\.lock)': File exists")
_LOST_RACE_ERROR = lazy_pattern(r"(cannot lock ref '[^'\n]+')")
_SIGNING_ERROR = lazy_pattern(r"sign|gpg|key|commit object")
# Encoding and cleanup of the message must not depend on the configuration.
_COMMIT = (
    *("-c", "i18n.commitEncoding=UTF-8", "commit", "--quiet", "--only"),
    *("--cleanup=verbatim", "--untracked-files=no", "--file=-"),
)


def commit_message(thread_id: str, number: int, summary: str) -> str:
    """Return `artifact(THREAD): vN - summary` on one line, without control characters."""
    start = f"artifact({thread_id}): v{number} - "
    shown = "".join(each if each.isprintable() else " " for each in summary)
    words = " ".join(shown.split()) or "compiled"
    most = max(MOST_MESSAGE_CHARACTERS - len(start), _FEWEST_SUMMARY_CHARACTERS)
    if len(words) > most:
        cut = words[: most - 1]
        words = (cut[: cut.rindex(" ")] if " " in cut else cut).rstrip(" ,;:") + "…"
    return start + words


def commit_only(repository: Repository, files: Mapping[str, bytes], message: str) -> None:
    """Commit these files, which are in the work tree, and update the index."""
    with _commit_lock(repository):
        wanted = repository.blob_ids(files)
        work = _CommitAttempt(repository, wanted, message)
        try:
            work.commit_with_retry()
        except BaseException:
            with suppress(UnavailableError):  # report the first failure
                work.restore_index()
            raise
        work.stage()


class _CommitAttempt:
    """One commit with its retries; `intent_to_add` are files that were not in the index."""

    def __init__(self, repository: Repository, wanted: dict[str, str], message: str) -> None:
        self.repository = repository
        self.wanted = wanted
        self.message = message
        self.before = repository.committed_ids(wanted)
        self.intent_to_add: list[str] = []
        self.deadline = time.monotonic() + _LOCK_SECONDS

    def commit_with_retry(self) -> None:
        """Commit until the latest commit has all files; wait for locks of other git processes."""
        while missing := self._missing():
            if not self._try_commit(missing):
                continue
            if left := self._missing():
                raise UnavailableError(codes.COMMIT_DIFFERS.at(path=left[0]))

    def _missing(self) -> list[str]:
        there = self.repository.committed_ids(self.wanted)
        return [path for path, blob in self.wanted.items() if there.get(path) != blob]

    def _try_commit(self, paths: list[str]) -> bool:
        known = self.repository.staged_ids(paths)
        new = [path for path in paths if path not in known]
        if new:
            if not self._change("add", "--intent-to-add", "--", *map(literal_pathspec, new)):
                return False
            self.intent_to_add += new
        with NamedTemporaryFile() as trace:
            result = run(
                self.repository.top,
                *(*_COMMIT, "--", *map(literal_pathspec, paths)),
                stdin=f"{self.message}\n".encode(),
                seconds=COMMIT_SECONDS,
                extra={"GIT_TRACE2_EVENT": trace.name},
            )
            hook = find_failed_hook(Path(trace.name).read_bytes()) if result.code else None
        if result.code and not self._missing():
            return True  # a git process left by a killed one committed it
        if result.code and hook:
            found = codes.HOOK_FAILED.at(hook=hook, reason=summarize_output(result))
            raise error_with_output(found, result)
        if result.code and self._index_was_overwritten(paths):
            return False
        return self._check_done(result, "commit")

    def _index_was_overwritten(self, paths: list[str]) -> bool:
        """Return whether another git process has removed our intent-to-add entries."""
        is_time = time.monotonic() <= self.deadline
        return is_time and bool(set(paths) - set(self.repository.staged_ids(paths)))

    def _change(self, *arguments: str) -> bool:
        return self._check_done(run(self.repository.top, *arguments), *arguments)

    def _check_done(self, result: GitResult, *arguments: str) -> bool:
        """Return whether git succeeded; sleep and return False if a lock is held."""
        if result.code == 0:
            return True
        lock = _find_lock_error(result)
        if not lock:
            raise self._failure(result, *arguments)
        if time.monotonic() > self.deadline:
            words = {"path": str(self.repository.top), "seconds": str(_LOCK_SECONDS)}
            found = codes.GIT_LOCKED.at(None, **words, reason=lock[1])
            raise error_with_output(found, result)
        time.sleep(_POLL_SECONDS)
        return False

    def _failure(self, result: GitResult, *arguments: str) -> UnavailableError:
        signs = query(self.repository.top, "config", "--type=bool", "commit.gpgsign").text == "true"
        if signs and _SIGNING_ERROR.search(result.err):
            found = codes.SIGNING_FAILED.at(reason=summarize_output(result))
            return error_with_output(found, result)
        return git_error(result, *arguments)

    def restore_index(self) -> None:
        """Remove our intent-to-add entries from the index.

        If a commit was made after all, it contains the file, and the entry stays.
        """
        there = self.repository.committed_ids(self.wanted)
        left = [path for path in self.intent_to_add if there.get(path) == self.before.get(path)]
        until = time.monotonic() + _LOCK_SECONDS
        while left and time.monotonic() < until:
            result = run(self.repository.top, "update-index", "--force-remove", "--", *left)
            if result.code == 0 or not _find_lock_error(result):
                return
            time.sleep(_POLL_SECONDS)

    def stage(self) -> None:
        """Update the index to the commit for these files: it may have had other content."""
        self.deadline = time.monotonic() + _LOCK_SECONDS
        while self.repository.staged_ids(self.wanted) != self.wanted:
            if self._change("add", "--force", "--", *map(literal_pathspec, self.wanted)):
                return


def _find_lock_error(result: GitResult) -> re.Match[str] | None:
    """Return git's error about a lock or a lost race with another git process, or None."""
    return _LOCK_ERROR.search(result.err) or _LOST_RACE_ERROR.search(result.err)


def find_failed_hook(trace: bytes) -> str | None:
    """Return the hook that failed, according to git's trace events."""
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
    """Yield the events of git itself, not those of a git process that a hook started."""
    for line in trace.splitlines():
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict) and "/" not in str(event.get("sid", "/")):
                yield event


@contextmanager
def _commit_lock(repository: Repository) -> Iterator[None]:
    """Wait until no other commit of ours is made in a repository; git's own locks fail at once.

    The lock is on git's folder itself. It leaves no file behind and ends with the process.
    """
    try:
        number = os.open(repository.common_folder, os.O_RDONLY)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UnavailableError(codes.GIT_FAILED.at(command="commit", reason=reason)) from None
    try:
        with suppress(OSError):  # no flock on this file system: rely on git's locks
            if not wait_for_lock(number, _COMMIT_LOCK_SECONDS):
                words = {"path": str(repository.top), "seconds": str(_COMMIT_LOCK_SECONDS)}
                reason = "another Brenner process is committing there"
                raise UnavailableError(codes.GIT_LOCKED.at(None, **words, reason=reason))
        yield
    finally:
        os.close(number)


# Pushing the checked-out branch, and no other, to its configured destination


_SAME_NAME_DEFAULTS = ("current", "matching")
_PUSH_SETTINGS = (
    r"^(branch\..*\.(remote|merge|pushremote)|remote\.pushdefault|push\.|core\.sshcommand)"
)


PushDestination = tuple[str, str, str]  # a remote, the local branch, and the ref to push to


def find_push_destination(repository: Repository) -> PushDestination:
    """Return where `git push` would push the branch; raise UnavailableError if nowhere.

    Nothing is configured: a branch without an upstream does not get one.
    """
    branch = repository.branch()
    remotes = [line for line in repository.query("remote").text.split("\n") if line]
    usual = "origin" if "origin" in remotes or len(remotes) != 1 else remotes[0]
    if branch is None:
        advice = "`git switch --create NAME` creates a branch"
        first = f"; then {_first_push_advice(repository, usual, 'NAME')}" if remotes else ""
        _reject_push("no branch is checked out (detached HEAD)", advice + first)
    first = _first_push_advice(repository, usual, branch)
    if not remotes:
        advice = "`git remote add origin URL` adds a remote"
        _reject_push("the repository has no remote", f"{advice}; then {first}")
    settings = _push_settings(repository)
    upstream = settings.get(f"branch.{branch}.remote", usual)
    remote = (
        settings.get(f"branch.{branch}.pushremote")
        or settings.get("remote.pushdefault")
        or upstream
    )
    if remote == ".":
        reason = f"the upstream of the branch `{branch}` is a branch of this repository"
        _reject_push(reason, first)
    return remote, branch, _remote_ref(branch, settings, first, is_other=remote != upstream)


def _remote_ref(branch: str, settings: Mapping[str, str], first: str, *, is_other: bool) -> str:
    """Return the branch's ref on the remote; `is_other`: the push remote is not the pull remote.

    `first` is the advice on how to set a destination.
    """
    own = f"refs/heads/{branch}"
    push_default = settings.get("push.default", "simple")
    if push_default == "nothing":
        advice = "`git config push.default simple` restores git's default"
        _reject_push("`push.default` is `nothing`", advice)
    if is_other or push_default in _SAME_NAME_DEFAULTS:
        return own
    upstream_ref = settings.get(f"branch.{branch}.merge")
    if upstream_ref is None and settings.get("push.autosetupremote") == "true":
        return own
    if upstream_ref is None:
        _reject_push(f"the branch `{branch}` has no upstream", first)
    if upstream_ref != own and push_default == "simple":
        reason = f"the upstream of the branch `{branch}` has another name, `{upstream_ref}`"
        advice = "`git config push.default upstream` pushes to that name"
        _reject_push(reason, f"{advice}; or, for a branch of the same name, {first}")
    return upstream_ref


def _first_push_advice(repository: Repository, remote: str, branch: str) -> str:
    """Return how to set a branch's destination, which needs a first commit."""
    command = f"`git push --set-upstream {quote(remote)} {quote(branch)}`"
    if repository.has_commits():
        return f"{command} creates the branch there"
    return f"run this command without `--push` for the first commit, then {command}"


def _reject_push(reason: str, advice: str) -> NoReturn:
    raise UnavailableError(codes.NO_PUSH_DESTINATION.at(reason=reason, advice=advice))


def _push_settings(repository: Repository) -> dict[str, str]:
    """Return the configuration about pushing; the last value of a name counts."""
    result = query(repository.top, "config", "-z", "--get-regexp", _PUSH_SETTINGS)
    pairs = (entry.partition("\n") for entry in os.fsdecode(result.out).split("\0"))
    return {name: value for name, _, value in pairs if name}


def push(repository: Repository, to: PushDestination) -> None:
    """Push the branch; an up-to-date remote is fine."""
    remote, branch, ref = to
    arguments = ("push", "--porcelain", "--", remote, f"refs/heads/{branch}:{ref}")
    extra = _non_interactive_ssh(_push_settings(repository))
    result = run(repository.top, *arguments, seconds=PUSH_SECONDS, extra=extra)
    if result.code:
        raise _push_error(result, remote)


def _non_interactive_ssh(settings: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which plain ssh never prompts; keep the operator's own command."""
    chosen = {"GIT_SSH", "GIT_SSH_COMMAND"} & os.environ.keys() or "core.sshcommand" in settings
    return {} if chosen else {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}


def _push_error(result: GitResult, remote: str) -> UnavailableError:
    """Return the push error; git reports `!<tab>FROM:TO<tab>[rejected] (fetch first)`."""
    rejections = [
        line for line in result.out.decode("utf-8", "replace").split("\n") if line[:2] == "!\t"
    ]
    reason = " / ".join(line.split("\t")[-1] for line in rejections)
    is_rejected = reason.startswith("[rejected]")
    code = codes.PUSH_REJECTED if is_rejected else codes.PUSH_FAILED
    reason = reason if is_rejected else summarize_output(result)
    return error_with_output(code.at(remote=remote, reason=reason), result)
