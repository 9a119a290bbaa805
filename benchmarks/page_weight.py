"""The weight and speed of each page of a messy session, for the operator and for a reader.

Printed are the bytes over the line (gzip), the bytes before that, and the time to the first byte:
of one request alone, and of eight at a time. A reader's page is asked for at an address of its own
each time, so that none comes from the cache. With `--against SRC` another Brenner serves a copy of
the same project beside ours; both are asked in turns, and its figures stand after a stroke.
"""

import argparse
import http.client
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import served_places
from brenner.config import OPERATOR, Project
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.services.identity import renew_secret
from brenner.services.workspace import Workspace
from brenner.web import links
from measure import heading, row

ALONE, TOGETHER, AT_ONCE = 7, 3, 8
_TESTS = str(Path(__file__).parents[1] / "tests")
_KINDS = ("over the line", "bytes", "ms alone", f"ms, {AT_ONCE} at a time")
_NUMBERS = count()
_FORM = "application/x-www-form-urlencoded"


class Weight(NamedTuple):
    """What a page is: bytes packed and plain, and seconds to the first byte."""

    packed: int
    plain: int
    alone: float
    together: float

    def cells(self) -> tuple[str, ...]:
        """As they are printed."""
        times = (f"{seconds * 1000:.1f}" for seconds in (self.alone, self.together))
        return f"{self.packed:,}", f"{self.plain:,}", *times


class Visitor(NamedTuple):
    """Somebody with a browser at a server; the operator has a cookie."""

    port: int
    cookie: str = ""

    def ask(self, path: str, encoding: str = "gzip") -> tuple[float, int, int]:
        """Seconds to the first byte, the status, and how many bytes there are."""
        address = path if self.cookie else f"{path}?again={next(_NUMBERS)}"
        headers = {"Accept": "text/html", "Accept-Encoding": encoding, "Cookie": self.cookie}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        begun = time.perf_counter()
        connection.request("GET", address, headers=headers)
        answer = connection.getresponse()
        taken = time.perf_counter() - begun
        size = len(answer.read())
        connection.close()
        return taken, answer.status, size

    def weighed(self, path: str) -> tuple[int, int]:
        """Bytes of a page, packed and plain."""
        return self.ask(path)[2], self.ask(path, "identity")[2]

    def together(self, path: str) -> float:
        """Seconds to the first byte, in the middle of some that are asked for at once."""
        with ThreadPoolExecutor(AT_ONCE) as threads:
            times = threads.map(lambda _: self.ask(path)[0], range(AT_ONCE))
            return statistics.median(times)


def logged_in(port: int, secret: str) -> Visitor:
    """The operator, at the lab of a server."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    headers = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": _FORM}
    connection.request("POST", f"{links.LAB}/login", urlencode({"secret": secret}), headers)
    answer = connection.getresponse()
    assert answer.status == HTTPStatus.SEE_OTHER, answer.read()
    cookies = [each.partition(";")[0] for each in answer.headers.get_all("Set-Cookie", [])]
    connection.close()
    return Visitor(port, "; ".join(cookies))


def filled(folder: Path, fill: Callable[[Workspace], None]) -> str:
    """A project with a session; the operator's secret."""
    folder.mkdir()
    project = Project(folder)
    with open_mailbox(project, create=True) as mailbox:
        mailbox.register(Profile(OPERATOR))
        fill(Workspace(mailbox, project, OPERATOR))
        return renew_secret(mailbox, OPERATOR)


@contextmanager
def served(folder: Path, source: str | None) -> Iterator[int]:
    """The port at which a Brenner serves a project: ours, or the one of another source folder."""
    command = (*served_places.serve_command(folder), "--lab")
    settings = {"PYTHONPATH": source} if source else {}
    with _environment(settings), served_places.running([*command]) as (port, _):
        yield port


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(settings)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def compared(visitors: Sequence[Visitor], path: str) -> list[Weight | None]:
    """The page of each, asked for in turns; None for one who does not have it."""
    have = [each for each in visitors if each.ask(path)[1] == HTTPStatus.OK]
    alone = {each: [each.ask(path)[0]] for each in have}
    together = {each: [each.together(path)] for each in have}
    for _ in range(ALONE - 1):
        for each in have:
            alone[each].append(each.ask(path)[0])
    for _ in range(TOGETHER - 1):
        for each in have:
            together[each].append(each.together(path))
    return [
        Weight(*each.weighed(path), min(alone[each]), min(together[each])) if each in have else None
        for each in visitors
    ]


def table(title: str, visitors: Sequence[Visitor], pages: Mapping[str, str]) -> None:
    """Every page, with the figures of each visitor's server."""
    heading(title, "", *_KINDS)
    for name, path in pages.items():
        found = compared(visitors, path)
        cells = [each.cells() if each else ("–",) * len(_KINDS) for each in found]
        row(name, *map(" / ".join, zip(*cells, strict=True)))


def run(against: str | None = None) -> None:
    """The messy session of the tests."""
    from web.messy import MESSY, fill  # found only when all of it runs

    pages = {"home": links.HOME, "session": links.session(MESSY)}
    pages |= {tab: links.session(MESSY, tab) for tab in links.TABS[1:]}
    pages |= {"item": links.item(MESSY, "H1"), "message": links.message(40)}
    sources = [None, against] if against else [None]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        secret = filled(folder / "0", fill)
        for number in range(1, len(sources)):
            shutil.copytree(folder / "0", folder / str(number))
        ports = [
            stack.enter_context(served(folder / str(number), source))
            for number, source in enumerate(sources)
        ]
        also = " / the other one" if against else ""
        operators = [logged_in(port, secret) for port in ports]
        table(f"Pages of the messy session, as the operator{also}", operators, pages)
        table(f"Pages of the messy session, as a reader{also}", [*map(Visitor, ports)], pages)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", metavar="SRC", help="the src folder of another Brenner")
    sys.path.append(_TESTS)
    run(parser.parse_args().against)
