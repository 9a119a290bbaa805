"""`brenner serve` beside a real Agent Mail server, in one run: how soon, how many, how long.

The same mail is in both, and the same raw clients ask both, in turns. The bound is a server of the
same libraries that answers with as many blanks as ours; for a send, with one durable insert added.
`BRENNER_BENCH_LARGE=1` asks for longer.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import anyio
from mcp import Client as OfficialClient
from mcp import StdioServerParameters

import served_places
from home_places import Missing
from load import Client, Load, press
from mail_store import bare_table
from measure import best_of, best_of_processes, heading, milliseconds, row
from served_places import HEALTH, SEND, Served

CROWDS = (1, 8, 32)
_SECONDS = 10.0 if os.environ.get("BRENNER_BENCH_LARGE") else 3.0
_STARTS = 5
_BRENNER = (sys.executable, "-m", "brenner")
_SDK = "import mcp.server.streamable_http_manager, starlette.applications, uvicorn"


@contextmanager
def places() -> Iterator[tuple[Served, ...]]:
    """The servers, the bound first. Where there is no Agent Mail server, that is said."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        our_own = stack.enter_context(served_places.ours(Path(folder)))
        found = [stack.enter_context(served_places.bare(our_own)), our_own]
        try:
            found.append(stack.enter_context(served_places.agent_mail()))
        except Missing as missing:
            print(f"\nServing beside an Agent Mail server\n  Not measured: {missing}")
        for each in found:
            for work in each.works.values():  # a little beforehand, so that all is loaded
                press(each.port, work.path, work.request, 2, 0.2)
        yield tuple(found)


def insert_seconds() -> float:
    """One insert that is safe on the disk when it returns."""
    insert = "INSERT INTO mail (text) VALUES (?)"
    with tempfile.TemporaryDirectory() as folder:
        table = bare_table(Path(folder, "bare.sqlite3"))
        with closing(table):
            return best_of(lambda: table.execute(insert, (served_places.BODY,)), least_runs=100)


def compare(servers: tuple[Served, ...], clients: int) -> None:
    """One table: each work at each server, right after each other."""
    several = "s, each with a connection of its own" if clients > 1 else ""
    columns = ("a second", "median", "95 %", "99 %", "failed", "× bound")
    heading(f"Serving, {clients} client{several}", "", *columns)
    for work in servers[0].works:
        insert = insert_seconds() if work == SEND else 0.0
        print(f"  {work}" + (f" (a durable insert takes {milliseconds(insert)})" if insert else ""))
        least = 0.0
        for served in servers:
            path, request = served.works[work]
            load = press(served.port, path, request, clients, _SECONDS)
            ratio = f"{1 / (load.rate * least):.1f} ×" if least and load.rate else ""
            least = least or 1 / load.rate + insert
            row(served.name, *_figures(load), ratio)


def _figures(load: Load) -> tuple[str, ...]:
    shares = (milliseconds(load.within(share)) for share in (0.5, 0.95, 0.99))
    return (f"{load.rate:,.0f}", *shares, str(load.failed))


def serve() -> None:
    """Every crowd, and what all of it does to the memory of each process."""
    with places() as servers:
        before = [each.resident() for each in servers]
        for clients in CROWDS:
            compare(servers, clients)
        print("  The ratio is of the seconds for each answer. The bound of a send is a bare answer")
        print("  and one durable insert.")
        heading("Serving, memory of the process", "", "before", "after all this")
        for each, size in zip(servers, before, strict=True):
            row(each.name, _mib(size), _mib(each.resident()))


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


def starts() -> None:
    """How soon each way to begin gives its first answer."""
    commands = {
        "empty interpreter": [sys.executable, "-c", "pass"],
        "importing the SDK": [sys.executable, "-c", _SDK],
        "brenner --version": [*_BRENNER, "--version"],
    }
    times = dict(zip(commands, best_of_processes(list(commands.values()), 7), strict=True))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        times["brenner mcp"] = min(_over_stdio(folder) for _ in range(_STARTS))
        times["brenner serve"] = min(_over_http(folder) for _ in range(_STARTS))
    try:
        times["Agent Mail"] = _agent_mail()
    except Missing as missing:
        print(f"\nThe start of an Agent Mail server\n  Not measured: {missing}")
    heading("Serving, from a start to the first answer", "", "time", "× importing the SDK")
    for each, taken in times.items():
        row(each, milliseconds(taken), f"{taken / times['importing the SDK']:.2f} ×")


def _over_stdio(folder: Path) -> float:
    """The official client starts the program itself, and calls one tool."""

    async def ask() -> float:
        begun = time.perf_counter()
        arguments = [*_BRENNER[1:], "mcp", "--project", str(folder)]
        command = StdioServerParameters(command=_BRENNER[0], args=arguments, env=dict(os.environ))
        async with OfficialClient(command) as client:
            assert not (await client.call_tool(HEALTH, {})).is_error
            return time.perf_counter() - begun

    return anyio.run(ask)


def _over_http(folder: Path) -> float:
    begun = time.perf_counter()
    with served_places.running(served_places.serve_command(folder)) as (port, _):
        work = served_places.as_agents_ask("/mcp", "")[HEALTH]
        with Client(port) as client:
            assert client.ask(work.path, work.request(0)).is_good
            return time.perf_counter() - begun


def _agent_mail() -> float:
    """Once: it takes its time."""
    from home_places import started
    from servers.agent_mail import AgentMailServer

    begun = time.perf_counter()
    with started(AgentMailServer):
        return time.perf_counter() - begun


def run() -> None:
    """All of it."""
    starts()
    serve()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    run()
