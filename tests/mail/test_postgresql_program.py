"""Commands on a database: slips in its address, and how long is waited for it."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.diagnostics.model import UnavailableError
from mail.fault_mail import BEA, make_message
from mail.postgresql_scene import Scene, impatient, prepared
from program import brenner
from servers.postgresql import Postgres, running
from servers.proxy import Proxy

SECRET = "s3cretpw"  # noqa: S105


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("shema=foo", "`schema`"),
        ("Schema=x", "`schema`"),
        ("sslmod=require", "`sslmode`"),
        (f"password=x&{SECRET}=y", "unknown option"),
        ("application_name", "it is malformed"),
    ],
)
def test_an_option_that_nobody_knows(tmp_path: Path, option: str, meant: str) -> None:
    """Wrong usage: it is not handed on, and nothing that may be secret is shown."""
    url = f"postgresql://ada:{SECRET}@127.0.0.1:9/lab?{option}"
    done = brenner("mail", "inbox", "--store", url, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "UNKNOWN_STORE" in done.err
    assert meant in done.err
    assert SECRET not in done.err
    assert "USER:PASSWORD" not in done.err


def test_a_schema_without_mail(tmp_path: Path) -> None:
    """Reading makes none; a slip in its name is not taken for an empty mailbox in silence."""
    schema = f"slip_{secrets.token_hex(6)}"
    url = running().url(schema=schema)
    for command in (("inbox",), ("thread",), ("agents",)):
        done = brenner("mail", *command, "--store", url, cwd=tmp_path)
        assert done.code == 0
        assert done.err.startswith(f"No mail yet in `{tmp_path}`, store `postgresql://…@127.0.0.1:")
        assert done.err.endswith(f" (schema {schema})`.\n")
        assert brenner("mail", *command, "--json", "--store", url, cwd=tmp_path).err == ""
    assert brenner("init", "--store", url, cwd=tmp_path).code == 0
    assert brenner("mail", "inbox", "--store", url, cwd=tmp_path).err == ""


@pytest.fixture
def scene() -> Iterator[Scene]:
    """A server of its own, which stands still when it is told to."""
    with Postgres(auth="scram") as server:
        with Proxy(server.port) as proxy:
            yield from prepared(server, proxy)
        server.resume()


@pytest.mark.thorough
def test_who_reads_waits_for_no_turn(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a server that stands still the time for others to finish is no use to her."""
    impatient(monkeypatch, SILENCE=1, LOCK_SECONDS=2)
    with scene.again() as mailbox:
        for call, seconds in (
            (lambda: mailbox.inbox(BEA), 1),
            (lambda: mailbox.send(make_message("Never")), 3),
        ):
            mailbox.position()
            scene.server.pause()
            with pytest.raises(UnavailableError) as caught:
                call()
            scene.server.resume()
            assert f"no answer within {seconds} seconds" in caught.value.diagnostic.message
