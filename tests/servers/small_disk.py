"""A disk of a few megabytes that only one server sees, and that is gone with it.

It is mounted in a name space of the server's own, so that no mount is left behind, ever.
"""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from parts import need

_MOUNT = (
    'mount -t tmpfs -o "size=$1,mode=0700,uid=$2,gid=$3" tmpfs "$4" && cd "$5" && shift 5 && '
    'exec "$@"'
)
# Who is not root may be so in a name space of users.
_APART = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-r", "-m")
_BALLAST = "ballast"


class User(NamedTuple):
    """Whom a server runs as; None is whoever runs the tests."""

    uid: int | None = None
    gid: int | None = None


class SmallDisk:
    """A folder that is such a disk for the processes that are started by `seen_by`."""

    def __init__(self, folder: Path, size: int) -> None:
        need(_may_mount(), "one may not mount a small disk here")
        self.folder = folder
        self.size = size
        folder.mkdir()

    def seen_by(self, arguments: list[str], place: Path, user: User) -> list[str]:
        """The command that sees the disk, works in a place, and is somebody."""
        mount = [str(self.size), str(user.uid or 0), str(user.gid or 0), self.folder, place]
        return [*_APART, "sh", "-c", _MOUNT, "sh", *map(str, mount), *_become(user), *arguments]

    def fill(self, process: int, but: int = 0) -> None:
        """Leave only so many bytes to a process that sees the disk."""
        ballast = self._inside(process) / _BALLAST
        with suppress(OSError), ballast.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        os.truncate(ballast, max(0, ballast.stat().st_size - but))

    def make_room(self, process: int) -> None:
        """Take away what filled it."""
        (self._inside(process) / _BALLAST).unlink()

    def _inside(self, process: int) -> Path:
        """The folder as that process sees it."""
        return Path(f"/proc/{process}/root") / self.folder.relative_to("/")


def _become(user: User) -> list[str]:
    """Who has mounted the disk is root, or believes it; a database wants to be neither."""
    if os.geteuid() != 0:
        return ["unshare", "-U", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}"]
    return ["setpriv", f"--reuid={user.uid or 0}", f"--regid={user.gid or 0}", "--clear-groups"]


def _may_mount() -> bool:
    attempt = [*_APART, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt"]
    return all(map(shutil.which, (_APART[0], _become(User())[0]))) and (
        subprocess.run(attempt, capture_output=True, check=False).returncode == 0
    )
