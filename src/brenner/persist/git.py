"""A git repository, as far as an artifact is concerned: where it is, what it holds, what is in
the way of a commit.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.publishing import NOT_A_REPOSITORY
from brenner.diagnostics.model import Diagnostic, Unavailable
from brenner.persist.git_process import Done, ask, failed, in_short
from brenner.persist.ignored import exemption_from, rule_against
from brenner.persist.places import typed

_NOT_ONE = "not a git repository (or any"
# What git keeps while it is in the middle of something, and what that is called
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase, or the applying of patches",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert of several commits",
    "BISECT_LOG": "a bisect",
}
_WHERE = (
    *("--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir"),
    *("--show-toplevel", "--show-superproject-working-tree"),
)


class Repository(NamedTuple):
    """A work tree with its git folder; paths given to its methods are relative to `top`.

    `outer` is the work tree of the repository that has this one as a submodule.
    """

    top: Path
    git_folder: Path
    common_folder: Path
    outer: Path | None = None

    @classmethod
    def find(cls, folder: Path) -> "Repository":
        """The repository that a folder belongs to."""
        done = ask(folder, "rev-parse", *_WHERE)
        is_bare, is_inside, *paths = (*done.text.split("\n"), "")
        if is_bare == "true" or is_inside == "false":
            raise Unavailable(codes.BARE_REPOSITORY.at(path=str(folder)))
        if _NOT_ONE in done.err:
            raise Unavailable(NOT_A_REPOSITORY.at(path=str(folder)))
        if done.code:
            raise failed(done, "rev-parse")
        if "\n" in os.path.realpath(folder):  # its answers are parted by what is in the name
            paths = [ask(folder, "rev-parse", which).text for which in _WHERE[2:]]
        git_folder, common, top, outer, *_ = (*paths, "")
        found = Path(outer) if outer else None
        return cls(Path(top), Path(git_folder), Path(os.path.abspath(folder / common)), found)  # noqa: PTH100

    def ask(self, *arguments: str, stdin: bytes = b"") -> Done:
        """What git answers, in this work tree, where it has an answer."""
        done = ask(self.top, *arguments, stdin=stdin)
        if done.code:
            raise failed(done, *arguments)
        return done

    def path_of(self, file: Path) -> str:
        """The path of a file in here."""
        return file.relative_to(Path(os.path.realpath(self.top))).as_posix()

    # What it holds

    def blob_of(self, path: str, content: bytes) -> str:
        """The id that a file with this content gets, filters and line ends considered."""
        return self.ask("hash-object", f"--path={path}", "--stdin", stdin=content).text

    def blobs_of(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """The ids that these files get."""
        return {path: self.blob_of(path, content) for path, content in files.items()}

    def has_commits(self) -> bool:
        """Whether there is a first commit."""
        return ask(self.top, "rev-parse", "--verify", "--quiet", "HEAD").code == 0

    def ask_commits(self, *arguments: str) -> Done:
        """Ask git about HEAD; its answer is empty as long as there is no commit.

        Where another process makes the first commit in that moment, git is asked again.
        """
        done = ask(self.top, *arguments)
        return self.ask(*arguments) if done.code and self.has_commits() else done

    def committed(self, paths: Iterable[str]) -> dict[str, str]:
        """The ids of files in the latest commit."""
        listed = self.ask_commits("ls-tree", "-z", "--full-tree", "HEAD", "--", *paths)
        return dict(_entry(line) for line in _records(listed))

    def staged(self, paths: Iterable[str]) -> dict[str, str]:
        """The ids of files in the index; one that is only announced there has that of no bytes."""
        listed = self.ask("ls-files", "-z", "--stage", "--", *map(literal, paths))
        return dict(_entry(line) for line in _records(listed))

    def has(self, files: Mapping[str, bytes]) -> bool:
        """Whether the latest commit has exactly these files."""
        return self.committed(files) == self.blobs_of(files)

    def brought_in(self, *paths: str) -> str:
        """The latest commit that has changed one of these files."""
        return self.ask("rev-list", "-1", "HEAD", "--", *map(literal, paths)).text

    def branch(self) -> str | None:
        """The branch that is checked out; None for a detached HEAD."""
        done = ask(self.top, "symbolic-ref", "--quiet", "HEAD")
        return done.text.removeprefix("refs/heads/") if done.code == 0 else None

    # What is in the way of a commit

    def check(self, paths: Iterable[str]) -> tuple[Diagnostic, ...]:
        """Refuse what is known to fail; notes on what a commit here means."""
        for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            done = ask(self.top, "var", name)
            if done.code:
                raise Unavailable(codes.NO_GIT_IDENTITY.at(reason=_last_words(done)))
        for name, operation in _UNDER_WAY.items():
            if os.path.lexists(self.git_folder / name):
                words = {"path": str(self.top), "operation": operation}
                raise Unavailable(codes.GIT_OPERATION_IN_PROGRESS.at(None, **words))
        for path in paths:
            self._check_not_ignored(path)
        return self.notes()

    def ignores(self, path: str) -> bool:
        """Whether git is told to ignore a file, and does."""
        return rule_against(self.top, path) is not None

    def _check_not_ignored(self, path: str) -> None:
        rule = rule_against(self.top, path)
        if rule is None:
            return
        where = f"`{rule.source}`, line {rule.line}, has the rule `{rule.pattern}`"
        let = exemption_from(self.top, path, rule)
        lines = ", ".join(f"`{line}`" for line in let.lines)
        words = {"path": path, "rule": where, "file": typed(self.top / let.file), "lines": lines}
        raise Unavailable(codes.ARTIFACT_IGNORED.at(None, **words))

    def notes(self) -> tuple[Diagnostic, ...]:
        """What whoever commits here should know."""
        found = []
        if self.branch() is None:
            found.append(codes.DETACHED_HEAD.at(path=str(self.top)))
        if self.outer:
            words = {"path": str(self.top), "outer": str(self.outer)}
            found.append(codes.COMMITTED_IN_INNER_REPOSITORY.at(None, **words))
        return tuple(found)


def literal(path: str) -> str:
    """A path as git takes it when it expects a pattern: nothing in it is one."""
    return f":(top,literal){path}"


def _records(done: Done) -> list[bytes]:
    return done.out.split(b"\0")[:-1]


def _entry(line: bytes) -> tuple[str, str]:
    """The path and the id in `MODE TYPE ID<tab>PATH` or `MODE ID STAGE<tab>PATH`."""
    about, _, path = line.partition(b"\t")
    fields = about.decode("ascii").split(" ")
    is_staged = len(fields[2]) == 1
    return os.fsdecode(path), fields[1] if is_staged else fields[2]


def _last_words(done: Done) -> str:
    """Git explains at length; its last line says what is wrong."""
    last = done.said.rpartition("\n")[2] or in_short(done)
    return last.removeprefix("fatal: ").rstrip(".")
