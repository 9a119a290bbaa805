"""What Brenner stands on: programs, libraries, the disk. Looking changes nothing."""

import ipaddress
import os
import shutil
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from brenner import __version__
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.services.workspace import existing

_OLDEST_PYTHON = (3, 11)
# Before it a file in WAL mode can be damaged when two connections write and checkpoint at once.
_OLDEST_SQLITE = (3, 51, 3)
_MEGABYTE, _GIGABYTE = 10**6, 10**9
_LITTLE_SPACE = 100 * _MEGABYTE
_GIT_SECONDS = 20
_NETWORKED = frozenset(
    {
        *("9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "gfs2"),
        *("glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb2"),
        *("smb3", "smbfs", "sshfs", "virtiofs", "vboxsf"),
    }
)


class Status(StrEnum):
    """A problem keeps something from working; a warning may do so one day."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


OK, WARNING, PROBLEM = Status.OK, Status.WARNING, Status.PROBLEM


class Check(NamedTuple):
    """One thing that was looked at. `is_content` says that the mail is at fault, not its home."""

    name: str
    status: Status
    detail: str
    fix: str | None = None
    id: str | None = None
    is_content: bool = False

    @classmethod
    def of(cls, name: str, found: Diagnostic) -> "Check":
        """What a diagnostic says, as a check."""
        status = PROBLEM if found.severity is ERROR else WARNING
        place = f"Line {found.line}: " if found.line else ""
        return cls(name, status, place + found.message, found.fix, found.id)


def python_check() -> Check:
    """The interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _OLDEST_PYTHON:
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        return Check("python", PROBLEM, f"Python {version} is too old.", f"Use {oldest} or newer.")
    return Check("python", OK, f"{version}, {sys.executable}")


def brenner_check() -> Check:
    """The program itself, and which of perhaps several."""
    return Check("brenner", OK, f"{__version__}, {Path(__file__).parents[1]}")


def sqlite_check(version: str) -> Check:
    """The SQLite library, which apsw brings along."""
    numbers = tuple(int(part) for part in version.split(".") if part.isdecimal())
    if numbers < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        return Check(
            "sqlite",
            PROBLEM,
            f"SQLite {version} can damage a store that several processes write to.",
            f"Upgrade apsw, so that it brings SQLite {oldest} or newer: "
            "`pip install --upgrade apsw`.",
        )
    return Check("sqlite", OK, version)


def git_check(store: Path | None) -> Check:
    """The git program, and whether it would take the store for a file of the repository."""
    version = _git(Path("/"), "--version")
    if version is None or version.returncode:
        return Check(
            "git",
            WARNING,
            "There is no git that can be run.",
            "Install git. Mail does without it; artifacts cannot be committed.",
        )
    said = version.stdout.strip().removeprefix("git version ")
    if store and existing(store) == store and would_take(store):
        return Check(
            "git",
            WARNING,
            f"{said}; the store is not ignored: git would commit the mail as a binary file.",
            f"Write `{store.name}*` into a `.gitignore` beside it; if git tracks it already, "
            "`git rm --cached` takes it out.",
        )
    return Check("git", OK, said)


def would_take(file: Path) -> bool:
    """Whether a file is in a repository that does not ignore it."""
    ignored = _git(file.parent, "check-ignore", "--quiet", "--", file.name)
    # 0: it is ignored; 1: it is not; else there is no repository, or none that git trusts.
    return ignored is not None and ignored.returncode == 1


def holding(folder: Path, expression: str) -> tuple[str, ...]:
    """The text files below a folder, of those that git has or would take, in which it stands.

    What was put aside for the next commit counts as it was then, too.
    """
    asked = ("grep", "-l", "-I", "-z", "--extended-regexp")
    answers = [
        _git(folder, *asked, where, "-e", expression) for where in ("--untracked", "--cached")
    ]
    names = [name for each in answers if each for name in each.stdout.split("\0") if name]
    return tuple(dict.fromkeys(names))


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """What git says; None where it cannot be run. Nothing that the repository names is run."""
    program = shutil.which("git")
    if program is None:
        return None
    try:
        return subprocess.run(  # noqa: S603
            [program, "-c", "core.fsmonitor=false", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None


def file_system_check(path: Path, mounts: str) -> Check:
    """Whether the store's file system is one that several machines share."""
    kind = file_system(os.path.realpath(path), mounts)
    if kind is None:
        return Check("file_system", OK, "Its kind cannot be told on this system.")
    if kind.removeprefix("fuse.") not in _NETWORKED:
        return Check("file_system", OK, kind)
    return Check(
        "file_system",
        WARNING,
        f"The store is on `{kind}`, which other machines can share. SQLite keeps it whole only "
        "as long as all processes that use it run on one machine.",
        "Keep the store on a local disk: `--store sqlite:////PATH`, or `store` in `brenner.toml`.",
    )


def file_system(path: str, mounts: str) -> str | None:
    """The type of the file system that holds an absolute path, from the text of /proc/mounts."""
    best, kind = "", None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) <= _TYPE:
            continue
        point = _unescaped(fields[_TYPE - 1])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        # What was mounted later hides what was there before.
        if inside and len(point) >= len(best):
            best, kind = point, fields[_TYPE]
    return kind


_TYPE = 2  # the third field of a line in /proc/mounts
_ESCAPES = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


def _unescaped(text: str) -> str:
    for escape, character in _ESCAPES.items():
        text = text.replace(escape, character)
    return text


def mounts() -> str:
    """What is mounted where; nothing on systems that do not tell."""
    try:
        return Path("/proc/mounts").read_text("utf-8", "replace")
    except OSError:
        return ""


def space_check(path: Path, free: int | None = None) -> Check:
    """How much room there is for more mail."""
    try:
        free = shutil.disk_usage(existing(path)).free if free is None else free
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        return Check("space", WARNING, f"The room on its disk cannot be told: {reason}.")
    if free >= _GIGABYTE:
        words = f"{free / _GIGABYTE:,.1f} GB free"
    else:
        words = f"{free / _MEGABYTE:,.1f} MB free"
    if free < _LITTLE_SPACE:
        return Check("space", WARNING, f"Only {words} on the store's disk.", "Make room on it.")
    return Check("space", OK, words)


# The way to a server: how long it is, and who can listen on it.


def milliseconds(seconds: float) -> str:
    """A time as it is shown."""
    return f"{seconds * 1_000:.1f} ms"


def way_check(words: str, host: str, *, is_encrypted: bool, mend: str) -> Check:
    """Whether others can read what goes to a server; on this machine nobody is in between."""
    if is_encrypted:
        return Check("server", OK, f"{words}; encrypted (TLS)")
    if is_here(host):
        return Check("server", OK, f"{words}; not encrypted, on this machine")
    detail = f"{words}. It is not encrypted: mail and passwords can be read on the way."
    return Check("server", WARNING, detail, mend)


def is_here(host: str) -> bool:
    """Whether a host, or the path of a socket, is on this machine."""
    try:
        return host == "localhost" or host.startswith("/") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
