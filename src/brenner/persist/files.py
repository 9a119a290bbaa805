"""Atomic file writes, and the lock for the files of a thread."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from stat import S_IMODE

from brenner.config import OWN_FOLDER, Project
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import UnavailableError
from brenner.limits import MOST_FILE_NAME_BYTES

LOCK_SECONDS = 30
_POLL_SECONDS = 0.05
_LOCKS = "locks"
_IGNORE_EVERYTHING = b"*\n"
_MOST_HOLDER_BYTES = 200
_DEFAULT_MODE = 0o666  # the umask decides


# Writing


def has_content(path: Path, data: bytes) -> bool:
    """Return whether a file has exactly this content."""
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file atomically: its name always has the whole old or the whole new content.

    Missing folders are created. The mode of an existing file stays. Only one process at a time may
    write a path (see `thread_lock`), so temporary files of a killed process are removed.
    """
    try:
        _make_folder(path.parent)
        _remove_leftovers(path)
        _replace_file(path, data)
    except OSError as error:
        raise _write_error(path, error) from None


def _replace_file(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{_temporary_prefix(path)}{os.urandom(8).hex()}.part")
    try:
        _write(temporary, data, _mode_of(path))
        os.replace(temporary, path)  # noqa: PTH105
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    _fsync_folder(path.parent)


def _temporary_prefix(path: Path) -> str:
    """Return the prefix of temporary names, of fixed length so that it fits for any file name."""
    return f".brenner-{sha256(os.fsencode(path.name)).hexdigest()[:16]}-"


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of a process that was killed while writing."""
    start = _temporary_prefix(path)
    for name in os.listdir(path.parent):  # noqa: PTH208
        if name.startswith(start):
            path.with_name(name).unlink(missing_ok=True)


def _mode_of(path: Path) -> int | None:
    try:
        return S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes, mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    number = os.open(path, flags, _DEFAULT_MODE)
    with open(number, "wb") as file:  # noqa: PTH123
        if mode is not None:
            os.fchmod(number, mode)
        file.write(data)
        file.flush()
        os.fsync(number)


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
        _make_own_folder(path.parent, project)
        _replace_file(path, data)
    except OSError as error:
        raise _write_error(path, error) from None
    return path


def _own_name(thread_id: str, ending: str) -> str:
    name = f"{thread_id}.{ending}"
    is_short = len(name) <= MOST_FILE_NAME_BYTES
    return name if is_short else f"{sha256(thread_id.encode()).hexdigest()}.{ending}"


def _make_own_folder(folder: Path, project: Project) -> None:
    _make_folder(folder)
    ignore = project.folder / OWN_FOLDER / ".gitignore"
    if not ignore.exists():
        _replace_file(ignore, _IGNORE_EVERYTHING)


# Locking


@contextmanager
def thread_lock(project: Project, thread_id: str) -> Iterator[None]:
    """Hold the exclusive lock for the files of a thread. It ends with the process."""
    path = project.folder / OWN_FOLDER / _LOCKS / _own_name(thread_id, "lock")
    try:
        _make_own_folder(path.parent, project)
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _DEFAULT_MODE)
    except OSError as error:
        raise _write_error(path, error) from None
    try:
        _acquire_lock(number, path, thread_id)
        yield
    finally:
        os.close(number)


def _acquire_lock(number: int, path: Path, thread_id: str) -> None:
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                words = {"thread_id": thread_id, "seconds": str(LOCK_SECONDS)}
                found = codes.ARTIFACT_BUSY.at(None, **words, holder=_read_holder(number))
                raise UnavailableError(found) from None
            time.sleep(_POLL_SECONDS)
        except OSError as error:
            raise _write_error(path, error) from None
        else:
            break
    _write_holder(number)


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
