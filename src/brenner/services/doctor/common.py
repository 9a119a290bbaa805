"""Checks of `brenner doctor` for programs, libraries, disk and network. They change nothing."""

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
from brenner.services.workspace import nearest_existing

_OLDEST_PYTHON = (3, 11)
# Older versions can damage a file in WAL mode when two connections write and checkpoint at once.
_OLDEST_SQLITE = (3, 51, 3)
_MEGABYTE, _GIGABYTE = 10**6, 10**9
_LITTLE_SPACE = 100 * _MEGABYTE
_GIT_SECONDS = 20
_NETWORK_FILE_SYSTEMS = frozenset(
    {
        *("9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "gfs2"),
        *("glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb2"),
        *("smb3", "smbfs", "sshfs", "virtiofs", "vboxsf"),
    }
)


class CheckStatus(StrEnum):
    """The status of a check. A problem blocks something now; a warning may do so later."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


OK, WARNING, PROBLEM = CheckStatus.OK, CheckStatus.WARNING, CheckStatus.PROBLEM


class Check(NamedTuple):
    """The result of one check. `is_content` means that the mail is at fault, not its store."""

    name: str
    status: CheckStatus
    detail: str
    fix: str | None = None
    id: str | None = None
    is_content: bool = False

    @classmethod
    def of(cls, name: str, found: Diagnostic) -> "Check":
        """Convert a diagnostic to a check."""
        status = PROBLEM if found.severity is ERROR else WARNING
        place = f"Line {found.line}: " if found.line else ""
        return cls(name, status, place + found.message, found.fix, found.id)


def python_check() -> Check:
    """Check the Python version."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _OLDEST_PYTHON:
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        return Check("python", PROBLEM, f"Python {version} is too old.", f"Use {oldest} or newer.")
    return Check("python", OK, f"{version}, {sys.executable}")


def brenner_check() -> Check:
    """Report the version of Brenner, and its folder: several may be installed."""
    return Check("brenner", OK, f"{__version__}, {Path(__file__).parents[2]}")


def sqlite_check(version: str) -> Check:
    """Check the version of the SQLite library that apsw contains."""
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
    """Check that git is installed, and that it would not commit the store."""
    version = _git(Path("/"), "--version")
    if version is None or version.returncode:
        return Check(
            "git",
            WARNING,
            "There is no git that can be run.",
            "Install git. Mail does without it; artifacts cannot be committed.",
        )
    number = version.stdout.strip().removeprefix("git version ")
    if store and nearest_existing(store) == store and git_would_add(store):
        return Check(
            "git",
            WARNING,
            f"{number}; the store is not ignored: git would commit the mail as a binary file.",
            f"Write `{store.name}*` into a `.gitignore` beside it; if git tracks it already, "
            "`git rm --cached` takes it out.",
        )
    return Check("git", OK, number)


def git_would_add(file: Path) -> bool:
    """Return whether a file is in a repository that does not ignore it."""
    ignored = _git(file.parent, "check-ignore", "--quiet", "--", file.name)
    # 0: it is ignored; 1: it is not; else there is no repository, or none that git trusts.
    return ignored is not None and ignored.returncode == 1


def files_matching(folder: Path, expression: str) -> tuple[str, ...]:
    """Return the text files below a folder that match, among those that git tracks or would add.

    Staged content is searched, too.
    """
    command = ("grep", "-l", "-I", "-z", "--extended-regexp")
    answers = [
        _git(folder, *command, where, "-e", expression) for where in ("--untracked", "--cached")
    ]
    names = [name for each in answers if each for name in each.stdout.split("\0") if name]
    return tuple(dict.fromkeys(names))


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Run git; return None if it cannot be run. Programs in the repository's config are not run."""
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
    """Check whether the store is on a network file system."""
    kind = file_system(os.path.realpath(path), mounts)
    if kind is None:
        return Check("file_system", OK, "Its kind cannot be told on this system.")
    if kind.removeprefix("fuse.") not in _NETWORK_FILE_SYSTEMS:
        return Check("file_system", OK, kind)
    return Check(
        "file_system",
        WARNING,
        f"The store is on `{kind}`, which other machines can share. SQLite keeps it whole only "
        "as long as all processes that use it run on one machine.",
        "Keep the store on a local disk: `--store sqlite:////PATH`, or `store` in `brenner.toml`.",
    )


def file_system(path: str, mounts: str) -> str | None:
    """Return the type of the file system of an absolute path, from the text of /proc/mounts."""
    best, kind = "", None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) <= _TYPE_FIELD:
            continue
        point = _unescaped(fields[_TYPE_FIELD - 1])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        # A later mount hides an earlier one.
        if inside and len(point) >= len(best):
            best, kind = point, fields[_TYPE_FIELD]
    return kind


_TYPE_FIELD = 2  # the third field of a line in /proc/mounts
_ESCAPES = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


def _unescaped(text: str) -> str:
    for escape, character in _ESCAPES.items():
        text = text.replace(escape, character)
    return text


def read_mounts() -> str:
    """Return the text of /proc/mounts; empty on systems without it."""
    try:
        return Path("/proc/mounts").read_text("utf-8", "replace")
    except OSError:
        return ""


def space_check(path: Path, free: int | None = None) -> Check:
    """Check the free disk space."""
    try:
        free = shutil.disk_usage(nearest_existing(path)).free if free is None else free
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


# The connection to a server: its latency and encryption


def milliseconds(seconds: float) -> str:
    """Format a time."""
    return f"{seconds * 1_000:.1f} ms"


def encryption_check(words: str, host: str, *, is_encrypted: bool, fix: str) -> Check:
    """Check whether the connection to a server is encrypted. On this machine that is not needed."""
    if is_encrypted:
        return Check("server", OK, f"{words}; encrypted (TLS)")
    if is_local_host(host):
        return Check("server", OK, f"{words}; not encrypted, on this machine")
    detail = f"{words}. It is not encrypted: mail and passwords can be read on the way."
    return Check("server", WARNING, detail, fix)


def is_local_host(host: str) -> bool:
    """Return whether a host, or the path of a socket, is on this machine."""
    try:
        return host == "localhost" or host.startswith("/") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
