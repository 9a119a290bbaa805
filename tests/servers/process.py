"""A server as a process: started, stopped, killed, paused; it never outlives the test."""

import atexit
import secrets
import shutil
import signal
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Generic, NamedTuple, Self, TypeVar

from parts import need
from servers.lifetime import empty, new_folder, occupants, tell, until
from servers.small_disk import SmallDisk, User

_TO_STOP = 30  # seconds
# Below the ports that the system gives to outgoing connections: a server that is down for a
# moment must find its own free again.
_FIRST_PORT, _PORTS = 20_000, 12_000
_TRIES = 5
_STOPPED = "T"


AnyServer = TypeVar("AnyServer", bound="Server")


class Command(NamedTuple):
    """How a server is started."""

    arguments: list[str]
    folder: Path
    environment: Mapping[str, str] = MappingProxyType({})
    user: User = User()


class Server(ABC):
    """A server of our own on this machine. All verbs return when it is so."""

    patience: float  # seconds until it must be ready

    def __init__(self, name: str) -> None:
        need(Path("/proc/self/cwd").exists(), "the servers of the tests are looked after by /proc")
        self.folder = new_folder(name)
        self.log = self.folder / "log"
        self.port = 0
        self.disk: SmallDisk | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> Command:
        """How to start it on its port."""

    @abstractmethod
    def ready(self) -> bool:
        """Whether it does what it is there for."""

    def start(self) -> None:
        """Start it; the first time on a port that is free, later on the same."""
        tries = 1 if self.port else _TRIES
        for left in reversed(range(tries)):
            self.port = self.port if tries == 1 else free_port()
            try:
                self._start()
            except RuntimeError as error:
                if not left or "address already in use" not in str(error).lower():
                    raise
            else:
                return

    def _start(self) -> None:
        assert not self.is_running, "it runs already"
        command = self.command()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command.arguments,
                cwd=command.folder,
                env=command.environment,
                user=command.user.uid,
                group=command.user.gid,
                extra_groups=None if command.user.uid is None else [],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._await(self.ready)
        except BaseException:
            self.kill()
            raise

    def _await(self, ready: Callable[[], bool]) -> None:
        try:
            for _ in until(lambda: not self.is_running or ready(), self.patience):
                pass
        except TimeoutError:
            self._fail(f"was not ready after {self.patience} seconds")
        if not self.is_running:
            self._fail("ended at once")

    def _fail(self, what: str) -> None:
        said = self.log.read_text("utf-8", "replace")[-3_000:]
        message = f"{type(self).__name__} {what}; its log ends:\n{said}"
        raise RuntimeError(message)

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ask it to end: no new connections, the present ones are ended."""
        self.resume()
        if self._process and self.is_running:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(_TO_STOP)
            except subprocess.TimeoutExpired:
                self.kill()
        self.kill()

    def kill(self) -> None:
        """End it and all its helpers with SIGKILL, as when the power fails."""
        if self._process:
            self._process.kill()
            self._process.wait()
        empty(self.folder)

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """It stands still: the system still takes connections for it, and nobody answers."""
        tell(self.folder, signal.SIGSTOP)
        for _ in until(lambda: set(occupants(self.folder).values()) <= {_STOPPED}, _TO_STOP):
            tell(self.folder, signal.SIGSTOP)  # somebody was being born

    def resume(self) -> None:
        """It goes on."""
        tell(self.folder, signal.SIGCONT)

    def fill_disk(self, but: int = 0) -> None:
        """Leave only so many bytes on its small disk."""
        assert self.disk
        assert self._process
        self.disk.fill(self._process.pid, but)

    def empty_disk(self) -> None:
        """Take away what filled it."""
        assert self.disk
        assert self._process
        self.disk.make_room(self._process.pid)

    def close(self) -> None:
        """End it and forget what it stored."""
        self.stop()
        shutil.rmtree(self.folder)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Shared(Generic[AnyServer]):
    """The one server of its kind that this test process starts; what failed is not tried again."""

    def __init__(self, kind: Callable[[], AnyServer]) -> None:
        self._kind = kind
        self._server: AnyServer | None = None
        self._failed: str | None = None

    def __call__(self) -> AnyServer:
        if self._failed:
            raise RuntimeError(self._failed)
        if not self._server:
            server = self._kind()
            try:
                server.start()
            except RuntimeError as error:
                self._failed = str(error)
                raise
            atexit.register(server.stop)
            self._server = server
        return self._server


def free_port() -> int:
    """A port of the loopback address on which nobody listens."""
    while True:
        port = _FIRST_PORT + secrets.randbelow(_PORTS)
        with socket.socket() as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                attempt.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
