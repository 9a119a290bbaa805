"""Who has to wait for a thread, and for whom."""

import threading
from collections import Counter
from collections.abc import Callable

import anyio
import pytest

from brenner.mail.memory import MemoryMailbox
from brenner.mcp.server import WorkerThreads
from serving.running import inside

PATIENCE = 60
SHARE, ALL = 4, 16


class Stage:
    """Work that lasts until somebody says so, and who is at it."""

    def __init__(self) -> None:
        self.at_it: Counter[str] = Counter()
        self.over = threading.Event()
        self._lock = threading.Lock()

    def work(self, name: str) -> Callable[[], str]:
        """Some work of somebody."""

        def run() -> str:
            with self._lock:
                self.at_it[name] += 1
            assert self.over.wait(PATIENCE)
            return name

        return run


async def reached(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    with anyio.fail_after(PATIENCE):
        while not is_so():
            await anyio.sleep(0.01)


def test_shares() -> None:
    """One client gets no more than its share; another one is served meanwhile, all in the end."""
    stage = Stage()
    done: Counter[str] = Counter()

    async def play() -> None:
        workers = WorkerThreads()

        async def ask(name: str) -> None:
            done[await workers.finish(stage.work(name), name)] += 1

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(ask, "greedy")
            await reached(lambda: stage.at_it["greedy"] == SHARE)
            with anyio.fail_after(PATIENCE):
                assert await workers.finish(lambda: "now", "other") == "now"
            for number in range(20):
                tasks.start_soon(ask, f"client {number}")
            await reached(lambda: stage.at_it.total() == ALL)
            with anyio.fail_after(PATIENCE):
                assert await workers.run_apart(lambda: "well") == "well"
            assert stage.at_it["greedy"] == SHARE
            assert stage.at_it.total() == ALL
            stage.over.set()
        assert not workers._shares  # noqa: SLF001  (nobody is remembered)

    anyio.run(play)
    assert done == stage.at_it
    assert done["greedy"] == 20


def test_alone() -> None:
    """Who has the server for herself has all its threads."""
    stage = Stage()

    async def play() -> None:
        workers = WorkerThreads()
        async with anyio.create_task_group() as tasks:
            for _ in range(ALL):
                tasks.start_soon(workers.finish, stage.work("alone"), None)
            await reached(lambda: stage.at_it["alone"] == ALL)
            stage.over.set()

    anyio.run(play)


def test_failures_give_the_share_back() -> None:
    """Somebody whose calls fail can go on calling."""

    async def play() -> None:
        workers = WorkerThreads()
        for _ in range(2 * ALL):
            with pytest.raises(ZeroDivisionError):
                await workers.finish(lambda: 1 // 0, "clumsy")

    anyio.run(play)


def test_health_is_asked_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is under way, a server says that it is well."""

    async def never(_self: WorkerThreads, _work: object, client: str | None) -> None:
        message = f"all threads are taken, also for {client}"
        raise RuntimeError(message)

    with inside(MemoryMailbox()) as server:
        monkeypatch.setattr(WorkerThreads, "finish", never)
        assert server.tool("health_check")["status"] == "ok"
        with pytest.raises(RuntimeError):
            server.tool("whois", agent_name="Operator")
