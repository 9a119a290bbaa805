"""Servers for a benchmark, each with the same mail: ours, a real Agent Mail server, a bare one."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from home_places import started
from load import Client, call, rpc

READER, WRITER = "BlueLake", "GreenDog"
THREAD, IN_THREAD, INBOX = "long-thread", 200, 1_000
BODY = "The gradient is read by its neighbours, and the clock tells them when. " * 8
HEALTH, SEND = "health_check", "send_message"
_READY_SECONDS = 60.0

# The limit of requests a second is for strangers; here it would be all that is measured.
_UNLIMITED = """
import sys
from functools import partial
from brenner.__main__ import main
from brenner.cli import serve
from brenner.server.settings import ServeSettings
serve.ServeSettings = partial(ServeSettings, requests_a_second=10**9)
main()
"""
_BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
async def answer(request):
    await request.body()
    return Response(b" " * int(request.path_params["size"]), media_type="application/json")
app = Starlette(routes=[Route("/{size}", answer, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", http="h11")
"""


class Work(NamedTuple):
    """What is asked for: the address, and the body of the n-th request."""

    path: str
    request: Callable[[int], bytes]


class Served(NamedTuple):
    """A server that answers: where, what it is asked, and as which process."""

    name: str
    port: int
    works: Mapping[str, Work]
    process: int

    def resident(self) -> int:
        """The bytes of memory that it occupies."""
        pages = int(Path(f"/proc/{self.process}/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def sizes(self) -> dict[str, int]:
        """How long the answers are."""
        with Client(self.port) as client:
            answers = {
                name: client.ask(work.path, work.request(0)) for name, work in self.works.items()
            }
        assert all(answer.is_good for answer in answers.values()), answers
        return {name: len(answer.body) for name, answer in answers.items()}


def as_agents_ask(path: str, key: str) -> dict[str, Work]:
    """The four things that agents ask for most often; any server of Agent Mail's kind."""
    inbox = call("fetch_inbox", project_key=key, agent_name=READER, limit=20)
    thread = f"resource://thread/{THREAD}?project={key}&include_bodies=true"
    read, health = rpc("resources/read", uri=thread), call("health_check")
    return {
        HEALTH: Work(path, lambda _: health),
        SEND: Work(path, lambda number: letter(key, f"News {number}", "lunch")),
        f"fetch_inbox, 20 of {INBOX:,}": Work(path, lambda _: inbox),
        f"thread of {IN_THREAD}": Work(path, lambda _: read),
    }


def letter(key: str, subject: str, thread: str) -> bytes:
    """Mail that is not of the protocol."""
    ends = {"project_key": key, "sender_name": WRITER, "to": [READER]}
    return call("send_message", **ends, subject=subject, body_md=BODY, thread_id=thread)


def _thread_of(number: int) -> str:
    return THREAD if number <= IN_THREAD else f"short-{number % 50}"


@contextmanager
def ours(project: Path) -> Iterator[Served]:
    """`brenner serve` with an embedded store; mail is in it before it starts."""
    (project / ".brenner").mkdir()
    with SqliteMailbox.create(project / ".brenner" / "mail.sqlite3") as mailbox:
        for each in (READER, WRITER):
            mailbox.register(Profile(each))
        for number in range(1, INBOX + 1):
            mailbox.send(Message(_thread_of(number), WRITER, (READER,), f"News {number}", BODY))
    with running(serve_command(project)) as (port, process):
        yield Served("brenner serve", port, as_agents_ask("/mcp", str(project)), process)


def serve_command(project: Path) -> list[str]:
    """How our server is started for this."""
    where = ("--port", "{port}", "--project", str(project))
    return [sys.executable, "-c", _UNLIMITED, "serve", "--json", *where]


@contextmanager
def agent_mail() -> Iterator[Served]:
    """The real one, which takes mail only over the connection."""
    from servers.agent_mail import PATH, AgentMailServer  # found only when all of it runs
    from servers.lifetime import occupants

    with started(AgentMailServer) as server:
        key = str(server.folder)
        server.tool("ensure_project", human_key=key)
        for each in (READER, WRITER):
            who = {"program": "none", "model": "none", "name": each}
            server.tool("register_agent", project_key=key, **who)
        with Client(server.port) as client:
            for number in range(1, INBOX + 1):
                sent = letter(key, f"News {number}", _thread_of(number))
                assert client.ask(PATH, sent).is_good
        process = min(occupants(server.folder))
        yield Served("Agent Mail", server.port, as_agents_ask(PATH, key), process)


@contextmanager
def bare(like: Served) -> Iterator[Served]:
    """A server of the same libraries that answers with as many blanks as another one does."""
    works = {
        name: Work(f"/{size}", like.works[name].request) for name, size in like.sizes().items()
    }
    with running([sys.executable, "-c", _BARE, "{port}"]) as (port, process):
        yield Served("the bound", port, works, process)


@contextmanager
def running(command: list[str]) -> Iterator[tuple[int, int]]:
    """A server as a process that takes connections: its port and its number."""
    with socket.socket() as attempt:
        attempt.bind(("127.0.0.1", 0))
        port = attempt.getsockname()[1]
    filled = [each.replace("{port}", str(port)) for each in command]
    with subprocess.Popen(filled, stdout=subprocess.DEVNULL) as process:
        try:
            _await(process, port)
            yield port, process.pid
        finally:
            process.terminate()


def _await(process: "subprocess.Popen[bytes]", port: int) -> None:
    """Until somebody listens there."""
    last = time.monotonic() + _READY_SECONDS
    while True:
        try:
            with closing(socket.create_connection(("127.0.0.1", port), timeout=1)):
                return
        except OSError:
            if process.poll() is not None or time.monotonic() > last:
                raise
            time.sleep(0.005)
