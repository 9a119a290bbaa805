"""A git repository, as far as an artifact is concerned: where it is, what it holds, what is in
the way of a commit.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import Literal, NamedTuple

from brenner.config import Project
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.publishing import NOT_A_REPOSITORY
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError
from brenner.persist.artifact_file import ARTIFACTS, is_in_repository, plain, typed
from brenner.protocol.thread_ids import cross_reference
from brenner.text import MOST_CHARACTERS, escape_control

# Running git: in a folder, with a time limit, asking nobody anything.
#
# Git is the operator's own: her hooks, filters and signatures hold. Of the environment everything
# stays but what points to another repository or index, as it does where a hook runs this program:
# the repository is the one that holds the file, whoever calls.


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


class GitFailed(UnavailableError):
    """Git, or a hook, has failed; `output` is all that it said, for people to read."""

    def __init__(self, diagnostic: Diagnostic, output: str) -> None:
        super().__init__(diagnostic)
        self.output = output

    @property
    def details(self) -> tuple[str, ...]:
        """What git said, whole, unless the message has all of it."""
        is_told = escape_control(_on_one_line(self.output)) in self.diagnostic.message
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
        raise UnavailableError(codes.GIT_MISSING.at(reason="there is no such program"))
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
            raise UnavailableError(codes.GIT_MISSING.at(reason=reason)) from None
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
        raise UnavailableError(found) from None
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


# Whether git is told to ignore a file, by which rule, and which lines take it out of that.


_IGNORE = ".gitignore"
_SPECIAL = re.compile(r"([\\*?\[])")


class Rule(NamedTuple):
    """A rule, as it is written, and where: the path of the file is as git gives it."""

    source: str
    line: str
    pattern: str


def rule_against(top: Path, path: str, *options: str) -> Rule | None:
    """The rule by which git ignores a file; None where it does not, or has committed it before."""
    asked = os.fsencode(path) + b"\0"
    done = ask(top, "check-ignore", "--verbose", "-z", *options, "--stdin", stdin=asked)
    if done.code:
        return None
    found = Rule(*os.fsdecode(done.out).split("\0")[:3])
    return None if found.pattern.startswith("!") else found  # such a rule has let it pass


class Exemption(NamedTuple):
    """Lines, and the file at the end of which they let one file pass."""

    file: str
    lines: tuple[str, ...]


def exemption_from(top: Path, path: str, rule: Rule) -> Exemption:
    """How a file is not ignored any more, and all else is as before.

    Git looks at nothing in a folder that is ignored. So the folders on the way are let pass, each
    without what else is in it. Rules of the work tree win over those that hold for all of them.
    """
    source = PurePosixPath(rule.source)
    is_own = source.name == _IGNORE and not source.is_absolute()
    file = source if is_own else PurePosixPath(_IGNORE)
    lines = []
    way = [each for each in reversed(PurePosixPath(path).parents) if each.name]
    ignored = [number for number, each in enumerate(way) if _is_ignored(top, str(each))]
    for folder in way[ignored[0] :] if ignored else []:
        name = _pattern(folder, file)
        lines += [f"!{name}/", f"{name}/*"]
    return Exemption(str(file), (*lines, f"!{_pattern(PurePosixPath(path), file)}"))


def _is_ignored(top: Path, folder: str) -> bool:
    """Whether a folder as a whole is ignored, also one that is not there yet."""
    named = rule_against(top, folder, "--no-index")
    if (top / folder).is_dir():
        return named is not None
    # With a slash git takes it for a folder, but also for what is in it: `artifacts/*` matches.
    meant = rule_against(top, f"{folder}/", "--no-index")
    return meant is not None and (meant == named or meant.pattern.endswith("/"))


def _pattern(path: PurePosixPath, file: PurePosixPath) -> str:
    """A path as a rule in that file has it; nothing in it is a wildcard."""
    return "/" + _SPECIAL.sub(r"\\\1", path.relative_to(file.parent).as_posix())


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
            raise UnavailableError(codes.BARE_REPOSITORY.at(path=str(folder)))
        if _NOT_ONE in done.err:
            raise UnavailableError(NOT_A_REPOSITORY.at(path=str(folder)))
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
                raise UnavailableError(codes.NO_GIT_IDENTITY.at(reason=_last_words(done)))
        for name, operation in _UNDER_WAY.items():
            if os.path.lexists(self.git_folder / name):
                words = {"path": str(self.top), "operation": operation}
                raise UnavailableError(codes.GIT_OPERATION_IN_PROGRESS.at(None, **words))
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
        raise UnavailableError(codes.ARTIFACT_IGNORED.at(None, **words))

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


# Which versions of a file the history of a repository holds, and in which commits.


_AT_ONCE = 50  # contents in memory


class Held(NamedTuple):
    """A content that a file has had, and the commit that brought it in."""

    commit: str
    content: bytes


def contents(repository: Repository, path: str) -> Iterator[Held]:
    """Every content that a file has had in what is checked out and in all that led to it.

    The newest comes first, each content once. Of several commits with the same one it is the
    newest that is not a merge.
    """
    commits = _commits(repository, path)
    if not commits:
        return
    asked = "".join(f"{commit}:{path}\n" for commit, _ in commits)
    check = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    answers = repository.ask(*check, stdin=os.fsencode(asked)).out.splitlines()
    chosen: dict[bytes, tuple[str, bool]] = {}
    for (commit, is_merge), answer in zip(commits, answers, strict=False):
        blob, _, kind = answer.partition(b" ")
        if kind == b"blob" and (blob not in chosen or (chosen[blob][1] and not is_merge)):
            chosen[blob] = (commit, is_merge)
    found = _read(repository, path, list(chosen))
    yield from (Held(chosen[blob][0], content) for blob, content in found)


def _commits(repository: Repository, path: str) -> list[tuple[str, bool]]:
    """The commits that have changed the file, the newest first, and whether they are merges."""
    if "\n" in path:  # one to a line is how git is asked
        return []
    walk = ("rev-list", "--full-history", "--topo-order", "--format=%H %P", "HEAD")
    done = repository.ask_commits(*walk, "--", literal(path))
    found = [line.split() for line in done.text.split("\n") if not line.startswith("commit ")]
    return [(commit, len(parents) > 1) for commit, *parents in filter(None, found)]


def _read(repository: Repository, path: str, blobs: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The contents of blobs: as they would be checked out, where a filter keeps them otherwise."""
    attribute = repository.ask("check-attr", "-z", "filter", "--", path).out.split(b"\0")
    is_filtered = attribute[_VALUE : _VALUE + 1] not in ([b"unspecified"], [b"unset"], [])
    name = b" " + os.fsencode(path) if is_filtered else b""
    batch = ("cat-file", "--batch", *(["--filters"] if is_filtered else []))
    for first in range(0, len(blobs), _AT_ONCE):
        portion = blobs[first : first + _AT_ONCE]
        out = repository.ask(*batch, stdin=b"".join(blob + name + b"\n" for blob in portion)).out
        yield from zip(portion, _split(out), strict=False)


