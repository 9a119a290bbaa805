"""Atomic file writes, and the lock for the files of a thread."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import contextmanager, suppress
from hashlib import sha256
from stat import S_IMODE
from typing import TYPE_CHECKING

from brenner.config import OWN_FOLDER, Project
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import UnavailableError
from brenner.limits import MOST_FILE_NAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LOCK_SECONDS = 30
_POLL_SECONDS = 0.05
_LOCKS = "locks"
_IGNORE_EVERYTHING = b"*\n"
_MOST_HOLDER_BYTES = 200
_DEFAULT_MODE = 0o666  # the umask decides
_NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


# Writing


def has_content(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file; create missing folders.

    Only one process at a time may write a path (see `thread_lock`), so temporary files of a killed
    process are removed.
    """
    try:
        _make_folder(path.parent)
        for name in os.listdir(path.parent):  # noqa: PTH208
            if name.startswith(_temporary_prefix(path)):
                path.with_name(name).unlink(missing_ok=True)
        replace_file(path, [data])
    except OSError as error:
        raise _write_error(path, error) from None


def replace_file(path: Path, portions: Iterable[bytes], *, overwrite: bool = True) -> int:
    """Write a file atomically: its name always has the whole old or the whole new content.

    The mode of an existing file stays. Return the size in bytes. Raise FileExistsError if the file
    exists and `overwrite` is not set.
    """
    temporary = path.with_name(f"{_temporary_prefix(path)}{os.urandom(8).hex()}.part")
    try:
        number = os.open(temporary, _NEW_FILE_FLAGS, _DEFAULT_MODE)
        with open(number, "wb") as file:  # noqa: PTH123
            with suppress(FileNotFoundError):
                os.fchmod(number, S_IMODE(path.lstat().st_mode))
            size = sum(map(file.write, portions))
            file.flush()
            os.fsync(number)
        if overwrite:
            temporary.replace(path)
        else:
            _link_or_rename(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    _fsync_folder(path.parent)
    return size


def _link_or_rename(temporary: Path, path: Path) -> None:
    """Give the temporary file its name. Unlike a rename, a hard link never overwrites a file."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # the file system has no hard links
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "file exists") from None
        temporary.replace(path)


def _temporary_prefix(path: Path) -> str:
    """Return the prefix of temporary names, of fixed length so that it fits for any file name."""
    return f".brenner-{sha256(os.fsencode(path.name)).hexdigest()[:16]}-"


def _make_folder(folder: Path) -> None:
    """Create a folder and flush its parents: without that, a new name may be lost."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _fsync_folder(folder.parent)


def _fsync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not supported for folders
            raise
    finally:
        os.close(number)


def _write_error(path: Path, error: OSError) -> UnavailableError:
    reason = (error.strerror or type(error).__name__).lower()
    return UnavailableError(codes.ARTIFACT_NOT_WRITTEN.at(path=str(path), reason=reason))


# Files in our own folder, which git ignores


def write_own_file(project: Project, thread_id: str, ending: str, data: bytes) -> Path:
    """Write a file about a thread into our own folder, atomically; concurrent writers are safe."""
    path = project.folder / OWN_FOLDER / _own_name(thread_id, ending)
    try:
        make_own_folder(path.parent, project)
        replace_file(path, [data])
    except OSError as error:
        raise _write_error(path, error) from None
    return path


def _own_name(thread_id: str, ending: str) -> str:
    name = f"{thread_id}.{ending}"
    is_short = len(name) <= MOST_FILE_NAME_BYTES
    return name if is_short else f"{sha256(thread_id.encode()).hexdigest()}.{ending}"


def make_own_folder(folder: Path, project: Project) -> None:
    """Create a folder in our own folder, which git ignores."""
    _make_folder(folder)
    ignore = project.folder / OWN_FOLDER / ".gitignore"
    if not ignore.exists():
        replace_file(ignore, [_IGNORE_EVERYTHING])


# Locking


@contextmanager
def thread_lock(project: Project, thread_id: str) -> Iterator[None]:
    """Hold the exclusive lock for the files of a thread. It ends with the process."""
    with hold_lock(project, thread_id, "lock", LOCK_SECONDS) as holder:
        if holder is not None:
            words = {"thread_id": thread_id, "seconds": str(LOCK_SECONDS)}
            raise UnavailableError(codes.ARTIFACT_BUSY.at(None, **words, holder=holder))
        yield


@contextmanager
def hold_lock(
    project: Project, thread_id: str, ending: str, seconds: float
) -> Iterator[str | None]:
    """Hold an exclusive lock about a thread, and yield None. It ends with the process.

    If another process has it for that long, yield which one does.
    """
    path = _lock_path(project, thread_id, ending)
    try:
        make_own_folder(path.parent, project)
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _DEFAULT_MODE)
    except OSError as error:
        raise _write_error(path, error) from None
    try:
        try:
            is_locked = wait_for_lock(number, seconds)
        except OSError as error:
            raise _write_error(path, error) from None
        if is_locked:
            _write_holder(number)
        yield None if is_locked else _read_holder(number)
    finally:
        os.close(number)


def is_locked(project: Project, thread_id: str, ending: str) -> bool:
    """Return whether a process holds that lock. Nothing is written."""
    try:
        number = os.open(_lock_path(project, thread_id, ending), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(number)


def _lock_path(project: Project, thread_id: str, ending: str) -> Path:
    return project.folder / OWN_FOLDER / _LOCKS / _own_name(thread_id, ending)


def wait_for_lock(number: int, seconds: float) -> bool:
    """Lock an open file or folder; return whether that succeeded in time."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(_POLL_SECONDS)
        else:
            return True


def _write_holder(number: int) -> None:
    """Write the holder's process id into the lock file, for the message to waiting processes."""
    with suppress(OSError):
        os.ftruncate(number, 0)
        os.pwrite(number, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)


def _read_holder(number: int) -> str:
    with suppress(OSError):
        holder = os.pread(number, _MOST_HOLDER_BYTES, 0).decode("utf-8", "replace").strip()
        return f" by {holder}" if holder else ""
    return ""
