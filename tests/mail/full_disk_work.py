"""Sending until there is no room left; what is said then, what is left, and how it goes on."""

import resource
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from brenner.config import OPERATOR, Project
from brenner.diagnostics.model import BrennerError
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox
from mail.fault_mail import THREAD, make_message
from mail.processes import say

_MOST = 1_000
_LONG = "A long text that needs its room. " * 500


def _fill(mailbox: SqliteMailbox) -> None:
    """Send until it is refused; say the sends, what was said, and what can be read afterwards."""
    sent: list[int] = []
    said = None
    while said is None and len(sent) < _MOST:
        try:
            sent.append(mailbox.send(make_message(f"{len(sent)} {_LONG}")).stored.id)
        except BrennerError as error:
            said = [type(error).__name__, error.diagnostic.id, error.diagnostic.message]
    read = [stored.id for stored in mailbox.thread(THREAD).messages]
    say({"sent": sent, "said": said, "read": read, "integrity": mailbox.database.integrity()})


def no_file_may_grow(path: str, most: str) -> None:
    """No file may become larger than so many bytes; then it may."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with SqliteMailbox.open(Path(path)) as mailbox:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), hard))
        _fill(mailbox)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        say(mailbox.send(make_message("There is room again")).stored.id)


def store_may_not_grow(path: str, most: str) -> None:
    """The store may not have more than so many pages; then it may."""
    with SqliteMailbox.open(Path(path)) as mailbox:
        mailbox.database.execute(f"PRAGMA max_page_count = {int(most)}")
        _fill(mailbox)
        mailbox.database.execute(f"PRAGMA max_page_count = {2**30}")
        say(mailbox.send(make_message("There is room again")).stored.id)


def create_with_little_room(folder: str) -> None:
    """Create stores on a disk of a megabyte with less and less room; then make room, and send.

    Say for each amount of room (in KiB) what was said of the creation, and what of the send.
    """
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    ballast, store = Path(folder, "ballast"), Path(folder, ".brenner", "mail.sqlite3")
    for room in range(320, -4, -12):
        with ballast.open("wb") as file, suppress(OSError):
            file.write(bytes((1024 - room) * 1024))
        created = _outcome(store)
        ballast.unlink()
        say([room, created, _outcome(store), (store.parent / ".gitignore").read_text("utf-8")])
        shutil.rmtree(store.parent)


def _outcome(store: Path) -> str | int:
    """Open or create a store, and send; return the code of the error or the number of messages."""
    try:
        with open_mailbox(Project(store.parent.parent), create=True) as mailbox:
            mailbox.register(Profile("Bob"))
            message = make_message("Text")._replace(sender=OPERATOR, recipients=("Bob",))
            return mailbox.send(message).stored.id
    except BrennerError as error:
        return error.diagnostic.id


def on_a_small_disk(folder: str, source: str) -> None:
    """Use a disk of a megabyte until it is full; then something else on it goes; then it is full
    again, and somebody comes along who only reads. At last, save the store.
    """
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    path, ballast = Path(folder, "mail.sqlite3"), Path(folder, "ballast")
    shutil.copy(source, path)
    ballast.write_bytes(bytes(300_000))
    with SqliteMailbox.open(path) as mailbox:
        _fill(mailbox)
        ballast.unlink()
        say(mailbox.send(make_message("There is room again")).stored.id)
    with suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(bytes(1_000))
            file.flush()
    try:
        with SqliteMailbox.open(path) as mailbox:
            say([stored.id for stored in mailbox.thread(THREAD).messages])
    except BrennerError as error:
        say([error.diagnostic.id, error.diagnostic.message])
    shutil.copy(path, source)
