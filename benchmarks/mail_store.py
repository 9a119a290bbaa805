"""The embedded mailbox: sends against a bare insert, and reads against reading the same rows.

One store grows from size to size. What is looked for is rare or old, so that a missing index shows:
only the first hundred messages are unread and owe an ACK, and the words of the phrase are in every
message, but apart. `BRENNER_BENCH_LARGE=1` goes up to a million messages, which takes minutes.
"""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import apsw

from brenner.mail.model import Agent, InboxFilter, MessageRecord
from brenner.mail.search import Query, parse_query
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message, StoredMessage, content_hash
from brenner.services.send import SendOptions, send_text
from measure import best_of, best_of_turns, heading, milliseconds, row

SIZES = (1_000, 100_000, 1_000_000)
START = datetime(2025, 1, 1, 23, 50, tzinfo=UTC)
NAMES = ("Operator", "BlueLake", "GreenDog", "RedCreek", "CalmRiver", "TallTree", "SwiftFox", "Owl")
READER = "BlueLake"
THREAD, LONG = "RS-20251230-cell-fate-{}", "RS-20251230-long-session"
TYPES = ("DELTA[opus]", "DELTA[gpt]", "INFO", "QUESTION", "CRITIQUE")
PAGE = 50
PORTION = 5_000
_ROUNDS = 300
_VOCABULARY = [f"{a}{b}{c}" for a in "bcdfgklmnprst" for b in "aeiou" for c in "nrstlm"]


class Work(NamedTuple):
    """Something to read."""

    name: str
    do: Callable[[], tuple[StoredMessage, ...]]