_VALUE = 2  # path, attribute, value


def _split(out: bytes) -> Iterator[bytes]:
    """The contents in `ID TYPE SIZE<line feed>CONTENT<line feed>`, one after the other."""
    start = 0
    while start < len(out):
        content = out.index(b"\n", start) + 1
        end = content + int(out[start:content].rpartition(b" ")[2])
        yield out[content:end]
        start = end + 1


# Draft, Pending, Persisted: read from the file and from git, never stored (R19).
#
# Persisted: a commit in the history of what is checked out has the file as this version. Pending:
# the file is this version, but no commit has it. Draft: neither. Whoever asks gets an answer, also
# without a repository, without git, or with one that fails.


# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH112


Status = Literal["Draft", "Pending", "Persisted"]


class Persistence(NamedTuple):
    """How far a version has come; the commit where there is one."""

    status: Status
    path: str
    commit: str | None = None


def persistence_of(project: Project, thread_id: str, text: str) -> Persistence:
    """How far one version has come."""
    return persistences(project, thread_id, {0: text})[0]


def persistences(
    project: Project, thread_id: str, texts: Mapping[int, str]
) -> dict[int, Persistence]:
    """How far versions have come, by their numbers, in one pass over the history."""
    digests = {number: version_digest(text) for number, text in texts.items()}
    return persistences_by_digest(project, thread_id, digests)


def persistences_by_digest(
    project: Project, thread_id: str, wanted: Mapping[int, bytes]
) -> dict[int, Persistence]:
    """The same, for who has kept the digests of the texts."""
    path = cross_reference(thread_id).artifact_path
    file = Path(os.path.realpath(project.folder / ARTIFACTS)) / Path(path).name
    commits = _states_commits(file, set(wanted.values()))
    written = _written(file)
    found = {}
    for number, digest in wanted.items():
        if digest in commits:
            found[number] = Persistence("Persisted", path, commits[digest])
        else:
            found[number] = Persistence("Pending" if digest == written else "Draft", path)
    return found


def version_digest(text: str) -> bytes:
    """What stands for the text of a version, whichever id of a message a file has."""
    return sha256(plain(text).encode(errors="surrogatepass")).digest()


def _written(file: Path) -> bytes | None:
    try:
        return version_digest(file.read_bytes().decode())
    except (OSError, ValueError):
        return None


def _states_commits(file: Path, wanted: set[bytes]) -> dict[bytes, str]:
    """The commits that brought the wanted contents in, as far as there are any."""
    folder = file.parent
    while not os.path.isdir(folder) and folder != folder.parent:
        folder = folder.parent
    if not wanted or not is_in_repository(folder):
        return {}

    found: dict[bytes, str] = {}
    try:
        repository = Repository.find(folder)
        for held in contents(repository, repository.path_of(file)):
            digest = version_digest(held.content.decode("utf-8", "replace"))
            if digest in wanted:
                found.setdefault(digest, held.commit)
            if len(found) == len(wanted):
                break
    except (BrennerError, ValueError, OSError):
        return found
    return found
