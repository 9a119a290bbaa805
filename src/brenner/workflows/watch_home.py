"""The home of the mail while it is watched: whether it is still there, and still the same."""

from pathlib import Path

from brenner.diagnostics.codes.sessions import STORE_REPLACED
from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.model import Unavailable
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Stored
from brenner.mail.open import SqliteStore, open_mailbox, store_of
from brenner.workflows.desk import Desk

_Identity = tuple[int, int]


class Home:
    """The mailbox of a desk. A file may be taken away and put back: then it is opened anew.

    `position` is how many messages were taken in, `last` the latest of them.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.position = 0
        self.last: Stored | None = None
        self._store = store_of(desk.project)
        self._file = self._store.path if isinstance(self._store, SqliteStore) else None
        self._identity = _identity(self._file)
        self._is_ours = False  # whether the mailbox was opened here
        self._is_missing = isinstance(desk.mailbox, MemoryMailbox)

    @property
    def shown(self) -> str:
        """How the store is called before people."""
        return self._store.shown

    def begin(self) -> None:
        """From here on everything that comes in is news."""
        mailbox = self.desk.mailbox
        self.position = mailbox.position()
        found = mailbox.arrivals(self.position - 1, 1) if self.position else ()
        self.last = found[0] if found else None

    def news(self, thread_id: str | None, seconds: float) -> tuple[Stored, ...]:
        """What has come in, as soon as there is something, or when the time is up."""
        self._check_there()
        mailbox = self.desk.mailbox
        position = mailbox.wait(self.position, seconds)
        if position <= self.position:
            return ()
        if thread_id is None:
            return mailbox.arrivals(self.position)
        found = mailbox.thread_arrivals(thread_id, self.position)
        if not found:
            self.position = position
        return found

    def done(self, stored: Stored) -> None:
        """A message was taken in."""
        self.position, self.last = stored.arrival, stored

    def return_to(self) -> None:
        """Be there again, with the same mail; `Unavailable` as long as it is not.

        What was taken in must still be what it was: else the news would begin at a wrong place.
        """
        if self._file and _identity(self._file) != self._identity:
            self._open_anew()
        mailbox, last = self.desk.mailbox, self.last
        position = mailbox.position()
        found = mailbox.arrivals(last.arrival - 1, 1) if last else ()
        is_same = not last or [(each.id, each.content_hash) for each in found] == [
            (last.id, last.content_hash)
        ]
        if position < self.position or not is_same:
            raise StoreReplacedError(STORE_REPLACED.at(where=self.shown))

    def close(self) -> None:
        """Let go of what was opened here."""
        if self._is_ours:
            self.desk.mailbox.close()

    def _check_there(self) -> None:
        """A store that was not there may have been made since.

        A file that is open can be read long after it was taken away, and never changes again.
        """
        if self._is_missing:
            if self._store.is_there():
                self._open_anew()
        elif self._file and _identity(self._file) != self._identity:
            raise self._gone()

    def _open_anew(self) -> None:
        identity = _identity(self._file)
        if self._file and identity is None:
            raise self._gone()
        mailbox = open_mailbox(self.desk.project, create=False)
        self.close()
        self.desk = self.desk._replace(mailbox=mailbox)
        self._identity, self._is_ours, self._is_missing = identity, True, False

    def _gone(self) -> Unavailable:
        reason = "the file was taken away"
        return Unavailable(STORE_UNUSABLE.at(path=str(self._file), reason=reason))


class StoreReplacedError(Unavailable):
    """Another store is in the place of the one that was watched; waiting does not help."""


def _identity(path: Path | None) -> _Identity | None:
    """What tells a file from another one that has got its name."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
