"""Git for artifacts: running git, ignore rules, the repository, file history, persist status."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.publishing import NOT_A_REPOSITORY
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.persist.artifact_file import (
    ARTIFACTS,
    canonical_text,
    is_in_repository,
    relative_to_cwd,
)
from brenner.protocol.thread_ids import cross_reference
from brenner.text import MOST_SHOWN_CHARACTERS, escape_control

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterable, Iterator, Mapping

    from brenner.config import Project

# Running git in a folder, with a timeout and without prompts
#
# The operator's hooks, filters and signing apply. Only variables that point to another repository
# or index are dropped, which are set if a git hook runs this program: the repository is always the
# one that contains the file.


QUERY_SECONDS = 30
COMMIT_SECONDS = 600  # hooks may run a whole test suite
PUSH_SECONDS = 600
_TERMINATE_SECONDS = 5  # between SIGTERM and SIGKILL
_MOST_ERROR_BYTES = 64 * 1024
_LINE_SEPARATOR = " / "
_DROPPED_VARIABLES = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
    *("GIT_PREFIX", "GIT_INTERNAL_SUPER_PREFIX", "GIT_IMPLICIT_WORK_TREE"),
    *("GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_TRACE2_PARENT_SID"),
    *("GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"),
)
_SET_VARIABLES = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # set but empty: no password dialog either
    "SSH_ASKPASS_REQUIRE": "never",
}
_READ_ONLY_VARIABLES = {"GIT_OPTIONAL_LOCKS": "0"}


class GitResult(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The output as text without its last line end; undecodable bytes are preserved."""
        return os.fsdecode(self.out).removesuffix("\n")

    @property
    def output_text(self) -> str:
        """Both outputs for people: hooks and git report failures on either. Tabs become spaces."""
        both = f"{self.err}\n{self.out.decode('utf-8', 'replace')}"
        return both.replace("\t", " ").strip()


def query(folder: Path, *arguments: str, stdin: bytes = b"") -> GitResult:
    """Run git read-only: it changes nothing, and runs no file system monitor of the repository.

    Filters of the repository run if the command applies them.
    """
    return run(
        folder, "-c", "core.fsmonitor=false", *arguments, stdin=stdin, extra=_READ_ONLY_VARIABLES
    )


def run(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    seconds: float = QUERY_SECONDS,
    extra: Mapping[str, str] | None = None,
) -> GitResult:
    """Run git in a folder. Output goes to files: so a hook's background process blocks nothing."""
    import shutil
    import subprocess
    from tempfile import TemporaryFile

    program = shutil.which("git")
    if program is None:
        raise UnavailableError(codes.GIT_MISSING.at(reason="it is not on PATH"))
    environment = {
        name: value for name, value in os.environ.items() if name not in _DROPPED_VARIABLES
    }
    environment.pop("SSH_ASKPASS", None)
    with TemporaryFile() as stdin_file, TemporaryFile() as out, TemporaryFile() as err:
        stdin_file.write(stdin)
        stdin_file.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603
                [program, *arguments],
                cwd=folder,
                stdin=stdin_file,
                stdout=out,
                stderr=err,
                env=environment | _SET_VARIABLES | dict(extra or {}),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or type(error).__name__).lower()
            raise UnavailableError(codes.GIT_MISSING.at(reason=reason)) from None
        _wait(process, seconds, command_of(arguments))
        out.seek(0)
        err.seek(0)
        error_text = err.read(_MOST_ERROR_BYTES).decode("utf-8", "replace")
        return GitResult(process.returncode, out.read(), error_text)


