"""A database server with something in front of it that goes wrong when it is told to."""

import secrets
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from brenner.diagnostics.model import UnavailableError
from brenner.mail.model import Profile
from brenner.mail.postgres.connection import PostgresConnection
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.store_url import PostgresAddress
from mail.fault_mail import ANN, BEA
from servers.postgresql import Postgres
from servers.postgresql_files import PASSWORD
from servers.proxy import Proxy

# The end of a transaction on the wire. (`READ COMMITTED` is at its beginning.)
COMMIT = b"COMMIT\0"
_PACKAGE = "brenner.mail.postgres."


class Scene(NamedTuple):
    """The server, what is in front of it, and a mailbox that is reached through that."""

    server: Postgres
    proxy: Proxy
    schema: str
    mailbox: PostgresMailbox

    @property
    def store(self) -> str:
        """How the command line is told of it."""
        return self.server.url(port=self.proxy.port, schema=self.schema)

    def directly(self) -> PostgresMailbox:
        """The mailbox without detours."""
        return PostgresMailbox.open(PostgresAddress(self.server.url(), self.schema))

    def again(self) -> PostgresMailbox:
        """Another mailbox, reached in the same way."""
        return PostgresMailbox.open(
            PostgresAddress(self.server.url(port=self.proxy.port), self.schema)
        )

    def stored(self) -> list[str]:
        """What is there when one asks without detours; nothing is half there."""
        with self.directly() as mailbox:
            messages = mailbox.arrivals(0)
            assert [each.arrival for each in messages] == list(range(1, len(messages) + 1))
            assert mailbox.integrity() == ()
            return [each.message.body for each in messages]


def prepared(server: Postgres, proxy: Proxy) -> Iterator[Scene]:
    """A schema of its own, in which the two know each other."""
    schema = f"test_{secrets.token_hex(6)}"
    with PostgresMailbox.create(PostgresAddress(server.url(), schema)) as mailbox:
        for name in (ANN, BEA):
            mailbox.register(Profile(name, "claude-code", "opus"))
    address = PostgresAddress(server.url(port=proxy.port), schema)
    with PostgresMailbox.open(address) as mailbox:
        yield Scene(server, proxy, schema, mailbox)


def impatient(patch: pytest.MonkeyPatch, **limits: float) -> None:
    """Other limits of time, wherever the home has them."""
    for name, value in limits.items():
        places = [
            module
            for module_name, module in sys.modules.items()
            if module_name.startswith(_PACKAGE) and hasattr(module, name)
        ]
        assert places, name
        for place in places:
            patch.setattr(place, name, value)
    if "SILENCE" in limits:
        patch.setattr(PostgresConnection, "silence", limits["SILENCE"])


def assert_said(error: UnavailableError, code: str) -> None:
    """What happened is said under its code, in a sentence, and no secret with it."""
    found = error.diagnostic
    assert found.id == code, found
    assert found.message.endswith(".")
    assert "127.0.0.1" in found.message
    assert_no_secret(found.message + found.fix)


def assert_no_secret(text: str) -> None:
    """No password is told, and nobody is shown what only a programmer understands."""
    assert PASSWORD not in text
    assert "Traceback" not in text
    assert "psycopg" not in text