def records(first: int, last: int) -> Iterator[MessageRecord]:
    """Messages as agents write them: a few hundred words of a few thousand, in long threads."""
    luck = random.Random(first)  # noqa: S311
    for number in range(first, last + 1):
        sender = NAMES[number % len(NAMES)]
        others = [name for name in NAMES if name != sender]
        recipients = tuple(luck.sample(others, 2))
        thread = LONG if number % 10 == 0 else THREAD.format(number // 300)
        subject = f"{luck.choice(TYPES)}: {luck.choice(_VOCABULARY)} {luck.choice(_VOCABULARY)}"
        is_open = number <= 100
        message = Message(thread, sender, recipients, subject, _body(number, luck), is_open)
        at = START + timedelta(seconds=number)
        stored = StoredMessage(number, at, message, content_hash(message), number, number)
        yield MessageRecord(stored, () if is_open else tuple((name, at) for name in recipients))


def _body(number: int, luck: random.Random) -> str:
    """`gradient` is in all, `epigenetic` in ten, `maternal clock` in one of a hundred."""
    words = luck.choices(_VOCABULARY, k=80)
    words[5], words[20], words[40] = "gradient", "maternal", "clock"
    if number % 100 == 7:
        words[39], words[40] = "maternal", "clock"
    if number <= 1_000 and number % 100 == 3:
        words[60] = "epigenetic"
    text = " ".join(words)
    return f"# Contribution\n\n## Deltas\n\nH{number % 7 + 1} and §{number % 200}:\n{text}\n"


def grow(mailbox: SqliteMailbox, size: int) -> None:
    """Fill the store quickly: what is safe on the disk does not matter here."""
    mailbox.database.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -100000")
    agents = [Agent(name, "claude-code", "opus", "", START) for name in NAMES]
    for first in range(mailbox.position() + 1, size + 1, PORTION):
        mailbox.restore(agents, records(first, min(size, first + PORTION - 1)))


def works(mailbox: SqliteMailbox) -> tuple[Work, ...]:
    """What is read, as one reads it."""

    def inbox(wanted: InboxFilter, before: int | None = None) -> tuple[StoredMessage, ...]:
        page = mailbox.inbox(READER, wanted, limit=PAGE, before=before)
        return tuple(received.stored for received in page.messages)

    def search(text: str) -> tuple[StoredMessage, ...]:
        query = parse_query(text)
        assert isinstance(query, Query)
        return mailbox.search(query, reader=READER, limit=PAGE).messages

    middle = inbox(InboxFilter(types=("QUESTION",)))[-1].id
    oldest = mailbox.arrivals(0, 1)[0].message.thread_id
    searches = (
        *("epigenetic", "gradient", '"maternal clock"', "gradient maternal clock"),
        *("type:DELTA from:BlueLake", "item:H3 §42", "gradient before:2025-01-02"),
        *("is:unread", "is:unread gradient", "needs:ack"),
    )
    return (
        Work("inbox, newest", partial(inbox, InboxFilter())),
        Work("inbox, older ones", partial(inbox, InboxFilter(), middle)),
        Work("inbox, unread", partial(inbox, InboxFilter(unread=True))),
        Work("inbox, unread of a type", partial(inbox, InboxFilter(unread=True, types=("INFO",)))),
        Work("inbox, one type", partial(inbox, InboxFilter(types=("QUESTION",)))),
        Work("inbox, two types", partial(inbox, InboxFilter(types=("QUESTION", "INFO")))),
        Work("inbox, one thread", partial(inbox, InboxFilter(thread_id=oldest))),
        Work("thread, newest", lambda: mailbox.thread(LONG, limit=PAGE).messages),
        Work("debts of one", lambda: tuple(debt.first for debt in mailbox.debts(READER))),
        *(Work(f"search {text}", partial(search, text)) for text in searches),
    )


def rows_alone(mailbox: SqliteMailbox, messages: tuple[StoredMessage, ...]) -> float:
    """The least that reading them takes: SQLite gets their rows by number, and no more is done."""
    numbers = ",".join(str(stored.arrival) for stored in messages)
    sql = f"SELECT * FROM messages WHERE arrival IN ({numbers})"  # noqa: S608

    def read() -> list[object]:
        with mailbox.database.read_transaction():
            return list(mailbox.database.execute(sql).fetchall())

    assert len(read()) == len(messages)
    return best_of(read, least_seconds=0.05)


def sends(mailbox: SqliteMailbox, path: Path) -> list[float]:
    """The least that a send takes, one by the library, and one with its check."""
    numbers = count(1)
    body = _body(1, random.Random(1))  # noqa: S311
    file = f"Thread: {LONG}\nFrom: BlueLake\nTo: Operator\nSubject: INFO: News\n\n{{}} {body}"
    bare = bare_table(path)

    def insert() -> None:
        bare.execute("INSERT INTO mail (text) VALUES (?)", (file.format(next(numbers)),))

    def send() -> None:
        text = f"{next(numbers)} {body}"
        mailbox.send(Message(LONG, "BlueLake", ("Operator",), "INFO: News", text))

    def check_and_send() -> None:
        assert send_text(mailbox, file.format(next(numbers)), SendOptions()).sent

    taken = best_of_turns(insert, send, check_and_send, rounds=_ROUNDS)
    bare.close()
    path.unlink()
    return taken


def bare_table(path: Path) -> apsw.Connection:
    """A file with one table for the same texts, on the same disk and with the same durability."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "FULL")
    connection.execute("CREATE TABLE mail (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    return connection


def run() -> None:
    """Reads and sends at each size."""
    sizes = SIZES if os.environ.get("BRENNER_BENCH_LARGE") else SIZES[:-1]
    sent, read = [], []
    bounds: list[float] = []
    files = []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "mail.sqlite3")
        for size in sizes:
            started = time.perf_counter()
            with SqliteMailbox.create(path) as mailbox:
                grow(mailbox, size)
            files.append((path.stat().st_size, time.perf_counter() - started))
            with SqliteMailbox.open(path) as mailbox:
                to_read = works(mailbox)
                read.append([best_of(work.do) for work in to_read])
                bounds = [rows_alone(mailbox, work.do()) for work in to_read]
                sent.append(sends(mailbox, Path(name, "bare.sqlite3")))
    _report_sends(sizes, sent)
    heading("Reading 50 messages", "", *(f"of {size:,}" for size in sizes), "growth", "× bound")
    for index, work in enumerate(to_read):
        times = [of_size[index] for of_size in read]
        growth, ratio = times[-1] / times[0], times[-1] / bounds[index]
        row(work.name, *map(milliseconds, times), f"{growth:.2f} ×", f"{ratio:.2f} ×")
    print("  The bound is reading the rows of the same messages by their numbers, and no more.")
    for size, (length, taken) in zip(sizes, files, strict=True):
        print(f"  {size:,} messages are {length / 1e6:,.0f} MB; filling took {taken:,.0f} s.")


def _report_sends(sizes: tuple[int, ...], sent: list[list[float]]) -> None:
    columns = ("messages there", "bare insert", "send", "ratio", "check and send", "ratio")
    heading("Sending a message", *columns)
    for size, (bound, send, check_and_send) in zip(sizes, sent, strict=True):
        figures = [
            figure
            for taken in (send, check_and_send)
            for figure in (milliseconds(taken), f"{taken / bound:.2f} ×")
        ]
        row(f"{size:,}", milliseconds(bound), *figures)
