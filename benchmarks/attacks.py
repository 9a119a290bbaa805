"""What a server survives: bodies that are too large, crowds, and clients that do not read.

The server is `brenner serve` as anybody starts it, with all its limits, on the loopback address.
What is printed is what came back, how much memory it took at most, and how long somebody else
waited for an answer meanwhile. The rules of identity and the doors are in
`tests/serving/test_attacks.py`; here are the large figures. `make bench` does not run this: it
takes a minute and hundreds of megabytes.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from load import Answer, Client, call, rpc
from measure import heading, row
from served_places import BODY, HEALTH, READER, WRITER, letter, running

MEGABYTE = 1_000_000
HUGE, LARGE = 100 * MEGABYTE, 13 * MEGABYTE  # far beyond the limit, and within it
CROWD, READERS = 200, 50
THREAD_PARTS = 14
_PATHS = ("/mcp", "/mcp/", "/api", "/api/", "/", "/nowhere")
_PATIENCE = 120.0


class Target(NamedTuple):
    """The server under attack."""

    port: int
    process: int
    project: Path

    def memory(self, which: str) -> float:
        """Megabytes that it has now (`VmRSS`) or has had at most (`VmHWM`)."""
        lines = Path(f"/proc/{self.process}/status").read_text("ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(which))

    def stored(self) -> int:
        """How many messages are in its store."""
        with SqliteMailbox.open(self.project / ".brenner" / "mail.sqlite3") as mailbox:
            return mailbox.position()

    def connected(self) -> socket.socket:
        """A connection on which nothing was said."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE)