def _wait(process: subprocess.Popen[bytes], seconds: float, command: str) -> None:
    from subprocess import TimeoutExpired

    try:
        process.wait(seconds)
    except TimeoutExpired:
        _terminate(process)
        found = codes.GIT_TIMEOUT.at(command=command, seconds=round(seconds))
        raise UnavailableError(found) from None
    except BaseException:  # an interrupt ends git, too
        _terminate(process)
        raise


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Terminate git and its children: first SIGTERM, so that it removes its locks, then SIGKILL."""
    from signal import SIGKILL, SIGTERM
    from subprocess import TimeoutExpired

    for each in (SIGTERM, SIGKILL):
        try:
            os.killpg(process.pid, each)
        except ProcessLookupError:
            break
        try:
            process.wait(_TERMINATE_SECONDS)
        except TimeoutExpired:
            continue
    process.wait()


def command_of(arguments: tuple[str, ...]) -> str:
    """Return the git command in the arguments: the first that is no option."""
    words = iter(arguments)
    for word in words:
        if word == "-c":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def git_error(result: GitResult, *arguments: str) -> UnavailableError:
    command = command_of(arguments)
    found = codes.GIT_FAILED.at(command=command, reason=summarize_output(result))
    return error_with_output(found, result)


def error_with_output(found: Diagnostic, result: GitResult) -> UnavailableError:
    """Return the error, with the whole output of git, unless the message already contains it."""
    output = result.output_text
    is_told = escape_control(_join_lines(output)) in found.message
    return UnavailableError(found, () if is_told else (output,))


def summarize_output(result: GitResult) -> str:
    """Return the output on one line; only its first line if it is too long."""
    words = _join_lines(result.output_text)
    if not words:
        return f"no output, exit code {result.code}."
    return (
        words if len(words) <= MOST_SHOWN_CHARACTERS else f"{words.partition(_LINE_SEPARATOR)[0]} …"
    )


def _join_lines(output: str) -> str:
    return _LINE_SEPARATOR.join(filter(None, (line.strip() for line in output.splitlines())))


# Ignore rules


_IGNORE = ".gitignore"
_PATTERN_CHARACTERS = lazy_pattern(r"([\\*?\[])")


def find_ignore_rule(top: Path, path: str, *options: str) -> tuple[str, str, str] | None:
    """Return source, line and pattern of the rule by which git ignores a file.

    Return None if git does not ignore the file, or tracks it.
    """
    paths = os.fsencode(path) + b"\0"
    result = query(top, "check-ignore", "--verbose", "-z", *options, "--stdin", stdin=paths)
    if result.code:
        return None
    source, line, pattern = os.fsdecode(result.out).split("\0")[:3]
    return None if pattern.startswith("!") else (source, line, pattern)  # negated: included


def _plan_exemption(top: Path, path: str, rule_source: str) -> tuple[str, list[str]]:
    """Return an ignore file, and the lines in it that exempt a file and change nothing else.

    Git does not look into an ignored folder. So each folder on the way is exempted, without its
    other content. Rules in the work tree override global ones.
    """
    source = PurePosixPath(rule_source)
    is_own = source.name == _IGNORE and not source.is_absolute()
    file = source if is_own else PurePosixPath(_IGNORE)
    lines = []
    folders = [each for each in reversed(PurePosixPath(path).parents) if each.name]
    ignored = [number for number, each in enumerate(folders) if _is_ignored(top, str(each))]
    for folder in folders[ignored[0] :] if ignored else []:
        name = _ignore_pattern(folder, file)
        lines += [f"!{name}/", f"{name}/*"]
    return str(file), [*lines, f"!{_ignore_pattern(PurePosixPath(path), file)}"]


def _is_ignored(top: Path, folder: str) -> bool:
    """Return whether a whole folder is ignored, even if it does not exist yet."""
    as_file = find_ignore_rule(top, folder, "--no-index")
    if (top / folder).is_dir():
        return as_file is not None
    # With a final slash git treats it as a folder, but also as its content: `artifacts/*` matches.
    as_folder = find_ignore_rule(top, f"{folder}/", "--no-index")
    return as_folder is not None and (as_folder == as_file or as_folder[-1].endswith("/"))


def _ignore_pattern(path: PurePosixPath, file: PurePosixPath) -> str:
    """Return a path as a literal pattern for that ignore file."""
    return "/" + _PATTERN_CHARACTERS.sub(r"\\\1", path.relative_to(file.parent).as_posix())


_NOT_A_REPOSITORY_ERROR = "not a git repository (or any"
# Files that git has while an operation is in progress, and the operation's name
_OPERATIONS_IN_PROGRESS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or `git am`",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert of several commits",
    "BISECT_LOG": "a bisect",
}
_REV_PARSE_OPTIONS = (
    *("--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir"),
    *("--show-toplevel", "--show-superproject-working-tree"),
)


class Repository(NamedTuple):
    """A work tree with its git folder; methods take paths relative to `top`.

    `superproject` is the work tree of the repository that has this one as a submodule.
    """

    top: Path
    git_folder: Path
    common_folder: Path
    superproject: Path | None = None

    @classmethod
    def find(cls, folder: Path) -> Repository:
        """Return the repository that contains a folder."""
        result = query(folder, "rev-parse", *_REV_PARSE_OPTIONS)
        is_bare, is_inside, *paths = (*result.text.split("\n"), "")
        if is_bare == "true" or is_inside == "false":
            raise UnavailableError(codes.BARE_REPOSITORY.at(path=str(folder)))
        if _NOT_A_REPOSITORY_ERROR in result.err:
            raise UnavailableError(NOT_A_REPOSITORY.at(path=str(folder)))
        if result.code:
            raise git_error(result, "rev-parse")
        if "\n" in os.path.realpath(folder):  # the name contains the separator of the answers
            paths = [query(folder, "rev-parse", which).text for which in _REV_PARSE_OPTIONS[2:]]
        git_folder, common, top, outer, *_ = (*paths, "")
        found = Path(outer) if outer else None
        return cls(Path(top), Path(git_folder), Path(os.path.abspath(folder / common)), found)  # noqa: PTH100

    def query(self, *arguments: str, stdin: bytes = b"") -> GitResult:
        """Run git read-only in this work tree; raise UnavailableError if it fails."""
        result = query(self.top, *arguments, stdin=stdin)
        if result.code:
            raise git_error(result, *arguments)
        return result

    def path_of(self, file: Path) -> str:
        """Return the path of a file relative to the work tree."""
        return file.relative_to(Path(os.path.realpath(self.top))).as_posix()

    # Content

    def blob_ids(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """Return the blob ids of files with these contents, after filters."""
        return {
            path: self.query("hash-object", f"--path={path}", "--stdin", stdin=content).text
            for path, content in files.items()
        }

    def has_commits(self) -> bool:
        return query(self.top, "rev-parse", "--verify", "--quiet", "HEAD").code == 0

    def query_head(self, *arguments: str) -> GitResult:
        """Query HEAD; the answer is empty if there is no commit.

        If another process makes the first commit at that moment, the query is repeated.
        """
        result = query(self.top, *arguments)
        return self.query(*arguments) if result.code and self.has_commits() else result

    def committed_ids(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the blob ids of files in the latest commit."""
        listed = self.query_head("ls-tree", "-z", "--full-tree", "HEAD", "--", *paths)
        return dict(_parse_entry(line) for line in _split_records(listed))

    def staged_ids(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the blob ids of files in the index: that of an empty file with intent-to-add."""
        listed = self.query("ls-files", "-z", "--stage", "--", *map(literal_pathspec, paths))
        return dict(_parse_entry(line) for line in _split_records(listed))

    def has(self, files: Mapping[str, bytes]) -> bool:
        """Return whether the latest commit has exactly these files."""
        return self.committed_ids(files) == self.blob_ids(files)

    def last_commit_of(self, *paths: str) -> str:
        """Return the latest commit that changed one of these files."""
        return self.query("rev-list", "-1", "HEAD", "--", *map(literal_pathspec, paths)).text

    def branch(self) -> str | None:
        """Return the checked-out branch, or None for a detached HEAD."""
        result = query(self.top, "symbolic-ref", "--quiet", "HEAD")
        return result.text.removeprefix("refs/heads/") if result.code == 0 else None

    # Obstacles to a commit

    def check(self, paths: Iterable[str]) -> tuple[Diagnostic, ...]:
        """Raise UnavailableError if a commit would fail; return notes about committing here."""
        for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            result = query(self.top, "var", name)
            if result.code:
                raise UnavailableError(codes.NO_GIT_IDENTITY.at(reason=_last_line(result)))
        for name, operation in _OPERATIONS_IN_PROGRESS.items():
            if os.path.lexists(self.git_folder / name):
                found = codes.GIT_OPERATION_IN_PROGRESS.at(path=str(self.top), operation=operation)
                raise UnavailableError(found)
        for path in paths:
            self._check_not_ignored(path)
        return self.notes()

    def ignores(self, path: str) -> bool:
        return find_ignore_rule(self.top, path) is not None

    def _check_not_ignored(self, path: str) -> None:
        rule = find_ignore_rule(self.top, path)
        if rule is None:
            return
        source, line, pattern = rule
        where = f"`{source}`, line {line}, contains the rule `{pattern}`"
        file, lines = _plan_exemption(self.top, path, source)
        shown = ", ".join(f"`{line}`" for line in lines)
        name = relative_to_cwd(self.top / file)
        raise UnavailableError(
            codes.ARTIFACT_IGNORED.at(path=path, rule=where, file=name, lines=shown)
        )

    def notes(self) -> tuple[Diagnostic, ...]:
        """Return notes for the operator about committing here."""
        found = []
        if self.branch() is None:
            found.append(codes.DETACHED_HEAD.at(path=str(self.top)))
        if self.superproject:
            outer = str(self.superproject)
            found.append(codes.COMMITTED_IN_INNER_REPOSITORY.at(path=str(self.top), outer=outer))
        return tuple(found)


def literal_pathspec(path: str) -> str:
    return f":(top,literal){path}"


def _split_records(result: GitResult) -> list[bytes]:
    return result.out.split(b"\0")[:-1]


def _parse_entry(line: bytes) -> tuple[str, str]:
    """Return path and id of `MODE TYPE ID<tab>PATH` or `MODE ID STAGE<tab>PATH`."""
    about, _, path = line.partition(b"\t")
    fields = about.decode("ascii").split(" ")
    is_staged = len(fields[2]) == 1
    return os.fsdecode(path), fields[1] if is_staged else fields[2]


def _last_line(result: GitResult) -> str:
    last = result.output_text.rpartition("\n")[2] or summarize_output(result)
    return last.removeprefix("fatal: ").rstrip(".")


# The history of a file


_BLOBS_PER_BATCH = 50  # bounds the memory


def committed_contents(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every content that a file has had in the history of HEAD, with its commit.

    The newest comes first, each content once. Among commits with the same content, the newest
    non-merge commit is preferred. Without a repository there is none.
    """
    folder = file.parent
    while not os.path.isdir(folder) and folder != folder.parent:
        folder = folder.parent
    if not is_in_repository(folder):
        return
    repository = Repository.find(folder)
    path = repository.path_of(file)
    commits = _commits_changing(repository, path)
    if not commits:
        return
    objects = "".join(f"{commit}:{path}\n" for commit, _ in commits)
    check = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    answers = repository.query(*check, stdin=os.fsencode(objects)).out.splitlines()
    chosen: dict[bytes, tuple[str, bool]] = {}
    for (commit, is_merge), answer in zip(commits, answers, strict=False):
        blob, _, kind = answer.partition(b" ")
        if kind == b"blob" and (blob not in chosen or (chosen[blob][1] and not is_merge)):
            chosen[blob] = (commit, is_merge)
    found = _read_blobs(repository, path, list(chosen))
    yield from ((chosen[blob][0], content) for blob, content in found)


def _commits_changing(repository: Repository, path: str) -> list[tuple[str, bool]]:
    """Return the commits that changed the file, newest first, and whether each is a merge."""
    if "\n" in path:  # the query has one path per line
        return []
    walk = ("rev-list", "--full-history", "--topo-order", "--format=%H %P", "HEAD")
    result = repository.query_head(*walk, "--", literal_pathspec(path))
    found = [line.split() for line in result.text.split("\n") if not line.startswith("commit ")]
    return [(commit, len(parents) > 1) for commit, *parents in filter(None, found)]


def _read_blobs(
    repository: Repository, path: str, blobs: list[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    attribute = repository.query("check-attr", "-z", "filter", "--", path).out.split(b"\0")
    is_filtered = attribute[_ATTRIBUTE_VALUE : _ATTRIBUTE_VALUE + 1] not in (
        [b"unspecified"],
        [b"unset"],
        [],
    )
    name = b" " + os.fsencode(path) if is_filtered else b""
    batch = ("cat-file", "--batch", *(["--filters"] if is_filtered else []))
    for first in range(0, len(blobs), _BLOBS_PER_BATCH):
        portion = blobs[first : first + _BLOBS_PER_BATCH]
        out = repository.query(*batch, stdin=b"".join(blob + name + b"\n" for blob in portion)).out
        yield from zip(portion, _split_batch(out), strict=False)


_ATTRIBUTE_VALUE = 2  # index in (path, attribute, value)


def _split_batch(out: bytes) -> Iterator[bytes]:
    """Yield the contents in `ID TYPE SIZE<line feed>CONTENT<line feed>`."""
    start = 0
    while start < len(out):
        content = out.index(b"\n", start) + 1
        end = content + int(out[start:content].rpartition(b" ")[2])
        yield out[content:end]
        start = end + 1


# Draft, Pending, Persisted: computed from the file and from git, never stored (R19).
#
# Persisted: a commit in the history of HEAD has the file as this version. Pending: the file is this
# version, but no commit has it. Draft: neither. This never raises, also without a repository,
# without git, or if git fails.


# Without permission, os.path returns False and pathlib raises.
# ruff: noqa: PTH112


PersistStatus = Literal["Draft", "Pending", "Persisted"]


class Persistence(NamedTuple):
    """The persist status of a version, and its commit if there is one."""

    status: PersistStatus
    path: str
    commit: str | None = None


def persistence_of(project: Project, thread_id: str, text: str) -> Persistence:
    return persistences_by_digest(project, thread_id, {0: version_digest(text)})[0]


def persistences_by_digest(
    project: Project, thread_id: str, wanted: Mapping[int, bytes]
) -> dict[int, Persistence]:
    """Return the persist status of versions by number, given the digests of their texts."""
    path = cross_reference(thread_id).artifact_path
    file = Path(os.path.realpath(project.folder / ARTIFACTS)) / Path(path).name
    commits = _commits_by_digest(file, set(wanted.values()))
    written = _file_digest(file)
    return {
        number: Persistence("Persisted", path, commits[digest])
        if digest in commits
        else Persistence("Pending" if digest == written else "Draft", path)
        for number, digest in wanted.items()
    }


def version_digest(text: str) -> bytes:
    """Return the digest of a version's text, independent of the message id in a file."""
    return sha256(canonical_text(text).encode(errors="surrogatepass")).digest()


def _file_digest(file: Path) -> bytes | None:
    try:
        return version_digest(file.read_bytes().decode())
    except (OSError, ValueError):
        return None


def _commits_by_digest(file: Path, wanted: set[bytes]) -> dict[bytes, str]:
    found: dict[bytes, str] = {}
    with suppress(BrennerError, ValueError, OSError):
        for commit, content in committed_contents(file) if wanted else ():
            digest = version_digest(content.decode("utf-8", "replace"))
            if digest in wanted:
                found.setdefault(digest, commit)
            if len(found) == len(wanted):
                break
    return found
