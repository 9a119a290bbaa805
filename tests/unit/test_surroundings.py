"""What the program stands on: versions, file systems, room on the disk."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import brenner
from brenner.config import Project
from brenner.services.doctor import stores
from brenner.services.doctor.checks import run_checks, sqlite_check
from brenner.services.doctor.stores import OK, PROBLEM, WARNING, DoctorContext, named_check


@pytest.mark.parametrize(
    ("version", "status"),
    [("3.40.1", PROBLEM), ("3.51.2", PROBLEM), ("3.51.3", OK), ("3.54.1", OK), ("4.0.0", OK)],
)
def test_sqlite_version(version: str, status: stores.CheckStatus) -> None:
    """Before 3.51.3 a store that several write to can be damaged."""
    assert named_check("sqlite", sqlite_check(version)).status is status


def test_the_program_names_its_folder(tmp_path: Path) -> None:
    """A second installation is found by it."""
    context = DoctorContext(Project(tmp_path), None, datetime.now(UTC))
    found = next(check for check in run_checks(context) if check.name == "brenner")
    assert found.detail.endswith(str(Path(brenner.__file__).parent))


MOUNTS = """\
/dev/vda / ext4 rw,relatime 0 0
server:/home /home nfs4 rw 0 0
//nas/share /mnt/my\\040share cifs rw 0 0
me@host: /home/ada/far fuse.sshfs rw 0 0
/dev/vdb /home/ada/near ext4 rw 0 0
tmpfs /srv tmpfs rw 0 0
C:\\134 /mnt/c 9p rw 0 0
nas:/srv /srv nfs rw 0 0
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/tmp/x", "ext4"),  # noqa: S108
        ("/home", "nfs4"),
        ("/home/ada/x", "nfs4"),
        ("/homeless/x", "ext4"),
        ("/home/ada/far/x", "fuse.sshfs"),
        ("/home/ada/near/x", "ext4"),
        ("/mnt/my share/x", "cifs"),
        ("/mnt/c/Users", "9p"),
        ("/srv/x", "nfs"),
    ],
)
def test_network_file_system(path: str, kind: str) -> None:
    """The mount that holds the path decides, the last one where there are several."""
    assert stores.file_system(path, MOUNTS) == kind
    check = named_check("file_system", stores.file_system_check(Path(path), MOUNTS))
    assert check.status is (OK if kind == "ext4" else WARNING)
    assert kind in check.detail
    assert bool(check.fix) is (kind != "ext4")


def test_file_system_that_cannot_be_told() -> None:
    """Not every system has /proc/mounts."""
    check = named_check("file_system", stores.file_system_check(Path("/"), ""))
    assert (check.status, check.fix) == (OK, None)


def test_mounts_of_this_system() -> None:
    """What the system says is understood."""
    if Path("/proc/mounts").exists():
        assert stores.file_system("/", stores.read_mounts())


@pytest.mark.parametrize(
    ("free", "status", "words"),
    [(0, WARNING, "0.0 MB"), (99_999_999, WARNING, "100.0 MB"), (2_500_000_000, OK, "2.5 GB")],
)
def test_space(free: int, status: stores.CheckStatus, words: str) -> None:
    """Little room is a warning before a full disk is an error."""
    check = named_check("space", stores.space_check(Path("/"), free))
    assert check.status is status
    assert words in check.detail


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells")
def test_who_has_the_store_open(tmp_path: Path) -> None:
    """Another process that uses the file is named; this one is not, nor one that has let go."""
    store = tmp_path / "mail.sqlite3"
    log = tmp_path / "mail.sqlite3-wal"
    log.write_bytes(b"")
    with store.open("wb"):
        assert stores.in_use_problem(store) is None
    script = "import sys; file = open(sys.argv[1]); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        found = stores.in_use_problem(store)
        assert found
        assert found[0].startswith(f"process {process.pid} (`")
        process.communicate(b"")
    assert stores.in_use_problem(store) is None