@contextmanager
def target() -> Iterator[Target]:
    """A server with two agents, and a thread of seven megabytes: an answer holds eight."""
    with TemporaryDirectory() as name:
        project = Path(name)
        (project / ".brenner").mkdir()
        with SqliteMailbox.create(project / ".brenner" / "mail.sqlite3") as mailbox:
            for each in (READER, WRITER):
                mailbox.register(Profile(each))
            for number in range(THREAD_PARTS):
                body = f"{number} " + "x" * (MEGABYTE // 2)
                mailbox.send(Message("big", WRITER, (READER,), f"Big {number}", body))
        command = [sys.executable, "-m", "brenner", "serve", "--json", "--port", "{port}"]
        with running([*command, "--project", name]) as (port, process):
            with Client(port) as client:
                assert client.ask("/mcp", call(HEALTH)).is_good  # from now on it is all there
            yield Target(port, process, project)


class Watch:
    """Somebody who works as ever while something happens, and the memory that it takes."""

    def __init__(self, victim: Target) -> None:
        self._victim = victim
        self._ended = threading.Event()
        self.waited: list[float] = []
        self.bad = 0

    def __enter__(self) -> "Watch":
        Path(f"/proc/{self._victim.process}/clear_refs").write_text("5", "ascii")
        self._before = self._victim.memory("VmRSS")
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(_PATIENCE)
        self.grown = self._victim.memory("VmHWM") - self._before

    def _work(self) -> None:
        with Client(self._victim.port) as client:
            while not self._ended.wait(0.02):
                begun = time.perf_counter()
                answer = client.ask("/mcp", call("fetch_inbox", agent_name=READER, limit=1))
                self.waited.append(time.perf_counter() - begun)
                self.bad += not answer.is_good

    def report(self, name: str, came: object) -> None:
        """One row."""
        longest = f"{max(self.waited, default=0) * 1000:.0f} ms"
        others = f"{len(self.waited) - self.bad} of {len(self.waited)}"
        row(name, f"{self.grown:+.0f} MiB", others, longest, f"  {came}")


def tell(name: str, victim: Target, attack: Callable[[], object]) -> None:
    """Do it while somebody works, and say what came of it."""
    with Watch(victim) as watch:
        came = attack()
    watch.report(name, came)


def _head(path: str, length: str) -> bytes:
    fixed = "Host: localhost\r\nContent-Type: application/json"
    return f"POST {path} HTTP/1.1\r\n{fixed}\r\n{length}\r\n\r\n".encode()


def _status(connection: socket.socket) -> str:
    try:
        return connection.recv(65_536)[9:12].decode() or "hung up"
    except ConnectionError:
        return "hung up"


def huge(victim: Target, *, chunked: bool) -> str:
    """100 MB to every address, whether or not the server has answered in between."""
    found: Counter[str] = Counter()
    piece = b" " * MEGABYTE
    for path in _PATHS:
        length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {HUGE}"
        with victim.connected() as connection:
            connection.sendall(_head(path, length))
            try:
                for _ in range(HUGE // MEGABYTE):
                    connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            except ConnectionError:
                pass  # it hung up: what it said before that can still be read
            found[_status(connection)] += 1
    return _counted(found)


def many_large(victim: Target) -> str:
    """All at once, each as large as is allowed."""
    filler = b" " * LARGE
    return _counted(Counter(_at_once(victim, 50, lambda client, _: _tried(client, filler))))


def bombs() -> Iterator[tuple[str, bytes]]:
    """Bodies that are small to send and large to read."""
    start = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_message",'
    keys = b",".join(b'"k%d":0' % number for number in range(1_000_000))
    ends = b'"sender_name":"GreenDog","to":["BlueLake"],"subject":"News","body_md":'
    yield "100,000 brackets", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    yield "100,000 brackets as an argument", start + b'"arguments":{"to":' + b"[" * 100_000
    yield "an object of a million keys", start + b'"arguments":{' + keys + b"}}}"
    yield "an argument of 13 MB", start + b'"arguments":{%b"%b"}}}' % (ends, b"x" * LARGE)
    yield (
        "a number of a million digits",
        b'{"jsonrpc":"2.0","method":"ping","id":' + b"1" * MEGABYTE + b"}",
    )
    yield "bytes that are no UTF-8", start + b'"arguments":{%b"\xff\xfe"}}}' % ends
    yield "half a character", start + b'"arguments":{%b"\\ud800"}}}' % ends


def _tried(client: Client, body: bytes) -> str:
    """What came back; who is hung up on while she still sends may miss why."""
    try:
        return _word(client.ask("/mcp", body))
    except ConnectionError:
        return "hung up"


def _word(answer: Answer) -> str:
    if answer.status == 200 and not answer.is_good:
        return "refused as a result" if b'"isError":true' in answer.body else "refused as an error"
    return str(answer.status)


def _at_once(victim: Target, many: int, work: Callable[[Client, int], str]) -> list[str]:
    """So many clients, who begin together; what became of each."""
    begin, found = threading.Barrier(many), list[str]()

    def one(number: int) -> None:
        try:
            with Client(victim.port) as client:
                begin.wait(_PATIENCE)
                found.append(work(client, number))
        except OSError as error:
            found.append(type(error).__name__)

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(many)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


def crowd(victim: Target) -> str:
    """200 connections at once, each of which sends five messages."""
    said: list[str] = []

    def send(client: Client, number: int) -> str:
        for part in range(5):
            sent = letter(str(victim.project), f"News {number}.{part}", "crowd")
            said.append(_word(client.ask("/mcp", sent)))
        return "done"

    before = victim.stored()
    ways = Counter(_at_once(victim, CROWD, send))
    new = victim.stored() - before
    return f"{_counted(Counter(said))}; {new} stored; connections: {_counted(ways)}"


def standing(victim: Target, said: bytes, seconds: float) -> str:
    """200 connections that say next to nothing, a byte a second, while somebody works."""
    with ExitStack() as stack:
        slow = [stack.enter_context(victim.connected()) for _ in range(CROWD)]
        last = time.monotonic() + seconds
        sent = 0
        while time.monotonic() < last:
            for each in slow:
                try:
                    each.sendall(said[sent : sent + 1])
                except ConnectionError:
                    continue
            sent += 1
            time.sleep(1)
        return f"{_left(slow)} of {CROWD} still connected after {seconds:.0f} s"


def _left(connections: list[socket.socket]) -> int:
    count = 0
    for each in connections:
        each.setblocking(False)
        try:
            count += bool(each.recv(1))
        except BlockingIOError:
            count += 1
        except ConnectionError:
            continue
    return count


def never_read(victim: Target, stack: ExitStack) -> str:
    """50 clients who ask for the large thread and do not read it."""
    body = rpc("resources/read", uri="resource://thread/big?include_bodies=true")
    greedy = [stack.enter_context(victim.connected()) for _ in range(READERS)]
    for each in greedy:
        each.sendall(_head("/mcp", f"Content-Length: {len(body)}") + body)
    time.sleep(20)
    return f"{victim.memory('VmRSS'):.0f} MiB in all after 20 s"


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{count} × {name}" for name, count in found.most_common())


def run() -> None:
    """All of it, at one server; then it is told to end while nobody reads."""
    columns = ("", "memory at most", "others served", "longest wait", "  what came of it")
    heading("Attacks", *columns)
    with target() as victim, ExitStack() as stack:
        begun = victim.memory("VmRSS")
        tell("100 MB, said beforehand", victim, lambda: huge(victim, chunked=False))
        tell("100 MB, in chunks", victim, lambda: huge(victim, chunked=True))
        for name, body in bombs():
            with Client(victim.port) as client:
                tell(name, victim, partial(_tried, client, body))
        tell("50 bodies of 13 MB at once", victim, lambda: many_large(victim))
        tell(f"{CROWD} at once, 5 sends each", victim, lambda: crowd(victim))
        time.sleep(2)  # until the limit of requests a second is forgotten
        tell(f"{CROWD} idle connections", victim, lambda: standing(victim, b"", 10))
        slow = _head("/mcp", "Content-Length: 800") + BODY.encode()
        tell(f"{CROWD} slow ones", victim, lambda: standing(victim, slow, 25))
        tell(f"{READERS} who never read", victim, lambda: never_read(victim, stack))
        now = victim.memory("VmRSS")
        print(f"  Memory before all this {begun:.0f} MiB, after it {now:.0f} MiB.")
        print(f"  Told to end while {READERS} clients do not read, it took {ended(victim):.1f} s.")


def ended(victim: Target) -> float:
    """The seconds until it has ended, once it is told to."""
    begun = time.perf_counter()
    os.kill(victim.process, signal.SIGTERM)
    state = Path(f"/proc/{victim.process}/stat")
    while state.read_text("utf-8").rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    return time.perf_counter() - begun


if __name__ == "__main__":
    run()
