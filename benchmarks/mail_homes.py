"""The same mail in every home: sends, inbox, thread and search, each beside a bound of its own.

The mailbox in memory shows what it takes without any input or output. Of the others the bound is
what the server, or the library, takes for the same with nothing of ours around it. What a command
pays is in the last row: it opens the mailbox anew. A home whose server cannot be started here is
left out, and that is said. `BRENNER_BENCH_LARGE=1` goes up to 100,000 messages.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from brenner.mail.mailbox import Mailbox
from brenner.mail.search import Query, parse_query
from brenner.protocol.messages import Message
from home_places import HOMES, Backend, Bound, Missing, Place
from mail_store import LONG, PAGE, READER
from measure import best_of, best_of_turns, heading, milliseconds, row

_SEARCHES = ("epigenetic", "gradient", '"maternal clock"')
_BODY = "H3 and §42: nothing but a gradient, and no maternal clock.\n"


class Figure(NamedTuple):
    """What something took, and what the least for it takes; a bound is not known for everything."""

    taken: float
    bound: float | None


def reads(mailbox: Mailbox) -> dict[str, Callable[[], int]]:
    """What is read, as one reads it; each says how many messages it got."""

    def inbox() -> int:
        return len(mailbox.inbox(READER, limit=PAGE).messages)

    def thread() -> int:
        return len(mailbox.thread(LONG, limit=PAGE).messages)

    def search(query: Query) -> int:
        return len(mailbox.search(query, limit=PAGE).messages)

    works: dict[str, Callable[[], int]] = {"inbox, newest": inbox, "thread, newest": thread}
    for text in _SEARCHES:
        query = parse_query(text)
        assert isinstance(query, Query)
        works[f"search {text}"] = partial(search, query)
    return works


def measure(place: Place) -> dict[str, Figure]:
    """All figures of a home at its present size."""
    figures = {"send": _send(place)}
    for name, work in reads(place.mailbox).items():
        count = work()
        taken = best_of(work, least_seconds=0.1)
        figures[name] = Figure(taken, _bound(place.bounds.read, count))
    if place.again:
        figures["open, inbox, close"] = _open(place.again, place.bounds.open)
    return figures


def _send(place: Place) -> Figure:
    numbers = iter(range(1, 1_000_000))

    def send() -> None:
        text = f"{next(numbers)}: {_BODY}"
        place.mailbox.send(Message(LONG, "RedCreek", (READER,), "INFO: News", text))

    def insert() -> None:
        if place.bounds.send:
            place.bounds.send(f"{next(numbers)}: {_BODY}")

    taken, bound = best_of_turns(send, insert, rounds=place.rounds)
    return Figure(taken, bound if place.bounds.send else None)


def _open(again: Callable[[], Mailbox], bound: Bound | None) -> Figure:
    """What every command pays."""
    count = 0

    def look() -> None:
        nonlocal count
        with again() as mailbox:
            count = len(mailbox.inbox(READER, limit=PAGE).messages)

    return Figure(best_of(look, least_seconds=0.1), _bound(bound, count))


def _bound(work: Bound | None, count: int) -> float | None:
    return best_of(partial(work, count), least_seconds=0.05) if work else None


def report(home: Backend, measured: Sequence[dict[str, Figure]]) -> None:
    """One table: rows are works, columns sizes."""
    sizes = [f"of {size:,}" for size in home.sizes]
    heading(f"Mail in one home: {home.name}", "", *sizes, "growth", "bound", "× bound")
    for name in measured[0]:
        times = [figures[name].taken for figures in measured]
        bound = measured[-1][name].bound
        against = (milliseconds(bound), f"{times[-1] / bound:.2f} ×") if bound else ("", "")
        row(name, *map(milliseconds, times), f"{times[-1] / times[0]:.2f} ×", *against)
    print(f"  {home.bounds}")


def run() -> None:
    """Every home, as far as it goes here."""
    for home in HOMES:
        try:
            with home.start() as place:
                measured = []
                for size in home.sizes:
                    place.grow(size)
                    measured.append(measure(place))
        except Missing as missing:
            print(f"\nMail in one home: {home.name}\n  Not measured: {missing}")
        else:
            report(home, measured)
