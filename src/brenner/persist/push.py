"""Pushing the branch that is checked out, and no other, to where git says that it goes."""

import os
from collections.abc import Mapping
from shlex import quote
from typing import NamedTuple, NoReturn

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import Unavailable
from brenner.persist.git import Repository
from brenner.persist.git_process import PUSH_SECONDS, Done, GitFailed, ask, in_short, run

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
    raise Unavailable(codes.NO_PUSH_DESTINATION.at(reason=reason, advice=advice))


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
