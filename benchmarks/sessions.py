"""Many sessions in one store: the list of all, the status of one, references between them.

The list is measured with nothing kept, as after an import; again; and after one new message. What
is done with one session (its status, its next version, its genealogy) should not depend on how many
others there are, as far as it is not about all of them. The bounds are taken beside: reading the
messages of the threads, and no more; reading the kept rows and decoding their JSON.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from brenner.config import OPERATOR, Project
from brenner.mail.mailbox import Mailbox
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, CompileStatus, compile_thread
from brenner.services.genealogy import trace_genealogy
from brenner.services.references import check_references
from brenner.services.session_status import load_status
from brenner.services.sessions import overviews
from brenner.services.versions import verify
from brenner.services.workspace import Workspace
from brenner.store_url import PostgresAddress
from home_places import Missing, started
from many_sessions import PLAYS, READY, fill, thread_of
from measure import best_of, heading, milliseconds, row

_RUNS = 3
_PREFIX = f"session of {OPERATOR} for "
_BEFORE_JSON = 16  # letters of a kept row


class Figure(NamedTuple):
    """What something took, and what the least for it takes, where that is known."""

    taken: float
    bound: float | None = None


class Backend(NamedTuple):
    """Where the mail is; how many sessions it gets."""

    name: str
    start: Callable[[], AbstractContextManager[Mailbox]]
    sizes: tuple[int, ...]


@contextmanager
def _sqlite() -> Iterator[Mailbox]:
    with (
        tempfile.TemporaryDirectory() as folder,
        SqliteMailbox.create(Path(folder, "mail.sqlite3")) as mailbox,
    ):
        yield mailbox


@contextmanager
def _postgresql() -> Iterator[Mailbox]:
    from servers.postgresql import Postgres  # which can be found only when all of it runs

    settings = {"fsync": "on", "full_page_writes": "on"}
    with (
        started(lambda: Postgres(settings=settings)) as server,
        PostgresMailbox.create(PostgresAddress(server.url())) as mailbox,
    ):
        yield mailbox


HOMES = (
    Backend("SQLite", _sqlite, (100, 1_000, 10_000)),
    Backend("PostgreSQL", _postgresql, (100, 1_000)),
)


def measure(workspace: Workspace, size: int) -> dict[str, Figure]:
    """All figures of a store with so many sessions, of which none has been looked at."""
    mailbox = workspace.mailbox
    mailbox.keep({_PREFIX + thread_of(number): "" for number in range(size)})
    threads = [thread_of(number) for number in range(size)]
    first = _once(lambda: len(overviews(workspace)) == size)
    reading = _once(lambda: all(mailbox.thread_arrivals(each, 0) for each in threads))
    rows = best_of(partial(_kept_rows, mailbox), least_runs=_RUNS)
    again = best_of(partial(overviews, workspace), least_runs=_RUNS)
    middle = thread_of(size // 2)
    one = best_of(partial(mailbox.thread_arrivals, middle, 0))
    status = best_of(partial(load_status, workspace, middle))
    return {
        "list, nothing kept": Figure(first, reading),
        "list again": Figure(again, rows),
        "list after a message": Figure(_after_a_message(workspace, middle), rows),
        "status of one": Figure(status, one),
        "refs check, all": Figure(_best(lambda: check_references(workspace)), rows),
        "refs graph of one": Figure(
            _best(lambda: trace_genealogy(workspace, (middle, None))), rows
        ),
        "compile of one": Figure(_compile(workspace, size)),
    }


def _once(work: Callable[[], bool]) -> float:
    """What is done for the first time can be measured once; it must have gone well."""
    start = time.perf_counter()
    assert work()
    return time.perf_counter() - start


def _best(work: Callable[[], object]) -> float:
    """Of few runs: at ten thousand sessions each may take seconds."""
    return best_of(work, least_seconds=0, least_runs=_RUNS)


def _kept_rows(mailbox: Mailbox) -> list[object]:
    texts = mailbox.kept_under(_PREFIX).values()
    return [json.loads(text[_BEFORE_JSON:]) for text in texts]


def _after_a_message(workspace: Workspace, thread_id: str) -> float:
    """Somebody writes to one session each time."""
    taken = []
    for number in range(_RUNS):
        letter = Message(thread_id, OPERATOR, (OPERATOR,), "INFO: News", f"{number}\n")
        workspace.mailbox.send(letter)
        start = time.perf_counter()
        overviews(workspace)
        taken.append(time.perf_counter() - start)
    return min(taken)


def _compile(workspace: Workspace, size: int) -> float:
    """Each time another session that waits for it."""
    waiting = range(READY, size, len(PLAYS))[-_RUNS:]
    taken = []
    for number in waiting:
        start = time.perf_counter()
        done = compile_thread(workspace, thread_of(number), CompileOptions())
        taken.append(time.perf_counter() - start)
        assert done.status is CompileStatus.PUBLISHED
    return min(taken)


def report(home: Backend, measured: Sequence[dict[str, Figure]]) -> None:
    """One table: rows are works, columns sizes; bounds are those of the largest."""
    sizes = [f"of {size:,}" for size in home.sizes]
    heading(f"Many sessions: {home.name}", "", *sizes, "growth", "bound", "× bound")
    for name in measured[0]:
        times = [figures[name].taken for figures in measured]
        bound = measured[-1][name].bound
        against = (milliseconds(bound), f"{times[-1] / bound:.2f} ×") if bound else ("", "")
        row(name, *map(milliseconds, times), f"{times[-1] / times[0]:.2f} ×", *against)
    print(
        "  The bounds: reading all messages, thread by thread (list, nothing kept); reading the"
        "\n  kept rows and decoding their JSON (lists, refs); reading one thread (status)."
    )


def run() -> None:
    """Every home, as far as it goes here. What is measured was made as it would have been."""
    for home in HOMES:
        try:
            with home.start() as mailbox:
                workspace = Workspace(mailbox, Project(Path("nowhere")), OPERATOR)
                measured = []
                for before, size in zip((0, *home.sizes), home.sizes, strict=False):
                    fill(mailbox, before, size)
                    assert all(
                        verify(workspace, thread_of(each)).ok for each in range(before, before + 8)
                    )
                    measured.append(measure(workspace, size))
        except Missing as missing:
            print(f"\nMany sessions: {home.name}\n  Not measured: {missing}")
        else:
            report(home, measured)
