"""Files that are written whole or not at all, and the lock under which that is done."""

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

PATIENCE = 30
_LOOK_EVERY = 0.05
_LOCKS = "locks"
_IGNORE_EVERYTHING = b"*\n"
_MOST_HOLDER_BYTES = 200
_USUAL_MODE = 0o666  # the umask decides


# Writing


def is_written(path: Path, data: bytes) -> bool:
    """Whether a file holds exactly that."""
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that its name stands for all of the old content, or all of the new one.

    Folders that are missing are made. The mode of a file that was there stays. One process at a
    time writes a path (see `locked`): what another one has left unfinished is cleared away.
    """
    try:
        _make_folder(path.parent)
        _clear(path)
        _put(path, data)
    except OSError as error:
        raise _not_written(path, error) from None


def _put(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{_prefix(path)}{os.urandom(8).hex()}.part")
    try:
        _write(temporary, data, _mode_of(path))
        os.replace(temporary, path)  # noqa: PTH105
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    _flush_folder(path.parent)


def _prefix(path: Path) -> str:
    """How the names begin under which this file is written; of any length, it has room."""
    return f".brenner-{sha256(os.fsencode(path.name)).hexdigest()[:16]}-"


def _clear(path: Path) -> None:
    """Whoever was killed while writing has left a part."""
    start = _prefix(path)
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
    number = os.open(path, flags, _USUAL_MODE)
    with open(number, "wb") as file:  # noqa: PTH123
        if mode is not None:
            os.fchmod(number, mode)
        file.write(data)
        file.flush()
        os.fsync(number)


def _make_folder(folder: Path) -> None:
    """A new name is safe only when its folder is on the disk."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _flush_folder(folder.parent)


def _flush_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems flush no folders
            raise
    finally:
        os.close(number)


def _not_written(path: Path, error: OSError) -> UnavailableError:
    reason = (error.strerror or type(error).__name__).lower()
    return UnavailableError(codes.ARTIFACT_NOT_WRITTEN.at(path=str(path), reason=reason))


# In our own folder, which git leaves alone


def write_own(project: Project, thread_id: str, ending: str, data: bytes) -> Path:
    """Write a file about a thread there, whole or not at all; several may do so at once."""
    path = project.folder / OWN_FOLDER / _own_name(thread_id, ending)
    try:
        _make_own_folder(path.parent, project)
        _put(path, data)
    except OSError as error:
        raise _not_written(path, error) from None
    return path


def _own_name(thread_id: str, ending: str) -> str:
    name = f"{thread_id}.{ending}"
    is_short = len(name) <= MOST_FILE_NAME_BYTES
    return name if is_short else f"{sha256(thread_id.encode()).hexdigest()}.{ending}"


def _make_own_folder(folder: Path, project: Project) -> None:
    _make_folder(folder)
    ignore = project.folder / OWN_FOLDER / ".gitignore"
    if not ignore.exists():
        _put(ignore, _IGNORE_EVERYTHING)


# Locking


@contextmanager
def locked(project: Project, thread_id: str) -> Iterator[None]:
    """Alone with the files of a thread. The lock ends with the process, whatever ends it."""
    path = project.folder / OWN_FOLDER / _LOCKS / _own_name(thread_id, "lock")
    try:
        _make_own_folder(path.parent, project)
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _USUAL_MODE)
    except OSError as error:
        raise _not_written(path, error) from None
    try:
        _wait_for(number, path, thread_id)
        yield
    finally:
        os.close(number)


def _wait_for(number: int, path: Path, thread_id: str) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                words = {"thread_id": thread_id, "seconds": str(PATIENCE)}
                found = codes.ARTIFACT_BUSY.at(None, **words, holder=_holder(number))
                raise UnavailableError(found) from None
            time.sleep(_LOOK_EVERY)
        except OSError as error:
            raise _not_written(path, error) from None
        else:
            break
    _sign(number)


def _sign(number: int) -> None:
    """Say who holds it, for those who wait; without that it is a lock all the same."""
    with suppress(OSError):
        os.ftruncate(number, 0)
        os.pwrite(number, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)


def _holder(number: int) -> str:
    with suppress(OSError):
        said = os.pread(number, _MOST_HOLDER_BYTES, 0).decode("utf-8", "replace").strip()
        return f" by {said}" if said else ""
    return ""
