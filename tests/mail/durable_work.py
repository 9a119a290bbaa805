"""Sending on a disk that forgets what was not flushed: what a loss of power would leave behind."""

import random
from pathlib import Path
from typing import TYPE_CHECKING

from brenner.mail.sqlite.mailbox import SqliteMailbox
from mail.fault_mail import BEA, make_message
from mail.processes import say
from mail.watched_disk import Event, watch_disk

if TYPE_CHECKING:
    from collections.abc import Callable

_SECTOR = 512
_SENDS = 24
_EVENTS = 35  # about so many for each send
_IMAGES = 60
_COPY_AFTER = 80  # pages, a tenth of the usual: the log is copied and begun again more often
STORE = "mail.sqlite3"


def flushed_at_each_return(path: str) -> None:
    """Do each thing that writes, and say what was done to which file until it returned."""
    events: list[Event] = []
    watch_disk(events.append)
    with SqliteMailbox.open(Path(path)) as mailbox:
        works: dict[str, Callable[[], object]] = {
            "send": lambda: mailbox.send(make_message("Is it safe?")),
            "send again": lambda: mailbox.send(make_message("And now?")),
            "send with a key": lambda: mailbox.send(make_message("And that?"), key="once"),
            "mark": lambda: mailbox.mark(BEA, [1], is_read=True),
            "mark as unread": lambda: mailbox.mark(BEA, [1], is_read=False),
        }
        for name, work in works.items():
            events.clear()
            work()
            say([name, [[event.kind, event.path.name] for event in events]])
        events.clear()
        mailbox.inbox(BEA)
        say(["read", [[event.kind, event.path.name] for event in events]])


class ForgetfulDisk:
    """Keeps what is safe of each file, and what was written to it since."""

    def __init__(self, folder: Path) -> None:
        self._safe = {path.name: path.read_bytes() for path in folder.iterdir()}
        self._since: dict[str, list[Event]] = {}

    def __call__(self, event: Event) -> None:
        name = event.path.name
        if event.kind == "sync":
            self._safe[name] = _written(self._safe.get(name, b""), self._since.pop(name, []))
        elif event.kind == "delete":
            # The deletion of a file is not flushed: it may come back.
            self._since.pop(name, None)
        else:
            self._since.setdefault(name, []).append(event)

    def lose_power(self, folder: Path, luck: random.Random | None) -> None:
        """Leave what is safe and, of the rest, nothing or whatever had the luck to get there."""
        folder.mkdir(parents=True)
        for name in self._safe.keys() | self._since.keys():
            since = _by_luck(self._since.get(name, []), luck) if luck else []
            if name in self._safe or since:
                (folder / name).write_bytes(_written(self._safe.get(name, b""), since))


def _written(content: bytes, events: list[Event]) -> bytes:
    """The content of a file after this was done to it."""
    after = bytearray(content)
    for event in events:
        end = event.offset + len(event.data)
        after.extend(bytes(max(0, event.offset - len(after))))
        if event.kind == "truncate":
            del after[event.offset :]
        else:
            after[event.offset : end] = event.data
    return bytes(after)


def _by_luck(events: list[Event], luck: random.Random) -> list[Event]:
    """Some of the writes, sector by sector, each in its place."""
    return [
        Event(event.kind, event.path, event.data[start : start + _SECTOR], event.offset + start)
        for event in events
        for start in range(0, max(1, len(event.data)), _SECTOR)
        if luck.random() < 0.5
    ]


class Witness:
    """Lets power be lost at moments between and within the sends, and says what had returned."""

    def __init__(self, folder: Path, images: Path, luck: random.Random) -> None:
        self._disk = ForgetfulDisk(folder)
        self._images = images
        self._luck = luck
        self._moments = luck.sample(range(_SENDS * _EVENTS), _IMAGES)
        self._clock = 0
        self._taken = 0
        self.returned = 0
        self.copied = 0

    def __call__(self, event: Event) -> None:
        self._clock += 1
        if self._clock in self._moments:
            self.take()
        self.copied += event.kind == "sync" and event.path.name == STORE
        self._disk(event)

    def take(self) -> None:
        """Leave an image, by turns of what is certain and of what is possible."""
        luck = self._luck if self._taken % 2 else None
        self._disk.lose_power(self._images / f"{self._taken:03}", luck)
        self._taken += 1
        say(self.returned)


def power_is_lost(folder: str, images: str) -> None:
    """Send, and say before each image of the disk how many sends had returned; then how often the
    log was copied into the store.
    """
    luck = random.Random(_SENDS)  # noqa: S311
    witness = Witness(Path(folder), Path(images), luck)
    watch_disk(witness)
    mailbox = SqliteMailbox.open(Path(folder, STORE))
    mailbox.database.execute(f"PRAGMA wal_autocheckpoint = {_COPY_AFTER}")
    for number in range(_SENDS):
        mailbox.send(
            make_message(f"Message {number + 1} " + "of many words " * luck.randrange(200))
        )
        witness.returned += 1
        witness.take()
    say(witness.copied)
