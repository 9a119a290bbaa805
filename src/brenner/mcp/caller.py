"""Who is at the other end of a connection, as far as that is known."""

import threading
from collections import OrderedDict
from typing import NamedTuple

_MOST_CONNECTIONS = 10_000


class Bindings:
    """Which names a connection has shown the secret of, or was given it.

    One connection may speak for several names: a program that runs several agents has one. What is
    remembered of a secret is its digest: once a name has another one, whichever process gave it,
    nobody speaks for it any more. The oldest connections are forgotten where there are too many;
    then the secret has to be shown again.
    """

    def __init__(self) -> None:
        self._digests: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._lock = threading.Lock()

    def bind(self, connection: str | None, name: str, digest: str) -> bool:
        """Remember that a connection speaks for a name; False where each request stands alone."""
        if connection is None:
            return False
        with self._lock:
            known = self._digests.pop(connection, {})
            self._digests[connection] = {**known, name: digest}
            while len(self._digests) > _MOST_CONNECTIONS:
                self._digests.popitem(last=False)
        return True

    def speaks_for(self, connection: str | None, name: str, digest: str) -> bool:
        """Whether it does, if this is the digest of the secret that the name has now."""
        with self._lock:
            known = {} if connection is None else self._digests.get(connection, {})
        return known.get(name) == digest

    def names(self, connection: str | None) -> frozenset[str]:
        """All the names that it has spoken for. It is a hint: a secret may have changed since."""
        with self._lock:
            return frozenset(() if connection is None else self._digests.get(connection, ()))


class Fetched:
    """Which version of a thread an agent has fetched last: what her next contribution builds on.

    It is a memory, not a record: what is forgotten is not stated, and R11 finds out by itself.
    """

    def __init__(self) -> None:
        self._versions: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, agent: str, thread_id: str, version: int) -> None:
        """She has seen this one."""
        with self._lock:
            self._versions.pop((agent, thread_id), None)
            self._versions[agent, thread_id] = version
            while len(self._versions) > _MOST_CONNECTIONS:
                self._versions.popitem(last=False)

    def last(self, agent: str, thread_id: str) -> int | None:
        """The one that she has seen last."""
        with self._lock:
            return self._versions.get((agent, thread_id))


class Caller(NamedTuple):
    """Who calls. `connection` is None where each request stands alone.

    `secret` is one that came with the connection rather than with a call. With `is_strict` nobody
    is believed without a secret. `is_checked` says that the caller is a program of ours, which has
    looked at what it sends: then the mail is stored as it is. Its secret is never shown.
    """

    bindings: Bindings
    fetched: Fetched
    connection: str | None = None
    secret: str | None = None
    is_strict: bool = False
    is_checked: bool = False

    def __repr__(self) -> str:
        return f"Caller(connection={self.connection!r}, is_strict={self.is_strict})"
