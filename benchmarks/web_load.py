"""The web pages of a large session beside those of a small one, and many viewers at once.

Both sessions are made by the workflows and served by a process each; every figure of the large one
stands beside the same of the small one, taken in the same run. A page is asked for when nobody has
looked yet, again, and after a message has come in. Then two hundred look on while mail comes in.

`BRENNER_BENCH_LARGE=1` makes it 10,000 messages and 4,000 items, which takes some minutes.
"""

import asyncio
import http.client
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import served_places
from brenner.config import OPERATOR
from brenner.protocol.messages import Message
from brenner.services.workspace import Workspace
from brenner.web import links
from large_session import AGENTS, make
from measure import heading, milliseconds, row
from session_loop import THREAD
from web_viewers import Seen, Viewers

SMALL = (100, 40)
LARGE = (10_000, 4_000) if os.environ.get("BRENNER_BENCH_LARGE") else (1_000, 400)
VIEWERS, MAILS, PAUSE = 200, 30, 0.2
_RUNS = 5
_LIFE = 2.1  # seconds after which a page is written anew
PAGES = {
    "home": links.HOME,
    "artifact": links.session(THREAD),
    **{tab: links.session(THREAD, tab) for tab in links.TABS[1:]},
    "diff": links.diff(THREAD, 2, 3),
    "item": links.item(THREAD, "T1"),
    "message": links.message(40),
    "search": links.search("counted"),
}


class Page(NamedTuple):
    """What one page took: seconds to the first byte, and bytes, plain and packed."""

    first: float
    again: float
    after_mail: float
    plain: int
    packed: int


class Place(NamedTuple):
    """A session that is served, and the desk from which mail is sent to it."""

    port: int
    process: int
    workspace: Workspace

    def resident(self) -> int:
        """The bytes of memory that the server occupies."""
        pages = int(Path(f"/proc/{self.process}/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def ask(self, path: str, encoding: str = "gzip") -> tuple[float, int]:
        """Seconds to the first byte, and how many there are."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        begun = time.perf_counter()
        connection.request("GET", path, headers={"Accept-Encoding": encoding})
        answer = connection.getresponse()
        taken = time.perf_counter() - begun
        size = len(answer.read())
        connection.close()
        assert answer.status == http.HTTPStatus.OK, (path, answer.status)
        return taken, size

    def send(self, number: int) -> int:
        """One message to the session; its id."""
        sender = AGENTS[number % len(AGENTS)]
        body = f"# Info\n\nNews {number}.\n"
        letter = Message(THREAD, sender, (OPERATOR,), f"INFO: News {number}", body)
        return self.workspace.mailbox.send(letter).stored.id


@contextmanager
def served(folder: Path, size: tuple[int, int]) -> Iterator[Place]:
    """A session of that size."""
    with make(folder, *size) as workspace:
        command = [sys.executable, "-m", "brenner", "serve", "--json", "--port", "{port}"]
        with served_places.running([*command, "--project", str(folder)]) as (port, process):
            yield Place(port, process, workspace)


def measured(place: Place, path: str) -> Page:
    """A page when nobody has looked, again, and with a new message in the session."""
    first, packed = place.ask(path)
    _, plain = place.ask(path, "identity")
    again, after_mail = [], []
    for number in range(_RUNS):
        time.sleep(_LIFE if number < 2 else 0)
        again.append(place.ask(path)[0])
        place.send(number)
        after_mail.append(place.ask(path)[0])
    return Page(first, max(again[:2]), min(after_mail), plain, packed)


def pages(small: Place, large: Place) -> None:
    """Every page of both."""
    for each in (small, large):
        each.ask(links.CONNECT)  # so that all is loaded
    before = [each.resident() for each in (small, large)]
    found = {name: (measured(small, path), measured(large, path)) for name, path in PAGES.items()}
    times_of: dict[str, Callable[[Page], float]] = {
        "first": lambda page: page.first,
        "again, written anew": lambda page: page.again,
        "after a message has come in": lambda page: page.after_mail,
    }
    for title, which in times_of.items():
        columns = ("", f"{SMALL[0]:,} messages", f"{LARGE[0]:,} messages", "ratio")
        heading(f"Web pages, seconds to the first byte: {title}", *columns)
        for name, (one, other) in found.items():
            times = which(one), which(other)
            row(name, *map(milliseconds, times), f"{times[1] / times[0]:.1f} ×")
    heading("Web pages, bytes over the line", "", *columns[1:3], "plain, the large one")
    for name, (one, other) in found.items():
        row(name, f"{one.packed:,}", f"{other.packed:,}", f"{other.plain:,}")
    heading("Web pages, memory of the process", "", *columns[1:3])
    row("before", *map(_mib, before))
    row("after all this", *(_mib(each.resident()) for each in (small, large)))


def viewers(place: Place, name: str) -> None:
    """Two hundred who look at the artifact while mail comes in."""
    before = place.resident()
    crowd = Viewers(place.port, links.session(THREAD), THREAD, VIEWERS)
    seen = asyncio.run(crowd.watch(place.send, MAILS, PAUSE))
    title = f"{VIEWERS} live viewers, {MAILS} messages, {1 / PAUSE:.0f} a second: {name}"
    heading(title, "", "median", "95 %", "99 %", "how many", "failed or missing")
    _tell(seen)
    row("memory of the process", _mib(before), _mib(place.resident()))


def _tell(seen: Seen) -> None:
    row("told of a message within", *_shares(seen.told), f"{seen.missing} + {seen.twice} twice")
    row("page asked for again", *_shares(seen.pages), str(seen.failed))


def _shares(times: list[float]) -> tuple[str, ...]:
    ordered = sorted(times) or [0.0]
    shares = (
        ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.95, 0.99)
    )
    return (*map(milliseconds, shares), f"{len(times):,}")


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


def run() -> None:
    """All of it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        small = stack.enter_context(served(folder / "small", SMALL))
        large = stack.enter_context(served(folder / "large", LARGE))
        pages(small, large)
        viewers(small, f"{SMALL[0]:,} messages")
        viewers(large, f"{LARGE[0]:,} messages")


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    run()
