"""`brenner doctor` for mail in a database: real servers, sound, broken, gone and closed."""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brenner.config import Project
from brenner.mail.model import Profile
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.protocol.messages import Message
from brenner.services.doctor.checks import run_checks
from brenner.services.doctor.stores import DoctorContext, encryption_check, named_check
from brenner.store_url import PostgresAddress
from program import brenner
from servers.postgresql import Postgres, running
from servers.postgresql_files import OWNER, PASSWORD

INSIDE = ["write", "notify", "integrity", "mail", "operator", "identity", "clock", "acks"]
GUEST = "guest"


class Scene(NamedTuple):
    """A project whose mail is in a schema of its own."""

    folder: Path
    server: Postgres
    schema: str

    def url(self, user: str = OWNER, password: str | None = None) -> str:
        """Its store, for somebody else where that is asked for."""
        return self.server.url(user=user, password=password, schema=self.schema)

    def checks(self, url: str | None = None) -> tuple[int, dict[str, Any]]:
        """The exit code, and the checks of the store and its mail, by name."""
        done = brenner("doctor", "--json", "--store", url or self.url(), cwd=self.folder)
        assert done.err == ""
        assert PASSWORD not in done.out
        listed = done.json["checks"]
        names = [each["name"] for each in listed]
        inside = listed[names.index("secrets") + 1 : names.index("claude-code")]
        found = {each["name"]: each for each in inside}
        assert all(each["fix"] for each in listed if each["status"] == "problem")
        assert done.json["ok"] is (done.code == 0)
        return done.code, found

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """What the server's owner may do to it."""
        path = f"SET search_path TO {self.schema}; "
        return self.server.sql(path + statement, database="brenner")

    def mailbox(self) -> PostgresMailbox:
        """The mail itself."""
        return PostgresMailbox.create(PostgresAddress(self.server.url(), self.schema))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A project on the server of this process; there is no schema yet."""
    return Scene(tmp_path, running(), f"doctor_{secrets.token_hex(6)}")


@pytest.fixture
def ready(scene: Scene) -> Scene:
    """The same with a mailbox that the operator is known in, and a message."""
    assert brenner("init", "--store", scene.url(), cwd=scene.folder).code == 0
    with scene.mailbox() as mailbox:
        mailbox.register(Profile("BlueLake"))
        mailbox.send(Message("RS-20251230-x", "BlueLake", ("Operator",), "INFO: x", "x\n"))
    return scene


@pytest.fixture
def guest(ready: Scene) -> Iterator[str]:
    """Somebody whom the server lets in, and nothing more."""
    ready.server.sql(f"CREATE ROLE {GUEST} LOGIN")
    yield GUEST
    ready.server.sql(f"DROP OWNED BY {GUEST}", database="brenner")
    ready.server.sql(f"DROP ROLE {GUEST}")


def test_all_is_well(ready: Scene) -> None:
    """The server, how far it is, the schema, a write, a notification; nothing is left behind."""
    before = ready.sql("SELECT * FROM store")
    code, checks = ready.checks()
    assert (code, list(checks)) == (0, ["server", "store", *INSIDE])
    assert {each["status"] for each in checks.values()} == {"ok"}
    server = checks["server"]["detail"]
    assert server.startswith("PostgreSQL ")
    assert "a round trip takes " in server
    assert "not encrypted, on this machine" in server
    assert f"the schema `{ready.schema}` in " in checks["store"]["detail"]
    assert "(--store), format " in checks["store"]["detail"]
    assert checks["notify"]["detail"].startswith("a notification arrived after ")
    assert checks["mail"]["detail"] == "1 message, 2 agents"
    assert ready.sql("SELECT * FROM store") == before


def test_not_there_yet(scene: Scene) -> None:
    """That is no fault, and it is not made."""
    code, checks = scene.checks()
    assert (code, list(checks)) == (0, ["server", "store", "identity"])
    assert "does not exist yet; `brenner init`" in checks["store"]["detail"]
    assert (scene.schema,) not in scene.sql("SELECT nspname FROM pg_namespace")
    scene.sql(f"CREATE SCHEMA {scene.schema} AUTHORIZATION brenner")
    assert "does not exist yet" in scene.checks()[1]["store"]["detail"]


def test_who_may_not_make_it(scene: Scene, guest: str) -> None:
    """Said before the first message is lost, with what to ask for."""
    other = scene._replace(schema="never_made")
    for _ in range(2):
        code, checks = other.checks(other.url(user=guest))
        assert (code, checks["store"]["id"]) == (3, "SERVER_DENIED")
        assert "CREATE SCHEMA never_made AUTHORIZATION" in checks["store"]["fix"]
        scene.sql("CREATE SCHEMA IF NOT EXISTS never_made AUTHORIZATION brenner")
        scene.sql(f"GRANT USAGE ON SCHEMA never_made TO {guest}")
    scene.sql("DROP SCHEMA never_made")


def test_who_may_only_read(ready: Scene, guest: str) -> None:
    """The write fails and says so; all that can be read is looked at."""
    ready.sql(f"GRANT USAGE ON SCHEMA {ready.schema} TO {guest}")
    ready.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {ready.schema} TO {guest}")
    code, checks = ready.checks(ready.url(user=guest))
    problems = [name for name, each in checks.items() if each["status"] == "problem"]
    assert (code, problems) == (3, ["write"])
    assert checks["write"]["id"] == "STORE_READ_ONLY"
    assert "connect to the primary with a role that may write" in checks["write"]["fix"]
    assert checks["mail"]["detail"] == "1 message, 2 agents"


def test_who_may_not_look(ready: Scene, guest: str) -> None:
    """Whether there is mail, nobody can tell who may not use the schema."""
    code, checks = ready.checks(ready.url(user=guest))
    assert (code, checks["store"]["id"]) == (3, "SERVER_DENIED")
    assert "GRANT USAGE" in checks["store"]["fix"]


def test_tables_of_another_program(scene: Scene) -> None:
    """They are left alone."""
    scene.sql(f"CREATE SCHEMA {scene.schema} AUTHORIZATION brenner; CREATE TABLE bookmarks (x int)")
    code, checks = scene.checks()
    assert (code, checks["store"]["id"]) == (3, "STORE_FOREIGN")
    assert "?schema=NAME" in checks["store"]["fix"]


def test_newer_format(ready: Scene) -> None:
    """Of a version that is yet to come."""
    ready.sql("UPDATE store SET brenner_format = 999")
    code, checks = ready.checks()
    assert (code, checks["store"]["id"]) == (3, "STORE_TOO_NEW")


def test_mail_that_was_changed(ready: Scene) -> None:
    """Whoever owns the server can do that; the hash tells. Exit code 1."""
    ready.sql(
        "ALTER TABLE messages DISABLE TRIGGER USER; UPDATE messages SET body = 'other';"
        " ALTER TABLE messages ENABLE TRIGGER USER"
    )
    code, checks = ready.checks()
    assert (code, checks["integrity"]["id"]) == (1, "STORE_CORRUPT")
    assert "message 1 does not match its hash" in checks["integrity"]["detail"]


def test_clocks_that_differ(ready: Scene) -> None:
    """The server dates the mail, so what counts is how far this clock is from that one."""
    project = Project(ready.folder, ready.url())
    for hours, words in ((-2, "120 minutes behind"), (3, "180 minutes ahead of")):
        now = datetime.now(UTC) + timedelta(hours=hours)
        checks = {each.name: each for each in run_checks(DoctorContext(project, None, now))}
        assert checks["clock"].status == "warning"
        assert f"This machine's clock is {words} the server's" in checks["clock"].detail


def test_with_password_and_tls(tmp_path: Path) -> None:
    """Encrypted, that is said; a wrong password, a plain connection and a gone server are too."""
    with Postgres(auth="scram", tls=True) as server:
        scene = Scene(tmp_path, server, "brenner")
        code, checks = scene.checks()
        assert code == 0
        assert checks["server"]["detail"].endswith("; encrypted (TLS)")
        plain = scene.url().replace("sslmode=verify-full", "sslmode=disable")
        for url in (scene.url(password=PASSWORD[:-1]), plain):
            code, checks = scene.checks(url)
            assert (code, list(checks)) == (3, ["server", "identity"])
            assert checks["server"]["id"] == "SERVER_DENIED"
        server.stop()
        code, checks = scene.checks()
        assert (code, checks["server"]["id"]) == (3, "SERVER_UNREACHABLE")
        assert "Start PostgreSQL there" in checks["server"]["fix"]


@pytest.mark.parametrize(
    ("host", "is_encrypted", "status"),
    [
        ("/run/postgresql", False, "ok"),
        ("127.0.0.1", False, "ok"),
        ("::1", False, "ok"),
        ("localhost", False, "ok"),
        ("10.0.0.7", False, "warning"),
        ("db.example.org", False, "warning"),
        ("db.example.org", True, "ok"),
    ],
)
def test_who_can_listen(host: str, is_encrypted: bool, status: str) -> None:
    """Mail and passwords in the clear get a warning, unless they stay on this machine."""
    encryption = encryption_check("It answers", host, is_encrypted=is_encrypted, fix="Use TLS.")
    found = named_check("server", encryption)
    assert found.status == status
    assert (found.fix == "Use TLS.") is (status == "warning")
