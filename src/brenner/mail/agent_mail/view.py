"""What one process sees of a project on a server: its mirror, and how it is kept up to date."""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from brenner.diagnostics.codes.stores import OUTCOME_UNKNOWN
from brenner.diagnostics.model import Unavailable, Uncertain
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.mirror import Mirror
from brenner.mail.agent_mail.news import news
from brenner.mail.agent_mail.project_mail import Directory, Identity, ProjectMail
from brenner.mail.agent_mail.tokens import Tokens
from brenner.mail.model import Agent

# By how much a message may be late, seen from the newest that is known, to be found at once. What
# is later still (the server's clock was set back) is found when all is read again.
_OVERLAP = timedelta(minutes=1)
_WHOLE_EVERY = 60.0  # seconds


class View:
    """A mirror and its server."""

    def __init__(self, client: Client, identity: Identity, tokens: Tokens) -> None:
        self.client = client
        self.mail = ProjectMail(client, identity)
        self.mirror = Mirror()
        self.lock = threading.RLock()
        self.tokens = tokens
        self._directory: Directory | None = None
        self._read_whole = -math.inf

    @property
    def registered(self) -> Mapping[str, Agent]:
        """Who can send and receive now; fresh after `refresh`."""
        return self._directory.agents if self._directory else {}

    def acting(self, name: str) -> dict[str, object]:
        """The arguments by which a server knows who acts; it may want to see her token."""
        return {
            "project_key": self.mail.identity.key,
            "agent_name": name,
            "registration_token": self.tokens.of(name),
        }

    def refresh(self, *, whole: bool = False) -> Mirror:
        """Take in what is new. Nothing is, where a server that tells so says what it said before.

        The mail of one look comes in by its ids, as it does for who looks for the first time.
        """
        with self.lock:
            self._refresh(whole=whole)
        return self.mirror

    @contextmanager
    def fresh(self) -> Iterator[Mirror]:
        """The mirror as it is now; meanwhile no other thread changes it."""
        with self.lock:
            yield self.refresh()

    def _refresh(self, *, whole: bool) -> None:
        now = time.monotonic()
        is_whole = whole or now >= self._read_whole + _WHOLE_EVERY
        directory = self.mail.directory()
        before = self._directory
        if is_whole or before is None or not directory.has_no_more_than(before):
            newest = None if is_whole else self.mirror.newest
            since = newest - _OVERLAP if newest else None
            for item in news(self.mail, directory, self.mirror, since):
                self.mirror.take_in(item)
        self.mirror.know(directory.agents)
        self._directory = directory
        if is_whole:
            self._read_whole = now

    def uncertain(self, lost: Unavailable, what: str) -> Uncertain:
        """The server was lost while something was under way."""
        title = lost.diagnostic.code.title
        reason = title[0].lower() + title[1:]
        found = OUTCOME_UNKNOWN.at(where=self.client.where, reason=reason, what=what)
        return Uncertain(found)
